//! A client plays over WebSocket on the page's port, as one over QUIC does: it sees the same, has
//! the same limits, and what it does wrong affects no other client. The same port serves the page
//! by https.

use std::collections::BTreeMap;
use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use accounts::shared_word::SharedWord;
use client_bot::BehaviourKind;
use client_bot::connect::hello;
use client_core::View;
use rustix::net::sockopt::set_socket_recv_buffer_size;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use script::builtin;
use server::Server;
use server::host::WebServing;
use shared::Fixed;
use shared::wire::control::Close;
use tokio::task::spawn_blocking;
use transport::quic::self_signed_pem;
use tungstenite::Message;

use crate::common::folder::TestFolder;
use crate::common::raw::framed;
use crate::common::web_socket::{Socket, SocketGame, tls};
use crate::common::{
    Bots, DEADLINE, PLAIN, Player, ROOM, eventually, get, go, leave, listen_for, start_with, ticks,
    until, web,
};

fn open(server: &Server) -> Socket {
    Socket::open(server.page().expect("a page"), None)
}

/// The rows of all entities in a view, in the newest tick's places.
fn rows_of(view: &View) -> BTreeMap<u32, Vec<i32>> {
    let rows = view.entities().values().map(|entity| {
        let mut row = entity.row.clone();
        let place = view.position(entity, view.newest());
        let axes = view.schema().dimensions();
        row[..axes].copy_from_slice(&place[..axes]);
        (entity.id.slot.0, row.to_vec())
    });
    rows.collect()
}

/// Plays on a thread of its own until something holds.
async fn play(
    mut of: SocketGame,
    what: &'static str,
    holds: fn(&mut SocketGame) -> bool,
) -> SocketGame {
    let playing = spawn_blocking(move || {
        of.play_until(what, holds);
        of
    });
    playing.await.expect("a game")
}

#[tokio::test]
async fn a_client_plays_beside_bots_and_leaves_for_good() {
    // All see each other.
    let server = start_with(ROOM, web);
    let bots = Bots::start(&server, 20, BehaviourKind::Wander).await;
    let game = SocketGame::new(open(&server));
    let mut game = play(game, "it sees others move", |of| {
        let view = of.game.view();
        view.is_some_and(|view| view.counts().movements >= 50 && view.own().is_some())
    })
    .await;
    assert_eq!(server.stats().figures().clients, 21);
    game.leave();
    eventually("its entity is gone", || {
        server.stats().figures().clients == 20
    })
    .await;
    assert_eq!(server.stats().figures().sessions_lost, 0, "it was not lost");
    bots.verify(&server).await;
    server.stop().expect("the server stops");
}

#[tokio::test]
async fn a_client_sees_the_same_values_as_one_over_quic_and_its_commands_have_effect() {
    let limits = "[limits]\nidle_seconds = 600\n[commands]\nmove = { speed_max = 1000 }\n";
    let server = start_with(&format!("{ROOM}\n{limits}"), web);
    let mut players = vec![];
    for _ in 0..4 {
        players.push(Player::join(&server).await);
    }
    let game = SocketGame::new(open(&server));
    let mut game = play(game, "it sees all", |of| {
        let view = of.game.view();
        view.is_some_and(|view| view.entities().len() == 5 && view.own().is_some())
    })
    .await;
    // Another goes beside it, to be hit.
    let view = game.game.view().expect("a view");
    let own = view.own().expect("itself");
    let place = view
        .position(own, view.newest())
        .map(|raw| Fixed::from_raw(raw).to_f64());
    let target = players[0].entity();
    go(&mut players[0], place[0], place[1]).await;
    let strike = [target.reference().0];
    let given = game.game.command(builtin::STRIKE, &strike);
    given.expect("a command");
    let ends = Arc::new(AtomicBool::new(false));
    let has_ended = ends.clone();
    let playing = spawn_blocking(move || {
        game.play_until("the test ends", |_| has_ended.load(Ordering::Relaxed));
        game
    });
    until(&mut [&mut players[0]], "it is hit", |players| {
        players[0].value(target, "hp") == 95
    })
    .await;
    go(&mut players[1], 3.0, 4.0).await;
    // All rest.
    listen_for(&server, &mut players.iter_mut().collect::<Vec<_>>(), 30).await;
    ends.store(true, Ordering::Relaxed);
    let game = playing.await.expect("a game");
    let seen = rows_of(game.game.view().expect("a view"));
    assert_eq!(seen.len(), 5);
    assert_eq!(seen, rows_of(players[2].client.view()));
    server.stop().expect("the server stops");
}

