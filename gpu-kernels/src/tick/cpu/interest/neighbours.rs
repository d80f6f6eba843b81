//! A shortcut for the thesis's own case (3.5): the world is flat, every entity changed, and
//! each client perceives its bucket and the neighbouring ones. The deliveries are then a
//! few whole runs of the index, found once to count them and reused to copy them.

use shared::InterestMode;

use super::changed::copy_run;
use super::{CLIENTS_GRAIN, Input, Interest, client_parts};
use crate::tick::output::Deliveries;
use device::cpu::{Workers, grow, ranges, take};
use device::plain::items_mut;

/// A client's deliveries: a run of the index for each row of buckets, as (start,
/// end). At the world's edge one is empty.
pub type Runs = [(u32, u32); 3];

impl Interest {
    pub(super) fn sends_whole_neighbourhoods(&self, input: Input<'_>) -> bool {
        self.mode == InterestMode::Buckets
            && self.dimensions == 2
            && self.observers_per_client == 1
            && input.merge.all_changed(input.state)
    }

    pub(super) fn count_neighbours(&mut self, workers: &Workers, input: Input<'_>) {
        grow(&mut self.runs, self.used);
        let mut owed = std::mem::take(&mut self.owed);
        let mut runs = std::mem::take(&mut self.runs);
        let shared = &*self;
        let parts = workers.parts_of(self.used, CLIENTS_GRAIN);
        let (mut rest, mut rest_runs) = (&mut owed[..], &mut runs[..]);
        let tasks = ranges(self.used, parts).map(|range| {
            let n = range.len();
            (range, take(&mut rest, n), take(&mut rest_runs, n))
        });
        workers.run(tasks.collect(), |(range, owed, runs)| {
            for ((client, owed), runs) in range.zip(owed).zip(runs) {
                *runs = shared.runs(client, input);
                *owed = runs.iter().map(|run| run.1 - run.0).sum();
            }
        });
        self.owed = owed;
        self.runs = runs;
    }

    fn runs(&self, client: usize, input: Input<'_>) -> Runs {
        let place = self.places(client, input.state).next();
        place.map_or(Runs::default(), |place| {
            input.index.ranges_around(place.center)
        })
    }

    pub(super) fn copy_neighbours(
        &self,
        workers: &Workers,
        served: usize,
        input: Input<'_>,
        out: &mut Deliveries,
    ) {
        let parts = workers.parts_of(served, CLIENTS_GRAIN);
        let tasks = client_parts(served, parts, out);
        let slots = input.index.slots();
        workers.run(tasks, |(range, entries)| {
            let entries = items_mut(entries);
            let mut next = 0;
            for &(start, end) in self.runs[range].iter().flatten() {
                copy_run(entries, next, slots, start as usize..end as usize);
                next += (end - start) as usize;
            }
        });
    }
}
