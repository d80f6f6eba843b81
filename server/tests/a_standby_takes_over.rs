//! A standby has all ticks that its primary sent, takes over, and the server before it is deposed.

use std::net::SocketAddr;
use std::time::Duration;

use client_bot::client_core::{Event, GameOptions};
use client_bot::connect::{ClientError, client_config, hello};
use client_bot::{BehaviourKind, GameClient};
use durability::level::Level;
use peer::trust::LinkKey;
use quic::Turns;
use script::builtin;
use server::host::StandbyOptions;
use server::host::following::{Follow, Standby, promote_folder};
use server::{Server, ServerOptions};
use standby::feed::FeedOptions;
use standby::link::{Hello, PROTOCOL, ToPrimary};
use tokio::time::{sleep, timeout};

use crate::common::folder::refusal;
use crate::common::pair::{Pair, complete, has_through};
use crate::common::raw::{FirstPackets, is_retry};
use crate::common::{Bots, DEADLINE, Player, eventually, go, play_until, ticks, trust, until};

const WORLD: &str = "
    [world]
    size = [100, 100]
    aoi = 30
    capacity = 64
    tick_hz = 20

    [limits]
    clients = 48
    resume_seconds = 20

    [commands]
    move = { speed_max = 1000 }
    strike = { reach = 1000 }

    [[kind]]
    name = 'player'
    attributes = [
        { name = 'hp', type = 'i32', default = 100, min = 0, max = 100, audience = 'state' },
    ]
";

fn strict(options: &mut ServerOptions) {
    if let (Some(data), Some(standby)) = (&mut options.data, &mut options.standby) {
        data.level = Level::Standby;
        standby.feed.is_required = true;
        standby.feed.patience = DEADLINE;
    }
}

#[tokio::test]
async fn clients_continue_at_the_promoted_standby_with_all_that_they_received() {
    let pair = Pair::new(WORLD, "takes-over");
    let primary = pair.primary(|_| ());
    let mut early = Player::join(&primary).await;
    go(&mut early, 20.0, 20.0).await;
    // The first checkpoint that it gets is not that of an empty world.
    ticks(&primary, 30).await;
    let standby = pair.standby(&primary);
    complete(&standby).await;
    let mut late = Player::join(&primary).await;
    go(&mut late, 25.0, 20.0).await;
    let target = early.entity();
    until(&mut [&mut early, &mut late], "they see each other", |p| {
        p[1].sees(target)
    })
    .await;
    late.send(builtin::STRIKE, &[target.reference().0]);
    ticks(&primary, 30).await;
    let last = late.client.view().newest();
    has_through(&primary, last).await;
    let certificate = primary.certificate().clone();
    drop(primary);
    let promoted = standby.promote().expect("a promotion");
    for player in [&early, &late] {
        let again = Player::resume(&promoted, player.client.ticket()).await;
        assert_eq!(again.entity(), player.entity());
    }
    assert_eq!(promoted.certificate(), &certificate);
    ticks(&promoted, 20).await;
    promoted.stop().expect("it was a good world");
}

