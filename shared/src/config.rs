//! The world file: TOML in, a checked [`WorldConfig`] out.
//!
//! Every size that the server allocates follows from here. A bad value is
//! refused with the file, the key and what is allowed; nothing is guessed.

mod raw;
mod regions;

use std::collections::BTreeSet;
use std::path::Path;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::command::{CommandKind, Rules, Sender};
use crate::content::WorldNames;
use crate::fixed::Fixed;
use crate::id::CAPACITY_MAX;
use crate::notification::NotificationKind;
use crate::schema::{
    ATTRIBUTES_MAX, Attribute, AttributeType, Audience, CommandSchema, Kind, KindAttribute,
    MergeRule, Schema, WorldInfo,
};
use crate::wire::codec;
use crate::wire::control::WELCOME_BYTES_MAX;
use crate::wire::movement::MovementCodec;
pub use regions::{KindRegions, REGIONS_PER_CLIENT_MAX};

/// Everything that defines a world, checked.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WorldConfig {
    pub seed: u64,
    pub interest: InterestMode,
    /// The kind that a joining client is born as: an index into the schema's kinds.
    pub player_kind: u16,
    /// How many of each kind are born in the first tick.
    pub populations: Vec<u32>,
    /// By kind: how many ticks after its fall one is born anew; 0: none falls. Of
    /// the players' kind, only those with a client.
    pub respawn_ticks: Vec<u32>,
    /// By kind: the regions that newborns carry.
    pub kind_regions: Vec<KindRegions>,
    pub every: Vec<Every>,
    pub rules: Rules,
    pub limits: Limits,
    pub schema: Schema,
}

/// Who counts as near.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum InterestMode {
    /// Everyone within the observer's radius.
    Exact,
    /// Everyone in the observer's bucket and its neighbours, as in the thesis (3.5).
    Buckets,
}

/// A command that every entity of a kind gives itself every `ticks` ticks.
/// Entities take turns by slot, so that each tick has an even share.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Every {
    pub kind: u16,
    pub ticks: u32,
    pub command: CommandKind,
    pub words: Vec<i32>,
}

/// Sizes and quotas. What exceeds one is dropped by rule and counted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limits {
    /// Clients at a time.
    pub clients: u32,
    pub observers_per_client: u32,
    /// Regions that a client may subscribe to, beside those of whom it follows.
    pub regions_per_client: u32,
    /// The longest edge of any region.
    pub region_edge_max: Fixed,
    /// Whether entities may carry regions.
    pub entity_regions: bool,
    /// Commands in one tick, those of world rules included.
    pub commands_per_tick: u32,
    /// Timed commands that may be pending.
    pub timed_commands: u32,
    /// Updates in one tick, before merging.
    pub updates_per_tick: u32,
    /// Notifications in one tick; 0: there are none in this world.
    pub notifications_per_tick: u32,
    /// Deliveries in one tick.
    pub deliveries_per_tick: u64,
    /// Commands that a client may send per tick, on average.
    pub client_commands_per_tick: u32,
    /// Commands that a client may send at once after having been quiet.
    pub client_commands_burst: u32,
    /// Session messages (regions, subscriptions) of a client that are read in a
    /// second, and at once after it has been quiet.
    pub client_requests_per_second: u32,
    /// Bytes of the reliable stream that may wait for a slow client.
    pub client_stream_bytes: u32,
    /// A client that is silent for this long is gone.
    pub idle_seconds: u32,
    /// How long a lost client's entity waits for it to come back.
    pub resume_seconds: u32,
    /// Content subscriptions of one client; 0: there are none in this world.
    pub subscriptions_per_client: u32,
    /// Filters of one subscription's predicate.
    pub predicate_filters: u32,
    /// Bytes of one subscription's predicate, as text.
    pub predicate_bytes: u32,
    /// Changes and notifications that a client is told of in one tick because it
    /// subscribed to them.
    pub client_notices_per_tick: u32,
    /// Notifications that a client hears in one tick.
    pub client_hearings_per_tick: u32,
}

