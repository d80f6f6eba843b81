use std::collections::VecDeque;

use quinn::{Connection, SendStream};
use shared::wire::codec;
use shared::wire::commands::{Acknowledgement, ClientDatagram, CommandCodec};
use shared::wire::control::Welcome;
use shared::wire::session::Answer;
use shared::{ClientRow, EntityId, Limits, Tick};

use super::ShardWorld;
use super::requests::Unanswered;
use crate::inbox::{Request, SharedInbox};
use crate::publication::Notice;

/// One client's end of things: what it sent, and what it has yet to receive.
pub struct Session {
    pub connection: Connection,
    pub stream: OutStream,
    /// Once the world has taken it in.
    pub player: Option<Player>,
    /// Its entity is another one than it has been told.
    pub is_reborn: bool,
    /// We closed it ourselves, or it is being closed.
    pub is_ending: bool,
    pub acknowledgement: Acknowledgement,
    /// Movement sent in a tick that is not known to have arrived, ascending by slot.
    pub pending: Vec<Pending>,
    /// The last tick in which it was sent a datagram.
    pub told: Tick,
    pub processed: Processed,
    /// To be told with this tick's items.
    pub answers: Vec<Answer>,
    pub unanswered: Unanswered,
    quota: Quota,
    next_sequence: u32,
}

/// Who a session is in the world.
#[derive(Clone, Copy)]
pub struct Player {
    pub client: ClientRow,
    pub entity: EntityId,
}

/// An entity's movement that may have been lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pending {
    pub slot: u32,
    /// The tick whose datagrams carried it last; `None` where it found no room.
    pub sent: Option<Tick>,
}

/// The reliable stream, with what waits for the transport.
pub struct OutStream {
    pub send: SendStream,
    pub waiting: Vec<u8>,
    pub waiting_max: usize,
    /// Ticks of frames that the client has not said to have taken in.
    pub frames: VecDeque<Tick>,
}

/// Which of the client's commands the world has taken in.
#[derive(Default)]
pub struct Processed {
    /// (tick that takes it in, sequence number), oldest first.
    coming: VecDeque<(Tick, u32)>,
    pub sequence: u32,
    /// As last told.
    pub told: u32,
}

/// A token bucket: commands per tick on average, more after a pause.
struct Quota {
    tokens: u32,
    per_tick: u32,
    burst: u32,
    /// The tick up to which it was filled.
    filled: Tick,
}

impl Session {
    pub fn new(
        connection: Connection,
        send: SendStream,
        unanswered: Unanswered,
        limits: &Limits,
    ) -> Session {
        Session {
            connection,
            stream: OutStream {
                send,
                waiting: vec![],
                waiting_max: limits.client_stream_bytes as usize,
                frames: VecDeque::new(),
            },
            player: None,
            is_reborn: false,
            is_ending: false,
            acknowledgement: Acknowledgement::default(),
            pending: vec![],
            told: Tick(0),
            processed: Processed::default(),
            answers: vec![],
            unanswered,
            quota: Quota {
                tokens: limits.client_commands_burst,
                per_tick: limits.client_commands_per_tick,
                burst: limits.client_commands_burst,
                filled: Tick(0),
            },
            next_sequence: 1,
        }
    }

    pub fn client(&self) -> Option<ClientRow> {
        self.player.map(|p| p.client)
    }

    /// Welcomes the client as an entity of the world.
    pub fn assign(&mut self, notice: &Notice, tick: Tick, world: &ShardWorld) {
        let Notice::Assigned {
            client,
            entity,
            ticket,
            resumed,
            ..
        } = *notice
        else {
            return;
        };
        self.player = Some(Player { client, entity });
        self.acknowledgement.newest = tick;
        self.quota.filled = tick;
        self.stream.push_welcome(&Welcome {
            tick,
            entity,
            epoch: world.epoch,
            ticket,
            resumed,
            schema: world.config.schema.clone(),
        });
    }

