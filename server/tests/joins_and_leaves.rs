//! A client that joins is seen by those near it, and one that leaves is not seen any more.

use client_bot::BehaviourKind;

use crate::common::{Bots, PLAIN, Player, ROOM, listen_for, start, ticks, until};

#[tokio::test]
async fn forty_bots_receive_nothing_wrong() {
    let server = start(PLAIN);
    let bots = Bots::start(&server, 40, BehaviourKind::Wander).await;
    ticks(&server, 40).await;
    let report = bots.verify(&server).await;
    assert!(report.visible_mean > 1.0, "{report:?}");
    assert!(server.stats().figures().commands_applied > 0);
    server.stop().unwrap();
}

#[tokio::test]
async fn a_client_that_leaves_is_seen_leaving_once() {
    let server = start(ROOM);
    let mut stays = Player::join(&server).await;
    let mut also_stays = Player::join(&server).await;
    let leaves = Player::join(&server).await;
    let gone = leaves.entity();
    until(&mut [&mut stays, &mut also_stays], "all see it", |p| {
        p.iter().all(|p| p.sees(gone))
    })
    .await;
    leaves.client.leave();
    until(&mut [&mut stays, &mut also_stays], "none sees it", |p| {
        p.iter().all(|p| !p.sees(gone))
    })
    .await;
    // A second leave would have come by now.
    listen_for(&server, &mut [&mut stays, &mut also_stays], 15).await;
    for player in [&stays, &also_stays] {
        assert_eq!(player.enters_of(gone), 1);
        assert_eq!(player.leaves_of(gone).len(), 1);
    }
    assert!(stays.sees(also_stays.entity()) && also_stays.sees(stays.entity()));
    assert_eq!(server.stats().figures().clients, 2);
    assert_eq!(server.stats().figures().sessions_lost, 0);
    server.stop().unwrap();
}

#[tokio::test]
async fn a_late_joiner_sees_exactly_those_in_its_radius() {
    let server = start(PLAIN);
    let mut early = vec![];
    for _ in 0..20 {
        early.push(Player::join(&server).await);
    }
    let mut late = Player::join(&server).await;
    let own = late.client.view().own().unwrap().row.clone();
    let radius = i64::from(server_aoi(&late));
    let is_near = |row: &[i32]| {
        let along = |axis: usize| (i64::from(row[axis]) - i64::from(own[axis])).pow(2);
        along(0) + along(1) <= radius * radius
    };
    let mut near = vec![late.entity()];
    let mut far = vec![];
    for player in &early {
        let row = &player.client.view().own().unwrap().row;
        let side = if is_near(row) { &mut near } else { &mut far };
        side.push(player.entity());
    }
    assert!(near.len() > 1 && !far.is_empty(), "{near:?}, {far:?}");
    until(&mut [&mut late], "it sees those near", |p| {
        near.iter().all(|&entity| p[0].sees(entity))
    })
    .await;
    listen_for(&server, &mut [&mut late], 5).await;
    assert_eq!(late.client.view().entities().len(), near.len());
    for player in &early {
        let seen = &late.client.view().entities().get(&player.entity().slot.0);
        if let Some(seen) = seen {
            assert_eq!(seen.row, player.client.view().own().unwrap().row);
        }
    }
    server.stop().unwrap();
}

fn server_aoi(player: &Player) -> i32 {
    player.client.view().schema().world.aoi.raw()
}
