//! An account's character is there when it comes back, however its entity went and however
//! the server ended.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};
use std::sync::Arc;

use client_bot::client_core::{Close, LossCode};
use client_bot::connect::hello;
use console::admin::port::ask;
use console::admin::request::{Request, Response};
use durability::disk::Folder;
use durability::log::{End, Log, cut};
use script::builtin;
use server::host::DataOptions;
use server::{Server, ServerOptions};
use shared::wire::stream::Message;
use shared::{CommandKind, EntityId};

use crate::common::folder::{TestFolder, refusal};
use crate::common::names::{ByName, named};
use crate::common::{
    Player, leave, listen_for, myriad_binary, start_with, text, ticks, until, world,
};

/// Accounts keep hit points and team, and no luck.
const WORLD: &str = "
    [world]
    size = [30, 30]
    aoi = 100
    capacity = 64
    tick_hz = 20

    [limits]
    clients = 8
    resume_seconds = 0

    [commands]
    strike = { reach = 1000, damage = 7 }

    [[kind]]
    name = 'player'
    respawn_ticks = 4
    attributes = [
        { name = 'hp', type = 'i32', default = 30, min = 0, max = 30, falls_at = 0, persist = true, audience = 'state' },
        { name = 'team', type = 'symbol', symbols = ['red', 'blue'], persist = true, audience = 'state' },
        { name = 'luck', type = 'i32', default = 3, audience = 'state' },
    ]
";

struct TestWorld(TestFolder);

impl TestWorld {
    fn new(name: &str) -> TestWorld {
        TestWorld(TestFolder::absent(&format!("characters-{name}")))
    }

    fn start(&self) -> Server {
        start_in(&self.0)
    }

    /// Why no server starts here.
    fn refusal(&self) -> String {
        let mut options = ServerOptions::local(world(WORLD));
        options.data = Some(DataOptions::new(&*self.0));
        refusal(options)
    }

    /// The files now, as if the machine had stopped.
    fn crashed(&self, name: &str) -> TestWorld {
        TestWorld(self.0.crashed(&format!("characters-{name}")))
    }

    fn myriad(&self, words: &[&str]) -> Output {
        let mut command = Command::new(myriad_binary());
        let folder = self.0.display().to_string();
        let words = words
            .iter()
            .map(|&word| if word == "DIR" { &folder } else { word });
        command.args(words).output().unwrap()
    }
}

fn start_in(folder: &Path) -> Server {
    start_with(WORLD, |options| {
        options.authenticator = Arc::new(ByName);
        options.data = Some(DataOptions {
            checkpoint_seconds: 1000,
            ..DataOptions::new(folder)
        });
    })
}

async fn join(server: &Server, account: &str) -> Player {
    Player::join_as(server, &named(account)).await
}

fn hp(player: &Player) -> i32 {
    player.value(player.entity(), "hp")
}

/// Strikes another player until it has so many hit points.
async fn wound(who: &mut Player, whom: &mut Player, until_hp: i32) {
    let target = whom.entity();
    until(&mut [who, whom], "they see each other", |p| {
        p[0].sees(target)
    })
    .await;
    while hp(whom) > until_hp {
        let before = hp(whom);
        who.send(builtin::STRIKE, &[target.reference().0]);
        until(&mut [who, whom], "the blow is seen", |p| hp(p[1]) < before).await;
    }
}

/// Waits until a player has so many hit points.
async fn has_hp(player: &mut Player, expected: i32) {
    until(&mut [player], "it has its character", |p| {
        hp(p[0]) == expected
    })
    .await;
}

