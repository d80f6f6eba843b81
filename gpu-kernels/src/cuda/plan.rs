//! All device memory, as one plan made from the world's configuration.

use shared::WorldConfig;
use shared::schema::bits_for;

use super::OutputForm;
use super::held::layout::{LEVELS_MAX, Region, RegionSet};
use super::layout::{
    Birth, Counters, Observer, ObserverSet, Pointer, Rule, SCAN_GROUP, SCANS, TIMED_COLUMNS,
    TimedState,
};
use crate::frame::{After, Command};
use crate::levels::Levels;
use crate::output::Notification;
use crate::timed::TIMED_WORDS_MAX;

/// What must be zero at the start; the rest is written before it is read.
pub const ZEROED: [&str; 15] = [
    "rows",
    "states",
    "generations",
    "slot kinds",
    "observers",
    "regions",
    "publications",
    "subscriptions",
    "known counts",
    "behind",
    "index length",
    "index directory",
    "changed",
    "died",
    "timed state",
];

/// Which must be all ones at the start.
pub const FIRST_UPDATES: &str = "first updates";

/// What a world needs on a GPU: named parts of one allocation.
pub struct Plan {
    parts: Vec<(&'static str, u64, u64)>,
    bytes: u64,
}

impl Plan {
    pub fn new(sizes: &Sizes) -> Plan {
        let mut plan = Plan {
            parts: vec![],
            bytes: 0,
        };
        for (name, bytes) in sizes.parts() {
            plan.parts.push((name, plan.bytes, bytes));
            plan.bytes += bytes.next_multiple_of(ALIGNMENT);
        }
        plan
    }

    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Each part with its bytes.
    pub fn parts(&self) -> impl Iterator<Item = (&'static str, u64)> + '_ {
        self.parts.iter().map(|&(name, _, bytes)| (name, bytes))
    }

    /// A part's bytes.
    pub fn bytes_of(&self, name: &str) -> u64 {
        self.part(name).2
    }

    /// Where a part begins in an allocation at `base`.
    pub fn place(&self, base: Pointer, name: &str) -> Pointer {
        base + self.part(name).1
    }

    fn part(&self, name: &str) -> &(&'static str, u64, u64) {
        let part = self.parts.iter().find(|p| p.0 == name);
        part.expect("a part of the plan")
    }
}

/// The numbers that everything is sized by.
#[derive(Clone, Copy, Debug)]
pub struct Sizes {
    pub capacity: u64,
    pub columns: u64,
    pub kinds: u64,
    pub clients: u64,
    pub observers: u64,
    pub visible_max: u64,
    pub commands: u64,
    /// Commands that may wait for their tick.
    pub timed: u64,
    /// 0: the world has none.
    pub notifications: u64,
    /// 1 where the causes of changes are told, else 0.
    pub causes: u64,
    pub words: u64,
    pub updates: u64,
    /// 0 where they are told by buckets.
    pub deliveries: u64,
    /// 1 where deliveries are told by buckets, else 0.
    pub by_buckets: u64,
    /// 1 where any kind respawns, else 0.
    pub respawns: u64,
    /// What all clients together may hear in a tick.
    pub hearings: u64,
    /// Regions that clients may hold.
    pub client_regions: u64,
    /// Slots whose entities may carry regions: all or none.
    pub carriers: u64,
    /// Of the keys by which boxes are sorted.
    pub box_key_bits: u32,
    pub rules: u64,
    pub rule_words: u64,
    /// Updates after merging.
    pub changes: u64,
    pub births: u64,
    /// Rows of buckets that an observer can touch.
    pub rows: u64,
    pub directory: Directory,
}

/// How finely the index's directory divides the buckets.
#[derive(Clone, Copy, Debug)]
pub struct Directory {
    /// Buckets for each entry, as a power of two.
    pub shift: u32,
    pub len: u64,
}

impl Directory {
    /// An entry for each bucket, or for as few buckets together as make no more
    /// entries than there can be entities.
    fn new(config: &WorldConfig) -> Directory {
        let aoi = i64::from(config.schema.world.aoi.raw());
        let along = |size: i32| (i64::from(size) - 1) as u64 / aoi as u64 + 1;
        let buckets: u64 = config.size_raw().map(along).iter().product();
        let entries = u64::from(config.schema.world.capacity).max(1024);
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
        Sizes {
            capacity,
            columns,
            kinds: config.schema.kinds.len() as u64,
            clients: u64::from(limits.clients),
            observers: u64::from(limits.clients) * u64::from(limits.observers_per_client),
            visible_max: u64::from(config.schema.world.visible_max),
            commands,
            timed,
            causes: u64::from(limits.subscriptions_per_client > 0),
            notifications: u64::from(limits.notifications_per_tick),
            words: (commands + timed) * TIMED_WORDS_MAX as u64,
            updates,
            deliveries: limits.deliveries_per_tick * (1 - by_buckets),
            by_buckets,
            respawns: u64::from(config.respawn_ticks.iter().any(|&ticks| ticks > 0)),
            hearings: match limits.notifications_per_tick {
                0 => 0,
                _ => u64::from(limits.clients) * u64::from(limits.client_hearings_per_tick),
            },
            client_regions: u64::from(limits.clients) * u64::from(limits.regions_per_client),
            carriers: capacity * u64::from(limits.entity_regions),
            box_key_bits: bits_for(Levels::new(config).keys() - 1),
            rules: config.every.len() as u64,
            rule_words: config.every.iter().map(|e| e.words.len() as u64).sum(),
            changes: updates.min(capacity * columns),
            births: commands,
            rows: 3u64.pow(config.dimensions() as u32 - 1),
            directory: Directory::new(config),
        }
    }

