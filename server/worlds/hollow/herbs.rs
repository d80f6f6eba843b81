//! Herbs grow, are picked, and heal who eats them.

const REACH: Fixed = 10.0;
/// Ticks until a picked herb is ripe again.
const REGROWTH: i32 = 100;
/// Hit points that a herb gives, and the ticks for which it stops poison.
const HEALING: i32 = 25;
const IMMUNITY: i32 = 40;

/// Wants a ripe herb. All commands of a tick see it ripe, so it can't be given away here:
/// the first of those who want it becomes its owner, and `grow` gives it to the owner.
#[command(clients)]
fn pick(me: Entity, herb: Entity) {
    require(herb.ripe && is_within(me, herb, REACH));
    herb.owner = me;
}

/// Gives a wanted herb away, once. A rule runs it for each herb in every tick.
#[command(rules)]
fn grow(me: Entity) {
    let owner = me.owner;
    require(exists(owner));
    me.owner = none;
    if me.ripe {
        me.ripe = false;
        owner.herbs += 1;
        after(REGROWTH, regrow(me));
    }
}

#[command]
fn regrow(me: Entity) {
    me.ripe = true;
}

/// Eats a herb, or gives it to somebody in reach. What is on offer is not eaten.
#[command(clients, atomic)]
fn heal(me: Entity, target: Entity) {
    require(me.herbs > 0 && !exists(me.buyer));
    require(target.kind == me.kind && is_within(me, target, REACH));
    me.herbs -= 1;
    target.hp += HEALING;
    target.immune_until.max(tick() + IMMUNITY);
}
