//! Entities and points, as the interpreter's world defines them.

use crate::ir::{Index, NOBODY, Point};

use super::layout::Layout;
use super::memory::{Presence, TICK, element, element_of, load, load_of_row, load_present, table};
use super::text::{Flag, Long, Text, Value, Word};

/// Sets a register to the slot of the living entity to which a reference refers.
pub fn resolve(text: &mut Text, layout: &Layout, to: Word, reference: Value) {
    let (world, numbers) = (&layout.world, &layout.numbers);
    let slot: Word = text.set("and.b32", format_args!("{reference}, 0xffffff"));
    let is_slot: Flag = text.set("setp.lt.u32", format_args!("{slot}, {}", numbers.capacity));
    let mut load = |field| {
        let address = element_of(text, field, slot, 4);
        load_present(text, Presence::If(is_slot), address, 0, 0)
    };
    let (state, generation) = (load(world.states), load(world.generations));
    let lives: Flag = text.set("setp.eq.u32", format_args!("{state}, {}", numbers.live));
    let low: Word = text.set("and.b32", format_args!("{generation}, 0xff"));
    let meant: Word = text.set("shr.u32", format_args!("{}, 24", reference.unsigned()));
    let is_meant: Flag = text.set("setp.eq.and.u32", format_args!("{low}, {meant}, {lives}"));
    text.put("selp.b32", to, format_args!("{slot}, {NOBODY}, {is_meant}"));
}

/// Sets a register to the reference to an entity that lives.
pub fn reference(text: &mut Text, layout: &Layout, to: Word, slot: Value, is: Presence) {
    let slot = text.in_register(slot);
    let address = element_of(text, layout.world.generations, slot, 4);
    let generation = load_present(text, is, address, 0, 0);
    let high: Word = text.set("shl.b32", format_args!("{generation}, 24"));
    let low: Word = text.set("and.b32", format_args!("{slot}, 0xffffff"));
    let reference: Word = text.set("or.b32", format_args!("{high}, {low}"));
    match is {
        Presence::Always => text.put("mov.b32", to, format_args!("{reference}")),
        Presence::Never => text.put("mov.b32", to, format_args!("-1")),
        Presence::If(flag) => text.put("selp.b32", to, format_args!("{reference}, -1, {flag}")),
    }
}

/// The kind of an entity; -1 for nobody.
pub fn kind(text: &mut Text, layout: &Layout, slot: Value, is: Presence) -> Value {
    let slot = text.in_register(slot);
    let address = element_of(text, layout.world.slot_kinds, slot, 4);
    load_present(text, is, address, 0, -1)
}

/// An attribute of an entity; 0 for nobody. Rows hold 0 where a kind lacks a column.
pub fn attribute(
    text: &mut Text,
    layout: &Layout,
    slot: Value,
    is: Presence,
    column: u16,
) -> Value {
    let slot = text.in_register(slot);
    let row_bytes = layout.numbers.columns * 4;
    let row = element_of(text, layout.world.rows, slot, row_bytes);
    load_of_row(text, is, row, i32::from(column) * 4, 0)
}

/// Like [`attribute`], of the column at an index.
pub fn attribute_at(
    text: &mut Text,
    layout: &Layout,
    slot: Value,
    is: Presence,
    (first, index): (u16, Index),
) -> Value {
    let slot = text.in_register(slot);
    let key = key(text, layout, slot, first, Some(index));
    let address = element_of(text, layout.world.rows, key, 4);
    load_of_row(text, is, address, 0, 0)
}

