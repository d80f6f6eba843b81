//! `myriad backup` and `myriad restore`.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::time::{Duration, SystemTime};

use anyhow::{Context, Result, bail};
use clap::Args;
use client_bot::cli::threads;
use client_bot::connect::resolve;
use durability::backup::{self, Retention, Shipped};
#[cfg(feature = "s3")]
use durability::bucket::Bucket;
use durability::characters::CharacterStore;
use durability::characters::file::FILE;
use durability::checkpoint;
use durability::disk::{Disk, Folder};
use durability::folder::{DataFolder, write};
use durability::recovered::Stored;
use host::version;
use platform::metrics::port::{self, Shown};
use platform::metrics::table;
use program::say;
use program::signals::Endings;
use tick::backend::BackendOptions;
use tracing::error;

use super::arguments::{moment, span};
use super::persistent::{recover, size_text};

#[derive(Debug, Args)]
pub struct BackupArguments {
    /// Folder of `myriad serve --data`, whose server may run
    folder: PathBuf,
    /// Folder or S3-compatible store of the backup, which it brings up to date
    #[arg(long, value_name = "DIR|s3://BUCKET/PREFIX")]
    to: String,
    #[command(flatten)]
    store: StoreArguments,
    /// Do it again after each such time, as in 10s, until Ctrl-C
    #[arg(long, value_name = "SPAN", value_parser = span)]
    every: Option<Duration>,
    /// With --every: serve Prometheus metrics of backups on http://ADDRESS/metrics
    #[arg(long, value_name = "ADDRESS", value_parser = resolve)]
    metrics: Option<SocketAddr>,
    /// Remove what is older, as in 30d
    #[arg(long, value_name = "SPAN", value_parser = span)]
    keep_for: Option<Duration>,
    /// Remove the oldest of more megabytes than that
    #[arg(long, value_name = "MB")]
    keep_megabytes: Option<u64>,
}

/// Makes a backup, once or again and again.
pub fn backup(arguments: &BackupArguments) -> Result<()> {
    let Some(every) = arguments.every else {
        return print(ship(arguments)?);
    };
    if let Some(address) = arguments.metrics {
        let shown = Shown {
            build: version::labels(),
            ..Shown::default()
        };
        shown.readiness.is_open.store(true, Ordering::Relaxed);
        let address = port::serve(address, shown)?;
        say!("metrics on http://{address}/metrics");
    }
    let endings = Endings::new();
    loop {
        // A disk that is away now may be back.
        match ship(arguments) {
            Ok(shipped) => {
                let millis = shipped.point.time;
                table::BACKUP_TIME.set(millis / 1000);
                table::BACKUP_BYTES.add(shipped.bytes);
                print(shipped)?;
            }
            Err(error) => {
                table::BACKUP_FAILURES.add(1);
                error!("the backup is not up to date: {error:#}");
            }
        }
        if endings.wait(every) {
            return Ok(());
        }
    }
}

/// How to reach a store of objects.
#[derive(Debug, Args)]
struct StoreArguments {
    /// Address of the S3-compatible store [default: AWS_ENDPOINT_URL, or that of AWS_REGION]
    #[arg(long, value_name = "URL")]
    s3_endpoint: Option<String>,
}

/// Where a backup is.
enum BackupLocation {
    Folder(PathBuf),
    #[cfg(feature = "s3")]
    Bucket(Bucket),
}

impl BackupLocation {
    fn parse(text: &str, store: &StoreArguments) -> Result<BackupLocation> {
        if !text.starts_with("s3://") {
            return Ok(BackupLocation::Folder(text.into()));
        }
        #[cfg(feature = "s3")]
        {
            Bucket::open(text, store.s3_endpoint.as_deref()).map(BackupLocation::Bucket)
        }
        #[cfg(not(feature = "s3"))]
        {
            let _ = &store.s3_endpoint;
            bail!("this build keeps backups in folders only: build with `--features s3`")
        }
    }
}

fn ship(arguments: &BackupArguments) -> Result<Shipped> {
    match BackupLocation::parse(&arguments.to, &arguments.store)? {
        BackupLocation::Folder(path) => ship_to(arguments, &backup::folder(&path)?),
        #[cfg(feature = "s3")]
        BackupLocation::Bucket(bucket) => ship_to(arguments, &bucket),
    }
}

