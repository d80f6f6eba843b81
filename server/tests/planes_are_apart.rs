//! Planes: players move between them, and see and hear nothing of another one.

use client_bot::BehaviourKind;
use shared::wire::stream::Message;
use shared::wire::talk::TalkRequest;
use shared::world::logic::Text;
use shared::{CommandKind, WorldConfig};
use testkit::scripts::with_texts;

use crate::common::names::join_named as join;
use crate::common::{Bots, Player, all_listen, go, start_with, ticks, units, until, world};

const FILE: &str = "
    [world]
    size = [32, 32]
    aoi = 20
    capacity = 200
    tick_hz = 20

    [limits]
    clients = 32
    atomic_per_tick = 64

    [logic]
    builtin = ['move', 'say', 'roam']

    [commands]
    move = { speed_max = 1000 }

    [[plane]]
    name = 'cave'
    size = [16, 16]
    copies = 4

    [[kind]]
    name = 'player'

    [[kind]]
    name = 'rat'
    plane = 'cave'
    population = 6

    [[every]]
    kind = 'rat'
    ticks = 2
    command = 'roam'
";

/// A world whose players go to any plane.
fn caves() -> WorldConfig {
    let hop = "#[command(clients, atomic)]
        fn hop(me: Entity, number: i32) { me.position = in_plane(number % 5, point(8.0, 8.0)); }";
    with_texts(&world(FILE), vec![Text::new("hop.rs", hop)])
}

fn hop(config: &WorldConfig) -> CommandKind {
    config.schema.command_named("hop").unwrap().kind
}

/// How many texts of others and of its own a player has received.
fn texts(player: &Player) -> usize {
    let messages = player.log.messages.iter();
    let is_talk = |(_, message): &&(_, Message)| matches!(message, Message::Talk(_));
    messages.filter(is_talk).count()
}

#[tokio::test]
async fn players_see_and_hear_those_in_their_own_plane_only() {
    let config = caves();
    let hop = hop(&config);
    let server = start_with("", |options| options.world = config);
    let mut players = vec![];
    for called in ["Ann", "Bob", "Cid"] {
        let mut player = join(&server, called).await;
        go(&mut player, 16.0, 16.0).await;
        players.push(player);
    }
    let sees = |player: &Player, other: &Player| {
        let seen = player.client.view().entities();
        seen.contains_key(&other.entity().slot.0)
    };
    let [ann, bob, cid] = &mut players[..] else {
        panic!("there are three")
    };
    until(&mut [ann, bob, cid], "all see each other", |p| {
        sees(p[0], p[1]) && sees(p[1], p[2]) && sees(p[2], p[0])
    })
    .await;
    // Ann and Bob go to one cave, at the same place from its corner as Cid in another.
    ann.send(hop, &[2]);
    bob.send(hop, &[2]);
    cid.send(hop, &[3]);
    until(&mut [ann, bob, cid], "they are apart", |p| {
        sees(p[0], p[1]) && !sees(p[1], p[2]) && !sees(p[2], p[0])
    })
    .await;
    let place = |player: &Player| {
        let view = player.client.view();
        let row = &view.own().expect("it lives").row;
        let atlas = &view.schema().atlas;
        (
            atlas.plane_of([row[0], row[1]]),
            atlas.local([row[0], row[1]]),
        )
    };
    let middle = [units(8.0); 2];
    until(&mut [ann, bob, cid], "all are there", |p| {
        let places = [(2, middle), (2, middle), (3, middle)];
        p.iter()
            .zip(places)
            .all(|(player, expected)| place(player) == expected)
    })
    .await;
    // Each sees the rats of its own cave.
    let rats = |player: &Player| {
        let seen = player.client.view().entities().values();
        seen.filter(|entity| entity.kind == 1).count()
    };
    until(&mut [ann, bob, cid], "all see rats", |p| {
        p.iter().all(|player| rats(player) == 6)
    })
    .await;
    let text = "is anybody there?".to_owned();
    let number = players[0].client.talk(TalkRequest::Say { text });
    players[0].answer(number).await.unwrap();
    all_listen(&server, &mut players).await;
    let heard: Vec<usize> = players.iter().map(texts).collect();
    assert_eq!(heard, [1, 1, 0]);
    server.stop().unwrap();
}

#[tokio::test]
async fn bots_that_hop_between_planes_receive_what_they_must_and_nothing_else() {
    let server = start_with("", |options| options.world = caves());
    let bots = Bots::start(&server, 16, BehaviourKind::Any).await;
    ticks(&server, 160).await;
    bots.verify(&server).await;
    server.stop().unwrap();
}
