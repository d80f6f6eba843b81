//! What a tick gives back.

use std::array::from_fn;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use shared::notification::NOTIFICATION_WORDS_MAX;
use shared::{ClientRow, EntityId, NotificationKind, Slot, Tick};

use crate::state::StateHash;

/// The result of one tick.
#[derive(Debug, Default)]
pub struct TickOutput {
    /// Released before the buffers that it locks.
    pub(crate) memory_lock: Option<MemoryLock>,
    pub tick: Tick,
    /// Every request for a birth, in command order.
    pub births: Vec<Birth>,
    /// The newborns' attributes: one row of all columns for each birth that
    /// happened, in the order of `births`.
    pub birth_rows: Vec<i32>,
    /// Who died, ascending by slot. Their slots rest until released.
    pub deaths: Vec<EntityId>,
    pub changes: Changes,
    /// What logic told of: that of commands in their order, then of items that have a
    /// new owner and of the fallen, each by slot.
    pub notifications: Vec<Notification>,
    pub deliveries: Deliveries,
    /// Who hears which of the notifications.
    pub hearings: Hearings,
    /// In place of `deliveries`, where the backend was started to tell them by
    /// buckets.
    pub bucket_ranges: Option<BucketRanges>,
    pub counts: Counts,
    pub stages: StageTimes,
    /// The state after this tick.
    pub hash: StateHash,
}

/// Whatever keeps an output's buffers where a device can write to them.
pub(crate) struct MemoryLock(#[expect(dead_code, reason = "held to be dropped")] pub(crate) Held);

type Held = Box<dyn std::any::Any + Send + Sync>;

impl std::fmt::Debug for MemoryLock {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("MemoryLock")
    }
}

/// The answer to one request for a birth.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Birth {
    /// As in the request.
    pub token: u32,
    pub kind: u16,
    /// `None` where the world had no free slot.
    pub entity: Option<EntityId>,
}

/// The merged, conflict-free changes: a CSR by entity. An update that left the
/// value as it was is not a change.
#[derive(Debug, Default)]
pub struct Changes {
    /// Who changed, ascending.
    pub slots: Vec<u32>,
    /// Where each entity's changes begin in `columns` and `values`; one more at the end.
    pub offsets: Vec<u32>,
    pub columns: Vec<u16>,
    pub values: Vec<i32>,
    /// Of each change, the [`CommandKind`](shared::CommandKind) by number of the first
    /// command that updated it, in command order. Empty in worlds without content
    /// subscriptions.
    pub causes: Vec<u16>,
}

impl Changes {
    /// Each changed entity with its changes as (columns, new values), ascending by slot.
    pub fn iter(&self) -> impl Iterator<Item = (Slot, &[u16], &[i32])> {
        self.slots
            .iter()
            .zip(self.offsets.windows(2))
            .map(|(&slot, range)| {
                let range = range[0] as usize..range[1] as usize;
                (
                    Slot(slot),
                    &self.columns[range.clone()],
                    &self.values[range],
                )
            })
    }
}

/// Something that happened in a tick, to be heard or subscribed to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[repr(C)]
pub struct Notification {
    /// Of whom it tells; [`EntityId::NONE`]: of nobody. It may have died in the tick.
    pub source: EntityId,
    /// A [`NotificationKind`] by number.
    pub kind: u16,
    word_count: u8,
    has_area: u8,
    area: Area,
    words: [i32; NOTIFICATION_WORDS_MAX],
}

const _: () = assert!(size_of::<Notification>() == 52);

/// A half-open box in raw units: from `low` to just under `high`. 0 to 1 along axes that
/// the world doesn't have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[repr(C)]
pub struct Area {
    pub low: [i32; 3],
    pub high: [i32; 3],
}

impl Area {
    /// What is within `distance` of a place along each of the first `dimensions` axes.
    /// Both are below 2^30.
    pub fn around(place: [i32; 3], distance: i32, dimensions: usize) -> Area {
        let along = |axis, at, otherwise| if axis < dimensions { at } else { otherwise };
        Area {
            low: from_fn(|axis| along(axis, place[axis] - distance, 0)),
            high: from_fn(|axis| along(axis, place[axis] + distance + 1, 1)),
        }
    }
}

