//! Values as text, for people.

use shared::world::attribute::joined;
use shared::world::fixed::Fixed;
use shared::world::words::TextHandle;
use shared::{Schema, Slot};

use crate::interpreter::World;
use crate::ir::{NOBODY, Operand, Reg};
use crate::types::{Type, Value};

/// A value of a run.
pub fn shown(value: &Value, registers: &[i32], schema: &Schema, world: &impl World) -> String {
    let words = value.operands.map(|operand| word(operand, registers));
    let [first, second, _] = words;
    match value.ty {
        Type::Int => first.to_string(),
        Type::Long => joined([first, second]).to_string(),
        Type::Fixed => fixed(first),
        Type::Bool => (first != 0).to_string(),
        Type::Entity => entity(first, schema, world),
        Type::Symbol | Type::SymbolOf(_) => {
            let symbol = usize::try_from(first).ok();
            let symbol = symbol.and_then(|number| schema.symbols.get(number));
            symbol.map_or_else(|| "no symbol".to_owned(), |symbol| format!("{symbol:?}"))
        }
        Type::Text => match TextHandle(first).length() {
            0 => "\"\"".to_owned(),
            bytes => format!("a text of {bytes} bytes"),
        },
        Type::Kind => {
            let kind = usize::try_from(first).ok();
            let kind = kind.and_then(|number| schema.kinds.get(number));
            kind.map_or_else(|| "no kind".to_owned(), |kind| format!("{:?}", kind.name))
        }
        Type::Point => {
            let axes = words[..schema.dimensions()].iter();
            let axes: Vec<String> = axes.map(|&axis| fixed(axis)).collect();
            format!("({})", axes.join(", "))
        }
        Type::Unit | Type::Never => String::new(),
    }
}

/// What an operand is now.
pub fn word(operand: Operand, registers: &[i32]) -> i32 {
    match operand {
        Operand::Const(value) => value,
        Operand::Reg(Reg(reg)) => registers.get(reg as usize).copied().unwrap_or(0),
    }
}

fn fixed(raw: i32) -> String {
    let text = format!("{:.3}", Fixed::from_raw(raw).to_f64());
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// `entity 17 (wolf)`.
fn entity(slot: i32, schema: &Schema, world: &impl World) -> String {
    if slot == NOBODY {
        return "none".to_owned();
    }
    let living = Slot(slot.cast_unsigned());
    match world.generation(living) {
        None => format!("entity {slot} (dead)"),
        Some(_) => {
            let kind = schema.kinds.get(usize::from(world.kind(living)));
            format!("entity {slot} ({})", kind.map_or("?", |kind| &kind.name))
        }
    }
}
