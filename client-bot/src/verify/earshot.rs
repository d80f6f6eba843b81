//! Whether bots heard what they must, and nothing from afar.
//!
//! Bots don't know how far the world lets a shout or a blast be heard. But its area
//! holds the place of which it tells, so whoever sees that place hears it; and no shout
//! goes farther than the bot that shouted asked for. What was notified of where no bot
//! was told to be is left open.

use rustc_hash::FxHashMap;
use shared::{EntityId, NotificationKind, Tick};

use super::Ledger;
use super::listening::{Hearing, Key};
use super::notices::Known;

/// Compares who heard what, in these ticks.
pub fn check(
    ledger: &Ledger,
    known: &Known,
    all: &[(usize, &Hearing)],
    ticks: &std::ops::RangeInclusive<Tick>,
) {
    let places = Places::new(ledger.dimensions, all);
    let heard: Vec<_> = all.iter().map(|(_, hearing)| hearing.heard()).collect();
    for (key, &(_, times)) in &known.happened {
        let Key::Notification(tick, kind, source, words) = key else {
            continue;
        };
        if !ticks.contains(tick) {
            continue;
        }
        let Some(centre) = places.centre(*tick, *kind, *source, words) else {
            ledger.findings.leave_open();
            continue;
        };
        let reach = match kind {
            NotificationKind::Shout => places.shout_radius(all, *source, words),
            _ => None,
        };
        for (heard, (bot, hearing)) in heard.iter().zip(all) {
            let heard = heard.get(key).copied().unwrap_or(0);
            let Some(own) = places.of(hearing.own(*tick), *tick) else {
                continue;
            };
            let own = &own[..ledger.dimensions];
            if ledger.is_near(own, &centre) && !hearing.was_full(*tick) {
                ledger.findings.check(heard == times, || {
                    format!(
                        "tick {tick}: bot {bot} heard {heard} times, not {times}, of {key:?} \
                         within its radius"
                    )
                });
            }
            let Some(reach) = reach.filter(|_| !hearing.has_regions) else {
                continue;
            };
            let nearest = nearest(own, &centre, reach);
            if !ledger.is_near(own, &nearest) {
                ledger.findings.check(heard == 0, || {
                    format!(
                        "tick {tick}: bot {bot} at {own:?} heard {key:?} from {centre:?}, to be \
                         heard {reach} far"
                    )
                });
            }
        }
    }
}

/// Where bots were.
struct Places {
    dimensions: usize,
    of: FxHashMap<(EntityId, Tick), [i32; 3]>,
    /// By entity: which of the bots.
    bots: FxHashMap<EntityId, usize>,
}

impl Places {
    fn new(dimensions: usize, all: &[(usize, &Hearing)]) -> Places {
        let mut places = Places {
            dimensions,
            of: FxHashMap::default(),
            bots: FxHashMap::default(),
        };
        for (i, (_, hearing)) in all.iter().enumerate() {
            for &(tick, slot, place) in hearing.places() {
                let own = hearing.own(tick);
                if own.slot == slot {
                    places.of.insert((own, tick), place);
                }
            }
            let lives = hearing.lives();
            places.bots.extend(lives.map(|(_, entity)| (entity, i)));
        }
        places
    }

    /// Where a bot was told that its entity was after a tick.
    fn of(&self, entity: EntityId, tick: Tick) -> Option<&[i32; 3]> {
        self.of.get(&(entity, tick))
    }

    /// A place in the area of a notification.
    fn centre(
        &self,
        tick: Tick,
        kind: NotificationKind,
        source: EntityId,
        words: &[i32],
    ) -> Option<Vec<i32>> {
        match kind {
            NotificationKind::Blast => Some(words[..self.dimensions].to_vec()),
            NotificationKind::Shout => {
                // Commands see the world as it was before the tick.
                let before = Tick(tick.0.checked_sub(1)?);
                let place = self.of(source, before)?;
                Some(place[..self.dimensions].to_vec())
            }
            _ => None,
        }
    }

    fn shout_radius(
        &self,
        all: &[(usize, &Hearing)],
        source: EntityId,
        words: &[i32],
    ) -> Option<i32> {
        let bot = *self.bots.get(&source)?;
        all[bot].1.shout_radius(*words.first()?)
    }
}

/// Of what is within a distance of a centre along each axis, the point that is nearest
/// to a place.
fn nearest(place: &[i32], centre: &[i32], distance: i32) -> Vec<i32> {
    let along = |(place, centre): (&i32, &i32)| {
        let (low, high) = (centre - distance, centre + distance);
        (*place).clamp(low, high)
    };
    place.iter().zip(centre).map(along).collect()
}

#[cfg(test)]
mod tests {
    use super::super::squared_distance;
    use super::*;

    #[test]
    fn the_nearest_point_of_an_area_is_inside_or_on_its_edge() {
        assert_eq!(nearest(&[5, 6], &[7, 8], 3), [5, 6]);
        assert_eq!(nearest(&[0, 6], &[7, 8], 3), [4, 6]);
        assert_eq!(nearest(&[20, -9], &[7, 8], 3), [10, 5]);
        assert_eq!(squared_distance(&[20, -9], &[10, 5]), 296);
    }
}
