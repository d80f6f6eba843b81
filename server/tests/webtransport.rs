//! A browser plays over WebTransport on the server's own port, beside other clients. What
//! it does wrong affects no other client.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use accounts::shared_word::SharedWord;
use client_bot::BehaviourKind;
use client_bot::connect::{fingerprint, hello};
use client_core::{Game, GameOptions};
use quinn::TransportConfig;
use server::host::WebServing;
use shared::wire::control::Close;
use tokio::time::timeout;
use web_transport_proto::{Capsule, StreamUni, VarInt};

use crate::common;
use crate::common::browser::{Browser, WebSession, attached, control, frame, request};
use crate::common::raw::{Raw, closed, ended_as};
use crate::common::{Bots, DEADLINE, PLAIN, Player, eventually, start_with, ticks, web};

#[tokio::test]
async fn a_browser_plays_beside_bots_and_leaves_for_good() {
    let server = start_with(PLAIN, web);
    let bots = Bots::start(&server, 20, BehaviourKind::Wander).await;
    let mut session = WebSession::open(&server).await;
    let mut game = Game::new(GameOptions::default());
    game.next_step(Duration::ZERO);
    game.opened(None);
    let (mut send, mut receive) = session.stream(game.stream_bytes()).await;
    let begun = SystemTime::now();
    let now = || begun.elapsed().unwrap();
    let mut buffer = vec![0; 4096];
    // It sees itself and others, and receives their movement.
    while game.view().is_none_or(|view| view.counts().movements < 10) {
        tokio::select! {
            read = receive.read(&mut buffer) => {
                let count = read.unwrap().expect("an open stream");
                game.handle_stream(&buffer[..count], now()).unwrap();
            }
            datagram = session.browser.connection.read_datagram() => {
                let datagram = datagram.unwrap();
                assert_eq!(datagram[0], 0, "the quarter of the session's number");
                game.handle_datagram(&datagram[1..], now()).unwrap();
            }
            () = tokio::time::sleep(DEADLINE) => panic!("nothing is received"),
        }
        if let Some(datagram) = game.datagram(now()) {
            let framed = [&[0], &datagram[..]].concat();
            session
                .browser
                .connection
                .send_datagram(framed.into())
                .unwrap();
        }
        let taken = send.write(game.stream_bytes()).await.unwrap();
        game.stream_sent(taken);
    }
    assert!(game.view().unwrap().own().is_some());
    assert_eq!(server.stats().figures().clients, 21);
    let mut bytes = vec![];
    let reason = "bye".to_owned();
    Capsule::CloseWebTransportSession { code: 0, reason }.encode(&mut bytes);
    session.request.write_all(&frame(0, &bytes)).await.unwrap();
    session.request.finish().unwrap();
    closed(&session.browser.connection).await;
    let before = server.stats().figures();
    eventually("its entity is gone", || {
        server.stats().figures().clients == 20
    })
    .await;
    assert_eq!(before.sessions_lost, 0, "it was not lost");
    bots.verify(&server).await;
    server.stop().unwrap();
}

#[tokio::test]
async fn a_browser_gets_the_reason_why_its_session_ends() {
    let server = start_with(PLAIN, |options| {
        web(options);
        options.authenticator = Arc::new(SharedWord::new("open sesame"));
    });
    let mut session = WebSession::open(&server).await;
    let greeting = common::raw::framed(&hello("open barley", None));
    let _stream = session.stream(&greeting).await;
    let (code, reason) = session.end().await;
    assert_eq!(code, Close::Unauthorized.code(), "{reason}");
    assert!(reason.contains("token"), "{reason}");
    // The connection follows.
    let (code, _) = closed(&session.browser.connection).await;
    assert_eq!(code, 0x100);
    server.stop().unwrap();
}

