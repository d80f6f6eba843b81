//! Characters in PostgreSQL are there for the next server, whatever ends.

use std::path::Path;
use std::process::{Command, Output};
use std::sync::Arc;

use durability::characters::CharacterStore;
use durability::characters::postgres::Database;
use server::Server;
use server::host::DataOptions;

use crate::common::folder::TestFolder;
use crate::common::names::{ByName, named};
use crate::common::postgres::Postgres;
use crate::common::{
    Player, eventually, leave, listen_for, myriad_binary, start_with, text, ticks,
};

/// Accounts keep gold. Nothing is deferred to a later tick.
const WORLD: &str = "
    [world]
    size = [30, 30]
    aoi = 100
    capacity = 64
    tick_hz = 20

    [limits]
    clients = 8
    resume_seconds = 0

    [[kind]]
    name = 'player'
    attributes = [
        { name = 'gold', type = 'i32', default = 20, min = 0, persist = true, audience = 'state' },
    ]
";

fn start(folder: &Path, place: &str, checkpoint_seconds: u32) -> Server {
    start_with(WORLD, |options| {
        options.authenticator = Arc::new(ByName);
        options.data = Some(DataOptions {
            checkpoint_seconds,
            characters: Some(place.parse().unwrap()),
            ..DataOptions::new(folder)
        });
    })
}

async fn gold(server: &Server, account: &str) -> i32 {
    let mut player = Player::join_as(server, &named(account)).await;
    listen_for(server, &mut [&mut player], 4).await;
    let gold = player.value(player.entity(), "gold");
    leave(server, player).await;
    gold
}

fn myriad(words: &[&str], place: &str) -> Output {
    let mut command = Command::new(myriad_binary());
    command.args(words).env("MYRIAD_CHARACTERS", place);
    command.output().unwrap()
}

#[tokio::test]
async fn an_operator_and_the_next_server_find_what_a_server_wrote() {
    let Some(postgres) = Postgres::start("database") else {
        return;
    };
    let place = postgres.place_of("glade");
    let folder = TestFolder::absent("database");
    let dir = folder.display().to_string();
    let server = start(&folder, &place, 1000);
    assert_eq!(gold(&server, "ann").await, 20);
    server.stop().unwrap();
    let row = "SELECT world, account, character->>'gold' FROM myriad_characters";
    assert_eq!(postgres.sql(row), "glade|ann|20");
    let set = myriad(&["characters", "set", &dir, "ann", "gold=70"], &place);
    assert_eq!(text(&set), "{\"gold\":70}\n");
    // Another world has its own.
    let other = myriad(&["characters", "list", &dir], &postgres.place_of("heath"));
    assert_eq!(text(&other), "");
    let server = start(&folder, &place, 1000);
    assert_eq!(gold(&server, "ann").await, 70);
    server.stop().unwrap();
    // The folder has the name of the database's world.
    let mut without = Command::new(myriad_binary());
    let without = without.args(["characters", "list", &dir]).output().unwrap();
    assert!(
        text(&without).contains("give it with --characters"),
        "{}",
        text(&without)
    );
}

#[tokio::test]
async fn a_world_moves_from_its_file_into_a_database() {
    let Some(postgres) = Postgres::start("moves") else {
        return;
    };
    let place = postgres.place_of("glade");
    let folder = TestFolder::absent("database-moves");
    let dir = folder.display().to_string();
    let server = start_with(WORLD, |options| {
        options.authenticator = Arc::new(ByName);
        options.data = Some(DataOptions::new(&*folder));
    });
    assert_eq!(gold(&server, "ann").await, 20);
    server.stop().unwrap();
    let listed = myriad(&["characters", "export", &dir], &place);
    let expected = "{\"account\":\"ann\",\"character\":{\"gold\":20}}\n";
    assert_eq!(text(&listed), expected);
}

#[tokio::test]
async fn play_continues_while_the_database_is_away() {
    let Some(mut postgres) = Postgres::start("away") else {
        return;
    };
    let place = postgres.place_of("glade");
    let folder = TestFolder::absent("database-away");
    let server = start(&folder, &place, 1);
    postgres.stop();
    assert_eq!(gold(&server, "ann").await, 20);
    // Checkpoints must fail meanwhile: only the journal has characters that the database lacks.
    ticks(&server, 40).await;
    let crashed = folder.crashed("database-away-crashed");
    postgres.resume();
    let count = "SELECT count(*) FROM myriad_characters";
    eventually("the server writes again", || postgres.sql(count) == "1").await;
    server.stop().unwrap();
    postgres.sql("DELETE FROM myriad_characters");
    let server = start(&crashed, &place, 1000);
    assert_eq!(gold(&server, "ann").await, 20);
    server.stop().unwrap();
    assert_eq!(postgres.sql(count), "1");
}

