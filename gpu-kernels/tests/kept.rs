//! Things that accounts keep: they are born with their player, and end with it. On every backend what
//! the oracle says.

use gpu_kernels::tick::frame::POPULATION_TOKEN;
use gpu_kernels::{Frame, SlotState};
use shared::world::given::KEPT_COMMANDS;
use shared::world::limits::KEPT_BIRTHS_MAX;
use shared::world::logic::Text;
use shared::{CommandKind, EntityId, Slot, Tick, WorldConfig};
use testkit::dice::Dice;
use testkit::oracle::OracleOutput;
use testkit::parity::Parity;
use testkit::scripts::{command, with_texts, without_limits};

const WORLD: &str = r#"
[world]
size = [60, 60]
aoi = 20
capacity = 60
[limits]
clients = 8
timed_commands = 1000
atomic_per_tick = 50
[logic]
builtin = []

[[kind]]
name = "player"
population = 4
respawn_ticks = 3
attributes = [{ name = "hp", type = "i32", default = 5, min = 0, falls_at = 0, audience = "state" }]

[[kind]]
name = "chest"
population = 2

[[kind]]
name = "bag"
place = "none"
persist = true
attributes = [{ name = "maker", type = "entity", audience = "state" }]

[[kind]]
name = "coin"
place = "none"
persist = true
attributes = [{ name = "worth", type = "i32", default = 3, min = 0, max = 9, audience = "state" }]

[[kind]]
name = "curse"
place = "none"
"#;

const SCRIPT: &str = r#"
#[command(clients)]
fn hold(me: Entity, thing: Entity) { thing.holder = me; }

#[command(clients, atomic)]
fn take(me: Entity, from: Entity, thing: Entity) {
    require(thing.holder == from);
    thing.holder = me;
}

#[command(clients)]
fn smash(me: Entity, it: Entity) { despawn(it); }

#[command(clients)]
fn mint(me: Entity) { spawn(Coin { holder: me }); }

#[command(clients)]
fn hurt(me: Entity, other: Entity) { other.hp -= 5; }
"#;

struct Game {
    config: WorldConfig,
    parity: Parity,
}

impl Game {
    /// A world whose population is born.
    fn new() -> Game {
        let config = world_file::parse(WORLD, "world").unwrap_or_else(|error| panic!("{error}"));
        let config = with_texts(&config, vec![Text::new("kept.rs", SCRIPT.to_owned())]);
        let config = without_limits(&config);
        let mut parity = Parity::new(&config);
        let mut frame = Frame::new(Tick(0));
        frame.populate(&config);
        parity.tick(&frame);
        Game { config, parity }
    }

    fn frame(&self) -> Frame {
        Frame::new(self.parity.oracle.tick)
    }

    fn living(&self, kind: &str) -> Vec<EntityId> {
        self.parity.oracle.living_of(kind)
    }

    fn kind(&self, name: &str) -> u16 {
        self.config.schema.kind(name).unwrap() as u16
    }

    fn column(&self, name: &str) -> u16 {
        self.config.schema.column(name).unwrap() as u16
    }

    fn value(&self, entity: EntityId, attribute: &str) -> i32 {
        let column = usize::from(self.column(attribute));
        self.parity.oracle.slots[entity.slot.index()].row[column]
    }

    /// Runs a tick in which entities give commands, in this order.
    fn give(&mut self, commands: &[(EntityId, &str, &[EntityId])]) -> OracleOutput {
        let mut frame = self.frame();
        for (sequence, (entity, name, words)) in (0..).zip(commands) {
            let kind = match *name {
                "despawn" => CommandKind::DESPAWN,
                name => command(&self.config, name),
            };
            let words: Vec<i32> = words.iter().map(|word| word.reference().0).collect();
            frame.push(*entity, sequence, kind, &words);
        }
        self.parity.tick(&frame)
    }

    /// A thing that an entity holds.
    fn spawn(&mut self, kind: &str, holder: EntityId) -> EntityId {
        let mut frame = self.frame();
        let row = self.row(&[("holder", holder.reference().0)]);
        frame.spawn_kept(self.kind(kind), (POPULATION_TOKEN, 0), &row, &[]);
        let out = self.parity.tick(&frame);
        out.births[0].entity.unwrap()
    }

