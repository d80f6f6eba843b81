//! `myriad characters`: the characters of accounts.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{BufRead, BufReader, Read};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use accounts::identity::Account;
use anyhow::{Context, Result, anyhow, bail};
use clap::{Args, Subcommand};
use durability::characters::character::Character;
use durability::characters::postgres::Database;
use durability::characters::{CharacterStore, Texts, names};
use durability::folder::DataFolder;
use durability::log::Log;
use durability::recovery;
use durability::role::Standing;
use platform::audit::{self, Entry};
use program::{note, say};
use serde_json::{Map, Value, json};
use shared::WorldConfig;
use world_file::{Format, plain};

use super::database::DatabaseArguments;

#[derive(Debug, Args)]
pub struct CharactersArguments {
    #[command(subcommand)]
    action: Action,
    #[command(flatten)]
    database: DatabaseArguments,
    /// Append changes to this file, the audit log of the server
    #[arg(long, value_name = "FILE", global = true)]
    audit: Option<PathBuf>,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// List the accounts with a character
    List {
        /// Folder of `myriad serve --data`
        folder: PathBuf,
    },
    /// Show the character of an account, as JSON
    Show {
        /// Folder of `myriad serve --data`
        folder: PathBuf,
        account: String,
    },
    /// Change the character of an account
    Set {
        /// Folder of `myriad serve --data`
        folder: PathBuf,
        account: String,
        /// Values as ATTRIBUTE=JSON
        #[arg(required = true, value_name = "ATTRIBUTE=VALUE")]
        values: Vec<String>,
    },
    /// Print the characters of accounts, a line of JSON for each
    Export {
        /// Folder of `myriad serve --data`
        folder: PathBuf,
        /// Of this account only
        account: Option<String>,
    },
    /// Forget the character of an account
    Delete {
        /// Folder of `myriad serve --data`
        folder: PathBuf,
        account: String,
    },
    /// Read characters from a file as `export` prints it: all lines, or none. A file of
    /// characters that is missing or damaged begins anew
    Import {
        /// Folder of `myriad serve --data`
        folder: PathBuf,
        file: PathBuf,
    },
}

/// Runs the command while no server uses the folder.
pub fn run(arguments: &CharactersArguments) -> Result<()> {
    let database = arguments.database.database()?;
    let open = |folder: &Path| Characters::open(folder, database.as_ref(), false);
    match &arguments.action {
        Action::List { folder } => {
            let characters = open(folder)?;
            characters
                .all()?
                .keys()
                .for_each(|account| say!("{account}"));
        }
        Action::Show { folder, account } => {
            let characters = open(folder)?;
            say!("{}", Value::Object(characters.named(account)?));
        }
        Action::Set {
            folder,
            account,
            values,
        } => {
            let characters = open(folder)?;
            let values = values
                .iter()
                .map(|text| parse(text))
                .collect::<Result<_>>()?;
            let changed = characters.changed(account, &values)?;
            let request = json!({ "set": values });
            arguments.audited(&request, characters.tick, || {
                characters.put([(account.clone(), changed)].into())?;
                Ok(vec![account.clone()])
            })?;
            say!("{}", Value::Object(characters.named(account)?));
        }
        Action::Export { folder, account } => {
            let characters = open(folder)?;
            let all: BTreeMap<_, _> = match account {
                Some(account) => [(account.clone(), characters.named(account)?)].into(),
                None => characters.all_named()?,
            };
            for (account, character) in all {
                say!("{}", json!({ "account": account, "character": character }));
            }
        }
        Action::Delete { folder, account } => {
            let characters = open(folder)?;
            characters.named(account)?;
            arguments.audited(&json!("delete"), characters.tick, || {
                characters.store.remove(account)?;
                Ok(vec![account.clone()])
            })?;
            say!(
                "the character of {account} is gone from the world; the journal, recordings and \
                  backups may still have it"
            );
        }
        Action::Import { folder, file } => {
            let characters = Characters::open(folder, database.as_ref(), true)?;
            let request = json!({ "import": file });
            let count = arguments.audited(&request, characters.tick, || characters.import(file))?;
            say!("{count} characters are read");
        }
    }
    Ok(())
}

impl CharactersArguments {
    /// Makes a change, which returns the accounts, and notes it for each of them. Returns their
    /// number.
    fn audited(
        &self,
        request: &Value,
        tick: u64,
        change: impl FnOnce() -> Result<Vec<String>>,
    ) -> Result<usize> {
        // Before anything is changed.
        if let Some(path) = &self.audit {
            audit::append(path, [])?;
        }
        let accounts = change()?;
        if let Some(path) = &self.audit {
            // This process.
            let user = fs::metadata("/proc/self").map(|found| found.uid());
            let by = user.map_or_else(|_| "a user".to_owned(), |user| format!("user {user}"));
            let entry = |account| Entry {
                event: "edit",
                tick: Some(tick),
                account: Some(account),
                by: Some(&by),
                request: Some(request.clone()),
                ..Entry::default()
            };
            audit::append(path, accounts.iter().map(String::as_str).map(entry))?;
        }
        Ok(accounts.len())
    }
}

/// The characters of a world that no server uses.
struct Characters {
    world: WorldConfig,
    store: CharacterStore,
    /// The tick before which they are so.
    tick: u64,
    _locked: DataFolder,
}

