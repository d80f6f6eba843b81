//! Leaves farther away than enters, known entities that count as nearer, and tiers: by hand, and
//! compared on every backend.

use gpu_kernels::{Delivery, Frame, Target};
use script::builtin;
use shared::{EntityId, Tick, WorldConfig};
use testkit::dice::Dice;
use testkit::parity::Parity;
use testkit::watching::watch;

const UNIT: i32 = 4096;

#[test]
fn who_has_entered_within_the_radius_leaves_beyond_the_larger_one() {
    let mut table = Table::new("aoi = 10\naoi_leave = 12", &[10 * UNIT, 10 * UNIT + 1]);
    assert_eq!(table.tick(&[]), [enter(0, 3)]);
    // Both go to the farther circle: the known one stays, the other does not enter.
    assert_eq!(table.tick(&[(0, 2 * UNIT), (1, 1)]), [update(0, 3)]);
    assert_eq!(table.tick(&[(0, 1)]), [leave(0)]);
    // It comes back as it came.
    assert_eq!(table.tick(&[(0, -2 * UNIT)]), []);
    assert_eq!(table.tick(&[(0, -1)]), [enter(0, 3)]);
}

#[test]
fn an_observer_with_a_smaller_radius_keeps_whom_it_knows_by_the_same_margin() {
    let mut table = Table::new("aoi = 10\naoi_leave = 12", &[4 * UNIT]);
    assert_eq!(table.tick(&[]), [enter(0, 2)]);
    table.radius = 4 * UNIT;
    assert_eq!(table.tick(&[(0, 2 * UNIT)]), [update(0, 2)]);
    assert_eq!(table.tick(&[(0, 1)]), [leave(0)]);
}

#[test]
fn a_known_entity_gives_way_only_to_one_that_is_nearer_by_the_margin() {
    let mut table = Table::new(
        "aoi = 10\naoi_leave = 12\nvisible_max = 1",
        &[5 * UNIT, 9 * UNIT],
    );
    assert_eq!(table.tick(&[]), [enter(0, 2)]);
    // It counts as 3 units away; the other is behind that, then on the same distance, where
    // the lower slot comes first, then before it.
    assert_eq!(table.tick(&[(1, -5 * UNIT)]), []);
    assert_eq!(table.tick(&[(1, -UNIT)]), []);
    assert_eq!(table.tick(&[(1, -1)]), [leave(0), enter(1, 2)]);
    // Now that one is known.
    assert_eq!(table.tick(&[(0, -4 * UNIT)]), []);
}

#[test]
fn tiers_end_at_an_eighth_a_quarter_and_the_half_of_the_area() {
    let ends = [0, UNIT, 2 * UNIT, 4 * UNIT, 8 * UNIT];
    let mut table = Table::new("aoi = 8", &ends);
    let inside: Vec<Delivery> = (0..)
        .zip([0, 0, 1, 2, 3])
        .map(|(s, t)| enter(s, t))
        .collect();
    assert_eq!(table.tick(&[]), inside);
    let out = [(0, 1), (1, 1), (2, 1), (3, 1), (4, 1)];
    let outside = [
        update(0, 0),
        update(1, 1),
        update(2, 2),
        update(3, 3),
        leave(4),
    ];
    assert_eq!(table.tick(&out), outside);
}

#[test]
fn views_of_thousands_are_the_same_everywhere() {
    for visible_max in [2048u32, 2049, 5000] {
        let config = world(&format!(
            "[world]\nsize = [60, 60]\naoi = 40\naoi_leave = 44\ncapacity = 6000\n\
             visible_max = {visible_max}\nmotion = false\n[limits]\nclients = 3\n\
             observers_per_client = 2\n[[kind]]\nname = \"a\"\npopulation = 6000\n"
        ));
        let mut parity = Parity::new(&config);
        let mut dice = Dice::new(u64::from(visible_max));
        let mut frame = Frame::new(Tick(0));
        frame.populate(&config);
        for client in 0..3 {
            let target = Target::Entity(EntityId::new(client * 1000, 1));
            frame.observers.push(watch(client, 0, target, 40 * UNIT));
        }
        for tick in 1..5 {
            let output = parity.tick(&frame);
            assert!(output.counts.deliveries > 0);
            frame.reset(Tick(tick));
            for slot in 0..6000 {
                let step = |dice: &mut Dice| dice.within(-2 * UNIT..=2 * UNIT);
                let words = [step(&mut dice), step(&mut dice)];
                frame.push(EntityId::new(slot, 1), 0, builtin::MOVE, &words);
            }
            let target = Target::Point([dice.within(0..=60 * UNIT), 30 * UNIT, 0]);
            frame.observers.push(watch(1, 1, target, 9 * UNIT));
        }
    }
}

