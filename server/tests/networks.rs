//! Bad networks: views are right again soon after, and commands get through.

use std::sync::Arc;
use std::time::Duration;

use client_bot::connect::hello;
use client_bot::{BehaviourKind, Client, Connector};
use quic::Faults;
use script::builtin;

use crate::common::relay::Relay;
use crate::common::{Bots, Log, PLAIN, ROOM, start, ticks, trust};

#[tokio::test]
async fn packets_that_are_late_overtaken_and_doubled_leave_views_right() {
    let server = start(PLAIN);
    let bots = Bots::start_with(&server, 24, BehaviourKind::Wander, |options| {
        let faults = Faults {
            loss: 0.02,
            duplication: 0.05,
            delay: Duration::from_millis(30),
            jitter: Duration::from_millis(100),
            ..Faults::default()
        };
        options.network = faults.into();
    })
    .await;
    ticks(&server, 60).await;
    bots.verify(&server).await;
    server.stop().unwrap();
}

#[tokio::test]
async fn what_a_player_does_gets_through_within_a_second_of_an_outage() {
    // At 60 commands a second, most ticks get several. A frame of the stream that is on its way
    // when the outage begins stays unread for longer than worlds allow otherwise.
    let server = start(&format!(
        "{ROOM}[limits]\nunread_seconds = 20\n[commands]\nmove = {{ per_tick = 0 }}"
    ));
    let relay = Relay::start(server.address());
    let connector = Connector::new(relay.address(), "localhost", &trust(&server)).unwrap();
    let mut client = Client::connect(&connector, &hello("", None)).await.unwrap();
    let mut log = Log::default();
    let mut last = play(&mut client, &mut log, Duration::from_secs(1)).await;
    assert!(client.view().processed() > 0, "nothing gets through at all");
    relay.cut(true);
    last = play(&mut client, &mut log, Duration::from_secs(5))
        .await
        .max(last);
    let before = client.view().processed();
    assert!(before < last, "the outage lets everything through");
    relay.cut(false);
    let returned = server.stats().figures().ticks;
    while client.view().processed() < last {
        play(&mut client, &mut log, Duration::from_millis(16)).await;
        let waited = server.stats().figures().ticks - returned;
        assert!(
            waited <= 20,
            "{waited} ticks after the outage, {} of {last} commands are processed",
            client.view().processed()
        );
    }
    server.stop().unwrap();
}

#[tokio::test]
async fn bots_that_get_no_answer_try_to_join_again() {
    let server = start(PLAIN);
    let relay = Arc::new(Relay::start(server.address()));
    relay.cut(true);
    // Longer than a bot waits for its welcome.
    let back = std::thread::spawn({
        let relay = relay.clone();
        move || {
            std::thread::sleep(Duration::from_secs(11));
            relay.cut(false);
        }
    });
    let bots = Bots::start_with(&server, 3, BehaviourKind::Wander, |options| {
        options.server = relay.address();
        (options.threads, options.sockets) = (1, 1);
    })
    .await;
    back.join().unwrap();
    ticks(&server, 30).await;
    let report = bots.verify(&server).await;
    assert!(report.joins_repeated >= 3, "{}", report.joins_repeated);
    server.stop().unwrap();
}

/// Sends a command and flushes sixty times a second. Gives the number of the last command.
async fn play(client: &mut Client, log: &mut Log, time: Duration) -> u32 {
    let end = tokio::time::Instant::now() + time;
    let mut last = 0;
    while tokio::time::Instant::now() < end {
        // Few enough commands that none of them is forgotten.
        if client.view().own().is_some() && last < client.view().processed() + 10 {
            last = client.command(builtin::MOVE, &[1, 1]).unwrap_or(last);
        }
        client.flush();
        let frame = tokio::time::sleep(Duration::from_millis(16));
        tokio::pin!(frame);
        loop {
            tokio::select! {
                received = client.receive(log) => received.unwrap(),
                () = &mut frame => break,
            }
        }
    }
    last
}
