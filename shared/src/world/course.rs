//! Courses: what clients are sent of an entity's movement.

use super::id::Tick;

/// A position and a velocity that hold from a tick on, until the next course. Axes that the
/// world lacks are 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Course {
    /// Where the entity was in this tick.
    pub tick: Tick,
    /// In raw units.
    pub position: [i32; 3],
    /// In raw units a tick; 0 on all axes if the entity rests, or goes no steady way.
    pub velocity: [i32; 3],
}

impl Course {
    /// The position in a tick from the course's own on. It stops at the edges of the world,
    /// of which `max` has the largest coordinates.
    pub fn at(&self, tick: Tick, max: &[i32; 3]) -> [i32; 3] {
        if !self.glides() {
            return self.position;
        }
        // The edge is reached in so many ticks by the slowest, and no product overflows.
        let ticks = i64::from(tick.since(self.tick).min(u32::MAX / 2));
        let mut position = self.position;
        for axis in 0..3 {
            // One step after the other, each clamped, ends at the same place.
            let ahead = i64::from(self.velocity[axis]) * ticks + i64::from(position[axis]);
            position[axis] = ahead.clamp(0, i64::from(max[axis])) as i32;
        }
        position
    }

    /// The same course, sent from a later tick on.
    pub fn from(&self, tick: Tick, max: &[i32; 3]) -> Course {
        Course {
            tick,
            position: self.at(tick, max),
            velocity: self.velocity,
        }
    }

    /// Whether the entity moves without updates.
    pub fn glides(&self) -> bool {
        self.velocity != [0; 3]
    }
}

/// The fastest steady course along an axis, in raw units a tick: just below 128 units.
/// Whatever is faster is sent tick by tick.
pub const VELOCITY_MAX: i32 = (1 << 19) - 1;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_course_ends_where_single_steps_end() {
        let max = [1000, 50, 0];
        let course = Course {
            tick: Tick(7),
            position: [990, 20, 0],
            velocity: [-3, 4, 0],
        };
        let mut place = course.position;
        for tick in 7..500 {
            assert_eq!(course.at(Tick(tick), &max), place, "tick {tick}");
            for axis in 0..3 {
                place[axis] = (place[axis] + course.velocity[axis]).clamp(0, max[axis]);
            }
        }
        assert_eq!(place, [0, 50, 0]);
    }

    #[test]
    fn the_longest_course_does_not_overflow() {
        let course = Course {
            tick: Tick(0),
            position: [0, i32::MAX, 5],
            velocity: [i32::MAX, i32::MIN, 0],
        };
        let end = course.at(Tick(1 << 40), &[i32::MAX; 3]);
        assert_eq!(end, [i32::MAX, 0, 5]);
    }
}
