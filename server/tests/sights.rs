//! Clients that see less far than the world allows, and spectators, which have no entity.

use client_bot::BehaviourKind;
use client_bot::connect::hello;
use server::Server;
use shared::EntityId;
use shared::wire::control::Hello;

use crate::common;
use crate::common::{Bots, Player, go, listen_for, start, units, until};

/// A world in which players see 20 units far and go anywhere in one step.
const WIDE: &str = "
    [world]
    size = [200, 200]
    aoi = 20
    aoi_leave = 22
    capacity = 64
    tick_hz = 20

    [limits]
    clients = 32

    [commands]
    move = { speed_max = 1000 }
";

async fn spectator(server: &Server) -> Player {
    let hello = Hello {
        spectates: true,
        ..hello("", None)
    };
    let joined = Player::try_join(server, &hello).await;
    joined.expect("the server welcomes a spectator")
}

fn at(x: f64, y: f64) -> [i32; 3] {
    [units(x), units(y), 0]
}

#[tokio::test]
async fn a_client_sees_only_as_far_as_it_wants_to() {
    let server = start(WIDE);
    let (mut near, mut far) = (Player::join(&server).await, Player::join(&server).await);
    go(&mut near, 50.0, 50.0).await;
    go(&mut far, 65.0, 50.0).await;
    until(&mut [&mut near, &mut far], "they see each other", |p| {
        p[0].sees(p[1].entity()) && p[1].sees(p[0].entity())
    })
    .await;
    let request = near.client.set_sight(Some(units(10.0)));
    assert_eq!(near.answer(request).await, Ok(()));
    assert!(!near.sees(far.entity()), "from the tick of the answer on");
    assert!(near.client.view().own().is_some());
    listen_for(&server, &mut [&mut near, &mut far], 3).await;
    assert!(far.sees(near.entity()));
    let request = near.client.set_sight(None);
    assert_eq!(near.answer(request).await, Ok(()));
    assert!(near.sees(far.entity()));
    for radius in [units(20.0) + 1, -1] {
        let request = near.client.set_sight(Some(radius));
        let refusal = near.answer(request).await.unwrap_err();
        assert!(refusal.contains("expected 0 to 81920"), "{refusal}");
    }
    server.stop().unwrap();
}

#[tokio::test]
async fn a_spectator_sees_the_area_around_its_point_and_is_not_seen() {
    let rules = "[spectators]\nallowed = true\nspeed_max = 400";
    let server = start(&format!("{WIDE}\n{rules}"));
    let mut player = Player::join(&server).await;
    go(&mut player, 20.0, 100.0).await;
    let mut watcher = spectator(&server).await;
    assert_eq!(watcher.entity(), EntityId::NONE);
    listen_for(&server, &mut [&mut watcher, &mut player], 3).await;
    assert!(!watcher.sees(player.entity()), "it begins in the middle");
    let request = watcher.client.watch(at(20.0, 100.0));
    assert_eq!(watcher.answer(request).await, Ok(()));
    assert!(!watcher.sees(player.entity()), "20 units a tick do not do");
    until(&mut [&mut watcher, &mut player], "it is there", |p| {
        p[0].sees(p[1].entity())
    })
    .await;
    let others = player.client.view().entities().len();
    assert_eq!(others, 1, "there is nothing to see of a spectator");
    let request = player.client.watch(at(1.0, 1.0));
    let refusal = player.answer(request).await.unwrap_err();
    assert!(refusal.starts_with("only spectators"), "{refusal}");
    server.stop().unwrap();
}

#[tokio::test]
async fn spectators_are_refused_where_the_world_does_not_allow_them() {
    let server = start(WIDE);
    let hello = Hello {
        spectates: true,
        ..hello("", None)
    };
    let Err(error) = Player::try_join(&server, &hello).await else {
        panic!("the server welcomes a spectator");
    };
    assert!(error.to_string().contains("no spectators"), "{error}");
    server.stop().unwrap();
}

#[tokio::test]
async fn bots_that_watch_see_what_others_know_of_themselves() {
    let rules = "[spectators]\nallowed = true\nspeed_max = 100";
    let server = start(&format!("{WIDE}\n{rules}"));
    let bots = Bots::start_with(&server, 30, BehaviourKind::Wander, |options| {
        options.spectators = 6;
    })
    .await;
    common::ticks(&server, 200).await;
    bots.verify(&server).await;
    server.stop().unwrap();
}
