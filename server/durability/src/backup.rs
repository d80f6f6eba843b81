//! Backups of a persistent world, which may run meanwhile: its files, as far as they are written,
//! in another folder or in a store of objects. A world can be restored from there as it was before any tick since the
//! oldest checkpoint of the backup.
//!
//! | file | holds |
//! | --- | --- |
//! | `checkpoint-TICK`, `journal-TICK` | those of the world; a segment has its records only |
//! | `characters-TICK` | the file of characters, as it was at that time |
//! | `certificate.pem`, `key.pem`, `reset.key`, `bans.json`, `mutes.json` | those of the world |
//! | `backups.json` | the world, and when the backup had come to which tick |

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result, bail};
use serde::{Deserialize, Serialize};
use tracing::warn;

use super::characters::file;
use super::checkpoint;
use super::disk::{Disk, Folder};
use super::log::Log;
use super::record;
use super::recovery;
use super::segment::{self, SegmentName};

/// The contents of a backup.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Backup {
    /// CRC-32C of the world's `reset.key`.
    world: u32,
    pub tick_hz: u32,
    /// Oldest first.
    pub points: Vec<Point>,
}

/// A moment at which the backup was brought up to date.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Point {
    /// Milliseconds since 1970.
    pub time: u64,
    /// The first tick whose record it lacks.
    pub tick: u64,
    /// Its newest checkpoint.
    pub checkpoint: u64,
}

/// What is kept; the newest point always is.
#[derive(Clone, Copy, Debug, Default)]
pub struct Retention {
    pub span: Option<Duration>,
    pub bytes: Option<u64>,
}

/// What one run has done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shipped {
    pub point: Point,
    pub bytes: u64,
}

/// The folder of a backup, which is made if there is none.
pub fn folder(path: &Path) -> Result<Folder> {
    platform::private::create_folder(path)
        .with_context(|| format!("cannot make the folder {}", path.display()))?;
    Ok(Folder::new(path))
}

/// Brings a backup up to date with a world. `now` is the time of day.
pub fn ship(from: &Path, to: &impl Disk, now: SystemTime) -> Result<Shipped> {
    let source = recovery::open(from)?;
    let mut bytes = 0;
    let key = fs::read(from.join(RESET_KEY)).context("the world has no reset.key yet")?;
    let mut backup = read(to)?.unwrap_or_default();
    let world = crc32c::crc32c(&key);
    if !backup.points.is_empty() && backup.world != world {
        bail!("the place has a backup of another world: give another one");
    }
    backup.world = world;
    for name in IDENTITY {
        bytes += copy_changed(&source, to, name)?;
    }
    let known = to.names()?;
    // What was removed from the backup stays removed.
    let since = backup.points.first().map_or(0, |first| first.checkpoint);
    let mut newest = None;
    let ticks = checkpoint::ticks(&source)?;
    for tick in ticks.into_iter().filter(|&tick| tick >= since) {
        let name = checkpoint::name_of(tick);
        if known.contains(&name) {
            newest = Some(tick);
            continue;
        }
        let whole = match source.read(&name) {
            Ok(whole) => whole,
            // A running server has removed it.
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            Err(error) => return Err(error).with_context(|| format!("cannot read {name}")),
        };
        bytes += put(to, &name, &whole)?;
        match recovery::read(to, tick) {
            Ok(_) => newest = Some(tick),
            Err(error) => {
                warn!("a checkpoint is not in the backup: {error:#}");
                to.remove(&name)?;
            }
        }
    }
    let checkpoint = newest.context("the world has no good checkpoint")?;
    // After the checkpoints, which they are not older than, and before the journal, which has all
    // changes up to their tick.
    if let Some((tick, characters)) = file::whole(from)? {
        bytes += put(to, &format!("{CHARACTERS}{tick:020}"), &characters)?;
    }
    let segments = segment::segments(&source)?;
    for name in segments_since(&segments, since) {
        bytes += ship_segment(&source, to, name)?;
    }
    let stored = recovery::read(to, checkpoint)?;
    let settings = &stored.body.world.schema.world;
    backup.tick_hz = settings.tick_hz;
    let (head, capacity) = (stored.head, settings.capacity);
    let mut log = Log::open(to, capacity, head.tick, Some(head.previous))?;
    while log.next_record()?.is_ok() {}
    let point = Point {
        time: millis(now),
        tick: log.next_tick(),
        checkpoint,
    };
    if backup.points.last().map(|last| last.tick) == Some(point.tick) {
        backup.points.pop();
    }
    backup.points.push(point);
    save(to, &backup)?;
    Ok(Shipped { point, bytes })
}

