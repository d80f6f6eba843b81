//! The built-in commands, and the numbers of theirs that a world file may set.

use serde::{Deserialize, Serialize};

use super::attribute::AttributeType;
use super::fixed::Fixed;

/// The kinds of command.
///
/// A kind that needs an attribute (`hp`, `owner`) is in the schema of a world only if
/// the world has that attribute.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[repr(u16)]
pub enum CommandKind {
    /// A birth. Words: kind, token, and optionally a position, which is otherwise
    /// random. Server only.
    Spawn = 0,
    /// The death of the commanding entity. Server only.
    Despawn = 1,
    /// A step by an offset, each axis clamped to `speed_max`.
    Move = 2,
    /// Takes `damage` from the `hp` of one target in reach.
    Strike = 3,
    /// Gives `amount` to the `hp` of one target in reach, which may be the entity itself.
    Heal = 4,
    /// Takes `damage` from the `hp` of all other entities within `radius` of a point in
    /// reach: several updates from one command.
    Blast = 5,
    /// Claims an item in reach that has no owner. The merge rule of `owner` decides
    /// between several claims. Picking an item that the entity owns puts it down.
    Pick = 6,
    /// A random step. World rules only.
    Roam = 7,
    /// The embers of a blast: takes `ember_damage` from the `hp` of all entities within
    /// the blast's radius of a point, and schedules itself for the next tick. Words: the
    /// point, and how many more times it burns. No entity gives it; timers only.
    Burn = 8,
    /// A notification around the commanding entity. Words: how far it is heard along
    /// each axis, at most `radius_max`, and a number.
    Shout = 9,
}

impl CommandKind {
    pub const ALL: [CommandKind; 10] = [
        CommandKind::Spawn,
        CommandKind::Despawn,
        CommandKind::Move,
        CommandKind::Strike,
        CommandKind::Heal,
        CommandKind::Blast,
        CommandKind::Pick,
        CommandKind::Roam,
        CommandKind::Burn,
        CommandKind::Shout,
    ];

    pub const fn from_id(id: u16) -> Option<CommandKind> {
        if (id as usize) < Self::ALL.len() {
            Some(Self::ALL[id as usize])
        } else {
            None
        }
    }

    pub const fn id(self) -> u16 {
        self as u16
    }

    pub const fn name(self) -> &'static str {
        match self {
            CommandKind::Spawn => "spawn",
            CommandKind::Despawn => "despawn",
            CommandKind::Move => "move",
            CommandKind::Strike => "strike",
            CommandKind::Heal => "heal",
            CommandKind::Blast => "blast",
            CommandKind::Pick => "pick",
            CommandKind::Roam => "roam",
            CommandKind::Burn => "burn",
            CommandKind::Shout => "shout",
        }
    }

    /// Who may send it.
    pub const fn sender(self) -> Sender {
        match self {
            CommandKind::Spawn | CommandKind::Despawn => Sender::Server,
            CommandKind::Roam => Sender::Rule,
            CommandKind::Burn => Sender::Timer,
            _ => Sender::Client,
        }
    }

    /// The attribute that a world needs for this command.
    pub const fn needs(self) -> Option<(&'static str, AttributeType)> {
        match self {
            CommandKind::Strike | CommandKind::Heal | CommandKind::Blast | CommandKind::Burn => {
                Some(("hp", AttributeType::I32))
            }
            CommandKind::Pick => Some(("owner", AttributeType::Entity)),
            _ => None,
        }
    }

    /// The types of its words in a world of `dimensions` axes.
    pub fn words(self, dimensions: usize) -> Vec<AttributeType> {
        match self {
            CommandKind::Spawn => vec![AttributeType::I32; 2],
            CommandKind::Despawn | CommandKind::Roam => vec![],
            CommandKind::Move | CommandKind::Blast => vec![AttributeType::Fixed; dimensions],
            CommandKind::Strike | CommandKind::Heal | CommandKind::Pick => {
                vec![AttributeType::Entity]
            }
            CommandKind::Burn => {
                let mut words = vec![AttributeType::Fixed; dimensions];
                words.push(AttributeType::I32);
                words
            }
            CommandKind::Shout => vec![AttributeType::Fixed, AttributeType::I32],
        }
    }
}

/// Who may send a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Sender {
    /// A client for its own entity, or a world rule.
    Client,
    /// A world rule (`[[every]]`) only.
    Rule,
    /// The server only.
    Server,
    /// Nobody: another command schedules it.
    Timer,
}

/// The numbers of the built-in commands: `[commands]` in the world file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rules {
    /// The longest step per axis of one `move`.
    pub move_speed_max: Fixed,
    pub strike_reach: Fixed,
    pub strike_damage: i32,
    pub heal_reach: Fixed,
    pub heal_amount: i32,
    pub blast_reach: Fixed,
    pub blast_radius: Fixed,
    pub blast_damage: i32,
    /// How many ticks the embers of a blast burn; 0: a blast has none.
    pub blast_ember_ticks: i32,
    pub blast_ember_damage: i32,
    /// How far along each axis a blast is heard; 0: it is not heard.
    pub blast_sound: Fixed,
    pub pick_reach: Fixed,
    /// The longest step per axis of one `roam`.
    pub roam_step: Fixed,
    /// How far along each axis a shout is heard at most; 0: there are no shouts.
    pub shout_radius_max: Fixed,
}

impl Default for Rules {
    fn default() -> Rules {
        let units = |n: i32| Fixed::from_raw(n * Fixed::ONE.raw());
        Rules {
            move_speed_max: units(2),
            strike_reach: units(10),
            strike_damage: 5,
            heal_reach: units(10),
            heal_amount: 4,
            blast_reach: units(30),
            blast_radius: units(8),
            blast_damage: 3,
            blast_ember_ticks: 0,
            blast_ember_damage: 1,
            blast_sound: units(0),
            pick_reach: units(5),
            roam_step: units(1),
            shout_radius_max: units(0),
        }
    }
}
