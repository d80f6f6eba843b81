//! The spring in the middle: cold water stops poison.

/// Ticks for which no poison works.
const COLD: i32 = 30;

#[on(enter, "spring", kind = "player")]
fn wash(me: Entity) {
    me.immune_until.max(tick() + COLD);
}
