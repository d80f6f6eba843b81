//! Takes keys with problems out of a file's tables, so that reading can go on behind them.

use toml::Spanned;
use toml::de::{DeArray, DeTable, DeValue};

/// What became of a key with a problem.
pub(super) enum Mended {
    /// The whole value is wrong.
    Nothing,
    Removed,
    /// A key that must be there has a value that stands in for it.
    Replaced,
}

/// Whether the innermost value at a place is a date.
pub(super) fn is_date(value: &mut Spanned<DeValue<'_>>, place: usize) -> bool {
    let path = path_to(value, place);
    path.and_then(|path| at(value, &path))
        .is_some_and(|value| matches!(value, DeValue::Datetime(_)))
}

/// Removes what is wrong at a place; where a key must be there, another value stands in.
pub(super) fn stand_in(value: &mut Spanned<DeValue<'_>>, place: usize, message: &str) -> Mended {
    let missing = message.strip_prefix("missing field `");
    let missing = missing.and_then(|rest| rest.split('`').next());
    let Some(path) = path_to(value, place) else {
        return Mended::Nothing;
    };
    if let Some(name) = missing {
        let (Some(stand_in), Some(DeValue::Table(table))) = (required(name), at(value, &path))
        else {
            return Mended::Nothing;
        };
        let key = Spanned::new(place..place, name.to_owned().into());
        table.insert(key, Spanned::new(place..place, stand_in));
        return Mended::Replaced;
    }
    let Some((last, around)) = path.split_last() else {
        return Mended::Nothing;
    };
    match (at(value, around), last) {
        (Some(DeValue::Table(table)), Step::Key(name)) => {
            let is_unknown = message.starts_with("unknown field");
            match required(name).filter(|_| !is_unknown) {
                Some(stand_in) => {
                    let key = Spanned::new(place..place, name.clone().into());
                    table.insert(key, Spanned::new(place..place, stand_in));
                    Mended::Replaced
                }
                None => {
                    table.remove(name.as_str());
                    Mended::Removed
                }
            }
        }
        (Some(DeValue::Array(items)), Step::Item(i)) => {
            remove(items, *i);
            Mended::Removed
        }
        _ => Mended::Nothing,
    }
}

/// Removes the innermost key or item at a place, if it has not gone with what was around it.
pub(super) fn drop_around(value: &mut Spanned<DeValue<'_>>, place: usize) {
    if let Some(path) = path_to(value, place) {
        // Without one of its keys, the others of `spawn` would be wrong.
        let spawn = path
            .iter()
            .position(|step| matches!(step, Step::Key(key) if key == "spawn"));
        drop_at(value, &path[..spawn.map_or(path.len(), |at| at + 1)]);
    }
}

/// Removes the innermost item of a list at a place. False if there is none: the place is that
/// of the value itself.
pub(super) fn drop_item(value: &mut Spanned<DeValue<'_>>, place: usize) -> bool {
    let Some(path) = path_to(value, place) else {
        return true;
    };
    let item = path.iter().rposition(|step| matches!(step, Step::Item(_)));
    item.is_some_and(|item| drop_at(value, &path[..=item]))
}

fn drop_at(value: &mut Spanned<DeValue<'_>>, path: &[Step]) -> bool {
    let Some((last, around)) = path.split_last() else {
        return false;
    };
    match (at(value, around), last) {
        (Some(DeValue::Table(table)), Step::Key(name)) => {
            table.remove(name.as_str());
            true
        }
        (Some(DeValue::Array(items)), Step::Item(i)) => {
            remove(items, *i);
            true
        }
        _ => false,
    }
}

fn remove(items: &mut DeArray<'_>, index: usize) {
    let all = std::mem::replace(items, DeArray::new());
    let others = all.into_iter().enumerate().filter(|(i, _)| *i != index);
    others.for_each(|(_, item)| items.push(item));
}

enum Step {
    Key(String),
    Item(usize),
}

/// The way to the innermost key or value at a place. What tables hold may be far from their
/// own place.
fn path_to(value: &Spanned<DeValue<'_>>, place: usize) -> Option<Vec<Step>> {
    let inside = match value.get_ref() {
        DeValue::Table(table) => path_in(table, place),
        DeValue::Array(items) => items.iter().enumerate().find_map(|(i, item)| {
            let rest = path_to(item, place)?;
            Some([Step::Item(i)].into_iter().chain(rest).collect())
        }),
        _ => None,
    };
    let span = value.span();
    let is_here = (span.start..span.end.max(span.start + 1)).contains(&place);
    inside.or_else(|| is_here.then(Vec::new))
}

fn path_in(table: &DeTable<'_>, place: usize) -> Option<Vec<Step>> {
    table.iter().find_map(|(key, value)| {
        let rest = match key.span().contains(&place) {
            true => Some(vec![]),
            false => path_to(value, place),
        };
        let step = Step::Key(key.get_ref().to_string());
        Some([step].into_iter().chain(rest?).collect())
    })
}

fn at<'a, 'i>(value: &'a mut Spanned<DeValue<'i>>, path: &[Step]) -> Option<&'a mut DeValue<'i>> {
    let mut value = value.get_mut();
    for step in path {
        value = match (value, step) {
            (DeValue::Table(table), Step::Key(name)) => {
                let mut entries = table.iter_mut();
                entries.find(|(key, _)| key.get_ref() == name)?.1.get_mut()
            }
            (DeValue::Array(items), Step::Item(i)) => items.get_mut(*i)?.get_mut(),
            _ => return None,
        };
    }
    Some(value)
}

/// A value of a key that must be there.
fn required(name: &str) -> Option<DeValue<'static>> {
    let text = match name {
        "name" | "kind" | "command" => "?",
        "type" => "i32",
        "audience" => "state",
        "ticks" => return DeValue::parse("1").ok().map(Spanned::into_inner),
        _ => return None,
    };
    Some(DeValue::String(text.into()))
}
