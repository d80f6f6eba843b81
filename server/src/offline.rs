//! A world whose clients have no connections: the server's tick loop, with shards that
//! encode for every client and send nothing. Benches and tests run it at full rate.

mod shard;

use std::sync::atomic::AtomicBool;
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow, ensure};
use device::cpu::Workers;
use gpu_kernels::Backend;
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};
use shared::wire::movement::MovementCodec;
use shared::{CommandKind, EntityId, WorldConfig};

use crate::durable::recording::RecordingWriter;
use crate::metrics::stats::{Figures, Stats};
use crate::session::SessionWorld;
use crate::tick::inbox::{ClientCommand, Inbox, Join, SharedInbox};
use crate::tick::mirror::Mirror;
use crate::tick::shards::ShardSender;
use crate::tick::talk::filter::NoFilter;
use crate::tick::tick_loop::{FanOutMode, Kept, Parts, Start, TickLoop};
use shard::{Encoded, OfflineShard};

/// What to run.
pub struct Options {
    /// `limits.clients` of them are in the world, and all move in every tick.
    pub world: WorldConfig,
    pub backend: Box<dyn Backend>,
    pub shards: usize,
    /// Ticks after the warm-up.
    pub ticks: usize,
    pub fan_out: FanOutMode,
    /// Threads of the tick's own work, beside the backend's.
    pub threads: usize,
    pub recording: Option<RecordingWriter>,
    /// For a world that is kept.
    pub kept: Option<Kept>,
    /// Computes [`Run::checksum`], which takes time.
    pub is_checked: bool,
}

/// What a run did after its warm-up.
pub struct Run {
    /// From the start of each tick to the start of the next, or to the end of the last
    /// fan-out.
    pub ticks: Vec<Duration>,
    /// Times of the tick thread and of whole ticks, and deliveries.
    pub figures: Figures,
    /// The state hash after each tick, including the warm-up.
    pub hashes: Vec<u64>,
    /// Bytes for all clients, including the warm-up.
    pub bytes: u64,
    /// Checksum of the bytes for every client in every tick; 0 without `is_checked`.
    pub checksum: u64,
}

/// Runs a world.
pub fn run(options: Options) -> Result<Run> {
    let Options {
        world,
        backend,
        shards,
        ticks,
        fan_out,
        threads: tick_threads,
        recording,
        kept,
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
        join_all(&inbox, own_clients);
        let shard = OfflineShard::new(number, &world, own_clients, inbox.clone(), is_checked);
        let to_tick = to_tick.clone();
        threads.push(std::thread::spawn(move || shard.run(from_tick, &to_tick)));
        inboxes.push(inbox);
        senders.push(ShardSender::new(to_shard, || ()));
    }
    let stats = Arc::new(Stats::new());
    let mut tick_loop = TickLoop::new(Parts {
        mirror: Mirror::new(&world, movement),
        config: world.clone(),
        backend,
        fan_out,
        workers: Workers::new(tick_threads)?,
        listeners: None,
        inboxes: inboxes.clone(),
        shards: senders,
        reports,
        recording,
        kept,
        reloads: None,
        orders: None,
        talk_filter: Arc::new(NoFilter),
        session: Arc::new(SessionWorld::new(&world)),
        stats: stats.clone(),
        stop: Arc::new(AtomicBool::new(false)),
    });
    let times = tick_all(&mut tick_loop, &world, &inboxes, &stats, ticks);
    let figures = stats.figures();
    tick_loop.end(
        times
            .as_ref()
            .map(drop)
            .map_err(|error| anyhow!("{error:#}")),
    )?;
    let ended = threads.into_iter().map(|thread| thread.join());
    let encoded: Option<Vec<Encoded>> = ended.map(Result::ok).collect();
    let encoded = encoded.context("a shard's thread has failed")?;
    let first = encoded.first().context("there are no shards")?;
    Ok(Run {
        ticks: times?,
        figures,
        hashes: first.hashes.clone(),
        bytes: encoded.iter().map(|shard| shard.bytes).sum(),
        checksum: encoded.iter().fold(0, |sum, shard| sum ^ shard.checksum),
    })
}

/// Runs the warm-up and the measured ticks, and gives the times of the latter.
fn tick_all(
    tick_loop: &mut TickLoop,
    world: &WorldConfig,
    inboxes: &[SharedInbox],
    stats: &Stats,
    ticks: usize,
) -> Result<Vec<Duration>> {
    let tick = |tick_loop: &mut TickLoop| {
        tick_loop.tick(Start {
            scheduled: Instant::now(),
            skipped: 0,
        })
    };
    for _ in 0..WARM_UP_TICKS {
        tick(tick_loop)?;
    }
    tick_loop.finish_fan_out()?;
    let players = tick_loop.players();
    ensure!(
        players.iter().map(Vec::len).sum::<usize>() == world.limits.clients as usize,
        "some clients found no room in the world"
    );
    let mut moves = Moves::new(world)?;
    let mut commands: Vec<Vec<Inbox>> = vec![];
    for _ in 0..ticks {
        commands.push(players.iter().map(|players| moves.next(players)).collect());
    }
    stats.restart();
    let mut starts = vec![];
    for commands in &mut commands {
        starts.push(Instant::now());
        for (inbox, commands) in inboxes.iter().zip(commands) {
            let mut inbox = inbox.lock();
            commands.tick = inbox.tick;
            std::mem::swap(&mut *inbox, commands);
        }
        tick(tick_loop)?;
    }
    tick_loop.finish_fan_out()?;
    starts.push(Instant::now());
    Ok(starts.windows(2).map(|pair| pair[1] - pair[0]).collect())
}

fn join_all(inbox: &SharedInbox, clients: usize) {
    let mut inbox = inbox.lock();
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

/// Births, welcomes and the first sight of everybody.
const WARM_UP_TICKS: usize = 4;
/// The span of a step along an axis: two units.
const STEP_RAW: u64 = 2 << 12;

#[cfg(test)]
mod tests {
    use gpu_kernels::CpuBackend;

    use super::*;

    fn run_with(fan_out: FanOutMode, shards: usize) -> Run {
        let text = "[world]\nsize = [60, 60]\naoi = 20\ncapacity = 64\n[limits]\nclients = 64";
        let world = script::world::parse(text, "test").unwrap();
        run(Options {
            backend: Box::new(CpuBackend::new(&world, 1, None).unwrap()),
            world,
            shards,
            ticks: 12,
            fan_out,
            threads: 2,
            recording: None,
            kept: None,
            is_checked: true,
        })
        .unwrap()
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
}
