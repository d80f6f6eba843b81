//! The parts of a world that clients name.

use client_core::Outline;
use script::logic::Logic;
use shared::world::attribute::joined;
use shared::world::collection::{Member, declared_name, member};
use shared::world::command::SEEN;
use shared::world::schema::KindAttribute;
use shared::world::words::TextHandle;
use shared::{AttributeType, AttributeValue, Audience, Schema, WorldConfig};

use crate::comments::Comments;

/// A world, as its clients know it.
#[derive(Clone, Debug)]
pub struct World {
    pub name: String,
    pub outline: Outline,
    /// In the order of the world's file.
    pub kinds: Vec<Kind>,
    /// The kind of players, by its place.
    pub player: usize,
    /// The kind of what the whole world shares.
    pub shared: Option<usize>,
    /// Each attribute once, whatever kinds have it.
    pub attributes: Vec<Attribute>,
    /// Those that clients can give.
    pub commands: Vec<Command>,
    pub notifications: Vec<Notification>,
    pub symbols: Vec<String>,
}

#[derive(Clone, Debug)]
pub struct Kind {
    pub name: String,
    pub doc: String,
    /// Whether its entities are things, which others hold.
    pub is_thing: bool,
    pub attributes: Vec<Attribute>,
}

/// An attribute besides the position.
#[derive(Clone, Debug, PartialEq)]
pub struct Attribute {
    pub name: String,
    pub ty: AttributeType,
    /// Whether only the entity's own client has it.
    pub is_private: bool,
    pub doc: String,
}

#[derive(Clone, Debug)]
pub struct Command {
    pub name: String,
    pub doc: String,
    pub words: Vec<Word>,
}

#[derive(Clone, Debug)]
pub struct Notification {
    pub name: String,
    pub fields: Vec<Word>,
}

/// A parameter of a command, or a field of a notification.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Word {
    pub name: String,
    pub ty: AttributeType,
}

impl Word {
    /// Whether the client itself fills it in: the tick that it shows.
    pub fn is_seen(&self) -> bool {
        self.name == SEEN && self.ty == AttributeType::I32
    }
}

/// An array, all of whose values have accessors of their own.
pub struct Array<'a> {
    pub name: &'a str,
    /// The first of its values.
    pub first: &'a Attribute,
    /// The accessors, by index.
    pub values: Vec<&'a str>,
}

impl Kind {
    /// The arrays among its attributes, which have these accessors.
    pub fn arrays<'a>(&'a self, accessors: &'a [String]) -> Vec<Array<'a>> {
        let mut arrays: Vec<Array<'a>> = vec![];
        for (own, accessor) in self.attributes.iter().zip(accessors) {
            match (member(&own.name), arrays.last_mut()) {
                (Some((name, Member::Index(0))), _) => arrays.push(Array {
                    name,
                    first: own,
                    values: vec![accessor],
                }),
                (Some((name, Member::Index(_))), Some(last)) if last.name == name => {
                    last.values.push(accessor);
                }
                _ => {}
            }
        }
        arrays
    }
}

impl Array<'_> {
    /// Its description.
    pub fn doc(&self) -> String {
        sentences(&[&format!("All values of `{}`", self.name), &self.first.doc])
    }
}

impl Command {
    /// Whether the server has to have texts of it first.
    pub fn has_texts(&self) -> bool {
        self.words.iter().any(|word| word.ty == AttributeType::Text)
    }

    /// The words that the game gives.
    pub fn given(&self) -> impl Iterator<Item = &Word> {
        self.words.iter().filter(|word| !word.is_seen())
    }
}

impl World {
    /// The world of a checked file. Its scripts compile, as they were checked with it.
    pub fn of(config: &WorldConfig) -> World {
        let schema = config.schema.for_clients();
        let comments = Comments::of(&config.source.0.text);
        let logic = Logic::of(config);
        let doc = |kind| {
            let command = logic.as_ref().ok().and_then(|logic| logic.command(kind));
            command.map_or(String::new(), |command| command.doc.clone())
        };
        let kinds = (0..).zip(&schema.kinds).map(|(number, kind)| Kind {
            name: kind.name.clone(),
            doc: comments.kind(&kind.name).to_owned(),
            is_thing: schema.is_thing(number),
            attributes: (kind.attributes.iter())
                .filter_map(|own| {
                    let symbols = config.symbols.of(number, own.column);
                    let mut attribute = attribute(&schema, kind, own, symbols)?;
                    let comment = comments.attribute(&kind.name, declared_name(&attribute.name));
                    attribute.doc = sentences(&[comment, &attribute.doc]);
                    Some(attribute)
                })
                .collect(),
        });
        let kinds: Vec<Kind> = kinds.collect();
        let mut attributes: Vec<Attribute> = vec![];
        for own in kinds.iter().flat_map(|kind| &kind.attributes) {
            if !attributes.iter().any(|known| known.name == own.name) {
                attributes.push(own.clone());
            }
        }
        let commands = schema.commands.iter().filter(|c| c.senders.clients);
        let commands = commands.map(|command| Command {
            name: command.name.clone(),
            doc: doc(command.kind),
            words: (command.words.iter())
                .map(|word| Word {
                    name: word.name.clone(),
                    ty: word.ty,
                })
                .collect(),
        });
        let notifications = schema.notifications.iter().map(|of| Notification {
            name: of.name.clone(),
            fields: (of.fields.iter())
                .map(|field| Word {
                    name: field.name.clone(),
                    ty: field.ty,
                })
                .collect(),
        });
        World {
            // It stands in comments of a line.
            name: schema.world.name.replace(char::is_control, " "),
            outline: Outline::of(&schema),
            player: config.player_kind.into(),
            shared: schema.world_kind.map(usize::from),
            attributes,
            commands: commands.collect(),
            notifications: notifications.collect(),
            symbols: schema.symbols.clone(),
            kinds,
        }
    }

