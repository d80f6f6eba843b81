/// Sets of entities, one for each client, all with the same capacity. Each entity is a
/// [`word`], and words ascend as slots do.
#[derive(Default)]
pub struct Views {
    /// By client: `stride` places.
    pub words: Vec<u32>,
    pub counts: Vec<u32>,
    stride: usize,
}

impl Views {
    pub fn new(clients: usize, stride: usize) -> Views {
        Views {
            words: vec![0; clients * stride],
            counts: vec![0; clients],
            stride,
        }
    }

    pub fn of(&self, client: usize) -> &[u32] {
        &self.words[client * self.stride..][..self.counts[client] as usize]
    }

    pub fn set(&mut self, client: usize, words: impl ExactSizeIterator<Item = u32>) {
        self.counts[client] = words.len() as u32;
        let places = &mut self.words[client * self.stride..];
        for (place, word) in places.iter_mut().zip(words) {
            *place = word;
        }
    }
}

/// An entity in the first tier.
pub fn word(slot: u32, has_changed: bool) -> u32 {
    slot << SLOT_SHIFT | u32::from(has_changed) << TIER_BITS
}

pub fn slot_of(word: u32) -> u32 {
    word >> SLOT_SHIFT
}

pub fn has_changed(word: u32) -> bool {
    word >> TIER_BITS & 1 == 1
}

pub fn tier_of(word: u32) -> u32 {
    word & ((1 << TIER_BITS) - 1)
}

const TIER_BITS: u32 = 2;
const SLOT_SHIFT: u32 = TIER_BITS + 1;
