//! Clients and their entities, and slots that can't be reused yet. Without I/O and without a
//! clock.
//!
//! | module | holds |
//! | --- | --- |
//! | `joins` | clients that join, resume, or are kicked |
//! | `processed` | the numbers of their commands that have run |
//! | `rebirths` | players that wait for a rebirth |
//! | `rows`, `tickets`, `people`, `sights` | the state of clients, by row |
//! | `saved` | rows for the journal, and their recovery |

use std::borrow::Cow;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, HashMap, VecDeque};

use accounts::names::NameRule;
use accounts::network::Network;
use durability::annotations::PersonChange;
use frontend::inbox::{Leave, SessionKey};
use frontend::publication::SessionEvent;
use gpu_kernels::tick::frame::JOIN_TOKEN;
use gpu_kernels::{Batch, Birth, Frame, Observer, ObserverChange, Target, TickOutput};
use shared::wire::control::{Close, Ticket};
use shared::world::birthplace::Birthplace;
use shared::{ClientRow, CommandKind, EntityId, Name, Occasion, Slot, Tick, WorldConfig};

use people::People;
use processed::ProcessedCommands;
use rebirths::{Rebirth, Reservation};
use rows::{Row, Rows, Waiting};
use sights::Sights;
use tickets::Tickets;

pub use sights::SightError;

mod joins;
mod people;
mod processed;
mod rebirths;
mod rows;
mod saved;
mod sights;
mod tickets;

/// All client rows.
pub struct Directory {
    birthplace: Birthplace,
    sights: Sights,
    resume_ticks: u32,
    /// The commands that an entity gives as its client leaves for good.
    leave_hooks: Vec<CommandKind>,
    /// The ticks from the death of a player to its rebirth: 1 where players don't fall, and
    /// die by commands only.
    respawn_ticks: u32,
    rows: Rows,
    free: BinaryHeap<Reverse<u32>>,
    tickets: Tickets,
    people: People,
    processed: ProcessedCommands,
    /// By row: the last network of its client.
    networks: Vec<Option<Network>>,
    /// (deadline, row) of lost clients, ascending. Some of them have resumed.
    deadlines: VecDeque<(Tick, ClientRow)>,
    /// The client of each player's entity.
    players: HashMap<EntityId, ClientRow>,
    /// Observers to set in the next frame.
    observers: BTreeMap<ClientRow, Target>,
    /// Players that died in the last tick, with the slots of their entities.
    fallen: Vec<(ClientRow, Slot)>,
    /// Rebirths that are pending.
    rebirths: Vec<Rebirth>,
    /// Slots of dead entities that can't be reused yet.
    resting: VecDeque<Resting>,
    /// Newborn players with names.
    named: Vec<(EntityId, Name)>,
    /// Clients that were admitted since the last [`Directory::take_admitted`].
    admitted: Vec<PersonChange>,
    /// By shard.
    events: Vec<(usize, SessionEvent)>,
}

/// The state of a row's client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Presence {
    /// The client's first ticket.
    pub ticket: Ticket,
    pub is_connected: bool,
    /// None while it waits for a birth, and for a spectator.
    pub entity: Option<EntityId>,
}

/// A slot whose entity died. It can't be reused while a client may mistake a new entity in it for
/// the dead one.
struct Resting {
    slot: Slot,
    /// The tick by which all leaves were sent; none while a client's leave may be deferred.
    leaves_sent: Option<Tick>,
}

impl Directory {
    pub fn new(config: &WorldConfig) -> Directory {
        let clients = config.limits.clients;
        Directory {
            birthplace: Birthplace::of(config, config.player_kind),
            sights: Sights::new(config),
            resume_ticks: config.limits.resume_seconds * config.schema.world.tick_hz,
            respawn_ticks: config.falls[usize::from(config.player_kind)]
                .map_or(1, |fall| fall.respawn_ticks),
            leave_hooks: leave_hooks(config),
            rows: Rows::new(clients),
            free: (0..clients).map(Reverse).collect(),
            tickets: Tickets::default(),
            people: People::default(),
            processed: ProcessedCommands::new(config),
            networks: vec![None; clients as usize],
            deadlines: VecDeque::new(),
            players: HashMap::new(),
            observers: BTreeMap::new(),
            fallen: vec![],
            rebirths: vec![],
            resting: VecDeque::new(),
            named: vec![],
            admitted: vec![],
            events: vec![],
        }
    }

