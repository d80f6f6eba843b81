//! Checks of whole views once the world rests.

use client_core::Entity;
use rustc_hash::FxHashMap;
use shared::world::visibility::Visibility;
use shared::{Audience, EntityId, Schema, Tick};

use super::FinalView;
use super::history::History;
use super::sight::{Placed, squared_distance};

/// Checks that every view holds all entities that its bot should see by place and regions
/// (the nearest ones, if `visible_max` cuts them) and no others, each with the values that
/// its own bot has.
///
/// Where the world hides entities, views may lack any, and must not have any that is hidden by its
/// bits, as far as bots are sent them.
///
/// An entity of no bot is expected to be as the first bot has it. Entities that still
/// move (npcs never rest) and the views of dead and of moving bots are left out. Entities
/// that came, went or changed within the last second are left open, as other swarms may
/// still play.
pub fn check_at_rest(history: &History, schema: &Schema, views: &[FinalView]) {
    let world = RestingWorld::new(history, schema, views);
    // Each view that is checked is compared with the places of all entities.
    let share = history.share.max(views.len().pow(2) / COMPARISONS_MAX);
    let checked = views.iter().step_by(share);
    for view in checked.filter(|view| !view.is_dead) {
        let own = match view.entities.get(&view.entity.slot.0) {
            Some(own) => Some(own),
            None if view.entity == EntityId::NONE => None,
            None => {
                history
                    .findings
                    .check(false, || format!("bot {} does not see itself", view.bot));
                continue;
            }
        };
        let Some(mut expected) = world.visible(view, own) else {
            history.findings.leave_open();
            continue;
        };
        if expected.is_cut && history.sight.has_margin() {
            if history.visibility.is_plain() {
                world.check_nearest(view, &expected);
            }
            expected.slots.clear();
        }
        world.check_expected(view, &expected.slots);
        world.check_unexpected(view, &expected);
        world.check_hidden(view, own);
    }
}

/// The view that a bot should have.
struct Expected {
    /// Ascending.
    slots: Vec<u32>,
    /// All that it may see, with squared distances, ascending by slot: those that have been
    /// in view may stay farther away.
    allowed: Vec<(u32, i64)>,
    /// Not all of them find room.
    is_cut: bool,
}

impl Expected {
    fn distance(&self, slot: u32) -> Option<i64> {
        let place = self.allowed.binary_search_by_key(&slot, |near| near.0);
        place.ok().map(|place| self.allowed[place].1)
    }
}

/// All entities that bots know at the end.
struct RestingWorld<'a> {
    history: &'a History,
    /// By slot, as its own bot has it, or else the first bot.
    entities: FxHashMap<u32, &'a Entity>,
    /// Slots of entities that do not rest, ascending.
    restless: Vec<u32>,
    newest: Tick,
    /// An entity with a course from after this tick still moves.
    moved_last: Tick,
    /// Columns that are sent to every client.
    public: Vec<usize>,
    /// Columns that are sent to an entity's own client.
    received: Vec<usize>,
}

