//! Clients whose gateway is full, ends or stalls go to another one, as the same entities.

use std::process::Command;
use std::time::Duration;

use client_bot::GameClient;
use client_bot::client_core::{Close, Event, GameOptions, LossCode};
use client_bot::connect::ClientError;
use client_bot::connect::hello;
use serde_json::Value;
use server::ServerOptions;
use server::host::WebServing;

use crate::a_page_plays::{PLAYING, room};
use crate::common::chromium::Chromium;
use crate::common::free_address;
use crate::common::gateways::{Host, stop};
use crate::common::process::{signal, start_printing};
use crate::common::python;
use crate::common::{
    self, DEADLINE, Player, ROOM, eventually, myriad_binary, play_until, scratch, ticks, trust,
    until, until_game,
};

#[tokio::test]
async fn clients_of_a_gateway_that_ends_come_back_by_another_as_the_same_entities() {
    let host = Host::start(ROOM, "ends", |_| ());
    let (first, second) = (host.gateway().await, host.gateway().await);
    let mut witness = host.join(second.address(), &hello("", None)).await;
    let address = first.address();
    let server = &host.server;
    let game = GameClient::new(address, "localhost", &trust(server), GameOptions::default());
    let mut game = game.expect("a socket");
    let (mut game, events) = tokio::task::spawn_blocking(move || {
        let is_own = |event: &Event| matches!(event, Event::Entered { .. });
        let events = play_until(&mut game, "its entity", is_own);
        // Until it has been sent the address of the other gateway.
        until_game(&mut game, ("another address", DEADLINE), |game, _| {
            game.game().address().map(drop)
        });
        (game, events)
    })
    .await
    .unwrap();
    let Some(&Event::Welcomed(entity)) = events.first() else {
        panic!("{events:?}");
    };
    until(&mut [&mut witness], "it sees the other", |p| {
        p[0].sees(entity)
    })
    .await;
    stop(first).await;
    let back = tokio::task::spawn_blocking(move || {
        let is_back = |e: &Event| matches!(e, Event::Resumed(_) | Event::Welcomed(_));
        play_until(&mut game, "its return", is_back)
    });
    assert_eq!(back.await.unwrap().last(), Some(&Event::Resumed(entity)));
    // To others it has never gone.
    assert_eq!(witness.leaves_of(entity), []);
    stop(second).await;
    host.server.stop().unwrap();
}

#[tokio::test]
async fn a_full_gateway_sends_its_clients_to_another_one() {
    let host = Host::start(ROOM, "full", |_| ());
    let small = |options: &mut ServerOptions| options.clients_max = Some(1);
    let first = host.gateway_with(vec![host.port()], small).await;
    let second = host.gateway_with(vec![host.port()], small).await;
    let trust = trust(&host.server);
    let address = first.address();
    let play = move || {
        let game = GameClient::new(address, "localhost", &trust, GameOptions::default());
        let mut game = game.expect("a socket");
        let is_own = |event: &Event| matches!(event, Event::Entered { .. });
        let events = play_until(&mut game, "its entity", is_own);
        (game, events)
    };
    let one = tokio::task::spawn_blocking(play.clone()).await.unwrap().0;
    // The other one is known to it, and has room.
    let two = tokio::task::spawn_blocking(play).await.unwrap();
    assert!(matches!(two.1[0], Event::Lost { .. }), "{:?}", two.1);
    let full = |at| {
        let server = &host.server;
        async move {
            Player::try_join_at(server, at, &hello("", None))
                .await
                .err()
        }
    };
    for (at, other) in [(&first, &second), (&second, &first)] {
        let ending = match full(at.address()).await {
            Some(ClientError::Refused(ending) | ClientError::Ended(ending)) => ending,
            other => panic!("{other:?}"),
        };
        assert_eq!(ending.code, LossCode::Closed(Close::Full));
        assert_eq!(ending.reason, "this server has its 1 clients");
        let redirect = ending.redirect.expect("another server");
        assert_eq!(redirect.0, other.address().to_string());
    }
    drop((one, two));
    for gateway in [first, second] {
        stop(gateway).await;
    }
    host.server.stop().unwrap();
}

