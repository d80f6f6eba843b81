//! The clock, and the steps of a tick.
//!
//! The fan-out of a tick overlaps the work on the next one:
//!
//! ```text
//! tick thread   gather 1 · engine 1 · apply 1 ·  gather 2 · engine 2 · wait · apply 2 · …
//! shards                                      └─ fan-out 1 ──────────────┘ └─ fan-out 2 …
//! ```
//!
//! Shards read the mirror, so it applies a tick only after the fan-out of the one before.
//!
//! | module | holds |
//! | --- | --- |
//! | [`traces`] | traces of single commands |
//! | `durable` | the journal and checkpoints of a persistent world |
//! | `figures` | figures of ticks, for metrics and the dashboard |

mod durable;
mod figures;
pub mod traces;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Receiver;
use std::time::{Duration, Instant};

use accounts::names::NameRule;
use anyhow::Result;
use device::cpu::Workers;
use durability::annotations::Annotations;
use durability::characters::ByAccount;
use durability::recording::RecordingWriter;
use durability::recovered::Recovered;
use durability::worker::DurabilityWorker;
use frontend::SessionWorld;
use frontend::inbox::SharedInbox;
use frontend::mirror::rankings::Reordered;
use frontend::mirror::{Newborns, SharedMirror};
use frontend::publication::{FanOutReport, Publication};
use frontend::servers::Others;
use frontend::shard_channels::{ShardChannels, ShardSender, SharedTick};
use gpu_kernels::listen::{Listeners, Notices};
use gpu_kernels::logic::CompiledLogic;
use gpu_kernels::{Backend, CommandOrder, Frame, StateHash, TickOutput};
use platform::log::script_lines::ScriptLines;
use platform::metrics::counts::Refusals;
use platform::metrics::stats::Stats;
use platform::metrics::steps::{Step, StepClock};
use platform::metrics::window::SharedWindow;
use platform::waits::Stopped;
use shared::wire::control::Ticket;
use shared::{EntityId, Text, Tick, WorldConfig};
use tracing::{info, warn};

use durable::LastTick;
use figures::{TickRecord, show_commands};
use traces::{TracedTick, Traces};

use super::backend::advise;
use super::clients::{Clients, Rules, SaidNearby, SavedClients};
use super::intake::Intake;
use super::operator::OperatorRequest;
use super::script_log::ScriptLog;
use super::talk::filter::TalkFilter;
use super::talk::mutes::KeptMutes;

/// Everything that the tick thread owns.
pub struct TickLoop {
    config: WorldConfig,
    backend: Box<dyn Backend>,
    fan_out: FanOutMode,
    clients: Clients,
    /// Requests of the operator; none without a control socket.
    operator: Option<Receiver<OperatorRequest>>,
    /// Matches the tick with subscriptions; none in worlds without them.
    listeners: Option<Listeners>,
    /// Threads for the steps that run on several.
    workers: Workers,
    intake: Intake,
    order: CommandOrder,
    mirror: SharedMirror,
    /// Rankings of the tick before, for the next one.
    reordered: Reordered,
    shards: ShardChannels<TickRecord>,
    recording: Option<RecordingWriter>,
    /// Keeps the world on disk; none for a world in memory.
    worker: Option<DurabilityWorker>,
    /// The state before the next tick, for the worker.
    before: StateHash,
    /// Scripts that were compiled on the thread that watches them.
    reloads: Option<Receiver<CompiledLogic>>,
    /// The world, as sessions use it.
    session: Arc<SessionWorld>,
    /// Whether this tick has changed it.
    is_session_new: bool,
    stats: Arc<Stats>,
    /// The window of the dashboard; none without one.
    window: Option<SharedWindow>,
    stop: Arc<AtomicBool>,
    frame: Arc<Frame>,
    /// Those of the frame.
    annotations: Annotations,
    /// Notices of an earlier tick, kept for their memory.
    spare: Notices,
    script_log: ScriptLog,
    /// None if commands are not traced.
    traces: Option<Traces>,
    /// Every client has acknowledged its stream up to this tick.
    acked_through: Tick,
    /// The last tick of a persistent world.
    last: Option<LastTick>,
}

