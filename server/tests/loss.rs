//! A tenth of all datagrams is lost each way, and every client still ends up with the
//! true state.

mod common;

use client_bot::BehaviourKind;
use common::{Bots, PLAIN, start, ticks};

#[tokio::test]
async fn wanderers_that_lose_a_tenth_are_told_nothing_wrong() {
    play_with_losses(PLAIN, BehaviourKind::Wander, 7).await;
}

#[tokio::test]
async fn fighters_that_lose_a_tenth_are_told_nothing_wrong() {
    let world = "
        [world]
        size = [60, 60]
        aoi = 40
        capacity = 64
        tick_hz = 20

        [[kind]]
        name = 'player'
        attributes = [
            { name = 'hp', type = 'i32', default = 100, min = 0, max = 100, audience = 'state' },
        ]

        [[kind]]
        name = 'item'
        population = 10
        attributes = [{ name = 'owner', type = 'entity', merge = 'first', audience = 'state', tells_owner = true }]
    ";
    play_with_losses(world, BehaviourKind::Fight, 8).await;
}

async fn play_with_losses(world: &str, behaviour: BehaviourKind, seed: u64) {
    let server = start(world);
    let bots = Bots::start_with(&server, 24, behaviour, |options| {
        options.faults.loss = 0.10;
        options.seed = seed;
    })
    .await;
    ticks(&server, 45).await;
    bots.verify(&server).await;
    server.stop().unwrap();
}
