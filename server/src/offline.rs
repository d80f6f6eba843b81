//! A world whose clients have no connections: the server's tick loop, with shards that
//! encode for every client and send nothing. Benches and tests run it at full rate.

mod offline_link;
mod offline_shard;

use std::sync::atomic::AtomicBool;
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

use accounts::names::NameRule;
use anyhow::{Context, Result, anyhow, ensure};
use device::cpu::Workers;
use durability::recording::RecordingWriter;
use frontend::SessionWorld;
use frontend::inbox::{ClientCommand, Inbox, Join, SharedInbox};
use frontend::mirror::{Mirror, SharedMirror};
use frontend::shard_channels::ShardSender;
use gpu_kernels::Backend;
use platform::metrics::stats::{Figures, Stats};
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};
use shared::wire::movement::MovementCodec;
use shared::{CommandKind, EntityId, Tick, WorldConfig};
use tick::talk::filter::NoFilter;
use tick::tick_loop::{FanOutMode, Parts, PersistentWorld, Start, TickLoop};

use offline_link::OfflineLink;
use offline_shard::{Encoded, OfflineShard};

/// The options of a run.
pub struct Options {
    /// `limits.clients` of them are in the world, and all move in every tick.
    pub world: WorldConfig,
    pub backend: Box<dyn Backend>,
    pub shards: usize,
    /// Ticks after the warm-up.
    pub ticks: usize,
    /// From the start of a tick to the next one's; `None`: as fast as they go.
    pub period: Option<Duration>,
    pub fan_out: FanOutMode,
    /// Threads of the tick's own work, beside the backend's.
    pub threads: usize,
    pub recording: Option<RecordingWriter>,
    /// For a world that is kept.
    pub kept: Option<PersistentWorld>,
    /// Shards have each tick from its bytes, as front ends in other processes do.
    pub is_linked: bool,
    /// Computes [`Run::checksum`], which takes time.
    pub is_checked: bool,
}

/// The results of a run after its warm-up.
pub struct Run {
    /// From the start of each tick to the start of the next, or to the end of the last
    /// fan-out. With a period: from the start of each tick to the end of its fan-out if that
    /// is awaited, else to the end of its own work.
    pub ticks: Vec<Duration>,
    /// Times of the tick thread and of whole ticks, and deliveries.
    pub figures: Figures,
    /// The state hash after each tick, including the warm-up.
    pub hashes: Vec<u64>,
    /// Bytes for all clients, including the warm-up.
    pub bytes: u64,
    /// Checksum of the bytes for every client in every tick; 0 without `is_checked`.
    pub checksum: u64,
    /// Bytes of ticks to linked shards, including the warm-up.
    pub feed_bytes: u64,
}

/// Runs a world.
pub fn run(options: Options) -> Result<Run> {
    let Options {
        world,
        backend,
        shards,
        ticks,
        period,
        fan_out,
        threads: tick_threads,
        recording,
        kept,
        is_linked,
        is_checked,
    } = options;
    let clients = world.limits.clients as usize;
    let movement = MovementCodec::new(&world.schema)?;
    let (to_tick, reports) = mpsc::channel();
    let (mut inboxes, mut senders, mut threads) = (vec![], vec![], vec![]);
    for number in 0..shards {
        let inbox = SharedInbox::default();
        let (to_shard, from_tick) = mpsc::channel();
        let own_clients = (number..clients).step_by(shards).len();
        let (own_inbox, link) = match is_linked {
            false => {
                join_all(&mut inbox.lock(), own_clients);
                (inbox.clone(), None)
            }
            true => {
                let mut link = Box::new(OfflineLink::new(number, &world, inbox.clone())?);
                let own_inbox = SharedInbox::default();
                join_all(&mut own_inbox.lock(), own_clients);
                link.send(&mut own_inbox.lock(), None, Tick(0));
                (own_inbox, Some(link))
            }
        };
        let own = (own_inbox, link);
        let shard = OfflineShard::new(number, &world, own_clients, own, is_checked);
        let to_tick = to_tick.clone();
        threads.push(std::thread::spawn(move || shard.run(from_tick, &to_tick)));
        inboxes.push(inbox);
        senders.push(ShardSender::new(to_shard, || ()));
    }
    let stats = Arc::new(Stats::new());
    let mut tick_loop = TickLoop::new(Parts {
        mirror: SharedMirror::new(Mirror::new(&world, movement)),
        config: world.clone(),
        backend,
        fan_out,
        workers: Workers::new(tick_threads)?,
        listeners: None,
        inboxes: inboxes.clone(),
        shards: senders,
        reports,
        recording,
        persistent: kept,
        reloads: None,
        operator: None,
        talk_filter: Arc::new(NoFilter),
        names: NameRule::default(),
        session: Arc::new(SessionWorld::new(&world)),
        stats: stats.clone(),
        window: None,
        script_lines: None,
        stop: Arc::new(AtomicBool::new(false)),
    });
    let play = Play {
        inboxes: &inboxes,
        stats: &stats,
        ticks,
        period,
    };
    let times = tick_all(&mut tick_loop, &world, &play);
    let figures = stats.figures();
    tick_loop.end(
        times
            .as_ref()
            .map(drop)
            .map_err(|error| anyhow!("{error:#}")),
    )?;
    let ended = threads.into_iter().map(|thread| {
        let ended = thread.join().ok();
        ended.context("a shard's thread has failed")?
    });
    let encoded: Vec<Encoded> = ended.collect::<Result<_>>()?;
    let first = encoded.first().context("there are no shards")?;
    Ok(Run {
        ticks: times?,
        figures,
        hashes: first.hashes.clone(),
        bytes: encoded.iter().map(|shard| shard.bytes).sum(),
        feed_bytes: encoded.iter().map(|shard| shard.feed_bytes).sum(),
        checksum: encoded.iter().fold(0, |sum, shard| sum ^ shard.checksum),
    })
}