/// Removes what is older than the retention allows.
pub fn prune(disk: &impl Disk, retention: Retention, now: SystemTime) -> Result<()> {
    let Some(mut backup) = read(disk)? else {
        return Ok(());
    };
    if let Some(span) = retention.span {
        let oldest = millis(now).saturating_sub(millis(UNIX_EPOCH + span));
        let newest = backup.points.last().copied();
        backup
            .points
            .retain(|point| point.time >= oldest || Some(*point) == newest);
    }
    while let Some(limit) = retention.bytes
        && backup.points.len() > 1
        && needed_bytes(disk, &backup.points)? > limit
    {
        backup.points.remove(0);
    }
    // What is removed is listed no more, whenever this is interrupted.
    save(disk, &backup)?;
    let needed = needed(disk, &backup.points)?;
    for name in disk.names()?.iter().filter(|name| is_of_points(name)) {
        if !needed.contains(name) {
            disk.remove(name)?;
        }
    }
    Ok(disk.sync_names()?)
}

/// The contents of a backup; `None`: there is none in the place.
pub fn read(place: &impl Disk) -> Result<Option<Backup>> {
    let text = match place.read(FILE) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error).with_context(|| format!("cannot read {FILE}")),
    };
    let backup = serde_json::from_slice(&text);
    backup
        .map(Some)
        .with_context(|| format!("{FILE} is no list of backups"))
}

impl Backup {
    /// The tick before which the world was so at a time of day, as near as it is known: the rate
    /// of ticks is even between two points.
    pub fn tick_at(&self, time: SystemTime) -> Option<u64> {
        let time = millis(time);
        let later = self.points.iter().position(|point| point.time >= time)?;
        let point = self.points[later];
        let ticks = (point.time - time) * u64::from(self.tick_hz) / 1000;
        let earliest = match later.checked_sub(1) {
            Some(before) => self.points[before].tick,
            None => point.checkpoint,
        };
        let tick = point.tick.saturating_sub(ticks);
        // A server that stood still has run fewer.
        (later > 0 || tick >= earliest).then(|| tick.max(earliest))
    }
}

/// Copies a world's identity and lists to the folder of a restored one.
pub fn restore_identity(from: &impl Disk, to: &Folder) -> Result<()> {
    for name in IDENTITY {
        copy_changed(from, to, name)?;
    }
    Ok(())
}

/// The file of characters with which a world continues that was recovered from a checkpoint up to
/// a tick: characters of a tick between these.
pub fn characters(place: &impl Disk, checkpoint: u64, tick: u64) -> Result<Vec<u8>> {
    let names = place.names()?;
    let mut copies: Vec<u64> = names
        .iter()
        .filter_map(|name| of_characters(name))
        .collect();
    copies.sort_unstable();
    for copy in copies.into_iter().rev() {
        let bytes = place.read(&format!("{CHARACTERS}{copy:020}"))?;
        match file::until(&bytes, tick) {
            Ok(Some((found, length))) if found >= checkpoint => return Ok(bytes[..length].to_vec()),
            Ok(_) => {}
            Err(damage) => warn!("characters before tick {copy}: {damage}"),
        }
    }
    bail!("the backup has no characters between ticks {checkpoint} and {tick}")
}

/// Copies the records of a segment. Those that are there stay the same.
fn ship_segment(source: &Folder, to: &impl Disk, name: SegmentName) -> Result<u64> {
    let text = name.to_string();
    let bytes = match source.read(&text) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(0),
        Err(error) => return Err(error).with_context(|| format!("cannot read {text}")),
    };
    if segment::check_head(&bytes, name.first).is_none() {
        bail!("{text} has no head of a journal's file");
    }
    let mut used = segment::HEAD_BYTES;
    while let Ok(record) = record::check(&bytes[used..]) {
        used += record.length;
    }
    match length(to, &text)? >= used as u64 {
        true => Ok(0),
        false => put(to, &text, &bytes[..used]),
    }
}

