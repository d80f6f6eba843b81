//! Filters as conditions on keys, which is the form that matchers compare.

use shared::predicate::{Constraint, Filter, Operator, Value, Vocabulary};

use super::dictionary::Dictionary;

/// A filter's condition on the key of one name. A comparison becomes a range of keys, or
/// all keys but one. A pattern becomes a number that a string's patterns must contain.
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

device::plain!(Condition {
    low: u64,
    high: u64,
    name: u16,
    kind: ConditionKind,
    is_last: u8,
    padding: u32,
});

/// How a condition compares. It is a number, not an enum, since a device may send any byte.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(transparent)]
pub struct ConditionKind(pub u8);

device::plain!(ConditionKind { 0: u8 });

impl ConditionKind {
    /// The key is from `low` to `high`, both included.
    pub const WITHIN: ConditionKind = ConditionKind(0);
    /// The key is not `low`.
    pub const NOT: ConditionKind = ConditionKind(1);
    /// The string matches the pattern `low`.
    pub const PATTERN: ConditionKind = ConditionKind(2);
}

impl Condition {
    /// Whether exactly one key satisfies it.
    pub fn is_point(&self) -> bool {
        self.kind == ConditionKind::WITHIN && self.low == self.high
    }

    /// Whether a value satisfies it. `patterns` are those that the value matches, if it is a
    /// string.
    #[inline]
    pub fn holds(&self, key: u64, patterns: &[u32]) -> bool {
        match self.kind {
            ConditionKind::WITHIN => self.low <= key && key <= self.high,
            ConditionKind::NOT => key != self.low,
            _ => patterns.binary_search(&(self.low as u32)).is_ok(),
        }
    }
}

/// The conditions of a filter, or `None` if nothing can satisfy it. Adds the strings that
/// the filter takes from the dictionary to `taken`, in either case.
///
/// The conditions are ordered: points by name, then the others by name. Points are more
/// likely to fail, and the index uses them as tokens.
pub(super) fn compile(
    filter: &Filter,
    vocabulary: &Vocabulary,
    dictionary: &mut Dictionary,
    taken: &mut Vec<Taken>,
) -> Option<Vec<Condition>> {
    let mut conditions: Vec<Condition> = vec![];
    let mut is_possible = true;
    for constraint in &filter.constraints {
        if let Value::String(text) = &constraint.value
            && (!constraint.operator.is_pattern() || !text.is_empty())
        {
            taken.push(Taken(constraint.operator, text.clone()));
        }
        let new = condition(constraint, vocabulary, dictionary);
        let Some(new) = new else {
            is_possible = false;
            continue;
        };
        let is_same = |c: &&mut Condition| {
            c.name == new.name && c.kind == new.kind && new.kind == ConditionKind::WITHIN
        };
        match conditions.iter_mut().find(is_same) {
            Some(old) => {
                old.low = old.low.max(new.low);
                old.high = old.high.min(new.high);
                is_possible &= old.low <= old.high;
            }
            None => conditions.push(new),
        }
    }
    conditions.sort_by_key(|c| (!c.is_point(), c.name, c.kind.0, c.low));
    conditions.dedup();
    if let Some(last) = conditions.last_mut() {
        last.is_last = 1;
    }
    is_possible.then_some(conditions)
}

/// Gives back the strings that [`compile`] took from the dictionary.
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

/// The condition of a constraint, or `None` if nothing satisfies it.
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
                Operator::Equal if is_value => (ConditionKind::WITHIN, from?, to?),
                Operator::NotEqual if is_value => (ConditionKind::NOT, from?, from?),
                Operator::NotEqual => (ConditionKind::WITHIN, least, most),
                Operator::GreaterOrEqual => (ConditionKind::WITHIN, from?, most),
                Operator::LessOrEqual => (ConditionKind::WITHIN, least, to?),
                Operator::Greater => {
                    let from = match to {
                        Some(to) => to.checked_add(1)?,
                        None => least,
                    };
                    (ConditionKind::WITHIN, from, most)
                }
                Operator::Less => {
                    let to = match from {
                        Some(from) => from.checked_sub(1)?,
                        None => most,
                    };
                    (ConditionKind::WITHIN, least, to)
                }
                _ => return None,
            }
        }
        (Value::String(text), _) => match operator {
            Operator::Equal => {
                let id = u64::from(dictionary.take_exact(text));
                (ConditionKind::WITHIN, id, id)
            }
            Operator::NotEqual => {
                let id = u64::from(dictionary.take_exact(text));
                (ConditionKind::NOT, id, id)
            }
            // Every string contains the empty one.
            _ if text.is_empty() => (ConditionKind::WITHIN, 0, u64::MAX),
            _ => {
                let id = u64::from(dictionary.take_pattern(operator, text));
                (ConditionKind::PATTERN, id, id)
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
