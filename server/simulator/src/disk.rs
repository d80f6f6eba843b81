//! A disk in memory that loses, tears and reorders unsynced writes, fails, fills up and
//! flips bits.

use std::collections::BTreeMap;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use durability::disk::{Disk, DiskFile};

use crate::dice::{Dice, index};

#[derive(Clone)]
pub struct SimulatedDisk(Arc<Mutex<State>>);

/// The faults of a disk.
#[derive(Clone, Copy, Default)]
pub struct Faults {
    /// Of so many writes or syncs, one fails; 0: none.
    pub write_fails: u64,
    pub sync_fails: u64,
    /// So many syncs fail, beginning with the next one.
    pub next_syncs_fail: u64,
    /// Bytes of all files together.
    pub room: Option<u64>,
    /// After so many changes, all others fail.
    pub changes_left: Option<u64>,
}

struct State {
    dice: Dice,
    faults: Faults,
    /// By number, which stays while names change.
    files: BTreeMap<u64, File>,
    next_file: u64,
    /// As programs see it, and as it is after a crash.
    names: BTreeMap<String, u64>,
    kept_names: BTreeMap<String, u64>,
    /// Changes of names that are not synced, oldest first.
    unsynced_names: Vec<Rename>,
}

enum Rename {
    Add(String, u64),
    Remove(String),
    Move(String, String),
}

#[derive(Clone, Default)]
struct File {
    /// As programs see it, and as it is after a crash.
    bytes: Vec<u8>,
    kept: Vec<u8>,
    unsynced: Vec<(usize, Vec<u8>)>,
}

pub struct SimulatedFile {
    disk: SimulatedDisk,
    number: u64,
}

impl SimulatedDisk {
    pub fn new(seed: u64) -> SimulatedDisk {
        SimulatedDisk(Arc::new(Mutex::new(State {
            dice: Dice::new(seed),
            faults: Faults::default(),
            files: BTreeMap::new(),
            next_file: 0,
            names: BTreeMap::new(),
            kept_names: BTreeMap::new(),
            unsynced_names: vec![],
        })))
    }

    pub fn set_faults(&self, faults: Faults) {
        self.state().faults = faults;
    }

    /// The machine loses its power: any part of unsynced writes is there afterwards.
    pub fn crash(&self) {
        let mut state = self.state();
        let state = &mut *state;
        // File systems keep the order of names.
        let kept = state.dice.index(state.unsynced_names.len() + 1);
        for change in state.unsynced_names.drain(..).take(kept) {
            change.apply(&mut state.kept_names);
        }
        for file in state.files.values_mut() {
            for (offset, bytes) in std::mem::take(&mut file.unsynced) {
                let (from, to) = match state.dice.below(4) {
                    0 => (0, 0),
                    1 => (0, bytes.len()),
                    2 => (0, state.dice.index(bytes.len() + 1)),
                    _ => (state.dice.index(bytes.len() + 1), bytes.len()),
                };
                put(&mut file.kept, offset + from, &bytes[from..to]);
            }
            file.bytes = file.kept.clone();
        }
        state.names = state.kept_names.clone();
        let names: Vec<u64> = state.names.values().copied().collect();
        state.files.retain(|number, _| names.contains(number));
    }

    /// Flips a bit of a file that is not empty. Gives its name.
    pub fn flip(&self) -> Option<String> {
        let mut state = self.state();
        let state = &mut *state;
        let names: Vec<_> = state.names.iter().collect();
        let (name, number) = *names.get(state.dice.index(names.len()))?;
        let file = state.files.get_mut(number)?;
        let bit = state.dice.index(file.bytes.len() * 8);
        *file.bytes.get_mut(bit / 8)? ^= 1 << (bit % 8);
        file.kept = file.bytes.clone();
        Some(name.clone())
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // A panic ends the simulation.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Rename {
    fn apply(self, names: &mut BTreeMap<String, u64>) {
        match self {
            Rename::Add(name, number) => {
                names.insert(name, number);
            }
            Rename::Remove(name) => {
                names.remove(&name);
            }
            Rename::Move(from, to) => {
                if let Some(number) = names.remove(&from) {
                    names.insert(to, number);
                }
            }
        }
    }
}

impl State {
    fn file(&mut self, name: &str) -> io::Result<&mut File> {
        let number = self.names.get(name).ok_or(io::ErrorKind::NotFound)?;
        Ok(self.files.get_mut(number).expect("a name has its file"))
    }

    /// Takes one of the changes that are left.
    fn change(&mut self) -> io::Result<()> {
        match &mut self.faults.changes_left {
            Some(0) => Err(io::Error::other("the machine stops")),
            Some(left) => {
                *left -= 1;
                Ok(())
            }
            None => Ok(()),
        }
    }

