//! What a world file says that is allowed, but hardly meant; and what its world lacks.

use shared::world::attribute::Audience;
use shared::world::collection::declared_name;
use shared::world::config::WorldConfig;

use super::check::{Problem, list};
use super::compile::Declared;
use super::raw;

pub(super) fn warnings(
    config: &WorldConfig,
    raw: &raw::World,
    kinds: &[raw::Kind],
    declared: &Declared,
) -> Vec<Problem> {
    let mut warnings: Vec<Problem> = room(config, raw).into_iter().collect();
    if raw.world.interest == Some(raw::Interest::Exact) {
        let message = "interest is always exact, so the key has no effect: remove it";
        warnings.push(Problem::new("world.interest", message));
    }
    for kind in kinds {
        for attribute in &kind.attributes {
            warnings.extend(values_of_nobody(config, kinds, kind, attribute, declared));
            warnings.extend(turns_of_the_spawned(config, kind, attribute, declared));
            warnings.extend(unused(config, kind, attribute, declared));
        }
    }
    warnings
}

/// The commands that the world lacks.
pub(super) fn notes(declared: &Declared) -> Vec<Problem> {
    let left_out = declared.left_out.iter();
    left_out
        .map(|(name, reason)| Problem::new("logic", format!("`{name}` is left out: {reason}")))
        .collect()
}

/// Whether players find room beside the populations.
fn room(config: &WorldConfig, raw: &raw::World) -> Option<Problem> {
    let capacity = u64::from(config.schema.world.capacity);
    let populations = config
        .populations
        .iter()
        .map(|&p| u64::from(p))
        .sum::<u64>();
    let room = capacity - populations;
    if room == 0 {
        return Some(Problem::new(
            "kind.population",
            format!("populations fill world.capacity = {capacity}, so no player can join"),
        ));
    }
    // The default has no populations in mind.
    let clients = raw.limits.clients?;
    (u64::from(clients) > room).then(|| {
        Problem::new(
            "limits.clients",
            format!(
                "there is room for {room} players: world.capacity = {capacity} less populations \
             of {populations}; found {clients}"
            ),
        )
    })
}

/// Values of a symbol that nobody is born with and no command sets: a predicate that names
/// one never matches.
fn values_of_nobody(
    config: &WorldConfig,
    kinds: &[raw::Kind],
    kind: &raw::Kind,
    attribute: &raw::Attribute,
    declared: &Declared,
) -> Option<Problem> {
    let column = config.schema.column(&attribute.name)?;
    if !attribute.ty.of.has_symbols() || declared.updates.has(column) {
        return None;
    }
    let has = |symbol: &String| {
        let all = kinds.iter().flat_map(|kind| &kind.attributes);
        let mut same = all.filter(|a| a.name == attribute.name);
        same.any(|a| match &a.default {
            Some(default) => values(default).any(|value| value.as_str() == Some(symbol)),
            None => a.symbols.first() == Some(symbol),
        })
    };
    let nobodys: Vec<_> = attribute.symbols.iter().filter(|s| !has(s)).collect();
    (!nobodys.is_empty()).then(|| {
        Problem::new(
            format!("{}.attributes.{}.symbols", kind.key(), attribute.name),
            format!(
                "nobody ever has {}: no kind is born with it, and no command changes `{}`",
                list(&nobodys),
                declared_name(&attribute.name)
            ),
        )
    })
}

/// Values in turn of what scripts spawn.
fn turns_of_the_spawned(
    config: &WorldConfig,
    kind: &raw::Kind,
    attribute: &raw::Attribute,
    declared: &Declared,
) -> Option<Problem> {
    attribute.default.as_ref()?.get("in_turn")?;
    let number = config.schema.kind(&kind.name)?;
    let mut spawned = declared.spawns.iter();
    spawned
        .any(|&spawned| usize::from(spawned) == number)
        .then(|| {
            let key = format!("{}.attributes.{}.default", kind.key(), attribute.name);
            let message = format!(
                "scripts spawn `{}`, in whichever slot is free, by which it has its value: not in \
                 turn. `one_of` draws one, and a command by `born` can choose one",
                kind.name
            );
            Problem::new(key, message)
        })
}

/// A hidden attribute that no script reads: no client is sent it either.
fn unused(
    config: &WorldConfig,
    kind: &raw::Kind,
    attribute: &raw::Attribute,
    declared: &Declared,
) -> Option<Problem> {
    let column = config.schema.column(&attribute.name)?;
    let is_engines = attribute.falls_at.is_some()
        || attribute.tells_owner == Some(true)
        || attribute.persist
        || config.schema.visibility.uses(column)
        || ["vx", "vy", "vz"].contains(&attribute.name.as_str()) && config.motion.is_some();
    let is_used = attribute.audience != Audience::Hidden || declared.reads.has(column);
    let is_allowed = attribute.allow.contains(&raw::Allow::UnusedAttributes);
    (!is_engines && !is_used && !is_allowed).then(|| {
        Problem::new(
            format!("{}.attributes.{}", kind.key(), attribute.name),
            format!(
                "nothing reads `{}`: no script does, and no client is sent what is hidden \
                 [unused_attributes]",
                declared_name(&attribute.name)
            ),
        )
    })
}

/// The values of a `default`: one, or those of a list in a table.
fn values(default: &toml::Value) -> impl Iterator<Item = &toml::Value> {
    let tables = default
        .as_table()
        .into_iter()
        .flat_map(|table| table.values());
    let lists = tables.filter_map(|list| list.as_array()).flatten();
    lists.chain([default])
}
