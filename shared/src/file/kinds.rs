//! Kinds and their attributes: what a world file says of them, as a [`Schema`].

use std::collections::BTreeSet;

use super::{Problem, fixed, in_range, problem, raw};
use crate::world::attribute::{Attribute, AttributeType, Audience, MergeRule};
use crate::world::command::CommandKind;
use crate::world::schema::{ATTRIBUTES_MAX, CommandSchema, Kind, KindAttribute, Schema, WorldInfo};

pub(super) fn kind_index(schema: &Schema, key: &str, name: &str) -> Result<u16, Problem> {
    match schema.kind(name) {
        Some(index) => Ok(index as u16),
        None => {
            let names: Vec<_> = schema.kinds.iter().map(|k| k.name.as_str()).collect();
            problem(key, format!("{name:?}"), format!("one of {names:?}"))
        }
    }
}

pub(super) fn schema(world: WorldInfo, raw_kinds: Vec<raw::Kind>) -> Result<Schema, Problem> {
    let dimensions = world.size.len();
    let mut attributes: Vec<Attribute> = (0..dimensions)
        .map(|axis| Attribute {
            name: ["x", "y", "z"][axis].to_owned(),
            ty: AttributeType::Fixed,
            merge: MergeRule::Sum,
            audience: Audience::Movement,
            min: 0,
            max: world.size[axis].raw() - 1,
        })
        .collect();
    let mut symbols = BTreeSet::new();
    for kind in &raw_kinds {
        for attribute in &kind.attributes {
            symbols.extend(attribute.symbols.iter().cloned());
        }
    }
    let symbols: Vec<String> = symbols.into_iter().collect();
    let mut kinds: Vec<Kind> = Vec::new();
    for raw_kind in raw_kinds {
        let key = format!("kind.{}", raw_kind.name);
        if raw_kind.name.is_empty() || kinds.iter().any(|k| k.name == raw_kind.name) {
            return problem(
                "kind.name",
                format!("{:?}", raw_kind.name),
                "a name, and one that no other kind has",
            );
        }
        let mut own: Vec<KindAttribute> = (0..dimensions)
            .map(|axis| KindAttribute {
                column: axis as u16,
                default: 0,
                min: 0,
                max: attributes[axis].max,
            })
            .collect();
        for raw_attribute in raw_kind.attributes {
            let key = format!("{key}.attributes.{}", raw_attribute.name);
            let value = values(&key, &raw_attribute, &symbols)?;
            let column = column(&key, &mut attributes, raw_attribute, &value)?;
            if own.iter().any(|a| a.column == column) {
                return problem(key, "a second attribute of that name", "each name once");
            }
            own.push(KindAttribute { column, ..value });
        }
        own.sort_by_key(|a| a.column);
        kinds.push(Kind {
            name: raw_kind.name,
            attributes: own,
        });
    }
    // A column that a kind lacks is 0 there, and must fit the column's width.
    for (c, attribute) in attributes.iter_mut().enumerate() {
        let lacking = |kind: &Kind| kind.attributes.iter().all(|a| usize::from(a.column) != c);
        if kinds.iter().any(lacking) {
            attribute.min = attribute.min.min(0);
            attribute.max = attribute.max.max(0);
        }
    }
    let mut schema = Schema {
        world,
        attributes,
        kinds,
        commands: vec![],
        notifications: vec![],
        symbols,
    };
    schema.commands = CommandKind::ALL
        .into_iter()
        .filter(|kind| match kind.needs() {
            None => true,
            Some((name, ty)) => schema
                .attributes
                .iter()
                .any(|a| a.name == name && a.ty == ty),
        })
        .map(|kind| CommandSchema {
            kind,
            name: kind.name().to_owned(),
            sender: kind.sender(),
            words: kind.words(dimensions),
        })
        .collect();
    Ok(schema)
}

