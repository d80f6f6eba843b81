//! The order of those rankings of which scripts ask.

use std::collections::BTreeSet;

use device::cpu::{RadixSorter, Workers, ranges};
use script::standings::Standings;
use shared::world::ranking::Ranking;

use super::slots::Slots;

/// The standings as commands see them: of the start of the tick.
pub struct Ranked {
    rankings: Vec<Ranking>,
    standings: Standings,
    /// The slots for which the standings have room.
    slots_max: usize,
    /// By ranking: the numbers by which its entities are ordered, and their slots, as they were when
    /// the order was found.
    entries: Vec<Vec<(u64, u32)>>,
    sorter: RadixSorter<(u64, u32)>,
}

impl Ranked {
    pub fn new(rankings: &[Ranking]) -> Ranked {
        Ranked {
            rankings: rankings.to_vec(),
            standings: Standings::default(),
            slots_max: 0,
            entries: vec![vec![]; rankings.len()],
            sorter: RadixSorter::new(0),
        }
    }

    pub fn standings(&self) -> &Standings {
        &self.standings
    }

    /// Orders some rankings again, unless nothing in them has changed.
    pub fn update(
        &mut self,
        workers: &Workers,
        slots: &Slots,
        (rows, columns): (&[i32], usize),
        asked: &BTreeSet<u16>,
    ) {
        if asked.is_empty() {
            return;
        }
        let (_, counts, ..) = self.standings.parts();
        if slots.used() > self.slots_max || counts.is_empty() {
            self.slots_max = slots.states().len().min(2 * slots.used());
            self.standings = Standings::new(self.rankings.len(), self.slots_max);
            self.entries.iter_mut().for_each(Vec::clear);
        }
        for number in asked.iter().copied().map(usize::from) {
            let ranking = &self.rankings[number];
            let column = usize::from(ranking.column);
            let used = slots.used();
            let parts = workers.parts(used);
            let mut found = vec![vec![]; parts];
            let tasks = ranges(used, parts).zip(&mut found);
            workers.run(tasks.collect(), |(range, found)| {
                for slot in range {
                    if slots.kinds()[slot] == ranking.kind && slots.is_live(slot) {
                        let key = ranking.key(rows[slot * columns + column]);
                        found.push((u64::from(key), slot as u32));
                    }
                }
            });
            let entries = found.concat();
            if entries == self.entries[number] {
                continue;
            }
            let (mut sorted, n) = (entries.clone(), entries.len());
            self.entries[number] = entries;
            self.sorter.sort(workers, &mut sorted, n, 0..u32::BITS);
            let order = sorted[..n].iter().map(|&(_, slot)| slot);
            self.standings.set(number, order);
        }
    }
}
