//! The living entities of those kinds of which scripts ask wherever they are.

use std::collections::BTreeSet;

use device::cpu::{Workers, ranges};
use script::census::Census;

use super::slots::Slots;

/// The census as commands see it: of the start of the tick.
#[derive(Default)]
pub struct Counted {
    census: Census,
    /// [`Slots::version`] and the kinds of which it was taken.
    version: u64,
    kinds: BTreeSet<u16>,
}

impl Counted {
    pub fn census(&self) -> &Census {
        &self.census
    }

    /// Takes the census of some kinds, of as many as the world has, again, unless all that live are
    /// the same as before. Of other kinds it may have none.
    pub fn update(
        &mut self,
        workers: &Workers,
        slots: &Slots,
        (kinds, count): (&BTreeSet<u16>, usize),
    ) {
        let is_same = self.version == slots.version() && self.kinds.is_superset(kinds);
        if kinds.is_empty() || is_same {
            return;
        }
        self.version = slots.version();
        self.kinds.clone_from(kinds);
        let used = slots.used();
        let parts = workers.parts(used);
        let mut is_asked = vec![false; count];
        for &kind in kinds {
            is_asked[usize::from(kind)] = true;
        }
        let mut found = vec![vec![vec![]; count]; parts];
        let tasks = ranges(used, parts).zip(&mut found);
        workers.run(tasks.collect(), |(range, found)| {
            for slot in range {
                let kind = usize::from(slots.kinds()[slot]);
                if is_asked[kind] && slots.is_one(slot) {
                    found[kind].push(slot as u32);
                }
            }
        });
        self.census.fill(&found);
    }
}
