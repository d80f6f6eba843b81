//! A recording, read tick by tick.

use std::fs::File;
use std::io::{self, BufReader, Read, Seek, SeekFrom};
use std::path::Path;

use anyhow::{Context, Result, bail};
use serde::de::DeserializeOwned;
use shared::WorldConfig;
use shared::wire::codec;
use world_file::StoredWorld;

use super::{MAGIC, Record, RecordedTick, WORLD_BYTES_MAX, tick_bytes_max};

/// Reads a recording.
pub struct RecordingReader<R = BufReader<File>> {
    input: R,
    pub config: WorldConfig,
    tick_bytes_max: usize,
    /// Where the next record begins, in bytes.
    offset: u64,
}

/// The result of reading a tick.
pub enum NextTick {
    Tick(RecordedTick),
    End,
    /// The recording is incomplete or damaged; the place and the reason are for people.
    BrokenOff(String),
}

impl RecordingReader {
    /// Opens a recording and reads its world.
    pub fn open(path: &Path) -> Result<RecordingReader> {
        let name = path.display().to_string();
        let file = File::open(path).with_context(|| format!("cannot open {name}"))?;
        RecordingReader::read(BufReader::new(file), &name)
    }
}

impl<R: Read> RecordingReader<R> {
    /// Reads the world of a recording, whose `name` is for errors.
    pub fn read(mut input: R, name: &str) -> Result<RecordingReader<R>> {
        let mut magic = [0; MAGIC.len()];
        if input.read_exact(&mut magic).is_err() || magic != *MAGIC {
            bail!("{name} is not a recording of this version: it does not begin like one");
        }
        let mut offset = MAGIC.len() as u64;
        let start = read_record::<StoredWorld>(&mut input, &mut offset, WORLD_BYTES_MAX);
        let world = match start {
            Ok(Some(Record::Start(world))) => world,
            Ok(_) => bail!("{name} does not begin with a world's configuration"),
            Err(reason) => bail!("{name} is damaged: {reason}"),
        };
        let config = world
            .restore(name)
            .with_context(|| format!("{name} has a world that can't be one"))?;
        Ok(RecordingReader {
            input,
            tick_bytes_max: tick_bytes_max(&config),
            config,
            offset,
        })
    }

    /// Reads the next tick.
    pub fn next_tick(&mut self) -> NextTick {
        let begin = self.offset;
        let record = read_record::<NoWorld>(&mut self.input, &mut self.offset, self.tick_bytes_max);
        match record {
            Ok(Some(Record::Tick(tick))) => NextTick::Tick(tick),
            Ok(Some(Record::Start(_))) => {
                NextTick::BrokenOff(format!("byte {begin}: a second world"))
            }
            Ok(None) => NextTick::End,
            Err(reason) => NextTick::BrokenOff(reason),
        }
    }
}

impl<R: Read> RecordingReader<R> {
    /// Where the next record begins, in bytes.
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// Passes the next record, of which only the checksum is compared. False at the end; an
    /// error is the place and the reason, for people.
    pub fn pass_tick(&mut self) -> Result<bool, String> {
        let begin = self.offset;
        let payload = read_payload(&mut self.input, self.tick_bytes_max)
            .map_err(|reason| format!("byte {begin}: {reason}"))?;
        if let Some(payload) = &payload {
            self.offset += (HEAD_BYTES + payload.len()) as u64;
        }
        Ok(payload.is_some())
    }
}

impl<R: Read + Seek> RecordingReader<R> {
    /// Goes to where a record begins.
    pub fn seek(&mut self, offset: u64) -> io::Result<()> {
        self.input.seek(SeekFrom::Start(offset))?;
        self.offset = offset;
        Ok(())
    }
}

/// A world behind the first record, which is skipped.
#[derive(Debug, serde::Deserialize)]
struct NoWorld;

/// The next record; `None` at the file's end. `offset` moves behind it. An error names the byte
/// at which the record begins.
fn read_record<W: DeserializeOwned>(
    input: &mut impl Read,
    offset: &mut u64,
    bytes_max: usize,
) -> Result<Option<Record<W>>, String> {
    let begin = *offset;
    let record = read_payload(input, bytes_max).and_then(|payload| {
        let Some(payload) = payload else {
            return Ok(None);
        };
        *offset += (HEAD_BYTES + payload.len()) as u64;
        codec::from_bytes::<PAYLOAD_BYTES_MAX, _>(&payload)
            .map(Some)
            .map_err(|error| error.to_string())
    });
    record.map_err(|reason| format!("byte {begin}: {reason}"))
}

fn read_payload(input: &mut impl Read, bytes_max: usize) -> Result<Option<Vec<u8>>, String> {
    let mut head = vec![];
    let read = input.take(HEAD_BYTES as u64).read_to_end(&mut head);
    read.map_err(|error| error.to_string())?;
    let &[l0, l1, l2, l3, c0, c1, c2, c3] = &head[..] else {
        return match head.len() {
            0 => Ok(None),
            _ => Err(CUT_SHORT.to_owned()),
        };
    };
    let length = u32::from_le_bytes([l0, l1, l2, l3]) as usize;
    let checksum = u32::from_le_bytes([c0, c1, c2, c3]);
    if length > bytes_max {
        return Err(format!(
            "a record claims {length} bytes, where at most {bytes_max} are allowed"
        ));
    }
    let mut payload = vec![];
    // Memory grows with the bytes that are there, not with a damaged length.
    let read = input.take(length as u64).read_to_end(&mut payload);
    read.map_err(|error| error.to_string())?;
    if payload.len() < length {
        return Err(CUT_SHORT.to_owned());
    }
    if crc32fast::hash(&payload) != checksum {
        return Err("a record's checksum is wrong".to_owned());
    }
    Ok(Some(payload))
}

const CUT_SHORT: &str = "it ends inside a record";
const HEAD_BYTES: usize = 8;
/// A payload's length has 32 bits.
const PAYLOAD_BYTES_MAX: usize = u32::MAX as usize;
