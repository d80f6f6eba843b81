//! Clients that ask for a ranking are sent its first ones and their own place, at most once a second,
//! by a server and by a gateway.

use std::sync::Arc;

use client_bot::behaviour::BehaviourKind;
use client_bot::client_core::{Message, Ranking};
use shared::Tick;

use crate::common::gateways::{Host, stop};
use crate::common::names::{ByName, named};
use crate::common::{Bots, Player, scratch, start, ticks, until};

const TICK_HZ: u32 = 20;

/// Players collect points; a second ranking is not for clients.
fn contest(name: &str) -> String {
    let folder = scratch(&format!("rankings-{name}"));
    std::fs::create_dir_all(&folder).unwrap();
    let script = "
        #[command(clients)]
        fn collect(me: Entity, points: i32) { me.score += points; }
    ";
    std::fs::write(folder.join("all.rs"), script).unwrap();
    format!(
        "
        [world]
        size = [100, 100]
        aoi = 10
        capacity = 64
        tick_hz = {TICK_HZ}

        [logic]
        folder = {folder:?}

        [[kind]]
        name = 'player'
        attributes = [
            {{ name = 'score', type = 'i32', min = 0, audience = 'private' }},
            {{ name = 'secret', type = 'i32', audience = 'hidden' }},
        ]

        [[ranking]]
        kind = 'player'
        by = 'secret'

        [[ranking]]
        kind = 'player'
        by = 'score'
        length = 2
        clients = true
        "
    )
}

fn score(player: &Player) -> &Ranking {
    let ranking = player.client.view().ranking("score");
    ranking.expect("the world has it")
}

/// Names and values of the first ones, and the own place.
fn shown(player: &Player) -> (Vec<(String, i32)>, Option<u32>) {
    let ranking = score(player);
    let first = ranking.first.iter().map(|ranked| {
        let name = ranked.name.as_ref().map(ToString::to_string);
        (name.unwrap_or_default(), ranked.value)
    });
    (first.collect(), ranking.own)
}

fn collect(player: &mut Player, points: i32) {
    let collect = player.client.view().schema().command_named("collect");
    let collect = collect.expect("a command").kind;
    player.send(collect, &[points]);
}

/// The ticks of what a player was sent of rankings.
fn received(player: &Player) -> Vec<Tick> {
    let messages = player.log.messages.iter();
    let received = messages.filter(|(_, message)| matches!(message, Message::Ranking(_)));
    received.map(|(tick, _)| *tick).collect()
}

#[tokio::test]
async fn players_see_who_is_first_and_where_they_are_also_by_a_gateway() {
    let host = Host::start(&contest("named"), "rankings", |options| {
        options.authenticator = Arc::new(ByName);
    });
    let gateway = host.gateway().await;
    let mut ann = host.join(host.server.address(), &named("Ann")).await;
    let mut bob = host.join(gateway.address(), &named("Bob")).await;
    let mut cleo = host.join(gateway.address(), &named("Cleo")).await;
    let names: Vec<&str> = ann
        .client
        .view()
        .rankings()
        .iter()
        .map(|r| &r.info.name[..])
        .collect();
    assert_eq!(names, ["score"], "the others are not for clients");
    assert_eq!(ann.client.ask_ranking("secret", 2), Some(false));
    for (player, length) in [(&mut ann, 2), (&mut bob, 200), (&mut cleo, 1)] {
        assert_eq!(player.client.ask_ranking("score", length), Some(true));
    }
    collect(&mut ann, 5);
    collect(&mut bob, 9);
    collect(&mut cleo, 2);
    let at = |score: &[(&str, i32)], own| {
        let score = score.iter().map(|&(name, value)| (name.to_owned(), value));
        (score.collect::<Vec<_>>(), Some(own))
    };
    until(
        &mut [&mut ann, &mut bob, &mut cleo],
        "all have collected",
        |p| {
            shown(p[0]) == at(&[("Bob", 9), ("Ann", 5)], 2)
                && shown(p[1]) == at(&[("Bob", 9), ("Ann", 5)], 1)
                && shown(p[2]) == at(&[("Bob", 9)], 3)
        },
    )
    .await;
    assert_eq!(score(&ann).first[1].entity, ann.entity());
    // Only the place of one changes.
    collect(&mut cleo, 4);
    until(
        &mut [&mut ann, &mut bob, &mut cleo],
        "one overtakes another",
        |p| shown(p[0]) == at(&[("Bob", 9), ("Cleo", 6)], 3) && shown(p[2]) == at(&[("Bob", 9)], 2),
    )
    .await;
    let last = cleo
        .log
        .messages
        .iter()
        .rev()
        .find_map(|(_, message)| match message {
            Message::Ranking(standing) => Some(standing.first.clone()),
            _ => None,
        });
    assert_eq!(last, Some(None), "the first ones are not sent again");
    // Who asks no longer is sent nothing, and the others see it leave.
    ann.client.ask_ranking("score", 0);
    // A request behind it is answered once it has arrived.
    let request = ann.client.unsubscribe(7);
    assert!(ann.answer(request).await.is_err());
    bob.client.leave();
    until(&mut [&mut ann, &mut cleo], "the first one has left", |p| {
        shown(p[1]) == at(&[("Cleo", 6)], 1)
    })
    .await;
    assert_eq!(shown(&ann), at(&[("Bob", 9), ("Cleo", 6)], 3));
    for player in [&ann, &cleo] {
        let received = received(player);
        let mut pairs = received.windows(2);
        assert!(
            pairs.all(|pair| pair[1].since(pair[0]) >= TICK_HZ),
            "at most once a second: {received:?}"
        );
    }
    stop(gateway).await;
    host.server.stop().unwrap();
}

#[tokio::test]
async fn bots_that_ask_for_rankings_find_them_in_order() {
    let server = start(&contest("bots"));
    let bots = Bots::start(&server, 30, BehaviourKind::Any).await;
    ticks(&server, 100).await;
    bots.verify(&server).await;
    server.stop().unwrap();
}