#[tokio::test]
async fn an_account_comes_back_with_what_it_had() {
    let place = TestWorld::new("back");
    let server = place.start();
    let mut ann = join(&server, "ann").await;
    let mut bob = join(&server, "bob").await;
    wound(&mut ann, &mut bob, 16).await;
    let before = bob.entity();
    leave(&server, bob).await;
    let mut bob = join(&server, "bob").await;
    assert_ne!(bob.entity(), before);
    has_hp(&mut bob, 16).await;
    assert_eq!(bob.value(bob.entity(), "luck"), 3);
    // A fallen player is born with all.
    wound(&mut ann, &mut bob, 2).await;
    let target = bob.entity();
    ann.send(builtin::STRIKE, &[target.reference().0]);
    until(&mut [&mut ann, &mut bob], "it is born again", |p| {
        p[1].entity() != target && p[1].client.view().own().is_some()
    })
    .await;
    listen_for(&server, &mut [&mut ann, &mut bob], 4).await;
    assert_eq!(hp(&bob), 30);
    server.stop().unwrap();
}

#[tokio::test]
async fn a_running_world_forgets_a_character_and_does_not_find_it_after_a_crash() {
    let place = TestWorld::new("forgets");
    place.start().stop().unwrap();
    for account in ["ann", "bob", "eve"] {
        let set = place.myriad(&["characters", "set", "DIR", account, "hp=7"]);
        assert!(set.status.success(), "{}", text(&set));
    }
    let socket = place.0.with_extension("sock");
    let server = start_with(WORLD, |options| {
        options.authenticator = Arc::new(ByName);
        options.data = Some(DataOptions {
            checkpoint_seconds: 1000,
            ..DataOptions::new(&*place.0)
        });
        options.admin = Some(socket.clone());
    });
    let forget = async |account: &str| {
        let (socket, account) = (socket.clone(), account.to_owned());
        let ask = move || ask(&socket, &Request::Forget { account });
        tokio::task::spawn_blocking(ask).await.unwrap().unwrap()
    };
    let mut ann = join(&server, "ann").await;
    has_hp(&mut ann, 7).await;
    assert_eq!(forget("ann").await, Response::Done { clients: 1 });
    let (code, reason) = ann.end_with_code().await;
    assert_eq!(code, LossCode::Closed(Close::Kicked));
    assert!(reason.contains("its character is deleted"), "{reason}");
    assert_eq!(forget("bob").await, Response::Done { clients: 0 });
    assert!(matches!(forget("bob").await, Response::Error(_)));
    ticks(&server, 5).await;
    let crashed = place.crashed("forgets-crashed");
    // It begins anew.
    let mut ann = join(&server, "ann").await;
    has_hp(&mut ann, 30).await;
    server.stop().unwrap();
    let list = |place: &TestWorld| text(&place.myriad(&["characters", "list", "DIR"]));
    assert!(!list(&place).contains("bob"), "{}", list(&place));
    // From the journal.
    let again = crashed.start();
    let mut bob = join(&again, "bob").await;
    has_hp(&mut bob, 30).await;
    let mut eve = join(&again, "eve").await;
    has_hp(&mut eve, 7).await;
    again.stop().unwrap();
    assert!(!list(&crashed).contains("ann"), "{}", list(&crashed));
}

#[tokio::test]
async fn defaults_of_a_returning_player_are_never_sent() {
    let place = TestWorld::new("first-word");
    let server = place.start();
    let mut ann = join(&server, "ann").await;
    let mut bob = join(&server, "bob").await;
    wound(&mut ann, &mut bob, 16).await;
    leave(&server, bob).await;
    listen_for(&server, &mut [&mut ann], 3).await;
    ann.log.messages.clear();
    // Again and again, since the tick in which a client is sent something depends on time.
    for _ in 0..5 {
        let mut bob = join(&server, "bob").await;
        let entity = bob.entity();
        until(&mut [&mut ann, &mut bob], "they see each other", |p| {
            p[0].sees(entity)
        })
        .await;
        listen_for(&server, &mut [&mut ann, &mut bob], 3).await;
        for player in [&ann, &bob] {
            assert_eq!(received_hp(player, entity), [16]);
        }
        leave(&server, bob).await;
        listen_for(&server, &mut [&mut ann], 3).await;
    }
    // A player without a character is sent at once, and so is one that is born whole.
    let mut cid = join(&server, "cid").await;
    let entity = cid.entity();
    listen_for(&server, &mut [&mut ann, &mut cid], 3).await;
    assert_eq!(received_hp(&ann, entity), [30]);
    server.stop().unwrap();
}

