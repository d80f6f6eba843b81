//! A client that does not read what it is sent is closed, so that the others need not
//! wait for it.

mod common;

use client_bot::connect::hello;
use client_bot::{BehaviourKind, Connector};
use common::raw::{Raw, closed, framed};
use common::{Bots, Player, start, ticks, trust, until};
use quinn::{TransportConfig, VarInt};
use shared::wire::control::Close;

#[tokio::test]
async fn a_client_whose_window_stays_shut_is_told_that_it_is_too_slow() {
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
    let (code, reason) = raw.closed().await;
    assert_eq!(code, u64::from(Close::TooSlow.code()), "{reason}");
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
    // Its transport takes in everything; the client reads nothing.
    let connector = Connector::new(server.address(), "localhost", &trust(&server)).unwrap();
    let silent = connector.connect(&hello("", None)).await.unwrap();
    let (gone, silents) = (leaves.entity(), silent.welcome.entity);
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
    assert!(late.client.view().newest().0 > silent.welcome.tick.0 + patience);
    let (code, reason) = closed(&silent.connection).await;
    assert_eq!(code, u64::from(Close::TooSlow.code()), "{reason}");
    until(&mut [&mut stays], "the silent one is gone", |p| {
        !p[0].sees(silents)
    })
    .await;
    server.stop().unwrap();
}