    fn row(&self, values: &[(&str, i32)]) -> Vec<i32> {
        let mut row = vec![0; self.config.schema.attributes.len()];
        row[usize::from(self.column("holder"))] = -1;
        row[usize::from(self.column("maker"))] = -1;
        for (name, value) in values {
            row[usize::from(self.column(name))] = *value;
        }
        row
    }
}

#[test]
fn what_a_player_holds_ends_with_it_also_in_other_such_things() {
    let mut game = Game::new();
    let [me, other] = [0, 1].map(|n| game.living("player")[n]);
    let chest = game.living("chest")[0];
    let bag = game.spawn("bag", me);
    let coin = game.spawn("coin", me);
    let inner = game.spawn("coin", bag);
    let curse = game.spawn("curse", bag);
    let others = game.spawn("coin", other);
    let of_chest = game.spawn("bag", chest);
    let in_chest = game.spawn("coin", of_chest);
    let out = game.give(&[(me, "despawn", &[])]);
    assert_eq!(out.deaths, [me, bag, coin, inner]);
    assert_eq!(out.kept, [bag, coin, inner]);
    for entity in [curse, others, of_chest, in_chest] {
        assert!(game.parity.oracle.is_alive(entity));
    }
    game.give(&[]);
    game.give(&[]);
    assert_eq!(game.value(curse, "holder"), -1);
}

#[test]
fn what_a_player_holds_ends_with_its_fall() {
    let mut game = Game::new();
    let [me, other] = [0, 1].map(|n| game.living("player")[n]);
    let coin = game.spawn("coin", me);
    let out = game.give(&[(other, "hurt", &[me])]);
    assert_eq!((out.deaths, out.kept), (vec![me, coin], vec![coin]));
}

#[test]
fn who_takes_a_thing_in_the_tick_of_its_holders_end_has_it() {
    let mut game = Game::new();
    let [me, other] = [0, 1].map(|n| game.living("player")[n]);
    let [taken, held, left] = [(); 3].map(|()| game.spawn("coin", me));
    let out = game.give(&[
        (other, "take", &[me, taken]),
        (other, "hold", &[held]),
        (me, "despawn", &[]),
    ]);
    assert_eq!(out.kept, [left]);
    assert_eq!(game.value(taken, "holder"), other.reference().0);
    assert_eq!(game.value(held, "holder"), other.reference().0);
}

#[test]
fn a_thing_that_a_command_ends_in_the_same_tick_is_not_kept() {
    let mut game = Game::new();
    let me = game.living("player")[0];
    let bag = game.spawn("bag", me);
    let inner = game.spawn("coin", bag);
    let coin = game.spawn("coin", me);
    game.give(&[(me, "smash", &[bag])]);
    let out = game.give(&[(me, "despawn", &[])]);
    assert_eq!(out.deaths, [me, bag, coin]);
    assert_eq!(out.kept, [coin]);
    assert!(
        game.parity.oracle.is_alive(inner),
        "its bag was gone before"
    );
}

#[test]
fn a_thing_that_is_born_in_the_tick_of_its_holders_end_is_kept() {
    let mut game = Game::new();
    let me = game.living("player")[0];
    game.give(&[(me, "mint", &[])]);
    let out = game.give(&[(me, "despawn", &[])]);
    let born = out.births[0].entity.unwrap();
    assert_eq!(out.kept, [born]);
}

#[test]
fn things_are_born_in_the_hands_of_a_player_of_the_same_tick() {
    let mut game = Game::new();
    let (holder, maker) = (game.column("holder"), game.column("maker"));
    let mut frame = game.frame();
    frame.spawn(game.kind("player"), 3);
    let bag = game.row(&[]);
    frame.spawn_kept(game.kind("bag"), (7, 100), &bag, &[(holder, 1), (maker, 0)]);
    let coin = game.row(&[("worth", 70)]);
    frame.spawn_kept(game.kind("coin"), (7, 200), &coin, &[(holder, 1)]);
    frame.spawn_kept(game.kind("coin"), (7, 300), &coin, &[(holder, 3)]);
    // So many births before were none, or are of no column.
    frame.spawn_kept(game.kind("coin"), (7, 400), &coin, &[(holder, 900), (0, 1)]);
    frame.order(game.config.seed);
    let out = game.parity.tick(&frame);
    let born: Vec<EntityId> = out.births.iter().filter_map(|birth| birth.entity).collect();
    let [player, bag, in_bag, in_hand, free] = born[..] else {
        panic!("{born:?}");
    };
    assert_eq!(game.value(bag, "holder"), player.reference().0);
    assert_eq!(game.value(bag, "maker"), bag.reference().0);
    assert_eq!(game.value(in_bag, "holder"), bag.reference().0);
    assert_eq!(game.value(in_hand, "holder"), player.reference().0);
    assert_eq!(game.value(free, "holder"), -1);
    assert_eq!(game.value(in_bag, "worth"), 9, "within its bounds");
    let out = game.give(&[(player, "despawn", &[])]);
    assert_eq!(out.kept, [bag, in_bag, in_hand]);
}

