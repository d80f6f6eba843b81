//! A world in a folder: from its files to a world that runs.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use device::cpu::Workers;
use durability::characters::file::FILE;
use durability::characters::{self, ByAccount, CharacterStore};
use durability::differences::with_rate_of;
use durability::disk::Disk;
use durability::elsewhere::{Replica, Validity};
use durability::folder::DataFolder;
use durability::journal::{Journal, Settings};
use durability::mark;
use durability::recovered::{Progress, Recovered, Stored};
use durability::recovery;
use durability::role::Standing;
use durability::segment::SegmentName;
use durability::worker::{DurabilityOptions, DurabilityWorker};
use gpu_kernels::Backend;
use gpu_kernels::tick::VERSION;
use platform::waits::Wait;
use shared::WorldConfig;
use standby::feed::Feed;
use standby::lease::renewal::LeaseValidity;
use tick::tick_loop::PersistentWorld;

use super::options::Begin;
use super::{DataOptions, mutes};

/// A folder that is open, and the world in it.
pub struct Opened {
    pub folder: DataFolder,
    /// None in a new folder.
    stored: Option<Stored>,
}

/// Opens a folder. If there is a world in it, `world` becomes that one.
pub fn open(data: &DataOptions, world: &mut WorldConfig) -> Result<Opened> {
    let _wait = Wait::new("the disk of the world's folder", DISK_PATIENCE);
    let folder = DataFolder::open(&data.folder)?;
    Standing::read(folder.path())?.check_primary(folder.path())?;
    let disk = folder.disk();
    let stored = recovery::begin(&disk)?;
    match &stored {
        Some(_) if data.begin == Begin::New => bail!(
            "{} holds a world: start without --new, or give another folder",
            data.folder.display()
        ),
        None => check_may_begin(&folder, data)?,
        Some(_) => {}
    }
    if let Some(stored) = &stored {
        recovery::check_same(&stored.body.world, world)?;
        *world = with_rate_of(stored.body.world.clone(), world);
    }
    Ok(Opened { folder, stored })
}

/// Fails where a new world would take the place of one that is missing.
pub fn check_may_begin(folder: &DataFolder, data: &DataOptions) -> Result<()> {
    let name = data.folder.display();
    let names = folder.disk().names()?;
    let is_of_a_world = |name: &&String| {
        let names = [FILE, characters::MARKER, mark::FILE];
        names.contains(&name.as_str()) || SegmentName::parse(name).is_some()
    };
    if let Some(found) = names.iter().find(is_of_a_world) {
        bail!(
            "{name} has `{found}`, and no checkpoint: the world in it is not complete. Restore it \
             from a backup, or give another folder"
        );
    }
    match data.begin {
        Begin::Continue => bail!(
            "{name} holds no world: is its disk mounted, is it the right folder? A new world \
             begins there with --new, or after `myriad init {name}`"
        ),
        Begin::New | Begin::Either => Ok(()),
    }
}

/// Recovers the world of a folder on a backend.
pub fn recover(
    opened: Opened,
    data: &DataOptions,
    world: &WorldConfig,
    backend: &mut dyn Backend,
) -> Result<(DataFolder, Recovered)> {
    let Opened { folder, stored } = opened;
    let disk = folder.disk();
    let progress = &mut |progress: &Progress| (data.progress)(progress);
    let mut recovered = recovery::recover(&disk, stored, world, backend, progress)
        .with_context(|| format!("the world in {} can't continue", data.folder.display()))?;
    if recovered.progress.tick > 0 {
        (data.progress)(&recovered.progress);
    }
    // It may be another one than the world had.
    recovered.world = with_rate_of(recovered.world, world);
    let known = Standing::read(folder.path())?.epoch;
    recovered.epoch = recovered.epoch.max(known).restarted()?;
    Ok((folder, recovered))
}

/// Starts the durability of a world in the epoch that `recovered` has, on a part of so many
/// threads.
pub fn start_durability(
    folder: DataFolder,
    data: &DataOptions,
    mut recovered: Recovered,
    threads: usize,
    feed: Option<Arc<Feed>>,
    lease: Option<Arc<LeaseValidity>>,
) -> Result<PersistentWorld> {
    let disk = folder.disk();
    let settings = Settings {
        capacity: recovered.world.schema.world.capacity,
        epoch: recovered.epoch,
        tick_version: VERSION,
        segment_bytes: data.segment_bytes,
    };
    // They work for a moment of a tick, while the engine does.
    let workers = Workers::new((threads / 2).clamp(1, CODING_THREADS_MAX))?;
    let journal = Journal::new(disk, settings, recovered.start, workers);
    let tick_hz = recovered.world.schema.world.tick_hz;
    let options = DurabilityOptions {
        level: data.level,
        keeps_all: data.keeps_all,
        from: recovered.progress.from,
        checkpoint_ticks: u64::from(data.checkpoint_seconds) * u64::from(tick_hz),
        feed: feed.map(|feed| feed as Arc<dyn Replica>),
        lease: lease.map(|lease| lease as Arc<dyn Validity>),
    };
    let (store, characters) = match recovered.world.has_characters() {
        false => (None, ByAccount::new()),
        true => {
            let store = CharacterStore::open(
                &data.folder,
                data.characters.as_ref(),
                recovered.progress.from,
            )?;
            store.claim()?;
            let rows = recovered.load_characters(&store)?;
            (Some(Arc::new(store)), rows)
        }
    };
    let mutes = mutes::open(folder.path())?;
    let worker =
        DurabilityWorker::start(folder, journal, recovered.roster.clone(), options, store)?;
    Ok(PersistentWorld {
        worker,
        characters,
        mutes: Some(mutes),
        recovered: Box::new(recovered),
    })
}

/// Once the server stops.
const DISK_PATIENCE: Duration = Duration::from_secs(10);
/// More than these wait for memory.
const CODING_THREADS_MAX: usize = 8;
