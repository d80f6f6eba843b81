//! `myriad migrate`: moves a persistent world to another world file.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use clap::Args;
use client_bot::cli::threads;
use client_bot::say;
use durability::characters::{CharacterStore, Texts};
use durability::checkpoint;
use durability::differences;
use durability::folder::DataFolder;
use durability::migration::{self, Migrated, MigrationOptions, populations, store};
use durability::recovered::Stored;
use durability::recovery::open;
use durability::role::Standing;
use tick::backend::BackendOptions;
use world_file::Overrides;

use super::arguments::load_world;
use super::database::DatabaseArguments;
use super::persistent::{recover, start};

#[derive(Debug, Args)]
pub struct MigrateArguments {
    /// Folder of `myriad serve --data`
    folder: PathBuf,
    /// The new world file
    #[arg(long, value_name = "FILE")]
    world: PathBuf,
    /// Print the changes, and change nothing
    #[arg(long)]
    dry_run: bool,
    /// Remove the entities of kinds that the file lacks
    #[arg(long)]
    remove_entities: bool,
    /// Name of an attribute, and its name in the new file, which has its values then
    #[arg(long, value_name = "OLD=NEW", value_parser = rename)]
    rename: Vec<(String, String)>,
    #[command(flatten)]
    database: DatabaseArguments,
    #[command(flatten)]
    backend: BackendOptions,
    /// Threads of the cpu backend [default: all cores]
    #[arg(long, value_parser = threads)]
    threads: Option<usize>,
}

/// Migrates a world, or prints the changes.
pub fn run(arguments: &MigrateArguments) -> Result<()> {
    let path = &arguments.folder;
    // A world that can't be read must not change.
    let database = arguments.database.database()?;
    let disk = open(path)?;
    // A running world can be read.
    let _locked = match arguments.dry_run {
        true => None,
        false => {
            let locked = DataFolder::open(path)?;
            Standing::read(path)?.check_primary(path)?;
            Some(locked)
        }
    };
    let given = load_world(&arguments.world, Overrides::default())?.world;
    let (recovered, _) = recover(&disk, None, arguments.backend, arguments.threads)
        .with_context(|| format!("the world in {} can't be migrated", path.display()))?;
    let different = differences::between(&recovered.world, &given);
    if different.is_empty() {
        say!("the world file equals the world: nothing is to be changed");
        return Ok(());
    }
    let from = recovered.progress.from;
    let Stored { mut head, body } = recovered.into_stored();
    let (before, characters) = (body.world.clone(), body.roster.characters.clone());
    let options = MigrationOptions {
        removes_entities: arguments.remove_entities,
        renames: arguments.rename.clone(),
    };
    let Migrated {
        mut body,
        changes,
        populations,
    } = migration::migrate(body, &given, &options)?;
    let tick = head.tick;
    say!("before tick {tick}:");
    changes.iter().for_each(|line| say!("  {line}"));
    say!("values of the world file:");
    different.iter().for_each(|line| say!("  {line}"));
    if arguments.dry_run {
        say!("nothing is changed");
        return Ok(());
    }
    if !populations.is_empty() {
        let mut backend = start(arguments.backend, &given, arguments.threads)?;
        let born = populations::bear(&mut body, &populations, &mut *backend)?;
        head.tick = body.snapshot.tick.0;
        say!("{born} entities are born");
    }
    let archive = keep_before(path, tick)?;
    if !before.persists.is_empty() {
        // The new world reads them by name.
        let store = CharacterStore::open(path, database.as_ref(), from)?;
        store.put(&before, &characters, head.tick)?;
        store.rename(&arguments.rename, head.tick)?;
    } else if !given.persists.is_empty() && database.is_none() {
        CharacterStore::replace(path, Some(&Texts::new()), head.tick)?;
    }
    let body = checkpoint::encode(&body);
    store::commit(&disk, &head, &body).context("cannot write the new checkpoint")?;
    say!(
        "{} continues before tick {} with {}",
        path.display(),
        head.tick,
        arguments.world.display()
    );
    say!("the world as it was is in {}", archive.display());
    Ok(())
}

/// Parses `OLD=NEW`.
fn rename(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((old, new)) if !old.is_empty() && !new.is_empty() => {
            Ok((old.to_owned(), new.to_owned()))
        }
        _ => Err("expected the names of an attribute, as in mana=magic".to_owned()),
    }
}

/// Copies the world into a folder within its own, which has its name once it is complete.
fn keep_before(path: &Path, tick: u64) -> Result<PathBuf> {
    let unfinished = path.join("unfinished-copy");
    let copied = (|| {
        let folder = DataFolder::open(&unfinished)?;
        store::archive(&open(path)?, &folder.disk())?;
        let names = (1..).map(|number: u32| match number {
            1 => path.join(format!("before-{tick}")),
            number => path.join(format!("before-{tick}-{number}")),
        });
        let mut free = names.filter(|name| !name.exists());
        let name = free.next().context("there is no free name")?;
        fs::rename(&unfinished, &name)?;
        fs::File::open(path)?.sync_all()?;
        anyhow::Ok(name)
    })();
    copied.with_context(|| format!("cannot copy the world to {}", unfinished.display()))
}
