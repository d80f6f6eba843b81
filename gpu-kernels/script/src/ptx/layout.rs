//! What the text must know of the device: the sizes and offsets of the structures that
//! kernels are given, and the numbers of the world that it is for.

use shared::world::columns::Columns;

use crate::interpreter::Space;

/// The device's structures and the world's numbers. All offsets are in bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layout {
    pub world: WorldFields,
    pub tick: TickFields,
    pub counters: CounterFields,
    pub command: CommandFields,
    pub after: AfterFields,
    pub notification: NotificationFields,
    pub numbers: Numbers,
}

/// A structure of the device: offsets by name.
macro_rules! fields {
    ($(
        $(#[$docs:meta])*
        pub struct $name:ident { $( $(#[$field_docs:meta])* $field:ident, )* }
    )*) => { $(
        $(#[$docs])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub struct $name {
            pub bytes: u32,
            $( $(#[$field_docs])* pub $field: u32, )*
        }

        impl $name {
            /// Of a structure with so many bytes, and fields with the same names, whose
            /// offsets `offset` gives.
            pub fn new(bytes: u32, mut offset: impl FnMut(&str) -> u32) -> $name {
                $name {
                    bytes,
                    $( $field: offset(stringify!($field)), )*
                }
            }
        }
    )* };
}

fields! {
    /// The first parameter: addresses of tables, state and scratch. Unless it says otherwise,
    /// an address is that of 32-bit numbers.
    pub struct WorldFields {
        /// By number of a command: where its commands begin in `group_order`. The next
        /// number's begin where they end.
        group_starts,
        /// The commands to run, by their place in the tick.
        group_order,
        /// [`CommandFields`] each.
        commands,
        due_words,
        /// By command, 0 until they are counted: updates, scheduled commands, notifications.
        update_counts,
        after_counts,
        notification_counts,
        verdicts,
        /// By command that can say why it has no effect: the number of the reason, plus 1, or 0.
        reasons,
        /// By command: where its effects begin; [`NOWHERE`] for those that are not stored.
        update_offsets,
        after_offsets,
        notification_offsets,
        keys,
        values,
        /// By slot and column, 64 bits each: see [`Numbers::has_causes`].
        first_updates,
        /// [`AfterFields`] each.
        after_records,
        /// By slot and column.
        rows,
        /// By slot.
        states,
        generations,
        slot_kinds,
        /// By place in the ring of the ticks that are kept, slot and axis: a coordinate plus 1,
        /// or 0.
        past,
        /// The words of the world's layers.
        layers,
        /// The words of the world's fields.
        fields,
        /// By kind, and at last: where its living entities begin in `census_slots`.
        census_starts,
        census_slots,
        /// By relation, then by slot, and at last: where the things of a holder, or the members of a
        /// group, begin among those of the relation in `held_slots`.
        held_starts,
        held_slots,
        /// By ranking and place: the slot; by ranking and slot: the place, from 1 on, of entities of
        /// the ranking's kind.
        standing_slots,
        standing_ranks,
        /// By kind: 64 bits for each 64 columns.
        kind_columns,
        /// One number of 64 bits.
        index_len,
        /// By place in the index; keys have 64 bits.
        index_keys,
        index_slots,
        /// By axis, then place: as many as the capacity for each axis.
        index_positions,
        /// By 2^[`Numbers::directory_shift`] buckets: where they begin in the index.
        directory,
        /// By kind and column: the least and the greatest value.
        bounds,
        /// By turn of an atomic command: its place in the tick, and what becomes of it.
        atomic_places,
        atomic_verdicts,
        /// By turn, then key: its slot, or that of nobody; and the turn after it in the queue of
        /// that entity, or that of nobody.
        atomic_slots,
        atomic_next,
        /// By turn: how many of its keys wait for commands before.
        atomic_waits,
        /// Turns that can run, as they come to that; all bits set in places that are free.
        atomic_queue,
        /// By turn: its timed commands and notifications, and their numbers.
        atomic_afters,
        atomic_after_counts,
        atomic_notifications,
        atomic_notification_counts,
        /// By slot and column: the place of the last atomic command that wrote it.
        atomic_writers,
    }

    /// The second parameter.
    pub struct TickFields {
        number,
        /// The place in the ring for this tick's positions.
        past_next,
        stamp,
        /// The address of the frame's words.
        words,
        /// The address of [`NotificationFields`] each.
        notifications,
        /// The address of [`CounterFields`].
        counters,
    }

    /// Counters of the tick. The fields have 64 bits, of which the lower 32 count.
    pub struct CounterFields {
        /// Atomic commands that ask for a turn.
        atomic_asked,
        /// Of the queue: how many turns are in it; how many of these threads take by their
        /// number, and how many of the others are taken; how many have ended.
        atomic_tail,
        atomic_first,
        atomic_head,
        atomic_done,
        /// Not 0 if a worker has given up.
        atomic_stuck,
        /// By number of a command, 32 bits each: runs with an index that was none that there is.
        out_of_range_of,
    }

    /// A command of the tick. The fields have 32 bits.
    pub struct CommandFields {
        slot,
        generation,
        sequence,
        /// Into the frame's words, or with the highest bit set into `due_words`.
        word_start,
        /// 16 bits.
        kind,
    }

    /// A scheduled command. The fields have 32 bits.
    pub struct AfterFields {
        ticks,
        slot,
        generation,
        /// The command's number; how many words it has from bit 16 on.
        kind,
        /// [`TIMED_WORDS_MAX`](crate::ir::TIMED_WORDS_MAX) words; 0 in place of those that it
        /// lacks.
        words,
    }

    /// A notification.
    pub struct NotificationFields {
        slot,
        generation,
        /// 16 bits.
        kind,
        /// 8 bits.
        word_count,
        /// 8 bits.
        has_area,
        /// By axis: from the first to just before the second.
        low,
        high,
        /// As many as a notification can have; those that it lacks are not stored.
        words,
    }
}

/// What is constant for a world.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Numbers {
    pub seed: u64,
    pub space: Space,
    pub capacity: u32,
    /// Words of layers.
    pub layer_words: u32,
    /// Words of fields.
    pub field_words: u32,
    pub columns: u32,
    /// By ranking: the kind of its entities.
    pub rankings: Vec<u16>,
    /// By kind: the columns that it has.
    pub kind_columns: Vec<Columns>,
    /// For how many ticks positions are kept; 0: for none.
    pub rewind_ticks: u32,
    /// The edge of a bucket.
    pub bucket_edge: i32,
    /// On each axis.
    pub buckets: [u64; 3],
    /// Buckets of an entry of the directory, as a power of two.
    pub directory_shift: u32,
    /// The most commands that wait; 0: none are scheduled.
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
    /// Those on atomic commands of which a condition does not hold, that have to do with an entity
    /// that is no key of theirs, and that did nothing.
    pub refused: u32,
    pub moved: u32,
    pub idle: u32,
    /// The most atomic commands of a tick.
    pub atomic_max: u32,
}

/// In place of an offset: nothing is stored.
pub const NOWHERE: u32 = u32::MAX;
