//! The characters of accounts, in a file of the world's folder or in a database. They may be as
//! old as the last checkpoint: the journal has the changes since then.
//!
//! | module | holds |
//! | --- | --- |
//! | [`mod@character`] | a character, by numbers of its world |
//! | [`names`] | the same by names, as it is stored |
//! | [`settlement`] | what a tick does to characters |
//! | [`mod@file`] | `characters` in the folder |
//! | [`postgres`] | tables of a PostgreSQL database, where the feature `postgres` is on |

pub mod character;
pub mod file;
pub mod names;
#[cfg_attr(not(feature = "postgres"), path = "characters/no_postgres.rs")]
pub mod postgres;
pub mod settlement;

use std::collections::{BTreeMap, HashMap};
use std::path::Path;

use accounts::identity::Account;
use anyhow::{Context, Result, anyhow, bail};
use serde_json::{Map, Value};
use shared::WorldConfig;
use shared::world::collection::member;
use shared::world::limits::THINGS;
use thiserror::Error;
use tracing::info;
use world_file::{Format, plain};

use self::character::Character;
use self::file::{FILE, FileStore};
use self::postgres::{Database, PostgresStore};
use self::settlement::Settlement;
use super::disk::{Disk, Folder};
use super::folder::write;

/// By account: its character as JSON.
pub type Texts = BTreeMap<String, String>;

/// By account: its character.
pub type ByAccount = HashMap<Account, Character>;

/// Where characters are kept: texts by account.
pub trait Store: Send + Sync {
    /// Claims the store: from now on the `put` of earlier servers fails.
    fn claim(&self) -> Result<()>;
    fn all(&self) -> Result<Texts>;
    /// Writes texts, all or none, so that characters are those before a tick. They can't be lost
    /// once this returns.
    fn put(&self, texts: &Texts, tick: u64) -> Result<()>;
    /// The tick before which characters are as the last `put` of any has left them.
    fn tick(&self) -> Result<u64>;
    /// The world continues with these characters at a tick, which may be an earlier one than
    /// [`Store::tick`]: what another server wrote later is not what this world will do.
    fn restart(&self, tick: u64) -> Result<()>;
    /// Forgets a character; false if there is none.
    fn remove(&self, account: &str) -> Result<bool>;
}

/// Another server has claimed the characters, so this one must end.
#[derive(Debug, Error)]
#[error("another server of {0} has begun to write its characters")]
pub struct Superseded(pub String);

/// The characters of a world.
pub struct CharacterStore(Box<dyn Store>);

impl CharacterStore {
    /// Those of another store.
    pub fn new(store: impl Store + 'static) -> CharacterStore {
        CharacterStore(Box::new(store))
    }

    /// Those of a folder, or of the database that has them. In a folder they must be at least
    /// those before the tick `at`, which the world has stored.
    pub fn open(folder: &Path, database: Option<&Database>, at: u64) -> Result<CharacterStore> {
        let (marker, file) = (folder.join(MARKER), folder.join(FILE));
        let Some(database) = database else {
            if marker.exists() {
                bail!(
                    "the characters of {} are in a database: give it with --characters",
                    folder.display()
                );
            }
            return Ok(CharacterStore(Box::new(FileStore::open(folder, at)?)));
        };
        let store = PostgresStore::open(database)?;
        if file.exists() && !marker.exists() {
            let count = copy(&FileStore::open(folder, at)?, &store)?;
            info!(count, "characters are copied into the database");
        }
        // If that were lost, the next start would copy older ones over those of the database.
        write(folder, MARKER, format!("{}\n", database.world).as_bytes())?;
        Ok(CharacterStore(Box::new(store)))
    }

    /// Replaces the characters of a folder by those before a tick. They can't be lost once this
    /// returns.
    pub fn replace(folder: &Path, texts: Option<&Texts>, tick: u64) -> Result<()> {
        let disk = Folder::new(folder);
        for name in disk.names()? {
            if [MARKER, FILE].contains(&name.as_str()) {
                disk.remove(&name)?;
            }
        }
        if let Some(texts) = texts {
            FileStore::write_all(folder, texts, tick)?;
        }
        Ok(disk.sync_names()?)
    }

    /// Claims the store: see [`Store::claim`].
    pub fn claim(&self) -> Result<()> {
        self.0.claim()
    }

    /// All characters for this world: attributes that are new have their defaults, and values out
    /// of bounds are clamped.
    pub fn load(&self, world: &WorldConfig) -> Result<ByAccount> {
        let mut characters = ByAccount::new();
        for (account, character) in self.all()? {
            let named = format!("the character of {account:?}");
            let account = Account::new(account).with_context(|| named)?;
            characters.insert(account, names::read(world, &character));
        }
        Ok(characters)
    }

