//! Input over a network that delays and loses, to a server that the test plays.

use std::time::Duration;

use client_core::{Event, Game, GameOptions, RefusedRun, Step};
use shared::wire::control::Welcome;
use shared::wire::{codec, length};
use shared::{Refusal, Schema, Tick};

use crate::common::{OWN, Server, WELCOMED, welcome};

const TICK_HZ: u32 = 60;
const PERIOD: Duration = Duration::from_nanos(1_000_000_000 / TICK_HZ as u64);
const SECONDS: u64 = 60;

/// Datagrams on their way, by when they arrive.
type Words = Vec<(Duration, Vec<u8>)>;

/// A network in both directions, and what becomes of a game's input.
struct Play {
    seed: u64,
    delay: Duration,
    jitter: Duration,
    /// Of a hundred datagrams.
    lost: u64,
}

#[derive(Debug)]
struct Outcome {
    given: u32,
    /// Commands that the server ran, and those that ran later than they were meant to.
    ran: u32,
    late: u32,
    lead: Duration,
    /// Inputs for a tick that was over by the newest received tick.
    over: u32,
}

impl Play {
    fn run(&self) -> Outcome {
        let mut dice = self.seed;
        let mut random = |bound: u64| {
            dice = shared::world::mix::mix(dice, 1);
            (dice >> 33) % bound.max(1)
        };
        let schema = schema();
        let mut server = Server::of(&schema);
        let mut game = joined(&schema, 2 * self.delay);
        let step = schema.command_named("move").expect("this world has it");
        let (mut up, mut down): (Words, Words) = (vec![], vec![]);
        let mut tick = WELCOMED + 1;
        let arrival = |tick: u64| PERIOD * (tick - WELCOMED) as u32;
        let mut outcome = Outcome {
            given: 0,
            ran: 0,
            late: 0,
            lead: Duration::ZERO,
            over: 0,
        };
        let mut now = arrival(tick);
        let end = arrival(WELCOMED + SECONDS * u64::from(TICK_HZ));
        while now < end {
            now += Duration::from_millis(4);
            let mut way = |now: Duration| {
                let jitter = Duration::from_micros(random(self.jitter.as_micros() as u64));
                (random(100) >= self.lost).then_some(now + self.delay + jitter)
            };
            while arrival(tick) <= now {
                for (_, bytes) in up.extract_if(.., |word| word.0 <= arrival(tick)) {
                    server.apply(&bytes, tick);
                }
                // Each command's word is the tick that it was meant for.
                for words in server.run(tick).chunks(2) {
                    outcome.ran += 1;
                    let is_late = (words[0] as u64) < tick;
                    // The clock needs a few seconds.
                    outcome.late += u32::from(is_late && tick > 5 * u64::from(TICK_HZ));
                }
                let word = server.movement(tick, OWN.slot.0, 0);
                down.extend(way(arrival(tick)).map(|at| (at, word)));
                tick += 1;
            }
            for (_, word) in down.extract_if(.., |word| word.0 <= now) {
                game.handle_datagram(&word, now).unwrap();
            }
            game.poll(now);
            // No input at the end, so that the last of it arrives.
            if let Some(due) = game.input_due(now).filter(|_| now + 6 * self.delay < end) {
                game.command(step.kind, &[due.0 as i32, 0]).unwrap();
                outcome.given += 1;
                let newest = game.view().map(|view| view.newest());
                outcome.over += u32::from(newest.is_some_and(|newest| due <= newest));
            }
            if let Some(datagram) = game.datagram(now) {
                up.extend(way(now).map(|at| (at, datagram)));
            }
        }
        outcome.lead = game.clock().expect("it is welcomed").lead();
        outcome
    }
}

fn schema() -> Schema {
    let text = format!("[world]\ntick_hz = {TICK_HZ}");
    let config = world_file::parse(&text, "a test's world");
    config.expect("a valid world").schema
}

