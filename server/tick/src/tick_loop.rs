//! The clock, and the list of a tick's steps.
//!
//! The fan-out of a tick overlaps the work on the next one:
//!
//! ```text
//! tick thread   gather 1 · engine 1 · apply 1 ·  gather 2 · engine 2 · wait · apply 2 · …
//! shards                                      └─ fan-out 1 ──────────────┘ └─ fan-out 2 …
//! ```
//!
//! Shards read the mirror, so it takes in a tick only when the fan-out of the one before
//! is done.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Receiver;
use std::time::{Duration, Instant};

use accounts::names::NameRule;
use anyhow::Result;
use device::cpu::Workers;
use durability::characters::Rows;
use durability::record::Entry;
use durability::recording::RecordingWriter;
use durability::recovered::Recovered;
use durability::roster::RosterChange;
use durability::worker::{Boundary, DurabilityWorker};
use frontend::SessionWorld;
use frontend::inbox::SharedInbox;
use frontend::mirror::SharedMirror;
use frontend::publication::{FanOutReport, Publication, SessionEvent};
use frontend::shards::{FannedOut, ShardSender, Shards};
use gpu_kernels::listen::{Listeners, Notices};
use gpu_kernels::logic::CompiledLogic;
use gpu_kernels::{Backend, Birth, CommandOrder, Frame, StateHash, TickOutput};
use platform::metrics::counts::Refusals;
use platform::metrics::stats::{Stats, TickFigures};
use platform::metrics::steps::{Step, StepClock, StepTimes};
use platform::metrics::table;
use platform::metrics::telemetry::{self, TickReport};
use platform::metrics::window::SharedWindow;
use platform::waits::Stopped;
use shared::wire::request::RequestBody;
use shared::world::command::COMMANDS_MAX;
use shared::{CommandKind, EntityId, Text, Tick, WorldConfig};
use tracing::{debug, info, warn};

use super::characters::Characters;
use super::directory::{Directory, Presence};
use super::holdings::Holdings;
use super::intake::Intake;
use super::operator::{self, Order};
use super::requests::RequestQueue;
use super::talk::Talk;
use super::talk::filter::TalkFilter;

/// Everything that the tick thread owns.
pub struct TickLoop {
    config: WorldConfig,
    backend: Box<dyn Backend>,
    fan_out: FanOutMode,
    directory: Directory,
    holdings: Holdings,
    talk: Talk,
    /// What the operator wants; none without a control socket.
    orders: Option<Receiver<Order>>,
    /// Matches the tick with subscriptions; none in worlds without them.
    listeners: Option<Listeners>,
    /// The threads of the steps that are worth several.
    workers: Workers,
    intake: Intake,
    order: CommandOrder,
    requests: RequestQueue,
    /// The answers of this tick, by shard.
    answers: Vec<(usize, SessionEvent)>,
    mirror: SharedMirror,
    shards: Shards<TickRecord>,
    recording: Option<RecordingWriter>,
    /// Keeps the world on disk; none for a world in memory.
    worker: Option<DurabilityWorker>,
    /// What accounts keep while they have no entity; none where they keep nothing.
    characters: Option<Characters>,
    /// What has changed among clients, for the worker.
    changes: Vec<RosterChange>,
    /// The state before the next tick, for the worker.
    before: StateHash,
    /// Scripts that were compiled beside the world.
    reloads: Option<Receiver<CompiledLogic>>,
    /// What sessions know of the world.
    session: Arc<SessionWorld>,
    /// Whether this tick has changed that.
    is_session_new: bool,
    stats: Arc<Stats>,
    /// What the dashboard is told of; none without one.
    window: Option<SharedWindow>,
    stop: Arc<AtomicBool>,
    frame: Arc<Frame>,
    /// Notices of an earlier tick, kept for their memory.
    spare: Notices,
    /// Every client has taken in its stream up to this tick.
    acked_through: Tick,
    /// The last tick of a world that is kept.
    last: Option<Last>,
}

