//! Requests on the clients' streams are answered in order, and too many do no harm.

use client_bot::BehaviourKind;
use client_bot::connect::hello;
use quinn::TransportConfig;
use shared::wire::control::Close;
use shared::wire::request::{REQUEST_BYTES_MAX, Region, Request, RequestBody};
use shared::wire::stream::Message;

use crate::common;
use crate::common::raw::{Raw, ended_as, framed};
use crate::common::{Bots, PLAIN, Player, ROOM, eventually, start, units, until};

#[tokio::test]
async fn requests_for_what_a_world_does_not_have_are_rejected_with_the_reason() {
    let server = start(PLAIN);
    let mut player = Player::join(&server).await;
    let room = Region::fixed(&[0, 0], &[units(10.0), units(10.0)]);
    let requests = [
        player.client.set_region(0, Some(room)),
        player.client.subscribe(1, "hp < 5"),
        player.client.unsubscribe(1),
    ];
    until(&mut [&mut player], "all is answered", |p| {
        p[0].answers().len() == 3
    })
    .await;
    let answers = player.answers();
    let answered: Vec<_> = answers.iter().map(|a| Some(a.0)).collect();
    assert_eq!(requests.to_vec(), answered);
    assert_eq!(
        answers[0].1,
        Err("this world has no regions for clients".to_owned())
    );
    for (_, answer) in &answers[1..] {
        assert_eq!(*answer, Err("this world has no subscriptions".to_owned()));
    }
    server.stop().unwrap();
}

#[tokio::test]
async fn requests_are_answered_once_each_in_order_and_no_faster_than_the_quota() {
    let server = start(&format!(
        "{ROOM}\n[limits]\nclient_requests_per_second = 50"
    ));
    let mut player = Player::join(&server).await;
    let begun = server.stats().figures().ticks;
    let requests = (0..200).filter_map(|id| player.client.unsubscribe(id));
    let requests: Vec<u32> = requests.collect();
    until(&mut [&mut player], "all is answered", |p| {
        p[0].answers().len() >= requests.len()
    })
    .await;
    let answered: Vec<u32> = player.answers().into_iter().map(|a| a.0).collect();
    assert_eq!(answered, requests);
    // 50 at once and 150 in three seconds, at 20 Hz.
    let ticks = server.stats().figures().ticks - begun;
    assert!(ticks >= 55, "200 requests in {ticks} ticks");
    server.stop().unwrap();
}

#[tokio::test]
async fn a_tick_grants_a_limited_number_of_subscriptions_and_the_others_wait() {
    let server = start(
        "
        [world]
        tick_hz = 2
        capacity = 64

        [limits]
        client_requests_per_second = 100
        subscriptions_per_client = 100
    ",
    );
    let mut players = vec![];
    for _ in 0..12 {
        players.push(Player::join(&server).await);
    }
    for player in &mut players {
        for id in 0..100 {
            player.client.subscribe(id, "x < 5").unwrap();
        }
        player.client.flush();
    }
    let mut all: Vec<&mut Player> = players.iter_mut().collect();
    until(&mut all, "all is answered", |p| {
        p.iter().all(|p| p.answers().len() == 100)
    })
    .await;
    let mut by_tick = std::collections::BTreeMap::new();
    for player in &players {
        assert!(player.answers().iter().all(|answer| answer.1.is_ok()));
        assert!(player.answers().is_sorted_by_key(|answer| answer.0));
        for (tick, item) in &player.log.messages {
            if matches!(item, Message::Answer(_)) {
                *by_tick.entry(tick).or_insert(0) += 1;
            }
        }
    }
    assert!(by_tick.values().all(|&n| n <= 512), "{by_tick:?}");
    server.stop().unwrap();
}

#[tokio::test]
async fn a_client_that_sends_malformed_requests_is_closed_and_the_others_are_not() {
    let server = start(PLAIN);
    let bots = Bots::start(&server, 10, BehaviourKind::Wander).await;
    let cases = malformed_requests();
    let malformed = cases.len() as u64;
    for (name, bytes, reason) in cases {
        let raw = Raw::connect(&server, TransportConfig::default()).await;
        let (mut send, mut receive) = raw.connection.open_bi().await.unwrap();
        send.write_all(&framed(&hello("", None))).await.unwrap();
        // The length of the welcome: the client is in.
        receive.read_exact(&mut [0; 4]).await.unwrap();
        send.write_all(&framed(&good_request())).await.unwrap();
        // The connection may be closed before all of it is written.
        let _ = send.write_all(&bytes).await;
        let (code, text) = raw.closed().await;
        assert_eq!(code, u64::from(Close::Malformed.code()), "{name}: {text}");
        assert!(text.contains(reason), "{name}: {text}");
    }
    eventually("all are counted", || {
        server.stats().figures().malformed == malformed
    })
    .await;
    bots.verify(&server).await;
    server.stop().unwrap();
}

