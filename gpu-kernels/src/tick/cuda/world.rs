//! A world on the device: its configuration as numbers, its buffers, and its tables.

use device::gpu::sort::{Doubled, passes};
use device::plan::Group;
use device::tuning::GPU_DIGIT_BITS;
use device::{Device, DriverError, Int2, Plan};
use script::ptx::layout::NOWHERE;
use shared::world::attribute::bits_for;
use shared::world::command::COMMANDS_MAX;
use shared::world::group::Relation;
use shared::world::initial::Choice;
use shared::world::spawn::{SpawnArea as Area, spawn_seed};
use shared::{AttributeType, Audience, InterestMode, Occasion, WorldConfig};

use super::copy_size::copy_bytes;
use super::edit_state;
use super::layout::{
    BY_THE_SERVER, BoxIndex, Door, Fall, HALF_HIGH, HALF_LOW, HAS_ACTOR, Hook, IS_CLIENTS,
    IS_COMMAND, Initial, LEVELS_MAX, Level, NO_REST, ON_BIRTH, ON_BORDER, ON_FALL, ON_JOIN,
    Regions, Rule, SpawnArea, Tick, World, Zone,
};
use super::regions::newborn_edges;
use super::sizes::{Sizes, buckets, has_regions};
use crate::slot::SlotState;
use crate::space::levels::Levels;

/// The layout of a world's buffers in the device's allocation.
pub struct Buffers {
    pub plan: Plan,
    world: Group,
    regions: Group,
    indexes: [Group; 4],
    /// Buffers for each of the two ticks that may be in flight.
    ticks: [Group; 2],
    sort_scratch: u64,
    state_copy: u64,
}

impl Buffers {
    pub fn new(sizes: &Sizes) -> Buffers {
        let mut plan = Plan::default();
        Buffers {
            world: plan.add(World::buffers(sizes)),
            regions: plan.add(Regions::buffers(sizes)),
            indexes: [
                sizes.carriers,
                sizes.notifications,
                sizes.placed_zones(),
                // Those before the tick, where they can be others.
                sizes.placed_zones() * u64::from(sizes.zones_carried > 0),
            ]
            .map(|n| plan.add(BoxIndex::buffers(&n))),
            ticks: [0, 1].map(|_| plan.add(Tick::buffers(sizes))),
            sort_scratch: plan.add_bytes("sort_scratch", super::sort_scratch(sizes)),
            state_copy: plan.add_bytes("state_copy", copy_bytes(sizes)),
            plan,
        }
    }

    pub fn sort_scratch(&self, base: u64) -> u64 {
        base + self.sort_scratch
    }

    /// Where a copy of the state is, for a checkpoint.
    pub fn state_copy(&self, base: u64) -> u64 {
        base + self.state_copy
    }

    /// The buffers of ticks with an even or odd number.
    pub fn tick(&self, base: u64, parity: usize) -> Tick {
        let mut tick = Tick::default();
        tick.place(self.plan.places(base, &self.ticks[parity]));
        tick
    }

    /// The kernels' world structure before the first tick.
    pub fn world(&self, config: &WorldConfig, sizes: &Sizes, base: u64) -> World {
        let mut world = numbers(config, sizes);
        world.place(self.plan.places(base, &self.world));
        let index_bits = bits_for(sizes.buckets - 1);
        world.bucket_keys = index_keys(&world).given(index_bits);
        world.bucket_slots = index_slots(&world).given(index_bits);
        let census_bits = census_bits(sizes);
        let (keys, slots) = (census_keys(&world, sizes.capacity), census_slots(&world));
        (world.census_keys, world.census_slots) = (keys.first, slots.first);
        world.census_given_keys = keys.given(census_bits);
        world.census_given_slots = slots.given(census_bits);
        if sizes.causes == 0 {
            world.first_updates = device::Pointer::NULL;
        }
        world
    }

