//! Random world files.

use shared::{InterestMode, WorldConfig};

use super::regions::RegionsFile;
use crate::dice::Dice;
use crate::scripts::{deals, flows, gatherings, holdings, hooks, setters, shots, with_texts};

/// A world of small numbers, with every kind of rule and limit now and then.
pub fn random_world(dice: &mut Dice) -> WorldConfig {
    let (text, interest) = random_world_file(dice);
    let config = world_file::parse(&text, "random");
    let mut config = config.unwrap_or_else(|error| panic!("{error}\n{text}"));
    config.interest = interest;
    let mut texts = vec![];
    if !dice.once_in(3) {
        texts.push(setters(&config.schema));
    }
    if config.limits.rewind_ticks > 0 {
        texts.push(shots());
    }
    if !config.schema.fields.is_empty() {
        texts.push(flows());
    }
    if config.schema.holder_column().is_some() {
        texts.push(holdings(config.limits.timed_commands > 0));
    }
    if !config.schema.groups.is_empty() {
        texts.push(gatherings(&config.schema));
    }
    if config.limits.atomic_per_tick > 0 {
        texts.push(deals(dice, &config));
    }
    if config.limits.timed_commands > 0 {
        texts.extend(hooks(dice, &config));
    }
    match texts.is_empty() {
        true => config,
        false => with_texts(&config, texts),
    }
}

/// Its text, and what its observers see.
fn random_world_file(dice: &mut Dice) -> (String, InterestMode) {
    let axes = 2 + dice.below(2);
    let (size_max, aoi): (f64, f64) = dice.pick(&SIZES);
    // Not a multiple of the AOI, and not the same along all axes.
    let size: Vec<f64> = (0..axes)
        .map(|_| (size_max * (0.5 + dice.below(1000) as f64 / 2000.0)).max(1.0))
        .collect();
    let visible_max = dice.pick(&[0, 0, 1, 2, 5, 20, 1000, 3000]);
    let interest = dice.pick(&[
        InterestMode::Exact,
        InterestMode::Exact,
        InterestMode::Buckets,
    ]);
    let aoi_leave = match interest == InterestMode::Exact && visible_max > 0 && dice.once_in(2) {
        true => dice.pick(&[1.0 + 1.0 / 4096.0, 1.1, 1.5, 1.99]) * aoi,
        false => aoi,
    };
    let aoi_leave = aoi_leave.min(262_143.0);
    let capacity = dice.pick(&[1, 2, 10, 40, 80, 150]);
    let player_population = dice.below(capacity / 2 + 1);
    let clients = dice.pick(&[1, 3, 12, 25]);
    let observers = dice.pick(&[1, 1, 2, 5]);
    let regions = RegionsFile::new(dice, interest, axes, size_max, aoi);
    let limits = limits(dice);
    let budget = match dice.once_in(3) {
        true => format!("[logic]\nvisits = {}\n", dice.pick(&[1, 2, 5, 20])),
        false => String::new(),
    };
    let commands = commands(dice, size_max, aoi) + &usages(dice);
    let mut kinds = kinds(dice, player_population);
    let respawns = respawns(dice, &mut kinds);
    let every = every(dice, axes, &kinds);
    let zones = match dice.once_in(2) {
        true => zones(dice, &size, aoi, &kinds),
        false => String::new(),
    };
    let motion = motion(dice, axes, visible_max, &mut kinds);
    let seed = dice.below(1 << 30);
    let visibility = match visible_max {
        0 => String::new(),
        _ => visibility(seed, &mut kinds),
    };
    let things = things(seed, capacity);
    let fillers = fillers(seed);
    // Where there are others before, these are no players.
    if !things.is_empty() && fillers.is_empty() {
        groups(seed, &mut kinds[0]);
    }
    let kinds: String = kinds
        .into_iter()
        .zip(respawns)
        .map(|(kind, respawn)| {
            let ends = [0.1, 0.9].map(|end| format!("{:?}", vec![end; axes]));
            let respawn = respawn
                .replace("AREA", &ends.join(", "))
                .replace("[CENTER]", &format!("{:?}", vec![0.9; axes]));
            format!(
                "[[kind]]\nname = \"{}\"\npopulation = {}\n{}{respawn}{}attributes = [{}]\n",
                kind.name,
                kind.population,
                dice.pick(&["", "", "", "born = \"roam\"\n"]),
                regions.kind(dice),
                kind.attributes,
            )
        })
        .collect();
    let shared = match dice.once_in(3) {
        true => SHARED,
        false => "",
    };
    let kinds = kinds + &things;
    let text = format!(
        "[world]\nsize = {size:?}\naoi = {aoi:?}\naoi_leave = {aoi_leave:?}\ncapacity = {capacity}\nseed = {seed}\n\
         visible_max = {visible_max}\n{motion}{shared}\
         [limits]\nclients = {clients}\nobservers_per_client = {observers}\n\
         {limits}{}{budget}{commands}{visibility}{fillers}{kinds}{every}{zones}",
        regions.limits,
    );
    let text = match visibility.contains("hides") {
        true => text.replace(
            "subscriptions_per_client = 3",
            "subscriptions_per_client = 0",
        ),
        false => text,
    };
    let walls = match dice.once_in(3) {
        true => walls(dice, &size),
        false => String::new(),
    };
    let text = match !walls.is_empty() && dice.once_in(2) {
        true => with_doors(dice, &text),
        false => text,
    };
    let fields = match walls.is_empty() {
        true => String::new(),
        false => fields(seed, &size, walls.len()),
    };
    let is_walled = !walls.is_empty() && visible_max > 0 && seed >> 12 & 1 == 0;
    let sight = match (is_walled, visibility.is_empty()) {
        (false, _) => "",
        (true, true) => "[visibility]\nline_of_sight = true\n",
        (true, false) => {
            let with_walls = "[visibility]\nline_of_sight = true\n";
            let text = text.replace("[visibility]\n", with_walls);
            return (text + &walls + &fields, interest);
        }
    };
    (text + &walls + &fields + sight, interest)
}

