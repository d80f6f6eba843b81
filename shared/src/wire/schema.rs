//! A schema that has come over the network: its check and its hash.

use super::codec;
use super::movement::MovementCodec;
use crate::world::id::CAPACITY_MAX;
use crate::world::mix::mix;
use crate::world::schema::{ATTRIBUTES_MAX, Schema};

impl Schema {
    /// Whether this can be a world's schema at all; the error names what can't.
    /// A schema that comes from a [`WorldConfig`](crate::WorldConfig) always is;
    /// one that comes over the network may be anything.
    pub fn check(&self) -> Result<(), &'static str> {
        let dimensions = self.dimensions();
        let columns = self.attributes.len();
        let held = |holds: bool, what| if holds { Ok(()) } else { Err(what) };
        held((2..=3).contains(&dimensions), "number of axes")?;
        held(
            (1..=CAPACITY_MAX).contains(&self.world.capacity),
            "capacity",
        )?;
        held(self.world.tick_hz >= 1, "tick rate")?;
        held(
            (dimensions..=ATTRIBUTES_MAX).contains(&columns),
            "number of attributes",
        )?;
        for (axis, size) in self.world.size.iter().enumerate() {
            let position = &self.attributes[axis];
            let last = size.raw().checked_sub(1);
            held(
                position.min == 0 && Some(position.max) == last && size.raw() <= SIZE_RAW_MAX,
                "position",
            )?;
        }
        held(
            (1..=SIZE_RAW_MAX).contains(&self.world.aoi.raw()),
            "area of interest",
        )?;
        held(
            self.attributes.iter().all(|a| a.min <= a.max),
            "attribute bounds",
        )?;
        held((1..=256).contains(&self.kinds.len()), "number of kinds")?;
        for kind in &self.kinds {
            let own = || kind.attributes.iter().map(|a| usize::from(a.column));
            let ascending = own().is_sorted_by(|a, b| a < b);
            let known = own().all(|column| column < columns);
            let positions = own().take(dimensions).eq(0..dimensions);
            held(ascending && known && positions, "kind")?;
        }
        for command in &self.commands {
            let expected = command.kind.words(dimensions);
            held(command.words == expected, "command")?;
        }
        for notification in &self.notifications {
            let expected = notification.kind.fields(dimensions);
            held(notification.fields == expected, "notification")?;
        }
        MovementCodec::new(self).map_err(|_| "movement attributes")?;
        Ok(())
    }

    /// A fingerprint of everything in the schema. A client built for one world
    /// can require it in its hello.
    pub fn hash(&self) -> u64 {
        codec::to_bytes(self)
            .chunks(8)
            .fold(0x6d79_7269_6164, |hash, chunk| {
                let mut word = [0; 8];
                word[..chunk.len()].copy_from_slice(chunk);
                mix(hash, u64::from_le_bytes(word) ^ (chunk.len() as u64) << 56)
            })
    }
}

/// Positions of larger worlds could overflow when compared.
const SIZE_RAW_MAX: i32 = 1 << 30;
