//! A subscriber gets a notice of each match, wherever it happens: once, with all of its
//! subscriptions that match.

use client_bot::BehaviourKind;
use script::builtin;
use server::Server;
use shared::wire::notice::{Notice, NoticeBody};
use shared::wire::stream::Message;
use shared::{EntityId, NotificationKind};

use crate::common::{Bots, Player, Vanished, listen_for, losing, start, start_with, ticks, until};

/// A world in which players see one unit far and strikes reach anywhere.
const FAR: &str = "
    [world]
    size = [4000, 4000]
    aoi = 1
    capacity = 64
    tick_hz = 20

    [limits]
    clients = 8
    subscriptions_per_client = 4
    client_notices_per_tick = 3

    [commands]
    strike = { reach = 8000, damage = 30, per_tick = 0 }
    heal = { reach = 8000, amount = 10, per_tick = 0 }
    shout = { radius_max = 5, per_tick = 0 }

    [[kind]]
    name = 'player'
    respawn_ticks = 5
    attributes = [
        { name = 'hp', type = 'i32', default = 100, min = 0, max = 100, falls_at = 0, audience = 'state' },
        { name = 'team', type = 'symbol', symbols = ['red', 'blue'], default = 'red', audience = 'state' },
    ]
";

async fn three(server: &Server) -> [Player; 3] {
    [
        Player::join(server).await,
        Player::join(server).await,
        Player::join(server).await,
    ]
}

/// Lets a player strike, and all listen for the result.
async fn strike(server: &Server, players: &mut [&mut Player], by: usize, target: EntityId) {
    players[by].send(builtin::STRIKE, &[target.reference().0]);
    listen_for(server, players, 4).await;
}

/// The notice of a change of hit points.
fn blow(
    column: usize,
    (entity, by): (EntityId, EntityId),
    (old, new): (i32, i32),
    ids: &[u32],
) -> Notice {
    Notice {
        body: NoticeBody::Change {
            entity,
            kind: 0,
            column: column as u16,
            old,
            new,
            command: Some(builtin::STRIKE),
            by,
        },
        heard: false,
        subscriptions: ids.to_vec(),
    }
}

#[tokio::test]
async fn a_change_that_two_subscriptions_match_comes_once_with_both() {
    let server = start(FAR);
    let [mut listener, mut knight, mut victim] = three(&server).await;
    let own = listener.entity();
    let target = victim.entity();
    let hp = listener.client.view().schema().column("hp").unwrap();
    // Numbers are the client's own; those that match come in ascending order.
    listener.subscribe(9, "attribute == \"hp\"").await.unwrap();
    listener
        .subscribe(4, "new < 80 && command == \"strike\"")
        .await
        .unwrap();
    listener
        .subscribe(5, "attribute == \"hp\" && old < 50")
        .await
        .unwrap();
    let players = &mut [&mut listener, &mut knight, &mut victim];
    strike(&server, players, 1, target).await;
    strike(&server, players, 2, own).await;
    strike(&server, players, 1, own).await;
    let (far, near) = (knight.entity(), victim.entity());
    assert!(!listener.sees(target), "it is far away");
    let notices: Vec<Notice> = listener.notices().into_iter().cloned().collect();
    assert_eq!(
        notices,
        [
            blow(hp, (target, far), (100, 70), &[4, 9]),
            blow(hp, (own, near), (100, 70), &[4, 9]),
            blow(hp, (own, far), (70, 40), &[4, 9]),
        ]
    );
    for other in [&knight, &victim] {
        assert!(other.notices().is_empty(), "they subscribed to nothing");
    }
    server.stop().unwrap();
}

#[tokio::test]
async fn notifications_come_with_their_fields() {
    let server = start(FAR);
    let [mut listener, mut shouter, mut other] = three(&server).await;
    let (source, fallen) = (shouter.entity(), other.entity());
    listener
        .subscribe(1, "event == \"shout\" && shout.number > 5")
        .await
        .unwrap();
    listener
        .subscribe(2, "event == \"fall\" && team == \"red\"")
        .await
        .unwrap();
    listener.log.messages.clear();
    for number in [4, 6] {
        shouter.send(builtin::SHOUT, &[0, number]);
    }
    let players = &mut [&mut listener, &mut shouter, &mut other];
    for _ in 0..4 {
        strike(&server, players, 1, fallen).await;
    }
    let notification = |kind, source, words: &[i32], id| Notice {
        body: NoticeBody::Notification {
            kind,
            source,
            words: words.to_vec(),
        },
        heard: false,
        subscriptions: vec![id],
    };
    let notices: Vec<Notice> = listener.notices().into_iter().cloned().collect();
    assert_eq!(
        notices,
        [
            notification(builtin::SHOUT_NOTIFICATION, source, &[6], 1),
            notification(NotificationKind::FALL, fallen, &[0], 2),
        ]
    );
    server.stop().unwrap();
}

