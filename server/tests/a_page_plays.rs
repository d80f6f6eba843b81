//! A real browser plays on the server's page: it joins beside bots, sees what another client
//! sees, walks, gives commands, plays over bad networks, loses its network and comes back.
//!
//! Skipped, with a line that says so, where there is no Chromium.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use accounts::shared_word::SharedWord;
use client_bot::connect::hello;
use client_bot::{BehaviourKind, Network};
use quic::relay::RelayPort;
use script::builtin;
use serde_json::Value;
use server::Server;
use shared::Fixed;
use shared::wire::control::Hello;

use crate::common::chromium::Chromium;
use crate::common::folder::TestFolder;
use crate::common::relay::Relay;
use crate::common::{
    Bots, DEADLINE, PLAIN, Player, ROOM, eventually, go, listen_for, myriad_binary, scratch,
    start_with, text, until, web,
};

/// A world in which all see each other, and one goes anywhere in a step.
pub fn room() -> String {
    // Players wait while the browser is looked at.
    let limits = "[limits]\nidle_seconds = 600\nunread_seconds = 600";
    format!("{ROOM}\n{limits}\n[commands]\nmove = {{ speed_max = 1000 }}\n")
}

/// Opens the page of a server, and waits until its player is in the world.
pub fn join(browser: &Chromium, server: &Server) {
    browser.open(&format!("http://{}/", server.page().unwrap()));
    browser.until("the page is in the world", PLAYING);
}

/// Presses a key of a page, and holds it.
pub fn hold(browser: &Chromium, key: &str) {
    let press = format!("dispatchEvent(new KeyboardEvent('keydown', {{ code: '{key}' }}))");
    browser.run(&press);
}

/// By slot: a page's data of the entities in view, in the engine's numbers.
fn rows_of_page(browser: &Chromium) -> BTreeMap<u64, Vec<i64>> {
    let rows = browser.run(
        "const floats = myriad.game.entities(-1), rows = [];
         for (let i = 0; i < floats.length; i += 7) {
             const entity = myriad.game.entity(floats[i]);
             rows.push([entity.slot, entity.row]);
         }
         return rows;",
    );
    let rows = rows.as_array().expect("a list").iter();
    let number = |value: &Value| value.as_i64().expect("a number");
    rows.map(|row| {
        let values = row[1].as_array().expect("a row").iter().map(number);
        (row[0].as_u64().expect("a slot"), values.collect())
    })
    .collect()
}

fn rows_of(player: &Player) -> BTreeMap<u64, Vec<i64>> {
    let view = player.client.view();
    let rows = view.entities().values().map(|entity| {
        let mut row: Vec<i64> = entity.row.iter().map(|&value| value.into()).collect();
        // All rest, so the newest place is that of the page.
        let place = view.position(entity, view.newest());
        for axis in 0..view.schema().dimensions() {
            row[axis] = place[axis].into();
        }
        (u64::from(entity.id.slot.0), row)
    });
    rows.collect()
}

#[tokio::test]
async fn a_page_joins_beside_bots_and_they_check_each_other() {
    let server = start_with(PLAIN, web);
    let Some(browser) = Chromium::start(&scratch("page-joins")) else {
        return;
    };
    let bots = Bots::start(&server, 30, BehaviourKind::Wander).await;
    join(&browser, &server);
    browser.until(
        "it sees others move",
        "myriad.game.quality().datagrams > 20",
    );
    assert_eq!(server.stats().figures().clients, 31);
    let seen = browser.value("myriad.game.quality().in_view");
    assert!(seen.as_u64().is_some_and(|seen| seen > 1), "{seen}");
    bots.verify(&server).await;
    assert_eq!(browser.log(), Vec::<String>::new());
    drop(browser);
    server.stop().unwrap();
}