/// The column of an attribute: the one another kind made by that name, or a new one.
pub(super) fn column(
    key: &str,
    attributes: &mut Vec<Attribute>,
    raw: raw::Attribute,
    value: &KindAttribute,
) -> Result<u16, Problem> {
    if raw.name.is_empty() || ["x", "y", "z"].contains(&raw.name.as_str()) {
        return problem(
            key,
            format!("{:?}", raw.name),
            "a name other than x, y and z",
        );
    }
    let merge = raw.merge.unwrap_or(match raw.ty {
        AttributeType::I32 | AttributeType::Fixed => MergeRule::Sum,
        _ => MergeRule::Last,
    });
    if let Some(i) = attributes.iter().position(|a| a.name == raw.name) {
        let known = &mut attributes[i];
        if (known.ty, known.merge, known.audience) != (raw.ty, merge, raw.audience) {
            return problem(
                key,
                format!("{:?}, {merge:?}, {:?}", raw.ty, raw.audience),
                format!(
                    "the type, merge rule and audience it has in other kinds: {:?}, {:?}, {:?}",
                    known.ty, known.merge, known.audience
                ),
            );
        }
        known.min = known.min.min(value.min);
        known.max = known.max.max(value.max);
        return Ok(i as u16);
    }
    if attributes.len() == ATTRIBUTES_MAX {
        return problem(
            key,
            "one more attribute",
            format!("at most {ATTRIBUTES_MAX} in a world, positions included"),
        );
    }
    attributes.push(Attribute {
        name: raw.name,
        ty: raw.ty,
        merge,
        audience: raw.audience,
        min: value.min,
        max: value.max,
    });
    Ok((attributes.len() - 1) as u16)
}

/// Default and bounds in raw units, by the attribute's type.
pub(super) fn values(
    key: &str,
    raw: &raw::Attribute,
    symbols: &[String],
) -> Result<KindAttribute, Problem> {
    let read = |name: &str, value: &Option<toml::Value>, otherwise: i32| match value {
        None => Ok(otherwise),
        Some(value) => read_value(
            &format!("{key}.{name}"),
            raw.ty,
            value,
            &raw.symbols,
            symbols,
        ),
    };
    let (low, high, zero) = match raw.ty {
        AttributeType::I32 | AttributeType::Fixed => (i32::MIN, i32::MAX, 0),
        AttributeType::Bool => (0, 1, 0),
        AttributeType::Entity => (i32::MIN, i32::MAX, -1),
        AttributeType::Symbol => {
            let index = |s: &String| symbols.binary_search(s).unwrap_or(0) as i32;
            let Some(first) = raw.symbols.first() else {
                return problem(
                    format!("{key}.symbols"),
                    "an empty list",
                    "the texts that this attribute can be",
                );
            };
            let low = raw.symbols.iter().map(index).min().unwrap_or(0);
            let high = raw.symbols.iter().map(index).max().unwrap_or(0);
            (low, high, index(first))
        }
    };
    let bounded = matches!(raw.ty, AttributeType::I32 | AttributeType::Fixed);
    if !bounded && (raw.min.is_some() || raw.max.is_some()) {
        return problem(
            format!("{key}.min or .max"),
            "a bound",
            "bounds on i32 and fixed only",
        );
    }
    let min = read("min", &raw.min, low)?;
    let max = read("max", &raw.max, high)?;
    let default = read("default", &raw.default, zero)?;
    if min > max {
        return problem(
            format!("{key}.min"),
            min,
            "a minimum no greater than the maximum",
        );
    }
    Ok(KindAttribute {
        column: 0,
        default: in_range(&format!("{key}.default"), default, min, max)?,
        min,
        max,
    })
}

pub(super) fn read_value(
    key: &str,
    ty: AttributeType,
    value: &toml::Value,
    own_symbols: &[String],
    symbols: &[String],
) -> Result<i32, Problem> {
    let number = |value: &toml::Value| match value {
        toml::Value::Integer(i) => Some(*i as f64),
        toml::Value::Float(f) => Some(*f),
        _ => None,
    };
    match (ty, value) {
        (AttributeType::I32, toml::Value::Integer(i)) => match i32::try_from(*i) {
            Ok(i) => Ok(i),
            Err(_) => problem(key, i, "a whole number of 32 bits"),
        },
        (AttributeType::Fixed, value) if number(value).is_some() => {
            let value = number(value).unwrap_or_default();
            Ok(fixed(key, value, -524_288.0, 524_287.9)?.raw())
        }
        (AttributeType::Bool, toml::Value::Boolean(b)) => Ok(i32::from(*b)),
        (AttributeType::Symbol, toml::Value::String(s)) if own_symbols.contains(s) => {
            Ok(symbols.binary_search(s).unwrap_or(0) as i32)
        }
        (ty, value) => problem(
            key,
            value,
            match ty {
                AttributeType::I32 => "a whole number".to_owned(),
                AttributeType::Fixed => "a number".to_owned(),
                AttributeType::Bool => "true or false".to_owned(),
                AttributeType::Entity => "nothing: it starts as no entity".to_owned(),
                AttributeType::Symbol => format!("one of {own_symbols:?}"),
            },
        ),
    }
}
