//! A persistent world is moved to another world file, and its players with it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use script::builtin;
use server::host::DataOptions;
use server::{Server, ServerOptions};

use crate::common;
use crate::common::folder::{TestFolder, copy_folder, refusal};
use crate::common::{Player, go, myriad_binary, start_with, text, until, world};

const WORLD: &str = "
    [world]
    size = [200, 200]
    aoi = 20
    capacity = 64
    tick_hz = 20
    player_kind = 'player'

    [limits]
    clients = 16
    resume_seconds = 60

    [commands]
    move = { speed_max = 1000 }
    strike = { reach = 1000, damage = 20 }

    [[kind]]
    name = 'player'
    attributes = [
        { name = 'hp', type = 'i32', default = 100, min = 0, max = 100, audience = 'state' },
        { name = 'luck', type = 'i32', default = 3, audience = 'private' },
    ]

    [[kind]]
    name = 'item'
    population = 5
";

/// More room, kinds in another order, an attribute more, one less, narrower bounds.
const NEXT: &str = "
    [world]
    size = [200, 200]
    aoi = 20
    capacity = 96
    tick_hz = 20
    player_kind = 'player'

    [limits]
    clients = 24
    resume_seconds = 60

    [commands]
    move = { speed_max = 1000 }
    strike = { reach = 1000, damage = 20 }

    [[kind]]
    name = 'item'
    population = 5

    [[kind]]
    name = 'player'
    attributes = [
        { name = 'rage', type = 'i32', default = 7, audience = 'state' },
        { name = 'hp', type = 'i32', default = 50, min = 0, max = 95, audience = 'state' },
    ]
";

/// The folder of a world and its files, which is removed at the end.
struct TestWorld(TestFolder);

impl TestWorld {
    fn new(name: &str) -> TestWorld {
        let folder = TestFolder::new(&format!("migrated-{name}"));
        fs::write(folder.join("world.toml"), WORLD).unwrap();
        fs::write(folder.join("next.toml"), NEXT).unwrap();
        TestWorld(folder)
    }

    fn data(&self) -> PathBuf {
        self.0.join("data")
    }

    fn start(&self, text: &str) -> Server {
        start_with(text, |options| keep(options, &self.data()))
    }

    fn migrate(&self, arguments: &[&str]) -> Output {
        let mut command = Command::new(myriad_binary());
        command.current_dir(&*self.0).args(["migrate", "data"]);
        command.args(arguments).output().unwrap()
    }

    /// Why no server starts here.
    fn refusal(&self, text: &str) -> String {
        let mut options = ServerOptions::local(world(text));
        keep(&mut options, &self.data());
        refusal(options)
    }
}

fn keep(options: &mut ServerOptions, folder: &Path) {
    options.data = Some(DataOptions::new(folder));
}

#[tokio::test]
async fn players_return_to_a_world_that_has_changed() {
    let place = TestWorld::new("players");
    let server = place.start(WORLD);
    let mut ann = Player::join(&server).await;
    let mut bob = Player::join(&server).await;
    go(&mut ann, 10.0, 20.0).await;
    go(&mut bob, 12.0, 20.0).await;
    let (other, own) = (bob.entity(), ann.entity());
    ann.send(builtin::STRIKE, &[other.reference().0]);
    until(&mut [&mut ann, &mut bob], "the blow is seen", |p| {
        p[1].value(other, "hp") < 95
    })
    .await;
    let wounded = bob.value(other, "hp");
    server.stop().unwrap();
    let refusal = place.refusal(NEXT);
    assert!(refusal.contains("myriad migrate"), "{refusal}");

    let dry = place.migrate(&["--world", "next.toml", "--dry-run"]);
    let printed = text(&dry);
    assert!(dry.status.success(), "{printed}");
    assert!(printed.contains("nothing is changed"), "{printed}");
    assert!(place.refusal(NEXT).contains("differs"));
    let migrated = place.migrate(&["--world", "next.toml"]);
    let printed = text(&migrated);
    assert!(migrated.status.success(), "{printed}");
    for line in [
        "capacity: 64 slots, now 96",
        "clients: 16 rows, now 24",
        "attribute luck is gone",
        "player.rage is new: 2 entities have the default, 7",
        "player.hp: 1 value is clamped to 0 to 95",
    ] {
        assert!(printed.contains(line), "{line}: {printed}");
    }

    let server = place.start(NEXT);
    let mut ann = Player::resume(&server, ann.client.ticket()).await;
    let mut bob = Player::resume(&server, bob.client.ticket()).await;
    assert_eq!((ann.entity(), bob.entity()), (own, other));
    until(&mut [&mut ann, &mut bob], "they see each other", |p| {
        p[0].sees(other) && p[0].sees(own) && p[1].sees(other)
    })
    .await;
    assert_eq!(ann.value(own, "hp"), 95);
    assert_eq!(ann.value(other, "hp"), wounded);
    assert_eq!(ann.value(own, "rage"), 7);
    let own_row = ann.client.view().own().unwrap().row.clone();
    assert_eq!(own_row[..2], [common::units(10.0), common::units(20.0)]);
    ann.send(builtin::STRIKE, &[other.reference().0]);
    until(&mut [&mut ann, &mut bob], "the world has its rules", |p| {
        p[1].value(other, "hp") < wounded
    })
    .await;
    server.stop().unwrap();
    // It runs like any other world.
    place.start(NEXT).stop().unwrap();
    assert!(place.refusal(WORLD).contains("capacity: 96, now 64"));
}

