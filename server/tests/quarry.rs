//! The example world `server/worlds/quarry.toml`: players change its layers, and every client has them as
//! the server does.

use std::path::Path;
use std::time::Duration;

use client_bot::client_core::{Close, Event, Game, GameOptions, LossCode};
use client_bot::connect::{ClientError, hello};
use client_bot::{BehaviourKind, Connector, GameClient, Trust};
use gpu_kernels::Frame;
use quic::{Faults, Network};
use script::builtin;
use server::embedded::{EmbeddedServer, RemoteGame};
use server::host::DataOptions;
use server::{Server, ServerOptions};
use shared::wire::control::Hello;
use shared::wire::stream::Message;
use shared::wire::{EDITS_VERSION, PROTOCOL_VERSION_MIN};
use shared::world::edit::{Edit, LayerKind};
use shared::{CommandKind, WorldConfig};
use testkit::dice::Dice;
use testkit::parity::Parity;

use crate::common::folder::TestFolder;
use crate::common::gateways::{Host, stop};
use crate::common::{Bots, DEADLINE, Player, start_with, ticks, trust, until, until_game};

const UNIT: i32 = 4096;

fn load() -> WorldConfig {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("worlds/quarry.toml");
    world_file::load(&file).unwrap_or_else(|error| panic!("{error}"))
}

fn command(config: &WorldConfig, name: &str) -> CommandKind {
    config.schema.command_named(name).unwrap().kind
}

#[test]
fn players_dig_and_build_on_every_backend() {
    let config = load();
    let mut dice = Dice::new(3);
    let mut parity = Parity::new(&config);
    let [dig, build, sweep] = ["dig", "build", "sweep"].map(|name| command(&config, name));
    for _ in 0..150 {
        let mut frame = Frame::new(parity.oracle.tick);
        if frame.tick.0 == 0 {
            (0..30).for_each(|client| frame.spawn(config.player_kind, client));
        }
        for player in parity.oracle.alive() {
            let at = parity.oracle.position(player.slot.0);
            let near = [0, 1].map(|axis| at[axis] + dice.within(-2 * UNIT..=2 * UNIT));
            match dice.below(8) {
                0..3 => frame.push(player, 1, dig, &near),
                3 => frame.push(player, 1, build, &near),
                4 => frame.push(player, 1, sweep, &[]),
                _ => {}
            }
            let step = [0; 2].map(|_| dice.within(-UNIT..=UNIT));
            frame.push(player, 0, builtin::MOVE, &step);
        }
        frame.order(config.seed);
        parity.tick(&frame);
        if dice.once_in(30) {
            parity.restart(true);
        }
    }
    let edits = parity.oracle.snapshot().edits;
    let of = |kind, value| {
        let own = edits.iter().filter(|e| (e.layer, e.value) == (kind, value));
        own.count()
    };
    let (dug, built) = (of(LayerKind::Blocked, 0), of(LayerKind::Blocked, 1));
    assert!(dug > 30 && built > 0, "{dug} dug, {built} built");
}

fn game(address: std::net::SocketAddr, trust: &Trust) -> GameClient {
    let game = GameClient::new(address, "localhost", trust, GameOptions::default());
    let mut game = game.expect("a socket");
    until_game(&mut game, ("it is in the world", DEADLINE), |game, _| {
        game.layers()?;
        game.view()?.own().map(|_| ())
    });
    game
}

/// The edited cells that a game has.
fn edits(game: &GameClient) -> Vec<Edit> {
    game.layers().expect("they have come").edits().collect()
}

/// Digs a cell of rock near a player, and waits until it is gone.
fn dig_one(game: &mut GameClient) -> Vec<Edit> {
    let before = edits(game);
    let row = game.view().unwrap().own().unwrap().row.clone();
    let layers = game.layers().unwrap();
    let around = (-2..=2).flat_map(|x| (-1..=1).map(move |y| [x, y]));
    let mut places = around.map(|[x, y]| [row[0] + x * UNIT, row[1] + y * UNIT]);
    let rock = places.find(|&[x, y]| layers.is_blocked([x, y, 0]));
    let at = rock.expect("players are born at the rock");
    let at = at.map(|axis| f64::from(axis) / f64::from(UNIT));
    game.command_named("dig", &at).unwrap();
    until_game(game, ("it is gone", DEADLINE), |game, _| {
        (edits(game).len() > before.len()).then(|| edits(game))
    })
}

