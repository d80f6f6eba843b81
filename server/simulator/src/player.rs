//! A player: a game without a transport, and what it gave and was confirmed.

use std::time::Duration;

use client_core::{
    CommandError, EventHandler, Game, GameOptions, Headless, RefusedRun, RetryOptions, View,
};
use shared::wire::control::Quotas;
use shared::{EntityId, EntityRef, Tick};
use transport::local_shard::ConnectionId;

use crate::clock::Micros;
use crate::dice::Dice;

/// A player, over any number of connections and games.
pub struct Player {
    pub game: Game,
    /// That of its account; empty without one.
    name: String,
    /// The server that it was given.
    pub home: Server,
    pub connection: Option<ConnectionId>,
    /// It is gone, for now or for good.
    pub is_gone: bool,
    /// It comes back, or was never gone.
    pub is_expected: bool,
    pub paused_until: Micros,
    /// The time of its next step that counts.
    pub step_at: Option<Micros>,
    pub acts_at: Micros,
    /// The commands of this session.
    given: Vec<Given>,
    /// Numbers of commands that were confirmed, and by when: by ticks that can't be lost, so they
    /// must be in the journal.
    pub kept: Vec<(i32, Tick)>,
    /// The newest tick that the session knows to be kept.
    kept_tick: Option<Tick>,
    /// Commands that its session has sent again.
    pub sent_again: u64,
    /// The world has lost its ticks from here on, which the session does not know yet.
    lost_from: Option<Tick>,
    heard: Heard,
    number: usize,
    games: u64,
    given_count: i32,
}

/// A server with clients.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Server {
    Host,
    Gateway(usize),
}

/// A command with a number that no other has.
struct Given {
    sequence: u32,
    number: i32,
    /// The newest tick that was received when the command was confirmed.
    confirmed: Option<Tick>,
    is_refused: bool,
}

#[derive(Default)]
struct Heard {
    /// Whether it continues with its commands.
    welcomed: Option<bool>,
    refused: Vec<RefusedRun>,
}

impl EventHandler for Heard {
    fn welcomed(&mut self, view: &View, _: &Quotas) {
        self.welcomed = Some(view.has_continued());
    }

    fn refused(&mut self, _: Tick, run: RefusedRun) {
        self.refused.push(run);
    }
}

impl Player {
    pub fn new(number: usize, home: Server, has_account: bool) -> Player {
        let name = match has_account {
            true => format!("player-{number}"),
            false => String::new(),
        };
        Player {
            game: game(number, 0, &name),
            name,
            home,
            connection: None,
            is_gone: true,
            is_expected: true,
            paused_until: 0,
            step_at: None,
            acts_at: 0,
            given: vec![],
            kept: vec![],
            kept_tick: None,
            sent_again: 0,
            lost_from: None,
            heard: Heard::default(),
            number,
            games: 0,
            given_count: 0,
        }
    }

    /// The program of the player begins again, with the ticket of the one before or without.
    pub fn begin_again(&mut self, resumes: bool) {
        self.end_session();
        self.games += 1;
        let ticket = self.game.ticket();
        self.game = game(self.number, self.games, &self.name);
        if let (true, Some(ticket)) = (resumes, ticket) {
            self.game.set_ticket(ticket);
        }
        self.is_gone = false;
    }

    /// Whether it is not its first program that runs.
    pub fn has_begun_again(&self) -> bool {
        self.games > 1
    }

    /// The tick that is known to be kept.
    pub fn kept_tick(&self) -> Option<Tick> {
        self.kept_tick
    }

    pub fn handle_stream(&mut self, bytes: &[u8], now: Duration) -> Result<(), String> {
        let Player { game, heard, .. } = self;
        let read = game.handle_stream_with(bytes, now, heard);
        self.note_heard();
        read.map_err(|error| format!("player {} can't read its stream: {error}", self.number))
    }

    pub fn handle_datagram(&mut self, bytes: &[u8], now: Duration) -> Result<(), String> {
        let Player { game, heard, .. } = self;
        let read = game.handle_datagram_with(bytes, now, heard);
        self.note_heard();
        read.map_err(|error| format!("player {} can't read a datagram: {error}", self.number))
    }

    fn note_heard(&mut self) {
        if let Some(goes_on) = self.heard.welcomed.take() {
            if !goes_on {
                // The commands of the session before, which the game does not send again.
                self.end_session();
            }
            self.lost_from = None;
            let processed = self.game.view().map_or(0, View::processed);
            let is_again = |given: &&Given| given.sequence > processed;
            self.sent_again += self.given.iter().filter(is_again).count() as u64;
        }
        for run in self.heard.refused.drain(..) {
            let is_in = |given: &&mut Given| given.sequence.wrapping_sub(run.first) < run.count;
            self.given
                .iter_mut()
                .filter(is_in)
                .for_each(|given| given.is_refused = true);
        }
        let Some(view) = self.game.view() else { return };
        let open = self
            .given
            .iter_mut()
            .filter(|given| given.confirmed.is_none());
        for given in open.filter(|given| given.sequence <= view.processed()) {
            given.confirmed = Some(view.newest());
        }
        self.kept_tick = view.kept();
        forget_lost(&mut self.given, self.lost_from);
        let Some(kept) = view.kept() else { return };
        // A refusal comes with the tick's frame, which may come after its datagram.
        let settled = kept.min(view.newest().before(REFUSAL_TICKS));
        self.given.retain(|given| {
            let Some(tick) = given.confirmed.filter(|&tick| tick <= settled) else {
                return true;
            };
            if !given.is_refused {
                self.kept.push((given.number, tick));
            }
            false
        });
    }

