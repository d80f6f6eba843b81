use shared::wire::session::Region;
use shared::{EntityId, Fixed};

use super::wander::Wander;
use super::{Behaviour, Deeds, Dice};
use crate::view::View;

/// Wanders, and watches two regions besides: one that lies anywhere in the world,
/// and one that goes with it or with somebody in view, ahead or behind. Now and then
/// one moves, or is given up.
pub struct Survey {
    walk: Wander,
    turns: usize,
}

impl Survey {
    pub fn new(dice: &mut Dice) -> Survey {
        Survey {
            walk: Wander::new(dice),
            turns: 0,
        }
    }
}

impl Behaviour for Survey {
    fn act(&mut self, view: &View, dice: &mut Dice, deeds: &mut Deeds) {
        self.walk.act(view, dice, deeds);
        let Some(own) = view.own() else { return };
        self.turns += 1;
        if self.turns == 1 || dice.below(TURNS_PER_MOVE) == 0 {
            // The first is always one.
            let given_up = self.turns > 1 && dice.below(8) == 0;
            let region = anywhere(view, dice);
            deeds.set_region(FIXED, (!given_up).then_some(region));
        } else if self.turns == 2 || dice.below(TURNS_PER_MOVE) == 0 {
            let others = view.entities().values().map(|e| e.id);
            // The first by slot, so that the same view means the same one.
            let other = others.min().filter(|_| dice.below(2) == 0);
            let region = beside(other.unwrap_or(own.id), view, dice);
            deeds.set_region(FOLLOWING, Some(region));
        }
    }
}

/// A box whose middle is in the world.
fn anywhere(view: &View, dice: &mut Dice) -> Region {
    random_box(view, dice, |dice, size, edge| {
        dice.below(size.raw() as usize) as i32 - edge / 2
    })
}

/// A box that goes with an entity, not always around it.
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

/// A box of any size up to the area of interest's. `low` gives a low corner on an axis, by
/// the world's size there and the edge.
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
/// So seldom that what a region shows is compared for most of the time.
const TURNS_PER_MOVE: usize = 100;
