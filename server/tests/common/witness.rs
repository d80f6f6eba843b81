//! Players that record the values that they receive, and the comparison with a folder.

use std::net::SocketAddr;
use std::path::Path;
use std::time::{Duration, Instant};

use client_bot::connect::{ClientError, hello};
use client_bot::{Client, Connector, Trust};
use durability::disk::Folder;
use durability::log::Log as Journal;
use durability::recovery;
use gpu_kernels::{Backend, CpuBackend, SlotState};
use script::builtin;
use shared::wire::control::Ticket;
use shared::wire::stream::Message;
use shared::wire::talk::Talk;
use shared::world::mix::mix;
use shared::{EntityId, Tick};
use tokio::task::{LocalSet, spawn_local};
use tokio::time::{sleep, timeout};

use super::{DEADLINE, Log, come_back, units};

/// A player that records the values that it receives.
pub struct Witness {
    pub client: Client,
    pub log: Log,
}

/// The value of an attribute after a tick, as a client received it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ReceivedValue {
    pub tick: Tick,
    pub entity: EntityId,
    pub column: u16,
    pub value: i32,
}

impl Witness {
    /// Connects. Tries again while the server answers that it is starting.
    pub async fn join(address: SocketAddr, ticket: Option<Ticket>) -> Witness {
        let started = Instant::now();
        loop {
            let trust = Trust::AnyCertificate;
            let connector = Connector::new(address, "localhost", &trust).expect("a socket");
            let hello = hello("", ticket);
            let joining = Client::connect(&connector, &hello);
            match timeout(DEADLINE, joining).await.expect("an answer") {
                Ok(client) => {
                    return Witness {
                        client,
                        log: Log::default(),
                    };
                }
                Err(ClientError::Ended(_)) if started.elapsed() < DEADLINE => {
                    sleep(Duration::from_millis(20)).await;
                }
                Err(error) => panic!("{error}"),
            }
        }
    }

    /// Plays for a while: walks about, blasts players nearby, and heals itself.
    pub async fn play(&mut self, dice: &mut impl FnMut(u64) -> u64, time: Duration) {
        let end = Instant::now() + time;
        while Instant::now() < end {
            let step = [(); 2].map(|()| units(dice(200) as f64 / 100.0 - 1.0));
            self.client.command(builtin::MOVE, &step);
            let own = self.client.view().own().map(|own| [own.row[0], own.row[1]]);
            match (dice(4), own) {
                (0, Some(place)) => drop(self.client.command(builtin::BLAST, &place)),
                (1, _) => {
                    let own = self.client.view().entity().reference();
                    self.client.command(builtin::HEAL, &[own.0]);
                }
                _ => {}
            }
            self.client.flush();
            let wait = timeout(Duration::from_millis(40), async {
                loop {
                    if self.client.receive(&mut self.log).await.is_err() {
                        sleep(Duration::from_millis(40)).await;
                    }
                }
            });
            let _ = wait.await;
        }
    }

    /// Comes back to wherever the world is now, and is sent everything anew.
    pub async fn rejoin(&mut self) {
        come_back(&mut self.client).await;
    }

    /// Listens until its connection ends, and gives the reason.
    pub async fn end(&mut self) -> String {
        let ended = async {
            loop {
                if let Err(error) = self.client.receive(&mut self.log).await {
                    return error.to_string();
                }
            }
        };
        timeout(DEADLINE, ended).await.expect("an end")
    }

    /// The announcements of the operator or the server.
    pub fn announced(&self) -> Vec<String> {
        let messages = self.log.messages.iter();
        let announced = messages.filter_map(|(_, message)| match message {
            Message::Talk(Talk::Announced { text }) => Some(text.to_string()),
            _ => None,
        });
        announced.collect()
    }

    /// The values of lasting attributes that it received.
    pub fn received(&self, lasting: &[u16]) -> Vec<ReceivedValue> {
        let mut entities = std::collections::HashMap::new();
        let mut received = vec![];
        for (tick, message) in &self.log.messages {
            let (entity, values) = match message {
                Message::Enter { entity, values, .. } => {
                    entities.insert(entity.slot, *entity);
                    (*entity, values)
                }
                Message::State { slot, values } => (entities[slot], values),
                _ => continue,
            };
            let lasting = values.iter().filter(|(column, _)| lasting.contains(column));
            received.extend(lasting.map(|&(column, value)| ReceivedValue {
                tick: *tick,
                entity,
                column,
                value,
            }));
        }
        received
    }
}

/// The players, kill after kill.
pub struct Crowd {
    pub witnesses: Vec<Witness>,
    seed: u64,
}

impl Crowd {
    /// Connects so many players. Those of `before` resume with their tickets.
    pub async fn join(address: SocketAddr, bots: usize, before: Option<Crowd>, seed: u64) -> Crowd {
        let known = before.map_or(vec![], |crowd| crowd.witnesses);
        let known = known.iter().map(|witness| {
            let client = &witness.client;
            Some((client.ticket(), client.view().entity()))
        });
        let known = known.chain(std::iter::repeat(None)).take(bots);
        let joins = known.map(|known| async move {
            let witness = Witness::join(address, known.map(|(ticket, _)| ticket)).await;
            if let Some((_, entity)) = known {
                assert_eq!(witness.client.view().entity(), entity, "seed {seed}");
            }
            witness
        });
        Crowd {
            witnesses: all(joins.collect()).await,
            seed,
        }
    }

