//! Filters as conditions on keys: all that matching needs to know of them.

use shared::content::{Constraint, Filter, Operator, Value, Vocabulary};
use shared::mix::mix;

use super::dictionary::Dictionary;

/// What the key of one name must be like. Every comparison is a range of keys, or
/// all keys but one; a pattern is a number to be found among a string's own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct Condition {
    pub low: u64,
    pub high: u64,
    pub name: u16,
    pub kind: ConditionKind,
    /// 1 for the last one of its filter.
    pub is_last: u8,
    pub padding: u32,
}

const _: () = assert!(size_of::<Condition>() == 24);

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u8)]
pub enum ConditionKind {
    /// From low to high, both included.
    #[default]
    Within,
    /// Not low.
    Not,
    /// A string that satisfies the pattern `low`.
    Pattern,
}

impl Condition {
    /// Whether one key alone satisfies it.
    pub fn is_point(&self) -> bool {
        self.kind == ConditionKind::Within && self.low == self.high
    }

    /// Whether a value satisfies it: its key, and for strings its patterns.
    #[inline]
    pub fn holds(&self, key: u64, patterns: &[u32]) -> bool {
        match self.kind {
            ConditionKind::Within => self.low <= key && key <= self.high,
            ConditionKind::Not => key != self.low,
            ConditionKind::Pattern => patterns.binary_search(&(self.low as u32)).is_ok(),
        }
    }
}

/// The conditions of a filter, or none at all where nothing can satisfy it.
///
/// They are ordered: points by name, then the others by name. Where both are
/// there, points are the likelier to fail, and the index sorts filters by them.
pub(super) fn compile(
    filter: &Filter,
    vocabulary: &Vocabulary,
    dictionary: &mut Dictionary,
    taken: &mut Vec<Taken>,
) -> Option<Vec<Condition>> {
    let mut conditions: Vec<Condition> = vec![];
    let mut possible = true;
    for constraint in &filter.constraints {
        if let Value::String(text) = &constraint.value
            && (!constraint.operator.is_pattern() || !text.is_empty())
        {
            taken.push(Taken(constraint.operator, text.clone()));
        }
        let new = condition(constraint, vocabulary, dictionary);
        let Some(new) = new else {
            possible = false;
            continue;
        };
        let is_same = |c: &&mut Condition| {
            c.name == new.name && c.kind == new.kind && new.kind == ConditionKind::Within
        };
        match conditions.iter_mut().find(is_same) {
            Some(old) => {
                old.low = old.low.max(new.low);
                old.high = old.high.min(new.high);
                possible &= old.low <= old.high;
            }
            None => conditions.push(new),
        }
    }
    conditions.sort_by_key(|c| (!c.is_point(), c.name, c.kind as u8, c.low));
    conditions.dedup();
    if let Some(last) = conditions.last_mut() {
        last.is_last = 1;
    }
    possible.then_some(conditions)
}

/// Gives back what [`compile`] took from the dictionary.
pub(super) fn release(taken: &[Taken], dictionary: &mut Dictionary) {
    for Taken(operator, text) in taken {
        match operator.is_pattern() {
            true => dictionary.give_back_pattern(*operator, text),
            false => dictionary.give_back_exact(text),
        }
    }
}

/// A string that a filter took from the dictionary.
pub(super) struct Taken(Operator, Box<str>);

/// None where nothing satisfies it.
fn condition(
    constraint: &Constraint,
    vocabulary: &Vocabulary,
    dictionary: &mut Dictionary,
) -> Option<Condition> {
    let operator = constraint.operator;
    let (kind, low, high) = match (&constraint.value, constraint.value.number()) {
        (_, Some(number)) => {
            let numeric = vocabulary.value_type(constraint.name).numeric()?;
            let (least, most) = numeric.key_bounds();
            let (from, to) = (numeric.key_at_least(number), numeric.key_at_most(number));
            let is_value = from == to;
            match operator {
                Operator::Equal if is_value => (ConditionKind::Within, from?, to?),
                Operator::NotEqual if is_value => (ConditionKind::Not, from?, from?),
                Operator::NotEqual => (ConditionKind::Within, least, most),
                Operator::GreaterOrEqual => (ConditionKind::Within, from?, most),
                Operator::LessOrEqual => (ConditionKind::Within, least, to?),
                Operator::Greater => {
                    let from = match to {
                        Some(to) => to.checked_add(1)?,
                        None => least,
                    };
                    (ConditionKind::Within, from, most)
                }
                Operator::Less => {
                    let to = match from {
                        Some(from) => from.checked_sub(1)?,
                        None => most,
                    };
                    (ConditionKind::Within, least, to)
                }
                _ => return None,
            }
        }
        (Value::String(text), _) => match operator {
            Operator::Equal => {
                let id = u64::from(dictionary.take_exact(text));
                (ConditionKind::Within, id, id)
            }
            Operator::NotEqual => {
                let id = u64::from(dictionary.take_exact(text));
                (ConditionKind::Not, id, id)
            }
            // In every string.
            _ if text.is_empty() => (ConditionKind::Within, 0, u64::MAX),
            _ => {
                let id = u64::from(dictionary.take_pattern(operator, text));
                (ConditionKind::Pattern, id, id)
            }
        },
        _ => return None,
    };
    (low <= high).then_some(Condition {
        low,
        high,
        name: constraint.name.0,
        kind,
        is_last: 0,
        padding: 0,
    })
}

/// What a filter asks for that can be looked up: a name, or a name with its key.
pub fn name_token(name: u32) -> u64 {
    mix(u64::from(name), 0x6e61_6d65)
}

/// See [`name_token`].
pub fn point_token(name: u32, key: u64) -> u64 {
    mix(name_token(name), key)
}

/// The tokens of a filter's conditions, one for each name, in their order.
pub fn tokens(conditions: &[Condition], tokens: &mut Vec<u64>) {
    tokens.clear();
    for (i, condition) in conditions.iter().enumerate() {
        let name = u32::from(condition.name);
        if condition.is_point() {
            tokens.push(point_token(name, condition.low));
        } else if conditions[..i].iter().all(|c| c.name != condition.name) {
            tokens.push(name_token(name));
        }
    }
}

/// The bit of a name in a filter's set of names.
pub fn name_bit(name: u32) -> u64 {
    1 << (name & 63)
}
