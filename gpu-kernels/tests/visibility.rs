//! What is hidden from a client is neither seen nor heard by it, in busy ticks and quiet ones, on
//! every backend and in the oracle.

use gpu_kernels::{Delivery, Frame, Target};
use shared::world::logic::Text;
use shared::{ClientRow, CommandKind, EntityId, InterestMode, Tick, WorldConfig};
use testkit::dice::Dice;
use testkit::parity::Parity;
use testkit::scripts::{command, with_texts};
use testkit::watching::{Lives, acts, place, region, watch, watch_from_first};

const UNIT: i32 = 4096;
const ENTITIES: u32 = 500;
const CLIENTS: u32 = 80;

const SCRIPTS: &str = "
    #[command(clients)]
    fn go(me: Entity, step: Point) { me.position += step; }
    #[command(clients)]
    fn fade(me: Entity, bits: i32) { me.veil = bits; }
    #[command(clients)]
    fn look(me: Entity, bits: i32) { me.insight = bits; }
    #[command(clients)]
    fn mend(me: Entity) { me.hp += 1; }
    pub struct Cry { of: i32 }
    #[command(clients)]
    fn swing(me: Entity) { me.closed = !me.closed; }
    #[command(clients)]
    fn cry(me: Entity) { tell(Cry { of: me.hp }, around(me, 4.0)); }
";

/// A world with three kinds: some of two are hidden, the first one reveals, and the last one has
/// doors. `walls` of a hundred cells are walls, which hide what is behind them.
fn world(size: &str, lines: &str, limits: &str, audience: &str, walls: usize) -> WorldConfig {
    let mut dice = Dice::new(walls as u64);
    let (mut drawing, mut blocks, mut sight) = (String::new(), "", "");
    if walls > 0 {
        let row = |dice: &mut Dice, y: usize| -> String {
            let cell = |x: usize| {
                if x + y > 0 && dice.below(100) < walls {
                    '#'
                } else {
                    '.'
                }
            };
            (0..45).map(cell).chain(['\n']).collect()
        };
        let rows: String = (0..45).map(|y| row(&mut dice, y)).collect();
        drawing =
            format!("[[layer]]\nname = \"blocked\"\ncell = 2\ndrawing = \"\"\"\n{rows}\"\"\"\n");
        (blocks, sight) = ("blocks = [2, 1]\n", "line_of_sight = true\n");
    }
    let bits = |name: &str| {
        format!(
            "{{ name = \"{name}\", type = \"i32\", merge = \"last\", audience = \"{audience}\", \
             default = {{ one_of = [0, 0, 0, 1, 2, 3, -1] }} }}"
        )
    };
    let hp = "{ name = \"hp\", type = \"i32\", merge = \"sum\", audience = \"state\" }";
    let file = format!(
        "[world]\nsize = [{size}]\ncapacity = {}\n{lines}\n[visibility]\nhides = \"veil\"\n\
         reveals = \"insight\"\n{sight}[limits]\nclients = {CLIENTS}\nnotifications_per_tick = 300\n\
         {limits}\n[logic]\nbuiltin = []\n\
         [[kind]]\nname = \"a\"\npopulation = {}\nattributes = [{hp}, {}, {}]\n\
         [[kind]]\nname = \"b\"\npopulation = 50\nattributes = [{hp}, {}]\n\
         [[kind]]\nname = \"gate\"\n{blocks}population = 50\nattributes = [{hp}, \
         {{ name = \"closed\", type = \"bool\", default = true, audience = \"state\" }}]\n{drawing}",
        ENTITIES + 20,
        ENTITIES - 100,
        bits("veil"),
        bits("insight"),
        bits("veil"),
    );
    let config =
        world_file::parse(&file, "visibility").unwrap_or_else(|error| panic!("{error}\n{file}"));
    with_texts(&config, vec![Text::new("visibility.rs", SCRIPTS)])
}

