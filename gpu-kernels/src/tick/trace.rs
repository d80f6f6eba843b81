//! Which commands of a tick updated which attributes, for inspection of single ticks.

use shared::{Slot, WorldConfig};

use crate::tick::frame::Command;

/// The commands of one tick, and the updates of each.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Trace {
    /// In command order: the frame's, then those that were due, then those of world rules.
    pub commands: Vec<Command>,
    /// The commands' words.
    pub words: Vec<i32>,
    /// In command order, before they are merged.
    pub updates: Vec<TracedUpdate>,
}

/// One update.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TracedUpdate {
    /// A place in [`Trace::commands`].
    pub command: u32,
    pub slot: Slot,
    pub column: u16,
    pub value: i32,
}

impl Trace {
    /// A command's words.
    pub fn words_of(&self, command: &Command) -> &[i32] {
        let start = command.word_start as usize;
        let words = start..start + usize::from(command.word_count);
        self.words.get(words).unwrap_or_default()
    }
}

impl TracedUpdate {
    /// An update by its key: slot × columns + column.
    pub(crate) fn new(config: &WorldConfig, command: usize, (key, value): (u32, u32)) -> Self {
        let columns = config.schema.attributes.len() as u32;
        TracedUpdate {
            command: command as u32,
            slot: Slot(key / columns),
            column: (key % columns) as u16,
            value: value as i32,
        }
    }
}
