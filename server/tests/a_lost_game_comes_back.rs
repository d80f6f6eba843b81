//! A game whose network fails resumes as the same entity once it is back, by itself.

use std::time::Duration;

use client_bot::client_core::{Event, GameOptions, LinkState, LossCode, RetryOptions};
use client_bot::{Client, Connector, GameClient};
use quic::Faults;
use script::builtin;
use server::Server;
use shared::{EntityId, Tick};
use tokio::time::timeout;

use crate::common::relay::Relay;
use crate::common::{DEADLINE, Player, ROOM, eventually, play_until, start, trust};

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
    let Some(Event::Lost {
        code: LossCode::TimedOut,
        reason,
        retry_in,
        ..
    }) = lost.last()
    else {
        panic!("{lost:?}");
    };
    assert_eq!(reason, "nothing was received for 2 seconds");
    assert!(retry_in.is_some());
    assert!(!client.game().is_playing());
    client.set_faults(Faults::default(), 1);
    let is_back = |e: &Event| matches!(e, Event::Resumed(_) | Event::Welcomed(_));
    let back = play_until(&mut client, "its return", is_back);
    assert_eq!(back.last(), Some(&Event::Resumed(entity)));
    // Entities in view stay, and are not sent again.
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
fn a_game_whose_network_stops_for_some_seconds_gets_events_and_continues() {
    let server = start(ROOM);
    let options = GameOptions::default();
    let client = GameClient::new(server.address(), "localhost", &trust(&server), options);
    let mut client = client.expect("a socket");
    let is_own_enter = |event: &Event| matches!(event, Event::Entered { .. });
    play_until(&mut client, "its entity", is_own_enter);
    let state = |client: &GameClient| client.game().link().map(|link| link.state);
    assert_eq!(state(&client), Some(LinkState::Good));
    let nothing_arrives = Faults {
        loss: 1.0,
        ..Faults::default()
    };
    client.set_faults(nothing_arrives, 1);
    for expected in [LinkState::Unstable, LinkState::Good] {
        let events = play_until(&mut client, "a change", |e| matches!(e, Event::Link { .. }));
        assert!(
            matches!(events[..], [Event::Link { state, .. }] if state == expected),
            "{events:?}"
        );
        assert_eq!(state(&client), Some(expected));
        client.set_faults(Faults::default(), 1);
    }
    assert!(client.game().is_playing());
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
    let expected = Event::Lost {
        code: LossCode::TimedOut,
        reason: "no welcome within 0.3 seconds".to_owned(),
        update: None,
        retry_in: None,
    };
    assert_eq!(events, [expected]);
    assert!(client.game().is_over());
}

#[tokio::test]
async fn a_client_for_tokio_gets_each_event_once_and_resumes_by_itself() {
    let server = start(&format!(
        "{ROOM}\n[commands.strike]\nreach = 100\ndamage = 1"
    ));
    let relay = Relay::start(server.address());
    let mut client = connect(&server, &relay, options()).await;
    let own = client.view().entity();
    let events = next(&mut client, "its entity", |e| is_enter(e, own)).await;
    assert_eq!(events[0], Event::Welcomed(own));
    let other = Player::join(&server).await;
    let mut other_client = other.client;
    let other = other_client.view().entity();
    next(&mut client, "the other", |e| is_enter(e, other)).await;
    let mut wounds = vec![];
    let strike = |client: &mut Client| {
        let struck = client.command(builtin::STRIKE, &[own.reference().0]);
        struck.expect("this world has it");
        client.flush();
    };
    for _ in 0..10 {
        strike(&mut other_client);
        let events = next(&mut client, "a wound", |e| wound(e, own).is_some()).await;
        wounds.extend(events.iter().filter_map(|e| wound(e, own)));
    }
    let expected: Vec<_> = (90..100).rev().map(|hp| (hp + 1, hp)).collect();
    assert_eq!(wounds, expected);

    relay.cut(true);
    let events = next(&mut client, "the loss", |e| matches!(e, Event::Lost { .. })).await;
    // First it gets an event that nothing is received.
    let [
        Event::Link {
            state: LinkState::Unstable,
            ..
        },
        Event::Lost {
            reason, retry_in, ..
        },
    ] = &events[..]
    else {
        panic!("{events:?}");
    };
    assert_eq!(reason, "nothing was received for 2 seconds");
    assert!(retry_in.is_some());
    assert_eq!(client.command(builtin::MOVE, &[0, 0]), None);
    strike(&mut other_client);
    relay.cut(false);
    let is_back = |e: &Event| matches!(e, Event::Resumed(_) | Event::Welcomed(_));
    let events = next(&mut client, "its return", is_back).await;
    assert_eq!(events.last(), Some(&Event::Resumed(own)));
    // Entities in view stay, and are not sent again. Changes are.
    let events = next(&mut client, "the wound", |e| wound(e, own).is_some()).await;
    assert_eq!(wound(&events[0], own), Some((90, 89)), "{events:?}");
    other_client.leave();
    let is_left = |e: &Event| matches!(e, Event::Left { entity, .. } if *entity == other);
    let events = next(&mut client, "the other leaves", is_left).await;
    assert_eq!(events.len(), 1, "{events:?}");
    client.leave();
    eventually("no client is left", || {
        server.stats().figures().clients == 0
    })
    .await;
    server.stop().unwrap();
}

