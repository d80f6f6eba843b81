//! Commands: their numbers, and their form in a world's schema.

use serde::{Deserialize, Serialize};

use super::attribute::AttributeType;
use super::fixed::Fixed;

/// The number of a command. The schema of a world says which commands it has, and
/// their names; the engine itself knows only births and deaths.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct CommandKind(pub u16);

impl CommandKind {
    /// A birth. Words: kind, token, and optionally a position, which is otherwise
    /// random.
    pub const SPAWN: CommandKind = CommandKind(0);
    /// The death of the commanding entity.
    pub const DESPAWN: CommandKind = CommandKind(1);

    pub const fn id(self) -> u16 {
        self.0
    }
}

/// The form of a command, as clients encode it and ticks judge it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommandSchema {
    pub kind: CommandKind,
    pub name: String,
    pub senders: Senders,
    /// Whether a living entity gives it: it is stale once that entity is dead.
    pub has_actor: bool,
    /// At most [`COMMAND_WORDS_MAX`].
    pub words: Vec<CommandWord>,
}

/// Who may send a command, besides the server and other commands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Senders {
    /// A client for its own entity.
    pub clients: bool,
    /// A world rule (`[[every]]`).
    pub rules: bool,
}

/// One word of a command.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommandWord {
    pub name: String,
    pub ty: AttributeType,
}

impl CommandSchema {
    /// [`CommandKind::SPAWN`], without the optional position.
    pub fn spawn() -> CommandSchema {
        CommandSchema {
            kind: CommandKind::SPAWN,
            name: "spawn".to_owned(),
            senders: Senders::default(),
            has_actor: false,
            words: vec![
                CommandWord::new("kind", AttributeType::I32),
                CommandWord::new("token", AttributeType::I32),
            ],
        }
    }

    /// [`CommandKind::DESPAWN`].
    pub fn despawn() -> CommandSchema {
        CommandSchema {
            kind: CommandKind::DESPAWN,
            name: "despawn".to_owned(),
            senders: Senders::default(),
            has_actor: true,
            words: vec![],
        }
    }
}

impl CommandWord {
    pub fn new(name: &str, ty: AttributeType) -> CommandWord {
        CommandWord {
            name: name.to_owned(),
            ty,
        }
    }
}

/// Commands are numbered below this.
pub const COMMANDS_MAX: usize = 256;
/// The most words of a command: those of a birth with a position.
pub const COMMAND_WORDS_MAX: usize = 5;

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
