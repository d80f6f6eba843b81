//! Clients with generated bindings play in the world of these, and get what differs in another.

use std::path::Path;

use bindings::World;
use client_bot::bindings::{Kind, Plays};
use client_bot::client_core::{Event, GameOptions, GivenCommand, LossCode};
use client_bot::{GameClient, Trust};
use server::{Server, ServerOptions};
use shared::WorldConfig;
use shared::wire::close::Close;

use crate::common::folder::TestFolder;
use crate::common::python::{interpreter, program};
use crate::common::{DEADLINE, myriad_binary, until_game, world};

#[rustfmt::skip]
#[path = "../../client-bot/bindings/tests/snapshots/hollow.rs"]
mod hollow;

#[rustfmt::skip]
#[path = "../../client-bot/bindings/tests/snapshots/market.rs"]
mod market;

use hollow::{Entity, Symbol};

fn client(server: &Server, options: GameOptions) -> GameClient {
    let trust = Trust::Certificates(vec![server.certificate().clone()]);
    GameClient::new(server.address(), "localhost", &trust, options).expect("a socket")
}

fn serve(world: WorldConfig) -> Server {
    Server::start(ServerOptions::local(world)).expect("the server starts")
}

#[test]
fn a_client_reads_and_commands_the_world_by_its_bindings() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("worlds/hollow.toml");
    let server = serve(world_file::load(&path).expect("a valid world"));
    let mut game = client(&server, hollow::options());
    let start = until_game(
        &mut game,
        ("the player sees itself", DEADLINE),
        |game, _| {
            let player = hollow::view(game).own()?;
            assert_eq!(
                (player.hp(), player.gold(), player.shield()),
                (100, Some(20), 0)
            );
            assert!(player.is_own());
            Some(player.position())
        },
    );
    // It walks, and raises its shield.
    until_game(&mut game, ("the middle's herbs", DEADLINE), |game, _| {
        hollow::view(game)
            .herbs()
            .next()
            .map(|herb| assert!(herb.ripe()))
    });
    let changed = std::cell::Cell::new(false);
    let begun = std::time::Instant::now();
    while !changed.get() {
        assert!(begun.elapsed() < DEADLINE, "no shield");
        let polled = game.poll();
        for event in hollow::events(&game, polled) {
            if let hollow::Event::Changed {
                entity,
                change: hollow::Change::Shield { old, new },
                ..
            } = event
            {
                let player = hollow::view(&game).own().expect("the player");
                changed.set(entity == player.id() && old == 0 && new > 0);
            }
        }
        while game.input_due().is_some() {
            let towards = if start[0] < 120.0 { 1.0 } else { -1.0 };
            hollow::give(&mut game)
                .move_(towards, 0.0)
                .expect("a command");
            hollow::give(&mut game).raise().expect("a command");
            game.flush();
        }
        game.flush();
        game.wait(std::time::Duration::from_millis(5))
            .expect("a socket");
    }
    let view = hollow::view(&game);
    let player = view.own().expect("the player");
    let at = player.position();
    assert!(
        view.players()
            .within(at, 0.1)
            .any(|other| other.id() == player.id())
    );
    for herb in view.herbs().within(at, 20.0) {
        assert!(herb.distance(at) <= 20.0);
        assert!(matches!(view.entity(herb.id()), Some(Entity::Herb(_))));
    }
    let nearest = view.herbs().nearest(at).map(|herb| herb.distance(at));
    let least = view.herbs().map(|herb| herb.seen().distance(at));
    assert_eq!(nearest, least.min_by(f64::total_cmp));
    let moods = [Symbol::Calm, Symbol::Angry, Symbol::Raging].map(Some);
    assert!(view.wardens().all(|warden| moods.contains(&warden.mood())));
    assert!(hollow::give(&mut game).ready_ticks("raise").is_ok());
    assert!(Plays::game(&game).is_playing());
    game.leave();
    server.stop().expect("it stops");
}

#[test]
fn a_client_writes_a_letter_and_reads_its_things_by_its_bindings() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("worlds/market.toml");
    let server = serve(world_file::load(&path).expect("a valid world"));
    let mut game = client(&server, market::options());
    let sword = until_game(&mut game, ("it is equipped", DEADLINE), |game, _| {
        let own = market::view(game).own()?;
        let bag = own.held::<market::Bag>().next()?;
        assert_eq!(
            (bag.room(), bag.holder(), bag.is_own()),
            (3, Some(own.id()), true)
        );
        Some(own.held::<market::Sword>().next()?.id())
    });
    let mut give = market::give(&mut game);
    give.wield(sword).expect("a command");
    give.take_paper().expect("a command");
    let (own, letter) = until_game(&mut game, ("it has paper", DEADLINE), |game, _| {
        let own = market::view(game).own()?;
        let letter = own.held::<market::Letter>().next()?;
        // An empty text is known at once.
        assert_eq!(letter.words(), Some(""));
        (own.hand() == Some(sword)).then(|| (own.id(), letter.id()))
    });
    let words = "Liebe Grüße";
    let given = market::give(&mut game).write(letter, words);
    assert!(matches!(given, Ok(GivenCommand::Waits(_))), "{given:?}");
    let begun = std::time::Instant::now();
    let mut news = vec![];
    while news.is_empty() {
        assert!(begun.elapsed() < DEADLINE, "nothing is written");
        let polled = game.poll();
        news = market::events(&game, polled);
        news.retain(|event| {
            let market::Event::Changed { entity, change, .. } = event else {
                return false;
            };
            let (old, new) = (Some(String::new()), Some(words.to_owned()));
            *entity == letter && *change == market::Change::Words { old, new }
        });
        game.flush();
        game.wait(std::time::Duration::from_millis(5))
            .expect("a socket");
    }
    let view = market::view(&game);
    let Some(market::Entity::Letter(seen)) = view.entity(letter) else {
        panic!("no letter");
    };
    assert_eq!((seen.words(), seen.holder()), (Some(words), Some(own)));
    assert_eq!(view.letters().count(), 1);
    game.leave();
    server.stop().expect("it stops");
}

