//! From a folder to a running world: the newest good checkpoint, and the frames since then,
//! in ticks that are not sent to clients.

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use gpu_kernels::Backend;
use gpu_kernels::tick::VERSION;
use platform::metrics::machine;
use shared::WorldConfig;
use tracing::{info, warn};

use super::ahead::{self, ReadEnd};
use super::checkpoint::{self, Body, CheckpointError, Head};
use super::differences;
use super::disk::{Disk, Folder};
use super::epoch::Epoch;
use super::journal::{SPARE, Start};
use super::log::{self, Decoder, End, Log};
use super::recovered::{Progress, Recovered, Stored};
use super::rerun::Run;
use super::roster::Roster;

/// Opens the folder of a persistent world.
pub fn open(path: &Path) -> Result<Folder> {
    let folder = Folder::new(path);
    if !path.is_dir() || checkpoint::ticks(&folder)?.is_empty() {
        bail!(
            "{} holds no world: expected the folder of `myriad serve --data`",
            path.display()
        );
    }
    Ok(folder)
}

/// The newest good checkpoint of a disk on which a server begins; `None`: it holds no world.
pub fn begin(disk: &impl Disk) -> Result<Option<Stored>> {
    if disk.names()?.iter().any(|name| name == SPARE) {
        disk.remove(SPARE)?;
    }
    newest(disk, None)
}

/// The part of a journal to replay, and callbacks.
pub struct Replay<'a> {
    pub backend: &'a mut dyn Backend,
    /// The tick before which to end; `None`: where the journal ends.
    pub until: Option<u64>,
    pub progress: &'a mut dyn FnMut(&Progress),
}

/// The newest good checkpoint at or before a tick; `None` if the folder has none at all.
pub fn newest(disk: &impl Disk, before: Option<u64>) -> Result<Option<Stored>> {
    let mut ticks = checkpoint::ticks(disk)?;
    let mut newest_error = None;
    ticks.retain(|&tick| before.is_none_or(|before| tick <= before));
    for &tick in ticks.iter().rev() {
        match read(disk, tick) {
            Ok(stored) => return Ok(Some(stored)),
            // The one before would begin with an earlier state.
            Err(error) if is_of_another_version(&error) => return Err(error),
            Err(error) => {
                warn!("{error:#}");
                newest_error.get_or_insert(error);
            }
        }
    }
    match newest_error {
        Some(error) => Err(error.context("no checkpoint is good")),
        None => Ok(None),
    }
}

fn is_of_another_version(error: &anyhow::Error) -> bool {
    matches!(
        error.downcast_ref(),
        Some(CheckpointError::Version { .. } | CheckpointError::Layout { .. })
    )
}

/// The checkpoint before a tick.
pub fn read(disk: &impl Disk, tick: u64) -> Result<Stored> {
    let (head, bytes) = checkpoint::read(disk, tick)?;
    let name = checkpoint::name_of(tick);
    let body = match checkpoint::decode(&bytes) {
        Ok(body) => body,
        Err(reason) => bail!(CheckpointError::Layout { name, reason }),
    };
    let world = body
        .world
        .restore(&name)
        .with_context(|| format!("{name} has a world that can't be one"))?;
    let body = Body {
        world,
        snapshot: body.snapshot,
        hash: body.hash,
        roster: body.roster,
        births: body.births,
        deaths: body.deaths,
    };
    Ok(Stored { head, body })
}

/// The state of a new world, as its first checkpoint.
pub fn genesis(world: &WorldConfig, backend: &mut dyn Backend) -> Result<Stored> {
    let body = Body {
        world: world.clone(),
        snapshot: backend.snapshot()?,
        hash: backend.state_hash()?,
        roster: Roster::default(),
        births: vec![],
        deaths: vec![],
    };
    let head = Head {
        tick: 0,
        epoch: Epoch::default(),
        tick_version: VERSION,
        previous: 0,
    };
    Ok(Stored { head, body })
}

/// Runs a backend to the end of a journal, and returns the end, to be cut there. Fails if a
/// state on the way differs from the recorded one.
pub fn replay<D: Disk>(disk: &D, stored: Stored, replay: Replay<'_>) -> Result<(Recovered, End)> {
    let (head, capacity) = (stored.head, stored.body.world.schema.world.capacity);
    let begun = Instant::now();
    let mut run = Run::begin(replay.backend, stored)?;
    let log = Log::open(disk, capacity, head.tick, Some(head.previous))?;
    let decoder = Decoder::new(capacity, machine::cores())?;
    let mut logged = begun;
    let mut progress = Progress {
        from: head.tick,
        ..Progress::default()
    };
    let reached = ahead::read(log, decoder, replay.until, |read| {
        if logged.elapsed() >= LOG_PERIOD {
            logged = Instant::now();
            progress.tick = read.head.tick;
            progress.time = begun.elapsed();
            (replay.progress)(&progress);
        }
        run.take(&read.head, read.entry)
    });
    let ReadEnd {
        end,
        previous,
        work,
    } = reached?;
    progress.tick = end.tick;
    progress.time = begun.elapsed();
    let start = Start {
        tick: end.tick,
        previous: previous.unwrap_or(head.previous),
    };
    let mut recovered = run.finish(start, progress)?;
    recovered.work = work;
    Ok((recovered, end))
}

