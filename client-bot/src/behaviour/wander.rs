use std::f64::consts::TAU;

use client_core::View;
use shared::{CommandKind, Fixed, Schema};

use super::{Behaviour, Dice, Input, command, word};

/// Walks straight, sometimes turns, and bounces off the edges of the world, so that bots
/// stay evenly spread.
pub struct Wander {
    /// Units per axis and step.
    step: [f64; 3],
    /// How many steps before an edge it turns.
    look_ahead_steps: f64,
    move_command: Option<CommandKind>,
}

impl Wander {
    pub fn new(schema: &Schema, dice: &mut Dice) -> Wander {
        let mut wander = Wander {
            step: [0.0; 3],
            look_ahead_steps: LOOK_AHEAD_STEPS,
            move_command: command(schema, "move"),
        };
        wander.turn(dice);
        wander
    }

    fn turn(&mut self, dice: &mut Dice) {
        let heading = dice.unit() * TAU;
        let climb = (dice.unit() - 0.5) * SPEED;
        self.step = [heading.cos() * SPEED, heading.sin() * SPEED, climb];
    }

    /// Turns so many steps before an edge.
    pub fn with_look_ahead(self, steps: f64) -> Wander {
        Wander {
            look_ahead_steps: steps,
            ..self
        }
    }

    /// The next step in raw units; `None` while the client has no entity.
    pub fn step(&mut self, view: &View, dice: &mut Dice) -> Option<[i32; 3]> {
        let own = view.own()?;
        if dice.below(STEPS_PER_TURN) == 0 {
            self.turn(dice);
        }
        let size = &view.schema().world.size;
        let mut words = [0; 3];
        for (axis, size) in size.iter().enumerate() {
            let position = Fixed::from_raw(own.row[axis]).to_f64();
            let ahead = position + self.step[axis] * self.look_ahead_steps;
            let leaves = ahead < 0.0 && self.step[axis] < 0.0
                || ahead >= size.to_f64() && self.step[axis] > 0.0;
            if leaves {
                self.step[axis] = -self.step[axis];
            }
            words[axis] = word(self.step[axis]);
        }
        Some(words)
    }
}

impl Behaviour for Wander {
    fn act(&mut self, view: &View, dice: &mut Dice, input: &mut Input) {
        if let (Some(words), Some(command)) = (self.step(view, dice), self.move_command) {
            input.command(command, &words[..view.schema().dimensions()]);
        }
    }
}

/// Units per step.
const SPEED: f64 = 1.0;
const STEPS_PER_TURN: usize = 50;
/// The view is a few steps old: a bot that turned only at the edge would stick to it.
const LOOK_AHEAD_STEPS: f64 = 3.0;
