//! A player that dies is seen dying, and gets a new entity.

use client_bot::BehaviourKind;
use script::builtin;
use shared::wire::stream::Message;

use crate::common::{Bots, Player, listen_for, losing, start, ticks, until};

/// A room whose players die after two strikes.
const DUEL: &str = "
    [world]
    size = [30, 30]
    aoi = 100
    capacity = 64
    tick_hz = 20

    [commands]
    strike = { reach = 100, damage = 50, per_tick = 0 }

    [[kind]]
    name = \"player\"
    respawn_ticks = 20
    attributes = [
        { name = \"hp\", type = \"i32\", default = 100, min = 0, max = 100, falls_at = 0, audience = \"state\" },
        { name = \"gold\", type = \"i32\", default = 10, min = 0, audience = \"private\" },
    ]
";

/// A world in which bots kill each other all the time, also by embers.
const BRAWL: &str = "
    [world]
    size = [200, 200]
    aoi = 50
    capacity = 256
    tick_hz = 20

    [commands]
    strike = { reach = 50, damage = 40, per_tick = 0 }
    blast = { radius = 15, damage = 30, ember_ticks = 4, ember_damage = 5 }

    [[kind]]
    name = \"player\"
    respawn_ticks = 10
    attributes = [
        { name = \"hp\", type = \"i32\", default = 100, min = 0, max = 100, falls_at = 0, audience = \"state\" },
    ]

    [[kind]]
    name = \"wolf\"
    population = 20
    respawn_ticks = 5
    attributes = [
        { name = \"hp\", type = \"i32\", default = 30, min = 0, max = 30, falls_at = 0, audience = \"state\" },
    ]
";

#[tokio::test]
async fn a_player_that_dies_gets_a_new_entity() {
    let server = start(DUEL);
    let mut victim = Player::join(&server).await;
    let mut killer = Player::join(&server).await;
    let mut witness = Player::join(&server).await;
    let fallen = victim.entity();
    until(&mut [&mut killer, &mut witness], "they see it", |p| {
        p.iter().all(|p| p.sees(fallen))
    })
    .await;
    for _ in 0..2 {
        killer.send(builtin::STRIKE, &[fallen.reference().0]);
    }
    until(&mut [&mut victim, &mut killer], "it falls", |p| {
        p[0].client.view().is_dead()
    })
    .await;
    // It sees the place of its death: the two others are in the room.
    let others = [killer.entity(), witness.entity()];
    until(&mut [&mut victim], "it watches", |p| {
        let is_dead = p[0].client.view().own().is_none();
        is_dead && others.iter().all(|&other| p[0].sees(other))
    })
    .await;
    assert_eq!(victim.entity(), fallen);
    until(&mut [&mut victim], "it is reborn", |p| {
        p[0].client.view().own().is_some()
    })
    .await;
    let reborn = victim.entity();
    assert_ne!(reborn, fallen);
    assert_eq!(victim.value(reborn, "hp"), 100);
    // The owner is sent the private attributes of the new entity.
    assert_eq!(victim.value(reborn, "gold"), 10);
    let messages = &victim.log.messages;
    assert!(
        messages
            .iter()
            .any(|(_, item)| *item == Message::Reborn(reborn))
    );
    until(&mut [&mut killer, &mut witness], "they see it", |p| {
        p.iter().all(|p| p.sees(reborn) && !p.sees(fallen))
    })
    .await;
    for player in [&killer, &witness] {
        assert_eq!(player.leaves_of(fallen).len(), 1);
        let messages = &player.log.messages;
        assert!(
            !messages
                .iter()
                .any(|(_, item)| matches!(item, Message::Reborn(_)))
        );
    }
    // Its commands move the new entity.
    let own = |p: &Player| p.client.view().own().expect("it lives").row[..2].to_vec();
    let before = own(&victim);
    let towards_the_middle = before
        .iter()
        .map(|&p| if p > 15 << 12 { -4096 } else { 4096 });
    let step: Vec<i32> = towards_the_middle.collect();
    victim.send(builtin::MOVE, &step);
    until(&mut [&mut victim], "it moves", |p| own(p[0]) != before).await;
    assert_eq!(own(&victim), [before[0] + step[0], before[1] + step[1]]);
    server.stop().unwrap();
}

#[tokio::test]
async fn requests_are_answered_in_the_tick_of_a_rebirth_too() {
    let limits = "[limits]\nclient_requests_per_second = 100\npredicate_filters = 1024";
    let server = start(&format!("{DUEL}{limits}"));
    let mut victim = Player::join(&server).await;
    let mut killer = Player::join(&server).await;
    let fallen = victim.entity();
    // So dear that a tick answers two. The others wait in the server, and every tick has
    // some of them, however late it is.
    let dear = ["(new < 1 || new < 2)"; 10].join(" && ");
    let requests = 100;
    for _ in 0..requests {
        victim.client.subscribe(1, &dear);
    }
    for _ in 0..2 {
        killer.send(builtin::STRIKE, &[fallen.reference().0]);
    }
    until(&mut [&mut victim, &mut killer], "all is answered", |p| {
        p[0].answers().len() == requests
    })
    .await;
    assert_ne!(victim.entity(), fallen);
    let messages = &victim.log.messages;
    let reborn = messages
        .iter()
        .find(|(_, item)| matches!(item, Message::Reborn(_)));
    let tick = reborn.expect("the message of its rebirth").0;
    let in_that_tick = messages.iter().filter(|messages| messages.0 == tick);
    let answered = |messages: &&(_, Message)| matches!(messages.1, Message::Answer(_));
    assert!(in_that_tick.filter(answered).count() > 0);
    server.stop().unwrap();
}

#[tokio::test]
async fn a_client_that_leaves_while_dead_is_gone() {
    let server = start(DUEL);
    let victim = Player::join(&server).await;
    let mut killer = Player::join(&server).await;
    let fallen = victim.entity();
    until(&mut [&mut killer], "it sees it", |p| p[0].sees(fallen)).await;
    for _ in 0..2 {
        killer.send(builtin::STRIKE, &[fallen.reference().0]);
    }
    until(&mut [&mut killer], "it falls", |p| !p[0].sees(fallen)).await;
    victim.client.leave();
    listen_for(&server, &mut [&mut killer], 40).await;
    assert_eq!(server.stats().figures().clients, 1);
    assert_eq!(killer.client.view().entities().len(), 1);
    server.stop().unwrap();
}

#[tokio::test]
async fn bots_that_die_all_the_time_receive_nothing_wrong() {
    let server = start(BRAWL);
    let bots = Bots::start_with(&server, 40, BehaviourKind::Fight, |o| {
        o.network = losing(0.05)
    })
    .await;
    ticks(&server, 120).await;
    let report = bots.verify(&server).await;
    assert!(report.visible_mean > 0.5, "{report:?}");
    server.stop().unwrap();
}