/// The length of a file; 0 if there is none.
fn length(place: &impl Disk, name: &str) -> Result<u64> {
    match place.length(name) {
        Ok(length) => Ok(length),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(0),
        Err(error) => Err(error).with_context(|| format!("cannot look for {name}")),
    }
}

fn copy_changed(from: &impl Disk, to: &impl Disk, name: &str) -> Result<u64> {
    match from.read(name) {
        Ok(bytes) => put(to, name, &bytes),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(0),
        Err(error) => Err(error).with_context(|| format!("cannot read {name}")),
    }
}

/// Writes a file unless it is there, and returns the bytes that were written.
fn put(to: &impl Disk, name: &str, bytes: &[u8]) -> Result<u64> {
    let is_there =
        length(to, name)? == bytes.len() as u64 && to.read(name).is_ok_and(|known| known == bytes);
    if is_there {
        return Ok(0);
    }
    to.put(name, bytes)
        .with_context(|| format!("cannot write {name}"))?;
    Ok(bytes.len() as u64)
}

fn save(place: &impl Disk, backup: &Backup) -> Result<()> {
    let text = serde_json::to_vec(backup)?;
    place
        .put(FILE, &text)
        .with_context(|| format!("cannot write {FILE}"))
}

/// The files of ticks that these points need.
fn needed(disk: &impl Disk, points: &[Point]) -> Result<BTreeSet<String>> {
    let Some(first) = points.first() else {
        return Ok(BTreeSet::new());
    };
    let from = first.checkpoint;
    let mut needed = BTreeSet::new();
    for tick in checkpoint::ticks(disk)?
        .into_iter()
        .filter(|&tick| tick >= from)
    {
        needed.insert(checkpoint::name_of(tick));
    }
    let segments = segment::segments(disk)?;
    needed.extend(segments_since(&segments, from).map(|name| name.to_string()));
    let names = disk.names()?;
    let characters = names.into_iter();
    needed.extend(characters.filter(|name| of_characters(name).is_some_and(|tick| tick >= from)));
    Ok(needed)
}

/// The segments that have ticks from this one on.
fn segments_since(segments: &[SegmentName], from: u64) -> impl Iterator<Item = SegmentName> {
    let next = segments.iter().skip(1).map(|next| Some(next.first));
    let with_next = segments.iter().zip(next.chain([None]));
    let is_needed = move |next: Option<u64>| next.is_none_or(|next| next > from);
    with_next.filter_map(move |(name, next)| is_needed(next).then_some(*name))
}

fn needed_bytes(disk: &impl Disk, points: &[Point]) -> Result<u64> {
    let mut bytes = 0;
    for name in needed(disk, points)? {
        bytes += disk.length(&name)?;
    }
    Ok(bytes)
}

fn is_of_points(name: &str) -> bool {
    let is_of_world = name.starts_with("checkpoint-") || SegmentName::parse(name).is_some();
    is_of_world || of_characters(name).is_some()
}

fn of_characters(name: &str) -> Option<u64> {
    name.strip_prefix(CHARACTERS)?.parse().ok()
}

fn millis(time: SystemTime) -> u64 {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

const FILE: &str = "backups.json";
const RESET_KEY: &str = "reset.key";
/// Files that a restored world has from its backup.
const IDENTITY: [&str; 5] = [
    "key.pem",
    "certificate.pem",
    RESET_KEY,
    "bans.json",
    "mutes.json",
];
const CHARACTERS: &str = "characters-";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tick_of_a_time_lies_between_the_points_around_it() {
        let point = |time, tick| Point {
            time,
            tick,
            checkpoint: 50,
        };
        let backup = Backup {
            world: 0,
            tick_hz: 20,
            points: vec![point(10_000, 100), point(20_000, 280)],
        };
        let at = |millis| backup.tick_at(UNIX_EPOCH + Duration::from_millis(millis));
        assert_eq!(at(20_000), Some(280));
        assert_eq!(at(15_000), Some(180));
        assert_eq!(at(10_001), Some(100));
        assert_eq!(at(10_000), Some(100));
        assert_eq!(at(8_000), Some(60));
        assert_eq!(at(7_000), None);
        assert_eq!(at(20_001), None);
    }
}
