//! Movement that was sent to a client and is not known to have arrived.

use shared::Tick;
use shared::wire::commands::Acknowledgement;

/// Entities whose movement may have been lost, ascending by slot.
#[derive(Default)]
pub struct PendingMovement {
    entities: Vec<Pending>,
}

/// Buffers of [`PendingMovement::merge`]; one set serves all clients in turn.
#[derive(Default)]
pub struct MergeScratch {
    slots: Vec<u32>,
    entities: Vec<Pending>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Pending {
    slot: u32,
    /// The tick whose datagrams carried it last; none if it found no room in them.
    sent: Option<Tick>,
}

impl PendingMovement {
    /// Forgets the movement that has arrived.
    pub fn acknowledge(&mut self, new: &Acknowledgement) {
        self.entities
            .retain(|p| p.sent.is_none_or(|sent| !new.has(sent)));
    }

    /// Forgets an entity: it left, or entered with newer values.
    pub fn remove(&mut self, slot: u32) {
        if let Ok(i) = self.find(slot) {
            self.entities.remove(i);
        }
    }

    /// Joins a tick's new movement, `slots`, with the movement that seems lost: `slots`
    /// then holds all that must be sent. Movement that is still on its way stays
    /// pending. Slots ascend. `newest` is the newest tick that is known to have arrived.
    pub fn merge(
        &mut self,
        tick: Tick,
        newest: Tick,
        slots: &mut Vec<u32>,
        scratch: &mut MergeScratch,
    ) {
        scratch.slots.clear();
        scratch.entities.clear();
        let mut old = self.entities.iter().copied().peekable();
        let mut new = slots.iter().copied().peekable();
        loop {
            let next_new = new.peek().copied().unwrap_or(u32::MAX);
            let next_old = old.peek().map_or(u32::MAX, |p| p.slot);
            if next_new == u32::MAX && next_old == u32::MAX {
                break;
            }
            let is_new = next_new <= next_old;
            let waiting = old.next_if(|p| p.slot <= next_new);
            if is_new {
                new.next();
            }
            let slot = next_new.min(next_old);
            let is_lost = waiting.is_some_and(|p| p.seems_lost(tick, newest));
            if is_new || is_lost {
                scratch.slots.push(slot);
                scratch.entities.push(Pending {
                    slot,
                    sent: Some(tick),
                });
            } else if let Some(waiting) = waiting {
                scratch.entities.push(waiting);
            }
        }
        std::mem::swap(&mut self.entities, &mut scratch.entities);
        std::mem::swap(slots, &mut scratch.slots);
    }

    /// These slots found no room in the tick's datagrams.
    pub fn put_off(&mut self, slots: &[u32]) {
        for &slot in slots {
            if let Ok(i) = self.find(slot) {
                self.entities[i].sent = None;
            }
        }
    }

    fn find(&self, slot: u32) -> Result<usize, usize> {
        self.entities.binary_search_by_key(&slot, |p| p.slot)
    }
}

impl Pending {
    /// A datagram seems lost when a later one arrived, or when no word came for long.
    fn seems_lost(&self, tick: Tick, newest: Tick) -> bool {
        match self.sent {
            None => true,
            Some(sent) => newest > sent || tick.0 - sent.0 >= RESEND_TICKS,
        }
    }
}

/// Unacknowledged movement is sent again after this many ticks.
const RESEND_TICKS: u32 = 8;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn movement_is_sent_again_when_a_later_tick_arrived_or_none_for_long() {
        let mut movement = PendingMovement::default();
        let mut scratch = MergeScratch::default();
        let mut merge = |movement: &mut PendingMovement, tick, newest, slots: &[u32]| {
            let mut slots = slots.to_vec();
            movement.merge(Tick(tick), Tick(newest), &mut slots, &mut scratch);
            slots
        };
        assert_eq!(merge(&mut movement, 10, 9, &[1, 2, 3]), [1, 2, 3]);
        assert_eq!(merge(&mut movement, 11, 9, &[2, 5]), [2, 5]);
        // Tick 11 arrived and tick 10 did not: 2 and 5 are known to be there.
        movement.acknowledge(&Acknowledgement {
            newest: Tick(11),
            mask: 0,
            stream: Tick(0),
        });
        movement.remove(3);
        assert_eq!(merge(&mut movement, 12, 11, &[7]), [1, 7]);
        assert!(merge(&mut movement, 19, 11, &[]).is_empty());
        assert_eq!(merge(&mut movement, 20, 11, &[]), [1, 7]);
        movement.put_off(&[7]);
        assert_eq!(merge(&mut movement, 21, 11, &[]), [7]);
    }
}