    /// The kernels' structure of a world's boxes; all 0 in a world without boxes.
    pub fn regions(&self, config: &WorldConfig, sizes: &Sizes, base: u64) -> Regions {
        if !has_regions(config) && sizes.notifications == 0 && sizes.zones == 0 {
            return Regions::default();
        }
        let levels = Levels::new(config);
        let mut level = [Level::default(); LEVELS_MAX];
        for (to, from) in level.iter_mut().zip(levels.all()) {
            *to = Level {
                base: from.base,
                edge: from.edge as u32,
                cells: from.cells.map(|cells| cells as u32),
            };
        }
        let index = |group: &Group| {
            let mut index = BoxIndex::default();
            index.place(self.plan.places(base, group));
            index.given_keys = box_keys(&index).given(sizes.box_key_bits);
            index.given_numbers = box_numbers(&index).given(sizes.box_key_bits);
            index
        };
        let hearings = config.limits.client_hearings_per_tick;
        let mut regions = Regions {
            per_client: config.limits.regions_per_client,
            of_entities: u32::from(config.limits.entity_regions),
            levels: levels.all().len() as u32,
            hearings_max: hearings,
            hearing_places: hearings.max(64).next_power_of_two(),
            published: index(&self.indexes[0]),
            areas: index(&self.indexes[1]),
            zones_fixed: sizes.zones_fixed as u32,
            zones_carried: sizes.zones_carried as u32,
            zones_now: index(&self.indexes[2]),
            level,
            ..Regions::default()
        };
        regions.place(self.plan.places(base, &self.regions));
        regions.placed_now = regions.placed_zones;
        (regions.zones_before, regions.placed_before) = match sizes.zones_carried {
            0 => (regions.zones_now, regions.placed_now),
            _ => (index(&self.indexes[3]), regions.placed_zones_spare),
        };
        regions
    }
}

/// The keys of the index, with a second buffer for sorting.
pub fn index_keys(world: &World) -> Doubled<u64> {
    Doubled {
        first: world.index_keys,
        second: world.index_keys_spare,
    }
}

pub fn index_slots(world: &World) -> Doubled<u32> {
    Doubled {
        first: world.index_slots,
        second: world.index_slots_spare,
    }
}

/// The bits of a kind, or of the number that the dead have instead.
pub fn census_bits(sizes: &Sizes) -> u32 {
    bits_for(sizes.kinds)
}

/// The kinds of all slots: in what the index needs only while it is sorted, which has room for two
/// numbers for each slot.
pub fn census_keys(world: &World, capacity: u64) -> Doubled<u32> {
    Doubled::halves(world.index_keys_spare.cast(), capacity)
}

/// The slots by kind: in the list of free slots, which is made later in a tick.
pub fn census_slots(world: &World) -> Doubled<u32> {
    Doubled {
        first: world.free_list,
        second: world.index_slots_spare,
    }
}

/// The bits of a holder's slot, or of the number that slots without a holder have instead: as many
/// as need an odd number of passes, so that the things that were sorted before are not overwritten
/// unless they are sorted again.
pub fn held_bits(sizes: &Sizes) -> u32 {
    let bits = bits_for(sizes.capacity);
    match passes(bits) % 2 {
        1 => bits,
        _ => passes(bits) * GPU_DIGIT_BITS + 1,
    }
}

/// The slots by holder, in one relation.
pub fn held_slots(world: &World, first: u64) -> Doubled<u32> {
    Doubled {
        first: world.held_slots.at(first),
        second: world.index_slots_spare,
    }
}

pub fn update_keys(world: &World) -> Doubled<u32> {
    Doubled {
        first: world.update_keys,
        second: world.update_keys_spare,
    }
}

pub fn update_values(world: &World) -> Doubled<u32> {
    Doubled {
        first: world.update_values,
        second: world.update_values_spare,
    }
}

pub fn box_keys(index: &BoxIndex) -> Doubled<u64> {
    Doubled {
        first: index.keys,
        second: index.keys_spare,
    }
}

