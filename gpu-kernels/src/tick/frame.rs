//! The input of a tick.

mod batch;
mod commands;
mod order;
mod regions;

use crate::tick::error::TickError;
use crate::tick::refused::RefusedCommand;
use crate::tick::timed::{TIMED_WORDS_MAX, token_of};

pub use crate::tick::timed::{JOIN_TOKEN, POPULATION_TOKEN};
pub use batch::Batch;
pub use commands::Commands;
pub(crate) use commands::Survey;
use device::HostVec;
use serde::{Deserialize, Serialize};
use shared::world::birthplace::Birthplace;
use shared::world::command::{COMMAND_WORDS_MAX, WAITING_WORDS_MAX};
use shared::world::config::DELAY_TICKS_MAX;
use shared::world::given::{GIVEN_COMMANDS_MAX, birth_word, name_word, names_word};
use shared::world::limits::KEPT_BIRTHS_MAX;
use shared::world::logic::LogicConfig;
use shared::world::mix::order_key;
use shared::{ClientRow, CommandKind, EntityId, Occasion, Refusal, Slot, Tick, WorldConfig};

pub use order::CommandOrder;
pub use regions::{COORDINATE_MAX, Holder, Region, RegionChange, RegionError, region_changes_max};

/// All input of the world in one tick. The world's configuration and all frames so far
/// determine its state to the bit.
///
/// A change that names a row, slot or observer that doesn't exist is ignored and counted
/// ([`Counts::ignored`](crate::Counts::ignored)).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Frame {
    pub tick: Tick,
    /// Commands in the order that the merge rules `first` and `last` use.
    pub commands: Commands,
    /// The commands' words, typed by their schema.
    pub words: HostVec<i32>,
    /// Commands to run in later ticks.
    pub after: Vec<After>,
    /// Applied in order, before anything else.
    pub observers: Vec<ObserverChange>,
    /// Applied in order, after the observers; at most [`region_changes_max`].
    pub regions: Vec<RegionChange>,
    /// Clients whose known set is empty from this tick on: they are gone, or start over.
    pub forget: Vec<ClientRow>,
    /// Slots of the dead that may be filled again. The caller makes sure that no client
    /// mistakes a successor for the dead entity: every client has received the leave, or is
    /// gone.
    pub release: Vec<Slot>,
    /// The world's scripts from this tick on; `None`: as before.
    pub logic: Option<Box<LogicConfig>>,
}

/// One command of an entity or of the server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[repr(C)]
pub struct Command {
    /// The acting entity; [`EntityId::NONE`] for a birth.
    pub entity: EntityId,
    /// Order of an entity's commands.
    pub sequence: u32,
    /// Start of its words in [`Frame::words`].
    pub word_start: u32,
    /// The number of a [`CommandKind`].
    pub kind: u16,
    pub word_count: u16,
}

const _: () = assert!(size_of::<Command>() == 20);

/// A command for a later tick.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[repr(C)]
pub struct After {
    /// The delay in ticks: 1 to [`DELAY_TICKS_MAX`].
    pub ticks: u32,
    /// The command, with at most [`TIMED_WORDS_MAX`] words, which are in [`Frame::words`].
    pub command: Command,
}

const _: () = assert!(size_of::<After>() == 24);

/// Sets or clears one of a client's observers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ObserverChange {
    pub client: ClientRow,
    /// Below `limits.observers_per_client`.
    pub index: u32,
    pub observer: Option<Observer>,
}

/// A place from which a client perceives the world.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Observer {
    pub target: Target,
    /// In raw units; clamped to the world's AOI radius.
    pub radius: i32,
}

/// The place of an observer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Target {
    /// The position of this entity; none once it is dead.
    Entity(EntityId),
    /// A fixed point in raw units, clamped to the world.
    Point([i32; 3]),
}

/// Set in the token of a birth of a thing that a client's account keeps; no client has such a row.
const KEPT_TOKEN: u32 = 1 << 30;

