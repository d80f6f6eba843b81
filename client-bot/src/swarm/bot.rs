//! One bot: connects, plays, rests, hands in its view and leaves.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

use client_core::{Handshake, Pace, RetryOptions, Session, ViewCounts, hello};
use quic::Link;
use shared::Tick;
use shared::wire::control::{Close, Hello, Quotas};

use super::latency::Unprocessed;
use super::options::SwarmOptions;
use super::state::{Phase, SwarmState};
use super::thread::{Bots, JoinAttempt, Lost};
use crate::behaviour::{Behaviour, Dice, Input, Request, Scripted, Spectate, compile};
use crate::connect::ClientError;
use crate::verify::{Checker, FinalView, History};
use log::Log;

mod log;

/// A bot, from its first packet to its last.
pub struct Bot {
    attempt: JoinAttempt,
    stage: Stage,
}

enum Stage {
    Joining(Handshake),
    Playing(Box<Playing>),
    /// It has handed in its view, or reported an error.
    Done,
}

/// A bot that is welcomed.
struct Playing {
    session: Session,
    behaviour: Box<dyn Behaviour>,
    /// Whether it acts when it receives a new tick.
    acts_each_tick: bool,
    /// The newest tick that it has processed.
    settled: Tick,
    /// When it last took a turn.
    turned: Instant,
    /// Whether it has no entity.
    spectates: bool,
    /// Whether it keeps a view of all that it receives.
    has_view: bool,
    was_in_world: bool,
    /// It has come back, and no command of it was processed since.
    is_back_unseen: bool,
    /// When the server's last datagram came.
    received: Instant,
    pace: Pace,
    /// When it was admitted.
    begun: Instant,
    round_trip: Duration,
    dice: Dice,
    /// The time from turn to turn, and from tick to tick.
    period: Duration,
    tick_period: Duration,
    log: Log,
    /// The counts at the beginning of play.
    counted: Option<ViewCounts>,
    /// The sequence number of its last command.
    commanded: u32,
    /// When it ends what it is at, once all are to rest.
    ends: Option<Instant>,
    /// The server has confirmed that, at rest.
    is_at_rest: bool,
    /// The number of its last request, whose answer shows that it has read its stream.
    last_request: Option<u32>,
}

impl Bot {
    pub fn new(attempt: JoinAttempt, options: &SwarmOptions) -> Bot {
        Bot {
            stage: Stage::Joining(Handshake::new(&Hello {
                spectates: options.spectates(attempt.number),
                ..hello(&options.token, attempt.lost.map(|lost| lost.ticket))
            })),
            attempt,
        }
    }

    /// Prefetches its data.
    pub fn prefetch(&self) {
        if let Stage::Playing(playing) = &self.stage {
            quic::prefetch(&**playing);
        }
    }

    /// The connection is open: sends the hello.
    pub fn greet(&mut self, link: &mut Link<'_>) {
        if let Stage::Joining(handshake) = &self.stage {
            // A new connection takes a hello at once.
            if link.open_stream() {
                link.write(handshake.stream_bytes());
            }
        }
    }

    pub fn take_datagram(&mut self, bytes: &[u8], bots: &mut Bots) -> Result<(), ClientError> {
        if let Stage::Playing(bot) = &mut self.stage {
            bot.received = Instant::now();
            let mut log = bot.log.of(bots, bot.received);
            bot.session.handle_datagram(bytes, &mut log)?;
        }
        // The server repeats what it sent before the welcome.
        Ok(())
    }

    pub fn take_stream(&mut self, link: &mut Link<'_>, bots: &mut Bots) -> Result<(), ClientError> {
        let mut taken = Ok(());
        link.read(usize::MAX, |bytes| {
            if taken.is_ok() {
                taken = self.take_stream_bytes(bytes, bots);
            }
        });
        taken
    }