/// Recovers the world of a disk on a backend, from its newest checkpoint; none: the world is new.
/// The journal is cut where it is torn.
pub fn recover<D: Disk>(
    disk: &D,
    stored: Option<Stored>,
    world: &WorldConfig,
    backend: &mut dyn Backend,
    progress: &mut dyn FnMut(&Progress),
) -> Result<Recovered> {
    let stored = match stored {
        Some(stored) => stored,
        None => {
            let stored = genesis(world, backend)?;
            let body = checkpoint::encode(&stored.body);
            checkpoint::write(disk, &stored.head, &body)
                .context("cannot write the first checkpoint")?;
            stored
        }
    };
    let until = None;
    let parts = Replay {
        backend,
        until,
        progress,
    };
    let (recovered, end) = replay(disk, stored, parts)?;
    report(&recovered, &end);
    log::cut(disk, &end).context("cannot cut the end of the journal")?;
    Ok(recovered)
}

/// Fails if a world file differs from the persistent world, and names the differences.
pub fn check_same(kept: &WorldConfig, given: &WorldConfig) -> Result<()> {
    let mut different = differences::between(kept, given);
    if different.is_empty() {
        return Ok(());
    }
    let more = different.len().saturating_sub(DIFFERENCES_SHOWN);
    different.truncate(DIFFERENCES_SHOWN);
    if more > 0 {
        different.push(format!("and {more} more"));
    }
    bail!(
        "the world file differs from the world in this folder: start with the file \
        that the world began with, or migrate the world to this one with `myriad migrate DIR \
         --world FILE`. It differs in\n  {}",
        different.join("\n  ")
    )
}

/// Logs the result of a recovery.
pub fn report(recovered: &Recovered, end: &End) {
    let Progress { from, tick, time } = recovered.progress;
    info!(from, tick, ?time, "the world is recovered");
    if let (Some(reason), Some((name, offset))) = (end.reason, end.torn) {
        info!(%reason, %name, offset, "the journal ends there");
    }
}

const DIFFERENCES_SHOWN: usize = 20;
const LOG_PERIOD: Duration = Duration::from_secs(1);

#[cfg(test)]
mod tests {
    use gpu_kernels::{CpuBackend, Frame};
    use script::logic::with_logic;
    use shared::Tick;
    use shared::world::logic::Text;

    use super::*;
    use crate::disk::Folder;

    const SIDES: &str = "[[kind]]\nname = 'player'\nattributes = [{ name = 'side', \
                         type = 'symbol', symbols = ['oak', 'elm'], audience = 'state' }]";

    fn stored(world: &WorldConfig) -> Body {
        let mut backend = CpuBackend::new(world, 1, None).expect("a backend");
        let body = genesis(world, &mut backend).expect("a state").body;
        let bytes = checkpoint::encode(&body);
        let read = checkpoint::decode(&bytes).expect("whole");
        let world = read.world.restore("test").expect("a valid world");
        assert_eq!(read.snapshot, body.snapshot);
        Body { world, ..body }
    }

    #[test]
    fn a_checkpoint_has_what_fields_depend_on_behind_everything_else() {
        let file = "[world]\nsize = [8, 1]\ncapacity = 8\n[[kind]]\nname = 'player'\npopulation = 3\n\
                    [[layer]]\nname = 'blocked'\ndrawing = '........'\n\
                    [[field]]\nname = 'all'\nkind = 'player'\nrefresh_ticks = 2";
        let world = world_file::parse(file, "test").expect("a valid world");
        let mut backend = CpuBackend::new(&world, 1, None).expect("a backend");
        let mut frame = Frame::new(Tick(0));
        frame.populate(&world);
        for tick in 0..4 {
            backend.tick(&frame).expect("a tick");
            frame = Frame::new(Tick(tick + 1));
        }
        let body = genesis(&world, &mut backend).expect("a state").body;
        assert!(!body.snapshot.fields[0].under_way.goals.is_empty());
        let bytes = checkpoint::encode(&body);
        let read = checkpoint::decode(&bytes).expect("whole");
        assert_eq!(read.snapshot, body.snapshot);
        for cut in 1..bytes.len() {
            // Without all of the fields, it is one of a world that has none, and is refused later.
            let read = checkpoint::decode(&bytes[..bytes.len() - cut]);
            assert!(read.is_err() || read.is_ok_and(|body| body.snapshot.fields.is_empty()));
        }
    }

    #[test]
    fn a_checkpoint_gives_the_world_with_the_scripts_and_numbers_that_it_had() {
        let world = world_file::parse(SIDES, "test").expect("a valid world");
        let read = stored(&world).world;
        assert_eq!(read, world);
        let mut logic = world.logic.clone();
        let text = "#[command(clients)]\nfn turn(me: Entity) { me.side = \"elm\"; }";
        logic.texts.push(Text::new("turn.rs", text));
        let changed = with_logic(&world, &logic).expect("it compiles");
        assert_ne!(changed, world);
        let read = stored(&changed).world;
        assert_eq!(read, changed);
        // Once more, from what was read.
        assert_eq!(stored(&read).world, changed);
    }

    #[test]
    fn a_checkpoint_of_another_version_is_named_so() {
        let name = format!("myriad-checkpoint-version-{}", std::process::id());
        let path = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&path).expect("a folder");
        let before = b"MYRIADC2 and what it had then";
        std::fs::write(path.join(checkpoint::name_of(7)), before).expect("a file");
        let error = newest(&Folder::new(&path), None).expect_err("no world");
        std::fs::remove_dir_all(&path).expect("the folder");
        let error = format!("{error:#}");
        let expected = "is a checkpoint of another version of Myriad: expected MYRIADC4, found \
                        MYRIADC2";
        assert!(error.contains(expected), "{error}");
    }
}
