//! The numbers that determine all device memory.

use script::atomic::KEYS_MAX;
use shared::world::attribute::bits_for;
use shared::world::command::COMMAND_WORDS_MAX;
use shared::world::field;
use shared::world::layer::Blocked;
use shared::{InterestMode, WorldConfig};

use super::OutputForm;
use crate::space::levels::Levels;
use crate::tick::frame::whole_births_max;
use crate::tick::timed::TIMED_WORDS_MAX;

/// The sizes of a world's buffers.
#[derive(Clone, Copy, Debug)]
pub struct Sizes {
    pub capacity: u64,
    pub columns: u64,
    /// Axes of a position.
    pub dimensions: u64,
    pub kinds: u64,
    pub clients: u64,
    pub observers: u64,
    pub visible_max: u64,
    /// Clients whose views are too large for shared memory: all or none.
    pub large_views: u64,
    pub commands: u64,
    /// Commands that may wait for their tick.
    pub timed: u64,
    /// Atomic commands that run in a tick, and those that may wait for the next one.
    pub atomics: u64,
    pub deferred: u64,
    /// 0: the world has none.
    pub notifications: u64,
    /// 1 where the causes of changes are kept, else 0.
    pub causes: u64,
    pub words: u64,
    pub updates: u64,
    /// 0 in the ranges form.
    pub deliveries: u64,
    /// 1 in the ranges form, else 0.
    pub by_buckets: u64,
    /// 1 where any kind respawns, else 0.
    pub respawns: u64,
    /// Commands that rest after a use.
    pub resting: u64,
    /// Ticks for which positions are kept.
    pub rewind_ticks: u64,
    /// The maximum number of hearings of all clients in a tick.
    pub hearings: u64,
    /// Regions that clients may hold.
    pub client_regions: u64,
    /// Slots whose entities may carry regions: all or none.
    pub carriers: u64,
    /// Zones of the world file, and the most that entities of one kind carry.
    pub zones: u64,
    pub zones_fixed: u64,
    pub zones_carried: u64,
    /// Bits of the key by which boxes are sorted.
    pub box_key_bits: u32,
    pub rules: u64,
    /// Words of rules: of each once, and for each entity where they are its own place.
    pub rule_words: u64,
    /// Values of which births choose.
    pub choices: u64,
    /// 1 where movement is sent as courses, else 0.
    pub motion: u64,
    /// 1 where there are walls, else 0.
    pub walled: u64,
    pub layer_words: u64,
    /// Words with the bits of walls, in worlds whose entities block cells, else 0.
    pub wall_words: u64,
    /// How many cells of layers scripts can change in a tick, and how many can differ from the file's.
    pub edits: u64,
    pub edited_cells: u64,
    /// Fields, the words of all their steps, and for each: words of a set of cells, cells, tiles.
    pub fields: u64,
    pub field_words: u64,
    pub set_words: u64,
    pub field_cells: u64,
    pub field_tiles: u64,
    /// 1 where leaving a cell costs what its tag says, else 0.
    pub field_tagged: u64,
    pub rankings: u64,
    /// Those of things to their holders, and of members to their groups.
    pub relations: u64,
    /// 1 where accounts keep some things, else 0.
    pub kept: u64,
    pub births: u64,
    /// Rows of buckets that an observer can touch.
    pub rows: u64,
    pub buckets: u64,
    pub directory: Directory,
    pub crowds: Crowds,
}

/// Where many entities share a bucket, they are sorted by cell, too, so that the nearest ones
/// are found without looking at all. A crowded bucket has a window's entities or more, so no
/// two begin in one window of the index.
#[derive(Clone, Copy, Debug, Default)]
pub struct Crowds {
    /// 0: views are not limited, have whole buckets, come from several observers or regions, or
    /// entities may be hidden.
    pub entities: u64,
    pub windows: u64,
    /// Cells of a bucket, and on an axis, as a power of two.
    pub cells: u64,
    pub cell_bits: u32,
}

impl Crowds {
    fn new(config: &WorldConfig) -> Crowds {
        let world = &config.schema.world;
        let is_exact = world.visible_max > 0 && config.interest == InterestMode::Exact;
        let is_simple = is_exact && config.schema.visibility.is_plain();
        if !is_simple || config.limits.observers_per_client > 1 || has_regions(config) {
            return Crowds::default();
        }
        let dimensions = config.dimensions() as u32;
        let cell_bits = if dimensions == 3 { 3 } else { 4 };
        Crowds {
            entities: u64::from(world.capacity),
            windows: u64::from(world.capacity).div_ceil(CROWD),
            cells: 1 << (cell_bits * dimensions),
            cell_bits,
        }
    }
}

