//! A client that does not read its stream is closed, so that the others need not
//! wait for it.

use client_bot::client_core::{Handshake, Session};
use client_bot::connect::hello;
use client_bot::{BehaviourKind, Connector};
use quinn::{TransportConfig, VarInt};
use shared::wire::control::Close;

use crate::common::raw::{Raw, ended_as, framed};
use crate::common::{Bots, Player, start, ticks, trust, until};

#[tokio::test]
async fn a_client_whose_window_stays_shut_is_closed_as_too_slow() {
    // The enters of all stones exceed `client_stream_bytes`.
    let server = start(
        "
        [world]
        size = [60, 60]
        aoi = 100
        capacity = 256
        tick_hz = 20

        [limits]
        client_stream_bytes = 4096

        [[kind]]
        name = 'player'

        [[kind]]
        name = 'stone'
        population = 200
        attributes = [
            { name = 'a', type = 'i32', audience = 'state' },
            { name = 'b', type = 'i32', audience = 'state' },
            { name = 'c', type = 'i32', audience = 'state' },
            { name = 'd', type = 'i32', audience = 'state' },
        ]
    ",
    );
    let bots = Bots::start(&server, 10, BehaviourKind::Wander).await;
    let mut transport = TransportConfig::default();
    transport.stream_receive_window(VarInt::from_u32(600));
    let raw = Raw::connect(&server, transport).await;
    let (mut send, _never_read) = raw.connection.open_bi().await.unwrap();
    send.write_all(&framed(&hello("", None))).await.unwrap();
    let reason = ended_as(&raw.connection, Close::TooSlow).await;
    assert_eq!(reason, "the client does not read what it is sent");
    ticks(&server, 10).await;
    bots.verify(&server).await;
    server.stop().unwrap();
}

#[tokio::test]
async fn slots_of_the_dead_can_be_reused_once_a_silent_reader_is_gone() {
    let server = start(
        "
        [world]
        size = [30, 30]
        aoi = 100
        capacity = 3
        tick_hz = 20

        [limits]
        clients = 8
        unread_seconds = 2
        resume_seconds = 0
    ",
    );
    let mut stays = Player::join(&server).await;
    let leaves = Player::join(&server).await;
    // Its transport reads everything; the client reads nothing.
    let connector = Connector::new(server.address(), "localhost", &trust(&server)).unwrap();
    let silent = connector.connect(&hello("", None)).await.unwrap();
    let (gone, silents) = (leaves.entity(), silent.welcomed.welcome.entity);
    until(&mut [&mut stays], "it sees both", |p| {
        p[0].sees(gone) && p[0].sees(silents)
    })
    .await;
    leaves.client.leave();
    until(&mut [&mut stays], "it sees one leave", |p| !p[0].sees(gone)).await;

    // The silent client has not acknowledged the death: until it is gone, the slot must
    // not be reused.
    let mut refusals = vec![];
    let late = loop {
        match Player::try_join(&server, &hello("", None)).await {
            Ok(late) => break late,
            Err(refusal) => refusals.push(refusal.to_string()),
        }
        stays.listen().await.unwrap();
    };
    for refusal in refusals {
        assert_eq!(
            refusal,
            "the server refused: the world has no room for more entities"
        );
    }
    let patience = 2 * 20;
    assert!(late.client.view().newest().0 > silent.welcomed.welcome.tick.0 + patience);
    ended_as(&silent.connection, Close::TooSlow).await;
    until(&mut [&mut stays], "the silent one is gone", |p| {
        !p[0].sees(silents)
    })
    .await;
    server.stop().unwrap();
}

#[tokio::test]
async fn a_slow_reader_is_sent_less_before_it_is_closed() {
    // All that the fighters do to each other in this time is far more than may wait for one
    // client, and all of it is sent to each of them.
    let server = start(
        "
        [world]
        size = [40, 40]
        aoi = 100
        capacity = 64
        tick_hz = 20

        [limits]
        client_stream_bytes = 4096
        unread_seconds = 60

        [commands]
        strike = { reach = 100 }
        blast = { reach = 100, radius = 10, sound = 100 }
    ",
    );
    let bots = Bots::start(&server, 30, BehaviourKind::Fight).await;
    let mut transport = TransportConfig::default();
    transport.stream_receive_window(VarInt::from_u32(512));
    let raw = Raw::connect(&server, transport).await;
    let (mut send, mut receive) = raw.connection.open_bi().await.unwrap();
    let greeting = hello("", None);
    send.write_all(&framed(&greeting)).await.unwrap();
    let mut handshake = Handshake::new(&greeting);
    let mut session = None;
    let mut read = 0;
    let notices_at_first = server.stats().figures().notices;
    // It reads some bytes a tick.
    let end = server.stats().figures().ticks + 200;
    while server.stats().figures().ticks < end || session.is_none() {
        let chunk = receive.read_chunk(64, true).await.unwrap().expect("more");
        read += read_stream(&chunk.bytes, &mut handshake, &mut session);
        if session.is_some() {
            ticks(&server, 1).await;
            acknowledge(&raw, &mut session);
        }
    }
    let notices = server.stats().figures().notices - notices_at_first;
    assert!(notices > 1000, "{notices} notices to all");
    bots.verify(&server).await;
    // It reads on, and in the end its view equals that of a new client.
    let mut witness = Player::join(&server).await;
    let mut session = session.expect("a welcome");
    let (own, other) = (session.view().entity(), witness.entity());
    while !session.view().entities().contains_key(&other.slot.0) {
        let chunk = receive.read_chunk(512, true).await.unwrap().expect("more");
        read += chunk.bytes.len();
        session.handle_stream(&chunk.bytes, &mut ()).unwrap();
        witness.listen().await.unwrap();
    }
    let hp = session.view().schema().column("hp").unwrap();
    let known = session.view().own().expect("it lives").row[hp];
    assert_eq!(known, witness.value(own, "hp"));
    assert!(
        raw.connection.close_reason().is_none(),
        "it was not dropped"
    );
    assert!(read > 4096);
    server.stop().unwrap();
}

/// Reads the bytes of the stream that are there, and returns their number.
fn read_stream(bytes: &[u8], handshake: &mut Handshake, session: &mut Option<Session>) -> usize {
    match session {
        Some(session) => session.handle_stream(bytes, &mut ()).unwrap(),
        None => {
            if let Some(welcomed) = handshake.handle_stream(bytes).unwrap() {
                let session = session.insert(welcomed.session);
                session.handle_stream(&welcomed.rest, &mut ()).unwrap();
            }
        }
    }
    bytes.len()
}

fn acknowledge(raw: &Raw, session: &mut Option<Session>) {
    let datagram = session.as_mut().and_then(Session::datagram);
    if let Some(datagram) = datagram {
        // Fails only on a connection that is ending.
        let _ = raw.connection.send_datagram(datagram.into());
    }
}