impl Characters {
    /// Opens those of a folder. `begins_anew`: also where its file is missing or damaged.
    fn open(folder: &Path, database: Option<&Database>, begins_anew: bool) -> Result<Characters> {
        let disk = recovery::open(folder)?;
        let locked = DataFolder::open(folder)?;
        // Opening those of a copy for a database would copy them into it.
        Standing::read(folder)?.check_primary(folder)?;
        let stored = recovery::newest(&disk, None)?.context("there is no world in it")?;
        let (world, head) = (stored.body.world, stored.head);
        let capacity = world.schema.world.capacity;
        let mut log = Log::open(&disk, capacity, head.tick, Some(head.previous))?;
        if log.read()?.is_ok() {
            bail!(
                "the server of {} did not stop properly, so its journal may have changes: start and \
                 stop it once",
                folder.display()
            );
        }
        let store = match CharacterStore::open(folder, database, head.tick) {
            Err(error) if begins_anew && database.is_none() => {
                note!("beginning with an empty file: {error:#}");
                CharacterStore::replace(folder, Some(&Texts::new()), head.tick)?;
                CharacterStore::open(folder, database, head.tick)?
            }
            opened => opened?,
        };
        Ok(Characters {
            world,
            store,
            tick: head.tick,
            _locked: locked,
        })
    }

    fn all(&self) -> Result<BTreeMap<String, Character>> {
        let all = self.store.all()?.into_iter();
        let read = |(account, character): (String, Map<String, Value>)| {
            (account, names::read(&self.world, &character))
        };
        Ok(all.map(read).collect())
    }

    fn all_named(&self) -> Result<BTreeMap<String, Map<String, Value>>> {
        let named = |(account, character): (String, Character)| {
            (account, names::write(&self.world, &character))
        };
        Ok(self.all()?.into_iter().map(named).collect())
    }

    fn named(&self, account: &str) -> Result<Map<String, Value>> {
        match self.all()?.get(account) {
            Some(character) => Ok(names::write(&self.world, character)),
            None => bail!("the account {account:?} has no character"),
        }
    }

    /// The character of an account with changed values; without one, the others are at their defaults.
    fn changed(&self, account: &str, values: &Map<String, Value>) -> Result<Character> {
        Account::new(account)?;
        let known = self.all()?.remove(account);
        let mut character = known.unwrap_or_else(|| Character::new(&self.world));
        names::change(&self.world, &mut character, values)?;
        Ok(character)
    }

    fn put(&self, characters: BTreeMap<String, Character>) -> Result<()> {
        self.store.put(&self.world, &characters, self.tick)
    }

    /// Returns the accounts.
    fn import(&self, file: &Path) -> Result<Vec<String>> {
        let name = file.display();
        let text = File::open(file).with_context(|| format!("cannot read {name}"))?;
        let mut text = BufReader::new(text);
        let mut characters = BTreeMap::new();
        for number in 1.. {
            let read = match next_line(&mut text) {
                Ok(None) => break,
                Ok(Some(line)) => self.line(&line),
                Err(error) => Err(error),
            };
            let read = read.with_context(|| format!("line {number} of {name}"))?;
            characters.insert(read.0, read.1);
        }
        let accounts = characters.keys().cloned().collect();
        self.put(characters)?;
        Ok(accounts)
    }

    fn line(&self, line: &str) -> Result<(String, Character)> {
        let line: Map<String, Value> = serde_json::from_str(line)
            .map_err(|error| anyhow!(plain(&error.to_string(), Format::Json)))?;
        let account = line.get("account").and_then(Value::as_str);
        let character = line.get("character").and_then(Value::as_object);
        let (Some(account), Some(character)) = (account, character) else {
            bail!("expected an `account`, which is a text, and a `character`, which is an object");
        };
        Account::new(account)?;
        let mut own = Character::new(&self.world);
        names::change(&self.world, &mut own, character)?;
        Ok((account.to_owned(), own))
    }
}

/// The next line without its end, if there is one.
fn next_line(text: &mut impl BufRead) -> Result<Option<String>> {
    let mut line = String::new();
    if text.take(LINE_BYTES_MAX).read_line(&mut line)? == 0 {
        return Ok(None);
    }
    if line.len() as u64 == LINE_BYTES_MAX {
        bail!(
            "expected an account and its character, found a line of {LINE_BYTES_MAX} bytes or more"
        );
    }
    Ok(Some(line.trim_end().to_owned()))
}

/// More than a character with all attributes that a world may have takes, and many things.
const LINE_BYTES_MAX: u64 = 4 << 20;

/// A name with its value. A value that is no JSON is a text.
fn parse(text: &str) -> Result<(String, Value)> {
    let Some((name, value)) = text.split_once('=') else {
        bail!("expected ATTRIBUTE=VALUE, found {text:?}");
    };
    let value = serde_json::from_str(value).unwrap_or_else(|_| Value::String(value.to_owned()));
    Ok((name.to_owned(), value))
}

#[cfg(test)]
mod tests {
    use std::io::{BufReader, repeat};

    use super::*;

    #[test]
    fn lines_of_a_file_are_bounded() {
        let mut text = "one\r\ntwo".as_bytes();
        assert_eq!(next_line(&mut text).unwrap().as_deref(), Some("one"));
        assert_eq!(next_line(&mut text).unwrap().as_deref(), Some("two"));
        assert_eq!(next_line(&mut text).unwrap(), None);
        let mut endless = BufReader::new(repeat(0));
        let error = next_line(&mut endless).unwrap_err().to_string();
        assert!(error.contains("4194304 bytes or more"), "{error}");
    }
}
