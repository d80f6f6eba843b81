#[range(0.0, 600.0)]
const REACH: Fixed = 12.0;

/// Hits whoever was in reach where the player saw it.
#[command(clients)]
fn shoot(me: Entity, target: Entity, seen: i32) {
    require(target != me && exists(target));
    me.shots += 1;
    if was_within(target, REACH, seen) {
        me.hits += 1;
    }
}

/// Hits whoever is in reach when it arrives.
#[command(clients)]
fn cut(me: Entity, target: Entity) {
    require(target != me && is_within(me, target, REACH));
    me.cuts += 1;
}

/// A step, back at the ends of the range.
#[command(rules)]
fn run(me: Entity) {
    let step = me.step;
    if me.x > 580.0 {
        me.step = -4.0;
    }
    if me.x < 20.0 {
        me.step = 4.0;
    }
    me.position += point(step, 0.0);
}

#[test]
fn a_shot_hits_where_the_player_saw_the_target() {
    let me = spawn("player", point(100.0, 50.0));
    let target = spawn("player", point(105.0, 50.0));
    ticks(1);
    let seen = tick() - 1;
    target.position += point(200.0, 0.0);
    ticks(1);
    send(shoot(me, target, seen));
    send(cut(me, target));
    ticks(1);
    assert_eq(me.shots, 1);
    assert_eq(me.hits, 1);
    assert_eq(me.cuts, 0);
}
