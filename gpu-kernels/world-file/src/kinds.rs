//! `[[kind]]`: kinds and their attributes, as a [`Schema`].

use std::collections::BTreeSet;

use shared::world::attribute::{
    Attribute, AttributeType, Audience, MergeRule, halves, high_name, joined,
};
use shared::world::collection::{Member, declared_name, member};
use shared::world::columns::{ATTRIBUTES_MAX, KIND_ATTRIBUTES_MAX};
use shared::world::command::CommandSchema;
use shared::world::layer::Layers;
use shared::world::plane::Atlas;
use shared::world::schema::{Kind, KindAttribute, KindRegions, Schema, WorldInfo};
use shared::world::symbols::{SymbolSet, Symbols};
use shared::world::visibility::Visibility;
use shared::world::words::{LENGTH_MAX, TextHandle};

use super::check::{Problem, Problems, fixed, in_range, one_of, place, problem, unexpected};
use super::{names, raw, wire_step};

/// The index of the kind of this name; `key` is where the file names it.
pub(super) fn index(schema: &Schema, key: &str, name: &str) -> Result<u16, Problem> {
    match schema.kind(name) {
        Some(index) => place(key, index),
        None => {
            let names: Vec<_> = schema.kinds.iter().map(|k| k.name.as_str()).collect();
            unexpected(key, format!("{name:?}"), one_of(&names))
        }
    }
}

/// A kind whose entities are somewhere in the world, by name.
pub(super) fn placed(schema: &Schema, key: &str, name: &str) -> Result<u16, Problem> {
    let kind = index(schema, key, name)?;
    if Some(kind) == schema.world_kind {
        let message = "expected a kind of the file: what the whole world shares is nowhere";
        return problem(key, message);
    }
    if schema.is_thing(kind) {
        let message = "expected a kind with a place: this one has `place = \"none\"`";
        return problem(key, message);
    }
    Ok(kind)
}

/// A kind of which there are entities, by name.
pub(super) fn of_many(schema: &Schema, key: &str, name: &str) -> Result<u16, Problem> {
    let kind = index(schema, key, name)?;
    match schema.is_thing(kind) {
        true => Ok(kind),
        false => placed(schema, key, name),
    }
}

/// The key of the first attribute of this name.
pub(super) fn attribute_key(schema: &Schema, name: &str) -> String {
    let column = schema.column(name);
    let has_it = |kind: &&Kind| {
        let mut own = kind.attributes.iter();
        own.any(|a| Some(usize::from(a.column)) == column)
    };
    match (0..).zip(&schema.kinds).find(|(_, kind)| has_it(kind)) {
        Some((number, _)) if Some(number) == schema.world_kind => {
            format!("world.attributes.{name}")
        }
        found => {
            let kind = found.map_or("", |(_, kind)| &kind.name);
            format!("kind.{kind}.attributes.{name}")
        }
    }
}

