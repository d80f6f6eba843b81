//! Attacks with hellos: clients that come and go, and guesses of tickets and tokens.

use std::collections::HashSet;
use std::time::Instant;

use client_bot::client_core::Handshake;
use client_bot::connect::hello;
use quinn::Connection;
use shared::wire::PROTOCOL_VERSION;
use shared::wire::codec;
use shared::wire::control::{Close, Hello, Welcome};
use shared::world::mix::mix;

use crate::attacks::attacker::{Attacker, garbage};
use crate::attacks::field::{Field, scaled};
use crate::common::raw::{closed, ended_as, framed};

#[tokio::test]
async fn clients_that_come_and_go_within_a_tick_leave_no_entity_behind() {
    let field = Field::start().await;
    let attackers = [1, 2, 3].map(|network| Attacker::new(&field, network));
    for round in 0..scaled(150) {
        let attacker = &attackers[round % attackers.len()];
        let (connection, _send, _receive) = attacker.greet(&hello("", None)).await;
        // Half of them say goodbye; the others just close.
        let code = if round % 2 == 0 {
            Close::Bye.code()
        } else {
            77
        };
        connection.close(code.into(), b"");
    }
    field.stands().await;
}

#[tokio::test]
async fn hellos_that_cannot_be_read_end_their_connections_and_are_counted_once() {
    let field = Field::start().await;
    let attacker = Attacker::new(&field, 1);
    let good = codec::to_bytes(&hello("", None));
    let mut expected = 0;
    for seed in 0..scaled(60) as u64 {
        let bytes = match seed % 4 {
            // Of this version, so that the rest must be a hello.
            0 => [
                &40u32.to_le_bytes()[..],
                &[PROTOCOL_VERSION as u8],
                &garbage(seed, 39),
            ]
            .concat(),
            // Huge lengths are announced, and many bytes follow.
            1 => [&u32::MAX.to_le_bytes()[..], &garbage(seed, 3000)].concat(),
            2 => [&3073u32.to_le_bytes()[..], &garbage(seed, 3073)].concat(),
            _ => framed(&(good.clone(), garbage(seed, 9))),
        };
        let connection = attacker.connect().await;
        let (mut send, _receive) = connection.open_bi().await.unwrap();
        let _ = send.write_all(&bytes).await;
        // More malformed messages count no more.
        for _ in 0..10 {
            let _ = connection.send_datagram(garbage(seed, 30).into());
        }
        ended_as(&connection, Close::Malformed).await;
        expected += 1;
    }
    field.stands_after_malformed(expected).await;
}

#[tokio::test]
async fn clients_of_other_versions_are_refused_with_the_reason() {
    let field = Field::start().await;
    let attacker = Attacker::new(&field, 1);
    for round in 0..scaled(60) {
        let of_version = Hello {
            version: PROTOCOL_VERSION + 1 + round as u16 % 100,
            ..hello("", None)
        };
        let (connection, _send, _receive) = attacker.greet(&of_version).await;
        let reason = ended_as(&connection, Close::Outdated).await;
        assert!(reason.contains("protocol version"), "{reason}");
    }
    field.stands().await;
}

#[tokio::test]
async fn guessed_tickets_resume_no_session() {
    let field = Field::start().await;
    let attacker = Attacker::new(&field, 1);
    for seed in 0..scaled(60) as u64 {
        let mut guess = [0; 16];
        guess[..8].copy_from_slice(&mix(seed, 0).to_le_bytes());
        guess[8..].copy_from_slice(&mix(seed, seed % 2).to_le_bytes());
        let (connection, _send, mut receive) = attacker.greet(&hello("", Some(guess))).await;
        let welcome = welcome(&mut receive).await.expect("a welcome");
        assert!(!welcome.resumed);
        assert_ne!(welcome.ticket, guess);
        connection.close(Close::Bye.code().into(), b"bye");
    }
    field.stands().await;
}

