//! Named buffers of one device allocation.

use std::ops::Range;

/// A buffer that a plan places.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Buffer {
    /// Unique within its group.
    pub name: &'static str,
    pub bytes: u64,
    /// What all of its bytes are at the start; `None`: written before it is read.
    pub fill: Option<u8>,
}

/// Where each buffer lies in an allocation, in the order in which they were added.
#[derive(Clone, Debug, Default)]
pub struct Plan {
    buffers: Vec<(Buffer, u64)>,
    bytes: u64,
}

/// Buffers that were added together: those of one structure.
#[derive(Clone, Debug)]
pub struct Group(Range<usize>);

impl Plan {
    /// Adds buffers; each begins at a multiple of [`ALIGNMENT`].
    pub fn add(&mut self, buffers: impl IntoIterator<Item = Buffer>) -> Group {
        let start = self.buffers.len();
        for buffer in buffers {
            self.buffers.push((buffer, self.bytes));
            self.bytes += buffer.bytes.next_multiple_of(ALIGNMENT);
        }
        Group(start..self.buffers.len())
    }

    /// Adds one buffer, and gives where it begins in the allocation.
    pub fn add_bytes(&mut self, name: &'static str, bytes: u64) -> u64 {
        let start = self.bytes;
        let fill = None;
        self.add([Buffer { name, bytes, fill }]);
        start
    }

    /// Bytes of the allocation.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Each buffer, with where it begins in the allocation.
    pub fn buffers(&self) -> impl Iterator<Item = (Buffer, u64)> + '_ {
        self.buffers.iter().copied()
    }

    /// The address of each buffer of a group by its name, in an allocation at `base`:
    /// what a [`device_struct!`](crate::device_struct)'s `place` takes.
    pub fn places(&self, base: u64, group: &Group) -> impl Fn(&str) -> u64 + '_ {
        let buffers = &self.buffers[group.0.clone()];
        move |name| {
            let found = buffers.iter().find(|(buffer, _)| buffer.name == name);
            let (_, start) = found.expect("a structure is placed by the plan of its own buffers");
            base + start
        }
    }
}

/// Bytes: what the driver aligns allocations to, so that any type may begin there.
pub const ALIGNMENT: u64 = 256;