/// The schema of these kinds: the engine's own commands, no notifications yet.
/// `position_step` is that of the positions, as [`Attribute::step`] has it.
pub(super) fn schema(
    world: WorldInfo,
    position_step: u32,
    raw_kinds: &[raw::Kind],
    tags: &[String],
    problems: &mut Problems,
) -> Schema {
    let all = raw_kinds.iter().flat_map(|kind| &kind.attributes);
    let own = all.clone().flat_map(|a| a.symbols.iter().cloned());
    let keys = all.filter_map(|a| match member(&a.name) {
        Some((_, Member::Key(key))) => Some(key.to_owned()),
        _ => None,
    });
    let mut symbols: BTreeSet<String> = own.chain(keys).collect();
    symbols.extend(tags.iter().cloned());
    let symbols: Vec<String> = symbols.into_iter().collect();
    let mut attributes = position(&world, position_step);
    let mut kinds: Vec<Kind> = vec![];
    for raw in raw_kinds {
        if raw.name.is_empty() || kinds.iter().any(|k| k.name == raw.name) {
            let found = format!("{:?}", raw.name);
            let expected = "a name that no other kind has";
            problems.take::<()>(unexpected("kind.name", found, expected));
        }
        let dimensions = world.size.len();
        kinds.push(kind(raw, dimensions, &symbols, &mut attributes, problems));
    }
    // A column that a kind lacks is 0 in its rows, which must fit the column's width.
    for (c, attribute) in attributes.iter_mut().enumerate() {
        let lacks_it = |kind: &Kind| kind.attributes.iter().all(|a| usize::from(a.column) != c);
        if kinds.iter().any(lacks_it) {
            attribute.min = attribute.min.min(0);
            attribute.max = attribute.max.max(0);
        }
    }
    let schema = Schema {
        commands: vec![CommandSchema::spawn(), CommandSchema::despawn()],
        world,
        attributes,
        kinds,
        notifications: vec![],
        symbols,
        zones: vec![],
        constants: vec![],
        layers: Layers::default(),
        rankings: vec![],
        groups: vec![],
        doors: vec![],
        fields: vec![],
        atlas: Atlas::default(),
        visibility: Visibility::default(),
        world_kind: raw_kinds
            .iter()
            .position(|raw| raw.is_shared)
            .and_then(|kind| u16::try_from(kind).ok()),
    };
    check_wide(&schema, problems);
    schema
}

/// The symbols that each kind's attributes can have, and the keys of its maps.
pub(super) fn symbols(schema: &Schema, raw_kinds: &[raw::Kind]) -> Symbols {
    let kinds = (0..).zip(&schema.kinds).zip(raw_kinds);
    let sets = kinds.flat_map(|((kind, of), raw)| {
        of.attributes.iter().filter_map(move |own| {
            let attribute = schema.attributes.get(usize::from(own.column))?;
            let is_own = |a: &&raw::Attribute| a.name == attribute.name;
            let raw = raw.attributes.iter().find(is_own)?;
            let mut numbers: Vec<i32> = raw
                .symbols
                .iter()
                .map(|symbol| number_of(&schema.symbols, symbol))
                .collect();
            numbers.sort_unstable();
            numbers.dedup();
            attribute.ty.has_symbols().then_some(SymbolSet {
                kind,
                column: own.column,
                numbers,
            })
        })
    });
    let mut symbols = Symbols(sets.collect());
    symbols.add_keys(schema);
    symbols
}

/// The first columns: a position's.
fn position(world: &WorldInfo, step: u32) -> Vec<Attribute> {
    let axes = ["x", "y", "z"].into_iter().zip(&world.size);
    axes.map(|(name, size)| Attribute {
        name: name.to_owned(),
        ty: AttributeType::Fixed,
        merge: MergeRule::Sum,
        audience: Audience::Movement,
        min: 0,
        max: size.raw() - 1,
        step,
    })
    .collect()
}

fn kind(
    raw: &raw::Kind,
    dimensions: usize,
    symbols: &[String],
    attributes: &mut Vec<Attribute>,
    problems: &mut Problems,
) -> Kind {
    let mut own: Vec<KindAttribute> = (0..)
        .zip(&attributes[..dimensions])
        .map(|(column, axis)| KindAttribute {
            column,
            default: 0,
            min: 0,
            // What the whole world shares is nowhere, and so are things.
            max: match raw.is_shared || raw.is_thing() {
                true => 0,
                false => axis.max,
            },
        })
        .collect();
    if raw.is_shared {
        problems.0.extend(wrongly_shared(raw));
    }
    for raw_attribute in &raw.attributes {
        let checked = match raw_attribute.ty.of {
            AttributeType::I64 => wide_attribute(&raw.key(), raw_attribute, attributes, &own),
            AttributeType::I32
            | AttributeType::Fixed
            | AttributeType::Bool
            | AttributeType::Entity
            | AttributeType::Symbol
            | AttributeType::Text
            | AttributeType::High => {
                attribute(&raw.key(), raw_attribute, symbols, attributes, &own).map(|one| vec![one])
            }
        };
        own.extend(problems.take(checked).into_iter().flatten());
        if own.len() > KIND_ATTRIBUTES_MAX {
            problems.0.push(too_many(raw, dimensions, raw_attribute));
            own.truncate(KIND_ATTRIBUTES_MAX);
            break;
        }
    }
    own.sort_by_key(|a| a.column);
    Kind {
        name: raw.name.clone(),
        attributes: own,
        regions: KindRegions::default(),
    }
}

