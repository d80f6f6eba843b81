//! Golden cases of movement: one for each form of a position.

use serde::Serialize;
use shared::wire::bits::BitWriter;
use shared::wire::movement::{Header, Movement, MovementCodec, MovementScratch, PackedEntity};
use shared::{Course, Schema, Slot, Tick};

use crate::protocol::case::Case;
use crate::protocol::world::{CHEST, PLAYER, deep, flat};

const TICK: Tick = Tick(70_001);
const BASE: Tick = Tick(69_996);
/// The sequence number of the last processed command.
const PROCESSED: u32 = 0x1_0007;
const UNIT: i32 = 4096;

#[derive(Serialize)]
struct Given {
    world: &'static str,
    newest: u64,
    /// What the receiver was sent of entities before.
    courses: Vec<Known>,
}

/// A course that the receiver was sent. Places have as many numbers as the world has axes.
#[derive(Clone, Serialize)]
struct Known {
    slot: u32,
    tick: u64,
    position: Vec<i32>,
    velocity: Vec<i32>,
}

#[derive(Serialize)]
struct Value {
    tick: u64,
    part: u8,
    last: bool,
    whole: bool,
    processed_low: u16,
    kept: Option<u64>,
    margin: Option<i32>,
    send_every: u32,
    base: Option<u64>,
    entities: Vec<Read>,
}

#[derive(Serialize)]
struct Read {
    slot: u32,
    position: Vec<i32>,
    velocity: Vec<i32>,
    others: Vec<(u16, i32)>,
}

/// An entity as a server knows it.
struct Entity {
    slot: u32,
    kind: u16,
    /// The attributes of audience `movement`, the position first.
    row: Vec<i32>,
    velocity: [i32; 3],
}

/// A world, and what its clients know.
struct Scene {
    world: &'static str,
    schema: Schema,
    courses: Vec<Known>,
}

pub fn cases() -> Vec<Case> {
    let mut cases = vec![first_part()];
    cases.extend(in_full());
    cases.extend(differences());
    cases.extend(in_steps());
    cases
}

fn in_full() -> Vec<Case> {
    let scene = Scene::new("welcome-flat", flat(), &[]);
    let near = |slot, x, y, heading| player(slot, [x * UNIT + 5, y * UNIT], heading, [0; 3]);
    let near_chest = Entity {
        kind: CHEST,
        ..near(303, 130, 60, 0)
    };
    let steered = player(999, [4_095_999, 0], 359, [-400, 17, 0]);
    vec![
        scene.case("movement-nothing", "nothing has changed", &[]),
        scene.only_datagram(
            "movement-kept",
            "the tick itself is kept",
            (Some(TICK), None, 1),
            &[],
        ),
        scene.only_datagram(
            "movement-kept-before",
            "the tick 64 ticks before is kept",
            (Some(TICK.before(64)), None, 1),
            &[],
        ),
        scene.only_datagram(
            "movement-early",
            "commands came three ticks too early",
            (None, Some(3), 1),
            &[],
        ),
        scene.only_datagram(
            "movement-late",
            "commands came twenty ticks too late, which is sent as sixteen",
            (None, Some(-20), 1),
            &[],
        ),
        scene.only_datagram(
            "movement-busy",
            "the server is busy, and sends about every third tick",
            (None, None, 3),
            &[],
        ),
        scene.case("movement-wide", "one entity, in full", &[steered]),
        scene.case(
            "movement-low-bits",
            "entities near each other, beside a corner; one has no heading",
            &[
                near(2, 100, 50, 1),
                near(300, 140, 55, 2),
                near_chest,
                near(304, 101, 90, 3),
            ],
        ),
    ]
}

