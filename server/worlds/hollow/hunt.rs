/// How far wolves see.
#[range(0.0, 100.0)]
const SIGHT: Fixed = 30.0;
/// The longest step, while hunting and without prey.
const SPEED: Fixed = 2.5;
const STROLL: Fixed = 1.0;
const REACH: Fixed = 2.0;
#[range(0, 100)]
const DAMAGE: i32 = 5;
/// One bite of so many is poisoned.
const POISONED: i32 = 4;
/// How far along each axis a bite is heard.
const SOUND: Fixed = 15.0;

/// What clients around are sent of a bite.
struct Bite {
    prey: Entity,
}

/// Hunts the nearest player in sight: a step towards it, or a bite if it is in reach.
#[command(rules)]
fn hunt(me: Entity) {
    // Wolves fall by themselves, as the world file says. Whelps don't.
    if me.hp == 0 {
        despawn(me);
        return;
    }
    let prey = nearest(me, SIGHT, "player");
    if !exists(prey) {
        me.position += random_offset(STROLL);
        return;
    }
    if !is_within(me, prey, REACH) {
        me.position += towards(me, prey, SPEED) - me.position;
        return;
    }
    hurt(prey, DAMAGE);
    if random(1, POISONED) == 1 {
        poison(prey);
    }
    tell(Bite { prey }, around(me, SOUND));
}