#[tokio::test]
async fn browsers_that_are_lost_can_come_back() {
    let server = start_with(PLAIN, web);
    let mut session = WebSession::open(&server).await;
    let mut game = Game::new(GameOptions::default());
    game.next_step(Duration::ZERO);
    game.opened(None);
    let (_send, mut receive) = session.stream(game.stream_bytes()).await;
    let mut buffer = vec![0; 4096];
    while !game.is_playing() {
        let read = timeout(DEADLINE, receive.read(&mut buffer)).await.unwrap();
        let count = read.unwrap().expect("an open stream");
        game.handle_stream(&buffer[..count], Duration::ZERO)
            .unwrap();
    }
    let (entity, ticket) = (game.view().unwrap().entity(), game.ticket().unwrap());
    // A page that is closed says no word.
    let mut bytes = vec![];
    let reason = String::new();
    Capsule::CloseWebTransportSession { code: 0, reason }.encode(&mut bytes);
    session.request.write_all(&frame(0, &bytes)).await.unwrap();
    closed(&session.browser.connection).await;
    let player = Player::resume(&server, ticket).await;
    assert_eq!(player.entity(), entity);
    server.stop().unwrap();
}

#[tokio::test]
async fn browsers_are_shown_a_short_lived_certificate_whose_hash_is_on_the_page() {
    let server = start_with(PLAIN, web);
    let browser = Browser::connect(&server).await;
    let hash = fingerprint(&browser.certificate).map(|byte| format!("{byte:02x}"));
    let page = common::get(server.page().unwrap(), "/connect.json");
    assert!(page.contains(&hash.concat()), "{page}");
    let port = format!("\"port\":{}", server.address().port());
    assert!(page.contains(&port), "{page}");
    assert_ne!(&browser.certificate, server.certificate());
    let settings = browser.settings().await;
    assert_eq!(settings.supports_webtransport(), 1);
    server.stop().unwrap();
}

#[tokio::test]
async fn a_server_without_a_page_speaks_no_http() {
    let server = start_with(PLAIN, |_| ());
    let error = Browser::try_connect(&server)
        .await
        .err()
        .expect("no connection");
    assert!(error.to_string().contains("known protocol"), "{error}");
    server.stop().unwrap();
}

#[tokio::test]
async fn pages_of_other_origins_are_turned_away() {
    let server = start_with(PLAIN, |options| {
        options.web = Some(WebServing {
            origins: vec!["https://game.example".to_owned()],
            ..WebServing::at("127.0.0.1:0".parse().unwrap())
        });
    });
    let session = Browser::connect(&server).await;
    let session = session.begin("https://evil.example").await;
    let (_, reason) = closed(&session.browser.connection).await;
    assert!(reason.contains("origin"), "{reason}");
    let session = Browser::connect(&server).await;
    let mut session = session.begin("https://game.example").await;
    let answer = web_transport_proto::ConnectResponse::read(&mut session.answer);
    timeout(DEADLINE, answer).await.unwrap().unwrap();
    server.stop().unwrap();
}

#[tokio::test]
async fn nonsense_around_a_session_ends_it_with_the_reason_and_is_counted() {
    let server = start_with(PLAIN, web);
    let bots = Bots::start(&server, 10, BehaviourKind::Wander).await;
    let huge = |kind: u32| {
        let mut bytes = vec![];
        VarInt::from_u32(kind).encode(&mut bytes);
        VarInt::from_u32(1 << 29).encode(&mut bytes);
        bytes
    };
    // A number in a header that is longer than any may be.
    let overflow = frame(1, &[&[0xff; 9][..], &[0x7f, 0, 0]].concat());
    let requests: Vec<(&str, Vec<u8>, &str)> = vec![
        (
            "a page",
            frame(1, &[0, 0, 0xd1, 0xd7, 0xc1]),
            "no WebTransport request",
        ),
        ("garbage", frame(1, &[0x2a; 100]), "no WebTransport request"),
        ("an endless number", overflow, "no WebTransport request"),
        ("a huge request", huge(1), "536870912 bytes"),
        (
            "data first",
            frame(0, b"data"),
            "on the stream of the request",
        ),
        (
            "two requests",
            [request("https://a.example"), request("https://a.example")].concat(),
            "on the stream of the request",
        ),
        (
            "a huge capsule",
            [request("https://a.example"), huge(0)].concat(),
            "536870912 bytes",
        ),
        (
            "a stream of no session",
            [
                request("https://a.example"),
                frame(0, &[0x68, 0x43, 0x07, 0, 0, 0, 0, 0xff, 0xff, 0xff]),
            ]
            .concat(),
            "capsule",
        ),
        ("another session's stream", attached(8), "unknown session"),
    ];
    let count = requests.len() as u64;
    for (name, bytes, expected) in requests {
        let mut browser = Browser::connect(&server).await;
        browser.send_settings().await;
        let _stream = browser.send_bi(&bytes).await;
        let _other = match name {
            "another session's stream" => {
                Some(browser.send_bi(&request("https://a.example")).await)
            }
            _ => None,
        };
        let (_, reason) = closed(&browser.connection).await;
        assert!(reason.contains(expected), "{name}: {reason}");
    }
    let controls: Vec<(&str, Vec<u8>, &str)> = vec![
        ("no settings", control(1, b""), "on the control stream"),
        ("no datagrams", control(4, &[]), "no datagrams"),
        ("half a setting", control(4, &[0x33]), "settings"),
        (
            "settings twice",
            [control(4, &[0x33, 1]), frame(4, &[0x33, 1])].concat(),
            "on the control stream",
        ),
        (
            "huge settings",
            [vec![0], huge(4)].concat(),
            "536870912 bytes",
        ),
    ];
    let count = count + controls.len() as u64;
    for (name, bytes, expected) in controls {
        let mut browser = Browser::connect(&server).await;
        browser.send_control(&bytes).await;
        let (_, reason) = closed(&browser.connection).await;
        assert!(reason.contains(expected), "{name}: {reason}");
    }
    eventually("all are counted", || {
        server.stats().figures().malformed == count
    })
    .await;
    bots.verify(&server).await;
    server.stop().unwrap();
}

