const REACH: Fixed = 3.0;
/// Ticks until it can be harvested again.
const REGROWTH: i32 = 100;

/// Takes what is `ripe` in reach; it becomes one's own `wood`. Of several who want it in a tick, one
/// has it.
#[command(clients, atomic)]
fn harvest(me: Entity, plant: Entity) {
    require(is_within(me, plant, REACH) && plant.ripe);
    plant.ripe = false;
    require_fits(me.wood += 1);
    after(REGROWTH, regrow(plant));
}

#[command]
fn regrow(me: Entity) {
    me.ripe = true;
}
