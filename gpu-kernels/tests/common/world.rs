//! Random worlds, and random frames for them: everything a caller may hand to a
//! backend, sense and nonsense.

mod regions;

use gpu_kernels::{After, Frame, Observer, ObserverChange, SlotState, Target};
use shared::config::DELAY_TICKS_MAX;
use shared::{ClientRow, CommandKind, EntityId, EntityRef, Slot, WorldConfig};

use super::dice::Dice;
use super::oracle::Oracle;
use regions::RegionsFile;

/// How a random world is populated and played.
pub struct Play {
    pub config: WorldConfig,
    placement: Placement,
    /// Births that a tick asks for, at most.
    births_max: usize,
    commands_max: usize,
    /// Commands that a tick puts off, at most.
    after_max: usize,
    /// One in so many of the resting slots is released each tick.
    release_one_in: usize,
}

#[derive(Clone, Copy, Debug)]
enum Placement {
    /// The engine chooses.
    Anywhere,
    /// Within a small box.
    Crowd([i32; 3]),
    /// At the world's faces and around bucket borders.
    Borders,
    /// All on one spot.
    Spot([i32; 3]),
}

impl Play {
    pub fn new(dice: &mut Dice) -> Play {
        let config = random_world(dice);
        let spot = config.size_raw().map(|s| dice.within(0..=s - 1));
        Play {
            placement: dice.pick(&[
                Placement::Anywhere,
                Placement::Crowd(spot),
                Placement::Crowd(config.size_raw()),
                Placement::Borders,
                Placement::Spot(spot),
            ]),
            births_max: dice.pick(&[0, 1, 4, 10]),
            commands_max: dice.pick(&[0, 10, 40, 120]),
            after_max: dice.pick(&[0, 0, 3, 15]),
            release_one_in: dice.pick(&[1, 2, 6, 1000]),
            config,
        }
    }

    /// The next frame of a world that is in the oracle's state.
    pub fn frame(&self, dice: &mut Dice, oracle: &Oracle) -> Frame {
        let mut frame = Frame::new(oracle.tick);
        if oracle.tick.0 == 0 {
            frame.populate(&self.config);
            for _ in 0..dice.below(2 * self.config.schema.world.capacity as usize) {
                self.spawn(dice, &mut frame);
            }
        }
        for _ in 0..dice.below(self.births_max + 1) {
            self.spawn(dice, &mut frame);
        }
        for _ in 0..dice.below(self.commands_max + 1) {
            self.command(dice, oracle, &mut frame);
        }
        for _ in 0..dice.below(self.after_max + 1) {
            self.after(dice, oracle, &mut frame);
        }
        if dice.once_in(2) {
            frame.order(self.config.seed);
        } else {
            dice.shuffle(&mut frame.commands);
        }
        self.observers(dice, oracle, &mut frame);
        self.regions(dice, oracle, &mut frame);
        for slot in 0..oracle.slots.len() {
            let resting = oracle.slots[slot].state == SlotState::Resting;
            if resting && dice.once_in(self.release_one_in) {
                frame.release.push(Slot(slot as u32));
            }
        }
        if dice.once_in(4) {
            let slot = dice.below(oracle.slots.len() + 2) as u32;
            frame.release.push(Slot(slot));
            frame.release.push(Slot(dice.pick(&[slot, u32::MAX])));
        }
        frame
    }

    fn spawn(&self, dice: &mut Dice, frame: &mut Frame) {
        let kinds = self.config.schema.kinds.len() as u16;
        let kind = match dice.once_in(12) {
            true => dice.pick(&[kinds, u16::MAX]),
            false => dice.below(usize::from(kinds)) as u16,
        };
        let token = dice.any() as u32;
        if dice.once_in(15) {
            let words = [dice.pick(&[-1, 70_000, i32::MIN, i32::MAX]), token as i32];
            frame.push(EntityId::NONE, token, CommandKind::Spawn, &words);
            return;
        }
        match self.place(dice) {
            Some(place) => {
                frame.spawn_at(kind, token, &place[..self.config.dimensions()]);
            }
            None => frame.spawn(kind, token),
        }
    }

    /// A command like any other, but for a later tick, or embers of the server's.
    fn after(&self, dice: &mut Dice, oracle: &Oracle, frame: &mut Frame) {
        let before = frame.commands.len();
        if dice.once_in(3) {
            let near = self.point(dice);
            let mut words = near[..self.config.dimensions()].to_vec();
            let any = dice.any();
            words.push(dice.pick(&[1, 2, 5, 0, -1, i32::MIN, i32::MAX, any]));
            frame.push(EntityId::NONE, 0, CommandKind::Burn, &words);
        } else if dice.once_in(3) {
            self.spawn(dice, frame);
        } else {
            self.command(dice, oracle, frame);
        }
        let ticks = dice.pick(&[1, 1, 2, 3, 5, 10, DELAY_TICKS_MAX]);
        if let Some(&command) = frame.commands.get(before) {
            frame.after.push(After { ticks, command });
            frame.commands = frame.commands[..before].to_vec().into();
        }
    }