fn quarry(change: impl FnOnce(&mut ServerOptions)) -> Server {
    start_with("", |options| {
        options.world = load();
        change(options);
    })
}

fn has(game: &mut GameClient, expected: &[Edit]) {
    until_game(game, ("it has the cells", DEADLINE), |game, _| {
        (edits(game) == expected).then_some(())
    });
}

#[test]
fn what_one_player_digs_others_see_and_those_who_come_later_have_it() {
    let server = quarry(|_| ());
    let trust = trust(&server);
    let (mut ann, mut bob) = (
        game(server.address(), &trust),
        game(server.address(), &trust),
    );
    let changed = dig_one(&mut ann);
    let seen = until_game(&mut bob, ("it learns of them", DEADLINE), |_, events| {
        events.iter().find_map(|event| match event {
            Event::CellsChanged { edits, .. } => Some(edits.clone()),
            _ => None,
        })
    });
    assert!(!seen.is_empty());
    has(&mut bob, &changed);
    let mut cid = game(server.address(), &trust);
    has(&mut cid, &changed);
    let dug = changed.iter().find(|edit| edit.layer == LayerKind::Blocked);
    let dug = dug.expect("it dug or built");
    let middle = [dug.cell % 48, dug.cell / 48].map(|cell| cell as i32 * UNIT + UNIT / 2);
    let is_blocked = cid.layers().unwrap().is_blocked([middle[0], middle[1], 0]);
    assert_eq!(is_blocked, dug.value == 1);
    for game in [ann, bob, cid] {
        game.leave();
    }
    server.stop().unwrap();
}

#[tokio::test]
async fn a_client_that_comes_back_gets_all_cells_again() {
    let config = load();
    let dig = command(&config, "dig");
    let server = quarry(|_| ());
    let mut player = Player::join(&server).await;
    let row = player.client.view().own().unwrap().row.clone();
    for y in [0, 1, -1] {
        player.send(dig, &[row[0] - 2 * UNIT, row[1] + y * UNIT]);
    }
    let sent = |player: &Player| {
        let messages = player.log.messages.iter();
        let edits = messages.filter_map(|(_, message)| match message {
            Message::Edits(edits) => Some(edits.clone()),
            _ => None,
        });
        let mut edits = edits.collect::<Vec<_>>().concat();
        edits.sort_unstable();
        edits
    };
    until(&mut [&mut player], "cells are dug", |p| {
        !sent(p[0]).is_empty()
    })
    .await;
    ticks(&server, 10).await;
    until(&mut [&mut player], "it reads on", |_| true).await;
    let before = sent(&player);
    player.log.messages.clear();
    player.come_back().await;
    until(&mut [&mut player], "it has them again", |p| {
        sent(p[0]) == before
    })
    .await;
    server.stop().unwrap();
}

#[test]
fn a_persistent_world_continues_with_its_cells_from_its_journal_and_from_a_checkpoint() {
    for checkpoint_seconds in [1000, 1] {
        let folder = TestFolder::absent(&format!("quarry-kept-{checkpoint_seconds}"));
        let data = |options: &mut ServerOptions| {
            options.data = Some(DataOptions {
                checkpoint_seconds,
                ..DataOptions::new(&*folder)
            });
        };
        let server = quarry(data);
        let mut ann = game(server.address(), &trust(&server));
        let changed = dig_one(&mut ann);
        if checkpoint_seconds == 1 {
            std::thread::sleep(Duration::from_secs(3));
            ann.poll();
        }
        drop(ann);
        server.stop().unwrap();
        let server = quarry(data);
        let mut bob = game(server.address(), &trust(&server));
        has(&mut bob, &changed);
        bob.leave();
        server.stop().unwrap();
    }
}

