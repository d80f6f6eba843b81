//! What a bot does in the world.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

use client_core::{Argument, Game, GivenCommand, Quotas, View, ViewCounts};
use quic::Link;
use shared::{CommandKind, Tick};

use crate::behaviour::{Behaviour, Dice, Input, Request, Scripted, Spectate, Word, compile};
use crate::carrier;
use crate::swarm::crew::Crew;
use crate::swarm::latency::Unprocessed;
use crate::swarm::state::SwarmState;
use crate::verify::{Checker, FinalView, History, OwnText};

/// A bot that is welcomed, in one connection.
pub struct Playing {
    pub dice: Dice,
    /// The time from turn to turn.
    pub period: Duration,
    /// Whether it has no entity.
    pub spectates: bool,
    pub was_in_world: bool,
    /// It has come back, and no command of it was processed since.
    pub is_back_unseen: bool,
    /// The command after which those of this connection begin.
    pub began: u32,
    /// The newest tick that it has processed.
    pub settled: Tick,
    pub checker: Option<Checker>,
    pub unprocessed: Unprocessed,
    /// The last request that was answered, and the tick of the answer.
    pub answered: Option<(u32, Tick)>,
    /// The last tick in which the bot was sure to know all movement.
    pub complete_tick: Tick,
    behaviour: Box<dyn Behaviour>,
    /// Whether it takes a turn when it receives a new tick, or in a rhythm of its own.
    acts_each_tick: bool,
    tick_period: Duration,
    /// When it last took a turn.
    turned: Duration,
    /// Whether it keeps a view of all that it receives.
    has_view: bool,
    /// The counts at the beginning of play.
    counted: Option<ViewCounts>,
    /// The sequence number of its last command.
    commanded: u32,
    /// When it ends what it is at, once all are to rest.
    ends: Option<Duration>,
    /// The server has confirmed that, at rest.
    is_at_rest: bool,
    /// The number of its last request, whose answer shows that it has read its stream.
    last_request: Option<u32>,
}

impl Playing {
    /// The error names the mistake in the bot's script.
    pub fn new(
        number: usize,
        view: &View,
        quotas: &Quotas,
        crew: &Crew,
    ) -> Result<Playing, String> {
        let Crew { options, state, .. } = crew;
        let schema = view.schema();
        state.schema.get_or_init(|| schema.clone());
        let history = state.history.get_or_init(|| {
            let limit = quotas.bytes_per_tick;
            let history = History::new(schema, limit, options.clients, options.view_every);
            history.hiding(options.visibility)
        });
        let has_view = options.has_view(number);
        let checker = (options.verify && has_view).then(|| {
            let entity = view.entity();
            history.register(number, entity);
            let rankings = view.rankings().iter().map(|ranking| ranking.info.clone());
            let mut checker = Checker::new(number, entity, options.clients, *quotas, schema);
            checker.set_rankings(rankings.collect());
            checker
        });
        let mut dice = Dice::new(options.seed.wrapping_add(number as u64));
        let tick_hz = f64::from(schema.world.tick_hz);
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
        Ok(Playing {
            dice,
            period: Duration::from_secs_f64(1.0 / rate_hz.max(0.01)),
            spectates,
            was_in_world: false,
            is_back_unseen: false,
            began: view.processed(),
            settled: Tick(0),
            checker,
            unprocessed: Unprocessed::default(),
            answered: None,
            complete_tick: Tick(0),
            acts_each_tick: options.rate_hz.is_none() || behaviour.acts_each_tick(),
            tick_period: Duration::from_secs_f64(1.0 / tick_hz),
            turned: Duration::ZERO,
            behaviour,
            has_view,
            counted: None,
            commanded: 0,
            ends: None,
            is_at_rest: false,
            last_request: None,
        })
    }

    /// Whether it acts on a word that has just come. One that came late finds that the bot has
    /// taken its turn without it.
    pub fn is_its_turn(&self, now: Duration) -> bool {
        self.acts_each_tick && now > self.turned + self.tick_period / 2
    }

