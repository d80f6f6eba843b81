//! Atomic commands, also those that wait for the next tick, have their effect exactly once: when
//! the server is killed meanwhile, at a standby that takes over, and in the replay of a recording.
//! Their sums are kept.

use std::collections::HashMap;
use std::fs;
use std::net::SocketAddr;
use std::path::Path;
use std::time::{Duration, Instant};

use durability::checkpoint;
use durability::disk::Folder;
use durability::level::Level;
use durability::log::Log as Journal;
use durability::recording::{NextTick, RecordingReader};
use durability::recovery;
use gpu_kernels::{Backend, CpuBackend, Frame, SlotState, Snapshot};
use server::commands::replay::replay;
use server::{Server, ServerOptions};
use shared::{EntityId, Tick, WorldConfig};
use tick::backend::{BackendChoice, BackendOptions};
use tokio::time::timeout;

use crate::common::DEADLINE;
use crate::common::folder::TestFolder;
use crate::common::pair::{Pair, complete, has_through};
use crate::common::process::Process;
use crate::common::witness::{Witness, dice};

/// Fewer can run in a tick than are given.
const WORLD: &str = "
    [world]
    size = [30, 30]
    aoi = 100
    capacity = 64
    tick_hz = 20

    [limits]
    clients = 16
    resume_seconds = 100
    client_commands_per_tick = 20
    client_commands_burst = 200
    commands_per_tick = 10000
    atomic_per_tick = 7

    [logic]
    builtin = []
    folder = '.'

    [commands]
    give = { per_tick = 0 }
    befriend = { per_tick = 0 }
    treat = { per_tick = 0 }

    [[kind]]
    name = 'player'
    attributes = [
        { name = 'gold', type = 'i32', default = 100000, min = 0, audience = 'state' },
        { name = 'friend', type = 'entity', audience = 'state' },
        { name = 'done', type = 'i32', audience = 'state' },
    ]
";

const SCRIPT: &str = "
#[command(clients, atomic)]
fn give(me: Entity, to: Entity, count: i32) {
    require(me.gold >= count);
    me.gold -= count;
    require_fits(to.gold += count);
    me.done += 1;
}

#[command(clients, atomic)]
fn befriend(me: Entity, friend: Entity) {
    me.friend = friend;
    me.done += 1;
}

/// Waits once if `befriend` comes before it in its tick.
#[command(clients, atomic)]
fn treat(me: Entity) {
    require(exists(me.friend));
    me.gold -= 1;
    me.friend.gold += 1;
    me.done += 1;
}
";

const DEALS: [&str; 3] = ["give", "befriend", "treat"];
const DEALERS: usize = 4;
const GOLD: i64 = 100_000;

#[tokio::test]
async fn a_killed_server_has_done_each_deal_once_and_goes_on_with_those_that_wait() {
    let folder = TestFolder::new("killed-in-deals");
    let file = write_world(&folder);
    let data = folder.join("data");
    let mut dealers = Dealers::default();
    let mut listen = "127.0.0.1:0".to_owned();
    let mut waited = 0;
    for kill in 0..4 {
        let server = Process::start(&data, &file, "synced", &listen);
        listen = server.address.to_string();
        dealers.join(server.address).await;
        dealers.deal(kill, Duration::from_millis(700)).await;
        server.kill();
        dealers.end_session();
        let audit = Audit::of_journal(&data);
        audit.has_all_confirmed(&dealers);
        waited += audit.waiting;
    }
    assert!(waited > 0, "no kill came while commands waited");
    let before = Audit::of_journal(&data);
    let server = Process::start(&data, &file, "synced", &listen);
    dealers.join(server.address).await;
    dealers.listen_until(before.drained()).await;
    server.stop();
    let after = Audit::of_journal(&data);
    after.has_all_confirmed(&dealers);
    assert_eq!((after.given(), after.waiting), (before.given(), 0));
}

#[tokio::test]
async fn a_standby_that_takes_over_does_each_deal_once() {
    let pair = Pair::new("", "deals");
    let file = write_world(&pair.folder);
    let world = world_file::load(&file).unwrap();
    let strict = |options: &mut ServerOptions| {
        options.world = world.clone();
        if let (Some(data), Some(standby)) = (&mut options.data, &mut options.standby) {
            data.level = Level::Standby;
            standby.feed.is_required = true;
            standby.feed.patience = DEADLINE;
        }
    };
    let primary = pair.primary(strict);
    let standby = pair.standby_with(&primary, |options| options.world = world.clone());
    complete(&standby).await;
    let mut dealers = Dealers::default();
    dealers.join(primary.address()).await;
    dealers.deal(1, Duration::from_millis(1000)).await;
    let last = dealers.newest();
    has_through(&primary, last).await;
    drop(primary);
    dealers.end_session();
    let promoted = standby.promote().expect("a promotion");
    let before = Audit::of_journal(&pair.folder.join("primary"));
    assert!(before.waiting > 0, "nothing waited");
    dealers.join(promoted.address()).await;
    dealers.listen_until(before.drained()).await;
    dealers.deal(2, Duration::from_millis(300)).await;
    promoted.stop().unwrap();
    dealers.end_session();
    Audit::of_journal(&pair.folder.join("standby")).has_all_confirmed(&dealers);
}