    /// Writes characters, all or none, so that all are those before a tick. They can't be lost
    /// once this returns. Then it forgets those that have nothing.
    pub fn put(
        &self,
        world: &WorldConfig,
        characters: &BTreeMap<String, Character>,
        tick: u64,
    ) -> Result<()> {
        let (forgotten, kept): (Vec<_>, Vec<_>) = characters
            .iter()
            .partition(|(_, character)| character.is_nothing());
        let texts = kept.into_iter().map(|(account, character)| {
            let character = Value::Object(names::write(world, character));
            (account.clone(), character.to_string())
        });
        self.0.put(&texts.collect(), tick)?;
        for (account, _) in forgotten {
            self.0.remove(account)?;
        }
        Ok(())
    }

    /// The world continues with them at a tick: see [`Store::restart`].
    pub fn restart(&self, tick: u64) -> Result<()> {
        self.0.restart(tick)
    }

    /// Whether they have what all ticks before this one have done to them.
    pub fn is_settled(&self, tick: u64) -> Result<bool> {
        Ok(self.0.tick()? >= tick)
    }

    /// The characters that records or the last tick before `tick` have changed. None where all are
    /// written.
    pub fn settled(
        &self,
        (world, tick): (&WorldConfig, u64),
        mut changed: BTreeMap<String, Character>,
        settlement: Settlement,
    ) -> Result<BTreeMap<String, Character>> {
        if self.is_settled(tick)? {
            return Ok(BTreeMap::new());
        }
        let stored = self.all()?;
        settlement.apply(world, |account, change| {
            let known = || stored.get(account).map(|named| names::read(world, named));
            let character = changed.entry(account.to_owned());
            change(character.or_insert_with(|| known().unwrap_or_default()));
        });
        Ok(changed)
    }

    /// Adds the values of all characters by other names, old and new ones, so that they are those
    /// before a tick. The old names stay: the world before can still continue.
    pub fn rename(&self, renames: &[(String, String)], tick: u64) -> Result<()> {
        let mut changed = Texts::new();
        for (account, mut character) in self.all()? {
            let before = character.clone();
            rename(&mut character, renames);
            if character != before {
                changed.insert(account, Value::Object(character).to_string());
            }
        }
        match changed.is_empty() {
            true => Ok(()),
            false => self.0.put(&changed, tick),
        }
    }

    /// Forgets the character of an account; false if there is none.
    pub fn remove(&self, account: &str) -> Result<bool> {
        self.0.remove(account)
    }

    /// All characters, as a standby gets them.
    pub fn texts(&self) -> Result<Texts> {
        self.0.all()
    }

    /// All characters by account, as they were written.
    pub fn all(&self) -> Result<BTreeMap<String, Map<String, Value>>> {
        let read = |(account, text): (String, String)| {
            let character = serde_json::from_str(&text)
                .map_err(|error| anyhow!(plain(&error.to_string(), Format::Json)))
                .with_context(|| format!("the character of {account:?} can't be read"))?;
            Ok((account, character))
        };
        self.0.all()?.into_iter().map(read).collect()
    }
}

/// Adds the values of a character and of its things by other names.
fn rename(named: &mut Map<String, Value>, renames: &[(String, String)]) {
    let before = named.clone();
    for (old, new) in renames {
        if let Some(value) = before.get(old) {
            named.insert(new.clone(), value.clone());
        }
        // All values of an array or a map.
        for (name, value) in &before {
            if let Some((_, part)) = member(name).filter(|(whole, _)| whole == old) {
                named.insert(part.name(new), value.clone());
            }
        }
    }
    let things = named.get_mut(THINGS).and_then(Value::as_array_mut);
    for thing in things.into_iter().flatten() {
        if let Some(thing) = thing.as_object_mut() {
            rename(thing, renames);
        }
    }
}

/// Whether a folder's characters are in a database, and its file is not the newest.
pub fn are_elsewhere(folder: &Path) -> bool {
    folder.join(MARKER).exists()
}

/// Writes the characters that differ between a database and a file, and returns their number.
fn copy(from: &FileStore, to: &PostgresStore) -> Result<usize> {
    // Until then another server may write there.
    to.claim()?;
    let known = to.all()?;
    let value = |text: &String| serde_json::from_str::<Value>(text).ok();
    let mut texts = from.all()?;
    // The database writes them with other spaces.
    texts.retain(|account, text| {
        known
            .get(account)
            .is_none_or(|own| value(own) != value(text))
    });
    let tick = from.tick()?;
    to.put(&texts, tick)?;
    // Another server may have written later characters there, over which these are.
    to.restart(tick)?;
    Ok(texts.len())
}

/// In the folder of a world whose characters are in a database: under which name.
pub const MARKER: &str = "characters.world";

#[cfg(test)]
mod tests;
