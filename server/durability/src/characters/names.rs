//! Characters by names, as they are stored and as operators write them: so another world file finds what
//! it has, too.
//!
//! ```json
//! {"gold": 7, "motto": "Onwards", "things": [{"kind": "bag", "things": [{"kind": "axe", "wear": 3}]}]}
//! ```
//!
//! What a thing holds is within it. Where a thing refers to an entity, that is a number: 0 is the player,
//! and the others are counted from 1 on in the order in which they are written. A group of a player is the
//! number of its reference.

use std::collections::BTreeMap;

use anyhow::{Context, Result, bail, ensure};
use serde_json::{Map, Value};
use shared::world::attribute::halves;
use shared::world::limits::{KIND, THINGS};
use shared::world::value::words_at;
use shared::{Attribute, AttributeType, AttributeValue, Content, Plain, Symbol, Text, WorldConfig};

use super::character::{
    Character, KeptThing, NOTHING, Own, THE_PLAYER, kept_attributes, persisted,
};
use crate::values::{plain, value_text};

/// A character by names.
pub fn write(world: &WorldConfig, character: &Character) -> Map<String, Value> {
    let own: Vec<Own<'_>> = persisted(world).collect();
    let mut named = write_values(world, &own, &character.row, &character.texts);
    if !world.kept_kinds.is_empty() || !character.things.is_empty() {
        let things = write_things(world, &character.things, THE_PLAYER);
        named.insert(THINGS.to_owned(), things.into());
    }
    named
}

/// A character of names, as far as the world has such attributes, values and kinds. What a thing of
/// another kind held is held by what held that.
pub fn read(world: &WorldConfig, named: &Map<String, Value>) -> Character {
    let mut character = Character::new(world);
    let own: Vec<Own<'_>> = persisted(world).collect();
    let mut values = Values {
        world,
        kind: world.player_kind,
        own,
        row: &mut character.row,
        texts: &mut character.texts,
    };
    values.take_all(named);
    if let Some(things) = named.get(THINGS).and_then(Value::as_array) {
        let mut reading = Reading {
            world,
            is_strict: false,
            things: vec![],
            numbers: vec![Some(THE_PLAYER)],
        };
        // Nothing is refused.
        let _ = reading.take(things, THE_PLAYER);
        character.things = reading.into_things();
    }
    character
}

/// Changes values of a character by name, or its things as a whole. An error describes the first that is
/// invalid.
pub fn change(
    world: &WorldConfig,
    character: &mut Character,
    named: &Map<String, Value>,
) -> Result<()> {
    let own: Vec<Own<'_>> = persisted(world).collect();
    for (name, given) in named {
        if name == THINGS && !world.kept_kinds.is_empty() {
            let things = given.as_array();
            let things = things.with_context(|| format!("{THINGS}: expected a list"))?;
            let mut reading = Reading {
                world,
                is_strict: true,
                things: vec![],
                numbers: vec![Some(THE_PLAYER)],
            };
            reading.take(things, THE_PLAYER)?;
            character.things = reading.into_things();
            continue;
        }
        let mut values = Values {
            world,
            kind: world.player_kind,
            own: own.clone(),
            row: &mut character.row,
            texts: &mut character.texts,
        };
        if !values.set(name, given)? {
            let names = values.own.iter();
            let names = names.filter(|(own, _)| own.ty != AttributeType::High);
            let names: Vec<&str> = names.map(|(own, _)| own.name.as_str()).collect();
            bail!("accounts keep no `{name}`; expected one of {names:?}");
        }
    }
    Ok(())
}

fn write_values(
    world: &WorldConfig,
    own: &[Own<'_>],
    row: &[i32],
    texts: &BTreeMap<u16, Text>,
) -> Map<String, Value> {
    let attributes = own.iter().enumerate();
    // Beside the low half of a number is its high one, which has no name.
    let attributes = attributes.filter(|(_, (own, _))| own.ty != AttributeType::High);
    let attributes = attributes.take_while(|(place, _)| *place < row.len());
    let entry = |(place, (attribute, own)): (usize, &Own<'_>)| {
        let value = match attribute.ty.content() {
            Content::Text => texts.get(&own.column).map_or("", |text| text).into(),
            Content::Entity if row[place] == NOTHING => Value::Null,
            Content::Entity => row[place].into(),
            Content::Value => value_of(world, attribute, words_at(row, place)),
        };
        (attribute.name.clone(), value)
    };
    attributes.map(entry).collect()
}

/// What an entity of the character holds, by its number.
fn write_things(world: &WorldConfig, things: &[KeptThing], holder: u32) -> Vec<Value> {
    let held = (1..)
        .zip(things)
        .filter(|(_, thing)| thing.holder == holder);
    let write = |(number, thing): (u32, &KeptThing)| {
        let own: Vec<Own<'_>> = kept_attributes(world, thing.kind).collect();
        let mut named = write_values(world, &own, &thing.values, &thing.texts);
        let kind = world.schema.kinds.get(usize::from(thing.kind));
        let kind = kind.map_or("", |kind| kind.name.as_str());
        named.insert(KIND.to_owned(), kind.into());
        let within = write_things(world, things, number);
        if !within.is_empty() {
            named.insert(THINGS.to_owned(), within.into());
        }
        Value::Object(named)
    };
    held.map(write).collect()
}

/// A value of an attribute, with the word after it.
pub fn value_of(world: &WorldConfig, attribute: &Attribute, words: [i32; 2]) -> Value {
    match plain(world, attribute.ty, words) {
        Plain::Whole(number) => number.into(),
        Plain::Fraction(number) => number.into(),
        Plain::Truth(truth) => truth.into(),
        Plain::Text(symbol) => symbol.into(),
        Plain::Nothing => Value::Null,
    }
}

/// Things as they are read.
struct Reading<'a> {
    world: &'a WorldConfig,
    /// Whether what the world lacks is refused.
    is_strict: bool,
    things: Vec<KeptThing>,
    /// By number among all that are written: that among these; `None` if it is left out.
    numbers: Vec<Option<u32>>,
}

