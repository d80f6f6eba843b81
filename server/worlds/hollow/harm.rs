//! What hurts: blows, which a shield soaks, and poison, which it does not.

/// Ticks from one bout of poison to the next.
const PERIOD: i32 = 5;
const BOUTS: i32 = 4;
/// Hit points that a bout takes.
const VENOM: i32 = 2;
/// What a raised shield soaks, and the ticks until it can be raised again.
const SHIELD: i32 = 15;
const COOLDOWN: i32 = 30;

/// A blow. Whatever has no shield soaks nothing. All blows of one tick meet the shield as it
/// was before the tick, so several at once are soaked better than one after the other.
pub fn hurt(target: Entity, damage: i32) {
    let soaked = min(target.shield, damage);
    #[allow(double_spends)] // As said above.
    target.shield -= soaked;
    target.hp -= damage - soaked;
}

/// Poison: it works in later ticks, and ends with the life of who has it.
pub fn poison(target: Entity) {
    after(PERIOD, sicken(target, BOUTS));
}

/// A bout of poison. A herb that was eaten in the meantime stops it.
#[command]
fn sicken(me: Entity, bouts: i32) {
    require(tick() >= me.immune_until);
    me.hp -= VENOM;
    if bouts > 1 {
        after(PERIOD, sicken(me, bouts - 1));
    }
}

/// Raises the shield.
#[command(clients)]
fn raise(me: Entity) {
    require(tick() >= me.ready_at);
    me.shield += SHIELD;
    me.ready_at.max(tick() + COOLDOWN);
}
