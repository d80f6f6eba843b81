//! The clock: one thread that, every period, swaps the inboxes, runs the tick and
//! hands its results to the shards. Only here is the time of day read.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Receiver;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use gpu_kernels::content::listen::{Listeners, Notices};
use gpu_kernels::{Backend, Frame, TickOutput};
use shared::wire::control::Ticket;
use shared::wire::session::{Answer, Body};
use shared::{Tick, WorldConfig};
use tokio::sync::mpsc::UnboundedSender;
use tracing::{debug, warn};

use crate::directory::Directory;
use crate::holdings::Holdings;
use crate::inbox::{Ask, Inbox, Refusals, SharedInbox};
use crate::journal::JournalWriter;
use crate::mirror::Mirror;
use crate::publication::{FanOutDone, Notice, Publication, ToShard};
use crate::stats::{Stats, TickFigures};
use crate::telemetry::{self, TickReport};

/// The tick thread's possessions.
pub struct TickLoop {
    config: WorldConfig,
    backend: Box<dyn Backend>,
    directory: Directory,
    holdings: Holdings,
    /// Where clients can subscribe.
    listeners: Option<Listeners>,
    /// What clients asked for, by shard, oldest first.
    asks: VecDeque<(usize, Ask)>,
    /// The answers of this tick, by shard.
    answers: Vec<(usize, Notice)>,
    inboxes: Vec<SharedInbox>,
    shards: Vec<UnboundedSender<ToShard>>,
    done: Receiver<FanOutDone>,
    journal: Option<JournalWriter>,
    stats: Arc<Stats>,
    stop: Arc<AtomicBool>,
    frame: Frame,
    /// An empty inbox to swap in.
    spare: Inbox,
    tickets: TicketSource,
    /// Every client has taken in its stream up to this tick.
    taken_in: Tick,
}

/// What the loop is made of.
pub struct Parts {
    pub config: WorldConfig,
    pub backend: Box<dyn Backend>,
    pub listeners: Option<Listeners>,
    pub inboxes: Vec<SharedInbox>,
    pub shards: Vec<UnboundedSender<ToShard>>,
    pub done: Receiver<FanOutDone>,
    pub journal: Option<JournalWriter>,
    pub stats: Arc<Stats>,
    pub stop: Arc<AtomicBool>,
}

impl TickLoop {
    pub fn new(parts: Parts) -> TickLoop {
        let mut frame = Frame::new(Tick(0));
        frame.populate(&parts.config);
        TickLoop {
            directory: Directory::new(&parts.config),
            holdings: Holdings::new(&parts.config, parts.listeners.as_ref().map(Listeners::desk)),
            listeners: parts.listeners,
            asks: VecDeque::new(),
            answers: vec![],
            config: parts.config,
            backend: parts.backend,
            inboxes: parts.inboxes,
            shards: parts.shards,
            done: parts.done,
            journal: parts.journal,
            stats: parts.stats,
            stop: parts.stop,
            frame,
            spare: Inbox::default(),
            tickets: TicketSource::new(),
            taken_in: Tick(0),
        }
    }

    /// Runs the world until it is told to stop, then tells the shards.
    pub fn run(mut self, mirror: Mirror) -> Result<()> {
        let ended = self.tick_until_stopped(mirror);
        let reason = match &ended {
            Ok(()) => "the server is shutting down",
            Err(_) => "the server has failed",
        };
        for shard in &self.shards {
            // A shard that is gone has nobody left to tell.
            let _ = shard.send(ToShard::Stop(reason));
        }
        match self.journal.take() {
            Some(journal) => ended.and(journal.finish()),
            None => ended,
        }
    }