    /// The text that bindings for a language hold.
    pub fn bindings(&self, language: &str) -> String {
        self.outline.bindings(&self.name, language)
    }

    /// The kinds of which there may be several in view, with their places.
    pub fn kinds_in_view(&self) -> impl Iterator<Item = (usize, &Kind)> {
        let kinds = self.kinds.iter().enumerate();
        kinds.filter(|(place, _)| Some(*place) != self.shared)
    }
}

/// An attribute of a kind; `None` for the position, for halves of numbers, and for those that no
/// client knows.
fn attribute(
    schema: &Schema,
    kind: &shared::Kind,
    own: &KindAttribute,
    symbols: &[i32],
) -> Option<Attribute> {
    let column = usize::from(own.column);
    let attribute = schema.attributes.get(column)?;
    let is_part = column < schema.dimensions() || attribute.ty == AttributeType::High;
    if is_part || attribute.audience == Audience::Hidden {
        return None;
    }
    let is_private = attribute.audience == Audience::Private;
    let private = match is_private {
        true => "Only the entity's own client knows it.",
        false => "",
    };
    let range = match attribute.ty.is_half() {
        true => wide_range(kind, column),
        false => range(schema, attribute.ty, own, symbols),
    };
    Some(Attribute {
        name: attribute.name.clone(),
        ty: attribute.ty,
        is_private,
        doc: sentences(&[&range, private]),
    })
}

/// The values that a number of 64 bits can have, as a sentence.
fn wide_range(kind: &shared::Kind, column: usize) -> String {
    let min = joined(kind.words(column, |own| own.min));
    let max = joined(kind.words(column, |own| own.max));
    match (min == i64::MIN, max == i64::MAX) {
        (false, false) => format!("From {min} to {max}."),
        (false, true) => format!("At least {min}."),
        (true, false) => format!("At most {max}."),
        (true, true) => String::new(),
    }
}

/// The values that it can have, as a sentence.
fn range(schema: &Schema, ty: AttributeType, own: &KindAttribute, symbols: &[i32]) -> String {
    let number = |raw| AttributeValue::of_word(ty, raw).number();
    match ty {
        AttributeType::I32 | AttributeType::Fixed => {
            let units = match ty.fraction_bits() {
                0 => "",
                _ => ", in units",
            };
            let (min, max) = (number(own.min), number(own.max));
            match (own.min == i32::MIN, own.max == i32::MAX) {
                (false, false) => format!("From {min} to {max}{units}."),
                (false, true) => format!("At least {min}{units}."),
                (true, false) => format!("At most {max}{units}."),
                (true, true) if units.is_empty() => String::new(),
                (true, true) => "In units.".to_owned(),
            }
        }
        AttributeType::Symbol => {
            let names = symbols.iter().filter_map(|&number| {
                let name = schema.symbols.get(usize::try_from(number).ok()?)?;
                Some(format!("`{name}`"))
            });
            let names: Vec<String> = names.collect();
            match names.is_empty() {
                true => String::new(),
                false => format!("One of {}.", names.join(", ")),
            }
        }
        AttributeType::Text => format!("At most {} bytes.", TextHandle(own.max).length()),
        AttributeType::Bool | AttributeType::Entity | AttributeType::I64 | AttributeType::High => {
            String::new()
        }
    }
}

/// Texts after each other, each of which ends as a sentence.
fn sentences(texts: &[&str]) -> String {
    let texts = texts.iter().map(|text| text.trim());
    let ended = texts.filter(|text| !text.is_empty()).map(|text| {
        match text.ends_with(['.', '!', '?', ':', ';']) {
            true => text.to_owned(),
            false => format!("{text}."),
        }
    });
    ended.collect::<Vec<_>>().join(" ")
}
