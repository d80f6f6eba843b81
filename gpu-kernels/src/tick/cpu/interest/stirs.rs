//! Which clients a tick that changes little leaves alone, and what the others have to look at:
//! only the entities near them that changed, if they did not move themselves.

use device::cpu::lanes::{Ball, append_near};
use device::cpu::{RadixSorter, Workers, ranges, take};
use shared::world::attribute::bits_for;
use shared::world::visibility::Visibility;
use shared::{InterestMode, Slot, Tick};

use super::gather::Viewpoint;
use super::{Input, Interest};
use crate::tick::frame::{Observer, Target};

#[derive(Default)]
pub struct Stirs {
    /// By slot: where its entity was after a tick, or [`NOWHERE`].
    last: Vec<[i32; 3]>,
    /// By slot: what hid its entity after that tick, and what it revealed; empty in worlds that
    /// hide nothing.
    bits: Vec<[i32; 2]>,
    /// The tick after that one.
    next: Option<Tick>,
    /// Few entities changed in this tick.
    is_quiet: bool,
    /// The entities that changed, by part of the slots, then all of them.
    parts: Vec<Part>,
    all: Vec<Stir>,
    /// (slot, place in `all`): something changed within reach of where the slot's entity is.
    pairs: Vec<(u32, u32)>,
    sorter: RadixSorter<(u32, u32)>,
    /// By slot: what changed within its reach.
    near: Vec<Near>,
}

/// An entity that changed, came or went, or is hidden from others than before.
#[derive(Clone, Copy)]
pub struct Stir {
    pub slot: u32,
    /// Where it is now, or [`NOWHERE`].
    pub here: [i32; 3],
    there: [i32; 3],
}

#[derive(Default)]
struct Part {
    stirs: Vec<Stir>,
    pairs: Vec<(u32, u32)>,
    near: Vec<u32>,
}

#[derive(Clone, Copy, Default)]
enum Near {
    #[default]
    Nothing,
    /// The first of its pairs.
    From(u32),
    /// The entity itself moved, came or went, or reveals others.
    Moved,
}

/// What a client has to look at.
pub enum Look<'a> {
    Nothing,
    /// It follows an entity that stayed where it was. These pairs have what changed near it.
    Changed(&'a [(u32, u32)]),
    Everything,
}

impl Stirs {
    /// Known sets are no longer what follows from where entities were.
    pub fn forget(&mut self) {
        self.next = None;
    }

    /// An entity of a pair.
    pub fn of(&self, pair: (u32, u32)) -> &Stir {
        &self.all[pair.1 as usize]
    }

    /// What a client without subscriptions, which was up to date before the tick, has to look at.
    #[inline]
    pub fn look(&self, observers: &[Option<Observer>]) -> Look<'_> {
        if !self.is_quiet {
            return Look::Everything;
        }
        let mut look = Look::Nothing;
        for observer in observers.iter().flatten() {
            let Target::Entity(entity) = observer.target else {
                return Look::Everything;
            };
            let slot = entity.slot.index();
            // Things are followed to where they are not, and nobody notes what changes there.
            if self.last.get(slot) == Some(&NOWHERE) {
                return Look::Everything;
            }
            match self.near.get(slot) {
                None | Some(Near::Nothing) => {}
                // Two observers may see the same entity.
                Some(&Near::From(first)) if observers.iter().flatten().nth(1).is_none() => {
                    look = Look::Changed(self.pairs_from(first));
                }
                Some(_) => return Look::Everything,
            }
        }
        look
    }

    /// The pairs of a slot.
    fn pairs_from(&self, first: u32) -> &[(u32, u32)] {
        let rest = &self.pairs[first as usize..];
        let own = rest.iter().take_while(|pair| pair.0 == rest[0].0);
        &rest[..own.count()]
    }

    /// Finds out what changed, unless that is much.
    fn find(
        &mut self,
        workers: &Workers,
        input: Input<'_>,
        visibility: &Visibility,
        dimensions: usize,
    ) {
        let (state, merge) = (input.state, input.merge);
        let most = state.slots.live() / QUIET_SHARE;
        self.is_quiet = false;
        if merge.changed_entities() > most {
            self.next = None;
            return;
        }
        let used = state.slots.used();
        if self.last.len() < used {
            self.last.resize(used, NOWHERE);
            self.near.resize(used, Near::Nothing);
        }
        let Visibility {
            hides,
            reveals,
            line_of_sight,
        } = *visibility;
        if hides.is_some() && self.bits.len() < used {
            self.bits.resize(used, [0; 2]);
        }
        self.parts.resize_with(workers.parts(used), Part::default);
        let (mut last, mut near) = (&mut self.last[..], &mut self.near[..]);
        let mut bits = &mut self.bits[..];
        let tasks = ranges(used, self.parts.len())
            .zip(&mut self.parts)
            .map(|(range, part)| {
                let n = range.len();
                let hidden = if hides.is_some() { n } else { 0 };
                let bits = take(&mut bits, hidden);
                (range, take(&mut last, n), take(&mut near, n), bits, part)
            });
        workers.run(tasks.collect(), |(range, last, near, bits, part)| {
            part.stirs.clear();
            // What hides and reveals can change where no client is sent that it does.
            let mut bits = bits.iter_mut();
            for ((slot, last), near) in range.zip(last).zip(near) {
                let [mut is_hidden_anew, mut reveals_anew] = [false; 2];
                if let Some(bits) = bits.next() {
                    let row = state.row(Slot(slot as u32));
                    let of = |column: Option<u16>| column.map_or(0, |own| row[usize::from(own)]);
                    let before = std::mem::replace(bits, [of(hides), of(reveals)]);
                    [is_hidden_anew, reveals_anew] = [0, 1].map(|i| before[i] != bits[i]);
                }
                let here = match state.slots.is_somewhere(slot) {
                    true => state.position(Slot(slot as u32), dimensions),
                    false => NOWHERE,
                };
                let there = std::mem::replace(last, here);
                let slot = slot as u32;
                *near = match here == there && !reveals_anew {
                    true => Near::Nothing,
                    false => Near::Moved,
                };
                let is_changed = is_hidden_anew || merge.has_changed(slot);
                if here != there || (here != NOWHERE && is_changed) {
                    part.stirs.push(Stir { slot, here, there });
                }
            }
        });
        self.all.clear();
        for part in &self.parts {
            self.all.extend_from_slice(&part.stirs);
        }
        // Nobody notes from where an opened door or a wall that is gone is seen.
        let is_opened = line_of_sight && (state.doors_moved || state.walls_edited);
        let is_next = self.next == Some(state.tick);
        self.is_quiet = is_next && !is_opened && self.all.len() <= 2 * most;
        self.next = Some(state.tick.next());
    }

    /// Sorts the pairs that all parts found, and notes where those of each slot begin.
    fn note_pairs(&mut self, workers: &Workers, pairs_max: usize) {
        self.pairs.clear();
        for part in &self.parts {
            self.pairs.extend_from_slice(&part.pairs);
        }
        if self.pairs.len() > pairs_max {
            self.is_quiet = false;
            return;
        }
        let n = self.pairs.len();
        let bits = bits_for(self.near.len().max(1) as u64 - 1);
        self.sorter.sort(workers, &mut self.pairs, n, 0..bits);
        self.pairs.truncate(n);
        let mut last = u32::MAX;
        for (place, &(slot, _)) in self.pairs.iter().enumerate() {
            if slot != last
                && let near @ Near::Nothing = &mut self.near[slot as usize]
            {
                *near = Near::From(place as u32);
            }
            last = slot;
        }
    }
}

