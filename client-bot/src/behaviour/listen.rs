use client_core::View;
use shared::{CommandKind, Schema};

use super::fight::Fight;
use super::{Behaviour, Dice, Input, command};
use crate::filter::{Filter, SOME_NUMBER};

/// Fights and shouts, and subscribes to a few kinds of events. Sometimes it replaces a
/// subscription by another one.
pub struct Listen {
    fight: Fight,
    /// Filters that can match in this world, once the schema is known.
    filters: Option<Vec<Filter>>,
    /// Ids of the subscriptions.
    subscriptions: Vec<u32>,
    next_id: u32,
    shout: Option<CommandKind>,
    next_shout: i32,
}

impl Listen {
    pub fn new(schema: &Schema, dice: &mut Dice) -> Listen {
        Listen {
            fight: Fight::new(schema, dice),
            filters: None,
            subscriptions: vec![],
            next_id: 0,
            shout: command(schema, "shout"),
            next_shout: 0,
        }
    }
}

impl Behaviour for Listen {
    fn act(&mut self, view: &View, dice: &mut Dice, input: &mut Input) {
        self.fight.act(view, dice, input);
        if dice.below(TURNS_PER_SHOUT) == 0
            && let Some(shout) = self.shout
        {
            let radius = dice.below(2 * view.schema().world.aoi.raw() as usize);
            input.command(shout, &[radius as i32, self.next_shout]);
            self.next_shout = (self.next_shout + SHOUT_STEP) % (2 * SOME_NUMBER);
        }
        let filters = self
            .filters
            .get_or_insert_with(|| Filter::all(view.schema()));
        if filters.is_empty() {
            return;
        }
        if self.subscriptions.len() == SUBSCRIPTIONS_MAX && dice.below(TURNS_PER_CHANGE) == 0 {
            input.unsubscribe(self.subscriptions.remove(dice.below(SUBSCRIPTIONS_MAX)));
        } else if self.subscriptions.len() < SUBSCRIPTIONS_MAX {
            let filter = filters[dice.below(filters.len())].clone();
            input.subscribe(self.next_id, filter);
            self.subscriptions.push(self.next_id);
            self.next_id += 1;
        }
    }
}

/// More than one, so that several can match the same event.
const SUBSCRIPTIONS_MAX: usize = 3;
const TURNS_PER_CHANGE: usize = 50;
const TURNS_PER_SHOUT: usize = 10;
/// Makes the numbers of shouts alternate below and above [`SOME_NUMBER`].
const SHOUT_STEP: i32 = 333;