fn differences() -> Vec<Case> {
    let course = |slot, tick, position: [i32; 2], velocity: [i32; 2]| Known {
        slot,
        tick,
        position: position.to_vec(),
        velocity: velocity.to_vec(),
    };
    let scene = Scene::new(
        "welcome-flat",
        flat(),
        &[
            // It has turned twice; the base knows only the first course.
            course(300, 69_990, [100 * UNIT, 50 * UNIT], [410, 0]),
            course(300, 69_998, [100 * UNIT + 3280, 50 * UNIT], [0, 410]),
            // It is at the edge of the world by now.
            course(302, 69_990, [600, 50 * UNIT], [-410, 0]),
            course(305, 69_996, [200 * UNIT, 50 * UNIT], [0; 2]),
        ],
    );
    let expected = [100 * UNIT + 410 * 10, 50 * UNIT - 410];
    let turned = |away| player(300, [expected[0] + away, expected[1]], 90, [0, -410, 0]);
    let stopped = || player(302, [0, 50 * UNIT], 180, [0; 3]);
    let moved = player(305, [200 * UNIT - 3, 50 * UNIT + 2], 0, [0; 3]);
    let new = player(301, [101 * UNIT, 51 * UNIT], 5, [0; 3]);
    vec![
        scene.case(
            "movement-differences",
            "entities of which the base knows, at most a few steps from where they are expected",
            &[turned(1), stopped(), moved],
        ),
        scene.case(
            "movement-as-expected",
            "entities that are exactly where they are expected, on new courses",
            &[turned(0), stopped()],
        ),
        scene.case(
            "movement-mixed",
            "a difference, and an entity in full",
            &[turned(-1), new],
        ),
    ]
}

fn in_steps() -> Vec<Case> {
    let scene = Scene::new(
        "welcome-deep",
        deep(),
        &[Known {
            slot: 69_999,
            tick: 69_000,
            position: vec![1_000_000, 2_000_000, 300_032],
            velocity: vec![-64, 0, 3],
        }],
    );
    let ship = |slot, position: [i32; 3], turret, velocity| Entity {
        slot,
        kind: 0,
        row: [&position[..], &[turret]].concat(),
        velocity,
    };
    let at = |x: i32, y: i32, z: i32| [x * 64, y * 64, z * 64];
    let expected = [1_000_000 - 64 * 1000, 2_000_000, 300_032 + 3 * 1000];
    let off = [expected[0] - 64, expected[1] + 128, expected[2]];
    vec![
        scene.case(
            "movement-steps",
            "positions in steps, beside a corner, and a turret in steps",
            &[
                ship(5, at(20_000, 30_000, 700), -12_288, [0; 3]),
                ship(70, at(20_500, 29_000, 900), 0, [64, 0, 0]),
                ship(
                    69_998,
                    at(21_000, 30_000, 31_999),
                    12_288,
                    [0, -64, 524_287],
                ),
            ],
        ),
        scene.case(
            "movement-exact",
            "a position that is no multiple of the step",
            &[ship(5, [12_287_999, 77, 1], 255, [0; 3])],
        ),
        scene.case(
            "movement-difference-steps",
            "a difference in steps from a place that is none of whole steps",
            &[ship(69_999, off, 128, [-64, 0, 3])],
        ),
    ]
}

/// The header of a tick's datagram that is not its last one. Written by hand: a real one has
/// more than a thousand bytes.
fn first_part() -> Case {
    let scene = Scene::new("welcome-flat", flat(), &[]);
    let mut writer = BitWriter::default();
    for (value, bits) in [(u64::from(TICK.low() & 0xffff), 16), (0, 1), (3, 4), (0, 1)] {
        writer.put(value, bits);
    }
    // It is kept itself, has no margin, is of a server that is not busy, and tells of no entities.
    for (value, bits) in [
        (u64::from(PROCESSED & 0xffff), 16),
        (1, 2),
        (0, 1),
        (0, 1),
        (0, 4),
    ] {
        writer.put(value, bits);
    }
    let mut bytes = vec![];
    writer.finish_into(&mut bytes);
    let text = "the fourth datagram of a tick, which is not its last one, without its entities";
    scene.read("movement-part", text, bytes)
}

fn player(slot: u32, place: [i32; 2], heading: i32, velocity: [i32; 3]) -> Entity {
    Entity {
        slot,
        kind: PLAYER,
        row: vec![place[0], place[1], heading],
        velocity,
    }
}

/// A place or velocity, with 0 on an axis that the world lacks.
fn in_three(numbers: &[i32]) -> [i32; 3] {
    std::array::from_fn(|axis| numbers.get(axis).copied().unwrap_or(0))
}