    /// Spawns an entity for a client; `order` is its order among the births of the tick. `joins` if
    /// it is the client's first.
    fn spawn(&self, client: ClientRow, order: u32, joins: bool, frame: &mut Frame) {
        let token = if joins {
            client.0 | JOIN_TOKEN
        } else {
            client.0
        };
        let words = self.birthplace.words(token, frame.tick, client.0);
        let sequence = order | client.0;
        frame.push(EntityId::NONE, sequence, CommandKind::SPAWN, &words);
    }

    /// The world with other scripts.
    pub fn change_world(&mut self, config: &WorldConfig) {
        self.leave_hooks = leave_hooks(config);
    }

    /// Notes the clients' commands of a tick, and drops those that have run already. Returns their
    /// number.
    pub fn note_commands(&mut self, commands: &mut Batch) -> u64 {
        self.processed.note(commands)
    }

    /// The client that acts as an entity, with its first ticket.
    pub fn actor(&self, entity: EntityId) -> Option<(ClientRow, Ticket)> {
        let client = self.processed.owner(entity)?;
        let presence = self.presence(client)?;
        (presence.entity == Some(entity)).then_some((client, presence.ticket))
    }

    /// Sets a client's radius of sight; `None`: as far as the world allows.
    pub fn set_sight(&mut self, client: ClientRow, radius: Option<i32>) -> Result<(), SightError> {
        self.sights.set_radius(client, radius)?;
        self.rows.note_change(client);
        if let Row::Live(_, entity, _) = self.rows.get(client) {
            self.observers.insert(client, self.target(client, entity));
        }
        Ok(())
    }

    /// Moves a spectator's point towards another one from now on.
    pub fn watch(&mut self, client: ClientRow, point: [i32; 3]) -> Result<(), SightError> {
        self.sights.go(client, point)?;
        self.rows.note_change(client);
        Ok(())
    }

    /// The target of a client's observer.
    fn target(&self, client: ClientRow, entity: EntityId) -> Target {
        match self.sights.point(client) {
            Some(point) => Target::Point(point),
            None => Target::Entity(entity),
        }
    }

    /// A client's radius of sight, in raw units.
    pub fn sight(&self, client: ClientRow) -> i32 {
        self.sights.radius(client)
    }

    /// The point that a spectator watches; `None` for others.
    pub fn watched(&self, client: ClientRow) -> Option<[i32; 3]> {
        self.sights.point(client)
    }

    fn note_network(&mut self, client: ClientRow, network: Option<Network>) {
        if let Some(last) = self.networks.get_mut(client.0 as usize) {
            *last = network;
        }
    }

    /// The last network of a row's client, if known.
    pub fn network(&self, client: ClientRow) -> Option<Network> {
        self.networks.get(client.0 as usize).copied().flatten()
    }

    /// Compares names by this rule from now on.
    pub fn set_names(&mut self, rule: NameRule) {
        self.people.set_rule(rule);
    }

    /// The accounts and names of the rows.
    pub fn people(&self) -> &People {
        &self.people
    }

    fn make_live(
        &mut self,
        client: ClientRow,
        key: SessionKey,
        entity: EntityId,
        ticket: Ticket,
        resumed: bool,
    ) {
        self.rows.set(client, Row::Live(key, entity, ticket));
        self.assign(client, resumed);
        self.observers.insert(client, self.target(client, entity));
    }

    /// A client has sent a datagram, so it has read its welcome.
    pub fn confirm(&mut self, key: SessionKey) {
        let Some(client) = self.rows.of_session(key) else {
            return;
        };
        self.processed.confirm(client);
        if self.tickets.confirm(client) {
            self.rows.note_change(client);
        }
    }