    fn tick_until_stopped(&mut self, mut mirror: Mirror) -> Result<()> {
        let period = Duration::from_secs(1) / self.config.schema.world.tick_hz;
        let mut scheduled = Instant::now();
        let mut subscribed = Notices::default();
        while self.wait_until(scheduled) {
            let begun = Instant::now();
            let refusals = self.gather();
            self.directory.prepare(&mut self.frame, self.taken_in);
            let directory = &self.directory;
            let presence = |client| directory.presence(client);
            self.holdings.follow(presence, &mut self.frame);
            self.frame.order(self.config.seed);
            let output = self.backend.tick(&self.frame)?;
            if let Some(journal) = &self.journal {
                journal.record(&self.frame, &output.hash)?;
            }
            let listening = Instant::now();
            if let Some(listeners) = &mut self.listeners {
                listeners.listen_into(&output, &mirror, &mut subscribed);
            }
            let listen = listening.elapsed();
            mirror.apply(&output);
            self.directory.settle(&output, |slot| mirror.position(slot));
            let publication = self.publish(mirror, output, subscribed);
            let engine = begun.elapsed();

            let fan_out = self.wait_for_shards()?;
            let finished = fan_out.finished.max(begun + engine);
            // The shards have let go of it before they reported.
            let Some(publication) = Arc::into_inner(publication) else {
                bail!("a shard still reads a tick that it reported as done");
            };
            mirror = publication.mirror;
            subscribed = publication.subscribed;
            self.taken_in = fan_out.taken_in;

            let next = next_start(scheduled, period, Instant::now());
            let figures = TickFigures {
                clients: self.directory.live() as u64,
                late: finished > scheduled + period,
                skipped: next.skipped,
                engine,
                tick: finished - begun,
                commands_applied: publication.output.counts.applied,
                deliveries: publication.output.counts.deliveries,
                notices: fan_out.notices,
                sessions_lost: fan_out.lost,
                malformed: refusals.malformed,
                commands_over_quota: refusals.commands_over_quota,
            };
            if figures.late {
                debug!(tick = %publication.tick, behind = ?(finished - scheduled), "a late tick");
            }
            self.stats.add(&figures);
            telemetry::record(&TickReport {
                figures: &figures,
                output: &publication.output,
                subscribed: &subscribed,
                listen,
                fan_out: &fan_out,
                refusals: &refusals,
                lateness: begun.saturating_duration_since(scheduled),
            });
            self.frame.reset(publication.tick.next());
            scheduled = next.start;
        }
        Ok(())
    }

    /// Sleeps until a tick's scheduled start. False when it's time to stop.
    fn wait_until(&self, scheduled: Instant) -> bool {
        loop {
            if self.stop.load(Ordering::Relaxed) {
                return false;
            }
            let left = scheduled.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return true;
            }
            std::thread::sleep(left.min(STOP_LATENCY));
        }
    }

    /// Takes what has reached the shards into the frame.
    fn gather(&mut self) -> Refusals {
        let mut refusals = Refusals::default();
        for shard in 0..self.inboxes.len() {
            self.spare.reset();
            self.inboxes[shard].swap(&mut self.spare, self.frame.tick);
            for leave in &self.spare.leaves {
                self.directory.leave(shard, leave, &mut self.frame);
            }
            for join in &self.spare.joins {
                let ticket = self.tickets.next();
                self.directory.join(shard, join, ticket, &mut self.frame);
            }
            let asks = self.spare.asks.drain(..);
            self.asks.extend(asks.map(|ask| (shard, ask)));
            let mut words = &self.spare.words[..];
            for request in &self.spare.commands {
                let (own, rest) = words.split_at(usize::from(request.word_count));
                words = rest;
                self.frame
                    .push(request.entity, request.sequence, request.kind, own);
            }
            let taken = self.spare.refusals;
            refusals.malformed += taken.malformed;
            refusals.commands_over_quota += taken.commands_over_quota;
            refusals.commands_repeated += taken.commands_repeated;
        }
        // A row may have gone on with another connection: nobody is there to be answered,
        // and nobody may have more that waits than one connection may.
        let directory = &self.directory;
        self.asks
            .retain(|(shard, ask)| directory.is_at(ask.client, (*shard, ask.session)));
        refusals.requests = self.answer();
        refusals
    }

    /// Grants or refuses what clients ask for, as much as one tick may take in, and
    /// says how much it refused.
    fn answer(&mut self) -> u64 {
        let mut refused = 0;
        let mut cost = 0;
        while cost < ASKS_COST_MAX
            && let Some((shard, ask)) = self.asks.pop_front()
        {
            let Ask {
                session,
                client,
                request,
                body,
            } = ask;
            let Some(presence) = self.directory.presence(client) else {
                continue;
            };
            cost += self.cost_of(&body);
            let result = body.and_then(|body| self.holdings.ask(client, &presence, &body));
            refused += u64::from(result.is_err());
            let answer = Answer { request, result };
            self.answers
                .push((shard, Notice::Answered { session, answer }));
        }
        refused
    }

    /// What a request takes at most, in units of some two microseconds, its end included.
    fn cost_of(&self, body: &Result<Body, String>) -> usize {
        let Ok(Body::Subscribe { predicate, .. }) = body else {
            return 1;
        };
        // Each `||` doubles at most what the text comes to, once all is multiplied out.
        let alternatives = predicate
            .matches("||")
            .count()
            .min(usize::BITS as usize / 2);
        let filters = (1_usize << alternatives).min(self.config.limits.predicate_filters as usize);
        let schema = &self.config.schema;
        let sorts = schema.kinds.len() * schema.attributes.len();
        let each = FILTER_COST + sorts / SORTS_PER_COST;
        SUBSCRIBE_COST + filters * each + predicate.len() / BYTES_PER_COST
    }

    fn publish(
        &mut self,
        mirror: Mirror,
        output: Arc<TickOutput>,
        subscribed: Notices,
    ) -> Arc<Publication> {
        let mut notices = vec![vec![]; self.shards.len()];
        let all = self.directory.notices().chain(self.answers.drain(..));
        for (shard, notice) in all {
            notices[shard].push(notice);
        }
        let publication = Arc::new(Publication {
            tick: output.tick,
            output,
            mirror,
            subscribed,
            notices,
        });
        for shard in &self.shards {
            if shard.send(ToShard::Tick(publication.clone())).is_err() {
                warn!("a shard has ended");
            }
        }
        publication
    }

    fn wait_for_shards(&self) -> Result<FanOutDone> {
        let mut all: Option<FanOutDone> = None;
        for _ in &self.shards {
            let one = self
                .done
                .recv_timeout(SHARD_PATIENCE)
                .context("a shard does not answer")?;
            all = Some(match all {
                None => one,
                Some(all) => all.and(&one),
            });
        }
        all.context("the server has no shards")
    }
}

