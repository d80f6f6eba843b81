//! Clients are sent courses: little for entities on their courses, and all of it right.

use client_bot::BehaviourKind;
use shared::Tick;

use crate::common::{Bots, Player, listen_for, losing, start, ticks, units, until};

/// Entities go as `steer` sets them.
const SEA: &str = "
    [world]
    size = [200, 200]
    aoi = 50
    capacity = 64
    tick_hz = 20
    velocity = ['vx', 'vy']

    [logic]
    builtin = ['steer']

    [[kind]]
    name = 'boat'
    attributes = [
        { name = 'vx', type = 'fixed', merge = 'last', audience = 'hidden' },
        { name = 'vy', type = 'fixed', merge = 'last', audience = 'hidden' },
    ]

    [[every]]
    kind = 'boat'
    ticks = 1
    command = 'drift'
";

#[tokio::test]
async fn strollers_receive_nothing_wrong_and_little() {
    let server = start(SEA);
    let bots = Bots::start(&server, 40, BehaviourKind::Stroll).await;
    ticks(&server, 80).await;
    let report = bots.verify(&server).await;
    assert!(report.visible_mean > 2.0, "{report:?}");
    // With a word for each step it would be more than one in each tick.
    let sights = report.visible_mean * report.seconds * 20.0 * 40.0;
    let updates = report.updates_delivered as f64;
    assert!(updates < sights / 4.0, "{updates} updates in {sights}");
    server.stop().unwrap();
}

#[tokio::test]
async fn strollers_that_lose_a_tenth_receive_nothing_wrong() {
    let server = start(SEA);
    let bots = Bots::start_with(&server, 24, BehaviourKind::Stroll, |options| {
        options.network = losing(0.10);
        options.seed = 9;
    })
    .await;
    ticks(&server, 80).await;
    bots.verify(&server).await;
    server.stop().unwrap();
}

#[tokio::test]
async fn a_client_extrapolates_an_entity_on_its_course_without_datagrams() {
    let harbour = "name = 'boat'\n spawn = { area = [[60, 90], [70, 110]] }";
    let server = start(&SEA.replace("name = 'boat'", harbour));
    let mut boat = Player::join(&server).await;
    let schema = boat.client.view().schema().clone();
    let steer = schema.command_named("steer").expect("it is built in").kind;
    let mut other = Player::join(&server).await;
    until(&mut [&mut boat, &mut other], "they see each other", |p| {
        p[0].sees(p[1].entity()) && p[1].sees(p[0].entity())
    })
    .await;
    let slot = boat.entity().slot.0;
    let velocity = [units(0.25), units(-0.125)];
    boat.send(steer, &velocity);
    let goes = |p: &[&mut Player]| {
        let seen = p[1].client.view().entities()[&slot].course;
        seen.velocity == [velocity[0], velocity[1], 0]
    };
    until(&mut [&mut boat, &mut other], "it goes", goes).await;

    let before = *other.client.view().counts();
    listen_for(&server, &mut [&mut boat, &mut other], 60).await;
    let words = other.client.view().counts().since(&before).movements;
    // The first one may have come again, until its acknowledgement was there.
    assert!(words <= 10, "{words} words in 60 ticks");

    // Where the server says that it stops is where its course led to before.
    let course = other.client.view().entities()[&slot].course;
    boat.send(steer, &[0, 0]);
    let stops = |p: &[&mut Player]| !p[1].client.view().entities()[&slot].course.glides();
    until(&mut [&mut boat, &mut other], "it stops", stops).await;
    let end = other.client.view().entities()[&slot].course;
    let last = Tick(end.tick.0 - 1);
    assert_eq!(end.position, course.at(last, &[units(200.0) - 1; 3]));
    server.stop().unwrap();
}
