//! A client that cannot stay is told why.

mod common;

use client_bot::connect::hello;
use common::{Player, ROOM, start, start_with, until};

#[tokio::test]
async fn a_full_server_says_so() {
    let world = "[world]\ntick_hz = 20\n[limits]\nclients = 2";
    for shards in [1, 2] {
        let server = start_with(world, |options| options.shards = shards);
        let first = Player::join(&server).await;
        let mut second = Player::join(&server).await;
        let refusal = Player::try_join(&server, &hello("", None)).await.err();
        assert_eq!(
            refusal.expect("two are all it takes").to_string(),
            "the server refused: the server has no room for more clients",
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
async fn a_server_that_stops_tells_every_client() {
    let server = start(ROOM);
    let mut players = vec![Player::join(&server).await, Player::join(&server).await];
    let stopping = tokio::task::spawn_blocking(move || server.stop());
    for player in &mut players {
        assert_eq!(
            player.end().await,
            "the connection ended: the server is shutting down"
        );
    }
    stopping.await.unwrap().unwrap();
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
