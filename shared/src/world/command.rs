//! Commands: their numbers, and their form in a world's schema.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::attribute::AttributeType;

/// The number of a command. The schema of a world says which commands it has, and
/// their names; the engine itself knows only births and deaths.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct CommandKind(pub u16);

impl CommandKind {
    /// A birth. Words: kind, token, and optionally a position, which is otherwise
    /// random. Commands before it may have [values](super::given) for it.
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
    /// How often a client may give it for its entity in one tick; 0: as often as it wants.
    pub per_tick: u8,
    /// Ticks from a client's use of it to the next tick in which the entity may use it again; 0:
    /// it never rests.
    pub cooldown: u32,
}

/// The senders of a command, besides the server and other commands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Senders {
    /// A client for its own entity.
    pub clients: bool,
    /// A world rule (`[[every]]`).
    pub rules: bool,
}

/// Why a client's command had no effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[repr(u8)]
pub enum Refusal {
    /// It ran, and had no effect.
    Idle = 0,
    /// Its client has no entity.
    Dead = 1,
    /// Its entity has given the command as often in the tick as it may.
    OverPerTick = 2,
    /// The command rests after a use.
    Resting = 3,
    /// The tick was full, or the run took longer than a run may.
    BeyondLimits = 4,
    /// The client has sent more than its quota.
    OverQuota = 5,
    /// It is meant for a tick that is too far ahead.
    TooEarly = 6,
    /// It came too long after the tick that it was meant for.
    TooLate = 7,
    /// In the turn of the atomic command, what it requires did not hold, or a value did not fit.
    Unmet = 8,
    /// In the turns of the atomic command, what it refers to had changed: in two ticks.
    Moved = 9,
}

/// A sentence's end: "the command had no effect: …".
impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Refusal::Idle => "it changed nothing",
            Refusal::Dead => "there is no entity to give it",
            Refusal::OverPerTick => "it was given more often in a tick than it may be",
            Refusal::Resting => "it rests after its last use",
            Refusal::BeyondLimits => "it is beyond the limits of a tick, or of a run",
            Refusal::OverQuota => "more commands were sent than the quota allows",
            Refusal::TooEarly => "it was meant for a tick too far ahead",
            Refusal::TooLate => "it came too long after its tick",
            Refusal::Unmet => "what it requires did not hold",
            Refusal::Moved => "what it refers to had changed",
        })
    }
}

impl Refusal {
    pub const ALL: [Refusal; 10] = [
        Refusal::Idle,
        Refusal::Dead,
        Refusal::OverPerTick,
        Refusal::Resting,
        Refusal::BeyondLimits,
        Refusal::OverQuota,
        Refusal::TooEarly,
        Refusal::TooLate,
        Refusal::Unmet,
        Refusal::Moved,
    ];

    /// Whether the command ran: it is used up like one that had an effect.
    pub fn is_after_its_run(self) -> bool {
        use Refusal::{BeyondLimits, Idle, Moved, Unmet};
        matches!(self, Idle | BeyondLimits | Unmet | Moved)
    }

    /// The one with this number.
    pub fn of(number: u64) -> Option<Refusal> {
        let mut all = Refusal::ALL.into_iter();
        all.find(|refusal| *refusal as u64 == number)
    }
}

/// One word of a command.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommandWord {
    pub name: String,
    pub ty: AttributeType,
}

impl CommandSchema {
    /// Which of its words says what its client saw: the low bits of the tick that was shown
    /// as the command was given.
    pub fn seen_word(&self) -> Option<usize> {
        let is_seen = |word: &CommandWord| word.name == SEEN && word.ty == AttributeType::I32;
        (self.words.iter().position(is_seen)).filter(|_| self.senders.clients)
    }

    /// Whether clients or rules give it, so that it runs without having been scheduled.
    pub fn is_given(&self) -> bool {
        self.senders.clients || self.senders.rules
    }

    /// Whether newborns can give it.
    pub fn is_for_newborns(&self) -> bool {
        self.kind > CommandKind::DESPAWN && self.has_actor && self.words.is_empty()
    }

    /// The first word of its only point: one word per axis, named as the axes are.
    pub fn point(&self, dimensions: usize) -> Option<usize> {
        let axes = ["x", "y", "z"].into_iter().take(dimensions);
        let is_point = |words: &[CommandWord]| {
            let mut named = words.iter().zip(axes.clone());
            named.all(|(word, axis)| word.name == axis && word.ty == AttributeType::Fixed)
        };
        self.words.windows(dimensions).position(is_point)
    }

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
            per_tick: 0,
            cooldown: 0,
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
            per_tick: 0,
            cooldown: 0,
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
/// The most words of a command.
pub const COMMAND_WORDS_MAX: usize = 16;
/// The most words of a command that waits in the world: one that is scheduled, or atomic. A birth
/// with a position has as many.
pub const WAITING_WORDS_MAX: usize = 5;

/// The most reasons of a world: its scripts name them in `require`.
pub const REASONS_MAX: usize = 256;
/// The most bytes of a reason.
pub const REASON_BYTES_MAX: usize = 128;

/// The parameter that says what the client saw which gives the command.
pub const SEEN: &str = "seen";