/// Why a world file was refused.
#[derive(Debug, Error)]
pub enum ConfigError {
    #[error("{file}: cannot be read: {source}")]
    Unreadable {
        file: String,
        source: std::io::Error,
    },
    #[error("{file}: {message}")]
    Syntax { file: String, message: String },
    #[error("{file}: {key}: {found} is not allowed; expected {allowed}")]
    Value {
        file: String,
        key: String,
        found: String,
        allowed: String,
    },
}

/// The widest entity in bits that a movement datagram can carry.
pub const MOVEMENT_BITS_MAX: u32 = 128;
/// The longest that a command may be put off, in ticks.
pub const DELAY_TICKS_MAX: u32 = 1_000_000;
/// The most notifications that one client can be told of in a tick because it hears them.
pub const HEARINGS_MAX: u32 = 1024;
/// The most entities that one client can be told to know.
pub const VISIBLE_MAX: u32 = 1024;

impl WorldConfig {
    /// Reads and checks a world file.
    pub fn load(path: &Path) -> Result<WorldConfig, ConfigError> {
        let file = path.display().to_string();
        let text = std::fs::read_to_string(path).map_err(|source| ConfigError::Unreadable {
            file: file.clone(),
            source,
        })?;
        Self::parse(&text, &file)
    }

    /// Checks the text of a world file; `file` is what errors call it.
    pub fn parse(text: &str, file: &str) -> Result<WorldConfig, ConfigError> {
        let raw: raw::World = toml::from_str(text).map_err(|error| ConfigError::Syntax {
            file: file.to_owned(),
            message: error.to_string().trim_end().to_owned(),
        })?;
        build(raw).map_err(|problem| ConfigError::Value {
            file: file.to_owned(),
            key: problem.key,
            found: problem.found,
            allowed: problem.allowed,
        })
    }

    /// The number of axes, 2 or 3.
    pub fn dimensions(&self) -> usize {
        self.schema.dimensions()
    }

    /// The size per axis in raw units; a world of two axes is one unit thin.
    pub fn size_raw(&self) -> [i32; 3] {
        let mut size = [1; 3];
        for (axis, s) in size.iter_mut().zip(&self.schema.world.size) {
            *axis = s.raw();
        }
        size
    }
}

impl Default for WorldConfig {
    /// The world of an empty file.
    fn default() -> WorldConfig {
        Self::parse("", "the default world").expect("the default world is valid")
    }
}

struct Problem {
    key: String,
    found: String,
    allowed: String,
}

fn problem<T>(
    key: impl Into<String>,
    found: impl ToString,
    allowed: impl Into<String>,
) -> Result<T, Problem> {
    Err(Problem {
        key: key.into(),
        found: found.to_string(),
        allowed: allowed.into(),
    })
}

fn in_range<T: PartialOrd + ToString + Copy>(
    key: &str,
    value: T,
    min: T,
    max: T,
) -> Result<T, Problem> {
    if value >= min && value <= max {
        Ok(value)
    } else {
        problem(
            key,
            value.to_string(),
            format!("{} to {}", min.to_string(), max.to_string()),
        )
    }
}

fn fixed(key: &str, value: f64, min: f64, max: f64) -> Result<Fixed, Problem> {
    in_range(key, value, min, max)?;
    match Fixed::from_f64(value) {
        Some(fixed) => Ok(fixed),
        None => problem(key, value, format!("{min} to {max}")),
    }
}

