//! The order in which the parts of a world file are checked.

use std::ops::Range;

use script::ir::ALL_MAX;
use shared::predicate::{NameError, WorldNames, nearest};
use shared::wire::codec;
use shared::wire::control::{
    ADDRESS_BYTES_MAX, FORECAST_BYTES_MAX, Quotas, SERVERS_MAX, WELCOME_BYTES_MAX, Welcome,
};
use shared::wire::layers::{LayerInfo, LayerKind, TAGS_MAX};
use shared::wire::movement::{MOVEMENT_BITS_MAX, MovementCodec};
use shared::wire::rankings::RankingInfo;
use shared::world::command::{REASON_BYTES_MAX, REASONS_MAX};
use shared::world::config::{InterestMode, VISIBLE_MAX, WorldConfig};
use shared::world::door::Door;
use shared::world::fixed::Fixed;
use shared::world::id::{CAPACITY_MAX, EntityId, Tick};
use shared::world::plane::PLANE_NAMES_MAX;
use shared::world::schema::{Schema, WorldInfo};
use shared::world::source::Origin;
use shared::{Limits, WorldConstant};

use super::check::{Problem, Problems, SIZE_MAX, fixed, in_range, one_of, problem, unexpected};
use super::compile::{self, Declared};
use super::logic::{self, Texts};
use super::ranges::Ranges;
use super::{
    collections, commands, doors, engine, fields, groups, initial, interest, kinds, layers, limits,
    motion, planes, rankings, raw, regions, remarks, spawn, things, visibility, wire_step, zones,
};

/// A world without problems.
pub(super) struct Built {
    pub config: WorldConfig,
    /// What is allowed, but hardly meant.
    pub warnings: Vec<Problem>,
    /// What the world lacks, which may be meant.
    pub notes: Vec<Problem>,
    /// What has the name of a script and is none.
    pub skipped: Vec<String>,
    /// Images by where the file names them, as they stand in what the world is made from.
    pub images: Vec<(Range<usize>, String)>,
}

/// Everything that is wrong with a file.
#[derive(Default)]
pub(super) struct Rejected {
    pub problems: Problems,
    /// Problems of scripts, drawn.
    pub drawn: String,
}