impl Interest {
    /// Finds the entities near which something changed.
    pub(super) fn find_stirs(&mut self, workers: &Workers, input: Input<'_>) {
        self.stirs
            .find(workers, input, &self.visibility, self.dimensions);
        if !self.stirs.is_quiet {
            return;
        }
        let pairs_max = PAIRS_SHARE * input.state.slots.live();
        let mut parts = std::mem::take(&mut self.stirs.parts);
        let all = &self.stirs.all[..];
        let shared = &*self;
        let tasks = ranges(all.len(), parts.len()).zip(&mut parts);
        workers.run(tasks.collect(), |(range, part)| {
            part.pairs.clear();
            for place in range {
                if part.pairs.len() > pairs_max {
                    break;
                }
                match shared.dimensions {
                    2 => shared.pair_up::<2>(place, input, part),
                    _ => shared.pair_up::<3>(place, input, part),
                }
            }
        });
        self.stirs.parts = parts;
        self.stirs.note_pairs(workers, pairs_max);
    }

    /// Appends the pairs of an entity that changed with all that are near where it is or was.
    fn pair_up<const AXES: usize>(&self, place: usize, input: Input<'_>, part: &mut Part) {
        let Stir { here, there, .. } = self.stirs.all[place];
        part.near.clear();
        if here != NOWHERE {
            self.find_near::<AXES>(here, input, &mut part.near);
        }
        if there != here && there != NOWHERE {
            self.find_near::<AXES>(there, input, &mut part.near);
        }
        let near = part.near.iter();
        part.pairs.extend(near.map(|&slot| (slot, place as u32)));
    }

    fn find_near<const AXES: usize>(&self, place: [i32; 3], input: Input<'_>, near: &mut Vec<u32>) {
        let index = input.index;
        let view = Viewpoint {
            center: place,
            radius: self.aoi,
            margin: self.margin,
            followed: None,
        };
        let mut ball = Ball::<AXES>::without_shells(place, self.aoi + self.margin);
        if self.mode == InterestMode::Buckets {
            ball.radius = i64::MAX;
        }
        index.each_range(view.block(index, self.mode), |row| {
            let slots = &index.slots()[row.clone()];
            append_near(index.points::<AXES>(row, slots), &ball, near);
        });
    }
}

/// Where the entity of an empty slot is.
pub const NOWHERE: [i32; 3] = [-1; 3];
/// A tick is quiet if at most one entity in so many changed.
const QUIET_SHARE: usize = 16;
/// A tick is not quiet if entities have more changes than this near them, on average: in a crowd.
const PAIRS_SHARE: usize = 16;
