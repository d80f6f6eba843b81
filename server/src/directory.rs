//! Who is connected, as which entity, and which slots rest: the part of the tick
//! thread that deals with sessions. It does no I/O and reads no clock.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap, VecDeque};

use gpu_kernels::{Frame, Observer, ObserverChange, Target, TickOutput};
use shared::wire::control::{Close, Ticket};
use shared::{ClientRow, CommandKind, EntityId, Slot, Tick, WorldConfig};

use crate::inbox::{Join, Leave, SessionId};
use crate::publication::Notice;

/// A session's place: its shard and its name there.
pub type Place = (usize, SessionId);

/// Client rows and what they stand for.
pub struct Directory {
    player_kind: u16,
    radius: i32,
    resume_ticks: u32,
    rows: Vec<Row>,
    free: BinaryHeap<Reverse<u32>>,
    tickets: HashMap<Ticket, ClientRow>,
    /// Lost rows with the tick at which their wait ends, in that order; among them
    /// some that came back since.
    deadlines: VecDeque<(Tick, ClientRow)>,
    /// Observers to set in the next frame.
    observers: Vec<(ClientRow, EntityId)>,
    resting: VecDeque<Resting>,
    notices: Vec<(usize, Notice)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Row {
    Free,
    /// Waits for its birth. The session may be gone by then.
    Joining(Option<Place>, Ticket),
    Live(Place, EntityId, Ticket),
    /// The connection was lost; the entity waits until a tick.
    Lost(EntityId, Ticket, Tick),
}

/// Who a row stands for.
#[derive(Clone, Copy, Debug)]
pub struct Presence {
    pub ticket: Ticket,
    pub is_connected: bool,
    /// Its entity, if it has one.
    pub entity: Option<EntityId>,
}

/// A slot whose entity died.
struct Resting {
    slot: Slot,
    /// The tick whose leaves told of the death; none while some client is owed
    /// its leaves.
    told: Option<Tick>,
}

impl Directory {
    pub fn new(config: &WorldConfig) -> Directory {
        let clients = config.limits.clients;
        Directory {
            player_kind: config.player_kind,
            radius: config.schema.world.aoi.raw(),
            resume_ticks: config.limits.resume_seconds * config.schema.world.tick_hz,
            rows: vec![Row::Free; clients as usize],
            free: (0..clients).map(Reverse).collect(),
            tickets: HashMap::new(),
            deadlines: VecDeque::new(),
            observers: vec![],
            resting: VecDeque::new(),
            notices: vec![],
        }
    }

    /// A client wants in. `ticket` is a fresh one for it.
    pub fn join(&mut self, shard: usize, join: &Join, ticket: Ticket, frame: &mut Frame) {
        let place = (shard, join.session);
        if let Some(&client) = join.resume.and_then(|t| self.tickets.get(&t)) {
            match self.rows[client.index()] {
                Row::Lost(entity, ticket, _) => return self.resume(client, place, entity, ticket),
                Row::Live(old, entity, ticket) => {
                    self.close(old, Close::Resumed, "the session goes on elsewhere");
                    frame.forget.push(client);
                    return self.resume(client, place, entity, ticket);
                }
                _ => {}
            }
        }
        let Some(Reverse(client)) = self.free.pop() else {
            return self.close(
                place,
                Close::Full,
                "the server has no room for more clients",
            );
        };
        self.rows[client as usize] = Row::Joining(Some(place), ticket);
        self.tickets.insert(ticket, ClientRow(client));
        frame.spawn(self.player_kind, client);
    }

    fn resume(&mut self, client: ClientRow, place: Place, entity: EntityId, ticket: Ticket) {
        self.rows[client.index()] = Row::Live(place, entity, ticket);
        self.assign(client, true);
        self.observers.push((client, entity));
    }

    /// A client is gone.
    pub fn leave(&mut self, shard: usize, leave: &Leave, frame: &mut Frame) {
        let place = (shard, leave.session);
        let Some(client) = leave.client else {
            // It left before it heard of its row, which may or may not be born by now,
            // or may be an older one's that it was about to go on with.
            let mine = |row: &Row| match row {
                Row::Joining(Some(p), _) | Row::Live(p, ..) => *p == place,
                _ => false,
            };
            if let Some(i) = self.rows.iter().position(mine) {
                self.leave_row(ClientRow(i as u32), place, leave.is_final, frame);
            }
            return;
        };
        self.leave_row(client, place, leave.is_final, frame);
    }

    fn leave_row(&mut self, client: ClientRow, place: Place, is_final: bool, frame: &mut Frame) {
        match self.rows[client.index()] {
            Row::Joining(Some(p), ticket) if p == place => {
                self.rows[client.index()] = Row::Joining(None, ticket);
            }
            Row::Live(p, entity, ticket) if p == place => {
                self.observers.retain(|&(c, _)| c != client);
                frame.observers.push(ObserverChange {
                    client,
                    index: 0,
                    observer: None,
                });
                frame.forget.push(client);
                if is_final || self.resume_ticks == 0 {
                    self.end(client, entity, ticket, frame);
                } else {
                    let deadline = Tick(frame.tick.0.saturating_add(self.resume_ticks));
                    self.rows[client.index()] = Row::Lost(entity, ticket, deadline);
                    self.deadlines.push_back((deadline, client));
                }
            }
            // Its row went on with another connection.
            _ => {}
        }
    }

