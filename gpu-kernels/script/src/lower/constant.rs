//! Constants: what their expressions give, unless the world file sets them.

use shared::world::fixed::Fixed;
use shared::world::logic::Constant;
use syn::spanned::Spanned;

use super::Lower;
use crate::parse::Const;
use crate::types::{Type, Value};
use crate::unit::{Evaluation, Unit};

/// The value of a constant as a text sees it; an error if it has none, which is noted.
pub fn constant<'a>(unit: &'a Unit<'a>, file: usize, name: &str) -> Option<Result<Value, ()>> {
    let (file, item) = unit.visible_constant(file, name)?;
    match unit.evaluation(file, name) {
        Some(Evaluation::Done(value)) => return Some(value),
        Some(Evaluation::Running) => {
            let message = format!("`{name}` leads back to itself");
            unit.note(unit.files[file].at(item.span, message, "its value needs its value"));
            return Some(Err(()));
        }
        None => {}
    }
    unit.set_evaluation(file, name, Evaluation::Running);
    let value = evaluate(unit, file, item);
    unit.set_evaluation(file, name, Evaluation::Done(value));
    Some(value)
}

fn evaluate<'a>(unit: &'a Unit<'a>, file: usize, item: &'a Const) -> Result<Value, ()> {
    let own = Lower::constant_expression(unit, file, &item.value, item.ty)
        .map_err(|problem| unit.note(*problem))?;
    let stem = unit.files[file].text.stem();
    let key = item.name.to_lowercase();
    let setting = unit.setting_of(stem, &key);
    let value = match setting {
        None => own,
        Some(setting) => set(unit, stem, &key, item.ty, setting)?,
    };
    let number = value.number();
    let Some((low, high)) = range(unit, file, item)? else {
        return Ok(value);
    };
    if value.ty == Type::Never || (low..=high).contains(&number) {
        return Ok(value);
    }
    let show = |number: i64| match item.ty {
        Type::Fixed => Fixed::from_raw(number as i32).to_string(),
        _ => number.to_string(),
    };
    let expected = format!("expected {} to {}", show(low), show(high));
    match setting {
        Some(_) => {
            unit.wrong_setting(stem, &key, format!("{expected}, found {}", show(number)));
        }
        None => {
            let span = item.value.span();
            unit.note(unit.files[file].at(span, "the value is out of its range", expected));
        }
    }
    Err(())
}

/// The ends of a constant's range.
fn range<'a>(unit: &'a Unit<'a>, file: usize, item: &'a Const) -> Result<Option<(i64, i64)>, ()> {
    let Some((low, high)) = &item.range else {
        return Ok(None);
    };
    let wrong = |message: &str, label: &str| {
        unit.note(unit.files[file].at(low.span(), message, label));
        Err(())
    };
    if !item.ty.is_number() {
        return wrong("only numbers have a range", "expected no `#[range]`");
    }
    let end = |expression| {
        Lower::constant_expression(unit, file, expression, item.ty)
            .map(|end| end.number())
            .map_err(|problem| unit.note(*problem))
    };
    let (low, high) = (end(low)?, end(high)?);
    if low > high {
        return wrong("this range is empty", "expected the lower end first");
    }
    Ok(Some((low, high)))
}

/// A value that the world file sets.
fn set(unit: &Unit<'_>, stem: &str, key: &str, ty: Type, setting: &Constant) -> Result<Value, ()> {
    if let (Type::Long, &Constant::Int(whole)) = (ty, setting) {
        return Ok(Value::long_constant(whole));
    }
    let number = match (ty, setting) {
        (Type::Int, &Constant::Int(whole)) => i32::try_from(whole).ok(),
        (Type::Fixed, &Constant::Int(whole)) => Fixed::from_f64(whole as f64).map(Fixed::raw),
        (Type::Fixed, &Constant::Float(number)) => Fixed::from_f64(number).map(Fixed::raw),
        (Type::Bool, &Constant::Bool(truth)) => Some(i32::from(truth)),
        (Type::Symbol | Type::SymbolOf(_), Constant::Text(text)) => {
            unit.symbol(text).filter(|&number| unit.fits(ty, number))
        }
        _ => None,
    };
    match number {
        Some(number) => Ok(Value::constant(ty, number)),
        None => {
            unit.wrong_setting(
                stem,
                key,
                format!(
                    "expected a value of type `{}`, found {setting}",
                    unit.show(ty)
                ),
            );
            Err(())
        }
    }
}
