//! At a gateway: the loop that passes ticks to its shards, and their input to its tick host.
//!
//! Shards read the mirror, so a tick is applied only after the fan-out of the one before. Input is
//! sent every few milliseconds, as the tick host takes all of a tick at once.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, TryRecvError, channel};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use device::cpu::Workers;
use frontend::SessionWorld;
use frontend::inbox::{SessionChange, SessionId, SharedInbox};
use frontend::mirror::rankings::Reordered;
use frontend::mirror::{Mirror, SharedMirror};
use frontend::publication::{LinkFigures, Publication, SessionEvent, ShardLinks};
use frontend::servers::{OtherServers, Others};
use frontend::shard_channels::{FannedOut, ShardChannels, SharedTick};
use frontend::wire::feed::{Feed, FeedReader};
use frontend::wire::input::Input;
use frontend::wire::snapshot;
use platform::metrics::counts::Refusals;
use platform::metrics::{table, telemetry};
use script::logic::with_logic;
use script::{Forecast, Logic};
use shared::wire::movement::MovementCodec;
use shared::world::logic::LogicConfig;
use shared::{Tick, WorldConfig};
use tracing::{info, warn};

use super::host_link::{FromHost, HostLink, Outgoing};
use super::message::{ToHost, World};

/// The configuration and channels of a loop.
pub struct Parts {
    pub first: FirstWorld,
    pub workers: Workers,
    /// By shard.
    pub inboxes: Vec<SharedInbox>,
    pub channels: ShardChannels<()>,
    pub session: Arc<SessionWorld>,
    /// Whether clients are admitted.
    pub is_open: Arc<AtomicBool>,
    /// Kept up to date.
    pub gateways: OtherServers,
    pub stop: Arc<AtomicBool>,
}

/// The world with which a gateway starts, and the way to its tick host.
pub struct FirstWorld {
    pub config: WorldConfig,
    /// The tick host's certificate and key towards clients, as PEM, if it gives them.
    pub identity: Option<(String, String)>,
    snapshot: Vec<u8>,
    outgoing: Outgoing,
}

/// What the loop owns.
pub struct GatewayLoop {
    workers: Workers,
    inboxes: Vec<SharedInbox>,
    channels: ShardChannels<()>,
    session: Arc<SessionWorld>,
    is_open: Arc<AtomicBool>,
    stop: Arc<AtomicBool>,
    /// None while there is no tick host.
    served: Option<Served>,
    inspections: Vec<Inspection>,
    /// Of clients, since the last tick.
    refusals: Refusals,
    /// The other gateways, for this one's clients and for its page.
    others: Others,
    gateways: OtherServers,
}

/// A tick host and its world.
struct Served {
    outgoing: Outgoing,
    reader: FeedReader,
    mirror: SharedMirror,
    /// Rankings of the tick before, for the next one.
    reordered: Reordered,
    /// Ticks that are not with the shards yet, and when they arrived.
    waiting: VecDeque<(Feed, Instant)>,
    /// The tick for which the tick host takes input next, and when that ends.
    closes: Option<(Tick, Instant)>,
    /// The newest tick that is with the shards, or has been.
    newest: Tick,
    /// The newest tick that is with clients, if the tick host does not know of it yet.
    sent: Option<Tick>,
    acked_through: Tick,
    /// So many messages with input were sent.
    messages: u64,
}

/// A request for figures of connections, whose shards have not all answered.
struct Inspection {
    request: u64,
    answers: Receiver<ShardLinks>,
    missing: usize,
    figures: Vec<LinkFigures>,
}

/// Waits for the first world. `None`: it was stopped.
pub fn first_world(link: &HostLink, stop: &AtomicBool) -> Result<Option<FirstWorld>> {
    while !stop.load(Ordering::Relaxed) {
        if let Some(FromHost::World(world, outgoing)) = link.next(STOP_LATENCY)? {
            return FirstWorld::new(*world, outgoing).map(Some);
        }
    }
    Ok(None)
}

impl FirstWorld {
    pub fn new(world: World, outgoing: Outgoing) -> Result<FirstWorld> {
        Ok(FirstWorld {
            config: world.config.restore("the tick host's world")?,
            identity: world.identity,
            snapshot: world.snapshot,
            outgoing,
        })
    }
}