/// Kinds of things of which players get some, and which accounts may keep; most worlds have none.
fn things(seed: usize, capacity: usize) -> String {
    if !(seed / 1024).is_multiple_of(4) {
        return String::new();
    }
    let end = |bit: usize| {
        let end = match seed >> (12 + bit) & 1 {
            0 => "on_holder_end = \"despawn\"\n",
            _ => "",
        };
        let kept = match seed >> (14 + bit) & 1 {
            0 => "persist = true\n",
            _ => "",
        };
        format!("{end}{kept}")
    };
    format!(
        "[[kind]]\nname = \"pouch\"\nplace = \"none\"\npopulation = {}\n{}\
         [[kind]]\nname = \"coin\"\nplace = \"none\"\npopulation = {}\n{}attributes = [\
         {{ name = \"worth\", type = \"i32\", default = {{ from = 1, to = 9 }}, audience = \"state\" }}]\n",
        capacity / 20,
        end(0),
        capacity / 10,
        end(1),
    )
}

/// The attributes of players that refer to groups: none, one or two.
fn groups(seed: usize, players: &mut Kind) {
    for (bit, name) in [(14, "party"), (15, "guild")] {
        if seed >> bit & 1 == 1 {
            let comma = if players.attributes.is_empty() {
                ""
            } else {
                ", "
            };
            players.attributes += &format!(
                "{comma}{{ name = \"{name}\", type = \"entity\", group = true, audience = \"state\" }}"
            );
        }
    }
}

/// `[visibility]`, and the attributes of kinds that it names; half of the worlds have none.
fn visibility(seed: usize, kinds: &mut [Kind]) -> String {
    let bit = |bit: usize| seed >> bit & 1 == 1;
    if bit(5) {
        return String::new();
    }
    let hides = if bit(6) { "veil" } else { "insight" };
    for (number, kind) in kinds.iter_mut().enumerate() {
        for (name, is_there) in [
            ("veil", !bit(7) || number % 2 == 0),
            ("insight", number < 2),
        ] {
            if !is_there {
                continue;
            }
            let comma = if kind.attributes.is_empty() { "" } else { ", " };
            let audience = if bit(8) { "hidden" } else { "state" };
            let merge = if bit(9) { "last" } else { "max" };
            kind.attributes += &format!(
                "{comma}{{ name = \"{name}\", type = \"i32\", merge = \"{merge}\", min = {}, \
                 max = 3, default = {{ one_of = [0, 0, 1, 2, 3] }}, audience = \"{audience}\" }}",
                if bit(10) { 0 } else { i32::MIN },
            );
        }
    }
    let reveals = if bit(11) {
        ""
    } else {
        "reveals = \"insight\"\n"
    };
    format!("[visibility]\nhides = \"{hides}\"\n{reveals}")
}