impl<'a> RestingWorld<'a> {
    fn new(history: &'a History, schema: &Schema, views: &'a [FinalView]) -> RestingWorld<'a> {
        let newest = views.iter().map(|v| v.newest).max().unwrap_or_default();
        let moved_last = newest.before(schema.world.tick_hz);
        let is_moving = |e: &Entity| moves(e, moved_last, newest, &history.edges);
        let mut entities: FxHashMap<u32, &Entity> = FxHashMap::default();
        for view in views {
            if let Some(own) = view.entities.get(&view.entity.slot.0) {
                entities.insert(view.entity.slot.0, own);
            }
        }
        let mut restless = vec![];
        for view in views {
            for (&slot, entity) in &view.entities {
                let known = *entities.entry(slot).or_insert(entity);
                if is_moving(entity) || is_moving(known) {
                    restless.push(slot);
                }
            }
        }
        for &slot in views.iter().flat_map(|view| &view.touched) {
            history.findings.leave_open();
            restless.push(slot);
        }
        restless.sort_unstable();
        restless.dedup();
        let is_public = |&column: &usize| {
            let audience = schema.attributes[column].audience;
            matches!(audience, Audience::Movement | Audience::State)
        };
        RestingWorld {
            history,
            entities,
            restless,
            newest,
            moved_last,
            public: (0..schema.attributes.len()).filter(is_public).collect(),
            received: (0..schema.attributes.len())
                .filter(|&column| schema.attributes[column].audience != Audience::Hidden)
                .collect(),
        }
    }

    /// The view that a bot should have; `None` if that is not known, as its entity, what a region of it
    /// follows, or what it may just see still moves.
    fn visible(&self, view: &'a FinalView, own: Option<&'a Entity>) -> Option<Expected> {
        let edges = &self.history.edges;
        if own.is_some_and(|own| moves(own, self.moved_last, self.newest, edges)) {
            return None;
        }
        let dimensions = self.history.dimensions;
        let mut regions = vec![];
        for &region in &view.regions {
            match region.follows {
                Some(followed) => regions.push((region, Some(self.place(followed)?))),
                None => regions.push((region, None)),
            }
        }
        let placed = |entity: &'a Entity| Placed {
            kind: entity.kind,
            place: &entity.row[..dimensions],
        };
        // A spectator has no kind, and may see less far.
        let (at, radius) = match (own, &view.spot) {
            (Some(own), _) => (placed(own), self.history.sight.radius()),
            (None, Some(spot)) => {
                let place = &spot.place[..dimensions];
                let kind = NO_KIND;
                (Placed { kind, place }, spot.radius)
            }
            (None, None) => return None,
        };
        let sight = &self.history.sight;
        let (mut near, mut allowed) = (vec![], vec![]);
        for (&slot, &entity) in &self.entities {
            let other = placed(entity);
            // The client's own entity comes before others at the same place.
            let distance = match slot == view.entity.slot.0 {
                true => -1,
                false => squared_distance(at.place, other.place),
            };
            let is_visible = sight.sees(at, radius, &regions, other);
            if is_visible {
                near.push((distance, slot));
            }
            if is_visible || sight.may_stay(radius, at.place, other.place) {
                allowed.push((slot, distance));
            }
        }
        allowed.sort_unstable();
        let is_cut = allowed.len() > self.history.visible_max;
        if is_cut && allowed.iter().any(|&(slot, _)| !self.rests(slot)) {
            return None;
        }
        near.sort_unstable();
        near.truncate(self.history.visible_max);
        let mut slots: Vec<u32> = near.into_iter().map(|(_, slot)| slot).collect();
        slots.sort_unstable();
        Some(Expected {
            slots,
            allowed,
            is_cut,
        })
    }

    /// Checks that no entity within the AOI is left out for one in view that is farther away, by
    /// more than entities in view count as nearer.
    fn check_nearest(&self, view: &FinalView, expected: &Expected) {
        let sight = &self.history.sight;
        let seen = view.entities.keys();
        let seen = seen.filter_map(|&slot| expected.distance(slot));
        let farthest = seen.map(|distance| sight.counted(distance)).max();
        for &slot in &expected.slots {
            let distance = expected.distance(slot);
            let is_right = view.entities.contains_key(&slot) || farthest <= distance;
            self.history.findings.check(is_right, || {
                format!(
                    "at rest, bot {} does not see slot {slot}, and sees others farther away",
                    view.bot
                )
            });
        }
    }

    /// Where an entity rests.
    fn place(&self, entity: EntityId) -> Option<&'a [i32]> {
        let known = *self.entities.get(&entity.slot.0)?;
        let rests = known.id == entity && self.rests(entity.slot.0);
        rests.then_some(&known.row[..self.history.dimensions])
    }

    fn rests(&self, slot: u32) -> bool {
        self.restless.binary_search(&slot).is_err()
    }

    /// Checks that the expected entities are in view, with the right values.
    fn check_expected(&self, view: &FinalView, expected: &[u32]) {
        let findings = &self.history.findings;
        for slot in expected.iter().filter(|slot| self.rests(**slot)) {
            let seen = view.entities.get(slot);
            if seen.is_none() && !self.history.visibility.is_plain() {
                findings.leave_open();
                continue;
            }
            findings.check(seen.is_some(), || {
                format!("at rest, bot {} does not see slot {slot}", view.bot)
            });
            let Some(seen) = seen else { continue };
            let known = self.entities[slot];
            let is_same =
                seen.id == known.id && self.public.iter().all(|&c| seen.row[c] == known.row[c]);
            findings.check(is_same, || {
                format!(
                    "at rest, bot {} has slot {slot} as {seen:?}, its own bot as {known:?}",
                    view.bot
                )
            });
        }
    }

    /// Checks that no other entities are in view.
    fn check_unexpected(&self, view: &FinalView, expected: &Expected) {
        for slot in view.entities.keys().filter(|slot| self.rests(**slot)) {
            let is_any_of = self.history.sight.has_margin() || !self.history.visibility.is_plain();
            let is_expected = match is_any_of {
                true => expected.distance(*slot).is_some(),
                false => expected.slots.binary_search(slot).is_ok(),
            };
            self.history.findings.check(is_expected, || {
                format!(
                    "at rest, bot {} sees slot {slot}, which is beyond its view",
                    view.bot
                )
            });
        }
    }
}

impl RestingWorld<'_> {
    /// Checks that no entity in view is hidden from its bot, where its bits are sent to all who see
    /// it. `own` is the bot's entity; a spectator sees through nothing.
    fn check_hidden(&self, view: &FinalView, own: Option<&Entity>) {
        let Visibility { hides, reveals, .. } = self.history.visibility;
        let hides = hides.map(usize::from);
        let Some(hides) = hides.filter(|hides| self.public.contains(hides)) else {
            return;
        };
        let bits = |own: &Entity| reveals.map_or(0, |reveals| own.row[usize::from(reveals)]);
        let reveals = match (reveals, own) {
            (Some(reveals), Some(_)) if !self.received.contains(&usize::from(reveals)) => return,
            (_, own) => own.map_or(0, bits),
        };
        for (&slot, seen) in view.entities.iter().filter(|(slot, _)| self.rests(**slot)) {
            let is_own = slot == view.entity.slot.0;
            let is_hidden = Visibility::is_hidden(seen.row[hides], reveals);
            self.history.findings.check(is_own || !is_hidden, || {
                format!(
                    "at rest, bot {} sees slot {slot}, which is hidden from it: {:#b}, and it \
                     reveals {reveals:#b}",
                    view.bot, seen.row[hides]
                )
            });
        }
    }
}

/// Whether an entity has a course from after the tick `last`, or moves on by itself. One that
/// has reached the edge of the world rests.
fn moves(entity: &Entity, last: Tick, newest: Tick, edges: &[i32; 3]) -> bool {
    let course = &entity.course;
    course.tick > last || course.at(newest, edges) != course.at(newest.next(), edges)
}

/// Some ten seconds of one core.
const COMPARISONS_MAX: usize = 1 << 28;

/// No kind of a world.
const NO_KIND: u16 = u16::MAX;

#[cfg(test)]
mod tests;