#[tokio::test]
async fn clients_of_a_gateway_have_the_cells_that_clients_of_the_host_change() {
    let host = Host::start("", "quarry", |options| options.world = load());
    let trust = trust(&host.server);
    let here = host.server.address();
    let digging = {
        let trust = trust.clone();
        tokio::task::spawn_blocking(move || {
            let mut ann = game(here, &trust);
            let changed = dig_one(&mut ann);
            (ann, changed)
        })
    };
    let (mut ann, before) = digging.await.unwrap();
    // It joins a world that has changed, and follows what changes on.
    let gateway = host.gateway().await;
    let there = gateway.address();
    let seeing = tokio::task::spawn_blocking(move || {
        let mut bob = game(there, &trust);
        has(&mut bob, &before);
        let more = dig_one(&mut bob);
        has(&mut ann, &more);
        for game in [ann, bob] {
            game.leave();
        }
    });
    seeing.await.unwrap();
    stop(gateway).await;
    host.server.stop().unwrap();
}

#[tokio::test]
async fn clients_that_know_no_edits_are_sent_for_an_update() {
    let server = quarry(|_| ());
    for version in [PROTOCOL_VERSION_MIN, EDITS_VERSION - 1] {
        let of_version = Hello {
            version,
            ..hello("", None)
        };
        let connector = Connector::new(server.address(), "localhost", &trust(&server));
        let joined = connector.expect("a socket").connect(&of_version).await;
        let Err(ClientError::Refused(ending)) = joined.map(|_| ()) else {
            panic!("version {version} is not refused");
        };
        assert_eq!(ending.code, LossCode::Closed(Close::Outdated));
    }
    server.stop().unwrap();
}

#[tokio::test]
async fn bots_that_dig_and_build_receive_what_they_must_and_nothing_else() {
    let server = start_with("", |options| options.world = load());
    let bots = Bots::start(&server, 16, BehaviourKind::Any).await;
    ticks(&server, 100).await;
    bots.verify(&server).await;
    server.stop().unwrap();
}

/// Where the own entity is, as far as it is foreseen.
fn foreseen(game: &Game) -> Option<[i32; 2]> {
    let (_, row) = game.prediction()?.newest()?;
    Some([row[0], row[1]])
}

#[test]
fn a_game_foresees_its_way_along_walls_that_were_dug_and_built() {
    let config = load();
    let mut server = EmbeddedServer::new(config.clone()).unwrap();
    let [dig, build] = ["dig", "build"].map(|name| command(&config, name));
    let network = Network::from(Faults {
        delay: Duration::from_millis(40),
        ..Faults::default()
    });
    let mut remote = RemoteGame::new(GameOptions::default(), &network, 5);
    let mut dice = Dice::new(11);
    let (mut now, mut step) = (Duration::ZERO, [0; 2]);
    let (mut stopped, mut given) = (0, 0u32);
    while now < Duration::from_secs(160) {
        remote.carry(&mut server, now).unwrap();
        server.advance(now).unwrap();
        remote.poll(&mut server, now);
        while remote.game().layers().is_some() && remote.game().input_due(now).is_some() {
            given += 1;
            let Some(before) = foreseen(remote.game()) else {
                remote.flush(now);
                continue;
            };
            // It digs or builds for a while, waits until it sees the result, and walks.
            match given % 60 {
                0..10 => {
                    let at = [0, 1].map(|axis| before[axis] + dice.within(-2 * UNIT..=2 * UNIT));
                    let kind = dice.pick(&[dig, dig, build]);
                    let _ = remote.game_mut().command(kind, &at);
                }
                10..25 => {}
                _ => {
                    if dice.within(0..=7) == 0 {
                        step = [0; 2].map(|_| dice.within(-UNIT..=UNIT));
                    }
                    let _ = remote.game_mut().command(builtin::MOVE, &step);
                    remote.flush(now);
                    let goal = [0, 1].map(|axis| before[axis] + step[axis]);
                    stopped += u32::from(foreseen(remote.game()) != Some(goal));
                }
            }
            remote.flush(now);
        }
        remote.flush(now);
        now += Duration::from_millis(5);
    }
    let edited = remote.game().layers().unwrap().edits().count();
    let corrections = remote.game().prediction().unwrap().corrections();
    assert!(
        edited > 30 && stopped > 50,
        "{edited} cells, {stopped} stops"
    );
    assert!(corrections.compared > 1000, "{corrections:?}");
    assert_eq!(corrections.corrected, 0, "{corrections:?}");
}
