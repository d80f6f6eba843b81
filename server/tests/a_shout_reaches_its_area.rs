//! A notification with an area reaches clients that see some of the area or have a
//! region there: once, subscribed to or not.

use client_bot::BehaviourKind;
use script::builtin;
use server::Server;
use shared::EntityId;
use shared::wire::notice::{Notice, NoticeBody};
use shared::wire::request::Region;

use crate::common::{Bots, Player, all_listen, go, start, ticks, units};

/// A world in which players see 20 units far and go anywhere in one step.
const WIDE: &str = "
    [world]
    size = [1000, 1000]
    aoi = 20
    capacity = 64
    tick_hz = 20

    [limits]
    clients = 16
    regions_per_client = 1
    region_edge_max = 100
    subscriptions_per_client = 2

    [commands]
    move = { speed_max = 1000 }
    shout.radius_max = 50
    blast = { reach = 1000, radius = 1, sound = 30 }

    [[kind]]
    name = 'player'
    attributes = [
        { name = 'hp', type = 'i32', default = 100, min = 0, max = 100, audience = 'state' },
    ]
";

/// Players at these distances from the middle of the world, along the first axis.
async fn along(server: &Server, distances: &[f64]) -> Vec<Player> {
    let mut players = vec![];
    for distance in distances {
        let mut player = Player::join(server).await;
        go(&mut player, 500.0 + distance, 500.0).await;
        players.push(player);
    }
    players
}

fn shout(source: EntityId, number: i32, subscriptions: &[u32]) -> Notice {
    Notice {
        body: NoticeBody::Notification {
            kind: builtin::SHOUT_NOTIFICATION,
            source,
            words: vec![number],
        },
        heard: true,
        subscriptions: subscriptions.to_vec(),
    }
}

#[tokio::test]
async fn the_shout_reaches_a_client_that_sees_some_of_the_area_once() {
    let server = start(WIDE);
    // The shout reaches 30 units: players up to 50 units away see some of its area.
    let mut players = along(&server, &[0.0, 25.0, 49.9, 50.5, 400.0]).await;
    let source = players[0].entity();
    players[0].send(builtin::SHOUT, &[units(30.0), 7]);
    all_listen(&server, &mut players).await;
    for (i, player) in players.iter().enumerate() {
        let received: Vec<Notice> = player.notices().into_iter().cloned().collect();
        let expected = vec![shout(source, 7, &[]); usize::from(i < 3)];
        assert_eq!(received, expected, "player {i}");
    }
    assert!(!players[2].sees(source), "shouts reach farther than sight");
    // No shout goes farther than the world allows.
    players[0].send(builtin::SHOUT, &[units(900.0), 8]);
    all_listen(&server, &mut players).await;
    let received: Vec<usize> = players.iter().map(|p| p.notices().len()).collect();
    assert_eq!(received, [2, 2, 2, 1, 0]);
    server.stop().unwrap();
}

#[tokio::test]
async fn the_shout_reaches_a_client_with_a_region_there_too() {
    let server = start(WIDE);
    let mut players = along(&server, &[0.0, 300.0, 300.0]).await;
    let corner = |x: f64| [units(x), units(490.0)];
    // Boxes that touch do not overlap.
    let edges = [(529.9, 550.0), (530.1, 550.0)];
    for (player, (low, high)) in players[1..].iter_mut().zip(edges) {
        let mut region = Region::fixed(&corner(low), &corner(high));
        region.high[1] = units(510.0);
        let request = player.client.set_region(0, Some(region));
        let answer = player.client.answer(request, &mut player.log).await;
        assert_eq!(answer.unwrap(), Ok(()));
    }
    let source = players[0].entity();
    players[0].send(builtin::SHOUT, &[units(30.0), 7]);
    all_listen(&server, &mut players).await;
    assert_eq!(players[1].notices(), [&shout(source, 7, &[])]);
    assert!(players[2].notices().is_empty());
    server.stop().unwrap();
}

#[tokio::test]
async fn a_notification_by_place_and_subscription_comes_once() {
    let server = start(WIDE);
    let mut players = along(&server, &[0.0, 10.0, 300.0]).await;
    let source = players[0].entity();
    for player in &mut players[1..] {
        player.subscribe(5, "event == \"shout\"").await.unwrap();
        player.subscribe(3, "shout.number == 7").await.unwrap();
    }
    for number in [7, 8] {
        players[0].send(builtin::SHOUT, &[units(30.0), number]);
        all_listen(&server, &mut players).await;
    }
    let near = [shout(source, 7, &[3, 5]), shout(source, 8, &[5])];
    let received: Vec<Notice> = players[1].notices().into_iter().cloned().collect();
    assert_eq!(received, near);
    // The player far away gets it by its subscription, not by place.
    let far = near.map(|notice| Notice {
        heard: false,
        ..notice
    });
    let received: Vec<Notice> = players[2].notices().into_iter().cloned().collect();
    assert_eq!(received, far);
    server.stop().unwrap();
}

#[tokio::test]
async fn a_blast_is_notified_farther_than_it_harms() {
    let server = start(WIDE);
    let mut players = along(&server, &[0.0, 49.9, 50.5, 100.0]).await;
    let source = players[3].entity();
    let centre = [units(500.0), units(500.0)];
    players[3].send(builtin::BLAST, &centre);
    all_listen(&server, &mut players).await;
    let heard: Vec<usize> = players.iter().map(|p| p.notices().len()).collect();
    assert_eq!(heard, [1, 1, 0, 0]);
    let Notice { body, heard, .. } = players[1].notices()[0];
    let [x, y] = centre;
    let expected = NoticeBody::Notification {
        kind: builtin::BLAST_NOTIFICATION,
        source,
        words: vec![x, y],
    };
    assert_eq!((body, *heard), (&expected, true));
    assert_eq!(players[1].value(players[1].entity(), "hp"), 100);
    server.stop().unwrap();
}

#[tokio::test]
async fn bots_get_notifications_nearby_and_none_from_afar() {
    // In this world clients can't subscribe, but get notifications by place.
    let server = start(
        "
        [world]
        size = [300, 300]
        aoi = 30
        capacity = 128
        tick_hz = 20

        [limits]
        client_hearings_per_tick = 1000

        [commands]
        shout.radius_max = 50
        blast = { radius = 5, sound = 40 }
    ",
    );
    let bots = Bots::start(&server, 40, BehaviourKind::Fight).await;
    ticks(&server, 100).await;
    let report = bots.verify(&server).await;
    assert!(report.notices > 100, "{} notices", report.notices);
    server.stop().unwrap();
}
