//! A rate of ticks that is not the world file's has all that follows from a rate, and is checked
//! like one of the file.

use std::fs;
use std::process::Command;

use client_bot::GameClient;
use client_bot::client_core::{Event, EventHandler, GameOptions, RefusedRun};
use script::builtin;
use server::Server;
use server::host::DataOptions;
use shared::{Tick, WorldConfig};
use world_file::Overrides;
use world_file::Reader;

use crate::common::folder::TestFolder;
use crate::common::pair::{Pair, complete};
use crate::common::{
    Player, myriad_binary, play_until, start_with, text, ticks, trust, units, until,
};

const WORLD: &str = "
    [world]
    size = [200, 200]
    aoi = 20
    capacity = 16
    tick_hz = 20

    [limits]
    clients = 8

    [commands]
    move.per_tick = 0

    [spectators]
    allowed = true
    speed_max = 100

    [[kind]]
    name = 'player'
";

/// The world at a rate that is set beside its file.
fn at(tick_hz: u32) -> WorldConfig {
    let overrides = Overrides {
        tick_hz: Some(tick_hz),
        ..Overrides::default()
    };
    let reader = Reader {
        overrides,
        ..Reader::default()
    };
    reader.parse(WORLD, "a test's world").unwrap().config
}

/// How many ticks ahead and behind commands may arrive, as sent to clients.
fn input_and_late(server: &Server) -> (u32, u32) {
    let options = GameOptions::default();
    let game = GameClient::new(server.address(), "localhost", &trust(server), options);
    let mut game = game.expect("a socket");
    play_until(&mut game, "its entity", |event| {
        matches!(event, Event::Entered { .. })
    });
    let quotas = game.game().quotas().expect("a welcome");
    (quotas.input_ticks, quotas.late_ticks)
}

#[derive(Default)]
struct Refused(Vec<RefusedRun>);

impl EventHandler for Refused {
    fn refused(&mut self, _: Tick, commands: RefusedRun) {
        self.0.push(commands);
    }
}

#[tokio::test]
async fn commands_200_ms_ahead_are_taken_at_the_rate_that_the_command_line_sets() {
    let server = start_with(WORLD, |options| options.world = at(100));
    let mut player = Player::join(&server).await;
    let now = player.client.view().newest();
    for i in 0..6 {
        let sent = player.client.command(builtin::MOVE, &[units(0.1), 0]);
        sent.expect("this world has it");
        player.client.flush_for(now.after(20 + i));
    }
    let mut refused = Refused::default();
    while player.client.view().processed() < 6 {
        player.client.receive(&mut refused).await.expect("it stays");
        player.client.flush();
    }
    assert!(refused.0.is_empty(), "{:?}", refused.0);
    server.stop().unwrap();
}

#[tokio::test]
async fn a_persistent_world_at_another_rate_has_the_limits_of_that_rate() {
    let folder = TestFolder::absent("kept-rates");
    for (tick_hz, expected) in [
        (20, (10, 20)),
        (100, (50, 100)),
        (100, (50, 100)),
        (10, (5, 10)),
    ] {
        let server = start_with(WORLD, |options| {
            options.world = at(tick_hz);
            options.data = Some(DataOptions::new(&*folder));
        });
        assert_eq!(input_and_late(&server), expected, "at {tick_hz}");
        ticks(&server, 3).await;
        server.stop().unwrap();
    }
}

#[tokio::test]
async fn a_standby_of_a_world_whose_rate_has_changed_has_the_limits_of_that_rate() {
    let pair = Pair::new(WORLD, "rates");
    let before = pair.primary(|_| ());
    ticks(&before, 3).await;
    before.stop().unwrap();
    let primary = pair.primary(|options| options.world = at(100));
    let standby = pair.standby(&primary);
    complete(&standby).await;
    assert_eq!(input_and_late(&primary), (50, 100));
    drop(primary);
    let promoted = standby.promote().expect("a promotion");
    assert_eq!(input_and_late(&promoted), (50, 100));
    let mut player = Player::join(&promoted).await;
    let entity = player.entity();
    until(&mut [&mut player], "it plays", |p| p[0].sees(entity)).await;
    promoted.stop().unwrap();
}

#[tokio::test]
async fn a_rate_that_contradicts_the_file_is_rejected_by_every_command_that_takes_one() {
    let folder = TestFolder::new("rejected-rates");
    let file = folder.join("world.toml");
    let world = WORLD.replace("clients = 8", "clients = 8\n    unread_seconds = 40");
    fs::write(&file, world).unwrap();
    let file = file.to_str().unwrap();
    let commands: [&[&str]; 2] = [
        &["serve", "--listen", "127.0.0.1:0", "--stop-after", "1"],
        &["demo", "--clients", "1", "--seconds", "1"],
    ];
    for command in commands {
        let ran = Command::new(myriad_binary())
            .args(command)
            .args(["--world", file, "--tick-hz", "1000"])
            .output()
            .unwrap();
        let printed = text(&ran);
        assert_eq!(ran.status.code(), Some(1), "{printed}");
        assert!(printed.contains("with --tick-hz 1000"), "{printed}");
        let expected = "limits.unread_seconds: expected 1 to 30, found 40";
        assert!(printed.contains(expected), "{printed}");
    }
}