#[tokio::test]
async fn one_entity_can_be_followed_wherever_it_goes() {
    let server = start(FAR);
    let [mut listener, mut walker, mut other] = three(&server).await;
    let followed = walker.entity();
    let text = format!("entity == {} && attribute == \"x\"", followed.reference().0);
    listener.subscribe(1, &text).await.unwrap();
    let x = |p: &Player| p.client.view().own().expect("it lives").row[0];
    let begun = x(&walker);
    // Towards the middle, so that no edge cuts a step.
    let step = if begun > 2000 << 12 { -4096 } else { 4096 };
    for _ in 0..3 {
        walker.send(builtin::MOVE, &[step, 0]);
        other.send(builtin::MOVE, &[step, 0]);
        let players = &mut [&mut listener, &mut walker, &mut other];
        listen_for(&server, players, 3).await;
    }
    let notices: Vec<(EntityId, u16, i32, i32)> = listener
        .notices()
        .iter()
        .map(|notice| match notice.body {
            NoticeBody::Change {
                entity,
                column,
                old,
                new,
                ..
            } => (entity, column, old, new),
            _ => panic!("{notice:?}"),
        })
        .collect();
    let steps = (0..3).map(|i| (followed, 0, begun + i * step, begun + (i + 1) * step));
    assert_eq!(notices, steps.collect::<Vec<_>>());
    server.stop().unwrap();
}

#[tokio::test]
async fn no_notice_comes_after_the_end_of_the_subscription() {
    let server = start(FAR);
    let [mut listener, mut knight, mut victim] = three(&server).await;
    let target = victim.entity();
    listener.subscribe(1, "new < 100").await.unwrap();
    listener.subscribe(2, "old == 100").await.unwrap();
    let request = listener.client.unsubscribe(1);
    let answer = listener.client.answer(request, &mut listener.log).await;
    assert_eq!(answer.unwrap(), Ok(()));
    let players = &mut [&mut listener, &mut knight, &mut victim];
    strike(&server, players, 1, target).await;
    strike(&server, players, 1, target).await;
    let notices: Vec<_> = listener
        .notices()
        .iter()
        .map(|n| &n.subscriptions)
        .cloned()
        .collect();
    assert_eq!(
        notices,
        [vec![2]],
        "the second blow matches no subscription"
    );
    // Its number is free again, and a second end is rejected.
    listener.subscribe(1, "new < 100").await.unwrap();
    let request = listener.client.unsubscribe(7);
    let answer = listener.client.answer(request, &mut listener.log).await;
    assert_eq!(
        answer.unwrap(),
        Err("there is no subscription 7".to_owned())
    );
    server.stop().unwrap();
}

#[tokio::test]
async fn a_client_at_its_limit_of_notices_is_notified() {
    let server = start(FAR);
    let [mut listener, mut a, mut b] = three(&server).await;
    listener.subscribe(1, "event == \"shout\"").await.unwrap();
    // All in one datagram, and so in one tick.
    for shouter in [&mut a, &mut b] {
        for number in 0..5 {
            shouter
                .client
                .command(builtin::SHOUT, &[0, number])
                .unwrap();
        }
        shouter.client.flush();
    }
    listen_for(&server, &mut [&mut listener, &mut a, &mut b], 6).await;
    let mut by_tick = std::collections::BTreeMap::new();
    for (tick, item) in &listener.log.messages {
        let (notices, is_full) = by_tick.entry(tick).or_insert((0, false));
        match item {
            Message::Notice(_) => *notices += 1,
            Message::Full => *is_full = true,
            _ => {}
        }
    }
    let notices: Vec<(i32, bool)> = by_tick
        .into_values()
        .filter(|notices| notices.0 > 0)
        .collect();
    assert!(
        !notices.is_empty() && notices.iter().all(|notices| *notices == (3, true)),
        "{notices:?}"
    );
    server.stop().unwrap();
}

