//! One bot: connects, plays, rests, hands in its view and leaves. It is a headless game, driven as
//! that of a player is.

use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

use client_core::{Event, Game, GameOptions, Headless, RetryOptions, Step};
use quic::{Event as Arrival, Link};
use shared::wire::control::Close;

use super::crew::Crew;
use super::options::SwarmOptions;
use super::state::{Phase, SwarmState};
use crate::carrier;
use log::Log;
use playing::Playing;

mod log;
mod playing;

/// A bot, from its first packet to its last.
pub struct Bot {
    pub number: usize,
    pub game: Game,
    /// `None` before the welcome of a connection, and once the bot is done.
    playing: Option<Box<Playing>>,
    /// It counts as connected.
    is_counted: bool,
    /// It has lost a connection that was welcomed.
    has_lost: bool,
    /// It has handed in its view, or reported an error.
    is_done: bool,
    /// It leaves, as fewer bots are wanted.
    is_leaving: bool,
}

impl Bot {
    pub fn new(number: usize, options: &SwarmOptions) -> Bot {
        let keeps = match options.has_view(number) {
            true => Headless::Whole,
            false => Headless::OnlyOwn,
        };
        let options = GameOptions {
            token: options.token_of(number),
            spectates: options.spectates(number),
            connect_timeout: JOIN_WAIT,
            silence_timeout: SILENCE_MAX,
            retry: RetryOptions {
                seed: options.seed.wrapping_add(number as u64),
                ..JOIN_RETRY
            },
            ..GameOptions::default()
        };
        Bot {
            number,
            game: Game::headless(options, keeps),
            playing: None,
            is_counted: false,
            has_lost: false,
            is_done: false,
            is_leaving: false,
        }
    }

    /// Prefetches its data.
    pub fn prefetch(&self) {
        if let (Some(session), Some(playing)) = (self.game.session(), &self.playing) {
            quic::prefetch(session);
            quic::prefetch(&**playing);
        }
    }

    /// Something has happened to its connection.
    pub fn handle(&mut self, arrival: Arrival, link: &mut Link<'_>, crew: &mut Crew) {
        if self.is_done {
            return;
        }
        let now = Instant::now();
        let time = crew.time_of(now);
        let mut log = Log {
            bot: self.number,
            playing: &mut self.playing,
            crew,
            now,
            mistake: None,
        };
        carrier::deliver(&mut self.game, arrival, link, time, &mut log);
        if let Some(mistake) = log.mistake.take() {
            self.count_loss(&mistake, &crew.state);
            self.is_done = true;
            self.leave(link);
        }
    }

    /// A packet of the server was processed: answers it.
    pub fn settle(&mut self, link: &mut Link<'_>, crew: &mut Crew) {
        // One bot fetches what all are checked with.
        if self.number == 0
            && let Some(history) = crew.state.history.get()
            && history.lacks_layers()
        {
            match self.game.layers() {
                Some(layers) => history.set_layers(layers),
                None => self.game.fetch_layers(),
            }
        }
        let (Some(bot), Some(view)) = (&mut self.playing, self.game.view()) else {
            // The rest of the welcome waits for the acknowledgement.
            return link.send_now();
        };
        let now = crew.now();
        // A bot counts as connected once it sees its own entity, if it has one.
        let is_in_world = bot.spectates || view.own().is_some();
        if !bot.was_in_world && is_in_world {
            bot.was_in_world = true;
            if !std::mem::replace(&mut self.is_counted, true) {
                crew.state.connected.fetch_add(1, Relaxed);
            }
            bot.is_back_unseen = self.has_lost;
            // Bots take their turns at different moments, as people do.
            let first = bot.period.mul_f64(bot.dice.unit());
            crew.wake_at(link.handle(), now + first);
        }
        if bot.is_back_unseen && view.processed() != bot.began {
            bot.is_back_unseen = false;
            crew.state.came_back.fetch_add(1, Relaxed);
        }
        let newest = view.newest();
        if newest > bot.settled {
            bot.settled = newest;
            let plays = crew.state.phase() == Phase::Play && bot.was_in_world;
            if plays && bot.is_its_turn(now) {
                bot.play(&mut self.game, link, crew, now);
            } else if !plays || !bot.is_due_soon() {
                carrier::send_now(&mut self.game, link, now);
            }
        }
    }

