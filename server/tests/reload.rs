//! Scripts that are saved while the world runs come into force, and clients learn what
//! commands and notifications there are.

use std::fs;
use std::path::PathBuf;

use client_bot::BehaviourKind;
use server::{Server, ServerOptions};
use shared::CommandKind;
use shared::wire::stream::Message;

use crate::common::folder::TestFolder;
use crate::common::process::Process;
use crate::common::recorded::replays;
use crate::common::{Bots, Player, eventually, listen_for, scratch, start_with, ticks, until};

const WORLD: &str = "
    [world]
    size = [30, 30]
    aoi = 100
    capacity = 64
    tick_hz = 20

    [limits]
    notifications_per_tick = 100

    [logic]
    builtin = ['move']
    folder = '.'

    [[kind]]
    name = 'player'
    attributes = [{ name = 'gold', type = 'i32', audience = 'state' }]
";

const ONE: &str = "#[command(clients)] fn earn(me: Entity) { me.gold += 1; }";
const TEN: &str = "#[command(clients)] fn earn(me: Entity) { me.gold += 10; }";
const SPEND: &str = "
    #[command(clients)]
    fn spend(me: Entity, amount: i32) {
        me.gold -= amount;
        tell(Spent { amount }, around(me, 50.0));
    }
";

/// A server with a folder of scripts of its own.
struct Scripted {
    folder: PathBuf,
    server: Server,
}

impl Scripted {
    fn start(name: &str, scripts: &[(&str, &str)]) -> Scripted {
        Scripted::start_with(name, scripts, |_| ())
    }

    fn start_with(
        name: &str,
        scripts: &[(&str, &str)],
        change: impl FnOnce(&mut ServerOptions),
    ) -> Scripted {
        let folder = scratch(name);
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).unwrap();
        for (file, text) in scripts {
            fs::write(folder.join(file), text).unwrap();
        }
        let file = folder.join("world.toml");
        let world = world_file::parse(WORLD, &file.display().to_string()).unwrap();
        let server = start_with(WORLD_OF_NOTHING, |options| {
            options.world = world;
            options.scripts = Some(folder.clone());
            change(options);
        });
        Scripted { folder, server }
    }

    /// Saves a script as editors do: a new file takes the place of the old one.
    fn save(&self, file: &str, text: &str) {
        let new = self.folder.join("new.tmp");
        fs::write(&new, text).unwrap();
        fs::rename(new, self.folder.join(file)).unwrap();
    }
}

impl Drop for Scripted {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.folder);
    }
}

const WORLD_OF_NOTHING: &str = "";

fn named(player: &Player, name: &str) -> Option<CommandKind> {
    let schema = player.client.view().schema();
    schema.command_named(name).map(|command| command.kind)
}

fn gold(player: &Player) -> i32 {
    player.value(player.entity(), "gold")
}

fn interfaces(player: &Player) -> usize {
    let messages = player.log.messages.iter();
    messages
        .filter(|(_, message)| matches!(message, Message::Interface(_)))
        .count()
}

/// Gives a command until it has earned something, and says how much at once.
async fn earn(player: &mut Player) -> i32 {
    let before = gold(player);
    let earn = named(player, "earn").expect("the command");
    player.send(earn, &[]);
    until(&mut [player], "gold is earned", |p| gold(p[0]) != before).await;
    gold(player) - before
}

#[tokio::test]
async fn a_saved_script_is_in_force_while_the_world_runs() {
    let world = Scripted::start("a-saved-script", &[("earn.rs", ONE)]);
    let mut player = Player::join(&world.server).await;
    assert_eq!(earn(&mut player).await, 1);
    world.save("earn.rs", TEN);
    while earn(&mut player).await != 10 {}
    assert_eq!(interfaces(&player), 1, "clients foresee what it does now");
}

#[tokio::test]
async fn a_script_with_problems_changes_nothing() {
    let world = Scripted::start("a-broken-script", &[("earn.rs", ONE)]);
    let mut player = Player::join(&world.server).await;
    for text in [
        "#[command(clients)] fn earn(me: Entity) { me.silver += 10; }",
        "fn",
        "\u{0}",
    ] {
        world.save("earn.rs", text);
        listen_for(&world.server, &mut [&mut player], 6).await;
        assert_eq!(earn(&mut player).await, 1, "{text}");
    }
    world.save("earn.rs", TEN);
    while earn(&mut player).await != 10 {}
}

