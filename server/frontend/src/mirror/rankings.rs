//! The rankings of a world that clients ask for.
//!
//! Sessions say which ones they want while they send a tick. Each of these is ordered at most once a
//! second, while the tick is being sent, and the next tick has the result: so no tick waits for it.

use std::sync::atomic::{AtomicU32, Ordering};

use device::cpu::{RadixSorter, Workers, ranges};
use shared::wire::rankings::{self, Ranked};
use shared::world::ranking::Ranking;
use shared::{EntityId, Schema, Slot, Tick};

use super::{GRAIN, Mirror};

/// The rankings that clients may ask for, as of a tick of the last second.
pub struct Rankings {
    all: Vec<Ranking>,
    /// By ranking; none if it was not wanted.
    orders: Vec<Option<Order>>,
    /// Those that are wanted, as bits, since they were looked at last.
    wanted: AtomicU32,
    /// Ticks between two looks at a ranking.
    period: u32,
}

/// A ranking in order.
pub struct Order {
    /// The tick of which it is.
    tick: Tick,
    /// Its entities as they were found: what they are ordered by, and their slots.
    found: Vec<(u64, u32)>,
    first: Vec<Ranked>,
    /// The tick of the last change among so many of the first, less one.
    versions: Vec<u64>,
    entities: Vec<EntityId>,
    /// By slot: the place, from 1 on; 0 of who has none.
    places: Vec<u32>,
}

/// What has become of rankings, by number; none: nobody wants it.
pub type Reordered = Vec<(usize, Option<Order>)>;

impl Rankings {
    pub fn new(schema: &Schema) -> Rankings {
        let all: Vec<Ranking> = rankings::sent(schema).cloned().collect();
        Rankings {
            orders: all.iter().map(|_| None).collect(),
            all,
            wanted: AtomicU32::new(0),
            period: schema.world.tick_hz,
        }
    }

    /// Has a ranking kept up to date for about a second.
    pub fn want(&self, number: u8) {
        let bit = 1 << number;
        // Threads that only read share the line.
        if self.wanted.load(Ordering::Relaxed) & bit == 0 {
            self.wanted.fetch_or(bit, Ordering::Relaxed);
        }
    }

    /// The ranking of a number, if it is known yet.
    pub fn get(&self, number: u8) -> Option<&Order> {
        self.orders.get(usize::from(number))?.as_ref()
    }

    /// Takes what [`Mirror::reorder`] has found.
    pub fn take(&mut self, reordered: Reordered) {
        for (number, order) in reordered {
            if let Some(own) = self.orders.get_mut(number) {
                *own = order;
            }
        }
    }
}

impl Order {
    /// At most so many of the first.
    pub fn first(&self, length: u16) -> &[Ranked] {
        &self.first[..self.first.len().min(length.into())]
    }

    /// Changes with so many of the first, at least one.
    pub fn version(&self, length: u16) -> u64 {
        let at = usize::from(length).min(self.versions.len());
        at.checked_sub(1).map_or(0, |at| self.versions[at])
    }

    /// The place of an entity, from 1 on; 0 if it has none.
    pub fn place(&self, entity: EntityId) -> u32 {
        let place = self.places.get(entity.slot.index()).copied().unwrap_or(0);
        let at = (place as usize).checked_sub(1);
        // Another one may have the slot by now.
        match at.and_then(|at| self.entities.get(at)) == Some(&entity) {
            true => place,
            false => 0,
        }
    }
}

impl Mirror {
    /// Orders those wanted rankings that are due. The next tick should have the result.
    pub fn reorder(&self, workers: &Workers) -> Reordered {
        let mut reordered = vec![];
        let rankings = &self.rankings;
        for (number, ranking) in rankings.all.iter().enumerate() {
            let before = rankings.orders[number].as_ref();
            let is_early = |order: &Order| self.tick.since(order.tick) < rankings.period;
            if before.is_some_and(is_early) {
                continue;
            }
            let bit = 1 << number;
            let wanted = rankings.wanted.fetch_and(!bit, Ordering::Relaxed);
            match wanted & bit {
                0 if before.is_none() => {}
                0 => reordered.push((number, None)),
                _ => reordered.push((number, Some(self.order(workers, ranking, before)))),
            }
        }
        reordered
    }

    fn order(&self, workers: &Workers, ranking: &Ranking, before: Option<&Order>) -> Order {
        let found = self.found(workers, ranking);
        let mut order = match before.filter(|before| before.found == found) {
            Some(before) => Order {
                tick: self.tick,
                found,
                first: vec![],
                versions: vec![],
                entities: before.entities.clone(),
                places: before.places.clone(),
            },
            None => self.sorted(workers, found),
        };
        let first = order.entities.iter().take(ranking.length.into());
        order.first = first
            .map(|&entity| Ranked {
                entity,
                value: self.row(entity.slot)[usize::from(ranking.column)],
                name: self.name(entity.slot).cloned(),
            })
            .collect();
        let (old, versions) = before.map_or((&[][..], &[][..]), |before| {
            (&before.first[..], &before.versions[..])
        });
        // Those before it are as they were, and so is what has only them.
        let changed = old
            .iter()
            .zip(&order.first)
            .position(|(old, new)| old != new);
        let is_as_long = old.len() == order.first.len();
        let end = usize::from(ranking.length);
        let changed = changed.unwrap_or(if is_as_long {
            end
        } else {
            old.len().min(order.first.len())
        });
        let version = |at: usize| match versions.get(at) {
            Some(&version) if at < changed => version,
            _ => self.tick.0,
        };
        order.versions = (0..end).map(version).collect();
        order
    }

    /// The living entities of a ranking by slot, each behind what it is ordered by.
    fn found(&self, workers: &Workers, ranking: &Ranking) -> Vec<(u64, u32)> {
        let parts = workers.parts_of(self.entities.len(), GRAIN);
        let mut found = vec![vec![]; parts];
        let tasks = ranges(self.entities.len(), parts).zip(&mut found);
        workers.run(tasks.collect(), |(range, found)| {
            for entry in &self.entities[range] {
                if entry.is_alive && entry.kind == ranking.kind && self.is_ready(entry.id.slot) {
                    let value = self.row(entry.id.slot)[usize::from(ranking.column)];
                    found.push((ranking.key(value).into(), entry.id.slot.0));
                }
            }
        });
        found.concat()
    }

    fn sorted(&self, workers: &Workers, found: Vec<(u64, u32)>) -> Order {
        let (mut sorted, count) = (found.clone(), found.len());
        RadixSorter::new(0).sort(workers, &mut sorted, count, 0..u32::BITS);
        let mut places = vec![0; self.entities.len()];
        for (place, &(_, slot)) in (1..).zip(&sorted[..count]) {
            places[slot as usize] = place;
        }
        let slots = sorted[..count].iter().map(|&(_, slot)| Slot(slot));
        Order {
            tick: self.tick,
            entities: slots.map(|slot| self.id(slot)).collect(),
            found,
            first: vec![],
            versions: vec![],
            places,
        }
    }
}
