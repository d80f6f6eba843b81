//! The world that a prediction's commands read and update.

use script::arith;
use script::interpreter::{Effects, Outgoing, World};
use shared::{EntityId, Slot};

use super::kinds::Kinds;
use crate::view::View;

/// The world as far as it is in view, and the own entity as it is predicted.
pub struct Foreground<'a> {
    pub view: &'a View,
    pub own: EntityId,
    pub kind: u16,
    pub row: &'a [i32],
    pub kinds: &'a Kinds,
}

impl World for Foreground<'_> {
    fn attribute(&self, slot: Slot, column: usize) -> i32 {
        if slot == self.own.slot {
            return self.row[column];
        }
        let other = self.view.get(slot);
        other.map_or(0, |other| other.row[column])
    }

    fn generation(&self, slot: Slot) -> Option<u32> {
        let other = self.view.get(slot);
        other.map(|other| other.id.generation)
    }

    fn kind(&self, slot: Slot) -> u16 {
        let other = self.view.get(slot);
        other.map_or(self.kind, |other| other.kind)
    }

    fn has(&self, slot: Slot, column: usize) -> bool {
        self.generation(slot).is_some()
            && self.kinds.columns[usize::from(self.kind(slot))].has(column)
    }

    fn bounds(&self, slot: Slot, column: usize) -> (i32, i32) {
        self.kinds.bounds[usize::from(self.kind(slot))][column]
    }

    /// By the course that was received for the tick; the newest known place, if there is none.
    fn past(&self, slot: Slot, axis: usize, tick: i32) -> i32 {
        let tick = self.view.newest().nearest(tick.cast_unsigned(), 32);
        match self.view.course_at(slot, tick) {
            Some(course) => course.at(tick, &self.view.schema().world.edges())[axis],
            None => self.attribute(slot, axis),
        }
    }

    fn layer(&self, place: i32) -> i32 {
        self.view.schema().layers.word(place)
    }

    fn near(&self, center: [i32; 3], radius: i32, slots: &mut Vec<u32>) {
        let mut found = vec![];
        for (&slot, entity) in self.view.entities() {
            let row = match slot == self.own.slot.0 {
                true => self.row,
                false => &entity.row,
            };
            let place = self.kinds.position(row);
            if arith::is_within(place, center, radius) {
                // By bucket, row by row, and then by slot.
                let [x, y, z] = place.map(|axis| axis / self.kinds.edge);
                found.push((z, y, x, slot));
            }
        }
        found.sort_unstable();
        slots.extend(found.into_iter().map(|place| place.3));
    }
}

/// Keeps the updates of the own entity, or what an atomic command leaves in it.
pub struct OwnUpdates {
    pub slot: Slot,
    pub updates: Vec<(u16, i32)>,
}

impl Effects for OwnUpdates {
    fn update(&mut self, slot: Slot, column: u16, value: i32) {
        if slot == self.slot {
            self.updates.push((column, value));
        }
    }

    fn write(&mut self, slot: Slot, column: u16, value: i32) {
        self.update(slot, column, value);
    }
}

// Forecasts are without these.
impl Outgoing for OwnUpdates {
    fn after(&mut self, _: u32, _: EntityId, _: u16, _: &[i32]) {}

    fn notify(&mut self, _: u16, _: EntityId, _: Option<([i32; 3], i32)>, _: &[i32]) {}
}