fn ship_to(arguments: &BackupArguments, to: &impl Disk) -> Result<Shipped> {
    let now = SystemTime::now();
    let shipped = backup::ship(&arguments.folder, to, now)?;
    let retention = Retention {
        span: arguments.keep_for,
        bytes: arguments
            .keep_megabytes
            .map(|mb| mb.saturating_mul(1_000_000)),
    };
    backup::prune(to, retention, now)?;
    Ok(shipped)
}

fn print(shipped: Shipped) -> Result<()> {
    let (tick, bytes) = (shipped.point.tick, size_text(shipped.bytes));
    say!("the backup has the world before tick {tick}; {bytes} are new");
    Ok(())
}

#[derive(Debug, Args)]
pub struct RestoreArguments {
    /// Folder or S3-compatible store of `myriad backup`
    #[arg(value_name = "DIR|s3://BUCKET/PREFIX")]
    folder: String,
    #[command(flatten)]
    store: StoreArguments,
    /// Folder of the restored world
    #[arg(long, value_name = "DIR")]
    to: PathBuf,
    /// The world is as it was before this tick, or at this time, as in 2026-01-31T18:00:00Z [default:
    /// as late as possible]
    #[arg(long, value_name = "TICK|TIME")]
    at: Option<String>,
    #[command(flatten)]
    backend: BackendOptions,
    /// Threads of the cpu backend [default: all cores]
    #[arg(long, value_parser = threads)]
    threads: Option<usize>,
}

/// Restores a world from its backup. Each state on the way is compared with the recorded hash.
pub fn restore(arguments: &RestoreArguments) -> Result<()> {
    match BackupLocation::parse(&arguments.folder, &arguments.store)? {
        BackupLocation::Folder(path) => restore_from(arguments, &Folder::new(path)),
        #[cfg(feature = "s3")]
        BackupLocation::Bucket(bucket) => restore_from(arguments, &bucket),
    }
}

fn restore_from(arguments: &RestoreArguments, from: &impl Disk) -> Result<()> {
    let to = &arguments.to;
    let listed = backup::read(from)?;
    let listed = listed.with_context(|| format!("{} has no backup", arguments.folder))?;
    let last = listed.points.last().context("the backup is empty")?;
    let at = match &arguments.at {
        None => last.tick,
        Some(text) => match text.parse() {
            Ok(tick) => tick,
            Err(_) => {
                let time = moment(text).with_context(|| {
                    format!("expected a tick or a time like 2026-01-31T18:00:00Z, found {text:?}")
                })?;
                let tick = listed.tick_at(time);
                tick.with_context(|| format!("the backup does not have the world at {text}"))?
            }
        },
    };
    let folder = DataFolder::open(to)?;
    if !checkpoint::ticks(&folder.disk())?.is_empty() {
        bail!("{} holds a world", to.display());
    }
    let (mut recovered, end) = recover(from, Some(at), arguments.backend, arguments.threads)?;
    if end.tick != at {
        bail!("the backup ends before tick {}", end.tick);
    }
    backup::restore_identity(from, &folder.disk())?;
    if recovered.world.has_characters() {
        restore_characters(from, to, &mut recovered)?;
    }
    let Stored { head, body } = recovered.into_stored();
    let body = checkpoint::encode(&body);
    checkpoint::write(&folder.disk(), &head, &body).context("cannot write the world")?;
    say!("{} continues before tick {at}", to.display());
    Ok(())
}

fn restore_characters(
    from: &impl Disk,
    to: &Path,
    recovered: &mut durability::recovered::Recovered,
) -> Result<()> {
    let (checkpoint, tick) = (recovered.progress.from, recovered.start.tick);
    let bytes = backup::characters(from, checkpoint, tick)?;
    write(to, FILE, &bytes)?;
    let changed = std::mem::take(&mut recovered.roster.characters);
    let settlement = std::mem::take(&mut recovered.settlement);
    let store = CharacterStore::open(to, None, checkpoint)?;
    let changed = store.settled((&recovered.world, tick), changed, settlement)?;
    store.put(&recovered.world, &changed, tick)
}
