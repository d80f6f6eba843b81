//! At the tick host: the places of gateways. To the tick, each is a shard with a thread of its own,
//! which reports as soon as it has written the tick for its gateway, or at once while it is free.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use accounts::guard::Guard;
use accounts::moment::Moment;
use anyhow::{Context, Result};
use device::cpu::Workers;
use frontend::inbox::{SessionId, SharedInbox};
use frontend::mirror::Mirror;
use frontend::publication::{FanOutReport, Publication, ShardLinks};
use frontend::remote::{LagLimits, Lost, RemoteFrontend};
use frontend::servers::{OtherServers, ServerAddress};
use frontend::shard_channels::{ShardSender, SharedTick, ToShard};
use frontend::wire::snapshot;
use platform::metrics::counts::FanOutCounts;
use platform::metrics::table;
use shared::{Tick, WorldConfig};
use tokio::sync::mpsc as tokio_mpsc;
use tracing::{info, warn};
use world_file::StoredWorld;

use super::message::{Hello, ToGateway, ToHost, World};

/// What the places of a tick host share.
pub struct PlaceOptions {
    /// The number of the first place among all front ends.
    pub first: usize,
    /// How many gateways there may be.
    pub count: usize,
    /// A gateway that sends nothing to its clients for so long is lost.
    pub silence_max: Duration,
    pub config: WorldConfig,
    pub guard: Arc<Guard>,
    /// The certificate and key towards clients, as PEM, if gateways get them from here.
    pub identity: Option<(String, String)>,
    /// Kept up to date.
    pub gateways: OtherServers,
    /// Write ticks for all gateways.
    pub workers: Workers,
}

/// The tick's ends of the places.
pub struct RunningPlaces {
    pub inboxes: Vec<SharedInbox>,
    pub senders: Vec<ShardSender>,
    pub threads: Vec<JoinHandle<()>>,
}

/// What has passed between a tick host and its gateways.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LinkTotals {
    /// Bytes of messages to gateways, and from them.
    pub bytes_down: u64,
    pub bytes_up: u64,
    /// The gateways, by their addresses for clients, each with the number of its sessions.
    pub sessions: Vec<(String, usize)>,
}

/// The places of a tick host.
pub struct Places {
    bytes_down: AtomicU64,
    bytes_up: AtomicU64,
    places: Vec<Mutex<Place>>,
    /// By place, as its thread has last noted it: a place is locked while it writes a tick, and
    /// others do not wait for that.
    noted: Mutex<Vec<Noted>>,
    silence_max: Duration,
    identity: Option<(String, String)>,
    gateways: OtherServers,
    workers: Workers,
    guard: Arc<Guard>,
}

/// What others need to know of a place.
#[derive(Clone, Debug, Default)]
struct Noted {
    /// Where clients reach its gateway; none without one that serves.
    address: Option<ServerAddress>,
    sessions: usize,
}

/// A place, and the gateway that has it.
struct Place {
    /// Among all front ends.
    number: usize,
    inbox: SharedInbox,
    /// The world as clients have it.
    config: WorldConfig,
    gateway: Option<Connected>,
    /// The number of the next connection.
    next: u64,
    /// The other gateways, as this one has them.
    others: Vec<ServerAddress>,
}

/// A gateway.
struct Connected {
    /// Of the place's connections.
    id: u64,
    hello: Hello,
    from: SocketAddr,
    /// To its connection. Once this is dropped, the connection is closed.
    outgoing: tokio_mpsc::UnboundedSender<Vec<u8>>,
    /// None until a tick has ended since it came.
    frontend: Option<RemoteFrontend>,
    /// Requests for figures, by their number.
    inspections: HashMap<u64, Sender<ShardLinks>>,
}

/// A place that a gateway has taken.
pub struct Seat {
    /// Its index among the places.
    place: usize,
    /// Of the place's connections.
    id: u64,
    /// The messages for the gateway. It ends when the gateway is lost.
    pub outgoing: tokio_mpsc::UnboundedReceiver<Vec<u8>>,
}