#[tokio::test]
async fn a_page_whose_gateway_ends_plays_on_by_another_one_as_the_same_entity() {
    let Some(browser) = Chromium::start(&scratch("page-gateways")) else {
        return;
    };
    let host = Host::start(&room(), "pages", |_| ());
    let web = |options: &mut ServerOptions| {
        options.web = Some(WebServing::at(([127, 0, 0, 1], 0).into()));
    };
    let first = host.gateway_with(vec![host.port()], web).await;
    let second = host.gateway_with(vec![host.port()], web).await;
    let mut witness = host.join(second.address(), &hello("", None)).await;
    let page = first.page().expect("a page");
    browser.open(&format!("http://{page}/"));
    browser.until("the page is in the world", PLAYING);
    // Once to connect, and once for the others.
    let asked = "performance.getEntriesByType('resource')
        .filter(({ name }) => name.endsWith('/connect.json')).length > 1";
    browser.until("it has asked where the other is", asked);
    let known = common::get(page, "/connect.json");
    let other = second.page().expect("a page");
    assert!(known.contains(&format!("http://{other}/")), "{known}");
    until(&mut [&mut witness], "both are there", |p| {
        p[0].client.view().entities().len() == 2
    })
    .await;
    let own = witness.entity();
    let others = witness.client.view().entities().values();
    let entity = others
        .map(|e| e.id)
        .find(|&id| id != own)
        .expect("its player");
    stop(first).await;
    browser.until("it plays on", PLAYING);
    let slot = browser.value("myriad.game.quality().own");
    assert_eq!(slot.as_u64(), Some(u64::from(entity.slot.0)));
    ticks(&host.server, 2).await;
    assert_eq!(witness.leaves_of(entity), []);
    drop(browser);
    stop(second).await;
    host.server.stop().unwrap();
}

#[tokio::test]
async fn clients_of_a_gateway_that_stalls_come_back_by_another_one() {
    let host = Host::start(ROOM, "stalls", |options| {
        if let Some(gateways) = &mut options.gateways {
            gateways.silence_max = Duration::from_secs(2);
        }
    });
    let other = host.gateway().await;
    let listen = free_address();
    let mut command = Command::new(myriad_binary());
    command.args([
        "gateway",
        "--world",
        &host.port(),
        "--shards",
        "1",
        "--threads",
        "1",
    ]);
    command.arg("--link-key").arg(host.folder.join("link.pem"));
    command.args(["--listen", &listen.to_string()]);
    command.args(["--clients-at", &listen.to_string()]);
    let (mut stalled, printed) = start_printing(&mut command);
    eventually("it listens", || {
        printed
            .lock()
            .expect("no panic with it")
            .contains("listening on")
    })
    .await;
    let trust = trust(&host.server);
    let playing = tokio::task::spawn_blocking(move || {
        let game = GameClient::new(listen, "localhost", &trust, GameOptions::default());
        let mut game = game.expect("a socket");
        let is_own = |event: &Event| matches!(event, Event::Entered { .. });
        let events = play_until(&mut game, "its entity", is_own);
        // It is sent where the other is.
        until_game(&mut game, ("another address", DEADLINE), |game, _| {
            game.game().address().map(drop)
        });
        (game, events)
    });
    let (mut game, events) = playing.await.unwrap();
    let Some(&Event::Welcomed(entity)) = events.first() else {
        panic!("{events:?}");
    };
    signal(&stalled, "-STOP");
    let back = tokio::task::spawn_blocking(move || {
        let is_back = |e: &Event| matches!(e, Event::Resumed(_) | Event::Welcomed(_));
        play_until(&mut game, "its return", is_back)
    });
    assert_eq!(back.await.unwrap().last(), Some(&Event::Resumed(entity)));
    let freed = || host.server.stats().figures().clients == 1;
    eventually("its place is free", freed).await;
    // It goes on as a gateway without clients once it runs again.
    signal(&stalled, "-CONT");
    eventually("it has the world again", || {
        let log = printed.lock().expect("no panic with it");
        log.matches("the gateway has its world").count() == 2
    })
    .await;
    stalled.kill().expect("it runs");
    stalled.wait().expect("it ends");
    stop(other).await;
    host.server.stop().unwrap();
}

#[tokio::test]
async fn a_client_in_python_comes_back_by_another_gateway() {
    let Some(python) = python::interpreter() else {
        return;
    };
    let host = Host::start(ROOM, "python", |_| ());
    let (first, second) = (host.gateway().await, host.gateway().await);
    let port = first.address().port().to_string();
    let mut command = python::program(&python, "stay.py", &["127.0.0.1", &port]);
    let (child, printed) = start_printing(&mut command);
    let running = python::Running(child);
    let lines = || {
        let printed = printed.lock().expect("no panic with it");
        let lines = printed
            .lines()
            .map(|line| serde_json::from_str(line).expect(line));
        lines.collect::<Vec<Value>>()
    };
    let other = Value::from(vec![second.address().to_string()]);
    eventually("it is in the world, and knows the other", || {
        lines().iter().any(|line| line["servers"] == other)
    })
    .await;
    stop(first).await;
    eventually("it is back", || {
        lines()
            .iter()
            .filter(|line| !line["entity"].is_null())
            .count()
            == 2
    })
    .await;
    let welcomes: Vec<Value> = lines();
    let welcomes: Vec<_> = welcomes
        .iter()
        .filter(|line| !line["entity"].is_null())
        .collect();
    assert_eq!(welcomes[0]["resumed"], false);
    assert_eq!(welcomes[1]["resumed"], true);
    assert_eq!(welcomes[0]["entity"], welcomes[1]["entity"]);
    drop(running);
    stop(second).await;
    host.server.stop().unwrap();
}
