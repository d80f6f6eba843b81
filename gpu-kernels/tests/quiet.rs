//! Ticks in which little changes: a backend may leave clients alone then, and all of them get
//! what they get where everything changes.

use gpu_kernels::{Frame, Target};
use script::builtin;
use shared::{ClientRow, CommandKind, InterestMode, Tick, WorldConfig};
use testkit::dice::Dice;
use testkit::parity::Parity;
use testkit::watching::{Lives, acts, place, region, watch, watch_from_first};

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
    watch_from_first(&mut frame, CLIENTS);
    let mut lives = Lives::default();
    let mut delivered = 0;
    for tick in 1..150 {
        let output = parity.tick(&frame);
        lives.follow(&output);
        delivered += u64::from(output.counts.deliveries > 0);
        if dice.once_in(40) {
            parity.restart(dice.once_in(2));
        }
        frame.reset(Tick(tick));
        for _ in 0..acts(&mut dice) {
            act(&mut frame, &config, &mut lives, &mut dice);
        }
        frame.order(seed);
    }
    assert!(delivered > 75, "{delivered} ticks with deliveries");
}

/// Something that changes what clients see.
fn act(frame: &mut Frame, config: &WorldConfig, lives: &mut Lives, dice: &mut Dice) {
    let axes = config.dimensions();
    let entity = dice.pick(&lives.alive);
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
            let place = place(config, dice);
            frame.spawn_at(0, dice.below(1000) as u32, &place[..axes]);
        }
        8 => frame.push(entity, 0, CommandKind::DESPAWN, &[]),
        9 => {
            let target = match dice.below(4) {
                0 => None,
                1 => Some(Target::Point(place(config, dice))),
                _ => Some(Target::Entity(entity)),
            };
            let radius = dice.within(0..=8 * UNIT);
            let index = dice.below(observers) as u32;
            (frame.observers).push(watch(client, index, target, radius));
        }
        10 if config.limits.regions_per_client > 0 => {
            (frame.regions).push(region(config, dice, 9 * UNIT, entity, client));
        }
        10 => frame.forget.push(ClientRow(client)),
        _ => lives.release(frame),
    }
}

fn world(text: &str) -> WorldConfig {
    world_file::parse(text, "test").expect("the world file is valid")
}