#[tokio::test]
async fn a_recording_replays_each_deal_once() {
    let folder = TestFolder::new("deals-recorded");
    let world = world_file::load(&write_world(&folder)).unwrap();
    let file = folder.join("deals.recording");
    let server = Server::start(ServerOptions {
        record: Some(file.clone()),
        ..ServerOptions::local(world)
    })
    .expect("the server starts");
    let mut dealers = Dealers::default();
    dealers.join(server.address()).await;
    dealers.deal(3, Duration::from_millis(1000)).await;
    server.stop().unwrap();
    dealers.end_session();
    let audit = Audit::of_recording(&file);
    audit.has_all_confirmed(&dealers);
    assert!(audit.waited > 0, "nothing waited");
    for threads in [1, 3] {
        let options = BackendOptions {
            backend: BackendChoice::Cpu,
            ..BackendOptions::default()
        };
        let replayed = replay(&file, options, threads).unwrap();
        assert_eq!((replayed.ticks, replayed.broken_off), (audit.ticks, None));
    }
}

/// The world's file, beside its script.
fn write_world(folder: &TestFolder) -> std::path::PathBuf {
    let logic = folder.join("world");
    fs::create_dir_all(&logic).unwrap();
    fs::write(logic.join("deals.rs"), SCRIPT).unwrap();
    let file = logic.join("world.toml");
    fs::write(&file, WORLD).unwrap();
    file
}

/// Clients that deal with each other.
#[derive(Default)]
struct Dealers {
    witnesses: Vec<Witness>,
    entities: Vec<EntityId>,
    /// By dealer: commands that were confirmed as processed, in all its sessions.
    confirmed: Vec<u32>,
}

impl Dealers {
    /// Joins, or resumes.
    async fn join(&mut self, address: SocketAddr) {
        let before = std::mem::take(&mut self.witnesses);
        for number in 0..DEALERS {
            let ticket = before.get(number).map(|witness| witness.client.ticket());
            self.witnesses.push(Witness::join(address, ticket).await);
        }
        let entities = self.witnesses.iter();
        let entities: Vec<_> = entities.map(|w| w.client.view().entity()).collect();
        assert!(self.entities.is_empty() || self.entities == entities);
        self.entities = entities;
        self.confirmed.resize(DEALERS, 0);
    }

    /// Gives random commands for a while.
    async fn deal(&mut self, seed: u64, time: Duration) {
        let mut dice = dice(seed + 1);
        let end = Instant::now() + time;
        while Instant::now() < end {
            for (number, witness) in self.witnesses.iter_mut().enumerate() {
                let schema = witness.client.view().schema();
                let kinds = DEALS.map(|name| schema.command_named(name).unwrap().kind);
                let mut other = || {
                    let other = number + 1 + dice(DEALERS as u64 - 1) as usize;
                    self.entities[other % DEALERS].reference().0
                };
                let (to, friend) = (other(), other());
                witness.client.command(kinds[0], &[to, dice(20) as i32]);
                witness.client.command(kinds[1], &[friend]);
                witness.client.command(kinds[2], &[]);
                witness.client.flush();
            }
            self.listen(Duration::from_millis(10)).await;
        }
    }

    /// Lets each receive for a while.
    async fn listen(&mut self, time: Duration) {
        for witness in &mut self.witnesses {
            let _ = timeout(time, async {
                while witness.client.receive(&mut witness.log).await.is_ok() {}
            })
            .await;
            witness.client.flush();
        }
    }

    /// Receives until the world has reached a tick.
    async fn listen_until(&mut self, tick: Tick) {
        let begun = Instant::now();
        while self.newest() < tick {
            assert!(begun.elapsed() < DEADLINE, "the world does not run");
            self.listen(Duration::from_millis(20)).await;
        }
    }

    fn newest(&self) -> Tick {
        let newest = self.witnesses.iter().map(|w| w.client.view().newest());
        newest.max().unwrap_or_default()
    }

    /// A session's commands are numbered from 1.
    fn end_session(&mut self) {
        for (confirmed, witness) in self.confirmed.iter_mut().zip(&self.witnesses) {
            *confirmed += witness.client.view().processed();
        }
    }
}

/// The frames of a world, run once more: after each tick, each command has had its effect once, was
/// refused, or waits.
struct Audit {
    backend: CpuBackend,
    config: WorldConfig,
    deals: [u16; 3],
    /// By player: commands in frames, and those of them that were refused.
    books: HashMap<EntityId, (u32, u32)>,
    /// Commands that wait in the end, and ticks after which some did.
    waiting: usize,
    waited: usize,
    ticks: u64,
    next: Tick,
}

