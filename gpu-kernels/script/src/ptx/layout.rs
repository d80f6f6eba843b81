//! What the text must know of the device: the sizes and offsets of the structures that
//! kernels are given, and the numbers of the world that it is for.

use crate::interpreter::Space;

/// The device's structures and the world's numbers. All offsets are in bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layout {
    pub world: WorldFields,
    pub tick: TickFields,
    pub command: CommandFields,
    pub after: AfterFields,
    pub notification: NotificationFields,
    pub numbers: Numbers,
}

/// The first parameter: addresses of tables, state and scratch. Unless it says otherwise,
/// an address is that of 32-bit numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WorldFields {
    pub bytes: u32,
    /// By number of a command: where its commands begin in `group_order`. The next number's
    /// begin where they end.
    pub group_starts: u32,
    /// The commands to run, by their place in the tick.
    pub group_order: u32,
    /// [`CommandFields`] each.
    pub commands: u32,
    pub due_words: u32,
    /// By command, 0 until they are counted: updates, commands put off, notifications.
    pub update_counts: u32,
    pub after_counts: u32,
    pub notification_counts: u32,
    pub verdicts: u32,
    /// By command: where its effects begin; [`NOWHERE`] for those that are not stored.
    pub update_offsets: u32,
    pub after_offsets: u32,
    pub notification_offsets: u32,
    pub keys: u32,
    pub values: u32,
    /// By slot and column, 64 bits each: see [`Numbers::has_causes`].
    pub first_updates: u32,
    /// [`AfterFields`] each.
    pub after_records: u32,
    /// By slot and column.
    pub rows: u32,
    /// By slot.
    pub states: u32,
    pub generations: u32,
    pub slot_kinds: u32,
    /// By kind, 64 bits each.
    pub kind_columns: u32,
    /// One number of 64 bits.
    pub index_len: u32,
    /// By place in the index; keys have 64 bits.
    pub index_keys: u32,
    pub index_slots: u32,
    /// By axis, then place: as many as the capacity for each axis.
    pub index_positions: u32,
    /// By 2^[`Numbers::directory_shift`] buckets: where they begin in the index.
    pub directory: u32,
}

/// The second parameter.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TickFields {
    pub bytes: u32,
    pub number: u32,
    pub stamp: u32,
    /// The address of the frame's words.
    pub words: u32,
    /// The address of [`NotificationFields`] each.
    pub notifications: u32,
}

/// A command of the tick. All but `bytes` are the offsets of 32-bit numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CommandFields {
    pub bytes: u32,
    pub slot: u32,
    pub generation: u32,
    pub sequence: u32,
    /// Into the frame's words, or with the highest bit set into `due_words`.
    pub word_start: u32,
}

/// A command that is put off.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AfterFields {
    pub bytes: u32,
    pub ticks: u32,
    pub slot: u32,
    pub generation: u32,
    /// The command's number; how many words it has from bit 16 on.
    pub kind: u32,
    /// [`TIMED_WORDS_MAX`](crate::ir::TIMED_WORDS_MAX) words; 0 in place of those that it
    /// lacks.
    pub words: u32,
}

/// A notification.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NotificationFields {
    pub bytes: u32,
    pub slot: u32,
    pub generation: u32,
    /// 16 bits.
    pub kind: u32,
    /// 8 bits each.
    pub word_count: u32,
    pub has_area: u32,
    /// By axis: from the first to just before the second.
    pub low: u32,
    pub high: u32,
    /// As many as a notification can have; 0 in place of those that it lacks.
    pub words: u32,
}

/// What is constant for a world.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Numbers {
    pub seed: u64,
    pub space: Space,
    pub capacity: u32,
    pub columns: u32,
    /// By kind: the columns that it has, as bits.
    pub kind_columns: Vec<u64>,
    /// The edge of a bucket.
    pub bucket_edge: i32,
    /// On each axis.
    pub buckets: [u64; 3],
    /// Buckets of an entry of the directory, as a power of two.
    pub directory_shift: u32,
    /// The most commands that wait; 0: none are put off.
    pub timed_max: u32,
    /// The most notifications of a tick; 0: there are none.
    pub notifications_max: u32,
    /// Whether `first_updates` is kept: ~stamp, then the first command of the tick that
    /// updated an attribute.
    pub has_causes: bool,
    /// The state of a slot whose entity lives.
    pub live: u32,
    /// The verdict on a command that used up its budget.
    pub over_budget: u32,
}

/// In place of an offset: nothing is stored.
pub const NOWHERE: u32 = u32::MAX;
