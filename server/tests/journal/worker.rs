//! A running world whose disk fails or fills up.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use device::cpu::Workers;
use durability::epoch::Epoch;
use durability::folder::DataFolder;
use durability::journal::{Journal, Settings, Start};
use durability::level::Level;
use durability::log::Log;
use durability::record::Entry;
use durability::roster::Roster;
use durability::worker::{DurabilityOptions, DurabilityWorker};
use gpu_kernels::{Frame, StateHash};
use shared::{CommandKind, EntityId, Tick};

use crate::journal::disk::{Faults, SimulatedDisk};

/// A persistent world on a simulated disk, at the level `told`.
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
            level: Level::Told,
            keeps_all: false,
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
            before: StateHash::default(),
            changes: vec![],
        };
        let worker = self.worker.as_mut().unwrap();
        let sent = worker
            .record(entry)
            .and_then(|()| worker.wait(tick, &AtomicBool::new(false)));
        sent.map_err(|error| error.to_string())
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
