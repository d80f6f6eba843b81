//! How often clients use commands: in one tick, and one use after another; on every backend and
//! in the oracle.

use gpu_kernels::{Frame, RefusedCommand};
use script::builtin;
use shared::world::logic::Text;
use shared::{CommandKind, EntityId, Refusal, Slot, Tick, WorldConfig};
use testkit::oracle::OracleOutput;
use testkit::parity::Parity;
use testkit::scripts::with_texts;

const UNIT: i32 = 4096;
const A: EntityId = EntityId::new(0, 1);
const B: EntityId = EntityId::new(1, 1);

#[test]
fn fifteen_moves_in_a_tick_go_one_step() {
    let mut parity = started("");
    let mut frame = Frame::new(Tick(1));
    for sequence in 0..15 {
        frame.push(A, sequence, builtin::MOVE, &[2 * UNIT, 0]);
    }
    frame.push(B, 7, builtin::MOVE, &[2 * UNIT, 0]);
    let output = parity.tick(&frame);
    assert_eq!(places(&parity), [[12, 10], [52, 10]]);
    assert_eq!(output.counts.over_per_tick, 14);
    let surplus = (1..15).map(|sequence| refused(A, sequence, Refusal::OverPerTick));
    assert_eq!(output.refused, surplus.collect::<Vec<_>>());
}

#[test]
fn ten_teleports_in_a_tick_reach_once() {
    let text = "[logic]\nbuiltin = [\"move\", \"teleport\"]\n";
    let mut parity = started(text);
    let teleport = kind(&parity, "teleport");
    let mut frame = Frame::new(Tick(1));
    for sequence in 0..10 {
        frame.push(A, sequence, teleport, &[30 * UNIT, 10 * UNIT]);
    }
    parity.tick(&frame);
    assert_eq!(places(&parity)[0], [30, 10]);
}

#[test]
fn a_world_says_how_often_a_command_may_be_used() {
    for (most, steps) in [(1, 1), (3, 3), (15, 15), (0, 15)] {
        let mut parity = started(&format!("[commands]\nmove.per_tick = {most}\n"));
        let mut frame = Frame::new(Tick(1));
        for sequence in 0..15 {
            frame.push(A, sequence, builtin::MOVE, &[UNIT, 0]);
        }
        parity.tick(&frame);
        assert_eq!(places(&parity)[0], [10 + steps, 10], "{most} in a tick");
    }
}

#[test]
fn each_command_is_counted_by_itself() {
    let mut parity = started("");
    let mut frame = Frame::new(Tick(1));
    let target = B.reference().0;
    frame.push(A, 0, builtin::MOVE, &[UNIT, 0]);
    frame.push(A, 1, builtin::HEAL, &[A.reference().0]);
    frame.push(A, 2, builtin::MOVE, &[UNIT, 0]);
    frame.push(A, 3, builtin::STRIKE, &[target]);
    let output = parity.tick(&frame);
    // The target is out of reach.
    let expected = [
        refused(A, 2, Refusal::OverPerTick),
        refused(A, 3, Refusal::Idle),
    ];
    assert_eq!(output.refused, expected);
}

#[test]
fn a_command_rests_after_a_use_and_nobody_elses_does() {
    let mut parity = started("[commands]\nmove.cooldown = 3\n");
    let mut moved = vec![];
    for tick in 1..9 {
        let mut frame = Frame::new(Tick(tick));
        frame.push(A, tick as u32, builtin::MOVE, &[UNIT, 0]);
        if tick == 2 {
            frame.push(B, 0, builtin::MOVE, &[UNIT, 0]);
        }
        let output = parity.tick(&frame);
        let rests = [refused(A, tick as u32, Refusal::Resting)];
        match output.refused.is_empty() {
            true => moved.push(tick),
            false => assert_eq!(output.refused, rests),
        }
    }
    assert_eq!(moved, [1, 4, 7]);
    assert_eq!(places(&parity), [[13, 10], [51, 10]]);
}

#[test]
fn a_rest_outlasts_a_checkpoint_and_a_replay() {
    for in_another in [false, true] {
        let mut parity = started("[commands]\nmove.cooldown = 4\nheal.cooldown = 2\n");
        step(&mut parity, 1);
        parity.restart(in_another);
        assert_eq!(parity.oracle.snapshot().ready[0], Tick(5));
        for (tick, resting) in [(2, 1), (3, 1), (4, 1), (5, 0), (6, 1)] {
            assert_eq!(
                step(&mut parity, tick).counts.resting,
                resting,
                "tick {tick}"
            );
            parity.restore_from_oracle();
        }
    }
}

#[test]
fn who_is_born_in_the_slot_of_the_dead_has_used_nothing() {
    let mut parity = started("[commands]\nmove.cooldown = 1000\n");
    step(&mut parity, 1);
    assert_eq!(step(&mut parity, 2).counts.resting, 1);
    let mut frame = Frame::new(Tick(3));
    frame.push(A, 9, CommandKind::DESPAWN, &[]);
    parity.tick(&frame);
    assert!(parity.oracle.snapshot().ready.iter().all(|&t| t == Tick(0)));
    let mut frame = Frame::new(Tick(4));
    frame.release.push(Slot(0));
    frame.spawn_at(0, 0, &[10 * UNIT, 10 * UNIT]);
    parity.tick(&frame);
    let mut frame = Frame::new(Tick(5));
    frame.push(EntityId::new(0, 2), 0, builtin::MOVE, &[UNIT, 0]);
    assert_eq!(parity.tick(&frame).counts.resting, 0);
    assert_eq!(places(&parity)[0], [11, 10]);
}

