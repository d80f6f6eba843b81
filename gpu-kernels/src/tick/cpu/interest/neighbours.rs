//! A shortcut for the thesis's own case (3.5): the world is flat, every entity changed, and
//! each client perceives its bucket and the neighbouring ones. The deliveries are then a
//! few whole runs of the index, which are copied as they are found.

use std::ops::Range;

use shared::InterestMode;

use super::{CLIENTS_GRAIN, Input, Interest};
use device::cpu::{Workers, take};

impl Interest {
    pub(super) fn sees_whole_neighbourhoods(&self, input: Input<'_>) -> bool {
        self.mode == InterestMode::Buckets
            && self.dimensions == 2
            && self.observers_per_client == 1
            && input.merge.all_changed(input.state)
    }

    /// Collects each client's deliveries. Returns the clients of each part of the work; `None` if one
    /// has so many deliveries that they have to be counted first, as not all clients may be served.
    pub(super) fn copy_neighbours(
        &mut self,
        workers: &Workers,
        input: Input<'_>,
    ) -> Option<Vec<Range<usize>>> {
        let parts = self.client_ranges(workers, CLIENTS_GRAIN);
        let most = 2 * self.deliveries_max as usize / parts.len().max(1);
        let mut owed = std::mem::take(&mut self.owed);
        let mut scratch = std::mem::take(&mut self.scratch);
        let mut is_full = vec![false; parts.len()];
        let shared = &*self;
        let mut rest = &mut owed[..];
        let tasks = parts.iter().cloned().zip(&mut scratch).zip(&mut is_full);
        let tasks = tasks.map(|((clients, scratch), is_full)| {
            let owed = take(&mut rest, clients.len());
            (clients, &mut scratch.compared, owed, is_full)
        });
        workers.run(tasks.collect(), |(clients, out, owed, is_full)| {
            let slots = input.index.slots();
            out.clear();
            for (client, owed) in clients.zip(owed) {
                let place = shared.places(client, input.state).next();
                let runs = place.map_or(<[_; 3]>::default(), |place| {
                    input.index.ranges_around(place.center)
                });
                *owed = out.append_runs(slots, runs);
                if out.as_slice().len() > most {
                    *is_full = true;
                    break;
                }
            }
        });
        self.owed = owed;
        self.scratch = scratch;
        is_full.iter().all(|is_full| !is_full).then_some(parts)
    }
}
