//! Attacks with the datagrams of a client that is in the world.

use client_bot::client_core::Session;
use quinn::Connection;
use script::builtin;
use shared::Tick;
use shared::wire::commands::{Acknowledgement, ClientDatagram};
use shared::wire::control::Close;

use crate::attacks::attacker::{encoded, garbage};
use crate::attacks::field::{Field, scaled};
use crate::common::raw::ended_as;
use crate::common::units;

#[tokio::test]
async fn malformed_datagrams_end_their_sessions_and_are_counted_once_each() {
    let field = Field::start().await;
    let mut expected = 0;
    for round in 0..scaled(12) as u64 {
        let client = field.join().await;
        let valid = encoded(&client, &moves(Acknowledgement::default(), 1));
        let bytes = match round % 4 {
            0 => garbage(round, 200),
            1 => vec![],
            2 => valid[..valid.len() - 3].to_vec(),
            _ => [&valid[..], &[0; 9]].concat(),
        };
        // All of them may arrive before the server's close does.
        for _ in 0..30 {
            let _ = client.connection.send_datagram(bytes.clone().into());
        }
        ended_as(&client.connection, Close::Malformed).await;
        expected += 1;
    }
    field.stands_after_malformed(expected).await;
}

#[tokio::test]
async fn lies_about_what_has_arrived_hurt_only_their_teller() {
    let field = Field::start().await;
    let mut now = Tick(0);
    // One after the other: a client that never reads its stream is closed after some seconds.
    for _ in 0..scaled(1) {
        let client = field.join().await;
        now = client.welcomed.welcome.tick;
        let lies = [
            // All before a tick that is long past, none, and a stream of the future.
            (Tick(0), u32::MAX, Tick(0)),
            (now, u32::MAX, now.after(u32::MAX / 2)),
            (Tick(now.0 - 5), 0, Tick(0)),
            (now, 0, now),
        ];
        for round in 0..2000 {
            let (newest, mask, stream) = lies[round % lies.len()];
            let lie = Acknowledgement {
                newest,
                mask,
                stream,
            };
            let datagram = encoded(&client, &moves(lie, round as u32));
            let _ = client.connection.send_datagram(datagram.into());
            if round % 100 == 0 {
                field.ticks(1).await;
            }
        }
        assert_eq!(client.connection.close_reason(), None);
        client.connection.close(Close::Bye.code().into(), b"bye");
    }
    // Ticks that were never sent can't have arrived.
    for newest in [Tick(now.0 + 1_000_000), now.after(1 << 30)] {
        let client = field.join().await;
        let lie = Acknowledgement {
            newest,
            mask: u32::MAX,
            stream: newest,
        };
        let datagram = encoded(&client, &moves(lie, 1));
        client.connection.send_datagram(datagram.into()).unwrap();
        let reason = ended_as(&client.connection, Close::Malformed).await;
        assert!(reason.contains("before it was sent"), "{reason}");
    }
    field.stands().await;
}

#[tokio::test]
async fn commands_beyond_the_quota_are_dropped() {
    let field = Field::start().await;
    let mut client = field.join().await;
    let mut sequence = 1;
    for round in 0..scaled(2000) {
        let acknowledgement = received(&mut client.welcomed.session, &client.connection).await;
        let datagram = moves(acknowledgement, sequence);
        sequence += MOVES as u32;
        let datagram = encoded(&client, &datagram);
        let _ = client.connection.send_datagram(datagram.into());
        if round % 50 == 0 {
            field.ticks(1).await;
        }
    }
    let over_quota = "myriad_commands_total{fate=\"over_quota\"}";
    field.until_above(over_quota, 500.0).await;
    assert!(client.connection.close_reason().is_none());
    client.connection.close(Close::Bye.code().into(), b"bye");
    field.stands().await;
}

#[tokio::test]
async fn sequence_numbers_that_jump_run_no_command_twice() {
    let field = Field::start().await;
    let client = field.join().await;
    for round in 0..scaled(500) as u32 {
        let jump = [round, round.wrapping_mul(0x9e37_79b9), u32::MAX, 0][round as usize % 4];
        let datagram = encoded(&client, &moves(Acknowledgement::default(), jump));
        let _ = client.connection.send_datagram(datagram.into());
        if round % 50 == 0 {
            field.ticks(1).await;
        }
    }
    let repeated = "myriad_commands_total{fate=\"repeated\"}";
    field.until_above(repeated, 0.0).await;
    client.connection.close(Close::Bye.code().into(), b"bye");
    field.stands().await;
}

/// Of half a unit.
const MOVES: usize = 200;

/// About as many commands as a datagram has room for.
fn moves(acknowledgement: Acknowledgement, first_sequence: u32) -> ClientDatagram {
    ClientDatagram {
        acknowledgement,
        first_sequence,
        kinds: vec![builtin::MOVE; MOVES],
        words: [units(0.5), 0].repeat(MOVES),
        ..ClientDatagram::default()
    }
}

/// Reads the datagrams that have arrived, and says that it has read its stream, too.
async fn received(session: &mut Session, connection: &Connection) -> Acknowledgement {
    let soon = std::time::Duration::from_millis(1);
    while let Ok(Ok(bytes)) = tokio::time::timeout(soon, connection.read_datagram()).await {
        session
            .handle_datagram(&bytes, &mut ())
            .expect("it is readable");
    }
    let newest = session.view().newest();
    Acknowledgement {
        newest,
        mask: 0,
        stream: newest,
    }
}
