//! A client in Python, written from the protocol on paper, plays on a real server: it joins,
//! walks, sees itself and others where a client of this project sees them, and leaves.
//!
//! Skipped, with a line that says so, where there is no Python with aioquic.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::Stdio;
use std::sync::mpsc::{Receiver, channel};

use client_bot::BehaviourKind;
use client_bot::connect::fingerprint;
use serde_json::Value;
use server::Server;
use shared::{EntityId, Fixed};

use crate::common::python::{Running, interpreter, program};
use crate::common::{Bots, PLAIN, Player, ROOM, eventually, go, listen_for, start, until};

/// By slot: the values of an entity in view.
type Rows = BTreeMap<u32, Vec<i64>>;

/// A client in Python, and the lines of JSON that it prints.
struct Snake {
    running: Running,
    lines: Receiver<Value>,
}

impl Snake {
    /// Joins a server, walks five units, and stays. `None` where there is no Python.
    fn start(server: &Server) -> Option<Snake> {
        let python = interpreter()?;
        let address = server.address();
        let hash = fingerprint(server.certificate()).map(|byte| format!("{byte:02x}"));
        let (host, port, hash) = (
            address.ip().to_string(),
            address.port().to_string(),
            hash.concat(),
        );
        let arguments = [
            &host,
            &port,
            "--fingerprint",
            &hash,
            "--name",
            "Monty",
            "--stay",
        ];
        let mut child = program(&python, "walk.py", &arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("Python starts");
        let output = child.stdout.take().expect("its output");
        let (sender, lines) = channel();
        std::thread::spawn(move || {
            for line in BufReader::new(output).lines().map_while(Result::ok) {
                let value = serde_json::from_str(&line).expect("a line of JSON");
                let _ = sender.send(value);
            }
        });
        let running = Running(child);
        Some(Snake { running, lines })
    }

    /// Waits for the next line.
    async fn line(&mut self) -> Value {
        let mut line = None;
        eventually("the client in Python says something", || {
            line = line.take().or_else(|| self.lines.try_recv().ok());
            line.is_some()
        })
        .await;
        line.expect("a line")
    }
}

fn number(value: &Value) -> i64 {
    value.as_i64().expect("a number")
}

fn numbers(value: &Value) -> Vec<i64> {
    value
        .as_array()
        .expect("a list")
        .iter()
        .map(number)
        .collect()
}

fn entity_of(line: &Value) -> EntityId {
    let part = |name: &str| u32::try_from(number(&line["entity"][name])).expect("32 bits");
    EntityId::new(part("slot"), part("generation"))
}

/// The Python client's data of the entities in view.
fn rows_of_line(line: &Value) -> Rows {
    let rows = line["rows"].as_object().expect("rows by slot").iter();
    rows.map(|(slot, row)| (slot.parse().expect("a slot"), numbers(row)))
        .collect()
}

fn rows_of(player: &Player) -> Rows {
    let view = player.client.view();
    let rows = view.entities().values().map(|entity| {
        let mut row: Vec<i64> = entity.row.iter().map(|&value| value.into()).collect();
        let place = view.position(entity, view.newest());
        for axis in 0..view.schema().dimensions() {
            row[axis] = place[axis].into();
        }
        (entity.id.slot.0, row)
    });
    rows.collect()
}

#[test]
fn the_client_in_python_reads_the_golden_bytes_of_the_protocol() {
    let Some(python) = interpreter() else { return };
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/tests/protocol/golden.json");
    let golden = golden.to_str().expect("a path in UTF-8");
    let output = program(&python, "check_golden.py", &[golden])
        .output()
        .expect("Python starts");
    let printed = String::from_utf8_lossy(&output.stdout);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{printed}{errors}");
    assert!(printed.contains(" cases, 0 read otherwise"), "{printed}");
}

#[test]
fn the_check_of_golden_bytes_says_how_it_is_used() {
    let Some(python) = interpreter() else { return };
    for (arguments, expected) in [
        (
            &[][..],
            "check_golden.py ../../shared/tests/protocol/golden.json",
        ),
        (
            &["--help"],
            "check_golden.py ../../shared/tests/protocol/golden.json",
        ),
        (&["none.json"], "cannot read the golden bytes"),
    ] {
        let output = program(&python, "check_golden.py", arguments)
            .output()
            .expect("Python starts");
        let errors = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{errors}");
        assert!(errors.contains(expected), "{errors}");
        assert!(!errors.contains("Traceback"), "{errors}");
    }
}

#[tokio::test]
async fn a_client_in_python_walks_and_another_sees_it_there() {
    let server = start(ROOM);
    let mut player = Player::join(&server).await;
    let Some(mut snake) = Snake::start(&server) else {
        return;
    };
    let walked = snake.line().await;
    let (from, to) = (numbers(&walked["from"]), numbers(&walked["to"]));
    let units = 5 * i64::from(Fixed::ONE.raw());
    assert_eq!(((to[0] - from[0]).abs(), to[1]), (units, from[1]));
    let monty = entity_of(&walked);
    until(&mut [&mut player], "it is seen there", |players| {
        let view = players[0].client.view();
        let entity = view
            .entities()
            .get(&monty.slot.0)
            .filter(|seen| seen.id == monty);
        let place = entity.map(|entity| view.position(entity, view.newest()));
        place.is_some_and(|place| to == [place[0], place[1]].map(i64::from))
    })
    .await;
    let name = player.client.view().name(monty).map(ToString::to_string);
    assert_eq!(name.as_deref(), Some("Monty"));
    snake.running.0.stdin = None;
    until(&mut [&mut player], "it leaves", |players| {
        !players[0].leaves_of(monty).is_empty()
    })
    .await;
    assert!(snake.running.0.wait().expect("it ends").success());
    eventually("its entity is gone", || {
        server.stats().figures().clients == 1
    })
    .await;
    assert_eq!(server.stats().figures().sessions_lost, 0);
    server.stop().unwrap();
}

#[tokio::test]
async fn a_client_in_python_sees_the_same_values_as_another_client() {
    // All see each other, and go anywhere in a step. Players wait while others are looked at.
    let limits = "[limits]\nidle_seconds = 600\nunread_seconds = 600";
    let server = start(&format!(
        "{ROOM}\n{limits}\n[commands]\nmove = {{ speed_max = 1000 }}\n"
    ));
    let mut players = vec![];
    for _ in 0..4 {
        players.push(Player::join(&server).await);
    }
    let Some(mut snake) = Snake::start(&server) else {
        return;
    };
    let walked = snake.line().await;
    let monty = entity_of(&walked);
    // Others walk, and one is hurt, while it looks on.
    for (i, player) in players.iter_mut().enumerate() {
        go(player, 3.0 + i as f64, 7.5).await;
    }
    let target = players[1].entity();
    players[0].send(script::builtin::STRIKE, &[target.reference().0]);
    let mut all: Vec<&mut Player> = players.iter_mut().collect();
    until(&mut all, "a strike hits", |players| {
        players[3].sees(monty) && players[3].value(target, "hp") == 95
    })
    .await;
    // All rest.
    let mut rows = Rows::new();
    for _ in 0..40 {
        listen_for(&server, &mut all, 10).await;
        rows = rows_of_line(&snake.line().await);
        if rows == rows_of(all[3]) {
            break;
        }
    }
    assert_eq!(rows, rows_of(all[3]));
    assert_eq!(rows.len(), 5);
    drop(snake);
    server.stop().unwrap();
}

#[tokio::test]
async fn a_client_in_python_keeps_up_with_a_crowd_that_moves() {
    let server = start(PLAIN);
    let bots = Bots::start(&server, 60, BehaviourKind::Wander).await;
    let Some(mut snake) = Snake::start(&server) else {
        return;
    };
    snake.line().await;
    let mut most = 0;
    for _ in 0..6 {
        let line = snake.line().await;
        most = most.max(rows_of_line(&line).len());
    }
    assert!(most > 1, "it sees no other");
    assert!(
        snake.running.0.try_wait().expect("a child").is_none(),
        "it has ended"
    );
    assert_eq!(server.stats().figures().sessions_lost, 0);
    bots.verify(&server).await;
    drop(snake);
    server.stop().unwrap();
}