/// A kind with more columns than it can have; `first` is the first attribute beyond.
fn too_many(raw: &raw::Kind, dimensions: usize, first: &raw::Attribute) -> Problem {
    let columns = raw.attributes.iter().map(|a| match a.ty.of {
        AttributeType::I64 => 2,
        AttributeType::I32
        | AttributeType::Fixed
        | AttributeType::Bool
        | AttributeType::Entity
        | AttributeType::Symbol
        | AttributeType::Text
        | AttributeType::High => 1,
    });
    let found = dimensions + columns.sum::<usize>();
    let message = format!(
        "expected at most {KIND_ATTRIBUTES_MAX} columns of a kind, positions included{}, found \
         {found}",
        counts(first)
    );
    Problem::new(format!("{}.attributes.{}", raw.key(), first.name), message)
}

/// How an attribute counts that is more than one column.
fn counts(attribute: &raw::Attribute) -> String {
    match member(&attribute.name) {
        Some((whole, _)) => format!("; each value of `{whole}` counts as one"),
        None if attribute.ty.of.is_half() => "; an i64 counts as two".to_owned(),
        None => String::new(),
    }
}

/// What only entities somewhere in the world can have.
fn wrongly_shared(raw: &raw::Kind) -> Vec<Problem> {
    let wrong = |attribute: &raw::Attribute| {
        let key = format!("{}.attributes.{}", raw.key(), attribute.name);
        let audience = attribute.audience;
        if !matches!(audience, Audience::State | Audience::Hidden) {
            let found = format!("{audience:?}").to_lowercase();
            let message = format!(
                "expected \"state\", for every client, or \"hidden\", found {found:?}: the whole \
                 world shares it"
            );
            return Some(Problem::new(format!("{key}.audience"), message));
        }
        let only_somewhere = [
            ("falls_at", attribute.falls_at.is_some()),
            ("tells_owner", attribute.tells_owner == Some(true)),
            ("persist", attribute.persist),
        ];
        let (name, _) = only_somewhere.into_iter().find(|(_, is_there)| *is_there)?;
        let message = "only attributes of a `[[kind]]` have this";
        Some(Problem::new(format!("{key}.{name}"), message))
    };
    raw.attributes.iter().filter_map(wrong).collect()
}

/// An attribute of a kind with this key, which has `own` ones already.
fn attribute(
    kind: &str,
    raw: &raw::Attribute,
    symbols: &[String],
    attributes: &mut Vec<Attribute>,
    own: &[KindAttribute],
) -> Result<KindAttribute, Problem> {
    let key = format!("{kind}.attributes.{}", raw.name);
    let bounds = bounds(&key, raw, symbols)?;
    let column = column(&key, attributes, raw, bounds)?;
    if own.iter().any(|a| a.column == column) {
        return problem(key, TWICE);
    }
    let Bounds { default, min, max } = bounds;
    Ok(KindAttribute {
        column,
        default,
        min,
        max,
    })
}