/// The commands after the warm-up.
struct Play<'a> {
    /// By shard.
    inboxes: &'a [SharedInbox],
    stats: &'a Stats,
    ticks: usize,
    period: Option<Duration>,
}

/// Runs the warm-up and the measured ticks, and returns the times of the latter.
fn tick_all(
    tick_loop: &mut TickLoop,
    world: &WorldConfig,
    play: &Play<'_>,
) -> Result<Vec<Duration>> {
    for _ in 0..WARM_UP_TICKS {
        tick_now(tick_loop)?;
    }
    tick_loop.finish_fan_out()?;
    let players = tick_loop.players();
    ensure!(
        players.iter().map(Vec::len).sum::<usize>() == world.limits.clients as usize,
        "some clients found no room in the world"
    );
    let mut moves = Moves::new(world)?;
    let next = || players.iter().map(|players| moves.next(players)).collect();
    match play.period {
        None => play.at_full_rate(tick_loop, next),
        Some(period) => play.at_rate(tick_loop, next, period),
    }
}

fn tick_now(tick_loop: &mut TickLoop) -> Result<()> {
    tick_loop.tick(Start {
        scheduled: Instant::now(),
        skipped: 0,
    })
}

impl Play<'_> {
    fn at_full_rate(
        &self,
        tick_loop: &mut TickLoop,
        next: impl FnMut() -> Vec<Inbox>,
    ) -> Result<Vec<Duration>> {
        // Commands are made before, as that is not the server's work.
        let mut played: Vec<Vec<Inbox>> = std::iter::repeat_with(next).take(self.ticks).collect();
        self.stats.restart();
        let mut starts = vec![];
        for commands in &mut played {
            starts.push(Instant::now());
            self.hand_in(commands);
            tick_now(tick_loop)?;
        }
        tick_loop.finish_fan_out()?;
        starts.push(Instant::now());
        Ok(starts.windows(2).map(|pair| pair[1] - pair[0]).collect())
    }

    fn at_rate(
        &self,
        tick_loop: &mut TickLoop,
        mut next: impl FnMut() -> Vec<Inbox>,
        period: Duration,
    ) -> Result<Vec<Duration>> {
        self.stats.restart();
        let (mut times, mut scheduled) = (vec![], Instant::now());
        for _ in 0..self.ticks {
            let mut commands = next();
            self.hand_in(&mut commands);
            std::thread::sleep(scheduled.saturating_duration_since(Instant::now()));
            let begun = Instant::now();
            tick_now(tick_loop)?;
            times.push(begun.elapsed());
            scheduled = begun + period;
        }
        tick_loop.finish_fan_out()?;
        Ok(times)
    }

    /// Swaps the contents of the inboxes.
    fn hand_in(&self, commands: &mut [Inbox]) {
        for (inbox, commands) in self.inboxes.iter().zip(commands) {
            let mut inbox = inbox.lock();
            commands.tick = inbox.tick;
            std::mem::swap(&mut *inbox, commands);
        }
    }
}

fn join_all(inbox: &mut Inbox, clients: usize) {
    for session in 0..clients as u64 {
        inbox.join(Join {
            session,
            ..Join::default()
        });
    }
}

/// Random steps, the same in every run.
struct Moves {
    dice: Xoshiro256PlusPlus,
    /// The command by which players move.
    command: CommandKind,
    axes: usize,
    sequence: u32,
}

