use client_core::View;
use shared::{CommandKind, Schema};

use super::wander::Wander;
use super::{Behaviour, Dice, Input, command};

/// Goes as a wanderer does, but steers: it gives a command only where it turns.
pub struct Stroll {
    way: Wander,
    steer: Option<CommandKind>,
    /// As it was steered last.
    words: Option<[i32; 3]>,
}

impl Stroll {
    pub fn new(schema: &Schema, dice: &mut Dice) -> Stroll {
        Stroll {
            // Little is sent of one that stays on its course, so the view may be a second old.
            way: Wander::new(schema, dice).with_look_ahead(f64::from(schema.world.tick_hz) + 3.0),
            steer: command(schema, "steer"),
            words: None,
        }
    }

    fn steer(&mut self, words: [i32; 3], dimensions: usize, input: &mut Input) {
        if self.words.replace(words) != Some(words)
            && let Some(steer) = self.steer
        {
            input.command(steer, &words[..dimensions]);
        }
    }
}

impl Behaviour for Stroll {
    fn act(&mut self, view: &View, dice: &mut Dice, input: &mut Input) {
        if let Some(words) = self.way.step(view, dice) {
            self.steer(words, view.schema().dimensions(), input);
        } else {
            // A reborn entity rests.
            self.words = None;
        }
    }

    fn rest(&mut self, view: &View, input: &mut Input) {
        self.steer([0; 3], view.schema().dimensions(), input);
    }
}
