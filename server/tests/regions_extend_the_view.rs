//! A client with a region sees the entities in it as well as those in its area of
//! interest: each enters and leaves the union of both once.

use crate::common;
use crate::common::{Bots, Player, Vanished, go, listen_for, start, start_with, units, until};
use client_bot::BehaviourKind;
use server::Server;
use shared::wire::request::Region;

/// A world in which players see 20 units far and go anywhere in one step.
const WIDE: &str = "
    [world]
    size = [400, 400]
    aoi = 20
    capacity = 64
    tick_hz = 20

    [limits]
    clients = 16
    regions_per_client = 2
    region_edge_max = 100

    [commands]
    move = { speed_max = 1000 }
";

fn square(x: f64, y: f64, edge: f64) -> Region {
    let corner = |add: f64| [units(x + add), units(y + add)];
    Region::fixed(&corner(0.0), &corner(edge))
}

async fn hold(player: &mut Player, index: u32, region: Option<Region>) {
    let request = player.client.set_region(index, region);
    let answer = player.client.answer(request, &mut player.log).await;
    assert_eq!(answer.expect("an answer"), Ok(()));
}

/// A watcher in one corner and another player in the opposite one.
async fn two(server: &Server) -> (Player, Player) {
    let (mut watcher, mut other) = (Player::join(server).await, Player::join(server).await);
    go(&mut watcher, 10.0, 10.0).await;
    go(&mut other, 350.0, 350.0).await;
    listen_for(server, &mut [&mut watcher, &mut other], 3).await;
    assert!(!watcher.sees(other.entity()));
    watcher.log.messages.clear();
    (watcher, other)
}

#[tokio::test]
async fn a_region_shows_the_entities_in_it_until_it_is_given_up() {
    let server = start(WIDE);
    let (mut watcher, mut other) = two(&server).await;
    let them = other.entity();
    hold(&mut watcher, 1, Some(square(340.0, 340.0, 20.0))).await;
    assert!(watcher.sees(them), "from the tick of the answer on");
    // It is seen moving.
    go(&mut other, 345.0, 358.0).await;
    until(&mut [&mut watcher, &mut other], "it is seen there", |p| {
        p[0].value(them, "y") == units(358.0)
    })
    .await;
    // The high edge is not part of it.
    go(&mut other, 345.0, 360.0).await;
    until(&mut [&mut watcher, &mut other], "it is out", |p| {
        !p[0].sees(them)
    })
    .await;
    go(&mut other, 340.0, 340.0).await;
    until(&mut [&mut watcher, &mut other], "it is back", |p| {
        p[0].sees(them)
    })
    .await;
    hold(&mut watcher, 1, None).await;
    assert!(!watcher.sees(them));
    assert_eq!(watcher.enters_of(them), 2);
    assert_eq!(watcher.leaves_of(them).len(), 2);
    server.stop().unwrap();
}

#[tokio::test]
async fn an_entity_in_sight_and_in_a_region_enters_and_leaves_once() {
    let server = start(WIDE);
    let (mut watcher, mut other) = two(&server).await;
    let them = other.entity();
    // One region over the other, and both over the area of interest.
    hold(&mut watcher, 0, Some(square(0.0, 0.0, 60.0))).await;
    hold(&mut watcher, 1, Some(square(20.0, 0.0, 60.0))).await;
    for (x, y) in [
        (70.0, 10.0),
        (50.0, 10.0),
        (25.0, 12.0),
        (5.0, 12.0),
        (12.0, 12.0),
    ] {
        go(&mut other, x, y).await;
        listen_for(&server, &mut [&mut watcher, &mut other], 3).await;
        assert!(watcher.sees(them), "at {x}, {y}");
    }
    hold(&mut watcher, 0, None).await;
    hold(&mut watcher, 1, None).await;
    assert!(watcher.sees(them), "it is still near");
    assert_eq!(watcher.enters_of(them), 1);
    go(&mut other, 70.0, 10.0).await;
    until(&mut [&mut watcher, &mut other], "it is out", |p| {
        !p[0].sees(them)
    })
    .await;
    assert_eq!(watcher.leaves_of(them).len(), 1);
    server.stop().unwrap();
}

