use super::boxes::{Aabb, SideView};
use crate::cpu::disjoint::DisjointWriter;
use crate::cpu::workers::{Workers, ranges};
use crate::regions::batch::{Kind, parse};
use crate::regions::{Batch, Side, StepError};

/// All regions, and which of them the present step updates.
pub struct State<const D: usize> {
    /// Publications, subscriptions.
    sides: [SideState<D>; 2],
    step: u32,
}

struct SideState<const D: usize> {
    /// By number, up to the highest that was ever used. Between steps both are
    /// the same.
    before: Vec<Aabb<D>>,
    now: Vec<Aabb<D>>,
    /// The last step in which a region was named.
    stamps: Vec<u32>,
    /// Numbers of the updated regions.
    updated: Vec<u32>,
    /// Regions there, and how many there were before the step.
    live: usize,
    live_before: usize,
    /// How many of the updated ones are new.
    added: usize,
}

impl<const D: usize> State<D> {
    pub fn new() -> State<D> {
        State {
            sides: [SideState::new(), SideState::new()],
            step: 0,
        }
    }

    /// Checks a whole batch, then takes it in.
    pub fn take_in(&mut self, workers: &Workers, batch: &Batch) -> Result<(), StepError> {
        self.step += 1;
        for side in &mut self.sides {
            side.updated.clear();
            side.live_before = side.live;
            side.added = 0;
        }
        if let Err(error) = self.check(batch) {
            for side in &mut self.sides {
                side.live = side.live_before;
            }
            return Err(error);
        }
        let (words, stride) = (batch.words(), 1 + 2 * D);
        let [publications, subscriptions] = &mut self.sides;
        let writers = [
            DisjointWriter::new(&mut publications.now[..]),
            DisjointWriter::new(&mut subscriptions.now[..]),
        ];
        let tasks = ranges(batch.len(), workers.parts(batch.len()));
        workers.run(tasks.collect(), |range| {
            for update in words[range.start * stride..range.end * stride].chunks_exact(stride) {
                let (_, region) = parse(update[0]);
                let aabb = Aabb {
                    low: std::array::from_fn(|axis| update[1 + axis]),
                    high: std::array::from_fn(|axis| update[1 + D + axis]),
                };
                // SAFETY: the batch was checked to name no region twice.
                #[allow(unsafe_code)]
                unsafe {
                    writers[region.side as usize].write(region.number as usize, aabb);
                }
            }
        });
        for side in &mut self.sides {
            // Whoever goes through the regions by number finds pairs in order.
            if !side.updated.is_sorted() {
                side.updated.sort_unstable();
            }
        }
        Ok(())
    }

    /// Stamps the batch's regions, and counts them.
    fn check(&mut self, batch: &Batch) -> Result<(), StepError> {
        for update in batch.words().chunks_exact(1 + 2 * D) {
            let (kind, region) = parse(update[0]);
            let side = &mut self.sides[region.side as usize];
            let number = region.number as usize;
            if number >= side.now.len() {
                if kind != Kind::Add {
                    return Err(StepError::Unknown(region));
                }
                side.now.resize(number + 1, Aabb::NOWHERE);
                side.before.resize(number + 1, Aabb::NOWHERE);
                side.stamps.resize(number + 1, 0);
            }
            if side.stamps[number] == self.step {
                return Err(StepError::NamedTwice(region));
            }
            side.stamps[number] = self.step;
            let is_there = !side.now[number].is_nowhere();
            match kind {
                Kind::Add if is_there => return Err(StepError::AlreadyThere(region)),
                Kind::Modify | Kind::Remove if !is_there => {
                    return Err(StepError::Unknown(region));
                }
                Kind::Add => {
                    side.live += 1;
                    side.added += 1;
                }
                Kind::Modify => {}
                Kind::Remove => side.live -= 1,
            }
            side.updated.push(region.number);
        }
        Ok(())
    }

    /// Both sides of the present step.
    pub fn sides(&self) -> [SideView<'_, D>; 2] {
        [Side::Publication, Side::Subscription].map(|side| {
            let side = &self.sides[side as usize];
            SideView {
                before: Some(&side.before),
                now: &side.now,
                updated: &side.updated,
                stamps: Some((&side.stamps, self.step)),
                still: side.live_before + side.added - side.updated.len(),
            }
        })
    }

    /// The step is over: what is now was before.
    pub fn settle(&mut self, workers: &Workers) {
        for side in &mut self.sides {
            let SideState {
                before,
                now,
                updated,
                ..
            } = side;
            let writer = DisjointWriter::new(&mut before[..]);
            let tasks = ranges(updated.len(), workers.parts(updated.len()));
            workers.run(tasks.collect(), |range| {
                for &number in &updated[range] {
                    // SAFETY: no region is updated twice in a step.
                    #[allow(unsafe_code)]
                    unsafe {
                        writer.write(number as usize, now[number as usize]);
                    }
                }
            });
        }
    }

    /// The step did not happen.
    pub fn take_back(&mut self) {
        for side in &mut self.sides {
            for &number in &side.updated {
                side.now[number as usize] = side.before[number as usize];
            }
            side.live = side.live_before;
        }
    }

    /// How many regions there are.
    pub fn regions(&self) -> [u32; 2] {
        [self.sides[0].live as u32, self.sides[1].live as u32]
    }

    /// The numbers of all regions.
    pub fn live(&self) -> [Vec<u32>; 2] {
        let numbers = |side: &SideState<D>| {
            let boxes = side.now.iter().zip(0..);
            boxes
                .filter(|(aabb, _)| !aabb.is_nowhere())
                .map(|(_, n)| n)
                .collect()
        };
        [numbers(&self.sides[0]), numbers(&self.sides[1])]
    }

    /// Both sides as if all regions had just been added.
    pub fn as_if_new<'a>(&'a self, live: &'a [Vec<u32>; 2]) -> [SideView<'a, D>; 2] {
        [0, 1].map(|side| SideView {
            before: None,
            now: &self.sides[side].now,
            updated: &live[side],
            stamps: None,
            still: 0,
        })
    }
}

impl<const D: usize> SideState<D> {
    fn new() -> SideState<D> {
        SideState {
            before: vec![],
            now: vec![],
            stamps: vec![],
            updated: vec![],
            live: 0,
            live_before: 0,
            added: 0,
        }
    }
}