#[tokio::test]
async fn a_client_that_is_lost_comes_back_over_quic_as_the_same_entity() {
    let server = start_with(PLAIN, web);
    let game = SocketGame::new(open(&server));
    let game = play(game, "it is in the world", |of| of.game.is_playing()).await;
    let entity = game.game.view().expect("a view").entity();
    game.socket.cut();
    let ticket = game.game.ticket().expect("a ticket");
    let player = Player::resume(&server, ticket).await;
    assert_eq!(player.entity(), entity);
    leave(&server, player).await;
    server.stop().expect("the server stops");
}

#[tokio::test]
async fn only_pages_of_allowed_origins_open_web_sockets() {
    let server = start_with(PLAIN, web);
    let page = server.page().expect("a page");
    let own = format!("http://{page}");
    for (origin, status) in [("https://evil.example", "403"), ("null", "403")] {
        let answer = Socket::refusal(page, Some(origin));
        assert!(
            answer.starts_with(&format!("HTTP/1.1 {status} ")),
            "{answer}"
        );
    }
    // A program, which no page can make send this.
    drop(Socket::open(page, None));
    // Without a handshake it is a path like others.
    assert!(get(page, "/play").starts_with("HTTP/1.1 404 "));
    server.stop().expect("the server stops");
    let server = start_with(PLAIN, |options| {
        options.web = Some(WebServing {
            origins: vec!["https://game.example".to_owned()],
            ..WebServing::at("127.0.0.1:0".parse().expect("an address"))
        });
    });
    let page = server.page().expect("a page");
    for origin in [Some("https://evil.example"), Some(&*own), None] {
        let answer = Socket::refusal(page, origin);
        assert!(answer.starts_with("HTTP/1.1 403 "), "{answer}");
    }
    drop(Socket::open(page, Some("https://game.example")));
    server.stop().expect("the server stops");
}

#[tokio::test]
async fn a_client_gets_the_whole_reason_why_it_is_not_admitted() {
    let server = start_with(PLAIN, |options| {
        web(options);
        options.authenticator = Arc::new(SharedWord::new("open sesame"));
    });
    let mut socket = open(&server);
    socket.send(0, &framed(&hello("open barley", None)));
    let (code, reason, frame) = socket.closed();
    assert_eq!(code, Close::Unauthorized.code());
    assert!(reason.contains("token"), "{reason}");
    assert_eq!(frame, Some(4013));
    server.stop().expect("the server stops");
}