/// What a checkpoint needs of the last tick.
#[derive(Default)]
struct Last {
    tick: Tick,
    births: Vec<Birth>,
    deaths: Vec<EntityId>,
}

/// What a loop begins with.
struct InitialState {
    frame: Frame,
    directory: Directory,
    holdings: Holdings,
    before: StateHash,
    characters: Option<Characters>,
    changes: Vec<RosterChange>,
}

impl InitialState {
    /// A new world.
    fn new(config: &WorldConfig, holdings: Holdings) -> InitialState {
        let mut frame = Frame::new(Tick(0));
        frame.populate(config);
        InitialState {
            frame,
            directory: Directory::new(config),
            holdings,
            before: StateHash::default(),
            characters: None,
            changes: vec![],
        }
    }

    /// A world that goes on where its last server left it.
    fn again(
        config: &WorldConfig,
        mut holdings: Holdings,
        from: &Recovered,
        rows: Rows,
    ) -> InitialState {
        let next = from.snapshot.tick;
        let mut frame = Frame::new(next);
        if next == Tick(0) {
            frame.populate(config);
        }
        let left_out = holdings.restore(&from.roster);
        if left_out > 0 {
            warn!(
                left_out,
                "subscriptions that the world's scripts don't allow any more"
            );
        }
        holdings.keep_changes();
        let mut directory = Directory::restore(config, &from.roster, next);
        // Nobody sees the place of a death: all sessions have ended.
        directory.settle(&from.last, |_| [0; 3]);
        let mut characters = Characters::new(config, rows);
        if let Some(characters) = &mut characters {
            characters.restore(&from.roster);
            characters.settle(&from.last, &directory, None);
        }
        // The journal may not say it, if it ended with their deaths.
        let kept = from.roster.characters.clone().into_iter();
        let changes = kept.map(|(account, row)| RosterChange::Character { account, row });
        directory.lose_sessions(&from.snapshot, &mut frame);
        InitialState {
            frame,
            directory,
            holdings,
            before: from.hash.clone(),
            characters,
            changes: changes.collect(),
        }
    }
}

/// What a loop is made of.
pub struct Parts {
    pub config: WorldConfig,
    pub backend: Box<dyn Backend>,
    pub fan_out: FanOutMode,
    /// For the tick's own work.
    pub workers: Workers,
    pub listeners: Option<Listeners>,
    /// The world before its first tick.
    pub mirror: SharedMirror,
    /// By shard.
    pub inboxes: Vec<SharedInbox>,
    /// By shard.
    pub shards: Vec<ShardSender>,
    pub reports: Receiver<FanOutReport>,
    pub recording: Option<RecordingWriter>,
    /// For a world that is kept.
    pub kept: Option<Kept>,
    /// Scripts that were compiled beside the world, and are to come into force.
    pub reloads: Option<Receiver<CompiledLogic>>,
    /// What the operator wants; none without a control socket.
    pub orders: Option<Receiver<Order>>,
    /// Judges what players say.
    pub talk_filter: Arc<dyn TalkFilter>,
    /// Which names count as the same one.
    pub names: NameRule,
    pub session: Arc<SessionWorld>,
    pub stats: Arc<Stats>,
    /// What the dashboard is told of; none without one.
    pub window: Option<SharedWindow>,
    pub stop: Arc<AtomicBool>,
}

/// A world that is kept, as it goes on.
pub struct Kept {
    pub worker: DurabilityWorker,
    /// What accounts keep, without what the roster has of it.
    pub characters: Rows,
    pub recovered: Box<Recovered>,
}

/// What the tick thread does during a fan-out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FanOutMode {
    /// It works on the next tick.
    #[default]
    Overlapped,
    /// It waits.
    Awaited,
}

/// When a tick should start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Start {
    pub scheduled: Instant,
    /// Starts that were left out before this one, because a tick was late.
    pub skipped: u64,
}

