//! The phases of the game, one after another.

/// Players that a countdown needs.
#[range(1, 400)]
const PLAYERS_MIN: i32 = 2;
#[range(1, 100000)]
const COUNTDOWN: i32 = 50;
#[range(1, 100000)]
const ROUND: i32 = 600;
#[range(1, 100000)]
const RESULTS: i32 = 100;

/// A tick of the clock; `me` is the world.
#[command(rules, atomic)]
fn pass(me: Entity) {
    me.players = count("player");
    if me.players < PLAYERS_MIN {
        me.phase = "lobby";
        me.ticks_left = 0;
        return;
    }
    me.ticks_left -= 1;
    if me.ticks_left > 0 {
        return;
    }
    if me.phase == "countdown" {
        me.phase = "round";
        me.round += 1;
        me.best = 0;
        me.champion = none;
        me.ticks_left = ROUND;
    } else if me.phase == "round" {
        me.phase = "results";
        me.ticks_left = RESULTS;
    } else {
        me.phase = "countdown";
        me.ticks_left = COUNTDOWN;
    }
}

#[test]
fn the_phases_follow_each_other() {
    let ann = spawn("player", point(50.0, 50.0));
    for _other in 1..PLAYERS_MIN { spawn("player", ann); }
    ticks(1);
    assert_eq(world.phase, "countdown");
    ticks(COUNTDOWN);
    assert_eq(world.phase, "round");
    assert_eq(world.round, 1);
    ticks(ROUND);
    assert_eq(world.phase, "results");
    ticks(RESULTS);
    assert_eq(world.phase, "countdown");
    despawn(ann);
    ticks(2);
    assert_eq(world.phase, "lobby");
}
