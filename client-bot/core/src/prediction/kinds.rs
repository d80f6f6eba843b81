//! The schema of columns, as predictions need it.

use shared::world::columns::Columns;
use shared::{Audience, MergeRule, Schema};

/// The schema of columns.
#[derive(Debug)]
pub struct Kinds {
    pub dimensions: usize,
    pub edge: i32,
    /// By kind: its columns.
    pub columns: Vec<Columns>,
    /// By kind and column.
    pub bounds: Vec<Vec<(i32, i32)>>,
    /// By column.
    merges: Vec<MergeRule>,
    /// By column: how exactly datagrams carry it, in raw units; `None`: they don't.
    pub steps: Vec<Option<u32>>,
}

impl Kinds {
    pub fn of(schema: &Schema) -> Kinds {
        let attributes = schema.attributes.iter();
        let kinds = 0..schema.kinds.len();
        Kinds {
            dimensions: schema.dimensions(),
            edge: schema.world.aoi.raw().max(1),
            columns: schema.kind_columns(),
            bounds: kinds.map(|kind| schema.bounds(kind)).collect(),
            merges: attributes.clone().map(|a| a.merge).collect(),
            steps: attributes
                .map(|a| (a.audience == Audience::Movement).then(|| 1 << a.step.min(31)))
                .collect(),
        }
    }

    pub fn position(&self, row: &[i32]) -> [i32; 3] {
        let mut position = [0; 3];
        position[..self.dimensions].copy_from_slice(&row[..self.dimensions]);
        position
    }

    /// Whether several updates move an entity along `x` or `y`.
    pub fn is_moved_by_several(updates: &[(u16, i32)]) -> bool {
        let along = |axis: u16| updates.iter().filter(|update| update.0 == axis).count();
        along(0) > 1 || along(1) > 1
    }

    /// Folds updates, (column, value) in command order, by the merge rules.
    pub fn merge(&self, row: &mut [i32], kind: u16, mut updates: Vec<(u16, i32)>) {
        updates.sort_by_key(|update| update.0);
        for of_column in updates.chunk_by(|a, b| a.0 == b.0) {
            let column = usize::from(of_column[0].0);
            let mut values = of_column.iter().map(|&(_, value)| i64::from(value));
            let before = i64::from(row[column]);
            let folded = match self.merges[column] {
                MergeRule::Sum => before + values.sum::<i64>(),
                MergeRule::Min => values.min().unwrap_or(before),
                MergeRule::Max => values.max().unwrap_or(before),
                MergeRule::First => values.next().unwrap_or(before),
                MergeRule::Last => values.next_back().unwrap_or(before),
            };
            let (min, max) = self.bounds[usize::from(kind)][column];
            // Not `clamp`, which panics where a schema from elsewhere has them reversed.
            let within = folded.min(i64::from(max)).max(i64::from(min));
            row[column] = i32::try_from(within).unwrap_or(max);
        }
    }
}
