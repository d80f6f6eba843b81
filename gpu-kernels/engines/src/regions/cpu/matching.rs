use super::boxes::{Hits, Motion, SideView};
use crate::regions::Pair;
use device::cpu::Workers;
use gpu_kernels::space::Aabb;

/// A step's search for changed pairs, whatever the approach.
pub struct Finder<'a, const D: usize> {
    pub workers: &'a Workers,
    /// Publications, subscriptions.
    pub sides: [SideView<'a, D>; 2],
    pools: &'a mut HitPools,
    used: usize,
}

/// Buffers for the pairs that threads find, kept from step to step.
#[derive(Default)]
pub struct HitPools(Vec<Hits>);

impl HitPools {
    /// The buffers that the last search filled.
    pub fn filled(&self) -> &[Hits] {
        &self.0
    }
}

impl<'a, const D: usize> Finder<'a, D> {
    pub fn new(
        workers: &'a Workers,
        sides: [SideView<'a, D>; 2],
        pools: &'a mut HitPools,
    ) -> Finder<'a, D> {
        for hits in &mut pools.0 {
            hits.gained.clear();
            hits.lost.clear();
        }
        Finder {
            workers,
            sides,
            pools,
            used: 0,
        }
    }

    /// Empty buffers for so many tasks. Pairs are gathered in their order.
    pub fn hits(&mut self, tasks: usize) -> &mut [Hits] {
        let start = self.used;
        self.used += tasks;
        if self.pools.0.len() < self.used {
            self.pools.0.resize_with(self.used, Hits::default);
        }
        &mut self.pools.0[start..self.used]
    }
}

/// The entries of an updated region in a search: one entry with the hull of its boxes
/// before the step and now; or two entries, one for each box, if the hull would be much
/// larger than both. A lost pair is found by the two entries that represent the boxes of
/// before, a gained pair by those of now: so each is found once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Entry(u32);

impl Entry {
    const BEFORE_ONLY: u32 = 1 << 31;
    const NOW_ONLY: u32 = 1 << 30;

    /// The entry of a region that did not move.
    pub fn still(number: u32) -> Entry {
        Entry(number)
    }

    pub fn from_bits(bits: u32) -> Entry {
        Entry(bits)
    }

    pub fn bits(self) -> u32 {
        self.0
    }

    pub fn number(self) -> u32 {
        self.0 & !(Entry::BEFORE_ONLY | Entry::NOW_ONLY)
    }

    /// The box that the entry is found by.
    pub fn aabb<const D: usize>(self, motion: &Motion<D>) -> Aabb<D> {
        if self.0 & Entry::BEFORE_ONLY != 0 {
            motion.before
        } else if self.0 & Entry::NOW_ONLY != 0 {
            motion.now
        } else {
            motion.before.hull(&motion.now)
        }
    }

    /// Calls `visit` with the entries of a region and their boxes.
    pub fn each<const D: usize>(
        number: u32,
        motion: &Motion<D>,
        mut visit: impl FnMut(Entry, Aabb<D>),
    ) {
        let hull = motion.before.hull(&motion.now);
        let apart = !motion.before.is_nowhere()
            && !motion.now.is_nowhere()
            && (0..D).any(|axis| {
                let longer = motion.before.extent(axis).max(motion.now.extent(axis));
                u64::from(hull.extent(axis)) > 2 * u64::from(longer)
            });
        if apart {
            visit(Entry(number | Entry::BEFORE_ONLY), motion.before);
            visit(Entry(number | Entry::NOW_ONLY), motion.now);
        } else if !hull.is_nowhere() {
            visit(Entry(number), hull);
        }
    }
}

/// Whether the first entry of a pair is a publication.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Roles {
    PublicationFirst,
    SubscriptionFirst,
}

impl Hits {
    /// Notes what became of a pair, unless other entries of its regions do.
    pub fn compare<const D: usize>(
        &mut self,
        roles: Roles,
        (one, one_motion): (Entry, &Motion<D>),
        (other, other_motion): (Entry, &Motion<D>),
    ) {
        if let Some(gained) = one_motion.change(other_motion) {
            self.note(roles, one, other, gained);
        }
    }

    /// Notes a pair that was gained or lost, unless other entries of its regions do.
    pub fn note(&mut self, roles: Roles, one: Entry, other: Entry, gained: bool) {
        let flags = one.0 | other.0;
        let pair = match roles {
            Roles::PublicationFirst => Pair::new(one.number(), other.number()),
            Roles::SubscriptionFirst => Pair::new(other.number(), one.number()),
        };
        match gained {
            true if flags & Entry::BEFORE_ONLY == 0 => self.gained.push(pair),
            false if flags & Entry::NOW_ONLY == 0 => self.lost.push(pair),
            _ => {}
        }
    }
}