    /// Ends the waits that are over, sets the observers of those who came in, and
    /// releases the slots of which every client knows. `taken_in` is the tick up
    /// to which all clients have read their streams.
    pub fn prepare(&mut self, frame: &mut Frame, taken_in: Tick) {
        while let Some(&(deadline, client)) = self.deadlines.front() {
            if deadline > frame.tick {
                break;
            }
            self.deadlines.pop_front();
            match self.rows[client.index()] {
                // Who was lost again since then has a later deadline.
                Row::Lost(entity, ticket, own) if own == deadline => {
                    self.end(client, entity, ticket, frame);
                }
                _ => {}
            }
        }
        for (client, entity) in self.observers.drain(..) {
            frame.observers.push(ObserverChange {
                client,
                index: 0,
                observer: Some(Observer {
                    target: Target::Entity(entity),
                    radius: self.radius,
                }),
            });
        }
        while let Some(resting) = self.resting.front() {
            if resting.told.is_none_or(|told| told > taken_in) {
                break;
            }
            frame.release.push(resting.slot);
            self.resting.pop_front();
        }
    }

    /// Takes in a tick's births and deaths.
    pub fn settle(&mut self, output: &TickOutput) {
        for birth in &output.births {
            let client = ClientRow(birth.token);
            let Some(&Row::Joining(place, ticket)) = self.rows.get(client.index()) else {
                continue;
            };
            match (birth.entity, place) {
                (Some(entity), Some(place)) => {
                    self.rows[client.index()] = Row::Live(place, entity, ticket);
                    self.assign(client, false);
                    self.observers.push((client, entity));
                }
                (Some(entity), None) => {
                    // Nobody waits for it: the deadline is now.
                    self.rows[client.index()] = Row::Lost(entity, ticket, output.tick);
                    self.deadlines.push_front((output.tick, client));
                }
                (None, place) => {
                    self.rows[client.index()] = Row::Free;
                    self.free.push(Reverse(client.0));
                    self.tickets.remove(&ticket);
                    if let Some(place) = place {
                        self.close(
                            place,
                            Close::Full,
                            "the world has no room for more entities",
                        );
                    }
                }
            }
        }
        for entity in &output.deaths {
            self.resting.push_back(Resting {
                slot: entity.slot,
                told: None,
            });
        }
        // A client that is behind may still be owed the leave of any of them.
        if output.counts.clients_behind == 0 {
            for resting in self.resting.iter_mut().rev() {
                if resting.told.is_some() {
                    break;
                }
                resting.told = Some(output.tick);
            }
        }
    }

    /// What to tell the shards: (shard, notice).
    pub fn notices(&mut self) -> impl Iterator<Item = (usize, Notice)> + '_ {
        self.notices.drain(..)
    }

    /// Whether a session is the one that a row stands for.
    pub fn is_at(&self, client: ClientRow, place: Place) -> bool {
        matches!(self.rows.get(client.index()), Some(Row::Live(p, ..)) if *p == place)
    }

    /// Who a row stands for, if for anybody.
    pub fn presence(&self, client: ClientRow) -> Option<Presence> {
        let (ticket, is_connected, entity) = match *self.rows.get(client.index())? {
            Row::Free => return None,
            Row::Joining(place, ticket) => (ticket, place.is_some(), None),
            Row::Live(_, entity, ticket) => (ticket, true, Some(entity)),
            Row::Lost(entity, ticket, _) => (ticket, false, Some(entity)),
        };
        Some(Presence {
            ticket,
            is_connected,
            entity,
        })
    }

    /// How many rows have an entity in the world with a client behind it.
    pub fn live(&self) -> usize {
        let live = |row: &&Row| matches!(row, Row::Live(..));
        self.rows.iter().filter(live).count()
    }

    fn assign(&mut self, client: ClientRow, resumed: bool) {
        if let Row::Live((shard, session), entity, ticket) = self.rows[client.index()] {
            self.notices.push((
                shard,
                Notice::Assigned {
                    session,
                    client,
                    entity,
                    ticket,
                    resumed,
                },
            ));
        }
    }

    fn end(&mut self, client: ClientRow, entity: EntityId, ticket: Ticket, frame: &mut Frame) {
        frame.push(entity, 0, CommandKind::Despawn, &[]);
        self.tickets.remove(&ticket);
        self.rows[client.index()] = Row::Free;
        self.free.push(Reverse(client.0));
    }

    fn close(&mut self, (shard, session): Place, close: Close, reason: &'static str) {
        self.notices.push((
            shard,
            Notice::Closed {
                session,
                close,
                reason,
            },
        ));
    }
}

#[cfg(test)]
mod tests {
    use gpu_kernels::{Backend, CpuBackend};

