//! Characters in the file `characters` of a persistent world's folder: batches of changes, each
//! bound to the one before. The folder's lock protects it from other servers.
//!
//! | part of a batch | bytes |
//! | --- | --- |
//! | `MYRIADA1` | 8 |
//! | the tick before which characters are as they are after it | 8 |
//! | CRC-32C of the head of the batch before; 0: there is none | 4 |
//! | CRC-32C of what follows the head, and its length | 4, 8 |
//! | CRC-32C of the head up to here | 4 |
//! | accounts, each with its character as JSON | |
//!
//! A server appends a batch with each checkpoint, and an operator's change writes the file anew.
//! So a last batch that can't be read was being written, unless a checkpoint says that it was
//! there.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use anyhow::{Context, Result, bail};
use platform::private;
use shared::wire::codec;
use thiserror::Error;
use tracing::warn;

use super::{Store, Texts};
use crate::folder::write;

/// The file.
#[derive(Debug)]
pub struct FileStore {
    folder: PathBuf,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    /// The tick before which the characters are these.
    tick: u64,
    /// The checksum of the last batch's head.
    last: u32,
    /// Of all batches, in bytes.
    length: u64,
    /// Of those that the file was written with.
    length_written: u64,
    /// An append has failed, so the disk may have any part of it.
    has_failed: bool,
}

/// Why the file can't be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum Damage {
    #[error("it has no characters")]
    Empty,
    #[error("the batch at byte {0} is damaged")]
    Batch(usize),
}

impl FileStore {
    /// Opens the file of a folder, whose characters must be at least those before a tick.
    pub fn open(folder: &Path, at: u64) -> Result<FileStore> {
        let path = folder.join(FILE);
        let bytes = match fs::read(&path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return FileStore::begin_first(folder, at);
            }
            Err(error) => {
                return Err(error).with_context(|| format!("cannot read {}", path.display()));
            }
        };
        let (_, end) = parse(&bytes).map_err(|damage| damaged(&path, damage))?;
        if end.tick < at {
            bail!(
                "{} has the characters before tick {}, and the world has stored those before tick \
                 {at}: it is damaged, or an earlier copy. {RESTORE}",
                path.display(),
                end.tick
            );
        }
        if end.length < bytes.len() {
            let bytes = bytes.len() - end.length;
            warn!(bytes, "characters that were being written are cut off");
        }
        let length = end.length as u64;
        Ok(FileStore {
            folder: folder.to_owned(),
            state: Mutex::new(State {
                tick: end.tick,
                last: end.last,
                length,
                length_written: length,
                has_failed: false,
            }),
        })
    }

    /// The file of a world that never stored characters.
    fn begin_first(folder: &Path, at: u64) -> Result<FileStore> {
        let (path, folder_name) = (folder.join(FILE), folder.display());
        if folder.join(EARLIER_FILE).exists() {
            bail!(
                "{folder_name} has its characters in {EARLIER_FILE}, as an earlier version of \
                 Myriad wrote them: print them with `myriad characters export` of that version, \
                 and read them with `myriad characters import` of this one"
            );
        }
        if at > 0 {
            bail!(
                "{} is missing: the world has stored the characters before tick {at} there. \
                 {RESTORE}",
                path.display()
            );
        }
        FileStore::write_all(folder, &Texts::new(), 0)
    }

    /// Writes all characters, in place of the file.
    pub fn write_all(folder: &Path, texts: &Texts, tick: u64) -> Result<FileStore> {
        let (bytes, last) = encode(texts, tick, 0);
        write(folder, FILE, &bytes)?;
        let length = bytes.len() as u64;
        Ok(FileStore {
            folder: folder.to_owned(),
            state: Mutex::new(State {
                tick,
                last,
                length,
                length_written: length,
                has_failed: false,
            }),
        })
    }

    /// Forgets a character; false if there is none.
    pub fn remove(&self, account: &str) -> Result<bool> {
        let mut state = self.lock();
        let mut texts = self.read(&state)?;
        if texts.remove(account).is_none() {
            return Ok(false);
        }
        let tick = state.tick;
        self.rewrite(&mut state, &texts, tick)?;
        Ok(true)
    }

    fn read(&self, state: &State) -> Result<Texts> {
        let path = self.folder.join(FILE);
        let bytes = fs::read(&path).with_context(|| format!("cannot read {}", path.display()))?;
        // Behind it may be a part of a batch that could not be written.
        let length = usize::try_from(state.length).unwrap_or(usize::MAX);
        let known = bytes.get(..length).unwrap_or(&bytes);
        let (texts, end) = parse(known).map_err(|damage| damaged(&path, damage))?;
        if (end.length, end.tick, end.last) != (length, state.tick, state.last) {
            return Err(damaged(&path, Damage::Batch(end.length)));
        }
        Ok(texts)
    }

    fn rewrite(&self, state: &mut State, texts: &Texts, tick: u64) -> Result<()> {
        let written = FileStore::write_all(&self.folder, texts, tick)?;
        *state = written
            .state
            .into_inner()
            .unwrap_or_else(PoisonError::into_inner);
        Ok(())
    }

    fn append(&self, state: &mut State, texts: &Texts, tick: u64) -> Result<()> {
        let (bytes, last) = encode(texts, tick, state.last);
        let path = self.folder.join(FILE);
        let appended = private::options()
            .write(true)
            .open(&path)
            .and_then(|file: File| {
                file.write_all_at(&bytes, state.length)?;
                file.sync_data()
            });
        state.has_failed = appended.is_err();
        appended.with_context(|| format!("cannot write {}", path.display()))?;
        state.length += bytes.len() as u64;
        (state.tick, state.last) = (tick, last);
        Ok(())
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // Each change is whole, so a panic elsewhere does no harm.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Store for FileStore {
    fn claim(&self) -> Result<()> {
        Ok(())
    }

    fn all(&self) -> Result<Texts> {
        self.read(&self.lock())
    }

    fn put(&self, texts: &Texts, tick: u64) -> Result<()> {
        let mut state = self.lock();
        let is_long = state.length > 2 * state.length_written + SLACK;
        // A batch of the same tick as the one before could be lost unnoticed.
        if !state.has_failed && !is_long && tick > state.tick {
            return self.append(&mut state, texts, tick);
        }
        let mut all = self.read(&state)?;
        all.extend(texts.clone());
        let tick = tick.max(state.tick);
        self.rewrite(&mut state, &all, tick)
    }

    fn tick(&self) -> Result<u64> {
        Ok(self.lock().tick)
    }

    fn restart(&self, tick: u64) -> Result<()> {
        let mut state = self.lock();
        if state.tick == tick {
            return Ok(());
        }
        let all = self.read(&state)?;
        self.rewrite(&mut state, &all, tick)
    }

    fn remove(&self, account: &str) -> Result<bool> {
        FileStore::remove(self, account)
    }
}