/// The size of the index's directory.
#[derive(Clone, Copy, Debug)]
pub struct Directory {
    /// Buckets per entry, as a power of two.
    pub shift: u32,
    pub len: u64,
}

impl Directory {
    /// One entry per bucket, or per 2^n buckets, with the smallest n for which there are at
    /// most as many entries as slots (or 1024).
    fn new(buckets: u64, capacity: u64) -> Directory {
        let entries = capacity.max(1024);
        let shift = (0..).find(|shift| buckets >> shift <= entries).unwrap_or(0);
        // The end of the last bucket is looked up too, and the entry after it.
        let len = ((buckets - 1) >> shift) + 3;
        Directory { shift, len }
    }
}

impl Sizes {
    pub fn new(config: &WorldConfig, form: OutputForm) -> Sizes {
        let by_buckets = u64::from(form == OutputForm::Ranges);
        let limits = &config.limits;
        let capacity = u64::from(config.schema.world.capacity);
        let columns = config.schema.attributes.len() as u64;
        let commands = u64::from(limits.commands_per_tick);
        let timed = u64::from(limits.timed_commands);
        let updates = u64::from(limits.updates_per_tick);
        let atomics = u64::from(limits.atomic_per_tick);
        let buckets = buckets(config).into_iter().product();
        let fields = config.schema.fields.len() as u64;
        let walls = config.schema.layers.blocked().filter(|_| fields > 0);
        let of_walls = |of: &dyn Fn(&Blocked) -> u64| walls.map_or(0, of);
        let set_words = of_walls(&|walls| walls.words() as u64);
        let costs = config.schema.fields.iter().map(|field| &field.costs);
        Sizes {
            capacity,
            columns,
            dimensions: config.dimensions() as u64,
            kinds: config.schema.kinds.len() as u64,
            clients: u64::from(limits.clients),
            observers: u64::from(limits.clients) * u64::from(limits.observers_per_client),
            visible_max: u64::from(config.schema.world.visible_max),
            large_views: match config.schema.world.visible_max > SHARED_VIEW_MAX {
                true => u64::from(limits.clients),
                false => 0,
            },
            commands,
            timed,
            atomics,
            deferred: if atomics > 0 { commands } else { 0 },
            causes: u64::from(config.causes),
            notifications: u64::from(limits.notifications_per_tick),
            // Births of clients, and of what they keep, may have all columns.
            words: commands * COMMAND_WORDS_MAX as u64
                + timed * TIMED_WORDS_MAX as u64
                + u64::from(whole_births_max(config)) * columns,
            updates,
            deliveries: limits.deliveries_per_tick * (1 - by_buckets),
            by_buckets,
            respawns: u64::from(config.has_falls()),
            rewind_ticks: u64::from(limits.rewind_ticks),
            resting: config.schema.resting_commands().count() as u64,
            hearings: match limits.notifications_per_tick {
                0 => 0,
                _ => u64::from(limits.clients) * u64::from(limits.client_hearings_per_tick),
            },
            client_regions: u64::from(limits.clients) * u64::from(limits.regions_per_client),
            carriers: capacity * u64::from(limits.entity_regions),
            zones: config.schema.zones.len() as u64,
            zones_fixed: fixed_zones(config),
            zones_carried: config.schema.zones.len() as u64 - fixed_zones(config),
            box_key_bits: bits_for(Levels::new(config).keys() - 1),
            rules: config.every.len() as u64,
            rule_words: rule_words(config),
            choices: config.choices().count() as u64,
            motion: u64::from(config.motion.is_some()),
            walled: u64::from(config.schema.layers.blocked().is_some()),
            layer_words: config.schema.layers.words().len() as u64,
            wall_words: wall_words(config),
            edits: u64::from(limits.edits_per_tick),
            edited_cells: u64::from(limits.edited_cells),
            fields,
            field_words: fields * of_walls(&|walls| field::words(walls) as u64),
            set_words,
            field_cells: 32 * set_words,
            field_tiles: of_walls(&|walls| {
                let [along, rows] = [walls.grid.row, walls.grid.cells[1]];
                (along as u64 / 32) * (rows as u64).div_ceil(32)
            }),
            field_tagged: u64::from(costs.into_iter().any(|costs| !costs.is_empty())),
            rankings: config.schema.rankings.len() as u64,
            relations: config.schema.relations().count() as u64,
            kept: u64::from(!config.kept_kinds.is_empty()),
            births: commands + capacity * u64::from(config.has_falls()),
            rows: rows(config),
            buckets,
            directory: Directory::new(buckets, capacity),
            crowds: Crowds::new(config),
        }
    }

    /// Words of the sets of cells of all fields.
    pub fn field_sets(&self) -> u64 {
        self.fields * FIELD_SETS * self.set_words
    }

