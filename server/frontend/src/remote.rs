//! The tick's end of the link to a front end in another process, without sockets and clocks.
//!
//! The tick never waits for it: each tick is written, and reported as done. A front end that is
//! too far behind is lost. Its sessions end as those of lost connections do, so their clients may
//! resume at another front end, and slots do not rest for it any more.
//!
//! A front end authenticates its clients. Bans, and the clients of a network, are checked here: they
//! hold for all front ends together. It speaks for its own clients only: other input is dropped, and
//! counted.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use accounts::guard::Guard;
use accounts::moment::Moment;
use accounts::network::Network;
use device::cpu::Workers;
use shared::{Tick, WorldConfig};
use thiserror::Error;

use crate::inbox::{Join, Leave, SessionChange, SessionId, SharedInbox};
use crate::mirror::Mirror;
use crate::publication::Publication;
use crate::wire::WireError;
use crate::wire::feed::FeedWriter;
use crate::wire::input::{Input, TimedInput};

/// A front end in another process.
pub struct RemoteFrontend {
    writer: FeedWriter,
    inbox: SharedInbox,
    guard: Arc<Guard>,
    /// Of each session that the guard has admitted.
    networks: HashMap<SessionId, Network>,
    limits: LagLimits,
    sessions_max: usize,
    commands: ClientCommands,
    /// The newest tick that was written.
    written: Option<Tick>,
    sent_through: Tick,
    acked_through: Tick,
    refused: RefusedInput,
    lost: Option<Lost>,
    /// The messages of the front ends before it, in the same inbox.
    messages_before: u64,
}

/// What clients may send as commands.
struct ClientCommands {
    /// By number: the words of a command that clients may give.
    words: Vec<Option<usize>>,
    /// The most of a client at once.
    at_once: usize,
    /// Taken since the last tick.
    taken: usize,
}

/// Input that was dropped because it is not of a client of the front end, or too much.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RefusedInput {
    pub commands: u64,
    pub requests: u64,
    pub sessions: u64,
}

/// How many ticks a front end may be behind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LagLimits {
    /// What it has sent to its clients.
    pub sent_ticks_max: u32,
    /// What they have acknowledged: it should have closed those that do not read.
    pub acked_ticks_max: u32,
}

/// Why a front end is lost.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Lost {
    #[error("its link is closed")]
    Closed,
    #[error("it has not sent the last {0} ticks to its clients")]
    Silent(u32),
    #[error("its clients have not acknowledged the last {0} ticks")]
    Unread(u32),
    #[error("what it sent can't be read: {0}")]
    Wire(#[from] WireError),
}

impl LagLimits {
    /// For a front end that is lost once it has sent nothing to its clients for so long.
    pub fn of(config: &WorldConfig, silence_max: Duration) -> LagLimits {
        let tick_hz = config.schema.world.tick_hz;
        let silent = (silence_max.as_millis() * u128::from(tick_hz)).div_ceil(1000);
        LagLimits {
            // Two are on their way in any case.
            sent_ticks_max: u32::try_from(silent).unwrap_or(u32::MAX).max(3),
            acked_ticks_max: (config.limits.unread_seconds + READING_SECONDS_MAX) * tick_hz,
        }
    }
}

impl ClientCommands {
    fn of(config: &WorldConfig) -> ClientCommands {
        let limits = &config.limits;
        let at_once = limits.client_commands_per_tick + limits.client_commands_burst;
        let words = config.schema.commands_by_number(|command| {
            let words = command.words.len();
            command.senders.clients.then_some(words)
        });
        ClientCommands {
            words: words.into_iter().map(Option::flatten).collect(),
            at_once: at_once as usize,
            taken: 0,
        }
    }

    /// Takes a command of a front end with so many sessions.
    fn take(&mut self, command: &TimedInput, sessions: usize) -> bool {
        let words = self.words.get(usize::from(command.kind.id()));
        let is_one = words.copied().flatten() == Some(command.words.len());
        let has_room = self.taken < sessions.saturating_mul(self.at_once);
        self.taken += usize::from(is_one && has_room);
        is_one && has_room
    }
}

impl RemoteFrontend {
    /// The front end of a number, whose first tick is `first`. Its mirror has the world before
    /// that.
    pub fn new(
        number: usize,
        config: &WorldConfig,
        (inbox, guard): (SharedInbox, Arc<Guard>),
        first: Tick,
        limits: LagLimits,
    ) -> RemoteFrontend {
        let messages_before = inbox.lock().message;
        RemoteFrontend {
            writer: FeedWriter::new(number, config),
            inbox,
            guard,
            networks: HashMap::new(),
            limits,
            // As for a shard: clients may resume while their old sessions linger.
            sessions_max: 2 * (config.limits.clients as usize + JOINING_MAX),
            commands: ClientCommands::of(config),
            written: None,
            sent_through: first.before(1),
            acked_through: first.before(1),
            refused: RefusedInput::default(),
            lost: None,
            messages_before,
        }
    }