#[tokio::test]
async fn a_page_sees_the_same_values_as_another_client_in_the_same_place() {
    let server = start_with(&room(), web);
    let Some(browser) = Chromium::start(&scratch("page-sees")) else {
        return;
    };
    join(&browser, &server);
    let mut players = vec![];
    for _ in 0..5 {
        players.push(Player::join(&server).await);
    }
    let [first, second, ..] = &mut players[..] else {
        panic!("five players");
    };
    go(first, 3.0, 4.0).await;
    go(second, 4.0, 4.0).await;
    // A player is hurt.
    let target = second.entity();
    first.send(builtin::STRIKE, &[target.reference().0]);
    until(&mut [first, second], "a strike hits", |players| {
        players[0].value(target, "hp") == 95
    })
    .await;
    let page_sees = format!("myriad.game.entity({}).row", target.slot.0);
    let hp = second.client.view().schema().column("hp").unwrap();
    browser.until("the page sees it", &format!("{page_sees}[{hp}] === 95"));
    listen_for(&server, &mut players.iter_mut().collect::<Vec<_>>(), 30).await;
    let expected = rows_of(&players[2]);
    assert_eq!(expected.len(), 6);
    assert_eq!(rows_of_page(&browser), expected);
    drop(browser);
    server.stop().unwrap();
}

const ZONES: &str = "
    [world]
    size = [60, 60]
    aoi = 90
    attributes = [{ name = 'round', type = 'i32', audience = 'state' }]
    [logic]
    folder = 'logic'
    [[kind]]
    name = 'player'
    [[kind]]
    name = 'cart'
    population = 2
    [[zone]]
    name = 'field'
    area = [[5, 35], [25, 55]]
    [[zone]]
    name = 'shade'
    carrier = 'cart'
    radius = 4
    [[every]]
    kind = 'world'
    ticks = 5
    command = 'pass'
";
const PASS: &str =
    "#[command(rules)] fn pass(me: Entity) { me.round += 1; log(\"<b>\", me.round); }";

#[tokio::test]
async fn a_page_shows_zones_and_for_whom_may_see_the_dashboard_what_scripts_log() {
    let folder = TestFolder::new("page-zones");
    std::fs::create_dir(folder.join("logic")).expect("a folder");
    std::fs::write(folder.join("logic/pass.rs"), PASS).expect("a file");
    std::fs::write(folder.join("world.toml"), ZONES).expect("a file");
    let world = world_file::load(&folder.join("world.toml")).expect("a world");
    let server = start_with(PLAIN, |options| {
        options.world = world;
        web(options);
    });
    let Some(browser) = Chromium::start(&scratch("page-zones")) else {
        return;
    };
    let page = format!("http://{}/", server.page().expect("a page"));
    browser.open(&format!("{page}#log"));
    browser.until("the page is in the world", PLAYING);
    // What is written on the canvas.
    browser.run(
        "globalThis.names = []; const write = CanvasRenderingContext2D.prototype.fillText;
         CanvasRenderingContext2D.prototype.fillText = function (text, ...place) {
             names.push(text); write.call(this, text, ...place); };",
    );
    browser.until(
        "each zone has its name, the carried one for each carrier",
        // Other texts are those of figures.
        "(names = names.filter((name) => ['field', 'shade'].includes(name)).slice(-30)).join()\
            .includes('field,shade,shade,field')",
    );
    let kinds = "[...document.querySelectorAll('#kinds span:not([hidden])')].map((kind) => kind.textContent)";
    assert_eq!(browser.value(kinds), serde_json::json!(["player", "cart"]));
    let logs = "[...document.querySelectorAll('#log li.script')]";
    browser.until(
        "lines are shown as text",
        &format!("{logs}.some((line) => /pass: <b> [0-9]+$/.test(line.textContent))"),
    );
    assert_eq!(browser.log(), Vec::<String>::new());
    drop(browser);
    server.stop().expect("the server stops");
}

