//! Ticks in which little changes: a backend may leave clients alone then, and all of them get
//! what they get where everything changes.

use gpu_kernels::{Frame, Holder, Observer, ObserverChange, Region, RegionChange, Target};
use script::builtin;
use shared::{ClientRow, CommandKind, EntityId, InterestMode, Tick, WorldConfig};
use testkit::dice::Dice;
use testkit::parity::Parity;

const UNIT: i32 = 4096;
const ENTITIES: u32 = 600;
const CLIENTS: u32 = 90;

#[test]
fn clients_that_look_elsewhere_see_what_they_saw() {
    for (seed, (size, lines, limits)) in (1..).zip([
        ("90, 90", "aoi = 8", ""),
        ("90, 90", "aoi = 8\nmotion = false", ""),
        ("90, 90", "aoi = 8\naoi_leave = 9.5", ""),
        ("90, 90", "aoi = 8\naoi_leave = 9.5\nvisible_max = 7", ""),
        (
            "90, 90",
            "aoi = 8\nvisible_max = 7",
            "observers_per_client = 2",
        ),
        ("90, 90", "aoi = 8", "deliveries_per_tick = 60"),
        // A crowd: what changes is near everybody.
        ("9, 9", "aoi = 8\nvisible_max = 640", ""),
        (
            "90, 90",
            "aoi = 8",
            "regions_per_client = 2\nentity_regions = true",
        ),
        ("40, 40, 40", "aoi = 8", "observers_per_client = 2"),
    ]) {
        quiet_world(seed, size, lines, limits, InterestMode::Exact);
    }
    quiet_world(10, "90, 90", "aoi = 8", "", InterestMode::Buckets);
}

fn quiet_world(seed: u64, size: &str, lines: &str, limits: &str, interest: InterestMode) {
    let mut config = world(&format!(
        "[world]\nsize = [{size}]\ncapacity = {}\n{lines}\n[limits]\nclients = {CLIENTS}\n\
         {limits}\n[commands]\nmove.speed_max = 90\nheal = {{ reach = 2, amount = 4 }}\n\
         [[kind]]\nname = \"a\"\npopulation = {ENTITIES}\nattributes = [\n\
         {{ name = \"hp\", type = \"i32\", default = 1, min = 0, max = 1000000, \
         audience = \"state\" }} ]\n",
        ENTITIES + 20,
    ));
    config.interest = interest;
    let mut parity = Parity::new(&config);
    let mut dice = Dice::new(seed);
    let mut frame = Frame::new(Tick(0));
    frame.populate(&config);
    for client in 0..CLIENTS {
        let target = Target::Entity(EntityId::new(client, 1));
        watch(&mut frame, client, 0, Some(target), i32::MAX);
    }
    let mut alive: Vec<EntityId> = (0..ENTITIES).map(|slot| EntityId::new(slot, 1)).collect();
    let (mut dead, mut delivered) = (vec![], 0);
    for tick in 1..150 {
        let output = parity.tick(&frame);
        let births = output.births.iter().filter_map(|birth| birth.entity);
        alive.extend(births.filter(|_| tick > 1));
        alive.retain(|entity| !output.deaths.contains(entity));
        dead.extend(output.deaths.iter().copied());
        delivered += u64::from(output.counts.deliveries > 0);
        if dice.once_in(40) {
            parity.restart(dice.once_in(2));
        }
        frame.reset(Tick(tick));
        // A busy tick now and then.
        let acts = match dice.below(20) {
            0 => 300,
            1 => 30,
            _ => dice.below(6),
        };
        for _ in 0..acts {
            act(&mut frame, &config, &alive, &mut dead, &mut dice);
        }
        frame.order(seed);
    }
    assert!(delivered > 75, "{delivered} ticks with deliveries");
}

/// Something that changes what clients see.
fn act(
    frame: &mut Frame,
    config: &WorldConfig,
    alive: &[EntityId],
    dead: &mut Vec<EntityId>,
    dice: &mut Dice,
) {
    let axes = config.dimensions();
    let size = config.size_raw();
    let entity = dice.pick(alive);
    let client = dice.below(CLIENTS as usize) as u32;
    let observers = config.limits.observers_per_client as usize;
    let mut move_by = |dice: &mut Dice, reach: i32| {
        let step = [0; 3].map(|_| dice.within(-reach..=reach));
        frame.push(entity, 0, builtin::MOVE, &step[..axes]);
    };
    match dice.below(12) {
        0..4 => move_by(dice, UNIT),
        4 => move_by(dice, 60 * UNIT),
        5 | 6 => frame.push(entity, 0, builtin::HEAL, &[entity.reference().0]),
        7 => {
            let place = [0, 1, 2].map(|axis| dice.within(0..=size[axis].max(1) - 1));
            frame.spawn_at(0, dice.below(1000) as u32, &place[..axes]);
        }
        8 => frame.push(entity, 0, CommandKind::DESPAWN, &[]),
        9 => {
            let target = match dice.below(4) {
                0 => None,
                1 => Some(Target::Point(
                    [0, 1, 2].map(|axis| dice.within(0..=size[axis].max(1) - 1)),
                )),
                _ => Some(Target::Entity(entity)),
            };
            let radius = dice.within(0..=8 * UNIT);
            watch(frame, client, dice.below(observers) as u32, target, radius);
        }
        10 if config.limits.regions_per_client > 0 => {
            let low = [0, 1, 2].map(|axis| dice.within(0..=size[axis].max(1) - 1));
            let region = Region {
                low,
                high: low.map(|low| low + dice.within(1..=9 * UNIT)),
                follows: None,
            };
            let holder = match dice.below(3) {
                0 => Holder::Publication(entity),
                1 => Holder::Subscription(EntityId::new(client, 1)),
                _ => Holder::Client {
                    client: ClientRow(client),
                    index: dice.below(2) as u32,
                },
            };
            let region = (!dice.once_in(3)).then_some(region);
            frame.regions.push(RegionChange { holder, region });
        }
        10 => frame.forget.push(ClientRow(client)),
        _ => frame
            .release
            .extend(dead.drain(..).map(|entity| entity.slot)),
    }
}

fn watch(frame: &mut Frame, client: u32, index: u32, target: Option<Target>, radius: i32) {
    let observer = target.map(|target| Observer { target, radius });
    frame.observers.push(ObserverChange {
        client: ClientRow(client),
        index,
        observer,
    });
}

fn world(text: &str) -> WorldConfig {
    world_file::parse(text, "test").expect("the world file is valid")
}