    /// Appends a tick for the front end, after which the world is as the mirror has it. Returns
    /// the tick up to which slots need not rest for its clients. Nothing is written to one that is
    /// lost.
    pub fn publish(
        &mut self,
        workers: &Workers,
        (publication, mirror): (&Publication, &Mirror),
        out: &mut Vec<u8>,
    ) -> Tick {
        let tick = publication.tick;
        self.check_lag(tick);
        if self.lost.is_some() {
            return tick;
        }
        if let Some(world) = &publication.world {
            let taken = self.commands.taken;
            self.commands = ClientCommands {
                taken,
                ..ClientCommands::of(&world.config)
            };
        }
        let message = publication.input_of(self.writer.number());
        let message = message.saturating_sub(self.messages_before);
        let published = (publication, mirror);
        self.writer.write(workers, published, message, out);
        self.written = Some(tick);
        self.commands.taken = 0;
        self.acked_through
    }

    fn check_lag(&mut self, tick: Tick) {
        let silent = tick.since(self.sent_through);
        let unread = tick.since(self.acked_through);
        if silent > self.limits.sent_ticks_max {
            self.lose(Lost::Silent(silent));
        } else if unread > self.limits.acked_ticks_max {
            self.lose(Lost::Unread(unread));
        }
    }

    /// Takes a message of the front end. One that can't be read is the last.
    pub fn receive(&mut self, bytes: &[u8], now: Moment) {
        if self.lost.is_some() {
            return;
        }
        let mut input = match Input::decode(bytes) {
            Ok(input) => input,
            Err(error) => return self.lose(error.into()),
        };
        input.changes.retain(|change| match change {
            SessionChange::Join(join) => self.admit(join, now),
            SessionChange::Leave(leave) => self.leave(leave.session),
        });
        let (writer, refused) = (&self.writer, &mut self.refused);
        input.confirmed.retain(|&session| {
            let is_own = writer.is_assigned(session);
            refused.sessions += u64::from(!is_own);
            is_own
        });
        input.requests.retain(|request| {
            let is_own = writer.is_session_of(request.session, request.client);
            refused.requests += u64::from(!is_own);
            is_own
        });
        let (commands, sessions) = (&mut self.commands, writer.session_count());
        input.commands.retain(|command| {
            let is_own = writer.is_of_client(command.entity) && commands.take(command, sessions);
            refused.commands += u64::from(!is_own);
            is_own
        });
        // It can't be ahead of the tick.
        if let (Some(sent), Some(written)) = (input.sent_through, self.written) {
            self.sent_through = self.sent_through.max(sent.min(written));
            let acked = input.acked_through.min(self.sent_through);
            self.acked_through = self.acked_through.max(acked);
        }
        let mut inbox = self.inbox.lock();
        inbox.message += 1;
        input.add_to(&mut inbox);
    }

    /// Whether a session may begin. One that may not is closed with the next tick.
    fn admit(&mut self, join: &Join, now: Moment) -> bool {
        if self.writer.session_count() >= self.sessions_max {
            self.refused.sessions += 1;
            return false;
        }
        if let Some(network) = join.network
            && let Err(error) =
                (self.guard).admit_authenticated(&join.identity, network.address(), now)
        {
            self.writer
                .refuse(join.session, error.close(), error.to_string());
            return false;
        }
        let is_new = self.writer.join(join.session);
        match (is_new, join.network) {
            (true, Some(network)) => drop(self.networks.insert(join.session, network)),
            (false, Some(network)) => self.guard.leave(network.address()),
            (_, None) => {}
        }
        self.refused.sessions += u64::from(!is_new);
        is_new
    }

    /// Whether it was a session of the front end.
    fn leave(&mut self, session: SessionId) -> bool {
        if let Some(network) = self.networks.remove(&session) {
            self.guard.leave(network.address());
        }
        self.writer.leave(session)
    }

    /// The link is closed.
    pub fn close(&mut self) {
        self.lose(Lost::Closed);
    }

    /// Why the front end is lost, if it is.
    pub fn lost(&self) -> Option<&Lost> {
        self.lost.as_ref()
    }

    /// The number of its sessions.
    pub fn sessions(&self) -> usize {
        self.writer.session_count()
    }

    /// What was dropped since the last call.
    pub fn take_refused(&mut self) -> RefusedInput {
        std::mem::take(&mut self.refused)
    }

