//! At the standby: the folder. Checkpoint and records are the primary's, to the byte.

use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use durability::characters::file::FILE;
use durability::characters::{self, CharacterStore, Texts};
use durability::checkpoint;
use durability::disk::{Disk, Folder};
use durability::epoch::Epoch;
use durability::folder::DataFolder;
use durability::journal::SPARE;
use durability::log::{self, Decoder, Log};
use durability::mark::{self, Mark};
use durability::record::{self, Entry, RecordHead};
use durability::recovered::Stored;
use durability::recovery;
use durability::role::{Role, Standing};
use durability::segment::{self, SegmentName};
use gpu_kernels::Frame;
use platform::metrics::machine;
use platform::private;
use platform::waits::Wait;

use super::link::Has;

/// A folder that gets a primary's records.
pub struct Replica {
    folder: DataFolder,
    standing: Standing,
    records: Option<Records>,
    /// How often the folder began with another checkpoint. The thread that writes a checkpoint
    /// holds the lock, and gives up if the number has changed.
    begun: Arc<Mutex<u64>>,
}

/// Where the next record goes.
struct Records {
    next: u64,
    previous: u32,
    decoder: Decoder,
    segment: Option<File>,
    /// None before the first sync.
    mark: Option<Mark<File>>,
}

/// A record that was stored.
pub struct StoredRecord {
    pub head: RecordHead,
    pub checksum: u32,
    pub entry: Entry,
}

impl Replica {
    /// Opens a folder; `found` gets its contents, piece by piece.
    pub fn open(
        folder: DataFolder,
        begun: Arc<Mutex<u64>>,
        mut found: impl FnMut(Piece) -> Result<()>,
    ) -> Result<Replica> {
        let standing = Standing::read(folder.path())?;
        let mut replica = Replica {
            folder,
            standing,
            records: None,
            begun,
        };
        let disk = replica.disk();
        // Preallocated room of a killed primary.
        if disk.names()?.iter().any(|name| name == SPARE) {
            disk.remove(SPARE)?;
        }
        let Some(stored) = recovery::newest(&disk, None)? else {
            return Ok(replica);
        };
        let (head, capacity) = (stored.head, stored.body.world.schema.world.capacity);
        replica.standing.epoch = replica.standing.epoch.max(head.epoch);
        found(Piece::Begin(Box::new(stored), 0))?;
        let mut log = Log::open(&disk, capacity, head.tick, Some(head.previous))?;
        let end = loop {
            match log.read()? {
                Ok(read) => {
                    let epoch = &mut replica.standing.epoch;
                    *epoch = read.head.epoch.max(*epoch);
                    let (head, checksum, entry) = (read.head, read.checksum, read.entry);
                    found(Piece::Record(StoredRecord {
                        head,
                        checksum,
                        entry,
                    }))?;
                }
                Err(end) => break end,
            }
        };
        log::cut(&disk, &end).context("cannot cut the end of the journal")?;
        let last = segment::segments(&disk)?.pop();
        let segment = match last {
            Some(name) => Some(replica.append_to(&name)?),
            None => None,
        };
        replica.records = Some(Records {
            next: end.tick,
            previous: log.previous().unwrap_or(head.previous),
            decoder: log.into_decoder(machine::cores())?,
            segment,
            mark: None,
        });
        Ok(replica)
    }

    pub fn disk(&self) -> Folder {
        self.folder.disk()
    }

    pub fn folder(&self) -> &DataFolder {
        &self.folder
    }

    pub fn into_folder(self) -> DataFolder {
        self.folder
    }

    /// The highest epoch that was seen.
    pub fn epoch(&self) -> Epoch {
        self.standing.epoch
    }

    /// Whether it needs more than later records: a standby has a file of characters, and a
    /// folder that was a primary's may have none.
    pub fn lacks_characters(&self) -> bool {
        characters::are_elsewhere(self.folder.path())
    }

    /// Where the records end.
    pub fn has(&self) -> Option<Has> {
        let records = self.records.as_ref()?;
        let (next, previous) = (records.next, records.previous);
        Some(Has { next, previous })
    }

    /// From now on the folder is a standby's, of a primary of this epoch. `begins` says whether
    /// its own records will be replaced.
    pub fn follow(&mut self, epoch: Epoch, begins: bool) -> Result<()> {
        let Standing { role, epoch: known } = self.standing;
        if epoch < known {
            bail!("the primary is of epoch {epoch}, and epoch {known} was seen: it is deposed");
        }
        if begins && role != Role::Standby && self.records.is_some() {
            if role == Role::Primary && epoch.term() == known.term() {
                bail!(
                    "{} holds a world of its own, which is not an earlier state of the \
                     primary's: move it away",
                    self.folder.path().display()
                );
            }
            self.set_aside(known)?;
        }
        let standing = Standing {
            role: Role::Standby,
            epoch,
        };
        if standing != self.standing {
            standing.write(self.folder.path())?;
            self.standing = standing;
        }
        Ok(())
    }

