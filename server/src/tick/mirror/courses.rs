//! The last courses of entities, as clients were told.

use shared::{Course, Slot, Tick};

/// The courses of all entities, by slot.
pub struct Courses {
    entities: Vec<Ring>,
}

/// The newest courses of an entity. Older ones have earlier ticks.
#[derive(Clone, Copy)]
struct Ring {
    courses: [Course; COURSES_KEPT],
    /// The place of the newest one.
    newest: u8,
}

impl Courses {
    pub fn new(capacity: usize) -> Courses {
        let empty = Ring {
            courses: [Course::default(); COURSES_KEPT],
            newest: 0,
        };
        Courses {
            entities: vec![empty; capacity],
        }
    }

    pub fn newest(&self, slot: Slot) -> &Course {
        let ring = &self.entities[slot.index()];
        &ring.courses[usize::from(ring.newest)]
    }

    /// The course that was the newest by a tick; `None` if that is too long ago, or the
    /// entity was not born.
    pub fn at(&self, slot: Slot, tick: Tick) -> Option<&Course> {
        let ring = &self.entities[slot.index()];
        let newest = usize::from(ring.newest);
        (0..COURSES_KEPT)
            .map(|age| &ring.courses[(newest + COURSES_KEPT - age) % COURSES_KEPT])
            .find(|course| course.tick <= tick)
    }

    /// Begins a course. One that began in the same tick is forgotten.
    pub fn push(&mut self, slot: Slot, course: Course) {
        let ring = &mut self.entities[slot.index()];
        let newest = usize::from(ring.newest);
        let place = match ring.courses[newest].tick == course.tick {
            true => newest,
            false => (newest + 1) % COURSES_KEPT,
        };
        ring.courses[place] = course;
        // A place is below `COURSES_KEPT`.
        ring.newest = u8::try_from(place).unwrap_or(0);
    }

    /// Begins the first course of a newborn entity.
    pub fn restart(&mut self, slot: Slot, course: Course) {
        self.entities[slot.index()] = Ring {
            courses: [course; COURSES_KEPT],
            newest: 0,
        };
    }
}

/// An entity that is told anew in each tick is told in full to clients whose newest
/// acknowledgement is older than this many ticks.
const COURSES_KEPT: usize = 8;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_course_of_an_earlier_tick_is_known_unless_too_many_came_after_it() {
        let (slot, mut courses) = (Slot(1), Courses::new(2));
        let course = |tick: u32| Course {
            tick: Tick(tick),
            position: [tick as i32; 3],
            velocity: [0; 3],
        };
        courses.restart(slot, course(10));
        let at = |courses: &Courses, tick| courses.at(slot, Tick(tick)).map(|course| course.tick.0);
        assert_eq!(at(&courses, 9), None);
        assert_eq!(at(&courses, 30), Some(10));
        for tick in (12..40).step_by(2) {
            courses.push(slot, course(tick));
        }
        assert_eq!(courses.newest(slot).tick, Tick(38));
        for tick in 24..50 {
            assert_eq!(at(&courses, tick), Some((tick & !1).min(38)), "tick {tick}");
        }
        assert_eq!(at(&courses, 23), None);
    }
}
