use std::collections::HashMap;

use device::cpu::grow;
use script::ir::WRITES_MAX;

/// What was in the rows before each write of the runs that have an effect: (slot × columns +
/// column, the value's bits).
#[derive(Default)]
pub struct Log {
    /// With room for the writes of one more run.
    entries: Vec<(u32, u32)>,
    len: usize,
    /// By command that ran: its place, and the end of its entries.
    ends: Vec<(u32, u32)>,
    /// By entry: its key and its place, to be sorted.
    places: Vec<(u32, u32)>,
}

impl Log {
    pub fn clear(&mut self) {
        self.len = 0;
        self.ends.clear();
        self.places.clear();
    }

    /// Where a run writes its entries.
    #[inline]
    pub fn room(&mut self) -> &mut [(u32, u32)] {
        let end = self.len + WRITES_MAX;
        if self.entries.len() < end {
            let twice = 2 * self.entries.len();
            grow(&mut self.entries, end.max(twice));
        }
        &mut self.entries[self.len..end]
    }

    /// Keeps the first entries of the room.
    #[inline]
    pub fn keep(&mut self, entries: usize) {
        self.len += entries;
    }

    /// The command at a place has written all.
    #[inline]
    pub fn end_command(&mut self, place: u32) {
        self.ends.push((place, self.len as u32));
    }

    /// The entries' keys with their places, to be sorted by key. The sorter may swap the buffer.
    pub fn places(&mut self) -> &mut Vec<(u32, u32)> {
        let entries = self.entries[..self.len].iter();
        self.places.clear();
        self.places
            .extend(entries.zip(0..).map(|(entry, place)| (entry.0, place)));
        &mut self.places
    }

    /// The sorted entries, and the log that they are of.
    pub fn sorted(&self) -> (&[(u32, u32)], &Log) {
        (&self.places[..self.len], self)
    }

    /// The value before the write at a place.
    pub fn before(&self, place: u32) -> i32 {
        self.entries[place as usize].1 as i32
    }

    /// The place of the command whose write is at a place.
    pub fn command(&self, place: u32) -> u32 {
        let at = self.ends.partition_point(|&(_, end)| end <= place);
        self.ends[at].0
    }

    /// All writes in order: the place of the command, the key, and the value that was written.
    pub fn writes(&self, rows: &[i32]) -> Vec<(u32, (u32, u32))> {
        let mut after: HashMap<u32, u32> = HashMap::new();
        let entries = self.entries[..self.len].iter().enumerate().rev();
        let mut writes: Vec<_> = entries
            .map(|(place, &(key, before))| {
                let written = after.insert(key, before);
                let written = written.unwrap_or(rows[key as usize] as u32);
                (self.command(place as u32), (key, written))
            })
            .collect();
        writes.reverse();
        writes
    }
}
