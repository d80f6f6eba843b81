//! What a front end in another process hands to the tick: the version in one byte, then bincode.

use serde::{Deserialize, Serialize};
use shared::wire::codec;
use shared::world::command::COMMAND_WORDS_MAX;
use shared::{CommandKind, EntityId, Tick};

use super::{MESSAGE_BYTES_MAX, VERSION, WireError, below, body};
use crate::inbox::{ClientCommand, Inbox, PendingRequest, SessionChange, SessionId};

/// Input since the last message, and how far the front end is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Input {
    /// In the order of arrival.
    pub changes: Vec<SessionChange>,
    /// Sessions that have sent their first datagram.
    pub confirmed: Vec<SessionId>,
    pub requests: Vec<PendingRequest>,
    /// In the order of arrival.
    pub commands: Vec<TimedInput>,
    /// The newest tick that was sent to clients; none before the first.
    pub sent_through: Option<Tick>,
    /// Every client has acknowledged its stream up to this tick.
    pub acked_through: Tick,
}

/// A client's command for a tick.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TimedInput {
    pub tick: Tick,
    pub entity: EntityId,
    pub sequence: u32,
    pub kind: CommandKind,
    pub words: Vec<i32>,
}

impl Input {
    /// Takes everything out of the front end's own inbox.
    pub fn take(inbox: &mut Inbox) -> Input {
        let mut commands = vec![];
        for (tick, batch) in inbox.batches() {
            commands.extend(batch.iter().map(|(command, words)| TimedInput {
                tick,
                entity: command.entity,
                sequence: command.sequence,
                kind: CommandKind(command.kind),
                words: words.to_vec(),
            }));
        }
        let input = Input {
            changes: inbox.changes().cloned().collect(),
            confirmed: std::mem::take(&mut inbox.confirmed),
            requests: std::mem::take(&mut inbox.requests),
            commands,
            ..Input::default()
        };
        inbox.clear();
        input
    }

    /// Adds it to the inbox that the tick takes. A command for a tick that is too far ahead comes
    /// earlier.
    pub fn add_to(self, inbox: &mut Inbox) {
        for change in self.changes {
            match change {
                SessionChange::Join(join) => inbox.join(join),
                SessionChange::Leave(leave) => inbox.leave(leave),
            }
        }
        inbox.confirmed.extend(self.confirmed);
        inbox.requests.extend(self.requests);
        let last = inbox.tick.after(AHEAD_TICKS_MAX);
        for command in self.commands {
            let TimedInput {
                tick,
                entity,
                sequence,
                kind,
                words,
            } = command;
            let command = ClientCommand {
                entity,
                sequence,
                kind,
            };
            inbox.push_for(tick.min(last), command, &words);
        }
    }

    pub fn encode(&self) -> Vec<u8> {
        let mut bytes = vec![VERSION];
        bytes.extend(codec::to_bytes(self));
        bytes
    }

    pub fn decode(bytes: &[u8]) -> Result<Input, WireError> {
        let input: Input = codec::from_wire::<MESSAGE_BYTES_MAX, _>(body(bytes)?)?;
        for command in &input.commands {
            let words = command.words.len() as u64;
            below(
                "the words of a command",
                words,
                COMMAND_WORDS_MAX as u64 + 1,
            )?;
        }
        Ok(input)
    }
}

/// The largest `input_ticks_max` of a world.
const AHEAD_TICKS_MAX: u32 = 1000;
