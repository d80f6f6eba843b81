//! What a world's entities are made of, as server and clients see it.

use serde::{Deserialize, Serialize};

use crate::command::{CommandKind, Sender};
use crate::fixed::Fixed;
use crate::id::CAPACITY_MAX;
use crate::mix::mix;
use crate::notification::{NotificationKind, NotificationSchema};
use crate::wire::codec;
use crate::wire::movement::MovementCodec;

/// How an attribute's 32 bits are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum AttributeType {
    I32,
    Fixed,
    Bool,
    /// An [`EntityRef`](crate::EntityRef).
    Entity,
    /// An index into [`Schema::symbols`].
    Symbol,
}

/// How several updates of one attribute in one tick become one (thesis 3.4).
/// `Sum` adds to the value before the tick; the others replace it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum MergeRule {
    /// All offsets added in 64 bits, clamped once.
    Sum,
    Min,
    Max,
    /// The first in command order.
    First,
    /// The last in command order.
    Last,
}

/// Who is told of an attribute.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Audience {
    /// Everyone who sees the entity, by datagram: newest wins.
    Movement,
    /// Everyone who sees the entity, reliably and in order.
    State,
    /// The entity's own client, reliably and in order.
    Private,
    /// Nobody.
    Hidden,
}

/// One column of the world, shared by all kinds that name it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attribute {
    pub name: String,
    pub ty: AttributeType,
    pub merge: MergeRule,
    pub audience: Audience,
    /// The least value in any kind.
    pub min: i32,
    /// The greatest value in any kind.
    pub max: i32,
}

impl Attribute {
    /// Bits that hold any value of this attribute less [`Attribute::min`].
    pub const fn bits(&self) -> u32 {
        bits_for((self.max as i64 - self.min as i64) as u64)
    }
}

/// One kind of entity.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Kind {
    pub name: String,
    /// The attributes it has, by ascending column; positions are always there.
    pub attributes: Vec<KindAttribute>,
}

/// A kind's own default and bounds for one column.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KindAttribute {
    pub column: u16,
    pub default: i32,
    pub min: i32,
    pub max: i32,
}

/// One command as clients must encode it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommandSchema {
    pub kind: CommandKind,
    pub name: String,
    pub sender: Sender,
    pub words: Vec<AttributeType>,
}

/// The facts about a world that don't change while it runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorldInfo {
    pub name: String,
    /// Per axis; 2 or 3 of them. Positions are in `0..size`.
    pub size: Vec<Fixed>,
    /// The radius of the area of interest.
    pub aoi: Fixed,
    pub capacity: u32,
    pub tick_hz: u32,
    /// The most entities a client knows at once, the nearest; 0: no such bound.
    pub visible_max: u32,
}

/// Attributes, kinds, commands and symbols of a world.
///
/// The first columns are the position: `x`, `y` and in three dimensions `z`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Schema {
    pub world: WorldInfo,
    pub attributes: Vec<Attribute>,
    pub kinds: Vec<Kind>,
    pub commands: Vec<CommandSchema>,
    /// Those that the world can have.
    pub notifications: Vec<NotificationSchema>,
    pub symbols: Vec<String>,
}

/// The most columns a world can have.
pub const ATTRIBUTES_MAX: usize = 64;

impl Schema {
    /// Whether this can be a world's schema at all; the error names what can't.
    /// A schema that comes from a [`WorldConfig`](crate::WorldConfig) always is;
    /// one that comes over the network may be anything.
    pub fn check(&self) -> Result<(), &'static str> {
        let dimensions = self.dimensions();
        let columns = self.attributes.len();
        let held = |holds: bool, what| if holds { Ok(()) } else { Err(what) };
        held((2..=3).contains(&dimensions), "number of axes")?;
        held(
            (1..=CAPACITY_MAX).contains(&self.world.capacity),
            "capacity",
        )?;
        held(self.world.tick_hz >= 1, "tick rate")?;
        held(
            (dimensions..=ATTRIBUTES_MAX).contains(&columns),
            "number of attributes",
        )?;
        for (axis, size) in self.world.size.iter().enumerate() {
            let position = &self.attributes[axis];
            let last = size.raw().checked_sub(1);
            held(
                position.min == 0 && Some(position.max) == last && size.raw() <= SIZE_RAW_MAX,
                "position",
            )?;
        }
        held(
            (1..=SIZE_RAW_MAX).contains(&self.world.aoi.raw()),
            "area of interest",
        )?;
        held(
            self.attributes.iter().all(|a| a.min <= a.max),
            "attribute bounds",
        )?;
        held((1..=256).contains(&self.kinds.len()), "number of kinds")?;
        for kind in &self.kinds {
            let own = || kind.attributes.iter().map(|a| usize::from(a.column));
            let ascending = own().is_sorted_by(|a, b| a < b);
            let known = own().all(|column| column < columns);
            let positions = own().take(dimensions).eq(0..dimensions);
            held(ascending && known && positions, "kind")?;
        }
        for command in &self.commands {
            let expected = command.kind.words(dimensions);
            held(command.words == expected, "command")?;
        }
        for notification in &self.notifications {
            let expected = notification.kind.fields(dimensions);
            held(notification.fields == expected, "notification")?;
        }
        MovementCodec::new(self).map_err(|_| "movement attributes")?;
        Ok(())
    }

    /// How many of the first columns are the position.
    pub fn dimensions(&self) -> usize {
        self.world.size.len()
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

    pub fn notification(&self, kind: NotificationKind) -> Option<&NotificationSchema> {
        self.notifications.iter().find(|n| n.kind == kind)
    }

    /// A kind's default row, one value a column; columns it lacks are 0.
    pub fn default_row(&self, kind: usize) -> Vec<i32> {
        let mut row = vec![0; self.attributes.len()];
        for attribute in &self.kinds[kind].attributes {
            row[usize::from(attribute.column)] = attribute.default;
        }
        row
    }

    /// A kind's bounds by column; columns it lacks are held at 0.
    pub fn bounds(&self, kind: usize) -> Vec<(i32, i32)> {
        let mut bounds = vec![(0, 0); self.attributes.len()];
        for attribute in &self.kinds[kind].attributes {
            bounds[usize::from(attribute.column)] = (attribute.min, attribute.max);
        }
        bounds
    }

    /// A fingerprint of everything in the schema. A client built for one world
    /// can require it in its hello.
    pub fn hash(&self) -> u64 {
        codec::to_bytes(self)
            .chunks(8)
            .fold(0x6d79_7269_6164, |hash, chunk| {
                let mut word = [0; 8];
                word[..chunk.len()].copy_from_slice(chunk);
                mix(hash, u64::from_le_bytes(word) ^ (chunk.len() as u64) << 56)
            })
    }
}

/// Positions of larger worlds could overflow when compared.
const SIZE_RAW_MAX: i32 = 1 << 30;

/// How many bits hold every number in `0..=max`.
pub const fn bits_for(max: u64) -> u32 {
    64 - max.leading_zeros()
}
