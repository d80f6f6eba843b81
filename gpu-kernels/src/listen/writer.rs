//! Changes and notifications as named values in a batch.

use shared::predicate::number::{float_key, integer_key};
use shared::predicate::{CELL_SHIFTS, NameId, WorldNames};
use shared::world::attribute::AttributeType;
use shared::world::columns::Columns;
use shared::{Attribute as Column, AttributeValue, Audience, ClientRow, EntityId, Schema};

use super::wanted::{CHANGE, Wanted};
use crate::content::batch::{Attribute, Batch};

/// Writes changes and notifications into a batch, without the names that no subscription
/// uses.
pub struct Writer {
    names: WorldNames,
    columns: Vec<Column>,
    /// By kind: its columns.
    kinds: Vec<Columns>,
    /// The private columns.
    private: Columns,
    events: Texts,
    kind_names: Texts,
    column_names: Texts,
    commands: Texts,
    symbols: Texts,
    /// By notification, in the order of the schema.
    field_types: Vec<Vec<AttributeType>>,
    /// The subject's kind and entity.
    head: Vec<Attribute>,
    /// The subject's attributes and cells.
    tail: Vec<Attribute>,
    /// The notification that is being written, in ascending order of names.
    all: Vec<Attribute>,
}

/// The entity that changes, or is a notification's source.
pub struct Subject<'a> {
    pub entity: EntityId,
    pub kind: u16,
    /// Its attributes after the tick.
    pub row: &'a [i32],
    /// The client whose own entity it is.
    pub client: Option<ClientRow>,
}

/// A changed attribute.
pub struct AttributeChange {
    pub column: usize,
    pub old: i32,
    pub new: i32,
    /// The number of the first command that updated it, if the tick recorded that.
    pub command: Option<u16>,
    /// The entity that gave it; [`EntityId::NONE`] if the tick did not record that.
    pub by: EntityId,
}

impl Writer {
    pub fn new(schema: &Schema, names: &WorldNames) -> Writer {
        let events = schema.notifications.iter().map(|n| n.name.as_str());
        let commands = schema.commands_by_number(|command| command.name.clone());
        let commands: Vec<String> = commands
            .into_iter()
            .map(Option::unwrap_or_default)
            .collect();
        Writer {
            names: names.clone(),
            columns: schema.attributes.clone(),
            kinds: schema.kind_columns(),
            private: schema.columns_for(Audience::Private),
            events: Texts::new(events.chain([CHANGE])),
            kind_names: Texts::new(schema.kinds.iter().map(|k| k.name.as_str())),
            column_names: Texts::new(schema.attributes.iter().map(|a| a.name.as_str())),
            commands: Texts::new(commands.iter().map(String::as_str)),
            symbols: Texts::new(schema.symbols.iter().map(String::as_str)),
            field_types: schema
                .notifications
                .iter()
                .map(|n| n.fields.iter().map(|field| field.ty).collect())
                .collect(),
            head: vec![],
            tail: vec![],
            all: vec![],
        }
    }

    /// Whether only an entity's own client may know a column's values.
    pub fn is_private(&self, column: usize) -> bool {
        self.private.has(column)
    }

    /// Sets the subject of the next notification, or that it has none.
    pub fn set_subject(&mut self, wanted: &Wanted, batch: &mut Batch, subject: Option<&Subject>) {
        self.head.clear();
        self.tail.clear();
        let Some(subject) = subject else {
            return;
        };
        if wanted.name(self.names.kind) {
            let place = self.kind_names.place(usize::from(subject.kind), batch);
            self.head.push(text(self.names.kind, place));
        }
        if wanted.name(self.names.entity) {
            let reference = subject.entity.reference().0;
            self.head.push(integer(self.names.entity, reference));
        }
        // Only the entity's own client may know private values.
        let own = self.kinds[usize::from(subject.kind)];
        let known = match subject.client {
            Some(_) => own,
            None => own & !self.private,
        };
        for (column, name) in self.names.columns.iter().enumerate() {
            let Some(name) = name.filter(|&name| known.has(column) && wanted.name(name)) else {
                continue;
            };
            let ty = self.columns[column].ty;
            let value = AttributeValue::in_row(ty, subject.row, column);
            self.tail
                .push(attribute(name, value, &mut self.symbols, batch));
        }
        for (place, cells) in self.names.cells.iter().enumerate() {
            let mut used = match known.has(cells.column) {
                true => wanted.cells(place),
                false => 0,
            };
            while used != 0 {
                let shift = used.trailing_zeros() as usize;
                used &= used - 1;
                let cell = subject.row[cells.column] >> CELL_SHIFTS[shift];
                self.tail.push(integer(cells.names[shift], cell));
            }
        }
    }

