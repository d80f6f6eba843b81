//! The world as one client was told of it. No I/O and no clock: messages go in,
//! acknowledgements come out.
//!
//! Once nothing more is sent, a view equals what the server holds for its
//! client: enters and leaves are reliable and in order, and movement is sent
//! again until the view has acknowledged it.

use rustc_hash::FxHashMap;
use shared::wire::DecodeError;
use shared::wire::commands::Acknowledgement;
use shared::wire::control::Welcome;
use shared::wire::movement::{Movement, MovementCodec, nearest};
use shared::wire::stream::{Item, StreamCodec};
use shared::{EntityId, Schema, Tick};

/// What one client knows.
pub struct View {
    schema: Schema,
    epoch: u8,
    entity: EntityId,
    is_dead: bool,
    movement: MovementCodec,
    stream: StreamCodec,
    entities: FxHashMap<u32, Entity>,
    /// Movement of entities that have not entered yet, by slot.
    ahead: FxHashMap<u32, Ahead>,
    acknowledgement: Acknowledgement,
    /// Ticks of which some datagrams have arrived.
    parts: FxHashMap<Tick, Parts>,
    /// The newest tick of any message.
    newest: Tick,
    processed: u32,
    pub counts: ViewCounts,
}

/// An entity in view.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entity {
    pub id: EntityId,
    pub kind: u16,
    /// A value for each column; 0 where it isn't this client's to know.
    pub row: Vec<i32>,
    pub entered: Tick,
    /// The tick of its latest movement.
    pub moved: Tick,
}

/// What a client has been told, in numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ViewCounts {
    pub datagrams: u64,
    pub datagram_bytes: u64,
    pub stream_bytes: u64,
    /// Entities' movements in datagrams.
    pub movements: u64,
    pub enters: u64,
    pub leaves: u64,
    /// Entities' changes of lasting attributes.
    pub states: u64,
    pub notices: u64,
    /// Ticks in which notices may have been left out.
    pub full: u64,
}

impl ViewCounts {
    /// What came after `before`.
    pub fn since(&self, before: &ViewCounts) -> ViewCounts {
        ViewCounts {
            datagrams: self.datagrams - before.datagrams,
            datagram_bytes: self.datagram_bytes - before.datagram_bytes,
            stream_bytes: self.stream_bytes - before.stream_bytes,
            movements: self.movements - before.movements,
            enters: self.enters - before.enters,
            leaves: self.leaves - before.leaves,
            states: self.states - before.states,
            notices: self.notices - before.notices,
            full: self.full - before.full,
        }
    }

    /// Everything a client was told of an entity.
    pub fn updates(&self) -> u64 {
        self.movements + self.enters + self.leaves + self.states
    }

    pub fn payload_bytes(&self) -> u64 {
        self.datagram_bytes + self.stream_bytes
    }
}

/// One tick's datagram, as told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Told {
    pub tick: Tick,
    /// The sequence number of the last command that the world has taken in.
    pub processed: u32,
    /// This was the tick's last missing datagram.
    pub is_complete: bool,
}

struct Ahead {
    tick: Tick,
    position: [i32; 3],
    extras: Vec<(u16, i32)>,
}

#[derive(Default)]
struct Parts {
    arrived: u16,
    /// How many there are, once the last one has said so.
    total: Option<u8>,
}

impl View {
    /// The empty view of a client that was just welcomed.
    pub fn new(welcome: &Welcome) -> Result<View, DecodeError> {
        let movement =
            MovementCodec::new(&welcome.schema).map_err(|error| DecodeError::OutOfRange {
                what: "the width of an entity's movement",
                found: u64::from(error.bits),
            })?;
        Ok(View {
            stream: StreamCodec::new(&welcome.schema),
            schema: welcome.schema.clone(),
            epoch: welcome.epoch,
            entity: welcome.entity,
            is_dead: false,
            movement,
            entities: FxHashMap::default(),
            ahead: FxHashMap::default(),
            acknowledgement: Acknowledgement {
                newest: welcome.tick,
                mask: 0,
                stream: Tick(0),
            },
            parts: FxHashMap::default(),
            newest: welcome.tick,
            processed: 0,
            counts: ViewCounts::default(),
        })
    }

    pub fn schema(&self) -> &Schema {
        &self.schema
    }

    /// The client's own entity's identity. Another one after it has died and was
    /// born anew.
    pub fn entity(&self) -> EntityId {
        self.entity
    }

    /// The client's own entity: once it has entered, and until it dies.
    pub fn own(&self) -> Option<&Entity> {
        self.entities
            .get(&self.entity.slot.0)
            .filter(|e| e.id == self.entity)
    }

    /// Whether the client's own entity has died, and it waits for another one.
    pub fn is_dead(&self) -> bool {
        self.is_dead
    }