#[tokio::test]
async fn a_page_walks_and_gives_commands_by_its_buttons() {
    // A strike can be given once in the test.
    let world = format!("{}strike = {{ cooldown = 100000 }}\n", room());
    let server = start_with(&world, web);
    let Some(browser) = Chromium::start(&scratch("page-walks")) else {
        return;
    };
    join(&browser, &server);
    let ann = Hello {
        name: "Ann".to_owned(),
        ..hello("", None)
    };
    let mut player = Player::join_as(&server, &ann).await;
    go(&mut player, 15.0, 15.0).await;
    let is_ann = format!(
        "myriad.scene.figures().some(({{ slot, name }}) => slot === {} && name === 'Ann')",
        player.entity().slot.0
    );
    // A player that hears nothing meanwhile would lose its connection.
    until(&mut [&mut player], "the other has its name", |_| {
        browser.holds(&is_ann)
    })
    .await;
    let own = browser.value("myriad.game.quality().own");
    let own = u32::try_from(own.as_u64().expect("a slot")).unwrap();
    // Keys: to the corner of the room.
    for key in ["KeyD", "KeyW"] {
        hold(&browser, key);
    }
    until(&mut [&mut player], "the page's entity walks", |players| {
        is_in_the_corner(players[0], own)
    })
    .await;
    browser.run("dispatchEvent(new Event('blur'))");
    // A click: back to the middle, beside the other.
    browser.run("myriad.scene.goal = [15, 16]");
    browser.until("it is there", "myriad.scene.goal === null");
    // A button, with the chosen entity.
    let other = player.entity();
    browser.run(&format!("myriad.scene.selected = {}", other.slot.0));
    let button = "document.querySelector('[data-command=strike] button')";
    let rest = format!("Number({button}.style.getPropertyValue('--rest'))");
    browser.until("it is ready", &format!("{rest} === 0"));
    // Texts of figures are drawn once.
    browser.run(
        "globalThis.texts = []; const write = CanvasRenderingContext2D.prototype.fillText;
         CanvasRenderingContext2D.prototype.fillText = function (text, ...place) {
             texts.push(text); write.call(this, text, ...place); };",
    );
    // A server that is late refuses one.
    let mut clicked: Option<Instant> = None;
    until(&mut [&mut player], "the page strikes", |players| {
        let is_struck = players[0].value(other, "hp") == 95;
        if !is_struck && clicked.is_none_or(|at| at.elapsed() > Duration::from_secs(2)) {
            browser.run(&format!("{button}.click()"));
            clicked = Some(Instant::now());
        }
        is_struck
    })
    .await;
    browser.until("it rests", &format!("{rest} > 0.9 && {rest} <= 1"));
    browser.until("the hit rises from who is hit", "texts.includes('−5')");
    // Another strike has no effect, and the page says so.
    browser.run(&format!("{button}.click()"));
    browser.until(
        "the log says why",
        "[...document.querySelectorAll('#log .refused')].some((line) => \
            line.textContent.includes('strike had no effect: it rests after its last use'))",
    );
    let toast = "[...document.querySelectorAll('.toast')].map((toast) => toast.textContent)";
    let toasts = browser.value(toast).to_string();
    assert!(toasts.contains("strike had no effect"), "{toasts}");
    // A click far outside of the world: to its edge, where it may be by the next call.
    let goal = browser.run(
        "const at = { clientX: 1, clientY: 1, bubbles: true };
         document.getElementById('canvas').dispatchEvent(new PointerEvent('pointerdown', at));
         return myriad.scene.goal;",
    );
    let within = |axis: usize| {
        goal[axis]
            .as_f64()
            .is_some_and(|at| (0.0..30.0).contains(&at))
    };
    assert!(within(0) && within(1), "{goal}");
    browser.until("it is at the edge", "myriad.scene.goal === null");
    // For good.
    browser.run("document.getElementById('leave').click()");
    eventually("its entity is gone", || {
        server.stats().figures().clients == 1
    })
    .await;
    assert_eq!(server.stats().figures().sessions_lost, 0);
    drop(browser);
    server.stop().unwrap();
}