#[tokio::test]
async fn clients_get_the_address_of_the_standby_and_resume_there_by_themselves() {
    let pair = Pair::new(WORLD, "by-themselves");
    let primary = pair.primary(|_| ());
    let mut early = Player::join(&primary).await;
    assert_eq!(early.client.servers(), [] as [&str; 0]);
    let standby = pair.standby(&primary);
    complete(&standby).await;
    let address = standby.address();
    until(
        &mut [&mut early],
        "it has the address of the standby",
        |p| p[0].client.servers() == [address.to_string()],
    )
    .await;
    let mut late = Player::join(&primary).await;
    assert_eq!(late.client.servers(), [address.to_string()]);
    // It is the same server to them, and names its role.
    let turned_away = Player::try_join_at(&primary, address, &hello("", None)).await;
    let Err(ClientError::Standby(reason)) = turned_away else {
        panic!("a standby lets players in");
    };
    assert!(reason.contains("is a standby"), "{reason}");
    let mut game = game(&primary);
    play_until(&mut game, "its entity", |e| {
        matches!(e, Event::Entered { .. })
    });
    let entity = game.view().expect("a world").entity();
    let last = early
        .client
        .view()
        .newest()
        .max(late.client.view().newest());
    has_through(&primary, last).await;
    drop(primary);
    let lost = play_until(&mut game, "the loss", |e| matches!(e, Event::Lost { .. }));
    assert!(!lost.iter().any(|e| matches!(e, Event::Resumed(_))));
    let coming = tokio::spawn(async move {
        for player in [&mut early, &mut late] {
            let entity = player.entity();
            player.come_back().await;
            assert_eq!(player.entity(), entity);
            assert_eq!(player.client.connection().remote_address(), address);
        }
    });
    sleep(Duration::from_millis(300)).await;
    let promoted = standby.promote().expect("a promotion");
    assert_eq!(promoted.address(), address);
    coming.await.expect("players that come back");
    let back = play_until(&mut game, "its return", |e| matches!(e, Event::Resumed(_)));
    assert!(back.contains(&Event::Resumed(entity)), "{back:?}");
    promoted.stop().unwrap();
}

fn game(server: &Server) -> GameClient {
    let options = GameOptions::default();
    let game = GameClient::new(server.address(), "localhost", &trust(server), options);
    game.expect("a socket")
}

#[tokio::test]
async fn bots_play_on_at_the_promoted_standby() {
    let pair = Pair::new(WORLD, "bots");
    let primary = pair.primary(|_| ());
    let standby = pair.standby(&primary);
    complete(&standby).await;
    let bots = Bots::start_with(&primary, 12, BehaviourKind::Fight, |bots| {
        bots.verify = false;
    })
    .await;
    ticks(&primary, 20).await;
    drop(primary);
    let promoted = standby.promote().expect("a promotion");
    eventually("all bots play on", || bots.progress().came_back == 12).await;
    assert_eq!(bots.progress().lost, 0);
    bots.go_home();
    promoted.stop().unwrap();
}

#[tokio::test]
async fn a_standby_follows_a_crowd_and_comes_again_after_a_restart() {
    let pair = Pair::new(WORLD, "crowd");
    let primary = pair.primary(|_| ());
    let standby = pair.standby(&primary);
    complete(&standby).await;
    let bots = Bots::start(&primary, 24, BehaviourKind::Fight).await;
    ticks(&primary, 40).await;
    // It continues in its folder with the records that it lacks.
    drop(standby);
    ticks(&primary, 25).await;
    let standby = pair.standby(&primary);
    complete(&standby).await;
    ticks(&primary, 40).await;
    bots.verify(&primary).await;
    assert_eq!(standby.progress().failure, None);
    standby.check(false).expect("it could take over");
    drop(primary);
    // A second machine computes the whole journal as the first did.
    let promoted = standby.promote().expect("a promotion");
    ticks(&promoted, 5).await;
    promoted.stop().unwrap();
}

#[tokio::test]
async fn no_tick_is_sent_that_a_required_standby_lacks() {
    let pair = Pair::new(WORLD, "required");
    let primary = pair.primary(strict);
    let standby = pair.standby(&primary);
    complete(&standby).await;
    let mut player = Player::join(&primary).await;
    go(&mut player, 20.0, 20.0).await;
    assert!(primary.acknowledged() >= Some(player.client.view().newest()));
    assert!(player.client.view().kept() <= primary.acknowledged());
    let promoted = standby.promote().expect("a promotion");
    // The old one sends no tick after the promotion, and then ends.
    eventually("the old primary stops", || !primary.is_running()).await;
    let mut newest = player.client.view().newest();
    let ended = async {
        while player.client.receive(&mut player.log).await.is_ok() {
            newest = player.client.view().newest();
        }
    };
    timeout(DEADLINE, ended).await.expect("an end");
    assert!(Some(newest) <= primary.acknowledged());
    let reason = primary.stop().expect_err("it was deposed").to_string();
    assert!(reason.contains("a standby was promoted"), "{reason}");
    let again = Player::resume(&promoted, player.client.ticket()).await;
    assert_eq!(again.entity(), player.entity());
}

