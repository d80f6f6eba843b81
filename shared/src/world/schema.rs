//! The schema of a world: its attributes, kinds, commands and notifications.

use serde::{Deserialize, Serialize};

use super::attribute::{Attribute, AttributeType, Audience, MergeRule, joined};
use super::columns::Columns;
use super::command::{CommandKind, CommandSchema};
use super::door::Door;
use super::field::Field;
use super::fixed::Fixed;
use super::group::{Group, Relation};
use super::hook::Zone;
use super::id::EntityId;
use super::layer::Layers;
use super::notification::{NotificationKind, NotificationSchema};
use super::plane::Atlas;
use super::ranking::Ranking;
use super::visibility::Visibility;

/// One kind of entity.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Kind {
    pub name: String,
    /// Its attributes by ascending column, always including the position.
    pub attributes: Vec<KindAttribute>,
    pub regions: KindRegions,
}

impl Kind {
    /// What `of` says of the attribute in a column, and of the one in the next: both halves of a
    /// number of 64 bits. 0 where the kind has none.
    pub fn words(&self, column: usize, of: impl Fn(&KindAttribute) -> i32) -> [i32; 2] {
        let word = |column: usize| {
            let mut own = self.attributes.iter();
            let own = own.find(|own| usize::from(own.column) == column);
            own.map_or(0, &of)
        };
        [word(column), word(column + 1)]
    }
}

/// The regions of newborns of a kind: boxes that are centred on the entity and follow it.
/// Each is given by its edges in raw units, 1 on axes that the world lacks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct KindRegions {
    /// Where the entity is published, in addition to its position.
    pub publishes: Option<[i32; 3]>,
    /// Where clients that observe from the entity see, in addition to the area of
    /// interest.
    pub subscribes: Option<[i32; 3]>,
}

/// A kind's own default and bounds for one column.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KindAttribute {
    pub column: u16,
    pub default: i32,
    pub min: i32,
    pub max: i32,
}

/// Properties of a world as a whole. They don't change while it runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorldInfo {
    pub name: String,
    /// Per axis, 2 or 3 axes. Positions are in `0..size`.
    pub size: Vec<Fixed>,
    /// The radius of the area of interest.
    pub aoi: Fixed,
    /// The distance beyond which a known entity leaves; at least `aoi`. By as much as it is
    /// larger, known entities count as nearer.
    pub aoi_leave: Fixed,
    pub capacity: u32,
    pub tick_hz: u32,
    /// The most entities that a client sees at once, the nearest ones; 0: no limit.
    pub visible_max: u32,
}

impl WorldInfo {
    /// The size per axis in raw units; a world of two axes is one unit thin.
    pub fn size_raw(&self) -> [i32; 3] {
        let mut size = [1; 3];
        for (axis, s) in size.iter_mut().zip(&self.size) {
            *axis = s.raw();
        }
        size
    }

    /// The largest coordinate per axis in raw units.
    pub fn edges(&self) -> [i32; 3] {
        self.size_raw().map(|size| size - 1)
    }

    /// By how much a known entity counts as nearer, in raw units.
    pub fn leave_margin(&self) -> i32 {
        self.aoi_leave.raw() - self.aoi.raw()
    }
}

/// Attributes, kinds, commands, notifications and symbols of a world.
///
/// The first columns are the position: `x`, `y` and in three dimensions `z`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Schema {
    pub world: WorldInfo,
    pub attributes: Vec<Attribute>,
    pub kinds: Vec<Kind>,
    /// By ascending number.
    pub commands: Vec<CommandSchema>,
    /// The notifications that can happen in the world, by ascending number.
    pub notifications: Vec<NotificationSchema>,
    pub symbols: Vec<String>,
    pub zones: Vec<Zone>,
    /// The kind of the entity that has what the whole world shares; `None`: it shares nothing.
    pub world_kind: Option<u16>,
    /// The constants of scripts that clients may know.
    pub constants: Vec<WorldConstant>,
    /// What the cells of the world are. They don't travel with a schema.
    #[serde(skip)]
    pub layers: Layers,
    /// Those of which scripts ask; they don't travel with a schema.
    #[serde(skip)]
    pub rankings: Vec<Ranking>,
    /// The attributes that refer to groups, ascending; they don't travel with a schema.
    #[serde(skip)]
    pub groups: Vec<Group>,
    /// The kinds whose entities block cells, ascending; they don't travel with a schema.
    #[serde(skip)]
    pub doors: Vec<Door>,
    /// Those of which scripts ask; they don't travel with a schema.
    #[serde(skip)]
    pub fields: Vec<Field>,
    /// Where the world's planes are; they don't travel with a schema.
    #[serde(skip)]
    pub atlas: Atlas,
    /// What hides entities from clients; it doesn't travel with a schema.
    #[serde(skip)]
    pub visibility: Visibility,
}

