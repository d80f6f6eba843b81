//! The order of events: what arrives when, and what fails.
//!
//! | module | holds |
//! | --- | --- |
//! | `hosts` | the tick host: it starts, ticks and dies |
//! | `gateways` | gateways, and their links to the tick host |
//! | `players` | players and their connections |
//! | `faults` | faults |

mod faults;
mod gateways;
mod hosts;
mod players;

use std::cmp::{Ordering, Reverse};
use std::collections::{BTreeMap, BinaryHeap, VecDeque};
use std::fmt;
use std::time::Duration;

use client_core::{Close, Ending, LossCode};
use quic::proto::ConnectionError;
use shared::world::mix::mix;
use shared::{EntityId, Tick};
use transport::local_shard::ConnectionId;

use crate::characters::SimulatedCharacters;
use crate::clock::{Clock, Micros, SECOND};
use crate::dice::{Dice, index};
use crate::disk::{Faults, SimulatedDisk};
use crate::gateway_process::GatewayProcess;
use crate::plan::{Fault, Plan};
use crate::player::{Player, Server};
use crate::tick_host::{LinkId, Placed, TickHost};

/// What a simulation did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// Of all that happened, in order.
    pub digest: u64,
    pub ticks: u64,
    /// Commands that were confirmed, and in the journal.
    pub kept: u64,
    /// Starts of tick hosts, and deaths of those that ran a market.
    pub starts: u64,
    pub market_deaths: u64,
    /// Sessions that were resumed.
    pub resumed: u64,
    /// Commands that players sent again in these.
    pub sent_again: u64,
}

/// What must not happen.
#[derive(Clone, Debug)]
pub struct Failure {
    pub seed: u64,
    pub reason: String,
    /// The last events.
    pub trace: Vec<String>,
}

impl Outcome {
    /// Adds the figures of another one.
    pub fn add(&mut self, other: &Outcome) {
        self.ticks += other.ticks;
        self.kept += other.kept;
        self.starts += other.starts;
        self.market_deaths += other.market_deaths;
        self.resumed += other.resumed;
        self.sent_again += other.sent_again;
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "seed {}: {}", self.seed, self.reason)?;
        self.trace
            .iter()
            .try_for_each(|line| writeln!(f, "  {line}"))
    }
}

/// Runs the simulation of a seed.
pub fn run(seed: u64) -> Result<Outcome, Failure> {
    let mut simulation = Simulation::new(Plan::new(seed));
    let ended = simulation.run();
    ended.map_err(|reason| Failure {
        seed,
        reason,
        trace: simulation.trace.into_iter().collect(),
    })
}

/// A running simulation.
pub struct Simulation {
    pub plan: Plan,
    dice: Dice,
    pub clock: Clock,
    queue: BinaryHeap<Reverse<Event>>,
    sequence: u64,
    pub disk: SimulatedDisk,
    characters: SimulatedCharacters,
    pub host: Process<TickHost>,
    pub gateways: Vec<Process<GatewayProcess>>,
    pub players: Vec<Player>,
    connections: BTreeMap<ConnectionId, Connection>,
    links: BTreeMap<LinkId, Link>,
    numbers: u64,
    /// The worlds after the last ticks.
    pub history: VecDeque<(Tick, Vec<Placed>)>,
    /// The newest tick that a player knew to be kept.
    pub kept: Option<Tick>,
    /// The marks of entities that players have seen in ticks that are kept.
    pub floors: BTreeMap<EntityId, i32>,
    pub outcome: Outcome,
    trace: VecDeque<String>,
}

/// A process, which dies and starts again.
pub struct Process<T> {
    /// None while it is dead.
    pub running: Option<T>,
    /// How often it has started.
    starts: u64,
    /// Its machine stands still, whatever runs there.
    paused_until: Micros,
}

impl<T> Process<T> {
    fn new() -> Process<T> {
        Process {
            running: None,
            starts: 0,
            paused_until: 0,
        }
    }
}

