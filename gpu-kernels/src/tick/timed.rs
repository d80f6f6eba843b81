//! Timed commands: they join the commands of the tick in which they are due, in the order
//! in which they were scheduled.
//!
//! They are scheduled by the server ([`Frame::after`](crate::Frame::after)), by commands
//! (`after` in a script) and by hooks: of births and clients that join, of falls, of rebirths, and
//! of the borders of zones; in this order within a tick, with those that name newborns before falls. Commands above `limits.timed_commands` are dropped, the last first, and counted.

use serde::{Deserialize, Serialize};
use shared::world::command::WAITING_WORDS_MAX;
use shared::world::mix::mix;
use shared::{EntityId, EntityRef, Hook, Tick};

/// The maximum number of words of a timed command.
pub const TIMED_WORDS_MAX: usize = WAITING_WORDS_MAX;

/// The token of births that no client waits for.
pub const POPULATION_TOKEN: u32 = u32::MAX;

/// Set in the token of a birth that is its client's first.
pub const JOIN_TOKEN: u32 = 1 << 31;

/// The token of a birth as its output has it, and whether a client joins with it.
pub fn token_of(token: u32) -> (u32, bool) {
    match token {
        POPULATION_TOKEN => (token, false),
        _ => (token & !JOIN_TOKEN, token & JOIN_TOKEN != 0),
    }
}

/// A command that waits for its tick.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TimedCommand {
    /// The tick that runs it.
    pub due: Tick,
    /// The number of commands scheduled before it since the world began.
    pub sequence: u64,
    pub entity: EntityId,
    /// The number of a [`CommandKind`](shared::CommandKind).
    pub kind: u16,
    pub word_count: u16,
    /// 0 from `word_count` on.
    pub words: [i32; TIMED_WORDS_MAX],
}

impl TimedCommand {
    /// A command for a later tick, without its sequence number yet. `words` has at most
    /// [`TIMED_WORDS_MAX`] entries.
    pub fn new(due: Tick, entity: EntityId, kind: u16, words: &[i32]) -> TimedCommand {
        let mut all = [0; TIMED_WORDS_MAX];
        all[..words.len()].copy_from_slice(words);
        TimedCommand {
            due,
            sequence: 0,
            entity,
            kind,
            word_count: words.len() as u16,
            words: all,
        }
    }

    /// The command of a hook, which may name another entity.
    pub fn of_hook(due: Tick, entity: EntityId, hook: &Hook, other: EntityId) -> TimedCommand {
        let reference = match other {
            EntityId::NONE => EntityRef::NONE,
            other => other.reference(),
        };
        let words = [reference.0];
        let given = &words[..usize::from(hook.has_other)];
        TimedCommand::new(due, entity, hook.command.id(), given)
    }

    /// The words in use.
    pub fn words(&self) -> &[i32] {
        &self.words[..usize::from(self.word_count)]
    }

    /// Its element of the state hash.
    pub fn element(&self) -> u64 {
        let [a, b, c, d, e] = self.words.map(|word| u64::from(word as u32));
        let kind = u64::from(self.kind) | u64::from(self.word_count) << 16;
        let mut element = mix(7 << 56 | self.due.0, self.sequence);
        for part in [
            self.entity.to_bits(),
            kind | a << 32,
            b | c << 32,
            d | e << 32,
        ] {
            element = mix(element, part);
        }
        element
    }
}

/// The element of the number of scheduled commands; 0 for none.
pub fn next_sequence_element(next_sequence: u64) -> u64 {
    match next_sequence {
        0 => 0,
        next => mix(8 << 56, next),
    }
}
