//! The order of events: what arrives when, and what fails.

use std::cmp::{Ordering, Reverse};
use std::collections::{BTreeMap, BinaryHeap, VecDeque};
use std::fmt;
use std::time::Duration;

use client_core::{Close, Ending, Event as GameEvent, LossCode, Step};
use quic::proto::ConnectionError;
use shared::world::mix::mix;
use shared::{EntityId, Tick};
use transport::local_shard::ConnectionId;

use crate::clock::{Clock, MILLISECOND, Micros, SECOND};
use crate::dice::Dice;
use crate::disk::{Faults, SimulatedDisk};
use crate::gateway_process::{GatewayProcess, address_of};
use crate::plan::{Comeback, Death, Fault, Plan, index};
use crate::player::{Player, Server};
use crate::shards::SimulatedShard;
use crate::tick_host::{LinkId, Placed, TickHost};

/// What a simulation did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// Of all that happened, in order.
    pub digest: u64,
    pub ticks: u64,
    /// Commands that were confirmed, and in the journal.
    pub kept: u64,
    /// Starts of tick hosts.
    pub starts: u64,
    /// Sessions that were resumed.
    pub resumed: u64,
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
        self.resumed += other.resumed;
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
            Player::new(number, home)
        });
        let (gateways, players) = (gateways.collect(), players.collect());
        Simulation {
            disk: SimulatedDisk::new(plan.seed),
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

/// The tick host.
impl Simulation {
    fn start_host(&mut self) -> Checked {
        if self.host.running.is_some() {
            return Ok(());
        }
        self.host.starts += 1;
        let start = self.host.starts;
        // Now and then it dies again while it starts.
        let dies = self.is_playing() && start > 1 && self.dice.one_of(6);
        let changes_left = dies.then(|| self.dice.below(12));
        self.disk.set_faults(Faults {
            changes_left,
            ..Faults::default()
        });
        match TickHost::start(&self.plan, &self.disk, &self.clock, start) {
            Ok(host) => {
                self.note(format!("the tick host starts before tick {}", host.first));
                self.check_recovered(&host)?;
                self.outcome.starts += 1;
                self.host.running = Some(host);
                self.plan_in(self.period(), What::HostTick(start));
                Ok(())
            }
            Err(error) if dies => {
                self.note(format!("the tick host dies while it starts: {error:#}"));
                if self.dice.one_of(2) {
                    self.disk.crash();
                }
                self.plan_in(SECOND / 5, What::StartHost);
                Ok(())
            }
            Err(error) => Err(format!("the tick host can't start: {error:#}")),
        }
    }

    fn period(&self) -> Micros {
        SECOND / Micros::from(self.plan.config.schema.world.tick_hz)
    }

    fn tick(&mut self, start: u64) -> Checked {
        if start != self.host.starts {
            return Ok(());
        }
        let Some(host) = &mut self.host.running else {
            return Ok(());
        };
        if let Err(error) = host.tick() {
            let reason = format!("the tick host has failed: {error:#}");
            // The last fault may show a little later.
            if self.clock.now() > self.plan.play + SECOND {
                return Err(reason);
            }
            self.note(reason);
            let death = match self.dice.one_of(2) {
                true => Death::Process,
                false => Death::Machine,
            };
            self.kill_host(death, SECOND / 2);
            return Ok(());
        }
        self.outcome.ticks += 1;
        let tick = host.newest();
        self.history.retain(|(before, _)| *before < tick);
        self.history.push_back((tick, host.world()));
        if self.history.len() > HISTORY_TICKS {
            self.history.pop_front();
        }
        self.flush_host();
        let shard = self.host.running.as_ref().map(|host| host.shard.clone());
        if let Some(shard) = shard {
            self.flush_shard(&shard);
        }
        self.plan_in(self.period(), What::HostTick(start));
        Ok(())
    }

    /// Sends what the tick host has for gateways.
    fn flush_host(&mut self) {
        let Some(host) = &mut self.host.running else {
            return;
        };
        for (link, bytes) in host.take_outgoing() {
            match bytes {
                Some(bytes) => self.send_down_link(link, bytes),
                None => {
                    if let Some(host) = &mut self.host.running {
                        host.close_link(link);
                    }
                    self.note(format!("the tick host closes link {link}"));
                    self.end_link_down(link, 0);
                }
            }
        }
    }

    fn kill_host(&mut self, death: Death, back: Micros) {
        let Some(host) = self.host.running.take() else {
            return;
        };
        self.note(format!("the tick host dies: {death:?}"));
        let own = host.shard.clone();
        // It does nothing more for its disk.
        self.disk.set_faults(Faults {
            changes_left: Some(0),
            ..Faults::default()
        });
        drop(host);
        if death == Death::Machine {
            self.disk.crash();
        }
        self.host_is_gone(&own, back);
    }

    fn host_is_gone(&mut self, own: &SimulatedShard, back: Micros) {
        let ids: Vec<_> = own.lock().connections().collect();
        for id in ids {
            self.lose_server(id, back);
        }
        let links: Vec<LinkId> = self.links.keys().copied().collect();
        for link in links {
            if self.is_at_host(link) {
                self.cut_link(link);
            }
        }
        self.host.starts += 1;
        self.plan_in(back, What::StartHost);
    }

    /// As at Ctrl-C.
    fn stop_host(&mut self, back: Micros) {
        let Some(host) = self.host.running.take() else {
            return;
        };
        let own = host.shard.clone();
        match host.stop() {
            Ok(()) => self.note("the tick host stops".to_owned()),
            Err(error) => self.note(format!("the tick host stops with an error: {error:#}")),
        }
        self.flush_shard(&own);
        self.host_is_gone(&own, back);
    }
}

/// Gateways, and their links.
impl Simulation {
    fn start_gateway(&mut self, gateway: usize) {
        let process = &mut self.gateways[gateway];
        if process.running.is_some() {
            return;
        }
        process.starts += 1;
        process.running = Some(GatewayProcess::new(gateway, &self.clock));
        let start = process.starts;
        self.note(format!("gateway {gateway} starts"));
        self.plan_in(MILLISECOND, What::ConnectGateway(gateway, start));
        self.plan_in(MILLISECOND, What::GatewayStep(gateway, start));
    }

    fn step_gateway(&mut self, gateway: usize, start: u64) -> Checked {
        if self.gateways[gateway].starts != start {
            return Ok(());
        }
        self.advance_gateway(gateway)?;
        // As long as a busy process may take.
        let next = 2 * MILLISECOND + self.dice.below(60 * MILLISECOND);
        self.plan_in(next, What::GatewayStep(gateway, start));
        Ok(())
    }

    fn advance_gateway(&mut self, gateway: usize) -> Checked {
        let Some(process) = &mut self.gateways[gateway].running else {
            return Ok(());
        };
        let advanced = process.advance();
        advanced.map_err(|error| format!("gateway {gateway} has failed: {error:#}"))?;
        let shard = process.shard().cloned();
        let (link, outgoing) = (process.link(), process.take_outgoing());
        if let Some(link) = link {
            for bytes in outgoing {
                self.send_up_link(link, bytes);
            }
        }
        if let Some(shard) = shard {
            self.flush_shard(&shard);
        }
        Ok(())
    }

    fn connect_gateway(&mut self, gateway: usize, start: u64) {
        let process = &mut self.gateways[gateway];
        if process.starts != start || process.running.is_none() {
            return;
        }
        self.numbers += 1;
        let link = self.numbers;
        self.links.insert(
            link,
            Link {
                gateway,
                gateway_start: start,
                host_start: 0,
                up: Way::default(),
                down: Way::default(),
            },
        );
        if let Some(process) = &mut self.gateways[gateway].running {
            let hello = process.open_link(link);
            let at = self.clock.now() + LINK_DELAY;
            if let Some(link) = self.links.get_mut(&link) {
                link.up.last = at;
            }
            self.plan_at(at, What::OpenLink(link));
            self.send_up_link(link, hello);
        }
    }

    fn open_link(&mut self, link: LinkId) {
        let start = self.host.starts;
        match (&mut self.host.running, self.links.get_mut(&link)) {
            (Some(host), Some(own)) => {
                own.host_start = start;
                host.open_link(link);
            }
            _ => self.end_link_down(link, LINK_DELAY),
        }
    }

    fn is_at_host(&self, link: LinkId) -> bool {
        let link = self.links.get(&link);
        link.is_some_and(|link| link.host_start == self.host.starts)
    }

    fn receive_at_host(&mut self, link: LinkId, bytes: &[u8]) {
        if !self.is_at_host(link) {
            return;
        }
        self.digest(link, bytes);
        let Some(host) = &mut self.host.running else {
            return;
        };
        if let Err(last) = host.receive(link, bytes) {
            host.close_link(link);
            if let Some(last) = last {
                self.send_down_link(link, last);
            }
            self.note(format!("the tick host ends link {link}"));
            self.end_link_down(link, 0);
        }
    }

    fn receive_at_gateway(&mut self, link: LinkId, bytes: &[u8]) -> Checked {
        let Some((gateway, start)) = self.gateway_of(link) else {
            return Ok(());
        };
        if self.gateways[gateway].starts != start {
            return Ok(());
        }
        self.digest(link, bytes);
        let Some(process) = &mut self.gateways[gateway].running else {
            return Ok(());
        };
        let was_open = process.is_open();
        let received = process.receive(link, bytes);
        let is_open = process.is_open();
        if was_open != is_open {
            let what = if is_open {
                "has its world"
            } else {
                "has no world"
            };
            self.note(format!("gateway {gateway} {what}"));
        }
        match received {
            Ok(true) => self.advance_gateway(gateway),
            Ok(false) => {
                self.plan_in(LINK_DELAY, What::EndLinkUp(link));
                self.lose_link(link)
            }
            Err(error) => Err(format!("gateway {gateway} has failed: {error:#}")),
        }
    }

    fn gateway_of(&self, link: LinkId) -> Option<(usize, u64)> {
        let link = self.links.get(&link)?;
        Some((link.gateway, link.gateway_start))
    }

    /// The connection to the tick host has ended for its gateway.
    fn lose_link(&mut self, link: LinkId) -> Checked {
        let Some((gateway, start)) = self.gateway_of(link) else {
            return Ok(());
        };
        let process = &mut self.gateways[gateway];
        if process.starts != start {
            return Ok(());
        }
        let Some(process) = process.running.as_mut().filter(|p| p.link() == Some(link)) else {
            return Ok(());
        };
        let closed = process.close_link(link);
        closed.map_err(|error| format!("gateway {gateway} has failed: {error:#}"))?;
        self.note(format!("gateway {gateway} has lost link {link}"));
        self.plan_in(LINK_RETRY, What::ConnectGateway(gateway, start));
        Ok(())
    }

    fn end_link_down(&mut self, link: LinkId, delay: Micros) {
        let at = self.clock.now() + delay + LINK_DELAY;
        let last = self.links.get(&link).map_or(0, |link| link.down.last);
        self.plan_at(at.max(last), What::EndLinkDown(link));
    }

    /// Both ends notice it sooner or later, and get a part of what is on its way.
    fn cut_link(&mut self, link: LinkId) {
        let (up, down) = (self.dice.below(3000), self.dice.below(3000));
        let Some(own) = self.links.get_mut(&link) else {
            return;
        };
        own.up.left.get_or_insert(index(up));
        own.down.left.get_or_insert(index(down));
        let (up, down) = (self.dice.below(LINK_SILENCE), self.dice.below(LINK_SILENCE));
        let last = self.links.get(&link).map_or(0, |link| link.up.last);
        let now = self.clock.now();
        self.plan_at(last.max(now + up), What::EndLinkUp(link));
        self.end_link_down(link, down);
    }

    fn send_up_link(&mut self, link: LinkId, bytes: Vec<u8>) {
        let now = self.clock.now();
        if let Some(own) = self.links.get_mut(&link) {
            let at = own.up.send(now, LINK_DELAY);
            self.plan_at(at, What::LinkUp(link, bytes));
        }
    }

    fn send_down_link(&mut self, link: LinkId, bytes: Vec<u8>) {
        let now = self.clock.now();
        if let Some(own) = self.links.get_mut(&link) {
            let at = own.down.send(now, LINK_DELAY);
            self.plan_at(at, What::LinkDown(link, bytes));
        }
    }

    fn kill_gateway(&mut self, gateway: usize, back: Micros) {
        let Some(process) = self.gateways[gateway].running.take() else {
            return;
        };
        self.note(format!("gateway {gateway} dies"));
        if let Some(shard) = process.shard() {
            let ids: Vec<_> = shard.lock().connections().collect();
            for id in ids {
                self.lose_server(id, back);
            }
        }
        if let Some(link) = process.link() {
            self.cut_link(link);
        }
        self.gateways[gateway].starts += 1;
        self.plan_in(back, What::StartGateway(gateway));
    }
}

/// Players and their connections.
impl Simulation {
    /// The shard that a connection leads to, if it still has it.
    fn shard_of(&self, id: ConnectionId) -> Option<SimulatedShard> {
        self.connections.get(&id).filter(|own| !own.is_cut)?;
        self.shard_of_any(id)
    }

    /// The same for one that was cut.
    fn shard_of_any(&self, id: ConnectionId) -> Option<SimulatedShard> {
        let connection = self.connections.get(&id)?;
        let (shard, starts) = match connection.server {
            Server::Host => {
                let host = self.host.running.as_ref();
                (host.map(|host| host.shard.clone()), self.host.starts)
            }
            Server::Gateway(gateway) => {
                let process = &self.gateways[gateway];
                let running = process.running.as_ref();
                (running.and_then(|p| p.shard().cloned()), process.starts)
            }
        };
        shard.filter(|_| connection.start == starts)
    }

    /// The player of a connection that it has.
    fn player_of(&self, id: ConnectionId) -> Option<usize> {
        let connection = self.connections.get(&id).filter(|own| !own.is_cut)?;
        let player = &self.players[connection.player];
        (player.connection == Some(id) && !player.is_gone).then_some(connection.player)
    }

    fn step_player(&mut self, player: usize) -> Checked {
        let now = self.clock.span();
        if self.players[player].is_gone || self.players[player].paused_until > self.clock.now() {
            return Ok(());
        }
        for _ in 0..STEPS_MAX {
            match self.players[player].game.next_step(now) {
                Step::Wait => break,
                Step::Connect => self.connect(player),
                Step::Close(close, _) => {
                    self.players[player].end_session();
                    if let Some(id) = self.players[player].connection.take() {
                        self.end_at_server(id, Some(close));
                    }
                }
            }
        }
        for event in self.players[player].game.poll(now) {
            match event {
                GameEvent::Lost { code, reason, .. } => {
                    self.players[player].end_session();
                    self.note(format!("player {player} is lost: {code:?}, {reason}"));
                }
                GameEvent::Welcomed(entity) => {
                    self.note(format!("player {player} is welcomed as {entity}"));
                }
                GameEvent::Resumed(entity) => {
                    self.outcome.resumed += 1;
                    self.note(format!("player {player} resumes as {entity}"));
                }
                _ => {}
            }
        }
        let is_playing = self.is_playing() && self.players[player].game.is_playing();
        if is_playing && self.players[player].acts_at <= self.clock.now() {
            for _ in 0..self.dice.below(3) {
                let acted = self.players[player].act(self.plan.is_yard, &mut self.dice);
                acted.map_err(|error| format!("player {player} can't act: {error}"))?;
            }
            let next = SECOND / 10 + self.dice.below(SECOND / 2);
            self.players[player].acts_at = self.clock.now() + next;
        }
        self.flush_player(player);
        self.plan_step(player);
        Ok(())
    }

    fn plan_step(&mut self, player: usize) {
        let (now, own) = (self.clock.now(), &self.players[player]);
        let Some(due) = own.game.next_due(self.clock.span()) else {
            return;
        };
        let due = Micros::try_from(due.as_micros()).unwrap_or(Micros::MAX) + 1;
        let mut due = due.max(now + MILLISECOND);
        if self.is_playing() && own.game.is_playing() {
            due = due.min(own.acts_at.max(now + MILLISECOND));
        }
        if own.step_at.is_none_or(|at| at <= now || due < at) {
            self.players[player].step_at = Some(due);
            self.plan_at(due, What::PlayerStep(player));
        }
    }

    fn flush_player(&mut self, player: usize) {
        let now = self.clock.span();
        let own = &mut self.players[player];
        let stream = own.game.stream_bytes().to_vec();
        let (datagram, connection) = (own.game.datagram(now), own.connection);
        let Some(id) = connection else { return };
        self.players[player].game.stream_sent(stream.len());
        if !stream.is_empty() {
            let delay = self.delay();
            let (now, own) = (self.clock.now(), self.connections.get_mut(&id));
            if let Some(at) = own.map(|own| own.up.send(now, delay)) {
                self.plan_at(at, What::UpStream(id, stream));
            }
        }
        if let Some(datagram) = datagram {
            self.send_datagram(id, &datagram, What::UpDatagram);
        }
    }

    fn delay(&mut self) -> Micros {
        let network = &self.plan.network;
        match self.is_playing() {
            true => network.delay + self.dice.below(network.jitter + 1),
            false => network.delay,
        }
    }

    /// It arrives late, twice or not at all.
    fn send_datagram(
        &mut self,
        id: ConnectionId,
        bytes: &[u8],
        what: fn(ConnectionId, Vec<u8>) -> What,
    ) {
        let is_faulty = self.is_playing();
        let (lost, doubled) = (self.plan.network.lost, self.plan.network.doubled);
        if is_faulty && self.dice.below(1000) < lost {
            return;
        }
        let is_stalled = self
            .connections
            .get(&id)
            .is_some_and(|own| own.up.stalled_until.max(own.down.stalled_until) > self.clock.now());
        let delay = self.delay();
        if !is_stalled {
            self.plan_in(delay, what(id, bytes.to_vec()));
        }
        if is_faulty && self.dice.below(1000) < doubled {
            let delay = self.delay() + self.delay();
            self.plan_in(delay, what(id, bytes.to_vec()));
        }
    }

    fn connect(&mut self, player: usize) {
        let own = &self.players[player];
        let gateways = 0..self.plan.gateways;
        let server = match own.game.address() {
            None => own.home,
            Some(address) => {
                let named = gateways
                    .clone()
                    .find(|&gateway| address_of(gateway) == address);
                named.map_or(own.home, Server::Gateway)
            }
        };
        self.numbers += 1;
        let id = ConnectionId(self.numbers);
        let delay = self.delay();
        let at = self.clock.now() + delay;
        let mut up = Way::default();
        up.last = at;
        self.connections.insert(
            id,
            Connection {
                player,
                server,
                start: 0,
                up,
                down: Way::default(),
                is_cut: false,
            },
        );
        if let Some(before) = self.players[player].connection.replace(id) {
            self.end_at_server(before, Some(Close::Resumed));
        }
        self.plan_at(at, What::Open(id));
    }

    fn open(&mut self, id: ConnectionId) {
        let Some(connection) = self.connections.get_mut(&id) else {
            return;
        };
        connection.start = match connection.server {
            Server::Host => self.host.starts,
            Server::Gateway(gateway) => self.gateways[gateway].starts,
        };
        let is_open = self
            .shard_of(id)
            .is_some_and(|shard| shard.lock().connect(id));
        let delay = self.delay();
        match is_open {
            true => self.plan_in(delay, What::Opened(id, 2 * delay)),
            false => self.plan_in(delay, What::Unreachable(id)),
        }
    }

    fn end_at_player(&mut self, id: ConnectionId, ending: Ending) -> Checked {
        let Some(connection) = self.connections.get(&id) else {
            return Ok(());
        };
        let player = connection.player;
        if self.players[player].connection != Some(id) || self.players[player].is_gone {
            return Ok(());
        }
        self.players[player].connection = None;
        let now = self.clock.span();
        self.players[player].game.closed(ending, now);
        self.step_player(player)
    }

    /// The player has closed a connection, or is gone.
    fn end_at_server(&mut self, id: ConnectionId, close: Option<Close>) {
        let delay = match close {
            Some(_) => self.delay(),
            None => self.dice.below(IDLE_MAX),
        };
        let last = self.connections.get(&id).map_or(0, |own| own.up.last);
        self.plan_at(last.max(self.clock.now() + delay), What::EndUp(id, close));
    }

    /// The server of a connection is gone.
    fn lose_server(&mut self, id: ConnectionId, back: Micros) {
        if let Some(connection) = self.connections.get_mut(&id) {
            connection.is_cut = true;
        }
        // Either the next server says so, or the silence does.
        if self.dice.one_of(2) {
            let delay = back + self.delay();
            self.plan_in(delay, What::EndDown(id, None));
        }
    }

    /// Sends all that a shard has for its clients.
    fn flush_shard(&mut self, shard: &SimulatedShard) {
        let ids: Vec<_> = shard.lock().connections().collect();
        for id in ids {
            self.flush_connection(id, shard);
        }
    }

    fn flush_connection(&mut self, id: ConnectionId, shard: &SimulatedShard) {
        let mut locked = shard.lock();
        let Some(peer) = locked.peer(id) else { return };
        let stream = std::mem::take(&mut peer.stream);
        let datagrams = std::mem::take(&mut peer.datagrams);
        let closed = peer.closed.clone();
        if closed.is_some() {
            locked.end(id, ConnectionError::LocallyClosed);
        }
        drop(locked);
        if !stream.is_empty() {
            let delay = self.delay();
            let (now, own) = (self.clock.now(), self.connections.get_mut(&id));
            if let Some(at) = own.map(|own| own.down.send(now, delay)) {
                self.plan_at(at, What::DownStream(id, stream));
            }
        }
        for datagram in datagrams {
            self.send_datagram(id, &datagram, What::DownDatagram);
        }
        if let Some(closed) = closed {
            let at = self.clock.now() + self.delay();
            let last = self.connections.get(&id).map_or(0, |own| own.down.last);
            let closed = Some((closed.code, closed.reason));
            self.plan_at(at.max(last), What::EndDown(id, closed));
        }
    }

    /// What a player knows of a tick that is kept must hold from now on.
    fn note_kept(&mut self, player: usize) {
        let own = &self.players[player];
        self.kept = self.kept.max(own.kept_tick());
        let Some(view) = own
            .game
            .view()
            .filter(|view| view.kept() >= Some(view.newest()))
        else {
            return;
        };
        let Some(column) = view.schema().column("marks") else {
            return;
        };
        for entity in view.entities().values() {
            let floor = self.floors.entry(entity.id).or_default();
            *floor = (*floor).max(entity.row[column]);
        }
    }
}

/// Faults.
impl Simulation {
    fn fail(&mut self, fault: Fault) {
        self.note(format!("fault: {fault:?}"));
        let now = self.clock.now();
        match fault {
            Fault::CutPlayer(player) => {
                if let Some(id) = self.players[player].connection
                    && let Some(own) = self.connections.get_mut(&id)
                {
                    own.is_cut = true;
                    self.end_at_server(id, None);
                }
            }
            Fault::StallPlayer(player, time) => {
                let connection = self.players[player].connection;
                if let Some(own) = connection.and_then(|id| self.connections.get_mut(&id)) {
                    own.up.stalled_until = now + time;
                    own.down.stalled_until = now + time;
                }
            }
            Fault::PausePlayer(player, time) => {
                self.players[player].paused_until = now + time;
                // It would not find out by itself once it goes on.
                self.players[player].step_at = Some(now + time);
                self.plan_at(now + time, What::PlayerStep(player));
                if time > IDLE_MAX
                    && let Some(id) = self.players[player].connection
                {
                    self.plan_in(IDLE_MAX, What::EndUp(id, None));
                    self.plan_in(IDLE_MAX, What::EndDown(id, None));
                }
            }
            Fault::KillPlayer(player, comeback) => {
                if self.players[player].is_gone || !self.players[player].is_expected {
                    return;
                }
                if let Some(id) = self.players[player].connection.take() {
                    self.end_at_server(id, None);
                }
                self.go(player, comeback);
            }
            Fault::LeavePlayer(player, comeback) => {
                if self.players[player].is_gone || !self.players[player].is_expected {
                    return;
                }
                self.players[player].game.leave();
                if let Some(id) = self.players[player].connection.take() {
                    self.end_at_server(id, Some(Close::Bye));
                }
                self.go(player, comeback);
            }
            Fault::CutLink(gateway) => {
                let process = self.gateways[gateway].running.as_ref();
                if let Some(link) = process.and_then(GatewayProcess::link) {
                    self.cut_link(link);
                }
            }
            Fault::StallLink(gateway, time) => {
                let process = self.gateways[gateway].running.as_ref();
                let link = process.and_then(GatewayProcess::link);
                if let Some(own) = link.and_then(|link| self.links.get_mut(&link)) {
                    own.up.stalled_until = now + time;
                    own.down.stalled_until = now + time;
                }
            }
            Fault::PauseGateway(gateway, time) => self.gateways[gateway].pause(now + time),
            Fault::KillGateway(gateway, back) => self.kill_gateway(gateway, back),
            Fault::PauseHost(time) => self.host.pause(now + time),
            Fault::KillHost(death, back) => self.kill_host(death, back),
            Fault::KillHostAtChange(changes) => {
                if self.host.running.is_some() {
                    self.disk.set_faults(Faults {
                        changes_left: Some(changes),
                        ..Faults::default()
                    });
                }
            }
            Fault::StopHost(back) => self.stop_host(back),
            Fault::FailSyncs(syncs) => {
                if self.host.running.is_some() {
                    self.disk.set_faults(Faults {
                        next_syncs_fail: syncs,
                        ..Faults::default()
                    });
                }
            }
        }
    }

    fn go(&mut self, player: usize, comeback: Comeback) {
        self.players[player].end_session();
        self.players[player].is_gone = true;
        match comeback {
            Comeback::Never => self.players[player].is_expected = false,
            Comeback::Resumes(time) => self.plan_in(time, What::PlayerBack(player, true)),
            Comeback::New(time) => self.plan_in(time, What::PlayerBack(player, false)),
        }
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
/// A game has little to do at once.
const STEPS_MAX: usize = 4;
const LINK_DELAY: Micros = 300;
const LINK_RETRY: Micros = 200 * MILLISECOND;
/// Silence after which a link is lost.
const LINK_SILENCE: Micros = 3 * SECOND;
/// Silence after which a player's connection is lost at its server.
const IDLE_MAX: Micros = 2 * SECOND;
