//! Players and their connections.

use client_core::{Close, Ending, Event as GameEvent, LossCode, Step};
use quic::proto::ConnectionError;
use transport::local_shard::ConnectionId;

use super::{Checked, Connection, IDLE_MAX, Simulation, Way, What};
use crate::clock::{MILLISECOND, Micros, SECOND};
use crate::gateway_process::address_of;
use crate::player::Server;
use crate::shards::SimulatedShard;

impl Simulation {
    /// The shard that a connection leads to, if it still has it.
    pub(super) fn shard_of(&self, id: ConnectionId) -> Option<SimulatedShard> {
        self.connections.get(&id).filter(|own| !own.is_cut)?;
        self.shard_of_any(id)
    }

    /// The same for one that was cut.
    pub(super) fn shard_of_any(&self, id: ConnectionId) -> Option<SimulatedShard> {
        let connection = self.connections.get(&id)?;
        let (shard, starts) = match connection.server {
            Server::Host => {
                let host = self.host.running.as_ref();
                (host.map(|host| host.shard.clone()), self.host.starts)
            }
            Server::Gateway(gateway) => {
                let process = &self.gateways[gateway];
                let running = process.running.as_ref();
                (running.and_then(|p| p.shard().cloned()), process.starts)
            }
        };
        shard.filter(|_| connection.start == starts)
    }

    /// The player of a connection that it has.
    pub(super) fn player_of(&self, id: ConnectionId) -> Option<usize> {
        let connection = self.connections.get(&id).filter(|own| !own.is_cut)?;
        let player = &self.players[connection.player];
        (player.connection == Some(id) && !player.is_gone).then_some(connection.player)
    }

    pub(super) fn step_player(&mut self, player: usize) -> Checked {
        let now = self.clock.span();
        if self.players[player].is_gone || self.players[player].paused_until > self.clock.now() {
            return Ok(());
        }
        for _ in 0..STEPS_MAX {
            match self.players[player].game.next_step(now) {
                Step::Wait => break,
                Step::Connect => self.connect(player),
                Step::Close(close, _) => {
                    self.players[player].end_session();
                    if let Some(id) = self.players[player].connection.take() {
                        self.end_at_server(id, Some(close));
                    }
                }
            }
        }
        for event in self.players[player].game.poll(now) {
            match event {
                GameEvent::Lost { code, reason, .. } => {
                    self.players[player].end_session();
                    self.note(format!("player {player} is lost: {code:?}, {reason}"));
                    let own = &self.players[player];
                    let is_replaced = code == LossCode::Closed(Close::Replaced);
                    // A connection of its program before has come late, of which this one does not
                    // know: the person joins again.
                    if is_replaced && own.game.is_over() && own.has_begun_again() {
                        self.plan_in(SECOND / 2, What::PlayerBack(player, false));
                    }
                }
                GameEvent::Welcomed(entity) => {
                    self.note(format!("player {player} is welcomed as {entity}"));
                }
                GameEvent::Resumed(entity) => {
                    self.outcome.resumed += 1;
                    self.note(format!("player {player} resumes as {entity}"));
                }
                _ => {}
            }
        }
        let is_playing = self.is_playing() && self.players[player].game.is_playing();
        if is_playing && self.players[player].acts_at <= self.clock.now() {
            for _ in 0..self.dice.below(3) {
                let acted = self.players[player].act(self.plan.is_yard, &mut self.dice);
                acted.map_err(|error| format!("player {player} can't act: {error}"))?;
            }
            let next = SECOND / 10 + self.dice.below(SECOND / 2);
            self.players[player].acts_at = self.clock.now() + next;
        }
        self.flush_player(player);
        self.plan_step(player);
        Ok(())
    }

    pub(super) fn plan_step(&mut self, player: usize) {
        let (now, own) = (self.clock.now(), &self.players[player]);
        let Some(due) = own.game.next_due(self.clock.span()) else {
            return;
        };
        let due = Micros::try_from(due.as_micros()).unwrap_or(Micros::MAX) + 1;
        let mut due = due.max(now + MILLISECOND);
        if self.is_playing() && own.game.is_playing() {
            due = due.min(own.acts_at.max(now + MILLISECOND));
        }
        if own.step_at.is_none_or(|at| at <= now || due < at) {
            self.players[player].step_at = Some(due);
            self.plan_at(due, What::PlayerStep(player));
        }
    }

    pub(super) fn flush_player(&mut self, player: usize) {
        let now = self.clock.span();
        let own = &mut self.players[player];
        let stream = own.game.stream_bytes().to_vec();
        let (datagram, connection) = (own.game.datagram(now), own.connection);
        let Some(id) = connection else { return };
        self.players[player].game.stream_sent(stream.len());
        if !stream.is_empty() {
            let delay = self.delay();
            let (now, own) = (self.clock.now(), self.connections.get_mut(&id));
            if let Some(at) = own.map(|own| own.up.send(now, delay)) {
                self.plan_at(at, What::UpStream(id, stream));
            }
        }
        if let Some(datagram) = datagram {
            self.send_datagram(id, &datagram, What::UpDatagram);
        }
    }

    pub(super) fn delay(&mut self) -> Micros {
        let network = &self.plan.network;
        match self.is_playing() {
            true => network.delay + self.dice.below(network.jitter + 1),
            false => network.delay,
        }
    }