    /// The world continues before this tick: what later ones have done is lost.
    pub fn lose_from(&mut self, tick: Tick) {
        let before = self.lost_from.map_or(tick, |before| before.min(tick));
        self.lost_from = Some(before);
        forget_lost(&mut self.given, self.lost_from);
    }

    /// The session has ended: what it did not confirm may have been done or not.
    pub fn end_session(&mut self) {
        let kept = self.kept_tick.take();
        for given in self.given.drain(..) {
            let confirmed = given.confirmed.filter(|&tick| Some(tick) <= kept);
            let confirmed = confirmed.filter(|_| !given.is_refused);
            self.kept.extend(confirmed.map(|tick| (given.number, tick)));
        }
    }

    /// Commands that were not processed.
    pub fn unprocessed(&self) -> usize {
        let open = self.given.iter().filter(|given| given.confirmed.is_none());
        open.count()
    }

    /// Gives commands, as the player of a yard or of another world.
    pub fn act(&mut self, is_yard: bool, dice: &mut Dice) -> Result<(), CommandError> {
        let Some(view) = self.game.view() else {
            return Ok(());
        };
        let schema = view.schema();
        let kind = |name: &str| schema.command_named(name).map(|command| command.kind);
        // Numbers stand in commands, so that each is known in the journal.
        let number =
            i32::try_from(self.number).unwrap_or_default() * NUMBERS + self.given_count + 1;
        let way =
            |dice: &mut Dice| i32::try_from(dice.below(1 << 14)).unwrap_or_default() - (1 << 13);
        let trades = schema.command_named("hand").is_some() && dice.one_of(2);
        let (kind, words) = match (is_yard, dice.below(8)) {
            (_, choice) if trades => {
                let mut others: Vec<EntityId> = view.entities().values().map(|e| e.id).collect();
                others.sort_unstable();
                if others.is_empty() {
                    return Ok(());
                }
                let other = others[dice.index(others.len())];
                let number = i32::try_from(dice.below(6)).unwrap_or_default();
                // Others give back to the ground what they can't keep.
                let to = match choice {
                    0 => EntityRef::NONE,
                    _ => other.reference(),
                };
                match choice {
                    0..4 => (kind("hand"), vec![to.0, number]),
                    4 | 5 => (kind("gather"), vec![]),
                    _ => (kind("pack"), vec![number]),
                }
            }
            (true, 0..3) => (kind("mark"), vec![number]),
            (true, 3) => {
                let chests = schema.kind("chest");
                let mut chests: Vec<EntityId> = view
                    .entities()
                    .values()
                    .filter(|entity| Some(usize::from(entity.kind)) == chests)
                    .map(|entity| entity.id)
                    .collect();
                chests.sort_unstable();
                if chests.is_empty() {
                    return Ok(());
                }
                let chest = chests[dice.index(chests.len())];
                let name = if dice.one_of(2) { "take" } else { "put" };
                let amount = i32::try_from(dice.below(20)).unwrap_or_default();
                (kind(name), vec![chest.reference().0, amount])
            }
            _ => {
                // Steps are shortened to the longest one, whatever the number is.
                let sign = if dice.one_of(2) { 1 } else { -1 };
                (kind("move"), vec![way(dice), sign * (number + (1 << 20))])
            }
        };
        let Some(kind) = kind else { return Ok(()) };
        let is_numbered = !trades && (words.len() == 1 || words[1].unsigned_abs() > 1 << 20);
        let sequence = self.game.command(kind, &words)?;
        if is_numbered {
            self.given_count += 1;
        }
        if is_numbered {
            self.given.push(Given {
                sequence,
                number,
                confirmed: None,
                is_refused: false,
            });
        }
        Ok(())
    }
}

/// Forgets commands that were confirmed by ticks which the world has lost.
fn forget_lost(given: &mut Vec<Given>, lost_from: Option<Tick>) {
    let is_lost = |tick: Tick| lost_from.is_some_and(|lost| tick >= lost);
    given.retain(|given| !given.confirmed.is_some_and(is_lost));
}

/// The number in the words of a command, if it is one of those that have one.
pub fn number_in(name: &str, words: &[i32]) -> Option<i32> {
    match (name, words) {
        ("mark", &[number]) => Some(number),
        ("move", &[_, number]) if number.unsigned_abs() > 1 << 20 => Some(number.abs() - (1 << 20)),
        _ => None,
    }
}

fn game(player: usize, games: u64, name: &str) -> Game {
    let options = GameOptions {
        name: name.to_owned(),
        connect_timeout: Duration::from_secs(1),
        silence_timeout: Duration::from_secs(2),
        retry: RetryOptions {
            longest: Duration::from_secs(1),
            attempts: u32::MAX,
            seed: player as u64 ^ games << 16,
            ..RetryOptions::default()
        },
        ..GameOptions::default()
    };
    Game::headless(options, Headless::Whole)
}

/// A player gives fewer commands.
const NUMBERS: i32 = 10_000;
const REFUSAL_TICKS: u32 = 10;