/// The tick of a folder's file and its bytes without a batch that is being written, if there is a
/// file.
pub fn whole(folder: &Path) -> Result<Option<(u64, Vec<u8>)>> {
    let path = folder.join(FILE);
    let mut bytes = match fs::read(&path) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => {
            return Err(error).with_context(|| format!("cannot read {}", path.display()));
        }
    };
    let (_, end) = parse(&bytes).map_err(|damage| damaged(&path, damage))?;
    bytes.truncate(end.length);
    Ok(Some((end.tick, bytes)))
}

/// The newest characters of a file that are those before a tick or an earlier one: their tick, and
/// the bytes up to there. `None`: all are later.
pub fn until(bytes: &[u8], tick: u64) -> Result<Option<(u64, usize)>, Damage> {
    let mut found = None;
    let mut end = (0, 0);
    while end.1 < bytes.len() {
        let batch = batch(&bytes[end.1..], end.0).ok_or(Damage::Batch(end.1))?;
        end = (batch.checksum, end.1 + batch.length);
        if batch.tick > tick {
            break;
        }
        found = Some((batch.tick, end.1));
    }
    Ok(found)
}

/// The tick and the number of the characters in a folder's file, which must be at least those
/// before a tick.
pub fn check(folder: &Path, at: u64) -> Result<(u64, usize)> {
    if !folder.join(FILE).exists() && at == 0 {
        return Ok((0, 0));
    }
    let store = FileStore::open(folder, at)?;
    let state = store.lock();
    Ok((state.tick, store.read(&state)?.len()))
}

fn damaged(path: &Path, damage: Damage) -> anyhow::Error {
    anyhow::anyhow!("{} can't be read: {damage}. {RESTORE}", path.display())
}

/// Where the batches end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct End {
    tick: u64,
    last: u32,
    length: usize,
}

/// A batch whose checksums are right.
struct Batch {
    tick: u64,
    checksum: u32,
    length: usize,
    texts: Texts,
}

