//! What a client asks for over its stream, beside its commands, and the answers.
//!
//! Behind the hello, the client's stream carries messages: each is its length (4
//! bytes, little-endian), then a [`SessionMessage`] as [`codec`] writes it. A message
//! is answered once, in the order of asking, by an
//! [`Item::Answer`](super::stream::Item) in the frame of the tick from which on it
//! holds. What cannot be read ends the session; what may not be had is answered with
//! the reason.

use serde::{Deserialize, Serialize};

use super::{DecodeError, codec};
use crate::world::id::EntityId;

/// The most bytes of a message: room for the longest predicate, and the rest.
pub const SESSION_MESSAGE_BYTES_MAX: usize = 16 * 1024 + 64;
/// The most bytes of the text of an answer. Longer ones are cut.
pub const ANSWER_BYTES_MAX: usize = 512;

/// One thing that a client asks for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionMessage {
    /// The client's own number for it, which the answer repeats.
    pub request: u32,
    pub body: Body,
}

/// What is asked for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Body {
    /// Sees who is in a region, beside the area of interest; none: no more. `index`
    /// is below the world's `limits.regions_per_client`.
    SetRegion { index: u32, region: Option<Region> },
    /// Hears of changes and notifications that a predicate holds for, wherever they
    /// happen. `id` is the client's own number for it.
    Subscribe { id: u32, predicate: String },
    /// Hears of them no more.
    Unsubscribe { id: u32 },
}

/// A box `low..high` in raw units, half-open: boxes that touch don't overlap. Axes
/// beyond the world's don't matter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Region {
    pub low: [i32; 3],
    pub high: [i32; 3],
    /// Relative to where this entity is in each tick; nowhere once it is dead.
    pub follows: Option<EntityId>,
}

impl Region {
    /// A box that stays where it is, from one corner to another: one number an axis,
    /// in raw units.
    pub fn fixed(low: &[i32], high: &[i32]) -> Region {
        Region {
            low: corner(low, 0),
            high: corner(high, 1),
            follows: None,
        }
    }

    /// A box around an entity, which it follows: how far it reaches along each axis,
    /// both ways.
    pub fn around(entity: EntityId, reach: &[i32]) -> Region {
        let low: Vec<i32> = reach.iter().map(|r| r.saturating_neg()).collect();
        Region {
            follows: Some(entity),
            ..Region::fixed(&low, reach)
        }
    }

    /// Whether a place is in the box, of the same number of axes; `followed` is where
    /// the followed entity is.
    pub fn holds(&self, place: &[i32], followed: Option<&[i32]>) -> bool {
        place.iter().enumerate().all(|(axis, &place)| {
            let at = followed.map_or(0, |followed| i64::from(followed[axis]));
            let inside = i64::from(self.low[axis]) + at..i64::from(self.high[axis]) + at;
            inside.contains(&i64::from(place))
        })
    }
}

fn corner(numbers: &[i32], otherwise: i32) -> [i32; 3] {
    std::array::from_fn(|axis| numbers.get(axis).copied().unwrap_or(otherwise))
}

/// The answer to one message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// As in the message.
    pub request: u32,
    /// Whether it holds now; a sentence for people where it does not, at most
    /// [`ANSWER_BYTES_MAX`] long.
    pub result: Result<(), String>,
}

impl SessionMessage {
    /// Appends the message with its length to `out`.
    pub fn encode(&self, out: &mut Vec<u8>) {
        let bytes = codec::to_bytes(self);
        out.extend_from_slice(&(bytes.len() as u32).to_le_bytes());
        out.extend_from_slice(&bytes);
    }
}

/// Reads messages from a stream's bytes, however these are cut.
#[derive(Debug, Default)]
pub struct MessageReader {
    /// At most one message's bytes, and what came with its last ones.
    bytes: Vec<u8>,
    /// Where the next message begins.
    begun: usize,
}

impl MessageReader {
    /// Takes in what has arrived.
    pub fn push(&mut self, bytes: &[u8]) {
        self.bytes.drain(..self.begun);
        self.begun = 0;
        self.bytes.extend_from_slice(bytes);
    }

    /// The next whole message; `None` until more has arrived. After an error the
    /// stream is of no more use.
    pub fn next_message(&mut self) -> Result<Option<SessionMessage>, DecodeError> {
        let rest = &self.bytes[self.begun..];
        let Some((length, rest)) = rest.split_first_chunk::<4>() else {
            return Ok(None);
        };
        let length = u32::from_le_bytes(*length) as usize;
        if length > SESSION_MESSAGE_BYTES_MAX {
            return Err(DecodeError::TooLong {
                found: length,
                limit: SESSION_MESSAGE_BYTES_MAX,
            });
        }
        let Some(message) = rest.get(..length) else {
            return Ok(None);
        };
        let message = codec::from_bytes::<SESSION_MESSAGE_BYTES_MAX, _>(message)?;
        self.begun += 4 + length;
        if self.begun == self.bytes.len() {
            // A long message should not cost memory for ever.
            self.bytes = vec![];
            self.begun = 0;
        }
        Ok(Some(message))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_region_is_half_open_and_goes_where_its_entity_goes() {
        let fixed = Region::fixed(&[10, 20], &[12, 30]);
        assert!(fixed.holds(&[10, 20], None) && fixed.holds(&[11, 29], None));
        assert!(!fixed.holds(&[12, 20], None) && !fixed.holds(&[10, 30], None));
        let around = Region::around(EntityId::new(1, 1), &[5, 5]);
        assert!(around.holds(&[96, 104], Some(&[100, 100])));
        assert!(!around.holds(&[105, 100], Some(&[100, 100])));
        assert!(!around.holds(&[0, 0], Some(&[100, 100])));
    }
}
