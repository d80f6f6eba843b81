use device::cpu::grow;

/// (slot × columns + column, the value's bits).
pub type Pair = (u32, u32);

/// The updates of some commands, up to a number. From the first command whose updates would
/// exceed it, no more are kept.
#[derive(Default)]
pub struct Pairs {
    /// With room for more.
    room: Vec<Pair>,
    len: usize,
    most: usize,
    is_full: bool,
}

impl Pairs {
    pub fn clear(&mut self, most: usize) {
        (self.len, self.most, self.is_full) = (0, most, false);
    }

    pub fn as_slice(&self) -> &[Pair] {
        &self.room[..self.len]
    }

    /// Whether the updates of a command are missing.
    pub fn is_full(&self) -> bool {
        self.is_full
    }

    /// Where a command writes its updates.
    #[inline]
    pub fn room(&mut self) -> &mut [Pair] {
        match self.is_full {
            true => &mut [],
            false => &mut self.room[self.len..],
        }
    }

    /// Takes over the `n` updates of a command, which it wrote as far as there was room.
    /// `false`: there is more room now, and it is to write them again.
    #[inline]
    pub fn keep(&mut self, n: usize) -> bool {
        let end = self.len + n;
        if self.is_full || end > self.most {
            self.is_full = true;
            return true;
        }
        if end > self.room.len() {
            let twice = self.most.min(2 * self.room.len());
            grow(&mut self.room, end.max(twice));
            return false;
        }
        self.len = end;
        true
    }
}
