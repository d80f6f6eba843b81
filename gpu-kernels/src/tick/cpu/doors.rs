//! Doors: the cells that entities block, as they are at the start of a tick.

use device::cpu::{Workers, ranges};
use shared::WorldConfig;

use super::State;

impl State {
    /// Blocks the cells of all doors that live and are closed, and frees those of others.
    pub(super) fn close_doors(&mut self, workers: &Workers, config: &WorldConfig) {
        let doors = &config.schema.doors;
        if doors.is_empty() {
            return;
        }
        let mut by_kind = vec![None; config.schema.kinds.len()];
        for door in doors {
            by_kind[usize::from(door.kind)] = Some(door);
        }
        let used = self.slots.used();
        let parts = workers.parts(used);
        let mut found = vec![vec![]; parts];
        let tasks = ranges(used, parts).zip(&mut found);
        let (slots, rows, layers) = (&self.slots, &self.rows, &self.layers);
        workers.run(tasks.collect(), |(range, found)| {
            for slot in range {
                let Some(door) = by_kind[usize::from(slots.kinds()[slot])] else {
                    continue;
                };
                let row = &rows[slot * self.columns..][..self.columns];
                if slots.is_somewhere(slot) && door.is_closed(row) {
                    door.each_cell(layers, [row[0], row[1]], |cell| found.push(cell));
                }
            }
        });
        self.doors_moved = self.layers.close(found.concat());
    }
}