#[test]
fn clients_see_and_hear_nothing_of_what_is_hidden_from_them() {
    let mut all = [0; 3];
    for (seed, (size, lines, limits)) in (1..).zip([
        ("90, 90", "aoi = 8", ""),
        ("90, 90", "aoi = 8\nmotion = false", ""),
        ("90, 90", "aoi = 8\naoi_leave = 9.5", ""),
        ("90, 90", "aoi = 8\naoi_leave = 9.5\nvisible_max = 3", ""),
        (
            "90, 90",
            "aoi = 8\nvisible_max = 3",
            "observers_per_client = 2",
        ),
        ("90, 90", "aoi = 8", "deliveries_per_tick = 60"),
        // A crowd, of which a client sees the nearest that are not hidden.
        ("9, 9", "aoi = 8\nvisible_max = 60", ""),
        (
            "90, 90",
            "aoi = 8",
            "regions_per_client = 2\nentity_regions = true",
        ),
        ("30, 30, 30", "aoi = 8", "observers_per_client = 2"),
    ]) {
        for (audience, walls) in [("state", 0), ("hidden", 0), ("hidden", 3), ("state", 20)] {
            // The drawing is of a world of 90 by 90.
            let walls = if size == "90, 90" { walls } else { 0 };
            let config = world(size, lines, limits, audience, walls);
            let found = play(seed, config);
            all = [0, 1, 2].map(|i| all[i] + found[i]);
        }
    }
    let mut config = world("90, 90", "aoi = 8", "", "hidden", 10);
    config.interest = InterestMode::Buckets;
    play(20, config);
    assert!(all.iter().all(|&n| n > 1000), "{all:?}");
}

/// The numbers of enters, of leaves of those who were hidden, and of hearings.
fn play(seed: u64, config: WorldConfig) -> [usize; 3] {
    let mut parity = Parity::new(&config);
    let mut dice = Dice::new(seed);
    let mut frame = Frame::new(Tick(0));
    frame.populate(&config);
    watch_from_first(&mut frame, CLIENTS);
    let mut lives = Lives::default();
    let mut found = [0; 3];
    for tick in 1..50 {
        let output = parity.tick(&frame);
        lives.follow(&output);
        for (&client, deliveries) in &output.deliveries {
            let bits = bits_of(&parity, &config, client);
            for delivery in deliveries {
                let slot = delivery.slot().0;
                let is_hidden = is_hidden(&parity, &config, slot, &bits);
                found[0] += usize::from(delivery.kind() == Delivery::ENTER);
                match delivery.kind() {
                    Delivery::LEAVE => found[1] += usize::from(is_hidden),
                    _ => assert!(!is_hidden, "seed {seed}, tick {tick}: {client}, {slot}"),
                }
            }
        }
        for (&client, hearings) in &output.hearings {
            let bits = bits_of(&parity, &config, client);
            for &hearing in hearings {
                let source = output.notifications[hearing as usize].source;
                let is_alive = parity.oracle.is_alive(source);
                assert!(!is_alive || !is_hidden(&parity, &config, source.slot.0, &bits));
                found[2] += 1;
            }
        }
        if dice.once_in(30) {
            parity.restart(dice.once_in(2));
        }
        frame.reset(Tick(tick));
        for _ in 0..acts(&mut dice) {
            act(&mut frame, &config, &mut lives, &mut dice);
        }
        frame.order(seed);
    }
    found
}

/// What a client's observers reveal together, and the slots that they follow.
fn bits_of(parity: &Parity, config: &WorldConfig, client: u32) -> (i32, Vec<u32>) {
    let observers = parity.oracle.observers.range((client, 0)..=(client, 9));
    let mut bits = (0, vec![]);
    for (_, observer) in observers {
        if let Target::Entity(entity) = observer.target
            && parity.oracle.is_alive(entity)
        {
            bits.0 |= value(parity, config, entity.slot.0, "insight");
            bits.1.push(entity.slot.0);
        }
    }
    bits
}

