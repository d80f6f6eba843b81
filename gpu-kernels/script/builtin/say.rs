/// How far along each axis a player is heard.
#[range(1.0, 262143.0)]
const DISTANCE: Fixed = 20.0;

/// Finds out who hears what a player says: the server gives it, with the text's number in
/// this tick.
#[command(rules)]
fn say(me: Entity, text: i32) {
    tell(Say { text }, around(me, DISTANCE));
}