#[tokio::test]
async fn a_page_plays_over_the_networks_of_a_phone() {
    let Some(browser) = Chromium::start(&scratch("page-over-networks")) else {
        return;
    };
    // By the traces it is 50 and 23 at least. The page shows an estimate, and without a
    // network it is about 1.
    for (name, round_trip_ms) in [("lte", 25), ("5g-handover", 10)] {
        plays_over(name, round_trip_ms, &browser).await;
    }
}

/// Lets a page play over a network by its name: its entity goes where it is led, and nearly every
/// tick has its input.
async fn plays_over(name: &str, round_trip_ms: u32, browser: &Chromium) {
    let port = RelayPort::bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let server = start_with(&room(), |options| {
        web(options);
        let serving = options.web.as_mut().expect("a page");
        serving.connect_port = Some(port.address().port());
    });
    let network = Network::named(name).unwrap();
    let relay = port.carry(server.address(), &network, 1).unwrap();
    let page = server.page().unwrap();
    browser.open(&format!("http://{page}/#transport=webtransport"));
    browser.until("the page is in the world", PLAYING);
    let own = browser.value(OWN);
    let slot = u32::try_from(own[0].as_u64().expect("a slot")).unwrap();
    // Another player nearby sees the effects of the page's input.
    let mut player = Player::join(&server).await;
    for key in ["KeyD", "KeyW"] {
        hold(browser, key);
    }
    until(&mut [&mut player], "the page's entity walks", |players| {
        is_in_the_corner(players[0], slot)
    })
    .await;
    // Its keys are still down, so there is a command for each tick.
    input_arrives_in_time(&server, &mut player, name).await;
    let takes = format!("myriad.game.quality().round_trip_ms >= {round_trip_ms}");
    browser.until("packets take their time", &takes);
    assert_eq!(browser.value("myriad.shown.lost"), Value::Null, "{name}");
    assert_eq!(browser.value(OWN), own, "{name}");
    assert_eq!(browser.log(), Vec::<String>::new(), "{name}");
    assert_eq!(server.stats().figures().sessions_lost, 0, "{name}");
    // It would try to come back to a server that is gone.
    browser.open("about:blank");
    server.stop().unwrap();
    relay.stop().unwrap();
}

/// Waits until a command has run in nine of ten ticks. A busy machine may need several attempts.
async fn input_arrives_in_time(server: &Server, player: &mut Player, name: &str) {
    let started = Instant::now();
    let mut shares = vec![];
    while shares.last().is_none_or(|&share| share < 0.9) {
        assert!(started.elapsed() < DEADLINE, "{name}: {shares:?}");
        let before = server.stats().figures();
        listen_for(server, &mut [player], 100).await;
        let after = server.stats().figures();
        let applied = after.commands_applied - before.commands_applied;
        shares.push(applied as f64 / (after.ticks - before.ticks) as f64);
    }
}

/// Whether a player sees the entity of a slot at the end of the room.
pub fn is_in_the_corner(player: &Player, slot: u32) -> bool {
    let edge = Fixed::from_f64(30.0).unwrap().raw() - 1;
    let view = player.client.view();
    let entity = view.entities().get(&slot);
    entity.is_some_and(|entity| entity.row[..2] == [edge, edge])
}

#[tokio::test]
async fn a_page_that_loses_its_network_comes_back_as_the_same_entity() {
    let server = start_with(PLAIN, web);
    let Some(browser) = Chromium::start(&scratch("page-lost")) else {
        return;
    };
    let network = Relay::start(server.address());
    let page = server.page().unwrap();
    let port = network.address().port();
    browser.open(&format!(
        "http://{page}/#port={port}&transport=webtransport"
    ));
    browser.until("the page is in the world", PLAYING);
    let own = browser.value(OWN);
    network.cut(true);
    browser.until("it is lost", &format!("!({PLAYING})"));
    browser.until("it says so", "!document.getElementById('banner').hidden");
    network.cut(false);
    browser.until("it is back", PLAYING);
    assert_eq!(browser.value(OWN), own);
    // A page that is loaded again, too.
    browser.run("location.reload()");
    browser.until("it is back", PLAYING);
    assert_eq!(browser.value(OWN), own);
    assert_eq!(server.stats().figures().clients, 1);
    drop(browser);
    server.stop().unwrap();
}