impl Reading<'_> {
    fn take(&mut self, things: &[Value], holder: u32) -> Result<()> {
        for named in things {
            let named = named.as_object();
            match named.and_then(|named| Some((named, self.kind(named)?))) {
                Some((named, kind)) => self.take_one(named, kind, holder)?,
                None if self.is_strict => {
                    let kinds = self.world.kept_kinds.iter();
                    let kinds = kinds.map(|&kind| &self.world.schema.kinds[usize::from(kind)].name);
                    let kinds: Vec<&String> = kinds.collect();
                    bail!("{THINGS}: expected objects with a `{KIND}`, one of {kinds:?}");
                }
                None => {
                    self.numbers.push(None);
                    let within = named.and_then(|named| named.get(THINGS)?.as_array());
                    self.take(within.map_or(&[], Vec::as_slice), holder)?;
                }
            }
        }
        Ok(())
    }

    fn take_one(&mut self, named: &Map<String, Value>, kind: u16, holder: u32) -> Result<()> {
        let world = self.world;
        ensure!(
            self.things.len() < THINGS_MAX,
            "{THINGS}: expected at most {THINGS_MAX}"
        );
        let can_be_held = |holder: u32| {
            let holder = (holder as usize)
                .checked_sub(1)
                .and_then(|n| self.things.get(n));
            holder.is_none_or(|holder| world.schema.can_hold(holder.kind, kind))
        };
        let holder = match can_be_held(holder) {
            true => holder,
            false if self.is_strict => bail!(
                "{THINGS}: a thing of kind `{}` can't be held there",
                world.schema.kinds[usize::from(kind)].name
            ),
            false => THE_PLAYER,
        };
        let own: Vec<Own<'_>> = kept_attributes(world, kind).collect();
        let defaults = own
            .iter()
            .map(|(attribute, own)| match attribute.ty.content() {
                Content::Entity => NOTHING,
                Content::Text => 0,
                Content::Value => own.default,
            });
        let mut thing = KeptThing {
            kind,
            holder,
            values: defaults.collect(),
            texts: BTreeMap::new(),
        };
        let mut values = Values {
            world,
            kind,
            own,
            row: &mut thing.values,
            texts: &mut thing.texts,
        };
        if self.is_strict {
            for (name, given) in named
                .iter()
                .filter(|(name, _)| ![KIND, THINGS].contains(&name.as_str()))
            {
                let kind = &world.schema.kinds[usize::from(kind)].name;
                ensure!(
                    values.set(name, given)?,
                    "{THINGS}: a `{kind}` has no `{name}`"
                );
            }
        } else {
            values.take_all(named);
        }
        self.things.push(thing);
        let number = u32::try_from(self.things.len()).unwrap_or(u32::MAX);
        self.numbers.push(Some(number));
        match named.get(THINGS) {
            None => Ok(()),
            Some(Value::Array(within)) => self.take(within, number),
            Some(_) if self.is_strict => bail!("{THINGS}: expected a list"),
            Some(_) => Ok(()),
        }
    }

    /// The kind of a thing, if accounts keep it.
    fn kind(&self, named: &Map<String, Value>) -> Option<u16> {
        let kind = self.world.schema.kind(named.get(KIND)?.as_str()?)?;
        let kind = u16::try_from(kind).ok()?;
        self.world.kept_kinds.contains(&kind).then_some(kind)
    }

    /// Without references to what is not there.
    fn into_things(mut self) -> Vec<KeptThing> {
        for thing in &mut self.things {
            let attributes = kept_attributes(self.world, thing.kind).zip(&mut thing.values);
            for ((attribute, _), value) in attributes {
                if attribute.ty == AttributeType::Entity {
                    let number = usize::try_from(*value).ok();
                    let number = number.and_then(|number| *self.numbers.get(number)?);
                    *value = number.map_or(NOTHING, u32::cast_signed);
                }
            }
        }
        self.things
    }
}

/// Values of a player or of a thing, which are set by name.
struct Values<'a, 'b> {
    world: &'a WorldConfig,
    kind: u16,
    own: Vec<Own<'a>>,
    row: &'b mut [i32],
    texts: &'b mut BTreeMap<u16, Text>,
}