#[tokio::test]
async fn clients_learn_what_commands_and_notifications_there_are() {
    let world = Scripted::start("new-commands", &[("earn.rs", ONE)]);
    let mut player = Player::join(&world.server).await;
    let mut other = Player::join(&world.server).await;
    let number = named(&player, "earn");
    world.save("spend.rs", SPEND);
    until(
        &mut [&mut player, &mut other],
        "there is a new command",
        |p| p.iter().all(|player| named(player, "spend").is_some()),
    )
    .await;
    assert_eq!(named(&player, "earn"), number, "names keep their numbers");
    assert_eq!(interfaces(&player), 1);
    let spend = named(&player, "spend").unwrap();
    player.send(spend, &[3]);
    until(&mut [&mut player, &mut other], "all are notified", |p| {
        p.iter().all(|player| player.notices().len() == 1)
    })
    .await;
    assert_eq!(gold(&player), -3);

    // A client that joins now is welcomed with the current schema.
    let late = Player::join(&world.server).await;
    assert_eq!(named(&late, "spend"), Some(spend));

    // The command goes while the client gives it, and the session lives on.
    fs::remove_file(world.folder.join("spend.rs")).unwrap();
    while named(&player, "spend").is_some() {
        let _ = player.client.command(spend, &[1]);
        player.client.flush();
        player.listen().await.expect("the session lives");
    }
    assert!(player.client.command(spend, &[1]).is_none());
    assert_eq!(earn(&mut player).await, 1);

    // It comes back with its number.
    world.save("spend.rs", SPEND);
    until(&mut [&mut player], "the command is back", |p| {
        named(p[0], "spend").is_some()
    })
    .await;
    assert_eq!(named(&player, "spend"), Some(spend));
}

#[tokio::test]
async fn a_recording_replays_with_the_scripts_of_each_tick() {
    let file = scratch("reload.recording");
    let world = Scripted::start_with("a-recording", &[("earn.rs", ONE)], |options| {
        options.record = Some(file.clone());
    });
    let mut player = Player::join(&world.server).await;
    let bots = Bots::start(&world.server, 8, BehaviourKind::Wander).await;
    assert_eq!(earn(&mut player).await, 1);
    for text in [TEN, ONE, TEN] {
        world.save("earn.rs", text);
        ticks(&world.server, 6).await;
        earn(&mut player).await;
    }
    world.save("spend.rs", SPEND);
    until(&mut [&mut player], "there is a new command", |p| {
        named(p[0], "spend").is_some()
    })
    .await;
    player.send(named(&player, "spend").unwrap(), &[3]);
    listen_for(&world.server, &mut [&mut player], 5).await;
    bots.go_home();
    drop(world);
    replays(&file);
}

/// Folders of scripts that change as a whole, and their contents.
#[cfg(unix)]
mod folders {
    use std::os::unix::fs::symlink;
    use std::path::Path;
    use std::process::Command;

    use super::*;

    fn write(folder: &Path, file: &str, text: &str) {
        fs::create_dir_all(folder).unwrap();
        fs::write(folder.join(file), text).unwrap();
    }