impl Notification {
    /// `words` are at most [`NOTIFICATION_WORDS_MAX`].
    pub fn new(
        kind: NotificationKind,
        source: EntityId,
        area: Option<Area>,
        words: &[i32],
    ) -> Notification {
        let mut all = [0; NOTIFICATION_WORDS_MAX];
        all[..words.len()].copy_from_slice(words);
        Notification {
            source,
            kind: kind.id(),
            word_count: words.len() as u8,
            has_area: u8::from(area.is_some()),
            area: area.unwrap_or_default(),
            words: all,
        }
    }

    /// Where it can be heard; `None`: nowhere, it can only be subscribed to.
    pub fn area(&self) -> Option<Area> {
        (self.has_area != 0).then_some(self.area)
    }

    /// Its fields, as the schema lists them.
    pub fn words(&self) -> &[i32] {
        &self.words[..usize::from(self.word_count)]
    }
}

/// What a client is told of an entity, in 32 bits: the kind in the upper two,
/// the slot below.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
#[repr(transparent)]
pub struct Delivery(pub u32);

impl Delivery {
    /// The client knows the entity, which has changed.
    pub const UPDATE: u32 = 0;
    /// The client must be told of the entity.
    pub const ENTER: u32 = 1;
    /// The client must forget the entity.
    pub const LEAVE: u32 = 2;

    pub const fn new(kind: u32, slot: u32) -> Delivery {
        Delivery(kind << 30 | slot)
    }

    pub const fn kind(self) -> u32 {
        self.0 >> 30
    }

    pub const fn slot(self) -> Slot {
        Slot(self.0 & 0x3fff_ffff)
    }
}

/// Deliveries as a CSR by client.
///
/// Where clients remember (`visible_max` above 0), each client's deliveries
/// ascend by slot. Where they don't, they go by observer, then bucket, then slot.
/// What only subscriptions bring follows: by subscription, the client's own first;
/// there those whose positions are in it by bucket and slot, then those who are
/// published in it otherwise, by size and place (`levels.rs`) and slot.
#[derive(Debug, Default)]
pub struct Deliveries {
    /// Where each client's deliveries begin; one more at the end. Client rows
    /// that were never used may be missing.
    pub(crate) offsets: Vec<u32>,
    /// At least `offsets.last()` long: what stands behind is of earlier ticks.
    pub(crate) entries: Vec<Delivery>,
}

impl Deliveries {
    /// One client's deliveries.
    pub fn of(&self, client: ClientRow) -> &[Delivery] {
        match self.offsets.get(client.index()..client.index() + 2) {
            Some(range) => &self.entries[range[0] as usize..range[1] as usize],
            None => &[],
        }
    }

    /// The number of client rows in use.
    pub fn clients(&self) -> usize {
        self.offsets.len().saturating_sub(1)
    }

    /// All deliveries, client after client.
    pub fn all(&self) -> &[Delivery] {
        &self.entries[..self.offsets.last().map_or(0, |&end| end as usize)]
    }
}

/// Which notifications a client hears, as a CSR by client: those whose area reaches
/// into what its observers perceive, or overlaps where it subscribes (after the tick).
/// Each is told once, by its place in [`TickOutput::notifications`], ascending.
#[derive(Debug, Default)]
pub struct Hearings {
    /// Where each client's begin; one more at the end. Empty where nothing can be
    /// heard; client rows that were never used may be missing.
    pub(crate) offsets: Vec<u32>,
    pub(crate) numbers: Vec<u32>,
}

impl Hearings {
    /// What one client hears: places in [`TickOutput::notifications`].
    pub fn of(&self, client: ClientRow) -> &[u32] {
        match self.offsets.get(client.index()..client.index() + 2) {
            Some(range) => &self.numbers[range[0] as usize..range[1] as usize],
            None => &[],
        }
    }
}