#[tokio::test]
async fn of_many_resumes_of_one_ticket_one_client_is_left() {
    let field = Field::start().await;
    let attackers = [1, 2, 3, 4].map(|network| Attacker::new(&field, network));
    let first = field.join().await;
    let entity = first.welcomed.welcome.entity;
    let (mut ticket, mut tickets) = (first.welcomed.welcome.ticket, HashSet::new());
    // A connection that is dropped says goodbye.
    let mut all = vec![];
    for _ in 0..scaled(8) {
        // They hurry, so most of them come within one tick.
        let resume = hello("", Some(ticket));
        let greetings = attackers.iter().map(|attacker| attacker.greet(&resume));
        let mut racers = vec![];
        for greeting in greetings {
            racers.push(greeting.await);
        }
        field.ticks(3).await;
        // On a busy machine the others hear later that they are closed.
        let is_open = |connection: &Connection| connection.close_reason().is_none();
        let mut waited = 0;
        while racers.iter().filter(|racer| is_open(&racer.0)).count() > 1 {
            assert!(waited < 100, "several clients act as one entity");
            field.ticks(1).await;
            waited += 1;
        }
        let mut open = racers.iter_mut().filter(|racer| is_open(&racer.0));
        let (_, _, receive) = open.next().expect("one of them is in");
        let welcome = welcome(receive).await.expect("a welcome");
        assert!(welcome.resumed);
        assert_eq!(welcome.entity, entity);
        ticket = welcome.ticket;
        tickets.insert(ticket);
        all.extend(racers);
    }
    ended_as(&first.connection, Close::Resumed).await;
    assert_eq!(
        tickets.len(),
        scaled(8),
        "each resume has a ticket of its own"
    );
    drop((all, attackers));
    field.stands().await;
}

#[tokio::test]
async fn a_close_reason_is_one_value_of_one_line_of_the_log() {
    let field = Field::start().await;
    let attacker = Attacker::new(&field, 1);
    let evil = "x\n2026-11-26T00:00:00Z  INFO audit: by=\"root\"\r\u{1b}[2J\u{9b}1A\u{202e} end=y";
    let (connection, _send, mut receive) = attacker.greet(&hello("", None)).await;
    welcome(&mut receive).await.expect("a welcome");
    connection.close(77u32.into(), evil.as_bytes());
    field
        .until_log("the close reason", |log| log.contains("INFO audit: by="))
        .await;
    let log = field.log();
    assert!(
        !log.lines()
            .any(|line| line.starts_with("2026-11-26T00:00:00Z"))
    );
    let steers = |c: char| c != '\n' && (c.is_control() || c == '\u{202e}');
    assert!(!log.contains(steers), "{log}");
    let line = log
        .lines()
        .find(|line| line.contains("audit: by="))
        .expect("it");
    assert!(line.contains(r#"end="closed by peer: x\n2026"#), "{line}");
    assert!(line.ends_with(r#"end=y (code 77)""#), "{line}");
    field.stands().await;
}

#[tokio::test]
async fn guesses_of_the_token_are_few_and_counted() {
    let field = Field::start_with_token("open sesame").await;
    let (attacker, other) = (Attacker::new(&field, 1), Attacker::new(&field, 2));
    let (member, _send, mut receive) = attacker.greet(&hello("open sesame", None)).await;
    let ticket = welcome(&mut receive).await.expect("a welcome").ticket;
    let (begun, mut accepted) = (Instant::now(), 0);
    for guess in 0..scaled(60) {
        let connection = attacker.try_connect().await.expect("a connection");
        let (mut send, _receive) = connection.open_bi().await.unwrap();
        let _ = send
            .write_all(&framed(&hello(&format!("{guess}"), None)))
            .await;
        let (code, reason) = closed(&connection).await;
        if code == u64::from(Close::Unauthorized.code()) {
            assert_eq!(reason, "the token is not the server's");
            accepted += 1;
        } else {
            assert_eq!(code, u64::from(Close::Refused.code()), "{reason}");
            assert!(reason.contains("too many wrong tokens"), "{reason}");
        }
    }
    // Ten, and one more every five seconds, whichever shards they reach.
    let allowed = 10 + begun.elapsed().as_secs() / 5;
    assert!(
        (10..=allowed).contains(&accepted),
        "{accepted} guesses were checked"
    );
    field
        .until_figure("myriad_tokens_wrong_total", accepted)
        .await;
    // A ticket is no guess. A made-up one is no way in.
    let (back, _send, mut receive) = attacker.greet(&hello("", Some(ticket))).await;
    welcome(&mut receive).await.expect("a welcome");
    ended_as(&member, Close::Resumed).await;
    let (made_up, _send, _receive) = attacker.greet(&hello("", Some([9; 16]))).await;
    ended_as(&made_up, Close::Refused).await;
    back.close(Close::Bye.code().into(), b"bye");
    // Other networks are not affected.
    let (connection, _send, mut receive) = other.greet(&hello("open sesame", None)).await;
    welcome(&mut receive).await.expect("a welcome");
    connection.close(Close::Bye.code().into(), b"bye");
    field.stands().await;
}

/// Reads a stream up to its welcome; none if it ends before.
async fn welcome(receive: &mut quinn::RecvStream) -> Option<Welcome> {
    let mut handshake = Handshake::new(&hello("", None));
    loop {
        let chunk = receive.read_chunk(1 << 16, true).await.ok()??;
        let welcomed = handshake.handle_stream(&chunk.bytes);
        if let Some(welcomed) = welcomed.expect("a readable welcome") {
            return Some(welcomed.welcome);
        }
    }
}
