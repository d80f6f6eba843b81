//! A server's side of the wire, to drive sessions with.

// Each test file uses its own part of this.
#![allow(dead_code)]

use std::sync::LazyLock;

use client_core::Session;
use shared::wire::bits::BitWriter;
use shared::wire::commands::{ClientDatagram, CommandCodec};
use shared::wire::control::{Quotas, Welcome};
use shared::wire::movement::{Header, MovementCodec, MovementScratch, PackedEntity};
use shared::wire::stream::StreamCodec;
use shared::{Course, EntityId, Schema, Tick};

/// The client's own entity.
pub const OWN: EntityId = EntityId {
    slot: shared::Slot(5),
    generation: 1,
};
/// The tick of the welcome.
pub const WELCOMED: u64 = 10;
pub const EPOCH: u8 = 1;

pub struct Server {
    pub movement: MovementCodec,
    pub stream: StreamCodec,
    pub commands: CommandCodec,
    pub processed: u32,
    pub margin: Option<i32>,
    /// 1, or it is busy.
    pub send_every: u32,
    /// The number of the command that comes next.
    next_sequence: u32,
    waiting: Vec<Waiting>,
}

/// A command that waits for its tick.
struct Waiting {
    tick: Tick,
    sequence: u32,
    margin: Option<i32>,
    words: Vec<i32>,
}

/// That of the default world, whose scripts are compiled once: sessions and servers come by the
/// thousand.
pub fn schema() -> Schema {
    static SCHEMA: LazyLock<Schema> = LazyLock::new(|| world_file::default().schema);
    SCHEMA.clone()
}

pub fn welcome() -> Welcome {
    Welcome {
        tick: Tick(WELCOMED),
        entity: OWN,
        commands_epoch: EPOCH,
        ticket: [7; 16],
        resumed: false,
        processed: None,
        player_kind: 0,
        quotas: Quotas::default(),
        schema: schema(),
        forecast: vec![],
        servers: vec![],
        reasons: vec![],
        layers: vec![],
        doors: vec![],
        rankings: vec![],
        planes: Default::default(),
        editable: vec![],
    }
}

pub fn session() -> Session {
    Session::new(&welcome()).expect("a world's own schema")
}

impl Server {
    pub fn new() -> Server {
        Server::of(&schema())
    }

    pub fn of(schema: &Schema) -> Server {
        Server {
            movement: MovementCodec::new(schema).expect("a world's own schema"),
            stream: StreamCodec::new(schema),
            commands: CommandCodec::new(schema, EPOCH),
            processed: 0,
            margin: None,
            send_every: 1,
            next_sequence: 1,
            waiting: vec![],
        }
    }

    /// A datagram of one entity's movement.
    pub fn movement(&self, tick: u64, slot: u32, x: i32) -> Vec<u8> {
        self.course(tick, slot, x, 0)
    }

    /// A datagram of one entity's course, along the first axis.
    pub fn course(&self, tick: u64, slot: u32, x: i32, velocity: i32) -> Vec<u8> {
        self.course_after(tick, slot, (x, velocity), None)
    }

    /// The same, as the difference from an earlier course.
    pub fn course_after(
        &self,
        tick: u64,
        slot: u32,
        (x, velocity): (i32, i32),
        known: Option<Course>,
    ) -> Vec<u8> {
        let (tick, velocity) = (Tick(tick), [velocity, 0, 0]);
        let position = [x, 0, 0];
        let expected = known.map(|known| self.movement.expected(&known, tick, &velocity));
        let difference = expected.and_then(|e| self.movement.difference(&position, &e));
        let packed = PackedEntity {
            place: difference.unwrap_or_else(|| self.movement.full(position)),
            tail: self.movement.tail(0, &velocity, &[x, 0, 0]),
        };
        let header = Header {
            tick,
            base: known.map(|known| known.tick),
            processed: self.processed,
            kept: None,
            margin: self.margin,
            send_every: self.send_every,
            is_whole: true,
        };
        let mut bytes = vec![];
        let mut scratch = MovementScratch::default();
        let send = |b| bytes = b;
        self.movement
            .encode(header, &[slot], usize::MAX, |_| packed, &mut scratch, send);
        bytes
    }

    /// A frame of the stream with its length.
    pub fn frame(&self, tick: u64, write: impl Fn(&StreamCodec, &mut BitWriter)) -> Vec<u8> {
        let mut writer = BitWriter::default();
        let mut bytes = vec![];
        self.stream.begin(&mut writer, Tick(tick));
        write(&self.stream, &mut writer);
        self.stream.finish(&mut writer, &mut bytes);
        bytes
    }

    /// A frame in which an entity enters.
    pub fn enter(&self, tick: u64, entity: EntityId, x: i32) -> Vec<u8> {
        self.enter_gliding(tick, entity, x, 0)
    }

    /// A frame in which an entity enters that goes along the first axis.
    pub fn enter_gliding(&self, tick: u64, entity: EntityId, x: i32, velocity: i32) -> Vec<u8> {
        let is_own = entity == OWN;
        let course = Course {
            tick: Tick(tick),
            position: [x, 0, 0],
            velocity: [velocity, 0, 0],
        };
        self.frame(tick, |stream, writer| {
            stream.enter(writer, entity, 0, is_own, &course, &[x, 0, 100]);
        })
    }

    /// A client's datagram arrives before this tick. All commands have two words.
    pub fn apply(&mut self, bytes: &[u8], next: u64) {
        let datagram = self.read(bytes);
        for (i, words) in datagram.words.chunks(2).enumerate() {
            let sequence = datagram.first_sequence + i as u32;
            if sequence < self.next_sequence {
                continue;
            }
            self.next_sequence = sequence + 1;
            let meant = datagram.ticks.get(i).copied();
            self.waiting.push(Waiting {
                tick: meant.unwrap_or_default().max(Tick(next)),
                sequence,
                margin: meant.map(|meant| meant.0 as i32 - next as i32),
                words: words.to_vec(),
            });
        }
    }

    /// Runs a tick, and gives the words of its commands.
    pub fn run(&mut self, tick: u64) -> Vec<i32> {
        let due = self.waiting.extract_if(.., |c| c.tick <= Tick(tick));
        let due: Vec<Waiting> = due.collect();
        self.processed = due.last().map_or(self.processed, |last| last.sequence);
        self.margin = due.iter().filter_map(|command| command.margin).min();
        due.into_iter().flat_map(|command| command.words).collect()
    }

    /// The content of a client's datagram.
    pub fn read(&self, bytes: &[u8]) -> ClientDatagram {
        self.read_at(bytes, WELCOMED)
    }

    /// The same, in a later tick.
    pub fn read_at(&self, bytes: &[u8], tick: u64) -> ClientDatagram {
        let mut datagram = ClientDatagram::default();
        self.commands
            .decode(bytes, Tick(tick), &mut datagram)
            .expect("a datagram of the client");
        datagram
    }
}