#[tokio::test]
async fn the_population_of_a_new_kind_is_born() {
    let place = TestWorld::new("population");
    let server = place.start(WORLD);
    common::ticks(&server, 2).await;
    server.stop().unwrap();
    let trees = "    [[kind]]\n    name = 'tree'\n    population = 40\n";
    fs::write(place.0.join("trees.toml"), format!("{NEXT}{trees}")).unwrap();
    let printed = text(&place.migrate(&["--world", "trees.toml"]));
    assert!(
        printed.contains("kind tree: its population of 40 entities is born"),
        "{printed}"
    );
    // Once, however often the world is started.
    for _ in 0..2 {
        let server = place.start(&format!("{NEXT}{trees}"));
        let mut ann = Player::join(&server).await;
        common::listen_for(&server, &mut [&mut ann], 3).await;
        server.stop().unwrap();
        let mut export = Command::new(myriad_binary());
        let exported = text(&export.arg("export").arg(place.data()).output().unwrap());
        let count = |kind: &str| exported.lines().filter(|line| line.contains(kind)).count();
        assert_eq!(
            (count("\"tree\""), count("\"item\"")),
            (40, 5),
            "{exported}"
        );
    }
}

#[tokio::test]
async fn the_world_as_it_was_can_run_instead() {
    let place = TestWorld::new("back");
    let server = place.start(WORLD);
    let mut ann = Player::join(&server).await;
    go(&mut ann, 10.0, 20.0).await;
    let own = ann.entity();
    server.stop().unwrap();
    let printed = text(&place.migrate(&["--world", "next.toml"]));
    let name = printed
        .lines()
        .find_map(|line| line.strip_prefix("the world as it was is in "));
    let before = place.0.join(name.expect("an archive"));
    let server = start_with(WORLD, |options| keep(options, &before));
    let ann = Player::resume(&server, ann.client.ticket()).await;
    assert_eq!(ann.entity(), own);
    server.stop().unwrap();
}

#[test]
fn a_world_in_use_or_with_the_same_file_is_left_alone() {
    let place = TestWorld::new("alone");
    let server = place.start(WORLD);
    let refused = place.migrate(&["--world", "next.toml"]);
    assert!(!refused.status.success());
    assert!(text(&refused).contains("is in use"), "{}", text(&refused));
    server.stop().unwrap();
    let commented = WORLD.replace("[limits]", "# For a beginning.\n    [limits]");
    fs::write(place.0.join("world.toml"), &commented).unwrap();
    let same = place.migrate(&["--world", "world.toml"]);
    assert!(same.status.success());
    assert!(
        text(&same).contains("nothing is to be changed"),
        "{}",
        text(&same)
    );
    place.start(&commented).stop().unwrap();
}

/// After a crash, the journal is enough.
#[tokio::test]
async fn a_world_that_crashed_is_migrated_from_its_journal() {
    let place = TestWorld::new("crashed");
    let server = place.start(WORLD);
    let mut ann = Player::join(&server).await;
    go(&mut ann, 10.0, 20.0).await;
    let copy = TestWorld::new("crashed-copy");
    copy_folder(&place.data(), &copy.data());
    let migrated = copy.migrate(&["--world", "next.toml"]);
    assert!(migrated.status.success(), "{}", text(&migrated));
    let again = copy.start(NEXT);
    let own = ann.entity();
    let mut ann = Player::resume(&again, ann.client.ticket()).await;
    until(&mut [&mut ann], "it sees itself", |p| p[0].sees(own)).await;
    let row = ann.client.view().own().unwrap().row.clone();
    assert_eq!(row[..2], [common::units(10.0), common::units(20.0)]);
    again.stop().unwrap();
    server.stop().unwrap();
}