/// Otherwise its primary would wait for it until the connection times out.
#[tokio::test]
async fn a_standby_that_stops_closes_its_link() {
    let pair = Pair::new(WORLD, "closes");
    let config = pair.key().server_config(&PROTOCOL).unwrap();
    let any_port = SocketAddr::from(([127, 0, 0, 1], 0));
    let primary = quinn::Endpoint::server(config, any_port).unwrap();
    let follow = Follow {
        primary: primary.local_addr().unwrap().to_string(),
        key: pair.key(),
        clients_at: None,
        notifies: true,
    };
    let standby = Standby::start(pair.options("standby", |_| ()), follow).unwrap();
    let connection = primary.accept().await.unwrap().await.unwrap();
    let (_send, mut receive) = connection.accept_bi().await.unwrap();
    let hello = receive.read_chunk(1000, true).await.unwrap();
    assert!(hello.is_some());
    tokio::task::spawn_blocking(move || drop(standby))
        .await
        .unwrap();
    match connection.closed().await {
        quinn::ConnectionError::ApplicationClosed(closed) => {
            assert_eq!(&*closed.reason, b"the standby stops");
        }
        other => panic!("{other}"),
    }
}

#[tokio::test]
async fn a_deposed_server_does_not_start_again_but_follows() {
    let pair = Pair::new(WORLD, "deposed");
    let primary = pair.primary(|_| ());
    let standby = pair.standby(&primary);
    complete(&standby).await;
    ticks(&primary, 5).await;
    let promoted = pair.promote(standby);
    eventually("the old primary stops", || !primary.is_running()).await;
    drop(primary);
    let reason = refusal(pair.options("primary", |_| ()));
    assert!(reason.contains("a standby was promoted"), "{reason}");
    // It can't continue with the ticks that only it had, so it begins with the other's checkpoint.
    let follow = pair.follow(&promoted);
    let back = Standby::start(pair.options("primary", |_| ()), follow).unwrap();
    complete(&back).await;
    drop(promoted);
    drop(back.promote().expect("back again"));
}

#[tokio::test]
async fn a_promoted_server_that_was_restarted_still_deposes_the_one_before() {
    let pair = Pair::new(WORLD, "untold");
    let primary = pair.primary(|_| ());
    let standby = pair.standby(&primary);
    complete(&standby).await;
    // It is down when the other one is promoted, and comes back to the port that it had.
    let at = primary.followers().unwrap();
    primary.stop().unwrap();
    let promoted = pair.promote(standby);
    ticks(&promoted, 5).await;
    promoted.stop().unwrap();
    let followed = |listen: SocketAddr| {
        let key = pair.key();
        move |options: &mut ServerOptions| {
            let feed = FeedOptions::default();
            options.standby = Some(StandbyOptions { listen, key, feed });
        }
    };
    let any = SocketAddr::from(([127, 0, 0, 1], 0));
    let again = Server::start(pair.options("standby", followed(any))).unwrap();
    let back = Server::start(pair.options("primary", followed(at))).unwrap();
    eventually("the server before is deposed", || !back.is_running()).await;
    let reason = back.stop().expect_err("it was deposed").to_string();
    assert!(reason.contains("a standby was promoted"), "{reason}");
    let untold = pair.folder.join("standby").join("untold");
    eventually("it is notified once", || !untold.exists()).await;
    again.stop().unwrap();
}