    /// Everyone in view, by slot.
    pub fn entities(&self) -> &FxHashMap<u32, Entity> {
        &self.entities
    }

    /// What has been received, for the server to know.
    pub fn acknowledgement(&self) -> Acknowledgement {
        self.acknowledgement
    }

    /// The newest tick of any message.
    pub fn newest(&self) -> Tick {
        self.newest
    }

    /// The sequence number of the last command that the world has taken in.
    pub fn processed(&self) -> u32 {
        self.processed
    }

    /// Takes in a movement datagram, decoding it into `movement`.
    pub fn take_datagram(
        &mut self,
        bytes: &[u8],
        movement: &mut Movement,
    ) -> Result<Told, DecodeError> {
        self.movement.decode(bytes, movement)?;
        if movement.epoch != self.epoch {
            return Err(DecodeError::WrongEpoch {
                expected: self.epoch,
                found: movement.epoch,
            });
        }
        self.counts.datagrams += 1;
        self.counts.datagram_bytes += bytes.len() as u64;
        self.counts.movements += movement.slots.len() as u64;
        let tick = Tick(nearest(movement.tick_low, self.newest.0));
        self.newest = self.newest.max(tick);
        let processed = nearest(movement.processed_low, self.processed);
        self.processed = self.processed.max(processed);
        let dimensions = self.schema.dimensions();
        let mut extras = movement.extras.iter().peekable();
        for (i, slot) in movement.slots.iter().enumerate() {
            let position = &movement.positions[i * dimensions..][..dimensions];
            let mut own_extras = vec![];
            while let Some(&(_, column, value)) = extras.next_if(|e| e.0 as usize == i) {
                own_extras.push((column, value));
            }
            self.move_entity(slot.0, tick, position, own_extras);
        }
        Ok(Told {
            tick,
            processed,
            is_complete: self.note_part(tick, movement),
        })
    }

    fn move_entity(&mut self, slot: u32, tick: Tick, position: &[i32], extras: Vec<(u16, i32)>) {
        let Some(entity) = self.entities.get_mut(&slot) else {
            let mut held = [0; 3];
            held[..position.len()].copy_from_slice(position);
            let ahead = Ahead {
                tick,
                position: held,
                extras,
            };
            if self.ahead.len() < AHEAD_MAX
                && self.ahead.get(&slot).is_none_or(|held| held.tick < tick)
            {
                self.ahead.insert(slot, ahead);
            }
            return;
        };
        // Older than what is known: the enter, or a datagram that overtook it.
        if tick <= entity.moved {
            return;
        }
        entity.moved = tick;
        entity.row[..position.len()].copy_from_slice(position);
        for (column, value) in extras {
            entity.row[usize::from(column)] = value;
        }
    }

    /// True when a tick has all its datagrams.
    fn note_part(&mut self, tick: Tick, movement: &Movement) -> bool {
        if movement.part == 0 && movement.is_last_part {
            self.acknowledgement.note(tick);
            return true;
        }
        let parts = self.parts.entry(tick).or_default();
        parts.arrived |= 1 << movement.part;
        if movement.is_last_part {
            parts.total = Some(movement.part + 1);
        }
        let complete = parts
            .total
            .is_some_and(|total| parts.arrived.count_ones() == u32::from(total));
        if complete {
            self.parts.remove(&tick);
            self.acknowledgement.note(tick);
        }
        let newest = self.newest.0;
        self.parts.retain(|t, _| newest - t.0.min(newest) < 64);
        complete
    }

    /// Takes in a frame of the stream, its length left off, and hands each item
    /// to `notice` before it takes effect.
    pub fn take_frame(
        &mut self,
        bytes: &[u8],
        mut notice: impl FnMut(Tick, &Item),
    ) -> Result<(), DecodeError> {
        let frame = self.stream.decode(bytes)?;
        self.counts.stream_bytes += bytes.len() as u64 + 4;
        self.acknowledgement.stream = frame.tick;
        self.newest = self.newest.max(frame.tick);
        for item in frame.messages {
            notice(frame.tick, &item);
            match item {
                Item::Enter {
                    entity,
                    kind,
                    values,
                    ..
                } => self.enter(frame.tick, entity, kind, &values),
                Item::Leave(slot) => {
                    self.counts.leaves += 1;
                    // Nobody but the dead loses sight of itself.
                    self.is_dead |= slot == self.entity.slot;
                    self.entities.remove(&slot.0);
                    self.forget_ahead(slot.0, frame.tick);
                }
                Item::Reborn(entity) => {
                    self.entity = entity;
                    self.is_dead = false;
                }
                // What they tell is no part of the view.
                Item::Answer(_) | Item::Lost(_) => {}
                Item::Notice(_) => self.counts.notices += 1,
                Item::Full => self.counts.full += 1,
                Item::State { slot, values } => {
                    self.counts.states += 1;
                    if let Some(entity) = self.entities.get_mut(&slot.0) {
                        for (column, value) in values {
                            entity.row[usize::from(column)] = value;
                        }
                    }
                }
            }
        }
        Ok(())
    }

