use shared::InterestMode;
use shared::world::schema::WorldInfo;

use super::eyes::Eyes;
use super::views::{slot_of, word};
use crate::logic::{squared_distance, within_distance};
use crate::tick::cpu::index::{Block, Index};
use crate::tick::cpu::merge::Merge;

/// The place of an observer.
pub struct Viewpoint {
    pub center: [i32; 3],
    pub radius: i32,
    /// How much farther it perceives entities of its client's known set.
    pub margin: i32,
    /// The entity it follows, which it always perceives.
    pub followed: Option<u32>,
}

impl Viewpoint {
    /// The buckets that hold everything it can perceive.
    #[inline(always)]
    pub fn block(&self, index: &Index, mode: InterestMode) -> Block {
        match mode {
            InterestMode::Exact => index.block_around(self.center, self.radius + self.margin),
            InterestMode::Buckets => index.block_of_neighbours(self.center),
        }
    }

    /// Whether a position is within its radius.
    pub fn reaches(&self, position: [i32; 3]) -> bool {
        within_distance(position, self.center, self.radius)
    }

    /// Whether it perceives the entity at this position in the index.
    pub fn perceives(&self, index: &Index, mode: InterestMode, at: usize) -> bool {
        let position = index.position(at);
        match mode {
            InterestMode::Exact => self.reaches(position),
            InterestMode::Buckets => self.block(index, mode).contains(index, position),
        }
    }
}

/// The entities that one client may see: the nearest ones, however large the crowd.
pub struct Candidates {
    max: usize,
    margin: u64,
    /// Squared: an entity is in the tier of its number of these that are exceeded.
    tiers: [u64; 3],
    /// A bit for each slot of the known set; empty if it makes no difference.
    known: Vec<u64>,
    /// (rank, slot) of one observer's entities; see [`rank`].
    found: Vec<(u64, u32)>,
    /// The nearest entities of all observers so far.
    all: Vec<(u64, u32)>,
    /// The positions of the client's observers.
    centers: Vec<[i32; 3]>,
    /// Ranks above it can't be among the nearest of `found`.
    limit: u64,
}

impl Candidates {
    /// Creates buffers for finding the nearest `visible_max`.
    pub fn new(world: &WorldInfo) -> Candidates {
        let max = world.visible_max as usize;
        let margin = world.leave_margin().unsigned_abs();
        let words = match margin {
            0 => 0,
            _ => world.capacity.div_ceil(64) as usize,
        };
        Candidates {
            max,
            margin: u64::from(margin),
            tiers: tiers(world).map(i64::unsigned_abs),
            known: vec![0; words],
            found: Vec::with_capacity(2 * max + 1),
            all: Vec::with_capacity(4 * max + 1),
            centers: vec![],
            limit: 0,
        }
    }

    /// Begins with a client with these words of the known set.
    pub fn begin_client(&mut self, known: &[u32]) {
        self.all.clear();
        self.centers.clear();
        if self.margin > 0 {
            for &word in known {
                self.known[slot_of(word) as usize / 64] |= 1 << (slot_of(word) % 64);
            }
        }
    }

    fn is_known(&self, slot: u32) -> bool {
        self.known[slot as usize / 64] >> (slot % 64) & 1 == 1
    }

    /// Adds the entities that an observer perceives: the nearest, by rank and slot.
    pub fn gather(
        &mut self,
        index: &Index,
        mode: InterestMode,
        place: &Viewpoint,
        eyes: Option<&Eyes<'_>>,
        dimensions: usize,
    ) {
        self.found.clear();
        self.centers.push(place.center);
        let Viewpoint {
            center, followed, ..
        } = *place;
        match (eyes, dimensions) {
            (None, 2) => self.find::<2>(index, mode, place, |_, _| true),
            (None, _) => self.find::<3>(index, mode, place, |_, _| true),
            (Some(eyes), 2) => self.find::<2>(index, mode, place, |slot, at| {
                eyes.see(center, followed, slot, [at[0], at[1], 0])
            }),
            (Some(eyes), _) => self.find::<3>(index, mode, place, |slot, at| {
                eyes.see(center, followed, slot, at)
            }),
        }
        self.end();
    }

    fn find<const AXES: usize>(
        &mut self,
        index: &Index,
        mode: InterestMode,
        place: &Viewpoint,
        is_shown: impl Fn(u32, [i32; AXES]) -> bool,
    ) {
        match mode {
            _ if self.margin > 0 => self.collect_known::<AXES>(index, place, is_shown),
            InterestMode::Exact => self.collect::<AXES, true>(index, mode, place, is_shown),
            InterestMode::Buckets => self.collect::<AXES, false>(index, mode, place, is_shown),
        }
    }

    /// Begins a list of subscribed entities.
    pub fn begin(&mut self) {
        self.found.clear();
        self.limit = u64::MAX;
    }

    /// Adds an entity that is published in a subscription, once between `begin` and `end`.
    /// All of the client's observers must have been gathered before.
    pub fn add_subscribed(&mut self, slot: u32, position: [i32; 3]) {
        let distances = self
            .centers
            .iter()
            .map(|&center| squared_distance(position, center));
        // Without an observer, all entities rank last.
        let is_nearer = self.margin > 0 && self.is_known(slot);
        let rank = distances.min().map_or(u64::MAX, |distance| {
            let distance = match is_nearer {
                true => nearer(distance, self.margin),
                false => distance,
            };
            rank(distance, false)
        });
        if rank > self.limit {
            return;
        }
        self.found.push((rank, slot));
        if self.found.len() > 2 * self.max {
            keep_nearest(&mut self.found, self.max);
            let farthest = self.found.iter().map(|&(rank, _)| rank).max();
            self.limit = farthest.unwrap_or(u64::MAX);
        }
    }