    /// A session has ended.
    pub fn leave(&mut self, shard: usize, leave: &Leave, frame: &mut Frame) {
        let key = (shard, leave.session);
        // Without a row, the session was rejected, or its row has another one by now.
        let Some(client) = self.rows.of_session(key) else {
            return;
        };
        let may_resume = !leave.is_final && self.resume_ticks > 0;
        match self.rows.get(client) {
            Row::Joining(_, ticket) => self.rows.set(client, Row::Joining(None, ticket)),
            Row::Live(_, entity, ticket) => {
                self.remove_observer(client, frame);
                if may_resume {
                    let deadline = self.wait(client, frame.tick);
                    self.rows.set(client, Row::Lost(entity, ticket, deadline));
                } else {
                    self.end(client, entity, frame);
                }
            }
            Row::Fallen(_, ticket) => {
                self.remove_observer(client, frame);
                let row = if may_resume {
                    Row::Fallen(Waiting::Absent(self.wait(client, frame.tick)), ticket)
                } else {
                    Row::Joining(None, ticket)
                };
                self.rows.set(client, row);
            }
            Row::Free | Row::Lost(..) => {}
        }
    }

    /// Removes the client's observer and known set, and cancels an observer for the next frame.
    fn remove_observer(&mut self, client: ClientRow, frame: &mut Frame) {
        self.observers.remove(&client);
        self.sights.stop(client);
        frame.observers.push(ObserverChange {
            client,
            index: 0,
            observer: None,
        });
        frame.forget.push(client);
    }

    /// Starts the wait for a lost client, and returns its deadline.
    fn wait(&mut self, client: ClientRow, now: Tick) -> Tick {
        let deadline = now.after(self.resume_ticks);
        self.deadlines.push_back((deadline, client));
        deadline
    }

    /// Completes a frame: ends waits that are over, sets the observers of clients that joined or
    /// died, releases slots whose leaves all clients have received, and respawns players.
    /// `acked_through` is the tick up to which all clients have acknowledged their streams.
    pub fn prepare(&mut self, frame: &mut Frame, acked_through: Tick) {
        while let Some(&(deadline, client)) = self.deadlines.front() {
            if deadline > frame.tick {
                break;
            }
            self.deadlines.pop_front();
            match self.rows.get(client) {
                // A client that was lost again since then has a later deadline.
                Row::Lost(entity, _, own) if own == deadline => {
                    self.end(client, entity, frame);
                }
                Row::Fallen(Waiting::Absent(own), ticket) if own == deadline => {
                    self.rows.set(client, Row::Joining(None, ticket));
                }
                _ => {}
            }
        }
        for (client, point) in self.sights.move_points() {
            self.observers.insert(client, Target::Point(point));
        }
        for (client, target) in std::mem::take(&mut self.observers) {
            frame.observers.push(ObserverChange {
                client,
                index: 0,
                observer: Some(Observer {
                    target,
                    radius: self.sights.radius(client),
                }),
            });
        }
        for (client, slot) in std::mem::take(&mut self.fallen) {
            // The death was in the last tick.
            let due = frame.tick.after(self.respawn_ticks - 1);
            self.await_rebirth(client, self.rows.get(client), due, Some(slot));
        }
        while let Some(resting) = self.resting.front() {
            if resting.leaves_sent.is_none_or(|tick| tick > acked_through) {
                break;
            }
            let slot = resting.slot;
            self.resting.pop_front();
            let mut waiting = self.rebirths.iter_mut();
            match waiting.find(|rebirth| rebirth.slot == Some(slot)) {
                Some(rebirth) => rebirth.reservation = Reservation::Own,
                None => frame.release.push(slot),
            }
        }
        self.respawn_due(frame);
    }

    /// Applies a tick's births and deaths. `position` gives the position of a death.
    pub fn settle(&mut self, output: &TickOutput, position: impl Fn(Slot) -> [i32; 3]) {
        for birth in &output.births {
            self.apply_birth(birth, output.tick);
        }
        for entity in &output.deaths {
            if let Some(client) = self.players.remove(entity) {
                self.apply_death(client, *entity, position(entity.slot));
            }
        }
        self.settle_rebirths(output.tick);
        for entity in &output.deaths {
            self.resting.push_back(Resting {
                slot: entity.slot,
                leaves_sent: None,
            });
        }
        // The leave of any of them may be deferred for a client that is behind.
        if output.counts.clients_behind == 0 {
            for resting in self.resting.iter_mut().rev() {
                if resting.leaves_sent.is_some() {
                    break;
                }
                resting.leaves_sent = Some(output.tick);
            }
        }
    }