#[tokio::test]
async fn a_folder_is_promoted_where_no_standby_runs() {
    let pair = Pair::new(WORLD, "offline");
    let primary = pair.primary(|_| ());
    let standby = pair.standby(&primary);
    complete(&standby).await;
    let player = Player::join(&primary).await;
    let last = player.client.view().newest();
    has_through(&primary, last).await;
    drop(primary);
    drop(standby);
    let reason = refusal(pair.options("standby", |_| ()));
    assert!(reason.contains("is a standby's"), "{reason}");
    promote_folder(&pair.folder.join("standby")).unwrap();
    let promoted = Server::start(pair.options("standby", |_| ())).unwrap();
    let again = Player::resume(&promoted, player.client.ticket()).await;
    assert_eq!(again.entity(), player.entity());
}

#[tokio::test]
async fn unknown_certificates_and_hostile_bytes_do_not_hurt_the_port() {
    let pair = Pair::new(WORLD, "strangers");
    let primary = pair.primary(|_| ());
    let address = primary.followers().unwrap();
    let other = Pair::new(WORLD, "stranger");
    assert!(converse(&other.key(), address, &[]).await.is_err());
    let key = pair.key();
    let mut seed = 7_u64;
    for length in [0, 1, 4, 5, 300, 5000] {
        let mut bytes = vec![];
        for _ in 0..length {
            seed = shared::world::mix::mix(seed, 1);
            bytes.push(seed as u8);
        }
        let _ = converse(&key, address, &bytes).await;
    }
    // One that claims records that do not exist yet.
    let mut lie = ToPrimary::Hello(Hello::default()).encode();
    lie.extend(ToPrimary::Synced(1 << 40).encode());
    assert!(converse(&key, address, &lie).await.is_err());
    let standby = pair.standby(&primary);
    complete(&standby).await;
    assert!(primary.is_running());
}

#[tokio::test]
async fn first_packets_of_others_take_no_place_at_the_port_for_a_standby() {
    let pair = Pair::new(WORLD, "first-packets");
    let primary = pair.primary(|_| ());
    let config = pair.key().client_config(&PROTOCOL).unwrap();
    let flood = FirstPackets::begin(primary.followers().unwrap(), &config);
    let standby = pair.standby(&primary);
    complete(&standby).await;
    let answers = flood.end();
    assert!(answers.len() > 50, "{} answers", answers.len());
    assert!(answers.iter().all(|&first| is_retry(first)));
}

#[tokio::test]
async fn first_packets_of_others_do_not_keep_clients_from_the_answer_of_a_standby() {
    let pair = Pair::new(WORLD, "first-packets-of-clients");
    let primary = pair.primary(|_| ());
    let standby = pair.standby(&primary);
    complete(&standby).await;
    let turned_away = async || {
        let hello = hello("", None);
        match Player::try_join_at(&primary, standby.address(), &hello).await {
            Err(ClientError::Standby(_)) => {}
            Err(error) => panic!("{error:?}"),
            Ok(_) => panic!("a standby lets players in"),
        }
    };
    // From then on the port has its certificate.
    turned_away().await;
    let config = client_config(&trust(&primary), Turns::default()).unwrap();
    let flood = FirstPackets::begin(standby.address(), &config);
    for _ in 0..10 {
        turned_away().await;
    }
    let answers = flood.end();
    assert!(answers.iter().all(|&first| is_retry(first)), "{answers:x?}");
}

/// Says something to a port, and reads until the other side ends it.
async fn converse(key: &LinkKey, address: SocketAddr, bytes: &[u8]) -> anyhow::Result<()> {
    let mut endpoint = quinn::Endpoint::client(SocketAddr::from(([127, 0, 0, 1], 0)))?;
    endpoint.set_default_client_config(key.client_config(&PROTOCOL)?);
    let connection = endpoint.connect(address, "localhost")?.await?;
    let (mut send, mut receive) = connection.open_bi().await?;
    send.write_all(bytes).await?;
    let read = async {
        while let Some(_chunk) = receive.read_chunk(1 << 16, true).await? {}
        anyhow::Ok(())
    };
    timeout(Duration::from_secs(10), read).await?
}
