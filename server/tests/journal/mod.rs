//! Whatever a disk does, a journal ends where it must: at or behind the last record that was
//! synced, or with an error that names a tick; never in another state.
//!
//! `JOURNAL_SEEDS=100000` takes the first 100,000 seeds; `JOURNAL_SEED=7` takes one.

mod migration;
mod worker;

use std::sync::Arc;

use device::cpu::Workers;
use durability::annotations::Annotations;
use durability::checkpoint::{self, Head};
use durability::disk::Disk;
use durability::epoch::Epoch;
use durability::journal::{Journal, JournalError, Settings, Start};
use durability::log::{Log, LogError, cut};
use durability::record::Entry;
use gpu_kernels::{Frame, StateHash};
use shared::world::mix::mix;
use shared::{CommandKind, EntityId, Tick};

use simulator::dice::Dice;
use simulator::disk::{Faults, SimulatedDisk};

const CAPACITY: u32 = 64;

/// A world whose state is a number that all frames so far determine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct World {
    tick: u64,
    state: u64,
}

impl World {
    fn new() -> World {
        World { tick: 0, state: 1 }
    }

    fn run(&mut self, frame: &Frame) {
        assert_eq!(frame.tick.0, self.tick);
        for command in &frame.commands {
            let who = mix(command.entity.to_bits(), u64::from(command.sequence));
            self.state = mix(self.state, mix(who, u64::from(command.kind)));
            for &word in frame.words_of(command) {
                self.state = mix(self.state, u64::from(word.cast_unsigned()));
            }
        }
        self.state = mix(self.state, self.tick);
        self.tick += 1;
    }

    fn hash(&self) -> StateHash {
        StateHash {
            parts: vec![self.state],
        }
    }
}

/// The whole history of a world, and the ticks that were promised.
struct History {
    dice: Dice,
    disk: SimulatedDisk,
    /// By tick: the state before it.
    states: Vec<u64>,
    /// Every record before this tick was synced.
    synced: u64,
    epoch: Epoch,
}

/// How a life of the server began.
enum Begun {
    Running(Box<Journal<SimulatedDisk>>, World),
    /// It refused, and named the tick.
    Refused(u64),
    Failed,
}

impl History {
    fn new(seed: u64) -> History {
        let mut dice = Dice::new(seed);
        History {
            disk: SimulatedDisk::new(dice.below(u64::MAX)),
            dice,
            states: vec![World::new().state],
            synced: 0,
            epoch: Epoch(0),
        }
    }

    /// Starts a server: from the newest good checkpoint, or from the beginning.
    fn begin(&mut self) -> Begun {
        self.epoch.0 += 1;
        if self.disk.names().unwrap().contains(&"spare".to_owned()) {
            self.disk.remove("spare").unwrap();
        }
        let (mut world, previous) = self.newest_checkpoint();
        let opened = Log::open(&self.disk, CAPACITY, world.tick, Some(previous));
        let mut log = opened.unwrap();
        let end = loop {
            match log.read() {
                Ok(Ok(read)) => {
                    assert_eq!(read.entry.before, world.hash(), "tick {}", world.tick);
                    world.run(&read.entry.frame);
                }
                Ok(Err(end)) => break end,
                Err(LogError::Damaged { tick, .. } | LogError::Missing { tick, .. }) => {
                    return Begun::Refused(tick);
                }
                Err(error) => panic!("{error}"),
            }
        };
        assert_eq!(end.tick, world.tick);
        cut(&self.disk, &end).unwrap();
        let start = Start {
            tick: world.tick,
            previous: log.previous().unwrap(),
        };
        let settings = Settings {
            capacity: CAPACITY,
            epoch: self.epoch,
            tick_version: 1,
            segment_bytes: 300 + self.dice.below(3000),
        };
        let workers = Workers::new(1).unwrap();
        let mut journal = Journal::new(self.disk.clone(), settings, start, workers);
        match journal.preallocate() {
            Ok(()) => Begun::Running(Box::new(journal), world),
            Err(_) => Begun::Failed,
        }
    }

    fn newest_checkpoint(&self) -> (World, u32) {
        for tick in checkpoint::ticks(&self.disk).unwrap().into_iter().rev() {
            if let Ok((head, body)) = checkpoint::read(&self.disk, tick) {
                let state = u64::from_le_bytes(body.try_into().unwrap());
                return (World { tick, state }, head.previous);
            }
        }
        (World::new(), 0)
    }