    fn apply_birth(&mut self, birth: &Birth, tick: Tick) {
        let client = ClientRow(birth.token);
        let row = self.rows.get(client);
        if let (Row::Joining(..) | Row::Fallen(..), Some(entity)) = (row, birth.entity) {
            self.players.insert(entity, client);
            self.processed.own(client, entity);
            let name = self.people.name(client);
            self.named.extend(name.map(|name| (entity, name.clone())));
        }
        match (row, birth.entity) {
            (Row::Joining(Some(key), ticket), Some(entity)) => {
                self.rows.set(client, Row::Live(key, entity, ticket));
                self.assign(client, false);
                self.observers.insert(client, Target::Entity(entity));
            }
            (Row::Joining(None, ticket), Some(entity)) => {
                // The client has left: the wait ends now.
                self.rows.set(client, Row::Lost(entity, ticket, tick));
                self.deadlines.push_front((tick, client));
            }
            // A rebirth without room waits for it.
            (Row::Joining(_, ticket), None) if self.awaits_rebirth(client, ticket) => {}
            (Row::Joining(key, _), None) => {
                self.free_row(client);
                if let Some(key) = key {
                    self.close(key, Close::Full, "the world has no room for more entities");
                }
            }
            (Row::Fallen(waiting, ticket), Some(entity)) => match waiting {
                Waiting::Player(key) => {
                    self.rows.set(client, Row::Live(key, entity, ticket));
                    let (shard, session) = key;
                    self.events
                        .push((shard, SessionEvent::Reborn { session, entity }));
                    self.observers.insert(client, Target::Entity(entity));
                }
                Waiting::Returned(key, is_resumed) => {
                    self.make_live(client, key, entity, ticket, is_resumed);
                }
                Waiting::Absent(deadline) => {
                    self.rows.set(client, Row::Lost(entity, ticket, deadline));
                }
            },
            // A stale birth: a living client needs none.
            _ => {}
        }
    }

    /// Players watch the position of their death until they are reborn.
    fn apply_death(&mut self, client: ClientRow, entity: EntityId, position: [i32; 3]) {
        let (waiting, ticket) = match self.rows.get(client) {
            Row::Live(key, own, ticket) if own == entity => {
                self.observers.insert(client, Target::Point(position));
                (Waiting::Player(key), ticket)
            }
            Row::Lost(own, ticket, deadline) if own == entity => {
                (Waiting::Absent(deadline), ticket)
            }
            _ => return,
        };
        self.rows.set(client, Row::Fallen(waiting, ticket));
        self.fallen.push((client, entity.slot));
    }