impl Places {
    /// Places without threads: [`Places::handle`] has their work.
    pub fn new(options: PlaceOptions) -> Places {
        let place = |index: usize| {
            Mutex::new(Place {
                number: options.first + index,
                inbox: SharedInbox::default(),
                config: options.config.clone(),
                gateway: None,
                next: 0,
                others: vec![],
            })
        };
        Places {
            bytes_down: AtomicU64::new(0),
            bytes_up: AtomicU64::new(0),
            places: (0..options.count).map(place).collect(),
            noted: Mutex::new(vec![Noted::default(); options.count]),
            silence_max: options.silence_max,
            identity: options.identity,
            gateways: options.gateways,
            workers: options.workers,
            guard: options.guard,
        }
    }

    /// Starts the threads, which report to the tick.
    pub fn start(
        options: PlaceOptions,
        reports: &Sender<FanOutReport>,
    ) -> Result<(Arc<Places>, RunningPlaces)> {
        let places = Arc::new(Places::new(options));
        let mut running = RunningPlaces {
            inboxes: places.inboxes(),
            senders: vec![],
            threads: vec![],
        };
        for index in 0..running.inboxes.len() {
            let (sender, from_tick) = channel();
            running.senders.push(ShardSender::new(sender, || ()));
            let (places, reports) = (places.clone(), reports.clone());
            let thread = std::thread::Builder::new()
                .name(format!("gateway-{index}"))
                .spawn(move || places.serve(index, &from_tick, &reports))
                .context("cannot start the thread of a gateway's place")?;
            running.threads.push(thread);
        }
        Ok((places, running))
    }

    /// By place.
    pub fn inboxes(&self) -> Vec<SharedInbox> {
        let all = 0..self.places.len();
        all.map(|index| self.lock(index).inbox.clone()).collect()
    }

    /// What has passed so far.
    pub fn totals(&self) -> LinkTotals {
        let noted = self.noted().clone().into_iter();
        let sessions = noted.filter_map(|noted| Some((noted.address?.address, noted.sessions)));
        LinkTotals {
            bytes_down: self.bytes_down.load(Ordering::Relaxed),
            bytes_up: self.bytes_up.load(Ordering::Relaxed),
            sessions: sessions.collect(),
        }
    }

    /// Gives a gateway a place, if one is free.
    pub fn take(&self, hello: Hello, from: SocketAddr) -> Option<Seat> {
        for index in 0..self.places.len() {
            let mut place = self.lock(index);
            if place.gateway.is_some() {
                continue;
            }
            let (sender, outgoing) = tokio_mpsc::unbounded_channel();
            let id = place.next;
            place.next += 1;
            info!(gateway = place.number, name = hello.name, %from, clients_at = hello.clients_at, "a gateway has come");
            place.gateway = Some(Connected {
                id,
                hello,
                from,
                outgoing: sender,
                frontend: None,
                inspections: HashMap::new(),
            });
            return Some(Seat {
                place: index,
                id,
                outgoing,
            });
        }
        None
    }

    /// Takes a message of a gateway. False if the gateway is lost.
    pub fn receive(&self, seat: &Seat, message: ToHost, now: Moment) -> bool {
        let mut place = self.lock(seat.place);
        let number = place.number;
        let Some(gateway) = &mut place.gateway else {
            return false;
        };
        if gateway.id != seat.id {
            return false;
        }
        match message {
            // Before it has the world it can't have input.
            ToHost::Input(bytes) => match &mut gateway.frontend {
                Some(frontend) => {
                    let length = bytes.len() as u64;
                    table::GATEWAY_BYTES.add_to("up", length);
                    self.bytes_up.fetch_add(length, Ordering::Relaxed);
                    frontend.receive(&bytes, now);
                    if let Some(why) = frontend.lost().cloned() {
                        place.lose(&why);
                        return false;
                    }
                }
                None => table::GATEWAY_INPUT_REFUSED.add_to("sessions", 1),
            },
            ToHost::Links(request, figures) => {
                if let Some(answer) = gateway.inspections.remove(&request) {
                    // An operator that has gone away needs none.
                    let _ = answer.send((number, figures));
                }
            }
            ToHost::Hello(_) => {}
        }
        true
    }

    /// The connection of a gateway has ended.
    pub fn leave(&self, seat: &Seat) {
        let mut place = self.lock(seat.place);
        if place.gateway.as_ref().is_some_and(|g| g.id == seat.id) {
            place.lose(&Lost::Closed);
        }
    }