    /// Ends its sessions, once.
    fn lose(&mut self, why: Lost) {
        if self.lost.is_some() {
            return;
        }
        self.lost = Some(why);
        let mut inbox = self.inbox.lock();
        for session in self.writer.sessions() {
            let is_final = false;
            inbox.leave(Leave { session, is_final });
        }
        for (_, network) in self.networks.drain() {
            self.guard.leave(network.address());
        }
    }
}

/// Sessions beside those of the world's clients, as many as may be on their way in.
const JOINING_MAX: usize = 1024;
/// Clients may take so much longer than `unread_seconds`, by their round trips.
const READING_SECONDS_MAX: u32 = 30;

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use accounts::identity::Identity;
    use accounts::shared_word::SharedWord;
    use gpu_kernels::TickOutput;
    use gpu_kernels::listen::Notices;
    use shared::wire::movement::MovementCodec;
    use shared::wire::request::RequestBody;
    use shared::{ClientRow, CommandKind, EntityId};

    use super::*;
    use crate::inbox::{ClientCommand, Inbox, Join, PendingRequest};
    use crate::mirror::Newborns;
    use crate::servers::Others;
    use crate::wire::VERSION;

    /// A front end whose clients are sessions 1 and 2, and the world's mirror.
    struct Remote {
        frontend: RemoteFrontend,
        inbox: SharedInbox,
        mirror: Mirror,
        limits: LagLimits,
    }

    impl Remote {
        fn new() -> Remote {
            let text = "[world]\ncapacity = 8\ntick_hz = 2\n[limits]\nclients = 8\n\
                        unread_seconds = 10\n[[kind]]\nname = 'player'";
            let config = world_file::parse(text, "test").unwrap();
            let inbox = SharedInbox::default();
            let guard = Arc::new(Guard::new(Arc::new(SharedWord::new("")), 2));
            let limits = LagLimits::of(&config, Duration::from_secs(5));
            let parts = (inbox.clone(), guard);
            let mut remote = Remote {
                frontend: RemoteFrontend::new(0, &config, parts, Tick(0), limits),
                inbox,
                mirror: Mirror::new(&config, MovementCodec::new(&config.schema).unwrap()),
                limits,
            };
            let mut own = Inbox::default();
            for session in [1, 2] {
                own.join(Join {
                    session,
                    ..Join::default()
                });
            }
            remote
                .frontend
                .receive(&Input::take(&mut own).encode(), Moment::now());
            assert_eq!(remote.changes().len(), 2);
            remote
        }

        /// Publishes a tick, and returns its bytes and the tick up to which slots need not rest.
        fn publish(&mut self, tick: u64) -> (usize, Tick) {
            let publication = Publication {
                tick: Tick(tick),
                durable_through: None,
                others: Others::default(),
                output: Arc::new(TickOutput {
                    tick: Tick(tick),
                    ..TickOutput::default()
                }),
                newborns: Newborns::default(),
                subscribed: Notices::default(),
                world: None,
                nearby_talk: vec![],
                muted: Default::default(),
                events: vec![vec![]],
                inputs: vec![self.inbox.lock().message],
            };
            let mut bytes = vec![];
            let (workers, tick) = (Workers::new(1).unwrap(), (&publication, &self.mirror));
            let acked = self.frontend.publish(&workers, tick, &mut bytes);
            (bytes.len(), acked)
        }

        fn report(&mut self, sent: u64, acked: u64) {
            let input = Input {
                sent_through: Some(Tick(sent)),
                acked_through: Tick(acked),
                ..Input::default()
            };
            self.frontend.receive(&input.encode(), Moment::now());
        }

        /// Takes the sessions that began or ended.
        fn changes(&self) -> Vec<SessionChange> {
            let mut inbox = self.inbox.lock();
            let changes = inbox.changes().cloned().collect();
            inbox.reset();
            changes
        }

        fn expect_lost(&mut self, why: Lost, tick: u64) {
            let leave = |session| {
                let is_final = false;
                SessionChange::Leave(Leave { session, is_final })
            };
            assert_eq!(self.changes(), [leave(1), leave(2)]);
            assert_eq!(self.frontend.lost(), Some(&why));
            // It holds no slots, and nothing is written for it or taken from it.
            assert_eq!(self.publish(tick), (0, Tick(tick)));
            self.report(tick, tick);
            self.frontend.close();
            assert_eq!(self.changes(), []);
            assert_eq!(self.frontend.lost(), Some(&why));
        }
    }

    #[test]
    fn a_silent_front_end_is_lost_after_five_seconds() {
        let mut remote = Remote::new();
        let ticks = u64::from(remote.limits.sent_ticks_max);
        assert_eq!(ticks, 10);
        for tick in 0..=ticks {
            let (bytes, acked) = remote.publish(tick);
            assert!(bytes > 0 && acked == Tick(0), "tick {tick}");
        }
        assert_eq!(remote.changes(), []);
        assert_eq!(remote.publish(ticks + 1), (0, Tick(ticks + 1)));
        remote.expect_lost(Lost::Silent(11), ticks + 2);
    }

    #[test]
    fn a_front_end_whose_clients_do_not_read_is_lost_later() {
        let mut remote = Remote::new();
        let ticks = u64::from(remote.limits.acked_ticks_max);
        assert_eq!(ticks, 80);
        for tick in 0..=ticks + 3 {
            let (bytes, acked) = remote.publish(tick);
            assert!(
                bytes > 0 && acked == Tick(tick.saturating_sub(1).min(3)),
                "tick {tick}"
            );
            // Their acknowledgements end at tick 3.
            remote.report(tick, tick.min(3));
        }
        assert_eq!(remote.publish(ticks + 4), (0, Tick(ticks + 4)));
        remote.expect_lost(Lost::Unread(81), ticks + 5);
    }

    #[test]
    fn a_closed_link_or_bytes_that_cannot_be_read_end_its_sessions() {
        let mut remote = Remote::new();
        remote.publish(0);
        remote.frontend.close();
        remote.expect_lost(Lost::Closed, 1);

        let mut remote = Remote::new();
        remote.publish(0);
        remote.frontend.receive(&[VERSION + 1], Moment::now());
        let why = WireError::Version(VERSION + 1);
        remote.expect_lost(Lost::Wire(why), 1);
    }

    #[test]
    fn a_front_end_acknowledges_no_tick_that_it_was_not_sent() {
        let mut remote = Remote::new();
        remote.report(9, 9);
        assert_eq!(remote.publish(0).1, Tick(0));
        remote.publish(1);
        remote.report(9, 9);
        assert_eq!(remote.publish(2).1, Tick(1));
    }

    #[test]
    fn input_of_others_is_dropped_and_counted() {
        let mut remote = Remote::new();
        remote.publish(0);
        let mut own = Inbox::default();
        let foreign = ClientCommand {
            entity: EntityId::new(3, 1),
            sequence: 1,
            kind: CommandKind(2),
        };
        own.push(foreign, &[1, 1]);
        own.confirmed.push(1);
        own.requests.push(PendingRequest {
            session: 1,
            client: ClientRow(0),
            number: 1,
            body: Ok(RequestBody::Unsubscribe { id: 1 }),
        });
        // A session of this number is there.
        own.join(Join {
            session: 2,
            ..Join::default()
        });
        let bytes = Input::take(&mut own).encode();
        remote.frontend.receive(&bytes, Moment::now());
        let refused = RefusedInput {
            commands: 1,
            requests: 1,
            sessions: 2,
        };
        assert_eq!(remote.frontend.take_refused(), refused);
        let inbox = remote.inbox.lock();
        assert!(inbox.commands.is_empty() && inbox.requests.is_empty());
        assert_eq!((inbox.changes().count(), inbox.confirmed.len()), (0, 0));
    }

    #[test]
    fn networks_are_counted_for_all_front_ends_together() {
        let mut remote = Remote::new();
        let network = Some(Network::of([192, 0, 2, 1].into()));
        let mut own = Inbox::default();
        for session in 3..6 {
            own.join(Join {
                session,
                network,
                ..Join::default()
            });
        }
        let bytes = Input::take(&mut own).encode();
        remote.frontend.receive(&bytes, Moment::now());
        // Two may come.
        assert_eq!(remote.changes().len(), 2);
        assert_eq!(remote.frontend.sessions(), 4);
        let address = [192, 0, 2, 1].into();
        let guard = remote.frontend.guard.clone();
        let come = || guard.admit_authenticated(&Identity::default(), address, Moment::now());
        assert!(come().is_err());
        // They are gone with the front end.
        remote.frontend.close();
        assert!(come().is_ok());
    }

    #[test]
    fn only_sessions_of_the_front_end_end() {
        let mut remote = Remote::new();
        let mut own = Inbox::default();
        for session in [2, 7] {
            let is_final = true;
            own.leave(Leave { session, is_final });
        }
        remote
            .frontend
            .receive(&Input::take(&mut own).encode(), Moment::now());
        let leave = Leave {
            session: 2,
            is_final: true,
        };
        assert_eq!(remote.changes(), [SessionChange::Leave(leave)]);
    }
}
