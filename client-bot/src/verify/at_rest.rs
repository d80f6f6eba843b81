//! Whether views are right once the world rests.

use rustc_hash::FxHashMap;
use shared::{Audience, EntityId, Schema};

use super::{FinalView, Ledger, squared_distance};
use crate::view::Entity;

/// At rest, every view holds everything within the radius and the bot's regions
/// (where `visible_max` cuts, exactly the nearest) and nothing beyond, each with the
/// values that its owner knows.
///
/// Who isn't a bot's entity is taken to be as the first bot says. What still moves (npcs
/// go on) and what the dead see is left out; so is, and is counted, who came, went or
/// changed within the last second, as other swarms may not rest.
pub fn check_at_rest(ledger: &Ledger, schema: &Schema, views: &[FinalView]) {
    let newest = views.iter().map(|v| v.newest).max().unwrap_or_default();
    let still_moves = |e: &Entity| e.moved.0 + schema.world.tick_hz > newest.0;
    let mut world: FxHashMap<u32, &Entity> = FxHashMap::default();
    for view in views {
        if let Some(own) = view.entities.get(&view.entity.slot.0) {
            world.insert(view.entity.slot.0, own);
        }
    }
    let mut moving = vec![];
    for view in views {
        for (&slot, entity) in &view.entities {
            let known = *world.entry(slot).or_insert(entity);
            if still_moves(entity) || still_moves(known) {
                moving.push(slot);
            }
        }
    }
    for view in views {
        for &slot in &view.touched {
            ledger.findings.leave_open();
            moving.push(slot);
        }
    }
    moving.sort_unstable();
    moving.dedup();
    let public: Vec<usize> = (0..schema.attributes.len())
        .filter(|&c| {
            let audience = schema.attributes[c].audience;
            matches!(audience, Audience::Movement | Audience::State)
        })
        .collect();
    let order = VisibleOrder {
        ledger,
        world: &world,
        moving: &moving,
    };
    for view in views.iter().filter(|view| !view.is_dead) {
        let Some(own) = view.entities.get(&view.entity.slot.0) else {
            ledger
                .findings
                .check(false, || format!("bot {} does not see itself", view.bot));
            continue;
        };
        let Some(expected) = order.visible(view, own) else {
            continue;
        };
        for slot in &expected {
            if moving.binary_search(slot).is_ok() {
                continue;
            }
            let seen = view.entities.get(slot);
            ledger.findings.check(seen.is_some(), || {
                format!("at rest, bot {} does not see slot {slot}", view.bot)
            });
            let Some(seen) = seen else { continue };
            let known = world[slot];
            let same = seen.id == known.id && public.iter().all(|&c| seen.row[c] == known.row[c]);
            ledger.findings.check(same, || {
                format!(
                    "at rest, bot {} knows slot {slot} as {seen:?}, its owner as {known:?}",
                    view.bot
                )
            });
        }
        for slot in view.entities.keys() {
            if moving.binary_search(slot).is_ok() {
                continue;
            }
            ledger
                .findings
                .check(expected.binary_search(slot).is_ok(), || {
                    format!(
                        "at rest, bot {} sees slot {slot}, which is beyond its view",
                        view.bot
                    )
                });
        }
    }
}

struct VisibleOrder<'a> {
    ledger: &'a Ledger,
    world: &'a FxHashMap<u32, &'a Entity>,
    /// The slots of those who still move, ascending.
    moving: &'a [u32],
}

impl VisibleOrder<'_> {
    /// The slots that a bot should see, ascending; `None` where one of its regions
    /// is nobody knows where.
    fn visible(&self, view: &FinalView, own: &Entity) -> Option<Vec<u32>> {
        let dimensions = self.ledger.dimensions;
        let mut regions = vec![];
        for region in &view.regions {
            match region.follows {
                Some(followed) => regions.push((region, Some(self.place(followed)?))),
                None => regions.push((region, None)),
            }
        }
        let reach = self.ledger.radius * self.ledger.radius;
        let sees = |entity: &Entity, distance: i64| {
            let place = &entity.row[..dimensions];
            distance <= reach || regions.iter().any(|(r, at)| r.holds(place, *at))
        };
        let mut near: Vec<(i64, u32)> = self
            .world
            .iter()
            .filter_map(|(&slot, entity)| {
                let distance = squared_distance(&own.row[..dimensions], &entity.row[..dimensions]);
                // One's own entity comes before all others on the same spot.
                let rank = if slot == view.entity.slot.0 {
                    -1
                } else {
                    distance
                };
                sees(entity, distance).then_some((rank, slot))
            })
            .collect();
        near.sort_unstable();
        near.truncate(self.ledger.visible_max);
        let mut slots: Vec<u32> = near.into_iter().map(|(_, slot)| slot).collect();
        slots.sort_unstable();
        Some(slots)
    }
}

impl<'a> VisibleOrder<'a> {
    /// Where somebody is who rests there.
    fn place(&self, entity: EntityId) -> Option<&'a [i32]> {
        let slot = entity.slot.0;
        let known = *self.world.get(&slot)?;
        let rests = known.id == entity && self.moving.binary_search(&slot).is_err();
        rests.then_some(&known.row[..self.ledger.dimensions])
    }
}