/// The number of an attribute of a slot: slot × columns + column.
pub fn key(
    text: &mut Text,
    layout: &Layout,
    slot: Word,
    column: u16,
    index: Option<Index>,
) -> Word {
    let columns = layout.numbers.columns;
    let Some(index) = index else {
        return text.set("mad.lo.u32", format_args!("{slot}, {columns}, {column}"));
    };
    let place = Value::from(index.place);
    let place: Word = text.set("max.s32", format_args!("{place}, 0"));
    let place: Word = text.set("min.s32", format_args!("{place}, {}", index.len - 1));
    let place: Word = text.set("add.u32", format_args!("{place}, {column}"));
    text.set("mad.lo.u32", format_args!("{slot}, {columns}, {place}"))
}

/// A coordinate of an entity after a tick; -1 for nobody, and where it was nowhere.
pub fn past(
    text: &mut Text,
    layout: &Layout,
    slot: Value,
    is: Presence,
    axis: u8,
    tick: Value,
) -> Value {
    let numbers = &layout.numbers;
    let kept = numbers.rewind_ticks;
    if kept == 0 || matches!(is, Presence::Never) {
        return Value::Const(-1);
    }
    let parameter = |text: &mut Text, field: u32| -> Word {
        text.set("ld.param.u32", format_args!("[{TICK}+{field}]"))
    };
    // The low bits come first.
    let now = parameter(text, layout.tick.number);
    let next = parameter(text, layout.tick.past_next);
    let back: Word = text.set("sub.s32", format_args!("{now}, {tick}"));
    let back: Word = text.set("max.s32", format_args!("{back}, 1"));
    let back: Word = text.set("min.u32", format_args!("{back}, {kept}"));
    let end: Word = text.set("add.u32", format_args!("{next}, {kept}"));
    let at: Word = text.set("sub.u32", format_args!("{end}, {back}"));
    let around: Word = text.set("sub.u32", format_args!("{at}, {kept}"));
    let is_over: Flag = text.set("setp.ge.u32", format_args!("{at}, {kept}"));
    let at: Word = text.set("selp.b32", format_args!("{around}, {at}, {is_over}"));
    let slot = text.in_register(slot);
    let at: Word = text.set(
        "mad.lo.u32",
        format_args!("{at}, {}, {slot}", numbers.capacity),
    );
    let bytes = numbers.space.dimensions as u32 * 4;
    let address = element_of(text, layout.world.past, at, bytes);
    let stored = load_present(text, is, address, i32::from(axis) * 4, 0);
    Value::Word(text.set("sub.s32", format_args!("{stored}, 1")))
}

/// A word of the world's layers; 0 where there is none.
pub fn layer(text: &mut Text, layout: &Layout, place: Value) -> Value {
    word_at(text, layout.world.layers, layout.numbers.layer_words, place)
}

/// A word of the world's fields; 0 where there is none.
pub fn field(text: &mut Text, layout: &Layout, place: Value) -> Value {
    word_at(text, layout.world.fields, layout.numbers.field_words, place)
}

/// A word of a table of so many, by its place; 0 where there is none.
fn word_at(text: &mut Text, table: u32, words: u32, place: Value) -> Value {
    if words == 0 {
        return Value::Const(0);
    }
    let place = text.in_register(place);
    let is_there: Flag = text.set("setp.lt.u32", format_args!("{place}, {words}"));
    let address = element_of(text, table, place, 4);
    load_present(text, Presence::If(is_there), address, 0, 0)
}

/// Where the living entities of a kind begin in the census, and how many there are.
fn range_of(text: &mut Text, layout: &Layout, kind: u16) -> (Word, Word) {
    let starts = table(text, layout.world.census_starts);
    let at = i32::from(kind) * 4;
    let (start, end) = (load(text, starts, at), load(text, starts, at + 4));
    let count = text.set("sub.u32", format_args!("{end}, {start}"));
    (start, count)
}

/// How many entities of a kind live.
pub fn count(text: &mut Text, layout: &Layout, kind: u16) -> Value {
    Value::Word(range_of(text, layout, kind).1)
}