    /// Where the words of commands that waited begin, behind those of rules and timed commands.
    pub fn deferred_base(&self) -> u64 {
        self.rule_words + self.commands.min(self.timed) * TIMED_WORDS_MAX as u64
    }

    /// The most zones at a time, each with its carrier.
    pub fn placed_zones(&self) -> u64 {
        self.zones_fixed + self.zones_carried * self.capacity
    }

    /// Pairs of an atomic command and one of its keys.
    pub fn pairs(&self) -> u64 {
        self.atomics * KEYS_MAX as u64
    }

    /// Entities that are keys of atomic commands.
    pub fn atomic_entities(&self) -> u64 {
        self.pairs().min(self.capacity)
    }

    /// Attributes that atomic commands may change.
    pub fn left(&self) -> u64 {
        self.atomic_entities() * self.columns
    }

    /// Intervals of updates, with attributes that atomic commands change.
    pub fn joined(&self) -> u64 {
        if self.atomics > 0 {
            self.updates + self.left()
        } else {
            0
        }
    }

    /// Updates after merging, with what atomic commands change.
    pub fn changes(&self) -> u64 {
        (self.updates + self.left()).min(self.capacity * self.columns)
    }

    /// Numbers that say where entities were.
    pub fn past(&self) -> u64 {
        self.rewind_ticks * self.capacity * self.dimensions
    }

    /// Words of layers, and those of walls without doors, where scripts change cells; else 0.
    pub fn edited_words(&self) -> u64 {
        self.layer_words * u64::from(self.edits > 0)
    }

    pub fn edited_walls(&self) -> u64 {
        self.wall_words * u64::from(self.edits > 0)
    }

    /// Blocks of the largest scan.
    pub fn scan_blocks(&self) -> u64 {
        self.scanned() / BLOCK + 1
    }

    /// Blocks of a scan over commands.
    pub fn command_blocks(&self) -> u64 {
        self.commands / BLOCK + 1
    }

    /// Groups of blocks of the largest scan.
    pub fn scan_groups(&self) -> u64 {
        self.scanned() / BLOCK / SCAN_GROUP + 1
    }

    /// The maximum number of region changes in a frame.
    pub fn region_changes(&self) -> u64 {
        self.client_regions + 2 * self.carriers
    }

    /// The maximum number of items in any scan.
    fn scanned(&self) -> u64 {
        let slots = self.capacity * self.rules.max(1);
        slots
            .max(self.updates)
            .max(self.commands)
            .max(self.clients)
            .max(self.timed)
            .max(self.notifications)
            .max(2 * self.deferred)
            .max(self.pairs())
            .max(self.joined())
            .max(self.placed_zones())
    }
}

/// Whether a world has regions at all.
pub fn has_regions(config: &WorldConfig) -> bool {
    config.limits.regions_per_client > 0 || config.limits.entity_regions
}

fn fixed_zones(config: &WorldConfig) -> u64 {
    let zones = config.schema.zones.iter();
    zones.filter(|zone| zone.carrier.is_none()).count() as u64
}

fn wall_words(config: &WorldConfig) -> u64 {
    let walls = config.schema.layers.blocked();
    let walls = walls.filter(|_| !config.schema.doors.is_empty());
    walls.map_or(0, |walls| walls.words() as u64)
}

fn rule_words(config: &WorldConfig) -> u64 {
    let words = config.every.iter().map(|rule| rule.words.len() as u64);
    let capacity = config.schema.world.capacity;
    let own = config.every.iter().map(|rule| rule.own_words(capacity));
    words.chain(own).sum()
}

/// Rows of buckets that an observer can touch.
fn rows(config: &WorldConfig) -> u64 {
    // A world's larger radius is at most twice the edge of a bucket.
    let row: u64 = if config.schema.world.leave_margin() > 0 {
        5
    } else {
        3
    };
    row.pow(config.dimensions() as u32 - 1)
}

/// Buckets on each axis.
pub fn buckets(config: &WorldConfig) -> [u64; 3] {
    let aoi = i64::from(config.schema.world.aoi.raw());
    config
        .size_raw()
        .map(|size| ((i64::from(size) - 1) / aoi) as u64 + 1)
}

/// Sets of cells that a field has: `SETS` of the kernels.
pub const FIELD_SETS: u64 = 4;
/// Entities that make a bucket crowded: `CROWD` of the kernels.
const CROWD: u64 = 1024;
/// Items per block of a scan: `BLOCK` of the kernels.
const BLOCK: u64 = 256;
/// Blocks per group, which has a sum of its own: `SCAN_GROUP` of the kernels.
const SCAN_GROUP: u64 = 256;
/// The largest views that are compared in shared memory, four words for each place.
const SHARED_VIEW_MAX: u32 = 2048;
