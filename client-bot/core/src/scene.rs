//! Interpolation: entities in view at any moment, between received ticks.
//!
//! Others are shown a little later than they were received, so that mostly both the step
//! before and the step after are known. The [delay](Scene::delay_ticks) is one tick and the
//! jitter. An entity follows its course where nothing newer is known. Where a datagram
//! contradicts the shown state, the difference fades out.

use std::collections::VecDeque;
use std::time::Duration;

use rustc_hash::FxHashMap;
use shared::world::layer::Layers;
use shared::{Course, EntityId, Fixed, Schema, Tick};

use crate::Movement;
use crate::clock::{Clock, moment_of, tick_of};

/// The ways of the entities in view, and the tick that is shown.
#[derive(Clone, Debug)]
pub struct Scene {
    dimensions: usize,
    /// The largest coordinates.
    edges: [i32; 3],
    /// Walls, before which courses end of which nothing newer is known.
    layers: Layers,
    /// A place farther than this from the shown one is not faded to, in raw units.
    snap: f64,
    /// By slot.
    ways: FxHashMap<u32, Path>,
    shown: Playhead,
    delay_ticks: f64,
    received: Received,
}

/// Where an entity was, and where it goes.
#[derive(Clone, Debug)]
struct Path {
    id: EntityId,
    /// By tick, at least one.
    legs: VecDeque<Leg>,
    /// The shown offset from the way, in raw units.
    offset: [f64; 3],
}

#[derive(Clone, Copy, Debug)]
struct Leg {
    course: Course,
    /// The entity followed the leg before up to this tick, and then went straight here.
    left: Tick,
    /// How far it went in the last tick of that way.
    step: [i32; 3],
}

/// The ticks of which datagrams have arrived.
#[derive(Clone, Copy, Debug, Default)]
struct Received {
    newest: Tick,
    /// Bit `i`: of tick `newest − i`.
    mask: u128,
}

impl Received {
    fn note(&mut self, tick: Tick) {
        let ahead = tick.since(self.newest);
        self.mask = self.mask.checked_shl(ahead).unwrap_or(0);
        self.newest = self.newest.max(tick);
        self.mask |= 1u128.checked_shl(self.newest.since(tick)).unwrap_or(0);
    }

    fn has(&self, tick: Tick) -> bool {
        let bits = self.mask.checked_shr(self.newest.since(tick));
        tick <= self.newest && bits.is_some_and(|bits| bits & 1 == 1)
    }

    /// The newest tick before this one.
    fn before(&self, tick: Tick) -> Option<Tick> {
        let ticks = tick.before(u128::BITS).0..tick.0;
        ticks.rev().map(Tick).find(|&tick| self.has(tick))
    }
}

impl Scene {
    pub(crate) fn new(schema: &Schema) -> Scene {
        Scene {
            dimensions: schema.dimensions(),
            edges: schema.world.edges(),
            layers: schema.layers.clone(),
            snap: f64::from(schema.world.aoi.raw()) / 2.0,
            ways: FxHashMap::default(),
            shown: Playhead::default(),
            delay_ticks: 0.0,
            received: Received::default(),
        }
    }

    /// The tick that is shown, and the share of the way to the next one.
    pub fn shown_tick(&self) -> Option<f64> {
        self.shown.tick()
    }

    /// By how many ticks the shown tick is older than the newest that may have arrived.
    pub fn delay_ticks(&self) -> f64 {
        self.delay_ticks
    }

    /// Where an entity in view is shown, in units; 0 on axes that the world lacks.
    pub fn position(&self, entity: EntityId) -> Option<[f64; 3]> {
        let way = self.ways.get(&entity.slot.0).filter(|w| w.id == entity)?;
        let place = self.place(way);
        Some(units(std::array::from_fn(|axis| {
            place[axis] + way.offset[axis]
        })))
    }
}

impl Scene {
    /// The world's layers have come.
    pub(crate) fn use_layers(&mut self, layers: &Layers) {
        self.layers = layers.clone();
    }

    /// Where an entity is by what was received.
    fn place(&self, way: &Path) -> [f64; 3] {
        let shown = self.shown.tick().unwrap_or_default();
        way.place(shown, &self.received, (&self.edges, &self.layers))
    }

    /// Advances the shown state to this moment.
    pub(crate) fn advance(&mut self, clock: &Clock, now: Duration) {
        let Some(received) = clock.received_tick(now) else {
            return;
        };
        let period = clock.period().as_secs_f64();
        self.delay_ticks = 1.0 + clock.jitter().as_secs_f64() / period;
        let goal = received - self.delay_ticks;
        let seconds = self.shown.advance(goal, 1.0 / period, now);
        let shown = self.shown.tick().unwrap_or_default();
        for way in self.ways.values_mut() {
            fade(&mut way.offset, seconds);
            way.forget_before(shown);
        }
    }