/// The slot of a living entity of a kind by its place, or that of nobody.
pub fn nth(text: &mut Text, layout: &Layout, kind: u16, place: Value) -> Value {
    let (start, count) = range_of(text, layout, kind);
    let place = text.in_register(place);
    let is_there: Flag = text.set("setp.lt.u32", format_args!("{place}, {count}"));
    let at: Word = text.set("add.u32", format_args!("{start}, {place}"));
    let address = element_of(text, layout.world.census_slots, at, 4);
    load_present(text, Presence::If(is_there), address, 0, NOBODY)
}

/// The slot of a thing of a holder by its place, or of a member of a group, or that of nobody.
pub fn held(
    text: &mut Text,
    layout: &Layout,
    relation: u8,
    (holder, is): (Value, Presence),
    place: Value,
) -> Value {
    let holder = text.in_register(holder);
    let (relation, capacity) = (u32::from(relation), layout.numbers.capacity);
    let holder = offset(text, holder, relation * (capacity + 1));
    let starts = element_of(text, layout.world.held_starts, holder, 4);
    let start = load_present(text, is, starts, 0, 0);
    let end = load_present(text, is, starts, 4, 0);
    let count: Word = text.set("sub.u32", format_args!("{end}, {start}"));
    let place = text.in_register(place);
    let is_there: Flag = text.set("setp.lt.u32", format_args!("{place}, {count}"));
    let at: Word = text.set("add.u32", format_args!("{start}, {place}"));
    let at = offset(text, at, relation * capacity);
    let address = element_of(text, layout.world.held_slots, at, 4);
    load_present(text, Presence::If(is_there), address, 0, NOBODY)
}

/// A place among those of one relation, among those of all.
fn offset(text: &mut Text, place: Word, start: u32) -> Word {
    match start {
        0 => place,
        _ => text.set("add.u32", format_args!("{place}, {start}")),
    }
}

/// The place of an entity in a ranking, from 1 on; 0 if it is not of its kind.
pub fn rank(text: &mut Text, layout: &Layout, slot: Value, is: Presence, ranking: u16) -> Value {
    let own = layout.numbers.rankings[usize::from(ranking)];
    let kind = kind(text, layout, slot, is);
    let kind = text.in_register(kind);
    let has_one: Flag = text.set("setp.eq.s32", format_args!("{kind}, {own}"));
    let slot = text.in_register(slot);
    let address = in_ranking(text, layout, layout.world.standing_ranks, ranking, slot);
    load_present(text, Presence::If(has_one), address, 0, 0)
}

/// The slot of the entity at a place of a ranking, from 0 on, or that of nobody.
pub fn ranked(text: &mut Text, layout: &Layout, ranking: u16, place: Value) -> Value {
    let kind = layout.numbers.rankings[usize::from(ranking)];
    let (_, count) = range_of(text, layout, kind);
    let place = text.in_register(place);
    let is_there: Flag = text.set("setp.lt.u32", format_args!("{place}, {count}"));
    let address = in_ranking(text, layout, layout.world.standing_slots, ranking, place);
    load_present(text, Presence::If(is_there), address, 0, NOBODY)
}

/// The address of a ranking's element of a table of the world.
fn in_ranking(text: &mut Text, layout: &Layout, field: u32, ranking: u16, at: Word) -> Long {
    let address = element_of(text, field, at, 4);
    // Too far for the offset of a load.
    let start = u64::from(ranking) * u64::from(layout.numbers.capacity) * 4;
    text.set("add.u64", format_args!("{address}, {start}"))
}

