//! The characters of accounts, in a file of the world's folder or in a database. They may be as
//! old as the last checkpoint: the journal has the changes since then.
//!
//! | module | holds |
//! | --- | --- |
//! | [`mod@file`] | `characters` in the folder |
//! | [`postgres`] | tables of a PostgreSQL database, where the feature `postgres` is on |

pub mod file;
#[cfg_attr(not(feature = "postgres"), path = "characters/no_postgres.rs")]
pub mod postgres;

use std::collections::{BTreeMap, HashMap};
use std::path::Path;

use accounts::identity::Account;
use anyhow::{Context, Result, anyhow, bail};
use serde_json::{Map, Value};
use shared::world::attribute::halves;
use shared::world::collection::member;
use shared::world::schema::KindAttribute;
use shared::world::value::words_at;
use shared::{Attribute, AttributeType, AttributeValue, EntityRef, Plain, Symbol, WorldConfig};
use thiserror::Error;
use tracing::info;
use world_file::{Format, plain};

use self::file::{FILE, FileStore};
use self::postgres::{Database, PostgresStore};
use super::disk::{Disk, Folder};
use super::folder::write;
use super::values::value_text;

/// By account: its character as JSON.
pub type Texts = BTreeMap<String, String>;

/// By account: the values of the world's `persists`, in its order.
pub type Rows = HashMap<Account, Vec<i32>>;

/// Where characters are kept: texts by account.
pub trait Store: Send + Sync {
    /// Claims the store: from now on the `put` of earlier servers fails.
    fn claim(&self) -> Result<()>;
    fn all(&self) -> Result<Texts>;
    /// Writes texts, all or none, so that characters are those before a tick. They can't be lost
    /// once this returns.
    fn put(&self, texts: &Texts, tick: u64) -> Result<()>;
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
            let count = copy(&FileStore::open(folder, at)?, &store, at)?;
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
    pub fn load(&self, world: &WorldConfig) -> Result<Rows> {
        let mut rows = Rows::new();
        for (account, character) in self.all()? {
            let named = format!("the character of {account:?}");
            let account = Account::new(account).with_context(|| named)?;
            rows.insert(account, row_of(world, &character));
        }
        Ok(rows)
    }

    /// Writes characters, all or none, so that all are those before a tick. They can't be lost
    /// once this returns. Then it forgets those without values, see [`FORGOTTEN`].
    pub fn put(
        &self,
        world: &WorldConfig,
        rows: &BTreeMap<String, Vec<i32>>,
        tick: u64,
    ) -> Result<()> {
        let (forgotten, kept): (Vec<_>, Vec<_>) =
            rows.iter().partition(|(_, row)| **row == FORGOTTEN);
        let texts = kept.into_iter().map(|(account, row)| {
            let character = Value::Object(character_of(world, row));
            (account.clone(), character.to_string())
        });
        self.0.put(&texts.collect(), tick)?;
        for (account, _) in forgotten {
            self.0.remove(account)?;
        }
        Ok(())
    }

