//! The order in which the parts of a world file are checked.

use super::check::{Problem, SIZE_MAX, fixed, in_range, problem, unexpected};
use super::logic::{Compiler, LogicError};
use super::{commands, engine, kinds, limits, logic, raw, regions};
use crate::predicate::{NameError, WorldNames};
use crate::wire::codec;
use crate::wire::control::WELCOME_BYTES_MAX;
use crate::wire::movement::{MOVEMENT_BITS_MAX, MovementCodec};
use crate::world::command::{CommandKind, CommandSchema};
use crate::world::config::{Limits, VISIBLE_MAX, WorldConfig};
use crate::world::id::CAPACITY_MAX;
use crate::world::notification::NotificationSchema;
use crate::world::schema::{Schema, WorldInfo};

pub(super) fn build(raw: &raw::World, compiler: &dyn Compiler) -> Result<WorldConfig, Rejected> {
    let default_kinds;
    let raw_kinds = match &raw.kind {
        Some(kinds) => kinds,
        None => {
            default_kinds = raw::default_kinds();
            &default_kinds
        }
    };
    let info = info(&raw.world)?;
    let populations = populations(raw_kinds, info.capacity)?;
    let region_limits = regions::limits(&raw.limits, &info, raw_kinds)?;
    let mut schema = kinds::schema(info, raw_kinds)?;
    let player_kind = match &raw.world.player_kind {
        None => 0,
        Some(name) => kinds::index(&schema, "world.player_kind", name)?,
    };
    let mut logic = logic::logic(&raw.logic, &raw.commands, compiler)?;
    let declared = compiler.compile(&schema, &mut logic)?;
    schema.commands.extend(declared.commands);
    let every = commands::every(&schema, &raw.every)?;
    let falls = engine::falls(&schema, raw_kinds)?;
    let tells_owner = engine::tells_owner(&schema, raw_kinds)?;
    regions::add(&mut schema, raw_kinds, region_limits.edge_max)?;
    let mut notifications = commands::notifications(&schema, &falls, tells_owner);
    let is_heard = !declared.notifications.is_empty();
    notifications.extend(declared.notifications);
    let needs = limits::Needs {
        world: &schema.world,
        rules: every.len() as u64,
        schedules: declared.puts_off || falls.iter().any(Option::is_some),
        is_heard,
        notifies: !notifications.is_empty(),
    };
    let limits = limits::limits(&raw.limits, region_limits, &needs)?;
    apply_limits(&mut schema, &limits, notifications);
    check_names(&schema, &limits)?;
    check_sizes(&schema)?;
    Ok(WorldConfig {
        seed: raw.world.seed,
        player_kind,
        populations,
        falls,
        tells_owner,
        every,
        logic,
        limits,
        schema,
    })
}

/// Why a world file is rejected.
pub(super) enum Rejected {
    Key(Problem),
    /// Problems of scripts, drawn.
    Texts(String),
}

impl From<Problem> for Rejected {
    fn from(problem: Problem) -> Rejected {
        Rejected::Key(problem)
    }
}

impl From<LogicError> for Rejected {
    fn from(error: LogicError) -> Rejected {
        match error {
            LogicError::Texts(drawn) => Rejected::Texts(drawn),
            LogicError::Key { key, message } => Rejected::Key(Problem { key, message }),
        }
    }
}

fn info(raw: &raw::Section) -> Result<WorldInfo, Problem> {
    let dimensions = raw.size.len();
    if !(2..=3).contains(&dimensions) {
        return unexpected("world.size", dimensions, "2 or 3 numbers");
    }
    let size = raw.size.iter();
    Ok(WorldInfo {
        name: raw.name.clone(),
        size: size
            .map(|&s| fixed("world.size", s, 1.0, SIZE_MAX))
            .collect::<Result<Vec<_>, _>>()?,
        aoi: fixed("world.aoi", raw.aoi, 1.0, SIZE_MAX)?,
        interest: raw.interest,
        capacity: in_range("world.capacity", raw.capacity, 1, CAPACITY_MAX)?,
        tick_hz: in_range("world.tick_hz", raw.tick_hz, 1, 1000)?,
        visible_max: in_range("world.visible_max", raw.visible_max, 0, VISIBLE_MAX)?,
    })
}

/// How many of each kind are born in the first tick.
fn populations(kinds: &[raw::Kind], capacity: u32) -> Result<Vec<u32>, Problem> {
    if !(1..=KINDS_MAX).contains(&kinds.len()) {
        return unexpected("kind", kinds.len(), format!("1 to {KINDS_MAX} kinds"));
    }
    let populations: Vec<u32> = kinds.iter().map(|k| k.population).collect();
    let all = populations.iter().map(|&p| u64::from(p)).sum::<u64>();
    if all > u64::from(capacity) {
        let expected = format!("at most world.capacity = {capacity} of all kinds together");
        return unexpected("kind.population", all, expected);
    }
    Ok(populations)
}

/// Removes the commands for which there is no room, and adds the notifications for
/// which there is.
fn apply_limits(schema: &mut Schema, limits: &Limits, notifications: Vec<NotificationSchema>) {
    if limits.timed_commands == 0 {
        let is_given = |c: &CommandSchema| c.senders.clients || c.senders.rules;
        let is_engines = |c: &CommandSchema| c.kind <= CommandKind::DESPAWN;
        schema.commands.retain(|c| is_given(c) || is_engines(c));
    }
    if limits.notifications_per_tick > 0 {
        schema.notifications = notifications;
    }
}

/// Where clients can subscribe, predicates must be able to name every attribute.
fn check_names(schema: &Schema, limits: &Limits) -> Result<(), Problem> {
    if limits.subscriptions_per_client == 0 {
        return Ok(());
    }
    let Err(error) = WorldNames::new(schema) else {
        return Ok(());
    };
    let message = match &error {
        NameError::Declared(name) | NameError::Reserved(name) => {
            format!("`{name}` is reserved; rename this attribute")
        }
        error => format!("{error}; clients could not subscribe by this name"),
    };
    let key = match error.name() {
        Some(name) => kinds::attribute_key(schema, name),
        None => "kind.attributes".to_owned(),
    };
    problem(key, message)
}

fn check_sizes(schema: &Schema) -> Result<(), Problem> {
    let bytes = codec::to_bytes(schema).len();
    if bytes > SCHEMA_BYTES_MAX {
        let message = format!(
            "the schema, which every client is sent, has {bytes} bytes; at most \
             {SCHEMA_BYTES_MAX} are allowed"
        );
        return problem("kind", message);
    }
    if let Err(error) = MovementCodec::new(schema) {
        let expected =
            format!("at most {MOVEMENT_BITS_MAX} bits of position and movement attributes");
        return unexpected("kind.attributes", error.bits, expected);
    }
    let (capacity, columns) = (schema.world.capacity, schema.attributes.len());
    if u64::from(capacity) * columns as u64 > u64::from(u32::MAX) {
        let max = u32::MAX as usize / columns;
        let expected = format!("at most {max} with {columns} attributes");
        return unexpected("world.capacity", capacity, expected);
    }
    Ok(())
}

const KINDS_MAX: usize = 256;
/// The room for a schema in a welcome.
const SCHEMA_BYTES_MAX: usize = WELCOME_BYTES_MAX - 256;
