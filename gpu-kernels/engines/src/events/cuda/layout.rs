//! What the kernels of timed events are given, declared once:
//! `kernels/events_layout.cuh` is written from here.

use device::layout::{Field, Header};
use device::{Pointer, UInt2};

use crate::events::NEVER;

/// CUDA's `uint4`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C, align(16))]
pub struct UInt4 {
    pub x: u32,
    pub y: u32,
    pub z: u32,
    pub w: u32,
}

device::plain!(UInt4 {
    x: u32,
    y: u32,
    z: u32,
    w: u32,
});

impl Field for UInt4 {
    fn declare(name: &str) -> String {
        format!("uint4 {name}")
    }
}

device::device_struct! {
    /// How far a run is.
    pub struct EventControl {
        /// The least times of events, used by turns: this window's, the next one's, and
        /// one that is made ready.
        least: [u32; 3];
        turn: u32;
        /// Selected events, by turns.
        selected: [u32; 3];
        /// Blocks that have left the launch.
        arrived: u32;
        barrier: u64;
        events: u64;
        windows: u64;
        sums: [u64; 2];
        /// Clock cycles of block 0 in the steps of windows: selection, departures,
        /// arrivals, each with the wait at its end.
        cycles: [u64; 3];
    }
}

impl EventControl {
    /// A run whose first event is at `least`.
    pub fn starting_at(least: u32) -> EventControl {
        EventControl {
            least: [least, NEVER, NEVER],
            ..EventControl::default()
        }
    }

    /// The time of the earliest event that is still to come.
    pub fn least(&self) -> u32 {
        self.least[self.turn as usize]
    }
}

device::device_struct! {
    /// A facility of a torus network: one sector of memory, since random accesses to
    /// sectors are what a window's time goes to.
    pub struct FacilityRecord align(32) {
        free_at: u32;
        services: u32;
        /// By channel, which brings at most one token a window: the stamp of the window
        /// in which it did, so that slots need no clearing after it.
        stamps: [u16; 4];
        tokens: [u32; 4];
    }
}

device::device_struct! {
    /// A run of a torus network.
    pub struct TorusRun(s: TorusSizes) {
        seed: u64;
        side: u32;
        facilities: u32;
        tokens: u32;
        lookahead: u32;
        /// The mean of the part of a service that is drawn.
        mean: u32;
        until: u32;
        windows_max: u32;
        /// Tokens of a block, a multiple of 4.
        chunk: u32;
        /// By token: its next arrival.
        times: Pointer<u32> = s.tokens.next_multiple_of(4);
        /// By token: the facility × 4 + the channel of that arrival.
        places: Pointer<u32> = s.tokens.next_multiple_of(4);
        records: Pointer<FacilityRecord> = s.facilities;
        /// Places of the selected tokens; each block has its own range, or all have one.
        list: Pointer<u32> = s.tokens + 4 * u64::from(BLOCKS_MAX);
        /// By block: how many it has selected.
        partials: Pointer<u32> = u64::from(BLOCKS_MAX);
        control: Pointer<EventControl> = 1;
    }
}

/// The sizes of a torus network.
#[derive(Clone, Copy, Debug)]
pub struct TorusSizes {
    pub facilities: u64,
    pub tokens: u64,
}

device::device_struct! {
    /// A run of PHOLD.
    pub struct PholdRun(s: PholdSizes) {
        seed: u64;
        processes: u32;
        events: u32;
        lookahead: u32;
        /// The mean of the part of a delay that is drawn.
        mean: u32;
        remote_per_million: u32;
        until: u32;
        /// Bits of a sort key below the target.
        time_bits: u32;
        padding: u32;
        /// By event.
        times: Pointer<u32> = s.events;
        /// By event: source, number, target.
        bodies: Pointer<UInt4> = s.events;
        /// By process: events caused, clock.
        states: Pointer<UInt2> = s.processes;
        /// The window's events, to be sorted: one half of the next four.
        keys: Pointer<u64>;
        values: Pointer<u32>;
        sorted_keys: Pointer<u64> = s.events;
        sorted_keys_spare: Pointer<u64> = s.events;
        sorted_values: Pointer<u32> = s.events;
        sorted_values_spare: Pointer<u32> = s.events;
        /// Events of the window, by turns.
        counts: Pointer<u64> = TURNS;
        control: Pointer<EventControl> = 1;
    }
}

/// The sizes of PHOLD.
#[derive(Clone, Copy, Debug)]
pub struct PholdSizes {
    pub processes: u64,
    pub events: u64,
}

/// The text of `kernels/events_layout.cuh`.
pub fn header() -> String {
    Header::new("What the kernels of timed events are given.")
        .constant("NEVER", NEVER)
        .structure::<EventControl>()
        .structure::<FacilityRecord>()
        .structure::<TorusRun>()
        .structure::<PholdRun>()
        .finish("EVENTS_LAYOUT_HASH")
}

/// The hash that the kernels must carry.
pub fn hash() -> u64 {
    Header::hash(&header())
}

/// Blocks of a launch of the torus, whose ranges of tokens are rounded up to 4 each.
pub const BLOCKS_MAX: u32 = 4096;
/// What windows use by turns.
pub const TURNS: u64 = 3;