impl Moves {
    fn new(world: &WorldConfig) -> Result<Moves> {
        let command = world.schema.command_named("move");
        let command = command.context("the world has no command `move`")?;
        Ok(Moves {
            command: command.kind,
            dice: Xoshiro256PlusPlus::seed_from_u64(world.seed),
            axes: world.dimensions(),
            sequence: 0,
        })
    }

    /// A step of each player.
    fn next(&mut self, players: &[EntityId]) -> Inbox {
        self.sequence += 1;
        let mut inbox = Inbox::default();
        for &entity in players {
            let steps = [(); 3].map(|()| (self.dice.next_u64() % STEP_RAW) as i32);
            let words = steps.map(|step| step - STEP_RAW as i32 / 2);
            let command = ClientCommand {
                entity,
                sequence: self.sequence,
                kind: self.command,
            };
            inbox.push(command, &words[..self.axes]);
        }
        inbox
    }
}

/// Births, welcomes and the first views.
const WARM_UP_TICKS: usize = 4;
/// The span of a step along an axis: two units.
const STEP_RAW: u64 = 2 << 12;

#[cfg(test)]
mod tests {
    use durability::checkpoint;
    use durability::disk::Folder;
    use gpu_kernels::CpuBackend;

    use super::*;
    use host::{DataOptions, world_data};

    fn world(side: u32, items: u32) -> WorldConfig {
        let capacity = 64 + items;
        let text = format!(
            "[world]\nsize = [{side}, {side}]\naoi = 20\ncapacity = {capacity}\ntick_hz = 1\n\
             [limits]\nclients = 64\n\
             [[kind]]\nname = 'player'\n\
             [[kind]]\nname = 'item'\npopulation = {items}"
        );
        world_file::parse(&text, "test").unwrap()
    }

    fn run_with(fan_out: FanOutMode, shards: usize) -> Run {
        run_linked(fan_out, shards, false)
    }

    fn run_linked(fan_out: FanOutMode, shards: usize, is_linked: bool) -> Run {
        let world = world(60, 0);
        run(Options {
            backend: Box::new(CpuBackend::new(&world, 1, None).unwrap()),
            world,
            shards,
            ticks: 12,
            period: None,
            fan_out,
            threads: 2,
            recording: None,
            kept: None,
            is_linked,
            is_checked: true,
        })
        .unwrap()
    }

    #[test]
    fn clients_are_sent_the_same_bytes_if_each_tick_goes_through_its_bytes() {
        let direct = run_with(FanOutMode::Overlapped, 2);
        let linked = run_linked(FanOutMode::Overlapped, 2, true);
        assert_eq!(linked.hashes, direct.hashes);
        assert_eq!(linked.bytes, direct.bytes);
        assert_eq!(linked.checksum, direct.checksum);
        assert!(direct.feed_bytes == 0 && linked.feed_bytes > 0);
    }

    #[test]
    fn clients_are_sent_the_same_bytes_whether_or_not_fan_outs_overlap() {
        let overlapped = run_with(FanOutMode::Overlapped, 3);
        let awaited = run_with(FanOutMode::Awaited, 3);
        assert_eq!(overlapped.ticks.len(), 12);
        assert_eq!(overlapped.hashes.len(), 12 + WARM_UP_TICKS);
        assert_eq!(overlapped.hashes, awaited.hashes);
        assert_eq!(overlapped.bytes, awaited.bytes);
        assert_eq!(overlapped.checksum, awaited.checksum);
        assert_ne!(overlapped.checksum, 0);
        assert!(overlapped.figures.deliveries > 0);
    }

    #[test]
    fn the_last_checkpoint_is_on_disk_when_the_loop_has_ended_whatever_is_written_before() {
        let folder = std::env::temp_dir().join(format!("myriad-offline-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&folder);
        // One before each tick, so one is on its way at the end.
        let data = DataOptions {
            checkpoint_seconds: 1,
            ..DataOptions::new(&folder)
        };
        // So large that a checkpoint takes longer than the end of the journal.
        let mut world = world(2000, 20_000);
        let mut backend = CpuBackend::new(&world, 1, None).unwrap();
        let opened = world_data::open(&data, &mut world).unwrap();
        let recovered = world_data::recover(opened, &data, &world, &mut backend);
        let (folder_lock, recovered) = recovered.unwrap();
        let kept =
            world_data::start_durability(folder_lock, &data, recovered, 1, None, None).unwrap();
        let run = run(Options {
            backend: Box::new(backend),
            world,
            shards: 1,
            ticks: 8,
            period: None,
            fan_out: FanOutMode::Overlapped,
            threads: 1,
            recording: None,
            kept: Some(kept),
            is_linked: false,
            is_checked: false,
        });
        let ticks = checkpoint::ticks(&Folder::new(&folder)).unwrap();
        assert_eq!(ticks.last(), Some(&(run.unwrap().hashes.len() as u64)));
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
