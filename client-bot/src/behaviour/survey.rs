use client_core::{Region, View};
use shared::{EntityId, Fixed, Schema};

use super::wander::Wander;
use super::{Behaviour, Dice, Input};

/// Wanders, and holds two regions: a fixed one anywhere in the world, and one that follows
/// an entity in view, ahead of it or behind. Sometimes it moves one or gives it up.
pub struct Survey {
    walk: Wander,
    turns: usize,
}

impl Survey {
    pub fn new(schema: &Schema, dice: &mut Dice) -> Survey {
        Survey {
            walk: Wander::new(schema, dice),
            turns: 0,
        }
    }
}

impl Behaviour for Survey {
    fn act(&mut self, view: &View, dice: &mut Dice, input: &mut Input) {
        self.walk.act(view, dice, input);
        let Some(own) = view.own() else { return };
        self.turns += 1;
        if self.turns == 1 || dice.below(TURNS_PER_MOVE) == 0 {
            // The first request is always for a region.
            let given_up = self.turns > 1 && dice.below(8) == 0;
            let region = anywhere(view, dice);
            input.set_region(FIXED, (!given_up).then_some(region));
        } else if self.turns == 2 || dice.below(TURNS_PER_MOVE) == 0 {
            let others = view.entities().values().map(|e| e.id);
            // The smallest id, so that equal views give the same choice.
            let other = others.min().filter(|_| dice.below(2) == 0);
            let region = beside(other.unwrap_or(own.id), view, dice);
            input.set_region(FOLLOWING, Some(region));
        }
    }
}

/// A box whose middle is in the world.
fn anywhere(view: &View, dice: &mut Dice) -> Region {
    random_box(view, dice, |dice, size, edge| {
        dice.below(size.raw() as usize) as i32 - edge / 2
    })
}

/// A box that follows an entity, and may lie beside it.
fn beside(entity: EntityId, view: &View, dice: &mut Dice) -> Region {
    let edge_max = edge_max(view);
    let region = random_box(view, dice, |dice, _, _| {
        dice.below(2 * edge_max) as i32 - edge_max as i32
    });
    Region {
        follows: Some(entity),
        ..region
    }
}

/// A box of random size, at most that of the area of interest. `low` gives the low corner
/// on an axis from the world's size there and the box's edge.
fn random_box(view: &View, dice: &mut Dice, low: impl Fn(&mut Dice, Fixed, i32) -> i32) -> Region {
    let sizes = view.schema().world.size.iter();
    let (low, high): (Vec<i32>, Vec<i32>) = sizes
        .map(|&size| {
            let edge = 1 + dice.below(edge_max(view)) as i32;
            let low = low(dice, size, edge);
            (low, low + edge)
        })
        .unzip();
    Region::fixed(&low, &high)
}

fn edge_max(view: &View) -> usize {
    2 * view.schema().world.aoi.raw() as usize
}

/// The indexes of its regions.
const FIXED: u32 = 0;
const FOLLOWING: u32 = 1;
/// Rarely enough that views into a region can be compared most of the time.
const TURNS_PER_MOVE: usize = 100;