/// Checks all parts. `rejected` has the problems that reading the keys gave.
pub(super) fn build(
    raw: &raw::World,
    texts: &Texts<'_>,
    colours: bool,
    mut rejected: Rejected,
) -> Result<Built, Rejected> {
    let default_kinds;
    let raw_kinds = match &raw.kind {
        Some(kinds) => kinds,
        None => {
            default_kinds = raw::default_kinds();
            &default_kinds
        }
    };
    let problems = &mut rejected.problems;
    let mut info = info(&raw.world, problems);
    let populations = problems.take_or(vec![], populations(raw, raw_kinds, info.capacity));
    // What the whole world shares has a slot of its own.
    info.capacity += u32::from(raw_kinds.iter().any(|kind| kind.is_shared));
    let mut ranges = Ranges::declared();
    let edge_max = regions::limits(&mut ranges, &raw.limits, &info, raw_kinds, problems);
    let atlas = planes::atlas(&info, raw, raw_kinds, problems);
    let mut places = spawn::places(&info, &atlas, raw_kinds, problems);
    let mut spawns = spawn::areas(&info, &atlas, raw_kinds, problems);
    let in_planes = (&mut places[..], &mut spawns[..]);
    planes::lay_kinds(
        &info,
        &atlas,
        raw.world.seed,
        raw_kinds,
        in_planes,
        problems,
    );
    planes::keep_at_home(&info, &atlas, &mut spawns);
    let step = problems.take_or(0, wire_step::of_positions(&raw.world));
    let mut layers = layers::read(&info, &atlas, raw, texts.beside(), problems);
    if !atlas.is_empty() {
        let extent = atlas.extent().map(Fixed::from_raw);
        info.size[..2].copy_from_slice(&extent);
    }
    let images = std::mem::take(&mut layers.inlined);
    let layer_tags = layers.tags.clone();
    let mut schema = kinds::schema(info, step, raw_kinds, &layers.tags, problems);
    schema.atlas = atlas;
    if problems.is_empty() {
        schema.layers = layers::finish(layers, &schema);
    }
    if problems.is_empty() {
        schema.doors = doors::doors(&schema, raw_kinds, problems);
    }
    things::check(&schema, raw_kinds, problems);
    let symbols = kinds::symbols(&schema, raw_kinds);
    let initials = initial::initials(&mut schema, raw_kinds, problems);
    let player_kind = match &raw.world.player_kind {
        None => 0,
        Some(name) => problems.take_or(0, kinds::placed(&schema, "world.player_kind", name)),
    };
    if let Some(kind) = raw_kinds.get(usize::from(player_kind))
        && kind.plane.is_some()
    {
        let message = "expected none, as players are born in the world itself";
        problems.take::<()>(problem(format!("{}.plane", kind.key()), message));
    }
    schema.groups = groups::groups(&schema, raw_kinds, player_kind, problems);
    let shown = things::shown(&schema, raw_kinds, player_kind, problems);
    let falls = engine::falls(&schema, raw_kinds, problems);
    let tells_owner = problems.take_or(None, engine::tells_owner(&schema, raw_kinds));
    let persists = problems.take_or(vec![], engine::persists(&schema, raw_kinds, player_kind));
    let kept_kinds = engine::kept_kinds(&schema, raw_kinds, player_kind);
    let kept_kinds = problems.take_or(vec![], kept_kinds);
    let exact = problems.take_or(vec![], engine::exact(&schema, raw_kinds));
    let tick_hz = schema.world.tick_hz;
    let spectators = interest::spectators(&raw.spectators, tick_hz);
    let spectators = problems.take_or(None, spectators);
    let motion = motion::motion(&schema, &raw.world, problems);
    schema.zones = zones::zones(&schema, &raw.zone, problems);
    planes::check_zones(&schema.atlas, &schema.zones, problems);
    schema.rankings = rankings::rankings(&schema, &raw.ranking, problems);
    if problems.is_empty() {
        schema.fields = fields::fields(&schema, &layer_tags, &raw.field, problems);
    }
    schema.visibility = visibility::visibility(&schema, raw, problems);
    let has_walls = schema.layers.blocked().is_some();
    let logic = problems.take(logic::logic(&raw.logic, &raw.commands, texts, has_walls));
    let mut skipped = vec![];
    let logic = logic.map(|found| {
        let mut logic = found.logic;
        skipped = found.skipped;
        let text = engine::persist_text(&schema, &persists);
        let is_there = logic.texts.iter().any(|own| own.file == text.file);
        if !persists.is_empty() && !is_there {
            let own = logic.texts.iter().position(|text| !text.is_builtin);
            logic.texts.insert(own.unwrap_or(logic.texts.len()), text);
        }
        if !schema.layers.is_empty() {
            problems.take(layers::add_text(&schema.layers, &mut logic.texts));
        }
        if !schema.doors.is_empty() {
            problems.take(doors::add_text(&schema.doors, &mut logic.texts));
        }
        if !schema.fields.is_empty() {
            problems.take(fields::add_text(&schema.fields, &mut logic.texts));
        }
        if !schema.atlas.is_empty() {
            problems.take(planes::add_text(&schema.atlas, &mut logic.texts));
        }
        if !schema.visibility.is_plain() {
            problems.take(visibility::add_text(&schema.visibility, &mut logic.texts));
        }
        if schema.holder_column().is_some() {
            problems.take(things::add_text(&schema, raw_kinds, &mut logic.texts));
        }
        if !schema.groups.is_empty() {
            problems.take(groups::add_text(&schema, &mut logic.texts));
        }
        if !schema.rankings.is_empty() {
            problems.take(rankings::add_text(&schema.rankings, &mut logic.texts));
        }
        logic
    });
    // A text that names an attribute with a problem is not wrong for that.
    let compiled = match logic {
        Some(mut logic) if problems.is_empty() => {
            match compile::compile(&schema, &symbols, &mut logic, colours) {
                Ok(declared) => Some((logic, declared)),
                Err(error) => {
                    let keys = error.keys.into_iter();
                    let keys = keys.map(|(key, message)| Problem::new(key, message));
                    problems.0.extend(keys);
                    rejected.drawn = error.drawn;
                    None
                }
            }
        }
        _ => None,
    };
    let problems = &mut rejected.problems;
    let declared = compiled.as_ref().map(|(_, declared)| declared);
    let scripted = |of: fn(&Declared) -> bool| declared.is_some_and(of);
    if let Some(declared) = declared {
        schema.commands.extend(declared.commands.clone());
        problems.take(engine::check_persists(&schema, &persists));
        schema.constants = constants(&raw.world.constants, declared, problems);
    }
    let every = match declared {
        Some(declared) => {
            let words = commands::SymbolWords {
                symbols: &symbols,
                declared,
            };
            let mut every = commands::every(&schema, &words, &raw.every, problems);
            every.extend(things::rules(&schema, raw_kinds, problems));
            every.extend(groups::rules(&schema));
            every
        }
        None => vec![],
    };
    let born = match declared {
        Some(_) => commands::born(&schema, raw_kinds, problems),
        None => vec![],
    };
    let mut hooks: Vec<_> = WorldConfig::hooks_of_born(&born).collect();
    hooks.extend(declared.iter().flat_map(|declared| &declared.hooks));
    regions::add(&mut schema, raw_kinds, edge_max, problems);
    let mut notifications = commands::notifications(&schema, &falls, tells_owner);
    notifications.extend(declared.iter().flat_map(|d| d.notifications.clone()));
    let needs = limits::Needs {
        world: &schema.world,
        rules: every.len() as u64,
        persists: persists.len() as u64,
        keeps_things: !kept_kinds.is_empty(),
        schedules: scripted(|d| d.schedules)
            || falls.iter().any(Option::is_some)
            || !hooks.is_empty(),
        reloads: compiled
            .as_ref()
            .is_some_and(|(logic, _)| logic.folder.is_some()),
        rewinds: scripted(|d| d.rewinds),
        is_atomic: scripted(|d| d.reasons.atomic_per_tick.is_some()),
        is_heard: scripted(|d| !d.notifications.is_empty()),
        has_editable: schema.layers.has_editable(),
        has_texts: schema.has_texts(),
        notifies: !notifications.is_empty(),
    };
    let limits = limits::limits(ranges, &raw.limits, &needs, problems);
    if let Some(declared) = declared {
        limits::explain(&declared.reasons, problems);
        problems.take(check_gone_over(
            &schema,
            declared,
            &populations,
            &limits,
            player_kind,
        ));
    }
    limits.apply(&mut schema, notifications);
    problems.take(check_names(&schema, &limits));
    problems.take(visibility::check_limits(&schema, &limits));
    problems.take(check_sizes(&schema));
    let Some((logic, declared)) = compiled.filter(|_| problems.is_empty()) else {
        collections::join(&mut problems.0, raw_kinds);
        return Err(rejected);
    };
    let config = WorldConfig {
        seed: raw.world.seed,
        interest: InterestMode::Exact,
        player_kind,
        populations,
        places,
        spawns,
        initials,
        born,
        causes: limits.subscriptions_per_client > 0 || WorldConfig::notifies_of_falls(&hooks),
        hooks,
        falls,
        tells_owner,
        persists,
        kept_kinds,
        exact,
        every,
        motion,
        spectators,
        logic,
        limits,
        schema,
        symbols,
        shown,
        reasons: declared.unmet.clone(),
        source: Origin::default(),
    };
    let mut warnings = remarks::warnings(&config, raw, raw_kinds, &declared);
    collections::join(&mut warnings, raw_kinds);
    Ok(Built {
        warnings,
        notes: remarks::notes(&declared),
        skipped,
        images,
        config,
    })
}