    fn enter(&mut self, tick: Tick, id: EntityId, kind: u16, values: &[(u16, i32)]) {
        self.counts.enters += 1;
        let mut row = vec![0; self.schema.attributes.len()];
        for &(column, value) in values {
            row[usize::from(column)] = value;
        }
        let entity = Entity {
            id,
            kind,
            row,
            entered: tick,
            moved: tick,
        };
        self.entities.insert(id.slot.0, entity);
        if let Some(ahead) = self.ahead.remove(&id.slot.0) {
            let position = &ahead.position[..self.schema.dimensions()];
            self.move_entity(id.slot.0, ahead.tick, position, ahead.extras);
        }
    }

    /// Movement from before a leave is of no use; newer movement waits for the
    /// enter that must be on its way.
    fn forget_ahead(&mut self, slot: u32, tick: Tick) {
        if self.ahead.get(&slot).is_some_and(|held| held.tick <= tick) {
            self.ahead.remove(&slot);
        }
    }
}

/// More entities than a server may show can't be on their way.
const AHEAD_MAX: usize = 2 * shared::config::VISIBLE_MAX as usize;

#[cfg(test)]
mod tests {
    use shared::WorldConfig;
    use shared::wire::bits::BitWriter;
    use shared::wire::movement::Header;

    use super::*;

    struct Server {
        movement: MovementCodec,
        stream: StreamCodec,
        view: View,
    }

    impl Server {
        fn new() -> Server {
            let schema = WorldConfig::default().schema;
            Server {
                movement: MovementCodec::new(&schema).unwrap(),
                stream: StreamCodec::new(&schema),
                view: View::new(&Welcome {
                    tick: Tick(10),
                    entity: EntityId::new(5, 1),
                    epoch: 1,
                    ticket: [0; 16],
                    resumed: false,
                    schema,
                })
                .unwrap(),
            }
        }

        fn moves(&mut self, tick: u32, slot: u32, x: i32) {
            let row = [x, 0, 0];
            let packed = self.movement.pack(0, &row);
            let header = Header {
                epoch: 1,
                tick: Tick(tick),
                processed: 0,
            };
            let mut bytes = vec![];
            let entity = |_| (0, &row[..], packed);
            let mut writer = BitWriter::default();
            self.movement
                .encode(header, &[slot], entity, &mut writer, |b| bytes = b);
            self.view
                .take_datagram(&bytes, &mut Movement::default())
                .unwrap();
        }

        fn frame(&mut self, tick: u32, write: impl Fn(&StreamCodec, &mut BitWriter)) {
            let mut writer = BitWriter::default();
            let mut bytes = vec![];
            self.stream.begin(&mut writer, Tick(tick));
            write(&self.stream, &mut writer);
            self.stream.finish(&mut writer, &mut bytes);
            self.view.take_frame(&bytes[4..], |_, _| ()).unwrap();
        }

        fn enters(&mut self, tick: u32, slot: u32, x: i32) {
            self.frame(tick, |stream, writer| {
                stream.enter(writer, EntityId::new(slot, 1), 0, false, &[x, 0, 100]);
            });
        }

        fn x(&self, slot: u32) -> Option<i32> {
            self.view.entities().get(&slot).map(|e| e.row[0])
        }
    }

    #[test]
    fn movement_ahead_of_its_enter_is_held() {
        let mut server = Server::new();
        server.moves(12, 7, 500);
        assert_eq!(server.x(7), None);
        server.enters(11, 7, 100);
        assert_eq!(server.x(7), Some(500));
    }

    #[test]
    fn movement_older_than_the_enter_is_ignored() {
        let mut server = Server::new();
        server.enters(12, 7, 100);
        server.moves(11, 7, 50);
        assert_eq!(server.x(7), Some(100));
    }

    #[test]
    fn a_datagram_that_was_overtaken_changes_nothing() {
        let mut server = Server::new();
        server.enters(11, 7, 100);
        server.moves(14, 7, 400);
        server.moves(13, 7, 300);
        assert_eq!(server.x(7), Some(400));
        let ack = server.view.acknowledgement();
        assert!(ack.has(Tick(14)) && ack.has(Tick(13)) && !ack.has(Tick(12)));
    }

    #[test]
    fn movement_from_before_a_leave_does_not_move_who_comes_back() {
        let mut server = Server::new();
        server.enters(11, 7, 100);
        server.frame(13, |stream, writer| stream.leave(writer, shared::Slot(7)));
        server.moves(12, 7, 120);
        server.enters(20, 7, 900);
        assert_eq!(server.x(7), Some(900));
    }
}