/// A tick on the tick thread, for the figures.
pub struct TickRecord {
    start: Start,
    begun: Instant,
    /// The thread's work, without `fan_out_wait`.
    steps: StepTimes,
    /// How long the tick waited for the fan-out of the one before.
    fan_out_wait: Duration,
    refusals: Refusals,
    clients: u64,
    /// False if the recording has ended before the world.
    is_recorded: bool,
    /// By number: the frame's commands.
    given: [u64; COMMANDS_MAX],
}

impl TickLoop {
    pub fn new(mut parts: Parts) -> TickLoop {
        show_commands(&parts.config);
        let registry = parts.listeners.as_ref().map(Listeners::registry);
        let holdings = Holdings::new(&parts.config, registry);
        let InitialState {
            frame,
            mut directory,
            holdings,
            before,
            characters,
            changes,
        } = match &mut parts.kept {
            Some(kept) => {
                let rows = std::mem::take(&mut kept.characters);
                InitialState::again(&parts.config, holdings, &kept.recovered, rows)
            }
            None => InitialState::new(&parts.config, holdings),
        };
        directory.set_names(parts.names);
        let mut talk = Talk::new(&parts.config, parts.talk_filter);
        talk.set_names(parts.names);
        if let Some(kept) = &parts.kept {
            talk.restore(&kept.recovered.roster);
        }
        // The shards know the world of the checkpoint.
        let is_kept = parts.kept.is_some();
        TickLoop {
            directory,
            holdings,
            talk,
            orders: parts.orders,
            worker: parts.kept.map(|kept| kept.worker),
            characters,
            changes,
            before,
            listeners: parts.listeners,
            workers: parts.workers,
            intake: Intake::new(parts.inboxes),
            order: CommandOrder::new(),
            requests: RequestQueue::new(&parts.config),
            answers: vec![],
            mirror: parts.mirror,
            shards: Shards::new(parts.shards, parts.reports),
            config: parts.config,
            backend: parts.backend,
            fan_out: parts.fan_out,
            recording: parts.recording,
            reloads: parts.reloads,
            session: parts.session,
            is_session_new: is_kept,
            stats: parts.stats,
            window: parts.window,
            stop: parts.stop,
            frame: Arc::new(frame),
            spare: Notices::default(),
            acked_through: Tick(0),
            last: None,
        }
    }

    /// Runs the world until it is told to stop, then ends the shards.
    pub fn run(mut self) -> Result<()> {
        let ended = self.tick_until_stopped();
        self.end(ended)
    }

    /// Ends the shards, the recording and the journal. `ended` is how the last tick went.
    pub fn end(mut self, ended: Result<()>) -> Result<()> {
        let is_kept = self.worker.is_some();
        let seconds = self.config.limits.resume_seconds;
        self.shards.stop(&match (&ended, is_kept) {
            (Ok(()), false) => "the server is shutting down".to_owned(),
            (Ok(()), true) => format!(
                "the server is shutting down, and its world is kept: \
                 come back within {seconds} seconds of its return"
            ),
            (Err(_), false) => "the server has failed".to_owned(),
            (Err(error), true) => format!("the server has stopped: {error:#}"),
        });
        let ended = match self.recording.take() {
            Some(recording) => ended.and(recording.finish()),
            None => ended,
        };
        let Some(mut worker) = self.worker.take() else {
            return ended;
        };
        // After a failure the journal says more than the state.
        let checkpoint = match &ended {
            Ok(()) => self.last_checkpoint(&mut worker),
            Err(_) => Ok(()),
        };
        ended.and(checkpoint).and(worker.finish())
    }

