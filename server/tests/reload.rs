//! Scripts that are saved while the world runs come into force, and clients learn what
//! commands and notifications there are.

use std::fs;
use std::path::PathBuf;

use crate::common::{Bots, Player, listen_for, scratch, start_with, ticks, until};
use client_bot::BehaviourKind;
use server::commands::replay::replay;
use server::tick::backend::{BackendChoice, BackendOptions};
use server::{Server, ServerOptions};
use shared::CommandKind;
use shared::wire::stream::Message;

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
        let world = script::world::parse(WORLD, &file.display().to_string()).unwrap();
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
    until(&mut [&mut player, &mut other], "all hear of it", |p| {
        p.iter().all(|player| player.notices().len() == 1)
    })
    .await;
    assert_eq!(gold(&player), -3);

    // A client that joins now is welcomed with what there is now.
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
    let backend = BackendOptions {
        backend: BackendChoice::Cpu,
        ..BackendOptions::default()
    };
    let replayed = replay(&file, backend, 2).unwrap();
    assert!(
        replayed.ticks > 20 && replayed.broken_off.is_none(),
        "{replayed:?}"
    );
    let _ = fs::remove_file(&file);
}
