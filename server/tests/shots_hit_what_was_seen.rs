//! A shot is judged by its player's view, however late it arrives; after a crash, too.

use std::path::Path;
use std::time::{Duration, Instant};

use client_bot::GameClient;
use client_bot::client_core::{Event, GameOptions};
use quic::Faults;
use server::Server;
use server::host::DataOptions;
use shared::{EntityId, Refusal};

use crate::common::folder::TestFolder;
use crate::common::{DEADLINE, start_with, trust, until_game};

const NOTHING: &str = "
    [world]
    size = [10, 10]
    capacity = 1

    [[kind]]
    name = 'player'
";
const REACH: f64 = 12.0;
/// More than a busy machine makes necessary.
const SHOTS_MAX: usize = 10;
/// Of the runner in a tick.
const STEP: f64 = 4.0;

#[test]
fn a_shot_hits_who_was_in_reach_as_it_was_shown_and_a_crash_forgets_nothing() {
    let folder = TestFolder::absent("range");
    let server = start(&folder);
    let mut game = joined(&server);
    let runner = until(&mut game, "the runner is in view", |game, _| {
        let view = game.view()?;
        let own = view.entity();
        view.entities().values().map(|e| e.id).find(|&id| id != own)
    });
    // The clock has to settle.
    let settled = Instant::now() + Duration::from_secs(3);
    until(&mut game, "the clock settles", |_, _| {
        (Instant::now() > settled).then_some(())
    });
    let mut refusals = vec![];
    while let Some(refusal) = shoot(&mut game, runner) {
        refusals.push(refusal);
        assert!(
            refusals.len() < SHOTS_MAX,
            "every shot was refused: {refusals:?}"
        );
    }
    assert_eq!(
        (own(&game, "hits"), own(&game, "cuts")),
        (Some(1.0), Some(0.0))
    );

    // The first checkpoint is on disk now, and the journal with the shot: it runs again.
    let ticket = game.game().ticket().expect("it plays");
    let crashed = folder.crashed("range-crashed");
    drop(game);
    server.stop().unwrap();
    let server = start(&crashed);
    let mut game = joined(&server);
    game.set_ticket(ticket);
    until(&mut game, "the shot is remembered", |game, _| {
        (own(game, "shots")? > 0.0).then_some(())
    });
    assert_eq!(
        (own(&game, "hits"), own(&game, "cuts")),
        (Some(1.0), Some(0.0))
    );
    game.leave();
    server.stop().unwrap();
}

fn start(folder: &Path) -> Server {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("worlds/range.toml");
    start_with(NOTHING, |options| {
        options.world = world_file::load(&file).unwrap();
        options.data = Some(DataOptions {
            checkpoint_seconds: 1000,
            ..DataOptions::new(folder)
        });
    })
}

/// A game whose packets take 200 ms to the server.
fn joined(server: &Server) -> GameClient {
    let trust = trust(server);
    let game = GameClient::new(
        server.address(),
        "localhost",
        &trust,
        GameOptions::default(),
    );
    let mut game = game.expect("a socket");
    let faults = Faults {
        delay: Duration::from_millis(200),
        ..Faults::default()
    };
    game.set_faults(faults, 7);
    game
}

/// Shoots at the runner when it leaves the reach. Returns why a busy server has refused the shot, if it
/// has.
fn shoot(game: &mut GameClient, runner: EntityId) -> Option<Refusal> {
    until(game, "the runner leaves the reach", |game, _| {
        let shown = ahead(game, runner)?;
        (REACH - 1.5 * STEP..REACH - 0.75 * STEP)
            .contains(&shown)
            .then_some(())
    });
    let target = f64::from(runner.reference().0);
    // The client's library sets the tick of the view, whatever this one is.
    let shot = game.command_named("shoot", &[target, 0.0]).unwrap();
    game.command_named("cut", &[target]).unwrap();
    until(game, "the shot is answered", |game, events| {
        if own(game, "shots")? > 0.0 {
            return Some(None);
        }
        events.iter().find_map(|event| match event {
            Event::Refused { commands, .. } => (commands.first..)
                .take(commands.count as usize)
                .any(|number| number == shot)
                .then_some(Some(commands.reason)),
            _ => None,
        })
    })
}

/// Plays until something holds, of the game and its newest events. The runner takes its time.
fn until<T>(
    game: &mut GameClient,
    what: &str,
    holds: impl Fn(&GameClient, &[Event]) -> Option<T>,
) -> T {
    until_game(game, (what, 4 * DEADLINE), holds)
}

/// How far an entity is shown from the own one, if it goes away from it.
fn ahead(game: &GameClient, entity: EntityId) -> Option<f64> {
    let view = game.view()?;
    let seen = view.entities().get(&entity.slot.0)?;
    let own = game.position(view.entity())?;
    let there = game.position(entity)?;
    let apart = [there[0] - own[0], there[1] - own[1]];
    let goes_away = f64::from(seen.course.velocity[0]) * apart[0] > 0.0;
    goes_away.then(|| apart[0].hypot(apart[1]))
}

fn own(game: &GameClient, attribute: &str) -> Option<f64> {
    let entity = game.view()?.own()?.id;
    game.value(entity, attribute).ok()
}
