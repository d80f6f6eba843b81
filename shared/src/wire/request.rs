//! Requests of a client's stream, and the answers.
//!
//! Behind the hello, the client's stream carries requests: each is its length (4
//! bytes, little-endian), then a [`Request`] as [`codec`] writes it. The server answers
//! each request once, in their order, by a [`Message::Answer`](super::stream::Message)
//! in the frame of the tick in which it takes effect. A request that can't be read ends
//! the session; one that is not granted is answered with the reason.

use serde::{Deserialize, Serialize};

use super::talk::TalkRequest;
use super::{DecodeError, codec};
use crate::world::id::EntityId;
use crate::world::talk::Text;
use crate::world::words::TextHandle;

/// The most bytes of a request: room for the longest predicate and the other fields.
pub const REQUEST_BYTES_MAX: usize = 16 * 1024 + 64;
/// The most bytes of the reason in an answer. Longer ones are cut.
pub const ANSWER_BYTES_MAX: usize = 512;
/// The most texts that a request asks for.
pub const TEXTS_MAX: usize = 32;

/// One request of a client.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Request {
    /// A number that the client chooses; the answer repeats it.
    pub number: u32,
    pub body: RequestBody,
}

/// The wish of a request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum RequestBody {
    /// Adds all entities in a region to the client's view; `None` removes the region. `index`
    /// is below the world's `limits.regions_per_client`.
    SetRegion { index: u32, region: Option<Region> },
    /// Subscribes to the changes and notifications that satisfy a predicate, wherever
    /// they happen. The client chooses the `id`.
    Subscribe { id: u32, predicate: String },
    /// Ends the subscription of this `id`.
    Unsubscribe { id: u32 },
    /// Sees only this far, in raw units: at most the radius of the area of interest. `None`:
    /// as far as that.
    SetSight { radius: Option<i32> },
    /// Moves the point that a spectator watches towards another, in raw units. Axes that the
    /// world lacks are ignored.
    Watch { point: [i32; 3] },
    /// Sends chat, or joins or leaves a channel.
    Talk(TalkRequest),
    /// Asks for the content of the layer with this hash, which comes once in a session, in messages
    /// of the stream. It has no answer; one for another hash is ignored.
    Layer { hash: u64 },
    /// Asks for a ranking of the welcome from now on: its first so many entities, and the place of
    /// the client's own one, in messages of the stream whenever they have changed; 0: no longer. It has
    /// no answer; one for another number is ignored.
    Ranking { number: u32, length: u32 },
    /// Makes a text of the world of this one, for commands of the client: it is granted by a
    /// [`Message::Texts`](super::stream::Message) with its handle, in place of an answer. A client
    /// may use the handle for some time.
    Text { text: String },
    /// Asks for the texts of handles, at most [`TEXTS_MAX`]. It is granted in the same way.
    TextsOf { handles: Vec<TextHandle> },
}

/// A text of the world.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GivenText {
    pub handle: TextHandle,
    /// `None`: the world has no such text any more.
    pub text: Option<Text>,
}

/// A box `low..high` in raw units, half-open: boxes that only touch don't overlap. Axes
/// that the world lacks are ignored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Region {
    pub low: [i32; 3],
    pub high: [i32; 3],
    /// The entity whose position the box is relative to; without it, the box is fixed.
    /// While that entity is dead, the region is nowhere.
    pub follows: Option<EntityId>,
}

impl Region {
    /// A fixed box from one corner to another. Each corner has one number an axis, in
    /// raw units.
    pub fn fixed(low: &[i32], high: &[i32]) -> Region {
        Region {
            low: corner(low, 0),
            high: corner(high, 1),
            follows: None,
        }
    }

    /// A box that follows an entity and reaches this far along each axis, both ways, in
    /// raw units.
    pub fn around(entity: EntityId, reach: &[i32]) -> Region {
        let low: Vec<i32> = reach.iter().map(|r| r.saturating_neg()).collect();
        Region {
            follows: Some(entity),
            ..Region::fixed(&low, reach)
        }
    }

    /// Whether a position is in the box. `followed` is the position of the entity that
    /// the box follows.
    pub fn holds(&self, position: &[i32], followed: Option<&[i32]>) -> bool {
        position.iter().enumerate().all(|(axis, &position)| {
            let at = followed.map_or(0, |followed| i64::from(followed[axis]));
            let inside = i64::from(self.low[axis]) + at..i64::from(self.high[axis]) + at;
            inside.contains(&i64::from(position))
        })
    }
}

fn corner(numbers: &[i32], otherwise: i32) -> [i32; 3] {
    std::array::from_fn(|axis| numbers.get(axis).copied().unwrap_or(otherwise))
}

/// The reply to one request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// The number of the request.
    pub request: u32,
    /// Whether the request is granted; if not, a sentence for people with the reason, at
    /// most [`ANSWER_BYTES_MAX`] long.
    pub result: Result<(), String>,
}

impl Request {
    /// Appends the request with its length to `out`.
    pub fn encode(&self, out: &mut Vec<u8>) {
        let bytes = codec::to_bytes(self);
        // A reader rejects a longer one.
        let length = u32::try_from(bytes.len()).unwrap_or(u32::MAX);
        out.extend_from_slice(&length.to_le_bytes());
        out.extend_from_slice(&bytes);
    }
}

/// Reads requests from a stream's bytes, which may arrive in any pieces.
#[derive(Debug, Default)]
pub struct RequestReader {
    /// At most one request's bytes, and the rest of the piece that had its last ones.
    bytes: Vec<u8>,
    /// Where the next request begins.
    begun: usize,
}

impl RequestReader {
    /// Adds bytes that have arrived.
    pub fn push(&mut self, bytes: &[u8]) {
        self.bytes.drain(..self.begun);
        self.begun = 0;
        self.bytes.extend_from_slice(bytes);
    }

    /// The next whole request; `None` until more bytes have arrived. After an error the
    /// stream can't be read any further.
    pub fn next_request(&mut self) -> Result<Option<Request>, DecodeError> {
        let rest = &self.bytes[self.begun..];
        let Some((length, rest)) = rest.split_first_chunk::<4>() else {
            return Ok(None);
        };
        let length = u32::from_le_bytes(*length) as usize;
        if length > REQUEST_BYTES_MAX {
            return Err(DecodeError::TooLong {
                found: length,
                limit: REQUEST_BYTES_MAX,
            });
        }
        let Some(bytes) = rest.get(..length) else {
            return Ok(None);
        };
        let request = codec::from_wire::<REQUEST_BYTES_MAX, _>(bytes)?;
        self.begun += 4 + length;
        if self.begun == self.bytes.len() {
            // Give the memory of a long request back.
            self.bytes = vec![];
            self.begun = 0;
        }
        Ok(Some(request))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_region_is_half_open_and_follows_its_entity() {
        let fixed = Region::fixed(&[10, 20], &[12, 30]);
        assert!(fixed.holds(&[10, 20], None) && fixed.holds(&[11, 29], None));
        assert!(!fixed.holds(&[12, 20], None) && !fixed.holds(&[10, 30], None));
        let around = Region::around(EntityId::new(1, 1), &[5, 5]);
        assert!(around.holds(&[96, 104], Some(&[100, 100])));
        assert!(!around.holds(&[105, 100], Some(&[100, 100])));
        assert!(!around.holds(&[0, 0], Some(&[100, 100])));
    }
}