/// The same of a number of 64 bits: its halves, in two columns.
fn wide_attribute(
    kind: &str,
    raw: &raw::Attribute,
    attributes: &mut Vec<Attribute>,
    own: &[KindAttribute],
) -> Result<Vec<KindAttribute>, Problem> {
    let key = format!("{kind}.attributes.{}", raw.name);
    if raw.audience == Audience::Movement {
        let expected = "\"state\", \"private\" or \"hidden\" for an attribute of type i64";
        return unexpected(format!("{key}.audience"), "\"movement\"", expected);
    }
    let read = |name: &str, given: &Option<toml::Value>, default: i64| match given {
        None => Ok(default),
        Some(toml::Value::Integer(number)) => Ok(*number),
        Some(other) => unexpected(
            format!("{key}.{name}"),
            other,
            "a whole number: none of 64 bits is drawn",
        ),
    };
    if !raw.symbols.is_empty() {
        return problem(format!("{key}.symbols"), ONLY_SYMBOLS);
    }
    let min = read("min", &raw.min, i64::MIN)?;
    let max = read("max", &raw.max, i64::MAX)?;
    if min > max {
        return unexpected(format!("{key}.min"), min, format!("at most max = {max}"));
    }
    let default = read("default", &raw.default, 0)?;
    let default = in_range(&format!("{key}.default"), default, min, max)?;
    let types = [AttributeType::I64, AttributeType::High];
    let names = [raw.name.clone(), high_name(&raw.name)];
    // The wire carries each half as it is.
    let bounds = Bounds {
        default: 0,
        min: i32::MIN,
        max: i32::MAX,
    };
    let mut both = vec![];
    for (half, (name, ty)) in names.into_iter().zip(types).enumerate() {
        let one = raw::Attribute {
            name,
            ty: ty.into(),
            ..raw.clone()
        };
        let column = column(&key, attributes, &one, bounds)?;
        if own.iter().any(|a| a.column == column) {
            return problem(key, TWICE);
        }
        both.push(KindAttribute {
            column,
            default: halves(default)[half],
            min: halves(min)[half],
            max: halves(max)[half],
        });
    }
    Ok(both)
}

/// Scripts clamp numbers of 64 bits themselves, whatever kind has them.
fn check_wide(schema: &Schema, problems: &mut Problems) {
    let bounds = schema.wide_bounds();
    for kind in &schema.kinds {
        for pair in kind.attributes.windows(2) {
            let attribute = &schema.attributes[usize::from(pair[0].column)];
            let own = (
                joined([pair[0].min, pair[1].min]),
                joined([pair[0].max, pair[1].max]),
            );
            let expected = bounds[usize::from(pair[0].column)];
            if attribute.ty == AttributeType::I64 && own != expected {
                let key = format!("kind.{}.attributes.{}", kind.name, attribute.name);
                let (min, max) = expected;
                let expected = format!("min = {min} and max = {max} as in other kinds");
                let found = format!("min = {} and max = {}", own.0, own.1);
                problems.take::<()>(unexpected(key, found, expected));
            }
        }
    }
}

const ONLY_SYMBOLS: &str = "only attributes of type symbol have `symbols`";
const TWICE: &str = "the kind has two attributes of this name";

/// The column of an attribute: the one that another kind made under this name, or a new one.
fn column(
    key: &str,
    attributes: &mut Vec<Attribute>,
    raw: &raw::Attribute,
    bounds: Bounds,
) -> Result<u16, Problem> {
    // The other half of a number has its name checked.
    if raw.ty.of != AttributeType::High {
        names::check(key, declared_name(&raw.name))?;
    }
    let merge = merge_rule(key, raw)?;
    let own = Attribute {
        name: raw.name.clone(),
        ty: raw.ty.of,
        merge,
        audience: raw.audience,
        min: bounds.min,
        max: bounds.max,
        step: wire_step::of_attribute(key, raw)?,
    };
    if let Some(i) = attributes.iter().position(|a| a.name == raw.name) {
        let known = &mut attributes[i];
        let of = |a: &Attribute| (a.ty, a.merge, a.audience, a.step);
        if of(&own) != of(known) {
            let expected = format!("{} as in other kinds", properties(known));
            return unexpected(key, properties(&own), expected);
        }
        known.min = known.min.min(bounds.min);
        known.max = known.max.max(bounds.max);
        return place(key, i);
    }
    if attributes.len() == ATTRIBUTES_MAX {
        let message = format!(
            "expected at most {ATTRIBUTES_MAX} different columns of all kinds together, \
             positions included{}",
            counts(raw)
        );
        return problem(key, message);
    }
    attributes.push(own);
    place(key, attributes.len() - 1)
}

