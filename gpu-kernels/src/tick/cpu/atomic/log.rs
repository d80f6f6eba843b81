use std::collections::HashMap;

use device::cpu::grow;
use script::ir::WRITES_MAX;

use super::written::Written;
use crate::tick::cpu::left::Left;

/// What was in the rows before each write of the runs that have an effect: (slot × columns +
/// column, the value's bits).
#[derive(Default)]
pub struct Log {
    /// With room for the writes of one more run.
    entries: Vec<(u32, u32)>,
    len: usize,
    /// By command that ran: its place, and the end of its entries.
    ends: Vec<(u32, u32)>,
    /// By key that was written, in order: what was there first, and the command that wrote last.
    spans: Vec<(u32, u32)>,
}

impl Log {
    pub fn clear(&mut self) {
        self.len = 0;
        self.ends.clear();
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

    /// The attributes that are left with another value than before all writes, by key.
    pub fn left(&mut self, rows: &[i32], written: &mut Written, left: &mut Vec<Left>) {
        let keys = self.entries[..self.len].iter().map(|&(key, _)| key);
        let count = written.collect(rows.len(), keys);
        self.spans.clear();
        self.spans.resize(count, (0, NO_COMMAND));
        let mut end = self.len;
        for (i, &(command, _)) in self.ends.iter().enumerate().rev() {
            let begin = match i {
                0 => 0,
                i => self.ends[i - 1].1 as usize,
            };
            // Backwards: the first of a key is its last write, and the last one its first.
            for &(key, before) in self.entries[begin..end].iter().rev() {
                let (first, last) = &mut self.spans[written.rank(key)];
                *first = before;
                if *last == NO_COMMAND {
                    *last = command;
                }
            }
            end = begin;
        }
        left.clear();
        let mut spans = self.spans.iter();
        written.drain(|key| {
            let now = rows[key as usize];
            if let Some(&(before, command)) = spans.next()
                && now != before as i32
            {
                left.push(Left {
                    key,
                    before: before as i32,
                    now,
                    command,
                });
            }
        });
    }

    /// The place of the command whose write is at a place.
    fn command(&self, place: u32) -> u32 {
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

/// The place of no command.
const NO_COMMAND: u32 = u32::MAX;
