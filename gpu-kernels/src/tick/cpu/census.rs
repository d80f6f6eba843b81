//! The living entities of those kinds of which scripts ask wherever they are.

use device::cpu::{Workers, ranges};
use script::census::Census;

use super::slots::Slots;

/// The census as commands see it: of the start of the tick.
#[derive(Default)]
pub struct Counted {
    census: Census,
    /// [`Slots::version`] and the kinds of which it was taken.
    version: u64,
    kinds: Vec<bool>,
}

impl Counted {
    pub fn census(&self) -> &Census {
        &self.census
    }

    /// Takes the census again, unless all that live are the same as before. Of kinds of which
    /// nobody asks it has none.
    pub fn update(&mut self, workers: &Workers, slots: &Slots, kinds: &[bool]) {
        if kinds.is_empty() || (self.version == slots.version() && self.kinds == kinds) {
            return;
        }
        self.version = slots.version();
        self.kinds = kinds.to_vec();
        let used = slots.used();
        let parts = workers.parts(used);
        let mut found = vec![vec![vec![]; kinds.len()]; parts];
        let tasks = ranges(used, parts).zip(&mut found);
        workers.run(tasks.collect(), |(range, found)| {
            for slot in range {
                let kind = usize::from(slots.kinds()[slot]);
                if kinds[kind] && slots.is_somewhere(slot) {
                    found[kind].push(slot as u32);
                }
            }
        });
        self.census.fill(&found);
    }
}