#[tokio::test]
async fn datagrams_of_no_session_and_more_streams_than_one_end_the_session() {
    let server = start_with(PLAIN, web);
    let session = WebSession::open(&server).await;
    session
        .browser
        .connection
        .send_datagram(vec![1, 2, 3].into())
        .unwrap();
    let (code, reason) = closed(&session.browser.connection).await;
    assert_eq!(code, 0x33, "{reason}");
    // Streams of HTTP/3 that mean nothing may come, but not without end.
    let browser = Browser::connect(&server).await;
    for _ in 0..100 {
        let mut bytes = vec![];
        VarInt::from_u32(0x21).encode(&mut bytes);
        let opened = timeout(DEADLINE, browser.connection.open_uni()).await;
        let Ok(mut stream) = opened.expect("an answer") else {
            break;
        };
        let _ = stream.write_all(&bytes).await;
        let _ = stream.finish();
        drop(stream);
    }
    let (_, reason) = closed(&browser.connection).await;
    assert!(reason.contains("too many streams"), "{reason}");
    server.stop().unwrap();
}

#[tokio::test]
async fn a_browser_that_says_nothing_or_half_a_request_is_sent_away() {
    let server = start_with(PLAIN, web);
    let whole = request("https://a.example");
    let mut held = vec![];
    for half in [&[][..], &whole[..1], &whole[..whole.len() / 2], &whole[..]] {
        let mut browser = Browser::connect(&server).await;
        browser.send_settings().await;
        let mut qpack = vec![];
        StreamUni::QPACK_ENCODER.encode(&mut qpack);
        let encoder = browser.send_uni(&qpack).await;
        let stream = match half {
            [] => None,
            half => Some(browser.send_bi(half).await),
        };
        held.push((browser, stream, encoder));
    }
    for (browser, ..) in &held[..3] {
        let reason = ended_as(&browser.connection, Close::TooSlow).await;
        assert!(reason.contains("no hello within"), "{reason}");
    }
    // The last one has a session, and gets the reason over that.
    closed(&held[3].0.connection).await;
    server.stop().unwrap();
}

#[tokio::test]
async fn other_clients_of_a_server_for_browsers_have_one_stream_and_no_more_room() {
    let server = start_with(PLAIN, web);
    let bots = Bots::start(&server, 10, BehaviourKind::Wander).await;
    let raw = Raw::connect(&server, TransportConfig::default()).await;
    // They may open the streams of a browser, but the server does not read them.
    let mut written = 0;
    let mut held = vec![];
    while let Ok(Ok(mut stream)) =
        timeout(Duration::from_millis(200), raw.connection.open_uni()).await
    {
        let writing = stream.write(&[7; 100_000]);
        if let Ok(Ok(count)) = timeout(Duration::from_millis(200), writing).await {
            written += count;
        }
        held.push(stream);
        assert!(held.len() <= 4);
    }
    assert!(written <= 8 * 1024, "{written} bytes are kept");
    ticks(&server, 5).await;
    bots.verify(&server).await;
    server.stop().unwrap();
}
