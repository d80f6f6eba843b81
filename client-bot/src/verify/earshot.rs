//! Checks of what bots hear by place.
//!
//! Bots don't know how far a shout or a blast carries in this world. But it is heard at
//! least at its own place, so a bot that sees that place must hear it. And a shout carries
//! at most as far as its bot asked for. Notifications are left open if no bot knows where
//! they happened.

use rustc_hash::FxHashMap;
use shared::{EntityId, NotificationKind, Schema, Tick};

use super::history::History;
use super::notices::KnownEvents;
use super::record::{BotRecord, EventKey};

/// Checks who heard which notification in these ticks.
pub fn check(
    history: &History,
    schema: &Schema,
    known: &KnownEvents,
    all: &[(usize, &BotRecord)],
    ticks: &std::ops::RangeInclusive<Tick>,
) {
    let places = Places::new(schema, all);
    let heard: Vec<_> = all.iter().map(|(_, record)| record.heard()).collect();
    for (key, &(_, times)) in &known.events {
        let EventKey::Notification(tick, kind, source, words) = key else {
            continue;
        };
        if !ticks.contains(tick) {
            continue;
        }
        let Some(centre) = places.centre(*tick, *kind, *source, words) else {
            history.findings.leave_open();
            continue;
        };
        let reach = match Some(*kind) == places.shout {
            true => places.shout_radius(all, *source, words),
            false => None,
        };
        for (heard, (bot, record)) in heard.iter().zip(all) {
            let heard = heard.get(key).copied().unwrap_or(0);
            let Some(own) = places.of(record.own(*tick), *tick) else {
                continue;
            };
            let own = &own[..history.dimensions];
            if history.is_near(own, &centre) && !record.was_full(*tick) {
                history.findings.check(heard == times, || {
                    format!(
                        "tick {tick}: bot {bot} heard {key:?} within its radius {heard} times, \
                         expected {times}"
                    )
                });
            }
            let Some(reach) = reach.filter(|_| !record.has_regions) else {
                continue;
            };
            let nearest = nearest(own, &centre, reach);
            if !history.is_near(own, &nearest) {
                history.findings.check(heard == 0, || {
                    format!(
                        "tick {tick}: bot {bot} at {own:?} heard {key:?} from {centre:?}, which \
                         carries {reach} at most"
                    )
                });
            }
        }
    }
}

/// Where bots were in which ticks.
struct Places {
    dimensions: usize,
    /// The notifications whose place bots can know, where the world has them.
    blast: Option<NotificationKind>,
    shout: Option<NotificationKind>,
    of: FxHashMap<(EntityId, Tick), [i32; 3]>,
    /// By entity: an index of the list of bots.
    bots: FxHashMap<EntityId, usize>,
}

impl Places {
    fn new(schema: &Schema, all: &[(usize, &BotRecord)]) -> Places {
        let named = |name| schema.notification_named(name).map(|n| n.kind);
        let mut places = Places {
            dimensions: schema.dimensions(),
            blast: named("blast"),
            shout: named("shout"),
            of: FxHashMap::default(),
            bots: FxHashMap::default(),
        };
        for (i, (_, record)) in all.iter().enumerate() {
            for &(tick, slot, place) in record.places() {
                let own = record.own(tick);
                if own.slot == slot {
                    places.of.insert((own, tick), place);
                }
            }
            let lives = record.lives();
            places.bots.extend(lives.map(|(_, entity)| (entity, i)));
        }
        places
    }

    /// Where a bot was told that its entity was after a tick.
    fn of(&self, entity: EntityId, tick: Tick) -> Option<&[i32; 3]> {
        self.of.get(&(entity, tick))
    }

    /// The place of a notification, if a bot knows it.
    fn centre(
        &self,
        tick: Tick,
        kind: NotificationKind,
        source: EntityId,
        words: &[i32],
    ) -> Option<Vec<i32>> {
        if Some(kind) == self.blast {
            return Some(words.get(..self.dimensions)?.to_vec());
        }
        if Some(kind) != self.shout {
            return None;
        }
        // Commands read the world as it was before the tick.
        let before = Tick(tick.0.checked_sub(1)?);
        let place = self.of(source, before)?;
        Some(place[..self.dimensions].to_vec())
    }

    fn shout_radius(
        &self,
        all: &[(usize, &BotRecord)],
        source: EntityId,
        words: &[i32],
    ) -> Option<i32> {
        let bot = *self.bots.get(&source)?;
        all[bot].1.shout_radius(*words.first()?)
    }
}

/// The point nearest to `place` in the box around `centre` that reaches `distance` along
/// each axis.
fn nearest(place: &[i32], centre: &[i32], distance: i32) -> Vec<i32> {
    let along = |(place, centre): (&i32, &i32)| {
        let (low, high) = (centre - distance, centre + distance);
        (*place).clamp(low, high)
    };
    place.iter().zip(centre).map(along).collect()
}

#[cfg(test)]
mod tests {
    use super::super::history::squared_distance;
    use super::*;

    #[test]
    fn the_nearest_point_of_a_box_is_inside_or_on_its_edge() {
        assert_eq!(nearest(&[5, 6], &[7, 8], 3), [5, 6]);
        assert_eq!(nearest(&[0, 6], &[7, 8], 3), [4, 6]);
        assert_eq!(nearest(&[20, -9], &[7, 8], 3), [10, 5]);
        assert_eq!(squared_distance(&[20, -9], &[10, 5]), 296);
    }
}
