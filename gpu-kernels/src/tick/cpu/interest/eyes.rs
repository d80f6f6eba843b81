//! Which of the entities within reach a client does not see: those that are hidden from it, or behind
//! walls.

use shared::world::door::Door;
use shared::world::visibility::Visibility;
use shared::{EntityId, Slot};

use super::Interest;
use crate::tick::cpu::State;
use crate::tick::frame::{Observer, Target};

/// What a client sees with.
pub struct Eyes<'a> {
    state: &'a State,
    visibility: &'a Visibility,
    doors: &'a [Door],
    /// The bits that its observers' entities reveal, together.
    reveals: i32,
    observers: &'a [Option<Observer>],
}

impl Interest {
    /// What a client sees with, after the tick; `None` in worlds that hide nothing.
    #[inline]
    pub(super) fn eyes<'a>(&'a self, client: usize, state: &'a State) -> Option<Eyes<'a>> {
        let visibility = &self.visibility;
        if visibility.is_plain() {
            return None;
        }
        let observers = self.observers(client, state);
        let reveals = visibility.reveals.map_or(0, |column| {
            let followed = followed(observers).filter(|&entity| state.slots.has(entity));
            let bits = followed.map(|entity| state.row(entity.slot)[usize::from(column)]);
            bits.fold(0, |all, bits| all | bits)
        });
        Some(Eyes {
            state,
            visibility,
            doors: &self.doors,
            reveals,
            observers,
        })
    }
}

impl Eyes<'_> {
    /// Whether a living entity's bits hide it. No client's own entity is hidden from it.
    #[inline]
    pub fn miss(&self, slot: u32) -> bool {
        let Some(hides) = self.visibility.hides else {
            return false;
        };
        let hides = self.state.row(Slot(slot))[usize::from(hides)];
        Visibility::is_hidden(hides, self.reveals)
            && !followed(self.observers)
                .any(|entity| entity.slot.0 == slot && self.state.slots.has(entity))
    }

    /// Whether an entity within reach of one of the client's observers, at `from`, is seen from there.
    /// The doors are those of the start of the tick.
    #[inline]
    pub fn see(
        &self,
        from: [i32; 3],
        followed: Option<u32>,
        slot: u32,
        position: [i32; 3],
    ) -> bool {
        let looks_over = !self.visibility.line_of_sight || followed == Some(slot);
        !self.miss(slot) && (looks_over || self.has_line(from, slot, position))
    }

    fn has_line(&self, from: [i32; 3], slot: u32, position: [i32; 3]) -> bool {
        let layers = &self.state.layers;
        let kind = self.state.slots.kinds()[slot as usize];
        match self.doors.iter().find(|door| door.kind == kind) {
            None => layers.sees(from, position),
            Some(door) => door.is_seen(layers, from, position),
        }
    }
}

/// The entities that observers follow, dead ones too.
fn followed(observers: &[Option<Observer>]) -> impl Iterator<Item = EntityId> {
    let observers = observers.iter().flatten();
    observers.filter_map(|observer| match observer.target {
        Target::Entity(entity) => Some(entity),
        Target::Point(_) => None,
    })
}