/// All hit points of an entity that a player received.
fn received_hp(player: &Player, entity: EntityId) -> Vec<i32> {
    let schema = player.client.view().schema();
    let column = schema.column("hp").expect("such an attribute") as u16;
    let mut is_it = false;
    let mut received = vec![];
    for (_, message) in &player.log.messages {
        let values = match message {
            Message::Enter {
                entity: entered,
                values,
                ..
            } if entered.slot == entity.slot => {
                is_it = *entered == entity;
                values
            }
            Message::State { slot, values } if *slot == entity.slot => values,
            _ => continue,
        };
        let hp = values.iter().find(|(own, _)| *own == column);
        received.extend(hp.filter(|_| is_it).map(|(_, value)| value));
    }
    received
}

#[tokio::test]
async fn characters_outlive_stops_and_crashes() {
    let place = TestWorld::new("outlives");
    let server = place.start();
    let mut ann = join(&server, "ann").await;
    let mut bob = join(&server, "bob").await;
    wound(&mut ann, &mut bob, 16).await;
    leave(&server, bob).await;
    // The journal alone has it.
    let crashed = place.crashed("crashed");
    let again = crashed.start();
    let mut bob = join(&again, "bob").await;
    has_hp(&mut bob, 16).await;
    // It lives now, and its file is older.
    let mut ann_again = join(&again, "ann").await;
    wound(&mut ann_again, &mut bob, 9).await;
    let crashed_again = crashed.crashed("crashed-again");
    again.stop().unwrap();
    let third = crashed_again.start();
    let mut bob = join(&third, "bob").await;
    has_hp(&mut bob, 9).await;
    leave(&third, bob).await;
    third.stop().unwrap();
    // The file has it after a stop.
    let fourth = crashed_again.start();
    let mut bob = join(&fourth, "bob").await;
    has_hp(&mut bob, 9).await;
    fourth.stop().unwrap();
    server.stop().unwrap();
    for place in [&place, &crashed, &crashed_again] {
        fs::remove_file(place.0.join("characters")).unwrap();
        let replayed = place.myriad(&["replay", "DIR"]);
        assert!(replayed.status.success(), "{}", text(&replayed));
    }
}

#[tokio::test]
async fn characters_that_are_missing_damaged_or_older_are_refused_and_can_be_read_again() {
    let place = TestWorld::new("refused");
    let file = place.0.join("characters");
    let server = place.start();
    let before = fs::read(&file).unwrap();
    let mut ann = join(&server, "ann").await;
    let mut bob = join(&server, "bob").await;
    wound(&mut ann, &mut bob, 16).await;
    leave(&server, bob).await;
    server.stop().unwrap();
    let right = fs::read(&file).unwrap();
    let exported = place.myriad(&["characters", "export", "DIR"]);
    let lines = String::from_utf8(exported.stdout).unwrap();
    assert!(lines.contains("bob"), "{lines}");
    let mut flipped = right.clone();
    let middle = flipped.len() / 2;
    flipped[middle] ^= 4;
    for (bytes, expected) in [
        (None, "is missing"),
        (Some(&before), "is damaged, or an earlier copy"),
        (Some(&flipped), "Restore the folder from a backup"),
    ] {
        match bytes {
            Some(bytes) => fs::write(&file, bytes).unwrap(),
            None => fs::remove_file(&file).unwrap(),
        }
        let refused = place.refusal();
        assert!(refused.contains(expected), "{refused}");
    }
    let verified = place.myriad(&["verify", "DIR"]);
    assert!(!verified.status.success(), "{}", text(&verified));
    let copy = place.0.join("exported.json");
    fs::write(&copy, &lines).unwrap();
    let copy = copy.display().to_string();
    let imported = place.myriad(&["characters", "import", "DIR", &copy]);
    assert!(imported.status.success(), "{}", text(&imported));
    let again = place.myriad(&["characters", "export", "DIR"]);
    assert_eq!(String::from_utf8(again.stdout).unwrap(), lines);
    let deleted = place.myriad(&["characters", "delete", "DIR", "bob"]);
    assert!(deleted.status.success(), "{}", text(&deleted));
    let shown = place.myriad(&["characters", "export", "DIR", "bob"]);
    assert!(
        text(&shown).contains("has no character"),
        "{}",
        text(&shown)
    );
    place.start().stop().unwrap();
}