pub fn box_numbers(index: &BoxIndex) -> Doubled<u32> {
    Doubled {
        first: index.numbers,
        second: index.numbers_spare,
    }
}

/// The bits of the largest rank that a candidate can have.
fn rank_bits(config: &WorldConfig) -> u32 {
    let aoi = config.schema.world.aoi.raw() as u64;
    if has_regions(config) {
        return u64::BITS;
    }
    let squared = match config.interest {
        InterestMode::Exact => aoi * aoi,
        InterestMode::Buckets => config.dimensions() as u64 * (2 * aoi) * (2 * aoi),
    };
    bits_for(squared + 1)
}

fn numbers(config: &WorldConfig, sizes: &Sizes) -> World {
    let schema = &config.schema;
    let limits = &config.limits;
    let size = config.size_raw();
    let mut world = World {
        seed: config.seed,
        spawn_seed: spawn_seed(config.seed),
        buckets: buckets(config),
        updates_max: sizes.updates,
        deliveries_max: sizes.deliveries,
        capacity: schema.world.capacity,
        columns: sizes.columns as u32,
        dimensions: config.dimensions() as u32,
        kinds: sizes.kinds as u32,
        clients: limits.clients,
        observers_per_client: limits.observers_per_client,
        visible_max: schema.world.visible_max,
        exact: u32::from(config.interest == InterestMode::Exact),
        commands_max: limits.commands_per_tick,
        rules: config.every.len() as u32,
        view_places: schema.world.visible_max.max(64).next_power_of_two(),
        key_bits: bits_for(sizes.capacity * sizes.columns - 1),
        aoi: schema.world.aoi.raw(),
        margin: schema.world.leave_margin(),
        rank_bits: rank_bits(config) as i32,
        tiers: [8, 4, 2].map(|part| u64::from((schema.world.aoi.raw() / part) as u32).pow(2)),
        size: [size[0], size[1], size[2], 0],
        timed_max: limits.timed_commands,
        atomic_max: limits.atomic_per_tick,
        deferred_max: sizes.deferred as u32,
        deferred_base: sizes.deferred_base() as u32,
        respawns: sizes.respawns as u32,
        resting: sizes.resting as u32,
        crowds: sizes.crowds.windows as u32,
        cell_bits: sizes.crowds.cell_bits,
        cell_edge: (schema.world.aoi.raw() as u32).div_ceil(1 << sizes.crowds.cell_bits),
        rule_words: sizes.rule_words as u32,
        notifications_max: limits.notifications_per_tick,
        shared_slot: schema
            .world_entity()
            .map_or(NOWHERE, |entity| entity.slot.0),
        shared_kind: schema.world_kind.map_or(NOWHERE, u32::from),
        tells_owner: config.tells_owner.map_or(-1, i32::from),
        rows_max: sizes.rows as u32,
        scan_groups: sizes.scan_groups() as u32,
        directory_len: sizes.directory.len as u32,
        directory_shift: sizes.directory.shift,
        motion: sizes.motion as u32,
        velocity: [-1; 4],
        holder_column: schema.holder_column().map_or(-1, |column| column as i32),
        keeping_kind: match sizes.kept {
            0 => NOWHERE,
            _ => u32::from(config.player_kind),
        },
        hides: schema.visibility.hides.map_or(-1, i32::from),
        reveals: schema.visibility.reveals.map_or(-1, i32::from),
        line_of_sight: u32::from(schema.visibility.line_of_sight),
        conceals: u32::from(!schema.visibility.is_plain()),
        ..World::default()
    };
    if let Some(motion) = &config.motion {
        world.tolerance = motion.tolerance;
        for (to, &column) in world.velocity.iter_mut().zip(&motion.velocity) {
            *to = i32::from(column);
        }
    }
    if let Some(walls) = schema.layers.blocked() {
        world.wall_edge_bits = walls.grid.edge_bits;
        world.wall_row_bits = walls.grid.row.ilog2();
        world.wall_cells = walls.grid.cells;
        world.wall_refuge = walls.refuge;
        world.wall_words = sizes.wall_words as u32;
        world.field_count = sizes.fields as u32;
        world.field_tagged = sizes.field_tagged as u32;
    }
    edit_state::describe(&mut world, config);
    set_logic(&mut world, config);
    world
}