    /// The groups of partial sums in the largest scan.
    pub fn scan_groups(&self) -> u64 {
        self.scanned() / BLOCK / SCAN_GROUP + 1
    }

    /// What is counted anew in each tick: the counters, then the sums of groups.
    pub fn counted_bytes(&self) -> u64 {
        size_of::<Counters>() as u64 + SCANS * self.scan_groups() * 8
    }

    /// The most changes of regions in a frame.
    pub fn region_changes(&self) -> u64 {
        self.client_regions + 2 * self.carriers
    }

    /// The most items of any scan.
    fn scanned(&self) -> u64 {
        let slots = self.capacity * self.rules.max(1);
        slots
            .max(self.updates)
            .max(self.commands)
            .max(self.clients)
            .max(self.timed)
            .max(self.notifications)
    }

    fn parts(&self) -> Vec<(&'static str, u64)> {
        let bytes = |n: u64, each: usize| n * each as u64;
        let u32s = |n: u64| n * 4;
        let u64s = |n: u64| n * 8;
        let two = |n: u64| n * 2;
        let s = self;
        let schedules = u64::from(s.timed > 0);
        let tells = u64::from(s.notifications > 0);
        vec![
            ("bounds", u64s(s.kinds * s.columns)),
            ("defaults", u32s(s.kinds * s.columns)),
            ("kind columns", u64s(s.kinds)),
            ("merge rules", u32s(s.columns)),
            ("told", u32s(s.columns)),
            ("rules", bytes(s.rules, size_of::<Rule>())),
            ("respawn ticks", u32s(s.kinds)),
            ("rows", u32s(s.capacity * s.columns)),
            ("states", u32s(s.capacity)),
            ("generations", u32s(s.capacity)),
            ("slot kinds", u32s(s.capacity)),
            ("observers", bytes(s.observers, size_of::<Observer>())),
            ("regions", bytes(s.client_regions, size_of::<Region>())),
            ("publications", bytes(s.carriers, size_of::<Region>())),
            ("subscriptions", bytes(s.carriers, size_of::<Region>())),
            (
                "newborn regions",
                u32s(6 * s.kinds * u64::from(s.carriers > 0)),
            ),
            ("publication keys", u64s(two(s.carriers))),
            ("publication slots", u32s(two(s.carriers))),
            ("publication boxes", u32s(6 * s.carriers)),
            (
                "publication levels",
                u32s((LEVELS_MAX as u64 + 1) * u64::from(s.carriers > 0)),
            ),
            ("area keys", u64s(two(s.notifications))),
            ("area numbers", u32s(two(s.notifications))),
            ("area boxes", u32s(6 * s.notifications)),
            ("area levels", u32s((LEVELS_MAX as u64 + 1) * tells)),
            ("heard", u32s(s.hearings)),
            ("heard counts", u32s(s.clients * tells)),
            ("hearing offsets", u32s(two(s.clients * tells))),
            ("hearings", u32s(two(s.hearings))),
            ("known sets", u32s(two(s.clients * s.visible_max))),
            ("known counts", u32s(two(s.clients))),
            ("behind", s.clients),
            ("timed commands", u32s(two(s.timed * TIMED_COLUMNS as u64))),
            ("timed state", size_of::<TimedState>() as u64),
            ("index keys", u64s(two(s.capacity))),
            ("index slots", u32s(two(s.capacity))),
            ("index positions", u32s(3 * s.capacity)),
            ("index length", 8),
            ("index directory", u32s(s.directory.len)),
            ("changed", u32s(s.capacity)),
            ("died", u32s(s.capacity)),
            ("verdicts", u32s(s.commands)),
            ("update counts", u32s(s.commands)),
            ("after counts", u32s(s.commands * schedules)),
            (
                "after partial sums",
                u64s((s.commands / BLOCK + 1) * schedules),
            ),
            ("notification counts", u32s(s.commands * tells)),
            (
                "notification partial sums",
                u64s((s.commands / BLOCK + 1) * tells),
            ),
            ("fallen", u32s(s.capacity * s.respawns)),
            (
                "due words",
                u32s(s.rule_words + s.commands.min(s.timed) * TIMED_WORDS_MAX as u64),
            ),
            ("partial sums", u64s(s.scanned() / BLOCK + 1)),
            ("update keys", u32s(two(s.updates))),
            ("update values", u32s(two(s.updates))),
            ("interval keys", u32s(s.updates)),
            ("interval starts", u32s(s.updates)),
            ("interval values", u64s(s.updates)),
            ("interval changed", u32s(s.updates)),
            ("free list", u32s(s.capacity)),
            ("client counts", u64s(s.clients)),
            ("bucket ranges", u64s(s.observers * s.rows)),
            ("commands", bytes(s.commands, size_of::<Command>())),
            ("sort scratch", self.sort_scratch()),
            (
                "frame commands",
                two(bytes(s.commands, size_of::<Command>())),
            ),
            ("frame words", u32s(two(s.words))),
            ("frame after", two(bytes(s.timed, size_of::<After>()))),
            (
                "frame observers",
                two(bytes(s.observers, size_of::<ObserverSet>())),
            ),
            (
                "frame regions",
                two(bytes(s.region_changes(), size_of::<RegionSet>())),
            ),
            ("frame forget", u32s(two(s.clients))),
            ("frame release", u32s(two(s.capacity))),
            ("counters", two(s.counted_bytes())),
            ("births", two(bytes(s.births, size_of::<Birth>()))),
            ("birth rows", u32s(two(s.capacity * s.columns))),
            ("deaths", u64s(two(s.capacity))),
            (
                "notifications",
                two(bytes(s.notifications, size_of::<Notification>())),
            ),
            ("change slots", u32s(two(s.changes))),
            ("change offsets", u32s(two(s.changes + 1))),
            ("change columns", two(2 * s.changes)),
            ("change values", u32s(two(s.changes))),
            ("change causes", two(2 * s.changes * s.causes)),
            (FIRST_UPDATES, u64s(s.capacity * s.columns * s.causes)),
            ("delivery offsets", u32s(two(s.clients))),
            ("deliveries", u32s(two(s.deliveries))),
            ("changed before", u32s((s.capacity + 1) * s.by_buckets)),
            ("bucket order", u32s(two(s.capacity * s.by_buckets))),
            (
                "bucket ranges told",
                u64s(two(s.clients * s.rows * s.by_buckets)),
            ),
        ]
    }

    fn sort_scratch(&self) -> u64 {
        sort_scratch_bytes(self.updates, TILE_U32, 4).max(sort_scratch_bytes(
            self.capacity.max(self.notifications),
            TILE_U64,
            8,
        ))
    }
}

/// What a sort of `n` pairs needs for `passes` passes: bins, a counter and a
/// look-back table for each.
pub fn sort_scratch_bytes(n: u64, tile: u64, passes: u64) -> u64 {
    passes * (256 + 64 + n.div_ceil(tile).max(1) * 256) * 4
}

/// Pairs in a sweep's tile, as the sort's policy sets them.
pub const TILE_U32: u64 = 384 * 23;
pub const TILE_U64: u64 = 384 * 15;
const ALIGNMENT: u64 = 256;
/// Items of a scan's block.
const BLOCK: u64 = 256;