/// The token of the things that a client's account keeps.
pub fn kept_token(client: ClientRow) -> u32 {
    client.0 | KEPT_TOKEN
}

/// The client of such a token; `None`: it is another token.
pub fn kept_client(token: u32) -> Option<ClientRow> {
    let is_kept = token != POPULATION_TOKEN && token & KEPT_TOKEN != 0;
    is_kept.then_some(ClientRow(token & !KEPT_TOKEN))
}

/// The most births of a frame with all columns: one for each client, and for things that accounts
/// keep.
pub fn whole_births_max(config: &WorldConfig) -> u32 {
    let things = match config.kept_kinds.is_empty() {
        true => 0,
        false => KEPT_BIRTHS_MAX,
    };
    config.limits.clients + things
}

impl Frame {
    /// An empty frame.
    pub fn new(tick: Tick) -> Frame {
        Frame {
            tick,
            ..Frame::default()
        }
    }

    /// Clears the frame for another tick, keeping its memory.
    pub fn reset(&mut self, tick: Tick) {
        self.commands.clear();
        self.words.clear();
        self.reset_rest(tick);
    }

    /// The same for a frame of this many commands and words, which the caller writes: memory
    /// of earlier ticks is not cleared before.
    pub fn refill(
        &mut self,
        tick: Tick,
        commands: usize,
        words: usize,
    ) -> (&mut [Command], &mut [i32]) {
        self.reset_rest(tick);
        self.words.truncate(words);
        self.words.resize(words, 0);
        (self.commands.refill(commands), &mut self.words)
    }

    /// Whether so many commands and words fit without moving to other memory.
    pub fn has_room(&self, commands: usize, words: usize) -> bool {
        self.commands.memory().capacity() >= commands && self.words.capacity() >= words
    }

    fn reset_rest(&mut self, tick: Tick) {
        self.tick = tick;
        self.after.clear();
        self.observers.clear();
        self.regions.clear();
        self.forget.clear();
        self.release.clear();
        self.logic = None;
    }

    /// Appends a command.
    pub fn push(&mut self, entity: EntityId, sequence: u32, kind: CommandKind, words: &[i32]) {
        let command = self.command(entity, sequence, kind, words);
        self.commands.push(command);
    }

    /// Appends a command that runs `ticks` later.
    pub fn push_after(
        &mut self,
        ticks: u32,
        entity: EntityId,
        sequence: u32,
        kind: CommandKind,
        words: &[i32],
    ) {
        let command = self.command(entity, sequence, kind, words);
        self.after.push(After { ticks, command });
    }

    fn command(
        &mut self,
        entity: EntityId,
        sequence: u32,
        kind: CommandKind,
        words: &[i32],
    ) -> Command {
        let command = batch::command(self.words.len(), entity, sequence, kind, words);
        self.words.extend_from_slice(words);
        command
    }

    /// Appends a spawn command for a random place in the world. The output's birth has the
    /// same `token`.
    pub fn spawn(&mut self, kind: u16, token: u32) {
        let words = [i32::from(kind), token as i32];
        self.push(EntityId::NONE, token, CommandKind::SPAWN, &words);
    }

    /// Appends a spawn command for a position in raw units, one value per axis.
    pub fn spawn_at(&mut self, kind: u16, token: u32, position: &[i32]) {
        let mut words = vec![i32::from(kind), token as i32];
        words.extend_from_slice(position);
        self.push(EntityId::NONE, token, CommandKind::SPAWN, &words);
    }

    /// Appends a spawn command for an entity with these values of all columns, in raw units.
    /// Backends clamp them to the bounds of the kind. A frame has at most [`whole_births_max`] of
    /// them.
    pub fn spawn_as(&mut self, kind: u16, token: u32, row: &[i32]) {
        self.spawn_at(kind, token, row);
    }