/// Sets what depends on a world's scripts. Kernels get it by value, so ticks in flight keep
/// what they were given.
pub fn set_logic(world: &mut World, config: &WorldConfig) {
    let schema = &config.schema;
    world.forms = [0; COMMANDS_MAX];
    world.per_tick = [0; COMMANDS_MAX];
    for command in &schema.commands {
        let actor = if command.has_actor { HAS_ACTOR } else { 0 };
        let clients = if command.senders.clients {
            IS_CLIENTS
        } else {
            0
        };
        let form = IS_COMMAND | actor | clients | command.words.len() as u8;
        let number = usize::from(command.kind.id());
        world.forms[number] = form;
        world.per_tick[number] = command.per_tick;
    }
    world.rest_places = [NO_REST; COMMANDS_MAX];
    for (place, command) in (0..NO_REST).zip(schema.resting_commands()) {
        world.rest_places[usize::from(command.kind.id())] = place;
    }
    let kinds = schema.notifications.iter().map(|n| n.kind.id());
    world.notification_kinds = kinds.fold(0, |bits, kind| bits | 1 << kind);
    let hooks = hooks(config);
    world.hook_count = hooks.len() as u32;
    let are_watched = hooks.iter().any(|hook| hook.occasion >= ON_BORDER);
    world.zoned = match schema.zones.is_empty() {
        true => 0,
        false => 1 + u32::from(are_watched),
    };
}

/// Fills the buffers as declared, and uploads the world's tables.
pub fn prepare(
    device: &Device,
    buffers: &Buffers,
    base: u64,
    config: &WorldConfig,
    world: &World,
    regions: &Regions,
) -> Result<(), DriverError> {
    for (buffer, start) in buffers.plan.buffers() {
        // Poison in debug builds, so that a read before a write shows.
        let poison = cfg!(debug_assertions).then_some(0xa5);
        if let Some(byte) = buffer.fill.or(poison) {
            let at = device::Pointer::<u8>::new(base + start);
            device.fill(at, buffer.bytes, byte)?;
        }
    }
    let schema = &config.schema;
    let kinds = || 0..schema.kinds.len();
    let bounds: Vec<Int2> = kinds()
        .flat_map(|kind| schema.bounds(kind))
        .map(|(x, y)| Int2 { x, y })
        .collect();
    let (initials, choices) = initials(config);
    let attributes = schema.attributes.iter();
    let merge: Vec<u32> = attributes
        .clone()
        .map(|a| a.merge as u32 | half(a.ty))
        .collect();
    let wide_bounds = schema.wide_bounds().into_iter();
    let wide_bounds: Vec<i64> = wide_bounds.flat_map(|(min, max)| [min, max]).collect();
    // Where movement is sent as courses, these say what has moved.
    let is_course = |column: usize| config.motion.is_some() && column < config.dimensions();
    let visible: Vec<u32> = attributes
        .enumerate()
        .map(|(column, a)| u32::from(a.audience != Audience::Hidden && !is_course(column)))
        .collect();
    let (rules, words) = rules(config);
    device.write(world.bounds.writable(), &bounds)?;
    device.write(world.initials.writable(), &initials)?;
    device.write(world.choices.writable(), &choices)?;
    let own = config.schema.kind_columns();
    let own = own
        .iter()
        .flat_map(|own| own.words(config.schema.attributes.len()));
    let own: Vec<u64> = own.copied().collect();
    device.write(world.kind_columns.writable(), &own)?;
    device.write(world.merge_rules.writable(), &merge)?;
    device.write(world.wide_bounds.writable(), &wide_bounds)?;
    device.write(world.visible_columns.writable(), &visible)?;
    device.write(world.rule_table.writable(), &rules)?;
    device.write(world.layers.writable(), schema.layers.words())?;
    let walls = &schema.layers.words()[..world.wall_words as usize];
    device.write(world.walls.writable(), walls)?;
    let edited_words = match world.edits_max {
        0 => 0,
        _ => schema.layers.words().len(),
    };
    let base = &schema.layers.words()[..edited_words];
    device.write(world.layers_base.writable(), base)?;
    device.write(world.doors.writable(), &doors(config))?;
    device.write(world.falls.writable(), &falls(config))?;
    if !config.kept_kinds.is_empty() {
        let is_kept = |kind: usize| {
            config
                .kept_kinds
                .iter()
                .any(|&kept| usize::from(kept) == kind)
        };
        let kept: Vec<u32> = kinds().map(|kind| u32::from(is_kept(kind))).collect();
        device.write(world.kept_kinds.writable(), &kept)?;
    }
    device.write(world.spawn_areas.writable(), &spawn_areas(config))?;
    device.write(world.hooks.writable(), &hooks(config))?;
    device.write(regions.zone_table.writable(), &zones(config))?;
    let rests = schema.resting_commands();
    let rests: Vec<u32> = rests.map(|command| command.cooldown).collect();
    device.write(world.rests.writable(), &rests)?;
    device.write(world.due_words, &words)?;
    if let (Some(entity), Some(kind)) = (schema.world_entity(), schema.world_kind) {
        let slot = u64::from(entity.slot.0);
        device.write(world.states.at(slot), &[SlotState::Live as u32])?;
        device.write(world.generations.at(slot), &[entity.generation])?;
        device.write(world.slot_kinds.at(slot), &[u32::from(kind)])?;
        let row = schema.default_row(usize::from(kind));
        device.write(world.rows.at(slot * row.len() as u64), &row)?;
    }
    match config.limits.entity_regions {
        true => device.write(regions.newborn.writable(), &newborn_edges(config)),
        false => Ok(()),
    }
}

