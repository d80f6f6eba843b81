//! Commands that the server has not confirmed yet.

use std::collections::VecDeque;

use shared::wire::commands::{
    COMMAND_TICKS_MAX, COMMANDS_MAX, ClientDatagram, CommandCodec, SEQUENCE_GAP,
};
use shared::{CommandKind, Schema, Tick};
use thiserror::Error;

/// Why a command cannot be sent.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum CommandError {
    /// The client has not been welcomed, or is not connected now.
    #[error("the client is not in the world")]
    NotInWorld,
    /// The world has no such command, or not for clients.
    #[error("clients of this world cannot send command {}", .0.id())]
    Unavailable(CommandKind),
    /// A command takes as many numbers as its schema says.
    #[error("`{name}` takes {expected} numbers, found {found}")]
    WordCount {
        /// The command's name.
        name: String,
        /// How many it takes.
        expected: usize,
        /// How many were given.
        found: usize,
    },
    /// A parameter of another type is given a text, or one of type text a number other than 0.
    #[error("`{name}` takes {expected} as `{word}`")]
    WrongArgument {
        /// The command's name.
        name: String,
        /// The parameter's name.
        word: String,
        /// What it takes.
        expected: &'static str,
    },
    /// A text is longer than any attribute of the world.
    #[error("a text has {found} bytes, expected at most {limit}")]
    TextTooLong {
        /// Its bytes.
        found: usize,
        /// How many one can have.
        limit: u32,
    },
    /// Others wait until the server has their texts.
    #[error("too many commands wait for their texts")]
    TooManyTexts,
}

/// The latest commands, oldest first. Each datagram repeats all of them until the server
/// has confirmed them, so that a lost datagram delays a command and does not lose it.
#[derive(Debug)]
pub(crate) struct CommandQueue {
    unconfirmed: VecDeque<Queued>,
    next_sequence: u32,
}

#[derive(Debug)]
struct Queued {
    kind: CommandKind,
    words: Vec<i32>,
    /// The tick that it is meant for; `None`: as soon as possible.
    tick: Option<Tick>,
}

impl CommandQueue {
    /// Empty. `processed` is the last command of another program, if it has given any.
    pub fn new(processed: Option<u32>) -> CommandQueue {
        let last = processed.map_or(0, |processed| processed.wrapping_add(SEQUENCE_GAP));
        CommandQueue {
            unconfirmed: VecDeque::new(),
            next_sequence: last.wrapping_add(1),
        }
    }

    /// Goes on with the commands of an earlier session that the server has not processed, as if they
    /// were given now.
    pub fn continue_from(&mut self, mut before: CommandQueue, processed: u32) {
        let newest = before.next_sequence.wrapping_sub(1);
        // Otherwise another program has come back with the ticket meanwhile.
        if newest.wrapping_sub(processed).cast_signed() < 0 {
            return;
        }
        before.confirm(processed);
        for command in &mut before.unconfirmed {
            command.tick = None;
        }
        *self = before;
    }

    /// The number of the next command.
    pub fn next_sequence(&self) -> u32 {
        self.next_sequence
    }

    /// Keeps the latest commands that can be written, and drops those before: sequence
    /// numbers in a datagram have no gaps.
    pub fn keep(&mut self, codec: &CommandCodec) {
        let fits = |command: &Queued| codec.word_count(command.kind) == Some(command.words.len());
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
        self.unconfirmed.push_back(Queued {
            kind,
            words: words.to_vec(),
            tick: None,
        });
        if self.unconfirmed.len() > COMMANDS_MAX {
            self.unconfirmed.pop_front();
        }
        Ok(sequence)
    }

    /// The commands that are not meant for a tick yet are meant for this one, or for that of
    /// the command before if it is later.
    pub fn mean(&mut self, tick: Tick) {
        let last = self.unconfirmed.iter().rev().find_map(|known| known.tick);
        let tick = last.map_or(tick, |last| tick.max(last));
        let new = self.unconfirmed.iter_mut().rev();
        for command in new.take_while(|command| command.tick.is_none()) {
            command.tick = Some(tick);
        }
        // It would be taken for one of the future.
        let is_past = |command: &mut Queued| {
            let meant = command.tick.unwrap_or(tick);
            tick.since(meant) >= COMMAND_TICKS_MAX / 2
        };
        while self.unconfirmed.pop_front_if(is_past).is_some() {}
    }

    /// Forgets commands up to the sequence number that the server has confirmed.
    pub fn confirm(&mut self, processed: u32) {
        let unconfirmed = self.next_sequence.wrapping_sub(1).wrapping_sub(processed) as usize;
        while self.unconfirmed.len() > unconfirmed {
            self.unconfirmed.pop_front();
        }
    }

    /// Forgets the oldest ones of more than fit into a datagram.
    pub fn forget_some(&mut self) {
        self.unconfirmed.drain(..self.unconfirmed.len().div_ceil(8));
    }

    /// The newest one that the server has not confirmed.
    pub fn newest(&self) -> Option<u32> {
        (!self.unconfirmed.is_empty()).then(|| self.next_sequence.wrapping_sub(1))
    }

    pub fn is_empty(&self) -> bool {
        self.unconfirmed.is_empty()
    }

    /// Writes the commands into a datagram.
    pub fn fill(&self, datagram: &mut ClientDatagram) {
        let count = u32::try_from(self.unconfirmed.len()).unwrap_or(u32::MAX);
        datagram.first_sequence = self.next_sequence.wrapping_sub(count);
        datagram.ticks.clear();
        datagram.kinds.clear();
        datagram.words.clear();
        for command in &self.unconfirmed {
            datagram.kinds.push(command.kind);
            datagram.words.extend_from_slice(&command.words);
        }
        // Either all say for which tick they are meant, or none does. One that was given before
        // the client knew goes with the first that does.
        let mut next = self.unconfirmed.back().and_then(|last| last.tick);
        while let Some(tick) = next {
            let place = datagram.ticks.len();
            datagram.ticks.push(tick);
            let before = self.unconfirmed.len().checked_sub(place + 2);
            next = before.map(|before| self.unconfirmed[before].tick.unwrap_or(tick));
        }
        datagram.ticks.reverse();
    }
}