fn build(raw: raw::World) -> Result<WorldConfig, Problem> {
    let world = raw.world;
    let dimensions = world.size.len();
    if !(2..=3).contains(&dimensions) {
        return problem(
            "world.size",
            format!("{dimensions} numbers"),
            "2 or 3 numbers",
        );
    }
    let size = world
        .size
        .iter()
        .map(|&s| fixed("world.size", s, 1.0, SIZE_MAX))
        .collect::<Result<Vec<_>, _>>()?;
    let aoi = fixed("world.aoi", world.aoi, 1.0, SIZE_MAX)?;
    let capacity = in_range("world.capacity", world.capacity, 1, CAPACITY_MAX)?;
    let info = WorldInfo {
        name: world.name,
        size,
        aoi,
        capacity,
        tick_hz: in_range("world.tick_hz", world.tick_hz, 1, 1000)?,
        visible_max: in_range("world.visible_max", world.visible_max, 0, VISIBLE_MAX)?,
    };
    let kinds = raw.kind.unwrap_or_else(raw::default_kinds);
    if kinds.is_empty() || kinds.len() > 256 {
        return problem("kind", format!("{} kinds", kinds.len()), "1 to 256 kinds");
    }
    let populations = kinds.iter().map(|k| k.population).collect::<Vec<_>>();
    let population = populations.iter().map(|&p| u64::from(p)).sum::<u64>();
    if population > u64::from(capacity) {
        return problem(
            "kind.population",
            format!("{population} in all"),
            format!("at most world.capacity = {capacity}"),
        );
    }
    let respawns: Vec<_> = kinds.iter().map(|k| k.respawn_ticks).collect();
    let regions: Vec<regions::RawRegions> = kinds
        .iter()
        .map(|k| (k.publishes.clone(), k.subscribes.clone()))
        .collect();
    let region_limits = regions::limits(&raw.limits, &info, world.interest, &regions)?;
    let mut schema = schema(info, kinds)?;
    let player_kind = match &world.player_kind {
        None => 0,
        Some(name) => kind_index(&schema, "world.player_kind", name)?,
    };
    let rules = rules(raw.commands)?;
    if rules.shout_radius_max.raw() == 0 {
        schema.commands.retain(|c| c.kind != CommandKind::Shout);
    }
    let every = raw
        .every
        .into_iter()
        .enumerate()
        .map(|(i, rule)| every(&schema, &format!("every[{i}]"), rule))
        .collect::<Result<Vec<_>, _>>()?;
    let respawn_ticks = respawn_ticks(&schema, &respawns)?;
    let kind_regions = regions::of_kinds(&schema, &regions, region_limits.edge_max)?;
    let schedules = respawn_ticks.iter().any(|&ticks| ticks > 0)
        || rules.blast_ember_ticks > 0 && schema.command(CommandKind::Blast).is_some();
    let notifications = notifications(&schema, &rules, &respawn_ticks);
    let limits = limits(
        raw.limits,
        &schema.world,
        region_limits,
        every.len() as u64,
        schedules,
        &notifications,
    )?;
    if limits.timed_commands == 0 {
        schema.commands.retain(|c| c.sender != Sender::Timer);
    }
    if limits.notifications_per_tick > 0 {
        let schemas = notifications.iter().map(|kind| kind.schema(dimensions));
        schema.notifications = schemas.collect();
    }
    if limits.subscriptions_per_client > 0 {
        // So that predicates can name every attribute.
        if let Err(error) = WorldNames::new(&schema) {
            return problem(
                "kind.attributes.name",
                error,
                "names that predicates can use, in a world of subscriptions",
            );
        }
    }
    let encoded = codec::to_bytes(&schema).len();
    if encoded > SCHEMA_BYTES_MAX {
        return problem(
            "kind",
            format!("a schema of {encoded} bytes"),
            format!("at most {SCHEMA_BYTES_MAX}, which every client is sent"),
        );
    }
    if let Err(bits) = MovementCodec::new(&schema) {
        return problem(
            "kind.attributes",
            format!("movement attributes of {bits} bits together"),
            format!("at most {MOVEMENT_BITS_MAX} bits, positions included"),
        );
    }
    if u64::from(capacity) * schema.attributes.len() as u64 > u64::from(u32::MAX) {
        return problem(
            "world.capacity",
            capacity,
            format!(
                "at most {} with {} attributes",
                u32::MAX as usize / schema.attributes.len(),
                schema.attributes.len()
            ),
        );
    }
    Ok(WorldConfig {
        seed: world.seed,
        interest: world.interest,
        player_kind,
        populations,
        respawn_ticks,
        kind_regions,
        every,
        rules,
        limits,
        schema,
    })
}

