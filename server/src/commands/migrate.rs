//! `myriad migrate`: moves a persistent world to another world file.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use clap::Args;
use client_bot::cli::threads;
use durability::characters::character::Character;
use durability::characters::postgres::Database;
use durability::characters::settlement::Settlement;
use durability::characters::{CharacterStore, Texts};
use durability::checkpoint::{self, Head};
use durability::differences;
use durability::folder::DataFolder;
use durability::recovered::Stored;
use durability::recovery::open;
use durability::role::Standing;
use migration::{Migrated, MigrationOptions, populations, store};
use program::say;
use shared::WorldConfig;
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

/// A persistent world, and the world file to which it is moved.
pub struct Migration<'a> {
    pub folder: &'a Path,
    pub given: &'a WorldConfig,
    pub options: MigrationOptions,
    pub database: Option<Database>,
    pub backend: BackendOptions,
    pub threads: Option<usize>,
}

/// What a migration changes, before it is done.
pub struct Plan {
    head: Head,
    migrated: Migrated,
    /// The progress of the recovery, and the world and the changed characters before, with what its
    /// last tick has done to them.
    from: u64,
    before: (WorldConfig, BTreeMap<String, Character>, Settlement),
    /// The values of the world file that differ, a line each.
    different: Vec<String>,
}

impl Migration<'_> {
    /// Reads the world, whose server must not run on unless nothing is done. `None`: the file
    /// equals the world.
    pub fn plan(&self) -> Result<Option<Plan>> {
        let show = self.folder.display();
        let (recovered, _) = recover(&open(self.folder)?, None, self.backend, self.threads)
            .with_context(|| format!("the world in {show} can't be migrated"))?;
        let different = differences::between(&recovered.world, self.given);
        if different.is_empty() {
            return Ok(None);
        }
        let from = recovered.progress.from;
        let settlement = recovered.settlement.clone();
        let Stored { head, body } = recovered.into_stored();
        let changed = body.roster.characters.clone();
        let before = (body.world.clone(), changed, settlement);
        let migrated = migration::migrate(body, self.given, &self.options)?;
        Ok(Some(Plan {
            head,
            migrated,
            from,
            before,
            different,
        }))
    }

    /// Writes the world as it is planned. Returns the tick before which it continues, and the
    /// number of entities that are born.
    pub fn commit(&self, plan: Plan) -> Result<(u64, u64)> {
        let Plan {
            mut head,
            migrated:
                Migrated {
                    mut body,
                    populations,
                    ..
                },
            from,
            before: (before, changed, settlement),
            ..
        } = plan;
        let (last, mut born) = (head.tick, 0);
        if !populations.is_empty() {
            let mut backend = start(self.backend, self.given, self.threads)?;
            born = populations::bear(&mut body, &populations, &mut *backend)?;
            head.tick = body.snapshot.tick.0;
        }
        if before.has_characters() {
            // The new world reads them by name.
            let store = CharacterStore::open(self.folder, self.database.as_ref(), from)?;
            let changed = store.settled((&before, last), changed, settlement)?;
            store.put(&before, &changed, head.tick)?;
            store.rename(&self.options.renames, head.tick)?;
        } else if self.given.has_characters() && self.database.is_none() {
            CharacterStore::replace(self.folder, Some(&Texts::new()), head.tick)?;
        }
        let body = checkpoint::encode(&body);
        store::commit(&open(self.folder)?, &head, &body)
            .context("cannot write the new checkpoint")?;
        Ok((head.tick, born))
    }
}

/// Migrates a world, or prints the changes.
pub fn run(arguments: &MigrateArguments) -> Result<()> {
    let path = &arguments.folder;
    // A world that can't be read must not change.
    let database = arguments.database.database()?;
    open(path)?;
    // A running world can be read.
    let _locked = match arguments.dry_run {
        true => None,
        false => {
            let locked = DataFolder::open(path)?;
            Standing::read(path)?.check_primary(path)?;
            Some(locked)
        }
    };
    let migration = Migration {
        folder: path,
        given: &load_world(&arguments.world, Overrides::default())?.world,
        options: MigrationOptions {
            removes_entities: arguments.remove_entities,
            renames: arguments.rename.clone(),
        },
        database,
        backend: arguments.backend,
        threads: arguments.threads,
    };
    let Some(plan) = migration.plan()? else {
        say!("the world file equals the world: nothing is to be changed");
        return Ok(());
    };
    let tick = plan.head.tick;
    say!("before tick {tick}:");
    plan.migrated
        .changes
        .iter()
        .for_each(|line| say!("  {line}"));
    say!("values of the world file:");
    plan.different.iter().for_each(|line| say!("  {line}"));
    if arguments.dry_run {
        say!("nothing is changed");
        return Ok(());
    }
    let archive = keep_before(path, tick)?;
    let (tick, born) = migration.commit(plan)?;
    if born > 0 {
        say!("{born} entities are born");
    }
    say!(
        "{} continues before tick {tick} with {}",
        path.display(),
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