    /// Appends a spawn command for a thing that an account keeps, with these values of all columns;
    /// those that refer to an entity which is born in this tick are named instead, by how many births
    /// before. The commands have this sequence and those after it: [`KEPT_COMMANDS`](shared::world::given::KEPT_COMMANDS) at most.
    pub fn spawn_kept(
        &mut self,
        kind: u16,
        (token, sequence): (u32, u32),
        row: &[i32],
        names: &[(u16, u32)],
    ) {
        let commands = names.chunks(WAITING_WORDS_MAX - 1).take(GIVEN_COMMANDS_MAX);
        let count = commands.len();
        for (n, names) in (0..).zip(commands) {
            let mut words = vec![names_word()];
            words.extend(names.iter().map(|&(column, ago)| name_word(column, ago)));
            words.resize(WAITING_WORDS_MAX, 0);
            self.push(EntityId::NONE, sequence + n, CommandKind::SPAWN, &words);
        }
        let mut words = vec![birth_word(kind, count), token.cast_signed()];
        words.extend_from_slice(row);
        let last = sequence + GIVEN_COMMANDS_MAX as u32;
        self.push(EntityId::NONE, last, CommandKind::SPAWN, &words);
    }

    /// Appends a spawn command for a place that tick and number choose in the kind's area.
    pub fn spawn_in(&mut self, birthplace: &Birthplace, token: u32, number: u32) {
        let words = birthplace.words(token, self.tick, number);
        self.push(EntityId::NONE, token, CommandKind::SPAWN, &words);
    }

    /// Gives births of clients all their columns, where `row` has some: it gets the kind, the
    /// token, and the place if the birth has one.
    pub fn complete_births(&mut self, mut row: impl FnMut(u16, u32, &[i32]) -> Option<Vec<i32>>) {
        if self.commands.by_number()[usize::from(CommandKind::SPAWN.id())] == 0 {
            return;
        }
        for place in 0..self.commands.len() {
            let command = self.commands[place];
            if command.kind != CommandKind::SPAWN.id() {
                continue;
            }
            let &[kind, token_word, ref given @ ..] = self.words_of(&command) else {
                continue;
            };
            let (token, _) = token_of(token_word.cast_unsigned());
            let (Ok(kind), true) = (u16::try_from(kind), token != POPULATION_TOKEN) else {
                continue;
            };
            let Some(row) = row(kind, token, given) else {
                continue;
            };
            let start = self.words.len();
            self.words.extend([i32::from(kind), token_word]);
            self.words.extend_from_slice(&row);
            self.commands.set_words(place, start..self.words.len());
        }
    }

    /// Appends the commands of hooks for scripts that come into force with this frame.
    pub fn give_reload_hooks(&mut self, config: &WorldConfig) {
        let hooks = config.hooks.iter();
        for (sequence, hook) in (0..).zip(hooks.filter(|h| h.occasion == Occasion::Reload)) {
            self.push(EntityId::NONE, sequence, hook.command, &[]);
        }
    }

    /// Appends spawn commands for a world's initial populations, with [`POPULATION_TOKEN`]. Its
    /// first scripts come into force.
    pub fn populate(&mut self, config: &WorldConfig) {
        self.give_reload_hooks(config);
        for (kind, &count) in config.populations.iter().enumerate() {
            self.spawn_population(config, kind as u16, count);
        }
    }

    /// Appends spawn commands for the population of a kind: the first at places of their own, if
    /// the world has some for them.
    pub fn spawn_population(&mut self, config: &WorldConfig, kind: u16, count: u32) {
        let birthplace = Birthplace::of(config, kind);
        let mut places = config.places[usize::from(kind)].iter();
        for number in 0..count {
            match places.next() {
                Some(place) => {
                    self.spawn_at(kind, POPULATION_TOKEN, &place[..config.dimensions()]);
                }
                // From the end, since players are numbered from 0.
                None => self.spawn_in(&birthplace, POPULATION_TOKEN, u32::MAX - number),
            }
        }
    }

    /// Sorts the commands by (mix(seed, tick, entity), sequence). The order does not depend
    /// on how they arrived, and favours no entity.
    pub fn order(&mut self, seed: u64) {
        self.commands.order(seed, self.tick);
        self.order_after(seed);
    }

