//! The game logic of a world: the texts of its scripts, and what the world file sets for
//! them.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

use super::command::{COMMANDS_MAX, CommandKind};
use super::mix::mix;
use super::notification::{NOTIFICATIONS_MAX, NotificationKind};

/// Everything from which the commands of a world are made.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogicConfig {
    /// The folder that the world file names, as it does; `None`: built-in texts only.
    pub folder: Option<String>,
    pub texts: Vec<Text>,
    pub constants: Constants,
    pub budget: Budget,
    pub numbers: Numbers,
}

/// A text of scripts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Text {
    /// Its file's name, such as `strike.rs`.
    pub file: String,
    pub text: String,
    /// Whether it is a built-in one. Commands of these that a world can't have are left
    /// out: those that name what it lacks, or that have no effect.
    pub is_builtin: bool,
}

/// What a world file sets constants to: by text's name without its ending, then by the
/// constant's name in lower case.
pub type Constants = BTreeMap<String, BTreeMap<String, Constant>>;

/// A value in a world file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Constant {
    Int(i64),
    Float(f64),
    Bool(bool),
    Text(String),
}

// Numbers of a world file are finite.
impl Eq for Constant {}

/// What a run of a command may cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Budget {
    /// Loops, calls, notifications and commands that it schedules.
    pub steps: u32,
    /// Entities that `near` visits.
    pub visits: u32,
}

/// The numbers of a world's names. A name keeps its number as long as the world lives, and
/// no other name gets it, since commands that wait hold it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "UncheckedNumbers")]
pub struct Numbers {
    commands: Vec<String>,
    notifications: Vec<String>,
}

/// [`Numbers`] as they were read from somewhere.
#[derive(Deserialize)]
struct UncheckedNumbers {
    commands: Vec<String>,
    notifications: Vec<String>,
}

impl TryFrom<UncheckedNumbers> for Numbers {
    type Error = String;

    fn try_from(unchecked: UncheckedNumbers) -> Result<Numbers, String> {
        let UncheckedNumbers {
            commands,
            notifications,
        } = unchecked;
        let own = [
            ("commands", &commands, COMMANDS_MAX - COMMANDS_FIRST),
            (
                "notifications",
                &notifications,
                NOTIFICATIONS_MAX - NOTIFICATIONS_FIRST,
            ),
        ];
        for (what, names, most) in own {
            let found = names.len();
            if found > most {
                return Err(format!(
                    "expected numbers of at most {most} {what}, found {found}"
                ));
            }
        }
        Ok(Numbers {
            commands,
            notifications,
        })
    }
}

impl Text {
    /// A text of a world's own.
    pub fn new(file: impl Into<String>, text: impl Into<String>) -> Text {
        Text {
            file: file.into(),
            text: text.into(),
            is_builtin: false,
        }
    }

    /// The file's name without its ending: the name under which a world file sets its
    /// constants.
    pub fn stem(&self) -> &str {
        self.file.strip_suffix(".rs").unwrap_or(&self.file)
    }
}

impl Budget {
    /// The largest [`Budget::steps`]: a run's notifications, and the commands that it puts
    /// off, are counted in 16 bits.
    pub const STEPS_MAX: u32 = 65_535;
    /// The largest [`Budget::visits`].
    pub const VISITS_MAX: u32 = 1 << 20;
}

impl Default for Budget {
    fn default() -> Budget {
        Budget {
            steps: 4096,
            visits: 16_384,
        }
    }
}

impl fmt::Display for Constant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Constant::Int(number) => number.fmt(f),
            Constant::Float(number) => number.fmt(f),
            Constant::Bool(truth) => truth.fmt(f),
            Constant::Text(text) => write!(f, "{text:?}"),
        }
    }
}

/// The engine's own commands come first: `spawn` and `despawn`.
const COMMANDS_FIRST: usize = 2;
/// The engine's own notifications come first: `fall` and `pick`.
const NOTIFICATIONS_FIRST: usize = 2;

impl Numbers {
    /// Numbers of these names, in this order.
    pub fn of(commands: &[&str], notifications: &[&str]) -> Numbers {
        let names = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect();
        Numbers {
            commands: names(commands),
            notifications: names(notifications),
        }
    }

    /// A command's number, a new one for a new name; `None` if there are too many.
    pub fn command(&mut self, name: &str) -> Option<CommandKind> {
        let number = number_of(&mut self.commands, name, COMMANDS_MAX - COMMANDS_FIRST)?;
        Some(CommandKind((COMMANDS_FIRST + number) as u16))
    }

    /// The name of a command's number, also of one that is gone.
    pub fn command_name(&self, kind: CommandKind) -> Option<&str> {
        let place = usize::from(kind.id()).checked_sub(COMMANDS_FIRST)?;
        self.commands.get(place).map(String::as_str)
    }

    /// A notification's number, a new one for a new name; `None` if there are too many.
    pub fn notification(&mut self, name: &str) -> Option<NotificationKind> {
        let most = NOTIFICATIONS_MAX - NOTIFICATIONS_FIRST;
        let number = number_of(&mut self.notifications, name, most)?;
        Some(NotificationKind((NOTIFICATIONS_FIRST + number) as u16))
    }
}

fn number_of(names: &mut Vec<String>, name: &str, most: usize) -> Option<usize> {
    if let Some(number) = names.iter().position(|known| known == name) {
        return Some(number);
    }
    if names.len() == most {
        return None;
    }
    names.push(name.to_owned());
    Some(names.len() - 1)
}

impl LogicConfig {
    /// A number for texts, constants, budget and numbers: two logics of one hash do the
    /// same. It is part of the state hash.
    pub fn hash(&self) -> u64 {
        let budget = u64::from(self.budget.steps) << 32 | u64::from(self.budget.visits);
        let mut hash = mix(12 << 56, budget);
        let mut take = |text: &str| hash = mix_text(hash, text);
        for text in &self.texts {
            take(&text.file);
            take(&text.text);
        }
        for (stem, settings) in &self.constants {
            take(stem);
            for (key, value) in settings {
                take(key);
                take(&value.to_string());
            }
        }
        let names = self
            .numbers
            .commands
            .iter()
            .chain(&self.numbers.notifications);
        names.for_each(|name| take(name));
        hash
    }
}

fn mix_text(hash: u64, text: &str) -> u64 {
    let mut hash = mix(hash, text.len() as u64);
    for chunk in text.as_bytes().chunks(8) {
        let mut word = [0; 8];
        word[..chunk.len()].copy_from_slice(chunk);
        hash = mix(hash, u64::from_le_bytes(word));
    }
    hash
}