    /// Adds the values of all characters by other names, old and new ones, so that they are those
    /// before a tick. The old names stay: the world before can still continue.
    pub fn rename(&self, renames: &[(String, String)], tick: u64) -> Result<()> {
        let mut changed = Texts::new();
        for (account, mut character) in self.all()? {
            let before = character.clone();
            for (old, new) in renames {
                if let Some(value) = before.get(old) {
                    character.insert(new.clone(), value.clone());
                }
                // All values of an array or a map.
                for (name, value) in &before {
                    if let Some((_, part)) = member(name).filter(|(whole, _)| whole == old) {
                        character.insert(part.name(new), value.clone());
                    }
                }
            }
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

/// The row of a character that is to be forgotten: a world whose accounts keep something has longer
/// ones.
pub const FORGOTTEN: [i32; 0] = [];

/// Whether a folder's characters are in a database, and its file is not the newest.
pub fn are_elsewhere(folder: &Path) -> bool {
    folder.join(MARKER).exists()
}

/// Writes the characters that differ between a database and a file, and returns their number.
fn copy(from: &FileStore, to: &PostgresStore, tick: u64) -> Result<usize> {
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
    to.put(&texts, tick)?;
    Ok(texts.len())
}

/// A row by the names of its attributes.
pub fn character_of(world: &WorldConfig, row: &[i32]) -> Map<String, Value> {
    let attributes = persisted(world).enumerate();
    // Beside the low half of a number is its high one, which has no name.
    let attributes = attributes.filter(|(_, (own, _))| own.ty != AttributeType::High);
    let attributes = attributes.take_while(|(place, _)| *place < row.len());
    let entry = |(place, (attribute, _)): (usize, (&Attribute, &KindAttribute))| {
        let value = value_of(world, attribute, words_at(row, place));
        (attribute.name.clone(), value)
    };
    attributes.map(entry).collect()
}

/// A value of an attribute, with the word after it.
pub fn value_of(world: &WorldConfig, attribute: &Attribute, words: [i32; 2]) -> Value {
    match crate::values::plain(world, attribute.ty, words) {
        Plain::Whole(number) => number.into(),
        Plain::Fraction(number) => number.into(),
        Plain::Truth(truth) => truth.into(),
        Plain::Text(symbol) => symbol.into(),
        Plain::Nothing => Value::Null,
    }
}

/// The row of a character, as far as the world has such attributes and values.
pub fn row_of(world: &WorldConfig, character: &Map<String, Value>) -> Vec<i32> {
    let mut row: Vec<i32> = vec![];
    let mut high = None;
    for (attribute, own) in persisted(world) {
        let given = character.get(&attribute.name);
        let value = given.and_then(|given| parse(world, attribute, given));
        let is_symbol = attribute.ty.has_symbols();
        row.push(match value {
            _ if attribute.ty == AttributeType::High => high.take().unwrap_or(own.default),
            Some(AttributeValue::I64(number)) => {
                let (min, max) = wide_bounds(world, own.column);
                let [low, rest] = halves(number.clamp(min, max));
                high = Some(rest);
                low
            }
            None if attribute.ty == AttributeType::I64 => own.default,
            Some(value) if can_have(world, attribute, own, value.raw()) => value.raw(),
            Some(value) if !is_symbol => value.raw().clamp(own.min, own.max),
            _ => own.default,
        });
    }
    row
}

/// Changes values of a row by name. An error describes the first that is invalid.
pub fn change(world: &WorldConfig, row: &mut [i32], values: &Map<String, Value>) -> Result<()> {
    for (name, given) in values {
        let own = persisted(world).enumerate();
        let mut own = own.filter(|(_, (own, _))| own.ty != AttributeType::High);
        let Some((place, (attribute, own))) = own.find(|(_, (own, _))| own.name == *name) else {
            let names = persisted(world).filter(|(own, _)| own.ty != AttributeType::High);
            let names: Vec<&str> = names.map(|(own, _)| own.name.as_str()).collect();
            bail!("accounts keep no `{name}`; expected one of {names:?}");
        };
        let Some(value) = parse(world, attribute, given) else {
            let ty = attribute.ty.name();
            bail!("{name}: expected a value of type {ty}, found {given}");
        };
        if let AttributeValue::I64(number) = value {
            let (min, max) = wide_bounds(world, own.column);
            if !(min..=max).contains(&number) {
                bail!("{name}: expected {min} to {max}, found {given}");
            }
            row[place..place + 2].copy_from_slice(&halves(number));
            continue;
        }
        let value = value.raw();
        if attribute.ty.has_symbols() && !can_have(world, attribute, own, value) {
            let symbols = world.symbols.of(world.player_kind, own.column).iter();
            let names = symbols.filter_map(|&s| Symbol(s).name(&world.schema.symbols));
            let names: Vec<&str> = names.collect();
            bail!("{name}: expected one of {names:?}, found {given}");
        }
        if !(own.min..=own.max).contains(&value) {
            let bounds = [own.min, own.max];
            let bounds = bounds.map(|bound| value_text(world, attribute.ty, [bound, 0]));
            bail!(
                "{name}: expected {} to {}, found {given}",
                bounds[0],
                bounds[1]
            );
        }
        row[place] = value;
    }
    Ok(())
}

/// Whether players can have a value of an attribute.
fn can_have(world: &WorldConfig, attribute: &Attribute, own: &KindAttribute, value: i32) -> bool {
    match attribute.ty.has_symbols() {
        true => world.symbols.has(world.player_kind, own.column, value),
        false => (own.min..=own.max).contains(&value),
    }
}

/// The row of an account without a character.
pub fn default_row(world: &WorldConfig) -> Vec<i32> {
    persisted(world).map(|(_, own)| own.default).collect()
}

/// The bounds of the number whose low half is in a column.
fn wide_bounds(world: &WorldConfig, column: u16) -> (i64, i64) {
    world.schema.wide_bounds()[usize::from(column)]
}

fn parse(world: &WorldConfig, attribute: &Attribute, given: &Value) -> Option<AttributeValue> {
    let plain = match given {
        Value::Bool(truth) => Plain::Truth(*truth),
        Value::String(text) => Plain::Text(text),
        Value::Number(number) => match number.as_i64() {
            Some(number) => Plain::Whole(number),
            None => Plain::Fraction(number.as_f64()?),
        },
        Value::Null | Value::Array(_) | Value::Object(_) => return None,
    };
    match (attribute.ty, plain) {
        // A group, by the number of its reference.
        (AttributeType::Entity, Plain::Whole(number)) => {
            let reference = i32::try_from(number).ok()?;
            Some(AttributeValue::Entity(EntityRef(reference)))
        }
        (ty, plain) => AttributeValue::of_plain(ty, plain, &world.schema.symbols),
    }
}

/// The persistent attributes of accounts, each as the player kind has it.
fn persisted(world: &WorldConfig) -> impl Iterator<Item = (&Attribute, &KindAttribute)> {
    let player = &world.schema.kinds[usize::from(world.player_kind)];
    world.persists.iter().filter_map(|&column| {
        let own = player.attributes.iter().find(|own| own.column == column)?;
        Some((world.schema.attributes.get(usize::from(column))?, own))
    })
}

/// In the folder of a world whose characters are in a database: under which name.
pub const MARKER: &str = "characters.world";

#[cfg(test)]
mod tests {
    use super::*;

    fn world(attributes: &str) -> WorldConfig {
        let text = format!("[[kind]]\nname = 'player'\nattributes = [{attributes}]");
        world_file::parse(&text, "a test's world").unwrap()
    }

    const BEFORE: &str = "
        { name = 'gold', type = 'i32', min = 0, persist = true, audience = 'private' },
        { name = 'luck', type = 'fixed', default = 1.5, persist = true, audience = 'state' },
        { name = 'team', type = 'symbol', symbols = ['red', 'blue'], persist = true, audience = 'state' },
        { name = 'hp', type = 'i32', audience = 'state' },
    ";

    #[test]
    fn another_world_finds_values_by_name_and_keeps_them_within_its_bounds() {
        let folder = std::env::temp_dir().join(format!("myriad-characters-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let before = world(BEFORE);
        let mut row = default_row(&before);
        let values = serde_json::json!({ "gold": 70, "luck": -2.25, "team": "blue" });
        change(&before, &mut row, values.as_object().unwrap()).unwrap();
        let store = CharacterStore::open(&folder, None, 0).unwrap();
        store
            .put(&before, &[("ann".to_owned(), row.clone())].into(), 3)
            .unwrap();
        drop(store);
        let store = CharacterStore::open(&folder, None, 3).unwrap();
        let ann = Account::new("ann").unwrap();
        assert_eq!(
            store.load(&before).unwrap(),
            Rows::from([(ann.clone(), row)])
        );
        let after = world(
            "{ name = 'team', type = 'symbol', symbols = ['amber', 'red'], persist = true, audience = 'state' },
             { name = 'fame', type = 'i32', default = 4, persist = true, audience = 'state' },
             { name = 'gold', type = 'i32', min = 0, max = 50, persist = true, audience = 'state' }",
        );
        let row = store.load(&after).unwrap().remove(&ann).unwrap();
        let found = Value::Object(character_of(&after, &row));
        let expected = serde_json::json!({ "team": "amber", "fame": 4, "gold": 50 });
        assert_eq!(found, expected);
        std::fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn a_number_of_64_bits_is_one_value_of_a_character() {
        let before = world(
            "{ name = 'luck', type = 'i32', persist = true, audience = 'state' },
             { name = 'gold', type = 'i64', default = 5_000_000_000, max = 9_000_000_000, persist = true, audience = 'private' }",
        );
        let mut row = default_row(&before);
        let shown = |row: &[i32]| Value::Object(character_of(&before, row));
        let expected = serde_json::json!({ "luck": 0, "gold": 5_000_000_000i64 });
        assert_eq!(shown(&row), expected);
        let given = serde_json::json!({ "gold": -6_000_000_000i64 });
        change(&before, &mut row, given.as_object().unwrap()).unwrap();
        assert_eq!(shown(&row)["gold"], -6_000_000_000i64);
        let given = serde_json::json!({ "gold": 9_000_000_001i64 });
        let error = change(&before, &mut row, given.as_object().unwrap()).unwrap_err();
        assert_eq!(
            error.to_string(),
            "gold: expected -9223372036854775808 to 9000000000, found 9000000001"
        );
        // A character of a world in which it had 32 bits, and one beyond the bounds.
        for (gold, expected) in [(-7i64, -7), (1 << 40, 9_000_000_000i64)] {
            let character = serde_json::json!({ "gold": gold });
            let row = row_of(&before, character.as_object().unwrap());
            assert_eq!(shown(&row)["gold"], expected);
        }
    }

    #[test]
    fn a_renamed_attribute_keeps_the_values_of_accounts() {
        let folder = std::env::temp_dir().join(format!("myriad-renamed-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let before = world(BEFORE);
        let mut row = default_row(&before);
        let gold = serde_json::json!({ "gold": 70 });
        change(&before, &mut row, gold.as_object().unwrap()).unwrap();
        let store = CharacterStore::open(&folder, None, 0).unwrap();
        let ann = Account::new("ann").unwrap();
        store
            .put(&before, &[("ann".to_owned(), row.clone())].into(), 3)
            .unwrap();
        let after = world(
            &BEFORE
                .replace("'gold'", "'coins'")
                .replace("min = 0", "default = 5"),
        );
        assert_eq!(store.load(&after).unwrap()[&ann][0], 5);
        let renames = [("gold".to_owned(), "coins".to_owned())];
        // An attempt that was interrupted afterwards, while the world before continues.
        store.rename(&renames, 4).unwrap();
        assert_eq!(store.load(&before).unwrap()[&ann], row);
        row[0] = 71;
        store
            .put(&before, &[("ann".to_owned(), row)].into(), 5)
            .unwrap();
        store.rename(&renames, 6).unwrap();
        assert_eq!(store.load(&after).unwrap()[&ann][0], 71);
        std::fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn values_of_arrays_and_maps_are_kept_by_index_and_key() {
        let folder = std::env::temp_dir().join(format!("myriad-kept-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let with = |bag: &str, keys: &str| {
            world(&format!(
                "
                {{ name = 'slot', type = {{ array = 'fixed', length = 2 }}, persist = true, audience = 'state' }},
                {{ name = '{bag}', type = {{ map = 'i32', keys = [{keys}] }}, persist = true, audience = 'state' }},"
            ))
        };
        let before = with("bag", "'wood', 'ore'");
        let mut row = default_row(&before);
        let given = serde_json::json!({ "slot[1]": 1.5, "bag.wood": 4 });
        change(&before, &mut row, given.as_object().unwrap()).unwrap();
        let shown = Value::Object(character_of(&before, &row));
        let expected =
            serde_json::json!({ "slot[0]": 0.0, "slot[1]": 1.5, "bag.ore": 0, "bag.wood": 4 });
        assert_eq!(shown, expected);
        let store = CharacterStore::open(&folder, None, 0).unwrap();
        store
            .put(&before, &[("ann".to_owned(), row)].into(), 3)
            .unwrap();
        store
            .rename(&[("bag".to_owned(), "sack".to_owned())], 4)
            .unwrap();
        let after = with("sack", "'axe', 'wood'");
        let row = store
            .load(&after)
            .unwrap()
            .remove(&Account::new("ann").unwrap())
            .unwrap();
        assert_eq!(row, [0, 6144, 0, 4]);
        std::fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn accounts_keep_only_what_scripts_can_give() {
        let text = "[[kind]]\nname = 'player'\nattributes = [\n\
            { name = 'gold coins', type = 'i32', persist = true, audience = 'state' }]";
        let refused = world_file::parse(text, "a test's world").unwrap_err();
        let expected = "gold coins.persist: only attributes whose names scripts can write persist";
        assert!(refused.to_string().contains(expected), "{refused}");
    }

    #[test]
    fn an_account_keeps_no_symbol_of_another_attribute() {
        let world = world(
            "{ name = 'rank', type = 'symbol', symbols = ['novice', 'expert'], persist = true, audience = 'state' },
             { name = 'metal', type = 'symbol', symbols = ['gold', 'iron'], audience = 'state' }",
        );
        assert_eq!(world.schema.symbols, ["expert", "gold", "iron", "novice"]);
        let mut row = default_row(&world);
        let gold = serde_json::json!({ "rank": "gold" });
        let problem = change(&world, &mut row, gold.as_object().unwrap()).unwrap_err();
        assert_eq!(
            problem.to_string(),
            "rank: expected one of [\"expert\", \"novice\"], found \"gold\""
        );
        assert_eq!(row, [3]);
        // Of a world in which it was one.
        assert_eq!(row_of(&world, gold.as_object().unwrap()), [3]);
        let expert = serde_json::json!({ "rank": "expert" });
        change(&world, &mut row, expert.as_object().unwrap()).unwrap();
        assert_eq!(row, [0]);
    }
}
