//! An operator at the dashboard, in a real browser: the charts, the map, the clients and the
//! entities are those of the server, and its buttons act.
//!
//! Skipped, with a line that says so, where there is no Chromium.

use crate::common::chromium::Chromium;
use crate::common::folder::TestFolder;
use crate::common::{Player, ROOM, go, scratch, start_with};
use client_bot::connect::hello;
use serde_json::json;
use server::host::WebServing;
use server::{Server, ServerOptions};
use shared::wire::control::Hello;

fn web(options: &mut ServerOptions) {
    options.web = Some(WebServing::at("127.0.0.1:0".parse().unwrap()));
}

fn with_token(options: &mut ServerOptions) {
    options.web = Some(WebServing {
        dashboard_token: Some("open sesame".into()),
        ..WebServing::at("127.0.0.1:0".parse().unwrap())
    });
}

/// Players wait while the browser is looked at.
fn room() -> String {
    let limits = "[limits]\nidle_seconds = 600\nunread_seconds = 600";
    format!("{ROOM}\n{limits}\n[commands]\nmove = {{ speed_max = 1000 }}\n")
}

async fn join(server: &Server, name: &str, x: f64, y: f64) -> Player {
    let hello = Hello {
        name: name.to_owned(),
        ..hello("", None)
    };
    let mut player = Player::join_as(server, &hello).await;
    go(&mut player, x, y).await;
    player
}

#[tokio::test]
async fn an_operator_sees_the_world_and_its_clients_and_throws_one_out() {
    let server = start_with(&room(), web);
    let Some(browser) = Chromium::start(&scratch("dashboard-operated")) else {
        return;
    };
    let mut ann = join(&server, "Ann", 10.0, 20.0).await;
    let bob = join(&server, "Bob", 22.0, 8.0).await;
    browser.open(&format!("http://{}/dashboard", server.page().unwrap()));
    browser.until(
        "the charts have the clients",
        "globalThis.dashboard?.charts.newest('clients') === 2",
    );
    // That of GPUs stays hidden where there are none.
    let drawn = "[...document.querySelectorAll('#charts .u-over')]
        .filter((chart) => !chart.closest('[hidden]')).length === 8";
    browser.until("the charts are drawn", drawn);
    // A server that has just begun is shown from its beginning.
    let span = "(({ min, max }) => max - min)(dashboard.charts.charts[0].chart.scales.x)";
    browser.until(
        "the axis fits the time",
        &format!("{span} >= 10 && {span} < 60"),
    );
    // The whole room as the area.
    browser.run("document.getElementById('edge').value = 30");
    browser.until("both are drawn", "dashboard.map.spots?.length === 2");
    let spots = browser.value(
        "dashboard.map.spots.map(({ slot, x, y }) => [slot, Math.round(x * 30 / 640), Math.round(30 - y * 30 / 640)])",
    );
    let slots = [&ann, &bob].map(|player| player.entity().slot.0);
    assert_eq!(spots, json!([[slots[0], 10, 20], [slots[1], 22, 8]]));
    let cells = browser.value(
        "(() => { const canvas = document.getElementById('density');
           const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
           return data.some((part, place) => place % 4 === 3 && part > 0); })()",
    );
    assert_eq!(cells, json!(true), "the density is drawn");
    // A click on Bob's entity in the area.
    browser.click_entity("dashboard.map", 1);
    let shows =
        |text: &str| format!("document.getElementById('inspected').innerText.includes('{text}')");
    for text in ["Bob", "hp", "100"] {
        browser.until("the entity's attributes are shown", &shows(text));
    }
    // On a phone all cards stand in one column, as wide as it.
    browser.resize(390, 844);
    let is_column = "document.documentElement.scrollWidth <= innerWidth
        && [...document.querySelectorAll('.card:not([hidden])')].every((card) => card.offsetWidth === 370)
        && dashboard.charts.charts[0].chart.width >= 340";
    browser.until("it is one column", is_column);
    browser.picture(&scratch("dashboard-390x844.png"));
    browser.devtools("Emulation.clearDeviceMetricsOverride", &json!({}));
    // Kinds look as they do for players.
    let look = "fetch('/look.js').then((answer) => answer.text())";
    let same = format!(
        "return Promise.all([{look}, {}]).then(([a, b]) => a === b && a.includes('looksOf'));",
        look.replace("/look", "/dashboard/look")
    );
    assert_eq!(browser.run(&same), json!(true));
    // Ann's row in the list, and its button.
    let rows = "[...document.querySelectorAll('#clients tr')]";
    browser.until("the clients are listed", &format!("{rows}.length === 2"));
    let names = browser.value(&format!("{rows}.map((row) => row.cells[1].textContent)"));
    assert_eq!(names, json!(["Ann", "Bob"]));
    browser.run(&format!("{rows}[0].click()"));
    browser.until("the client is shown", &shows("round trip"));
    browser.until("and what it sees", &shows("Within its sight"));
    browser.run("document.getElementById('do-kick').click()");
    browser.run(
        "document.getElementById('act-text').value = 'too loud';
         document.getElementById('act-go').click();",
    );
    let end = ann.end().await;
    assert!(end.ends_with("kicked by the operator: too loud"), "{end}");
    browser.until("Ann is gone", &format!("{rows}.length === 1"));
    // The page may have asked for Ann once more. It shows the refusal, and the browser logs it.
    let mut errors = browser.log();
    errors.retain(|error| !(error.contains("/data/client?") && error.contains("status of 409")));
    assert_eq!(errors, Vec::<String>::new());
    drop(browser);
    server.stop().unwrap();
}

