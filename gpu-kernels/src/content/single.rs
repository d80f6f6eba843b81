//! One predicate, matched by itself: without the index, so its subscriber can be left out at
//! any time, and its cost is known exactly.

use shared::predicate::Predicate;

use super::batch::{Attribute, ResolvedStrings};
use super::compile::{Condition, Taken, compile, release};
use super::subscriptions::Subscriptions;

/// A predicate, compiled.
pub struct Single {
    /// Those of all filters, filter after filter.
    conditions: Vec<Condition>,
    strings: Vec<Taken>,
    /// A filter without conditions matches everything.
    has_empty: bool,
}

/// The named values of one notification.
#[derive(Default)]
pub struct Values {
    /// By name. A value is valid if its stamp is that of this notification.
    named: Vec<Value>,
    stamp: u32,
}

#[derive(Clone, Copy, Default)]
struct Value {
    key: u64,
    stamp: u32,
    patterns_start: u32,
    patterns_len: u32,
}

impl Single {
    pub fn new(predicate: &Predicate, subscriptions: &mut Subscriptions) -> Single {
        let mut single = Single {
            conditions: vec![],
            strings: vec![],
            has_empty: false,
        };
        let (vocabulary, dictionary) = (&subscriptions.vocabulary, &mut subscriptions.dictionary);
        for filter in &predicate.filters {
            let conditions = compile(filter, vocabulary, dictionary, &mut single.strings);
            let Some(conditions) = conditions else {
                continue;
            };
            single.has_empty |= conditions.is_empty();
            single.conditions.extend(conditions);
        }
        single
    }

    /// Gives back the strings that it took.
    pub fn release(self, subscriptions: &mut Subscriptions) {
        release(&self.strings, &mut subscriptions.dictionary);
    }

    /// Whether a notification satisfies any filter, and how many conditions were compared.
    pub fn matches(&self, values: &Values, resolved: &ResolvedStrings) -> (bool, u64) {
        if self.has_empty {
            return (true, 1);
        }
        let mut holds = true;
        let mut compared = 0;
        for condition in &self.conditions {
            if holds {
                compared += 1;
                holds = values.satisfy(condition, resolved);
            }
            if condition.is_last != 0 {
                if holds {
                    return (true, compared);
                }
                holds = true;
            }
        }
        (false, compared)
    }
}

impl Values {
    /// Replaces the values by those of another notification.
    pub fn set(&mut self, attributes: &[Attribute], resolved: &ResolvedStrings) {
        self.stamp = self.stamp.wrapping_add(1);
        if self.stamp == 0 {
            self.named.fill(Value::default());
            self.stamp = 1;
        }
        let names = attributes.last().map_or(0, |last| last.name as usize + 1);
        if self.named.len() < names {
            self.named.resize(names, Value::default());
        }
        for attribute in attributes {
            let mut value = Value {
                key: attribute.value,
                stamp: self.stamp,
                ..Value::default()
            };
            if attribute.is_string != 0 {
                let string = &resolved.strings[attribute.value as usize];
                value.key = u64::from(string.exact);
                value.patterns_start = string.patterns_start;
                value.patterns_len = string.patterns_len;
            }
            self.named[attribute.name as usize] = value;
        }
    }

    fn satisfy(&self, condition: &Condition, resolved: &ResolvedStrings) -> bool {
        let value = self.named.get(usize::from(condition.name));
        let Some(value) = value.filter(|value| value.stamp == self.stamp) else {
            return false;
        };
        let start = value.patterns_start as usize;
        let patterns = &resolved.patterns[start..start + value.patterns_len as usize];
        condition.holds(value.key, patterns)
    }
}
