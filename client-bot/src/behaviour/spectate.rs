use client_core::View;
use shared::Schema;

use super::{Behaviour, Dice, Input};

/// Has no entity: moves the point that it watches a little now and then, and sometimes sees
/// less far.
pub struct Spectate {
    /// Where the point goes.
    goal: [i32; 3],
    turns: usize,
}

impl Spectate {
    pub fn new(schema: &Schema) -> Spectate {
        Spectate {
            goal: schema.world.size_raw().map(|size| size / 2),
            turns: 0,
        }
    }
}

impl Behaviour for Spectate {
    fn act(&mut self, view: &View, dice: &mut Dice, input: &mut Input) {
        let world = &view.schema().world;
        let aoi = world.aoi.raw();
        self.turns += 1;
        if self.turns % TURNS_PER_STEP == 1 {
            for (goal, size) in self.goal.iter_mut().zip(&world.size) {
                let step = ((dice.unit() - 0.5) * f64::from(aoi)) as i32;
                *goal = goal.saturating_add(step).clamp(0, size.raw() - 1);
            }
            input.watch(self.goal);
        } else if dice.below(TURNS_PER_SIGHT) == 0 {
            let radius = aoi / 2 + dice.below(aoi as usize / 2) as i32;
            input.set_sight((dice.below(3) > 0).then_some(radius));
        }
    }
}

const TURNS_PER_STEP: usize = 8;
const TURNS_PER_SIGHT: usize = 20;