/// They are not input: no client can send more of them.
#[test]
fn rules_and_timers_are_not_bounded_and_do_not_tire() {
    let rule = "[commands]\nmove.cooldown = 9\n\
                [[every]]\nkind = \"player\"\nticks = 1\ncommand = \"move\"\nwords = [1, 0]\n";
    let mut parity = started(&format!("[limits]\ntimed_commands = 9\n{rule}"));
    let mut frame = Frame::new(Tick(1));
    for _ in 0..3 {
        frame.push_after(1, A, 0, builtin::MOVE, &[0, UNIT]);
    }
    parity.tick(&frame);
    let output = step(&mut parity, 2);
    assert_eq!((output.counts.over_per_tick, output.counts.resting), (0, 0));
    // In each tick the rule's step to the right, and in the last one the client's.
    assert_eq!(places(&parity)[0], [13, 13]);
    assert_eq!(step(&mut parity, 3).counts.resting, 1);
    assert_eq!(places(&parity)[0], [14, 13]);
}

#[test]
fn a_client_learns_which_commands_had_no_effect() {
    let text = "
        #[command(clients)] fn quiet(me: Entity) { require(false); me.hp += 1; }
        #[command(clients)] fn loud(me: Entity) { tell(Heard { number: 1 }, around(me, 5.0)); }
        #[command(clients)] fn later(me: Entity) { after(2, quiet(me)); }
        #[command(clients)] fn endless(me: Entity) { for n in 0..70000 { me.hp += n; } }
        #[command(rules)] fn secret(me: Entity) { require(false); me.hp += 1; }
    ";
    let config = world("[limits]\ntimed_commands = 9\nnotifications_per_tick = 9\n");
    let config = with_texts(&config, vec![Text::new("fates.rs", text)]);
    let mut parity = begin(&config);
    let mut frame = Frame::new(Tick(1));
    let dead = EntityId::new(7, 3);
    let named = ["quiet", "loud", "later", "endless", "secret"];
    for (sequence, name) in (0..).zip(named) {
        frame.push(A, sequence, kind(&parity, name), &[]);
    }
    frame.push(dead, 5, builtin::MOVE, &[UNIT, 0]);
    // No refusal is sent for what no client can have sent.
    frame.push(A, 6, CommandKind(255), &[]);
    let output = parity.tick(&frame);
    let expected = [
        refused(A, 0, Refusal::Idle),
        refused(A, 3, Refusal::BeyondLimits),
        refused(dead, 5, Refusal::Dead),
    ];
    assert_eq!(output.refused, expected);
}

#[test]
fn a_full_tick_is_told_to_those_who_lose_by_it() {
    let mut parity = started("[limits]\nupdates_per_tick = 5\ncommands_per_tick = 4\n");
    let mut frame = Frame::new(Tick(1));
    for sequence in 0..3 {
        frame.push(A, 2 * sequence, builtin::MOVE, &[UNIT, 0]);
        frame.push(B, 2 * sequence + 1, builtin::MOVE, &[UNIT, 0]);
    }
    frame.push(A, 6, builtin::HEAL, &[A.reference().0]);
    let output = parity.tick(&frame);
    // Each step has two updates, and only the first two commands find room for theirs. They
    // are not in the order of a frame, so each is the first of its own.
    let full = |(entity, sequence)| refused(entity, sequence, Refusal::BeyondLimits);
    let expected = [(A, 2), (A, 4), (A, 6), (B, 3), (B, 5)].map(full);
    assert_eq!(output.refused, expected);
    assert_eq!(places(&parity), [[11, 10], [51, 10]]);
}

#[test]
fn other_scripts_cannot_change_what_rests() {
    let config = world("[commands]\nmove.cooldown = 4\n");
    let mut logic = config.logic.clone();
    let settings = logic.constants.get_mut("move").expect("it is set");
    settings.insert(
        "cooldown".to_owned(),
        shared::world::logic::Constant::Int(5),
    );
    let problems = script::logic::with_logic(&config, &logic).expect_err("it is refused");
    assert!(
        problems[0].to_string().contains("restart it"),
        "{problems:?}"
    );
}

fn refused(entity: EntityId, sequence: u32, reason: Refusal) -> RefusedCommand {
    RefusedCommand {
        entity,
        sequence,
        reason,
        because: None,
    }
}

/// A world of 100 × 100 units, in which steps are of up to two units.
fn world(rest: &str) -> WorldConfig {
    let text = format!("[world]\nsize = [100, 100]\ncapacity = 10\nvisible_max = 8\n{rest}");
    world_file::parse(&text, "usage").unwrap_or_else(|error| panic!("{error}"))
}

/// A world with two entities, in its tick 1.
fn started(rest: &str) -> Parity {
    begin(&world(rest))
}

fn begin(config: &WorldConfig) -> Parity {
    let mut parity = Parity::new(config);
    let mut frame = Frame::new(Tick(0));
    for (token, x) in [(0, 10), (1, 50)] {
        frame.spawn_at(0, token, &[x * UNIT, 10 * UNIT]);
    }
    parity.tick(&frame);
    parity
}

/// A tick in which the first entity wants a step to the right.
fn step(parity: &mut Parity, tick: u64) -> OracleOutput {
    let mut frame = Frame::new(Tick(tick));
    frame.push(A, tick as u32, builtin::MOVE, &[UNIT, 0]);
    parity.tick(&frame)
}

fn kind(parity: &Parity, name: &str) -> CommandKind {
    let schema = &parity.oracle.config.schema;
    schema.command_named(name).expect("it is there").kind
}

/// Where the two entities are, in units.
fn places(parity: &Parity) -> [[i32; 2]; 2] {
    [0, 1].map(|slot| {
        let [x, y, _] = parity.oracle.position(slot);
        [x / UNIT, y / UNIT]
    })
}
