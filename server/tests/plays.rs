//! Bots send the commands of a script, or any command of the world, and receive nothing wrong.

use client_bot::BehaviourKind;
use client_bot::cli::read_play;
use shared::world::logic::Text;

use crate::common::{Bots, Player, start, ticks, until};

/// A world whose hit points start in the middle, so that both strikes and heals show.
const ARENA: &str = "
    [world]
    size = [60, 60]
    aoi = 50
    capacity = 64
    tick_hz = 20

    [[kind]]
    name = 'player'
    attributes = [
        { name = 'hp', type = 'i32', default = 100, min = 0, max = 100, audience = 'state' },
    ]
";

#[tokio::test]
async fn hunters_strike_each_other() {
    let server = start(ARENA);
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../client-bot/plays/hunter.rs");
    let play = read_play(path.as_ref()).unwrap();
    let bots = Bots::start_with(&server, 12, BehaviourKind::Wander, |options| {
        options.play = Some(play);
    });
    let bots = bots.await;
    let mut witness = Player::join(&server).await;
    until(&mut [&mut witness], "a player is hurt", |p| {
        let view = p[0].client.view();
        let hp = view.schema().column("hp").expect("such an attribute");
        view.entities().values().any(|e| e.row[hp] < 60)
    })
    .await;
    witness.client.leave();
    ticks(&server, 30).await;
    let report = bots.verify(&server).await;
    assert_eq!(report.behaviour, "hunter");
    server.stop().unwrap();
}

#[tokio::test]
async fn bots_remember_and_pause() {
    let server = start(ARENA);
    let play = |text: &str| Some(Text::new("test.rs", text));
    let forgetful = play("fn act() { send(heal(me)); pause(0.5); }");
    let paced = Bots::start_with(&server, 4, BehaviourKind::Wander, |options| {
        options.play = forgetful;
    });
    let paced = paced.await;
    let once = play("fn act(mut n: i32) { n += 1; if n <= 3 { send(heal(me)); } }");
    let counting = Bots::start_with(&server, 4, BehaviourKind::Wander, |options| {
        options.play = once;
    });
    let counting = counting.await;
    // Three seconds.
    ticks(&server, 60).await;
    let counted = counting.verify(&server).await;
    assert_eq!(counted.commands_sent, 4 * 3, "each bot remembers its own");
    // Without pauses each of them sends twenty in a second.
    let paced = paced.verify(&server).await;
    let most = 4.0 * (paced.seconds / 0.5 + 1.0);
    let sent = paced.commands_sent as f64;
    assert!(sent >= 4.0 * 3.0 && sent <= most, "{sent} of {most}");
    server.stop().unwrap();
}

/// A world with commands of all types of words.
const EVERYTHING: &str = "
    [world]
    size = [120, 120]
    aoi = 30
    capacity = 128
    tick_hz = 20

    [limits]
    client_commands_per_tick = 4

    [commands]
    blast = { sound = 25, ember_ticks = 3 }
    shout = { radius_max = 40 }

    [[kind]]
    name = 'player'
    respawn_ticks = 10
    attributes = [
        { name = 'hp', type = 'i32', default = 40, min = 0, max = 100, falls_at = 0, audience = 'state' },
    ]

    [[kind]]
    name = 'item'
    population = 20
    attributes = [{ name = 'owner', type = 'entity', merge = 'first', audience = 'state', tells_owner = true }]
";

#[tokio::test]
async fn bots_that_send_any_commands_keep_their_sessions() {
    let server = start(EVERYTHING);
    let bots = Bots::start(&server, 30, BehaviourKind::Any).await;
    ticks(&server, 100).await;
    bots.verify(&server).await;
    server.stop().unwrap();
}