    /// Runs a server until it crashes.
    fn live(&mut self, mut journal: Journal<SimulatedDisk>, mut world: World) {
        self.states.truncate(world.tick as usize + 1);
        for _ in 0..self.dice.below(40) {
            let frame = self.frame(world.tick);
            let entry = Entry {
                frame: Arc::new(frame),
                annotations: Annotations::default(),
                before: world.hash(),
                changes: vec![],
            };
            world.run(&entry.frame);
            self.states.push(world.state);
            if self.step(&mut journal, entry, &world).is_err() {
                return;
            }
        }
        if self.dice.one_of(4) && journal.end_segment().is_ok() {
            journal.release_preallocated();
            self.synced = world.tick;
        }
    }

    fn step(
        &mut self,
        journal: &mut Journal<SimulatedDisk>,
        entry: Entry,
        world: &World,
    ) -> Result<(), JournalError> {
        let appended = journal.append(Arc::new(entry));
        // Where a segment ends it syncs, also if the next one fails.
        self.synced = self.synced.max(journal.unsynced());
        appended?;
        if self.dice.one_of(2) {
            journal.sync()?;
            self.synced = self.synced.max(world.tick);
        }
        let _ = journal.preallocate();
        if self.dice.one_of(9) {
            journal.end_segment()?;
            self.synced = self.synced.max(world.tick);
            let head = Head {
                tick: world.tick,
                epoch: self.epoch,
                tick_version: 1,
                previous: journal.previous(),
            };
            // A checkpoint that can't be written does no harm.
            let _ = checkpoint::write(&self.disk, &head, &world.state.to_le_bytes());
        }
        Ok(())
    }

    fn frame(&mut self, tick: u64) -> Frame {
        let mut frame = Frame::new(Tick(tick));
        for _ in 0..self.dice.below(6) {
            let entity = EntityId::new(self.dice.below(8) as u32, 1);
            let words = [self.dice.below(1 << 40) as i32, -3];
            let sequence = (tick * 2 + self.dice.below(2)) as u32;
            frame.push(entity, sequence, CommandKind(4), &words);
        }
        frame
    }

    /// Lives and crashes. False if a server refused to start.
    fn run(&mut self, with_flips: bool) -> bool {
        for _ in 0..5 {
            let faults = match self.dice.below(4) {
                0 => Faults {
                    write_fails: 40,
                    ..Faults::default()
                },
                1 => Faults {
                    sync_fails: 12,
                    ..Faults::default()
                },
                2 => Faults {
                    room: Some(2000 + self.dice.below(8000)),
                    ..Faults::default()
                },
                _ => Faults::default(),
            };
            self.disk.set_faults(Faults::default());
            let begun = self.begin();
            self.disk.set_faults(faults);
            match begun {
                Begun::Running(journal, world) => {
                    if !with_flips {
                        assert!(
                            world.tick >= self.synced,
                            "{} of {} synced ticks are there",
                            world.tick,
                            self.synced
                        );
                    }
                    assert!(world.tick < self.states.len() as u64);
                    assert_eq!(world.state, self.states[world.tick as usize]);
                    self.synced = world.tick;
                    self.live(*journal, world);
                }
                Begun::Refused(tick) => {
                    assert!(with_flips, "tick {tick} is refused, and no bit was flipped");
                    assert!(tick < self.synced, "tick {tick} was not synced");
                    return false;
                }
                Begun::Failed => {}
            }
            self.disk.crash();
            if with_flips && self.dice.one_of(2) {
                self.disk.flip();
            }
        }
        true
    }
}

fn seeds() -> Vec<u64> {
    let number = |name: &str| {
        let text = std::env::var(name).ok()?;
        Some(text.parse::<u64>().expect("a number"))
    };
    match (number("JOURNAL_SEED"), number("JOURNAL_SEEDS")) {
        (Some(seed), _) => vec![seed],
        (None, count) => (0..count.unwrap_or(10_000)).collect(),
    }
}

/// Gives the number of seeds in which a server refused to start.
fn run_all(with_flips: bool) -> usize {
    let mut refused = 0;
    for seed in seeds() {
        let run = std::panic::AssertUnwindSafe(|| History::new(seed).run(with_flips));
        match std::panic::catch_unwind(run) {
            Ok(went_on) => refused += usize::from(!went_on),
            Err(panic) => {
                eprintln!("JOURNAL_SEED={seed}");
                std::panic::resume_unwind(panic);
            }
        }
    }
    refused
}

#[test]
fn nothing_that_was_synced_is_lost_by_crashes_and_failures() {
    assert_eq!(run_all(false), 0);
}

#[test]
fn flipped_bits_are_survived_or_named_and_never_lead_to_another_state() {
    let refused = run_all(true);
    let seeds = seeds().len();
    // A bit may be anywhere, so both must have happened.
    assert!(
        seeds < 100 || (1..seeds).contains(&refused),
        "{refused} of {seeds}"
    );
}