/// Thousands in one bucket, hundreds of them on one spot: who sees few of them sees the nearest.
#[test]
fn crowds_are_seen_the_same_everywhere() {
    for (seed, (size, aoi)) in (1..).zip([
        ("60, 60", "aoi = 20"),
        ("60, 60", "aoi = 19.7\naoi_leave = 23.3"),
        ("60, 60", "aoi = 1\naoi_leave = 1.25"),
        ("60, 60, 60", "aoi = 20\naoi_leave = 21"),
    ]) {
        for visible_max in [1, 40, 700] {
            crowd(seed, size, aoi, visible_max);
        }
    }
}

fn crowd(seed: u64, size: &str, aoi: &str, visible_max: u32) {
    let config = world(&format!(
        "[world]\nsize = [{size}]\n{aoi}\ncapacity = 4000\nvisible_max = {visible_max}\n\
         motion = false\n[limits]\nclients = 16\n[commands]\nmove.speed_max = 20\n"
    ));
    let reach = config.schema.world.aoi.raw();
    let axes = config.dimensions();
    let mut dice = Dice::new(seed);
    // In the middle of a bucket, and across its edges.
    let crowd = 61 * UNIT / 2 / reach * reach + reach / 2;
    let mut frame = Frame::new(Tick(0));
    for token in 0..4000 {
        let mut near = |reach: i32| crowd + dice.within(-reach..=reach);
        let place = match token % 8 {
            0..4 => [0; 3].map(|_| near(reach / 3)),
            4 => [crowd + 1; 3],
            5 | 6 => [0; 3].map(|_| near(reach)),
            _ => [0; 3].map(|_| near(29 * UNIT)),
        };
        frame.spawn_at(0, token, &place[..axes]);
    }
    let mut parity = Parity::new(&config);
    for tick in 0..4 {
        for client in 0..16 {
            let mut near =
                |reach: i32| Target::Point([0; 3].map(|_| crowd + dice.within(-reach..=reach)));
            let target = match client {
                5..8 => near(reach),
                // Most of them stand beside the crowd: some of it is within their radius.
                8..16 => near(2 * reach),
                0..3 => Target::Entity(EntityId::new(dice.within(0..=3999) as u32, 1)),
                3 => Target::Point([crowd; 3]),
                _ => Target::Point([-1, crowd, crowd]),
            };
            let radius = match client {
                5 => reach / 4,
                12.. => dice.within(0..=reach),
                _ => i32::MAX,
            };
            frame.observers.push(watch(client, 0, target, radius));
        }
        let output = parity.tick(&frame);
        assert!(output.counts.deliveries > 0, "seed {seed}, tick {tick}");
        frame.reset(Tick(tick + 1));
        for slot in 0..4000 {
            let step = reach / 8;
            let words = [0; 3].map(|_| dice.within(-step..=step));
            frame.push(EntityId::new(slot, 1), 0, builtin::MOVE, &words[..axes]);
        }
    }
}

/// Entities east of a client's point, that move along one axis.
struct Table {
    parity: Parity,
    distances: Vec<i32>,
    radius: i32,
    next: u64,
}

impl Table {
    /// A world with these lines and an entity at each distance.
    fn new(lines: &str, distances: &[i32]) -> Table {
        let config = world(&format!(
            "[world]\nsize = [100, 100]\ncapacity = 9\nmotion = false\n{lines}\n\
             [limits]\nclients = 1\n[commands]\nmove.speed_max = 20\n"
        ));
        Table {
            parity: Parity::new(&config),
            distances: distances.to_vec(),
            radius: i32::MAX,
            next: 0,
        }
    }

    /// Moves entities east, and returns what the client is delivered.
    fn tick(&mut self, moves: &[(u32, i32)]) -> Vec<Delivery> {
        let center = [50 * UNIT, 50 * UNIT, 0];
        let mut frame = Frame::new(Tick(self.next));
        self.next += 1;
        for (token, distance) in (0..).zip(self.distances.drain(..)) {
            frame.spawn_at(0, token, &[center[0] + distance, center[1]]);
        }
        for &(slot, east) in moves {
            frame.push(EntityId::new(slot, 1), 0, builtin::MOVE, &[east, 0]);
        }
        let point = Target::Point(center);
        frame.observers.push(watch(0, 0, point, self.radius));
        let output = self.parity.tick(&frame);
        output.deliveries.get(&0).cloned().unwrap_or_default()
    }
}

fn enter(slot: u32, tier: u32) -> Delivery {
    Delivery::new(Delivery::ENTER, slot).in_tier(tier)
}

fn update(slot: u32, tier: u32) -> Delivery {
    Delivery::new(Delivery::UPDATE, slot).in_tier(tier)
}

fn leave(slot: u32) -> Delivery {
    Delivery::new(Delivery::LEAVE, slot)
}

fn world(text: &str) -> WorldConfig {
    world_file::parse(text, "test").expect("the world file is valid")
}
