//! Publications of the tick: their fan-out to each client.

use std::sync::Arc;
use std::time::Instant;

use frontend::SessionWorld;
use frontend::inbox::SessionId;
use frontend::publication::{FanOutReport, LinkFigures, Publication, SessionEvent};
use frontend::shard_channels::SharedTick;
use platform::metrics::table;
use quic::Handle;
use session::frame::TickView;

use super::{SocketLink, Thread};
use crate::client::Client;
use crate::pace::{Budget, Pace};
use crate::shard::Shard;

impl Thread {
    /// Sends one tick to every client, as far as there is time.
    pub fn fan_out(&mut self, tick: &SharedTick) -> FanOutReport {
        let publication = &*tick.publication;
        let begun = Instant::now();
        let mut budget = self.pace.begin(tick.due, begun);
        self.turn += 1;
        if self.shard.begin_tick(publication) {
            // Before the tick's events: clients that they welcome get the new world anyway.
            for index in 0..self.connections.len() {
                if let Some(Client::Player(player)) = self.client(index) {
                    player.session.change_interface();
                }
            }
        }
        if let Some(revoked) = self.shard.changed_revocations() {
            for index in 0..self.connections.len() {
                self.visit(index, begun, |shard, link, client| {
                    shard.close_if_revoked(&revoked, link, client);
                });
            }
        }
        for event in &publication.events[self.shard.number] {
            self.act_on(event, publication);
        }
        let world = self.shard.world().clone();
        let mirror = tick.mirror.read();
        let view = TickView {
            publication,
            mirror: &mirror,
            world: &world,
            input: publication.input_of(self.shard.number),
            send_every: self.pace.send_every(),
        };
        let players = (0..self.connections.len())
            .filter(|&index| matches!(self.client(index), Some(Client::Player(_))));
        let mut players: Vec<usize> = players.collect();
        let first = players.partition_point(|&index| index < self.first);
        players.rotate_left(first);
        let sent = self.send_tick(&players, view, &mut budget);
        let deferring = Instant::now();
        let mut deferred = 0;
        for &index in &players[sent..] {
            if let Some(client) = self.connections[index]
                .as_mut()
                .and_then(|c| c.client.as_mut())
            {
                deferred += usize::from(self.shard.defer(view, client));
            }
        }
        self.pace.note_deferral(deferred, deferring.elapsed());
        self.pace.note_sent(sent, players.len());
        self.shard.counts.deferred += deferred as u64;
        self.count();
        self.shard.end_tick(tick, begun, Instant::now())
    }

    /// Begins all sessions anew in another world.
    pub fn restart(&mut self, world: &Arc<SessionWorld>) {
        let before = self.shard.restart(world);
        let now = Instant::now();
        for index in 0..self.connections.len() {
            self.visit(index, now, |shard, link, client| {
                shard.restart_player(&before, link, client);
            });
            self.send(index, now);
        }
        self.pace = Pace::new(world.config.schema.world.tick_hz);
    }

    /// Sends a tick to as many clients as there is time for, and returns their number. The next
    /// tick begins with the client after them.
    fn send_tick(&mut self, players: &[usize], view: TickView<'_>, budget: &mut Budget) -> usize {
        for (sent, &index) in players.iter().enumerate() {
            let now = Instant::now();
            if !budget.allows(now, players.len() - sent) {
                self.first = index;
                return sent;
            }
            self.visit(index, now, |shard, link, client| {
                shard.send_tick(view, link, client);
            });
            self.send(index, now);
        }
        players.len()
    }

    fn act_on(&mut self, event: &SessionEvent, publication: &Publication) {
        let Some(handle) = self.shard.handle(event.session()) else {
            return;
        };
        let now = Instant::now();
        self.visit(handle.index(), now, |shard, link, client| {
            shard.act_on(event, publication, link, client);
        });
        self.send(handle.index(), now);
    }

    /// Counts the traffic since the last tick.
    fn count(&mut self) {
        let mut all = self.counted;
        for connection in self.connections.iter().flatten() {
            let figures = connection.figures();
            all.sent += figures.packets_sent;
            all.sent_bytes += figures.bytes_sent;
            all.received_bytes += figures.bytes_received;
        }
        let counts = &mut self.shard.counts;
        counts.packets_sent += all.sent - self.reported.sent;
        counts.packets_received += all.received - self.reported.received;
        counts.packet_bytes_sent += all.sent_bytes - self.reported.sent_bytes;
        counts.packet_bytes_received += all.received_bytes - self.reported.received_bytes;
        self.reported = all;
        table::WEB_SOCKETS.set(self.open_connections() as u64);
    }

    /// The figures of these sessions' connections, or of all players'.
    pub fn inspect(&mut self, sessions: Option<Vec<SessionId>>) -> Vec<LinkFigures> {
        let now = Instant::now();
        let indices: Vec<usize> = match sessions {
            Some(sessions) => {
                let handles = sessions.into_iter().filter_map(|id| self.shard.handle(id));
                handles.map(Handle::index).collect()
            }
            None => (0..self.connections.len()).collect(),
        };
        let figures = indices.into_iter().filter_map(|index| {
            let inspect = |shard: &mut Shard, link: &mut SocketLink<'_>, client: &mut Client| {
                shard.inspect(link, client)
            };
            self.visit(index, now, inspect)?
        });
        figures.collect()
    }
}
