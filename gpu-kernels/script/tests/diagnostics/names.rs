//- misspelled
const DAMAGE: i32 = 5;
fn twice(n: i32) -> i32 { n * 2 }
#[command(clients)]
fn strike(me: Entity, target: Entity) {
    let amount = 1;
    require(is_witin(me, target, 2.0));
    target.hpp -= DAMAGE;
    target.hp -= DAMAGES;
    target.hp -= amout;
    target.hp -= twise(2);
    amout = 3;
    after(1, strik(me, target));
    if me.team == "blu" {}
    if me.kind == "players" {}
}
//- unknown
#[command(clients)]
fn strike(me: Entity, target: Entity) {
    me.mana -= 1;
    me.hp -= cost;
    me.hp -= price();
    after(1, cast(me));
    me.hp -= std::f32::MAX;
    me.hp -= std::min(1, 2);
    cost::a = 1;
    me.position.w += 1.0;
    let p = me.position;
    me.gold += p.z as i32;
    me.gold += me.hp.half;
    me.gold += me.0;
}
//- of commands
#[command(clients)]
fn strike(me: Entity, target: Entity) {
    hug(target);
}
#[command]
fn hug(me: Entity) {}
//- of a variable that could not be made
#[command(clients)]
fn strike(me: Entity, target: Entity) {
    let damage = unknown(3);
    let double = damage * 2;
    let mut sum = damage;
    sum += double;
    target.hp -= double;
    me.best.max(sum);
    me.gold += clamp(sum, 0, 10);
    match sum { 1 => {} _ => {} }
    match damage { "a" => {} _ => {} }
    for i in 0..damage { me.gold += i; }
    for other in near(damage, sum) { other.hp -= 1; }
    tell(Hit { damage });
    if damage { me.gold += 1; }
    after(damage, strike(damage, target));
    let p = point(damage, 1.0);
    me.position += p * damage;
    me.speed = random(damage, 1.5);
}
//- of parameters with types that scripts lack
#[command(clients)]
fn strike(me: Entity, n: u8) {
    me.gold += n;
}
fn helper(n: u8) -> i32 { 1 }
#[command(clients)]
fn hug(me: Entity) {
    me.gold += helper(3);
}
