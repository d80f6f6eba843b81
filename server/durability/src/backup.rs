//! Backups of a persistent world, which may run meanwhile: its files, as far as they are written,
//! in another folder. A world can be restored from there as it was before any tick since the
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
use super::folder::write;
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

/// Brings the backup in a folder up to date with a world. `now` is the time of day.
pub fn ship(from: &Path, to: &Path, now: SystemTime) -> Result<Shipped> {
    let source = recovery::open(from)?;
    platform::private::create_folder(to)
        .with_context(|| format!("cannot make the folder {}", to.display()))?;
    let mut bytes = 0;
    let key = fs::read(from.join(RESET_KEY)).context("the world has no reset.key yet")?;
    let mut backup = read(to)?.unwrap_or_default();
    let world = crc32c::crc32c(&key);
    if !backup.points.is_empty() && backup.world != world {
        bail!(
            "{} has a backup of another world: give another folder",
            to.display()
        );
    }
    backup.world = world;
    for name in IDENTITY {
        bytes += copy_changed(from, to, name)?;
    }
    let target = Folder::new(to);
    let mut newest = None;
    for tick in checkpoint::ticks(&source)? {
        let name = checkpoint::name_of(tick);
        if to.join(&name).exists() {
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
        match recovery::read(&target, tick) {
            Ok(_) => newest = Some(tick),
            Err(error) => {
                warn!("a checkpoint is not in the backup: {error:#}");
                target.remove(&name)?;
            }
        }
    }
    let checkpoint = newest.context("the world has no good checkpoint")?;
    // After the checkpoints, which they are not older than, and before the journal, which has all
    // changes up to their tick.
    if let Some((tick, characters)) = file::whole(from)? {
        bytes += put(to, &format!("{CHARACTERS}{tick:020}"), &characters)?;
    }
    for name in segment::segments(&source)? {
        bytes += ship_segment(&source, to, name)?;
    }
    let stored = recovery::read(&target, checkpoint)?;
    let settings = &stored.body.world.schema.world;
    backup.tick_hz = settings.tick_hz;
    let (head, capacity) = (stored.head, settings.capacity);
    let mut log = Log::open(&target, capacity, head.tick, Some(head.previous))?;
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
pub fn prune(folder: &Path, retention: Retention, now: SystemTime) -> Result<()> {
    let Some(mut backup) = read(folder)? else {
        return Ok(());
    };
    let disk = Folder::new(folder);
    if let Some(span) = retention.span {
        let oldest = millis(now).saturating_sub(millis(UNIX_EPOCH + span));
        let newest = backup.points.last().copied();
        backup
            .points
            .retain(|point| point.time >= oldest || Some(*point) == newest);
    }
    while let Some(limit) = retention.bytes
        && backup.points.len() > 1
        && needed_bytes(&disk, &backup.points)? > limit
    {
        backup.points.remove(0);
    }
    // What is removed is listed no more, whenever this is interrupted.
    save(folder, &backup)?;
    let needed = needed(&disk, &backup.points)?;
    for name in disk.names()?.iter().filter(|name| is_of_points(name)) {
        if !needed.contains(name) {
            disk.remove(name)?;
        }
    }
    Ok(disk.sync_names()?)
}

/// The contents of a backup; `None`: there is none in the folder.
pub fn read(folder: &Path) -> Result<Option<Backup>> {
    let path = folder.join(FILE);
    let text = match fs::read_to_string(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error).with_context(|| format!("cannot read {}", path.display())),
    };
    let backup = serde_json::from_str(&text);
    backup
        .map(Some)
        .with_context(|| format!("{} is no list of backups", path.display()))
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
pub fn restore_identity(from: &Path, to: &Path) -> Result<()> {
    for name in IDENTITY {
        copy_changed(from, to, name)?;
    }
    Ok(())
}

/// The file of characters with which a world continues that was recovered from a checkpoint up to
/// a tick: characters of a tick between these.
pub fn characters(folder: &Path, checkpoint: u64, tick: u64) -> Result<Vec<u8>> {
    let names = Folder::new(folder).names()?;
    let mut copies: Vec<u64> = names
        .iter()
        .filter_map(|name| of_characters(name))
        .collect();
    copies.sort_unstable();
    for copy in copies.into_iter().rev() {
        let bytes = fs::read(folder.join(format!("{CHARACTERS}{copy:020}")))?;
        match file::until(&bytes, tick) {
            Ok(Some((found, length))) if found >= checkpoint => return Ok(bytes[..length].to_vec()),
            Ok(_) => {}
            Err(damage) => warn!("characters before tick {copy}: {damage}"),
        }
    }
    bail!("the backup has no characters between ticks {checkpoint} and {tick}")
}

/// Copies the records of a segment. Those that are there stay the same.
fn ship_segment(source: &Folder, to: &Path, name: SegmentName) -> Result<u64> {
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
    let known = fs::metadata(to.join(&text)).map_or(0, |known| known.len());
    match known >= used as u64 {
        true => Ok(0),
        false => put(to, &text, &bytes[..used]),
    }
}

fn copy_changed(from: &Path, to: &Path, name: &str) -> Result<u64> {
    match fs::read(from.join(name)) {
        Ok(bytes) => put(to, name, &bytes),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(0),
        Err(error) => Err(error).with_context(|| format!("cannot read {name}")),
    }
}

/// Writes a file unless it is there, and returns the bytes that were written.
fn put(to: &Path, name: &str, bytes: &[u8]) -> Result<u64> {
    if fs::read(to.join(name)).is_ok_and(|known| known == bytes) {
        return Ok(0);
    }
    write(to, name, bytes)?;
    Ok(bytes.len() as u64)
}

fn save(folder: &Path, backup: &Backup) -> Result<()> {
    write(folder, FILE, &serde_json::to_vec(backup)?)
}

/// The files of ticks that these points need.
fn needed(disk: &Folder, points: &[Point]) -> Result<BTreeSet<String>> {
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
    for (index, name) in segments.iter().enumerate() {
        let next = segments.get(index + 1);
        if next.is_none_or(|next| next.first > from) {
            needed.insert(name.to_string());
        }
    }
    let names = disk.names()?;
    let characters = names.into_iter();
    needed.extend(characters.filter(|name| of_characters(name).is_some_and(|tick| tick >= from)));
    Ok(needed)
}

fn needed_bytes(disk: &Folder, points: &[Point]) -> Result<u64> {
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
