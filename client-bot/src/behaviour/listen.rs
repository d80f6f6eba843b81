use shared::CommandKind;

use super::fight::Fight;
use super::{Behaviour, Deeds, Dice};
use crate::view::View;
use crate::wish::{SOME_NUMBER, Wish};

/// Fights and shouts, so that things happen, and subscribes to some of what can
/// happen. Now and then a subscription ends, and another one takes its place.
pub struct Listen {
    fight: Fight,
    /// What can happen in this world, once known.
    wishes: Option<Vec<Wish>>,
    held: Vec<u32>,
    next_id: u32,
    next_shout: i32,
}

impl Listen {
    pub fn new(dice: &mut Dice) -> Listen {
        Listen {
            fight: Fight::new(dice),
            wishes: None,
            held: vec![],
            next_id: 0,
            next_shout: 0,
        }
    }
}

impl Behaviour for Listen {
    fn act(&mut self, view: &View, dice: &mut Dice, deeds: &mut Deeds) {
        self.fight.act(view, dice, deeds);
        if dice.below(TURNS_PER_SHOUT) == 0 && view.schema().command(CommandKind::Shout).is_some() {
            let radius = dice.below(2 * view.schema().world.aoi.raw() as usize);
            deeds.command(CommandKind::Shout, &[radius as i32, self.next_shout]);
            self.next_shout = (self.next_shout + SHOUT_STEP) % (2 * SOME_NUMBER);
        }
        let wishes = self.wishes.get_or_insert_with(|| Wish::all(view.schema()));
        if wishes.is_empty() {
            return;
        }
        if self.held.len() == HELD_MAX && dice.below(TURNS_PER_CHANGE) == 0 {
            deeds.unsubscribe(self.held.remove(dice.below(HELD_MAX)));
        } else if self.held.len() < HELD_MAX {
            let wish = wishes[dice.below(wishes.len())].clone();
            deeds.subscribe(self.next_id, wish);
            self.held.push(self.next_id);
            self.next_id += 1;
        }
    }
}

/// Two of them may match the same.
const HELD_MAX: usize = 3;
const TURNS_PER_CHANGE: usize = 50;
const TURNS_PER_SHOUT: usize = 10;
/// Takes the numbers of shouts now below and now above some number.
const SHOUT_STEP: i32 = 333;