    /// The checkpoint of a clean stop, from which any later version can go on.
    fn last_checkpoint(&mut self, worker: &mut DurabilityWorker) -> Result<()> {
        if worker.is_copying() {
            // It would be older than this one.
            worker.drop_copy();
        }
        if self.last.is_none() {
            // Nothing has happened since the world was recovered.
            return Ok(());
        }
        self.begin_checkpoint(worker)?;
        loop {
            if let Some(snapshot) = self.backend.continue_copy()? {
                return worker.finish_copy(snapshot);
            }
        }
    }

    fn begin_checkpoint(&mut self, worker: &mut DurabilityWorker) -> Result<()> {
        let Some(Last {
            tick,
            births,
            deaths,
        }) = &self.last
        else {
            return Ok(());
        };
        self.backend.start_copy()?;
        worker.begin_checkpoint(Boundary {
            world: self.config.clone(),
            tick: tick.next(),
            hash: self.before.clone(),
            births: births.clone(),
            deaths: deaths.clone(),
            characters: self.changes.iter().filter_map(character).collect(),
        })
    }

    fn tick_until_stopped(&mut self) -> Result<()> {
        let period = Duration::from_secs(1) / self.config.schema.world.tick_hz;
        let mut start = Start {
            scheduled: Instant::now(),
            skipped: 0,
        };
        while self.wait_until(start.scheduled)? {
            match self.tick(start) {
                Err(error) if error.is::<Stopped>() => {
                    warn!("{error}; nobody is told of its last tick");
                    break;
                }
                ticked => ticked?,
            }
            start = next_start(start.scheduled, period, Instant::now());
        }
        self.finish_fan_out()
    }

    /// Runs one tick: from the inboxes to the shards. With [`FanOutMode::Awaited`], to
    /// the end of its fan-out.
    pub fn tick(&mut self, start: Start) -> Result<()> {
        let begun = Instant::now();
        let mut clock = StepClock::start(begun);
        self.check_keeper()?;
        let refusals = self.gather();
        clock.end(Step::Gather);
        let frame = Arc::make_mut(&mut self.frame);
        self.order.order(&self.workers, frame, self.config.seed);
        let given = self.frame.commands.by_number();
        clock.end(Step::Order);
        self.hand_over()?;
        clock.end(Step::Keep);
        let output = self.backend.tick(&self.frame)?;
        clock.end(Step::Backend);
        let is_recorded = self.record(&output);
        clock.end(Step::Record);
        let subscribed = self.listen(&output);
        clock.end(Step::Listen);
        let fanned_out = self.shards.wait()?;
        let fan_out_wait = clock.lap();
        self.apply(&output);
        clock.end(Step::Apply);
        let clients = self.directory.live() as u64;
        if let Some(worker) = &self.worker
            && let Err(error) = worker.wait(output.tick, &self.stop)
        {
            // The last checkpoint has this tick, though nobody is told of it.
            self.note_last(&output);
            return Err(error);
        }
        clock.end(Step::Keep);
        // Shards that count from when they get it never make up for being late.
        let due = start.scheduled + begun.elapsed().saturating_sub(fan_out_wait);
        let publication = self.publication(output.clone(), subscribed, due);
        self.shards.publish(publication, || {
            clock.end(Step::Publish);
            TickRecord {
                start,
                begun,
                steps: clock.times(),
                fan_out_wait,
                refusals,
                clients,
                is_recorded,
                given,
            }
        })?;
        // Checkpoints and figures can wait; the shards could not.
        self.copy_for_checkpoint(&output)?;
        drop(output);
        if let Some(fanned_out) = fanned_out {
            self.conclude(fanned_out);
        }
        match self.fan_out {
            FanOutMode::Overlapped => Ok(()),
            FanOutMode::Awaited => self.finish_fan_out(),
        }
    }

    /// Fails if the world must end before its journal does.
    fn check_keeper(&self) -> Result<()> {
        self.worker.as_ref().map_or(Ok(()), DurabilityWorker::check)
    }