impl GatewayLoop {
    pub fn new(parts: Parts) -> Result<GatewayLoop> {
        let mut own = GatewayLoop {
            workers: parts.workers,
            inboxes: parts.inboxes,
            channels: parts.channels,
            session: parts.session,
            is_open: parts.is_open,
            stop: parts.stop,
            served: None,
            inspections: vec![],
            refusals: Refusals::default(),
            others: Others::default(),
            gateways: parts.gateways,
        };
        own.served = Some(Served::new(parts.first)?);
        own.note_world();
        Ok(own)
    }

    /// Runs until it is stopped.
    pub fn run(mut self, link: &HostLink) -> Result<()> {
        let ended = self.run_until_stopped(link);
        self.channels.stop(match &ended {
            Ok(()) => "the gateway is shutting down: come back by another one",
            Err(_) => "the gateway has failed: come back by another one",
        });
        table::GATEWAY_SERVES.set(0);
        ended
    }

    fn run_until_stopped(&mut self, link: &HostLink) -> Result<()> {
        while !self.stop.load(Ordering::Relaxed) {
            while let Some(message) = link.poll()? {
                self.take(message)?;
            }
            self.advance(Instant::now())?;
            if self.channels.is_busy() {
                if let Some(done) = self.channels.poll_for(INPUT_PERIOD)? {
                    self.conclude(done);
                }
            } else if let Some(message) = link.next(INPUT_PERIOD)? {
                self.take(message)?;
            }
        }
        if let Some(done) = self.channels.wait()? {
            self.conclude(done);
        }
        Ok(())
    }

    /// Does what is due: the next tick goes to the shards, their input to the tick host.
    pub fn advance(&mut self, now: Instant) -> Result<()> {
        if let Some(done) = self.channels.poll()? {
            self.conclude(done);
        }
        self.publish_next()?;
        self.send_input();
        self.close_input(now);
        self.answer_inspections();
        Ok(())
    }

    /// Takes a message of the tick host.
    pub fn take(&mut self, message: FromHost) -> Result<()> {
        match message {
            FromHost::World(world, outgoing) => {
                self.begin_again(FirstWorld::new(*world, outgoing)?)?
            }
            FromHost::Tick {
                bytes,
                arrived,
                closed,
            } => self.read_tick(&bytes, arrived, closed),
            FromHost::Others(others) => {
                self.others = Others::new(others.iter().map(|of| Arc::from(&*of.address)));
                self.gateways.set(others.into());
            }
            FromHost::Inspect(request, sessions) => self.inspect(request, sessions),
            FromHost::Lost => self.lose("its connection has ended"),
        }
        Ok(())
    }

    /// Reads a tick that arrived at a moment, and for which input was closed at another.
    fn read_tick(&mut self, bytes: &[u8], arrived: Instant, closed: Instant) {
        let period = self.period();
        let Some(served) = &mut self.served else {
            return;
        };
        match served.reader.read(&self.workers, bytes) {
            Ok(feed) => {
                let next = feed.publication.tick.next();
                served.closes = Some((next, closed + period.saturating_sub(INPUT_PERIOD)));
                served.waiting.push_back((feed, arrived));
                await_input(&self.inboxes, next);
            }
            // Nothing that follows could be read.
            Err(error) => self.lose(&format!("a tick can't be read: {error}")),
        }
    }

    /// Clients wait until there is a world again.
    fn lose(&mut self, reason: &str) {
        if self.served.take().is_some() {
            warn!(
                reason,
                "the tick host is lost: clients wait for another one"
            );
            self.is_open.store(false, Ordering::Relaxed);
            table::GATEWAY_SERVES.set(0);
        }
    }

    fn note_world(&self) {
        if let Some(served) = &self.served {
            await_input(&self.inboxes, served.newest.next());
            self.is_open.store(true, Ordering::Relaxed);
            table::GATEWAY_SERVES.set(1);
        }
    }

    /// There is a tick host again: all sessions begin anew, with their tickets.
    fn begin_again(&mut self, world: FirstWorld) -> Result<()> {
        self.lose("another one takes its place");
        if let Some(done) = self.channels.wait()? {
            self.conclude(done);
        }
        self.session = Arc::new(self.session.followed_by(&world.config));
        self.served = Some(Served::new(world)?);
        self.channels.restart(&self.session)?;
        info!("sessions begin anew with the tick host's world");
        self.note_world();
        Ok(())
    }