#[tokio::test]
async fn a_region_goes_with_the_entity_that_it_follows() {
    let server = start(WIDE);
    let (mut watcher, mut other) = two(&server).await;
    let mut third = Player::join(&server).await;
    let them = other.entity();
    // Ahead of the watcher, beyond its area of interest.
    let own = Region {
        follows: Some(watcher.entity()),
        ..square(30.0, 30.0, 20.0)
    };
    hold(&mut watcher, 0, Some(own)).await;
    assert!(!watcher.sees(them));
    go(&mut watcher, 310.0, 310.0).await;
    until(&mut [&mut watcher, &mut other], "it is in reach", |p| {
        p[0].sees(them)
    })
    .await;
    go(&mut watcher, 10.0, 10.0).await;
    until(&mut [&mut watcher, &mut other], "it is not", |p| {
        !p[0].sees(them)
    })
    .await;
    // Around another player: it shows that player and those near it.
    let around = Region::around(them, &[units(15.0), units(15.0)]);
    hold(&mut watcher, 1, Some(around)).await;
    assert!(watcher.sees(them));
    go(&mut other, 200.0, 100.0).await;
    go(&mut third, 190.0, 110.0).await;
    let thirds = third.entity();
    until(
        &mut [&mut watcher, &mut other, &mut third],
        "both are seen",
        |p| p[0].sees(them) && p[0].sees(thirds),
    )
    .await;
    other.client.leave();
    until(
        &mut [&mut watcher, &mut third],
        "both are out of sight",
        |p| !p[0].sees(them) && !p[0].sees(thirds),
    )
    .await;
    server.stop().unwrap();
}

#[tokio::test]
async fn regions_are_refused_with_the_reason_and_change_nothing() {
    let server = start(WIDE);
    let (mut watcher, other) = two(&server).await;
    let good = square(340.0, 340.0, 20.0);
    hold(&mut watcher, 0, Some(good)).await;
    let inverted = Region {
        low: good.high,
        high: good.low,
        follows: None,
    };
    for (index, region, reason) in [
        (2, good, "there is no region 2: a client has 2, from 0 on"),
        (0, inverted, "is empty or inverted"),
        (0, square(0.0, 0.0, 101.0), "is longer than 409600"),
    ] {
        let request = watcher.client.set_region(index, Some(region));
        let answer = watcher.client.answer(request, &mut watcher.log).await;
        let refusal = answer.unwrap().unwrap_err();
        assert!(refusal.contains(reason), "{refusal}");
    }
    assert!(watcher.sees(other.entity()));
    server.stop().unwrap();
}

#[tokio::test]
async fn regions_are_there_again_for_a_client_that_resumes_and_for_no_other() {
    let server = start(WIDE);
    let (mut watcher, mut other) = two(&server).await;
    let them = other.entity();
    hold(&mut watcher, 0, Some(square(340.0, 340.0, 20.0))).await;
    // Another connection takes the session over.
    let mut back = Player::resume(&server, watcher.client.ticket()).await;
    until(&mut [&mut back, &mut other], "it sees them again", |p| {
        p[0].sees(them)
    })
    .await;
    back.client.leave();
    until(&mut [&mut other], "it is gone", |p| {
        p[0].client.view().entities().len() == 1
    })
    .await;
    listen_for(&server, &mut [&mut other], 3).await;
    // The next client with that row has no regions.
    let mut next = Player::join(&server).await;
    go(&mut next, 10.0, 10.0).await;
    listen_for(&server, &mut [&mut next, &mut other], 3).await;
    assert!(!next.sees(them));
    server.stop().unwrap();
}

#[tokio::test]
async fn regions_wait_for_a_lost_client() {
    let server = start_with(WIDE, |options| {
        options.world.limits.idle_seconds = 1;
        options.world.limits.resume_seconds = 30;
    });
    let mut other = Player::join(&server).await;
    go(&mut other, 350.0, 350.0).await;
    let lost = Vanished::join_with(&server, async |player: &mut Player| {
        hold(player, 0, Some(square(340.0, 340.0, 20.0))).await;
    });
    let before = server.stats().figures().sessions_lost;
    until(&mut [&mut other], "it is lost", |_| {
        server.stats().figures().sessions_lost > before
    })
    .await;
    let mut back = Player::resume(&server, lost.ticket).await;
    let them = other.entity();
    until(&mut [&mut back, &mut other], "it sees them again", |p| {
        p[0].sees(them)
    })
    .await;
    assert!(back.client.is_resumed());
    server.stop().unwrap();
}

#[tokio::test]
async fn surveying_bots_see_exactly_what_they_may() {
    let server = start(
        "
        [world]
        size = [300, 300]
        aoi = 30
        capacity = 128
        tick_hz = 20

        [limits]
        regions_per_client = 2

        [[kind]]
        name = 'player'

        [[kind]]
        name = 'stone'
        population = 60
    ",
    );
    let bots = Bots::start(&server, 40, BehaviourKind::Survey).await;
    common::ticks(&server, 120).await;
    bots.verify(&server).await;
    server.stop().unwrap();
}