/// The hooks that backends give. The server gives the others.
pub fn hooks(config: &WorldConfig) -> Vec<Hook> {
    let hook = |hook: &shared::Hook| {
        let occasion = match hook.occasion {
            Occasion::Birth => ON_BIRTH,
            Occasion::Join => ON_JOIN,
            Occasion::Fall => ON_FALL,
            Occasion::Enter(zone) => ON_BORDER + 2 * u32::from(zone),
            Occasion::Exit(zone) => ON_BORDER + 2 * u32::from(zone) + 1,
            Occasion::Leave | Occasion::Reload => return None,
        };
        Some(Hook {
            occasion,
            kind: hook.kind.map_or(NOWHERE, u32::from),
            command: u32::from(hook.command.id()),
            has_other: u32::from(hook.has_other),
        })
    };
    config.hooks.iter().filter_map(hook).collect()
}

/// The zones that stay where they are, then those that are carried.
fn zones(config: &WorldConfig) -> Vec<Zone> {
    let zone = |(number, zone): (u32, &shared::Zone)| {
        let (form, radius, low, high) = match zone.area {
            Area::Ball { center, radius } => (1, radius, center, center),
            Area::Box { low, high } => (2, 0, low, high),
        };
        Zone {
            form,
            radius,
            low,
            high,
            carrier: zone.carrier.map_or(NOWHERE, u32::from),
            number,
        }
    };
    let mut zones: Vec<Zone> = (0..).zip(&config.schema.zones).map(zone).collect();
    zones.sort_by_key(|zone| (zone.carrier != NOWHERE, zone.number));
    zones
}

/// By kind; none in worlds without doors.
fn doors(config: &WorldConfig) -> Vec<Door> {
    let schema = &config.schema;
    if schema.doors.is_empty() {
        return vec![];
    }
    let mut by_kind = vec![Door::default(); schema.kinds.len()];
    for door in &schema.doors {
        by_kind[usize::from(door.kind)] = Door {
            cells: door.cells.map(u32::from),
            closed: door.closed.map_or(NOWHERE, u32::from),
        };
    }
    by_kind
}

