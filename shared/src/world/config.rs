//! The checked definition of a world.

use serde::{Deserialize, Serialize};

use super::command::CommandKind;
use super::hook::{Hook, Occasion};
use super::initial::Initial;
use super::limits::Limits;
use super::logic::LogicConfig;
use super::schema::Schema;
use super::shown::ShownThings;
use super::source::Origin;
use super::spawn::SpawnArea;
use super::symbols::Symbols;

/// Everything that defines a world, checked: the crate `world-file` makes one of a file. It
/// can't be deserialized.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct WorldConfig {
    pub seed: u64,
    /// [`InterestMode::Exact`] in every world of a file.
    pub interest: InterestMode,
    /// The kind that a joining client is born as: an index into the schema's kinds.
    pub player_kind: u16,
    /// By kind: how many are born in the first tick.
    pub populations: Vec<u32>,
    /// By kind: the places of the first of its population, which are born there.
    pub places: Vec<Vec<[i32; 3]>>,
    /// By kind: where its populations and players are born; `None`: anywhere.
    pub spawns: Vec<Option<SpawnArea>>,
    /// By kind: the attributes that are not born with the kind's default, by ascending
    /// column.
    pub initials: Vec<Vec<Initial>>,
    /// By kind: the command that each newborn gives in the tick after its birth; it takes no
    /// words.
    pub born: Vec<Option<CommandKind>>,
    /// The commands that the world gives by itself, those of `born` first.
    pub hooks: Vec<Hook>,
    /// Whether the first command that updates an attribute is kept in each tick: clients can
    /// subscribe to it, or hooks get the cause of a fall.
    pub causes: bool,
    /// By kind: when its entities fall; `None`: they don't. Of the players' kind, only
    /// entities with a client are reborn.
    pub falls: Vec<Option<Fall>>,
    /// The column of type entity whose new owners give a notification; at most one.
    pub tells_owner: Option<u16>,
    /// The columns of players that an account keeps while it has no entity, ascending.
    pub persists: Vec<u16>,
    /// The kinds of things that accounts keep, ascending.
    pub kept_kinds: Vec<u16>,
    /// The columns that atomic commands don't clamp, ascending: a write that does not fit is
    /// refused.
    pub exact: Vec<u16>,
    pub every: Vec<Every>,
    /// How movement is sent; `None`: each change of a position, as it happens.
    pub motion: Option<Motion>,
    /// Whether clients may watch without an entity, and how; `None`: they may not.
    pub spectators: Option<Spectators>,
    pub logic: LogicConfig,
    pub limits: Limits,
    pub schema: Schema,
    /// By kind and attribute of type symbol: which it can have.
    pub symbols: Symbols,
    /// Which things clients see.
    pub shown: ShownThings,
    /// Why commands of clients have no effect, as scripts say in `require`; at most
    /// [`REASONS_MAX`](super::command::REASONS_MAX). They follow from the scripts.
    #[serde(skip)]
    pub reasons: Vec<String>,
    /// What it was made from, which is what files and other servers get of it. A caller that changes
    /// another field has a world that can't be stored.
    #[serde(skip)]
    pub source: Origin,
}

/// Which entities an observer sees.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum InterestMode {
    /// Those within the radius of the area of interest.
    Exact,
    /// Those in the observer's bucket and the neighbouring buckets (thesis, 3.5): for benches and
    /// tests. Such a world has no regions, and its entities leave where they enter.
    Buckets,
}

/// Movement is sent as courses: an entity that stays on its last course is not sent
/// anew.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Motion {
    /// An entity is sent again when it is farther than this from its course along any axis,
    /// in raw units.
    pub tolerance: i32,
    /// By axis: the column that says how far an entity goes in a tick. Empty if the world
    /// declares none; then a course begins with the second of two equal steps.
    pub velocity: Vec<u16>,
}

/// What clients may do that watch a point instead of acting as an entity.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Spectators {
    /// How far the point may go in a tick, in raw units; `None`: anywhere at once.
    pub step_max: Option<i32>,
}

/// When the entities of a kind fall, and how long until they are reborn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fall {
    /// The attribute that decides; the kind has it.
    pub column: u16,
    /// An entity falls when its value is at most this. Its default is above.
    pub at: i32,
    /// The ticks from the fall to the rebirth, at least 1.
    pub respawn_ticks: u32,
}

/// A rule: every entity of a kind gives a command every `ticks` ticks. Which of these
/// ticks depends on the slot, so that each tick has about as many commands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Every {
    pub kind: u16,
    pub ticks: u32,
    pub command: CommandKind,
    /// As many as the command takes.
    pub words: Vec<i32>,
    /// From which of its words on the entity's own position stands, at the start of the tick
    /// and one word per axis, instead of `words`.
    pub own_place: Option<u16>,
    /// By number of a [relation](super::group::Relation): only entities give it to whose holder, or
    /// group, they can't relate, as it has ended. `None`: all do.
    pub of_ended: Option<u8>,
}

impl Every {
    /// The words of the entities whose turn it is in one tick, where each gives its own
    /// place; else 0.
    pub fn own_words(&self, capacity: u32) -> u64 {
        let turns = capacity.saturating_sub(1) / self.ticks + 1;
        match self.own_place {
            None => 0,
            Some(_) => u64::from(turns) * self.words.len() as u64,
        }
    }
}

impl WorldConfig {
    /// The number of axes, 2 or 3.
    pub fn dimensions(&self) -> usize {
        self.schema.dimensions()
    }

    /// The commands that an occasion makes entities of a kind give, in their order.
    pub fn hooks_of(&self, occasion: Occasion, kind: u16) -> impl Iterator<Item = &Hook> {
        let own = self.hooks.iter().filter(move |hook| hook.is_of(kind));
        own.filter(move |hook| hook.occasion == occasion)
    }

    /// Whether any hook gets the cause of a fall.
    pub fn notifies_of_falls(hooks: &[Hook]) -> bool {
        let gets_cause = |hook: &Hook| hook.occasion == Occasion::Fall && hook.has_other;
        hooks.iter().any(gets_cause)
    }

    /// Those that newborns give as `born` says.
    pub fn hooks_of_born(born: &[Option<CommandKind>]) -> impl Iterator<Item = Hook> {
        (0..).zip(born).filter_map(|(kind, command)| {
            Some(Hook {
                occasion: Occasion::Birth,
                kind: Some(kind),
                command: (*command)?,
                has_other: false,
            })
        })
    }

    /// Whether accounts keep anything while they have no entity.
    pub fn has_characters(&self) -> bool {
        !self.persists.is_empty() || !self.kept_kinds.is_empty()
    }

    /// Whether the entities of any kind fall.
    pub fn has_falls(&self) -> bool {
        self.falls.iter().any(Option::is_some)
    }

    /// The values of all lists of which births choose.
    pub fn choices(&self) -> impl Iterator<Item = i32> {
        let all = self.initials.iter().flatten();
        all.flat_map(|initial| initial.choice.listed().iter().copied())
    }

    /// The size per axis in raw units; a world of two axes is one unit thin.
    pub fn size_raw(&self) -> [i32; 3] {
        self.schema.world.size_raw()
    }
}

/// The most ticks by which a command may be scheduled ahead.
pub const DELAY_TICKS_MAX: u32 = 1_000_000;
/// The largest `world.visible_max`.
pub const VISIBLE_MAX: u32 = 16_384;