impl Scene {
    fn new(world: &'static str, schema: Schema, courses: &[Known]) -> Scene {
        Scene {
            world,
            schema,
            courses: courses.to_vec(),
        }
    }

    fn codec(&self) -> MovementCodec {
        MovementCodec::new(&self.schema).expect("a world that fits")
    }

    /// The newest course of an entity by a tick.
    fn course(&self, slot: u32, tick: Tick) -> Option<Course> {
        let by_then = |known: &&Known| known.slot == slot && known.tick <= tick.0;
        let newest = self
            .courses
            .iter()
            .filter(by_then)
            .max_by_key(|known| known.tick);
        newest.map(|known| Course {
            tick: Tick(known.tick),
            position: in_three(&known.position),
            velocity: in_three(&known.velocity),
        })
    }

    /// The only datagram of a tick, as a server sends it.
    fn case(&self, name: &'static str, text: &'static str, entities: &[Entity]) -> Case {
        self.only_datagram(name, text, (None, None, 1), entities)
    }

    /// The only datagram of a tick in a world that is kept up to a tick, with the margin of the
    /// commands that it has processed, and how often the server sends.
    fn only_datagram(
        &self,
        name: &'static str,
        text: &'static str,
        (kept, margin, send_every): (Option<Tick>, Option<i32>, u32),
        entities: &[Entity],
    ) -> Case {
        let header = Header {
            kept,
            margin,
            send_every,
            tick: TICK,
            base: Some(BASE),
            processed: PROCESSED,
            is_whole: true,
        };
        let slots: Vec<u32> = entities.iter().map(|entity| entity.slot).collect();
        let mut sent = vec![];
        let left = self.codec().encode(
            header,
            &slots,
            usize::MAX,
            |i| self.packed(&entities[i]),
            &mut MovementScratch::default(),
            |bytes| sent.push(bytes),
        );
        assert_eq!((sent.len(), left), (1, 0), "{name}");
        self.read(name, text, sent.remove(0))
    }

    fn packed(&self, entity: &Entity) -> PackedEntity {
        let codec = self.codec();
        let position = in_three(&entity.row[..self.schema.dimensions()]);
        let known = self.course(entity.slot, BASE);
        let expected = known.map(|known| codec.expected(&known, TICK, &entity.velocity));
        let difference = expected.and_then(|expected| codec.difference(&position, &expected));
        PackedEntity {
            place: difference.unwrap_or_else(|| codec.full(position)),
            tail: codec.tail(entity.kind, &entity.velocity, &entity.row),
        }
    }

    fn read(&self, name: &'static str, text: &'static str, bytes: Vec<u8>) -> Case {
        let newest = TICK.before(1);
        let mut movement = Movement::default();
        let course = |slot: Slot, tick| self.course(slot.0, tick);
        let read = self.codec().decode(&bytes, newest, course, &mut movement);
        assert_eq!((read, movement.unknown), (Ok(()), 0), "{name}");
        let given = Given {
            world: self.world,
            newest: newest.0,
            courses: self.courses.clone(),
        };
        Case::new(name, text, bytes, &self.value(&movement)).given(&given)
    }

    fn value(&self, movement: &Movement) -> Value {
        let axes = self.schema.dimensions();
        let entities = (0u32..).zip(&movement.slots).map(|(i, slot)| {
            let own = i as usize * axes..(i as usize + 1) * axes;
            let others = movement.extras.iter().filter(|extra| extra.0 == i);
            Read {
                slot: slot.0,
                position: movement.positions[own.clone()].to_vec(),
                velocity: movement.velocities[own].to_vec(),
                others: others.map(|&(_, column, value)| (column, value)).collect(),
            }
        });
        Value {
            entities: entities.collect(),
            tick: movement.tick.0,
            part: movement.part,
            last: movement.is_last_part,
            whole: movement.is_whole,
            processed_low: movement.processed_low,
            kept: movement.kept.map(|kept| kept.0),
            margin: movement.margin,
            send_every: movement.send_every,
            base: movement.base.map(|base| base.0),
        }
    }
}
