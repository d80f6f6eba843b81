//! What a world's entities are made of, as server and clients see it.

use serde::{Deserialize, Serialize};

// Old paths, until every crate names the new ones.
pub use super::attribute::{Attribute, AttributeType, Audience, MergeRule, bits_for};
use super::command::{CommandKind, Sender};
use super::fixed::Fixed;
use super::notification::{NotificationKind, NotificationSchema};

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
}
