//! What is shown: entities in view at any moment, between what was heard.
//!
//! Others are shown a little later than they were heard of, so that mostly both the step
//! before and the step after are known. The [delay](Scene::delay_ticks) is one tick and the
//! jitter. An entity goes by its course where nothing newer is known. Where a word turns out
//! to be different from what was shown, the difference fades out.

use std::collections::VecDeque;
use std::time::Duration;

use rustc_hash::FxHashMap;
use shared::{Course, EntityId, Fixed, Schema, Tick};

use crate::Movement;
use crate::clock::Clock;

/// The ways of the entities in view, and the tick that is shown.
#[derive(Clone, Debug)]
pub struct Scene {
    dimensions: usize,
    /// The largest coordinates.
    edges: [i32; 3],
    /// A place farther than this from what was shown is not faded to, in raw units.
    snap: f64,
    /// By slot.
    ways: FxHashMap<u32, Way>,
    /// The tick that is shown; `None` before the first word.
    shown: Option<f64>,
    shown_at: Duration,
    delay_ticks: f64,
    /// The newest tick of which a word was heard.
    heard: Tick,
}

/// Where an entity was, and where it goes.
#[derive(Clone, Debug)]
struct Way {
    id: EntityId,
    /// By tick, at least one.
    legs: VecDeque<Leg>,
    /// What was shown beside the way, in raw units.
    offset: [f64; 3],
}

#[derive(Clone, Copy, Debug)]
struct Leg {
    course: Course,
    /// The entity followed the leg before up to this tick, and then went straight here.
    left: Tick,
}

impl Scene {
    pub(crate) fn new(schema: &Schema) -> Scene {
        let mut edges = [0; 3];
        for (edge, size) in edges.iter_mut().zip(&schema.world.size) {
            *edge = size.raw() - 1;
        }
        Scene {
            dimensions: schema.dimensions(),
            edges,
            snap: f64::from(schema.world.aoi.raw()) / 2.0,
            ways: FxHashMap::default(),
            shown: None,
            shown_at: Duration::ZERO,
            delay_ticks: 0.0,
            heard: Tick(0),
        }
    }

    /// The tick that is shown, and the share of the way to the next one.
    pub fn shown_tick(&self) -> Option<f64> {
        self.shown
    }

    /// By how many ticks what is shown is older than what may have been heard.
    pub fn delay_ticks(&self) -> f64 {
        self.delay_ticks
    }

    /// Where an entity in view is shown, in units; 0 on axes that the world lacks.
    pub fn position(&self, entity: EntityId) -> Option<[f64; 3]> {
        let way = self.ways.get(&entity.slot.0).filter(|w| w.id == entity)?;
        let place = way.place(self.shown.unwrap_or_default(), &self.edges);
        Some(units(std::array::from_fn(|axis| {
            place[axis] + way.offset[axis]
        })))
    }
}

impl Scene {
    /// Moves on to what is to be shown now. The shown tick never goes back, and goes at most
    /// a tenth faster or slower than the world.
    pub(crate) fn advance(&mut self, clock: &Clock, now: Duration) {
        let Some(heard) = clock.heard_tick(now) else {
            return;
        };
        let period = clock.period().as_secs_f64();
        self.delay_ticks = 1.0 + clock.jitter().as_secs_f64() / period;
        let goal = heard - self.delay_ticks;
        let seconds = now.saturating_sub(self.shown_at).as_secs_f64();
        self.shown_at = self.shown_at.max(now);
        let step = seconds / period;
        self.shown = Some(match self.shown {
            Some(shown) if (goal - shown - step).abs() * period < SKIP_SECONDS => {
                let error = goal - shown - step;
                shown + step + error.clamp(-step * SLEW, step * SLEW)
            }
            // After a pause, or for the first time.
            _ => goal,
        });
        let left = (-seconds / FADE_SECONDS).exp();
        let shown = self.shown.unwrap_or_default();
        for way in self.ways.values_mut() {
            way.offset = way.offset.map(|o| o * left);
            way.forget_before(shown);
        }
    }

    pub(crate) fn enter(&mut self, id: EntityId, course: Course) {
        let legs = VecDeque::from([Leg {
            course,
            left: course.tick,
        }]);
        let offset = [0.0; 3];
        self.ways.insert(id.slot.0, Way { id, legs, offset });
    }

    pub(crate) fn leave(&mut self, slot: u32) {
        self.ways.remove(&slot);
    }

    /// Takes in a datagram's movement.
    pub(crate) fn take_in(&mut self, tick: Tick, movement: &Movement) {
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
        self.heard = self.heard.max(tick);
    }