/// What a welcome has room for.
const SCHEMA_BYTES_MAX: usize = WELCOME_BYTES_MAX - 256;

/// A little under half of what [`Fixed`] can tell, so that a difference of two
/// positions and an area of interest around them never overflows.
const SIZE_MAX: f64 = 262_143.0;

fn kind_index(schema: &Schema, key: &str, name: &str) -> Result<u16, Problem> {
    match schema.kind(name) {
        Some(index) => Ok(index as u16),
        None => {
            let names: Vec<_> = schema.kinds.iter().map(|k| k.name.as_str()).collect();
            problem(key, format!("{name:?}"), format!("one of {names:?}"))
        }
    }
}

fn schema(world: WorldInfo, raw_kinds: Vec<raw::Kind>) -> Result<Schema, Problem> {
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
                "a name that no other kind has",
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
fn column(
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
fn values(key: &str, raw: &raw::Attribute, symbols: &[String]) -> Result<KindAttribute, Problem> {
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

fn read_value(
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

fn every(schema: &Schema, key: &str, raw: raw::Every) -> Result<Every, Problem> {
    let kind = kind_index(schema, &format!("{key}.kind"), &raw.kind)?;
    let ticks = in_range(&format!("{key}.ticks"), raw.ticks, 1, DELAY_TICKS_MAX)?;
    let givable: Vec<_> = schema
        .commands
        .iter()
        .filter(|c| matches!(c.sender, Sender::Client | Sender::Rule))
        // A file can't name an entity, so what is aimed at one is for clients.
        .filter(|c| !c.words.contains(&AttributeType::Entity))
        .collect();
    let Some(command) = givable.iter().find(|c| c.name == raw.command) else {
        let names: Vec<_> = givable.iter().map(|c| c.name.as_str()).collect();
        return problem(
            format!("{key}.command"),
            format!("{:?}", raw.command),
            format!("one of {names:?}"),
        );
    };
    if raw.words.len() != command.words.len() {
        return problem(
            format!("{key}.words"),
            format!("{} words", raw.words.len()),
            format!("{} for {}", command.words.len(), command.name),
        );
    }
    let words = raw
        .words
        .iter()
        .zip(&command.words)
        .map(|(value, &ty)| read_value(&format!("{key}.words"), ty, value, &[], &[]))
        .collect::<Result<Vec<_>, _>>()?;
    Ok(Every {
        kind,
        ticks,
        command: command.kind,
        words,
    })
}

fn rules(raw: raw::Commands) -> Result<Rules, Problem> {
    let default = Rules::default();
    let length = |key: &str, value: Option<f64>, otherwise: Fixed| match value {
        None => Ok(otherwise),
        Some(value) => fixed(key, value, 0.0, SIZE_MAX),
    };
    let amount = |key: &str, value: Option<i32>, otherwise: i32| match value {
        None => Ok(otherwise),
        Some(value) => in_range(key, value, 0, i32::MAX),
    };
    Ok(Rules {
        move_speed_max: length(
            "commands.move.speed_max",
            raw.r#move.speed_max,
            default.move_speed_max,
        )?,
        strike_reach: length(
            "commands.strike.reach",
            raw.strike.reach,
            default.strike_reach,
        )?,
        strike_damage: amount(
            "commands.strike.damage",
            raw.strike.damage,
            default.strike_damage,
        )?,
        heal_reach: length("commands.heal.reach", raw.heal.reach, default.heal_reach)?,
        heal_amount: amount("commands.heal.amount", raw.heal.amount, default.heal_amount)?,
        blast_reach: length("commands.blast.reach", raw.blast.reach, default.blast_reach)?,
        blast_radius: length(
            "commands.blast.radius",
            raw.blast.radius,
            default.blast_radius,
        )?,
        blast_damage: amount(
            "commands.blast.damage",
            raw.blast.damage,
            default.blast_damage,
        )?,
        blast_ember_ticks: in_range(
            "commands.blast.ember_ticks",
            raw.blast.ember_ticks.unwrap_or(default.blast_ember_ticks),
            0,
            DELAY_TICKS_MAX as i32,
        )?,
        blast_ember_damage: amount(
            "commands.blast.ember_damage",
            raw.blast.ember_damage,
            default.blast_ember_damage,
        )?,
        blast_sound: length("commands.blast.sound", raw.blast.sound, default.blast_sound)?,
        pick_reach: length("commands.pick.reach", raw.pick.reach, default.pick_reach)?,
        roam_step: length("commands.roam.step", raw.roam.step, default.roam_step)?,
        shout_radius_max: length(
            "commands.shout.radius_max",
            raw.shout.radius_max,
            default.shout_radius_max,
        )?,
    })
}

/// What can be told of in a world of these attributes and commands. Who owns what is
/// told of only where clients may know it anyway.
fn notifications(schema: &Schema, rules: &Rules, respawn_ticks: &[u32]) -> Vec<NotificationKind> {
    let is_told = |audience| matches!(audience, Audience::Movement | Audience::State);
    let is_owner = |a: &Attribute| a.name == "owner" && a.ty == AttributeType::Entity;
    let is_possible = |kind: &NotificationKind| match kind {
        NotificationKind::Blast => {
            rules.blast_sound.raw() > 0 && schema.command(CommandKind::Blast).is_some()
        }
        NotificationKind::Fall => respawn_ticks.iter().any(|&ticks| ticks > 0),
        NotificationKind::Pick => {
            let mut attributes = schema.attributes.iter();
            attributes.any(|a| is_owner(a) && is_told(a.audience))
        }
        NotificationKind::Shout => schema.command(CommandKind::Shout).is_some(),
    };
    let all = NotificationKind::ALL.into_iter();
    all.filter(is_possible).collect()
}

/// Who has no hit points can't fall; who is born without any would fall for ever.
fn respawn_ticks(schema: &Schema, raw: &[Option<u32>]) -> Result<Vec<u32>, Problem> {
    let hp = schema
        .column("hp")
        .filter(|&c| schema.attributes[c].ty == AttributeType::I32);
    let mut all = vec![];
    for (kind, &ticks) in schema.kinds.iter().zip(raw) {
        let key = format!("kind.{}.respawn_ticks", kind.name);
        let Some(ticks) = ticks else {
            all.push(0);
            continue;
        };
        let own = kind
            .attributes
            .iter()
            .find(|a| Some(usize::from(a.column)) == hp);
        if own.is_none_or(|own| own.default <= own.min) {
            return problem(
                key,
                ticks,
                "a kind with hp of type i32 whose default is above its minimum",
            );
        }
        all.push(in_range(&key, ticks, 1, DELAY_TICKS_MAX)?);
    }
    Ok(all)
}

fn limits(
    raw: raw::Limits,
    world: &WorldInfo,
    regions: regions::RegionLimits,
    every: u64,
    schedules: bool,
    notifications: &[NotificationKind],
) -> Result<Limits, Problem> {
    let capacity = u64::from(world.capacity);
    let clients = in_range(
        "limits.clients",
        raw.clients.unwrap_or(world.capacity.min(65_536)),
        1,
        CAPACITY_MAX,
    )?;
    let whole = |key: &str, value: Option<u64>, otherwise: u64, max: u64| {
        in_range(key, value.unwrap_or(otherwise.min(max)), 1, max)
    };
    let indexable = u64::from(u32::MAX) >> 1;
    let client_commands_per_tick = in_range(
        "limits.client_commands_per_tick",
        raw.client_commands_per_tick,
        1,
        1000,
    )?;
    let timed_commands = in_range(
        "limits.timed_commands",
        raw.timed_commands
            .unwrap_or(if schedules { capacity } else { 0 }),
        u64::from(schedules),
        indexable,
    )?;
    // Births of the first tick, each client's quota, each rule's entities, and all
    // that may wait for one tick.
    let commands = capacity
        + u64::from(clients) * u64::from(client_commands_per_tick)
        + capacity * every
        + timed_commands
        + 1024;
    let commands_per_tick = whole(
        "limits.commands_per_tick",
        raw.commands_per_tick,
        commands,
        indexable,
    )?;
    let subscriptions_per_client = in_range(
        "limits.subscriptions_per_client",
        raw.subscriptions_per_client,
        0,
        1024,
    )?;
    // These exist only where the file asks for them.
    let asked = [NotificationKind::Blast, NotificationKind::Shout]
        .iter()
        .any(|kind| notifications.contains(kind));
    let is_heard = subscriptions_per_client > 0 && !notifications.is_empty();
    // A command tells of one thing at most, and so does an entity besides: it falls, or
    // has a new owner.
    let notifications = match asked || is_heard {
        true => (commands_per_tick + capacity).min(indexable),
        false => 0,
    };
    let deliveries = match world.visible_max {
        // With nothing remembered there is no bound per client; a guess that the
        // file can overrule.
        0 => u64::from(clients) * 256,
        // Each client's old and new view: this cannot overflow.
        visible => u64::from(clients) * u64::from(visible) * 2,
    };
    Ok(Limits {
        clients,
        observers_per_client: in_range(
            "limits.observers_per_client",
            raw.observers_per_client,
            1,
            64,
        )?,
        regions_per_client: regions.per_client,
        region_edge_max: regions.edge_max,
        entity_regions: regions.of_entities,
        commands_per_tick: commands_per_tick as u32,
        timed_commands: timed_commands as u32,
        updates_per_tick: whole(
            "limits.updates_per_tick",
            raw.updates_per_tick,
            (commands_per_tick * 4).max(65_536),
            indexable,
        )? as u32,
        deliveries_per_tick: whole(
            "limits.deliveries_per_tick",
            raw.deliveries_per_tick,
            deliveries,
            indexable,
        )?,
        notifications_per_tick: in_range(
            "limits.notifications_per_tick",
            raw.notifications_per_tick.unwrap_or(notifications),
            u64::from(asked),
            indexable,
        )? as u32,
        subscriptions_per_client,
        predicate_filters: in_range("limits.predicate_filters", raw.predicate_filters, 1, 1024)?,
        predicate_bytes: in_range("limits.predicate_bytes", raw.predicate_bytes, 16, 16_384)?,
        client_notices_per_tick: in_range(
            "limits.client_notices_per_tick",
            raw.client_notices_per_tick,
            1,
            65_536,
        )?,
        client_hearings_per_tick: in_range(
            "limits.client_hearings_per_tick",
            raw.client_hearings_per_tick,
            1,
            HEARINGS_MAX,
        )?,
        client_commands_per_tick,
        client_commands_burst: in_range(
            "limits.client_commands_burst",
            raw.client_commands_burst,
            client_commands_per_tick,
            10_000,
        )?,
        client_requests_per_second: in_range(
            "limits.client_requests_per_second",
            raw.client_requests_per_second,
            1,
            100,
        )?,
        client_stream_bytes: in_range(
            "limits.client_stream_bytes",
            raw.client_stream_bytes,
            4096,
            1 << 30,
        )?,
        idle_seconds: in_range("limits.idle_seconds", raw.idle_seconds, 1, 3600)?,
        resume_seconds: in_range("limits.resume_seconds", raw.resume_seconds, 0, 3600)?,
    })
}

#[cfg(test)]
mod tests;
