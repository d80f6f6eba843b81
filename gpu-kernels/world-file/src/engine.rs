//! What the engine itself makes of attributes: falls and rebirths, new owners, and what
//! accounts keep.

use shared::world::attribute::{Attribute, AttributeType, MergeRule};
use shared::world::collection::{Member, declared_name, member};
use shared::world::config::{DELAY_TICKS_MAX, Fall};
use shared::world::limits::{KIND, THINGS, persist_command};
use shared::world::logic::Text;
use shared::world::schema::{Kind, Schema};

use super::check::{Problem, Problems, in_range, place, problem};
use super::{kinds, raw};

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
    if !attribute.ty.of.is_number() || attribute.ty.of.is_half() {
        return problem(key, "only i32 and fixed attributes have `falls_at`");
    }
    let at = kinds::value(&key, attribute.ty.of, value, &[], &[])?;
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

/// The column whose new owners give a notification: `tells_owner` of an attribute.
pub(super) fn tells_owner(schema: &Schema, raw: &[raw::Kind]) -> Result<Option<u16>, Problem> {
    let mut found: Option<&str> = None;
    let all = raw
        .iter()
        .flat_map(|kind| kind.attributes.iter().map(move |a| (kind, a)));
    for (kind, attribute) in all.clone() {
        if attribute.tells_owner != Some(true) {
            continue;
        }
        let key = format!("{}.attributes.{}.tells_owner", kind.key(), attribute.name);
        if attribute.ty.of != AttributeType::Entity {
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
            let key = format!("{}.attributes.{name}.tells_owner", kind.key());
            return problem(key, "expected true as in other kinds");
        }
    }
    let column = schema.column(name);
    column.map(|column| place(name, column)).transpose()
}

/// The columns that accounts keep: `persist` of attributes of the players' kind.
pub(super) fn persists(
    schema: &Schema,
    raw: &[raw::Kind],
    player_kind: u16,
) -> Result<Vec<u16>, Problem> {
    let mut columns = vec![];
    for (number, kind) in raw.iter().enumerate() {
        for attribute in kind.attributes.iter().filter(|attribute| attribute.persist) {
            let key = format!("{}.attributes.{}.persist", kind.key(), attribute.name);
            if kind.is_thing() {
                let message = "things persist as a whole: write `persist = true` for their kind";
                return problem(key, message);
            }
            if number != usize::from(player_kind) {
                return problem(key, "only attributes of the players' kind persist");
            }
            if attribute.ty.of == AttributeType::Entity && !attribute.group {
                let message = "an entity may be gone when its account comes back; what a player \
                               holds persists by `persist = true` of its kind, and what it is a \
                               member of has `group = true`";
                return problem(key, message);
            }
            if attribute.name == THINGS {
                return problem(key, "a character has its things under this name; rename it");
            }
            let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '_';
            if !declared_name(&attribute.name).chars().all(is_plain) {
                return problem(key, UNWRITABLE);
            }
            let column = schema.column(&attribute.name).unwrap_or_default();
            columns.push(place(&key, column)?);
            if attribute.ty.of == AttributeType::I64 {
                columns.push(place(&key, column + 1)?);
            }
        }
    }
    columns.sort_unstable();
    columns.dedup();
    Ok(columns)
}

/// The kinds of things that accounts keep: `persist` of kinds.
pub(super) fn kept_kinds(
    schema: &Schema,
    raw: &[raw::Kind],
    player_kind: u16,
) -> Result<Vec<u16>, Problem> {
    let mut kinds = vec![];
    for (number, kind) in raw.iter().enumerate().filter(|(_, kind)| kind.persist) {
        let key = format!("{}.persist", kind.key());
        if number == usize::from(player_kind) {
            let message = "players persist by their attributes: write `persist = true` for those \
                           that accounts keep";
            return problem(key, message);
        }
        if !kind.is_thing() {
            let message = "only a kind with `place = \"none\"` persists: accounts keep what their \
                           players hold";
            return problem(key, message);
        }
        let reserved = kind.attributes.iter();
        let mut reserved = reserved.filter(|own| [THINGS, KIND].contains(&own.name.as_str()));
        if let Some(own) = reserved.next() {
            let message =
                "a character says something else of its things under this name; rename it";
            return problem(format!("{}.attributes.{}", kind.key(), own.name), message);
        }
        let number = schema.kind(&kind.name).unwrap_or(number);
        kinds.push(place(&key, number)?);
    }
    Ok(kinds)
}

