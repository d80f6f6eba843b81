//! The last courses of an entity, as sent to clients.

use shared::{Course, Tick};

/// The newest courses of an entity. Older ones have earlier ticks.
#[derive(Clone, Copy, Default)]
pub struct Courses {
    courses: [Course; COURSES_KEPT],
    /// The index of the newest one.
    newest: usize,
}

impl Courses {
    /// The courses of a newborn entity.
    pub fn new(first: Course) -> Courses {
        Courses {
            courses: [first; COURSES_KEPT],
            newest: 0,
        }
    }

    pub fn newest(&self) -> &Course {
        &self.courses[self.newest]
    }

    /// The course that was the newest by a tick; `None` if that is too long ago, or the
    /// entity was not born.
    pub fn at(&self, tick: Tick) -> Option<&Course> {
        let newest = self.newest;
        (0..COURSES_KEPT)
            .map(|age| &self.courses[(newest + COURSES_KEPT - age) % COURSES_KEPT])
            .find(|course| course.tick <= tick)
    }

    /// Begins a course. It replaces one that began in the same tick.
    pub fn push(&mut self, course: Course) {
        let newest = self.newest;
        let place = match self.courses[newest].tick == course.tick {
            true => newest,
            false => (newest + 1) % COURSES_KEPT,
        };
        self.courses[place] = course;
        self.newest = place;
    }
}

/// An entity with a new course in each tick is sent in full to clients whose newest
/// acknowledgement is older than this many ticks.
const COURSES_KEPT: usize = 8;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_course_of_an_earlier_tick_is_known_unless_too_many_came_after_it() {
        let course = |tick: u64| Course {
            tick: Tick(tick),
            position: [tick as i32; 3],
            velocity: [0; 3],
        };
        let mut courses = Courses::new(course(10));
        let at = |courses: &Courses, tick| courses.at(Tick(tick)).map(|course| course.tick.0);
        assert_eq!(at(&courses, 9), None);
        assert_eq!(at(&courses, 30), Some(10));
        for tick in (12..40).step_by(2) {
            courses.push(course(tick));
        }
        assert_eq!(courses.newest().tick, Tick(38));
        for tick in 24..50 {
            assert_eq!(at(&courses, tick), Some((tick & !1).min(38)), "tick {tick}");
        }
        assert_eq!(at(&courses, 23), None);
    }
}