impl Audit {
    fn new(config: &WorldConfig) -> Audit {
        Audit {
            deals: DEALS.map(|name| config.schema.command_named(name).unwrap().kind.id()),
            backend: CpuBackend::new(config, 1, None).unwrap(),
            config: config.clone(),
            books: HashMap::new(),
            waiting: 0,
            waited: 0,
            ticks: 0,
            next: Tick(0),
        }
    }

    /// Runs a journal from its first checkpoint, and compares all later ones.
    fn of_journal(folder: &Path) -> Audit {
        let disk = Folder::new(folder);
        let checkpoints = checkpoint::ticks(&disk).unwrap();
        let first = recovery::read(&disk, checkpoints[0]).unwrap();
        let mut audit = Audit::new(&first.body.world);
        audit.begin(&first.body.snapshot);
        let capacity = audit.config.schema.world.capacity;
        let (tick, previous) = (first.head.tick, first.head.previous);
        let mut journal = Journal::open(&disk, capacity, tick, Some(previous)).unwrap();
        while let Ok(read) = journal.read().unwrap() {
            let state = audit.tick(&read.entry.frame);
            if checkpoints.contains(&audit.next.0) {
                let stored = recovery::read(&disk, audit.next.0).unwrap().body.snapshot;
                assert_eq!(stored.rows, state.rows, "checkpoint {}", audit.next);
                assert_eq!(stored.deferred, state.deferred, "checkpoint {}", audit.next);
            }
        }
        audit
    }

    fn of_recording(file: &Path) -> Audit {
        let mut recording = RecordingReader::open(file).unwrap();
        let mut audit = Audit::new(&recording.config);
        loop {
            match recording.next_tick() {
                NextTick::Tick(next) => drop(audit.tick(&next.frame)),
                NextTick::End => return audit,
                NextTick::BrokenOff(reason) => panic!("{reason}"),
            }
        }
    }

    /// Begins with what was done before.
    fn begin(&mut self, state: &Snapshot) {
        self.backend.restore(state).unwrap();
        self.next = state.tick;
        let books = self.players(state).map(|(entity, row)| {
            let waiting = state.deferred.iter().filter(|c| c.entity == entity);
            let given = row[self.column("done")] as u32 + waiting.count() as u32;
            (entity, (given, 0))
        });
        self.books = books.collect();
    }

    fn tick(&mut self, frame: &Frame) -> Snapshot {
        let output = self.backend.tick(frame).unwrap();
        for command in frame.commands.iter() {
            if self.deals.contains(&command.kind) {
                self.books.entry(command.entity).or_default().0 += 1;
            }
        }
        for refused in &output.refused {
            self.books.entry(refused.entity).or_default().1 += 1;
        }
        let state = self.backend.snapshot().unwrap();
        let (mut players, mut gold) = (0, 0);
        for (entity, row) in self.players(&state) {
            let (given, refused) = self.books.get(&entity).copied().unwrap_or_default();
            let waiting = state.deferred.iter().filter(|c| c.entity == entity);
            let done = row[self.column("done")] as u32;
            assert_eq!(
                done + refused + waiting.count() as u32,
                given,
                "tick {}, {entity:?}",
                frame.tick
            );
            players += 1;
            gold += i64::from(row[self.column("gold")]);
        }
        assert_eq!(gold, players * GOLD, "tick {}", frame.tick);
        self.waiting = state.deferred.len();
        self.waited += usize::from(self.waiting > 0);
        self.ticks += 1;
        self.next = frame.tick.next();
        state
    }

    fn players<'a>(&self, state: &'a Snapshot) -> impl Iterator<Item = (EntityId, &'a [i32])> {
        let columns = self.config.schema.attributes.len();
        let rows = state.rows.chunks_exact(columns).zip(0..);
        rows.filter(|(_, slot)| state.states[*slot] == SlotState::Live)
            .map(|(row, slot)| {
                let generation = state.generations[slot];
                (EntityId::new(slot as u32, generation), row)
            })
    }

    fn column(&self, name: &str) -> usize {
        self.config.schema.column(name).expect("such an attribute")
    }

    fn given(&self) -> u32 {
        self.books.values().map(|book| book.0).sum()
    }

    /// A tick by which nothing waits any more, if nothing more is given.
    fn drained(&self) -> Tick {
        let per_tick = self.config.limits.atomic_per_tick;
        self.next.after(self.waiting as u32 / per_tick + 20)
    }

    /// A confirmed command is never lost.
    fn has_all_confirmed(&self, dealers: &Dealers) {
        for (entity, &confirmed) in dealers.entities.iter().zip(&dealers.confirmed) {
            let given = self.books[entity].0;
            assert!(confirmed > 0, "{entity:?} gave nothing");
            assert!(given >= confirmed, "{entity:?}: {given} of {confirmed}");
        }
    }
}
