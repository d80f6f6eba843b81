//! Identities: ticks, slots, entities, references to entities, client rows.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The number of a server tick, counted from 0 at the world's start.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
pub struct Tick(pub u64);

impl Tick {
    /// The last tick of any world: elements of the state hash have a tag above these bits.
    pub const MAX: Tick = Tick((1 << 56) - 1);

    /// The tick after this one.
    pub const fn next(self) -> Tick {
        self.after(1)
    }

    /// The tick that is so many ticks later.
    pub const fn after(self, ticks: u32) -> Tick {
        Tick(self.0.saturating_add(ticks as u64))
    }

    /// The tick that is so many ticks earlier; the first one if there is none.
    pub const fn before(self, ticks: u32) -> Tick {
        Tick(self.0.saturating_sub(ticks as u64))
    }

    /// The ticks from an earlier one to this; 0 if that is later, and the largest number if
    /// it is farther back.
    pub const fn since(self, earlier: Tick) -> u32 {
        let ticks = self.0.saturating_sub(earlier.0);
        if ticks > u32::MAX as u64 {
            return u32::MAX;
        }
        (ticks & u32::MAX as u64) as u32
    }

    /// The low 32 bits, as they travel, and as scripts know them.
    pub const fn low(self) -> u32 {
        (self.0 & u32::MAX as u64) as u32
    }

    /// The tick nearest to this one with such low bits, of which there are `bits`, at most
    /// 32. The first of its kind where that would lie before the world's start.
    pub const fn nearest(self, low: u32, bits: u32) -> Tick {
        let period = 1 << bits;
        let ahead = (low as u64).wrapping_sub(self.0) & (period - 1);
        let above = self.0.saturating_add(ahead);
        let is_behind = ahead >= period / 2 && above >= period;
        Tick(if is_behind { above - period } else { above })
    }
}

impl fmt::Display for Tick {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// The dense row that an entity occupies while it lives; below the world's capacity.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Slot(pub u32);

impl Slot {
    /// As an index into per-slot arrays.
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// A client's row in the observer and delivery tables; below `limits.clients`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct ClientRow(pub u32);

impl ClientRow {
    /// As an index into per-client arrays.
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// An entity's identity for as long as the world runs: its slot, and the generation of
/// the slot, which is 1 for the first entity in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[repr(C)]
pub struct EntityId {
    pub slot: Slot,
    pub generation: u32,
}

impl EntityId {
    /// No entity: the sender of a command that no entity gave.
    pub const NONE: EntityId = EntityId {
        slot: Slot(u32::MAX),
        generation: 0,
    };

    pub const fn new(slot: u32, generation: u32) -> EntityId {
        EntityId {
            slot: Slot(slot),
            generation,
        }
    }

    /// The identity as one number: the generation in the high 32 bits, the slot in the low.
    pub const fn to_bits(self) -> u64 {
        (self.generation as u64) << 32 | self.slot.0 as u64
    }

    pub const fn from_bits(bits: u64) -> EntityId {
        EntityId::new(bits as u32, (bits >> 32) as u32)
    }

    /// The reference that an attribute or a command's word holds.
    pub const fn reference(self) -> EntityRef {
        EntityRef(((self.generation & 0xff) << 24 | (self.slot.0 & EntityRef::SLOT_MASK)) as i32)
    }
}

/// No entity.
impl Default for EntityId {
    fn default() -> EntityId {
        EntityId::NONE
    }
}

impl fmt::Display for EntityId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.slot.0, self.generation)
    }
}

/// A reference to an entity that fits an attribute: 24 bits of slot and the low 8 bits of
/// the generation. A reference to a dead entity is recognised as such until the slot has
/// been filled 256 times more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[repr(transparent)]
pub struct EntityRef(pub i32);

impl EntityRef {
    /// Refers to no entity.
    pub const NONE: EntityRef = EntityRef(-1);
    const SLOT_MASK: u32 = 0x00ff_ffff;

    /// The slot of the entity; outside the world for [`EntityRef::NONE`].
    pub const fn slot(self) -> Slot {
        Slot(self.0 as u32 & Self::SLOT_MASK)
    }

    /// Whether the reference is to the entity of this generation in [`EntityRef::slot`].
    pub const fn is_generation(self, generation: u32) -> bool {
        (self.0 as u32) >> 24 == generation & 0xff
    }
}

/// The most slots of a world: as many as [`EntityRef`] can tell apart from
/// [`EntityRef::NONE`].
pub const CAPACITY_MAX: u32 = EntityRef::SLOT_MASK;

const _: () = assert!(size_of::<EntityId>() == 8);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn low_bits_stand_for_the_nearest_tick() {
        let far = Tick(1 << 32);
        for known in [0, 5, 70_000, far.0 - 3, far.0, far.0 + 40_000, 1 << 50] {
            for ahead in [-30_000i64, -5, -1, 0, 1, 9, 30_000] {
                let Some(tick) = known.checked_add_signed(ahead) else {
                    continue;
                };
                let low = Tick(tick).low();
                assert_eq!(Tick(known).nearest(low & 0xffff, 16), Tick(tick));
                assert_eq!(Tick(known).nearest(low, 32), Tick(tick));
            }
        }
        // There is no tick before the first.
        assert_eq!(Tick(3).nearest(0xffff, 16), Tick(0xffff));
    }

    #[test]
    fn spans_beyond_32_bits_are_the_longest() {
        assert_eq!(Tick(1 << 40).since(Tick(3)), u32::MAX);
        assert_eq!(Tick(3).since(Tick(1 << 40)), 0);
        assert_eq!(Tick((1 << 32) + 2).since(Tick((1 << 32) - 3)), 5);
    }

    #[test]
    fn a_reference_is_to_its_entity_and_not_to_the_next_one_in_the_slot() {
        let id = EntityId::new(77, 5);
        assert_eq!(id.reference().slot(), Slot(77));
        assert!(id.reference().is_generation(5));
        assert!(!id.reference().is_generation(6));
        assert_eq!(EntityId::from_bits(id.to_bits()), id);
    }
}
