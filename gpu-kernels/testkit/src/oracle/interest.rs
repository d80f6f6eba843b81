//! Deliveries: what each client sees.

use std::collections::{BTreeMap, BTreeSet};

use gpu_kernels::{Delivery, Target};
use shared::InterestMode;

use super::{Oracle, OracleOutput};

/// The place of one of a client's observers.
pub(super) struct Viewpoint {
    pub(super) center: [i32; 3],
    pub(super) radius: i32,
    followed: Option<u32>,
}

impl Oracle {
    /// Makes the deliveries, client by client, as long as there is room. `changed` are the
    /// slots with a change that clients may see.
    pub(super) fn deliver(&mut self, changed: &BTreeSet<u32>, out: &mut OracleOutput) {
        let remembers = self.config.schema.world.visible_max > 0;
        let room = self.config.limits.deliveries_per_tick;
        let mut full = false;
        for client in 0..self.config.limits.clients {
            let visible = self.nearest(client);
            let deliveries = match remembers {
                true => self.difference(client, &visible, changed),
                false => self.changed_in_sight(client, changed),
            };
            let n = deliveries.len() as u64;
            full |= out.counts.deliveries + n > room;
            if full {
                out.counts.deliveries_dropped += n;
                out.counts.clients_behind += u64::from(n > 0);
            } else {
                out.counts.deliveries += n;
            }
            if remembers {
                if full && n > 0 {
                    self.behind.insert(client);
                } else {
                    self.behind.remove(&client);
                    self.known.insert(client, visible);
                }
            }
            if !full && n > 0 {
                out.deliveries.insert(client, deliveries);
            }
        }
    }

    /// The slots of the `visible_max` nearest entities by distance, then slot. An entity
    /// that an observer follows comes first. The distance of an entity in a subscription is
    /// that from the nearest observer, even if that one does not perceive it.
    fn nearest(&self, client: u32) -> BTreeSet<u32> {
        let mut ranks: BTreeMap<u32, (bool, u128)> = BTreeMap::new();
        for viewpoint in self.viewpoints(client) {
            for entity in self.alive() {
                let slot = entity.slot.0;
                if !self.perceives(&viewpoint, slot) {
                    continue;
                }
                let distance = square_of_distance(viewpoint.center, self.position(slot));
                let rank = (viewpoint.followed != Some(slot), distance);
                let best = ranks.entry(slot).or_insert(rank);
                *best = rank.min(*best);
            }
        }
        for corners in self.subscriptions(client) {
            for entity in self.alive() {
                let slot = entity.slot.0;
                if !self.stands_in(slot, &corners) && !self.is_published_in(slot, &corners) {
                    continue;
                }
                let position = self.position(slot);
                let viewpoints = self.viewpoints(client).into_iter();
                let nearest = viewpoints
                    .map(|v| square_of_distance(v.center, position))
                    .min();
                let rank = (true, nearest.unwrap_or(u128::MAX));
                let best = ranks.entry(slot).or_insert(rank);
                *best = rank.min(*best);
            }
        }
        let mut order: Vec<_> = ranks.into_iter().map(|(slot, rank)| (rank, slot)).collect();
        order.sort();
        let max = self.config.schema.world.visible_max as usize;
        order.into_iter().take(max).map(|(_, slot)| slot).collect()
    }

    /// Enters, updates and leaves, ascending by slot.
    fn difference(
        &self,
        client: u32,
        visible: &BTreeSet<u32>,
        changed: &BTreeSet<u32>,
    ) -> Vec<Delivery> {
        let known = self.known_by(client);
        let behind = self.behind.contains(&client);
        let mut deliveries = vec![];
        for &slot in known.union(visible) {
            match (known.contains(&slot), visible.contains(&slot)) {
                (false, _) => deliveries.push(Delivery::new(Delivery::ENTER, slot)),
                (_, false) => deliveries.push(Delivery::new(Delivery::LEAVE, slot)),
                _ if behind => deliveries.push(Delivery::new(Delivery::RENEW, slot)),
                _ if changed.contains(&slot) => {
                    deliveries.push(Delivery::new(Delivery::UPDATE, slot));
                }
                _ => {}
            }
        }
        deliveries
    }

    /// Updates of changed entities in sight: by observer, then bucket, then slot; then by
    /// subscription. Each entity comes once.
    fn changed_in_sight(&self, client: u32, changed: &BTreeSet<u32>) -> Vec<Delivery> {
        let mut seen = BTreeSet::new();
        let mut deliveries = vec![];
        for viewpoint in self.viewpoints(client) {
            let mut fresh = vec![];
            for &slot in changed {
                if self.perceives(&viewpoint, slot) && seen.insert(slot) {
                    let [x, y, z] = self.bucket(self.position(slot));
                    fresh.push((z, y, x, slot));
                }
            }
            fresh.sort();
            for (_, _, _, slot) in fresh {
                deliveries.push(Delivery::new(Delivery::UPDATE, slot));
            }
        }
        for corners in self.subscriptions(client) {
            let mut by_position = vec![];
            let mut by_publication = vec![];
            for &slot in changed {
                if self.stands_in(slot, &corners) {
                    let [x, y, z] = self.bucket(self.position(slot));
                    by_position.push(([z, y, x], slot));
                } else if self.is_published_in(slot, &corners) {
                    by_publication.push((self.publication_order(slot), slot));
                }
            }
            by_position.sort();
            by_publication.sort();
            let by_position = by_position.into_iter().map(|(_, slot)| slot);
            for slot in by_position.chain(by_publication.into_iter().map(|(_, slot)| slot)) {
                if seen.insert(slot) {
                    deliveries.push(Delivery::new(Delivery::UPDATE, slot));
                }
            }
        }
        deliveries
    }

    pub(super) fn viewpoints(&self, client: u32) -> Vec<Viewpoint> {
        let mut viewpoints = vec![];
        for (_, observer) in self.observers.range((client, 0)..=(client, u32::MAX)) {
            let (center, followed) = match observer.target {
                Target::Point(point) => (point, None),
                Target::Entity(entity) if self.is_alive(entity) => {
                    (self.position(entity.slot.0), Some(entity.slot.0))
                }
                Target::Entity(_) => continue,
            };
            viewpoints.push(Viewpoint {
                center,
                radius: observer.radius,
                followed,
            });
        }
        viewpoints
    }

    fn perceives(&self, viewpoint: &Viewpoint, slot: u32) -> bool {
        let position = self.position(slot);
        match self.config.schema.world.interest {
            InterestMode::Exact => {
                let radius = u128::from(viewpoint.radius.unsigned_abs());
                square_of_distance(position, viewpoint.center) <= radius * radius
            }
            InterestMode::Buckets => {
                let (own, other) = (self.bucket(viewpoint.center), self.bucket(position));
                (0..3).all(|axis| (own[axis] - other[axis]).abs() <= 1)
            }
        }
    }

    fn bucket(&self, position: [i32; 3]) -> [i32; 3] {
        position.map(|p| p / self.config.schema.world.aoi.raw())
    }
}

pub fn square_of_distance(a: [i32; 3], b: [i32; 3]) -> u128 {
    let mut sum = 0;
    for axis in 0..3 {
        sum += u128::from(a[axis].abs_diff(b[axis])).pow(2);
    }
    sum
}