fn info(raw: &raw::Section, problems: &mut Problems) -> WorldInfo {
    let dimensions = raw.size.len();
    if !(2..=3).contains(&dimensions) {
        problems.take::<()>(unexpected("world.size", dimensions, "2 or 3 numbers"));
    }
    let size = raw.size.iter().take(3);
    let mut size: Vec<Fixed> = size
        .map(|&s| problems.take_or(Fixed::ONE, fixed("world.size", s, 1.0, SIZE_MAX)))
        .collect();
    size.resize(size.len().max(2), Fixed::ONE);
    let aoi = problems.take_or(Fixed::ONE, fixed("world.aoi", raw.aoi, 1.0, SIZE_MAX));
    WorldInfo {
        name: raw.name.clone(),
        size,
        aoi,
        aoi_leave: problems.take_or(aoi, interest::aoi_leave(raw, aoi)),
        capacity: problems.take_or(
            CAPACITY_MAX - 1,
            in_range("world.capacity", raw.capacity, 1, CAPACITY_MAX - 1),
        ),
        tick_hz: problems.take_or(1, in_range("world.tick_hz", raw.tick_hz, 1, 1000)),
        visible_max: problems.take_or(
            0,
            in_range("world.visible_max", raw.visible_max, 0, VISIBLE_MAX),
        ),
    }
}