/// The columns of which atomic commands refuse a write that does not fit.
pub(super) fn exact(schema: &Schema, raw: &[raw::Kind]) -> Result<Vec<u16>, Problem> {
    let mut columns = vec![];
    for kind in raw {
        for attribute in kind.attributes.iter().filter(|a| a.overflow.is_some()) {
            let key = format!("{}.attributes.{}.overflow", kind.key(), attribute.name);
            if !matches!(attribute.ty.of, AttributeType::I32 | AttributeType::Fixed) {
                return problem(key, "only i32 and fixed attributes overflow");
            }
            let others = raw.iter().flat_map(|kind| &kind.attributes);
            let mut others = others.filter(|other| other.name == attribute.name);
            if !others.all(|other| other.overflow == attribute.overflow) {
                return problem(key, "expected the same in all kinds with this attribute");
            }
            if attribute.overflow == Some(raw::Overflow::Refuse) {
                let column = schema.column(&attribute.name).unwrap_or_default();
                columns.push(place(&key, column)?);
            }
        }
    }
    columns.sort_unstable();
    columns.dedup();
    Ok(columns)
}

/// The attributes of these columns that commands can give, in one word. Texts come with births.
fn given<'a>(schema: &'a Schema, persists: &'a [u16]) -> impl Iterator<Item = &'a Attribute> {
    let attributes = persists.iter();
    let attributes = attributes.map(|&column| &schema.attributes[usize::from(column)]);
    attributes.filter(|attribute| !attribute.ty.is_half() && attribute.ty != AttributeType::Text)
}

/// The commands that give newborns what their accounts keep: one for each attribute, of one
/// word, which is added where updates are added. Numbers of 64 bits and texts come with births only.
pub(super) fn persist_text(schema: &Schema, persists: &[u16]) -> Text {
    let mut text = String::new();
    for attribute in given(schema, persists) {
        let name = declared_name(&attribute.name);
        let command = persist_command(&attribute.name);
        let at = match member(&attribute.name) {
            Some((_, Member::Index(index))) => format!("[{index}]"),
            Some((_, Member::Key(key))) => format!("[{key:?}]"),
            None => String::new(),
        };
        let of = match attribute.ty {
            AttributeType::Symbol => format!("<{name}>"),
            AttributeType::I32
            | AttributeType::Fixed
            | AttributeType::Bool
            | AttributeType::Entity
            | AttributeType::I64
            | AttributeType::High
            | AttributeType::Text => String::new(),
        };
        let ty = format!("{}{of}", attribute.ty.script_name());
        let update = match attribute.merge {
            MergeRule::Sum => format!("me.{name}{at} += value;"),
            MergeRule::First | MergeRule::Last => format!("me.{name}{at} = value;"),
            MergeRule::Min => format!("me.{name}{at}.min(value);"),
            MergeRule::Max => format!("me.{name}{at}.max(value);"),
        };
        text += &format!(
            "/// Gives a newborn what its account keeps.\n#[command]\n\
             fn {command}(me: Entity, value: {ty}) {{\n    {update}\n}}\n\n"
        );
    }
    Text {
        file: PERSIST_FILE.to_owned(),
        text,
        is_builtin: true,
    }
}

/// Checks that scripts can give every attribute that accounts keep.
pub(super) fn check_persists(schema: &Schema, persists: &[u16]) -> Result<(), Problem> {
    for attribute in given(schema, persists) {
        let name = &attribute.name;
        if schema.command_named(&persist_command(name)).is_none() {
            let key = format!("kind.attributes.{name}.persist");
            return problem(key, UNWRITABLE);
        }
    }
    Ok(())
}

const UNWRITABLE: &str = "only attributes whose names scripts can write persist";
/// No file of a folder is called so by chance.
const PERSIST_FILE: &str = "accounts-keep.rs";
