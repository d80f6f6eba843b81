//! Named buffers of one device allocation.

use std::ops::Range;

/// A buffer that a plan places.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Buffer {
    /// Unique within its group.
    pub name: &'static str,
    pub bytes: u64,
    /// The initial value of all its bytes; `None` if it is written before it is read.
    pub fill: Option<u8>,
}

/// The place of each buffer in an allocation, in the order in which they were added.
#[derive(Clone, Debug, Default)]
pub struct Plan {
    buffers: Vec<(Buffer, u64)>,
    bytes: u64,
}

/// Buffers that were added together, usually those of one structure.
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

    /// Adds one buffer, and returns its start in the allocation.
    pub fn add_bytes(&mut self, name: &'static str, bytes: u64) -> u64 {
        let start = self.bytes;
        let fill = None;
        self.add([Buffer { name, bytes, fill }]);
        start
    }

    /// The size of the allocation in bytes.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Each buffer, with its start in the allocation.
    pub fn buffers(&self) -> impl Iterator<Item = (Buffer, u64)> + '_ {
        self.buffers.iter().copied()
    }

    /// The address of each buffer of a group by its name, in an allocation at `base`. The
    /// result is the argument of a [`device_struct!`](crate::device_struct)'s `place`.
    pub fn places(&self, base: u64, group: &Group) -> impl Fn(&str) -> u64 + '_ {
        let buffers = &self.buffers[group.0.clone()];
        move |name| {
            let found = buffers.iter().find(|(buffer, _)| buffer.name == name);
            let (_, start) = found.expect("a structure is placed by the plan of its own buffers");
            base + start
        }
    }
}

/// Alignment in bytes: the driver's for allocations, so that any type may begin there.
pub const ALIGNMENT: u64 = 256;
