//! What the world does by itself as clients come and go, as entities fall and as scripts change:
//! once for each, whatever happens to connections and to the server.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use console::admin::request::Response;
use server::{Server, ServerOptions};
use tokio::time::sleep;

use crate::common::folder::TestFolder;
use crate::common::process::Process;
use crate::common::recorded::replays;
use crate::common::witness::{Witness, dice};
use crate::common::{Player, Vanished, listen_for, myriad_binary, scratch, start_with, until};

/// A room in which all see the book, where hooks note what happened.
const WORLD: &str = "
    [world]
    size = [30, 30]
    aoi = 100
    capacity = 64
    tick_hz = 20

    [limits]
    idle_seconds = 5
    resume_seconds = 1

    [logic]
    builtin = []
    folder = 'scripts'

    [[kind]]
    name = 'player'
    respawn_ticks = 5
    attributes = [
        { name = 'hp', type = 'i32', default = 100, min = 0, max = 100, falls_at = 0, audience = 'state' },
        { name = 'gold', type = 'i32', default = 7, audience = 'state' },
    ]

    [[kind]]
    name = 'book'
    population = 1
    attributes = [
        { name = 'joins', type = 'i32', audience = 'state' },
        { name = 'births', type = 'i32', audience = 'state' },
        { name = 'falls', type = 'i32', audience = 'state' },
        { name = 'leaves', type = 'i32', audience = 'state' },
        { name = 'loads', type = 'i32', audience = 'state' },
        { name = 'legacy', type = 'i32', audience = 'state' },
    ]
";