impl Values<'_, '_> {
    /// Sets all values that are there, within their bounds; the others stay.
    fn take_all(&mut self, named: &Map<String, Value>) {
        for (place, (attribute, own)) in self.own.clone().into_iter().enumerate() {
            let Some(given) = named.get(&attribute.name) else {
                continue;
            };
            if attribute.ty == AttributeType::Text {
                if let Ok(Some(text)) = self.text(attribute, given) {
                    self.texts.insert(own.column, text);
                }
                continue;
            }
            if attribute.ty == AttributeType::Entity {
                self.row[place] = number_of(given).unwrap_or(NOTHING);
                continue;
            }
            match parse(self.world, attribute, given) {
                Some(AttributeValue::I64(number)) => {
                    let (min, max) = self.wide_bounds(own.column);
                    self.set_wide(place, number.clamp(min, max));
                }
                Some(value)
                    if self.can_have(attribute, (own.column, own.min, own.max), value.raw()) =>
                {
                    self.row[place] = value.raw();
                }
                Some(value) if !attribute.ty.has_symbols() => {
                    self.row[place] = value.raw().clamp(own.min, own.max);
                }
                _ => {}
            }
        }
    }

    /// Sets one value. False if there is none of this name; an error says why it can't be so.
    fn set(&mut self, name: &str, given: &Value) -> Result<bool> {
        let mut all = self.own.iter().enumerate();
        let found = all.find(|(_, (own, _))| own.ty != AttributeType::High && own.name == name);
        let Some((place, &(attribute, own))) = found else {
            return Ok(false);
        };
        if attribute.ty == AttributeType::Text {
            match self.text(attribute, given)? {
                Some(text) => self.texts.insert(own.column, text),
                None => self.texts.remove(&own.column),
            };
            return Ok(true);
        }
        if attribute.ty == AttributeType::Entity {
            let number = match given {
                Value::Null => Some(NOTHING),
                given => number_of(given),
            };
            let expected = "expected the number of an entity, or null";
            self.row[place] =
                number.with_context(|| format!("{name}: {expected}, found {given}"))?;
            return Ok(true);
        }
        let Some(value) = parse(self.world, attribute, given) else {
            let ty = attribute.ty.name();
            bail!("{name}: expected a value of type {ty}, found {given}");
        };
        if let AttributeValue::I64(number) = value {
            let (min, max) = self.wide_bounds(own.column);
            if !(min..=max).contains(&number) {
                bail!("{name}: expected {min} to {max}, found {given}");
            }
            self.set_wide(place, number);
            return Ok(true);
        }
        let value = value.raw();
        let bounds = (own.column, own.min, own.max);
        if attribute.ty.has_symbols() && !self.can_have(attribute, bounds, value) {
            let symbols = self.world.symbols.of(self.kind, own.column).iter();
            let names = symbols.filter_map(|&s| Symbol(s).name(&self.world.schema.symbols));
            let names: Vec<&str> = names.collect();
            bail!("{name}: expected one of {names:?}, found {given}");
        }
        if !(own.min..=own.max).contains(&value) {
            let bounds = [own.min, own.max];
            let bounds = bounds.map(|bound| value_text(self.world, attribute.ty, [bound, 0]));
            bail!(
                "{name}: expected {} to {}, found {given}",
                bounds[0],
                bounds[1]
            );
        }
        self.row[place] = value;
        Ok(true)
    }

    /// A text that an attribute can have; `None`: the empty one.
    fn text(&self, attribute: &Attribute, given: &Value) -> Result<Option<Text>> {
        let name = &attribute.name;
        let Some(given) = given.as_str() else {
            bail!("{name}: expected a text, found {given}");
        };
        if given.is_empty() {
            return Ok(None);
        }
        let (found, most) = (given.len(), attribute.text_bytes());
        ensure!(
            found <= most as usize,
            "{name}: expected at most {most} bytes, found {found}"
        );
        let text = Text::new(given).with_context(|| format!("{name}: it is no text of players"))?;
        Ok(Some(text))
    }

    /// Whether entities of the kind can have a value of an attribute.
    fn can_have(&self, attribute: &Attribute, bounds: (u16, i32, i32), value: i32) -> bool {
        let (column, min, max) = bounds;
        match attribute.ty.has_symbols() {
            true => self.world.symbols.has(self.kind, column, value),
            false => (min..=max).contains(&value),
        }
    }

    /// The bounds of the number whose low half is in a column.
    fn wide_bounds(&self, column: u16) -> (i64, i64) {
        self.world.schema.wide_bounds()[usize::from(column)]
    }

    fn set_wide(&mut self, place: usize, number: i64) {
        if let Some(words) = self.row.get_mut(place..place + 2) {
            words.copy_from_slice(&halves(number));
        }
    }
}

/// The number of an entity among what an account keeps, or that of the reference to a group.
fn number_of(given: &Value) -> Option<i32> {
    i32::try_from(given.as_i64()?).ok()
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
    AttributeValue::of_plain(attribute.ty, plain, &world.schema.symbols)
}

/// The most things that an account is given by name.
const THINGS_MAX: usize = 65_536;