    fn serve(&self, index: usize, from_tick: &Receiver<ToShard>, reports: &Sender<FanOutReport>) {
        while let Ok(message) = from_tick.recv() {
            if !self.handle(index, message, reports, Instant::now) {
                return;
            }
        }
        self.lock(index).lose(&Lost::Closed);
    }

    /// Handles a message of the tick to a place. `now` gives the time. False if it was the last.
    pub fn handle(
        &self,
        index: usize,
        message: ToShard,
        reports: &Sender<FanOutReport>,
        now: impl Fn() -> Instant,
    ) -> bool {
        match message {
            ToShard::Tick(tick) => {
                let others = self.others(index);
                let age = || now().saturating_duration_since(tick.scheduled);
                let (acked_through, sessions) = self.publish(index, &tick, others, &age);
                self.note(index);
                let report = FanOutReport {
                    took: now().saturating_duration_since(tick.due),
                    acked_through,
                    counts: FanOutCounts {
                        sessions,
                        ..FanOutCounts::default()
                    },
                };
                // The tick thread reclaims the publication as soon as it has the report.
                drop(tick);
                // A tick thread that has failed takes no reports, but sends a stop.
                let _ = reports.send(report);
            }
            ToShard::Inspect(sessions, answer) => self.lock(index).inspect(sessions, answer),
            ToShard::Restart(world, done) => {
                let mut place = self.lock(index);
                place.lose(&Lost::Closed);
                place.config = world.config.clone();
                // A tick thread that has failed needs no answer.
                let _ = done.send(());
            }
            ToShard::Stop(_) => {
                self.lock(index).lose(&Lost::Closed);
                return false;
            }
        }
        true
    }

    /// Returns the tick up to which slots need not rest for the place, and its sessions.
    fn publish(
        &self,
        index: usize,
        tick: &SharedTick,
        others: Vec<ServerAddress>,
        age: &dyn Fn() -> Duration,
    ) -> (Tick, u64) {
        let (publication, mirror) = (&*tick.publication, &*tick.mirror.read());
        let mut place = self.lock(index);
        if let Some(world) = &publication.world {
            place.config = world.config.clone();
        }
        let acked_through = match place.has_frontend() {
            true => {
                let (acked_through, bytes) =
                    place.publish(&self.workers, (publication, mirror), age);
                self.bytes_down.fetch_add(bytes, Ordering::Relaxed);
                acked_through
            }
            false => {
                place.begin(self, mirror);
                publication.tick
            }
        };
        if place.others != others && place.has_frontend() {
            place.send(&ToGateway::Others(others.clone()));
            place.others = others;
        }
        (acked_through, place.sessions() as u64)
    }

    /// Notes what others need to know of a place.
    fn note(&self, index: usize) {
        let place = self.lock(index);
        let gateway = place.gateway.as_ref().filter(|g| g.frontend.is_some());
        let now = Noted {
            address: gateway.map(|gateway| ServerAddress {
                address: gateway.hello.clients_at.clone(),
                page: gateway.hello.page_at.clone(),
            }),
            sessions: place.sessions(),
        };
        drop(place);
        let mut noted = self.noted();
        let has_changed = noted[index].address != now.address;
        noted[index] = now;
        if has_changed {
            let all = noted.iter().filter_map(|noted| noted.address.clone());
            self.gateways.set(all.collect());
        }
        if index == 0 {
            let gateways = noted.iter().filter(|noted| noted.address.is_some());
            table::GATEWAYS.set(gateways.count() as u64);
            let sessions = noted.iter().map(|noted| noted.sessions as u64);
            table::GATEWAY_CLIENTS.set(sessions.sum());
        }
    }

    /// The addresses of the other gateways, from the next one on.
    fn others(&self, index: usize) -> Vec<ServerAddress> {
        let noted = self.noted();
        let count = noted.len();
        let others = (1..count).map(|ahead| &noted[(index + ahead) % count]);
        let addresses = others.filter_map(|noted| noted.address.clone());
        addresses.filter(|of| !of.address.is_empty()).collect()
    }

