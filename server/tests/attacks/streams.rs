//! Attacks with the stream of a client: requests, resets and silence.

use std::time::Duration;

use client_bot::client_core::Region;
use client_bot::connect::hello;
use client_bot::connector::Connected;
use quinn::VarInt;
use shared::wire::control::Close;
use shared::wire::request::{REQUEST_BYTES_MAX, Request, RequestBody};
use tokio::time::timeout;

use crate::attacks::attacker::{Attacker, garbage};
use crate::attacks::field::{Field, scaled};
use crate::common::raw::{ended_as, framed};
use crate::common::units;

#[tokio::test]
async fn clients_that_never_acknowledge_their_stream_are_closed() {
    let field = Field::start().await;
    let mut silent = vec![];
    for _ in 0..scaled(5).min(CLIENTS_MAX) {
        silent.push(field.join().await);
    }
    // Their transports take in everything; they read nothing and say nothing.
    for client in &silent {
        ended_as(&client.connection, Close::TooSlow).await;
    }
    field.stands().await;
}

#[tokio::test]
async fn clients_whose_transports_take_nothing_are_closed() {
    let field = Field::start().await;
    // The rest of the welcome and all frames stay with the server.
    let attacker = Attacker::with_window(&field, 1, 500);
    let mut shut = vec![];
    for _ in 0..scaled(5).min(CLIENTS_MAX) {
        shut.push(attacker.greet(&hello("", None)).await);
    }
    for (connection, ..) in &shut {
        ended_as(connection, Close::TooSlow).await;
    }
    field.stands().await;
}

#[tokio::test]
async fn dear_requests_have_a_share_of_the_tick_and_no_more() {
    let field = Field::start().await;
    let mut clients = vec![];
    for _ in 0..scaled(6).min(CLIENTS_MAX) {
        clients.push(field.join().await);
    }
    let dear = dear_predicate();
    for round in 0..scaled(60) as u32 {
        for client in &mut clients {
            let body = match round % 3 {
                0 => RequestBody::Subscribe {
                    id: round,
                    predicate: dear.clone(),
                },
                1 => RequestBody::SetRegion {
                    index: round % 4,
                    region: Some(Region::fixed(&[0, 0], &[units(200.0), units(200.0)])),
                },
                _ => RequestBody::Subscribe {
                    id: round,
                    predicate: "((((((".repeat(round as usize),
                },
            };
            send_request(client, round, body).await;
        }
    }
    // An honest client is answered while theirs wait.
    let mut honest = field.join().await;
    send_request(&mut honest, 7, RequestBody::Unsubscribe { id: 1 }).await;
    let read = timeout(
        crate::common::DEADLINE,
        honest.receive.read_chunk(1 << 16, true),
    );
    assert!(read.await.expect("an answer").is_ok());
    for client in [honest].iter().chain(&clients) {
        client.connection.close(Close::Bye.code().into(), b"bye");
    }
    field.stands().await;
}

#[tokio::test]
async fn subscriptions_to_everything_have_a_share_of_the_tick_and_no_more() {
    let field = Field::start().await;
    let mut clients = vec![];
    for number in 0..scaled(10).min(CLIENTS_MAX) {
        let mut client = field.join().await;
        for id in 0..4 {
            // Of every other client no filter is ever true.
            let filters = (0..16).map(|i| match number % 2 {
                0 => format!("x > -{i}.{id}5"),
                _ => format!("y != {i}.{id}5 && x > 1{i}00{id}"),
            });
            let predicate = filters.collect::<Vec<_>>().join(" || ");
            send_request(&mut client, id, RequestBody::Subscribe { id, predicate }).await;
        }
        clients.push(client);
    }
    field.ticks(80).await;
    for client in &clients {
        client.connection.close(Close::Bye.code().into(), b"bye");
    }
    field.stands().await;
}

/// A predicate of many filters, each of which may hold for anybody.
fn dear_predicate() -> String {
    let filters = (0..8).map(|i| format!("(attribute == \"hp\" && new >= {i} && old <= 99)"));
    filters.collect::<Vec<_>>().join(" || ")
}

/// Writes a request as far as the server takes it.
pub async fn send_request(client: &mut Connected, number: u32, body: RequestBody) {
    let mut bytes = vec![];
    Request { number, body }.encode(&mut bytes);
    // Beyond its window, the stream is not read.
    let _ = timeout(Duration::from_millis(2), client.send.write_all(&bytes)).await;
}

#[tokio::test]
async fn requests_of_huge_announced_lengths_end_their_sessions() {
    let field = Field::start().await;
    let mut expected = 0;
    for round in 0..scaled(10) as u32 {
        let mut client = field.join().await;
        let length = [u32::MAX, REQUEST_BYTES_MAX as u32 + 1, 1 << 30][round as usize % 3];
        let bytes = [&length.to_le_bytes()[..], &garbage(1, 3000)].concat();
        let _ = client.send.write_all(&bytes).await;
        ended_as(&client.connection, Close::Malformed).await;
        expected += 1;
    }
    field.stands_after_malformed(expected).await;
}

#[tokio::test]
async fn a_client_has_one_stream_and_can_open_no_other() {
    let field = Field::start().await;
    for _ in 0..scaled(5) {
        let client = field.join().await;
        let mut opened = 0;
        for _ in 0..20 {
            let wait = Duration::from_millis(5);
            opened += usize::from(timeout(wait, client.connection.open_bi()).await.is_ok());
            opened += usize::from(timeout(wait, client.connection.open_uni()).await.is_ok());
        }
        assert_eq!(opened, 0);
        client.connection.close(Close::Bye.code().into(), b"bye");
    }
    field.stands().await;
}

#[tokio::test]
async fn streams_that_are_reset_in_the_middle_disturb_no_other_client() {
    let field = Field::start().await;
    let attacker = Attacker::new(&field, 1);
    for round in 0..scaled(40) {
        let connection = attacker.connect().await;
        let (mut send, mut receive) = connection.open_bi().await.unwrap();
        let hello = framed(&hello("", None));
        let end = [hello.len() / 2, hello.len()][round % 2];
        send.write_all(&hello[..end]).await.unwrap();
        if round % 4 == 3 {
            field.ticks(1).await;
        }
        // The server's half, the client's, or both.
        if round % 3 != 0 {
            let _ = receive.stop(VarInt::from_u32(9));
        }
        if round % 3 != 1 {
            let _ = send.reset(VarInt::from_u32(9));
        }
        if round % 4 == 1 {
            field.ticks(1).await;
        }
    }
    field.ticks(5).await;
    drop(attacker);
    field.stands().await;
}

/// The world has room for so many beside the bots.
const CLIENTS_MAX: usize = 60;
