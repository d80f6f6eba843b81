/// Sets of slots, one for each client, all with the same capacity.
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

    pub fn set(&mut self, client: usize, slots: &[u32]) {
        self.slots[client * self.stride..][..slots.len()].copy_from_slice(slots);
        self.counts[client] = slots.len() as u32;
    }
}

impl Default for Views {
    fn default() -> Views {
        Views::new(0, 0)
    }
}
