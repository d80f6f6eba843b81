/// Adds to the `score` of the entity, and keeps its `best`.
#[command]
fn score(me: Entity, points: i32) {
    me.best.max(max(me.best, me.score + points));
    me.score += points;
}
