//! A tenth of all datagrams is lost each way, and every client still ends up with the
//! true state.

use client_bot::connect::hello;
use client_bot::{BehaviourKind, Connector};
use tokio::select;

use crate::common::{Bots, PLAIN, Player, losing, start, ticks, trust};

#[tokio::test]
async fn wanderers_that_lose_a_tenth_receive_nothing_wrong() {
    play_with_losses(PLAIN, BehaviourKind::Wander, 7).await;
}

#[tokio::test]
async fn fighters_that_lose_a_tenth_receive_nothing_wrong() {
    let world = "
        [world]
        size = [60, 60]
        aoi = 40
        capacity = 64
        tick_hz = 20

        [[kind]]
        name = 'player'
        attributes = [
            { name = 'hp', type = 'i32', default = 100, min = 0, max = 100, audience = 'state' },
        ]

        [[kind]]
        name = 'item'
        population = 10
        attributes = [{ name = 'owner', type = 'entity', merge = 'first', audience = 'state', tells_owner = true }]
    ";
    play_with_losses(world, BehaviourKind::Fight, 8).await;
}

async fn play_with_losses(world: &str, behaviour: BehaviourKind, seed: u64) {
    let server = start(world);
    let bots = Bots::start_with(&server, 24, behaviour, |options| {
        options.network = losing(0.10);
        options.seed = seed;
    })
    .await;
    ticks(&server, 45).await;
    bots.verify(&server).await;
    server.stop().unwrap();
}

#[tokio::test]
async fn without_events_a_client_is_pinged_more_often_until_it_answers() {
    let server = start("[world]\ntick_hz = 20\n[limits]\nunread_seconds = 3");
    let mut listens = Player::join(&server).await;
    let before = listens.client.view().counts().datagrams;
    // All its answers are lost.
    let connector = Connector::new(server.address(), "localhost", &trust(&server)).unwrap();
    let silent = connector.connect(&hello("", None)).await.unwrap();
    let mut requests = 0;
    loop {
        select! {
            datagram = silent.connection.read_datagram() => match datagram {
                Ok(_) => requests += 1,
                Err(_) => break,
            },
            listened = listens.listen() => listened.unwrap(),
        }
    }
    let sent = listens.client.view().counts().datagrams - before;
    assert!(
        requests > 6,
        "in three seconds the silent client was asked {requests} times"
    );
    assert!(
        sent <= 6,
        "in three seconds the other one was sent {sent} datagrams"
    );
    server.stop().unwrap();
}