/// Flow fields of worlds with few cells; most worlds have none.
fn fields(seed: usize, size: &[f64], cells: usize) -> String {
    if cells > 1000 || !(seed / 16).is_multiple_of(3) {
        return String::new();
    }
    // The first cell of a drawing is free.
    let corner: Vec<f64> = (size.iter().enumerate())
        .map(|(axis, &side)| match axis {
            1 => (side * 4096.0).floor() / 4096.0,
            _ => 0.0,
        })
        .collect();
    let fields = [
        "kind = \"player\"".to_owned(),
        "kind = \"rock\"".to_owned(),
        format!("places = [{corner:?}]"),
    ];
    let fields = fields.into_iter().enumerate().map(|(number, goal)| {
        let ticks = [1, 2, 3, 7][seed / 64 % 4] + number;
        format!("[[field]]\nname = \"field {number}\"\n{goal}\nrefresh_ticks = {ticks}\n")
    });
    fields.collect()
}

/// Kinds with so many columns that those of all others are beyond 64, 128 or 192. Most worlds have
/// none.
fn fillers(seed: usize) -> String {
    let count = match seed % 16 {
        0 => 1 + seed / 16 % 4,
        _ => 0,
    };
    let kinds = ["moss", "fern", "reed", "vine"].into_iter().take(count);
    let kinds = kinds.zip(["state", "private", "hidden", "state"]);
    let kinds = kinds.map(|(name, audience)| {
        format!(
            "[[kind]]\nname = \"{name}\"\nattributes = [{{ name = \"{name}s\", \
             type = {{ array = \"i32\", length = 57 }}, max = 9999, audience = \"{audience}\" }}]\n"
        )
    });
    kinds.collect()
}

/// Lets the entities of a kind block cells.
fn with_doors(dice: &mut Dice, text: &str) -> String {
    let kind = format!("name = \"{}\"\n", dice.pick(&["rock", "player"]));
    let cells = [0; 2].map(|_| dice.pick(&[1, 2, 3, 7]));
    text.replacen(&kind, &format!("{kind}blocks = {cells:?}\n"), 1)
}

/// The lines of `[world]` about movement. Where rules move entities, their steps often are as
/// the attributes declare.
fn motion(dice: &mut Dice, axes: usize, visible_max: u32, kinds: &mut [Kind]) -> String {
    if visible_max == 0 || dice.once_in(4) {
        return "motion = false\n".to_owned();
    }
    let tolerance = dice.pick(&[0.0, 0.0, 1.0 / 4096.0, 0.3, 2.0, 262_143.0]);
    let mut lines = format!("wire_tolerance = {tolerance:?}\n");
    if dice.once_in(2) {
        let names = &["vx", "vy", "vz"][..axes];
        lines += &format!("velocity = {names:?}\n");
        for kind in kinds.iter_mut().take(2) {
            for name in names {
                let comma = if kind.attributes.is_empty() { "" } else { ", " };
                kind.attributes += &format!(
                    "{comma}{{ name = \"{name}\", type = \"fixed\", default = 1.5, min = -3, \
                     max = 3, audience = \"hidden\" }}"
                );
            }
        }
    }
    lines
}

/// Lines of `[limits]`, most of them missing.
fn limits(dice: &mut Dice) -> String {
    let subscriptions = dice.pick(&[0, 0, 3]);
    let mut limit = |once_in: usize, key: &str, from: &[u32]| match dice.once_in(once_in) {
        true => format!("{key} = {}\n", dice.pick(from)),
        false => String::new(),
    };
    [
        format!("subscriptions_per_client = {subscriptions}\n"),
        limit(4, "commands_per_tick", &[1, 5, 20]),
        limit(4, "updates_per_tick", &[1, 10, 40]),
        limit(4, "deliveries_per_tick", &[1, 10, 60]),
        limit(2, "client_hearings_per_tick", &[1, 1, 3]),
        limit(2, "rewind_ticks", &[1, 2, 3, 7, 64]),
        limit(2, "timed_commands", &[1, 4, 20, 500]),
        limit(2, "notifications_per_tick", &[1, 1, 2, 100_000]),
        limit(2, "atomic_per_tick", &[1, 2, 5, 1000]),
    ]
    .concat()
}

