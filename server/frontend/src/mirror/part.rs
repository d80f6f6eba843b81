//! Applies a tick's output to the entities of a range of slots, on one thread.

use std::ops::Range;

use gpu_kernels::{SlotState, Snapshot, TickOutput, Track};
use shared::{Course, EntityId, Slot, Tick};

use super::{Courses, Entry, Layout, Masks, Turn};

/// The entities of a range of slots, for one thread.
pub struct Part<'a> {
    pub layout: &'a Layout,
    pub masks: &'a Masks,
    pub tick: Tick,
    /// The slot of the first entity.
    pub first: usize,
    pub entities: &'a mut [Entry],
    pub courses: &'a mut [Courses],
    pub rows: &'a mut [i32],
}

impl<'a> Part<'a> {
    /// Splits off the entities below a slot.
    pub fn split_at(self, slot: usize) -> (Part<'a>, Part<'a>) {
        let entities = self.entities.split_at_mut(slot - self.first);
        let courses = self.courses.split_at_mut(slot - self.first);
        let rows = (slot - self.first) * self.layout.columns;
        let rows = self.rows.split_at_mut(rows);
        let below = Part {
            entities: entities.0,
            courses: courses.0,
            rows: rows.0,
            ..self
        };
        let others = Part {
            first: slot,
            entities: entities.1,
            courses: courses.1,
            rows: rows.1,
            ..below
        };
        (below, others)
    }

    /// Applies a tick's changes and courses.
    pub fn take(mut self, output: &TickOutput) {
        // In blocks, so that the second pass finds the entities in the core's cache.
        while self.entities.len() > BLOCK {
            let end = self.first + BLOCK;
            let (mut block, others) = self.split_at(end);
            block.take_changes(output);
            block.take_courses(output);
            self = others;
        }
        self.take_changes(output);
        self.take_courses(output);
    }

    /// The range of its slots in an ascending list.
    fn among(&self, slots: &[u32]) -> Range<usize> {
        let place = |slot: usize| slots.partition_point(|&s| (s as usize) < slot);
        place(self.first)..place(self.first + self.entities.len())
    }

    /// Restores the entities from a snapshot, on the courses that were sent to clients.
    pub fn restore(&mut self, snapshot: &Snapshot) {
        // Slots have 32 bits.
        let first = u32::try_from(self.first).unwrap_or(u32::MAX);
        for (number, place) in (first..).map(Slot).zip(0..self.entities.len()) {
            let slot = self.first + place;
            if snapshot.states[slot] != SlotState::Live {
                continue;
            }
            let entry = &mut self.entities[place];
            entry.id = EntityId::new(number.0, snapshot.generations[slot]);
            entry.kind = snapshot.kinds[slot];
            entry.is_alive = true;
            let track = snapshot.tracks.get(slot).copied().unwrap_or_default();
            let Track {
                glides,
                step,
                offset,
            } = track;
            let mut course = self.course(number, &[]);
            for axis in 0..self.layout.dimensions {
                course.position[axis] += offset[axis];
                course.velocity[axis] = if glides { step[axis] } else { 0 };
            }
            self.courses[place] = Courses::new(course);
            self.pack(number);
        }
    }

    pub fn take_births(&mut self, output: &TickOutput) {
        let newborns = output
            .births
            .iter()
            .filter_map(|b| Some((b.kind, b.entity?)));
        let rows = output.birth_rows.chunks_exact(self.layout.columns);
        for ((kind, id), row) in newborns.zip(rows) {
            self.place(id, kind, row);
            let entry = self.entry(id.slot);
            (entry.changed, entry.columns) = (output.tick, u64::MAX);
        }
    }

    /// Fills the slot of an entity.
    pub fn place(&mut self, id: EntityId, kind: u16, row: &[i32]) {
        self.row(id.slot).copy_from_slice(row);
        let entry = self.entry(id.slot);
        (entry.id, entry.kind, entry.is_alive) = (id, kind, true);
        entry.turn = None;
        let first = self.course(id.slot, &[]);
        self.begin_course(id.slot, first);
    }

    /// The same for an entity that is on a course.
    pub fn place_on(&mut self, id: EntityId, kind: u16, row: &[i32], course: Course) {
        self.place(id, kind, row);
        self.begin_course(id.slot, course);
    }

    fn begin_course(&mut self, slot: Slot, course: Course) {
        self.courses[slot.index() - self.first] = Courses::new(course);
        self.pack(slot);
    }

    fn take_changes(&mut self, output: &TickOutput) {
        let Layout {
            position,
            has_courses,
            ..
        } = *self.layout;
        let own = self.among(&output.changes.slots);
        for (slot, columns, values) in output.changes.range(own) {
            let row = self.row(slot);
            let mut mask = 0_u64;
            for (&column, &value) in columns.iter().zip(values) {
                row[usize::from(column)] = value;
                mask |= 1_u64.wrapping_shl(column.into());
            }
            let kind = self.entry(slot).kind;
            if self.masks.are_by_kind() {
                mask = self.masks.mask(kind, columns);
            }
            // Changes of a position are sent as courses.
            if has_courses {
                mask &= !position;
            } else if mask & position != 0 {
                self.set_course(slot, &[]);
            }
            let entry = self.entry(slot);
            entry.changed = output.tick;
            entry.columns = mask;
            if mask & self.masks.kind(kind).movement != 0 {
                self.pack(slot);
            }
        }
    }

    fn take_courses(&mut self, output: &TickOutput) {
        let position = self.layout.position;
        let own = self.among(&output.courses.slots);
        for (slot, velocity) in output.courses.range(own) {
            let entry = self.entry(slot);
            if entry.changed != output.tick {
                entry.changed = output.tick;
                entry.columns = 0;
            }
            entry.columns |= position;
            self.set_course(slot, velocity);
            self.pack(slot);
        }
    }

    fn entry(&mut self, slot: Slot) -> &mut Entry {
        &mut self.entities[slot.index() - self.first]
    }

    fn row(&mut self, slot: Slot) -> &mut [i32] {
        let columns = self.layout.columns;
        &mut self.rows[(slot.index() - self.first) * columns..][..columns]
    }

    /// The course from the entity's position; it rests on axes without a velocity.
    fn course(&mut self, slot: Slot, velocity: &[i32]) -> Course {
        let mut course = Course {
            tick: self.tick,
            ..Course::default()
        };
        let dimensions = self.layout.dimensions;
        course.position[..dimensions].copy_from_slice(&self.row(slot)[..dimensions]);
        course.velocity[..velocity.len()].copy_from_slice(velocity);
        course
    }

    /// Begins a course at the entity's position, rounded to the steps of the codec.
    fn set_course(&mut self, slot: Slot, velocity: &[i32]) {
        let movement = &self.layout.movement;
        let mut course = self.course(slot, velocity);
        let courses = &mut self.courses[slot.index() - self.first];
        let before = courses.newest();
        let expected = movement.expected(before, self.tick, &course.velocity);
        course.position = movement.rounded(course.position, expected);
        let turn = |place| Turn {
            since: before.tick,
            place,
        };
        let turn = movement.difference(&course.position, &expected).map(turn);
        courses.push(course);
        self.entry(slot).turn = turn;
    }

    fn pack(&mut self, slot: Slot) {
        let place = slot.index() - self.first;
        let columns = self.layout.columns;
        let row = &self.rows[place * columns..][..columns];
        let velocity = &self.courses[place].newest().velocity;
        let entry = &mut self.entities[place];
        entry.tail = self.layout.movement.tail(entry.kind, velocity, row);
    }
}

/// Slots that take some 200 KiB.
const BLOCK: usize = 512;
