//! A real browser plays over WebSocket where it has no WebTransport, where a network lets no UDP
//! through, and where its address says so; and remembers what worked.
//!
//! Skipped, with a line that says so, where there is no Chromium.

use client_bot::BehaviourKind;
use serde_json::{Value, json};

use crate::a_page_plays::{OWN, PLAYING, hold, is_in_the_corner, room};
use crate::common::chromium::Chromium;
use crate::common::folder::TestFolder;
use crate::common::relay::Relay;
use crate::common::{Bots, PLAIN, Player, eventually, scratch, start_with, until, web};
use server::host::WebServing;
use transport::quic::self_signed_pem;

/// What the drawer says of the connection.
const WAY: &str = "document.getElementById('way').textContent";

#[tokio::test]
async fn a_page_plays_over_a_web_socket_if_its_address_says_so() {
    let server = start_with(PLAIN, web);
    let Some(browser) = Chromium::start(&scratch("page-web-socket")) else {
        return;
    };
    let bots = Bots::start(&server, 30, BehaviourKind::Wander).await;
    let page = server.page().expect("a page");
    browser.open(&format!("http://{page}/#transport=websocket"));
    browser.until("the page is in the world", PLAYING);
    browser.until("it says how", &format!("{WAY} === 'WebSocket'"));
    browser.until(
        "it sees others move",
        "myriad.game.quality().datagrams > 20 && myriad.game.quality().in_view > 1",
    );
    // A reload is a lost connection, and comes back.
    let own = browser.value(OWN);
    browser.run("location.reload()");
    browser.until("it is back", PLAYING);
    assert_eq!(browser.value(OWN), own);
    assert_eq!(browser.log(), Vec::<String>::new());
    // For good.
    browser.run("document.getElementById('leave').click()");
    eventually("its entity is gone", || {
        server.stats().figures().clients == 30
    })
    .await;
    bots.verify(&server).await;
    browser.open("about:blank");
    browser.open(&format!("http://{page}/#transport=pigeons"));
    let says = "document.getElementById('banner-text').textContent";
    let expected = "#transport=pigeons is unknown: expected webtransport or websocket.";
    browser.until("it says so", &format!("{says} === '{expected}'"));
    drop(browser);
    server.stop().expect("the server stops");
}

#[tokio::test]
async fn a_page_without_web_transport_plays_all_the_same() {
    let server = start_with(&room(), web);
    let Some(browser) = Chromium::start(&scratch("page-no-web-transport")) else {
        return;
    };
    let nothing = json!({"source": "delete globalThis.WebTransport"});
    browser.devtools("Page.addScriptToEvaluateOnNewDocument", &nothing);
    let page = server.page().expect("a page");
    browser.open(&format!("http://{page}/"));
    browser.until("the page is in the world", PLAYING);
    browser.until("it says how", &format!("{WAY} === 'WebSocket'"));
    let own = browser.value(OWN);
    let slot = u32::try_from(own[0].as_u64().expect("a slot")).expect("a slot");
    let mut player = Player::join(&server).await;
    for key in ["KeyD", "KeyW"] {
        hold(&browser, key);
    }
    until(&mut [&mut player], "the page's entity walks", |players| {
        is_in_the_corner(players[0], slot)
    })
    .await;
    assert_eq!(browser.value("myriad.shown.lost"), Value::Null);
    assert_eq!(browser.log(), Vec::<String>::new());
    drop(browser);
    server.stop().expect("the server stops");
}

#[tokio::test]
async fn a_page_whose_network_has_no_udp_tries_the_other_way_and_remembers_it() {
    let server = start_with(PLAIN, web);
    let Some(browser) = Chromium::start(&scratch("page-no-udp")) else {
        return;
    };
    let network = Relay::start(server.address());
    network.cut(true);
    let (page, port) = (server.page().expect("a page"), network.address().port());
    browser.open(&format!("http://{page}/#port={port}"));
    browser.until("the page is in the world", PLAYING);
    browser.until("it says how", &format!("{WAY} === 'WebSocket'"));
    assert_eq!(browser.value("myriad.shown.lost"), Value::Null);
    let worked = "sessionStorage.getItem('transport')";
    assert_eq!(browser.value(worked), "websocket");
    // It need not wait again, although there would be another way.
    network.cut(false);
    browser.run("location.reload()");
    browser.until("it is back", PLAYING);
    browser.until("it says how", &format!("{WAY} === 'WebSocket'"));
    drop(browser);
    server.stop().expect("the server stops");
}

#[tokio::test]
async fn a_page_by_https_plays_over_a_web_socket_with_tls() {
    let folder = TestFolder::new("page-https");
    let (certificate, key) = self_signed_pem().expect("a certificate");
    std::fs::write(folder.join("tls.crt"), certificate).expect("a file");
    std::fs::write(folder.join("tls.key"), key).expect("a file");
    let server = start_with(PLAIN, |options| {
        options.identity = Some((folder.join("tls.crt"), folder.join("tls.key")));
        options.web = Some(WebServing {
            tls: true,
            ..WebServing::at("127.0.0.1:0".parse().expect("an address"))
        });
    });
    let Some(browser) = Chromium::start(&scratch("page-https")) else {
        return;
    };
    // As if an authority had signed it.
    let trust = json!({"ignore": true});
    browser.devtools("Security.setIgnoreCertificateErrors", &trust);
    let port = server.page().expect("a page").port();
    browser.open(&format!("https://localhost:{port}/#transport=websocket"));
    browser.until("the page is in the world", PLAYING);
    browser.until("it says how", &format!("{WAY} === 'WebSocket'"));
    assert_eq!(browser.value("isSecureContext"), true);
    browser.until(
        "it is sent datagrams",
        "myriad.game.quality().datagrams > 20",
    );
    drop(browser);
    server.stop().expect("the server stops");
}