    /// Whether its own turn will carry the acknowledgement.
    pub fn is_due_soon(&self) -> bool {
        self.period <= ACKNOWLEDGEMENT_WAIT
    }

    /// When it acts, if the server's next word is lost, or the server has no time for one.
    fn next_turn(&self, game: &Game, now: Duration) -> Duration {
        match self.acts_each_tick {
            true => {
                let wait = now + self.period.mul_f64(WORD_WAIT_PERIODS);
                game.held_until(now).unwrap_or_default().max(wait)
            }
            false => now + self.period,
        }
    }

    /// Takes a turn. What it gives runs as soon as it arrives: its latency is that of the server and
    /// the way, without the reserve of input that is to arrive just in time.
    pub fn play(&mut self, game: &mut Game, link: &mut Link<'_>, crew: &mut Crew, now: Duration) {
        let Some(view) = game.view() else {
            return;
        };
        self.turned = now;
        self.counted.get_or_insert(*view.counts());
        let mut input = Input::default();
        self.behaviour.act(view, &mut self.dice, &mut input);
        if let Some(complaint) = input.complaint {
            crew.state.complain(complaint);
        }
        for request in input.requests {
            self.send_request(game, request);
        }
        for (name, length) in input.rankings {
            game.ask_ranking(&name, length);
        }
        let given = Instant::now();
        let mut sent = 0;
        for (kind, words, count) in input.commands {
            if let Ok(sequence) = game.command(kind, &words[..count]) {
                sent += 1;
                self.commanded = sequence;
                self.unprocessed.send(sequence, given, self.period);
            }
        }
        for (kind, words) in &input.texts {
            if let Some(sequence) = self.send_texts(game, *kind, words) {
                sent += 1;
                self.commanded = sequence;
                self.unprocessed.send(sequence, given, self.period);
            }
        }
        if sent == 0 {
            self.unprocessed.pause();
        }
        crew.tally.commands_sent += sent;
        carrier::send_now(game, link, now);
        if self.has_view
            && let Some(view) = game.view()
        {
            let others = view.entities().len().saturating_sub(1);
            crew.tally.visible_sum += others as u64;
            crew.tally.views_seen += 1;
        }
        crew.wake_at(link.handle(), self.next_turn(game, now));
    }

    /// Gives a command with texts. Its number, if it need not wait for them.
    fn send_texts(&mut self, game: &mut Game, kind: CommandKind, words: &[Word]) -> Option<u32> {
        let arguments = words.iter().map(|word| match word {
            Word::Number(number) => Argument::Word(*number),
            Word::Text(text) => Argument::Text(text),
        });
        let arguments: Vec<Argument<'_>> = arguments.collect();
        let last = match game.command_with(kind, &arguments) {
            Ok(GivenCommand::Queued(sequence)) => return Some(sequence),
            Ok(GivenCommand::Waits(last)) => last,
            // Too many wait already.
            Err(_) => return None,
        };
        // A request for each text that is not empty.
        let texts = words.iter().rev().filter_map(|word| match word {
            Word::Text(text) if !text.is_empty() => Some(text),
            _ => None,
        });
        let requests = (0..).map(|back| last.wrapping_sub(back));
        let texts: Vec<(u32, &String)> = requests.zip(texts).collect();
        for (request, text) in texts.into_iter().rev() {
            if let Some(checker) = &mut self.checker {
                checker.give_text(request, text.clone());
            }
        }
        None
    }

    fn send_request(&mut self, game: &mut Game, request: Request) {
        let number = match &request {
            Request::SetRegion { index, region } => game.set_region(*index, *region),
            Request::Subscribe { id, filter } => {
                let text = game.view().map(|view| filter.text(view.schema()));
                let number = text.and_then(|text| game.subscribe(*id, &text));
                number.and_then(Result::ok)
            }
            Request::Unsubscribe { id } => game.unsubscribe(*id),
            Request::SetSight { radius } => game.set_sight(*radius),
            Request::Watch { point } => game.watch(*point),
        };
        if let (Some(number), Some(checker)) = (number, &mut self.checker) {
            checker.request(number, request);
        }
    }