impl FanOutDone {
    fn and(&self, other: &FanOutDone) -> FanOutDone {
        FanOutDone {
            finished: self.finished.max(other.finished),
            taken_in: self.taken_in.min(other.taken_in),
            sessions: self.sessions + other.sessions,
            datagrams: self.datagrams + other.datagrams,
            datagram_bytes: self.datagram_bytes + other.datagram_bytes,
            stream_bytes: self.stream_bytes + other.stream_bytes,
            notices: self.notices + other.notices,
            notices_full: self.notices_full + other.notices_full,
            lost: self.lost + other.lost,
        }
    }
}

struct NextStart {
    start: Instant,
    skipped: u64,
}

/// The next scheduled start that is not past. Starts that a late tick has missed
/// are left out, so that the world doesn't run faster afterwards.
fn next_start(scheduled: Instant, period: Duration, now: Instant) -> NextStart {
    let mut start = scheduled + period;
    let mut skipped = 0;
    while start < now {
        start += period;
        skipped += 1;
    }
    NextStart { start, skipped }
}

/// Session tickets: unguessable, from the TLS library's generator.
struct TicketSource(Arc<rustls::crypto::CryptoProvider>);

impl TicketSource {
    fn new() -> TicketSource {
        TicketSource(Arc::new(rustls::crypto::ring::default_provider()))
    }

    fn next(&mut self) -> Ticket {
        let mut ticket = Ticket::default();
        // Without randomness TLS would not work either.
        self.0
            .secure_random
            .fill(&mut ticket)
            .expect("the system gives random bytes");
        ticket
    }
}

/// What requests may cost in one tick: some milliseconds. More than that waits.
const ASKS_COST_MAX: usize = 8192;
const SUBSCRIBE_COST: usize = 12;
const FILTER_COST: usize = 4;
/// Kinds of entities times attributes, each of which a filter may want.
const SORTS_PER_COST: usize = 128;
const BYTES_PER_COST: usize = 16;
/// The longest that a stop waits for a sleeping tick thread.
const STOP_LATENCY: Duration = Duration::from_millis(50);
/// A shard that takes this long for one tick is broken, not slow.
const SHARD_PATIENCE: Duration = Duration::from_secs(60);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_late_tick_leaves_starts_out_and_keeps_the_beat() {
        let period = Duration::from_millis(100);
        let start = Instant::now();
        let on_time = next_start(start, period, start + Duration::from_millis(30));
        assert_eq!((on_time.start, on_time.skipped), (start + period, 0));
        let late = next_start(start, period, start + Duration::from_millis(250));
        assert_eq!((late.start, late.skipped), (start + 3 * period, 2));
    }
}