    fn place(&self, dice: &mut Dice) -> Option<[i32; 3]> {
        let size = self.config.size_raw();
        let aoi = self.config.schema.world.aoi.raw();
        if dice.once_in(20) {
            return Some([0; 3].map(|_| extreme(dice)));
        }
        match self.placement {
            Placement::Anywhere => None,
            Placement::Spot(spot) => Some(spot),
            Placement::Crowd(spot) => {
                let width = aoi / 2 + 1;
                Some(spot.map(|s| s.saturating_add(dice.within(-width..=width))))
            }
            Placement::Borders => Some(size.map(|size| {
                let border = dice.below((size / aoi) as usize + 1) as i32 * aoi;
                dice.pick(&[0, size - 1, border, border - 1, border + 1])
            })),
        }
    }

    fn command(&self, dice: &mut Dice, oracle: &Oracle, frame: &mut Frame) {
        let alive = oracle.alive();
        let entity = self.actor(dice, oracle, &alive);
        let sequence = dice.below(4) as u32;
        let dimensions = self.config.dimensions();
        if dice.once_in(12) {
            // Of a kind or a length that may not exist.
            let words = vec![0; dice.below(6)];
            frame.push(entity, sequence, CommandKind::Spawn, &words);
            let last = frame.commands.len() - 1;
            frame.commands[last].kind =
                dice.pick(&[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, u16::MAX]);
            return;
        }
        let kind = dice.pick(&CommandKind::ALL[1..]);
        let words = match kind {
            CommandKind::Move => {
                let speed = self.config.rules.move_speed_max.raw();
                (0..dimensions)
                    .map(|_| match dice.once_in(8) {
                        true => extreme(dice),
                        false => dice.within(-speed..=speed),
                    })
                    .collect()
            }
            CommandKind::Blast => {
                let near = match alive.is_empty() {
                    true => [0; 3],
                    false => oracle.position(dice.pick(&alive).slot.0),
                };
                (0..dimensions)
                    .map(|axis| match dice.once_in(6) {
                        true => extreme(dice),
                        false => near[axis] + dice.within(-100..=100),
                    })
                    .collect()
            }
            CommandKind::Shout => {
                let most = self.config.rules.shout_radius_max.raw();
                let radius = match dice.once_in(6) {
                    true => extreme(dice),
                    false => dice.within(0..=most),
                };
                vec![radius, dice.any()]
            }
            CommandKind::Strike | CommandKind::Heal | CommandKind::Pick => {
                vec![self.reference(dice, oracle, &alive)]
            }
            // Deaths are rarer than the rest.
            CommandKind::Despawn if !dice.once_in(3) => return,
            _ => vec![],
        };
        frame.push(entity, sequence, kind, &words);
    }

    /// Mostly someone alive; else someone dead, nobody, or who may be born in
    /// this very tick.
    fn actor(&self, dice: &mut Dice, oracle: &Oracle, alive: &[EntityId]) -> EntityId {
        if !alive.is_empty() && !dice.once_in(8) {
            return dice.pick(alive);
        }
        let slot = dice.below(oracle.slots.len());
        let generation = oracle.slots[slot].generation;
        dice.pick(&[
            EntityId::new(slot as u32, generation),
            EntityId::new(slot as u32, generation.wrapping_add(1)),
            EntityId::new(slot as u32, generation.wrapping_sub(1)),
            EntityId::new(oracle.slots.len() as u32, 1),
            EntityId::NONE,
        ])
    }

    fn reference(&self, dice: &mut Dice, oracle: &Oracle, alive: &[EntityId]) -> i32 {
        match dice.once_in(8) {
            true => {
                let any = dice.any();
                dice.pick(&[EntityRef::NONE.0, 0, i32::MIN, i32::MAX, any])
            }
            false => self.actor(dice, oracle, alive).reference().0,
        }
    }