#[tokio::test]
async fn malformed_messages_close_their_connection_and_no_other() {
    let server = start_with(PLAIN, web);
    let bots = Bots::start(&server, 10, BehaviourKind::Wander).await;
    let messages = [
        (Message::text("hello"), "text"),
        (Message::binary(vec![]), "empty"),
        (Message::binary(vec![0]), "no bytes"),
        (Message::binary(vec![2; 9]), "kind 2"),
        (Message::binary(vec![9]), "kind 9"),
        // A datagram before the hello.
        (Message::binary(vec![1, 1, 2, 3]), ""),
        (Message::binary(vec![1]), ""),
        // Longer than any message.
        (Message::binary(vec![0; 4098]), "too long"),
        (Message::binary(vec![0; 1 << 20]), "too long"),
        // A hello of 2 GB.
        (Message::binary([&[0], &[0x7f; 100][..]].concat()), ""),
    ];
    let mut closed = 0;
    for (message, expected) in messages {
        let mut socket = open(&server);
        let name = format!("{message:?}").chars().take(60).collect::<String>();
        let _ = socket.web.send(message);
        let (code, reason, frame) = socket.closed();
        assert_eq!(code, Close::Malformed.code(), "{name}: {reason}");
        assert!(reason.to_lowercase().contains(expected), "{name}: {reason}");
        assert_eq!(frame, Some(4003), "{name}");
        closed += 1;
    }
    // Bytes that are no frames, and frames without a mask.
    for bytes in [&[0xff; 64][..], &[0x82, 2, 0, 1]] {
        let mut socket = open(&server);
        socket.web.get_mut().write_all(bytes).expect("bytes");
        let (code, reason, _) = socket.closed();
        assert_eq!(code, Close::Malformed.code(), "{reason}");
        closed += 1;
    }
    // More of the stream than the window, in messages that are each allowed.
    let game = SocketGame::new(open(&server));
    let mut game = play(game, "it is in the world", |of| of.game.is_playing()).await;
    for _ in 0..100 {
        game.socket.send(0, &[0; 4000]);
    }
    let (code, reason, _) = game.socket.closed();
    assert_eq!(code, Close::Malformed.code(), "{reason}");
    closed += 1;
    eventually("they are counted", || {
        server.stats().figures().malformed == closed
    })
    .await;
    ticks(&server, 5).await;
    bots.verify(&server).await;
    server.stop().expect("the server stops");
}

#[tokio::test]
async fn a_client_that_says_nothing_is_closed_in_time() {
    let server = start_with(PLAIN, web);
    let mut socket = open(&server);
    let closing = spawn_blocking(move || socket.closed());
    let (code, reason, _) = closing.await.expect("a reason");
    assert_eq!(code, Close::TooSlow.code());
    assert_eq!(reason, "no hello within 5 seconds");
    server.stop().expect("the server stops");
}

#[tokio::test]
async fn sockets_that_say_nothing_leave_room_for_players_and_are_bounded() {
    let server = start_with(PLAIN, web);
    // All of one network, and more than may wait of one.
    let silent: Vec<Socket> = (0..600).map(|_| open(&server)).collect();
    let page = server.page().expect("a page");
    let playing = spawn_blocking(move || {
        // Silent ones make room after a second; a client tries again until then.
        let started = Instant::now();
        let is_admitted = |mut game: SocketGame| {
            while game.play().is_none() {
                if game.game.is_playing() {
                    return true;
                }
            }
            false
        };
        while !is_admitted(SocketGame::new(Socket::open(page, None))) {
            assert!(started.elapsed() < DEADLINE, "a client is not admitted");
        }
        let closed = silent.into_iter().filter_map(|mut socket| socket.receive());
        closed.count()
    });
    let closed = playing.await.expect("a game");
    assert!(closed >= 600 - 512, "{closed} of 600 are closed");
    server.stop().expect("the server stops");
}

#[tokio::test]
async fn a_client_that_reads_nothing_is_closed_whatever_it_sends() {
    let world = format!("{PLAIN}\n[limits]\nunread_seconds = 2\nresume_seconds = 0\n");
    let server = start_with(&world, web);
    let bots = Bots::start(&server, 20, BehaviourKind::Wander).await;
    let socket = open(&server);
    // The system takes little for it.
    set_socket_recv_buffer_size(socket.tcp(), 4096).expect("a socket");
    let game = SocketGame::new(socket);
    let mut game = play(game, "it is in the world", |of| {
        of.game.is_playing() && !of.last.is_empty()
    })
    .await;
    eventually("it is in the world", || {
        server.stats().figures().clients == 21
    })
    .await;
    // It goes on sending what it sent last.
    let last = game.last.clone();
    let sending = spawn_blocking(move || {
        let started = Instant::now();
        while game.socket.try_send(1, &last).is_ok() {
            assert!(started.elapsed() < DEADLINE, "it is not closed");
            std::thread::sleep(Duration::from_millis(1));
        }
    });
    eventually("it is gone", || server.stats().figures().clients == 20).await;
    sending.await.expect("the connection ends");
    bots.verify(&server).await;
    server.stop().expect("the server stops");
}