    fn take_stream_bytes(&mut self, bytes: &[u8], bots: &mut Bots) -> Result<(), ClientError> {
        match &mut self.stage {
            Stage::Joining(handshake) => {
                let Some(welcomed) = handshake.handle_stream(bytes)? else {
                    return Ok(());
                };
                let quotas = welcomed.welcome.quotas;
                let session = welcomed.session;
                self.attempt.route.welcome(session.standby());
                let playing = Playing::new(&self.attempt, session, quotas, bots);
                let playing = playing.map_err(ClientError::ended)?;
                self.stage = Stage::Playing(Box::new(playing));
                self.take_stream_bytes(&welcomed.rest, bots)
            }
            Stage::Playing(bot) => {
                bot.received = Instant::now();
                let mut log = bot.log.of(bots, bot.received);
                bot.session.handle_stream(bytes, &mut log)?;
                self.attempt.route.set_standby(bot.session.standby());
                Ok(())
            }
            Stage::Done => Ok(()),
        }
    }

    /// A packet of the server was processed: answers it.
    pub fn settle(&mut self, link: &mut Link<'_>, bots: &mut Bots) {
        let Stage::Playing(bot) = &mut self.stage else {
            // The rest of the welcome waits for the acknowledgement.
            return link.send_now();
        };
        bot.round_trip = link.round_trip();
        // A bot counts as connected once it sees its own entity, if it has one.
        let is_in_world = bot.spectates || bot.session.view().own().is_some();
        if !bot.was_in_world && is_in_world {
            bot.was_in_world = true;
            if self.attempt.lost.is_none() {
                bots.state.connected.fetch_add(1, Relaxed);
            }
            // Bots take their turns at different moments, as people do.
            let first = bot.period.mul_f64(bot.dice.unit());
            bots.wake_at(link.handle(), link.now() + first);
        }
        if bot.is_back_unseen && bot.session.view().processed() > 0 {
            bot.is_back_unseen = false;
            bots.state.came_back.fetch_add(1, Relaxed);
        }
        let newest = bot.session.view().newest();
        if newest > bot.settled {
            bot.settled = newest;
            bot.pace.receive(bot.log.send_every, bot.begun.elapsed());
            match bots.state.phase() {
                Phase::Play if bot.was_in_world && bot.is_its_turn() => bot.play(link, bots),
                Phase::Play if bot.was_in_world && bot.is_due_soon() => {}
                _ => bot.flush(link),
            }
        }
    }

    /// The time has come to act without a word of the server.
    pub fn wake(&mut self, link: &mut Link<'_>, bots: &mut Bots) {
        let bot = match &mut self.stage {
            Stage::Playing(bot) => bot,
            // It has waited for long enough.
            Stage::Joining(_) => return self.leave(link),
            Stage::Done => return,
        };
        let silence = self.attempt.route.silence(Duration::MAX);
        match bots.state.phase() {
            Phase::Connect => bot.flush(link),
            Phase::Play if bot.received.elapsed() > silence => {
                // Not for good: it wants to come back.
                return link.close(Close::Resumed.code(), "nothing was received");
            }
            Phase::Play => return bot.play(link, bots),
            Phase::Rest => bot.rest(link, bots),
            Phase::Compare | Phase::Leave => {
                if bot.has_caught_up(link) {
                    return self.hand_in(bots);
                }
            }
        }
        let wait = match bots.state.phase() {
            Phase::Connect | Phase::Play => bot.period,
            Phase::Rest | Phase::Compare | Phase::Leave => bot.period.min(REST_PERIOD),
        };
        bots.wake_at(link.handle(), link.now() + wait);
    }

    fn hand_in(&mut self, bots: &mut Bots) {
        if let Stage::Playing(bot) = std::mem::replace(&mut self.stage, Stage::Done) {
            let history = bots.state.history.get();
            let view = history.and_then(|history| bot.final_view(self.attempt.number, history));
            bots.state.hand_in(view);
        }
    }

