/// Sets of slots with tiers, one for each client, all with the same capacity. Each is a word:
/// the tier in the lowest bits, so that words ascend as slots do.
pub struct Views {
    pub slots: Vec<u32>,
    pub counts: Vec<u32>,
    stride: usize,
}

impl Views {
    pub fn new(clients: usize, stride: usize) -> Views {
        Views {
            slots: vec![0; clients * stride],
            counts: vec![0; clients],
            stride,
        }
    }

    pub fn of(&self, client: usize) -> &[u32] {
        &self.slots[client * self.stride..][..self.counts[client] as usize]
    }

    pub fn set(&mut self, client: usize, words: &[u32]) {
        self.slots[client * self.stride..][..words.len()].copy_from_slice(words);
        self.counts[client] = words.len() as u32;
    }

    /// Sets slots whose tiers are not known.
    pub fn set_slots(&mut self, client: usize, slots: &[u32]) {
        let words: Vec<u32> = slots.iter().map(|&slot| word(slot, 0)).collect();
        self.set(client, &words);
    }
}

impl Default for Views {
    fn default() -> Views {
        Views::new(0, 0)
    }
}

pub fn word(slot: u32, tier: u32) -> u32 {
    slot << TIER_BITS | tier
}

pub fn slot_of(word: u32) -> u32 {
    word >> TIER_BITS
}

pub fn tier_of(word: u32) -> u32 {
    word & ((1 << TIER_BITS) - 1)
}

const TIER_BITS: u32 = 2;
