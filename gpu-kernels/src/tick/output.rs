//! The output of a tick.

use std::ops::Range;
use std::time::Duration;

use device::HostVec;
use serde::{Deserialize, Serialize};
use shared::world::edit::Edit;
use shared::world::id::CAPACITY_MAX;
use shared::{ClientRow, CommandKind, EntityId, Slot, Tick};

use crate::notification::Notification;
use crate::tick::counts::Counts;
use crate::tick::refused::RefusedCommand;
use crate::tick::state::StateHash;

/// The result of one tick.
#[derive(Debug, Default)]
pub struct TickOutput {
    pub tick: Tick,
    /// The result of each spawn command, in command order.
    pub births: Vec<Birth>,
    /// The newborns' attributes: one row of all columns for each birth that
    /// happened, in the order of `births`.
    pub birth_rows: Vec<i32>,
    /// The entities that died, ascending by slot. Their slots rest until released.
    pub deaths: Vec<EntityId>,
    /// Those of them that are things which accounts keep, and died with the players who held them.
    pub kept: Vec<EntityId>,
    pub changes: Changes,
    /// The entities with a new course.
    pub courses: Courses,
    /// Notifications of commands in command order, then of items with a new owner and of
    /// the fallen, each by slot. Those of [`EDIT_KIND`](shared::world::edit::EDIT_KIND) are what
    /// scripts asked to change.
    pub notifications: Vec<Notification>,
    /// The cells of layers that are something else after the tick, in the order of their
    /// notifications: a later edit of a cell is the one that stays.
    pub edits: Vec<Edit>,
    /// The commands of clients that had no effect, ascending.
    pub refused: Vec<RefusedCommand>,
    pub deliveries: Deliveries,
    /// The notifications that reach each client by place.
    pub hearings: Hearings,
    /// Replaces `deliveries` if the backend was started with the ranges form.
    pub bucket_ranges: Option<BucketRanges>,
    pub counts: Counts,
    /// How many runs of a command used up their budget, ascending by command; the others
    /// are missing. Their sum is [`Counts::over_budget`].
    pub over_budget: Vec<(CommandKind, u64)>,
    /// How many runs of a command, which had an effect, met an index or a key that its array or map
    /// lacks, likewise.
    pub out_of_range: Vec<(CommandKind, u64)>,
    /// With several parts, the longest time of each stage.
    pub stages: StageTimes,
    /// How long each part of the backend was busy; empty on a CPU.
    pub part_times: Vec<Duration>,
    /// The hash of the state after this tick.
    pub hash: StateHash,
}

/// The result of one spawn command.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Birth {
    /// The token of the spawn command.
    pub token: u32,
    pub kind: u16,
    /// `None` if the world had no free slot.
    pub entity: Option<EntityId>,
}

/// The merged, conflict-free changes: a CSR by entity. An update that left the
/// value as it was is not a change.
#[derive(Debug, Default)]
pub struct Changes {
    /// The changed entities, ascending.
    pub slots: HostVec<u32>,
    /// Start of each entity's changes in `columns` and `values`, and the end of the last.
    pub offsets: HostVec<u32>,
    pub columns: HostVec<u16>,
    pub values: HostVec<i32>,
    /// By change: the number of the [`CommandKind`] of the first
    /// command that updated it, in command order. Empty in worlds without content
    /// subscriptions.
    pub causes: HostVec<u16>,
    /// By change: the slot of the entity that gave this command, or that of
    /// [`EntityId::NONE`] where no entity gave it; empty likewise.
    pub actors: HostVec<u32>,
}

impl Changes {
    /// Each changed entity with its changes as (columns, new values), ascending by slot.
    pub fn iter(&self) -> impl Iterator<Item = (Slot, &[u16], &[i32])> {
        self.range(0..self.slots.len())
    }

    /// The same for some of the entities, by their places in `slots`.
    pub fn range(&self, places: Range<usize>) -> impl Iterator<Item = (Slot, &[u16], &[i32])> {
        places.map(|place| {
            let range = self.offsets[place] as usize..self.offsets[place + 1] as usize;
            (
                Slot(self.slots[place]),
                &self.columns[range.clone()],
                &self.values[range],
            )
        })
    }
}

