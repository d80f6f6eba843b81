//! Many clients that connect at once are all admitted.

use std::time::Instant;

use client_bot::BehaviourKind;

use crate::common::{Bots, eventually, start_with};

/// Players see a few others each.
const LARGE: &str = "
    [world]
    size = [2000, 2000]
    aoi = 60
    capacity = 4096
    tick_hz = 10

    [limits]
    clients = 3000
";

/// The time is printed, and not judged: it says more of a machine that does nothing else.
#[tokio::test]
async fn two_thousand_clients_that_come_at_once_all_come_in() {
    let server = start_with(LARGE, |options| options.shards = 2);
    let begun = Instant::now();
    let bots = Bots::start_with(&server, 2000, BehaviourKind::Wander, |options| {
        options.sockets = 32;
        options.verify = false;
    })
    .await;
    eventually("all are in the world", || {
        server.stats().figures().clients == 2000
    })
    .await;
    let seconds = begun.elapsed().as_secs_f64();
    let figures = server.stats().figures();
    println!(
        "2,000 clients in after {seconds:.2} s; {} ticks, {} of them late",
        figures.ticks, figures.ticks_late
    );
    assert_eq!(figures.sessions_lost, 0);
    bots.go_home();
    server.stop().unwrap();
}
