//! The boss. Its hit points decide what it does.

const ANGRY: i32 = 220;
const RAGING: i32 = 120;
/// The most whelps around it, and how far it looks for them.
const PACK: i32 = 5;
const AROUND: Fixed = 30.0;
const BLAST_RADIUS: Fixed = 12.0;
const BLAST_DAMAGE: i32 = 10;
/// What it heals itself by, once in its life.
const MENDING: i32 = 80;
const SOUND: Fixed = 60.0;

/// Sent when it enters a phase.
struct Phase {
    mood: Symbol,
}

#[command(rules)]
fn brood(me: Entity) {
    let mood = mood_at(me.hp);
    if mood != me.mood {
        me.mood = mood;
        tell(Phase { mood }, around(me, SOUND));
    }
    match mood {
        "angry" => call_whelp(me),
        "raging" => {
            blast(me);
            if !me.mended {
                me.mended = true;
                me.hp += MENDING;
            }
        }
        _ => {}
    }
}

fn mood_at(hp: i32) -> Symbol {
    if hp > ANGRY {
        "calm"
    } else if hp > RAGING {
        "angry"
    } else {
        "raging"
    }
}

fn call_whelp(me: Entity) {
    require(count_near(me, AROUND, "whelp") < PACK);
    spawn("whelp", inside(me.position + random_offset(5.0)));
}

fn blast(me: Entity) {
    for other in near(me, BLAST_RADIUS, "player") {
        hurt(other, BLAST_DAMAGE);
    }
}