/// The bytes of a batch, and the checksum of its head.
fn encode(texts: &Texts, tick: u64, before: u32) -> (Vec<u8>, u32) {
    let body = codec::to_bytes(texts);
    let mut bytes = MAGIC.to_vec();
    bytes.extend_from_slice(&tick.to_le_bytes());
    bytes.extend_from_slice(&before.to_le_bytes());
    bytes.extend_from_slice(&crc32c::crc32c(&body).to_le_bytes());
    bytes.extend_from_slice(&(body.len() as u64).to_le_bytes());
    let checksum = crc32c::crc32c(&bytes);
    bytes.extend_from_slice(&checksum.to_le_bytes());
    bytes.extend_from_slice(&body);
    (bytes, checksum)
}

/// The characters of a file. A last batch that is not complete is left out.
fn parse(bytes: &[u8]) -> Result<(Texts, End), Damage> {
    let mut texts = Texts::new();
    let mut end = End {
        tick: 0,
        last: 0,
        length: 0,
    };
    while end.length < bytes.len() {
        let Some(batch) = batch(&bytes[end.length..], end.last) else {
            let is_torn = end.length > 0 && !has_batch(&bytes[end.length + 1..]);
            if is_torn {
                break;
            }
            return Err(Damage::Batch(end.length));
        };
        texts.extend(batch.texts);
        end = End {
            tick: batch.tick,
            last: batch.checksum,
            length: end.length + batch.length,
        };
    }
    match end.length {
        0 => Err(Damage::Empty),
        _ => Ok((texts, end)),
    }
}

fn batch(bytes: &[u8], before: u32) -> Option<Batch> {
    let head = bytes.first_chunk::<HEAD_BYTES>()?;
    let short = |at: usize| Some(u32::from_le_bytes(*head[at..].first_chunk()?));
    let long = |at: usize| Some(u64::from_le_bytes(*head[at..].first_chunk()?));
    let checksum = short(CHECKSUM_AT)?;
    let is_right = head.starts_with(MAGIC)
        && crc32c::crc32c(&head[..CHECKSUM_AT]) == checksum
        && short(16)? == before;
    if !is_right {
        return None;
    }
    let length = usize::try_from(long(24)?).ok()?;
    let body = bytes[HEAD_BYTES..].get(..length)?;
    if crc32c::crc32c(body) != short(20)? {
        return None;
    }
    Some(Batch {
        tick: long(8)?,
        checksum,
        length: HEAD_BYTES + length,
        texts: codec::from_bytes::<BODY_BYTES_MAX, _>(body).ok()?,
    })
}

/// Whether the head of a batch is somewhere in these bytes.
fn has_batch(bytes: &[u8]) -> bool {
    let heads = bytes.windows(HEAD_BYTES);
    heads
        .filter(|head| head.starts_with(MAGIC))
        .any(|head| crc32c::crc32c(&head[..CHECKSUM_AT]).to_le_bytes() == head[CHECKSUM_AT..])
}

pub const FILE: &str = "characters";
/// Of versions before this format.
const EARLIER_FILE: &str = "characters.redb";
const RESTORE: &str = "Restore the folder from a backup, or read characters that were exported \
                       with `myriad characters import`";