impl<T> Process<T> {
    /// It stands still until then, if it runs.
    fn pause(&mut self, until: Micros) {
        if self.running.is_some() {
            self.paused_until = self.paused_until.max(until);
        }
    }
}

/// A player's connection.
struct Connection {
    player: usize,
    server: Server,
    /// The start of the server that it reached.
    start: u64,
    up: Way,
    down: Way,
    /// Nothing arrives any more.
    is_cut: bool,
}

/// A gateway's connection to the tick host.
struct Link {
    gateway: usize,
    gateway_start: u64,
    host_start: u64,
    up: Way,
    down: Way,
}

/// One direction of a connection.
#[derive(Default)]
struct Way {
    /// When the newest bytes of the stream arrive.
    last: Micros,
    stalled_until: Micros,
    /// So many bytes still arrive, as it is cut; `None`: all.
    left: Option<usize>,
}

/// Something happens at a time; what was planned first happens first.
struct Event {
    at: Micros,
    sequence: u64,
    what: What,
}

#[derive(Debug)]
enum What {
    Fault(Fault),
    /// Nothing fails any more.
    Calm,
    HostTick(u64),
    StartHost,
    StartGateway(usize),
    GatewayStep(usize, u64),
    ConnectGateway(usize, u64),
    PlayerStep(usize),
    PlayerBack(usize, bool),
    /// A player's connection reaches its server, or not.
    Open(ConnectionId),
    Opened(ConnectionId, Micros),
    Unreachable(ConnectionId),
    UpStream(ConnectionId, Vec<u8>),
    UpDatagram(ConnectionId, Vec<u8>),
    DownStream(ConnectionId, Vec<u8>),
    DownDatagram(ConnectionId, Vec<u8>),
    /// It ends at the server: by the player, or by a time-out.
    EndUp(ConnectionId, Option<Close>),
    /// It ends at the player: by the server, or as the server is gone.
    EndDown(ConnectionId, Option<(u32, String)>),
    OpenLink(LinkId),
    LinkUp(LinkId, Vec<u8>),
    LinkDown(LinkId, Vec<u8>),
    EndLinkUp(LinkId),
    EndLinkDown(LinkId),
}

impl PartialEq for Event {
    fn eq(&self, other: &Event) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Event {}

impl PartialOrd for Event {
    fn partial_cmp(&self, other: &Event) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Event {
    fn cmp(&self, other: &Event) -> Ordering {
        (self.at, self.sequence).cmp(&(other.at, other.sequence))
    }
}

/// A result of a step: the reason why the simulation has failed.
pub type Checked = Result<(), String>;

impl Simulation {
    fn new(plan: Plan) -> Simulation {
        let mut dice = Dice::new(mix(plan.seed, 1));
        let gateways = (0..plan.gateways).map(|_| Process::new());
        let players = (0..plan.players).map(|number| {
            let server = index(dice.below(plan.gateways as u64 + 1));
            let home = match server < plan.gateways {
                true => Server::Gateway(server),
                false => Server::Host,
            };
            Player::new(number, home, plan.is_market)
        });
        let (gateways, players) = (gateways.collect(), players.collect());
        Simulation {
            disk: SimulatedDisk::new(plan.seed),
            characters: SimulatedCharacters::default(),
            dice,
            clock: Clock::new(),
            queue: BinaryHeap::new(),
            sequence: 0,
            host: Process::new(),
            gateways,
            players,
            connections: BTreeMap::new(),
            links: BTreeMap::new(),
            numbers: 0,
            history: VecDeque::new(),
            kept: None,
            floors: BTreeMap::new(),
            outcome: Outcome::default(),
            trace: VecDeque::new(),
            plan,
        }
    }

