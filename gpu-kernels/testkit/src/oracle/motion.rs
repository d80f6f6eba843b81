//! Courses: clients extrapolate an entity on its course. One that departs from it gets a new one.

use std::collections::BTreeSet;

use gpu_kernels::Track;
use shared::world::course::VELOCITY_MAX;

use super::{Oracle, OracleOutput};

/// An entity's movement as sent to clients.
#[derive(Clone, Debug, Default)]
pub struct Movement {
    /// Where clients extrapolate the entity.
    shown: Vec<i32>,
    /// By how much clients move it each tick; `None`: they leave it where it is.
    velocity: Option<Vec<i32>>,
    /// How far it went in the last tick; empty before its first.
    step: Vec<i32>,
}

impl Movement {
    /// Of a newborn in this place.
    pub fn resting(place: &[i32]) -> Movement {
        Movement {
            shown: place.to_vec(),
            velocity: None,
            step: vec![0; place.len()],
        }
    }
}

impl Oracle {
    /// Writes courses of the entities that are not where clients extrapolate them. `places` has the
    /// positions before the tick by slot.
    pub(super) fn tell_courses(
        &mut self,
        places: &[[i32; 3]],
        changed: &mut BTreeSet<u32>,
        out: &mut OracleOutput,
    ) {
        let Some(motion) = self.config.motion.clone() else {
            return;
        };
        let axes = self.config.schema.world.size.len();
        let is_close = |a: &[i32], b: &[i32]| {
            let mut pairs = a.iter().zip(b);
            pairs.all(|(&a, &b)| a.abs_diff(b) <= motion.tolerance as u32)
        };
        for entity in self.alive() {
            let slot = entity.slot.0;
            let here = self.position(slot)[..axes].to_vec();
            let step: Vec<i32> = (0..axes)
                .map(|axis| here[axis] - places[slot as usize][axis])
                .collect();
            let declared: Vec<i32> = motion
                .velocity
                .iter()
                .map(|&column| self.slots[slot as usize].row[usize::from(column)])
                .collect();
            let edges: Vec<i32> = (0..axes).map(|axis| self.size(axis) - 1).collect();
            let movement = &mut self.slots[slot as usize].movement;
            if let Some(velocity) = &movement.velocity {
                for axis in 0..axes {
                    let ahead = i128::from(movement.shown[axis]) + i128::from(velocity[axis]);
                    movement.shown[axis] = ahead.min(edges[axis].into()).max(0) as i32;
                }
            }
            if is_close(&movement.shown, &here) {
                movement.step = step;
                continue;
            }
            let moves = step.iter().any(|&step| step != 0);
            let is_slow = step
                .iter()
                .all(|step| (-VELOCITY_MAX..=VELOCITY_MAX).contains(step));
            // The last step of one that glides is the one that clients were sent.
            let before = movement.velocity.as_ref().unwrap_or(&movement.step);
            let is_steady = is_close(&step, before) || step == declared;
            movement.velocity = (moves && is_slow && is_steady).then(|| step.clone());
            movement.step = step;
            movement.shown = here;
            let velocity = movement.velocity.clone();
            out.courses.insert(slot, velocity.unwrap_or(vec![0; axes]));
            changed.insert(slot);
        }
        out.counts.courses = out.courses.len() as u64;
    }

    /// In the backends' format; empty if each change of a position is sent.
    pub(super) fn tracks(&self) -> Vec<Track> {
        if self.config.motion.is_none() {
            return vec![];
        }
        let track = |slot: usize| {
            let movement = &self.slots[slot].movement;
            let place = self.position(slot as u32);
            let step = movement.velocity.as_ref().unwrap_or(&movement.step);
            let mut track = Track {
                glides: movement.velocity.is_some(),
                ..Track::default()
            };
            track.step[..step.len()].copy_from_slice(step);
            for (axis, &shown) in movement.shown.iter().enumerate() {
                track.offset[axis] = shown - place[axis];
            }
            track
        };
        (0..self.slots.len()).map(track).collect()
    }
}