/// How updates of an attribute become one change. Only numbers have a sum and an order.
fn merge_rule(key: &str, raw: &raw::Attribute) -> Result<MergeRule, Problem> {
    let is_number = raw.ty.of.is_number() || raw.ty.of.is_half();
    let default = match is_number {
        true => MergeRule::Sum,
        false => MergeRule::Last,
    };
    let merge = raw.merge.unwrap_or(default);
    if is_number || matches!(merge, MergeRule::First | MergeRule::Last) {
        return Ok(merge);
    }
    let found = format!("{merge:?}").to_lowercase();
    let ty = format!("{:?}", raw.ty.of).to_lowercase();
    let expected = format!(
        "\"first\" or \"last\": of values of type {ty}, none is the sum, the least or the greatest"
    );
    unexpected(format!("{key}.merge"), format!("{found:?}"), expected)
}

fn properties(attribute: &Attribute) -> String {
    let Attribute {
        ty,
        merge,
        audience,
        ..
    } = attribute;
    let mut text = format!("type {ty:?}, merge {merge:?}, audience {audience:?}").to_lowercase();
    if let Some(step) = attribute.wire_step() {
        text += &format!(", wire_step {step}");
    }
    text
}

/// A kind's default and bounds of an attribute, in raw units.
#[derive(Clone, Copy)]
struct Bounds {
    default: i32,
    min: i32,
    max: i32,
}

fn bounds(key: &str, raw: &raw::Attribute, symbols: &[String]) -> Result<Bounds, Problem> {
    let read = |name: &str, given: &Option<toml::Value>, default: i32| match given {
        None => Ok(default),
        Some(given) => value(
            &format!("{key}.{name}"),
            raw.ty.of,
            given,
            &raw.symbols,
            symbols,
        ),
    };
    if !raw.ty.of.has_symbols() && !raw.symbols.is_empty() {
        return problem(format!("{key}.symbols"), ONLY_SYMBOLS);
    }
    if raw.ty.of == AttributeType::Text {
        check_text(key, raw)?;
    } else if raw.length.is_some() {
        return problem(
            format!("{key}.length"),
            "only attributes of type text have `length`",
        );
    }
    let natural = natural_bounds(key, raw, symbols)?;
    let is_number = raw.ty.of.is_number();
    if !is_number && (raw.min.is_some() || raw.max.is_some()) {
        return problem(key, "only i32 and fixed attributes have `min` and `max`");
    }
    let min = read("min", &raw.min, natural.min)?;
    let max = read("max", &raw.max, natural.max)?;
    if min > max {
        return unexpected(format!("{key}.min"), min, format!("at most max = {max}"));
    }
    let default = match &raw.default {
        // `initial` reads a choice of several values, and puts one of them here.
        Some(toml::Value::Table(_)) => min,
        one => read("default", one, natural.default)?,
    };
    let default = in_range(&format!("{key}.default"), default, min, max)?;
    Ok(Bounds { default, min, max })
}

/// Checks what only texts lack.
fn check_text(key: &str, raw: &raw::Attribute) -> Result<(), Problem> {
    if raw.audience == Audience::Movement {
        let expected = "\"state\", \"private\" or \"hidden\" for an attribute of type text";
        return unexpected(format!("{key}.audience"), "\"movement\"", expected);
    }
    if let Some(toml::Value::Table(_)) = raw.default {
        let message = "a text is empty until a client writes it";
        return problem(format!("{key}.default"), message);
    }
    Ok(())
}