fn is_hidden(parity: &Parity, config: &WorldConfig, slot: u32, bits: &(i32, Vec<u32>)) -> bool {
    !bits.1.contains(&slot) && value(parity, config, slot, "veil") & !bits.0 != 0
}

fn value(parity: &Parity, config: &WorldConfig, slot: u32, name: &str) -> i32 {
    let column = config.schema.column(name).unwrap();
    parity.oracle.slots[slot as usize].row[column]
}

/// Something that changes what clients see.
fn act(frame: &mut Frame, config: &WorldConfig, lives: &mut Lives, dice: &mut Dice) {
    let axes = config.dimensions();
    let entity = dice.pick(&lives.alive);
    let client = dice.below(CLIENTS as usize) as u32;
    // Those of clients more often.
    let entity = if dice.once_in(2) {
        let own = lives.alive.iter().filter(|own| own.slot.0 < CLIENTS);
        dice.pick(&own.copied().collect::<Vec<_>>())
    } else {
        entity
    };
    let command = |name: &str| command(config, name);
    let place = |dice: &mut Dice| place(config, dice);
    let bits = dice.pick(&[0, 0, 1, 2, 3, 4, -1, i32::MIN]);
    match dice.below(16) {
        number @ 0..3 => {
            let reach = [UNIT, UNIT, 60 * UNIT][number];
            let step = [0; 3].map(|_| dice.within(-reach..=reach));
            frame.push(entity, 0, command("go"), &step[..axes]);
        }
        3..6 => frame.push(entity, 0, command("fade"), &[bits]),
        6 | 7 => frame.push(entity, 0, command("look"), &[bits]),
        8 => frame.push(entity, 0, command("mend"), &[]),
        9 => frame.push(entity, 0, command("cry"), &[]),
        10 => match dice.once_in(2) {
            true => frame.spawn_at(0, dice.below(1000) as u32, &place(dice)[..axes]),
            false => frame.push(entity, 0, CommandKind::DESPAWN, &[]),
        },
        11 => {
            let target = match dice.below(5) {
                0 => None,
                1 => Some(Target::Point(place(dice))),
                _ => Some(Target::Entity(entity)),
            };
            let index = dice.below(config.limits.observers_per_client as usize) as u32;
            let radius = dice.within(0..=8 * UNIT);
            (frame.observers).push(watch(client, index, target, radius));
        }
        12 if config.limits.regions_per_client > 0 => {
            (frame.regions).push(region(config, dice, 9 * UNIT, entity, client));
        }
        12 => frame.forget.push(ClientRow(client)),
        13 | 14 => {
            // All gates are among the last of the population.
            let gate = EntityId::new(ENTITIES - 1 - dice.below(50) as u32, 1);
            frame.push(gate, 0, command("swing"), &[]);
        }
        _ => lives.release(frame),
    }
}

/// One hides from the other, who is sent that it left, and nothing of it until it is seen again.
#[test]
fn one_that_hides_leaves_and_enters_when_it_is_revealed() {
    let config = world("20, 20", "aoi = 8", "", "hidden", 0);
    let mut parity = Parity::new(&config);
    let mut frame = Frame::new(Tick(0));
    let mut born = |place: i32| {
        let mut row = vec![place, UNIT];
        row.resize(config.schema.attributes.len(), 0);
        frame.spawn_as(0, 0, &row);
    };
    born(UNIT);
    born(2 * UNIT);
    for client in 0..2 {
        let target = Target::Entity(EntityId::new(client, 1));
        (frame.observers).push(watch(client, 0, target, 8 * UNIT));
    }
    let deliveries = |parity: &mut Parity, frame: &Frame, client: u32| {
        let output = parity.tick(frame);
        let own = output.deliveries.get(&client).cloned().unwrap_or_default();
        let kinds = own.iter().map(|own| (own.kind(), own.slot().0));
        kinds.collect::<Vec<_>>()
    };
    let (thief, guard) = (EntityId::new(0, 1), EntityId::new(1, 1));
    let first = deliveries(&mut parity, &frame, 1);
    assert_eq!(first, [(Delivery::ENTER, 0), (Delivery::ENTER, 1)]);

    let mut acts = |who: EntityId, name: &str, words: &[i32]| {
        let mut frame = Frame::new(parity.oracle.tick);
        frame.push(who, 0, command(&config, name), words);
        deliveries(&mut parity, &frame, 1)
    };
    assert_eq!(acts(thief, "fade", &[0b101]), [(Delivery::LEAVE, 0)]);
    assert_eq!(acts(thief, "mend", &[]), []);
    assert_eq!(acts(thief, "go", &[UNIT, UNIT]), []);
    // One bit of two.
    assert_eq!(acts(guard, "look", &[0b100]), []);
    assert_eq!(acts(guard, "look", &[0b111]), [(Delivery::ENTER, 0)]);
    assert_eq!(acts(thief, "mend", &[]), [(Delivery::UPDATE, 0)]);
    assert_eq!(acts(guard, "look", &[0]), [(Delivery::LEAVE, 0)]);
    assert_eq!(acts(thief, "fade", &[0]), [(Delivery::ENTER, 0)]);
}

