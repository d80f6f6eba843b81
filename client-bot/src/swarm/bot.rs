//! One bot: connects, plays, rests, hands in its view and leaves.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

use client_core::{DatagramSummary, EventHandler, Message, Movement, View, ViewCounts, hello};
use shared::Tick;
use tokio::sync::Semaphore;
use tokio::time::{MissedTickBehavior, interval_at};

use super::latency::Latencies;
use super::options::SwarmOptions;
use super::state::{Phase, SwarmState};
use crate::behaviour::{Behaviour, Dice, Input, Request, Scripted, compile};
use crate::client::Client;
use crate::connect::{ClientError, Connector};
use crate::verify::{Checker, FinalView, History};

/// Where a bot runs: its number in the swarm, and what it shares with others.
pub struct BotPlace {
    pub number: usize,
    pub connector: Rc<Connector>,
    /// Limits how many bots of a thread connect at the same time.
    pub handshakes: Rc<Semaphore>,
    pub options: SwarmOptions,
    pub state: Arc<SwarmState>,
    pub latencies: Rc<RefCell<Latencies>>,
}

/// Runs a bot from first to last.
pub async fn run_bot(place: BotPlace) {
    let state = place.state.clone();
    let connected = {
        let Ok(_turn) = place.handshakes.acquire().await else {
            return;
        };
        Client::connect(&place.connector, &hello(&place.options.token, None)).await
    };
    let bot = match connected {
        Ok(client) => Bot::new(place, client),
        Err(error) => Err(format!("bot {}: {error}", place.number)),
    };
    let bot = match bot {
        Ok(bot) => bot,
        Err(reason) => {
            state.failed.fetch_add(1, Relaxed);
            return state.complain(reason);
        }
    };
    match bot.live().await {
        Ok(client) => {
            while state.phase() != Phase::Leave {
                tokio::time::sleep(POLL).await;
            }
            client.leave();
        }
        Err(loss) => {
            let counter = if loss.was_in_world {
                &state.lost
            } else {
                &state.failed
            };
            counter.fetch_add(1, Relaxed);
            state.complain(format!("a bot lost its connection: {}", loss.error));
        }
    }
}

struct Bot {
    number: usize,
    client: Client,
    behaviour: Box<dyn Behaviour>,
    /// The newest tick in which a behaviour acted that acts each tick.
    acted: Tick,
    dice: Dice,
    /// The time from turn to turn.
    period: Duration,
    log: Log,
    /// The counts at the beginning of play.
    counted: Option<ViewCounts>,
    state: Arc<SwarmState>,
}

/// How a bot lost its connection.
struct Loss {
    error: ClientError,
    was_in_world: bool,
}

impl Bot {
    /// A bot that is welcomed. The error says what is wrong with its script.
    fn new(place: BotPlace, client: Client) -> Result<Bot, String> {
        let BotPlace {
            number,
            options,
            state,
            latencies,
            ..
        } = place;
        let schema = client.view().schema();
        state.schema.get_or_init(|| schema.clone());
        let history = state
            .history
            .get_or_init(|| History::new(schema, options.clients));
        let entity = client.view().entity();
        history.register(number, entity);
        let checker = options
            .verify
            .then(|| Checker::new(number, entity, options.clients, schema));
        let mut dice = Dice::new(options.seed.wrapping_add(number as u64));
        let rate_hz = options.rate_hz.unwrap_or(f64::from(schema.world.tick_hz));
        let behaviour: Box<dyn Behaviour> = match &options.play {
            None => options.behaviour.start(schema, &mut dice),
            Some(text) => {
                let play = || compile(schema, text).map(Arc::new);
                let play = state.play.get_or_init(play).clone()?;
                Box::new(Scripted::new(play, &mut dice))
            }
        };
        Ok(Bot {
            number,
            behaviour,
            acted: Tick(0),
            dice,
            period: Duration::from_secs_f64(1.0 / rate_hz.max(0.01)),
            client,
            log: Log {
                checker,
                sent: VecDeque::new(),
                latencies,
                state: state.clone(),
            },
            counted: None,
            state,
        })
    }

