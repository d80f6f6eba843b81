//! With more clients than a tick has time for, all are sent fewer ticks, and nothing wrong.

use client_bot::BehaviourKind;

use crate::common::{Bots, start_with, ticks};

#[tokio::test]
async fn clients_beyond_the_time_of_a_tick_are_sent_every_few_ticks() {
    // A thousandth of a second is too short for so many on one thread.
    let world = "
        [world]
        size = [500, 500]
        aoi = 50
        capacity = 1024
        tick_hz = 1000
    ";
    let server = start_with(world, |options| options.shards = 1);
    let bots = Bots::start_with(&server, 300, BehaviourKind::Wander, |options| {
        options.rate_hz = Some(10.0);
    })
    .await;
    ticks(&server, 2000).await;
    let figures = server.stats().figures();
    assert!(figures.deferred > 0, "there was time for everybody");
    assert!(figures.client_ticks > figures.deferred, "nothing was sent");
    bots.verify(&server).await;
    server.stop().unwrap();
}
