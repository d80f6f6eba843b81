//! A running world whose disk fails or fills up.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use device::cpu::Workers;
use durability::annotations::Annotations;
use durability::checkpoint;
use durability::disk::Disk;
use durability::epoch::Epoch;
use durability::folder::DataFolder;
use durability::journal::{Journal, Settings, Start};
use durability::level::Level;
use durability::log::Log;
use durability::record::Entry;
use durability::roster::Roster;
use durability::worker::{Boundary, DurabilityOptions, DurabilityWorker, GoodCheckpoints};
use gpu_kernels::{Backend, CpuBackend, Frame, StateHash};
use shared::{CommandKind, EntityId, Tick};

use crate::common::world;
use simulator::disk::{Faults, SimulatedDisk};

/// A persistent world on a simulated disk, at the level `synced`.
struct Kept {
    worker: Option<DurabilityWorker>,
    disk: SimulatedDisk,
    /// For the lock.
    folder: PathBuf,
    next: u64,
}

impl Kept {
    fn new(name: &str, faults: Faults) -> Kept {
        let disk = SimulatedDisk::new(7);
        disk.set_faults(faults);
        let settings = Settings {
            capacity: CAPACITY,
            epoch: Epoch(1),
            tick_version: 1,
            segment_bytes: 2000,
        };
        let start = Start {
            tick: 0,
            previous: 0,
        };
        let workers = Workers::new(1).unwrap();
        let journal = Journal::new(disk.clone(), settings, start, workers);
        let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
        let options = DurabilityOptions {
            level: Level::Synced,
            keeps_all: false,
            from: 0,
            checkpoint_ticks: 1_000_000,
            feed: None,
            lease: None,
        };
        let locked = DataFolder::open(&folder).unwrap();
        Kept {
            worker: Some(
                DurabilityWorker::start(locked, journal, Roster::default(), options, None).unwrap(),
            ),
            disk,
            folder,
            next: 0,
        }
    }

    /// Runs a tick, and waits until it may be sent to clients.
    fn tick(&mut self) -> Result<(), String> {
        let tick = Tick(self.next);
        let mut frame = Frame::new(tick);
        let entity = EntityId::new(1, 1);
        frame.push(entity, self.next as u32, CommandKind(4), &[1, -1]);
        self.next += 1;
        let entry = Entry {
            frame: Arc::new(frame),
            annotations: Annotations::default(),
            before: StateHash::default(),
            changes: vec![],
        };
        let worker = self.worker.as_mut().unwrap();
        let sent = worker
            .record(entry)
            .and_then(|()| worker.wait(tick, &AtomicBool::new(false)));
        sent.map_err(|error| error.to_string())
    }

    /// Begins a checkpoint before the next tick, and hands its state over.
    fn checkpoint(&mut self) {
        let world = world("[world]\ncapacity = 8\nsize = [64, 64]\naoi = 8");
        let mut backend = CpuBackend::new(&world, 1, None).unwrap();
        let snapshot = backend.snapshot().unwrap();
        let worker = self.worker.as_mut().unwrap();
        worker
            .begin_checkpoint(Boundary {
                world,
                tick: Tick(self.next),
                hash: StateHash::default(),
                births: vec![],
                deaths: vec![],
                characters: vec![],
            })
            .unwrap();
        worker.finish_copy(snapshot).unwrap();
    }

    fn must_end(&self) -> Option<String> {
        let checked = self.worker.as_ref().unwrap().check();
        checked.err().map(|error| error.to_string())
    }

    fn finish(&mut self) -> Result<(), String> {
        let worker = self.worker.take().unwrap();
        worker.finish().map_err(|error| error.to_string())
    }

