//! A client that sends malformed bytes is closed with the reason; the others are not
//! disturbed.

use std::net::UdpSocket;
use std::sync::Arc;

use accounts::shared_word::SharedWord;
use client_bot::BehaviourKind;
use client_bot::connect::hello;
use quinn::TransportConfig;
use script::builtin;
use shared::Tick;
use shared::wire::PROTOCOL_VERSION;
use shared::wire::bits::BitWriter;
use shared::wire::commands::{Acknowledgement, ClientDatagram, CommandCodec};
use shared::wire::control::{Close, Hello};
use shared::world::mix::mix;

use crate::common;
use crate::common::raw::{Raw, closed, ended_as, framed};
use crate::common::{Bots, PLAIN, Player, eventually, start, start_with, ticks};

#[tokio::test]
async fn an_unacceptable_hello_is_refused_with_the_reason() {
    let server = start_with(PLAIN, |options| {
        options.authenticator = Arc::new(SharedWord::new("open sesame"))
    });
    let good = hello("open sesame", None);
    let cases = unacceptable_hellos(&good);
    let malformed = cases.iter().filter(|c| c.2 == Close::Malformed).count() as u64;
    for (name, bytes, code, reason) in cases {
        let raw = Raw::connect(&server, TransportConfig::default()).await;
        let (mut send, _receive) = raw.connection.open_bi().await.unwrap();
        send.write_all(&bytes).await.unwrap();
        let (found, text) = raw.closed().await;
        assert_eq!(found, u64::from(code.code()), "{name}: {text}");
        assert!(text.contains(reason), "{name}: {text}");
    }
    eventually("all are counted", || {
        server.stats().figures().malformed == malformed
    })
    .await;
    let schema_hash = Some(common::world(PLAIN).schema.for_clients().hash());
    let right = Hello {
        schema_hash,
        ..good
    };
    Player::try_join(&server, &right).await.unwrap();
    server.stop().unwrap();
}

/// Each with the code and the reason with which the connection is closed.
fn unacceptable_hellos(good: &Hello) -> Vec<(&'static str, Vec<u8>, Close, &'static str)> {
    vec![
        (
            "random bytes",
            // Of this version, so that the rest must be a hello.
            [
                &20u32.to_le_bytes()[..],
                &[PROTOCOL_VERSION as u8],
                &garbage(1, 19),
            ]
            .concat(),
            Close::Malformed,
            "not a valid message",
        ),
        (
            "no bytes",
            0u32.to_le_bytes().to_vec(),
            Close::Malformed,
            "not a valid message",
        ),
        (
            "more than a hello",
            framed(&(good.clone(), [0u8; 3])),
            Close::Malformed,
            "3 bytes follow the end of the message",
        ),
        (
            "an oversized hello",
            framed(&Hello {
                token: "x".repeat(3500),
                ..good.clone()
            }),
            Close::Malformed,
            "where 3072 are allowed",
        ),
        (
            "a huge length",
            u32::MAX.to_le_bytes().to_vec(),
            Close::Malformed,
            "a message of 4294967295 bytes, where 3072 are allowed",
        ),
        (
            "another version",
            framed(&Hello {
                version: 99,
                ..good.clone()
            }),
            Close::Outdated,
            "the client speaks protocol version 99, the server ",
        ),
        (
            "a wrong token",
            framed(&hello("open barley", None)),
            Close::Unauthorized,
            "the token is not the server's",
        ),
        (
            "another schema",
            framed(&Hello {
                schema_hash: Some(0x1234),
                ..good.clone()
            }),
            Close::SchemaMismatch,
            "the client needs schema 0000000000001234, the server has",
        ),
    ]
}