    /// Begins with a checkpoint and the characters of accounts, if the world has some, in place of
    /// the folder's contents.
    pub fn begin(&mut self, bytes: &[u8], texts: Option<&Texts>) -> Result<Piece> {
        let begun = self.begun.clone();
        let mut begun = begun.lock().unwrap_or_else(PoisonError::into_inner);
        *begun += 1;
        self.records = None;
        let path = self.folder.path();
        let new = path.join("new-checkpoint");
        let mut file = private::create(&new)?;
        file.write_all(bytes)?;
        file.sync_all()?;
        let disk = self.disk();
        for name in disk.names()?.iter().filter(|name| is_of_world(name)) {
            disk.remove(name)?;
        }
        // No world is there with the characters of another one.
        disk.sync_names()?;
        let tick = tick_of(bytes).context("the checkpoint has no head")?;
        CharacterStore::replace(path, texts, tick)?;
        fs::rename(&new, path.join(checkpoint::name_of(tick)))?;
        disk.sync_names()?;
        let stored = recovery::read(&disk, tick)?;
        self.records = Some(Records {
            next: tick,
            previous: stored.head.previous,
            decoder: Decoder::new(stored.body.world.schema.world.capacity, machine::cores())?,
            segment: None,
            mark: None,
        });
        Ok(Piece::Begin(Box::new(stored), *begun))
    }

    /// Stores the next record. It may be lost until [`Replica::sync`].
    pub fn append(&mut self, bytes: &[u8], begins_segment: bool) -> Result<StoredRecord> {
        let known = self.standing.epoch;
        let Some(records) = &mut self.records else {
            bail!("a record comes before a checkpoint");
        };
        let checked = record::check(bytes)?;
        let (head, checksum) = (checked.head, checked.checksum);
        if (head.tick, head.previous, checked.length)
            != (records.next, records.previous, bytes.len())
        {
            bail!(
                "a record of tick {} comes where that of tick {} is next",
                head.tick,
                records.next
            );
        }
        if head.epoch > known {
            bail!(
                "a record is of epoch {}, above that of its primary",
                head.epoch
            );
        }
        if begins_segment {
            records.decoder.begin_segment();
            let name = SegmentName {
                first: head.tick,
                number: 1,
            };
            let path = self.folder.path().join(name.to_string());
            // The file there was not acknowledged: it has no record.
            let mut file = private::create(&path)?;
            file.write_all(&segment::head(head.tick, head.previous))?;
            if let Some(before) = records.segment.replace(file) {
                before.sync_data()?;
            }
            self.folder.disk().sync_names()?;
        }
        let Some(segment) = &mut records.segment else {
            bail!("the record of tick {} belongs to no segment", head.tick);
        };
        let entry = records.decoder.decode_checked(&checked, Frame::default())?;
        segment.write_all(bytes)?;
        records.next += 1;
        records.previous = checksum;
        Ok(StoredRecord {
            head,
            checksum,
            entry,
        })
    }

    /// Returns once no record can be lost.
    pub fn sync(&mut self) -> Result<()> {
        let disk = self.disk();
        let Some(records) = &mut self.records else {
            return Ok(());
        };
        if let Some(file) = &records.segment {
            let _wait = Wait::new("the disk to sync the standby's records", SYNC_PATIENCE);
            file.sync_data().context("the standby's disk has failed")?;
            let noted = match &mut records.mark {
                Some(mark) => mark.note(records.next),
                None => Mark::begin(&disk, records.next).map(|mark| records.mark = Some(mark)),
            };
            // An older note is still true.
            if noted.is_err() {
                records.mark = None;
            }
        }
        Ok(())
    }

    fn append_to(&self, name: &SegmentName) -> Result<File> {
        let path = self.folder.path().join(name.to_string());
        let file = OpenOptions::new().append(true).open(&path);
        file.with_context(|| format!("cannot append to {}", path.display()))
    }

    /// Sets aside the records that only a deposed server has.
    fn set_aside(&self, epoch: Epoch) -> Result<()> {
        let aside = self.folder.path().join(format!("before-{epoch}"));
        private::create_folder(&aside)?;
        let is_of_it = |name: &&String| {
            is_of_world(name) || [characters::MARKER, FILE].contains(&name.as_str())
        };
        for name in self.disk().names()?.iter().filter(is_of_it) {
            fs::rename(self.folder.path().join(name), aside.join(name))?;
        }
        self.disk().sync_names()?;
        self.remove_old_asides()
    }

    /// Removes what was set aside long ago: a pair whose servers change their roles makes more.
    fn remove_old_asides(&self) -> Result<()> {
        let of_epoch = |name: &String| {
            let (term, start) = name.strip_prefix("before-")?.split_once('.')?;
            Some((term.parse::<u32>().ok()?, start.parse::<u32>().ok()?))
        };
        let mut asides: Vec<String> = self.disk().names()?;
        asides.retain(|name| of_epoch(name).is_some());
        asides.sort_by_key(|name| std::cmp::Reverse(of_epoch(name)));
        for name in asides.iter().skip(ASIDES_KEPT) {
            fs::remove_dir_all(self.folder.path().join(name))?;
        }
        Ok(())
    }
}

/// A piece of a folder's contents.
pub enum Piece {
    /// A checkpoint, and how many the folder had begun with by then.
    Begin(Box<Stored>, u64),
    Record(StoredRecord),
}

fn is_of_world(name: &str) -> bool {
    let prefixes = ["checkpoint-", "new-checkpoint-", "journal-"];
    name == mark::FILE || prefixes.iter().any(|prefix| name.starts_with(prefix))
}

/// The tick of a checkpoint, before it is checked.
fn tick_of(bytes: &[u8]) -> Option<u64> {
    Some(u64::from_le_bytes(*bytes.get(8..)?.first_chunk()?))
}

/// Records that only deposed servers had: of so many.
const ASIDES_KEPT: usize = 3;
/// Once the standby stops.
const SYNC_PATIENCE: Duration = Duration::from_secs(10);
