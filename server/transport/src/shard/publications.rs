//! Publications of the tick: events of sessions, and the fan-out to each client.

use std::sync::Arc;
use std::time::Instant;

use accounts::authenticator::Rejection;
use accounts::revocations::Revocations;
use frontend::SessionWorld;
use frontend::inbox::Join;
use frontend::publication::{FanOutReport, LinkFigures, Publication, SessionEvent};
use frontend::shard_channels::SharedTick;
use session::frame::TickView;
use session::{Assignment, Reply};
use shared::wire::control::Close;
use tracing::{debug, info};

use super::{Shard, ShardWorld, connections_max};
use crate::client::{Client, Player};
use crate::client_link::ClientLink;
use crate::handshake::AdmissionPolicy;

impl Shard {
    /// Applies a change of the world. True if it must be sent to the clients.
    pub fn begin_tick(&mut self, publication: &Publication) -> bool {
        self.tick = publication.tick;
        self.acked_through = publication.tick;
        self.begin_audit();
        let Some(session) = &publication.world else {
            return false;
        };
        self.change_world(session);
        true
    }

    /// Another world takes the place of the one before. Input of the one before is dropped, and
    /// the sessions are to begin anew: see [`Shard::restart_player`]. Returns the world before.
    pub fn restart(&mut self, session: &Arc<SessionWorld>) -> Arc<SessionWorld> {
        let before = self.world.session.clone();
        self.change_world(session);
        self.connections_max = connections_max(&self.world);
        self.inbox.lock().clear();
        before
    }

    /// Begins the session of a player anew: it joins again, with its latest ticket.
    pub fn restart_player(
        &mut self,
        before: &SessionWorld,
        link: &mut impl ClientLink,
        client: &mut Client,
    ) {
        let Client::Player(player) = client else {
            return;
        };
        if player.session.is_ending() {
            return;
        }
        let ShardWorld { session, admission } = &*self.world;
        if (player.schema_hash).is_some_and(|hash| hash != admission.schema_hash) {
            player.session.end();
            let reason = "the world has changed, and the client needs its schema as it was";
            return player.close(link, Close::SchemaMismatch, reason);
        }
        let limits = &session.config.limits;
        player.session.restart(&before.stream, self.tick, limits);
        let per_second = limits.client_requests_per_second;
        player.requests.restart(per_second, link.now());
        player.is_confirmed = false;
        self.inbox.lock().join(Join {
            rejoins: player.session.is_restarting(),
            ..player.join.clone()
        });
        self.counts.stream_bytes += player.flush(link) as u64;
    }

    fn change_world(&mut self, session: &Arc<SessionWorld>) {
        self.world = Arc::new(ShardWorld {
            session: session.clone(),
            admission: AdmissionPolicy {
                schema_hash: session.schema.hash(),
                ..self.world.admission.clone()
            },
        });
    }

    /// The revocations, if they have changed since the last call: then each player is to be checked.
    pub fn changed_revocations(&mut self) -> Option<Arc<Revocations>> {
        let now = self.world.admission.guard.revocations()?;
        let is_same = (self.revoked.as_ref()).is_some_and(|before| Arc::ptr_eq(before, &now));
        self.revoked = Some(now.clone());
        (!is_same).then_some(now)
    }

    /// Closes a player's connection if its token is revoked.
    pub fn close_if_revoked(
        &mut self,
        revoked: &Revocations,
        link: &mut impl ClientLink,
        client: &mut Client,
    ) {
        let Client::Player(player) = client else {
            return;
        };
        let shown = player.shown.as_ref();
        if shown.is_some_and(|shown| revoked.is_revoked(shown)) && !player.session.is_ending() {
            player.session.end();
            let reason = Rejection::Revoked.to_string();
            info!(session = player.id, address = %player.address, %reason, "a session is ended");
            player.close(link, Close::Unauthorized, &reason);
        }
    }

