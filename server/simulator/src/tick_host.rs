//! A tick host: the world, its journal, a shard of its own, and the places of gateways.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use accounts::names::NameRule;
use anyhow::{Context, Result};
use device::cpu::Workers;
use durability::characters::{ByAccount, CharacterStore};
use durability::journal::{Journal, Settings};
use durability::recovery;
use durability::worker::{DurabilityOptions, DurabilityWorker};
use frontend::SessionWorld;
use frontend::inbox::SharedInbox;
use frontend::mirror::{Mirror, SharedMirror};
use frontend::servers::OtherServers;
use frontend::shard_channels::{ShardSender, ToShard};
use frontend::wire::MESSAGE_BYTES_MAX;
use gateway::message::{HELLO_BYTES_MAX, ToGateway, ToHost};
use gateway::places::{PlaceOptions, Places, Seat};
use gpu_kernels::CpuBackend;
use gpu_kernels::listen::Listeners;
use gpu_kernels::tick::VERSION;
use peer::frames::FrameReader;
use platform::metrics::stats::Stats;
use shared::wire::control::Ticket;
use shared::wire::movement::MovementCodec;
use shared::{EntityId, Slot, Tick};
use tick::talk::filter::NoFilter;
use tick::tick_loop::{FanOutMode, Parts, PersistentWorld, Start, TickLoop};

use crate::characters::SimulatedCharacters;
use crate::clock::Clock;
use crate::dice::Dice;
use crate::disk::SimulatedDisk;
use crate::plan::Plan;
use crate::shards::{SimulatedShard, open_guard};

/// The number of a connection between a gateway and its tick host, never used twice.
pub type LinkId = u64;

/// A running tick host.
pub struct TickHost {
    tick_loop: TickLoop,
    mirror: SharedMirror,
    pub shard: SimulatedShard,
    places: Arc<Places>,
    links: BTreeMap<LinkId, HostEnd>,
    clock: Clock,
    /// The column of what players had who have left.
    found: Option<usize>,
    /// The first tick that this process has run, or will.
    pub first: Tick,
}

/// The tick host's end of a link.
struct HostEnd {
    reader: FrameReader,
    /// None before the hello.
    seat: Option<Seat>,
}

/// An entity after a tick.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Placed {
    pub entity: EntityId,
    pub kind: u16,
    pub position: [i32; 3],
    pub row: Vec<i32>,
}