    fn observers(&self, dice: &mut Dice, oracle: &Oracle, frame: &mut Frame) {
        let limits = &self.config.limits;
        let alive = oracle.alive();
        let first = oracle.tick.0 == 0;
        for _ in 0..dice.below(if first { 40 } else { 4 }) {
            let observer = (!dice.once_in(5)).then(|| Observer {
                target: match dice.once_in(3) {
                    true => Target::Point(self.point(dice)),
                    false => Target::Entity(self.actor(dice, oracle, &alive)),
                },
                radius: self.radius(dice),
            });
            let (clients, indexes) = (limits.clients as usize, limits.observers_per_client);
            let mut change = ObserverChange {
                client: ClientRow(dice.below(clients) as u32),
                index: dice.below(indexes as usize) as u32,
                observer,
            };
            if dice.once_in(10) {
                change.client = ClientRow(dice.pick(&[limits.clients, u32::MAX]));
            }
            if dice.once_in(10) {
                change.index = dice.pick(&[indexes, u32::MAX]);
            }
            frame.observers.push(change);
        }
        if dice.once_in(6) {
            let client = dice.below(limits.clients as usize + 1) as u32;
            frame.forget.push(ClientRow(dice.pick(&[client, u32::MAX])));
        }
    }

    fn point(&self, dice: &mut Dice) -> [i32; 3] {
        match self.place(dice) {
            Some(place) => place,
            None => self.config.size_raw().map(|s| dice.within(0..=s - 1)),
        }
    }

    fn radius(&self, dice: &mut Dice) -> i32 {
        let aoi = self.config.schema.world.aoi.raw();
        let some = dice.within(0..=aoi);
        dice.pick(&[aoi, aoi, some, some, 0, 1, -1, aoi + 1, i32::MAX, i32::MIN])
    }
}

fn extreme(dice: &mut Dice) -> i32 {
    let any = dice.any();
    dice.pick(&[
        i32::MIN,
        i32::MIN + 1,
        -1,
        0,
        1,
        i32::MAX - 1,
        i32::MAX,
        any,
    ])
}

fn random_world(dice: &mut Dice) -> WorldConfig {
    let text = random_world_file(dice);
    WorldConfig::parse(&text, "random").unwrap_or_else(|error| panic!("{error}\n{text}"))
}