/// `[commands]`.
fn commands(dice: &mut Dice, size_max: f64, aoi: f64) -> String {
    let is_loud = dice.once_in(2);
    let reach = |dice: &mut Dice| dice.pick(&[0.0, 1.0, aoi / 2.0, aoi, size_max]);
    let loudness = |dice: &mut Dice| if is_loud { reach(dice) } else { 0.0 };
    format!(
        "[commands]\nmove.speed_max = {:?}\nroam.step = {:?}\npick.reach = {:?}\n\
         strike.reach = {:?}\nstrike.damage = {}\nheal.reach = {:?}\nheal.amount = {}\n\
         blast.reach = {:?}\nblast.radius = {:?}\nblast.damage = {}\n\
         blast.ember_ticks = {}\nblast.ember_damage = {}\nblast.sound = {:?}\n\
         shout.radius_max = {:?}\n",
        reach(dice),
        reach(dice),
        reach(dice),
        reach(dice),
        dice.pick(&[0, 5, i32::MAX]),
        reach(dice),
        dice.pick(&[0, 4, i32::MAX]),
        reach(dice),
        reach(dice),
        dice.pick(&[0, 3, i32::MAX]),
        dice.pick(&[0, 1, 3, 1_000_000]),
        dice.pick(&[0, 1, 30, i32::MAX]),
        loudness(dice),
        loudness(dice),
    )
}

/// How often clients may use commands: mostly once in a tick, as a world that does not say.
fn usages(dice: &mut Dice) -> String {
    let mut lines = String::new();
    for command in ["move", "strike", "heal", "blast", "pick", "shout"] {
        if dice.once_in(2) {
            let most = dice.pick(&[0, 0, 1, 2, 3, 255]);
            lines += &format!("{command}.per_tick = {most}\n");
        }
        if dice.once_in(6) {
            let ticks = dice.pick(&[0, 1, 2, 3, 8, 1_000_000]);
            lines += &format!("{command}.cooldown = {ticks}\n");
        }
    }
    lines
}

/// A `[[kind]]` of the file.
struct Kind {
    name: &'static str,
    /// The attributes as the file lists them.
    attributes: String,
    population: usize,
}

impl Kind {
    fn has_hp(&self) -> bool {
        self.attributes.contains("hp")
    }
}

/// The attributes that kinds choose from, as a file lists them.
struct Attributes {
    /// Hit points of 0 to 100.
    hp: String,
    hp_below_zero: String,
    hp_unbounded: String,
    owner: String,
    /// One attribute of each other type.
    extras: String,
}

