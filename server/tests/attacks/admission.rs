//! Attacks before the hello: any sender of packets to the port can make these.

use std::net::UdpSocket;
use std::time::Duration;

use client_bot::connect::hello;
use quinn::{Connection, ConnectionError};
use shared::wire::control::Close;
use tokio::time::sleep;

use crate::attacks::attacker::{Attacker, Handshake, answers, garbage, socket};
use crate::attacks::field::{Field, scaled};
use crate::common::eventually;

#[tokio::test]
async fn half_open_handshakes_keep_no_client_out() {
    let field = Field::start().await;
    for network in 0..4 {
        begin_handshakes(&field, &socket(network), scaled(300));
    }
    field.join().await.connection.close(0u32.into(), b"bye");
    field.stands().await;
}

/// Sends the first packets of handshakes that are never continued.
fn begin_handshakes(field: &Field, socket: &UdpSocket, count: usize) {
    for _ in 0..count {
        for packet in Handshake::new(field).packets() {
            // The system may be out of room, which is the attacker's loss.
            let _ = socket.send_to(&packet, field.address);
        }
    }
}

#[tokio::test]
async fn connections_without_a_hello_keep_no_client_out() {
    let field = Field::start().await;
    let attacker = Attacker::new(&field, 1);
    let mut silent = vec![];
    for _ in 0..scaled(600) {
        silent.extend(attacker.try_connect().await);
    }
    // A new connection may stay.
    sleep(Duration::from_millis(1200)).await;
    for _ in 0..scaled(20) {
        silent.extend(attacker.try_connect().await);
    }
    assert!(silent.len() > 512, "only {} stand", silent.len());
    field.join().await.connection.close(0u32.into(), b"bye");
    // Early ones made room for later ones of their network; the last had all their time.
    // Some are not received: hundreds of goodbyes at once overflow the attacker's socket.
    for expected in [
        "no hello, and others need the place",
        "no hello within 5 seconds",
    ] {
        let got_goodbye = |connection: &Connection| match connection.close_reason() {
            Some(ConnectionError::ApplicationClosed(close)) => {
                let code = u64::from(Close::TooSlow.code());
                close.error_code.into_inner() == code && close.reason == expected.as_bytes()
            }
            _ => false,
        };
        eventually(expected, || silent.iter().any(got_goodbye)).await;
    }
    field.stands().await;
}

#[tokio::test]
async fn garbage_to_the_port_is_dropped() {
    let field = Field::start().await;
    let socket = socket(1);
    for seed in 0..scaled(4000) as u64 {
        let mut packet = garbage(seed, 1 + seed as usize % 1400);
        // Most look like QUIC at first sight: long headers, short ones, version 1.
        packet[0] |= [0, 0x40, 0xc0][seed as usize % 3];
        if seed % 2 == 0 && packet.len() > 5 {
            packet[1..5].copy_from_slice(&1u32.to_be_bytes());
        }
        let _ = socket.send_to(&packet, field.address);
    }
    field.stands().await;
}

#[tokio::test]
async fn packets_larger_than_quic_has_are_dropped() {
    let field = Field::start().await;
    let socket = socket(1);
    let first = Handshake::new(&field).packets().remove(0);
    for seed in 0..scaled(500) as u64 {
        let _ = socket.send_to(&garbage(seed, 65_000), field.address);
        // A valid beginning, and much behind it.
        let long = [&first[..], &garbage(seed, 60_000)].concat();
        let _ = socket.send_to(&long, field.address);
    }
    field.stands().await;
}

#[tokio::test]
async fn other_versions_of_quic_are_negotiated_and_cost_nothing() {
    let field = Field::start().await;
    let socket = socket(1);
    let mut sent = 0;
    for version in 0..scaled(200) as u32 {
        let mut packet = Handshake::new(&field).packets().remove(0);
        packet[1..5].copy_from_slice(&(0x1a2a_3a4a ^ version).to_be_bytes());
        socket.send_to(&packet, field.address).unwrap();
        if version % 50 == 0 {
            // Version 0 says that it is a list of versions. It is shorter than what it
            // answers, so it amplifies nothing.
            let lists = answers(&socket);
            assert!(
                lists
                    .iter()
                    .all(|list| list[1..5] == [0; 4] && list.len() < packet.len())
            );
            sent += lists.len();
        }
    }
    assert!(sent > 0, "no version is sent");
    field.stands().await;
}

#[tokio::test]
async fn replayed_first_packets_open_one_connection() {
    let field = Field::start().await;
    let mut handshake = Handshake::new(&field);
    let packets = handshake.packets();
    let sockets = [socket(1), socket(2), socket(3)];
    let refused = field.figure("myriad_connections_refused_total");
    for round in 0..scaled(1000) {
        for packet in &packets {
            let _ = sockets[round % sockets.len()].send_to(packet, field.address);
        }
    }
    // They are too few connections for admission control to refuse one.
    assert_eq!(field.figure("myriad_connections_refused_total"), refused);
    field.stands().await;
}

#[tokio::test]
async fn a_retry_token_is_of_use_to_its_own_address_only() {
    let field = Field::start().await;
    // So many wait that addresses must be proven.
    let (mine, others) = (socket(1), [socket(2), socket(3)]);
    begin_handshakes(&field, &socket(4), 400);
    let (mut handshake, mut with_token) = (Handshake::new(&field), vec![]);
    for _ in 0..20 {
        for packet in handshake.packets() {
            mine.send_to(&packet, field.address).unwrap();
        }
        for answer in answers(&mine) {
            // The type of a long header: a retry.
            let is_retry = answer[0] & 0xf0 == 0xf0;
            handshake.take(&answer);
            if is_retry {
                with_token = handshake.packets();
            }
        }
        if !with_token.is_empty() {
            break;
        }
        // Others have been sent away in between.
        begin_handshakes(&field, &socket(4), 400);
        handshake = Handshake::new(&field);
    }
    assert!(!with_token.is_empty(), "no address must be proven");
    for round in 0..scaled(500) {
        for packet in &with_token {
            let from = &others[round % others.len()];
            let _ = from.send_to(packet, field.address);
        }
    }
    for other in &others {
        // The server says that the token is not valid, and no more than it was sent.
        assert!(answers(other).iter().all(|answer| answer.len() <= 1200));
    }
    field.stands().await;
}

#[tokio::test]
async fn a_client_that_changes_its_address_again_and_again_moves_no_other() {
    let field = Field::start().await;
    let attacker = Attacker::new(&field, 1);
    let (connection, _send, _receive) = attacker.greet(&hello("", None)).await;
    for round in 0..scaled(40) as u64 {
        attacker.move_on();
        let _ = connection.send_datagram(garbage(round, 20).into());
        field.ticks(1).await;
    }
    drop(connection);
    field.stands().await;
}
