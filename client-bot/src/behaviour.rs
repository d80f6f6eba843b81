//! What bots do, one file each.

mod crowd;
mod fight;
mod wander;

use clap::ValueEnum;
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};
use shared::{CommandKind, Fixed};

use crate::view::View;

/// The behaviours by name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum BehaviourKind {
    /// Walk straight, turn now and then, bounce off the world's edge.
    #[default]
    Wander,
    /// Gather in the middle of the world.
    Crowd,
    /// Wander, and strike, blast, heal and pick on the way.
    Fight,
}

/// Decides what one bot does next.
pub trait Behaviour {
    /// Called once per period of the bot's rate, with what it sees.
    fn act(&mut self, view: &View, dice: &mut Dice, act: &mut dyn FnMut(CommandKind, &[i32]));
}

impl BehaviourKind {
    pub fn start(self, dice: &mut Dice) -> Box<dyn Behaviour> {
        match self {
            BehaviourKind::Wander => Box::new(wander::Wander::new(dice)),
            BehaviourKind::Crowd => Box::new(crowd::Crowd::new(dice)),
            BehaviourKind::Fight => Box::new(fight::Fight::new(dice)),
        }
    }

    pub fn name(self) -> &'static str {
        match self {
            BehaviourKind::Wander => "wander",
            BehaviourKind::Crowd => "crowd",
            BehaviourKind::Fight => "fight",
        }
    }
}

/// A bot's luck: the same for the same seed.
pub struct Dice(Xoshiro256PlusPlus);

impl Dice {
    pub fn new(seed: u64) -> Dice {
        Dice(Xoshiro256PlusPlus::seed_from_u64(seed))
    }

    /// A number from 0 to just under 1.
    pub fn unit(&mut self) -> f64 {
        (self.0.next_u64() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// A number below `n`; 0 for 0.
    pub fn below(&mut self, n: usize) -> usize {
        (self.unit() * n as f64) as usize
    }
}

/// A number of units as a command's word.
fn word(units: f64) -> i32 {
    Fixed::from_f64(units).unwrap_or_default().raw()
}