impl TickHost {
    /// Starts with the world of a disk, or a new one. `start` counts the starts.
    pub fn start(
        plan: &Plan,
        (disk, characters): (&SimulatedDisk, &SimulatedCharacters),
        clock: &Clock,
        start: u64,
    ) -> Result<TickHost> {
        let stored = recovery::begin(disk)?;
        let config = match &stored {
            Some(stored) => stored.body.world.clone(),
            None => plan.config.clone(),
        };
        let mut backend = CpuBackend::new(&config, 1, None)?;
        let progress = &mut |_: &_| ();
        let mut recovered = recovery::recover(disk, stored, &config, &mut backend, progress)?;
        recovered.epoch = recovered.epoch.restarted()?;
        let settings = Settings {
            capacity: config.schema.world.capacity,
            epoch: recovered.epoch,
            tick_version: VERSION,
            segment_bytes: plan.segment_bytes,
        };
        let journal = Journal::new(disk.clone(), settings, recovered.start, Workers::new(1)?);
        let options = DurabilityOptions {
            level: plan.level,
            keeps_all: true,
            from: recovered.progress.from,
            checkpoint_ticks: plan.checkpoint_ticks,
            feed: None,
            lease: None,
        };
        let own = clock.clone();
        let now = move || own.instant();
        let (kept, store) = match config.has_characters() {
            false => (ByAccount::new(), None),
            true => {
                let store = CharacterStore::new(characters.clone());
                (recovered.load_characters(&store)?, Some(Arc::new(store)))
            }
        };
        let roster = recovered.roster.clone();
        let worker = DurabilityWorker::inline(journal, roster, options, store, now)?;
        let workers = Workers::new(1)?;
        let mut mirror = Mirror::new(&config, MovementCodec::new(&config.schema)?);
        mirror.restore(&workers, &recovered.snapshot);
        let mirror = SharedMirror::new(mirror);
        let session = Arc::new(SessionWorld::new(&config));
        let guard = open_guard(config.has_characters());
        let (to_tick, reports) = channel();
        let (inbox, is_open) = (SharedInbox::default(), Arc::new(AtomicBool::new(true)));
        let (shard, sender) =
            SimulatedShard::new(&session, &guard, &is_open, &inbox, &to_tick, clock);
        let places = Arc::new(Places::new(PlaceOptions {
            first: 1,
            count: plan.gateways,
            silence_max: SILENCE_MAX,
            config: config.clone(),
            guard,
            identity: None,
            gateways: OtherServers::default(),
            workers: Workers::new(1)?,
        }));
        let (mut inboxes, mut senders) = (vec![inbox], vec![sender]);
        for (place, inbox) in places.inboxes().into_iter().enumerate() {
            let (sender, from_tick) = channel();
            let (places, reports, clock) = (places.clone(), to_tick.clone(), clock.clone());
            let from_tick = Mutex::new(from_tick);
            // The place runs on the thread of the tick: a wake-up handles its messages at once.
            let wake = move || {
                let from_tick: &Mutex<Receiver<ToShard>> = &from_tick;
                let from_tick = from_tick.lock().unwrap_or_else(PoisonError::into_inner);
                while let Ok(message) = from_tick.try_recv() {
                    places.handle(place, message, &reports, || clock.instant());
                }
            };
            inboxes.push(inbox);
            senders.push(ShardSender::new(sender, wake));
        }
        let first = recovered.snapshot.tick;
        let found = config.schema.column("found");
        let mut tick_loop = TickLoop::new(Parts {
            backend: Box::new(backend),
            fan_out: FanOutMode::Awaited,
            workers,
            listeners: Listeners::new(&config, 1, None)?,
            mirror: mirror.clone(),
            inboxes,
            shards: senders,
            reports,
            recording: None,
            persistent: Some(PersistentWorld {
                worker,
                characters: kept,
                mutes: None,
                recovered: Box::new(recovered),
            }),
            reloads: None,
            operator: None,
            talk_filter: Arc::new(NoFilter),
            names: NameRule::default(),
            session,
            stats: Arc::new(Stats::new()),
            window: None,
            script_lines: None,
            stop: Arc::new(AtomicBool::new(false)),
            config,
        });
        let mut dice = Dice::new(plan.seed ^ start << 32);
        tick_loop.set_tickets(move || {
            let mut ticket = Ticket::default();
            for byte in &mut ticket {
                *byte = u8::try_from(dice.below(256)).unwrap_or_default();
            }
            ticket
        });
        Ok(TickHost {
            tick_loop,
            mirror,
            shard,
            places,
            links: BTreeMap::new(),
            clock: clock.clone(),
            found,
            first,
        })
    }

    /// Runs a tick. After an error the process ends.
    pub fn tick(&mut self) -> Result<()> {
        self.tick_loop.tick(Start {
            scheduled: self.clock.instant(),
            skipped: 0,
        })
    }

    /// Stops as at Ctrl-C: with a last checkpoint.
    pub fn stop(self) -> Result<()> {
        self.tick_loop.end(Ok(()))
    }

    /// The last tick that has run.
    pub fn newest(&self) -> Tick {
        self.mirror.read().tick()
    }

    /// Whether the world has had its first tick.
    pub fn has_begun(&self) -> bool {
        self.first > Tick(0) || self.mirror.read().living(Slot(0)).is_some()
    }

    /// The world after the last tick, without what all share.
    pub fn world(&self) -> Vec<Placed> {
        let mirror = self.mirror.read();
        let slots = (0..u32::try_from(mirror.capacity()).unwrap_or(u32::MAX)).map(Slot);
        let of_places = slots.filter(|&slot| mirror.shared() != Some(slot));
        let living = of_places.filter_map(|slot| Some((slot, mirror.living(slot)?)));
        let placed = living.map(|(slot, entity)| Placed {
            entity,
            kind: mirror.kind(slot),
            position: mirror.position(slot),
            row: mirror.row(slot).to_vec(),
        });
        placed.collect()
    }