/// The constants that clients may know.
fn constants(names: &[String], declared: &Declared, problems: &mut Problems) -> Vec<WorldConstant> {
    let find = |name: &String| {
        let own = declared.constants.iter().find(|own| own.name == *name);
        let known = declared.constants.iter().map(|own| own.name.as_str());
        let expected = match nearest(name, known.clone()) {
            Some(near) => format!("a constant of a script, as {near:?}"),
            None => format!("a constant of a script, {}", one_of(known)),
        };
        let found = own.cloned().map(Ok);
        found.unwrap_or_else(|| unexpected("world.constants", format!("{name:?}"), expected))
    };
    let constants = names.iter().filter_map(|name| problems.take(find(name)));
    constants.collect()
}

/// How many of each kind are born in the first tick.
/// How many of each kind are born in the first tick, those at places of their own included.
fn populations(raw: &raw::World, kinds: &[raw::Kind], capacity: u32) -> Result<Vec<u32>, Problem> {
    if !(1..=KINDS_MAX).contains(&kinds.len()) {
        return unexpected("kind", kinds.len(), format!("1 to {KINDS_MAX} kinds"));
    }
    let number = |kind: &raw::Kind| {
        let places = u32::try_from(kind.places.len()).unwrap_or(u32::MAX);
        let all = kind.population.saturating_add(places);
        all.saturating_mul(planes::copies_of(raw, kind))
    };
    let populations: Vec<u32> = kinds.iter().map(number).collect();
    let all = populations.iter().map(|&p| u64::from(p)).sum::<u64>();
    if all > u64::from(capacity) {
        let expected = format!("at most world.capacity = {capacity} of all kinds together");
        let anywhere = kinds.iter().map(|k| u64::from(k.population)).sum::<u64>();
        let key = match anywhere > u64::from(capacity) {
            true => "kind.population",
            false => "kind.places",
        };
        return unexpected(key, all, expected);
    }
    Ok(populations)
}

