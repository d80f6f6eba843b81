//! Flow fields: the distance of each cell from a goal, one cell after another.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap};

use gpu_kernels::{FieldCells, FieldState};
use shared::world::field::{Field, Goals};

use super::Oracle;

type Cell = [i32; 2];

/// A field as it is in force and as it was taken last.
#[derive(Clone, Default)]
pub struct OracleField {
    in_force: Taken,
    under_way: Taken,
    /// By cell, of what is in force: the place of the next cell among those beside it, from 1; none
    /// where no way leads on.
    steps: BTreeMap<Cell, i32>,
}

/// Where goals and doors were.
#[derive(Clone, Default, PartialEq)]
struct Taken {
    goals: BTreeSet<Cell>,
    closed: BTreeSet<Cell>,
}

/// In the order in which they are preferred.
fn beside([x, y]: Cell) -> [Cell; 4] {
    [[x + 1, y], [x, y + 1], [x - 1, y], [x, y - 1]]
}

impl Oracle {
    /// Finds the steps of all fields anew.
    pub(super) fn begin_fields(&mut self) {
        for number in 0..self.config.schema.fields.len() {
            self.fields[number].steps = self.steps(number);
        }
    }

    /// Takes the fields whose turn it is. The doors are those of this tick.
    pub(super) fn refresh_fields(&mut self) {
        for number in 0..self.config.schema.fields.len() {
            let field = &self.config.schema.fields[number];
            let period = u64::from(field.refresh_ticks);
            if self.tick.0 < u64::from(field.first)
                || !(self.tick.0 - u64::from(field.first)).is_multiple_of(period)
            {
                continue;
            }
            let taken = Taken {
                goals: self.goals_that_live(field),
                closed: self.closed_by_doors(),
            };
            let own = &mut self.fields[number];
            own.in_force = std::mem::replace(&mut own.under_way, taken);
            self.fields[number].steps = self.steps(number);
        }
    }

    fn cells(&self) -> (i32, [i32; 2]) {
        let walls = self.config.schema.layers.blocked();
        let edge = 1 << walls.expect("fields need walls").grid.edge_bits;
        (edge, [0, 1].map(|axis| (self.size(axis) - 1) / edge + 1))
    }

    fn goals_that_live(&self, field: &Field) -> BTreeSet<Cell> {
        let Goals::Kind(kind) = field.goals else {
            return BTreeSet::new();
        };
        let (edge, _) = self.cells();
        let own = self.alive().into_iter().map(|entity| entity.slot.0);
        let own = own.filter(|&slot| self.slots[slot as usize].kind == kind);
        let places = own.map(|slot| self.position(slot));
        places.map(|[x, y, _]| [x / edge, y / edge]).collect()
    }

    /// The cells that are blocked, but would not be if all doors were open.
    fn closed_by_doors(&self) -> BTreeSet<Cell> {
        let mut cells = self.closed.clone();
        cells.retain(|&cell| !self.is_built(cell));
        cells
    }

    /// Whether a wall is in a cell, and not only a door.
    fn is_built(&self, [x, y]: Cell) -> bool {
        let (edge, _) = self.cells();
        self.config
            .schema
            .layers
            .is_blocked([x * edge, y * edge, 0])
    }

    /// What it costs to leave a cell, by the tag in its middle.
    fn cost(&self, field: &Field, [x, y]: Cell) -> u64 {
        let (edge, _) = self.cells();
        let layers = &self.config.schema.layers;
        let middle = [x * edge + edge / 2, y * edge + edge / 2, 0];
        let Some(symbol) = layers.tag_at(middle).filter(|_| !field.costs.is_empty()) else {
            return 1;
        };
        let first = layers.tag().expect("a place has a tag").symbols;
        let numbers = 0..field.costs.len();
        let mut own = numbers.filter(|&number| layers.word(first + number as i32) == symbol);
        field.costs[own.next().expect("the world has the tag")].into()
    }

    fn steps(&self, number: usize) -> BTreeMap<Cell, i32> {
        let field = &self.config.schema.fields[number];
        let taken = &self.fields[number].in_force;
        let (_, [width, height]) = self.cells();
        let row = self.row_of_walls();
        let is_cell = |[x, y]: Cell| (0..width).contains(&x) && (0..height).contains(&y);
        let own = field.own_goals().iter();
        let own = own.map(|&place| [place as i32 % row, place as i32 / row]);
        let mut distances = BTreeMap::new();
        let mut queue = BinaryHeap::new();
        for goal in own.chain(taken.goals.iter().copied()) {
            queue.push(Reverse((0, goal)));
        }
        while let Some(Reverse((distance, cell))) = queue.pop() {
            if distances.contains_key(&cell) {
                continue;
            }
            distances.insert(cell, distance);
            for next in beside(cell) {
                let is_free =
                    is_cell(next) && !self.is_built(next) && !taken.closed.contains(&next);
                if is_free && !distances.contains_key(&next) {
                    queue.push(Reverse((distance + self.cost(field, next), next)));
                }
            }
        }
        let mut steps = BTreeMap::new();
        for cell in (0..width).flat_map(|x| (0..height).map(move |y| [x, y])) {
            if distances.get(&cell) == Some(&0) {
                continue;
            }
            let sides = beside(cell).into_iter().zip(1..);
            let reached = sides.filter_map(|(next, step)| Some((distances.get(&next)?, step)));
            if let Some((_, step)) = reached.min() {
                steps.insert(cell, step);
            }
        }
        steps
    }

    /// How many cells a row has in lists of cells.
    fn row_of_walls(&self) -> i32 {
        let (_, [width, _]) = self.cells();
        (width as u32).next_power_of_two().max(32) as i32
    }

    /// A word of the steps in force: those of 8 cells, field by field and row by row.
    pub(super) fn field_word(&self, place: i32) -> i32 {
        let count = self.fields.len() as i32;
        if count == 0 {
            return 0;
        }
        let (row, (_, [_, height])) = (self.row_of_walls(), self.cells());
        let words = row * height / 8;
        if !(0..count * words).contains(&place) {
            return 0;
        }
        let steps = &self.fields[(place / words) as usize].steps;
        let first = place % words * 8;
        (0..8).fold(0, |word, n| {
            let cell = [(first + n) % row, (first + n) / row];
            word | steps.get(&cell).copied().unwrap_or(0) << (4 * n)
        })
    }

    /// The fields in the backends' format.
    pub(super) fn field_states(&self) -> Vec<FieldState> {
        if self.fields.is_empty() {
            return vec![];
        }
        let row = self.row_of_walls();
        let list = |cells: &BTreeSet<Cell>| {
            let mut places: Vec<u32> = cells.iter().map(|[x, y]| (y * row + x) as u32).collect();
            places.sort_unstable();
            places
        };
        let stored = |taken: &Taken| FieldCells {
            goals: list(&taken.goals),
            closed: list(&taken.closed),
        };
        let states = self.fields.iter().map(|field| FieldState {
            in_force: stored(&field.in_force),
            under_way: stored(&field.under_way),
        });
        states.collect()
    }
}
