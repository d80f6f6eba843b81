use client_core::View;
use shared::{CommandKind, Fixed, Schema};

use super::{Behaviour, Dice, Input, command, word};

/// Walks to the middle of the world and moves about there.
pub struct Crowd {
    /// The distance from the middle at which this bot stops, in units.
    near: f64,
    move_command: Option<CommandKind>,
}

impl Crowd {
    pub fn new(schema: &Schema, dice: &mut Dice) -> Crowd {
        Crowd {
            near: CROWD_RADIUS * dice.unit().sqrt(),
            move_command: command(schema, "move"),
        }
    }
}

impl Behaviour for Crowd {
    fn act(&mut self, view: &View, dice: &mut Dice, input: &mut Input) {
        let Some(own) = view.own() else { return };
        let size = &view.schema().world.size;
        let to_middle =
            |axis: usize| size[axis].to_f64() / 2.0 - Fixed::from_raw(own.row[axis]).to_f64();
        let distance = (0..size.len())
            .map(|a| to_middle(a).powi(2))
            .sum::<f64>()
            .sqrt();
        let mut words = [0; 3];
        for (axis, word_out) in words.iter_mut().enumerate().take(size.len()) {
            let step = if distance > self.near {
                to_middle(axis) / distance * SPEED
            } else {
                (dice.unit() - 0.5) * SPEED
            };
            *word_out = word(step);
        }
        if let Some(command) = self.move_command {
            input.command(command, &words[..size.len()]);
        }
    }
}

/// Units per step.
const SPEED: f64 = 2.0;
const CROWD_RADIUS: f64 = 40.0;