    pub(crate) fn enter(&mut self, id: EntityId, course: Course) {
        let legs = VecDeque::from([Leg {
            course,
            left: course.tick,
            step: [0; 3],
        }]);
        let offset = [0.0; 3];
        self.ways.insert(id.slot.0, Path { id, legs, offset });
    }

    pub(crate) fn leave(&mut self, slot: u32) {
        self.ways.remove(&slot);
    }

    /// Applies a datagram's movement.
    pub(crate) fn apply(&mut self, tick: Tick, movement: &Movement) {
        for (i, slot) in movement.slots.iter().enumerate() {
            let own = i * self.dimensions..(i + 1) * self.dimensions;
            let mut course = Course {
                tick,
                ..Course::default()
            };
            course.position[..self.dimensions].copy_from_slice(&movement.positions[own.clone()]);
            course.velocity[..self.dimensions].copy_from_slice(&movement.velocities[own]);
            self.go(slot.0, course);
        }
        self.received.note(tick);
    }

    /// Applies a course of an entity.
    pub(crate) fn go(&mut self, slot: u32, course: Course) {
        let shown = self.shown.tick().unwrap_or_default();
        let Some(way) = self.ways.get_mut(&slot) else {
            return;
        };
        let ends = (&self.edges, &self.layers);
        let before = way.place(shown, &self.received, ends);
        if !way.insert(course, &self.received, &self.edges) {
            return;
        }
        let after = way.place(shown, &self.received, ends);
        for axis in 0..3 {
            way.offset[axis] += before[axis] - after[axis];
        }
        if length(way.offset) > self.snap {
            way.offset = [0.0; 3];
        }
    }
}

/// A tick that is shown. It never goes back, and goes at most a tenth faster or slower than
/// the world.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Playhead {
    /// `None` before anything is shown.
    tick: Option<f64>,
    at: Duration,
}

impl Playhead {
    pub fn tick(&self) -> Option<f64> {
        self.tick
    }

    /// Moves on towards a tick, and gives the seconds since the last call.
    pub fn advance(&mut self, goal: f64, tick_hz: f64, now: Duration) -> f64 {
        let seconds = now.saturating_sub(self.at).as_secs_f64();
        self.at = self.at.max(now);
        let step = seconds * tick_hz;
        self.tick = Some(match self.tick {
            Some(tick) if (goal - tick - step).abs() < SKIP_SECONDS * tick_hz => {
                tick + step + (goal - tick - step).clamp(-step * SLEW, step * SLEW)
            }
            // After a pause, or for the first time.
            _ => goal,
        });
        seconds
    }
}

impl Path {
    /// Adds a course in its place. False if it is older than all that is known.
    fn insert(&mut self, course: Course, received: &Received, edges: &[i32; 3]) -> bool {
        let after = self.legs.partition_point(|l| l.course.tick < course.tick);
        let is_known = self.legs.get(after).map(|l| l.course.tick) == Some(course.tick);
        if after == 0 || is_known {
            return false;
        }
        let before = self.legs[after - 1].course;
        let left = left_at(&before, &course, received, edges);
        let start = before.at(left, edges);
        let ticks = course.tick.since(left).cast_signed();
        let step = std::array::from_fn(|i| course.position[i].wrapping_sub(start[i]) / ticks);
        if let Some(next) = self.legs.get_mut(after) {
            next.left = next.left.max(course.tick);
        }
        self.legs.insert(after, Leg { course, left, step });
        if self.legs.len() > LEGS_MAX {
            self.legs.pop_front();
        }
        true
    }

    /// Where the entity is in a tick and a share of the next.
    fn place(&self, tick: f64, received: &Received, ends: (&[i32; 3], &Layers)) -> [f64; 3] {
        let (edges, _) = ends;
        let after = self
            .legs
            .partition_point(|l| moment_of(l.course.tick) <= tick);
        let Some(leg) = after.checked_sub(1).and_then(|i| self.legs.get(i)) else {
            return self.legs[0].course.position.map(f64::from);
        };
        let next = self.legs.get(after);
        match next {
            Some(next) if tick > moment_of(next.left) => {
                let start = leg.course.at(next.left, edges);
                let ticks = f64::from(next.course.tick.since(next.left));
                let share = (tick - moment_of(next.left)) / ticks;
                between(start, next.course.position, share)
            }
            _ => {
                let whole = tick_of(tick);
                let course = leg.likely_course(received, next.is_some());
                let [start, end] = [whole, whole.next()].map(|tick| {
                    match tick <= received.newest || next.is_some() {
                        true => course.at(tick, edges),
                        false => before_walls(&course, tick, received.newest, ends),
                    }
                });
                between(start, end, tick - moment_of(whole))
            }
        }
    }

    fn forget_before(&mut self, tick: f64) {
        while self
            .legs
            .get(1)
            .is_some_and(|next| moment_of(next.course.tick) <= tick)
        {
            self.legs.pop_front();
        }
    }
}