    /// Adds a change of the subject. `client` is the subject's own client.
    pub fn change(
        &mut self,
        wanted: &Wanted,
        batch: &mut Batch,
        change: &AttributeChange,
        client: Option<ClientRow>,
    ) {
        self.begin(wanted, batch, self.field_types.len(), client);
        let names = &self.names;
        let mut push = |attribute: Attribute| {
            if wanted.name(NameId(attribute.name as u16)) {
                self.all.push(attribute);
            }
        };
        push(text(
            names.attribute,
            self.column_names.place(change.column, batch),
        ));
        let values = [change.old, change.new];
        match self.columns[change.column].ty {
            AttributeType::Symbol => {
                let [old, new] = values.map(|v| self.symbols.place(v as usize, batch));
                push(text(names.old_symbol, old));
                push(text(names.new_symbol, new));
            }
            ty @ (AttributeType::I32
            | AttributeType::Fixed
            | AttributeType::Bool
            | AttributeType::Entity
            | AttributeType::Text
            | AttributeType::I64
            | AttributeType::High) => {
                let [old, new] = values.map(|value| AttributeValue::of_word(ty, value).number());
                push(float(names.old, old));
                push(float(names.new, new));
            }
        }
        if let Some(command) = change.command {
            let place = self.commands.place(usize::from(command), batch);
            push(text(names.command, place));
        }
        if change.by != EntityId::NONE {
            push(integer(names.by, change.by.reference().0));
        }
        self.end(batch);
    }

    /// Adds a notification whose source is the subject. `place` is that of its kind in the
    /// schema; `client` is the subject's own client.
    pub fn notification(
        &mut self,
        wanted: &Wanted,
        batch: &mut Batch,
        place: usize,
        words: &[i32],
        client: Option<ClientRow>,
    ) {
        self.begin(wanted, batch, place, client);
        let fields = self.names.fields[place]
            .iter()
            .zip(&self.field_types[place]);
        for ((&name, &ty), &word) in fields.zip(words) {
            if wanted.name(name) {
                let value = AttributeValue::of_word(ty, word);
                let field = attribute(name, value, &mut self.symbols, batch);
                self.all.push(field);
            }
        }
        self.end(batch);
    }

    fn begin(
        &mut self,
        wanted: &Wanted,
        batch: &mut Batch,
        event: usize,
        client: Option<ClientRow>,
    ) {
        self.all.clear();
        if let Some(client) = client.filter(|_| wanted.name(self.names.client)) {
            self.all.push(Attribute {
                value: integer_key(i64::from(client.0)),
                name: u32::from(self.names.client.0),
                is_string: 0,
            });
        }
        if wanted.name(self.names.event) {
            let place = self.events.place(event, batch);
            self.all.push(text(self.names.event, place));
        }
        self.all.extend_from_slice(&self.head);
    }

    fn end(&mut self, batch: &mut Batch) {
        self.all.extend_from_slice(&self.tail);
        batch.push_attributes(&self.all);
    }
}

/// Texts, and their places in the batch once they were used.
struct Texts {
    texts: Vec<Box<str>>,
    places: Vec<Option<u32>>,
}

impl Texts {
    fn new<'a>(texts: impl IntoIterator<Item = &'a str>) -> Texts {
        let texts: Vec<Box<str>> = texts.into_iter().map(Box::from).collect();
        Texts {
            places: vec![None; texts.len()],
            texts,
        }
    }

    /// The place of the n-th text, or of an empty text if there is none.
    fn place(&mut self, n: usize, batch: &mut Batch) -> u32 {
        let Some(place) = self.places.get_mut(n) else {
            return batch.place("");
        };
        *place.get_or_insert_with(|| batch.place(&self.texts[n]))
    }
}

fn attribute(
    name: NameId,
    value: AttributeValue,
    symbols: &mut Texts,
    batch: &mut Batch,
) -> Attribute {
    match value {
        AttributeValue::Symbol(symbol) => text(name, symbols.place(symbol.0 as usize, batch)),
        AttributeValue::Fixed(number) => float(name, number.to_f64()),
        AttributeValue::I64(number) => Attribute {
            value: integer_key(number),
            name: u32::from(name.0),
            is_string: 0,
        },
        AttributeValue::I32(_)
        | AttributeValue::Bool(_)
        | AttributeValue::Entity(_)
        | AttributeValue::Text(_)
        | AttributeValue::High(_) => integer(name, value.raw()),
    }
}

fn integer(name: NameId, value: i32) -> Attribute {
    Attribute {
        value: integer_key(i64::from(value)),
        name: u32::from(name.0),
        is_string: 0,
    }
}

fn float(name: NameId, value: f64) -> Attribute {
    Attribute {
        value: float_key(value),
        name: u32::from(name.0),
        is_string: 0,
    }
}

fn text(name: NameId, place: u32) -> Attribute {
    Attribute {
        value: u64::from(place),
        name: u32::from(name.0),
        is_string: 1,
    }
}
