//! The dashboard's data of a server and its actions for operators, as programs use them.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use client_bot::BehaviourKind;
use client_bot::connect::hello;
use serde_json::{Value, json};
use server::host::WebServing;
use server::{Server, ServerOptions};
use shared::wire::control::Hello;
use shared::wire::stream::Message;
use shared::wire::talk::Talk;

use crate::common::folder::TestFolder;
use crate::common::{Bots, DEADLINE, PLAIN, Player, ROOM, eventually, go, start_with, until};

fn web(options: &mut ServerOptions) {
    options.web = Some(WebServing::at("127.0.0.1:0".parse().unwrap()));
}

fn with_token(options: &mut ServerOptions) {
    options.web = Some(WebServing {
        dashboard_token: Some("open sesame".into()),
        ..WebServing::at("127.0.0.1:0".parse().unwrap())
    });
}

/// The status and the body of an answer.
fn ask(address: SocketAddr, request: &str) -> (u16, String) {
    let mut stream = TcpStream::connect(address).expect("a connection");
    stream.set_read_timeout(Some(DEADLINE)).expect("a time-out");
    stream.write_all(request.as_bytes()).expect("a request");
    let mut answer = vec![];
    stream.read_to_end(&mut answer).expect("an answer");
    let answer = String::from_utf8(answer).expect("text");
    let status = answer.split(' ').nth(1).expect("a status");
    let body = answer.split_once("\r\n\r\n").expect("a head").1;
    (status.parse().expect("a number"), body.to_owned())
}

fn get(server: &Server, path: &str) -> (u16, String) {
    let address = server.page().expect("a page");
    let request = format!("GET {path} HTTP/1.1\r\nHost: {address}\r\n\r\n");
    ask(address, &request)
}

/// The answers to a dashboard.
fn data(server: &Server, path: &str) -> Value {
    let (status, body) = get(server, &format!("/dashboard/data/{path}"));
    assert_eq!(status, 200, "{path}: {body}");
    serde_json::from_str(&body).expect("JSON")
}

fn act(server: &Server, act: &Value) -> (u16, String) {
    let address = server.page().expect("a page");
    let (body, length) = (act.to_string(), act.to_string().len());
    let request = format!(
        "POST /dashboard/do?viewer=1 HTTP/1.1\r\nHost: {address}\r\n\
         Origin: http://{address}\r\nContent-Type: application/json\r\n\
         Content-Length: {length}\r\n\r\n{body}"
    );
    ask(address, &request)
}

/// The newest values of all series, once there is a sample.
fn newest(server: &Server) -> Option<BTreeMap<String, f64>> {
    let world = data(server, "world?viewer=1");
    let all = world["series"].as_array().expect("a list").iter();
    let health = data(server, "health?viewer=1");
    let sample = health["samples"].as_array().expect("a list").last()?;
    let values = sample["values"].as_array().expect("a list").iter();
    let named = all.zip(values).map(|(series, value)| {
        let name = series["name"].as_str().expect("a name");
        (name.to_owned(), value.as_f64().expect("a number"))
    });
    Some(named.collect())
}

/// Waits until a condition holds, and asks no more often than a dashboard.
async fn soon(what: &str, mut holds: impl FnMut() -> bool) {
    let mut next = Instant::now();
    eventually(what, || {
        let is_time = Instant::now() >= next;
        if is_time {
            next = Instant::now() + Duration::from_millis(250);
        }
        is_time && holds()
    })
    .await;
}

/// A world in which all see each other, and one goes anywhere in a step.
fn room() -> String {
    format!("{ROOM}\n[commands]\nmove = {{ speed_max = 1000 }}\n")
}

async fn join(server: &Server, name: &str) -> Player {
    let hello = Hello {
        name: name.to_owned(),
        ..hello("", None)
    };
    Player::join_as(server, &hello).await
}

#[tokio::test]
async fn the_history_shows_the_load_of_the_server() {
    let server = start_with(PLAIN, web);
    let bots = Bots::start(&server, 10, BehaviourKind::Wander).await;
    soon("the clients and their commands are seen", || {
        let Some(newest) = newest(&server) else {
            return false;
        };
        let busy = [
            "commands_total_applied",
            "bytes_out",
            "bytes_in",
            "tick_p99",
            "stage_logic",
            "step_publish",
            "age_p50",
        ];
        newest["clients"] == 10.0 && busy.iter().all(|name| newest[*name] > 0.0)
    })
    .await;
    let health = data(&server, "health?viewer=1");
    let most = &health["commands"][0];
    assert_eq!(most["name"], "move", "{most}");
    assert!(most["per_second"].as_f64() > Some(0.0), "{most}");
    assert!(most["instructions"].as_u64() > Some(0), "{most}");
    assert_eq!(health["dashboards"], 1);
    // From the next one on, there is nothing yet.
    let next = &health["next"];
    let later = data(&server, &format!("health?viewer=1&since={next}"));
    assert!(later["samples"].as_array().unwrap().len() <= 1, "{later}");
    bots.verify(&server).await;
    server.stop().unwrap();
}