    /// A server whose scripts are in `scripts` of a folder of its own.
    fn start(name: &str, prepare: impl FnOnce(&Path)) -> (PathBuf, Server) {
        let folder = scratch(name);
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).unwrap();
        prepare(&folder);
        let file = folder.join("world.toml");
        let text = WORLD.replace("folder = '.'", "folder = 'scripts'");
        let world = world_file::parse(&text, &file.display().to_string()).unwrap();
        let server = start_with(WORLD_OF_NOTHING, |options| {
            options.world = world;
            options.scripts = Some(folder.join("scripts"));
        });
        (folder, server)
    }

    #[tokio::test]
    async fn a_folder_that_is_renamed_removed_and_made_again_is_followed() {
        let (folder, server) = start("a-folder-made-again", |folder| {
            write(&folder.join("scripts"), "earn.rs", ONE);
        });
        let mut player = Player::join(&server).await;
        assert_eq!(earn(&mut player).await, 1);
        // Another folder takes its place.
        write(&folder.join("new"), "earn.rs", TEN);
        fs::rename(folder.join("scripts"), folder.join("old")).unwrap();
        fs::rename(folder.join("new"), folder.join("scripts")).unwrap();
        while earn(&mut player).await != 10 {}
        // Changes in the new one come, too.
        write(
            &folder.join("scripts"),
            "earn.rs",
            &TEN.replace("10", "100"),
        );
        while earn(&mut player).await != 100 {}
        // Without a folder the world keeps its scripts.
        fs::remove_dir_all(folder.join("scripts")).unwrap();
        ticks(&server, 40).await;
        assert_eq!(earn(&mut player).await, 100);
        // So it does with one into which the scripts are still to be copied.
        fs::create_dir(folder.join("scripts")).unwrap();
        ticks(&server, 40).await;
        assert_eq!(earn(&mut player).await, 100);
        write(&folder.join("scripts"), "earn.rs", ONE);
        while earn(&mut player).await != 1 {}
        server.stop().unwrap();
    }

    #[tokio::test]
    async fn links_that_lead_elsewhere_are_followed() {
        // As Kubernetes mounts a ConfigMap, behind a link that is replaced, too.
        let (folder, server) = start("relinked-folders", |folder| {
            for (version, text) in [("v1", ONE), ("v2", TEN)] {
                write(&folder.join("map").join(version), "earn.rs", text);
            }
            symlink("v1", folder.join("map/..data")).unwrap();
            symlink("..data/earn.rs", folder.join("map/earn.rs")).unwrap();
            symlink("map", folder.join("scripts")).unwrap();
            write(&folder.join("other"), "earn.rs", &TEN.replace("10", "1000"));
        });
        let mut player = Player::join(&server).await;
        assert_eq!(earn(&mut player).await, 1);
        symlink("v2", folder.join("map/..tmp")).unwrap();
        fs::rename(folder.join("map/..tmp"), folder.join("map/..data")).unwrap();
        while earn(&mut player).await != 10 {}
        // The target of a link is in another folder.
        write(&folder.join("map/v2"), "earn.rs", &TEN.replace("10", "100"));
        while earn(&mut player).await != 100 {}
        symlink("other", folder.join("next")).unwrap();
        fs::rename(folder.join("next"), folder.join("scripts")).unwrap();
        while earn(&mut player).await != 1000 {}
        server.stop().unwrap();
    }

    #[tokio::test]
    async fn locks_folders_and_pipes_with_the_name_of_a_script_stop_no_reload() {
        let (folder, server) = start("no-scripts", |folder| {
            write(&folder.join("scripts"), "earn.rs", ONE);
        });
        let scripts = folder.join("scripts");
        let mut player = Player::join(&server).await;
        assert_eq!(earn(&mut player).await, 1);
        symlink("me@host.1234", scripts.join(".#earn.rs")).unwrap();
        fs::write(scripts.join("._earn.rs"), b"\xff").unwrap();
        fs::create_dir(scripts.join("folder.rs")).unwrap();
        let pipe = scripts.join("pipe.rs");
        assert!(
            Command::new("mkfifo")
                .arg(&pipe)
                .status()
                .unwrap()
                .success()
        );
        write(&scripts, "earn.rs", TEN);
        while earn(&mut player).await != 10 {}
        server.stop().unwrap();
    }

    #[tokio::test]
    async fn a_script_with_problems_does_not_stop_another_one() {
        let (folder, server) = start("one-broken-script", |folder| {
            write(&folder.join("scripts"), "earn.rs", ONE);
            write(&folder.join("scripts"), "spend.rs", SPEND);
        });
        let scripts = folder.join("scripts");
        let mut player = Player::join(&server).await;
        write(&scripts, "spend.rs", "fn");
        write(&scripts, "earn.rs", TEN);
        while earn(&mut player).await != 10 {}
        // The world has the script that it had.
        assert!(named(&player, "spend").is_some());
        server.stop().unwrap();
    }
}

#[tokio::test]
async fn the_log_says_each_problem_once_and_that_the_world_file_has_changed() {
    let folder = TestFolder::new("said-once");
    let scripts = folder.join("scripts");
    fs::create_dir(&scripts).unwrap();
    fs::write(scripts.join("earn.rs"), ONE).unwrap();
    let world = WORLD.replace("folder = '.'", "folder = 'scripts'");
    let file = folder.join("world.toml");
    fs::write(&file, &world).unwrap();
    let server = Process::start(&folder.join("data"), &file, "synced", "127.0.0.1:0");
    let logged = |what: &str| server.log().matches(what).count();
    fs::write(scripts.join("earn.rs"), "fn").unwrap();
    eventually("the problem is logged", || logged("earn.rs:1:3") == 1).await;
    // Saves of other scripts come into force, and say nothing of the first again.
    for (i, text) in [SPEND, ONE].iter().enumerate() {
        let text = text.replace("earn", "mint");
        fs::write(scripts.join(format!("new{i}.rs")), text).unwrap();
        eventually("it is in force", || {
            logged("other scripts are in force") == i + 1
        })
        .await;
    }
    assert_eq!(logged("earn.rs:1:3"), 1, "{}", server.log());
    fs::write(scripts.join("earn.rs"), ONE.replace("1", "2")).unwrap();
    eventually("it is mended", || logged("no problems any more") == 1).await;
    fs::write(&file, world.replace("aoi = 100", "aoi = 50")).unwrap();
    eventually("the change is logged", || {
        logged("world.toml has changed; the running world keeps what it has") == 1
            && logged("schema.world.aoi: ") == 1
    })
    .await;
    fs::write(&file, world.replace("aoi = 100", "aoi = 0")).unwrap();
    eventually("its problem is logged", || {
        logged("no world can start with it") == 1 && logged("world.aoi: expected") == 1
    })
    .await;
    fs::write(&file, &world).unwrap();
    eventually("the old file is back", || {
        logged("is again as the running world") == 1
    })
    .await;
    server.stop();
}