/// The journal lacks the final values of entities that died in its last tick.
#[tokio::test]
async fn a_player_that_dies_in_the_last_durable_tick_leaves_a_character() {
    let place = TestWorld::new("last");
    let server = place.start();
    let mut ann = join(&server, "ann").await;
    let mut bob = join(&server, "bob").await;
    wound(&mut ann, &mut bob, 16).await;
    let entity = bob.entity();
    leave(&server, bob).await;
    let crashed = place.crashed("last-crashed");
    server.stop().unwrap();
    let disk = Folder::new(&*crashed.0);
    let mut log = Log::open(&disk, 64, 0, None).unwrap();
    let tick = loop {
        let read = log.read().unwrap().expect("a tick in which it dies");
        let despawn = CommandKind::DESPAWN.id();
        let mut commands = read.entry.frame.commands.iter();
        if commands.any(|command| command.kind == despawn && command.entity == entity) {
            break read.head.tick;
        }
    };
    let end = End {
        tick: tick + 1,
        torn: None,
        reason: None,
    };
    // As if the machine had stopped before it was synced.
    fs::remove_file(crashed.0.join("synced")).unwrap();
    cut(&disk, &end).unwrap();
    // Twice, since the first server has nothing but its own journal for it.
    let twice = {
        let server = crashed.start();
        ticks(&server, 3).await;
        let twice = crashed.crashed("last-twice");
        server.stop().unwrap();
        twice
    };
    for place in [&crashed, &twice] {
        let server = place.start();
        let mut bob = join(&server, "bob").await;
        has_hp(&mut bob, 16).await;
        server.stop().unwrap();
    }
}

#[tokio::test]
async fn operators_see_and_change_what_accounts_keep() {
    let place = TestWorld::new("operators");
    let server = place.start();
    let bob = join(&server, "bob").await;
    leave(&server, bob).await;
    let refused = place.myriad(&["characters", "list", "DIR"]);
    assert!(text(&refused).contains("is in use"), "{}", text(&refused));
    server.stop().unwrap();
    assert_eq!(text(&place.myriad(&["characters", "list", "DIR"])), "bob\n");
    let set = |values: &[&str]| {
        let words = [&["characters", "set", "DIR", "bob"], values].concat();
        let output = place.myriad(&words);
        (output.status.success(), text(&output))
    };
    let (is_done, printed) = set(&["hp=12", "team=blue"]);
    assert!(is_done, "{printed}");
    let refusals = [
        ("hp=31", "hp: expected 0 to 30, found 31"),
        ("gold=1", "accounts keep no `gold`"),
        ("team=green", "team: expected a value of type symbol"),
    ];
    for (value, reason) in refusals {
        let (is_done, printed) = set(&[value]);
        assert!(!is_done && printed.contains(reason), "{printed}");
    }
    let exported = text(&place.myriad(&["characters", "export", "DIR"]));
    let expected = "{\"account\":\"bob\",\"character\":{\"hp\":12,\"team\":\"blue\"}}\n";
    assert_eq!(exported, expected);
    let file = place.0.join("accounts.json");
    fs::write(&file, exported.replace("bob", "cid").replace("12", "5")).unwrap();
    let file = file.display().to_string();
    let imported = place.myriad(&["characters", "import", "DIR", &file]);
    assert!(imported.status.success(), "{}", text(&imported));
    let server = place.start();
    let mut bob = join(&server, "bob").await;
    has_hp(&mut bob, 12).await;
    let mut cid = join(&server, "cid").await;
    has_hp(&mut cid, 5).await;
    // A guest has no account, and so no character.
    let guest = Player::join_as(&server, &hello("", None)).await;
    assert_eq!(hp(&guest), 30);
    server.stop().unwrap();
}
