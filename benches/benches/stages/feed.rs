//! Both ends of a link between a tick host and a gateway, in a world of wandering clients.

use std::collections::HashSet;
use std::hint::black_box;
use std::time::{Duration, Instant};

use device::cpu::Workers;
use frontend::mirror::{Mirror, Newborns};
use frontend::publication::{Publication, SessionEvent};
use frontend::servers::Others;
use frontend::wire::feed::{FeedReader, FeedWriter};
use gpu_kernels::listen::Notices;
use gpu_kernels::{Backend, CpuBackend, Delivery, Frame, Observer, ObserverChange, Target};
use shared::wire::movement::MovementCodec;
use shared::world::mix::mix;
use shared::{ClientRow, CommandKind, EntityId, Fixed, Tick};

pub struct Link {
    backend: CpuBackend,
    workers: Workers,
    mirror: Mirror,
    writer: FeedWriter,
    reader: FeedReader,
    walk: CommandKind,
    players: Vec<(u32, EntityId)>,
    steps: Vec<[i32; 2]>,
    tick: u64,
    bytes: Vec<u8>,
}

/// Of one tick.
#[derive(Default)]
pub struct Times {
    pub write: Duration,
    pub read: Duration,
    pub copy: Duration,
}

impl Link {
    /// With the clients in the world, each with about 20 others in view.
    pub fn new(threads: usize) -> Link {
        let side = 20.0 * f64::from(CLIENTS).sqrt();
        let text = format!(
            "[world]\nsize = [{side}, {side}]\naoi = 50\ncapacity = {CLIENTS}\nmotion = true\n\
             [limits]\nclients = {CLIENTS}\n[[kind]]\nname = 'player'"
        );
        let config = world_file::parse(&text, "feed").unwrap();
        let movement = MovementCodec::new(&config.schema).unwrap();
        let mut link = Link {
            backend: CpuBackend::new(&config, threads, None).unwrap(),
            workers: Workers::new(threads).unwrap(),
            mirror: Mirror::new(&config, movement),
            writer: FeedWriter::new(0, &config),
            reader: FeedReader::new(&config),
            walk: config.schema.command_named("move").unwrap().kind,
            players: vec![],
            steps: vec![[0; 2]; CLIENTS as usize],
            tick: 0,
            bytes: vec![],
        };
        for _ in 0..4 {
            link.tick();
        }
        link
    }

    pub fn tick(&mut self) -> Times {
        let mut frame = Frame::new(Tick(self.tick));
        let mut events = vec![];
        if self.tick == 0 {
            for row in 0..CLIENTS {
                frame.spawn(0, row);
                assert!(self.writer.join(row.into()));
            }
        }
        for &(row, entity) in &self.players {
            if self.tick == 1 {
                frame.observers.push(ObserverChange {
                    client: ClientRow(row),
                    index: 0,
                    observer: Some(Observer {
                        target: Target::Entity(entity),
                        radius: 50 << Fixed::FRACTION_BITS,
                    }),
                });
                events.push(SessionEvent::Assigned {
                    session: row.into(),
                    client: ClientRow(row),
                    entity,
                    ticket: [7; 16],
                    resumed: false,
                    processed: None,
                });
            }
            let bits = mix(self.tick, row.into());
            let step = &mut self.steps[row as usize];
            if self.tick == 1 || bits.is_multiple_of(STRAIGHT_TICKS) {
                *step = [bits >> 32, bits >> 48].map(|bits| (bits % 8192) as i32 - 4096);
            }
            frame.push(entity, self.tick as u32, self.walk, step);
        }
        let output = self.backend.tick(&frame).unwrap();
        self.mirror.apply(&self.workers, &output);
        if self.tick == 0 {
            let births = output.births.iter();
            self.players = births.filter_map(|b| Some((b.token, b.entity?))).collect();
        }
        let publication = Publication {
            tick: output.tick,
            durable_through: None,
            others: Others::default(),
            output,
            newborns: Newborns::default(),
            subscribed: Notices::default(),
            world: None,
            nearby_talk: vec![],
            muted: HashSet::new(),
            events: vec![events],
            inputs: vec![0],
        };
        self.tick += 1;
        self.bytes.clear();
        let mut times = Times::default();
        let begun = Instant::now();
        let tick = (&publication, &self.mirror);
        self.writer.write(&self.workers, tick, 0, &mut self.bytes);
        times.write = begun.elapsed();
        let begun = Instant::now();
        let feed = self.reader.read(&self.workers, &self.bytes).unwrap();
        times.read = begun.elapsed();
        let begun = Instant::now();
        let output = &feed.publication.output;
        let rows = (0..CLIENTS).map(ClientRow);
        let all: Vec<Delivery> = rows
            .flat_map(|row| output.deliveries.of(row).iter().copied())
            .collect();
        black_box(all);
        times.copy = begun.elapsed();
        times
    }
}

const CLIENTS: u32 = 32_768;
/// Clients walk straight on for about so many ticks.
const STRAIGHT_TICKS: u64 = 50;