#[tokio::test]
async fn what_another_server_wrote_at_a_later_tick_hides_no_change() {
    let Some(postgres) = Postgres::start("later") else {
        return;
    };
    let place = postgres.place_of("glade");
    let folder = TestFolder::absent("database-later");
    start(&folder, &place, 1000).stop().unwrap();
    postgres.sql("UPDATE myriad_worlds SET tick = 1000000");
    let server = start(&folder, &place, 1000);
    assert_eq!(gold(&server, "ann").await, 20);
    ticks(&server, 5).await;
    // Only the journal has the character, and the database is as it is now.
    let crashed = folder.crashed("database-later-crashed");
    let tick = postgres.sql("SELECT tick FROM myriad_worlds");
    server.stop().unwrap();
    postgres.sql("DELETE FROM myriad_characters");
    postgres.sql(&format!("UPDATE myriad_worlds SET tick = {tick}"));
    let server = start(&crashed, &place, 1000);
    ticks(&server, 5).await;
    server.stop().unwrap();
    let accounts = "SELECT account FROM myriad_characters";
    assert_eq!(postgres.sql(accounts), "ann");
}

#[test]
fn the_file_of_a_standby_replaces_what_its_primary_wrote_later() {
    let Some(postgres) = Postgres::start("replaced") else {
        return;
    };
    let database: Database = postgres.place_of("glade").parse().unwrap();
    for (tick, gold) in [(100, 7), (50, 7), (40, 8)] {
        let folder = TestFolder::new(&format!("database-replaced-{tick}"));
        let text = format!("{{\"gold\": {gold}}}");
        let texts = [("ann".to_owned(), text)].into();
        CharacterStore::replace(&folder, Some(&texts), tick).unwrap();
        let store = CharacterStore::open(&folder, Some(&database), tick).unwrap();
        assert_eq!(store.all().unwrap()["ann"]["gold"], gold);
        // What the standby has of later ticks is still to be written.
        let settled = [tick, tick + 1].map(|tick| store.is_settled(tick).unwrap());
        assert_eq!(settled, [true, false]);
    }
}

#[tokio::test]
async fn of_two_servers_of_a_world_the_older_one_ends() {
    let Some(postgres) = Postgres::start("fenced") else {
        return;
    };
    let place = postgres.place_of("glade");
    let folder = TestFolder::absent("database-fenced");
    let first = start(&folder, &place, 1);
    let copy = folder.crashed("database-fenced-copy");
    let second = start(&copy, &place, 1000);
    assert_eq!(gold(&first, "ann").await, 20);
    eventually("the first server ends", || !first.is_running()).await;
    let ended = format!("{:#}", first.stop().unwrap_err());
    assert!(
        ended.contains("another server of glade has begun"),
        "{ended}"
    );
    let count = "SELECT count(*) FROM myriad_characters";
    assert_eq!(postgres.sql(count), "0");
    assert_eq!(gold(&second, "bob").await, 20);
    second.stop().unwrap();
    assert_eq!(postgres.sql(count), "1");
}

#[test]
fn passwords_are_in_no_message() {
    let folder = TestFolder::absent("database-secret");
    let dir = folder.display().to_string();
    let serve = [
        "serve",
        "--listen",
        "127.0.0.1:0",
        "--data",
        &dir,
        "--new",
        "--stop-after",
        "0.1",
    ];
    for place in [
        "postgres://myriad:secret-word@/postgres",
        "postgres://myriad:secret-word@%2Fnowhere/postgres?sslmode=secret#glade",
        "postgres://myriad:secret-word@127.0.0.1:1/postgres#glade",
    ] {
        let words = [&serve[..], &["--world", "worlds/hollow.toml"]].concat();
        let refused = myriad(&words, place);
        assert!(!refused.status.success());
        let printed = text(&refused);
        assert!(!printed.contains("secret-word"), "{printed}");
    }
}