/// What says beside a merge rule that a column has half of a number.
fn half(ty: AttributeType) -> u32 {
    match ty {
        AttributeType::I64 => HALF_LOW,
        AttributeType::High => HALF_HIGH,
        AttributeType::I32
        | AttributeType::Fixed
        | AttributeType::Bool
        | AttributeType::Entity
        | AttributeType::Symbol
        | AttributeType::Text => 0,
    }
}

fn falls(config: &WorldConfig) -> Vec<Fall> {
    let fall = |(kind, fall): (usize, &Option<shared::Fall>)| match fall {
        None => Fall::default(),
        Some(fall) => Fall {
            respawn_ticks: match kind == usize::from(config.player_kind) {
                true => BY_THE_SERVER,
                false => fall.respawn_ticks,
            },
            column: u32::from(fall.column),
            at: fall.at,
        },
    };
    config.falls.iter().enumerate().map(fall).collect()
}

fn spawn_areas(config: &WorldConfig) -> Vec<SpawnArea> {
    let area = |area: &Option<Area>| match *area {
        None => SpawnArea::default(),
        Some(Area::Ball { center, radius }) => SpawnArea {
            form: 1,
            radius,
            low: center,
            ..SpawnArea::default()
        },
        Some(Area::Box { low, high }) => SpawnArea {
            form: 2,
            low,
            high,
            ..SpawnArea::default()
        },
    };
    config.spawns.iter().map(area).collect()
}

/// By kind and column: how it is chosen at birth; and the values of which it is chosen.
fn initials(config: &WorldConfig) -> (Vec<Initial>, Vec<i32>) {
    let schema = &config.schema;
    let mut choices = vec![];
    let mut initials = vec![];
    for (kind, own) in config.initials.iter().enumerate() {
        let start = initials.len();
        let of_default = |value| Initial {
            value,
            ..Initial::default()
        };
        initials.extend(schema.default_row(kind).into_iter().map(of_default));
        for initial in own {
            let place = choices.len() as i32;
            let listed = |values: &Vec<i32>| values.len() as u32;
            initials[start + usize::from(initial.column)] = match &initial.choice {
                Choice::Between { low, count } => Initial {
                    value: *low,
                    drawn: *count,
                    listed: 0,
                },
                Choice::OneOf(values) => Initial {
                    value: place,
                    drawn: listed(values),
                    listed: listed(values),
                },
                Choice::InTurn(values) => Initial {
                    value: place,
                    drawn: 0,
                    listed: listed(values),
                },
            };
            choices.extend_from_slice(initial.choice.listed());
        }
    }
    (initials, choices)
}

/// The rules, and the words of all rules.
fn rules(config: &WorldConfig) -> (Vec<Rule>, Vec<i32>) {
    let mut words = vec![];
    let mut own_start = config
        .every
        .iter()
        .map(|rule| rule.words.len() as u64)
        .sum::<u64>();
    let relations: Vec<Relation> = config.schema.relations().collect();
    let ended_column = |every: &shared::Every| {
        let relation = every
            .of_ended
            .and_then(|number| relations.get(usize::from(number)));
        relation.map_or(-1, |relation| i32::from(relation.column))
    };
    let rule = |every: &shared::Every| {
        let (word_start, own_from) = (words.len() as u32, own_start as u32);
        words.extend_from_slice(&every.words);
        own_start += every.own_words(config.schema.world.capacity);
        Rule {
            kind: u32::from(every.kind),
            ticks: every.ticks,
            command: u32::from(every.command.id()),
            word_start,
            word_count: every.words.len() as u32,
            own_place: every.own_place.map_or(NOWHERE, u32::from),
            own_words: own_from,
            ended_column: ended_column(every),
        }
    };
    let rules = config.every.iter().map(rule).collect();
    (rules, words)
}