/// Deliveries told by buckets: who changed, in the order of the buckets, and the
/// parts of it that are each client's. So the pairs never exist: a client's few
/// rows of buckets take less room than its deliveries.
#[derive(Debug, Default)]
pub struct BucketRanges {
    /// The slots of those who changed, bucket after bucket, row by row.
    pub order: Vec<u32>,
    /// By client and row of buckets: where they begin and end in `order`.
    pub(crate) ranges: Vec<[u32; 2]>,
    pub(crate) rows: usize,
}

impl BucketRanges {
    /// The slots whose changes a client is told of, a row of buckets at a time.
    pub fn of(&self, client: ClientRow) -> impl Iterator<Item = &[u32]> {
        let rows = self.ranges.chunks_exact(self.rows).nth(client.index());
        rows.into_iter()
            .flatten()
            .map(|&[start, end]| &self.order[start as usize..end as usize])
    }

    /// The number of client rows in use.
    pub fn clients(&self) -> usize {
        self.ranges.len() / self.rows.max(1)
    }
}

/// What happened in a tick, in numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    /// Commands of the frame, timed ones that fell due, and those of world rules.
    pub commands: u64,
    /// Commands that were run.
    pub applied: u64,
    /// Commands of entities that are dead.
    pub stale: u64,
    /// Commands that this world doesn't have, or with too few or too many words.
    pub malformed: u64,
    /// Commands beyond `limits.commands_per_tick`.
    pub commands_dropped: u64,
    /// Updates before merging.
    pub updates: u64,
    /// Updates beyond `limits.updates_per_tick`: the last commands lose theirs.
    pub updates_dropped: u64,
    /// Changed (entity, attribute) pairs.
    pub changes: u64,
    pub births: u64,
    /// Births for which there was no free slot.
    pub births_refused: u64,
    pub deaths: u64,
    pub deliveries: u64,
    /// Deliveries beyond `limits.deliveries_per_tick`: the last clients get none
    /// this tick. What they know stays true, and they are told as soon as there
    /// is room.
    pub deliveries_dropped: u64,
    /// Clients that were owed deliveries and got none.
    pub clients_behind: u64,
    /// Entries of the frame that named what doesn't exist.
    pub ignored: u64,
    /// Entities alive after the tick.
    pub entities: u64,
    /// Timed commands pending after the tick.
    pub timed: u64,
    /// Timed commands beyond `limits.timed_commands`: the last scheduled.
    pub timed_dropped: u64,
    pub notifications: u64,
    /// Notifications beyond `limits.notifications_per_tick`: the last.
    pub notifications_dropped: u64,
    /// (client, notification) pairs: who hears what.
    pub hearings: u64,
    /// Hearings beyond `limits.client_hearings_per_tick`: the last of each client.
    pub hearings_dropped: u64,
}

/// The stages of a tick, in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(usize)]
pub enum Stage {
    Upload,
    Due,
    Logic,
    Merge,
    Lifecycle,
    Index,
    Interest,
    Download,
}

impl Stage {
    pub const ALL: [Stage; 8] = [
        Stage::Upload,
        Stage::Due,
        Stage::Logic,
        Stage::Merge,
        Stage::Lifecycle,
        Stage::Index,
        Stage::Interest,
        Stage::Download,
    ];

    pub const fn name(self) -> &'static str {
        match self {
            Stage::Upload => "upload",
            Stage::Due => "due",
            Stage::Logic => "logic",
            Stage::Merge => "merge",
            Stage::Lifecycle => "lifecycle",
            Stage::Index => "index",
            Stage::Interest => "interest",
            Stage::Download => "download",
        }
    }
}

/// How long each stage took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StageTimes([Duration; Stage::ALL.len()]);

impl StageTimes {
    pub fn of(&self, stage: Stage) -> Duration {
        self.0[stage as usize]
    }

    pub fn set(&mut self, stage: Stage, time: Duration) {
        self.0[stage as usize] = time;
    }

    pub fn total(&self) -> Duration {
        self.0.iter().sum()
    }
}