    /// The server's data is malformed, or the bot's script is.
    pub fn give_up(&mut self, link: &mut Link<'_>, error: &ClientError, bots: &mut Bots) {
        self.count_loss(error, &bots.state);
        self.stage = Stage::Done;
        self.leave(link);
    }

    /// The next attempt of a bot that could not join, and its wait; `None` if it was welcomed,
    /// or has tried for long.
    pub fn next_join(&self, seed: u64) -> Option<(Duration, JoinAttempt)> {
        if !matches!(self.stage, Stage::Joining(_)) {
            return None;
        }
        let mut attempt = self.attempt.clone();
        let wait = attempt.route.fail(false, &self.retry(seed))?;
        Some((wait, attempt))
    }

    /// The same for a bot that was in the world, if its server has named a standby. `error` is
    /// why it lost its connection, or could not come back.
    pub fn way_back(
        &self,
        options: &SwarmOptions,
        error: &ClientError,
    ) -> Option<(Duration, JoinAttempt)> {
        let mut attempt = self.attempt.clone();
        let retry = self.retry(options.seed);
        // A bot's data is compared within one connection.
        if options.verify || !attempt.route.has_standby() && attempt.lost.is_none() {
            return None;
        }
        let wait = match &self.stage {
            Stage::Playing(bot) => {
                attempt.lost = Some(Lost {
                    ticket: bot.session.ticket(),
                    round_trip: bot.round_trip,
                });
                attempt.route.lose(&retry)?
            }
            Stage::Joining(_) => {
                let is_standby = matches!(error, ClientError::Standby(_));
                attempt.route.fail(is_standby, &retry)?
            }
            Stage::Done => return None,
        };
        Some((wait, attempt))
    }

    fn retry(&self, seed: u64) -> RetryOptions {
        RetryOptions {
            seed: seed.wrapping_add(self.attempt.number as u64),
            ..JOIN_RETRY
        }
    }

    /// The connection has ended before its time.
    pub fn count_loss(&self, error: &ClientError, state: &SwarmState) {
        let came_back_before = self.attempt.lost.is_some();
        match &self.stage {
            Stage::Playing(_) | Stage::Joining(_) if came_back_before => {
                state.lost.fetch_add(1, Relaxed);
                state.complain(format!("a bot did not come back: {error}"));
            }
            Stage::Playing(bot) if bot.was_in_world => {
                state.lost.fetch_add(1, Relaxed);
                state.complain(format!("a bot lost its connection: {error}"));
            }
            Stage::Playing(_) | Stage::Joining(_) => {
                state.fail(format!("bot {}: {error}", self.attempt.number));
            }
            Stage::Done => {}
        }
    }

    /// Leaves for good: the entity is removed.
    pub fn leave(&mut self, link: &mut Link<'_>) {
        link.close(Close::Bye.code(), "bye");
    }
}