    fn run(&mut self) -> Result<Outcome, String> {
        self.plan_at(0, What::StartHost);
        for gateway in 0..self.plan.gateways {
            let at = self.dice.below(SECOND / 4);
            self.plan_at(at, What::StartGateway(gateway));
        }
        for player in 0..self.players.len() {
            let at = self.dice.below(2 * SECOND);
            self.plan_at(at, What::PlayerBack(player, false));
        }
        for (at, fault) in std::mem::take(&mut self.plan.faults) {
            self.plan_at(at, What::Fault(fault));
        }
        self.plan_at(self.plan.play, What::Calm);
        let end = self.plan.play + self.plan.quiet;
        while let Some(Reverse(event)) = self.queue.pop() {
            if event.at > end {
                break;
            }
            if let Some(until) = self.paused_until(&event.what)
                && until > event.at
            {
                // It keeps its turn, so that streams stay in order.
                self.queue.push(Reverse(Event { at: until, ..event }));
                continue;
            }
            self.clock.set(event.at);
            self.happen(event.what)?;
        }
        self.clock.set(end);
        self.check_end()?;
        Ok(self.outcome)
    }

    /// Whether players play, and faults happen.
    fn is_playing(&self) -> bool {
        self.clock.now() < self.plan.play
    }

    fn plan_at(&mut self, at: Micros, what: What) {
        self.sequence += 1;
        let sequence = self.sequence;
        self.queue.push(Reverse(Event { at, sequence, what }));
    }

    fn plan_in(&mut self, time: Micros, what: What) {
        self.plan_at(self.clock.now() + time, what);
    }

    /// Until when the process of an event stands still.
    fn paused_until(&self, what: &What) -> Option<Micros> {
        let of_server = |id: &ConnectionId| match self.connections.get(id)?.server {
            Server::Host => Some(self.host.paused_until),
            Server::Gateway(gateway) => Some(self.gateways[gateway].paused_until),
        };
        let of_player = |id: &ConnectionId| {
            let player = self.connections.get(id)?.player;
            Some(self.players[player].paused_until)
        };
        match what {
            What::HostTick(_) | What::OpenLink(_) | What::LinkUp(..) | What::EndLinkUp(_) => {
                Some(self.host.paused_until)
            }
            What::GatewayStep(gateway, _) | What::ConnectGateway(gateway, _) => {
                Some(self.gateways[*gateway].paused_until)
            }
            What::LinkDown(link, _) | What::EndLinkDown(link) => {
                let gateway = self.links.get(link)?.gateway;
                Some(self.gateways[gateway].paused_until)
            }
            What::PlayerStep(player) => Some(self.players[*player].paused_until),
            What::Open(id) | What::UpStream(id, _) | What::UpDatagram(id, _) => of_server(id),
            What::EndUp(id, _) => of_server(id),
            What::Opened(id, _) | What::Unreachable(id) | What::EndDown(id, _) => of_player(id),
            What::DownStream(id, _) | What::DownDatagram(id, _) => of_player(id),
            What::Fault(_) | What::Calm => None,
            What::StartHost | What::StartGateway(_) | What::PlayerBack(..) => None,
        }
    }

    fn note(&mut self, what: String) {
        if self.trace.len() >= TRACE_LINES {
            self.trace.pop_front();
        }
        let seconds = Duration::from_micros(self.clock.now()).as_secs_f64();
        self.trace.push_back(format!("{seconds:9.4} {what}"));
    }

    fn digest(&mut self, tag: u64, bytes: &[u8]) {
        let mut digest = mix(self.outcome.digest, mix(self.clock.now(), tag));
        for chunk in bytes.chunks(8) {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            digest = mix(digest, u64::from_le_bytes(word));
        }
        self.outcome.digest = digest;
    }

