//! What the engine itself makes of attributes: falls and rebirths, and new owners.

use super::check::{Problem, Problems, in_range, place, problem};
use super::{kinds, raw};
use crate::world::attribute::AttributeType;
use crate::world::config::{DELAY_TICKS_MAX, Fall};
use crate::world::schema::{Kind, Schema};

/// When the entities of each kind fall: `respawn_ticks` of the kind, `falls_at` of one of
/// its attributes.
pub(super) fn falls(
    schema: &Schema,
    raw: &[raw::Kind],
    problems: &mut Problems,
) -> Vec<Option<Fall>> {
    let kinds = schema.kinds.iter().zip(raw);
    kinds
        .map(|(kind, raw)| problems.take_or(None, fall(schema, kind, raw)))
        .collect()
}

fn fall(schema: &Schema, kind: &Kind, raw: &raw::Kind) -> Result<Option<Fall>, Problem> {
    let key = format!("kind.{}.respawn_ticks", kind.name);
    let ticks = raw.respawn_ticks;
    let ticks = ticks.map(|ticks| in_range(&key, ticks, 1, DELAY_TICKS_MAX));
    let attributes = raw.attributes.iter();
    let mut own = attributes.filter_map(|a| Some((a, a.falls_at.as_ref()?)));
    let (respawn_ticks, (attribute, value)) = match (ticks.transpose()?, own.next()) {
        (None, None) => return Ok(None),
        (None, Some((attribute, _))) => {
            let message = "the kind has no `respawn_ticks`, so its entities don't fall";
            return problem(falls_at_key(kind, attribute), message);
        }
        (Some(_), None) => {
            let message = "the kind needs an attribute with `falls_at`: the value at which its \
                           entities fall";
            return problem(key, message);
        }
        (Some(ticks), Some(own)) => (ticks, own),
    };
    if let Some((second, _)) = own.next() {
        let message = format!("`{}` of the kind has one already", attribute.name);
        return problem(falls_at_key(kind, second), message);
    }
    let key = falls_at_key(kind, attribute);
    if !matches!(attribute.ty, AttributeType::I32 | AttributeType::Fixed) {
        return problem(key, "only i32 and fixed attributes have `falls_at`");
    }
    let at = kinds::value(&key, attribute.ty, value, &[], &[])?;
    let column = place(&key, schema.column(&attribute.name).unwrap_or_default())?;
    let values = kind.attributes.iter().find(|a| a.column == column);
    // An entity that is born at this value would fall again at once.
    if values.is_none_or(|own| own.default <= at) {
        return problem(key, "the attribute's default must be above it");
    }
    if values.is_none_or(|own| at < own.min) {
        return problem(
            key,
            "the attribute's minimum is above it, so no entity would fall",
        );
    }
    Ok(Some(Fall {
        column,
        at,
        respawn_ticks,
    }))
}

fn falls_at_key(kind: &Kind, attribute: &raw::Attribute) -> String {
    format!("kind.{}.attributes.{}.falls_at", kind.name, attribute.name)
}

/// The column whose new owners are told of: `tells_owner` of an attribute.
pub(super) fn tells_owner(schema: &Schema, raw: &[raw::Kind]) -> Result<Option<u16>, Problem> {
    let mut found: Option<&str> = None;
    let all = raw
        .iter()
        .flat_map(|kind| kind.attributes.iter().map(move |a| (kind, a)));
    for (kind, attribute) in all.clone() {
        if attribute.tells_owner != Some(true) {
            continue;
        }
        let key = format!(
            "kind.{}.attributes.{}.tells_owner",
            kind.name, attribute.name
        );
        if attribute.ty != AttributeType::Entity {
            return problem(key, "only attributes of type entity have `tells_owner`");
        }
        match found {
            Some(name) if name != attribute.name => {
                return problem(key, format!("`{name}` has it already; one attribute can"));
            }
            _ => found = Some(&attribute.name),
        }
    }
    let Some(name) = found else {
        return Ok(None);
    };
    for (kind, attribute) in all {
        if attribute.name == name && attribute.tells_owner != Some(true) {
            let key = format!("kind.{}.attributes.{name}.tells_owner", kind.name);
            return problem(key, "expected true as in other kinds");
        }
    }
    let column = schema.column(name);
    column.map(|column| place(name, column)).transpose()
}