    /// The ticks that are there after the machine has lost its power.
    fn ticks_after_a_crash(&self) -> u64 {
        self.disk.crash();
        let mut log = Log::open(&self.disk, CAPACITY, 0, Some(0)).unwrap();
        while log.read().unwrap().is_ok() {}
        log.next_tick()
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        drop(self.worker.take());
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

const CAPACITY: u32 = 8;

#[test]
fn a_world_continues_after_its_disk_fails_once_and_stops_when_it_fails_again() {
    let mut world = Kept::new("a-disk-that-fails", Faults::default());
    let fails_once = Faults {
        next_syncs_fail: 1,
        ..Faults::default()
    };
    world.tick().unwrap();
    world.disk.set_faults(fails_once);
    world.tick().unwrap();
    world.tick().unwrap();
    world.disk.set_faults(fails_once);
    let error = world.tick().unwrap_err();
    assert!(error.contains("the disk has failed twice"), "{error}");
    assert_eq!(world.finish().unwrap_err(), error);
    assert!(world.ticks_after_a_crash() >= 3);
}

#[test]
fn a_world_whose_disk_is_full_must_end_before_its_journal_does() {
    let room = Faults {
        room: Some(6000),
        ..Faults::default()
    };
    let mut world = Kept::new("a-disk-that-is-full", room);
    let (mut sent, mut ticks_warned_before) = (None, 0);
    while world.must_end().is_none() {
        world.tick().unwrap();
        sent = sent.or(world.worker.as_ref().unwrap().take_warning());
        ticks_warned_before += u32::from(sent.is_some());
    }
    assert!(sent.unwrap().contains("the server's disk is full"));
    assert!(ticks_warned_before > 3, "{ticks_warned_before}");
    assert_eq!(world.worker.as_ref().unwrap().take_warning(), None);
    let reason = world.must_end().unwrap();
    assert!(reason.contains("no room for the journal"), "{reason}");
    // Ticks until the world has ended are written, too.
    for _ in 0..3 {
        world.tick().unwrap();
    }
    world.finish().unwrap();
    assert_eq!(world.ticks_after_a_crash(), world.next);
}

/// The room of the journal's file is left, though there is none for another one.
#[test]
fn a_checkpoint_on_a_full_disk_does_not_end_the_world() {
    let room = Faults {
        room: Some(6000),
        ..Faults::default()
    };
    let mut world = Kept::new("a-checkpoint-on-a-full-disk", room);
    while world.worker.as_ref().unwrap().take_warning().is_none() {
        world.tick().unwrap();
    }
    world.checkpoint();
    for _ in 0..3 {
        world.tick().unwrap();
    }
    let reason = world.finish().unwrap_err();
    assert!(
        reason.contains("the last checkpoint is not written"),
        "{reason}"
    );
    assert_eq!(world.ticks_after_a_crash(), world.next);
}

#[test]
fn a_world_whose_last_checkpoint_is_written_ends_without_an_error() {
    let mut world = Kept::new("a-last-checkpoint", Faults::default());
    world.tick().unwrap();
    world.checkpoint();
    world.finish().unwrap();
    assert_eq!(checkpoint::ticks(&world.disk).unwrap(), [world.next]);
}

#[test]
fn pruning_keeps_the_good_checkpoint_and_not_the_damaged_one() {
    let disk = SimulatedDisk::new(1);
    for tick in [10, 20, 30, 40] {
        disk.create(&checkpoint::name_of(tick), 1).unwrap();
        disk.create(&format!("journal-{tick:020}"), 1).unwrap();
    }
    // The one before tick 30 is damaged, so the world has continued from that before 20.
    let mut good = GoodCheckpoints::new(20);
    good.remove_others(&disk).unwrap();
    assert_eq!(checkpoint::ticks(&disk).unwrap(), [10, 20, 30, 40]);
    good.note(40);
    good.remove_others(&disk).unwrap();
    assert_eq!(checkpoint::ticks(&disk).unwrap(), [20, 40]);
    let mut journal = disk.names().unwrap();
    journal.retain(|name| name.starts_with("journal-"));
    journal.sort();
    assert_eq!(
        journal,
        [20, 30, 40].map(|tick| format!("journal-{tick:020}"))
    );
}

#[test]
fn a_checkpoint_of_the_same_tick_as_the_one_that_is_being_written_is_written_too() {
    let mut world = Kept::new("two-of-a-tick", Faults::default());
    world.tick().unwrap();
    world.checkpoint();
    world.tick().unwrap();
    for _ in 0..8 {
        world.checkpoint();
    }
    world.finish().unwrap();
    // Each counts once: the one before is still there.
    assert_eq!(checkpoint::ticks(&world.disk).unwrap(), [1, 2]);
}