const CLOCK: &str = "
    [world]
    attributes = [{ name = 'round', type = 'i32', default = 7, audience = 'state' }]
    [logic]
    folder = 'logic'
    [[kind]]
    name = 'dweller'
    attributes = [{ name = 'hp', type = 'i32', audience = 'state' }]
    [[every]]
    kind = 'world'
    ticks = 5
    command = 'pass'
";
const PASS: &str =
    "#[command(rules)] fn pass(me: Entity) { me.round += 1; log(\"<b>{}</b>\", me.round); }";

#[tokio::test]
async fn an_operator_reads_what_scripts_log_and_what_the_world_shares() {
    let folder = TestFolder::new("dashboard-log-operated");
    std::fs::create_dir(folder.join("logic")).expect("a folder");
    std::fs::write(folder.join("logic/pass.rs"), PASS).expect("a file");
    std::fs::write(folder.join("world.toml"), CLOCK).expect("a file");
    let world = world_file::load(&folder.join("world.toml")).expect("a world");
    let server = start_with(&room(), |options| {
        options.world = world;
        web(options);
    });
    let Some(browser) = Chromium::start(&scratch("dashboard-log")) else {
        return;
    };
    browser.open(&format!("http://{}/dashboard", server.page().unwrap()));
    let cells = "[...document.querySelectorAll('#log tr')].map((row) => row.cells[3].textContent)";
    browser.until(
        "lines are shown as text",
        &format!("{cells}.some((text) => /^<b>[0-9]+<\\/b>$/.test(text))"),
    );
    browser.until(
        "the newest is the first",
        &format!("parseInt({cells}[0].slice(3)) > parseInt({cells}[1].slice(3))"),
    );
    browser.until(
        "the world has its own card",
        "/^round[0-9]+state$/.test(document.getElementById('shared').textContent)",
    );
    browser.until(
        "and is no kind of the map",
        "document.getElementById('kinds').textContent === 'dweller 0'",
    );
    assert_eq!(browser.log(), Vec::<String>::new());
    drop(browser);
    server.stop().unwrap();
}

#[tokio::test]
async fn a_dashboard_with_a_token_asks_for_it() {
    let server = start_with(&room(), with_token);
    let Some(browser) = Chromium::start(&scratch("dashboard-token")) else {
        return;
    };
    browser.open(&format!("http://{}/dashboard", server.page().unwrap()));
    let asks = "document.getElementById('token-dialog').open";
    browser.until("it asks", asks);
    browser.run(
        "document.getElementById('token').value = 'open sesame';
         document.querySelector('#token-form button').click();",
    );
    let has_samples = "globalThis.dashboard?.charts.newest('clients') === 0";
    browser.until("it shows the server", has_samples);
    drop(browser);
    server.stop().unwrap();
}
