//! The guards of the keep: by day they roam, by night they go to the hall.

/// Ticks of a day, and of the night that ends it.
const DAY: i32 = 1200;
const NIGHT: i32 = 300;
/// The longest step.
const STEP: Fixed = 0.75;

/// What a guard does in each tick.
#[command(rules)]
fn watch(me: Entity) {
    if tick() % DAY < DAY - NIGHT {
        me.position += random_offset(STEP);
    } else {
        me.position += toward(me, "hall", STEP);
    }
}

#[test]
fn the_way_to_the_hall_leads_around_its_walls() {
    // The hall's door is on the lower side.
    let way = toward(point(23.5, 10.5), "hall", 1.0);
    assert(way.x > 0.0 && way.y == 0.0);
    assert(toward(point(22.5, 4.5), "hall", 1.0).y > 0.0);
    assert(toward(point(22.5, 6.5), "hall", 1.0).y == 0.0);
}
