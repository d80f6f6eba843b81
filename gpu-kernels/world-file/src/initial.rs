//! `default` of an attribute, where it is not one value but a choice of several.

use shared::world::initial::{Choice, Initial};
use shared::world::schema::{KindAttribute, Schema};
use toml::Value;

use super::check::{Problem, Problems, problem, unexpected};
use super::{kinds, raw};

/// By kind, ascending by column. The default of such an attribute becomes its least value.
pub(super) fn initials(
    schema: &mut Schema,
    raw: &[raw::Kind],
    problems: &mut Problems,
) -> Vec<Vec<Initial>> {
    let mut initials = vec![vec![]; raw.len()];
    for (kind, (raw, initials)) in raw.iter().zip(&mut initials).enumerate() {
        for attribute in &raw.attributes {
            let Some(default @ Value::Table(_)) = &attribute.default else {
                continue;
            };
            let key = format!("{}.attributes.{}.default", raw.key(), attribute.name);
            let column = schema.column(&attribute.name);
            let own = schema.kinds[kind].attributes.iter();
            let Some(own) = own.clone().find(|a| Some(usize::from(a.column)) == column) else {
                continue; // It has a problem of its own.
            };
            let read = Reader {
                key: &key,
                attribute,
                own,
                symbols: &schema.symbols,
            };
            let Some(choice) = problems.take(read.choice(default)) else {
                continue;
            };
            let column = own.column;
            let mut own = schema.kinds[kind].attributes.iter_mut();
            if let Some(own) = own.find(|a| a.column == column) {
                own.default = choice.least();
            }
            initials.push(Initial { column, choice });
        }
        initials.sort_by_key(|initial| initial.column);
    }
    initials
}

struct Reader<'a> {
    key: &'a str,
    attribute: &'a raw::Attribute,
    own: &'a KindAttribute,
    /// All of the world.
    symbols: &'a [String],
}

impl Reader<'_> {
    fn choice(&self, default: &Value) -> Result<Choice, Problem> {
        let of = |key: &str| default.get(key);
        let count = default.as_table().map_or(0, |table| table.len());
        match (of("from"), of("to"), of("one_of"), of("in_turn"), count) {
            (Some(from), Some(to), None, None, 2) => self.between(from, to),
            (None, None, Some(values), None, 1) => self.values("one_of", values).map(Choice::OneOf),
            (None, None, None, Some(values), 1) => {
                self.values("in_turn", values).map(Choice::InTurn)
            }
            _ => problem(
                self.key,
                "expected a value, `{ from = …, to = … }`, `{ one_of = […] }` or \
                 `{ in_turn = […] }`",
            ),
        }
    }

    fn between(&self, from: &Value, to: &Value) -> Result<Choice, Problem> {
        if !self.attribute.ty.of.is_number() || self.attribute.ty.of.is_half() {
            let message = "only i32 and fixed attributes have `from` and `to`";
            return problem(self.key, message);
        }
        let (low, high) = (self.value("from", from)?, self.value("to", to)?);
        if low > high {
            return problem(
                format!("{}.from", self.key),
                format!("expected at most to = {to}, found {from}"),
            );
        }
        match u32::try_from(i64::from(high) - i64::from(low) + 1) {
            Ok(count) => Ok(Choice::Between { low, count }),
            Err(_) => problem(self.key, "expected a smaller range than all of 32 bits"),
        }
    }

    fn values(&self, key: &str, values: &Value) -> Result<Vec<i32>, Problem> {
        let full_key = format!("{}.{key}", self.key);
        match values.as_array() {
            Some(values) if (1..=VALUES_MAX).contains(&values.len()) => {
                values.iter().map(|value| self.value(key, value)).collect()
            }
            Some(values) => {
                let expected = format!("1 to {VALUES_MAX} values");
                unexpected(full_key, values.len(), expected)
            }
            None => unexpected(full_key, values, "a list of values"),
        }
    }

    fn value(&self, key: &str, value: &Value) -> Result<i32, Problem> {
        let key = format!("{}.{key}", self.key);
        let attribute = self.attribute;
        let raw = kinds::value(
            &key,
            attribute.ty.of,
            value,
            &attribute.symbols,
            self.symbols,
        )?;
        if !(self.own.min..=self.own.max).contains(&raw) {
            // In raw units the bounds say nothing to a designer.
            return problem(key, format!("{value} is not from `min` to `max`"));
        }
        Ok(raw)
    }
}

/// The most values of a list.
const VALUES_MAX: usize = 64;