impl Leg {
    /// The course from here on. After a first step, the next datagram has the velocity. Where
    /// that datagram is missing, the entity probably moves on.
    fn likely_course(&self, received: &Received, is_left: bool) -> Course {
        let next = self.course.tick.next();
        let is_missing = received.newest > next && !received.has(next);
        match self.course.glides() || is_left || !is_missing {
            true => self.course,
            false => Course {
                velocity: self.step,
                ..self.course
            },
        }
    }
}

/// The last tick in which an entity can have been on a course, before it was somewhere else.
/// Datagrams since the last received tick may be lost, so it is the last from which the newer
/// course is in reach.
fn left_at(before: &Course, after: &Course, received: &Received, edges: &[i32; 3]) -> Tick {
    let last = after.tick.before(1);
    let received = received.before(after.tick).unwrap_or_default();
    let first = before.tick.max(received).min(last);
    let speed = |course: &Course| length(course.velocity.map(f64::from));
    let speed = speed(before).max(speed(after)) * REACH;
    let mut left = last;
    while speed > 0.0 && left > first {
        let place = before.at(left, edges);
        let way = std::array::from_fn(|i| f64::from(after.position[i]) - f64::from(place[i]));
        if length(way) <= speed * f64::from(after.tick.since(left)) {
            break;
        }
        left = left.before(1);
        if last.since(left) > LOOK_BACK_TICKS {
            return last;
        }
    }
    left
}

/// Where a course leads to in a tick of which nothing is known: not into walls, nor behind them.
fn before_walls(
    course: &Course,
    tick: Tick,
    known: Tick,
    (edges, layers): (&[i32; 3], &Layers),
) -> [i32; 3] {
    let known = course.at(known.max(course.tick), edges);
    // Where the newest datagram is missing, the entity may have met one before.
    let from = match layers.is_blocked(known) {
        true => course.position,
        false => known,
    };
    layers.straight(from, course.at(tick, edges))
}

/// Shrinks a difference after some seconds.
pub(crate) fn fade(offset: &mut [f64; 3], seconds: f64) {
    let left = (-seconds / FADE_SECONDS).exp();
    *offset = offset.map(|o| o * left);
}

pub(crate) fn between(start: [i32; 3], end: [i32; 3], share: f64) -> [f64; 3] {
    std::array::from_fn(|axis| {
        let (start, end) = (f64::from(start[axis]), f64::from(end[axis]));
        start + (end - start) * share
    })
}

pub(crate) fn length(vector: [f64; 3]) -> f64 {
    vector.iter().map(|v| v * v).sum::<f64>().sqrt()
}

/// Raw units as units.
pub(crate) fn units(raw: [f64; 3]) -> [f64; 3] {
    raw.map(|raw| raw / f64::from(Fixed::ONE.raw()))
}

/// Differences shrink to a third in this time.
const FADE_SECONDS: f64 = 0.08;
/// The shown tick goes faster or slower by this share to catch up.
const SLEW: f64 = 0.1;
/// The shown tick skips more than this.
const SKIP_SECONDS: f64 = 1.0;
/// More than a server sends in the time of the longest delay.
const LEGS_MAX: usize = 64;
const LOOK_BACK_TICKS: u32 = 64;
/// Steps of the same speed differ by rounding.
const REACH: f64 = 1.01;

#[cfg(test)]
mod tests {
    use shared::world::layer::{Sheet, Sheets};

    use super::*;

    #[test]
    fn a_course_of_which_nothing_new_is_known_ends_before_a_wall() {
        let unit = 4096;
        let walls = Sheet {
            edge_bits: 12,
            cells: (0..8 * 8).map(|at| at % 8 == 5).collect(),
        };
        let sheets = Sheets {
            blocked: Some(walls),
            ..Sheets::default()
        };
        let layers = Layers::new([8 * unit, 8 * unit, 1], &sheets);
        let course = Course {
            tick: Tick(10),
            position: [unit, unit, 0],
            velocity: [unit / 2, unit / 4, 0],
        };
        let edges = [8 * unit - 1; 3];
        let place = |layers: &Layers, tick, known| {
            before_walls(&course, Tick(tick), Tick(known), (&edges, layers))
        };
        for known in [9, 12, 15] {
            assert_eq!(
                place(&layers, 17, known)[..2],
                [unit * 9 / 2, unit * 11 / 4]
            );
            let [x, y, _] = place(&layers, 30, known);
            assert_eq!(x, 5 * unit - 1);
            assert!((unit..4 * unit).contains(&y), "{y}");
        }
        // Also where the newest datagram is missing, by which it is in the wall.
        assert_eq!(place(&layers, 30, 18)[0], 5 * unit - 1);
        assert_eq!(place(&Layers::default(), 20, 12)[0], 6 * unit);
    }
}
