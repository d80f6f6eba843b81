//! What bots do, one file each.

mod crowd;
mod fight;
mod listen;
mod survey;
mod wander;

use clap::ValueEnum;
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};
use shared::wire::session::Region;
use shared::{CommandKind, Fixed};

use crate::view::View;
use crate::wish::Wish;

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
    /// Wander, and watch regions far away, which move now and then; the world must allow
    /// regions_per_client.
    Survey,
    /// Fight and shout, and subscribe to what changes and is shouted anywhere; the world
    /// must allow subscriptions_per_client.
    Listen,
}

/// Decides what one bot does next.
pub trait Behaviour {
    /// Called once per period of the bot's rate, with what it sees.
    fn act(&mut self, view: &View, dice: &mut Dice, deeds: &mut Deeds);
}

/// What a bot does in one turn.
#[derive(Default)]
pub struct Deeds {
    /// Commands with their words, padded.
    pub commands: Vec<(CommandKind, [i32; WORDS_MAX], usize)>,
    pub requests: Vec<Request>,
}

/// What a bot asks for in one turn.
#[derive(Clone, Debug)]
pub enum Request {
    SetRegion { index: u32, region: Option<Region> },
    Subscribe { id: u32, wish: Wish },
    Unsubscribe { id: u32 },
}

impl Deeds {
    /// Gives a command, of at most [`WORDS_MAX`] words.
    pub fn command(&mut self, kind: CommandKind, words: &[i32]) {
        let mut own = [0; WORDS_MAX];
        own[..words.len()].copy_from_slice(words);
        self.commands.push((kind, own, words.len()));
    }

    pub fn set_region(&mut self, index: u32, region: Option<Region>) {
        self.requests.push(Request::SetRegion { index, region });
    }

    pub fn subscribe(&mut self, id: u32, wish: Wish) {
        self.requests.push(Request::Subscribe { id, wish });
    }

    pub fn unsubscribe(&mut self, id: u32) {
        self.requests.push(Request::Unsubscribe { id });
    }
}

impl BehaviourKind {
    pub fn start(self, dice: &mut Dice) -> Box<dyn Behaviour> {
        match self {
            BehaviourKind::Wander => Box::new(wander::Wander::new(dice)),
            BehaviourKind::Crowd => Box::new(crowd::Crowd::new(dice)),
            BehaviourKind::Fight => Box::new(fight::Fight::new(dice)),
            BehaviourKind::Survey => Box::new(survey::Survey::new(dice)),
            BehaviourKind::Listen => Box::new(listen::Listen::new(dice)),
        }
    }

    /// Whether its bots ask for regions or subscriptions, which a world may refuse.
    pub fn asks(self) -> bool {
        matches!(self, BehaviourKind::Survey | BehaviourKind::Listen)
    }

    pub fn name(self) -> &'static str {
        match self {
            BehaviourKind::Wander => "wander",
            BehaviourKind::Crowd => "crowd",
            BehaviourKind::Fight => "fight",
            BehaviourKind::Survey => "survey",
            BehaviourKind::Listen => "listen",
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

/// The most words of a command that bots give.
pub const WORDS_MAX: usize = 4;

/// A number of units as a command's word.
fn word(units: f64) -> i32 {
    Fixed::from_f64(units).unwrap_or_default().raw()
}