/// The new courses of entities, ascending by slot: each holds from where the entity is after
/// the tick. Empty in worlds that send each change of a position.
#[derive(Debug, Default)]
pub struct Courses {
    pub slots: HostVec<u32>,
    /// By entity and axis, in raw units a tick.
    pub velocities: HostVec<i32>,
}

impl Courses {
    /// Each entity with its velocity; axes that the world lacks are missing.
    pub fn iter(&self) -> impl Iterator<Item = (Slot, &[i32])> {
        self.range(0..self.slots.len())
    }

    /// The same for some of the entities, by their places in `slots`.
    pub fn range(&self, places: Range<usize>) -> impl Iterator<Item = (Slot, &[i32])> {
        let dimensions = (self.velocities.len() / self.slots.len().max(1)).max(1);
        let velocities = &self.velocities[places.start * dimensions..places.end * dimensions];
        let slots = self.slots[places].iter().map(|&slot| Slot(slot));
        slots.zip(velocities.chunks_exact(dimensions))
    }
}

/// One message about an entity for one client, in 32 bits: the kind in the upper two, the
/// tier in the two below, the slot in the rest.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
#[repr(transparent)]
pub struct Delivery(pub u32);

device::plain!(Delivery { 0: u32 });

impl Delivery {
    /// The entity is in the known set, and has changed.
    pub const UPDATE: u32 = 0;
    /// The entity is not in the known set yet.
    pub const ENTER: u32 = 1;
    /// The client must forget the entity.
    pub const LEAVE: u32 = 2;
    /// The entity is in the known set, and the client may have missed changes: its deliveries
    /// were deferred in the tick before.
    pub const RENEW: u32 = 3;

    /// Tiers of distance from the client's nearest observer: the first reaches to an eighth
    /// of the AOI, the second to a quarter, the third to the half. Entities that an observer
    /// follows are in the first one. A known entity counts as nearer here, too.
    pub const TIERS: usize = 4;

    /// A delivery in the first tier.
    pub const fn new(kind: u32, slot: u32) -> Delivery {
        Delivery(kind << 30 | slot)
    }

    pub const fn in_tier(self, tier: u32) -> Delivery {
        Delivery(self.0 | tier << TIER_SHIFT)
    }

    pub const fn kind(self) -> u32 {
        self.0 >> 30
    }

    /// Leaves, and deliveries to clients that remember nothing, are all in tier 0.
    pub const fn tier(self) -> u32 {
        self.0 >> TIER_SHIFT & 3
    }

    pub const fn slot(self) -> Slot {
        Slot(self.0 & ((1 << TIER_SHIFT) - 1))
    }
}

const TIER_SHIFT: u32 = 28;
const _: () = assert!(CAPACITY_MAX < 1 << TIER_SHIFT);

/// The deliveries of a tick, by client.
///
/// If clients remember (`visible_max` above 0), each client's deliveries ascend by slot.
/// Otherwise, they are ordered by observer, then bucket, then slot. Entities that only
/// subscriptions bring follow: by subscription, the client's own first. Within one,
/// entities whose positions are in it come by bucket and slot, then those otherwise
/// published in it, by size and place (`levels.rs`) and slot.
pub type Deliveries = ByClient<Delivery>;

/// Hearings, the notifications that reach each client by place: their area overlaps the range of its
/// observers or its subscriptions (after the tick). Each is named once, by its place in
/// [`TickOutput::notifications`], ascending.
pub type Hearings = ByClient<u32>;

/// A list for each client: segments in client order, one for each part of the backend.
#[derive(Debug, Default)]
pub struct ByClient<T> {
    pub(crate) segments: Vec<Segment<T>>,
}

/// The lists of consecutive clients, as a CSR.
#[derive(Debug)]
pub(crate) struct Segment<T> {
    /// The first client row.
    pub first: u32,
    /// Start of each client's list, and the end of the last. Empty if no client has any item.
    pub offsets: HostVec<u32>,
    /// At least `offsets.last()` long; items behind that are from earlier ticks.
    pub items: HostVec<T>,
}

impl<T> ByClient<T> {
    /// One client's list. Client rows that were never used have none.
    pub fn of(&self, client: ClientRow) -> &[T] {
        let behind = self.segments.partition_point(|s| s.first <= client.0);
        let segment = behind.checked_sub(1).map(|i| &self.segments[i]);
        segment.map_or(&[], |segment| segment.of(client))
    }