    fn happen(&mut self, what: What) -> Checked {
        match what {
            What::Fault(fault) => self.fail(fault),
            What::Calm => {
                self.note("players and faults rest".to_owned());
                self.disk.set_faults(Faults::default());
            }
            What::StartHost => self.start_host()?,
            What::HostTick(start) => self.tick(start)?,
            What::StartGateway(gateway) => self.start_gateway(gateway),
            What::GatewayStep(gateway, start) => self.step_gateway(gateway, start)?,
            What::ConnectGateway(gateway, start) => self.connect_gateway(gateway, start),
            What::PlayerStep(player) => {
                if self.players[player].step_at == Some(self.clock.now()) {
                    self.players[player].step_at = None;
                    self.step_player(player)?;
                }
            }
            What::PlayerBack(player, resumes) => {
                self.players[player].begin_again(resumes);
                self.step_player(player)?;
            }
            What::Open(id) => self.open(id),
            What::Opened(id, round_trip) => {
                if let Some(player) = self.player_of(id) {
                    let round_trip = Duration::from_micros(round_trip);
                    self.players[player].game.opened(Some(round_trip));
                    self.step_player(player)?;
                }
            }
            What::Unreachable(id) => {
                self.end_at_player(
                    id,
                    Ending::new(LossCode::Unreachable, "nobody there".to_owned()),
                )?;
            }
            What::UpStream(id, bytes) => {
                if let Some(shard) = self.shard_of(id) {
                    self.digest(id.0, &bytes);
                    shard.lock().handle_stream(id, &bytes);
                    self.flush_connection(id, &shard);
                }
            }
            What::UpDatagram(id, bytes) => {
                if let Some(shard) = self.shard_of(id) {
                    self.digest(id.0, &bytes);
                    shard.lock().handle_datagram(id, bytes);
                    self.flush_connection(id, &shard);
                }
            }
            What::DownStream(id, bytes) => {
                if let Some(player) = self.player_of(id) {
                    self.digest(id.0, &bytes);
                    let now = self.clock.span();
                    self.players[player].handle_stream(&bytes, now)?;
                    self.note_kept(player);
                    self.step_player(player)?;
                }
            }
            What::DownDatagram(id, bytes) => {
                if let Some(player) = self.player_of(id) {
                    self.digest(id.0, &bytes);
                    let now = self.clock.span();
                    self.players[player].handle_datagram(&bytes, now)?;
                    self.note_kept(player);
                    self.step_player(player)?;
                }
            }
            What::EndUp(id, close) => {
                if let Some(shard) = self.shard_of_any(id) {
                    let mut shard = shard.lock();
                    match close {
                        Some(close) => shard.close(id, close),
                        None => shard.end(id, ConnectionError::TimedOut),
                    }
                }
            }
            What::EndDown(id, closed) => {
                let ending = match closed {
                    Some((code, reason)) => Ending::closed(u64::from(code), &reason),
                    None => Ending::new(LossCode::Unreachable, "the server is gone".to_owned()),
                };
                self.end_at_player(id, ending)?;
            }
            What::OpenLink(link) => self.open_link(link),
            What::LinkUp(link, mut bytes) => {
                if let Some(own) = self.links.get_mut(&link) {
                    own.up.cut(&mut bytes);
                }
                self.receive_at_host(link, &bytes);
            }
            What::LinkDown(link, mut bytes) => {
                if let Some(own) = self.links.get_mut(&link) {
                    own.down.cut(&mut bytes);
                }
                self.receive_at_gateway(link, &bytes)?;
            }
            What::EndLinkUp(link) => {
                if let (true, Some(host)) = (self.is_at_host(link), &mut self.host.running) {
                    host.close_link(link);
                }
            }
            What::EndLinkDown(link) => self.lose_link(link)?,
        }
        Ok(())
    }
}

impl Way {
    /// When bytes of the stream arrive that are sent now.
    fn send(&mut self, now: Micros, delay: Micros) -> Micros {
        self.last = self.last.max(now.max(self.stalled_until) + delay);
        self.last
    }

    /// Cuts bytes to those that do arrive.
    fn cut(&mut self, bytes: &mut Vec<u8>) {
        if let Some(left) = &mut self.left {
            bytes.truncate(*left);
            *left -= bytes.len();
        }
    }
}

const TRACE_LINES: usize = 60;
const HISTORY_TICKS: usize = 40;
/// Silence after which a player's connection is lost at its server.
const IDLE_MAX: Micros = 2 * SECOND;
