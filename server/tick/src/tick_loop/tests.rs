use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Condvar, Mutex};
use std::thread::JoinHandle;

use frontend::mirror::Mirror;
use frontend::shard_channels::{SharedTick, ToShard};
use gpu_kernels::logic::{CompiledLogic, LogicCompiler};
use gpu_kernels::{CpuBackend, RestoreError, Snapshot, StateHash, SubmittedTick, TickError};
use shared::wire::movement::MovementCodec;

use super::*;
use crate::talk::filter::NoFilter;

#[test]
fn a_late_tick_skips_the_starts_that_it_missed() {
    let period = Duration::from_millis(100);
    let first = Instant::now();
    let on_time = next_start(first, period, first + Duration::from_millis(30));
    assert_eq!((on_time.scheduled, on_time.skipped), (first + period, 0));
    let late = next_start(first, period, first + Duration::from_millis(250));
    assert_eq!((late.scheduled, late.skipped), (first + 3 * period, 2));
}

#[test]
fn a_slow_fan_out_overlaps_the_work_on_the_next_tick() {
    let mut world = World::start(FanOutMode::Overlapped, Slow::UntilNextTickIsComputed);
    for _ in 0..TICKS {
        world.tick().unwrap();
    }
    let seen = world.end();
    // The last tick has no next one.
    let overlapped = seen.iter().filter(|seen| seen.next_was_computed).count();
    assert_eq!(overlapped, TICKS - 1);

    let mut world = World::start(FanOutMode::Awaited, Slow::No);
    for _ in 0..TICKS {
        world.tick().unwrap();
    }
    let hashes = |seen: &[Seen]| -> Vec<StateHash> {
        let hashes = seen.iter().map(|seen| seen.hash.clone());
        hashes.collect()
    };
    assert_eq!(hashes(&seen), hashes(&world.end()));
}

#[test]
fn shards_read_the_mirror_of_their_tick_while_the_next_one_is_computed() {
    let mut world = World::start(FanOutMode::Overlapped, Slow::UntilNextTickIsComputed);
    for _ in 0..TICKS {
        world.tick().unwrap();
    }
    let seen = world.end();
    assert!(seen.iter().all(|seen| seen.rows_before == seen.rows_after));
    // The entities move, so each tick has another mirror.
    assert!(
        seen.windows(2)
            .all(|pair| pair[0].rows_before != pair[1].rows_before)
    );
}

#[test]
fn a_device_that_fails_during_a_fan_out_ends_the_shards_after_it() {
    let mut world = World::start(FanOutMode::Overlapped, Slow::No);
    world.engine.fail_at(Tick(2));
    world.tick().unwrap();
    world.tick().unwrap();
    let failure = world.tick().unwrap_err();
    assert!(failure.to_string().contains("fails in the test stage"));
    let World {
        tick_loop, shard, ..
    } = world;
    let ended = tick_loop.end(Err(failure)).unwrap_err();
    assert!(ended.to_string().contains("fails in the test stage"));
    let (seen, reason) = shard.join().unwrap();
    assert_eq!(seen.len(), 2);
    assert_eq!(reason.as_deref(), Some("the server has failed"));
}

#[test]
fn a_shard_that_has_ended_ends_the_tick_loop() {
    let mut world = World::start(FanOutMode::Overlapped, Slow::No);
    world.tick().unwrap();
    world.tick_loop.finish_fan_out().unwrap();
    world.tick_loop.shards.stop("a test");
    // The thread has ended, and with it the other end of the channel.
    while !world.shard.is_finished() {
        std::thread::yield_now();
    }
    let failure = world.tick().unwrap_err();
    assert_eq!(failure.to_string(), "shard 0 has ended");
}

/// A loop with one shard that has no clients.
struct World {
    tick_loop: TickLoop,
    engine: Arc<Engine>,
    shard: JoinHandle<(Vec<Seen>, Option<String>)>,
}

/// How long a shard takes for a tick.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Slow {
    No,
    UntilNextTickIsComputed,
}

/// A shard's record of one tick.
struct Seen {
    hash: StateHash,
    /// The mirror at the begin of the fan-out and at its end.
    rows_before: Vec<i32>,
    rows_after: Vec<i32>,
    next_was_computed: bool,
}

impl World {
    fn start(fan_out: FanOutMode, slow: Slow) -> World {
        let text = "[world]\ncapacity = 8\n[[kind]]\nname = \"player\"\n[[kind]]\nname = \"npc\"\n\
                    population = 8\n[[every]]\nkind = \"npc\"\nticks = 1\ncommand = \"roam\"";
        let config = world_file::parse(text, "test").unwrap();
        let engine = Arc::new(Engine::default());
        let backend = WatchedBackend {
            backend: CpuBackend::new(&config, 1, None).unwrap(),
            engine: engine.clone(),
        };
        let (to_shard, from_tick) = channel();
        let (to_tick, reports) = channel();
        let shard = std::thread::spawn({
            let engine = engine.clone();
            move || run_shard(from_tick, &to_tick, &engine, slow)
        });
        let movement = MovementCodec::new(&config.schema).unwrap();
        let tick_loop = TickLoop::new(Parts {
            mirror: SharedMirror::new(Mirror::new(&config, movement)),
            session: Arc::new(SessionWorld::new(&config)),
            reloads: None,
            operator: None,
            talk_filter: Arc::new(NoFilter),
            names: NameRule::default(),
            config,
            backend: Box::new(backend),
            fan_out,
            workers: Workers::new(1).unwrap(),
            listeners: None,
            inboxes: vec![SharedInbox::default()],
            shards: vec![ShardSender::new(to_shard, || ())],
            reports,
            recording: None,
            persistent: None,
            stats: Arc::new(Stats::new()),
            window: None,
            script_lines: None,
            stop: Arc::new(AtomicBool::new(false)),
        });
        World {
            tick_loop,
            engine,
            shard,
        }
    }