#[tokio::test]
async fn clients_are_told_when_the_server_stops() {
    let server = start_with(PLAIN, web);
    let game = SocketGame::new(open(&server));
    let mut game = play(game, "it is in the world", |of| of.game.is_playing()).await;
    let closing = spawn_blocking(move || game.socket.closed());
    server.stop().expect("the server stops");
    let (code, _, frame) = closing.await.expect("a reason");
    assert_eq!((code, frame), (Close::Shutdown.code(), Some(4006)));
}

/// A server that serves its page by https, and its certificate.
fn start_https(name: &str) -> (Server, TestFolder, CertificateDer<'static>) {
    let folder = TestFolder::new(name);
    let certificate = certify(&folder);
    let server = start_with(ROOM, |options| {
        options.identity = Some((folder.join("tls.crt"), folder.join("tls.key")));
        options.web = Some(WebServing {
            tls: true,
            ..WebServing::at("127.0.0.1:0".parse().expect("an address"))
        });
    });
    (server, folder, certificate)
}

/// Writes a new certificate and its key.
fn certify(folder: &Path) -> CertificateDer<'static> {
    let (certificate, key) = self_signed_pem().expect("a certificate");
    fs::write(folder.join("tls.crt"), &certificate).expect("a file");
    fs::write(folder.join("tls.key"), key).expect("a file");
    CertificateDer::from_pem_slice(certificate.as_bytes()).expect("a certificate")
}

/// The answer of a server by https; `None` if its certificate is not this one.
fn get_by_https(server: &Server, path: &str, trusted: &CertificateDer<'static>) -> Option<String> {
    let tcp = TcpStream::connect(server.page().expect("a page")).expect("a connection");
    let mut stream = tls(tcp, trusted);
    let request = format!("GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n");
    stream.write_all(request.as_bytes()).ok()?;
    let mut answer = vec![];
    // A server need not say that TLS ends.
    let _ = stream.read_to_end(&mut answer);
    Some(String::from_utf8_lossy(&answer).into_owned())
}

#[tokio::test]
async fn the_page_is_served_by_https_also_with_a_renewed_certificate() {
    let (server, folder, certificate) = start_https("https-page");
    assert_eq!(server.page_scheme(), "https");
    for (path, part) in [
        ("/", "<!doctype html>"),
        ("/websocket.js", "WebSocket"),
        // Browsers check the certificate by the page's name.
        ("/connect.json", "\"certificate_hash\":null"),
        ("/dashboard", "<!doctype html>"),
    ] {
        let answer = get_by_https(&server, path, &certificate).expect("an answer");
        assert!(answer.starts_with("HTTP/1.1 200 "), "{path}: {answer}");
        assert!(
            answer.to_lowercase().contains(&part.to_lowercase()),
            "{path}: {answer}"
        );
    }
    // A program that speaks no TLS gets no page.
    let mut plain = TcpStream::connect(server.page().expect("a page")).expect("a connection");
    plain
        .write_all(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
        .expect("a request");
    let mut answer = vec![];
    let _ = plain.read_to_end(&mut answer);
    assert!(!String::from_utf8_lossy(&answer).contains("HTTP/1.1"));
    let renewed = certify(&folder);
    eventually("the new certificate is shown", || {
        get_by_https(&server, "/", &renewed).is_some()
    })
    .await;
    assert_eq!(get_by_https(&server, "/", &certificate), None);
    server.stop().expect("the server stops");
}

#[tokio::test]
async fn a_client_plays_over_a_web_socket_with_tls() {
    let (server, _folder, certificate) = start_https("https-plays");
    let bots = Bots::start(&server, 10, BehaviourKind::Wander).await;
    let socket = Socket::open_tls(server.page().expect("a page"), &certificate);
    let game = play(SocketGame::new(socket), "it sees others move", |of| {
        of.game
            .view()
            .is_some_and(|view| view.counts().movements >= 50)
    })
    .await;
    let mut game = game;
    game.leave();
    bots.verify(&server).await;
    server.stop().expect("the server stops");
}