#[tokio::test]
async fn the_map_shows_every_entity_and_an_area_each_by_itself() {
    let server = start_with(&room(), web);
    let mut players = [join(&server, "Ann").await, join(&server, "Bob").await];
    go(&mut players[0], 3.0, 4.0).await;
    go(&mut players[1], 20.0, 20.0).await;
    let slot = players[0].entity().slot.0;
    let area = "map?viewer=1&x=3&y=4&edge=2";
    soon("the area is looked at", || {
        data(&server, area)["crowd"]["entities"][0] == json!([slot, 0, 3.0, 4.0])
    })
    .await;
    let map = data(&server, area);
    assert_eq!(map["crowd"]["total"], 1);
    assert_eq!(map["density"]["kinds"], json!([2]));
    let cells = map["density"]["cells"].as_array().unwrap();
    assert_eq!(cells.iter().filter(|cell| **cell == json!(1)).count(), 2);
    server.stop().unwrap();
}

#[tokio::test]
async fn an_entity_and_a_client_are_shown_with_all_that_is_known_of_them() {
    let server = start_with(&room(), web);
    let mut players = [join(&server, "Ann").await, join(&server, "Bob").await];
    go(&mut players[0], 3.0, 4.0).await;
    go(&mut players[1], 6.0, 8.0).await;
    let slots = [0, 1].map(|i: usize| players[i].entity().slot.0);
    let ann = data(&server, &format!("entity?viewer=1&slot={}", slots[0]));
    assert_eq!(
        (&ann["name"], &ann["kind"]),
        (&json!("Ann"), &json!("player"))
    );
    let attribute = |name: &str| {
        let all = ann["attributes"].as_array().unwrap();
        let found = all.iter().find(|attribute| attribute["name"] == name);
        found.unwrap_or_else(|| panic!("no {name}: {ann}"))["value"].clone()
    };
    assert_eq!(["x", "y"].map(attribute), [json!(3.0), json!(4.0)]);
    assert_eq!(attribute("hp"), json!(100.0));
    let clients = data(&server, "clients?viewer=1");
    let names = [0, 1].map(|i: usize| clients["clients"][i]["name"].clone());
    assert_eq!(names, ["Ann", "Bob"]);
    assert_eq!(clients["next"], Value::Null);
    let seen = |client: &Value| client["client"]["link"]["in_view"] == 2;
    soon("Ann sees both", || {
        seen(&data(&server, "client?viewer=1&name=Ann"))
    })
    .await;
    let ann = data(&server, "client?viewer=1&number=0");
    let link = &ann["client"]["link"];
    assert!(link["round_trip_ms"].as_f64() > Some(0.0), "{ann}");
    assert!(link["bytes_sent"].as_u64() > Some(0), "{ann}");
    assert!(
        link["age_ticks"].is_u64() && link["packets_lost"].is_u64(),
        "{ann}"
    );
    assert_eq!(ann["seen"], json!([[slots[0], 0, 0.0], [slots[1], 0, 5.0]]));
    let missing = get(&server, "/dashboard/data/client?viewer=1&name=Zoe");
    assert_eq!(missing, (409, "there is no such client".to_owned()));
    server.stop().unwrap();
}

/// A world with a clock, which logs each of its ticks; and a dweller.
const CLOCK: &str = "
    [world]
    capacity = 9
    attributes = [{ name = 'round', type = 'i32', audience = 'state' }]
    [limits]
    clients = 1
    [logic]
    folder = 'logic'
    [[kind]]
    name = 'dweller'
    population = 2
    attributes = [{ name = 'hp', type = 'i32', audience = 'state' }]
    [[every]]
    kind = 'world'
    ticks = 1
    command = 'pass'
