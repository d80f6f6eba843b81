//! Hooks: commands that the world gives by itself when something happens, and the zones whose
//! borders some of them watch.

use serde::{Deserialize, Serialize};

use super::command::CommandKind;
use super::spawn::SpawnArea;

/// A command that an entity gives in the tick after something happened to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hook {
    pub occasion: Occasion,
    /// The kind of the entities that give it; `None`: all kinds.
    pub kind: Option<u16>,
    pub command: CommandKind,
    /// Whether it names the other entity in a word: the one that caused a fall, or the one that
    /// carries the zone.
    pub has_other: bool,
}

/// What happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Occasion {
    /// A client's first entity is born.
    Join,
    /// A client's entity is about to be removed, as its client is gone for good.
    Leave,
    Birth,
    /// An entity is down to its `falls_at`. It dies once its hooks have run.
    Fall,
    /// An entity is in a zone, and was not in it one tick before.
    Enter(u16),
    Exit(u16),
    /// Scripts come into force, the first ones of a world included.
    Reload,
}

/// A named part of the world.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Zone {
    pub name: String,
    /// Its place in raw units, borders included. If it is carried: as seen from its carrier.
    pub area: SpawnArea,
    /// The kind each of whose entities carries such a zone; `None`: the zone stays where it is.
    pub carrier: Option<u16>,
}

impl Zone {
    /// The corners of the box around it, both included.
    pub fn corners(&self) -> [[i32; 3]; 2] {
        match self.area {
            SpawnArea::Ball { center, radius } => [
                center.map(|axis| axis.saturating_sub(radius)),
                center.map(|axis| axis.saturating_add(radius)),
            ],
            SpawnArea::Box { low, high } => [low, high],
        }
    }

    /// Whether a place is in the zone; of a carried one, a place as seen from its carrier.
    pub fn contains(&self, place: [i32; 3]) -> bool {
        match self.area {
            SpawnArea::Ball { center, radius } => {
                let along = |axis: usize| i64::from(place[axis]) - i64::from(center[axis]);
                let squares = (0..3).map(|axis| u128::from(along(axis).unsigned_abs()).pow(2));
                squares.sum::<u128>() <= u128::from(radius.unsigned_abs()).pow(2)
            }
            SpawnArea::Box { low, high } => {
                (0..3).all(|axis| (low[axis]..=high[axis]).contains(&place[axis]))
            }
        }
    }
}

impl Hook {
    /// Whether entities of a kind give it.
    pub fn is_of(&self, kind: u16) -> bool {
        self.kind.is_none_or(|own| own == kind)
    }
}

/// The most hooks of a world's scripts. Each event is compared with all of them.
pub const HOOKS_MAX: usize = 1024;
/// The most zones of a world file.
pub const ZONES_MAX: usize = 4096;
/// The longest edge of a carried zone is so many times the radius of the area of interest.
pub const CARRIED_EDGE_MAX: i32 = 8;
