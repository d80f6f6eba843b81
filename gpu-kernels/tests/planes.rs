//! Planes are worlds of their own: nothing of one is seen, heard or found near in another, on every
//! backend and in the oracle, whatever moves between them.

use gpu_kernels::{Delivery, Frame, Observer, ObserverChange, Target};
use shared::world::logic::Text;
use shared::world::plane::Atlas;
use shared::{ClientRow, EntityId, Tick, WorldConfig};
use testkit::dice::Dice;
use testkit::parity::Parity;
use testkit::scripts::{command, with_texts};

const UNIT: i32 = 4096;
const CLIENTS: u32 = 12;

const SCRIPTS: &str = "
    #[command(clients)]
    fn throw(me: Entity, step: Point) { me.position += step; }
    #[command(clients, atomic)]
    fn hop(me: Entity, number: i32, at: Point) { me.position = in_plane(number, at); }
    #[command(clients)]
    fn leap(me: Entity, number: i32, at: Point) {
        me.position += in_plane(number, at) - me.position;
    }
    #[command(clients)]
    fn look(me: Entity, at: Point, radius: Fixed) {
        let mut own = 0;
        let mut others = 0;
        for other in near(me, radius) {
            if plane(other) == plane(me) { own += 1; } else { others += 1; }
        }
        for other in near(me, 14.0, \"player\") {
            if plane(other) != plane(me) { others += 1; }
        }
        // Between planes, too, there is one at most.
        let mut seen = -1;
        for other in near(at, radius) {
            if seen >= 0 && plane(other) != seen { others += 1; }
            seen = plane(other);
        }
        me.own = own;
        me.others = others;
    }
    pub struct Yell { from: i32 }
    #[command(clients)]
    fn yell(me: Entity, radius: Fixed) { tell(Yell { from: plane(me) }, around(me, radius)); }
    #[command(clients)]
    fn bring(me: Entity, at: Point) { spawn(\"ghost\", at); }
    #[command(clients)]
    fn wreck(me: Entity, other: Entity) { despawn(other); }
    #[on(enter, \"aura\")]
    fn touched(me: Entity, carrier: Entity) {
        if plane(me) != plane(carrier) { me.others = 1000; }
    }
";

/// A world with walls or without, two or three axes, and planes of two sizes.
fn world(dice: &mut Dice) -> WorldConfig {
    let axes = 2 + dice.below(2);
    let has_walls = dice.once_in(2);
    let layer = |plane: &str, [width, height]: [usize; 2], dice: &mut Dice| {
        let mut rows = String::new();
        for at in 0..width * height {
            let is_wall = at > 0 && dice.below(100) < 20;
            rows.push(if is_wall { '#' } else { '.' });
            if at % width == width - 1 {
                rows.push('\n');
            }
        }
        format!("[[layer]]\nname = \"blocked\"\n{plane}drawing = \"\"\"\n{rows}\"\"\"\n")
    };
    let layers = match has_walls {
        true => layer("", [40, 24], dice) + &layer("plane = \"cave\"\n", [16, 24], dice),
        false => String::new(),
    };
    let edges = |edge: f64| format!("{:?}", vec![edge; axes]);
    let regions = match dice.once_in(2) {
        true => format!(
            "publishes = {}\nsubscribes = {}\n",
            edges(12.0),
            edges(25.5)
        ),
        false => String::new(),
    };
    let file = format!(
        "[world]\nsize = {}\naoi = 10\naoi_leave = {}\ncapacity = 300\nseed = {}\nvisible_max = {}\n\
         [limits]\natomic_per_tick = 40\ntimed_commands = 200\nnotifications_per_tick = 400\nclients = {CLIENTS}\n\
         [logic]\nbuiltin = [\"move\", \"roam\"]\n\
         [commands]\nmove = {{ speed_max = 3, per_tick = 0 }}\nroam = {{ step = 6 }}\n\
         [[plane]]\nname = \"cave\"\nsize = [16, 24]\ncopies = {}\n\
         [[plane]]\nname = \"house\"\nsize = [8, 8]\ncopies = {}\n\
         [[kind]]\nname = \"player\"\npopulation = 40\n{regions}attributes = [\
         {{ name = \"own\", type = \"i32\", merge = \"last\", audience = \"state\" }},\
         {{ name = \"others\", type = \"i32\", merge = \"max\", audience = \"state\" }}]\n\
         [[kind]]\nname = \"ghost\"\nplane = \"cave\"\npopulation = 3\nattributes = [\
         {{ name = \"others\", type = \"i32\", merge = \"max\", audience = \"state\" }}]\n\
         [[every]]\nkind = \"ghost\"\nticks = 2\ncommand = \"roam\"\n\
         [[zone]]\nname = \"aura\"\ncarrier = \"player\"\nradius = {}\n{layers}",
        ["[40, 24]", "[40, 24, 12]"][axes - 2],
        dice.pick(&["10", "13", "20"]),
        dice.below(1 << 30),
        dice.pick(&[3, 40]),
        dice.pick(&[1, 4, 9]),
        dice.pick(&[1, 12]),
        dice.pick(&["3", "11"]),
    );
    let config =
        world_file::parse(&file, "planes").unwrap_or_else(|error| panic!("{error}\n{file}"));
    let scripts = SCRIPTS
        .replace("others = 1000", "others.max(1000)")
        .replace("me.others = others", "me.others.max(others)");
    with_texts(&config, vec![Text::new("planes.rs", scripts)])
}

fn plane_at(atlas: &Atlas, [x, y, _]: [i32; 3]) -> u32 {
    let plane = atlas.plane_of([x, y]);
    assert!(
        atlas.rectangle(plane).contains([x, y]),
        "{x} {y} is between planes"
    );
    plane
}

/// What a client is sent is in the plane of its entity.
fn run(seed: u64) -> [usize; 4] {
    let mut dice = Dice::new(seed);
    let config = world(&mut dice);
    let axes = config.dimensions();
    let atlas = &config.schema.atlas;
    let count = atlas.count() as usize;
    let column = |name: &str| config.schema.column(name).unwrap();
    let (own, others) = (column("own"), column("others"));
    let mut parity = Parity::new(&config);
    let (mut seen, mut heard, mut near, mut hops) = (0, 0, 0, 0);
    for tick in 0..30 {
        let mut frame = Frame::new(Tick(tick));
        if tick == 0 {
            frame.populate(&config);
            for client in 0..CLIENTS {
                frame.observers.push(ObserverChange {
                    client: ClientRow(client),
                    index: 0,
                    observer: Some(Observer {
                        target: Target::Entity(EntityId::new(client, 1)),
                        radius: 10 * UNIT,
                    }),
                });
            }
        }
        let alive = parity.oracle.alive();
        let is_player = |e: &&EntityId| parity.oracle.slots[e.slot.index()].kind == 0;
        let players: Vec<EntityId> = alive.iter().filter(is_player).copied().collect();
        let place = |dice: &mut Dice| {
            let extent = atlas.extent();
            let mut place = vec![
                dice.within(-9 * UNIT..=extent[0]),
                dice.within(0..=extent[1]),
            ];
            place.resize(axes, 5 * UNIT);
            place
        };
        for &player in &players {
            let number = dice.below(count + 2) as i32 - 1;
            let local = [0; 3].map(|_| dice.within(0..=20 * UNIT));
            let words = [&[number], &local[..axes]].concat();
            let reach = dice.pick(&[UNIT, 12 * UNIT, 500 * UNIT, i32::MAX]);
            let (name, words) = match dice.below(12) {
                0 => ("hop", words),
                1 => ("leap", words),
                2..6 => ("look", [&place(&mut dice)[..], &[reach]].concat()),
                6 => ("yell", vec![reach]),
                7 => ("bring", place(&mut dice)),
                8 if player.slot.0 >= CLIENTS && dice.once_in(4) => {
                    ("wreck", vec![player.reference().0])
                }
                _ => {
                    let step = local.map(|axis| axis - 10 * UNIT);
                    ("throw", step[..axes].to_vec())
                }
            };
            frame.push(player, 0, command(&config, name), &words);
            if dice.once_in(5) {
                let words = [0; 3].map(|_| dice.within(-UNIT..=UNIT));
                frame.push(player, 1, command(&config, "throw"), &words[..axes]);
            }
        }
        frame.order(config.seed);
        let before: Vec<(EntityId, u32)> = players
            .iter()
            .map(|&e| (e, plane_at(atlas, parity.oracle.position(e.slot.0))))
            .collect();
        let output = parity.tick(&frame);
        for entity in parity.oracle.alive() {
            plane_at(atlas, parity.oracle.position(entity.slot.0));
        }
        for (player, plane) in before {
            let after = plane_at(atlas, parity.oracle.position(player.slot.0));
            hops += usize::from(after != plane);
            let row = &parity.oracle.slots[player.slot.index()].row;
            assert_eq!(
                row[others], 0,
                "seed {seed}, tick {tick}: {player:?} in {plane}"
            );
            near += row[own] as usize;
        }
        let plane_of = |slot: u32| plane_at(atlas, parity.oracle.position(slot));
        for (&client, deliveries) in &output.deliveries {
            for delivery in deliveries.iter().filter(|d| d.kind() != Delivery::LEAVE) {
                let found = plane_of(delivery.slot().0);
                assert_eq!(
                    found,
                    plane_of(client),
                    "seed {seed}, tick {tick}: {delivery:?}"
                );
                seen += 1;
            }
        }
        for (&client, hearings) in &output.hearings {
            for &hearing in hearings {
                let from = output.notifications[hearing as usize].words()[0];
                assert_eq!(from as u32, plane_of(client), "seed {seed}, tick {tick}");
                heard += 1;
            }
        }
        if tick % 11 == 5 {
            parity.restart(tick % 2 == 0);
        }
    }
    [seen, heard, near, hops]
}

#[test]
fn nothing_of_a_plane_reaches_into_another() {
    let mut all = [0; 4];
    for seed in 1..=12 {
        let found = run(seed);
        all = [0, 1, 2, 3].map(|i| all[i] + found[i]);
    }
    assert!(all.iter().all(|&n| n > 100), "{all:?}");
}

/// A step and a move to another plane in one tick: the atomic command comes last.
#[test]
fn an_atomic_move_to_a_plane_counts_beside_a_step() {
    let file = "[world]\nsize = [16, 16]\naoi = 5\ncapacity = 4\n[limits]\natomic_per_tick = 4\n\
        [logic]\nbuiltin = []\n[[plane]]\nname = \"cave\"\nsize = [8, 8]\ncopies = 3\n\
        [[kind]]\nname = \"player\"\n";
    let config = world_file::parse(file, "planes").unwrap_or_else(|error| panic!("{error}"));
    let scripts = "
        #[command(clients)] fn walk(me: Entity, step: Point) { me.position += step; }
        #[command(clients, atomic)]
        fn enter(me: Entity) { me.position = in_plane(first_plane(\"cave\") + 1, point(2.0, 3.0)); }
        #[command(clients, atomic)]
        fn leave(me: Entity) { me.position = in_plane(0, point(1.0, 1.0)); }
    ";
    let config = with_texts(&config, vec![Text::new("planes.rs", scripts)]);
    let mut parity = Parity::new(&config);
    let mut frame = Frame::new(Tick(0));
    frame.spawn_at(0, 0, &[UNIT, UNIT]);
    parity.tick(&frame);
    let me = EntityId::new(0, 1);
    let atlas = &config.schema.atlas;
    for (tick, name, expected) in [
        (1, "enter", atlas.place_in(2, [2 * UNIT, 3 * UNIT])),
        (2, "leave", [UNIT, UNIT]),
    ] {
        let mut frame = Frame::new(Tick(tick));
        frame.push(me, 0, command(&config, "walk"), &[UNIT, UNIT]);
        frame.push(me, 1, command(&config, name), &[]);
        parity.tick(&frame);
        let [x, y, _] = parity.oracle.position(0);
        assert_eq!([x, y], expected, "{name}");
    }
    // A step of any length ends at the plane's edge, as at the world's.
    for tick in 3..6 {
        let mut frame = Frame::new(Tick(tick));
        frame.push(me, 0, command(&config, "walk"), &[0, 7 * UNIT]);
        parity.tick(&frame);
    }
    assert_eq!(parity.oracle.position(0)[1], 16 * UNIT - 1);
}