/// A wall with a gate between two.
#[test]
fn one_behind_a_wall_enters_when_the_gate_is_open() {
    let file = "[world]\nsize = [16, 8]\naoi = 12\ncapacity = 8\n[logic]\nbuiltin = []\n\
        [visibility]\nline_of_sight = true\n\
        [[kind]]\nname = \"a\"\nplaces = [[3, 3], [13, 3], [13, 7]]\n\
        [[kind]]\nname = \"gate\"\nblocks = [1, 1]\nplaces = [[9, 3]]\nattributes = [\
        { name = \"closed\", type = \"bool\", default = true, audience = \"state\" }]\n\
        [[layer]]\nname = \"blocked\"\ncell = 2\ndrawing = \"\"\"\n....#...\n....#...\n........\n\
        ....#...\n\"\"\"\n";
    let config = world_file::parse(file, "sight").unwrap_or_else(|error| panic!("{error}"));
    let scripts = "#[command(clients)] fn swing(me: Entity) { me.closed = !me.closed; }
        #[command(clients)] fn go(me: Entity, step: Point) { me.position += step; }";
    let config = with_texts(&config, vec![Text::new("sight.rs", scripts)]);
    let mut parity = Parity::new(&config);
    let mut frame = Frame::new(Tick(0));
    frame.populate(&config);
    let target = Target::Entity(EntityId::new(0, 1));
    (frame.observers).push(watch(0, 0, target, 12 * UNIT));
    let mut next = |acts: &[(u32, &str, &[i32])]| {
        for &(slot, name, words) in acts {
            let kind = command(&config, name);
            frame.push(EntityId::new(slot, 1), 0, kind, words);
        }
        let output = parity.tick(&frame);
        frame.reset(parity.oracle.tick);
        let own = output.deliveries.get(&0).cloned().unwrap_or_default();
        let kinds = own.iter().map(|own| (own.kind(), own.slot().0));
        kinds.collect::<Vec<_>>()
    };
    const LEAVE: u32 = Delivery::LEAVE;
    const ENTER: u32 = Delivery::ENTER;
    // In the first tick, no door is closed yet.
    assert_eq!(next(&[]), [(ENTER, 0), (ENTER, 1), (ENTER, 3)]);
    // The gate's own cell does not hide it.
    assert_eq!(next(&[]), [(LEAVE, 1)]);
    let swung = [(Delivery::UPDATE, 3)];
    assert_eq!(next(&[(3, "swing", &[])]), swung);
    assert_eq!(next(&[]), [(ENTER, 1)]);
    assert_eq!(next(&[]), []);
    assert_eq!(next(&[(3, "swing", &[])]), swung);
    assert_eq!(next(&[]), [(LEAVE, 1)]);
    // Nor is anything on this side hidden by the wall: one comes around it.
    let around = next(&[(1, "go", &[-9 * UNIT, 0])]);
    assert_eq!(around, [(ENTER, 1)]);
}
