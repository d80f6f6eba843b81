//! Walls: how far entities go, and where they are born, one raw unit and one cell at a time.

use std::collections::BTreeSet;

use shared::world::door::Door;

use super::{Oracle, OracleOutput};

impl Oracle {
    /// The edge of a cell of walls in raw units; `None` in worlds without walls.
    pub(super) fn wall_edge(&self) -> Option<i32> {
        let walls = self.config.schema.layers.blocked()?;
        Some(1 << walls.grid.edge_bits)
    }

    pub(super) fn in_wall(&self, place: [i32; 3]) -> bool {
        let Some(edge) = self.wall_edge() else {
            return false;
        };
        let inside = |axis: usize| place[axis].clamp(0, self.size(axis) - 1);
        let cell = [0, 1].map(|axis| inside(axis) / edge);
        self.has_wall(place) || self.closed.contains(&cell)
    }

    /// The cells that closed doors block: of each, those whose middle all together is nearest.
    pub(super) fn closed_cells(&self) -> BTreeSet<[i32; 2]> {
        let Some(edge) = self.wall_edge() else {
            return BTreeSet::new();
        };
        let mut closed = BTreeSet::new();
        for entity in self.alive() {
            let slot = &self.slots[entity.slot.index()];
            let mut doors = self.config.schema.doors.iter();
            let Some(door) = doors.find(|door| door.kind == slot.kind) else {
                continue;
            };
            if door
                .closed
                .is_some_and(|column| slot.row[usize::from(column)] == 0)
            {
                continue;
            }
            closed.extend(self.cells_of(door, &slot.row, edge));
        }
        closed
    }

    /// The cells that an entity of a kind with doors blocks while it is closed.
    pub(super) fn cells_of(&self, door: &Door, row: &[i32], edge: i32) -> Vec<[i32; 2]> {
        let span = |axis: usize| {
            let (place, count) = (row[axis], i32::from(door.cells[axis]));
            let cells = (self.size(axis) - 1) / edge + 1;
            // Of two that are as near, the one farther on.
            let lows = (-count..=cells).rev();
            let twice = |low: i32| i64::from(2 * low + count) * i64::from(edge);
            let off = |low: &i32| (2 * i64::from(place) - twice(*low)).abs();
            let low = lows.min_by_key(off).expect("the world has cells");
            (low..low + count).filter(move |cell| (0..cells).contains(cell))
        };
        span(0).flat_map(|x| span(1).map(move |y| [x, y])).collect()
    }

    /// A word of the layers, with the cells of doors and edits.
    pub(super) fn layer_word(&self, place: i32) -> i32 {
        let word = self.edited_word(place);
        let Some(walls) = self.config.schema.layers.blocked() else {
            return word;
        };
        let at = |[x, y]: [i32; 2]| y * walls.grid.row + x;
        let bits = self.closed.iter().map(|&cell| at(cell));
        let own = bits.filter(|at| at / 32 == place);
        own.fold(word, |word, at| word | 1 << (at % 32))
    }

    /// The part of a step from a place of the world that walls leave.
    pub(super) fn slide(&self, from: [i32; 3], step: [i32; 3]) -> [i32; 3] {
        let Some(edge) = self.wall_edge() else {
            return step;
        };
        let end = |axis: usize| {
            let end = i64::from(from[axis]) + i64::from(step[axis]);
            end.max(0).min(i64::from(self.size(axis) - 1))
        };
        let way = [0, 1].map(|axis| end(axis) - i64::from(from[axis]));
        let longest = way[0].abs().max(way[1].abs());
        let parts = (longest as u64).div_ceil(edge as u64) as i64;
        let mut at = from;
        for part in 1..=parts {
            for (axis, whole) in way.into_iter().enumerate() {
                // What the parts so far are, rounded towards 0, less those before.
                let along = whole * part / parts - whole * (part - 1) / parts;
                self.go(&mut at, axis, along as i32, edge);
            }
        }
        [at[0] - from[0], at[1] - from[1], step[2]]
    }

    /// Goes along an axis until the cell behind the next border is a wall.
    fn go(&self, at: &mut [i32; 3], axis: usize, way: i32, edge: i32) {
        let mut goal = *at;
        goal[axis] += way;
        if !self.in_wall(goal) {
            *at = goal;
            return;
        }
        for _ in 0..way.abs() {
            let mut next = *at;
            next[axis] += way.signum();
            if next[axis] / edge != at[axis] / edge {
                return;
            }
            *at = next;
        }
    }

    /// Where an entity is born that is to be born at a place.
    pub(super) fn free_place(&self, place: [i32; 3]) -> [i32; 3] {
        let (Some(edge), true) = (self.wall_edge(), self.in_wall(place)) else {
            return place;
        };
        let own = [place[0] / edge, place[1] / edge];
        let cells = [0, 1].map(|axis| (self.size(axis) - 1) / edge + 1);
        let is_free = |&[x, y]: &[i32; 2]| {
            let is_cell = x >= 0 && y >= 0 && x < cells[0] && y < cells[1];
            is_cell && !self.in_wall([x * edge, y * edge, 0])
        };
        // Ring by ring: up the right side, then left, down, and right again.
        let rings = (1..=24).flat_map(|r| {
            let up = (1 - r..=r).map(move |i| [r, i]);
            let left = (1 - r..=r).map(move |i| [-i, r]);
            let down = (1 - r..=r).map(move |i| [-r, -i]);
            let right = (1 - r..=r).map(move |i| [i, -r]);
            up.chain(left).chain(down).chain(right)
        });
        let mut around = rings.map(|[x, y]| [own[0] + x, own[1] + y]);
        let walls = self
            .config
            .schema
            .layers
            .blocked()
            .expect("a wall is there");
        let cell = around.find(is_free).unwrap_or(walls.refuge);
        let mut free = place;
        for axis in 0..2 {
            let low = cell[axis] * edge;
            let high = (low + edge - 1).min(self.size(axis) - 1);
            free[axis] = place[axis].max(low).min(high);
        }
        free
    }

    /// Holds entities that moved: in a wall, or by several updates along an axis. `places` has where
    /// all were before the tick, `several` the slots that several updates moved along an axis.
    pub(super) fn hold_at_walls(
        &mut self,
        places: &[[i32; 3]],
        several: &BTreeSet<u32>,
        out: &mut OracleOutput,
    ) {
        if self.wall_edge().is_none() {
            return;
        }
        let moved = out.changes.keys().filter(|(_, column)| *column < 2);
        let moved: BTreeSet<u32> = moved.map(|(slot, _)| *slot).collect();
        for slot in moved {
            let (before, here) = (places[slot as usize], self.position(slot));
            if !several.contains(&slot) && !self.in_wall(here) {
                continue;
            }
            let step = [here[0] - before[0], here[1] - before[1], 0];
            let left = self.slide(before, step);
            for axis in 0..2 {
                let held = before[axis] + left[axis];
                self.slots[slot as usize].row[axis] = held;
                if let Some(change) = out.changes.get_mut(&(slot, axis as u16)) {
                    *change = held;
                }
            }
        }
    }
}
