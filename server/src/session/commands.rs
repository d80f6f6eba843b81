//! A client's datagrams: an acknowledgement, and commands for the inbox.

use std::collections::VecDeque;

use shared::wire::commands::{Acknowledgement, ClientDatagram, CommandCodec};
use shared::{EntityId, Tick};
use thiserror::Error;

use super::Session;
use crate::tick::inbox::{ClientCommand, Inbox};

/// Why a datagram that could be read makes no sense. The session must end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum DatagramError {
    #[error("commands before the welcome")]
    BeforeWelcome,
    #[error("tick {0} is acknowledged before it was sent")]
    NotSentYet(Tick),
}

/// Which of the client's commands the world has taken in.
#[derive(Default)]
pub struct Processed {
    /// (tick that takes it in, sequence number), ascending; one entry a tick.
    coming: VecDeque<(Tick, u32)>,
    sequence: u32,
    /// The sequence number that the client was told last.
    told: u32,
}

impl Session {
    /// Takes in what the client has received, and its new commands.
    pub fn take_in(
        &mut self,
        datagram: &ClientDatagram,
        codec: &CommandCodec,
        inbox: &mut Inbox,
    ) -> Result<(), DatagramError> {
        let player = self.player.ok_or(DatagramError::BeforeWelcome)?;
        let newest = datagram.acknowledgement.newest;
        if newest >= inbox.tick.max(Tick(1)) {
            return Err(DatagramError::NotSentYet(newest));
        }
        self.acknowledge(&datagram.acknowledgement);
        self.quota.fill(inbox.tick);
        let mut words = &datagram.words[..];
        for (i, &kind) in (0..).zip(&datagram.kinds) {
            let count = codec.word_count(kind).unwrap_or(0);
            let (own, rest) = words.split_at(count);
            words = rest;
            let sequence = datagram.first_sequence.wrapping_add(i);
            if sequence.wrapping_sub(self.next_sequence) > u32::MAX / 2 {
                inbox.refusals.commands_repeated += 1;
                continue;
            }
            self.next_sequence = sequence.wrapping_add(1);
            self.processed.expect(inbox.tick, sequence);
            // Nobody acts for a spectator.
            if player.entity == EntityId::NONE || !self.quota.take() {
                inbox.refusals.commands_over_quota += 1;
                continue;
            }
            let command = ClientCommand {
                entity: player.entity,
                sequence,
                kind,
            };
            inbox.push(command, own);
        }
        Ok(())
    }

    fn acknowledge(&mut self, new: &Acknowledgement) {
        // Datagrams overtake each other: an older one brings nothing new.
        if new.newest < self.acknowledgement.newest || new.stream < self.acknowledgement.stream {
            return;
        }
        if new.newest > self.acknowledgement.newest {
            self.unacknowledged = (new.newest < self.last_datagram).then(|| new.newest.next());
        }
        self.acknowledgement = *new;
        self.movement.acknowledge(new);
        self.stream.acknowledge(new.stream);
    }
}

impl Processed {
    /// The tick will take in the command with this number. Only the last number of a
    /// tick matters.
    fn expect(&mut self, tick: Tick, sequence: u32) {
        match self.coming.back_mut() {
            Some(last) if last.0 == tick => last.1 = sequence,
            _ => self.coming.push_back((tick, sequence)),
        }
    }

    /// Moves on to the commands that a tick has taken in.
    pub fn advance(&mut self, tick: Tick) {
        while let Some(&(_, sequence)) = self.coming.front().filter(|&&(t, _)| t <= tick) {
            self.sequence = sequence;
            self.coming.pop_front();
        }
    }

    pub fn sequence(&self) -> u32 {
        self.sequence
    }

    /// Whether the client does not know yet which commands were taken in.
    pub fn has_news(&self) -> bool {
        self.sequence != self.told
    }

    /// The client is told now.
    pub fn tell(&mut self) {
        self.told = self.sequence;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tick_processes_the_last_of_its_commands() {
        let mut processed = Processed::default();
        for (tick, sequence) in [(5, 1), (5, 2), (6, 3), (6, 4)] {
            processed.expect(Tick(tick), sequence);
        }
        assert_eq!(processed.coming.len(), 2);
        processed.advance(Tick(4));
        assert!(!processed.has_news());
        processed.advance(Tick(5));
        assert_eq!((processed.sequence(), processed.has_news()), (2, true));
        processed.tell();
        assert!(!processed.has_news());
        processed.advance(Tick(9));
        assert_eq!(processed.sequence(), 4);
    }
}
