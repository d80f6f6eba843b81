//! Parameters, and loads of what no kernel of the pass writes.

use super::layout::Layout;
use super::text::{Flag, Long, Text, Value, Word};

/// A pointer of the world.
pub fn table(text: &mut Text, field: u32) -> Long {
    text.set("ld.param.u64", format_args!("[{WORLD}+{field}]"))
}

/// The counters of the tick.
pub fn counters(text: &mut Text, layout: &Layout) -> Long {
    let counters = layout.tick.counters;
    text.set("ld.param.u64", format_args!("[{TICK}+{counters}]"))
}

/// The address of an element of a table.
pub fn element(text: &mut Text, table: Long, index: Word, bytes: u32) -> Long {
    text.set("mad.wide.u32", format_args!("{index}, {bytes}, {table}"))
}

/// The address of an element of a table of the world.
pub fn element_of(text: &mut Text, field: u32, index: Word, bytes: u32) -> Long {
    let table = table(text, field);
    element(text, table, index, bytes)
}

/// A 32-bit number.
pub fn load(text: &mut Text, address: Long, offset: i32) -> Word {
    text.set(LOAD, format_args!("[{address}+{offset}]"))
}

/// A 32-bit number of a table of the world.
pub fn load_of(text: &mut Text, field: u32, index: Word) -> Word {
    let address = element_of(text, field, index, 4);
    load(text, address, 0)
}

/// Whether something is there.
#[derive(Clone, Copy, Debug)]
pub enum Presence {
    Always,
    Never,
    If(Flag),
}

/// A 32-bit number if something is there, else a constant.
pub fn load_present(
    text: &mut Text,
    presence: Presence,
    address: Long,
    offset: i32,
    otherwise: i32,
) -> Value {
    load_present_by(LOAD, text, presence, address, offset, otherwise)
}

/// An attribute in a row if its entity is there, else a constant.
pub fn load_of_row(
    text: &mut Text,
    presence: Presence,
    row: Long,
    offset: i32,
    otherwise: i32,
) -> Value {
    let operation = if text.has_live_rows { LOAD_LIVE } else { LOAD };
    load_present_by(operation, text, presence, row, offset, otherwise)
}

fn load_present_by(
    operation: &str,
    text: &mut Text,
    presence: Presence,
    address: Long,
    offset: i32,
    otherwise: i32,
) -> Value {
    match presence {
        Presence::Always => Value::Word(text.set(operation, format_args!("[{address}+{offset}]"))),
        Presence::Never => Value::Const(otherwise),
        Presence::If(flag) => {
            let word: Word = text.set("mov.b32", format_args!("{otherwise}"));
            text.line(format_args!(
                "@{flag} {operation} {word}, [{address}+{offset}]"
            ));
            Value::Word(word)
        }
    }
}

/// Stores a 32-bit number.
pub fn store(text: &mut Text, address: Long, offset: u32, value: Value) {
    text.line(format_args!("st.global.u32 [{address}+{offset}], {value}"));
}

pub const WORLD: &str = "world";
pub const TICK: &str = "tick";
const LOAD: &str = "ld.global.nc.u32";
/// Of what other threads write.
pub const LOAD_LIVE: &str = "ld.relaxed.gpu.global.u32";
pub const STORE_LIVE: &str = "st.relaxed.gpu.global.u32";