    pub async fn play(self, time: Duration) -> Crowd {
        let seed = self.seed;
        let plays = self.witnesses.into_iter().zip(0..);
        let plays = plays.map(|(mut witness, number)| async move {
            witness.play(&mut dice(mix(seed, number)), time).await;
            witness
        });
        Crowd {
            witnesses: all(plays.collect()).await,
            seed,
        }
    }

    /// The newest durable tick that any client received.
    pub fn kept(&self) -> Tick {
        let kept = self
            .witnesses
            .iter()
            .map(|witness| witness.client.view().kept());
        kept.flatten().max().expect("a persistent world")
    }

    /// The hit points that any of them received.
    pub fn received(&self) -> Vec<ReceivedValue> {
        let schema = self.witnesses[0].client.view().schema();
        let hp = schema.column("hp").expect("such an attribute") as u16;
        let received = self
            .witnesses
            .iter()
            .flat_map(|witness| witness.received(&[hp]));
        received.collect()
    }
}

/// Waits until all of these have ended.
async fn all<T: 'static>(futures: Vec<impl Future<Output = T> + 'static>) -> Vec<T> {
    let running = async {
        let tasks: Vec<_> = futures.into_iter().map(spawn_local).collect();
        let mut ended = vec![];
        for task in tasks {
            ended.push(task.await.expect("a bot plays"));
        }
        ended
    };
    LocalSet::new().run_until(running).await
}

pub fn dice(seed: u64) -> impl FnMut(u64) -> u64 {
    let mut state = seed;
    move |below: u64| {
        state = mix(state, 1);
        state % below
    }
}

/// The result of [`check`].
pub struct Checked {
    /// The tick before which the journal ends.
    pub end: u64,
    pub values: usize,
}

/// Runs the journal of a folder, and checks all values that were received up to a tick.
pub fn check(folder: &Path, received: &mut Vec<ReceivedValue>, up_to: Tick) -> Checked {
    // Many received the same.
    received.sort_unstable();
    received.dedup();
    let first = received.first().map_or(0, |received| received.tick.0);
    let disk = Folder::new(folder);
    let stored = recovery::newest(&disk, Some(first))
        .unwrap()
        .expect("a checkpoint");
    let world = &stored.body.world;
    let columns = world.schema.attributes.len();
    let mut backend = CpuBackend::new(world, 1, None).unwrap();
    backend.restore(&stored.body.snapshot).unwrap();
    let (tick, previous) = (stored.head.tick, stored.head.previous);
    let capacity = world.schema.world.capacity;
    let mut journal = Journal::open(&disk, capacity, tick, Some(previous)).unwrap();
    let mut checked = 0;
    let mut left = received
        .iter()
        .filter(|received| received.tick <= up_to)
        .peekable();
    while let Ok(read) = journal.read().unwrap() {
        backend.tick(&read.entry.frame).unwrap();
        let now = read.entry.frame.tick;
        if left.peek().is_none_or(|received| received.tick > now) {
            continue;
        }
        let state = backend.snapshot().unwrap();
        while let Some(received) = left.next_if(|received| received.tick <= now) {
            assert_eq!(received.tick, now, "{received:?} is before the checkpoint");
            let slot = received.entity.slot.index();
            assert_eq!(state.states[slot], SlotState::Live, "{received:?}");
            assert_eq!(
                state.generations[slot], received.entity.generation,
                "{received:?}"
            );
            let value = state.rows[slot * columns + usize::from(received.column)];
            assert_eq!(value, received.value, "{received:?}");
            checked += 1;
        }
    }
    if let Some(received) = left.next() {
        panic!(
            "{received:?} is lost: the journal ends before tick {}",
            journal.next_tick()
        );
    }
    assert!(checked > 0, "nothing was received");
    Checked {
        end: journal.next_tick(),
        values: checked,
    }
}

/// A world so small that everybody fights.
pub fn fight(bots: usize) -> String {
    let clients = bots + 40;
    let (side, capacity) = ((clients * 75).isqrt(), clients + 16);
    format!(
        "[world]
        size = [{side}, {side}]
        aoi = 60
        capacity = {capacity}
        tick_hz = 20

        [limits]
        clients = {clients}
        {FIGHT}"
    )
}

const FIGHT: &str = "
    resume_seconds = 10

    [[kind]]
    name = 'player'
    attributes = [
        { name = 'hp', type = 'i32', default = 100, min = 0, max = 100, audience = 'state' },
    ]

    [[kind]]
    name = 'item'
    population = 6
    attributes = [{ name = 'owner', type = 'entity', merge = 'first', audience = 'state' }]

    [[every]]
    kind = 'item'
    ticks = 5
    command = 'roam'
";