    /// Takes turns and receives until the end, then hands in the final view.
    async fn live(mut self) -> Result<Client, Loss> {
        // Bots take their turns at different moments, as people do.
        let start = tokio::time::Instant::now() + self.period.mul_f64(self.dice.unit());
        let mut turns = interval_at(start, self.period);
        turns.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut was_in_world = false;
        loop {
            tokio::select! {
                received = self.client.receive(&mut self.log) => {
                    received.map_err(|error| Loss { error, was_in_world })?;
                    // A bot counts as connected once it sees its own entity.
                    if !was_in_world && self.client.view().own().is_some() {
                        was_in_world = true;
                        self.state.connected.fetch_add(1, Relaxed);
                    }
                    self.play_tick();
                }
                _ = turns.tick() => match self.state.phase() {
                    Phase::Connect => self.client.flush(),
                    Phase::Play if self.behaviour.acts_each_tick() => self.client.flush(),
                    Phase::Play => self.play(),
                    Phase::Rest => self.rest(),
                    Phase::Compare | Phase::Leave => break,
                },
            }
        }
        self.hand_in();
        Ok(self.client)
    }

    /// Plays if the behaviour acts each tick and this one is new.
    fn play_tick(&mut self) {
        let newest = self.client.view().newest();
        let is_due = newest > self.acted && self.behaviour.acts_each_tick();
        if is_due && self.state.phase() == Phase::Play {
            self.acted = newest;
            self.play();
        }
    }

    fn play(&mut self) {
        self.counted.get_or_insert(*self.client.view().counts());
        let mut input = Input::default();
        self.behaviour
            .act(self.client.view(), &mut self.dice, &mut input);
        if let Some(complaint) = input.complaint {
            self.state.complain(complaint);
        }
        for request in input.requests {
            self.send_request(request);
        }
        let now = Instant::now();
        for (kind, words, count) in input.commands {
            if let Some(sequence) = self.client.command(kind, &words[..count]) {
                self.state.commands_sent.fetch_add(1, Relaxed);
                self.log.sent.push_back((sequence, now));
            }
        }
        self.client.flush();
        let others = self.client.view().entities().len().saturating_sub(1);
        self.state.visible_sum.fetch_add(others as u64, Relaxed);
        self.state.visible_samples.fetch_add(1, Relaxed);
    }

    fn send_request(&mut self, request: Request) {
        let number = match &request {
            Request::SetRegion { index, region } => Some(self.client.set_region(*index, *region)),
            Request::Subscribe { id, filter } => {
                let text = filter.text(self.client.view().schema());
                self.client.subscribe(*id, &text)
            }
            Request::Unsubscribe { id } => Some(self.client.unsubscribe(*id)),
        };
        if let (Some(number), Some(checker)) = (number, &mut self.log.checker) {
            checker.request(number, request);
        }
    }

    fn rest(&mut self) {
        if let Some(before) = self.counted.take() {
            let play = self.client.view().counts().since(&before);
            self.state.add_counts(&play);
        }
        self.client.flush();
    }

    /// Hands in what the bot knows at the end.
    fn hand_in(&mut self) {
        let view = self.client.view();
        let mut last = FinalView {
            bot: self.number,
            entity: view.entity(),
            is_dead: view.is_dead(),
            newest: view.newest(),
            entities: view.entities().clone(),
            touched: vec![],
            regions: vec![],
            record: Default::default(),
        };
        if let Some(checker) = self.log.checker.take() {
            let second_ago = view.newest().0.saturating_sub(view.schema().world.tick_hz);
            last.is_dead |= checker.is_newborn(view.newest());
            last.touched = checker.touched_after(Tick(second_ago));
            (last.regions, last.record) = checker.finish();
        }
        self.state.hand_in(last);
    }
}

/// What a bot notes of the events that it receives.
struct Log {
    checker: Option<Checker>,
    /// Commands that the world has not processed yet: sequence number, when sent.
    sent: VecDeque<(u32, Instant)>,
    latencies: Rc<RefCell<Latencies>>,
    state: Arc<SwarmState>,
}

impl EventHandler for Log {
    fn datagram(&mut self, view: &View, summary: DatagramSummary, movement: &Movement) {
        let now = Instant::now();
        let mut latencies = self.latencies.borrow_mut();
        while let Some(&(_, sent)) = self.sent.front().filter(|s| s.0 <= view.processed()) {
            self.sent.pop_front();
            latencies.add(now - sent, now);
        }
        if let (Some(checker), Some(history)) = (&mut self.checker, self.state.history.get()) {
            checker.datagram(history, view, summary, movement);
        }
    }

    fn message(&mut self, tick: Tick, message: &Message) {
        if let (Some(checker), Some(history)) = (&mut self.checker, self.state.history.get()) {
            checker.message(history, tick, message);
        }
    }
}

/// How often a bot looks whether it is to leave.
const POLL: Duration = Duration::from_millis(20);