impl Attributes {
    fn new(dice: &mut Dice) -> Attributes {
        let rules = ["sum", "min", "max", "first", "last"];
        // Most commands add to hit points.
        let hp_rule = match dice.once_in(3) {
            true => dice.pick(&rules),
            false => "sum",
        };
        let hp_audience = dice.pick(&["state", "movement", "private", "hidden"]);
        let hp = |bounds: &str| {
            format!(
                "{{ name = \"hp\", type = \"i32\", merge = \"{hp_rule}\", \
                 audience = \"{hp_audience}\", {bounds} }}"
            )
        };
        let owner = format!(
            "{{ name = \"owner\", type = \"entity\", merge = \"{}\", audience = \"{}\", \
             tells_owner = {} }}",
            dice.pick(&rules[3..]),
            dice.pick(&["state", "state", "private", "hidden"]),
            !dice.once_in(4),
        );
        let audiences = ["state", "private", "hidden"];
        let extras = format!(
            "{{ name = \"team\", type = \"symbol\", symbols = [\"red\", \"blue\"], \
             default = {}, audience = \"{}\" }}, \
             {{ name = \"luck\", type = \"fixed\", default = {}, audience = \"{}\" }}, \
             {{ name = \"shy\", type = \"bool\", default = {}, audience = \"{}\" }}, \
             {{ name = \"slot\", type = {{ array = \"i32\", length = 3 }}, default = [1, 2, 3], \
             max = 99, audience = \"state\" }}, \
             {{ name = \"gold\", type = \"i64\", merge = \"{}\", default = 4_294_967_290, min = -3, \
             max = {}, audience = \"{}\" }}, \
             {{ name = \"bag\", type = {{ map = \"i32\", keys = [\"ore\", \"blue\"] }}, min = 0, \
             audience = \"private\" }}",
            dice.pick(&[
                "\"red\"",
                "{ in_turn = [\"blue\", \"red\"] }",
                "{ one_of = [\"red\", \"blue\", \"red\"] }",
            ]),
            dice.pick(&audiences),
            dice.pick(&["0.25", "{ from = -0.5, to = 2 }", "{ one_of = [1.5] }"]),
            dice.pick(&audiences),
            dice.pick(&["true", "{ one_of = [false, true] }"]),
            dice.pick(&audiences),
            dice.pick(&["sum", "sum", "min", "max", "first", "last"]),
            dice.pick(&["4_294_967_300", "9_223_372_036_854_775_807"]),
            dice.pick(&audiences),
        );
        Attributes {
            hp: hp(dice.pick(&[
                "min = 0, max = 100, default = 50",
                "min = 0, max = 100, default = 50",
                "min = 0, max = 100, default = { from = 30, to = 70 }",
                "min = 0, max = 100, default = { in_turn = [20, 50, 90] }",
            ])),
            hp_below_zero: hp(dice.pick(&[
                "min = -20, max = -1, default = -10",
                "min = -20, max = -1, default = { from = -10, to = -5 }",
            ])),
            // Attributes sent with movement must fit a few bits.
            hp_unbounded: match hp_audience {
                "movement" => hp("min = 0, max = 9, default = 5"),
                _ => hp(dice.pick(&["default = 7", "default = { from = 5, to = 2147483647 }"])),
            },
            owner,
            extras,
        }
    }
}

fn kinds(dice: &mut Dice, player_population: usize) -> Vec<Kind> {
    let all = Attributes::new(dice);
    let kind = |name, attributes: &str| Kind {
        name,
        attributes: attributes.to_owned(),
        population: 0,
    };
    let with_items = dice.once_in(2);
    let mut kinds = vec![kind("player", &all.hp), kind("rock", "")];
    kinds[0].population = player_population;
    if !dice.once_in(4) {
        kinds.push(kind("npc", &all.hp_unbounded));
        kinds.push(kind("ghost", &all.hp_below_zero));
    }
    if with_items {
        kinds.push(kind("item", &all.owner));
        kinds.push(kind("chest", &format!("{}, {}", all.hp, all.owner)));
    }
    if dice.once_in(5) {
        kinds[0].attributes.clear();
    }
    if dice.once_in(3) {
        for kind in kinds.iter_mut().take(1 + dice.below(3)) {
            let comma = if kind.attributes.is_empty() { "" } else { ", " };
            kind.attributes = format!("{}{comma}{}", kind.attributes, all.extras);
        }
    }
    kinds
}

/// One line for each kind, or none: its respawn time. The hit points of kinds that have
/// one get the value at which they fall.
fn respawns(dice: &mut Dice, kinds: &mut [Kind]) -> Vec<String> {
    let respawn = |kind: &mut Kind| {
        if !kind.has_hp() || !dice.once_in(2) {
            return String::new();
        }
        let at = match kind.attributes.contains("max = -1") {
            true => dice.pick(&[-20, -20, -11]),
            false => dice.pick(&[0, 0, 4]),
        };
        let hp = "name = \"hp\", ";
        let with_fall = format!("{hp}falls_at = {at}, ");
        kind.attributes = kind.attributes.replace(hp, &with_fall);
        let spawn = dice.pick(&[
            "",
            "spawn = { area = [AREA] }\n",
            "spawn = { center = [CENTER], radius = 0.8 }\n",
        ]);
        format!(
            "respawn_ticks = {}\n{spawn}",
            dice.pick(&[1, 2, 7, 1_000_000])
        )
    };
    kinds.iter_mut().map(respawn).collect()
}