    fn fails(&mut self, one_of: u64) -> bool {
        one_of > 0 && self.dice.below(one_of) == 0
    }

    fn used(&self) -> u64 {
        let files = self.names.values().map(|number| &self.files[number]);
        files.map(|file| file.bytes.len() as u64).sum()
    }
}

impl Disk for SimulatedDisk {
    type File = SimulatedFile;

    fn names(&self) -> io::Result<Vec<String>> {
        Ok(self.state().names.keys().cloned().collect())
    }

    fn create(&self, name: &str, bytes: u64) -> io::Result<SimulatedFile> {
        let mut state = self.state();
        state.change()?;
        if state.names.contains_key(name) {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        if state
            .faults
            .room
            .is_some_and(|room| state.used() + bytes > room)
        {
            return Err(io::ErrorKind::StorageFull.into());
        }
        let number = state.next_file;
        state.next_file += 1;
        let zeros = vec![0; index(bytes)];
        state.files.insert(
            number,
            File {
                bytes: zeros.clone(),
                kept: zeros,
                unsynced: vec![],
            },
        );
        state.names.insert(name.to_owned(), number);
        state
            .unsynced_names
            .push(Rename::Add(name.to_owned(), number));
        Ok(SimulatedFile {
            disk: self.clone(),
            number,
        })
    }

    fn read(&self, name: &str) -> io::Result<Vec<u8>> {
        Ok(self.state().file(name)?.bytes.clone())
    }

    fn length(&self, name: &str) -> io::Result<u64> {
        Ok(self.state().file(name)?.bytes.len() as u64)
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        let mut state = self.state();
        state.change()?;
        state.file(from)?;
        let change = || Rename::Move(from.to_owned(), to.to_owned());
        change().apply(&mut state.names);
        state.unsynced_names.push(change());
        Ok(())
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        let mut state = self.state();
        state.change()?;
        state.file(name)?;
        state.names.remove(name);
        state.unsynced_names.push(Rename::Remove(name.to_owned()));
        Ok(())
    }

    fn cut(&self, name: &str, bytes: u64) -> io::Result<()> {
        let mut state = self.state();
        state.change()?;
        let file = state.file(name)?;
        file.bytes.truncate(index(bytes));
        file.kept = file.bytes.clone();
        file.unsynced.clear();
        Ok(())
    }

    fn sync_names(&self) -> io::Result<()> {
        let mut state = self.state();
        state.change()?;
        state.kept_names = state.names.clone();
        state.unsynced_names.clear();
        Ok(())
    }
}

impl DiskFile for SimulatedFile {
    fn write_at(&mut self, bytes: &[u8], offset: u64) -> io::Result<()> {
        let mut state = self.disk.state();
        state.change()?;
        let one_of = state.faults.write_fails;
        let fails = state.fails(one_of);
        let offset = index(offset);
        // A write that fails may have done a part of its work.
        let length = match fails {
            true => state.dice.index(bytes.len() + 1),
            false => bytes.len(),
        };
        let Some(file) = state.files.get_mut(&self.number) else {
            return Err(io::ErrorKind::NotFound.into());
        };
        put(&mut file.bytes, offset, &bytes[..length]);
        file.unsynced.push((offset, bytes[..length].to_vec()));
        match fails {
            true => Err(io::Error::other("a write fails")),
            false => Ok(()),
        }
    }

    fn sync(&mut self) -> io::Result<()> {
        let mut state = self.disk.state();
        let state = &mut *state;
        state.change()?;
        let one_of = state.faults.sync_fails;
        let next = &mut state.faults.next_syncs_fail;
        let is_next = *next > 0;
        *next = next.saturating_sub(1);
        let fails = is_next || one_of > 0 && state.dice.below(one_of) == 0;
        let Some(file) = state.files.get_mut(&self.number) else {
            return Err(io::ErrorKind::NotFound.into());
        };
        for (offset, bytes) in std::mem::take(&mut file.unsynced) {
            // After an error any pages may be written, and a second sync
            // would report success.
            if !fails || state.dice.below(2) == 0 {
                put(&mut file.kept, offset, &bytes);
            }
        }
        match fails {
            true => Err(io::Error::other("a sync fails")),
            false => Ok(()),
        }
    }
}

fn put(file: &mut Vec<u8>, offset: usize, bytes: &[u8]) {
    if bytes.is_empty() {
        return;
    }
    let end = offset + bytes.len();
    file.resize(file.len().max(end), 0);
    file[offset..end].copy_from_slice(bytes);
}
