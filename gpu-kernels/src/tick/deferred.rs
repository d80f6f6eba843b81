//! Atomic commands that wait for the next tick: those beyond `limits.atomic_per_tick`, and those
//! whose references had changed by their turn. They run there before all others, in their order.

use serde::{Deserialize, Serialize};
use shared::EntityId;
use shared::world::command::WAITING_WORDS_MAX;
use shared::world::mix::mix;

/// An atomic command that was judged, and waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeferredCommand {
    pub entity: EntityId,
    /// The number of a [`CommandKind`](shared::CommandKind).
    pub kind: u16,
    pub word_count: u16,
    /// As in the tick in which it was given.
    pub sequence: u32,
    /// Whether a frame gave it: then its client learns what becomes of it.
    pub is_given: bool,
    /// Whether a reference had changed: it does not wait for that a second time.
    pub has_moved: bool,
    /// 0 from `word_count` on.
    pub words: [i32; WAITING_WORDS_MAX],
}

impl DeferredCommand {
    /// The words in use.
    pub fn words(&self) -> &[i32] {
        &self.words[..usize::from(self.word_count)]
    }

    /// Its element of the state hash, by its place in the order.
    pub fn element(&self, place: usize) -> u64 {
        let [a, b, c, d, e] = self.words.map(|word| u64::from(word as u32));
        let flags = u64::from(self.is_given) | u64::from(self.has_moved) << 1;
        let form = u64::from(self.kind) | u64::from(self.word_count) << 16;
        let mut element = mix(16 << 56 | place as u64, self.entity.to_bits());
        for part in [
            form | u64::from(self.sequence) << 32,
            flags | a << 32,
            b | c << 32,
            d | e << 32,
        ] {
            element = mix(element, part);
        }
        element
    }
}