#[test]
fn the_last_births_of_a_full_world_are_refused() {
    let mut game = Game::new();
    let holder = game.column("holder");
    let free = |game: &Game| {
        let slots = game.parity.oracle.slots.iter();
        slots.filter(|slot| slot.state == SlotState::Free).count() as u32
    };
    let before = free(&game);
    let mut frame = game.frame();
    frame.spawn(game.kind("player"), 3);
    for number in 0..before + 3 {
        let sequence = 100 + number * KEPT_COMMANDS;
        let row = game.row(&[]);
        frame.spawn_kept(
            game.kind("coin"),
            (number, sequence),
            &row,
            &[(holder, number + 1)],
        );
    }
    let out = game.parity.tick(&frame);
    assert_eq!(free(&game), 0);
    let born = out.births.iter().map(|birth| birth.entity.is_some());
    assert_eq!(
        born.clone().filter(|&is_born| is_born).count() as u32,
        before
    );
    assert!(born.is_sorted_by(|a, b| a >= b), "the first are born");
    let player = out.births[0].entity.unwrap();
    let things = out.births[1..].iter().filter_map(|birth| birth.entity);
    for thing in things {
        assert_eq!(game.value(thing, "holder"), player.reference().0);
    }
}

#[test]
fn a_frame_has_room_for_the_things_of_a_tick() {
    let mut game = Game::new();
    let mut frame = game.frame();
    for number in 0..KEPT_BIRTHS_MAX + game.config.limits.clients {
        let row = game.row(&[]);
        frame.spawn_kept(game.kind("coin"), (0, number * KEPT_COMMANDS), &row, &[]);
    }
    let out = game.parity.tick(&frame);
    assert!(out.counts.births_refused > 0 && out.counts.commands_dropped == 0);
}

#[test]
fn every_backend_ends_the_same_things_in_any_tick() {
    let mut game = Game::new();
    let mut dice = Dice::new(5);
    let names = ["hold", "hold", "take", "smash", "mint", "hurt", "despawn"];
    let (holder, mut kept) = (game.column("holder"), 0);
    for tick in 1..160 {
        let mut frame = game.frame();
        let living = game.parity.oracle.living();
        for sequence in 0..dice.below(16) as u32 {
            let name = dice.pick(&names);
            if ["smash", "hurt", "despawn"].contains(&name) && !dice.once_in(3) {
                continue;
            }
            let by = dice.pick(&living);
            let some = dice.pick(&living).reference().0;
            let thing = dice.pick(&living).reference().0;
            match name {
                "despawn" => frame.push(by, sequence, CommandKind::DESPAWN, &[]),
                "mint" => frame.push(by, sequence, command(&game.config, name), &[]),
                "take" => frame.push(by, sequence, command(&game.config, name), &[some, thing]),
                name => frame.push(by, sequence, command(&game.config, name), &[thing]),
            }
        }
        for token in 0..dice.below(3) as u32 {
            frame.spawn(game.kind("player"), token);
            for number in 0..dice.below(5) as u32 {
                let kind = dice.pick(&["bag", "coin"]);
                let names = [(holder, dice.below(number as usize + 2) as u32)];
                let sequence = token + 1 + number * KEPT_COMMANDS;
                let row = game.row(&[]);
                frame.spawn_kept(game.kind(kind), (token, sequence), &row, &names);
            }
        }
        let slots = (0..).zip(&game.parity.oracle.slots);
        let resting = slots.filter(|(_, slot)| slot.state == SlotState::Resting);
        frame.release = resting.map(|(slot, _)| Slot(slot)).collect();
        kept += game.parity.tick(&frame).kept.len();
        if tick % 20 == 9 {
            game.parity.restart(tick % 40 == 9);
        }
    }
    assert!(kept > 20, "{kept}");
}