    /// Lets the client go on as another entity.
    pub fn be_reborn(&mut self, entity: EntityId) {
        if let Some(player) = &mut self.player {
            player.entity = entity;
            self.is_reborn = true;
        }
    }

    /// Takes in what a client says it has received, and its new commands. An
    /// error is a client that says what cannot be.
    pub fn take_in(
        &mut self,
        datagram: &ClientDatagram,
        codec: &CommandCodec,
        inbox: &SharedInbox,
    ) -> Result<(), String> {
        let Some(player) = self.player else {
            return Err("commands before the welcome".to_owned());
        };
        let mut inbox = inbox.lock();
        if datagram.acknowledgement.newest >= inbox.tick.max(Tick(1)) {
            return Err(format!(
                "tick {} is acknowledged before it was sent",
                datagram.acknowledgement.newest
            ));
        }
        self.acknowledge(&datagram.acknowledgement);
        self.quota.fill(inbox.tick);
        let mut words = &datagram.words[..];
        for (i, &kind) in datagram.kinds.iter().enumerate() {
            let count = codec.word_count(kind).unwrap_or(0);
            let (own, rest) = words.split_at(count);
            words = rest;
            let sequence = datagram.first_sequence.wrapping_add(i as u32);
            if sequence.wrapping_sub(self.next_sequence) > u32::MAX / 2 {
                inbox.refusals.commands_repeated += 1;
                continue;
            }
            self.next_sequence = sequence.wrapping_add(1);
            self.processed.coming.push_back((inbox.tick, sequence));
            if !self.quota.take() {
                inbox.refusals.commands_over_quota += 1;
                continue;
            }
            inbox.words.extend_from_slice(own);
            inbox.commands.push(Request {
                entity: player.entity,
                sequence,
                kind,
                word_count: count as u16,
            });
        }
        self.processed.bound();
        Ok(())
    }

    fn acknowledge(&mut self, new: &Acknowledgement) {
        // Datagrams overtake each other; an older one knows nothing new.
        if new.newest < self.acknowledgement.newest || new.stream < self.acknowledgement.stream {
            return;
        }
        self.acknowledgement = *new;
        self.pending
            .retain(|p| p.sent.is_none_or(|sent| !new.has(sent)));
        while self.stream.frames.front().is_some_and(|&t| t <= new.stream) {
            self.stream.frames.pop_front();
        }
    }
}

impl OutStream {
    fn push_welcome(&mut self, welcome: &Welcome) {
        let bytes = codec::to_bytes(welcome);
        self.waiting
            .extend_from_slice(&(bytes.len() as u32).to_le_bytes());
        self.waiting.extend_from_slice(&bytes);
    }
}

impl Processed {
    /// Moves on to the commands that a tick has taken in.
    pub fn advance(&mut self, tick: Tick) {
        while let Some(&(_, sequence)) = self.coming.front().filter(|&&(t, _)| t <= tick) {
            self.sequence = sequence;
            self.coming.pop_front();
        }
    }

    /// Of one tick's commands, only the last one's number matters.
    fn bound(&mut self) {
        let last = self.coming.back().copied();
        while let [.., before, _] = self.coming.make_contiguous() {
            if Some(before.0) != last.map(|l| l.0) {
                break;
            }
            self.coming.pop_back();
            if let (Some(place), Some(last)) = (self.coming.back_mut(), last) {
                *place = last;
            }
        }
    }
}

impl Quota {
    fn fill(&mut self, tick: Tick) {
        let ticks = tick.0.saturating_sub(self.filled.0);
        self.filled = tick;
        let tokens = self
            .tokens
            .saturating_add(ticks.saturating_mul(self.per_tick));
        self.tokens = tokens.min(self.burst);
    }

    fn take(&mut self) -> bool {
        let may = self.tokens > 0;
        self.tokens -= u32::from(may);
        may
    }
}