const SCRIPT: &str = "
fn book() -> Entity { nearest(point(15.0, 15.0), 100.0, \"book\") }
#[on(join)] fn joined(me: Entity) { book().joins += 1; }
#[on(birth, kind = \"player\")] fn born(me: Entity) { book().births += 1; }
#[on(fall)] fn fell(me: Entity, by: Entity) { if by == me { book().falls += 1; } }
#[on(leave)] fn left(me: Entity) {
    let book = book();
    book.leaves += 1;
    book.legacy += me.gold;
}
#[command(clients)] fn earn(me: Entity) { me.gold += 10; }
#[command(clients)] fn fall(me: Entity) { me.hp -= 200; }
";

const LOADS: &str = "#[on(reload)] fn loaded() {
    nearest(point(15.0, 15.0), 100.0, \"book\").loads += 1;
}";

/// A folder with the world file and its scripts.
fn world_in(folder: &Path) -> ServerOptions {
    fs::create_dir_all(folder.join("scripts")).unwrap();
    fs::write(folder.join("scripts/events.rs"), SCRIPT).unwrap();
    fs::write(folder.join("scripts/loads.rs"), LOADS).unwrap();
    let file = folder.join("world.toml");
    fs::write(&file, WORLD).unwrap();
    let world = world_file::parse(WORLD, &file.display().to_string());
    let mut options = ServerOptions::local(world.expect("a valid world file"));
    options.scripts = Some(folder.join("scripts"));
    options
}

fn start(folder: &Path, change: impl FnOnce(&mut ServerOptions)) -> Server {
    let own = world_in(folder);
    start_with("", |options| {
        *options = own;
        change(options);
    })
}

/// What the book says, as a client sees it; `None` until it does.
fn noted(player: &Player, name: &str) -> Option<i32> {
    let view = player.client.view();
    let column = view.schema().column(name).expect("such an attribute");
    let kind = view.schema().kind("book").expect("the kind");
    let mut seen = view.entities().values();
    let book = seen.find(|seen| usize::from(seen.kind) == kind)?;
    Some(book.row[column])
}

/// Waits until the book says this, and some ticks more: nothing is to follow.
async fn settles(server: &Server, player: &mut Player, expected: &[(&str, i32)]) {
    until(&mut [player], &format!("{expected:?}"), |p| {
        let is_so = |(name, value): &(&str, i32)| noted(p[0], name) == Some(*value);
        expected.iter().all(is_so)
    })
    .await;
    listen_for(server, &mut [player], 8).await;
    for (name, value) in expected {
        assert_eq!(noted(player, name), Some(*value), "{name}");
    }
}

async fn give(player: &mut Player, name: &str) {
    let schema = player.client.view().schema();
    let command = schema.command_named(name).expect("the command").kind;
    player.send(command, &[]);
}

#[tokio::test]
async fn a_client_joins_once_though_it_resumes_and_is_born_again() {
    let folder = TestFolder::new("hooks-joins");
    let server = start(&folder, |_| ());
    let mut reader = Player::join(&server).await;
    settles(&server, &mut reader, &[("joins", 1), ("births", 1)]).await;
    let mut other = Player::join(&server).await;
    settles(&server, &mut reader, &[("joins", 2), ("births", 2)]).await;
    give(&mut other, "fall").await;
    until(&mut [&mut reader, &mut other], "it is reborn", |p| {
        noted(p[0], "births") == Some(3)
    })
    .await;
    settles(
        &server,
        &mut reader,
        &[("joins", 2), ("births", 3), ("falls", 1)],
    )
    .await;
    let resumed = Player::resume(&server, other.client.ticket()).await;
    assert!(resumed.client.is_resumed());
    settles(
        &server,
        &mut reader,
        &[("joins", 2), ("births", 3), ("leaves", 0)],
    )
    .await;
    server.stop().unwrap();
}

#[tokio::test]
async fn those_who_leave_are_lost_or_kicked_leave_once_with_what_they_have() {
    let folder = TestFolder::new("hooks-leaves");
    let socket = scratch("hooks-leaves.sock");
    let server = start(&folder, |options| options.admin = Some(socket.clone()));
    let mut reader = Player::join(&server).await;

    let mut leaves = Player::join(&server).await;
    let entity = leaves.entity();
    give(&mut leaves, "earn").await;
    until(&mut [&mut reader, &mut leaves], "it has earned", |p| {
        p[0].sees(entity) && p[0].value(entity, "gold") == 17
    })
    .await;
    leaves.client.leave();
    settles(&server, &mut reader, &[("leaves", 1), ("legacy", 17)]).await;
    assert!(!reader.sees(entity));

    let vanished = Vanished::join(&server);
    settles(&server, &mut reader, &[("leaves", 2), ("legacy", 24)]).await;
    assert_eq!(server.stats().figures().sessions_lost, 1);
    drop(vanished);

    let mut kicked = Player::join(&server).await;
    let listed = admin(&socket, &["--json", "list"]).await;
    let Response::Clients(clients) = serde_json::from_str(&listed).unwrap() else {
        panic!("{listed}");
    };
    let entity = [kicked.entity().slot.0, kicked.entity().generation];
    let listed = clients.iter().find(|client| client.entity == Some(entity));
    let number = listed.expect("it is listed").number.to_string();
    admin(
        &socket,
        &["kick", "--number", &number, "--reason", "a test"],
    )
    .await;
    kicked.end().await;
    settles(
        &server,
        &mut reader,
        &[("leaves", 3), ("legacy", 31), ("joins", 4)],
    )
    .await;

    // A player that falls and leaves before its rebirth has no entity that could give anything.
    let mut fallen = Player::join(&server).await;
    give(&mut fallen, "fall").await;
    until(&mut [&mut reader, &mut fallen], "it fell", |p| {
        p[1].client.view().is_dead()
    })
    .await;
    fallen.client.leave();
    settles(&server, &mut reader, &[("leaves", 3), ("falls", 1)]).await;
    server.stop().unwrap();
}

async fn admin(socket: &Path, arguments: &[&str]) -> String {
    let mut command = Command::new(myriad_binary());
    command
        .arg("admin")
        .arg("--socket")
        .arg(socket)
        .args(arguments);
    let run = tokio::task::spawn_blocking(move || command.output());
    let output = run.await.unwrap().unwrap();
    assert!(output.status.success(), "{}", crate::common::text(&output));
    String::from_utf8(output.stdout).unwrap()
}

#[tokio::test]
async fn scripts_are_loaded_once_for_each_text_that_comes_into_force() {
    let folder = TestFolder::new("hooks-loads");
    let server = start(&folder, |_| ());
    let mut reader = Player::join(&server).await;
    // The first scripts of a world come into force as it is populated, before anything lives.
    settles(&server, &mut reader, &[("loads", 0)]).await;
    let save = |file: &str, text: &str| {
        let new = folder.join("new.tmp");
        fs::write(&new, text).unwrap();
        fs::rename(new, folder.join("scripts").join(file)).unwrap();
    };
    save(
        "events.rs",
        &format!("{SCRIPT}\n#[command(clients)] fn more(me: Entity) {{}}"),
    );
    settles(&server, &mut reader, &[("loads", 1)]).await;
    // One with a mistake never is.
    save("events.rs", "fn");
    settles(&server, &mut reader, &[("loads", 1)]).await;
    save("loads.rs", &LOADS.replace("+= 1", "+= 10"));
    save("events.rs", SCRIPT);
    until(&mut [&mut reader], "both are in force", |p| {
        noted(p[0], "loads") >= Some(11)
    })
    .await;
    server.stop().unwrap();
}

#[tokio::test]
async fn a_recording_replays_with_all_hooks() {
    let folder = TestFolder::new("hooks-recorded");
    let file = scratch("hooks.recording");
    let server = start(&folder, |options| options.record = Some(file.clone()));
    let mut reader = Player::join(&server).await;
    for _ in 0..3 {
        let mut player = Player::join(&server).await;
        give(&mut player, "fall").await;
        until(&mut [&mut player], "it falls", |p| {
            p[0].client.view().is_dead()
        })
        .await;
        let other = Player::join(&server).await;
        other.client.leave();
        until(&mut [&mut reader, &mut player], "it is reborn", |p| {
            p[1].client.view().own().is_some()
        })
        .await;
        player.client.leave();
    }
    settles(
        &server,
        &mut reader,
        &[("joins", 7), ("births", 10), ("leaves", 6)],
    )
    .await;
    fs::write(
        folder.join("scripts/loads.rs"),
        LOADS.replace("+= 1", "+= 5"),
    )
    .unwrap();
    settles(&server, &mut reader, &[("loads", 5)]).await;
    server.stop().unwrap();
    replays(&file);
}

/// Clients come and go, and the server is killed at any moment: afterwards, the book has each of
/// those that the world has had, once.
#[tokio::test]
async fn a_killed_server_gives_each_hook_once() {
    let folder = TestFolder::new("hooks-killed");
    drop(world_in(&folder));
    let (world, data): (PathBuf, PathBuf) = (folder.join("world.toml"), folder.join("data"));
    let mut dice = dice(3);
    let mut listen = "127.0.0.1:0".to_owned();
    let mut joined = 0;
    for kill in 0..5 {
        let server = Process::start(&data, &world, "synced", &listen);
        listen = server.address.to_string();
        let mut reader = Witness::join(server.address, None).await;
        // Those of the life before are lost by now, or will be.
        eventually_alone(&mut reader, &format!("kill {kill}")).await;
        let [joins, births, leaves] =
            ["joins", "births", "leaves"].map(|name| value(&reader, name));
        assert!(joins > joined, "kill {kill}: {joins}, {joined} before");
        assert_eq!((births, leaves), (joins, joins - 1), "kill {kill}");
        joined = joins;
        let mut others = vec![];
        for _ in 0..4 {
            others.push(Witness::join(server.address, None).await);
            if dice(2) == 0 {
                let leaving = others.swap_remove(dice(others.len() as u64) as usize);
                leaving.client.leave();
            }
        }
        sleep(Duration::from_millis(dice(150))).await;
        server.kill();
    }
}

/// Listens until the reader is the only player, and the book says so.
async fn eventually_alone(reader: &mut Witness, what: &str) {
    let mut random = dice(1);
    for _ in 0..400 {
        reader.play(&mut random, Duration::from_millis(50)).await;
        let view = reader.client.view();
        let players = view.entities().values().filter(|seen| seen.kind == 0);
        let is_read = view.own().is_some() && view.entities().len() == players.clone().count() + 1;
        if is_read && players.count() == 1 && value(reader, "joins") == value(reader, "leaves") + 1
        {
            return;
        }
    }
    panic!("{what}: {:?}", reader.client.view().entities());
}

fn value(reader: &Witness, name: &str) -> i32 {
    let view = reader.client.view();
    let column = view.schema().column(name).expect("such an attribute");
    let mut seen = view.entities().values();
    seen.find(|seen| seen.kind == 1)
        .map_or(0, |book| book.row[column])
}