fn random_world_file(dice: &mut Dice) -> String {
    let axes = 2 + dice.below(2);
    let (size_max, aoi): (f64, f64) = dice.pick(&[
        (1.0, 1.0),
        (30.0, 50.0),
        (40.0, 7.5),
        (50.0, 12.25),
        (100.0, 10.0),
        (100.0, 33.3),
        (1000.0, 8.0),
        (262_143.0, 1.0),
        (262_143.0, 262_143.0),
    ]);
    // Not a multiple of the AOI, and not the same along all axes.
    let size: Vec<f64> = (0..axes)
        .map(|_| (size_max * (0.5 + dice.below(1000) as f64 / 2000.0)).max(1.0))
        .collect();
    let visible_max = dice.pick(&[0, 0, 1, 2, 5, 20, 1000]);
    let interest = dice.pick(&["exact", "exact", "buckets"]);
    let capacity = dice.pick(&[1, 2, 10, 40, 80, 150]);
    let player_population = dice.below(capacity / 2 + 1);
    let clients = dice.pick(&[1, 3, 12, 25]);
    let observers = dice.pick(&[1, 1, 2, 5]);
    let regions = RegionsFile::new(dice, interest, axes, size_max, aoi);
    let few = |dice: &mut Dice, key: &str, from: &[usize]| match dice.once_in(4) {
        true => format!("{key} = {}\n", dice.pick(from)),
        false => String::new(),
    };
    let limits = [
        format!("subscriptions_per_client = {}\n", dice.pick(&[0, 0, 3])),
        few(dice, "commands_per_tick", &[1, 5, 20]),
        few(dice, "updates_per_tick", &[1, 10, 40]),
        few(dice, "deliveries_per_tick", &[1, 10, 60]),
        match dice.once_in(2) {
            true => format!("client_hearings_per_tick = {}\n", dice.pick(&[1, 1, 3])),
            false => String::new(),
        },
        match dice.once_in(2) {
            true => format!("timed_commands = {}\n", dice.pick(&[1, 4, 20, 500])),
            false => String::new(),
        },
        match dice.once_in(2) {
            true => format!(
                "notifications_per_tick = {}\n",
                dice.pick(&[1, 1, 2, 100_000])
            ),
            false => String::new(),
        },
    ]
    .concat();
    let reach = |dice: &mut Dice| dice.pick(&[0.0, 1.0, aoi / 2.0, aoi, size_max]);
    let is_loud = dice.once_in(2);
    let loudness = |dice: &mut Dice| if is_loud { reach(dice) } else { 0.0 };
    let commands = format!(
        "[commands]\nmove.speed_max = {:?}\nroam.step = {:?}\npick.reach = {:?}\n\
         strike = {{ reach = {:?}, damage = {} }}\nheal = {{ reach = {:?}, amount = {} }}\n\
         blast = {{ reach = {:?}, radius = {:?}, damage = {}, \
         ember_ticks = {}, ember_damage = {}, sound = {:?} }}\nshout.radius_max = {:?}\n",
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
    );
    let rules = ["sum", "sum", "min", "max", "first", "last"];
    let audiences = ["state", "movement", "private", "hidden"];
    let hp_rule = dice.pick(&rules);
    let hp_audience = dice.pick(&audiences);
    let hp = |bounds: &str| {
        format!(
            "{{ name = \"hp\", type = \"i32\", merge = \"{hp_rule}\", \
             audience = \"{hp_audience}\", {bounds} }}"
        )
    };
    let owner = format!(
        "{{ name = \"owner\", type = \"entity\", merge = \"{}\", audience = \"{}\" }}",
        dice.pick(&rules[2..]),
        dice.pick(&["state", "state", "private", "hidden"]),
    );
    let audiences = ["state", "private", "hidden"];
    let extras = format!(
        "{{ name = \"team\", type = \"symbol\", symbols = [\"red\", \"blue\"], default = \"red\", \
         audience = \"{}\" }}, {{ name = \"luck\", type = \"fixed\", default = 0.25, \
         audience = \"{}\" }}, {{ name = \"shy\", type = \"bool\", default = true, \
         audience = \"{}\" }}",
        dice.pick(&audiences),
        dice.pick(&audiences),
        dice.pick(&audiences),
    );
    let narrow = hp("min = 0, max = 100, default = 50");
    let below_zero = hp("min = -20, max = -1, default = -10");
    let unbounded = match hp_audience {
        "movement" => hp("min = 0, max = 9, default = 5"),
        _ => hp("default = 7"),
    };
    let with_items = dice.once_in(2);
    let mut kinds = vec![
        ("player", narrow.clone(), player_population),
        ("rock", String::new(), 0),
    ];
    if !dice.once_in(4) {
        kinds.push(("npc", unbounded, 0));
        kinds.push(("ghost", below_zero, 0));
    }
    if with_items {
        kinds.push(("item", owner.clone(), 0));
        kinds.push(("chest", format!("{narrow}, {owner}"), 0));
    }
    if dice.once_in(5) {
        kinds[0].1.clear();
    }
    if dice.once_in(3) {
        for (_, attributes, _) in kinds.iter_mut().take(1 + dice.below(3)) {
            let comma = if attributes.is_empty() { "" } else { ", " };
            *attributes = format!("{attributes}{comma}{extras}");
        }
    }
    let respawns: Vec<String> = kinds
        .iter()
        .map(
            |(_, attributes, _)| match attributes.contains("hp") && dice.once_in(2) {
                true => format!("respawn_ticks = {}\n", dice.pick(&[1, 2, 7, 1_000_000])),
                false => String::new(),
            },
        )
        .collect();
    let names: Vec<_> = kinds.iter().map(|&(name, ..)| name).collect();
    let zeros = vec!["1.5"; axes].join(", ");
    let every: String = (0..dice.below(4))
        .map(|_| {
            let has_hp = kinds
                .iter()
                .any(|(_, attributes, _)| attributes.contains("hp"));
            let command = match dice.below(if has_hp { 3 } else { 2 }) {
                0 => "command = \"roam\"".to_owned(),
                1 => format!("command = \"move\"\nwords = [{zeros}]"),
                _ => format!("command = \"blast\"\nwords = [{zeros}]"),
            };
            format!(
                "[[every]]\nkind = \"{}\"\nticks = {}\n{command}\n",
                dice.pick(&names),
                dice.pick(&[1, 2, 3, 7, 1_000_000]),
            )
        })
        .collect();
    let kinds: String = kinds
        .into_iter()
        .zip(respawns)
        .map(|((name, attributes, population), respawn)| {
            format!(
                "[[kind]]\nname = \"{name}\"\npopulation = {population}\n{respawn}{}\
                 attributes = [{attributes}]\n",
                regions.kind(dice),
            )
        })
        .collect();
    format!(
        "[world]\nsize = {size:?}\naoi = {aoi:?}\ncapacity = {capacity}\nseed = {}\n\
         visible_max = {visible_max}\ninterest = \"{interest}\"\n\
         [limits]\nclients = {clients}\nobservers_per_client = {observers}\n\
         {limits}{}{commands}{kinds}{every}",
        dice.below(1 << 30),
        regions.limits,
    )
}