fn good_request() -> Request {
    Request {
        number: 1,
        body: RequestBody::Unsubscribe { id: 1 },
    }
}

/// Each with the reason for which the connection is closed.
fn malformed_requests() -> Vec<(&'static str, Vec<u8>, &'static str)> {
    let mut unknown = framed(&good_request());
    // The byte behind the length and the request's number says which request it is.
    unknown[5] = 9;
    vec![
        ("an unknown request", unknown, "not a valid message"),
        (
            "no bytes",
            0u32.to_le_bytes().to_vec(),
            "not a valid message",
        ),
        (
            "more than a request",
            framed(&(good_request(), [0u8; 3])),
            "3 bytes follow the end of the message",
        ),
        (
            "a huge length",
            u32::MAX.to_le_bytes().to_vec(),
            "a message of 4294967295 bytes, where 16448 are allowed",
        ),
        (
            "an oversized request",
            framed(&Request {
                number: 1,
                body: RequestBody::Subscribe {
                    id: 1,
                    predicate: "x".repeat(REQUEST_BYTES_MAX),
                },
            }),
            "where 16448 are allowed",
        ),
        (
            "text that is not UTF-8",
            [&[7, 0, 0, 0, 1, 1, 1, 2, 0xff, 0xfe][..], &[0][..]].concat(),
            "not a valid message",
        ),
    ]
}

#[tokio::test]
async fn a_request_before_the_welcome_is_malformed_and_half_a_request_at_the_end_is_not() {
    let server = start(PLAIN);
    let raw = Raw::connect(&server, TransportConfig::default()).await;
    let (mut send, _receive) = raw.connection.open_bi().await.unwrap();
    let early = good_request();
    let both = [framed(&hello("", None)), framed(&early)].concat();
    send.write_all(&both).await.unwrap();
    let text = ended_as(&raw.connection, Close::Malformed).await;
    assert!(text.contains("a request before the welcome"), "{text}");

    // A client that ends its half of the stream sends no more requests, and stays.
    let raw = Raw::connect(&server, TransportConfig::default()).await;
    let (mut send, mut receive) = raw.connection.open_bi().await.unwrap();
    send.write_all(&framed(&hello("", None))).await.unwrap();
    receive.read_exact(&mut [0; 4]).await.unwrap();
    send.write_all(&framed(&early)[..5]).await.unwrap();
    send.finish().unwrap();
    common::ticks(&server, 10).await;
    assert_eq!(raw.connection.close_reason(), None);
    server.stop().unwrap();
}

#[tokio::test]
async fn an_answer_can_be_waited_for() {
    let server = start(PLAIN);
    let mut player = Player::join(&server).await;
    let request = player.client.unsubscribe(1);
    let mut log = common::Log::default();
    let answer = player.client.answer(request, &mut log).await.unwrap();
    assert!(answer.is_err());
    assert!(
        log.messages
            .iter()
            .any(|(_, i)| matches!(i, Message::Answer(_)))
    );
    // Longer than any message may be.
    assert_eq!(player.client.subscribe(1, &"x".repeat(17_000)), None);
    server.stop().unwrap();
}

#[tokio::test]
async fn a_subscription_to_what_the_world_lacks_is_refused_with_the_nearest_name() {
    let server = start(
        "[world]\ntick_hz = 20\n[limits]\nsubscriptions_per_client = 4\n\
         [commands]\nshout.radius_max = 50",
    );
    let mut player = Player::join(&server).await;
    for (text, reason) in [
        (
            "attribute == \"hpp\"",
            "this world has no attribute \"hpp\"; did you mean \"hp\"?",
        ),
        (
            "event == \"shuot\"",
            "this world has no event \"shuot\"; did you mean \"shout\"?",
        ),
        (
            "kind != \"playr\"",
            "this world has no kind \"playr\"; did you mean \"player\"?",
        ),
        (
            "command == \"teapot\"",
            "this world has no command \"teapot\"",
        ),
        (
            "shout.numbr > 5",
            "expected a name that this world declares, found `shout.numbr`; did you mean \
             \"shout.number\"?",
        ),
    ] {
        let refusal = player.subscribe(1, text).await.unwrap_err();
        assert_eq!(refusal, format!("the predicate: column 1: {reason}"));
    }
    let good = [
        "attribute == \"hp\"",
        "event == \"shout\"",
        "command prefix \"str\"",
    ];
    for (id, good) in (1..).zip(good) {
        player.subscribe(id, good).await.unwrap();
    }
    server.stop().unwrap();
}
