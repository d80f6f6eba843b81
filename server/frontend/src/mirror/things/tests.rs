use device::cpu::Workers;
use gpu_kernels::{Backend, CpuBackend, Frame};
use script::logic::with_logic;
use shared::Tick;
use shared::wire::movement::MovementCodec;
use shared::world::logic::Text;
use shared::world::mix::mix;

use super::*;

const ENTITIES: u32 = 60;
const SEEDS: u64 = 20;
const TICKS: u64 = 40;
const WORLD: &str = "
[world]
name = 'test'
capacity = 60
[limits]
clients = 8
timed_commands = 100
[[kind]]
name = 'player'
[[kind]]
name = 'chest'
[[kind]]
name = 'bag'
place = 'none'
[[kind]]
name = 'purse'
place = 'none'
shown = 'none'
[[kind]]
name = 'axe'
place = 'none'
shown = 'all'
attributes = [{ name = 'wear', type = 'i32', audience = 'state' }]
[logic]
builtin = []
";

const SCRIPT: &str = "
#[command(clients)]
fn hand(me: Entity, holder: Entity) { me.holder = holder; }
#[command(clients)]
fn use_up(me: Entity) { if me.kind == \"axe\" { me.wear += 1; } }
#[command(clients)]
fn end(me: Entity) { despawn(me); }
";

/// Things, each with its wear, ascending.
type Bag = Vec<(EntityId, i32)>;

/// The things that an entity holds, by going over all entities, and with them their attributes.
fn slow(schema: &Schema, mirror: &Mirror, holder: EntityId, of_another: bool) -> Bag {
    let (column, wear) = (
        schema.holder_column().unwrap(),
        schema.column("wear").unwrap(),
    );
    let mut found = vec![];
    for slot in (0..ENTITIES).map(Slot) {
        let Some(thing) = mirror.living(slot) else {
            continue;
        };
        let (own, of_holder) = (mirror.kind(slot), mirror.kind(holder.slot));
        let is_held = mirror.row(slot)[column] == holder.reference().0
            && schema.is_thing(own)
            && (!schema.is_thing(of_holder) || of_holder < own);
        let is_shown = match schema.kinds[usize::from(own)].name.as_str() {
            "axe" => true,
            "bag" => !of_another,
            _ => false,
        };
        if is_held && is_shown {
            found.push((thing, mirror.row(slot)[wear]));
            found.extend(slow(schema, mirror, thing, of_another));
        }
    }
    found.sort_unstable();
    found
}

fn config() -> WorldConfig {
    let config = world_file::parse(WORLD, "test").unwrap();
    let mut logic = config.logic.clone();
    logic.texts.push(Text::new("game.rs", SCRIPT.to_owned()));
    with_logic(&config, &logic).unwrap_or_else(|problems| panic!("{problems:?}"))
}

/// The things by the index, with the same attributes.
fn indexed(mirror: &Mirror, wear: usize, holder: EntityId, of_another: bool) -> Bag {
    let mut bag = vec![];
    mirror.bag(holder.slot, of_another, usize::MAX, &mut bag);
    let with_wear = |slot: Slot| (mirror.id(slot), mirror.row(slot)[wear]);
    let mut bag: Vec<_> = bag.into_iter().map(with_wear).collect();
    bag.sort_unstable();
    bag
}

#[test]
fn the_things_of_each_entity_are_those_that_refer_to_it_and_each_change_stirs_its_holders() {
    let config = config();
    let schema = &config.schema;
    let wear = schema.column("wear").unwrap();
    let command = |name: &str| schema.command_named(name).unwrap().kind;
    let (hand, use_up, end) = (command("hand"), command("use_up"), command("end"));
    let workers = Workers::new(1).unwrap();
    let mirror = || Mirror::new(&config, MovementCodec::new(schema).unwrap());
    let mut shown = 0;
    for seed in 0..SEEDS {
        let mut state = mix(seed, 0x7e57);
        let mut dice = |bound: u64| {
            state = mix(state, 1);
            state % bound
        };
        let mut backend = CpuBackend::new(&config, 1, None).unwrap();
        let mut kept = mirror();
        let mut before: Vec<(EntityId, [Bag; 2])> = vec![];
        for tick in 0..TICKS {
            let mut frame = Frame::new(Tick(tick));
            let living: Vec<EntityId> = (0..ENTITIES)
                .filter_map(|slot| kept.living(Slot(slot)))
                .collect();
            // Most are things.
            let kinds = [0, 1, 2, 2, 3, 4, 4, 4];
            for token in 0..if tick == 0 { 40 } else { dice(3) as u32 } {
                frame.spawn(kinds[dice(8) as usize], token);
            }
            for sequence in 0..if living.is_empty() {
                0
            } else {
                dice(30) as u32
            } {
                let [it, other] = [0; 2].map(|_| living[dice(living.len() as u64) as usize]);
                let is_thing = schema.is_thing(kept.kind(it.slot));
                match dice(12) {
                    0 => frame.push(it, sequence, end, &[]),
                    1..=3 => frame.push(it, sequence, use_up, &[]),
                    // Also those that can't hold it.
                    _ if is_thing => frame.push(it, sequence, hand, &[other.reference().0]),
                    _ => {}
                }
            }
            frame.order(config.seed);
            let output = backend.tick(&frame).unwrap();
            kept.apply(&workers, &output);
            let mut restored = mirror();
            restored.restore(&workers, &backend.snapshot().unwrap());
            let living = (0..ENTITIES).filter_map(|slot| kept.living(Slot(slot)));
            let now: Vec<_> = living
                .map(|entity| {
                    let own = [false, true].map(|of_another| {
                        let expected = slow(schema, &kept, entity, of_another);
                        for mirror in [&kept, &restored] {
                            let found = indexed(mirror, wear, entity, of_another);
                            assert_eq!(found, expected, "seed {seed}, tick {tick}, {entity}");
                        }
                        shown += expected.len();
                        expected
                    });
                    (entity, own)
                })
                .collect();
            let things = kept.things().unwrap();
            let none = [vec![], vec![]];
            for (entity, own) in &now {
                let old = before.iter().find(|(old, _)| old == entity);
                let was = old.map_or(&none, |(_, old)| old);
                if was != own {
                    let is_stirred = things.is_stirred(entity.slot);
                    assert!(
                        is_stirred,
                        "seed {seed}, tick {tick}, {entity}: {was:?} {own:?}"
                    );
                }
            }
            before = now;
        }
    }
    assert!(shown > 5_000, "{shown}");
}

#[test]
fn a_bag_of_more_than_fits_has_its_first_things() {
    let config = config();
    let mut mirror = Mirror::new(&config, MovementCodec::new(&config.schema).unwrap());
    let column = config.schema.holder_column().unwrap();
    let mut place = |slot: u32, kind: u16, holder: i32| {
        let mut row = vec![0; config.schema.attributes.len()];
        row[column] = holder;
        mirror.place(EntityId::new(slot, 1), kind, &row, Default::default());
    };
    let [player, bag] = [9, 5].map(|slot| EntityId::new(slot, 1).reference().0);
    place(9, 0, -1);
    place(5, 2, player);
    place(3, 4, bag);
    place(7, 4, player);
    place(8, 4, bag);
    mirror.restore_things();
    let bag_of = |most| {
        let mut bag = vec![];
        mirror.bag(Slot(9), false, most, &mut bag);
        bag.into_iter().map(|slot| slot.0).collect::<Vec<_>>()
    };
    assert_eq!(bag_of(9), [5, 7, 3, 8]);
    assert_eq!(bag_of(3), [5, 7, 3]);
    assert_eq!(bag_of(1), [5]);
}

#[test]
fn a_world_whose_things_are_hidden_has_no_index() {
    let hidden = WORLD.replace("place = 'none'\n", "place = 'none'\nshown = 'none'\n");
    let hidden = hidden.replace("shown = 'none'\nshown = 'none'", "shown = 'none'");
    let hidden = hidden.replace("shown = 'none'\nshown = 'all'", "shown = 'none'");
    for text in [&hidden, "[world]\ncapacity = 4"] {
        let config = world_file::parse(text, "test").unwrap();
        let mirror = Mirror::new(&config, MovementCodec::new(&config.schema).unwrap());
        assert!(mirror.things().is_none());
    }
    let shown = Mirror::new(&config(), MovementCodec::new(&config().schema).unwrap());
    assert!(shown.things().is_some());
}