/// Whether an entity is there, and its kind has a column.
pub fn has(text: &mut Text, layout: &Layout, slot: Value, is: Presence, column: u16) -> Presence {
    let kinds = &layout.numbers.kind_columns;
    let owners = kinds.iter().map(|columns| columns.has(column.into()));
    if let Presence::Never = is {
        return is;
    }
    if owners.clone().all(|has| has) {
        return is;
    }
    if !owners.clone().any(|has| has) {
        return Presence::Never;
    }
    let kind = kind(text, layout, slot, is);
    let kind = text.in_register(kind);
    let bit: Word = if kinds.len() <= 32 {
        let owners = owners.enumerate();
        let bits = owners.fold(0u32, |bits, (kind, has)| bits | u32::from(has) << kind);
        // Shifts by -1, the kind of nobody, give 0.
        text.set("shr.u32", format_args!("{bits}, {kind}"))
    } else {
        // Of nobody, that of the first kind: it is not asked for.
        let kind: Word = text.set("max.s32", format_args!("{kind}, 0"));
        let bytes = layout.numbers.columns.div_ceil(64) * 8;
        let address = element_of(text, layout.world.kind_columns, kind, bytes);
        let half = i32::from(column) / 32 * 4;
        let columns = load(text, address, half);
        text.set("shr.u32", format_args!("{columns}, {}", column % 32))
    };
    let bit: Word = text.set("and.b32", format_args!("{bit}, 1"));
    Presence::If(match is {
        Presence::If(flag) => text.set("setp.ne.and.u32", format_args!("{bit}, 0, {flag}")),
        _ => text.set("setp.ne.u32", format_args!("{bit}, 0")),
    })
}

/// The square of the distance of two points. Along each axis it is at most 2^31 - 1.
pub fn squared_distance(text: &mut Text, a: Point, b: Point) -> Long {
    let mut sum: Option<Long> = None;
    for (a, b) in a.into_iter().zip(b) {
        if a.constant().is_some() && a == b {
            continue;
        }
        let (a, b) = (Value::from(a), Value::from(b));
        // The difference as an unsigned number, which can't overflow.
        let high: Word = text.set("max.s32", format_args!("{a}, {b}"));
        let low: Word = text.set("min.s32", format_args!("{a}, {b}"));
        let apart: Word = text.set("sub.u32", format_args!("{high}, {low}"));
        let apart: Word = text.set("min.u32", format_args!("{apart}, {}", i32::MAX));
        sum = Some(match sum {
            None => text.set("mul.wide.u32", format_args!("{apart}, {apart}")),
            Some(sum) => text.set("mad.wide.u32", format_args!("{apart}, {apart}, {sum}")),
        });
    }
    sum.unwrap_or_else(|| text.set("mov.b64", format_args!("0")))
}

/// Sets a register to whether two points are at most `radius` apart.
pub fn is_within(text: &mut Text, to: Word, a: Point, b: Point, radius: Value) {
    let squared = squared_distance(text, a, b);
    let limit: Long = text.set("mul.wide.s32", format_args!("{radius}, {radius}"));
    let is_radius: Flag = text.set("setp.ge.s32", format_args!("{radius}, 0"));
    let within: Flag = text.set(
        "setp.le.and.u64",
        format_args!("{squared}, {limit}, {is_radius}"),
    );
    text.put_flag(to, within);
}

/// The address of the words of a command, which are in the frame or in `due_words`.
pub fn words(text: &mut Text, layout: &Layout, word_start: Word) -> Long {
    let due = table(text, layout.world.due_words);
    let frame: Long = text.set(
        "ld.param.u64",
        format_args!("[{TICK}+{}]", layout.tick.words),
    );
    let is_due: Flag = text.set("setp.lt.s32", format_args!("{word_start}, 0"));
    let words: Long = text.set("selp.b64", format_args!("{due}, {frame}, {is_due}"));
    let start: Word = text.set("and.b32", format_args!("{word_start}, 0x7fffffff"));
    element(text, words, start, 4)
}

/// The slot and the generation of an entity that lives; for nobody, those of no entity.
pub fn identity(text: &mut Text, layout: &Layout, slot: Value, is: Presence) -> [Value; 2] {
    let word = text.in_register(slot);
    let address = element_of(text, layout.world.generations, word, 4);
    [slot, load_present(text, is, address, 0, 0)]
}
