//! A client that is refused or closed gets the reason.

use client_bot::client_core::{Close, Event, GameOptions, LossCode};
use client_bot::connect::{ClientError, fingerprint, hello};
use client_bot::{Client, Connector, GameClient, Trust};
use shared::wire::control::Hello;
use shared::wire::{PROTOCOL_VERSION, PROTOCOL_VERSION_MIN};

use crate::common::{Player, ROOM, play_until, start, start_with, trust, until};

#[tokio::test]
async fn a_full_server_says_so() {
    let world = "[world]\ntick_hz = 20\n[limits]\nclients = 2";
    for shards in [1, 2] {
        let server = start_with(world, |options| options.shards = shards);
        let first = Player::join(&server).await;
        let mut second = Player::join(&server).await;
        let (code, reason) = Player::refusal(&server, &hello("", None)).await;
        assert_eq!(code, LossCode::Closed(Close::Full));
        assert_eq!(
            reason, "the server refused: the server has no room for more clients",
            "with {shards} shards"
        );
        // A client that leaves frees its place at once.
        first.client.leave();
        until(&mut [&mut second], "one has left", |_| {
            server.stats().figures().clients == 1
        })
        .await;
        Player::join(&server).await;
        server.stop().unwrap();
    }
}

#[tokio::test]
async fn a_full_world_says_so() {
    let server = start("[world]\ncapacity = 1\ntick_hz = 20\n[limits]\nclients = 5");
    let _first = Player::join(&server).await;
    let refusal = Player::try_join(&server, &hello("", None)).await.err();
    assert_eq!(
        refusal.expect("there is one slot").to_string(),
        "the server refused: the world has no room for more entities"
    );
    server.stop().unwrap();
}

#[tokio::test]
async fn a_server_that_stops_closes_every_client_with_the_reason() {
    let server = start(ROOM);
    let mut players = vec![Player::join(&server).await, Player::join(&server).await];
    let stopping = tokio::task::spawn_blocking(move || server.stop());
    for player in &mut players {
        let (code, reason) = player.end_with_code().await;
        assert_eq!(code, LossCode::Closed(Close::Shutdown));
        assert_eq!(reason, "the connection ended: the server is shutting down");
    }
    stopping.await.unwrap().unwrap();
}

#[tokio::test]
async fn a_client_of_another_version_learns_which_one_the_server_speaks_and_where_it_is() {
    for url in [None, Some("https://example.org/get")] {
        let server = start_with(ROOM, |options| {
            options.update_url = url.map(str::to_owned);
        });
        for version in [0, PROTOCOL_VERSION_MIN - 1, PROTOCOL_VERSION + 1, u16::MAX] {
            let of_version = Hello {
                version,
                ..hello("", None)
            };
            let connector = Connector::new(server.address(), "localhost", &trust(&server));
            let joined = connector.expect("a socket").connect(&of_version).await;
            let Err(ClientError::Refused(ending)) = joined.map(|_| ()) else {
                panic!("version {version} is not refused");
            };
            assert_eq!(ending.code, LossCode::Closed(Close::Outdated));
            let expected = format!(
                "the client speaks protocol version {version}, the server {PROTOCOL_VERSION}"
            );
            assert_eq!(ending.reason, expected);
            let update = ending.update.expect("what the server speaks");
            assert_eq!(update.server_version, PROTOCOL_VERSION);
            assert_eq!(update.url.as_deref(), url);
        }
        server.stop().unwrap();
    }
}

#[tokio::test]
async fn a_client_for_another_world_is_closed_with_the_reason() {
    let server = start(ROOM);
    let for_another = Hello {
        schema_hash: Some(1),
        ..hello("", None)
    };
    let (code, reason) = Player::refusal(&server, &for_another).await;
    assert_eq!(code, LossCode::Closed(Close::SchemaMismatch));
    assert!(reason.contains("the client needs schema"), "{reason}");
    server.stop().unwrap();
}

#[test]
fn a_game_with_a_wrong_certificate_stays_away_and_says_so() {
    let server = start(ROOM);
    let trust = Trust::Fingerprint([7; 32]);
    let options = GameOptions::default();
    let game = GameClient::new(server.address(), "localhost", &trust, options);
    let mut game = game.expect("a socket");
    let events = play_until(&mut game, "the end", |e| matches!(e, Event::Lost { .. }));
    let [
        Event::Lost {
            code,
            reason,
            update: None,
            retry_in: None,
        },
    ] = &events[..]
    else {
        panic!("{events:?}");
    };
    assert_eq!(*code, LossCode::Untrusted);
    let found = fingerprint(server.certificate()).map(|byte| format!("{byte:02x}"));
    assert!(
        reason.starts_with("the server's certificate is not trusted")
            && reason.contains(&found.concat()),
        "{reason}"
    );
    assert!(game.game().is_over());
    server.stop().unwrap();
}

#[tokio::test]
async fn a_client_for_tokio_with_a_wrong_certificate_says_so() {
    let server = start(ROOM);
    let trust = Trust::Fingerprint([7; 32]);
    let connector = Connector::new(server.address(), "localhost", &trust).expect("a socket");
    let error = Client::connect(&connector, &hello("", None)).await.err();
    let error = error.expect("no connection");
    assert_eq!(error.code(), LossCode::Untrusted);
    assert!(
        error.to_string().contains("certificate is not trusted"),
        "{error}"
    );
    server.stop().unwrap();
}

#[tokio::test]
async fn a_world_with_a_large_schema_takes_clients() {
    // 15 bytes each: more than twice as much as may wait for a client.
    let symbols: Vec<String> = (0..40_000).map(|i| format!("'symbol{i:08}'")).collect();
    let server = start(&format!(
        "[world]\ntick_hz = 20\n[[kind]]\nname = 'elf'\nattributes = [{{ name = 'mood', \
         type = 'symbol', audience = 'state', symbols = [{}] }}]",
        symbols.join(", ")
    ));
    let player = Player::join(&server).await;
    assert_eq!(player.client.view().schema().symbols.len(), symbols.len());
    server.stop().unwrap();
}