impl Playing {
    /// The error names the mistake in the bot's script.
    fn new(
        attempt: &JoinAttempt,
        mut session: Session,
        quotas: Quotas,
        bots: &mut Bots,
    ) -> Result<Playing, String> {
        let Bots { options, state, .. } = bots;
        let number = attempt.number;
        let schema = session.view().schema();
        state.schema.get_or_init(|| schema.clone());
        let history = state.history.get_or_init(|| {
            let limit = quotas.bytes_per_tick;
            History::new(schema, limit, options.clients, options.view_every)
        });
        let has_view = options.has_view(number);
        let entity = session.view().entity();
        let checker = (options.verify && has_view).then(|| {
            history.register(number, entity);
            Checker::new(number, entity, options.clients, quotas, schema)
        });
        let mut dice = Dice::new(options.seed.wrapping_add(number as u64));
        let tick_hz = f64::from(schema.world.tick_hz);
        let tick_period = Duration::from_secs_f64(1.0 / tick_hz);
        let rate_hz = options.rate_hz.unwrap_or(tick_hz);
        let spectates = options.spectates(number);
        let behaviour: Box<dyn Behaviour> = match &options.play {
            _ if spectates => Box::new(Spectate::new(schema)),
            None => options.behaviour.start(schema, &mut dice),
            Some(text) => {
                let play = || compile(schema, text).map(Arc::new);
                let play = state.play.get_or_init(play).clone()?;
                Box::new(Scripted::new(play, &mut dice))
            }
        };
        if !has_view {
            session.keep_only_own();
        }
        Ok(Playing {
            has_view,
            acts_each_tick: options.rate_hz.is_none() || behaviour.acts_each_tick(),
            behaviour,
            settled: Tick(0),
            turned: Instant::now(),
            spectates,
            was_in_world: false,
            is_back_unseen: attempt.lost.is_some(),
            received: Instant::now(),
            // A bot with a turn in each tick gives it when a word comes.
            pace: Pace::new(tick_period, Duration::ZERO),
            begun: Instant::now(),
            round_trip: Duration::ZERO,
            dice,
            period: Duration::from_secs_f64(1.0 / rate_hz.max(0.01)),
            tick_period,
            session,
            log: Log {
                checker,
                unprocessed: Unprocessed::default(),
                answered: None,
                complete_tick: Tick(0),
                send_every: 1,
            },
            counted: None,
            commanded: 0,
            ends: None,
            is_at_rest: false,
            last_request: None,
        })
    }

    /// Whether it acts on a word that has just come. One that came late finds that the bot has
    /// taken its turn without it.
    fn is_its_turn(&self) -> bool {
        self.acts_each_tick && self.turned.elapsed() > self.tick_period / 2
    }

    /// Whether its own turn will carry the acknowledgement.
    fn is_due_soon(&self) -> bool {
        self.period <= ACKNOWLEDGEMENT_WAIT
    }

    fn play(&mut self, link: &mut Link<'_>, bots: &mut Bots) {
        self.turned = Instant::now();
        let view = self.session.view();
        self.counted.get_or_insert(*view.counts());
        let mut input = Input::default();
        self.behaviour.act(view, &mut self.dice, &mut input);
        if let Some(complaint) = input.complaint {
            bots.state.complain(complaint);
        }
        for request in input.requests {
            self.send_request(request);
        }
        let now = self.turned;
        let mut sent = 0;
        for (kind, words, count) in input.commands {
            if let Ok(sequence) = self.session.command(kind, &words[..count]) {
                sent += 1;
                self.commanded = sequence;
                self.log.unprocessed.send(sequence, now, self.period);
            }
        }
        if sent == 0 {
            self.log.unprocessed.pause();
        }
        bots.tally.commands_sent += sent;
        self.flush(link);
        if self.has_view {
            let others = self.session.view().entities().len().saturating_sub(1);
            bots.tally.visible_sum += others as u64;
            bots.tally.views_seen += 1;
        }
        // The server's next word may be lost, or the server has no time for one.
        let wait = match self.acts_each_tick {
            true => {
                let now = self.begun.elapsed();
                self.pace.send(now);
                let held = self.pace.held_until(now).unwrap_or_default();
                let held = held.saturating_sub(now);
                held.max(self.period.mul_f64(WORD_WAIT_PERIODS))
            }
            false => self.period,
        };
        bots.wake_at(link.handle(), now + wait);
    }

    /// Sends requests, commands and acknowledgements, if there are any.
    fn flush(&mut self, link: &mut Link<'_>) {
        let written = link.write(self.session.stream_bytes());
        self.session.stream_sent(written);
        if let Some(datagram) = self.session.datagram() {
            // Fails only on a connection that is ending.
            link.send_datagram(datagram.into());
        }
    }

