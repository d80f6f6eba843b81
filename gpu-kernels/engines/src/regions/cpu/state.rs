use super::boxes::{Motion, SideView};
use crate::regions::batch::{Kind, parse};
use crate::regions::{Batch, Side, StepError};
use gpu_kernels::space::Aabb;

/// All regions, and which of them the current step updates.
pub struct State<const D: usize> {
    /// Publications, subscriptions.
    sides: [SideState<D>; 2],
    step: u32,
}

struct SideState<const D: usize> {
    /// By number, up to the highest that was ever used. Between steps, before and
    /// now are the same.
    motions: Vec<Motion<D>>,
    /// The last step in which a region was named.
    stamps: Vec<u32>,
    /// Numbers of the updated regions.
    updated: Vec<u32>,
    /// How many regions there are, and how many there were before the step.
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

    /// Applies a batch, all of it or nothing.
    pub fn apply(&mut self, batch: &Batch) -> Result<(), StepError> {
        self.step += 1;
        for side in &mut self.sides {
            side.updated.clear();
            side.live_before = side.live;
            side.added = 0;
        }
        for update in batch.words().chunks_exact(1 + 2 * D) {
            if let Err(error) = self.apply_one(update) {
                self.take_back();
                return Err(error);
            }
        }
        for side in &mut self.sides {
            // Approaches that go through the regions by number find pairs in order.
            if !side.updated.is_sorted() {
                side.updated.sort_unstable();
            }
        }
        Ok(())
    }

    fn apply_one(&mut self, update: &[i32]) -> Result<(), StepError> {
        let (kind, region) = parse(update[0]);
        let side = &mut self.sides[region.side as usize];
        let number = region.number as usize;
        if number >= side.motions.len() {
            if kind != Kind::Add {
                return Err(StepError::Unknown(region));
            }
            side.motions.resize(number + 1, Motion::NOWHERE);
            side.stamps.resize(number + 1, 0);
        }
        if side.stamps[number] == self.step {
            return Err(StepError::NamedTwice(region));
        }
        side.stamps[number] = self.step;
        let motion = &mut side.motions[number];
        let is_there = !motion.now.is_nowhere();
        match kind {
            Kind::Add if is_there => return Err(StepError::AlreadyThere(region)),
            Kind::Modify | Kind::Remove if !is_there => return Err(StepError::Unknown(region)),
            Kind::Add => {
                side.live += 1;
                side.added += 1;
            }
            Kind::Modify => {}
            Kind::Remove => side.live -= 1,
        }
        motion.now = Aabb {
            low: std::array::from_fn(|axis| update[1 + axis]),
            high: std::array::from_fn(|axis| update[1 + D + axis]),
        };
        side.updated.push(region.number);
        Ok(())
    }

    /// Both sides of the current step.
    pub fn sides(&self) -> [SideView<'_, D>; 2] {
        [Side::Publication, Side::Subscription].map(|side| {
            let side = &self.sides[side as usize];
            SideView {
                motions: &side.motions,
                all_new: false,
                updated: &side.updated,
                stamps: Some((&side.stamps, self.step)),
                still: side.live_before + side.added - side.updated.len(),
            }
        })
    }

    /// Ends the step: boxes of now become those of before.
    pub fn settle(&mut self) {
        for side in &mut self.sides {
            for &number in &side.updated {
                let motion = &mut side.motions[number as usize];
                motion.before = motion.now;
            }
        }
    }

    /// Undoes the step.
    pub fn take_back(&mut self) {
        for side in &mut self.sides {
            for &number in &side.updated {
                let motion = &mut side.motions[number as usize];
                motion.now = motion.before;
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
            let motions = side.motions.iter().zip(0..);
            let there = motions.filter(|(motion, _)| !motion.now.is_nowhere());
            there.map(|(_, number)| number).collect()
        };
        [numbers(&self.sides[0]), numbers(&self.sides[1])]
    }

    /// Both sides as if all regions had just been added.
    pub fn as_if_new<'a>(&'a self, live: &'a [Vec<u32>; 2]) -> [SideView<'a, D>; 2] {
        [0, 1].map(|side| SideView {
            motions: &self.sides[side].motions,
            all_new: true,
            updated: &live[side],
            stamps: None,
            still: 0,
        })
    }
}

impl<const D: usize> SideState<D> {
    fn new() -> SideState<D> {
        SideState {
            motions: vec![],
            stamps: vec![],
            updated: vec![],
            live: 0,
            live_before: 0,
            added: 0,
        }
    }
}
