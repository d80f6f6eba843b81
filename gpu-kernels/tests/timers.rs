//! Scheduled commands that an attribute keeps, and that can be cancelled; on every backend and in the
//! oracle.

use gpu_kernels::Frame;
use shared::world::logic::Text;
use shared::{EntityId, Tick};
use testkit::dice::Dice;
use testkit::parity::Parity;
use testkit::scripts::with_texts;

const ME: EntityId = EntityId::new(0, 1);
const OTHER: EntityId = EntityId::new(1, 1);

const WORLD: &str = "
    [world]
    size = [100, 100]
    capacity = 8
    [limits]
    timed_commands = 500
    atomic_per_tick = 50
    [logic]
    builtin = []
    [[kind]]
    name = 'player'
    attributes = [
        { name = 'fuse', type = 'i32', merge = 'last', audience = 'private' },
        { name = 'spark', type = 'i32', merge = 'first', audience = 'hidden' },
        { name = 'bangs', type = 'i32', audience = 'state' },
    ]
";

const SCRIPT: &str = r#"
#[command(clients)]
fn light(me: Entity, ticks: i32) { me.fuse = after(ticks, explode(me, 1)); }

#[command(clients)]
fn light_other(me: Entity, other: Entity, ticks: i32) {
    other.fuse = after(ticks, explode(other, 100));
}

#[command(clients)]
fn strike(me: Entity, ticks: i32) { me.spark = after(ticks, explode(me, 10)); }

#[command(clients)]
fn snuff(me: Entity) { cancel(me.fuse); }

#[command(clients, atomic)]
fn arm(me: Entity, ticks: i32) { me.fuse = after(ticks, burst(me)); }

#[command(clients, atomic)]
fn disarm(me: Entity, other: Entity) { cancel(other.fuse); }

#[command]
fn explode(me: Entity, n: i32) {
    me.bangs += n;
    if n == 1 { cancel(me.fuse); }
}

#[command(atomic)]
fn burst(me: Entity) { me.bangs += 1000; }
"#;

/// A world with two players.
fn started() -> Parity {
    let config = world_file::parse(WORLD, "timers").unwrap();
    let mut parity = Parity::new(&with_texts(&config, vec![Text::new("test.rs", SCRIPT)]));
    let mut frame = Frame::new(Tick(0));
    frame.spawn_at(0, 0, &[4096, 4096]);
    frame.spawn_at(0, 1, &[8192, 4096]);
    parity.tick(&frame);
    parity
}

/// Gives commands of the first player in the next tick. Then the world ticks on to a tick, which is
/// not run.
fn run(parity: &mut Parity, commands: &[(&str, &[i32])], until: u64) {
    let mut frame = Frame::new(parity.oracle.tick);
    for (sequence, (name, words)) in (0..).zip(commands) {
        let command = parity.oracle.config.schema.command_named(name);
        frame.push(ME, sequence, command.expect(name).kind, words);
    }
    parity.tick(&frame);
    while parity.oracle.tick.0 < until {
        parity.tick(&Frame::new(parity.oracle.tick));
    }
}

fn value(parity: &Parity, entity: EntityId, name: &str) -> i32 {
    let column = parity.oracle.config.schema.column(name).unwrap();
    parity.oracle.slots[entity.slot.index()].row[column]
}

fn bangs(parity: &Parity) -> i32 {
    value(parity, ME, "bangs")
}

#[test]
fn a_command_that_is_kept_runs_in_its_tick_unless_it_is_cancelled_before_that() {
    let mut parity = started();
    run(&mut parity, &[("light", &[5])], 6);
    assert_ne!(value(&parity, ME, "fuse"), 0);
    assert_eq!(bangs(&parity), 0);
    run(&mut parity, &[], 7);
    assert_eq!((bangs(&parity), value(&parity, ME, "fuse")), (1, 0));
    // Cancelled the tick before.
    run(&mut parity, &[("light", &[5])], 11);
    run(&mut parity, &[("snuff", &[])], 20);
    assert_eq!(bangs(&parity), 1);
    // In its own tick it has begun.
    run(&mut parity, &[("light", &[5])], 25);
    run(&mut parity, &[("snuff", &[])], 30);
    assert_eq!(bangs(&parity), 2);
}

#[test]
fn another_timer_in_the_same_attribute_cancels_the_one_before() {
    let mut parity = started();
    run(&mut parity, &[("light", &[5])], 3);
    run(&mut parity, &[("light", &[5])], 7);
    assert_eq!(bangs(&parity), 0);
    run(&mut parity, &[], 9);
    assert_eq!(bangs(&parity), 1);
    // Of two in a tick, the merge rule says which one is kept; each attribute keeps its own.
    let reference = ME.reference().0;
    let both: [(&str, &[i32]); 3] = [
        ("light", &[2]),
        ("light_other", &[reference, 3]),
        ("strike", &[3]),
    ];
    run(&mut parity, &both, 20);
    assert_eq!(bangs(&parity), 111);
}

#[test]
fn an_entity_keeps_its_own_timer_whoever_has_scheduled_it_and_takes_it_along() {
    let mut parity = started();
    let other = OTHER.reference().0;
    run(&mut parity, &[("light_other", &[other, 4])], 10);
    assert_eq!(value(&parity, OTHER, "bangs"), 100);
    run(&mut parity, &[("light_other", &[other, 4])], 12);
    run(&mut parity, &[("disarm", &[other])], 20);
    assert_eq!(value(&parity, OTHER, "bangs"), 100);
}

#[test]
fn atomic_commands_see_what_those_before_them_cancelled_in_their_tick() {
    let mut parity = started();
    run(&mut parity, &[("arm", &[4])], 10);
    assert_eq!(bangs(&parity), 1000);
    run(&mut parity, &[("arm", &[4])], 14);
    // Commands of the frame come before scheduled ones.
    run(&mut parity, &[("disarm", &[ME.reference().0])], 20);
    assert_eq!(bangs(&parity), 1000);
}

#[test]
fn timers_that_are_set_and_cancelled_at_random_are_the_same_on_all_backends() {
    for seed in 0..8 {
        let mut parity = started();
        let mut dice = Dice::new(seed);
        for tick in 1..60 {
            let mut commands = vec![];
            for _ in 0..dice.below(4) {
                let other = dice.pick(&[ME, OTHER]).reference().0;
                let ticks = dice.pick(&[1, 1, 2, 3, 7, 0, -1]);
                commands.push(match dice.below(6) {
                    0 => ("light", vec![ticks]),
                    1 => ("light_other", vec![other, ticks]),
                    2 => ("strike", vec![ticks]),
                    3 => ("snuff", vec![]),
                    4 => ("arm", vec![ticks]),
                    _ => ("disarm", vec![other]),
                });
            }
            let commands: Vec<(&str, &[i32])> = commands
                .iter()
                .map(|(name, words)| (*name, &words[..]))
                .collect();
            run(&mut parity, &commands, tick);
            parity.restart(tick % 20 == 9);
        }
    }
}
