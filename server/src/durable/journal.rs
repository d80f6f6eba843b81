//! Recordings: a world's configuration, then each tick's frame and state hash.
//!
//! The file is a magic number, then records: length (4 bytes, little-endian), CRC-32 of
//! the payload (4 bytes), payload. A recording that breaks off inside a record, as after a
//! crash, can be read up to there.

use std::fs::File;
use std::io::{BufReader, BufWriter, Read, Write};
use std::path::Path;
use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread::JoinHandle;

use anyhow::{Context, Result, bail};
use gpu_kernels::{Frame, StateHash};
use serde::{Deserialize, Serialize};
use shared::WorldConfig;
use shared::wire::codec;

/// One record.
#[derive(Debug, Serialize, Deserialize)]
pub enum Record {
    /// The first record.
    Start(Box<WorldConfig>),
    Tick(Box<Frame>, StateHash),
}

/// Writes a recording on a thread of its own: a slow disk delays the world only when it is
/// thousands of ticks behind.
pub struct JournalWriter {
    records: SyncSender<Record>,
    thread: JoinHandle<Result<()>>,
}

impl JournalWriter {
    /// Creates the file, or replaces it.
    pub fn create(path: &Path, config: &WorldConfig) -> Result<JournalWriter> {
        let file = File::create(path)
            .with_context(|| format!("cannot create the recording {}", path.display()))?;
        let (records, incoming) = sync_channel(QUEUE_RECORDS);
        let start = Record::Start(Box::new(config.clone()));
        let thread = std::thread::Builder::new()
            .name("journal".to_owned())
            .spawn(move || {
                let mut out = BufWriter::new(file);
                out.write_all(MAGIC)?;
                write_record(&mut out, &start)?;
                for record in incoming {
                    write_record(&mut out, &record)?;
                }
                let file = out.into_inner().context("cannot write the recording")?;
                file.sync_all().context("cannot write the recording")
            })
            .context("cannot start the journal's thread")?;
        Ok(JournalWriter { records, thread })
    }

    /// Appends a tick. Fails if the file can't be written.
    pub fn record(&self, frame: &Frame, hash: &StateHash) -> Result<()> {
        self.records
            .send(Record::Tick(Box::new(frame.clone()), hash.clone()))
            .ok()
            .context("the recording could not be written; is the disk full?")
    }

    /// Waits until everything is on disk.
    pub fn finish(self) -> Result<()> {
        drop(self.records);
        match self.thread.join() {
            Ok(written) => written,
            Err(_) => bail!("the journal's thread has failed"),
        }
    }
}

fn write_record(out: &mut impl Write, record: &Record) -> Result<()> {
    let payload = codec::to_bytes(record);
    out.write_all(&(payload.len() as u32).to_le_bytes())?;
    out.write_all(&crc32fast::hash(&payload).to_le_bytes())?;
    out.write_all(&payload)
        .context("cannot write the recording")
}

/// Reads a recording.
pub struct JournalReader {
    input: BufReader<File>,
    pub config: WorldConfig,
}

/// What comes next in a recording.
pub enum Next {
    Tick(Box<Frame>, StateHash),
    End,
    /// The recording is incomplete or damaged; the reason is for people.
    BrokenOff(String),
}

impl JournalReader {
    /// Opens a recording and reads its world.
    pub fn open(path: &Path) -> Result<JournalReader> {
        let name = path.display();
        let file = File::open(path).with_context(|| format!("cannot open {name}"))?;
        let mut input = BufReader::new(file);
        let mut magic = [0; MAGIC.len()];
        if input.read_exact(&mut magic).is_err() || magic != *MAGIC {
            bail!("{name} is not a recording: it does not begin like one");
        }
        match read_record(&mut input) {
            Ok(Some(Record::Start(config))) => Ok(JournalReader {
                input,
                config: *config,
            }),
            Ok(_) => bail!("{name} does not begin with a world's configuration"),
            Err(reason) => bail!("{name} is damaged: {reason}"),
        }
    }

    /// Reads the next tick.
    pub fn next_tick(&mut self) -> Next {
        match read_record(&mut self.input) {
            Ok(Some(Record::Tick(frame, hash))) => Next::Tick(frame, hash),
            Ok(Some(Record::Start(_))) => Next::BrokenOff("a second beginning".to_owned()),
            Ok(None) => Next::End,
            Err(reason) => Next::BrokenOff(reason),
        }
    }
}

/// The next record; `None` at the file's end.
fn read_record(input: &mut impl Read) -> Result<Option<Record>, String> {
    let mut head = [0; 8];
    let mut got = 0;
    while got < head.len() {
        match input.read(&mut head[got..]) {
            Ok(0) if got == 0 => return Ok(None),
            Ok(0) => return Err("it ends inside a record".to_owned()),
            Ok(n) => got += n,
            Err(error) => return Err(error.to_string()),
        }
    }
    let [l0, l1, l2, l3, c0, c1, c2, c3] = head;
    let length = u32::from_le_bytes([l0, l1, l2, l3]);
    let checksum = u32::from_le_bytes([c0, c1, c2, c3]);
    let mut payload = vec![];
    // Memory grows with the bytes that are there, not with a damaged length.
    let read = input.take(u64::from(length)).read_to_end(&mut payload);
    read.map_err(|error| error.to_string())?;
    if payload.len() < length as usize {
        return Err("it ends inside a record".to_owned());
    }
    if crc32fast::hash(&payload) != checksum {
        return Err("a record's checksum is wrong".to_owned());
    }
    codec::from_bytes::<RECORD_BYTES_MAX, _>(&payload)
        .map(Some)
        .map_err(|error| error.to_string())
}

const MAGIC: &[u8; 8] = b"MYRIADJ4";
/// Ticks that may wait for the disk.
const QUEUE_RECORDS: usize = 4096;
const RECORD_BYTES_MAX: usize = 1 << 30;