/// The configuration and channels of a loop.
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
    /// For a persistent world.
    pub persistent: Option<PersistentWorld>,
    /// Compiled scripts, which are to take effect.
    pub reloads: Option<Receiver<CompiledLogic>>,
    /// Requests of the operator; none without a control socket.
    pub operator: Option<Receiver<OperatorRequest>>,
    /// Judges what players say.
    pub talk_filter: Arc<dyn TalkFilter>,
    /// Which names count as the same one.
    pub names: NameRule,
    pub session: Arc<SessionWorld>,
    pub stats: Arc<Stats>,
    /// The window of the dashboard; none without one.
    pub window: Option<SharedWindow>,
    /// What scripts log, for the dashboard; none without one.
    pub script_lines: Option<ScriptLines>,
    pub stop: Arc<AtomicBool>,
}

/// A persistent world, recovered.
pub struct PersistentWorld {
    pub worker: DurabilityWorker,
    /// Saved attributes of accounts, without those in the roster.
    pub characters: ByAccount,
    /// The mutes of accounts.
    pub mutes: Option<KeptMutes>,
    pub recovered: Box<Recovered>,
}

/// The shards of a loop that has ended, with their connections, for the world that follows.
pub struct HeldShards {
    pub inboxes: Vec<SharedInbox>,
    pub senders: Vec<ShardSender>,
    pub reports: Receiver<FanOutReport>,
    /// The world, as their sessions used it.
    pub session: Arc<SessionWorld>,
}

/// What the tick thread does during a fan-out: its overlap with the next tick.
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
    /// Starts that were skipped before this one, because a tick was late.
    pub skipped: u64,
}

impl TickLoop {
    pub fn new(parts: Parts) -> TickLoop {
        show_commands(&parts.config);
        let rules = Rules {
            registry: parts.listeners.as_ref().map(Listeners::registry),
            talk_filter: parts.talk_filter,
            names: parts.names,
        };
        let (clients, frame, before, worker) = match parts.persistent {
            Some(world) => {
                let recovered = &*world.recovered;
                let mut frame = first_frame(&parts.config, recovered.snapshot.tick);
                let saved = SavedClients {
                    recovered,
                    characters: world.characters,
                    mutes: world.mutes,
                };
                let clients = Clients::restore(&parts.config, rules, saved, &mut frame);
                (clients, frame, recovered.hash.clone(), Some(world.worker))
            }
            None => {
                let frame = first_frame(&parts.config, Tick(0));
                let clients = Clients::new(&parts.config, rules);
                (clients, frame, StateHash::default(), None)
            }
        };
        let script_log = ScriptLog::new(parts.script_lines);
        // The shards have the world of the checkpoint.
        let is_session_new = worker.is_some();
        TickLoop {
            clients,
            operator: parts.operator,
            worker,
            before,
            listeners: parts.listeners,
            workers: parts.workers,
            intake: Intake::new(parts.inboxes),
            order: CommandOrder::new(),
            mirror: parts.mirror,
            reordered: vec![],
            shards: ShardChannels::new(parts.shards, parts.reports),
            config: parts.config,
            backend: parts.backend,
            fan_out: parts.fan_out,
            recording: parts.recording,
            reloads: parts.reloads,
            session: parts.session,
            is_session_new,
            stats: parts.stats,
            window: parts.window,
            stop: parts.stop,
            frame: Arc::new(frame),
            annotations: Annotations::default(),
            spare: Notices::default(),
            script_log,
            traces: None,
            acked_through: Tick(0),
            last: None,
        }
    }

    /// Traces commands from the next tick on.
    pub fn set_traces(&mut self, traces: Traces) {
        self.traces = Some(traces);
    }

    /// Gives sessions tickets that follow from a seed: for simulations, as others can guess them.
    pub fn set_tickets(&mut self, tickets: impl FnMut() -> Ticket + Send + 'static) {
        self.intake.set_tickets(tickets);
    }

    /// Lets all clients begin their sessions anew over the connections that they have, before the
    /// first tick.
    pub fn restart_sessions(&self) -> Result<()> {
        self.shards.restart(&self.session)
    }

    /// Runs the world until `stop` is set, then ends the shards; or returns them, with their
    /// connections, if `holds` is set by then.
    pub fn run(mut self, holds: &AtomicBool) -> Result<Option<HeldShards>> {
        let ended = self.tick_until_stopped();
        let is_kept = self.worker.is_some();
        let is_held = ended.is_ok() && holds.load(Ordering::Relaxed);
        if !is_held {
            self.end_shards(&ended);
        }
        self.close(ended).map_err(|error| advise(error, is_kept))?;
        let (senders, reports) = self.shards.into_ends();
        Ok(is_held.then(|| HeldShards {
            inboxes: self.intake.into_inboxes(),
            senders,
            reports,
            session: self.session,
        }))
    }