    /// Hands the tick to the journal, which writes it while the engine runs.
    fn hand_over(&mut self) -> Result<()> {
        let Some(worker) = &mut self.worker else {
            return Ok(());
        };
        worker.record(Entry {
            frame: self.frame.clone(),
            before: self.before.clone(),
            changes: std::mem::take(&mut self.changes),
        })
    }

    /// Keeps what a checkpoint needs of the newest tick.
    fn note_last(&mut self, output: &TickOutput) {
        self.before.clone_from(&output.hash);
        // The output itself is the backend's, which uses its memory again.
        let last = self.last.get_or_insert_default();
        last.tick = output.tick;
        last.births.clone_from(&output.births);
        last.deaths.clone_from(&output.deaths);
    }

    /// Begins a checkpoint if one is due, and goes on with one that is under way.
    fn copy_for_checkpoint(&mut self, output: &TickOutput) -> Result<()> {
        let Some(mut worker) = self.worker.take() else {
            return Ok(());
        };
        self.note_last(output);
        let mut copied = Ok(());
        if worker.wants_checkpoint(output.tick.next()) {
            copied = self.begin_checkpoint(&mut worker);
        }
        if copied.is_ok()
            && worker.is_copying()
            && let Some(snapshot) = self.backend.continue_copy()?
        {
            copied = worker.finish_copy(snapshot);
        }
        self.worker = Some(worker);
        copied
    }

    /// Waits for the fan-out that is under way, if one is.
    pub fn finish_fan_out(&mut self) -> Result<()> {
        if let Some(fanned_out) = self.shards.wait()? {
            self.conclude(fanned_out);
        }
        Ok(())
    }

    /// By shard: the entities of its clients, by client row.
    pub fn players(&self) -> Vec<Vec<EntityId>> {
        let mut players = vec![vec![]; self.shards.count()];
        for (shard, entity) in self.directory.players() {
            players[shard].push(entity);
        }
        players
    }

    /// Waits until a scheduled start, and takes in the shards' reports meanwhile. False
    /// when it is time to stop.
    fn wait_until(&mut self, scheduled: Instant) -> Result<bool> {
        loop {
            if self.stop.load(Ordering::Relaxed) {
                return Ok(false);
            }
            let left = scheduled.saturating_duration_since(Instant::now());
            let patience = left.min(STOP_LATENCY);
            let fanned_out = match (left.is_zero(), self.shards.is_busy()) {
                (true, _) => self.shards.poll()?,
                (false, true) => self.shards.poll_for(patience)?,
                (false, false) => {
                    std::thread::sleep(patience);
                    None
                }
            };
            if let Some(fanned_out) = fanned_out {
                self.conclude(fanned_out);
            }
            if left.is_zero() {
                return Ok(true);
            }
        }
    }

    /// Brings the newest compiled scripts into force with this frame.
    fn reload(&mut self) {
        let Some(reloads) = &self.reloads else { return };
        let Some(logic) = reloads.try_iter().last() else {
            return;
        };
        let frame = Arc::make_mut(&mut self.frame);
        frame.logic = Some(Box::new(logic.config.logic.clone()));
        self.config = logic.config.clone();
        self.talk.change_world(&self.config);
        let session = self.session.changed(&self.config, &logic.forecast);
        self.backend.stage(logic);
        show_commands(&self.config);
        if let Some(window) = &self.window {
            window.lock().world = Some(Arc::new(self.config.clone()));
        }
        if let Some(session) = session {
            self.session = Arc::new(session);
            self.is_session_new = true;
        }
        info!(tick = %self.frame.tick, "other scripts are in force");
    }

