//! Deliveries: what each client sees.

use std::collections::{BTreeMap, BTreeSet};

use gpu_kernels::{Delivery, Target};
use shared::InterestMode;

use super::{Oracle, OracleOutput};

/// The place of one of a client's observers.
pub(super) struct Viewpoint {
    pub(super) center: [i32; 3],
    pub(super) radius: i32,
    pub(super) followed: Option<u32>,
}

impl Oracle {
    /// Makes the deliveries, client by client, as long as there is room. `changed` are the
    /// slots with a change that clients may see.
    pub(super) fn deliver(&mut self, changed: &BTreeSet<u32>, out: &mut OracleOutput) {
        let remembers = self.config.schema.world.visible_max > 0;
        let room = self.config.limits.deliveries_per_tick;
        let mut full = false;
        for client in 0..self.config.limits.clients {
            let tiers = self.nearest(client);
            let visible = tiers.keys().copied().collect();
            let deliveries = match remembers {
                true => self.difference(client, &tiers, &visible, changed),
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

    /// The slots of the `visible_max` nearest entities by distance, then slot, and the tier
    /// of each. An entity that an observer follows comes first. The distance of an entity in
    /// a subscription is that from the nearest observer, even if that one does not perceive
    /// it. Known entities count as nearer.
    fn nearest(&self, client: u32) -> BTreeMap<u32, u32> {
        let known = self.known_by(client);
        let counted = |slot: u32, distance: u128| match known.contains(&slot) {
            true => self.nearer(distance),
            false => distance,
        };
        let mut ranks: BTreeMap<u32, (bool, u128)> = BTreeMap::new();
        for viewpoint in self.viewpoints(client) {
            for entity in self.alive() {
                let slot = entity.slot.0;
                if self.is_hidden_from(client, slot) {
                    continue;
                }
                let distance = square_of_distance(viewpoint.center, self.position(slot));
                let margin = self.config.schema.world.leave_margin();
                let reach = viewpoint.radius + margin;
                let is_kept = known.contains(&slot) && is_within(distance, reach) && margin > 0;
                if !is_kept && !self.perceives(&viewpoint, slot) {
                    continue;
                }
                if self.is_behind_wall(&viewpoint, slot) {
                    continue;
                }
                let is_other = viewpoint.followed != Some(slot);
                let rank = match is_other {
                    true => (true, counted(slot, distance)),
                    false => (false, 0),
                };
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
                if self.is_hidden_from(client, slot) {
                    continue;
                }
                let position = self.position(slot);
                let viewpoints = self.viewpoints(client).into_iter();
                let nearest = viewpoints
                    .map(|v| counted(slot, square_of_distance(v.center, position)))
                    .min();
                let rank = (true, nearest.unwrap_or(u128::MAX));
                let best = ranks.entry(slot).or_insert(rank);
                *best = rank.min(*best);
            }
        }
        let mut order: Vec<_> = ranks.into_iter().map(|(slot, rank)| (rank, slot)).collect();
        order.sort();
        let max = self.config.schema.world.visible_max as usize;
        let nearest = order.into_iter().take(max);
        nearest
            .map(|((_, distance), slot)| (slot, self.tier(distance)))
            .collect()
    }

    /// The square of a distance that is shorter by the world's margin for known entities.
    fn nearer(&self, square: u128) -> u128 {
        let margin = self.config.schema.world.leave_margin() as u128;
        match margin {
            0 => square,
            _ => square.isqrt().saturating_sub(margin).pow(2),
        }
    }

    /// How many of an eighth, a quarter and the half of the AOI a distance is beyond.
    fn tier(&self, square: u128) -> u32 {
        let aoi = self.config.schema.world.aoi.raw();
        let beyond = [8, 4, 2].map(|part| u32::from(!is_within(square, aoi / part)));
        beyond.iter().sum()
    }

    /// Enters, updates and leaves, ascending by slot.
    fn difference(
        &self,
        client: u32,
        tiers: &BTreeMap<u32, u32>,
        visible: &BTreeSet<u32>,
        changed: &BTreeSet<u32>,
    ) -> Vec<Delivery> {
        let known = self.known_by(client);
        let behind = self.behind.contains(&client);
        let mut deliveries = vec![];
        for &slot in known.union(visible) {
            let kind = match (known.contains(&slot), visible.contains(&slot)) {
                (false, _) => Delivery::ENTER,
                (_, false) => Delivery::LEAVE,
                _ if behind => Delivery::RENEW,
                _ if changed.contains(&slot) => Delivery::UPDATE,
                _ => continue,
            };
            let tier = tiers.get(&slot).copied().unwrap_or(0);
            deliveries.push(Delivery::new(kind, slot).in_tier(tier));
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
        match self.config.interest {
            InterestMode::Exact => is_within(
                square_of_distance(position, viewpoint.center),
                viewpoint.radius,
            ),
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

fn is_within(square: u128, radius: i32) -> bool {
    square <= u128::from(radius.unsigned_abs()).pow(2)
}

pub fn square_of_distance(a: [i32; 3], b: [i32; 3]) -> u128 {
    let mut sum = 0;
    for axis in 0..3 {
        sum += u128::from(a[axis].abs_diff(b[axis])).pow(2);
    }
    sum
}