    use super::*;

    /// A directory with a real backend behind it.
    struct World {
        directory: Directory,
        backend: CpuBackend,
        frame: Frame,
    }

    impl World {
        fn new(extra: &str) -> World {
            let text = format!("[world]\ncapacity = 2\n[limits]\nclients = 2\n{extra}");
            let config = WorldConfig::parse(&text, "test").unwrap();
            World {
                directory: Directory::new(&config),
                backend: CpuBackend::new(&config, 1, None).unwrap(),
                frame: Frame::new(Tick(0)),
            }
        }

        fn join(&mut self, session: u64, resume: Option<Ticket>) {
            let join = Join { session, resume };
            let ticket = [session as u8; 16];
            self.directory.join(0, &join, ticket, &mut self.frame);
        }

        fn leave(&mut self, session: u64, client: u32, is_final: bool) {
            let leave = Leave {
                session,
                client: Some(ClientRow(client)),
                is_final,
            };
            self.directory.leave(0, &leave, &mut self.frame);
        }

        fn tick(&mut self, taken_in: u32) -> Vec<Notice> {
            self.directory.prepare(&mut self.frame, Tick(taken_in));
            let output = self.backend.tick(&self.frame).unwrap();
            self.directory.settle(&output);
            self.frame.reset(output.tick.next());
            self.directory.notices().map(|(_, notice)| notice).collect()
        }
    }

    fn entity_of(notice: &Notice) -> (EntityId, bool) {
        match notice {
            Notice::Assigned {
                entity, resumed, ..
            } => (*entity, *resumed),
            Notice::Answered { .. } => panic!("a directory answers nothing"),
            Notice::Closed { reason, .. } => panic!("closed: {reason}"),
        }
    }

    #[test]
    fn a_lost_client_comes_back_as_the_same_entity() {
        let mut world = World::new("resume_seconds = 1");
        world.join(1, None);
        let first = entity_of(&world.tick(0)[0]);
        world.tick(0);
        world.leave(1, 0, false);
        world.tick(0);
        world.join(2, Some([1; 16]));
        assert_eq!(entity_of(&world.tick(0)[0]), (first.0, true));
    }

    #[test]
    fn a_lost_client_that_stays_away_dies_after_its_wait() {
        let mut world = World::new("resume_seconds = 1");
        world.join(1, None);
        world.tick(0);
        world.leave(1, 0, false);
        for _ in 0..12 {
            world.tick(0);
        }
        assert_eq!(world.directory.live(), 0);
        world.join(2, Some([1; 16]));
        assert!(!entity_of(&world.tick(0)[0]).1);
    }

    #[test]
    fn who_is_lost_again_is_waited_for_in_full_again() {
        let mut world = World::new("resume_seconds = 1");
        world.join(1, None);
        let first = entity_of(&world.tick(0)[0]);
        world.leave(1, 0, false);
        for session in [2, 3] {
            for _ in 0..6 {
                world.tick(0);
            }
            // Each time the wait of ten ticks begins anew.
            world.join(session, Some([1; 16]));
            assert_eq!(entity_of(&world.tick(0)[0]), (first.0, true));
            world.leave(session, 0, false);
        }
    }

    #[test]
    fn who_breaks_off_while_coming_back_may_try_again() {
        let mut world = World::new("resume_seconds = 1");
        world.join(1, None);
        let first = entity_of(&world.tick(0)[0]);
        world.leave(1, 0, false);
        world.join(2, Some([1; 16]));
        let leave = Leave {
            session: 2,
            client: None,
            is_final: false,
        };
        world.directory.leave(0, &leave, &mut world.frame);
        world.tick(0);
        world.join(3, Some([1; 16]));
        assert_eq!(entity_of(&world.tick(0)[0]), (first.0, true));
    }

    #[test]
    fn a_slot_rests_until_its_leaves_are_taken_in() {
        let mut world = World::new("");
        world.join(1, None);
        world.join(2, None);
        world.tick(0);
        world.leave(1, 0, true);
        let death = world.frame.tick;
        world.tick(0);
        world.join(3, None);
        let notices = world.tick(death.0 - 1);
        assert!(matches!(
            notices[0],
            Notice::Closed {
                close: Close::Full,
                ..
            }
        ));
        world.tick(death.0);
        world.join(4, None);
        let (entity, _) = entity_of(&world.tick(death.0)[0]);
        assert_eq!(entity.generation, 2);
    }

    #[test]
    fn a_client_that_leaves_before_its_birth_leaves_nothing_behind() {
        let mut world = World::new("");
        world.join(1, None);
        let leave = Leave {
            session: 1,
            client: None,
            is_final: true,
        };
        world.directory.leave(0, &leave, &mut world.frame);
        assert!(world.tick(0).is_empty());
        world.tick(0);
        world.tick(0);
        let snapshot = world.backend.snapshot().unwrap();
        assert!(
            snapshot
                .states
                .iter()
                .all(|&s| s != gpu_kernels::SlotState::Live)
        );
    }
}
