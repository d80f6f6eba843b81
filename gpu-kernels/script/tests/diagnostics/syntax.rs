//- a semicolon is missing
#[command(clients)]
fn hug(me: Entity, other: Entity) {
    me.gold += 1
    other.gold += 1;
}
//- a bracket is never closed
#[command(clients)]
fn hug(me: Entity) {
    me.gold += (1 + 2;
}
//- a brace is never closed
#[command(clients)]
fn hug(me: Entity) {
    if me.hp > 3 {
        me.gold += 1;
}
//- a bracket is closed that was never opened
#[command(clients)]
fn hug(me: Entity) {
    me.gold += 1);
}
//- a quote is never closed
#[command(clients)]
fn hug(me: Entity) {
    require(me.team == "red);
}
//- single quotes
#[command(clients)]
fn hug(me: Entity) {
    require(me.team == 'red');
}
//- a sign that Rust lacks
#[command(clients)]
fn hug(me: Entity) {
    me.gold += 5 €;
}
//- the body is missing
fn hug(me: Entity)
//- the text ends too early
#[command(clients)]
//- a keyword as a name
#[command(clients)]
fn move(me: Entity) {}
//- a type is missing
fn hug(me) {}