    fn noted(&self) -> MutexGuard<'_, Vec<Noted>> {
        // It is whole after each change, so a panic elsewhere does no harm.
        self.noted.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn lock(&self, index: usize) -> MutexGuard<'_, Place> {
        // A place is whole after each message, so a panic elsewhere does no harm.
        let place = &self.places[index];
        place.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Place {
    fn has_frontend(&self) -> bool {
        self.gateway.as_ref().is_some_and(|g| g.frontend.is_some())
    }

    fn sessions(&self) -> usize {
        let frontend = self.gateway.as_ref().and_then(|g| g.frontend.as_ref());
        frontend.map_or(0, RemoteFrontend::sessions)
    }

    /// Sends the world to a gateway that has come since the last tick.
    fn begin(&mut self, places: &Places, mirror: &Mirror) {
        let Some(gateway) = &mut self.gateway else {
            return;
        };
        let world = ToGateway::World(Box::new(World {
            number: u16::try_from(self.number).unwrap_or(u16::MAX),
            config: StoredWorld::of(&self.config),
            identity: places.identity.clone(),
            snapshot: snapshot::encode(&self.config, mirror),
        }));
        let limits = LagLimits::of(&self.config, places.silence_max);
        let first = mirror.tick().next();
        let ends = (self.inbox.clone(), places.guard.clone());
        let frontend = RemoteFrontend::new(self.number, &self.config, ends, first, limits);
        gateway.frontend = Some(frontend);
        self.others.clear();
        self.send(&world);
    }

    /// Sends a tick to the gateway. Returns the tick up to which slots need not rest for it, and
    /// how many bytes were sent.
    fn publish(
        &mut self,
        workers: &Workers,
        (publication, mirror): (&Publication, &Mirror),
        age: &dyn Fn() -> Duration,
    ) -> (Tick, u64) {
        let gateway = self.gateway.as_mut();
        let Some(frontend) = gateway.and_then(|gateway| gateway.frontend.as_mut()) else {
            return (publication.tick, 0);
        };
        let mut message = ToGateway::begin_tick();
        let acked_through = frontend.publish(workers, (publication, mirror), &mut message);
        let refused = frontend.take_refused();
        table::GATEWAY_INPUT_REFUSED.add_to("commands", refused.commands);
        table::GATEWAY_INPUT_REFUSED.add_to("requests", refused.requests);
        table::GATEWAY_INPUT_REFUSED.add_to("sessions", refused.sessions);
        if let Some(why) = frontend.lost().cloned() {
            self.lose(&why);
            return (publication.tick, 0);
        }
        ToGateway::end_tick(age(), &mut message);
        let bytes = message.len() as u64;
        self.send_bytes(message);
        (acked_through, bytes)
    }

    fn inspect(&mut self, sessions: Option<Vec<SessionId>>, answer: Sender<ShardLinks>) {
        let number = self.number;
        let Some(gateway) = self.gateway.as_mut().filter(|g| g.frontend.is_some()) else {
            // An operator that has gone away needs none.
            let _ = answer.send((number, vec![]));
            return;
        };
        // A gateway answers each, so there are few.
        let request = gateway.inspections.keys().max().map_or(0, |last| last + 1);
        gateway.inspections.insert(request, answer);
        self.send(&ToGateway::Inspect(request, sessions));
    }

    fn send(&mut self, message: &ToGateway) {
        self.send_bytes(message.encode());
    }

    fn send_bytes(&mut self, message: Vec<u8>) {
        table::GATEWAY_BYTES.add_to("down", message.len() as u64);
        let Some(gateway) = &self.gateway else {
            return;
        };
        if gateway.outgoing.send(message).is_err() {
            self.lose(&Lost::Closed);
        }
    }

    /// Frees the place. The sessions of its gateway end as those of lost connections do.
    fn lose(&mut self, why: &Lost) {
        let Some(mut gateway) = self.gateway.take() else {
            return;
        };
        if let Some(frontend) = &mut gateway.frontend {
            frontend.close();
        }
        for (_, answer) in gateway.inspections {
            // An operator that has gone away needs none.
            let _ = answer.send((self.number, vec![]));
        }
        table::GATEWAYS_LOST.add_to(
            match why {
                Lost::Closed => "closed",
                Lost::Silent(_) => "silent",
                Lost::Unread(_) => "unread",
                Lost::Wire(_) => "malformed",
            },
            1,
        );
        let (name, from) = (gateway.hello.name, gateway.from);
        warn!(gateway = self.number, name, %from, reason = %why, "a gateway is lost");
    }
}
