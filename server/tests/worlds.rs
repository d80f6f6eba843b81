//! Worlds of other shapes.

use client_bot::BehaviourKind;

use crate::common::{Bots, Player, start, ticks, until};

#[tokio::test]
async fn each_client_in_a_crowd_sees_exactly_the_nearest() {
    let server = start(
        "
        [world]
        size = [150, 150]
        aoi = 60
        capacity = 64
        tick_hz = 20
        visible_max = 8
    ",
    );
    let bots = Bots::start(&server, 60, BehaviourKind::Crowd).await;
    ticks(&server, 40).await;
    let report = bots.verify(&server).await;
    assert!(report.visible_mean > 5.0 && report.visible_mean <= 7.0);
    server.stop().unwrap();
}

#[tokio::test]
async fn bots_in_three_dimensions_among_npcs_receive_nothing_wrong() {
    let server = start(
        "
        [world]
        size = [120, 100, 80]
        aoi = 50
        capacity = 256
        tick_hz = 20

        [[kind]]
        name = 'player'

        [[kind]]
        name = 'bird'
        population = 60

        [[every]]
        kind = 'bird'
        ticks = 2
        command = 'roam'
    ",
    );
    let bots = Bots::start(&server, 30, BehaviourKind::Wander).await;
    let mut watcher = Player::join(&server).await;
    let bird = watcher.client.view().schema().kind("bird").unwrap() as u16;
    let heights = |player: &Player| -> Vec<(u32, i32)> {
        let seen = player.client.view().entities().iter();
        let birds = seen.filter(|(_, entity)| entity.kind == bird);
        birds.map(|(&slot, entity)| (slot, entity.row[2])).collect()
    };
    let before = heights(&watcher);
    assert!(!before.is_empty(), "birds are near every place");
    until(&mut [&mut watcher], "a bird changes its height", |p| {
        let now = heights(p[0]);
        let rose = |&(slot, z): &(u32, i32)| before.iter().any(|b| b.0 == slot && b.1 != z);
        now.iter().any(rose)
    })
    .await;
    watcher.client.leave();
    ticks(&server, 30).await;
    bots.verify(&server).await;
    server.stop().unwrap();
}

#[tokio::test]
async fn a_client_that_may_see_one_entity_sees_itself() {
    let server = start(
        "
        [world]
        size = [50, 50]
        aoi = 30
        capacity = 64
        tick_hz = 20
        visible_max = 1
    ",
    );
    let bots = Bots::start(&server, 10, BehaviourKind::Wander).await;
    ticks(&server, 20).await;
    let report = bots.verify(&server).await;
    assert_eq!(report.visible_mean, 0.0);
    server.stop().unwrap();
}