/// Up to three `[[every]]` rules.
fn every(dice: &mut Dice, axes: usize, kinds: &[Kind]) -> String {
    let names: Vec<&str> = kinds.iter().map(|kind| kind.name).collect();
    let can_blast = |kind: &Kind| kind.attributes.contains("type = \"i32\", merge = \"sum\"");
    let commands = if kinds.iter().any(can_blast) { 3 } else { 2 };
    let words = vec!["1.5"; axes].join(", ");
    (0..dice.below(4))
        .map(|_| {
            let at = match dice.once_in(2) {
                true => "at = \"own\"".to_owned(),
                false => format!("words = [{words}]"),
            };
            let command = match dice.below(commands) {
                0 => "command = \"roam\"".to_owned(),
                1 => format!("command = \"move\"\n{at}"),
                _ => format!("command = \"blast\"\n{at}"),
            };
            format!(
                "[[every]]\nkind = \"{}\"\nticks = {}\n{command}\n",
                dice.pick(&names),
                dice.pick(&[1, 2, 3, 7, 1_000_000]),
            )
        })
        .collect()
}

/// A layer of walls, but for worlds that would need many cells.
fn walls(dice: &mut Dice, size: &[f64]) -> String {
    let cell: f64 = dice.pick(&[0.0625, 0.5, 1.0, 2.0, 8.0, 64.0]);
    let [width, height] = [0, 1].map(|axis| (size[axis] / cell).ceil());
    if width * height > 20_000.0 || width.max(height) > 8192.0 {
        return String::new();
    }
    let [width, height] = [width, height].map(|cells| cells as usize);
    let part = dice.pick(&[5, 20, 60]);
    let mut drawing = String::new();
    for y in 0..height {
        for x in 0..width {
            let is_wall = x + y > 0 && dice.below(100) < part;
            drawing.push(if is_wall { '#' } else { '.' });
        }
        drawing.push('\n');
    }
    format!("[[layer]]\nname = \"blocked\"\ncell = {cell:?}\ndrawing = \"\"\"\n{drawing}\"\"\"\n")
}

/// What the whole world shares.
const SHARED: &str = "attributes = [\n\
    { name = \"round\", type = \"i32\", default = 3, min = 0, max = 1000, audience = \"state\" },\n\
    { name = \"champion\", type = \"entity\", audience = \"hidden\" },\n]\n";

/// Up to five zones, some of which overlap, and some of which are carried.
fn zones(dice: &mut Dice, size: &[f64], aoi: f64, kinds: &[Kind]) -> String {
    let names: Vec<&str> = kinds.iter().map(|kind| kind.name).collect();
    let mut text = String::new();
    for number in 0..1 + dice.below(5) {
        let share = |dice: &mut Dice| dice.below(1000) as f64 / 1000.0;
        let place: Vec<f64> = size.iter().map(|side| side * share(dice)).collect();
        text += &format!("[[zone]]\nname = \"zone {number}\"\n");
        text += &match dice.below(4) {
            0 => {
                let far: Vec<f64> = (place.iter().zip(size))
                    .map(|(low, side)| low + (side - low) * share(dice))
                    .collect();
                format!("area = [{place:?}, {far:?}]\n")
            }
            1 => format!(
                "center = {place:?}\nradius = {:?}\n",
                (aoi * 2.0 * share(dice)).min(262_143.0)
            ),
            2 => {
                let radius = (aoi * share(dice)).min(30_000.0);
                let kind = dice.pick(&names);
                format!("carrier = \"{kind}\"\nradius = {radius:?}\n")
            }
            _ => {
                let edge = (aoi * share(dice)).min(10_000.0);
                let (low, high) = (vec![-edge; size.len()], vec![edge / 2.0; size.len()]);
                let kind = dice.pick(&names);
                format!("carrier = \"{kind}\"\narea = [{low:?}, {high:?}]\n")
            }
        };
    }
    text
}

/// The longest side of the world, and its AOI.
const SIZES: [(f64, f64); 9] = [
    (1.0, 1.0),
    (30.0, 50.0),
    (40.0, 7.5),
    (50.0, 12.25),
    (100.0, 10.0),
    (100.0, 33.3),
    (1000.0, 8.0),
    (262_143.0, 1.0),
    (262_143.0, 262_143.0),
];