    /// Gives the next tick that has arrived to the shards, if they are done with the one before.
    fn publish_next(&mut self) -> Result<()> {
        if self.channels.is_busy() {
            return Ok(());
        }
        let Some(served) = &mut self.served else {
            return Ok(());
        };
        let Some((Feed { publication, logic }, arrived)) = served.waiting.pop_front() else {
            return Ok(());
        };
        let world = logic.and_then(|logic| changed(&self.session, logic));
        if let Some(world) = &world {
            self.session = world.clone();
        }
        let shards = self.inboxes.len();
        let message = publication.input_of(0);
        let events = publication.events.into_iter().flatten();
        let publication = Publication {
            world,
            others: self.others.clone(),
            events: by_shard(events, shards),
            inputs: vec![message; shards],
            ..publication
        };
        let output = &publication.output;
        let mut mirror = served.mirror.write();
        mirror.apply(&self.workers, output);
        mirror.rankings.take(std::mem::take(&mut served.reordered));
        mirror.note_newborns(&publication.newborns, &output.deaths);
        drop(mirror);
        served.newest = publication.tick;
        let tick = SharedTick {
            publication: Arc::new(publication),
            mirror: served.mirror.clone(),
            // One that has waited leaves the shards less time, so that lateness does not add up.
            due: arrived,
            scheduled: arrived,
        };
        self.channels.publish(tick, || ())?;
        served.reordered = served.mirror.read().reorder(&self.workers);
        Ok(())
    }

    /// From one tick to the next.
    fn period(&self) -> Duration {
        Duration::from_secs(1) / self.session.config.schema.world.tick_hz
    }

    /// The shards are done with a tick.
    fn conclude(&mut self, done: FannedOut<()>) {
        let FannedOut {
            publication,
            report,
            ..
        } = done;
        let period = self.period();
        let late_by = report.took.saturating_sub(period);
        let refusals = std::mem::take(&mut self.refusals);
        telemetry::record_front_end(&report.counts, &refusals, period, late_by);
        table::CLIENTS.set(report.counts.sessions);
        if let Some(served) = &mut self.served {
            served.acked_through = served.acked_through.max(report.acked_through);
            served.sent = Some(publication.tick);
        }
    }

    /// Sends what has arrived of clients, and how far they are.
    fn send_input(&mut self) {
        let Some(served) = &mut self.served else {
            // Nobody takes it; sessions begin anew, and clients send their commands again.
            self.inboxes.iter().for_each(|inbox| inbox.lock().clear());
            return;
        };
        let mut all = Input::default();
        let shards = self.inboxes.len();
        // All are taken at once, so that what is added later is in the next message.
        let mut inboxes: Vec<_> = self.inboxes.iter().map(SharedInbox::lock).collect();
        for (shard, inbox) in inboxes.iter_mut().enumerate() {
            self.refusals += inbox.refusals;
            add(&mut all, Input::take(inbox), shard, shards);
        }
        let has_news = served.sent.is_some() || all != Input::default();
        served.messages += u64::from(has_news);
        for inbox in &mut inboxes {
            inbox.message = served.messages + 1;
        }
        drop(inboxes);
        all.sent_through = served.sent.take();
        if !has_news {
            return;
        }
        all.acked_through = served.acked_through;
        if !served.outgoing.send(&ToHost::Input(all.encode())) {
            self.lose("its connection has ended");
        }
    }

    /// What comes too late for the tick host's next tick is for the one after it: clients learn by
    /// that when to send. The tick itself arrives only once it has run.
    fn close_input(&mut self, now: Instant) {
        let Some(served) = &mut self.served else {
            return;
        };
        if let Some((tick, _)) = served.closes.take_if(|(_, at)| *at <= now) {
            await_input(&self.inboxes, tick.next());
        }
    }

    fn inspect(&mut self, request: u64, sessions: Option<Vec<SessionId>>) {
        let shards = self.inboxes.len();
        let some = sessions.map(|sessions| {
            let own = sessions
                .into_iter()
                .map(|session| at_shard(session, shards));
            own.collect::<Vec<_>>()
        });
        let (sender, answers) = channel();
        let missing = self.channels.inspect(some.as_deref(), &sender);
        self.inspections.push(Inspection {
            request,
            answers,
            missing,
            figures: vec![],
        });
    }