    /// Ends the shards, the recording and the journal. `ended` is the result of the last tick.
    pub fn end(mut self, ended: Result<()>) -> Result<()> {
        self.end_shards(&ended);
        self.close(ended)
    }

    fn end_shards(&self, ended: &Result<()>) {
        let is_persistent = self.worker.is_some();
        let seconds = self.config.limits.resume_seconds;
        self.shards.stop(&match (ended, is_persistent) {
            (Ok(()), false) => "the server is shutting down".to_owned(),
            (Ok(()), true) => format!(
                "the server is shutting down, and its world is kept: \
                 come back within {seconds} seconds of its return"
            ),
            (Err(_), false) => "the server has failed".to_owned(),
            (Err(error), true) => format!("the server has stopped: {error:#}"),
        });
    }

    /// Ends the recording and the journal.
    fn close(&mut self, ended: Result<()>) -> Result<()> {
        let ended = match self.recording.take() {
            Some(recording) => ended.and(recording.finish()),
            None => ended,
        };
        let Some(mut worker) = self.worker.take() else {
            return ended;
        };
        // After a failure the journal has more than the state.
        let checkpoint = match &ended {
            Ok(()) => self.last_checkpoint(&mut worker),
            Err(_) => Ok(()),
        };
        // The folder is still locked.
        self.clients.end();
        ended.and(checkpoint).and(worker.finish())
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
                    warn!("{error}; its last tick is not sent to clients");
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
        self.check_durability()?;
        let refusals = self.gather();
        let traces = self.traces.as_mut();
        let sampled = self.intake.take_sampled(begun);
        let sampled = sampled.filter(|_| traces.is_some_and(|traces| traces.take(begun)));
        if sampled.is_some() {
            clock.keep_marks();
        }
        clock.end(Step::Gather);
        let frame = Arc::make_mut(&mut self.frame);
        self.order.order(&self.workers, frame, self.config.seed);
        let commands = self.frame.commands.by_number();
        clock.end(Step::Order);
        self.journal()?;
        clock.end(Step::Keep);
        let output = self.backend.tick(&self.frame)?;
        self.show_script_log(&output)?;
        clock.end(Step::Backend);
        let is_recorded = self.record(&output);
        clock.end(Step::Record);
        let subscribed = self.listen(&output);
        clock.end(Step::Listen);
        let fanned_out = self.shards.wait()?;
        let fan_out_wait = clock.lap();
        let newborns = self.apply(&output);
        clock.end(Step::Apply);
        let clients = self.clients.live() as u64;
        if let Some(worker) = &self.worker
            && let Err(error) = worker.wait(output.tick, &self.stop)
        {
            // The last checkpoint has this tick, though it is not sent to clients.
            self.note_last(&output);
            return Err(error);
        }
        clock.end(Step::Keep);
        // Shards that count from the time of receipt would never make up for lateness.
        let due = start.scheduled + begun.elapsed().saturating_sub(fan_out_wait);
        let tick = SharedTick {
            publication: Arc::new(self.publication(output.clone(), newborns, subscribed)),
            mirror: self.mirror.clone(),
            due,
            scheduled: start.scheduled,
        };
        self.shards.publish(tick, || {
            clock.end(Step::Publish);
            TickRecord {
                start,
                begun,
                traced: sampled.map(|(shard, command)| {
                    let marks = clock.take_marks();
                    Box::new(TracedTick {
                        command,
                        shard,
                        begun,
                        marks,
                    })
                }),
                steps: clock.times(),
                fan_out_wait,
                refusals,
                clients,
                is_recorded,
                commands,
            }
        })?;
        // Rankings, checkpoints and figures can wait; the shards could not.
        self.reordered = self.mirror.read().reorder(&self.workers);
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

    /// Waits for the fan-out that is under way, if one is.
    pub fn finish_fan_out(&mut self) -> Result<()> {
        if let Some(fanned_out) = self.shards.wait()? {
            self.conclude(fanned_out);
        }
        Ok(())
    }

    /// How many things of a kind the accounts of a persistent world keep, which are not in the world.
    pub fn kept_things(&self, kind: u16) -> usize {
        self.clients.kept_things(kind)
    }

    /// By shard: the entities of its clients, by client row.
    pub fn players(&self) -> Vec<Vec<EntityId>> {
        self.clients.players(self.shards.count())
    }

    /// Waits until a scheduled start, and handles the shards' reports meanwhile. False when it
    /// is time to stop.
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

    /// Puts the newest compiled scripts into effect with this frame.
    fn reload(&mut self) {
        let Some(reloads) = &self.reloads else { return };
        let Some(logic) = reloads.try_iter().last() else {
            return;
        };
        let frame = Arc::make_mut(&mut self.frame);
        frame.logic = Some(Box::new(logic.config.logic.clone()));
        self.config = logic.config.clone();
        frame.give_reload_hooks(&self.config);
        self.clients.change_world(&self.config);
        let session = self.session.changed(&self.config, &logic.forecast);
        self.backend.stage(logic);
        show_commands(&self.config);
        self.script_log.change();
        if let Some(window) = &self.window {
            window.lock().world = Some(Arc::new(self.config.clone()));
        }
        if let Some(session) = session {
            self.session = Arc::new(session);
            self.is_session_new = true;
        }
        info!(tick = %self.frame.tick, "other scripts are in force");
    }

    /// Fills the frame: from the inboxes, and by what clients wait for.
    fn gather(&mut self) -> Refusals {
        self.reload();
        let traces = self.traces.as_ref();
        self.intake.wants_sample = traces.is_some_and(|traces| traces.is_due(Instant::now()));
        let frame = Arc::make_mut(&mut self.frame);
        let clients = &mut self.clients;
        let mut refusals = clients.receive(&mut self.intake, &self.workers, frame);
        if let Some(requests) = &self.operator {
            let inspect = |some: Option<&[_]>, sender: &_| self.shards.inspect(some, sender);
            clients.execute(requests, frame, inspect);
        }
        let warning = self
            .worker
            .as_ref()
            .and_then(DurabilityWorker::take_warning);
        if let Some(Ok(warning)) = warning.map(Text::new) {
            clients.announce(warning);
        }
        clients.answer(&self.mirror.read(), frame, &mut refusals);
        let refused = clients.complete(&self.mirror.read(), self.acked_through, frame);
        refusals.texts_rejected += refused;
        self.annotations = clients.take_annotations();
        refusals
    }

    fn show_script_log(&mut self, output: &TickOutput) -> Result<()> {
        let (mirror, backend) = (self.mirror.read(), &mut *self.backend);
        self.script_log
            .show(&self.config, &mirror, &self.frame, backend, output)?;
        Ok(())
    }

    /// Records the tick, which consumes its frame. False if it can't be recorded any more.
    fn record(&mut self, output: &TickOutput) -> bool {
        let recording = self.recording.as_mut();
        recording.is_none_or(|recording| {
            let frame = Arc::make_mut(&mut self.frame);
            let annotations = std::mem::take(&mut self.annotations);
            recording.record(frame, annotations, &output.hash)
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

    /// Brings the mirror and the clients up to date. No shard reads the mirror now.
    fn apply(&mut self, output: &TickOutput) -> Newborns {
        let mut mirror = self.mirror.write();
        mirror.rankings.take(std::mem::take(&mut self.reordered));
        self.clients.apply(&self.workers, output, &mut mirror)
    }

    /// The publication of a tick for the shards.
    fn publication(
        &mut self,
        output: Arc<TickOutput>,
        newborns: Newborns,
        subscribed: Notices,
    ) -> Publication {
        let events = self.clients.take_events(self.shards.count());
        let SaidNearby { nearby, muted } = self.clients.take_said_nearby();
        if let Some(worker) = &self.worker {
            // The journal may still have this one.
            self.frame = Arc::default();
            self.frame = worker.frame();
        }
        Arc::make_mut(&mut self.frame).reset(output.tick.next());
        Publication {
            tick: output.tick,
            durable_through: self
                .worker
                .as_ref()
                .and_then(DurabilityWorker::durable_through),
            others: self
                .worker
                .as_ref()
                .map_or_else(Others::default, |worker| Others::new([worker.standby()])),
            output,
            newborns,
            subscribed,
            nearby_talk: nearby,
            muted,
            world: std::mem::take(&mut self.is_session_new).then(|| self.session.clone()),
            events,
            inputs: self.intake.messages(),
        }
    }
}

/// The frame of the first tick.
fn first_frame(config: &WorldConfig, tick: Tick) -> Frame {
    let mut frame = Frame::new(tick);
    if tick == Tick(0) {
        frame.populate(config);
    }
    frame
}

/// The next scheduled start that is not past. Starts that a late tick has missed are skipped, so
/// that the world does not run faster afterwards.
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

/// The longest time that a stop waits for a sleeping tick thread.
const STOP_LATENCY: Duration = Duration::from_millis(50);

#[cfg(test)]
mod tests;
