//! Lost connections: clients that resume, and clients that don't.

use crate::common::{Player, Vanished, listen_for, start, start_with, until};

/// All players see each other, and the wait for a lost client is short.
const IMPATIENT: &str = "
    [world]
    size = [30, 30]
    aoi = 100
    capacity = 64
    tick_hz = 20

    [limits]
    idle_seconds = 2
    resume_seconds = 1
";

/// As above, but the wait for a lost client is long.
const PATIENT: &str = "
    [world]
    size = [30, 30]
    aoi = 100
    capacity = 64
    tick_hz = 20

    [limits]
    idle_seconds = 2
    resume_seconds = 60
";

#[tokio::test]
async fn a_client_that_vanishes_leaves_the_views_of_others_after_the_waits() {
    let server = start(IMPATIENT);
    let mut stays = Player::join(&server).await;
    let vanished = Vanished::join(&server);
    until(&mut [&mut stays], "it sees the other", |p| {
        p[0].sees(vanished.entity)
    })
    .await;
    until(&mut [&mut stays], "it sees the other no more", |p| {
        !p[0].sees(vanished.entity)
    })
    .await;
    let leaves = stays.leaves_of(vanished.entity);
    assert_eq!(leaves.len(), 1);
    assert!(leaves[0].0 > vanished.newest.0 + 20, "it was waited for");
    let figures = server.stats().figures();
    assert_eq!((figures.clients, figures.sessions_lost), (1, 1));
    let back = Player::resume(&server, vanished.ticket).await;
    assert!(!back.client.is_resumed(), "the entity is gone");
    server.stop().unwrap();
}

#[tokio::test]
async fn a_client_that_resumes_in_time_has_the_same_entity() {
    let server = start(PATIENT);
    let mut stays = Player::join(&server).await;
    let vanished = Vanished::join(&server);
    until(&mut [&mut stays], "the other is lost", |_| {
        server.stats().figures().sessions_lost == 1
    })
    .await;
    assert!(
        stays.sees(vanished.entity),
        "the entity of a lost client lives on"
    );
    let mut back = Player::resume(&server, vanished.ticket).await;
    assert!(back.client.is_resumed());
    assert_eq!(back.entity(), vanished.entity);
    let stayed = stays.entity();
    until(&mut [&mut back, &mut stays], "it sees as before", |p| {
        p[0].client.view().own().is_some() && p[0].sees(stayed)
    })
    .await;
    assert!(stays.leaves_of(vanished.entity).is_empty());
    assert_eq!(server.stats().figures().clients, 2);
    server.stop().unwrap();
}

#[tokio::test]
async fn a_second_connection_with_the_ticket_takes_over_and_the_first_is_closed() {
    // There is room for one client: taking over needs no more.
    let world = "[world]\ncapacity = 1\ntick_hz = 20\n[limits]\nclients = 1";
    let server = start_with(world, |options| options.shards = 1);
    let mut first = Player::join(&server).await;
    let mut second = Player::resume(&server, first.client.ticket()).await;
    assert!(second.client.is_resumed());
    assert_eq!(second.entity(), first.entity());
    assert_eq!(
        first.end().await,
        "the connection ended: the session was resumed elsewhere"
    );
    until(&mut [&mut second], "it sees itself", |p| {
        p[0].client.view().own().is_some()
    })
    .await;
    listen_for(&server, &mut [&mut second], 5).await;
    let figures = server.stats().figures();
    assert_eq!((figures.clients, figures.sessions_lost), (1, 0));
    server.stop().unwrap();
}

#[tokio::test]
async fn a_client_that_only_listens_is_not_lost() {
    let server = start("[world]\ntick_hz = 20\n[limits]\nidle_seconds = 1");
    let mut quiet = Player::join(&server).await;
    listen_for(&server, &mut [&mut quiet], 50).await;
    assert_eq!(server.stats().figures().sessions_lost, 0);
    server.stop().unwrap();
}