    fn tick(&mut self) -> Result<()> {
        self.tick_loop.tick(Start {
            scheduled: Instant::now(),
            skipped: 0,
        })
    }

    fn end(mut self) -> Vec<Seen> {
        self.engine.stop_waiting();
        self.tick_loop.finish_fan_out().unwrap();
        let stats = self.tick_loop.stats.clone();
        self.tick_loop.end(Ok(())).unwrap();
        let (seen, reason) = self.shard.join().unwrap();
        assert_eq!(reason.as_deref(), Some("the server is shutting down"));
        assert_eq!(stats.figures().ticks, seen.len() as u64);
        seen
    }
}

fn run_shard(
    from_tick: Receiver<ToShard>,
    reports: &Sender<FanOutReport>,
    engine: &Engine,
    slow: Slow,
) -> (Vec<Seen>, Option<String>) {
    let mut all = vec![];
    while let Ok(message) = from_tick.recv() {
        let SharedTick {
            publication,
            mirror,
            due,
            ..
        } = match message {
            ToShard::Tick(tick) => tick,
            ToShard::Inspect(..) => panic!("no operator asks"),
            ToShard::Restart(..) => panic!("no world follows"),
            ToShard::Stop(reason) => return (all, Some(reason)),
        };
        let tick = publication.tick;
        let rows = || -> Vec<i32> {
            let mirror = mirror.read();
            let rows = (0..8).map(|slot| mirror.row(shared::Slot(slot)).to_vec());
            rows.collect::<Vec<_>>().concat()
        };
        let rows_before = rows();
        let next_was_computed =
            slow == Slow::UntilNextTickIsComputed && engine.wait_until_computed(tick.next());
        all.push(Seen {
            hash: publication.output.hash.clone(),
            rows_before,
            rows_after: rows(),
            next_was_computed,
        });
        drop(publication);
        let report = FanOutReport {
            took: due.elapsed(),
            acked_through: tick,
            counts: Default::default(),
        };
        // The tick thread takes no reports once it has failed.
        let _ = reports.send(report);
    }
    (all, None)
}

/// Which ticks a backend has computed.
#[derive(Default)]
struct Engine {
    state: Mutex<EngineState>,
    changed: Condvar,
}

#[derive(Default)]
struct EngineState {
    /// Ticks that were collected.
    computed: u64,
    is_over: bool,
    fails_at: Option<Tick>,
}

impl Engine {
    fn fail_at(&self, tick: Tick) {
        self.state.lock().unwrap().fails_at = Some(tick);
    }

    fn stop_waiting(&self) {
        self.state.lock().unwrap().is_over = true;
        self.changed.notify_all();
    }

    /// False if the world ended before the tick.
    fn wait_until_computed(&self, tick: Tick) -> bool {
        let state = self.state.lock().unwrap();
        let waits = |state: &mut EngineState| state.computed <= tick.0 && !state.is_over;
        let (state, timeout) = self
            .changed
            .wait_timeout_while(state, Duration::from_secs(30), waits)
            .unwrap();
        assert!(!timeout.timed_out(), "tick {tick} does not come");
        state.computed > tick.0
    }
}

/// A backend that reports when it has computed a tick.
struct WatchedBackend {
    backend: CpuBackend,
    engine: Arc<Engine>,
}

impl Backend for WatchedBackend {
    fn name(&self) -> &'static str {
        self.backend.name()
    }

    fn logic_compiler(&self) -> Box<dyn LogicCompiler> {
        self.backend.logic_compiler()
    }

    fn stage(&mut self, logic: CompiledLogic) {
        self.backend.stage(logic);
    }

    fn submit(&mut self, frame: &Frame) -> Result<SubmittedTick, TickError> {
        if self.engine.state.lock().unwrap().fails_at == Some(frame.tick) {
            return Err(TickError::Device {
                gpu: 0,
                stage: "test",
                message: "as it should".to_owned(),
                left: vec![],
            });
        }
        self.backend.submit(frame)
    }

    fn collect(&mut self, ticket: SubmittedTick) -> Result<Arc<TickOutput>, TickError> {
        let output = self.backend.collect(ticket)?;
        self.engine.state.lock().unwrap().computed = output.tick.0 + 1;
        self.engine.changed.notify_all();
        Ok(output)
    }

    fn set_quiet(&mut self, is_quiet: bool) {
        self.backend.set_quiet(is_quiet);
    }

    fn start_copy(&mut self) -> Result<(), TickError> {
        self.backend.start_copy()
    }

    fn continue_copy(&mut self) -> Result<Option<Snapshot>, TickError> {
        self.backend.continue_copy()
    }

    fn snapshot(&mut self) -> Result<Snapshot, TickError> {
        self.backend.snapshot()
    }

    fn restore(&mut self, snapshot: &Snapshot) -> Result<(), RestoreError> {
        self.backend.restore(snapshot)
    }

    fn state_hash(&mut self) -> Result<StateHash, TickError> {
        self.backend.state_hash()
    }
}

const TICKS: usize = 6;
