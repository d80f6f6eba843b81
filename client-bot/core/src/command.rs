//! Commands that the server has not confirmed yet.

use std::collections::VecDeque;

use shared::wire::commands::{COMMANDS_MAX, ClientDatagram, CommandCodec};
use shared::{CommandKind, Schema};
use thiserror::Error;

/// Why a command cannot be sent.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum CommandError {
    #[error("the client is not in the world")]
    NotInWorld,
    #[error("clients of this world cannot send command {}", .0.id())]
    Unavailable(CommandKind),
    #[error("`{name}` takes {expected} numbers, found {found}")]
    WordCount {
        /// The command's name.
        name: String,
        expected: usize,
        found: usize,
    },
}

/// The latest commands, oldest first. Each datagram repeats all of them until the server
/// has confirmed them, so that a lost datagram delays a command and does not lose it.
#[derive(Debug)]
pub(crate) struct CommandQueue {
    unconfirmed: VecDeque<(CommandKind, Vec<i32>)>,
    next_sequence: u32,
}

impl CommandQueue {
    pub fn new() -> CommandQueue {
        CommandQueue {
            unconfirmed: VecDeque::new(),
            next_sequence: 1,
        }
    }

    /// Keeps the latest commands that can be written, and drops those before: sequence
    /// numbers in a datagram have no gaps.
    pub fn keep(&mut self, codec: &CommandCodec) {
        let fits =
            |(kind, words): &(CommandKind, Vec<i32>)| codec.word_count(*kind) == Some(words.len());
        let last_that_cannot = self.unconfirmed.iter().rposition(|command| !fits(command));
        if let Some(last) = last_that_cannot {
            self.unconfirmed.drain(..=last);
        }
    }

    /// Adds a command and gives its sequence number. Beyond [`COMMANDS_MAX`] the oldest
    /// one goes: after so many newer ones it is out of date.
    pub fn push(
        &mut self,
        schema: &Schema,
        kind: CommandKind,
        words: &[i32],
    ) -> Result<u32, CommandError> {
        let command = schema.command(kind).filter(|c| c.senders.clients);
        let command = command.ok_or(CommandError::Unavailable(kind))?;
        let expected = command.words.len();
        if words.len() != expected {
            return Err(CommandError::WordCount {
                name: command.name.clone(),
                expected,
                found: words.len(),
            });
        }
        let sequence = self.next_sequence;
        self.next_sequence = sequence.wrapping_add(1);
        self.unconfirmed.push_back((kind, words.to_vec()));
        if self.unconfirmed.len() > COMMANDS_MAX {
            self.unconfirmed.pop_front();
        }
        Ok(sequence)
    }

    /// Forgets commands up to the sequence number that the server has confirmed.
    pub fn confirm(&mut self, processed: u32) {
        let unconfirmed = self.next_sequence.wrapping_sub(1).wrapping_sub(processed) as usize;
        while self.unconfirmed.len() > unconfirmed {
            self.unconfirmed.pop_front();
        }
    }

    pub fn is_empty(&self) -> bool {
        self.unconfirmed.is_empty()
    }

    /// Writes the commands into a datagram.
    pub fn fill(&self, datagram: &mut ClientDatagram) {
        let count = u32::try_from(self.unconfirmed.len()).unwrap_or(u32::MAX);
        datagram.first_sequence = self.next_sequence.wrapping_sub(count);
        datagram.kinds.clear();
        datagram.words.clear();
        for (kind, words) in &self.unconfirmed {
            datagram.kinds.push(*kind);
            datagram.words.extend_from_slice(words);
        }
    }
}
