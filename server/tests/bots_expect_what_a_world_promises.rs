//! Bots that check their views find no errors in worlds that show and notify more than
//! others, or move entities in any way.

use client_bot::BehaviourKind;
use server::Server;

use crate::common::{Bots, Player, scratch, start, ticks, until};

#[tokio::test]
async fn where_kinds_publish_and_subscribe_to_boxes() {
    let server = start(
        "
        [world]
        size = [300, 300]
        aoi = 15
        capacity = 128
        tick_hz = 20

        [limits]
        regions_per_client = 2

        [commands]
        shout = { radius_max = 40 }

        [[kind]]
        name = 'player'
        publishes = [50, 10.5]
        subscribes = [80, 61]

        [[kind]]
        name = 'tower'
        population = 40
        publishes = [90, 90]
    ",
    );
    for behaviour in [BehaviourKind::Survey, BehaviourKind::Any] {
        let bots = Bots::start(&server, 30, behaviour).await;
        ticks(&server, 60).await;
        bots.verify(&server).await;
    }
    server.stop().unwrap();
}

/// Commands with names that the built-in ones have too, and other effects.
const SCRIPT: &str = "
    #[command(clients)]
    fn warp(me: Entity, to: Point) {
        me.position += inside(to) - me.position;
    }

    #[command(clients)]
    fn drag(me: Entity, other: Entity) {
        other.position += me.position - other.position;
    }

    #[command(clients)]
    fn vanish(me: Entity, a: i32, b: i32) {
        require(a == 7 && b == 7);
        despawn(me);
    }

    #[command(clients)]
    fn call(me: Entity, n: i32) {
        require(n == 3);
        spawn(\"ghost\", me.position);
    }

    #[command(clients)]
    fn banish(me: Entity, other: Entity) {
        require(other.kind == \"ghost\");
        despawn(other);
    }

    #[command(clients)]
    fn blast(me: Entity, at: Point) {
        tell(Blast { at }, around(point(5.0, 5.0), 30.0));
    }

    #[command(clients)]
    fn shout(me: Entity, radius: Fixed, number: i32) {
        tell(Shout { number }, around(me, 90.0));
    }

    #[command(clients)]
    fn whisper(me: Entity, other: Entity) {
        tell(Whisper { other });
    }
";

/// A server of a world with [`SCRIPT`]. `name` is that of a folder for it.
fn scripted(name: &str) -> Server {
    let folder = scratch(name);
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("all.rs"), SCRIPT).unwrap();
    start(&format!(
        "
        [world]
        size = [150, 150]
        aoi = 30
        capacity = 256
        tick_hz = 20

        [logic]
        folder = {folder:?}

        [[kind]]
        name = 'player'

        [[kind]]
        name = 'ghost'
        population = 20
        attributes = [
            {{ name = 'age', type = 'i32', audience = 'private' }},
        ]
        "
    ))
}

#[tokio::test]
async fn a_player_whose_entity_a_script_removes_gets_a_new_one() {
    let server = scripted("scripts-of-one");
    let mut player = Player::join(&server).await;
    let before = player.entity();
    let schema = player.client.view().schema();
    let vanish = schema.command_named("vanish").unwrap().kind;
    player.send(vanish, &[7, 7]);
    until(&mut [&mut player], "it has another entity", |p| {
        p[0].entity() != before && p[0].client.view().own().is_some()
    })
    .await;
    server.stop().unwrap();
}

#[tokio::test]
async fn where_scripts_move_make_and_remove_entities() {
    let server = scripted("scripts-of-many");
    let bots = Bots::start(&server, 40, BehaviourKind::Any).await;
    ticks(&server, 120).await;
    bots.verify(&server).await;
    server.stop().unwrap();
}
