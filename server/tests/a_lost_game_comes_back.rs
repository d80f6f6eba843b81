//! A game whose network fails goes on as the same entity once it is back, by itself.

mod common;

use std::time::Duration;

use client_bot::GameClient;
use client_bot::client_core::{Event, GameOptions, RetryOptions};
use common::{ROOM, play_until, start, trust};
use quic::Faults;

/// Quick, so that the test is.
fn options() -> GameOptions {
    GameOptions {
        connect_timeout: Duration::from_secs(2),
        silence_timeout: Duration::from_secs(2),
        retry: RetryOptions {
            attempts: 20,
            longest: Duration::from_millis(500),
            ..RetryOptions::default()
        },
        ..GameOptions::default()
    }
}

#[test]
fn a_game_whose_network_fails_resumes_as_the_same_entity() {
    let server = start(ROOM);
    let client = GameClient::new(server.address(), "localhost", &trust(&server), options());
    let mut client = client.expect("a socket");
    let is_own_enter = |event: &Event| matches!(event, Event::Entered { .. });
    let events = play_until(&mut client, "its entity", is_own_enter);
    let Some(&Event::Welcomed(entity)) = events.first() else {
        panic!("{events:?}");
    };
    let nothing_arrives = Faults {
        loss: 1.0,
        ..Faults::default()
    };
    client.set_faults(nothing_arrives, 1);
    let lost = play_until(&mut client, "the loss", |e| matches!(e, Event::Lost { .. }));
    let Some(Event::Lost { reason, retry_in }) = lost.last() else {
        panic!("{lost:?}");
    };
    assert_eq!(reason, "nothing was heard for 2 seconds");
    assert!(retry_in.is_some());
    assert!(!client.game().is_playing());
    client.set_faults(Faults::default(), 1);
    let is_back = |e: &Event| matches!(e, Event::Resumed(_) | Event::Welcomed(_));
    let back = play_until(&mut client, "its return", is_back);
    assert_eq!(back.last(), Some(&Event::Resumed(entity)));
    // Who was in view stays, and is not said again.
    let mut later = vec![];
    for _ in 0..20 {
        client.wait(Duration::from_millis(20)).expect("a socket");
        later.extend(client.poll());
        client.flush();
    }
    assert_eq!(later, [], "nothing has changed");
    assert!(client.view().is_some_and(|view| view.own().is_some()));
    client.leave();
    server.stop().unwrap();
}

#[test]
fn a_game_without_a_server_says_so_soon() {
    let server = start(ROOM);
    let (address, trust) = (server.address(), trust(&server));
    server.stop().unwrap();
    let options = GameOptions {
        connect_timeout: Duration::from_millis(300),
        retry: RetryOptions::NEVER,
        ..options()
    };
    let mut client = GameClient::new(address, "localhost", &trust, options).expect("a socket");
    let events = play_until(&mut client, "the end", |e| matches!(e, Event::Lost { .. }));
    let reason = "no welcome within 0.3 seconds".to_owned();
    let retry_in = None;
    assert_eq!(events, [Event::Lost { reason, retry_in }]);
    assert!(client.game().is_over());
}