    /// The newborn players with a name since the last call.
    pub fn take_named(&mut self) -> impl Iterator<Item = (EntityId, Name)> + '_ {
        self.named.drain(..)
    }

    /// Clients that were admitted since the last call.
    pub fn take_admitted(&mut self) -> Vec<PersonChange> {
        std::mem::take(&mut self.admitted)
    }

    /// Events for sessions since the last call: (shard, event).
    pub fn events(&mut self) -> impl Iterator<Item = (usize, SessionEvent)> + '_ {
        self.events.drain(..)
    }

    /// Whether a row has this session, and the session is in the world.
    pub fn is_session_of(&self, client: ClientRow, key: SessionKey) -> bool {
        self.session(client) == Some(key)
    }

    /// The session of a row's client, if it is in the world.
    pub fn session(&self, client: ClientRow) -> Option<SessionKey> {
        match self.rows.get(client) {
            Row::Live(key, ..) | Row::Fallen(Waiting::Player(key), _) => Some(key),
            _ => None,
        }
    }

    /// The rows that are not free.
    pub fn rows(&self) -> impl Iterator<Item = ClientRow> + '_ {
        let rows = (0..).map(ClientRow).zip(self.rows.iter());
        rows.filter_map(|(client, row)| (row != Row::Free).then_some(client))
    }

    /// The state of a row's client; none if the row is free.
    pub fn presence(&self, client: ClientRow) -> Option<Presence> {
        let (ticket, is_connected, entity) = match self.rows.get(client) {
            Row::Free => return None,
            Row::Joining(key, ticket) => (ticket, key.is_some(), None),
            Row::Live(_, entity, ticket) => (ticket, true, of_player(entity)),
            Row::Lost(entity, ticket, _) => (ticket, false, of_player(entity)),
            Row::Fallen(waiting, ticket) => {
                let is_there = matches!(waiting, Waiting::Player(_));
                (ticket, is_there, None)
            }
        };
        Some(Presence {
            ticket,
            is_connected,
            entity,
        })
    }

    /// The rows whose [`Directory::presence`] may have changed since the last call.
    pub fn take_changed(&mut self) -> Vec<ClientRow> {
        self.rows.take_changed()
    }

    /// The number of clients in the world, including those that wait for a rebirth.
    pub fn live(&self) -> usize {
        self.rows.live()
    }

    /// The shard and the entity of each client that is in the world, by client row.
    pub fn players(&self) -> impl Iterator<Item = (usize, EntityId)> {
        self.rows.iter().filter_map(|row| match row {
            Row::Live((shard, _), entity, _) => Some((shard, of_player(entity)?)),
            _ => None,
        })
    }

    fn assign(&mut self, client: ClientRow, resumed: bool) {
        if let Row::Live((shard, session), entity, first) = self.rows.get(client) {
            let ticket = self.tickets.newest(client).unwrap_or(first);
            let processed = self.processed.through(client);
            self.events.push((
                shard,
                SessionEvent::Assigned {
                    session,
                    client,
                    entity,
                    ticket,
                    resumed,
                    processed,
                },
            ));
        }
    }

    fn end(&mut self, client: ClientRow, entity: EntityId, frame: &mut Frame) {
        if of_player(entity).is_some() {
            let last = std::iter::once(&CommandKind::DESPAWN);
            let commands = self.leave_hooks.iter().chain(last);
            for (sequence, &command) in (LAST_SEQUENCE..).zip(commands) {
                frame.push(entity, sequence, command, &[]);
            }
        }
        self.players.remove(&entity);
        self.free_row(client);
    }

    fn free_row(&mut self, client: ClientRow) {
        self.tickets.forget(client);
        self.sights.forget(client);
        self.people.leave(client);
        self.rows.set(client, Row::Free);
        self.free.push(Reverse(client.0));
    }

    /// Closes the session of a row, if it has one.
    fn close_session(
        &mut self,
        client: ClientRow,
        close: Close,
        reason: impl Into<Cow<'static, str>>,
    ) {
        if let Some(key) = self.rows.get(client).session() {
            self.close(key, close, reason);
        }
    }

    fn close(
        &mut self,
        (shard, session): SessionKey,
        close: Close,
        reason: impl Into<Cow<'static, str>>,
    ) {
        self.events.push((
            shard,
            SessionEvent::Closed {
                session,
                close,
                reason: reason.into(),
            },
        ));
    }
}

/// The order of births in a tick, in the high bits of their numbers: rebirths in reserved slots,
/// other rebirths, clients that join.
const AFTER_RESERVED: u32 = 1 << 30;
const AFTER_REBIRTHS: u32 = 1 << 31;

/// Behind all commands that a client has given: what these change, the hooks of its leave find.
const LAST_SEQUENCE: u32 = u32::MAX - 4096;

fn leave_hooks(config: &WorldConfig) -> Vec<CommandKind> {
    let hooks = config.hooks_of(Occasion::Leave, config.player_kind);
    hooks.map(|hook| hook.command).collect()
}

/// The entity of a player; a spectator has none.
fn of_player(entity: EntityId) -> Option<EntityId> {
    (entity != EntityId::NONE).then_some(entity)
}

#[cfg(test)]
mod tests;
