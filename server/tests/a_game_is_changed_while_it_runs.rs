//! A game is made, tested, and changed while it runs.

use std::cell::RefCell;
use std::fs;
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, Command};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use client_bot::client_core::{Event, GameOptions};
use client_bot::{GameClient, Trust};
use shared::EntityId;

use crate::common::folder::TestFolder;
use crate::common::process::{signal, start_printing};
use crate::common::web_socket::{Socket, SocketGame};
use crate::common::{DEADLINE, free_address, get, myriad_binary, myriad_in, until_game};

/// `myriad dev`, and what it has printed so far.
struct Dev {
    child: Child,
    printed: Arc<Mutex<String>>,
    page: SocketAddr,
}

impl Dev {
    fn start(folder: &Path) -> Dev {
        let page = free_address();
        let (child, printed) = start_printing(
            Command::new(myriad_binary())
                .args(["dev", "game", "--bots", "3", "--backend", "cpu"])
                .args(["--page", &page.to_string()])
                .current_dir(folder),
        );
        Dev {
            child,
            printed,
            page,
        }
    }

    fn printed(&self) -> String {
        self.printed.lock().expect("no panic with it").clone()
    }

    fn until_printed(&self, text: &str) {
        let begun = Instant::now();
        while !self.printed().contains(text) {
            let printed = self.printed();
            assert!(begun.elapsed() < DEADLINE, "not printed: {text}\n{printed}");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Waits until the page shows problems with both of these texts.
    fn until_shown(&self, text: &str, other: &str) {
        let begun = Instant::now();
        loop {
            let shown = get(self.page, "/problems.json");
            if shown.contains(text) && shown.contains(other) {
                return;
            }
            assert!(begun.elapsed() < DEADLINE, "not shown: {text}\n{shown}");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    fn player(&self) -> GameClient {
        let (address, trust) = self.server();
        let game = GameClient::new(address, "localhost", &trust, GameOptions::default());
        game.expect("a socket")
    }

    /// Where clients reach it.
    fn server(&self) -> (SocketAddr, Trust) {
        let printed = self.printed();
        let line = printed
            .lines()
            .find_map(|line| line.strip_prefix("other clients: "));
        let (address, hash) = line
            .and_then(|line| line.split_once(" fingerprint "))
            .expect("an address");
        let trust = Trust::with_fingerprint(hash).expect("a fingerprint");
        (address.parse().expect("an address"), trust)
    }
}

impl Drop for Dev {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Plays until something holds, of the game and its newest events.
fn until<T>(
    game: &mut GameClient,
    what: &str,
    holds: impl Fn(&GameClient, &[Event]) -> Option<T>,
) -> T {
    until_game(game, (what, DEADLINE), holds)
}

fn own(game: &GameClient, _: &[Event]) -> Option<EntityId> {
    Some(game.view()?.own()?.id)
}

fn change(file: &Path, from: &str, to: &str) {
    let text = fs::read_to_string(file).expect("the file");
    assert!(text.contains(from), "{from}");
    fs::write(file, text.replace(from, to)).expect("a file");
}

/// What the program prints, and whether it succeeds.
fn myriad(folder: &Path, words: &[&str]) -> (String, bool) {
    let mut command = Command::new(myriad_binary());
    let ran = command.args(words).current_dir(folder).output();
    let ran = ran.expect("the binary runs");
    let printed = [ran.stdout, ran.stderr].concat();
    (
        String::from_utf8_lossy(&printed).into_owned(),
        ran.status.success(),
    )
}

#[test]
fn a_new_game_passes_its_tests_and_is_not_written_twice() {
    let folder = TestFolder::new("new-game");
    myriad_in(&folder, &["new", "game"]);
    let (printed, is_right) = myriad(&folder, &["test", "game", "--seconds", "1"]);
    assert!(is_right, "{printed}");
    assert!(printed.contains("3 passed, 0 failed"), "{printed}");
    assert!(printed.contains("gatherer.rs: 20 bots played, nothing was wrong"));
    let (printed, is_right) = myriad(&folder, &["new", "game"]);
    assert!(
        !is_right && printed.contains("is there already"),
        "{printed}"
    );
    let (printed, is_right) = myriad(&folder, &["test", "."]);
    assert!(
        !is_right && printed.contains("has no world.toml"),
        "{printed}"
    );
    // A play that does not fit fails the test.
    change(
        &folder.join("game/plays/gatherer.rs"),
        "take(gem)",
        "tke(gem)",
    );
    let (printed, is_right) = myriad(&folder, &["test", "game"]);
    assert!(
        !is_right && printed.contains("did you mean `take`"),
        "{printed}"
    );
}

#[test]
fn saved_files_take_effect_and_players_stay_who_they_are() {
    let folder = TestFolder::new("dev-game");
    myriad_in(&folder, &["new", "game"]);
    let mut dev = Dev::start(&folder);
    dev.until_printed("Change its files");
    let mut game = dev.player();
    let entity = until(&mut game, "the player joins", own);
    game.command_named("move", &[1.0, 0.0]).expect("a command");

    let mut on_page = SocketGame::new(Socket::open(dev.page, None));
    on_page.play_until("a page joins", |of| {
        of.game.view().is_some_and(|view| view.own().is_some())
    });
    let on_page = std::thread::spawn(move || {
        // It fails where the connection ends.
        on_page.play_until("the page has the attribute", |of| {
            let view = of.game.view().filter(|_| of.game.is_playing());
            view.is_some_and(|view| view.schema().column("luck").is_some())
        });
    });

    // The world gets an attribute, and the player goes on over the same connection.
    let world = folder.join("game/world.toml");
    let score = "{ name = \"score\",";
    let luck = "{ name = \"luck\", type = \"i32\", default = 7, audience = \"state\" },\n";
    change(&world, score, &format!("{luck}{score}"));
    let seen = RefCell::new(vec![]);
    let came = until(&mut game, "the player comes back", |_, events| {
        seen.borrow_mut().extend_from_slice(events);
        events.iter().find_map(|event| match event {
            Event::Resumed(entity) | Event::Welcomed(entity) => Some(*entity),
            _ => None,
        })
    });
    assert_eq!(came, entity);
    let seen = seen.into_inner();
    let is_lost = seen.iter().any(|event| matches!(event, Event::Lost { .. }));
    assert!(
        !is_lost && seen.contains(&Event::InterfaceChanged),
        "{seen:?}"
    );
    on_page.join().expect("the page keeps its connection");
    let luck = until(&mut game, "it has the attribute", |game, _| {
        game.value(entity, "luck").ok()
    });
    assert!((luck - 7.0).abs() < 1e-9);
    dev.until_printed("world.toml is in force after");

    // A file with a problem changes nothing.
    let right = fs::read_to_string(&world).expect("the file");
    fs::write(&world, format!("{right}nonsense = 3\n")).expect("a file");
    dev.until_printed("the world keeps game/world.toml as it was");
    assert!(dev.printed().contains("unknown key `nonsense`"));
    dev.until_shown("game/world.toml:", "unknown key `nonsense`");
    fs::write(&world, &right).expect("a file");
    dev.until_shown("[]", "");
    let page = get(dev.page, "/");
    assert!(page.contains("problems.js"), "{page}");

    // A script takes effect without a break.
    change(
        &folder.join("game/logic/slimes.rs"),
        "/// Strikes a slime in reach.",
        "#[command(clients)]\nfn cheer(me: Entity) {\n    me.luck += 1;\n}\n\n/// Strikes a slime.",
    );
    until(&mut game, "the command is there", |_, events| {
        events.contains(&Event::InterfaceChanged).then_some(())
    });
    game.command_named("cheer", &[]).expect("a command");
    until(&mut game, "the command has an effect", |game, _| {
        (game.value(entity, "luck").ok()? > 7.5).then_some(())
    });
    assert_eq!(own(&game, &[]), Some(entity));

    // A play that does not fit is drawn.
    change(
        &folder.join("game/plays/gatherer.rs"),
        "take(gem)",
        "tke(gem)",
    );
    dev.until_printed("did you mean `take`");
    dev.until_shown("gatherer.rs:", "did you mean `take`");
    // A script with a problem is shown with its place, too.
    change(
        &folder.join("game/logic/slimes.rs"),
        "me.luck += 1;",
        "me.lck += 1;",
    );
    dev.until_shown("slimes.rs:", "luck");
    game.leave();
    signal(&dev.child, "-INT");
    assert!(dev.child.wait().expect("it ends").success());
}