fn joined(schema: &Schema, round_trip: Duration) -> Game {
    let mut game = Game::new(GameOptions::default());
    assert_eq!(game.next_step(Duration::ZERO), Step::Connect);
    game.opened(Some(round_trip));
    let body = codec::to_bytes(&Welcome {
        schema: schema.clone(),
        ..welcome()
    });
    let mut bytes = vec![];
    length::put(body.len(), &mut bytes);
    bytes.extend(body);
    game.handle_stream(&bytes, Duration::ZERO).unwrap();
    game
}

#[test]
fn no_input_is_lost_at_sixty_ticks_a_second_and_a_delay_of_half_a_second() {
    for seed in 1..6 {
        let outcome = Play {
            seed,
            delay: Duration::from_millis(500),
            jitter: Duration::from_millis(30),
            lost: 5,
        }
        .run();
        assert!(outcome.given > 3000, "seed {seed}: {outcome:?}");
        assert_eq!(outcome.ran, outcome.given, "seed {seed}: {outcome:?}");
    }
}

#[test]
fn input_is_for_ticks_to_come_from_the_first_on() {
    for delay_ms in [1, 20, 70, 200] {
        let outcome = Play {
            seed: 1,
            delay: Duration::from_millis(delay_ms),
            jitter: Duration::ZERO,
            lost: 0,
        }
        .run();
        assert_eq!(outcome.over, 0, "{delay_ms} ms: {outcome:?}");
        assert_eq!(outcome.ran, outcome.given, "{delay_ms} ms: {outcome:?}");
    }
}

#[test]
fn a_busy_server_is_given_little_input_and_none_twice() {
    let schema = schema();
    let mut server = Server::of(&schema);
    server.send_every = 9;
    let step = schema.command_named("move").expect("this world has it");
    let mut game = joined(&schema, Duration::ZERO);
    let (mut given, mut meant) = (0, vec![]);
    // A word each tenth tick, and 240 frames a second.
    for frame in 0..2400 {
        let now = Duration::from_secs(1) * (80 + frame) / 240;
        if frame % 40 == 0 {
            let word = server.movement(20 + u64::from(frame / 4), OWN.slot.0, 0);
            game.handle_datagram(&word, now).unwrap();
        }
        game.poll(now);
        if let Some(due) = game.input_due(now) {
            game.command(step.kind, &[1, 0]).unwrap();
            given += 1;
            meant.push(due);
            assert!(game.datagram(now).is_some(), "what is due can be sent");
        }
    }
    assert!(meant.is_sorted_by(|a, b| a < b), "{meant:?}");
    // One for each of 60 datagrams.
    assert!((58..=62).contains(&given), "{given}");
}

#[test]
fn input_comes_in_time_although_datagrams_are_lost() {
    for (seed, lost, late_max) in [(1, 0, 1), (2, 1, 2), (3, 5, 3)] {
        let outcome = Play {
            seed,
            delay: Duration::from_millis(40),
            jitter: Duration::from_millis(10),
            lost,
        }
        .run();
        assert_eq!(outcome.ran, outcome.given, "seed {seed}: {outcome:?}");
        // In percent.
        assert!(
            outcome.late * 100 <= outcome.given * late_max,
            "seed {seed}: {outcome:?}"
        );
        // Both ways with their jitter, and two ticks and a half.
        let most = Duration::from_millis(100) + PERIOD * 5 / 2;
        assert!(outcome.lead < most, "seed {seed}: {outcome:?}");
    }
}

#[test]
fn a_game_learns_which_commands_had_no_effect() {
    let schema = schema();
    let server = Server::of(&schema);
    let mut game = joined(&schema, Duration::ZERO);
    let step = schema.command_named("move").expect("this world has it");
    for _ in 0..3 {
        game.command(step.kind, &[1, 0]).unwrap();
    }
    game.poll(PERIOD);
    let refused = server.frame(12, |stream, writer| {
        stream.refused(writer, 2, 2, (Refusal::OverQuota, None));
    });
    game.handle_stream(&refused, PERIOD).unwrap();
    let commands = RefusedRun {
        first: 2,
        count: 2,
        reason: Refusal::OverQuota,
        because: None,
    };
    let tick = Tick(12);
    assert_eq!(game.poll(PERIOD), [Event::Refused { tick, commands }]);
}