    /// Fills the frame: from the inboxes, the directory and the holdings.
    fn gather(&mut self) -> Refusals {
        self.reload();
        let frame = Arc::make_mut(&mut self.frame);
        let (requests, talk) = (&mut self.requests, &mut self.talk);
        let mut refusals = self
            .intake
            .gather(&self.workers, &mut self.directory, requests, frame);
        if let Some(orders) = &self.orders {
            let inspect = |some: Option<&[_]>, sender: &_| self.shards.inspect(some, sender);
            operator::take(orders, &mut self.directory, talk, frame, inspect);
        }
        if let Some(warning) = self
            .worker
            .as_ref()
            .and_then(DurabilityWorker::take_warning)
            && let Ok(text) = Text::new(warning)
        {
            talk.announce(&self.directory, None, text, frame);
        }
        let holdings = &mut self.holdings;
        let grant =
            |directory: &mut Directory, client, presence: &Presence, body: &RequestBody| match body
            {
                RequestBody::Talk(request) => {
                    Ok(talk.grant(directory, client, presence, request, frame)?)
                }
                RequestBody::SetSight { radius } => Ok(directory.set_sight(client, *radius)?),
                RequestBody::Watch { point } => Ok(directory.watch(client, *point)?),
                body => holdings.grant(client, presence, body),
            };
        refusals.requests = requests.answer(&mut self.directory, grant, &mut self.answers);
        self.directory.prepare(frame, self.acked_through);
        if let Some(characters) = &mut self.characters {
            characters.give(&self.mirror.read(), frame);
            characters.complete_births(&self.directory, frame);
        }
        let mut changed = self.directory.take_changed();
        talk.follow(&self.directory, &changed, frame);
        let presence = |client| self.directory.presence(client);
        self.holdings
            .follow(changed.iter().copied(), presence, frame);
        let channels = self.talk.take_changes();
        if self.worker.is_some() {
            changed.sort_unstable();
            changed.dedup();
            let saved = |client| RosterChange::Row(client, self.directory.saved(client));
            self.changes.extend(changed.into_iter().map(saved));
            self.changes.extend(self.holdings.take_changes());
            self.changes.extend(channels);
        }
        refusals
    }

    /// Records the tick, which takes its frame. False if it can't be recorded any more.
    fn record(&mut self, output: &TickOutput) -> bool {
        let recording = self.recording.as_mut();
        recording.is_none_or(|recording| {
            let frame = Arc::make_mut(&mut self.frame);
            recording.record(frame, &output.hash)
        })
    }

    /// Matches changes and notifications with subscriptions. The mirror is still that of
    /// the tick before.
    fn listen(&mut self, output: &TickOutput) -> Notices {
        let mut subscribed = std::mem::take(&mut self.spare);
        if let Some(listeners) = &mut self.listeners {
            listeners.listen_into(output, &*self.mirror.read(), &mut subscribed);
        }
        subscribed
    }

    /// Brings the mirror and the directory up to date. No shard reads the mirror now.
    fn apply(&mut self, output: &TickOutput) {
        let mut mirror = self.mirror.write();
        mirror.apply(&self.workers, output);
        self.directory.settle(output, |slot| mirror.position(slot));
        if let Some(characters) = &mut self.characters {
            let changes = characters.settle(output, &self.directory, Some(&mirror));
            self.changes.extend(changes);
            let unready = characters.unready(&mirror);
            mirror.set_unready(unready);
        }
        mirror.name_players(self.directory.take_named(), &output.deaths);
    }

    /// What the shards get of a tick.
    fn publication(
        &mut self,
        output: Arc<TickOutput>,
        subscribed: Notices,
        due: Instant,
    ) -> Publication {
        let mut events = vec![vec![]; self.shards.count()];
        let decided = self.directory.events().chain(self.answers.drain(..));
        for (shard, event) in decided.chain(self.talk.events()) {
            events[shard].push(event);
        }
        if let Some(worker) = &self.worker {
            // The journal may still have this one.
            self.frame = Arc::default();
            self.frame = worker.frame();
        }
        Arc::make_mut(&mut self.frame).reset(output.tick.next());
        Publication {
            tick: output.tick,
            due,
            kept: self.worker.as_ref().and_then(DurabilityWorker::kept),
            standby: self
                .worker
                .as_ref()
                .map_or_else(Arc::default, DurabilityWorker::standby),
            output,
            mirror: self.mirror.clone(),
            subscribed,
            said: self.talk.take_near(),
            hushed: self.talk.take_hushed(),
            world: std::mem::take(&mut self.is_session_new).then(|| self.session.clone()),
            events,
        }
    }