#[tokio::test]
async fn subscriptions_are_there_again_for_a_client_that_resumes_and_for_no_other() {
    let server = start(FAR);
    let [mut listener, mut knight, mut victim] = three(&server).await;
    let target = victim.entity();
    listener.subscribe(3, "attribute == \"hp\"").await.unwrap();
    // Another connection takes the session over.
    let mut back = Player::resume(&server, listener.client.ticket()).await;
    let players = &mut [&mut back, &mut knight, &mut victim];
    strike(&server, players, 1, target).await;
    assert_eq!(back.notices().len(), 1);
    assert_eq!(back.notices()[0].subscriptions, [3]);
    assert!(listener.notices().is_empty());
    back.client.leave();
    ticks(&server, 4).await;
    // The next client with that row has no subscriptions.
    let mut next = Player::join(&server).await;
    let players = &mut [&mut next, &mut knight, &mut victim];
    strike(&server, players, 1, target).await;
    assert!(next.notices().is_empty());
    next.subscribe(3, "attribute == \"hp\"").await.unwrap();
    server.stop().unwrap();
}

#[tokio::test]
async fn subscriptions_wait_for_a_lost_client() {
    let server = start_with(FAR, |options| {
        options.world.limits.idle_seconds = 1;
        options.world.limits.resume_seconds = 30;
    });
    let mut knight = Player::join(&server).await;
    let mut victim = Player::join(&server).await;
    let target = victim.entity();
    let lost = Vanished::join_with(&server, async |player: &mut Player| {
        player.subscribe(3, "attribute == \"hp\"").await.unwrap();
    });
    let before = server.stats().figures().sessions_lost;
    until(&mut [&mut knight, &mut victim], "it is lost", |_| {
        server.stats().figures().sessions_lost > before
    })
    .await;
    // No client gets a notice of this one.
    strike(&server, &mut [&mut knight, &mut victim], 0, target).await;
    let mut back = Player::resume(&server, lost.ticket).await;
    assert!(back.client.is_resumed());
    let players = &mut [&mut back, &mut knight, &mut victim];
    strike(&server, players, 1, target).await;
    let hp = back.client.view().schema().column("hp").unwrap();
    let notices: Vec<Notice> = back.notices().into_iter().cloned().collect();
    assert_eq!(
        notices,
        [blow(hp, (target, knight.entity()), (70, 40), &[3])]
    );
    server.stop().unwrap();
}

/// A world with all that can be subscribed to, in which players die.
const BUSY: &str = "
    [world]
    size = [200, 200]
    aoi = 50
    capacity = 256
    tick_hz = 20

    [limits]
    subscriptions_per_client = 3
    client_notices_per_tick = 1000
    client_requests_per_second = 100

    [commands]
    strike = { reach = 50, damage = 20 }
    blast = { radius = 15, damage = 10, ember_ticks = 3, sound = 40 }
    shout.radius_max = 60

    [[kind]]
    name = 'player'
    respawn_ticks = 10
    attributes = [
        { name = 'hp', type = 'i32', default = 100, min = 0, max = 100, falls_at = 0, audience = 'state' },
    ]

    [[kind]]
    name = 'wolf'
    population = 10
    respawn_ticks = 15
    attributes = [
        { name = 'hp', type = 'i32', default = 30, min = 0, max = 30, falls_at = 0, audience = 'state' },
    ]

    [[kind]]
    name = 'crystal'
    population = 30
    attributes = [{ name = 'owner', type = 'entity', merge = 'first', audience = 'state', tells_owner = true }]
";

#[tokio::test]
async fn listening_bots_get_exactly_the_notices_of_their_subscriptions() {
    let server = start(BUSY);
    let bots = Bots::start(&server, 40, BehaviourKind::Listen).await;
    ticks(&server, 100).await;
    let report = bots.verify(&server).await;
    assert!(report.notices > 1000, "{} notices", report.notices);
    assert_eq!(report.notices_full, 0);
    server.stop().unwrap();
}

#[tokio::test]
async fn lost_datagrams_lose_no_notice() {
    let server = start(BUSY);
    let change = |options: &mut client_bot::SwarmOptions| options.network = losing(0.1);
    let bots = Bots::start_with(&server, 20, BehaviourKind::Listen, change).await;
    ticks(&server, 100).await;
    bots.verify(&server).await;
    server.stop().unwrap();
}

#[tokio::test]
async fn bots_whose_private_attributes_change_get_notices_of_their_own() {
    // Hit points are private, so bots get notices of their own only.
    let private = BUSY.replace(
        "max = 100, falls_at = 0, audience = 'state'",
        "max = 100, falls_at = 0, audience = 'private'",
    );
    let private = private.replace(
        "max = 30, falls_at = 0, audience = 'state'",
        "max = 30, falls_at = 0, audience = 'private'",
    );
    assert_eq!(private.matches("'private'").count(), 2);
    let server = start(&private);
    let bots = Bots::start(&server, 30, BehaviourKind::Listen).await;
    ticks(&server, 100).await;
    let report = bots.verify(&server).await;
    assert!(report.notices > 100, "{} notices", report.notices);
    server.stop().unwrap();
}
