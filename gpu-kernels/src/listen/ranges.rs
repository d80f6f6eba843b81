//! Filters for a range of values, looked up by the cell that contains the range.

use std::collections::BTreeSet;

use shared::Schema;
use shared::predicate::{CELL_SHIFTS, Constraint, Filter, NameId, Operator, Value, WorldNames};

use crate::content::index::SET_NAMES_MAX;

/// The attributes with cells.
pub struct Ranges {
    columns: Vec<Column>,
    entity: NameId,
}

struct Column {
    name: NameId,
    cells: [NameId; CELL_SHIFTS.len()],
    /// The smallest raw value in any kind.
    min: i64,
    /// The largest raw value in any kind.
    max: i64,
    raw_per_unit: f64,
}

impl Ranges {
    pub fn new(schema: &Schema, names: &WorldNames) -> Ranges {
        let column = |cells: &shared::predicate::Cells| {
            let own = schema.kinds.iter().flat_map(|kind| &kind.attributes);
            let own = own.filter(|a| usize::from(a.column) == cells.column);
            Some(Column {
                name: names.columns[cells.column]?,
                cells: cells.names,
                min: own.clone().map(|a| i64::from(a.min)).min()?,
                max: own.map(|a| i64::from(a.max)).max()?,
                raw_per_unit: {
                    let ty = schema.attributes[cells.column].ty;
                    f64::from(ty.fraction_bits()).exp2()
                },
            })
        };
        Ranges {
            columns: names.cells.iter().filter_map(column).collect(),
            entity: names.entity,
        }
    }

    /// Adds the smallest cell that contains all values which the filter allows for an
    /// attribute. If several attributes have one, adds the cell with the smallest share of
    /// its attribute's values. The filter matches the same notifications as before.
    pub fn narrow(&self, filter: &mut Filter) {
        let is_one = |c: &Constraint| c.name == self.entity && c.operator == Operator::Equal;
        let names: BTreeSet<u16> = filter.constraints.iter().map(|c| c.name.0).collect();
        // A filter for one entity is looked up by the entity. A filter of more names is
        // looked up name by name, so a cell doesn't help.
        if filter.constraints.iter().any(is_one) || names.len() >= SET_NAMES_MAX {
            return;
        }
        let cells = self.columns.iter().filter_map(|c| c.cell(filter));
        let narrowest = cells.min_by(|a, b| a.0.total_cmp(&b.0));
        filter.constraints.extend(narrowest.map(|(_, cell)| cell));
    }
}

impl Column {
    /// The cell of the values that a filter allows, with its share of all values.
    fn cell(&self, filter: &Filter) -> Option<(f64, Constraint)> {
        let (mut low, mut high) = (self.min, self.max);
        for constraint in filter.constraints.iter().filter(|c| c.name == self.name) {
            let bound = match constraint.value {
                Value::Integer(value) => value as f64,
                Value::Float(value) => value,
                Value::String(_) => return None,
            } * self.raw_per_unit;
            // A little too wide for some operators, which is still correct.
            let (from, to) = (bound.floor() as i64, bound.ceil() as i64);
            match constraint.operator {
                Operator::Greater | Operator::GreaterOrEqual => low = low.max(from),
                Operator::Less | Operator::LessOrEqual => high = high.min(to),
                Operator::Equal => (low, high) = (low.max(from), high.min(to)),
                _ => {}
            }
        }
        // The filter allows no value or every value: a cell excludes nothing.
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