/// A constant of the scripts, as `script.constant` in lower case.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorldConstant {
    pub name: String,
    pub ty: AttributeType,
    pub value: i32,
}

impl Schema {
    /// The number of axes, 2 or 3: as many columns, the first ones, are the position.
    pub fn dimensions(&self) -> usize {
        self.world.size.len()
    }

    /// The entity that has what the whole world shares. It lives from the first tick on, in the
    /// last slot, and is nowhere.
    pub fn world_entity(&self) -> Option<EntityId> {
        let slot = self.world.capacity.checked_sub(1)?;
        self.world_kind.map(|_| EntityId::new(slot, 1))
    }

    /// Whether entities of a kind are things: they have no place, and belong to a holder. Their
    /// positions can only be 0.
    pub fn is_thing(&self, kind: u16) -> bool {
        let own = self.kinds.get(usize::from(kind));
        let x = own.and_then(|kind| kind.attributes.first());
        x.is_some_and(|x| x.column == 0 && x.max == 0) && self.world_kind != Some(kind)
    }

    /// The column with the holders of things; `None` in worlds without things.
    pub fn holder_column(&self) -> Option<usize> {
        let kinds = 0..self.kinds.len() as u16;
        let has_things = kinds.into_iter().any(|kind| self.is_thing(kind));
        self.column(HOLDER).filter(|_| has_things)
    }

    /// Whether an entity of a kind can hold things of another kind. Things hold only those of kinds
    /// behind theirs, so no chain of holders leads back to where it began.
    pub fn can_hold(&self, holder: u16, thing: u16) -> bool {
        !self.is_thing(holder) || holder < thing
    }