    /// The time has come to act without a word of the server.
    pub fn wake(&mut self, link: &mut Link<'_>, crew: &mut Crew) {
        let now = crew.now();
        if self.is_done {
            return;
        }
        if let Step::Close(code, reason) = self.game.next_step(now) {
            return link.close(code.code(), reason);
        }
        let Some(bot) = &mut self.playing else {
            // It waits for its welcome.
            let due = self.game.next_due(now);
            return crew.wake_at(link.handle(), due.unwrap_or(now + REST_PERIOD));
        };
        let phase = crew.state.phase();
        match phase {
            Phase::Play if bot.was_in_world => {
                return bot.play(&mut self.game, link, crew, now);
            }
            Phase::Connect | Phase::Play => carrier::send_now(&mut self.game, link, now),
            Phase::Rest => bot.rest(&mut self.game, link, crew, now),
            Phase::Compare | Phase::Leave => {
                if bot.has_caught_up(&mut self.game, link, now) {
                    return self.hand_in(crew);
                }
            }
        }
        let next = match phase {
            Phase::Connect | Phase::Play => now + bot.period,
            Phase::Rest | Phase::Compare | Phase::Leave => now + bot.period.min(REST_PERIOD),
        };
        crew.wake_at(link.handle(), next);
    }

    fn hand_in(&mut self, crew: &mut Crew) {
        self.is_done = true;
        if let (Some(bot), Some(view)) = (self.playing.take(), self.game.view()) {
            let history = crew.state.history.get();
            let view = history.and_then(|history| bot.final_view(self.number, view, history));
            crew.state.hand_in(view);
        }
    }

    /// Its connection has ended: why, and how long it waits before it tries again; `None` if it does
    /// not.
    pub fn take_loss(&mut self, now: Duration) -> (String, Option<Duration>) {
        let events = self.game.poll(now).into_iter().rev();
        let lost = events.filter_map(|event| match event {
            Event::Lost {
                reason, retry_in, ..
            } => Some((reason, retry_in)),
            _ => None,
        });
        lost.into_iter().next().unwrap_or_default()
    }

    /// Whether the connection that it has lost was welcomed.
    pub fn was_welcomed(&self) -> bool {
        self.playing.is_some() || self.is_done
    }

    /// Whether it comes back while all play, as a client does: to its server or the standby.
    pub fn may_come_back(&self, options: &SwarmOptions) -> bool {
        // A bot's data is compared within one connection.
        (options.come_back || !options.verify)
            && !self.is_done
            && (self.playing.is_some() || self.has_lost)
    }

    /// It will try again. Whether it was in the world before.
    pub fn prepare_return(&mut self) -> bool {
        self.has_lost |= self.playing.take().is_some();
        self.has_lost
    }

    /// The connection has ended before its time.
    pub fn count_loss(&self, reason: &str, state: &SwarmState) {
        if self.is_done {
            return;
        }
        let was_in_world = self.playing.as_ref().is_some_and(|bot| bot.was_in_world);
        if self.has_lost || was_in_world {
            state.lost.fetch_add(1, Relaxed);
            let what = match self.has_lost {
                true => "did not come back",
                false => "lost its connection",
            };
            state.complain(format!("a bot {what}: {reason}"));
        } else {
            state.fail(format!("bot {}: {reason}", self.number));
        }
    }

    /// Fewer bots are wanted: leaves, and counts what it received.
    pub fn withdraw(&mut self, link: &mut Link<'_>, state: &SwarmState) {
        if self.is_done {
            return;
        }
        self.is_done = true;
        self.is_leaving = true;
        if let (Some(mut bot), Some(view)) = (self.playing.take(), self.game.view()) {
            bot.count(view, state);
        }
        self.count_leave(state);
        self.leave(link);
    }

    /// It is not in the world any more, as fewer bots are wanted.
    pub fn count_leave(&self, state: &SwarmState) {
        if self.is_counted {
            state.left.fetch_add(1, Relaxed);
        }
    }

    /// Whether its connection ends since fewer bots are wanted.
    pub fn is_leaving(&self) -> bool {
        self.is_leaving
    }

    /// Leaves for good: the entity is removed.
    pub fn leave(&mut self, link: &mut Link<'_>) {
        link.close(Close::Bye.code(), "bye");
    }
}

/// From the first packet to the welcome.
const JOIN_WAIT: Duration = Duration::from_secs(10);
/// The time-out of QUIC comes before it.
const SILENCE_MAX: Duration = Duration::from_secs(3600);
/// A bot that is turned away tries to join for some ten seconds.
const JOIN_RETRY: RetryOptions = RetryOptions {
    first: Duration::from_millis(250),
    longest: Duration::from_secs(4),
    attempts: 6,
    seed: 0,
};
/// Bots that rest look this often whether there is nothing left to do.
const REST_PERIOD: Duration = Duration::from_millis(100);
