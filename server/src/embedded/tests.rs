use client_bot::GameClient;
use client_bot::client_core::{Event, GameOptions};
use quic::{Faults, Network};

use super::*;

const WORLD: &str = "
    [world]
    size = [200, 200]
    aoi = 50
    capacity = 64
    tick_hz = 60

    [[kind]]
    name = 'player'
    spawn = { area = [[90, 90], [110, 110]] }

    [[kind]]
    name = 'npc'
    population = 12
    spawn = { area = [[80, 80], [120, 120]] }

    [[every]]
    kind = 'npc'
    ticks = 3
    command = 'roam'
";

fn server() -> EmbeddedServer {
    EmbeddedServer::new(world_file::parse(WORLD, "a test's world").unwrap()).unwrap()
}

/// A player that steps once for each tick behind a network, to the time `end`.
fn play(network: &Network, seed: u64, end: Duration) -> (EmbeddedServer, RemoteGame, u32) {
    let mut server = server();
    let mut remote = RemoteGame::new(GameOptions::default(), network, seed);
    let (mut now, mut steps) = (Duration::ZERO, 0);
    while now < end {
        remote.carry(&mut server, now).unwrap();
        server.advance(now).unwrap();
        remote.poll(&mut server, now);
        while remote.game().input_due(now).is_some() {
            let game = remote.game_mut();
            let step = game.view().unwrap().schema().command_named("move").unwrap();
            let kind = step.kind;
            game.command(kind, &[if steps % 60 < 30 { 512 } else { -512 }, 0])
                .unwrap();
            steps += 1;
            remote.flush(now);
        }
        remote.flush(now);
        now += Duration::from_millis(2);
    }
    (server, remote, steps)
}

#[test]
fn a_game_plays_in_a_world_of_its_own_process() {
    let shared = SharedServer::new(server());
    let clients =
        [(); 2].map(|()| GameClient::offline(shared.client(), GameOptions::default()).unwrap());
    let [mut walker, mut watcher] = clients;
    let begun = Instant::now();
    let (mut first, mut walked) = (None, 0);
    while walked < 30 && begun.elapsed() < Duration::from_secs(30) {
        watcher.poll();
        watcher.flush();
        for event in walker.poll() {
            assert!(!matches!(event, Event::Lost { .. }), "{event:?}");
        }
        while walker.input_due().is_some() {
            walker.command_named("move", &[0.5, 0.0]).unwrap();
            walker.flush();
            walked += 1;
        }
        walker.flush();
        let own = walker.view().and_then(|view| view.own().map(|own| own.id));
        first = first.or(own.and_then(|own| shared.lock().position(own)));
        std::thread::sleep(Duration::from_millis(2));
    }
    let own = walker.view().unwrap().entity();
    let place = shared.lock().position(own).unwrap();
    assert!(place[0] > first.unwrap()[0], "it stands still");
    // The other player sees it, and the others of the world.
    let seen = watcher.view().unwrap().entities();
    assert!(seen.values().any(|entity| entity.id == own));
    assert!(seen.len() > 2, "{}", seen.len());
    walker.leave();
    let tick = shared.lock().next_tick() + Duration::from_millis(100);
    shared.lock().advance(tick).unwrap();
    assert_eq!(shared.lock().position(own), None);
}

#[test]
fn a_bad_network_is_the_same_each_time_and_another_one_with_another_seed() {
    let faults = Faults {
        loss: 0.05,
        delay: Duration::from_millis(40),
        jitter: Duration::from_millis(60),
        ..Faults::default()
    };
    let outcome = |seed| {
        let (server, remote, steps) = play(&faults.into(), seed, Duration::from_secs(4));
        let own = remote.game().view().unwrap().entity();
        (server.row(own), remote.bytes(), steps)
    };
    assert_eq!(outcome(1), outcome(1));
    assert_ne!(outcome(1).1, outcome(2).1);
}

#[test]
fn nearly_every_tick_has_input_however_far_away_and_unsteady_the_player_is() {
    for (delay, jitter, loss) in [(0, 0, 0.0), (40, 80, 0.0), (300, 0, 0.0), (150, 40, 0.05)] {
        let faults = Faults {
            loss,
            delay: Duration::from_millis(delay),
            jitter: Duration::from_millis(jitter),
            ..Faults::default()
        };
        let (server, remote, steps) = play(&faults.into(), 7, Duration::from_secs(20));
        let view = remote.game().view().unwrap();
        let ticks = u32::try_from(server.tick().0).unwrap();
        // Two seconds to join and to find its way.
        assert!(steps + 120 > ticks, "{delay} {jitter}: {steps} of {ticks}");
        let processed = view.processed();
        assert!(
            processed + 120 > ticks,
            "{delay} {jitter}: {processed} of {ticks}"
        );
        let corrections = remote.game().prediction().unwrap().corrections();
        assert!(
            corrections.corrected < 40,
            "{delay} {jitter}: {corrections:?}"
        );
    }
}

#[test]
fn bytes_that_are_no_hello_close_the_connection() {
    let mut server = server();
    let connection = server.connect().unwrap();
    // Bytes that are no hello.
    server.handle_stream(connection, &[255; 64]);
    let closed = server.take_closed(connection).unwrap();
    assert_eq!(closed.code, Close::Malformed.code());
    assert_eq!(server.take_closed(connection), None);
    server.handle_datagram(connection, vec![1]);
}