#[tokio::test]
async fn a_client_for_tokio_gives_input_once_in_a_tick() {
    let server = start(ROOM);
    let relay = Relay::start(server.address());
    let mut client = connect(&server, &relay, options()).await;
    let own = client.view().entity();
    let mut ticks: Vec<Tick> = vec![];
    let mut last = 0;
    while ticks.len() < 40 {
        // Most of these futures are dropped.
        let Ok(due) = timeout(SOON, client.next_input()).await else {
            continue;
        };
        ticks.push(due.expect("a running game"));
        last = client.command(builtin::MOVE, &[1, 1]).expect("a command");
    }
    assert!(ticks.is_sorted_by(|a, b| a < b), "{ticks:?}");
    // Its events were kept meanwhile.
    let events = client.take_events();
    assert_eq!(events[0], Event::Welcomed(own));
    assert!(events.iter().any(|e| is_enter(e, own)), "{events:?}");
    let processed = async {
        while client.view().processed() != last {
            client.next_input().await.expect("a running game");
        }
    };
    timeout(DEADLINE, processed).await.expect("its last step");

    server.stop().unwrap();
    let is_lost = |e: &Event| matches!(e, Event::Lost { .. });
    next(&mut client, "the end", is_lost).await;
}

#[tokio::test]
async fn a_client_for_tokio_that_gives_up_says_so() {
    let server = start(ROOM);
    let relay = Relay::start(server.address());
    let never = GameOptions {
        retry: RetryOptions::NEVER,
        ..options()
    };
    let mut client = connect(&server, &relay, never).await;
    server.stop().unwrap();
    let is_lost = |e: &Event| matches!(e, Event::Lost { retry_in: None, .. });
    next(&mut client, "the end", is_lost).await;
    assert_eq!(client.next_event().await, None);
    assert_eq!(client.next_input().await, None);
    assert!(client.come_back().await.is_err());
}

async fn connect(server: &Server, relay: &Relay, options: GameOptions) -> Client {
    let connector = Connector::new(relay.address(), "localhost", &trust(server));
    let connector = connector.expect("a socket");
    let joining = Client::connect_with(&connector, options, None);
    let joined = timeout(DEADLINE, joining).await.expect("an answer");
    joined.expect("the server welcomes a player")
}

/// Waits until an event comes, and gives all events up to it. Most futures are dropped, which
/// loses nothing.
async fn next(client: &mut Client, what: &str, is_it: impl Fn(&Event) -> bool) -> Vec<Event> {
    let mut events = vec![];
    let waiting = async {
        while !events.last().is_some_and(&is_it) {
            if let Ok(event) = timeout(SOON, client.next_event()).await {
                events.push(event.expect("a running game"));
            }
        }
    };
    let waited = timeout(DEADLINE, waiting).await;
    assert!(waited.is_ok(), "timed out waiting for {what}: {events:?}");
    events
}

fn is_enter(event: &Event, of: EntityId) -> bool {
    matches!(event, Event::Entered { entity, .. } if *entity == of)
}

/// The only attribute that changed, before and after.
fn wound(event: &Event, of: EntityId) -> Option<(i32, i32)> {
    match event {
        Event::Changed {
            entity, changes, ..
        } if *entity == of => match changes[..] {
            [hp] => Some((hp.old, hp.new)),
            _ => None,
        },
        _ => None,
    }
}

/// Much shorter than a tick.
const SOON: Duration = Duration::from_millis(3);