    pub fn rest(&mut self, game: &mut Game, link: &mut Link<'_>, crew: &mut Crew, now: Duration) {
        let Some(view) = game.view() else {
            return;
        };
        if self.count(view, &crew.state) {
            // The words of what all end at once would delay what was still to be measured.
            self.ends = Some(now + ENDS_WITHIN.mul_f64(self.dice.unit()));
        }
        let missing = self.commanded.wrapping_sub(view.processed());
        if self.ends.take_if(|ends| *ends <= now).is_some() {
            let mut last = Input::default();
            self.behaviour.rest(view, &mut last);
            for (kind, words, count) in last.commands {
                // One that is refused leaves the entity on its way, which is no harm.
                if let Ok(sequence) = game.command(kind, &words[..count]) {
                    self.commanded = sequence;
                }
            }
        } else if !self.is_at_rest && self.ends.is_none() && missing.cast_signed() <= 0 {
            self.is_at_rest = true;
            crew.state.resting.fetch_add(1, Relaxed);
        }
        carrier::send_now(game, link, now);
    }

    /// Adds what it received while it played, once. Whether it has played since.
    pub fn count(&mut self, view: &View, state: &SwarmState) -> bool {
        let before = self.counted.take();
        if let Some(before) = &before {
            state.add_counts(&view.counts().since(before));
        }
        before.is_some()
    }

    /// Whether it has read all that the server sent before now. To find out, it asks for
    /// something that is refused: the answer comes behind all of that, and movement that was
    /// lost is sent again.
    pub fn has_caught_up(&mut self, game: &mut Game, link: &mut Link<'_>, now: Duration) -> bool {
        let Some(checker) = &mut self.checker else {
            return true;
        };
        if self.last_request.is_none() {
            let id = NO_SUBSCRIPTION;
            self.last_request = game.unsubscribe(id);
            if let Some(number) = self.last_request {
                checker.request(number, Request::Unsubscribe { id });
            }
        }
        carrier::send_now(game, link, now);
        self.answered.is_some_and(|(request, tick)| {
            self.last_request == Some(request) && self.complete_tick >= tick
        })
    }

    /// The bot's final view, if it is verified.
    pub fn final_view(self, number: usize, view: &View, history: &History) -> Option<FinalView> {
        let checker = self.checker?;
        let newest = view.newest();
        let second_ago = newest.before(view.schema().world.tick_hz);
        let is_dead = view.is_dead() || checker.is_newborn(newest);
        let touched = checker.touched_after(second_ago);
        let spot = checker.spot(newest);
        let possessions = checker.possessions(newest);
        let (regions, record) = checker.finish(history);
        Some(FinalView {
            bot: number,
            entity: view.entity(),
            is_dead,
            newest,
            entities: view.entities().clone(),
            things: view.things().clone(),
            possessions,
            texts: OwnText::all_of(view),
            members: view.all_members().cloned().collect(),
            touched,
            regions,
            spot,
            record,
        })
    }
}

/// No bot subscribes by this number.
const NO_SUBSCRIPTION: u32 = u32::MAX;
/// When all are to rest, they end what they are at within this time.
const ENDS_WITHIN: Duration = Duration::from_secs(1);
/// Acknowledgements wait this long for a turn to carry them.
const ACKNOWLEDGEMENT_WAIT: Duration = Duration::from_millis(100);
/// A bot that acts in each tick waits so long for its datagram. A longer wait
/// would miss a tick for each lost datagram, and an entity that stops for a tick is sent
/// to all.
const WORD_WAIT_PERIODS: f64 = 1.1;
