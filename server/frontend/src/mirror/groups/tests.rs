use device::cpu::Workers;
use gpu_kernels::{Backend, CpuBackend, Frame};
use script::logic::with_logic;
use shared::wire::movement::MovementCodec;
use shared::world::logic::Text;
use shared::world::mix::mix;
use shared::{Tick, WorldConfig};

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
attributes = [
    { name = 'party', type = 'entity', group = true, audience = 'private' },
    { name = 'guild', type = 'entity', group = true, audience = 'state' },
    { name = 'hp', type = 'i32', audience = 'state', shared_with = ['party'] },
    { name = 'gold', type = 'i32', audience = 'private' },
]
[[kind]]
name = 'wolf'
attributes = [{ name = 'party', type = 'entity', audience = 'private' }]
[[kind]]
name = 'team'
place = 'none'
[logic]
builtin = []
";

const SCRIPT: &str = "
#[command(clients)]
fn join(me: Entity, team: Entity) { me.party = team; }
#[command(clients)]
fn swear(me: Entity, team: Entity) { me.guild = team; }
#[command(clients)]
fn hurt(me: Entity) { me.hp -= 1; me.gold += 1; }
#[command(clients)]
fn end(me: Entity) { despawn(me); }
";

/// Members, each with what it shares in its party, ascending.
type Members = Vec<(EntityId, i32)>;

fn config() -> WorldConfig {
    let config = world_file::parse(WORLD, "test").unwrap();
    let mut logic = config.logic.clone();
    logic.texts.push(Text::new("game.rs", SCRIPT.to_owned()));
    with_logic(&config, &logic).unwrap_or_else(|problems| panic!("{problems:?}"))
}

/// The members of a group, by going over all entities.
fn slow(schema: &Schema, mirror: &Mirror, attribute: &str, group: EntityId) -> Members {
    let column = |name: &str| schema.column(name).unwrap();
    let slots = (0..ENTITIES).map(Slot);
    let living = slots.filter_map(|slot| mirror.living(slot));
    let members = living.filter(|member| {
        mirror.kind(member.slot) == 0
            && schema.is_thing(mirror.kind(group.slot))
            && mirror.row(member.slot)[column(attribute)] == group.reference().0
    });
    let shared = |member: EntityId| match attribute {
        "party" => mirror.row(member.slot)[column("hp")],
        _ => 0,
    };
    members.map(|member| (member, shared(member))).collect()
}

/// The same by the index.
fn indexed(schema: &Schema, mirror: &Mirror, attribute: &str, group: EntityId) -> Members {
    let index = mirror.groups().unwrap().named(attribute).unwrap();
    let hp = schema.column("hp").unwrap();
    let members = index.members(group.slot).map(|slot| {
        assert_eq!(index.of_member(slot), Some(group.slot));
        let shared = match index.shared() {
            0 => 0,
            _ => mirror.row(slot)[hp],
        };
        (mirror.id(slot), shared)
    });
    members.collect()
}

#[test]
fn the_members_of_each_group_are_those_that_refer_to_it_and_each_change_stirs_it() {
    let config = config();
    let schema = &config.schema;
    let command = |name: &str| schema.command_named(name).unwrap().kind;
    let commands = ["join", "swear", "hurt", "end"].map(command);
    let workers = Workers::new(1).unwrap();
    let mirror = || Mirror::new(&config, MovementCodec::new(schema).unwrap());
    let mut found_in_all = 0;
    for seed in 0..SEEDS {
        let mut state = mix(seed, 0x7e57);
        let mut dice = |bound: u64| {
            state = mix(state, 1);
            state % bound
        };
        let mut backend = CpuBackend::new(&config, 1, None).unwrap();
        let mut kept = mirror();
        let mut before: Vec<(EntityId, [Members; 2])> = vec![];
        for tick in 0..TICKS {
            let mut frame = Frame::new(Tick(tick));
            let living = |mirror: &Mirror| -> Vec<EntityId> {
                let slots = (0..ENTITIES).map(Slot);
                slots.filter_map(|slot| mirror.living(slot)).collect()
            };
            let all = living(&kept);
            let teams = all.iter().filter(|one| kept.kind(one.slot) == 2);
            let teams: Vec<EntityId> = teams.copied().collect();
            for token in 0..if tick == 0 { 40 } else { dice(3) as u32 } {
                frame.spawn([0, 0, 0, 1, 2][dice(5) as usize], token);
            }
            for sequence in 0..if teams.is_empty() { 0 } else { dice(30) as u32 } {
                let it = all[dice(all.len() as u64) as usize];
                let team = match dice(4) {
                    0 => all[dice(all.len() as u64) as usize],
                    _ => teams[dice(teams.len() as u64) as usize],
                };
                let words = [team.reference().0];
                match dice(12) {
                    0 => frame.push(it, sequence, commands[3], &[]),
                    1..=3 => frame.push(it, sequence, commands[2], &[]),
                    4..=6 => frame.push(it, sequence, commands[1], &words),
                    _ => frame.push(it, sequence, commands[0], &words),
                }
            }
            frame.order(config.seed);
            let output = backend.tick(&frame).unwrap();
            kept.apply(&workers, &output);
            let mut restored = mirror();
            restored.restore(&workers, &backend.snapshot().unwrap());
            let names = ["party", "guild"];
            let now: Vec<(EntityId, [Members; 2])> = living(&kept)
                .into_iter()
                .map(|entity| {
                    let own = names.map(|name| {
                        let expected = slow(schema, &kept, name, entity);
                        for mirror in [&kept, &restored] {
                            let found = indexed(schema, mirror, name, entity);
                            assert_eq!(found, expected, "seed {seed}, tick {tick}, {entity}");
                        }
                        found_in_all += expected.len();
                        expected
                    });
                    (entity, own)
                })
                .collect();
            let groups = kept.groups().unwrap();
            for (entity, own) in &now {
                let old = before.iter().find(|(old, _)| old == entity);
                for (place, name) in names.into_iter().enumerate() {
                    let was = old.map_or(&[][..], |(_, old)| &old[place]);
                    if was != own[place] {
                        let is_stirred = groups.named(name).unwrap().is_stirred(entity.slot);
                        assert!(is_stirred, "seed {seed}, tick {tick}, {entity}, {name}");
                    }
                }
            }
            before = now;
        }
    }
    assert!(found_in_all > 5_000, "{found_in_all}");
}

#[test]
fn a_world_without_groups_has_no_index() {
    let config = world_file::parse("[world]\ncapacity = 4", "test").unwrap();
    let mirror = Mirror::new(&config, MovementCodec::new(&config.schema).unwrap());
    assert!(mirror.groups().is_none());
    let own = EntityId::new(0, 1);
    assert_eq!(mirror.fellows(own, "party").count(), 0);
}
