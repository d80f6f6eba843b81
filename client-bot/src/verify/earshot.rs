//! Checks of notifications by place (hearings).
//!
//! Bots don't know how far a notification carries, nor from where. But it reaches one
//! box and the range around it, without gaps: a bot that stands
//! among others that received it must have received it, too. Notifications that only bots with
//! regions received are left open, as they may have come from there.

use rustc_hash::FxHashMap;
use shared::{EntityId, Tick};

use super::history::History;
use super::notices::KnownEvents;
use super::record::{BotRecord, EventKey};

/// Checks which bots received which notification in these ticks.
pub fn check(
    history: &History,
    known: &KnownEvents,
    all: &[(usize, &BotRecord)],
    ticks: &std::ops::RangeInclusive<Tick>,
) {
    let places = Places::new(all);
    let hearings: Vec<_> = all.iter().map(|(_, record)| record.hearings()).collect();
    for (key, &(_, times)) in &known.events {
        let EventKey::Notification(tick, ..) = key else {
            continue;
        };
        if !ticks.contains(tick) {
            continue;
        }
        let bots = hearings
            .iter()
            .zip(all)
            .filter_map(|(hearings, (bot, record))| {
                let place = places.of(record.own(*tick), *tick)?;
                let place = &place[..history.dimensions];
                Some((
                    hearings.get(key).copied().unwrap_or(0),
                    *bot,
                    *record,
                    place,
                ))
            });
        let bots: Vec<_> = bots.collect();
        let by_place = bots.iter().filter(|(count, _, record, _)| {
            *count > 0 && !record.has_regions && !history.sight.any_subscribes()
        });
        let receivers = by_place.map(|(.., place)| *place);
        // Equal notifications may have different areas, and what is hidden is not heard.
        let is_open = times == 1 && history.visibility.hides.is_none();
        let Some(range) = Range::of(receivers).filter(|_| is_open) else {
            history.findings.leave_open();
            continue;
        };
        for (count, bot, record, place) in bots {
            if range.holds(place) && !record.was_full(*tick) {
                history.findings.check(count == 1, || {
                    format!(
                        "tick {tick}: bot {bot} at {place:?} did not receive {key:?}, which \
                         others around it did"
                    )
                });
            }
        }
    }
}

/// Where bots were in which ticks.
struct Places {
    of: FxHashMap<(EntityId, Tick), [i32; 3]>,
}

impl Places {
    fn new(all: &[(usize, &BotRecord)]) -> Places {
        let mut of = FxHashMap::default();
        for (_, record) in all {
            for &(tick, slot, place) in record.places() {
                let own = record.own(tick);
                if own.slot == slot {
                    of.insert((own, tick), place);
                }
            }
        }
        Places { of }
    }

    /// A bot's place after a tick.
    fn of(&self, entity: EntityId, tick: Tick) -> Option<&[i32; 3]> {
        self.of.get(&(entity, tick))
    }
}

/// Places that a notification must reach, as it reaches others around them: a convex polygon,
/// counter-clockwise. It may have one or two corners.
#[derive(Debug)]
struct Range(Vec<[i64; 2]>);

impl Range {
    /// The range among the places of its receivers. `None` if there are none, or if
    /// this is not known in a world of three axes.
    fn of<'a>(receivers: impl Iterator<Item = &'a [i32]>) -> Option<Range> {
        let points = receivers.map(|place| match *place {
            [x, y] => Some([i64::from(x), i64::from(y)]),
            _ => None,
        });
        let points: Vec<_> = points.collect::<Option<_>>()?;
        (!points.is_empty()).then(|| Range(hull(points)))
    }

    fn holds(&self, place: &[i32]) -> bool {
        let corners = &self.0;
        let point = [i64::from(place[0]), i64::from(place[1])];
        let sides = corners.iter().zip(corners.iter().cycle().skip(1));
        let mut sides = sides.map(|(a, b)| (*a, *b));
        match corners.len() {
            1 => corners[0] == point,
            2 => is_between(corners[0], corners[1], point),
            _ => sides.all(|(a, b)| turn(a, b, point) >= 0),
        }
    }
}

/// The corners of the smallest convex polygon around points, counter-clockwise.
fn hull(mut points: Vec<[i64; 2]>) -> Vec<[i64; 2]> {
    points.sort_unstable();
    points.dedup();
    if points.len() < 3 {
        return points;
    }
    let chain = |points: &mut dyn Iterator<Item = [i64; 2]>| {
        let mut chain: Vec<[i64; 2]> = vec![];
        for point in points {
            while let [.., a, b] = chain[..]
                && turn(a, b, point) <= 0
            {
                chain.pop();
            }
            chain.push(point);
        }
        // It is the first of the other chain.
        chain.pop();
        chain
    };
    let mut corners = chain(&mut points.iter().copied());
    corners.extend(chain(&mut points.iter().rev().copied()));
    corners
}

/// Above 0 if the way from `a` by `b` to `c` turns left.
fn turn(a: [i64; 2], b: [i64; 2], c: [i64; 2]) -> i128 {
    let along = |from: [i64; 2], to: [i64; 2]| [0, 1].map(|axis| i128::from(to[axis] - from[axis]));
    let ([ux, uy], [vx, vy]) = (along(a, b), along(a, c));
    ux * vy - uy * vx
}

fn is_between(a: [i64; 2], b: [i64; 2], point: [i64; 2]) -> bool {
    let is_within =
        |axis: usize| (a[axis].min(b[axis])..=a[axis].max(b[axis])).contains(&point[axis]);
    turn(a, b, point) == 0 && is_within(0) && is_within(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn range(receivers: &[[i32; 2]]) -> Option<Range> {
        Range::of(receivers.iter().map(|place| &place[..]))
    }

    #[test]
    fn bots_among_the_receivers_must_receive() {
        let range = range(&[[0, 0], [10, 0], [0, 10], [10, 10], [5, 5], [5, 0]]).unwrap();
        for inside in [[5, 5], [0, 0], [10, 5], [3, 10]] {
            assert!(range.holds(&inside), "{inside:?}");
        }
        for outside in [[11, 5], [-1, 0], [5, 11]] {
            assert!(!range.holds(&outside), "{outside:?}");
        }
    }

    #[test]
    fn few_receivers_bound_a_line_or_a_point() {
        let pair = range(&[[0, 0], [10, 20]]).unwrap();
        assert!(pair.holds(&[5, 10]) && pair.holds(&[10, 20]));
        assert!(!pair.holds(&[5, 9]) && !pair.holds(&[15, 30]));
        let line = range(&[[0, 0], [5, 10], [10, 20]]).unwrap();
        assert!(line.holds(&[5, 10]) && !line.holds(&[15, 30]));
        let point = range(&[[3, 4], [3, 4]]).unwrap();
        assert!(point.holds(&[3, 4]) && !point.holds(&[3, 5]));
        assert!(range(&[]).is_none());
    }
}