const OLDER: &str = "
[world]
size = [100, 100]
aoi = 20
capacity = 64

[[kind]]
name = \"player\"
attributes = [{ name = \"hp\", type = \"i32\", audience = \"state\" }]
";

#[test]
fn a_client_with_bindings_of_an_older_world_gets_what_differs() {
    let older = World::of(&world(OLDER)).bindings("rs");
    let newer = OLDER.replace("\"hp\"", "\"health\"");
    let server = serve(world(&newer));
    let options = GameOptions {
        bindings: older,
        ..GameOptions::default()
    };
    let mut game = client(&server, options);
    let reason = until_game(&mut game, ("the end", DEADLINE), |_, events| {
        events.iter().find_map(|event| match event {
            Event::Lost {
                code,
                reason,
                retry_in,
                ..
            } => {
                let mismatch = LossCode::Closed(Close::SchemaMismatch);
                assert_eq!((*code, *retry_in), (mismatch, None));
                Some(reason.clone())
            }
            _ => None,
        })
    });
    let expected = "attribute `player.hp` is now called `player.health`";
    assert!(reason.contains(expected), "{reason}");
    assert!(reason.contains("`myriad bindings --lang rs`"), "{reason}");
    server.stop().expect("it stops");
}

/// Players can do nothing.
const STILL: &str = "
[world]
size = [100, 100]
aoi = 20
capacity = 64

[logic]
builtin = []

[[kind]]
name = \"player\"
attributes = []
";

#[test]
fn a_client_in_python_gets_what_the_world_of_its_bindings_lacks() {
    let Some(python) = interpreter() else { return };
    let server = serve(world(STILL));
    let (host, port) = (
        server.address().ip().to_string(),
        server.address().port().to_string(),
    );
    let output = program(&python, "walk.py", &[&host, &port]).output();
    let output = output.expect("Python starts");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{errors}");
    let expected = "the game was made for another world: the world is not that of the game's \
                    bindings of `walk`: command `move` is missing. Generate the bindings again with \
                    `myriad bindings --lang py`";
    assert!(errors.contains(expected), "{errors}");
    server.stop().expect("it stops");
}

#[test]
fn the_command_writes_bindings_or_says_why_it_cannot() {
    let folder = TestFolder::new("bindings");
    let run = |words: &[&str]| {
        let mut command = std::process::Command::new(myriad_binary());
        let ran = command.args(words).current_dir(&*folder).output();
        let ran = ran.expect("the binary runs");
        let printed = [ran.stdout, ran.stderr].concat();
        (
            String::from_utf8_lossy(&printed).into_owned(),
            ran.status.success(),
        )
    };
    std::fs::write(folder.join("world.toml"), OLDER).expect("a file");
    let (printed, is_right) = run(&["bindings", "--lang", "rs"]);
    assert!(
        is_right && printed.contains("pub fn hp(&self) -> i32"),
        "{printed}"
    );
    let (printed, is_right) = run(&[
        "bindings",
        "--lang",
        "py",
        "world.toml",
        "--out",
        "world.py",
    ]);
    assert!(is_right && printed.is_empty(), "{printed}");
    let written = std::fs::read_to_string(folder.join("world.py")).expect("a file");
    assert!(written.contains("def hp(self) -> int:"), "{written}");
    let two = OLDER.replace(
        "}]",
        "}, { name = \"HP\", type = \"i32\", audience = \"state\" }]",
    );
    std::fs::write(folder.join("two.toml"), two).expect("a file");
    let (printed, is_right) = run(&["bindings", "--lang", "cs", "two.toml"]);
    let expected = "the attribute `hp` and the attribute `HP` would both be";
    assert!(!is_right && printed.contains(expected), "{printed}");
    let (printed, is_right) = run(&["bindings", "--lang", "cobol", "world.toml"]);
    assert!(
        !is_right && printed.contains("one of rs, cs, gd, ts, py, c"),
        "{printed}"
    );
}