    fn order_after(&mut self, seed: u64) {
        let tick = self.tick;
        self.after.sort_by_cached_key(|a| {
            let command = &a.command;
            (order_key(seed, tick, command.entity), command.sequence)
        });
    }

    /// Whether a backend whose next tick is `expected` can run this frame.
    pub fn check(&self, expected: Tick) -> Result<(), TickError> {
        self.check_tick(expected)?;
        self.check_words(&self.commands.survey())?;
        self.check_after()
    }

    pub(crate) fn check_tick(&self, expected: Tick) -> Result<(), TickError> {
        match self.tick == expected {
            true => Ok(()),
            false => Err(TickError::WrongTick {
                expected,
                found: self.tick,
            }),
        }
    }

    /// Checks that every command's words exist.
    pub(crate) fn check_words(&self, survey: &Survey) -> Result<(), TickError> {
        let words = self.words.len();
        if survey.words <= words {
            return Ok(());
        }
        for (index, command) in self.commands.iter().enumerate() {
            let start = command.word_start as usize;
            let end = start + usize::from(command.word_count);
            if end > words {
                return Err(TickError::WordsOutOfRange {
                    index,
                    start,
                    end,
                    words,
                });
            }
        }
        Ok(())
    }

    /// Checks that no more births have all columns than may.
    pub(crate) fn check_rows(&self, config: &WorldConfig) -> Result<(), TickError> {
        let is_whole = |command: &&Command| Frame::is_whole_birth(command, config);
        let limits = &config.limits;
        if self.commands.by_number()[usize::from(CommandKind::SPAWN.id())] == 0 {
            return Ok(());
        }
        let kept = self.commands.len().min(limits.commands_per_tick as usize);
        let found = self.commands[..kept].iter().filter(is_whole).count();
        let most = whole_births_max(config);
        match found > most as usize {
            true => Err(TickError::TooManyRows { found, most }),
            false => Ok(()),
        }
    }

    /// Whether a command is a birth with more words than other commands have: all columns.
    pub(crate) fn is_whole_birth(command: &Command, config: &WorldConfig) -> bool {
        let words = 2 + config.schema.attributes.len();
        command.kind == CommandKind::SPAWN.id()
            && usize::from(command.word_count) == words
            && words > COMMAND_WORDS_MAX
    }

    /// Checks that the delay of every command for a later tick is allowed and that its
    /// words exist.
    pub(crate) fn check_after(&self) -> Result<(), TickError> {
        let words = self.words.len();
        for (index, &After { ticks, command }) in self.after.iter().enumerate() {
            if !(1..=DELAY_TICKS_MAX).contains(&ticks) {
                return Err(TickError::DelayOutOfRange { index, ticks });
            }
            let start = command.word_start as usize;
            let end = start + usize::from(command.word_count);
            if end > words || end - start > TIMED_WORDS_MAX {
                return Err(TickError::TimedWordsOutOfRange {
                    index,
                    start,
                    end,
                    words,
                });
            }
        }
        Ok(())
    }

    /// The commands of clients for which the tick has no room.
    pub(crate) fn beyond(&self, config: &WorldConfig) -> Vec<RefusedCommand> {
        let most = config.limits.commands_per_tick as usize;
        let Some(beyond) = self.commands.get(most..).filter(|b| !b.is_empty()) else {
            return vec![];
        };
        let is_clients = config.schema.commands_by_number(|c| c.senders.clients);
        let of_clients = beyond.iter().filter(|command| {
            let is_clients = is_clients.get(usize::from(command.kind));
            is_clients.copied().flatten().unwrap_or(false)
        });
        let refused = of_clients.map(|command| RefusedCommand {
            entity: command.entity,
            sequence: command.sequence,
            reason: Refusal::BeyondLimits,
            because: None,
        });
        refused.collect()
    }

    /// A command's words.
    pub fn words_of(&self, command: &Command) -> &[i32] {
        let start = command.word_start as usize;
        &self.words[start..start + usize::from(command.word_count)]
    }
}