    /// The relations of the world, by number: [`HOLDERS`](super::group::HOLDERS), then one for each of its groups.
    pub fn relations(&self) -> impl Iterator<Item = Relation> + '_ {
        let holder = self.holder_column().and_then(|column| {
            Some(Relation {
                column: u16::try_from(column).ok()?,
                kind: None,
            })
        });
        let groups = self.groups.iter().map(|group| Relation {
            column: group.column,
            kind: Some(group.kind),
        });
        holder.into_iter().chain(groups)
    }

    /// Whether an entity of a kind can relate to one of another kind: be held by it, or be a member
    /// of it.
    pub fn relates(&self, relation: Relation, own: u16, to: u16) -> bool {
        match relation.kind {
            None => self.is_thing(own) && self.can_hold(to, own),
            Some(kind) => own == kind && self.is_thing(to),
        }
    }

    pub fn column(&self, name: &str) -> Option<usize> {
        self.attributes.iter().position(|a| a.name == name)
    }

    pub fn kind(&self, name: &str) -> Option<usize> {
        self.kinds.iter().position(|k| k.name == name)
    }

    pub fn command(&self, kind: CommandKind) -> Option<&CommandSchema> {
        self.commands.iter().find(|c| c.kind == kind)
    }

    pub fn command_named(&self, name: &str) -> Option<&CommandSchema> {
        self.commands.iter().find(|c| c.name == name)
    }

    pub fn notification(&self, kind: NotificationKind) -> Option<&NotificationSchema> {
        self.notifications.iter().find(|n| n.kind == kind)
    }

    pub fn notification_named(&self, name: &str) -> Option<&NotificationSchema> {
        self.notifications.iter().find(|n| n.name == name)
    }

    /// The command that finds out who is near a speaker, `say(text: i32)`, and the notification
    /// that it tells of, `Say { text }`. `None` in worlds that lack one of them.
    pub fn say(&self) -> Option<(CommandKind, NotificationKind)> {
        let command = self.command_named("say")?;
        let notification = self.notification_named("say")?;
        let word = command.words.iter().map(|word| word.ty);
        let field = notification.fields.iter().map(|field| field.ty);
        let is_say = command.has_actor
            && !command.senders.clients
            && word.eq([AttributeType::I32])
            && field.eq([AttributeType::I32]);
        is_say.then_some((command.kind, notification.kind))
    }

    /// What clients may know: of a hidden attribute only that there is a column.
    pub fn for_clients(&self) -> Schema {
        let mut schema = self.clone();
        let mut hidden = Columns::NONE;
        for (column, attribute) in schema.attributes.iter_mut().enumerate() {
            if attribute.audience == Audience::Hidden {
                hidden.insert(column);
                *attribute = Attribute {
                    name: String::new(),
                    ty: AttributeType::I32,
                    merge: MergeRule::Last,
                    audience: Audience::Hidden,
                    min: 0,
                    max: 0,
                    step: 0,
                };
            }
        }
        for kind in &mut schema.kinds {
            kind.attributes.retain(|a| !hidden.has(a.column.into()));
        }
        schema
    }

    /// A table by number of what `of` says of each command; `None` for numbers that the
    /// world lacks. It ends with the largest number.
    pub fn commands_by_number<T>(&self, of: impl Fn(&CommandSchema) -> T) -> Vec<Option<T>> {
        by_number(self.commands.iter().map(|c| (c.kind.id(), of(c))))
    }

    /// The same of notifications.
    pub fn notifications_by_number<T>(
        &self,
        of: impl Fn(&NotificationSchema) -> T,
    ) -> Vec<Option<T>> {
        by_number(self.notifications.iter().map(|n| (n.kind.id(), of(n))))
    }

    /// The commands that rest after a use, by ascending number.
    pub fn resting_commands(&self) -> impl Iterator<Item = &CommandSchema> {
        self.commands.iter().filter(|command| command.cooldown > 0)
    }

    /// By kind: its columns.
    pub fn kind_columns(&self) -> Vec<Columns> {
        let columns = |kind: &Kind| {
            let own = kind.attributes.iter();
            own.map(|own| usize::from(own.column)).collect()
        };
        self.kinds.iter().map(columns).collect()
    }

    /// The columns that clients of an audience receive.
    pub fn columns_for(&self, audience: Audience) -> Columns {
        let all = self.attributes.iter().enumerate();
        let own = all.filter(|(_, attribute)| attribute.audience == audience);
        own.map(|(column, _)| column).collect()
    }

    /// The default row of a kind: a value for each column, 0 in columns that it lacks.
    pub fn default_row(&self, kind: usize) -> Vec<i32> {
        let mut row = vec![0; self.attributes.len()];
        for attribute in &self.kinds[kind].attributes {
            row[usize::from(attribute.column)] = attribute.default;
        }
        row
    }

    /// The bounds of a kind by column, (min, max); (0, 0) in columns that it lacks. The half of a
    /// number has none by itself.
    pub fn bounds(&self, kind: usize) -> Vec<(i32, i32)> {
        let mut bounds = vec![(0, 0); self.attributes.len()];
        for attribute in &self.kinds[kind].attributes {
            let column = usize::from(attribute.column);
            bounds[column] = match self.attributes[column].ty.is_half() {
                true => (i32::MIN, i32::MAX),
                false => (attribute.min, attribute.max),
            };
        }
        bounds
    }

    /// By column of the low half of a number: its bounds, which are the same in all kinds; the
    /// kinds' own bounds have their halves. (0, 0) in all other columns.
    pub fn wide_bounds(&self) -> Vec<(i64, i64)> {
        let mut bounds = vec![(0, 0); self.attributes.len()];
        for kind in &self.kinds {
            for pair in kind.attributes.windows(2) {
                let [low, high] = [&pair[0], &pair[1]];
                let of = |own: &KindAttribute| self.attributes[usize::from(own.column)].ty;
                if (of(low), of(high)) == (AttributeType::I64, AttributeType::High) {
                    let min = joined([low.min, high.min]);
                    bounds[usize::from(low.column)] = (min, joined([low.max, high.max]));
                }
            }
        }
        bounds
    }
}

/// The attribute of things that refers to their holder.
pub const HOLDER: &str = "holder";

fn by_number<T>(entries: impl Iterator<Item = (u16, T)>) -> Vec<Option<T>> {
    let mut table = vec![];
    for (number, entry) in entries {
        let number = usize::from(number);
        if table.len() <= number {
            table.resize_with(number + 1, || None);
        }
        table[number] = Some(entry);
    }
    table
}
