//! `myriad export`: the entities of a persistent world, for analysts.

use std::io::BufWriter;
use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use clap::Args;
use client_bot::cli::threads;
use console::export::{Entities, json};
use durability::recovery::open;
use platform::private;
use program::console::files::finish;
use program::console::output::output;
use tick::backend::BackendOptions;

use super::persistent::recover;

#[derive(Debug, Args)]
pub struct ExportArguments {
    /// Folder of `myriad serve --data`
    folder: PathBuf,
    /// The world as it was before this tick [default: as it is]
    #[arg(long, value_name = "TICK")]
    at: Option<u64>,
    /// File to write: Parquet if it ends in .parquet, else lines of JSON [default: lines of
    /// JSON to standard output]
    #[arg(long, value_name = "FILE")]
    to: Option<PathBuf>,
    #[command(flatten)]
    backend: BackendOptions,
    /// Threads of the cpu backend [default: all cores]
    #[arg(long, value_parser = threads)]
    threads: Option<usize>,
}

/// Writes all entities.
pub fn run(arguments: &ExportArguments) -> Result<()> {
    let is_parquet = |path: &PathBuf| path.extension().is_some_and(|ending| ending == "parquet");
    let is_parquet = arguments.to.as_ref().is_some_and(is_parquet);
    if is_parquet && cfg!(not(feature = "parquet")) {
        bail!("this build exports JSON only: build with `--features parquet`");
    }
    let disk = open(&arguments.folder)?;
    let (recovered, end) = recover(&disk, arguments.at, arguments.backend, arguments.threads)?;
    if let Some(at) = arguments.at
        && end.tick != at
    {
        bail!("the journal ends before tick {}", end.tick);
    }
    let entities = Entities::of(&recovered);
    let Some(path) = &arguments.to else {
        let written = json::write(&entities, &mut BufWriter::new(output()));
        return written.context("cannot write to standard output");
    };
    let failed = || format!("cannot write {}", path.display());
    let mut file = BufWriter::new(private::create(path).with_context(failed)?);
    #[cfg(feature = "parquet")]
    if is_parquet {
        console::export::parquet::write(&entities, &mut file).with_context(failed)?;
        return finish(file).with_context(failed);
    }
    json::write(&entities, &mut file).with_context(failed)?;
    finish(file).with_context(failed)
}