    /// Merges the entities found into the nearest so far, by rank and slot.
    pub fn end(&mut self) {
        keep_nearest(&mut self.found, self.max);
        if self.all.is_empty() {
            std::mem::swap(&mut self.all, &mut self.found);
            return;
        }
        // An entity among the client's nearest is also among the nearest of its nearest
        // observer, or of each subscription that contains it. So cutting each list first
        // loses nothing.
        self.all.append(&mut self.found);
        self.all.sort_unstable_by_key(|&(rank, slot)| (slot, rank));
        self.all.dedup_by_key(|&mut (_, slot)| slot);
        keep_nearest(&mut self.all, self.max);
    }

    fn collect<const AXES: usize, const EXACT: bool>(
        &mut self,
        index: &Index,
        mode: InterestMode,
        place: &Viewpoint,
        is_shown: impl Fn(u32, [i32; AXES]) -> bool,
    ) {
        let radius = i64::from(place.radius) * i64::from(place.radius);
        // Only ranks up to this one can still be among the nearest.
        let mut limit = if EXACT { radius } else { i64::MAX };
        index.each_range(place.block(index, mode), |range| {
            let slots = &index.slots()[range.clone()];
            let axes: [&[i32]; AXES] =
                std::array::from_fn(|axis| &index.positions(axis)[range.clone()]);
            for (i, &slot) in slots.iter().enumerate() {
                let mut distance = 0;
                for (axis, center) in axes.iter().zip(place.center) {
                    let along = i64::from(axis[i]) - i64::from(center);
                    distance += along * along;
                }
                if distance > limit || !is_shown(slot, axes.map(|axis| axis[i])) {
                    continue;
                }
                let followed = place.followed == Some(slot);
                self.found.push((rank(distance as u64, followed), slot));
                if self.found.len() > 2 * self.max {
                    keep_nearest(&mut self.found, self.max);
                    let farthest = self.found.iter().map(|&(rank, _)| rank).max();
                    limit = limit.min(farthest.unwrap_or(0) as i64 - 1);
                }
            }
        });
    }

    /// The same where known entities count as nearer.
    fn collect_known<const AXES: usize>(
        &mut self,
        index: &Index,
        place: &Viewpoint,
        is_shown: impl Fn(u32, [i32; AXES]) -> bool,
    ) {
        let square = |reach: i32| u64::from(reach.unsigned_abs()).pow(2);
        let (radius, reach) = (square(place.radius), square(place.radius + place.margin));
        let mut limit = u64::MAX;
        // Farther away, an unknown or a known entity can't be among the nearest.
        let (mut unknown_max, mut known_max) = (radius, reach);
        index.each_range(place.block(index, InterestMode::Exact), |range| {
            let slots = &index.slots()[range.clone()];
            let axes: [&[i32]; AXES] =
                std::array::from_fn(|axis| &index.positions(axis)[range.clone()]);
            for (i, &slot) in slots.iter().enumerate() {
                let mut distance = 0;
                for (axis, center) in axes.iter().zip(place.center) {
                    let along = i64::from(axis[i]) - i64::from(center);
                    distance += (along * along) as u64;
                }
                if distance > known_max {
                    continue;
                }
                let is_known = self.is_known(slot);
                if distance > unknown_max && !is_known {
                    continue;
                }
                let distance = match is_known {
                    true => nearer(distance, self.margin),
                    false => distance,
                };
                let rank = rank(distance, place.followed == Some(slot));
                if rank > limit || !is_shown(slot, axes.map(|axis| axis[i])) {
                    continue;
                }
                self.found.push((rank, slot));
                if self.found.len() > 2 * self.max {
                    keep_nearest(&mut self.found, self.max);
                    let farthest = self.found.iter().map(|&(rank, _)| rank).max();
                    limit = farthest.unwrap_or(u64::MAX);
                    let known = limit.isqrt() + 1 + self.margin;
                    unknown_max = radius.min(limit);
                    known_max = reach.min(known * known);
                }
            }
        });
    }

    /// Writes the words of the nearest entities, ascending.
    pub fn end_client<'a>(
        &mut self,
        known: &[u32],
        merge: &Merge,
        view: &'a mut [u32],
    ) -> &'a [u32] {
        let view = &mut view[..self.all.len()];
        for (place, &(rank, slot)) in view.iter_mut().zip(&self.all) {
            let distance = rank.saturating_sub(1);
            let tier = self.tiers.iter().filter(|&&tier| distance > tier).count();
            *place = word(slot, merge.has_changed(slot)) + tier as u32;
        }
        view.sort_unstable();
        if self.margin > 0 {
            for &word in known {
                self.known[slot_of(word) as usize / 64] = 0;
            }
        }
        view
    }
}

/// The squared distances at which tiers end, except that of the last one.
pub fn tiers(world: &WorldInfo) -> [i64; 3] {
    let aoi = i64::from(world.aoi.raw());
    [aoi >> 3, aoi >> 2, aoi >> 1].map(|radius| radius * radius)
}

/// Rank of a candidate: an entity that an observer follows comes before all others, even
/// those on the same spot.
fn rank(squared_distance: u64, followed: bool) -> u64 {
    if followed { 0 } else { squared_distance + 1 }
}

/// The square of a distance that is shorter by a margin, rounded down.
fn nearer(squared_distance: u64, margin: u64) -> u64 {
    let shorter = squared_distance.isqrt().saturating_sub(margin);
    shorter * shorter
}

fn keep_nearest(candidates: &mut Vec<(u64, u32)>, max: usize) {
    if candidates.len() > max {
        candidates.select_nth_unstable(max);
        candidates.truncate(max);
    }
}