    /// Applies an event of the tick to its session.
    pub fn act_on(
        &mut self,
        event: &SessionEvent,
        publication: &Publication,
        link: &mut impl ClientLink,
        client: &mut Client,
    ) {
        let Client::Player(of) = client else {
            return;
        };
        let session = &mut of.session;
        match event {
            &SessionEvent::Assigned {
                client,
                entity,
                ticket,
                resumed,
                processed,
                ..
            } => {
                of.join.resume = Some(ticket);
                let own = Assignment {
                    player: session::Player { client, entity },
                    ticket,
                    resumed,
                    processed,
                };
                let Publication { tick, others, .. } = publication;
                session.assign(own, *tick, &self.world.session, others);
                let what = if resumed { "resume" } else { "join" };
                self.audit(what, link.remote_address(), of, None);
            }
            SessionEvent::Reborn { entity, .. } => session.reassign(*entity),
            SessionEvent::Talk { index, talk, .. } => session.push_talk(*index, talk.clone()),
            SessionEvent::Answered { answer, .. } => {
                session.answer(Reply::Answer(answer.clone()));
                of.requests.answer();
            }
            SessionEvent::Texts { request, texts, .. } => {
                session.answer(Reply::Texts(*request, texts.clone()));
                of.requests.answer();
            }
            SessionEvent::Closed {
                close: code,
                reason,
                ..
            } => {
                session.end();
                of.close(link, *code, reason);
            }
        }
    }

    /// The figures of a player's connection.
    pub fn inspect(&self, link: &impl ClientLink, client: &Client) -> Option<LinkFigures> {
        let Client::Player(player) = client else {
            return None;
        };
        let path = link.figures();
        Some(LinkFigures {
            session: player.id,
            address: link.remote_address(),
            round_trip: path.round_trip,
            packets_sent: path.packets_sent,
            packets_lost: path.packets_lost,
            bytes_sent: path.bytes_sent,
            bytes_received: path.bytes_received,
            bytes_unsent: player.session.unsent(),
            view: player.session.view_status(self.tick),
        })
    }

    /// Sends a tick to a client. Closes the connection if the client does not read.
    pub fn send_tick(
        &mut self,
        view: TickView<'_>,
        link: &mut impl ClientLink,
        client: &mut Client,
    ) {
        let Client::Player(player) = client else {
            return;
        };
        self.take_requests(link, player);
        if player.session.is_link_judged(view.publication.tick) && player.is_marked(link) {
            player.session.note_marks();
        }
        let (scratch, counts) = (&mut self.scratch, &mut self.counts);
        player.session.send_tick(view, scratch, counts, |datagram| {
            link.send_datagram(datagram.into());
        });
        counts.stream_bytes += player.flush(link) as u64;
        if player
            .session
            .is_too_slow(view.publication.tick, view.world)
        {
            let reason = "the client does not read what it is sent";
            player.close(link, Close::TooSlow, reason);
        }
        self.note_acked(player);
    }

    /// Defers a tick for a client. False if the client is not in the world.
    pub fn defer(&mut self, view: TickView<'_>, client: &mut Client) -> bool {
        let Client::Player(player) = client else {
            return false;
        };
        let (scratch, counts) = (&mut self.scratch, &mut self.counts);
        player.session.defer(view, scratch, counts);
        self.note_acked(player);
        true
    }

    fn note_acked(&mut self, player: &Player) {
        if let Some(tick) = player.session.acked_through() {
            self.acked_through = self.acked_through.min(tick);
        }
    }

    /// The report on a tick after its fan-out.
    pub fn end_tick(&mut self, tick: &SharedTick, begun: Instant, now: Instant) -> FanOutReport {
        let mut counts = std::mem::take(&mut self.counts);
        counts.sessions = self.players.len() as u64;
        let (number, busy) = (tick.publication.tick, now - begun);
        debug!(tick = %number, sessions = counts.sessions, ?busy, "fanned out");
        FanOutReport {
            took: now.saturating_duration_since(tick.due),
            acked_through: self.acked_through,
            counts,
        }
    }
}