/// What scripts go over with `all` must not be more from the start than a run may go over.
fn check_gone_over(
    schema: &Schema,
    declared: &Declared,
    populations: &[u32],
    limits: &Limits,
    player_kind: u16,
) -> Result<(), Problem> {
    for (kind, command) in &declared.gone_over {
        let name = &schema.kinds[usize::from(*kind)].name;
        let population = populations.get(usize::from(*kind)).copied().unwrap_or(0);
        let most = ALL_MAX.unsigned_abs();
        let expected = format!(
            "at most {most}, as {command} goes over `all({name:?})`; `count` and `near` take any number"
        );
        if population > most {
            return unexpected("kind.population", population, expected);
        }
        let players = population.saturating_add(limits.clients);
        if *kind == player_kind && players > most {
            return unexpected("limits.clients", limits.clients, expected);
        }
    }
    Ok(())
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
    // Clients count lengths and numbers at their full width, not as they are packed.
    let welcome = codec::to_bytes(&largest_welcome(schema));
    if codec::from_wire::<WELCOME_BYTES_MAX, Welcome>(&welcome).is_err() {
        let message = format!(
            "the schema, which every client is sent, has {bytes} bytes, and unpacked more than \
             the {WELCOME_BYTES_MAX} that clients read; it needs fewer names and symbols"
        );
        return problem("kind", message);
    }
    let (capacity, columns) = (schema.world.capacity, schema.attributes.len());
    if u64::from(capacity) * columns as u64 > u64::from(u32::MAX) {
        let max = u32::MAX as usize / columns;
        let expected = format!("at most {max} with {columns} attributes");
        return unexpected("world.capacity", capacity, expected);
    }
    Ok(())
}

/// The longest welcome with a schema.
fn largest_welcome(schema: &Schema) -> Welcome {
    Welcome {
        tick: Tick::MAX,
        entity: EntityId::new(u32::MAX, u32::MAX),
        commands_epoch: u8::MAX,
        ticket: [u8::MAX; 16],
        resumed: true,
        processed: Some(u32::MAX),
        player_kind: u16::MAX,
        quotas: Quotas::default(),
        schema: schema.clone(),
        forecast: vec![0; FORECAST_BYTES_MAX],
        servers: vec!["0".repeat(ADDRESS_BYTES_MAX); SERVERS_MAX],
        reasons: vec!["0".repeat(REASON_BYTES_MAX); REASONS_MAX],
        editable: LayerKind::ALL.to_vec(),
        layers: vec![largest_layer(); 3],
        doors: vec![largest_door(); KINDS_MAX],
        rankings: RankingInfo::all(schema),
        planes: schema.atlas.clone(),
    }
}

/// The longest description of a layer.
fn largest_layer() -> LayerInfo {
    LayerInfo {
        is_editable: true,
        kind: LayerKind::Tag,
        cells: [u32::MAX; 2],
        edge_bits: u8::MAX,
        hash: u64::MAX,
        packed_bytes: u32::MAX,
        tags: vec![i32::MAX; TAGS_MAX],
    }
}

/// The longest description of a door.
fn largest_door() -> Door {
    Door {
        kind: u16::MAX,
        cells: [u8::MAX; 2],
        closed: Some(u16::MAX),
    }
}

const KINDS_MAX: usize = 256;
/// The room for a schema in a welcome.
const SCHEMA_BYTES_MAX: usize = WELCOME_BYTES_MAX
    - FORECAST_BYTES_MAX
    - SERVERS_BYTES_MAX
    - REASONS_BYTES_MAX
    - LAYERS_BYTES_MAX
    - DOORS_BYTES_MAX
    - PLANES_BYTES_MAX
    - 257;
/// The room for other servers there, each with its length.
const SERVERS_BYTES_MAX: usize = SERVERS_MAX * (ADDRESS_BYTES_MAX + 3);
/// The room for layers there, of which one has tags.
const LAYERS_BYTES_MAX: usize = 5 * TAGS_MAX + 3 * 32;
/// The room for doors there, which most kinds can be.
const DOORS_BYTES_MAX: usize = 9 * KINDS_MAX + 2;
/// The room for planes there, each with its name and eight numbers.
const PLANES_BYTES_MAX: usize = PLANE_NAMES_MAX * (planes::PLANE_NAME_BYTES_MAX + 2 + 40) + 22;
/// The room for reasons there, each with its length.
const REASONS_BYTES_MAX: usize = REASONS_MAX * (REASON_BYTES_MAX + 2);