#[tokio::test]
async fn a_page_asks_for_the_token_of_its_server() {
    let server = start_with(PLAIN, |options| {
        web(options);
        options.authenticator = Arc::new(SharedWord::new("open sesame"));
    });
    let Some(browser) = Chromium::start(&scratch("page-token")) else {
        return;
    };
    browser.open(&format!("http://{}/", server.page().unwrap()));
    browser.until("it asks", "!document.getElementById('token-form').hidden");
    browser.run(
        "document.getElementById('token').value = 'open sesame';
         document.querySelector('#token-form button').click();",
    );
    browser.until("the page is in the world", PLAYING);
    drop(browser);
    server.stop().unwrap();
}

#[tokio::test]
async fn a_page_that_is_thrown_out_says_so_whatever_the_reason_is() {
    let socket = scratch("page-kick.sock");
    let server = start_with(PLAIN, |options| {
        web(options);
        options.admin = Some(socket.clone());
    });
    let Some(browser) = Chromium::start(&scratch("page-kick")) else {
        return;
    };
    join(&browser, &server);
    let kick = ["kick", "--number", "0", "--reason", "stop stealing tokens"];
    let admin = std::process::Command::new(myriad_binary())
        .args(["admin", "--socket"])
        .arg(&socket)
        .args(kick)
        .output();
    let admin = admin.expect("the command runs");
    assert!(admin.status.success(), "{}", text(&admin));
    let says = "document.getElementById('banner-text').textContent";
    let expected = "Kicked by the operator: stop stealing tokens.";
    browser.until("it says so", &format!("{says} === '{expected}'"));
    let form = "document.getElementById('token-form').hidden";
    assert_eq!(browser.value(form), true);
    drop(browser);
    server.stop().unwrap();
}

#[tokio::test]
async fn a_page_of_another_version_loads_itself_once_and_then_says_where_to_go() {
    let server = start_with(PLAIN, web);
    let Some(browser) = Chromium::start(&scratch("page-outdated")) else {
        return;
    };
    join(&browser, &server);
    let outdated = "myriad.react({ type: 'lost', code: 'outdated', text: 'too old', \
        words: 'the game and the server have different versions', retry_ms: null, \
        server_version: 99, update_url: 'https://example.org/get' });";
    browser.run("globalThis.isOld = true");
    browser.run(outdated);
    browser.until("it loads itself", "globalThis.isOld === undefined");
    // An unchanged server admits it, and another loss is worth a reload again.
    browser.until("the page is in the world", PLAYING);
    browser.run("sessionStorage.setItem('reloaded', '99')");
    browser.run("globalThis.isOld = true");
    browser.run(outdated);
    let link = "document.getElementById('banner-link')";
    let shown = format!("!{link}.hidden && {link}.href === 'https://example.org/get'");
    browser.until("it shows the address", &shown);
    assert_eq!(browser.value("globalThis.isOld"), true);
    let says = browser.value("document.getElementById('banner-text').textContent");
    assert!(
        says.as_str()
            .is_some_and(|says| says.contains("version 99")),
        "{says}"
    );
    drop(browser);
    server.stop().unwrap();
}

pub const PLAYING: &str = "globalThis.myriad?.game.quality().is_playing \
    && myriad.game.quality().own !== null && myriad.shown.schema";
/// The player's entity.
pub const OWN: &str = "(({ slot, generation }) => [slot, generation])(\
    myriad.game.entity(myriad.game.quality().own))";