    /// It arrives late, twice or not at all.
    pub(super) fn send_datagram(
        &mut self,
        id: ConnectionId,
        bytes: &[u8],
        what: fn(ConnectionId, Vec<u8>) -> What,
    ) {
        let is_faulty = self.is_playing();
        let (lost, doubled) = (self.plan.network.lost, self.plan.network.doubled);
        if is_faulty && self.dice.below(1000) < lost {
            return;
        }
        let is_stalled = self
            .connections
            .get(&id)
            .is_some_and(|own| own.up.stalled_until.max(own.down.stalled_until) > self.clock.now());
        let delay = self.delay();
        if !is_stalled {
            self.plan_in(delay, what(id, bytes.to_vec()));
        }
        if is_faulty && self.dice.below(1000) < doubled {
            let delay = self.delay() + self.delay();
            self.plan_in(delay, what(id, bytes.to_vec()));
        }
    }

    pub(super) fn connect(&mut self, player: usize) {
        let own = &self.players[player];
        let gateways = 0..self.plan.gateways;
        let server = match own.game.address() {
            None => own.home,
            Some(address) => {
                let named = gateways
                    .clone()
                    .find(|&gateway| address_of(gateway) == address);
                named.map_or(own.home, Server::Gateway)
            }
        };
        self.numbers += 1;
        let id = ConnectionId(self.numbers);
        let delay = self.delay();
        let at = self.clock.now() + delay;
        self.connections.insert(
            id,
            Connection {
                player,
                server,
                start: 0,
                up: Way {
                    last: at,
                    ..Way::default()
                },
                down: Way::default(),
                is_cut: false,
            },
        );
        if let Some(before) = self.players[player].connection.replace(id) {
            self.end_at_server(before, Some(Close::Resumed));
        }
        self.plan_at(at, What::Open(id));
    }

    pub(super) fn open(&mut self, id: ConnectionId) {
        let Some(connection) = self.connections.get_mut(&id) else {
            return;
        };
        connection.start = match connection.server {
            Server::Host => self.host.starts,
            Server::Gateway(gateway) => self.gateways[gateway].starts,
        };
        let is_open = self
            .shard_of(id)
            .is_some_and(|shard| shard.lock().connect(id));
        let delay = self.delay();
        match is_open {
            true => self.plan_in(delay, What::Opened(id, 2 * delay)),
            false => self.plan_in(delay, What::Unreachable(id)),
        }
    }

    pub(super) fn end_at_player(&mut self, id: ConnectionId, ending: Ending) -> Checked {
        let Some(connection) = self.connections.get(&id) else {
            return Ok(());
        };
        let player = connection.player;
        if self.players[player].connection != Some(id) || self.players[player].is_gone {
            return Ok(());
        }
        self.players[player].connection = None;
        let now = self.clock.span();
        self.players[player].game.closed(ending, now);
        self.step_player(player)
    }

    /// The player has closed a connection, or is gone.
    pub(super) fn end_at_server(&mut self, id: ConnectionId, close: Option<Close>) {
        let delay = match close {
            Some(_) => self.delay(),
            None => self.dice.below(IDLE_MAX),
        };
        let last = self.connections.get(&id).map_or(0, |own| own.up.last);
        self.plan_at(last.max(self.clock.now() + delay), What::EndUp(id, close));
    }

    /// The server of a connection is gone.
    pub(super) fn lose_server(&mut self, id: ConnectionId, back: Micros) {
        if let Some(connection) = self.connections.get_mut(&id) {
            connection.is_cut = true;
        }
        // Either the next server says so, or the silence does.
        if self.dice.one_of(2) {
            let delay = back + self.delay();
            self.plan_in(delay, What::EndDown(id, None));
        }
    }

    /// Sends all that a shard has for its clients.
    pub(super) fn flush_shard(&mut self, shard: &SimulatedShard) {
        let ids: Vec<_> = shard.lock().connections().collect();
        for id in ids {
            self.flush_connection(id, shard);
        }
    }

    pub(super) fn flush_connection(&mut self, id: ConnectionId, shard: &SimulatedShard) {
        let mut locked = shard.lock();
        let Some(peer) = locked.peer(id) else { return };
        let stream = std::mem::take(&mut peer.stream);
        let datagrams = std::mem::take(&mut peer.datagrams);
        let closed = peer.closed.clone();
        if closed.is_some() {
            locked.end(id, ConnectionError::LocallyClosed);
        }
        drop(locked);
        if !stream.is_empty() {
            let delay = self.delay();
            let (now, own) = (self.clock.now(), self.connections.get_mut(&id));
            if let Some(at) = own.map(|own| own.down.send(now, delay)) {
                self.plan_at(at, What::DownStream(id, stream));
            }
        }
        for datagram in datagrams {
            self.send_datagram(id, &datagram, What::DownDatagram);
        }
        if let Some(closed) = closed {
            let at = self.clock.now() + self.delay();
            let last = self.connections.get(&id).map_or(0, |own| own.down.last);
            let closed = Some((closed.code, closed.reason));
            self.plan_at(at.max(last), What::EndDown(id, closed));
        }
    }

    /// What a player knows of a tick that is kept must hold from now on.
    pub(super) fn note_kept(&mut self, player: usize) {
        let own = &self.players[player];
        self.kept = self.kept.max(own.kept_tick());
        let Some(view) = own
            .game
            .view()
            .filter(|view| view.kept() >= Some(view.newest()))
        else {
            return;
        };
        let Some(column) = view.schema().column("marks") else {
            return;
        };
        for entity in view.entities().values() {
            let floor = self.floors.entry(entity.id).or_default();
            *floor = (*floor).max(entity.row[column]);
        }
    }
}

/// A game has little to do at once.
const STEPS_MAX: usize = 4;
