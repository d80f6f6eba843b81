//! Filters that ask for a range of values, found by the cell that the range is in.

use std::collections::BTreeSet;

use shared::content::{CELL_SHIFTS, Constraint, Filter, NameId, Operator, Value, WorldNames};
use shared::schema::AttributeType;
use shared::{Fixed, Schema};

use crate::content::index::SET_NAMES_MAX;

/// What there is to know of the attributes with cells.
pub struct Ranges {
    columns: Vec<Column>,
    entity: NameId,
}

struct Column {
    name: NameId,
    cells: [NameId; CELL_SHIFTS.len()],
    /// Of raw values, over all kinds.
    min: i64,
    max: i64,
    raw_per_unit: f64,
}

impl Ranges {
    pub fn new(schema: &Schema, names: &WorldNames) -> Ranges {
        let column = |cells: &shared::content::Cells| {
            let own = schema.kinds.iter().flat_map(|kind| &kind.attributes);
            let own = own.filter(|a| usize::from(a.column) == cells.column);
            Some(Column {
                name: names.columns[cells.column]?,
                cells: cells.names,
                min: own.clone().map(|a| i64::from(a.min)).min()?,
                max: own.map(|a| i64::from(a.max)).max()?,
                raw_per_unit: match schema.attributes[cells.column].ty {
                    AttributeType::Fixed => f64::from(Fixed::ONE.raw()),
                    _ => 1.0,
                },
            })
        };
        Ranges {
            columns: names.cells.iter().filter_map(column).collect(),
            entity: names.entity,
        }
    }

    /// Adds the smallest cell that holds all that the filter allows of one attribute, as
    /// the attribute of which it leaves the least. What satisfies the filter stays the
    /// same.
    pub fn narrow(&self, filter: &mut Filter) {
        let is_one = |c: &Constraint| c.name == self.entity && c.operator == Operator::Equal;
        let names: BTreeSet<u16> = filter.constraints.iter().map(|c| c.name.0).collect();
        // Who asks for one entity is found by that; more names are kept one by one.
        if filter.constraints.iter().any(is_one) || names.len() >= SET_NAMES_MAX {
            return;
        }
        let cells = self.columns.iter().filter_map(|c| c.cell(filter));
        let narrowest = cells.min_by(|a, b| a.0.total_cmp(&b.0));
        filter.constraints.extend(narrowest.map(|(_, cell)| cell));
    }
}

impl Column {
    /// The cell of what a filter allows, with the share of all values that is in it.
    fn cell(&self, filter: &Filter) -> Option<(f64, Constraint)> {
        let (mut low, mut high) = (self.min, self.max);
        for constraint in filter.constraints.iter().filter(|c| c.name == self.name) {
            let bound = match constraint.value {
                Value::Integer(value) => value as f64,
                Value::Float(value) => value,
                Value::String(_) => return None,
            } * self.raw_per_unit;
            // A little wide for some operators, which does no harm.
            let (from, to) = (bound.floor() as i64, bound.ceil() as i64);
            match constraint.operator {
                Operator::Greater | Operator::GreaterOrEqual => low = low.max(from),
                Operator::Less | Operator::LessOrEqual => high = high.min(to),
                Operator::Equal => (low, high) = (low.max(from), high.min(to)),
                _ => {}
            }
        }
        // Nothing, or all: no cell tells more.
        if low > high || (low, high) == (self.min, self.max) {
            return None;
        }
        let place = CELL_SHIFTS.iter().position(|s| low >> s == high >> s)?;
        let shift = CELL_SHIFTS[place];
        if self.min >> shift == self.max >> shift {
            return None;
        }
        let share = (1i64 << shift) as f64 / (self.max - self.min) as f64;
        let cell = Constraint {
            name: self.cells[place],
            operator: Operator::Equal,
            value: Value::Integer(low >> shift),
        };
        Some((share, cell))
    }
}