    fn send_request(&mut self, request: Request) {
        let number = match &request {
            Request::SetRegion { index, region } => Some(self.session.set_region(*index, *region)),
            Request::Subscribe { id, filter } => {
                let text = filter.text(self.session.view().schema());
                self.session.subscribe(*id, &text).ok()
            }
            Request::Unsubscribe { id } => Some(self.session.unsubscribe(*id)),
            Request::SetSight { radius } => Some(self.session.set_sight(*radius)),
            Request::Watch { point } => Some(self.session.watch(*point)),
        };
        if let (Some(number), Some(checker)) = (number, &mut self.log.checker) {
            checker.request(number, request);
        }
    }

    fn rest(&mut self, link: &mut Link<'_>, bots: &mut Bots) {
        if let Some(before) = self.counted.take() {
            let play = self.session.view().counts().since(&before);
            bots.state.add_counts(&play);
            // The words of what all end at once would delay what was still to be measured.
            self.ends = Some(Instant::now() + ENDS_WITHIN.mul_f64(self.dice.unit()));
        }
        if self.ends.take_if(|ends| *ends <= Instant::now()).is_some() {
            let mut last = Input::default();
            self.behaviour.rest(self.session.view(), &mut last);
            for (kind, words, count) in last.commands {
                // One that is refused leaves the entity on its way, which is no harm.
                if let Ok(sequence) = self.session.command(kind, &words[..count]) {
                    self.commanded = sequence;
                }
            }
        }
        let missing = self.commanded.wrapping_sub(self.session.view().processed());
        if !self.is_at_rest && self.ends.is_none() && missing.cast_signed() <= 0 {
            self.is_at_rest = true;
            bots.state.resting.fetch_add(1, Relaxed);
        }
        self.flush(link);
    }

    /// Whether it has read all that the server sent before now. To find out, it asks for
    /// something that is refused: the answer comes behind all of that, and movement that was
    /// lost is sent again.
    fn has_caught_up(&mut self, link: &mut Link<'_>) -> bool {
        let Some(checker) = &mut self.log.checker else {
            return true;
        };
        if self.last_request.is_none() {
            let id = NO_SUBSCRIPTION;
            let number = self.session.unsubscribe(id);
            checker.request(number, Request::Unsubscribe { id });
            self.last_request = Some(number);
        }
        self.flush(link);
        self.log.answered.is_some_and(|(request, tick)| {
            self.last_request == Some(request) && self.log.complete_tick >= tick
        })
    }

    /// The bot's final view, if it is verified.
    fn final_view(mut self, number: usize, history: &History) -> Option<FinalView> {
        let checker = self.log.checker.take()?;
        let view = self.session.view();
        let newest = view.newest();
        let second_ago = newest.before(view.schema().world.tick_hz);
        let is_dead = view.is_dead() || checker.is_newborn(newest);
        let touched = checker.touched_after(second_ago);
        let spot = checker.spot(newest);
        let (regions, record) = checker.finish(history);
        Some(FinalView {
            bot: number,
            entity: view.entity(),
            is_dead,
            newest,
            entities: view.entities().clone(),
            touched,
            regions,
            spot,
            record,
        })
    }
}

/// Bots that rest look this often whether there is nothing left to do.
const REST_PERIOD: Duration = Duration::from_millis(100);
/// No bot subscribes by this number.
const NO_SUBSCRIPTION: u32 = u32::MAX;
/// A bot that is turned away tries to join for some ten seconds.
const JOIN_RETRY: RetryOptions = RetryOptions {
    first: Duration::from_millis(250),
    longest: Duration::from_secs(4),
    attempts: 6,
    seed: 0,
};
/// A bot that acts in each tick waits so long for its datagram. A longer wait
/// would miss a tick for each lost datagram, and an entity that stops for a tick is sent
/// to all.
const WORD_WAIT_PERIODS: f64 = 1.1;
/// When all are to rest, they end what they are at within this time.
const ENDS_WITHIN: Duration = Duration::from_secs(1);
/// Acknowledgements wait this long for a turn to carry them.
const ACKNOWLEDGEMENT_WAIT: Duration = Duration::from_millis(100);