/// The largest handle of an attribute's texts.
fn text_max(key: &str, raw: &raw::Attribute) -> Result<i32, Problem> {
    let key = format!("{key}.length");
    let expected = format!("the most bytes of a text, 1 to {LENGTH_MAX}");
    let Some(length) = raw.length else {
        return problem(key, format!("expected {expected}"));
    };
    match u8::try_from(length).ok().filter(|&length| length > 0) {
        Some(length) => Ok(TextHandle::max_of(length)),
        None => unexpected(key, length, expected),
    }
}

/// The number of a symbol, one of the world's sorted `symbols`.
fn number_of(symbols: &[String], symbol: &str) -> i32 {
    let found = symbols.binary_search_by(|own| own.as_str().cmp(symbol));
    i32::try_from(found.unwrap_or(0)).unwrap_or(i32::MAX)
}

/// The default and bounds that an attribute's type gives it.
fn natural_bounds(key: &str, raw: &raw::Attribute, symbols: &[String]) -> Result<Bounds, Problem> {
    let (default, min, max) = match raw.ty.of {
        AttributeType::I32 | AttributeType::Fixed | AttributeType::I64 | AttributeType::High => {
            (0, i32::MIN, i32::MAX)
        }
        AttributeType::Bool => (0, 0, 1),
        AttributeType::Entity => (-1, i32::MIN, i32::MAX),
        AttributeType::Text => (0, 0, text_max(key, raw)?),
        AttributeType::Symbol => {
            let index = |s: &String| number_of(symbols, s);
            let own: Vec<i32> = raw.symbols.iter().map(index).collect();
            match (own.first(), own.iter().min(), own.iter().max()) {
                (Some(&first), Some(&min), Some(&max)) => (first, min, max),
                _ => {
                    let expected = "a list of the texts that the attribute can have";
                    return unexpected(format!("{key}.symbols"), "an empty list", expected);
                }
            }
        }
    };
    Ok(Bounds { default, min, max })
}

/// A value in raw units. `own_symbols` are those of the attribute, `symbols` all of the
/// world.
pub(super) fn value(
    key: &str,
    ty: AttributeType,
    value: &toml::Value,
    own_symbols: &[String],
    symbols: &[String],
) -> Result<i32, Problem> {
    match (ty, value) {
        (AttributeType::I32, toml::Value::Integer(i)) => match i32::try_from(*i) {
            Ok(i) => Ok(i),
            Err(_) => unexpected(key, i, "a whole number of 32 bits"),
        },
        (AttributeType::Fixed, toml::Value::Integer(i)) => number(key, *i as f64),
        (AttributeType::Fixed, toml::Value::Float(f)) => number(key, *f),
        (AttributeType::Bool, toml::Value::Boolean(b)) => Ok(i32::from(*b)),
        (AttributeType::Symbol, toml::Value::String(s)) if own_symbols.contains(s) => {
            Ok(number_of(symbols, s))
        }
        (AttributeType::Text, toml::Value::String(text)) if text.is_empty() => Ok(0),
        (AttributeType::Text, _) => problem(key, "a text is empty until a client writes it"),
        (AttributeType::Entity, _) => problem(key, "an attribute of type entity has no default"),
        (AttributeType::I32, _) => unexpected(key, value, "a whole number"),
        (AttributeType::I64 | AttributeType::High, _) => {
            problem(key, "a number of 64 bits has no place here")
        }
        (AttributeType::Fixed, _) => unexpected(key, value, "a number"),
        (AttributeType::Bool, _) => unexpected(key, value, "true or false"),
        (AttributeType::Symbol, _) => unexpected(key, value, one_of(own_symbols)),
    }
}

fn number(key: &str, value: f64) -> Result<i32, Problem> {
    Ok(fixed(key, value, -524_288.0, 524_287.9)?.raw())
}
