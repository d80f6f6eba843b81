//! Players that write down what they are told, and its comparison with what a folder keeps.

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

/// A player that writes down what it is told.
pub struct Witness {
    pub client: Client,
    pub log: Log,
}

/// The value of an attribute after a tick, as somebody was told.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Told {
    pub tick: Tick,
    pub entity: EntityId,
    pub column: u16,
    pub value: i32,
}

impl Witness {
    /// Comes in. Tries again while the server says that it is starting.
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

    /// Plays for a while: walks about, blasts who is near, and heals itself.
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

    /// Comes back to wherever the world is now, and is told of all anew.
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

    /// What all clients were told by the operator or the server.
    pub fn announced(&self) -> Vec<String> {
        let messages = self.log.messages.iter();
        let announced = messages.filter_map(|(_, message)| match message {
            Message::Talk(Talk::Announced { text }) => Some(text.to_string()),
            _ => None,
        });
        announced.collect()
    }

    /// The values that it was told of attributes that last.
    pub fn told(&self, lasting: &[u16]) -> Vec<Told> {
        let mut entities = std::collections::HashMap::new();
        let mut told = vec![];
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
            told.extend(lasting.map(|&(column, value)| Told {
                tick: *tick,
                entity,
                column,
                value,
            }));
        }
        told
    }
}

/// Who plays, kill after kill.
pub struct Crowd {
    pub witnesses: Vec<Witness>,
    seed: u64,
}

impl Crowd {
    /// Lets so many in. Those of `before` come back with their tickets, as who they were.
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

    /// The newest tick that anybody was told is kept.
    pub fn kept(&self) -> Tick {
        let kept = self
            .witnesses
            .iter()
            .map(|witness| witness.client.view().kept());
        kept.flatten().max().expect("a world that is kept")
    }

    /// What any of them was told of hit points.
    pub fn told(&self) -> Vec<Told> {
        let schema = self.witnesses[0].client.view().schema();
        let hp = schema.column("hp").expect("such an attribute") as u16;
        let told = self
            .witnesses
            .iter()
            .flat_map(|witness| witness.told(&[hp]));
        told.collect()
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

/// What [`check`] has found.
pub struct Checked {
    /// The tick before which the journal ends.
    pub end: u64,
    pub values: usize,
}

/// Runs the journal of a folder, and checks everything that was told up to a tick.
pub fn check(folder: &Path, told: &mut Vec<Told>, up_to: Tick) -> Checked {
    // Many were told the same.
    told.sort_unstable();
    told.dedup();
    let first = told.first().map_or(0, |told| told.tick.0);
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
    let mut left = told.iter().filter(|told| told.tick <= up_to).peekable();
    while let Ok(read) = journal.read().unwrap() {
        backend.tick(&read.entry.frame).unwrap();
        let now = read.entry.frame.tick;
        if left.peek().is_none_or(|told| told.tick > now) {
            continue;
        }
        let state = backend.snapshot().unwrap();
        while let Some(told) = left.next_if(|told| told.tick <= now) {
            assert_eq!(told.tick, now, "{told:?} is before the checkpoint");
            let slot = told.entity.slot.index();
            assert_eq!(state.states[slot], SlotState::Live, "{told:?}");
            assert_eq!(state.generations[slot], told.entity.generation, "{told:?}");
            let value = state.rows[slot * columns + usize::from(told.column)];
            assert_eq!(value, told.value, "{told:?}");
            checked += 1;
        }
    }
    if let Some(told) = left.next() {
        panic!(
            "{told:?} is lost: the journal ends before tick {}",
            journal.next_tick()
        );
    }
    assert!(checked > 0, "nothing was told");
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
