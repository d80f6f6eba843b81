//! Behaviours of bots: one file each.

mod any;
mod crowd;
mod fight;
mod listen;
mod play;
mod spectate;
mod stroll;
mod survey;
mod wander;

use clap::ValueEnum;
use client_core::{Region, View};
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};
use shared::world::command::COMMAND_WORDS_MAX;
use shared::{CommandKind, Fixed, Schema};

use crate::filter::Filter;

pub use play::{Scripted, compile};
pub use spectate::Spectate;

/// The behaviours by name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum BehaviourKind {
    /// Walk straight, turn now and then, bounce off the edges of the world
    #[default]
    Wander,
    /// Wander by steering: a command only where the way turns; needs a world with steer
    Stroll,
    /// Gather in the middle of the world
    Crowd,
    /// Wander, and strike, blast, heal and pick on the way
    Fight,
    /// Wander, and watch distant regions that move now and then; needs a world with
    /// regions_per_client
    Survey,
    /// Fight, shout, and subscribe to changes and notifications anywhere; needs a world
    /// with subscriptions_per_client
    Listen,
    /// Send random commands of the world, right and wrong ones
    Any,
}

/// Decides what one bot does next.
pub trait Behaviour {
    /// Adds this turn's commands and requests to `input`. Called once per period of the
    /// bot's rate, with what the bot sees.
    fn act(&mut self, view: &View, dice: &mut Dice, input: &mut Input);

    /// Adds what ends the play: the commands after which the bot's entity rests.
    fn rest(&mut self, _view: &View, _input: &mut Input) {}

    /// Whether it acts once in each tick that the bot receives, whatever its rate.
    fn acts_each_tick(&self) -> bool {
        false
    }
}

/// A bot's messages to the server in one turn.
#[derive(Default)]
pub struct Input {
    /// Commands: kind, words padded with zeros, number of words.
    pub commands: Vec<(CommandKind, [i32; WORDS_MAX], usize)>,
    /// Commands with texts among their words.
    pub texts: Vec<(CommandKind, Vec<Word>)>,
    pub requests: Vec<Request>,
    /// Rankings that the bot asks for: their names, and how many of the first.
    pub rankings: Vec<(String, u32)>,
    /// The error of the behaviour.
    pub complaint: Option<String>,
}

/// A word of a command with texts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Word {
    Number(i32),
    Text(String),
}

/// A bot's request. In place of a predicate's text it holds the filter that the bot can
/// evaluate itself.
#[derive(Clone, Debug)]
pub enum Request {
    SetRegion { index: u32, region: Option<Region> },
    Subscribe { id: u32, filter: Filter },
    Unsubscribe { id: u32 },
    SetSight { radius: Option<i32> },
    Watch { point: [i32; 3] },
}

impl Input {
    /// Adds a command of at most [`WORDS_MAX`] words.
    pub fn command(&mut self, kind: CommandKind, words: &[i32]) {
        let mut padded = [0; WORDS_MAX];
        padded[..words.len()].copy_from_slice(words);
        self.commands.push((kind, padded, words.len()));
    }

    pub fn set_region(&mut self, index: u32, region: Option<Region>) {
        self.requests.push(Request::SetRegion { index, region });
    }

    pub fn subscribe(&mut self, id: u32, filter: Filter) {
        self.requests.push(Request::Subscribe { id, filter });
    }

    pub fn set_sight(&mut self, radius: Option<i32>) {
        self.requests.push(Request::SetSight { radius });
    }

    pub fn watch(&mut self, point: [i32; 3]) {
        self.requests.push(Request::Watch { point });
    }

    pub fn unsubscribe(&mut self, id: u32) {
        self.requests.push(Request::Unsubscribe { id });
    }
}

impl BehaviourKind {
    /// A bot of this behaviour in a world. Commands that the world lacks are not given.
    pub fn start(self, schema: &Schema, dice: &mut Dice) -> Box<dyn Behaviour> {
        match self {
            BehaviourKind::Wander => Box::new(wander::Wander::new(schema, dice)),
            BehaviourKind::Stroll => Box::new(stroll::Stroll::new(schema, dice)),
            BehaviourKind::Crowd => Box::new(crowd::Crowd::new(schema, dice)),
            BehaviourKind::Fight => Box::new(fight::Fight::new(schema, dice)),
            BehaviourKind::Survey => Box::new(survey::Survey::new(schema, dice)),
            BehaviourKind::Listen => Box::new(listen::Listen::new(schema, dice)),
            BehaviourKind::Any => Box::new(any::Any::new(schema)),
        }
    }

    /// Whether its bots request regions or subscriptions, which a world may refuse.
    pub fn makes_requests(self) -> bool {
        matches!(self, BehaviourKind::Survey | BehaviourKind::Listen)
    }

    /// Whether its bots need to know of others.
    pub fn looks_around(self) -> bool {
        match self {
            BehaviourKind::Wander | BehaviourKind::Stroll | BehaviourKind::Crowd => false,
            BehaviourKind::Fight
            | BehaviourKind::Survey
            | BehaviourKind::Listen
            | BehaviourKind::Any => true,
        }
    }

    pub fn name(self) -> &'static str {
        match self {
            BehaviourKind::Wander => "wander",
            BehaviourKind::Stroll => "stroll",
            BehaviourKind::Crowd => "crowd",
            BehaviourKind::Fight => "fight",
            BehaviourKind::Survey => "survey",
            BehaviourKind::Listen => "listen",
            BehaviourKind::Any => "any",
        }
    }
}

/// A bot's random numbers: the same ones for the same seed.
pub struct Dice(Xoshiro256PlusPlus);

impl Dice {
    pub fn new(seed: u64) -> Dice {
        Dice(Xoshiro256PlusPlus::seed_from_u64(seed))
    }

    /// A number from 0 to just under 1.
    pub fn unit(&mut self) -> f64 {
        (self.0.next_u64() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// A number below `n`; 0 if `n` is 0.
    pub fn below(&mut self, n: usize) -> usize {
        (self.unit() * n as f64) as usize
    }
}

/// The most words of any command.
pub const WORDS_MAX: usize = COMMAND_WORDS_MAX;

/// The number of a command that clients of this world may send.
fn command(schema: &Schema, name: &str) -> Option<CommandKind> {
    let command = schema.command_named(name)?;
    command.senders.clients.then_some(command.kind)
}

/// A length in units as a command's word.
fn word(units: f64) -> i32 {
    Fixed::from_f64(units).unwrap_or_default().raw()
}