#[tokio::test]
async fn a_hello_that_breaks_off_is_refused() {
    let server = start(PLAIN);
    let raw = Raw::connect(&server, TransportConfig::default()).await;
    let (mut send, _receive) = raw.connection.open_bi().await.unwrap();
    send.write_all(&framed(&hello("", None))[..6])
        .await
        .unwrap();
    send.finish().unwrap();
    let reason = ended_as(&raw.connection, Close::Refused).await;
    assert!(reason.contains("no hello"), "{reason}");
    server.stop().unwrap();
}

#[tokio::test]
async fn a_client_that_sent_garbage_keeps_no_place() {
    let server = start(&format!(
        "{PLAIN}\n[limits]\nclients = 1\nresume_seconds = 600\n"
    ));
    for round in 0..4 {
        let player = Player::join(&server).await;
        let connection = player.client.connection();
        connection
            .send_datagram(garbage(round, 200).into())
            .unwrap();
        ended_as(connection, Close::Malformed).await;
        eventually("its place is free", || {
            server.stats().figures().clients == 0
        })
        .await;
    }
    server.stop().unwrap();
}

#[tokio::test]
async fn garbage_ends_the_session_of_its_sender_only() {
    let server = start(PLAIN);
    let bots = Bots::start(&server, 20, BehaviourKind::Wander).await;
    let mut expected = 0;
    for (name, datagram, reason) in unreadable_datagrams() {
        let player = Player::join(&server).await;
        let connection = player.client.connection();
        connection.send_datagram(datagram.into()).unwrap();
        let (code, text) = closed(connection).await;
        assert_eq!(code, u64::from(Close::Malformed.code()), "{name}: {text}");
        assert!(text.contains(reason), "{name}: {text}");
        expected += 1;
    }
    // These bytes are not QUIC, so there is no connection to close.
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    for i in 0..200 {
        let length = 1 + i as usize * 6;
        socket
            .send_to(&garbage(i, length), server.address())
            .unwrap();
    }
    ticks(&server, 20).await;
    assert_eq!(server.stats().figures().malformed, expected);
    bots.verify(&server).await;
    server.stop().unwrap();
}

/// Datagrams with the reason for which each is not accepted.
fn unreadable_datagrams() -> Vec<(&'static str, Vec<u8>, &'static str)> {
    let world = common::world(PLAIN);
    let encode = |datagram: &ClientDatagram| {
        let mut bytes = vec![];
        let codec = CommandCodec::new(&world.schema, 1);
        codec.encode(datagram, &mut BitWriter::default(), &mut bytes);
        bytes
    };
    let whole = encode(&ClientDatagram {
        kinds: vec![builtin::MOVE],
        words: vec![0, 0],
        ..ClientDatagram::default()
    });
    let mut spawn = whole.clone();
    // Behind the epoch, the acknowledgement, the number of commands, the sequence number and
    // the bit for ticks: the kind.
    let kind_bits = 8 + 3 * 32 + 8 + 32 + 1;
    for bit in kind_bits..kind_bits + 8 {
        spawn[bit / 8] &= !(1 << (bit % 8));
    }
    let future = encode(&ClientDatagram {
        acknowledgement: Acknowledgement {
            newest: Tick(1_000_000),
            ..Acknowledgement::default()
        },
        ..ClientDatagram::default()
    });
    vec![
        ("an empty datagram", vec![], "ends before its content"),
        ("random bytes", garbage(5, 300), "schema epoch"),
        (
            "half a datagram",
            whole[..whole.len() / 2].to_vec(),
            "ends before its content",
        ),
        (
            "more than a datagram",
            [whole.clone(), vec![0; 2]].concat(),
            "follow the end of the message",
        ),
        (
            "a command for servers only",
            spawn,
            "no command of this world has the number 0",
        ),
        (
            "an acknowledgement of a tick that was never sent",
            future,
            "tick 1000000 is acknowledged before it was sent",
        ),
    ]
}

/// Random bytes, the same ones for the same seed.
fn garbage(seed: u64, length: usize) -> Vec<u8> {
    (0..length as u64).map(|i| mix(seed, i) as u8).collect()
}
