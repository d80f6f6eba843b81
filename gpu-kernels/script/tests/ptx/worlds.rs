//! Worlds, as their numbers and an invented layout.

use script::interpreter::Space;
use script::ir::Budget;
use script::ptx::layout::{
    AfterFields, CommandFields, CounterFields, Layout, NotificationFields, Numbers, TickFields,
    WorldFields,
};

use crate::programs::Shape;

pub fn shape(layout: &Layout) -> Shape {
    Shape {
        columns: layout.numbers.columns as u16,
        dimensions: layout.numbers.space.dimensions,
        kinds: layout.numbers.kind_columns.len() as u16,
        rankings: layout.numbers.rankings.len() as u16,
        words: 3,
        commands: 9,
        notifications: 4,
        is_wild: false,
        is_atomic: false,
    }
}

/// A layout with invented offsets.
pub fn layout(number: u64) -> Layout {
    let mut last = 0;
    let mut pointer = |_: &str| {
        last += 8;
        last
    };
    let world = WorldFields::new(512, &mut pointer);
    let counters = CounterFields::new(1024, &mut pointer);
    Layout {
        world,
        tick: TickFields::new(512, pointer),
        counters,
        command: CommandFields {
            bytes: 20,
            slot: 0,
            generation: 4,
            sequence: 8,
            word_start: 12,
            kind: 16,
        },
        after: AfterFields {
            bytes: 36,
            ticks: 0,
            slot: 4,
            generation: 8,
            kind: 12,
            words: 16,
        },
        notification: NotificationFields {
            bytes: 68,
            slot: 0,
            generation: 4,
            kind: 8,
            word_count: 10,
            has_area: 11,
            low: 12,
            high: 24,
            words: 36,
        },
        numbers: numbers(number),
    }
}

/// Even numbers give flat worlds, odd ones deep worlds.
pub fn numbers(number: u64) -> Numbers {
    let is_deep = number % 2 == 1;
    let kinds = [2, 40][(number / 4 % 2) as usize];
    let columns = [7, 131][(number / 32 % 2) as usize];
    let kind = |kind: usize| {
        let has = |column: &usize| (kind % 8) >> (column % 3) & 1 == 1;
        (0..3)
            .chain((3..columns as usize - 1).filter(has))
            .collect()
    };
    Numbers {
        seed: 0x0123_4567_89ab_cdef ^ number,
        space: Space {
            dimensions: if is_deep { 3 } else { 2 },
            size: [1 << 22, 1 << 21, if is_deep { 1 << 20 } else { 1 }],
            budget: Budget::default(),
        },
        capacity: 1 << 20,
        layer_words: [64, 0][(number / 2 % 2) as usize],
        field_words: [0, 48][(number % 2) as usize],
        columns,
        rankings: vec![0, 1],
        // Positions are everywhere, the last column nowhere.
        kind_columns: (0..kinds).map(kind).collect(),
        rewind_ticks: [5, 0][(number / 2 % 2) as usize],
        bucket_edge: 20 << 12,
        buckets: [52, 26, if is_deep { 13 } else { 1 }],
        directory_shift: (number / 2 % 3) as u32,
        timed_max: [1000, 0][(number / 8 % 2) as usize],
        notifications_max: [1000, 0][(number / 16 % 2) as usize],
        has_causes: !number.is_multiple_of(3),
        live: 1,
        over_budget: 0x102,
        refused: 0x106,
        moved: 0x107,
        idle: 0x105,
        atomic_max: 1000,
    }
}