    /// The number of client rows in use.
    pub fn clients(&self) -> usize {
        let end = |segment: &Segment<T>| segment.first as usize + segment.clients();
        self.segments.last().map_or(0, end)
    }

    /// The number of items in all lists.
    pub fn total(&self) -> usize {
        self.segments
            .iter()
            .map(|segment| segment.all().len())
            .sum()
    }

    /// By part of the backend: the numbers of client rows and of items.
    pub fn shares(&self) -> impl Iterator<Item = (usize, usize)> {
        let segments = self.segments.iter();
        segments.map(|segment| (segment.clients(), segment.all().len()))
    }

    /// Appends the list of a client, whose row is above those that have one.
    pub fn push(&mut self, client: ClientRow, items: impl IntoIterator<Item = T>) {
        if self.segments.is_empty() {
            self.segments.push(Segment::default());
        }
        let last = self.segments.len() - 1;
        let segment = &mut self.segments[last];
        if segment.offsets.is_empty() {
            segment.first = client.0;
            segment.offsets.push(0);
        }
        // Rows between have no items.
        let end = segment.offsets[segment.clients()];
        let place = client.0.saturating_sub(segment.first) as usize;
        segment.offsets.resize(place + 1, end);
        segment.items.extend(items);
        let end = u32::try_from(segment.items.len()).unwrap_or(u32::MAX);
        segment.offsets.push(end);
    }

    /// Empties all lists, and keeps their memory.
    pub(crate) fn clear(&mut self) {
        for segment in &mut self.segments {
            segment.first = 0;
            segment.offsets.clear();
        }
    }

    /// Makes empty segments, each from the first client row on that is given.
    pub(crate) fn cut(&mut self, firsts: impl Iterator<Item = u32>) {
        let mut count = 0;
        for first in firsts {
            if count == self.segments.len() {
                self.segments.push(Segment::default());
            }
            self.segments[count].first = first;
            self.segments[count].offsets.clear();
            count += 1;
        }
        self.segments.truncate(count);
    }
}

impl<T> Segment<T> {
    /// The number of client rows.
    pub fn clients(&self) -> usize {
        self.offsets.len().saturating_sub(1)
    }

    /// The number of items of the clients before this one.
    pub fn before(&self, client: u32) -> u64 {
        let place = client.saturating_sub(self.first) as usize;
        let last = self.offsets.len().checked_sub(1);
        last.map_or(0, |last| u64::from(self.offsets[place.min(last)]))
    }

    fn of(&self, client: ClientRow) -> &[T] {
        let place = (client.0 - self.first) as usize;
        match self.offsets.get(place..place + 2) {
            Some(range) => &self.items[range[0] as usize..range[1] as usize],
            None => &[],
        }
    }

    /// All lists, one after another.
    fn all(&self) -> &[T] {
        &self.items[..self.offsets.last().map_or(0, |&end| end as usize)]
    }
}

impl<T> Default for Segment<T> {
    fn default() -> Segment<T> {
        Segment {
            first: 0,
            offsets: HostVec::new(),
            items: HostVec::new(),
        }
    }
}

/// Deliveries in the ranges form: the changed entities in bucket order, and each client's
/// ranges of that list. The single deliveries are never stored: a client's few rows of
/// buckets take less room.
#[derive(Debug, Default)]
pub struct BucketRanges {
    /// The slots of changed entities, bucket by bucket, row by row.
    pub order: HostVec<u32>,
    /// By client and row of buckets: start and end in `order`.
    pub(crate) ranges: HostVec<[u32; 2]>,
    pub(crate) rows: usize,
}

impl BucketRanges {
    /// The slots whose changes a client gets, one row of buckets at a time.
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

/// The time that each stage took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StageTimes([Duration; Stage::ALL.len()]);

impl StageTimes {
    pub fn of(&self, stage: Stage) -> Duration {
        self.0[stage as usize]
    }

    /// Adds the times of another tick.
    pub fn add(&mut self, other: &StageTimes) {
        for (sum, time) in self.0.iter_mut().zip(other.0) {
            *sum += time;
        }
    }

    pub fn set(&mut self, stage: Stage, time: Duration) {
        self.0[stage as usize] = time;
    }

    pub fn total(&self) -> Duration {
        self.0.iter().sum()
    }
}