";
const PASS: &str = "
#[command(rules)]
fn pass(me: Entity) {
    me.round += 1;
    after(1, echo(me));
}
#[command]
fn echo(me: Entity) {
    me.round += 0;
    log(\"<b>\\n {}\", me.round);
}
";

#[tokio::test]
async fn what_scripts_log_and_what_the_world_shares_are_shown_apart() {
    let folder = TestFolder::new("dashboard-log");
    std::fs::create_dir(folder.join("logic")).expect("a folder");
    std::fs::write(folder.join("logic/pass.rs"), PASS).expect("a file");
    std::fs::write(folder.join("world.toml"), CLOCK).expect("a file");
    let world = world_file::load(&folder.join("world.toml")).expect("a world");
    let shared = world
        .schema
        .world_entity()
        .expect("it shares something")
        .slot
        .0;
    let server = start_with(PLAIN, |options| {
        options.world = world;
        web(options);
    });
    let facts = data(&server, "world?viewer=1");
    let (kinds, own) = (&facts["kinds"], &facts["shared"]);
    assert_eq!(
        (&facts["capacity"], &own["slot"]),
        (&json!(9), &json!(shared))
    );
    let kind = own["kind"].as_u64().expect("a number") as usize;
    assert_eq!(kinds[kind], "world");
    // It is in no count, and nowhere on the map.
    soon("the dwellers are counted", || {
        let map = data(&server, "map?viewer=1&x=0&y=0&edge=1000000");
        let counted = map["density"]["kinds"].as_array().expect("a list");
        let cells = map["density"]["cells"].as_array().expect("a list");
        let all: u64 = counted.iter().chain(cells).filter_map(Value::as_u64).sum();
        let listed = map["crowd"]["total"].as_u64();
        assert!(listed.is_none_or(|total| total <= 2), "{map}");
        all == 4 && listed == Some(2) && counted[kind] == 0
    })
    .await;
    // Lines come once a dashboard has asked for them, each once.
    let mut lines: Vec<Value> = vec![];
    soon("the clock's ticks are logged", || {
        let log = data(&server, &format!("log?viewer=1&since={}", lines.len()));
        assert_eq!(log["first"], lines.len(), "{log}");
        lines.extend(log["lines"].as_array().expect("a list").iter().cloned());
        lines.len() > 2
    })
    .await;
    let ticks = |line: &Value| line["tick"].as_u64().expect("a number");
    for pair in lines.windows(2) {
        assert_eq!(ticks(&pair[0]) + 1, ticks(&pair[1]), "{lines:?}");
        let expected = json!({
            "tick": pair[0]["tick"], "command": "echo", "entity": shared,
            "text": format!("<b>\n {}", ticks(&pair[0])),
        });
        assert_eq!(pair[0], expected);
    }
    server.stop().unwrap();
}

#[tokio::test]
async fn an_operator_kicks_and_sends_messages_from_the_dashboard() {
    let server = start_with(&room(), web);
    let mut ann = join(&server, "Ann").await;
    let mut bob = join(&server, "Bob").await;
    let tell = json!({"do": "tell", "whom": {"number": 1}, "text": "psst"});
    assert_eq!(act(&server, &tell), (200, r#"{"clients":1}"#.to_owned()));
    until(&mut [&mut bob], "Bob gets the message", |players| {
        let messages = &players[0].log.messages;
        let is_it = |message: &Message| matches!(message, Message::Talk(Talk::Announced { text }) if text.to_string() == "psst");
        messages.iter().any(|(_, message)| is_it(message))
    })
    .await;
    let kick = json!({"do": "kick", "whom": {"number": 0}, "reason": "too loud"});
    assert_eq!(act(&server, &kick), (200, r#"{"clients":1}"#.to_owned()));
    let end = ann.end().await;
    assert!(end.ends_with("kicked by the operator: too loud"), "{end}");
    assert_eq!(act(&server, &kick).0, 409);
    let ban = json!({"do": "ban", "whom": {"account": "Bob"}, "seconds": 9});
    assert_eq!(act(&server, &ban).0, 400);
    server.stop().unwrap();
}

#[tokio::test]
async fn a_dashboard_with_a_token_shows_its_files_to_all_and_its_data_to_those_who_know_it() {
    let server = start_with(&room(), with_token);
    let address = server.page().unwrap();
    assert_eq!(get(&server, "/dashboard").0, 200);
    assert_eq!(get(&server, "/dashboard/data/world?viewer=1").0, 401);
    let with = |token: &str| {
        let request = format!(
            "GET /dashboard/data/world?viewer=1 HTTP/1.1\r\nHost: game.example\r\n\
             Authorization: Bearer {token}\r\n\r\n"
        );
        ask(address, &request).0
    };
    assert_eq!([with("open sesame"), with("open")], [200, 401]);
    server.stop().unwrap();
}