const MAGIC: &[u8; 8] = b"MYRIADA1";
const CHECKSUM_AT: usize = 32;
const HEAD_BYTES: usize = 36;
/// A file that is more than twice as long as its characters is written anew, beside this.
const SLACK: u64 = 1 << 20;
/// As long as a file may be.
const BODY_BYTES_MAX: usize = 1 << 40;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_dice;

    fn texts(of: &[(&str, &str)]) -> Texts {
        let own = |&(account, text): &(&str, &str)| (account.to_owned(), text.to_owned());
        of.iter().map(own).collect()
    }

    struct TestFolder(PathBuf);

    impl TestFolder {
        fn new(name: &str) -> TestFolder {
            let path = format!("myriad-characters-{name}-{}", std::process::id());
            let path = std::env::temp_dir().join(path);
            fs::create_dir_all(&path).unwrap();
            TestFolder(path)
        }

        fn bytes(&self) -> Vec<u8> {
            fs::read(self.0.join(FILE)).unwrap()
        }

        fn write(&self, bytes: &[u8]) {
            fs::write(self.0.join(FILE), bytes).unwrap();
        }
    }

    impl Drop for TestFolder {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    /// A file with three batches, and the characters at its end.
    fn three_batches(folder: &TestFolder) -> Texts {
        let store = FileStore::open(&folder.0, 0).unwrap();
        store
            .put(&texts(&[("ann", "{1}"), ("bob", "{2}")]), 10)
            .unwrap();
        store
            .put(&texts(&[("bob", "{3}"), ("cid", "{4}")]), 20)
            .unwrap();
        let expected = texts(&[("ann", "{1}"), ("bob", "{3}"), ("cid", "{4}")]);
        assert_eq!(store.all().unwrap(), expected);
        expected
    }

    #[test]
    fn no_cut_and_no_flipped_bit_gives_other_characters() {
        let folder = TestFolder::new("flipped");
        let expected = three_batches(&folder);
        let bytes = folder.bytes();
        let is_right = || match FileStore::open(&folder.0, 20) {
            Ok(store) => store.all().unwrap() == expected,
            Err(_) => false,
        };
        folder.write(&bytes);
        assert!(is_right());
        for length in 0..bytes.len() {
            folder.write(&bytes[..length]);
            assert!(FileStore::open(&folder.0, 20).is_err(), "{length} bytes");
        }
        for bit in 0..bytes.len() * 8 {
            let mut flipped = bytes.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            folder.write(&flipped);
            assert!(FileStore::open(&folder.0, 20).is_err(), "bit {bit}");
        }
    }

    #[test]
    fn a_batch_that_was_being_written_is_cut_off_unless_a_checkpoint_needs_it() {
        let folder = TestFolder::new("torn");
        three_batches(&folder);
        let bytes = folder.bytes();
        folder.write(&bytes[..bytes.len() - 1]);
        let needed = FileStore::open(&folder.0, 20).unwrap_err().to_string();
        assert!(needed.contains("before tick 10, and the world"), "{needed}");
        let store = FileStore::open(&folder.0, 10).unwrap();
        let before = texts(&[("ann", "{1}"), ("bob", "{2}")]);
        assert_eq!(store.all().unwrap(), before);
        // The next one takes its place.
        store.put(&texts(&[("dan", "{5}")]), 20).unwrap();
        drop(store);
        let mut expected = before;
        expected.extend(texts(&[("dan", "{5}")]));
        let store = FileStore::open(&folder.0, 20).unwrap();
        assert_eq!(store.all().unwrap(), expected);
    }

    #[test]
    fn the_characters_before_an_earlier_tick_are_the_beginning_of_a_file() {
        let folder = TestFolder::new("earlier");
        three_batches(&folder);
        let bytes = folder.bytes();
        let at = |tick| {
            let (found, length) = until(&bytes, tick).unwrap().unwrap();
            folder.write(&bytes[..length]);
            (
                found,
                FileStore::open(&folder.0, found)
                    .unwrap()
                    .all()
                    .unwrap()
                    .len(),
            )
        };
        assert_eq!(
            [at(9), at(10), at(19), at(20)],
            [(0, 0), (10, 2), (10, 2), (20, 3)]
        );
    }

    #[test]
    fn a_missing_file_is_one_only_before_the_first_tick() {
        let folder = TestFolder::new("missing");
        let missing = FileStore::open(&folder.0, 5).unwrap_err().to_string();
        assert!(missing.contains("is missing"), "{missing}");
        assert!(
            FileStore::open(&folder.0, 0)
                .unwrap()
                .all()
                .unwrap()
                .is_empty()
        );
        folder.write(b"");
        let empty = FileStore::open(&folder.0, 0).unwrap_err().to_string();
        assert!(empty.contains("it has no characters"), "{empty}");
        fs::remove_file(folder.0.join(FILE)).unwrap();
        fs::write(folder.0.join(EARLIER_FILE), "x").unwrap();
        let earlier = FileStore::open(&folder.0, 0).unwrap_err().to_string();
        assert!(
            earlier.contains("an earlier version of Myriad"),
            "{earlier}"
        );
    }

    #[test]
    fn a_file_has_the_same_characters_however_often_it_is_written_anew() {
        let folder = TestFolder::new("anew");
        let seed = 3;
        let mut dice = test_dice(seed);
        let mut store = FileStore::open(&folder.0, 0).unwrap();
        let mut expected = Texts::new();
        let mut lengths = vec![];
        for tick in 1..200 {
            if dice(20) == 0 {
                let account = format!("account {}", dice(30));
                let removed = store.remove(&account).unwrap();
                assert_eq!(removed, expected.remove(&account).is_some());
            }
            let of = |number: u64| (format!("account {number}"), "x".repeat(2000));
            let mut some: Texts = (0..dice(10)).map(|_| of(dice(30))).collect();
            some.values_mut()
                .for_each(|text| *text += &tick.to_string());
            store.put(&some, tick).unwrap();
            expected.extend(some);
            lengths.push(folder.bytes().len() as u64);
            if dice(10) == 0 {
                store = FileStore::open(&folder.0, tick).unwrap();
            }
            assert_eq!(store.all().unwrap(), expected, "seed {seed}, tick {tick}");
        }
        let longest = lengths.iter().max().unwrap();
        assert!(*longest < 2 * SLACK, "{longest}");
    }
}
