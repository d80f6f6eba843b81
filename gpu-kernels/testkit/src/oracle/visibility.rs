//! Which entities a client does not see, however near they are.

use super::Oracle;
use super::interest::Viewpoint;

impl Oracle {
    /// Whether an entity's bits hide it from a client, bit by bit: nobody is hidden from a client
    /// that observes from it.
    pub(super) fn is_hidden_from(&self, client: u32, slot: u32) -> bool {
        let visibility = self.config.schema.visibility;
        let Some(hides) = visibility.hides else {
            return false;
        };
        let value = |slot: u32, column: u16| self.slots[slot as usize].row[usize::from(column)];
        let viewpoints = self.viewpoints(client);
        let eyes: Vec<u32> = viewpoints.iter().filter_map(|v| v.followed).collect();
        if eyes.contains(&slot) {
            return false;
        }
        // A bit that hides it, and that none of them has.
        (0..32).any(|bit| {
            let hides_it = value(slot, hides) >> bit & 1 == 1;
            let reveals_it = visibility
                .reveals
                .is_some_and(|reveals| eyes.iter().any(|&own| value(own, reveals) >> bit & 1 == 1));
            hides_it && !reveals_it
        })
    }

    /// Whether walls are between a viewpoint and an entity: a cell that the line between the middles
    /// of their cells goes through, or both beside a corner that it goes through. Cells that an
    /// entity blocks itself don't hide it, and what an observer follows is seen from there.
    pub(super) fn is_behind_wall(&self, viewpoint: &Viewpoint, slot: u32) -> bool {
        if !self.config.schema.visibility.line_of_sight || viewpoint.followed == Some(slot) {
            return false;
        }
        let edge = self.wall_edge().expect("the world was checked");
        let cell_of = |place: [i32; 3]| [0, 1].map(|axis| i64::from(place[axis] / edge));
        let (from, to) = (cell_of(viewpoint.center), cell_of(self.position(slot)));
        let seen = &self.slots[slot as usize];
        let mut doors = self.config.schema.doors.iter();
        let door = doors.find(|door| door.kind == seen.kind);
        let own = door.map_or(vec![], |door| self.cells_of(door, &seen.row, edge));
        let is_wall = |cell: [i64; 2]| {
            let cell = cell.map(|axis| axis as i32);
            !own.contains(&cell) && self.in_wall([cell[0] * edge, cell[1] * edge, 0])
        };
        // In halves of cells. On which side of the line a point is, or 0.
        let middle = |cell: [i64; 2]| cell.map(|axis| 2 * axis + 1);
        let (start, end) = (middle(from), middle(to));
        let side = |[x, y]: [i64; 2]| {
            ((end[0] - start[0]) * (y - start[1]) - (end[1] - start[1]) * (x - start[0])).signum()
        };
        let span = |axis: usize| from[axis].min(to[axis])..=from[axis].max(to[axis]);
        let is_between = |[x, y]: [i64; 2]| {
            (start[0].min(end[0])..=start[0].max(end[0])).contains(&x)
                && (start[1].min(end[1])..=start[1].max(end[1])).contains(&y)
        };
        for cell in span(0).flat_map(|x| span(1).map(move |y| [x, y])) {
            let [x, y] = cell.map(|axis| 2 * axis);
            let corners = [[x, y], [x + 2, y], [x, y + 2], [x + 2, y + 2]];
            let sides = corners.map(side);
            // The line goes through it, or is only this cell.
            let is_crossed = sides.contains(&1) && sides.contains(&-1) || from == to;
            if is_crossed && is_wall(cell) {
                return true;
            }
            // Through its first corner, between this cell or one beside it and others.
            if side([x, y]) == 0 && from != to && is_between([x, y]) {
                let rises = (end[0] > start[0]) == (end[1] > start[1]);
                let beside = match rises {
                    true => [[cell[0], cell[1] - 1], [cell[0] - 1, cell[1]]],
                    false => [[cell[0] - 1, cell[1] - 1], cell],
                };
                if beside.into_iter().all(is_wall) {
                    return true;
                }
            }
        }
        false
    }
}