    /// Takes in what the shards report of a tick, and counts it.
    fn conclude(&mut self, fanned_out: FannedOut<TickRecord>) {
        let FannedOut {
            publication,
            report,
            record,
        } = fanned_out;
        self.acked_through = report.acked_through;
        let period = Duration::from_secs(1) / self.config.schema.world.tick_hz;
        let late_by = (report.finished).saturating_duration_since(record.start.scheduled + period);
        let counts = &publication.output.counts;
        let figures = TickFigures {
            clients: record.clients,
            late: !late_by.is_zero(),
            skipped: record.start.skipped,
            steps: record.steps,
            tick: report.finished - record.begun,
            commands_applied: counts.applied,
            deliveries: counts.deliveries,
            notices: report.counts.notices,
            sessions_lost: report.counts.sessions_lost,
            ages: report.counts.ages,
            deferred: report.counts.deferred,
            out_of_touch: report.counts.out_of_touch,
            movement_deferred: report.counts.waiting,
            socket_drops: report.counts.socket_drops,
            packets_sent: report.counts.packets_sent,
            packets_received: report.counts.packets_received,
            packet_bytes_sent: report.counts.packet_bytes_sent,
            packet_bytes_received: report.counts.packet_bytes_received,
            period,
            malformed: record.refusals.malformed,
            commands_over_quota: record.refusals.commands_over_quota,
        };
        if figures.late {
            debug!(tick = %publication.tick, ?late_by, "a late tick");
        }
        self.stats.add(&figures);
        self.count_over_budget(&publication.output);
        let report = TickReport {
            figures: &figures,
            output: &publication.output,
            subscriptions_lost: publication.subscribed.lost().len() as u64,
            fan_out_wait: record.fan_out_wait,
            fan_out: &report.counts,
            refusals: &record.refusals,
            period,
            is_recorded: record.is_recorded,
            lateness: (record.begun).saturating_duration_since(record.start.scheduled),
        };
        telemetry::record(&report);
        if let Some(window) = &self.window {
            window.lock().note(&report, &record.given);
        }
        self.spare = publication.subscribed;
    }

    fn count_over_budget(&self, output: &TickOutput) {
        for &(kind, runs) in &output.over_budget {
            // A name keeps its number, even if a reload has removed its command since.
            if let Some(name) = self.config.logic.numbers.command_name(kind) {
                self.stats.add_over_budget(name, runs);
                table::COMMANDS_OVER_BUDGET.add_to_named(name, runs);
            }
        }
    }
}

/// What an account keeps by a change.
fn character(change: &RosterChange) -> Option<(String, Vec<i32>)> {
    match change {
        RosterChange::Character { account, row } => Some((account.clone(), row.clone())),
        _ => None,
    }
}

/// Shows every command from the start, though most never use up their budget.
fn show_commands(config: &WorldConfig) {
    let scripts = config.schema.commands.iter();
    for command in scripts.filter(|c| c.kind > CommandKind::DESPAWN) {
        table::COMMANDS_OVER_BUDGET.add_to_named(&command.name, 0);
    }
}

/// The next scheduled start that is not past. Starts that a late tick has missed are
/// left out, so that the world does not run faster afterwards.
fn next_start(scheduled: Instant, period: Duration, now: Instant) -> Start {
    let mut start = Start {
        scheduled: scheduled + period,
        skipped: 0,
    };
    while start.scheduled < now {
        start.scheduled += period;
        start.skipped += 1;
    }
    start
}

/// The longest that a stop waits for a sleeping tick thread.
const STOP_LATENCY: Duration = Duration::from_millis(50);

#[cfg(test)]
mod tests;
