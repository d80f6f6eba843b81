//! The built-in commands: what each takes, and the numbers a world file may set.

use serde::{Deserialize, Serialize};

use super::attribute::AttributeType;
use super::fixed::Fixed;

/// The kinds of command that every world knows.
///
/// Those that need an attribute which a world lacks (`hp`, `owner`) are simply
/// not in that world's schema.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[repr(u16)]
pub enum CommandKind {
    /// A birth. Words: kind, token, and optionally a position; without one the
    /// place is random. Server only.
    Spawn = 0,
    /// A death of the commanding entity. Server only.
    Despawn = 1,
    /// A step by an offset, each axis clamped to `speed_max`.
    Move = 2,
    /// Takes `damage` from the `hp` of one target in reach.
    Strike = 3,
    /// Gives `amount` to the `hp` of one target in reach (oneself too).
    Heal = 4,
    /// Takes `damage` from the `hp` of everyone but oneself within `radius` of a
    /// point in reach: several updates from one command.
    Blast = 5,
    /// Claims an item in reach that nobody owns; of several claims the item's
    /// merge rule decides. Picking what one owns puts it down.
    Pick = 6,
    /// A random step, for npcs. World rules only.
    Roam = 7,
    /// What a blast leaves behind: takes `ember_damage` from the `hp` of everyone
    /// within the blast's radius of a point, and comes again in the next tick.
    /// Words: the point, and how many times more it burns. Of no entity; only
    /// what falls due by itself.
    Burn = 8,
    /// An announcement to whoever hears it around the commanding entity. Words: how
    /// far along each axis, cut to `radius_max`, and a number.
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

    /// The attribute that a world must have for this command to exist in it.
    pub const fn needs(self) -> Option<(&'static str, AttributeType)> {
        match self {
            CommandKind::Strike | CommandKind::Heal | CommandKind::Blast | CommandKind::Burn => {
                Some(("hp", AttributeType::I32))
            }
            CommandKind::Pick => Some(("owner", AttributeType::Entity)),
            _ => None,
        }
    }

    /// The types of its words, in a world of `dimensions` axes.
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
    /// How many ticks a blast's embers burn; 0: it leaves none.
    pub blast_ember_ticks: i32,
    pub blast_ember_damage: i32,
    /// How far along each axis a blast is heard; 0: nobody is told of it.
    pub blast_sound: Fixed,
    pub pick_reach: Fixed,
    /// The longest step per axis of one `roam`.
    pub roam_step: Fixed,
    /// How far along each axis a shout is heard at most; 0: nobody can shout.
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
