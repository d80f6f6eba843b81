//! The example world `server/worlds/keep.toml`: nobody goes through its walls, on any backend and as
//! players see it.

use std::path::Path;
use std::time::{Duration, Instant};

use client_bot::client_core::{Game, GameOptions};
use client_bot::{BehaviourKind, GameClient};
use gpu_kernels::Frame;
use quic::{Faults, Network};
use script::builtin;
use server::embedded::{EmbeddedServer, RemoteGame};
use shared::WorldConfig;
use testkit::dice::Dice;
use testkit::parity::Parity;

use crate::common::{Bots, DEADLINE, start_with, ticks, trust, until_game};

fn load() -> WorldConfig {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("worlds/keep.toml");
    world_file::load(&file).unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn guards_and_players_keep_out_of_walls_on_every_backend() {
    let config = load();
    let layers = &config.schema.layers;
    let mut dice = Dice::new(7);
    let mut parity = Parity::new(&config);
    let (mut steps, mut whole) = (0, 0);
    for _ in 0..120 {
        let mut frame = Frame::new(parity.oracle.tick);
        if frame.tick.0 == 0 {
            frame.populate(&config);
            (0..20).for_each(|client| frame.spawn(config.player_kind, client));
        }
        let is_player = |slot: u32| parity.oracle.slots[slot as usize].kind == config.player_kind;
        let alive = parity.oracle.alive();
        let players: Vec<_> = alive.into_iter().filter(|e| is_player(e.slot.0)).collect();
        let mut goals = vec![];
        for &player in &players {
            let step = [0; 2].map(|_| dice.within(-4096..=4096));
            frame.push(player, 0, builtin::MOVE, &step);
            let at = parity.oracle.position(player.slot.0);
            goals.push([at[0] + step[0], at[1] + step[1]]);
        }
        frame.order(config.seed);
        parity.tick(&frame);
        for entity in parity.oracle.alive() {
            let place = parity.oracle.position(entity.slot.0);
            assert!(!layers.is_blocked(place), "{entity:?} at {place:?}");
        }
        for (player, goal) in players.iter().zip(goals) {
            let at = parity.oracle.position(player.slot.0);
            steps += 1;
            whole += usize::from(at[..2] == goal);
        }
    }
    assert!(whole < steps && whole > steps / 2, "{whole} of {steps}");
}

#[test]
fn a_game_foresees_its_way_along_walls() {
    let mut server = EmbeddedServer::new(load()).unwrap();
    let layers = load().schema.layers;
    let network = Network::from(Faults {
        delay: Duration::from_millis(40),
        ..Faults::default()
    });
    let mut remote = RemoteGame::new(GameOptions::default(), &network, 5);
    let mut dice = Dice::new(11);
    let (mut now, mut step) = (Duration::ZERO, [0; 2]);
    let (mut walked, mut stopped) = (0, 0);
    while now < Duration::from_secs(160) {
        remote.carry(&mut server, now).unwrap();
        server.advance(now).unwrap();
        remote.poll(&mut server, now);
        while remote.game().layers().is_some() && remote.game().input_due(now).is_some() {
            if dice.within(0..=7) == 0 {
                step = [0; 2].map(|_| dice.within(-4096..=4096));
            }
            let before = foreseen(remote.game());
            let given = remote.game_mut().command(builtin::MOVE, &step);
            remote.flush(now);
            let after = foreseen(remote.game());
            if let (Ok(_), Some(before), Some(after)) = (given, before, after) {
                assert!(!layers.is_blocked([after[0], after[1], 0]), "{after:?}");
                let goal = [0, 1].map(|axis| before[axis] + step[axis]);
                walked += u32::from(step != [0; 2]);
                stopped += u32::from(goal != after);
            }
        }
        remote.flush(now);
        now += Duration::from_millis(5);
    }
    let corrections = remote.game().prediction().unwrap().corrections();
    assert!(
        walked > 1000 && stopped > walked / 8,
        "{stopped} of {walked} met walls"
    );
    assert!(corrections.compared > 1000, "{corrections:?}");
    assert_eq!(corrections.corrected, 0, "{corrections:?}");
}

/// Where the own entity is, as far as it is foreseen.
fn foreseen(game: &Game) -> Option<[i32; 2]> {
    let (_, row) = game.prediction()?.newest()?;
    Some([row[0], row[1]])
}

#[tokio::test]
async fn bots_check_that_nobody_is_in_a_wall() {
    let server = start_with("", |options| options.world = load());
    let bots = Bots::start_with(&server, 12, BehaviourKind::Any, |options| {
        options.visibility = load().schema.visibility;
    })
    .await;
    ticks(&server, 60).await;
    bots.verify(&server).await;
    server.stop().unwrap();
}

#[test]
fn a_player_that_walks_on_stops_before_the_wall_and_sees_nobody_in_one() {
    let config = load();
    let layers = config.schema.layers.clone();
    let server = start_with("", |options| options.world = config);
    let game = GameClient::new(
        server.address(),
        "localhost",
        &trust(&server),
        GameOptions::default(),
    );
    let mut game = game.expect("a socket");
    let until = |game: &mut GameClient, what: &str, seconds: u64| {
        let end = Instant::now() + Duration::from_secs(seconds);
        until_game(game, (what, 4 * DEADLINE), |game, _| {
            let view = game.view()?;
            for entity in view.entities().values() {
                let place = [entity.row[0], entity.row[1], 0];
                assert!(!layers.is_blocked(place), "{:?} at {place:?}", entity.id);
            }
            (Instant::now() > end).then_some(())
        });
    };
    until(&mut game, "it is in the world", 1);
    for (x, y) in [(1.0, 0.0), (0.0, 1.0), (-1.0, 1.0)] {
        for _ in 0..12 {
            game.command_named("move", &[x, y]).unwrap();
            until(&mut game, "it walks", 0);
        }
        until(&mut game, "it has walked", 1);
    }
    game.leave();
    server.stop().unwrap();
}