    /// How many things of a kind there are: in the world, and kept by accounts.
    pub fn things(&self, kind: u16) -> (usize, usize) {
        let world = self.world();
        let in_world = world.iter().filter(|placed| placed.kind == kind).count();
        (in_world, self.tick_loop.kept_things(kind))
    }

    /// The coins of players that have left, in a yard.
    pub fn found(&self) -> i32 {
        let mirror = self.mirror.read();
        let shared = mirror.shared();
        let column = self.found;
        shared
            .zip(column)
            .map_or(0, |(slot, column)| mirror.row(slot)[column])
    }

    /// The entities of all clients that are in the world.
    pub fn players(&self) -> Vec<EntityId> {
        let own = self.tick_loop.players().into_iter().flatten();
        own.filter(|&entity| entity != EntityId::NONE).collect()
    }

    /// How many sessions gateways have.
    pub fn sessions_of_gateways(&self) -> usize {
        let totals = self.places.totals();
        totals.sessions.iter().map(|(_, sessions)| sessions).sum()
    }

    /// A gateway has opened a connection.
    pub fn open_link(&mut self, link: LinkId) {
        let reader = FrameReader::new(HELLO_BYTES_MAX);
        self.links.insert(link, HostEnd { reader, seat: None });
    }

    /// The connection to a gateway has ended.
    pub fn close_link(&mut self, link: LinkId) {
        if let Some(HostEnd {
            seat: Some(seat), ..
        }) = self.links.remove(&link)
        {
            self.places.leave(&seat);
        }
    }

    /// Takes bytes of a gateway, as the port does. Fails if the connection must end; a gateway that
    /// is refused gets a last message.
    pub fn receive(&mut self, link: LinkId, bytes: &[u8]) -> Result<(), Option<Vec<u8>>> {
        let Some(end) = self.links.get_mut(&link) else {
            return Ok(());
        };
        end.reader.push(bytes);
        while let Some(message) = end.reader.message::<ToHost>().map_err(|_| None)? {
            match (&end.seat, message) {
                (None, ToHost::Hello(hello)) => {
                    end.reader.set_limit(MESSAGE_BYTES_MAX);
                    let Some(seat) = self.places.take(hello, ADDRESS) else {
                        let reason = "all places are taken".to_owned();
                        return Err(Some(ToGateway::Refused(reason).encode()));
                    };
                    end.seat = Some(seat);
                }
                (None, _) => return Err(None),
                (Some(seat), message) => {
                    if !self.places.receive(seat, message, self.clock.moment()) {
                        return Err(None);
                    }
                }
            }
        }
        Ok(())
    }

    /// The bytes for gateways, and the connections that must end.
    pub fn take_outgoing(&mut self) -> Vec<(LinkId, Option<Vec<u8>>)> {
        use tokio::sync::mpsc::error::TryRecvError;
        let mut all = vec![];
        for (&link, end) in &mut self.links {
            let Some(seat) = &mut end.seat else { continue };
            loop {
                match seat.outgoing.try_recv() {
                    Ok(bytes) => all.push((link, Some(bytes))),
                    Err(TryRecvError::Empty) => break,
                    Err(TryRecvError::Disconnected) => {
                        all.push((link, None));
                        break;
                    }
                }
            }
        }
        all
    }
}

/// The hash of the state in the last checkpoint, which the journal must lead to from the first one.
pub fn check_replay(plan: &Plan, disk: &SimulatedDisk) -> Result<()> {
    let last = recovery::newest(disk, None)?.context("there is no checkpoint")?;
    let first = recovery::read(disk, 0)?;
    let mut backend = CpuBackend::new(&plan.config, 1, None)?;
    let replay = recovery::Replay {
        backend: &mut backend,
        until: Some(last.head.tick),
        progress: &mut |_| (),
    };
    let (replayed, _) = recovery::replay(disk, first, replay)?;
    anyhow::ensure!(
        replayed.hash.agrees_but_for_known(&last.body.hash),
        "the journal leads to another state before tick {} than the last checkpoint has",
        last.head.tick
    );
    Ok(())
}

/// Where gateways seem to come from.
const ADDRESS: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 0);
/// As of `--gateway-silence`.
pub const SILENCE_MAX: Duration = Duration::from_secs(1);