    /// Takes in a course of an entity.
    pub(crate) fn go(&mut self, slot: u32, course: Course) {
        let Some(way) = self.ways.get_mut(&slot) else {
            return;
        };
        let shown = self.shown.unwrap_or_default();
        let before = way.place(shown, &self.edges);
        if !way.insert(course, self.heard, &self.edges) {
            return;
        }
        let after = way.place(shown, &self.edges);
        for axis in 0..3 {
            way.offset[axis] += before[axis] - after[axis];
        }
        if length(way.offset) > self.snap {
            way.offset = [0.0; 3];
        }
    }
}

impl Way {
    /// Adds a course in its place. False if it is older than all that is known.
    fn insert(&mut self, course: Course, heard: Tick, edges: &[i32; 3]) -> bool {
        let after = self.legs.partition_point(|l| l.course.tick < course.tick);
        let is_known = self.legs.get(after).map(|l| l.course.tick) == Some(course.tick);
        if after == 0 || is_known {
            return false;
        }
        let before = self.legs[after - 1].course;
        let left = left_at(&before, &course, heard, edges);
        if let Some(next) = self.legs.get_mut(after) {
            next.left = next.left.max(course.tick);
        }
        self.legs.insert(after, Leg { course, left });
        if self.legs.len() > LEGS_MAX {
            self.legs.pop_front();
        }
        true
    }

    /// Where the entity is in a tick and a share of the next.
    fn place(&self, tick: f64, edges: &[i32; 3]) -> [f64; 3] {
        let after = self
            .legs
            .partition_point(|l| f64::from(l.course.tick.0) <= tick);
        let Some(leg) = after.checked_sub(1).and_then(|i| self.legs.get(i)) else {
            return self.legs[0].course.position.map(f64::from);
        };
        match self.legs.get(after) {
            Some(next) if tick > f64::from(next.left.0) => {
                let start = leg.course.at(next.left, edges);
                let ticks = f64::from(next.course.tick.0 - next.left.0);
                let share = (tick - f64::from(next.left.0)) / ticks;
                between(start, next.course.position, share)
            }
            _ => {
                let whole = Tick(tick as u32);
                let start = leg.course.at(whole, edges);
                let end = leg.course.at(whole.next(), edges);
                between(start, end, tick - f64::from(whole.0))
            }
        }
    }

    fn forget_before(&mut self, tick: f64) {
        while self
            .legs
            .get(1)
            .is_some_and(|next| f64::from(next.course.tick.0) <= tick)
        {
            self.legs.pop_front();
        }
    }
}

/// The last tick in which an entity can have been on a course, before it was somewhere else.
/// All words between the tick `heard` and the newer course may be lost, so it is the last from
/// which that is in reach.
fn left_at(before: &Course, after: &Course, heard: Tick, edges: &[i32; 3]) -> Tick {
    let last = Tick(after.tick.0 - 1);
    let first = before.tick.max(heard).min(last);
    let speed = |course: &Course| length(course.velocity.map(f64::from));
    let speed = speed(before).max(speed(after)) * REACH;
    let mut left = last;
    while speed > 0.0 && left > first {
        let place = before.at(left, edges);
        let way = std::array::from_fn(|i| f64::from(after.position[i]) - f64::from(place[i]));
        if length(way) <= speed * f64::from(after.tick.0 - left.0) {
            break;
        }
        left = Tick(left.0 - 1);
        if last.0 - left.0 > LOOK_BACK_TICKS {
            return last;
        }
    }
    left
}

fn between(start: [i32; 3], end: [i32; 3], share: f64) -> [f64; 3] {
    std::array::from_fn(|axis| {
        let (start, end) = (f64::from(start[axis]), f64::from(end[axis]));
        start + (end - start) * share
    })
}

fn length(vector: [f64; 3]) -> f64 {
    vector.iter().map(|v| v * v).sum::<f64>().sqrt()
}

/// Raw units as units.
pub(crate) fn units(raw: [f64; 3]) -> [f64; 3] {
    raw.map(|raw| raw / f64::from(Fixed::ONE.raw()))
}

/// Differences shrink to a third in this time.
const FADE_SECONDS: f64 = 0.08;
/// What is shown goes faster or slower by this share to catch up.
const SLEW: f64 = 0.1;
/// What is shown skips more than this.
const SKIP_SECONDS: f64 = 1.0;
/// More than a server tells in the time of the longest delay.
const LEGS_MAX: usize = 64;
const LOOK_BACK_TICKS: u32 = 64;
/// Steps of the same speed differ by rounding.
const REACH: f64 = 1.01;