    fn answer_inspections(&mut self) {
        let shards = self.inboxes.len();
        let served = self.served.as_ref();
        self.inspections.retain_mut(|inspection| {
            while inspection.missing > 0 {
                match inspection.answers.try_recv() {
                    Ok((shard, figures)) => {
                        inspection.missing -= 1;
                        let all = figures.into_iter().map(|figures| LinkFigures {
                            session: on_wire(figures.session, shard, shards),
                            ..figures
                        });
                        inspection.figures.extend(all);
                    }
                    Err(TryRecvError::Empty) => return true,
                    Err(TryRecvError::Disconnected) => break,
                }
            }
            if let Some(served) = served {
                let figures = std::mem::take(&mut inspection.figures);
                let links = ToHost::Links(inspection.request, figures);
                // A connection that has ended is noticed with the next input.
                let _ = served.outgoing.send(&links);
            }
            false
        });
    }
}

impl Served {
    /// Before the first tick of a world here.
    fn new(world: FirstWorld) -> Result<Served> {
        let config = &world.config;
        let movement = MovementCodec::new(&config.schema)?;
        let mut mirror = Mirror::new(config, movement);
        snapshot::decode(&world.snapshot, config, &mut mirror)
            .context("the tick host's world can't be read")?;
        let newest = mirror.tick();
        Ok(Served {
            outgoing: world.outgoing,
            reader: FeedReader::new(config),
            mirror: SharedMirror::new(mirror),
            reordered: vec![],
            waiting: VecDeque::new(),
            closes: None,
            newest,
            sent: None,
            acked_through: newest,
            messages: 0,
        })
    }
}

/// The world with other scripts, if they make a difference to clients.
fn changed(session: &SessionWorld, logic: LogicConfig) -> Option<Arc<SessionWorld>> {
    let config: WorldConfig = match with_logic(&session.config, &logic) {
        Ok(config) => config,
        Err(problems) => {
            // The tick host has compiled them.
            warn!(?problems, "other scripts do not compile here");
            return None;
        }
    };
    let forecast = Forecast::of(&config, &Logic::of(&config).ok()?);
    session.changed(&config, &forecast).map(Arc::new)
}

/// Lets input be for this tick at the earliest.
fn await_input(inboxes: &[SharedInbox], tick: Tick) {
    for inbox in inboxes {
        inbox.lock().await_tick(tick);
    }
}

/// A session's number on the link. Each shard counts its own.
fn on_wire(session: SessionId, shard: usize, shards: usize) -> SessionId {
    session * shards as u64 + shard as u64
}

/// The shard of a session on the link, and its number there.
fn at_shard(session: SessionId, shards: usize) -> (usize, SessionId) {
    let shards = shards as u64;
    let shard = usize::try_from(session % shards).unwrap_or(0);
    (shard, session / shards)
}

/// Events by the shard of their session.
fn by_shard(events: impl Iterator<Item = SessionEvent>, shards: usize) -> Vec<Vec<SessionEvent>> {
    let mut by_shard = vec![vec![]; shards];
    for mut event in events {
        let (shard, session) = at_shard(event.session(), shards);
        event.set_session(session);
        by_shard[shard].push(event);
    }
    by_shard
}

/// Adds the input of a shard.
fn add(all: &mut Input, input: Input, shard: usize, shards: usize) {
    let number = |session| on_wire(session, shard, shards);
    all.changes
        .extend(input.changes.into_iter().map(|mut change| {
            match &mut change {
                SessionChange::Join(join) => join.session = number(join.session),
                SessionChange::Leave(leave) => leave.session = number(leave.session),
            }
            change
        }));
    all.confirmed
        .extend(input.confirmed.into_iter().map(number));
    all.requests
        .extend(input.requests.into_iter().map(|mut request| {
            request.session = number(request.session);
            request
        }));
    all.commands.extend(input.commands);
}

/// From one message with input to the next.
const INPUT_PERIOD: Duration = Duration::from_millis(2);
const STOP_LATENCY: Duration = Duration::from_millis(50);
