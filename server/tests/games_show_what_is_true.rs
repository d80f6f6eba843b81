//! A game over a bad network shows its own entity as the server will have it, and
//! others where they were.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use client_bot::client_core::{DatagramSummary, EventHandler, GameOptions, Movement};
use client_bot::{GameClient, View};
use quic::Faults;
use script::builtin;
use server::Server;
use shared::{EntityId, Fixed};

use crate::common::{DEADLINE, Player, start, trust, units};

/// All see all, and no player reaches an edge.
const FIELD: &str = "
    [world]
    size = [400, 400]
    aoi = 400
    capacity = 32
    tick_hz = 20

    [[kind]]
    name = 'player'
    spawn = { area = [[150, 150], [250, 250]] }

    # Late steps are made up for.
    [commands]
    move.per_tick = 0
";
const WALKERS: usize = 5;
/// Along each axis, in each tick.
const STEP: f64 = 0.5;
const FRAME: Duration = Duration::from_millis(10);
const TICKS: u32 = 300;
/// On average. Between a turn and its word that was lost, others are shown off their way.
const STEPS_PER_TURN: u32 = 30;

/// All positions in each tick, as received by a client without faults.
#[derive(Default)]
struct Witness {
    places: HashMap<(EntityId, u64), [f64; 3]>,
}

impl EventHandler for Witness {
    fn datagram(&mut self, view: &View, summary: DatagramSummary, _: &Movement) {
        if summary.is_complete && summary.tick == view.newest() {
            for entity in view.entities().values() {
                let place = view.position(entity, summary.tick).map(in_units);
                self.places.insert((entity.id, summary.tick.0), place);
            }
        }
    }
}

impl Witness {
    /// Where an entity was in a tick and a share of the next, if both are known.
    fn place(&self, entity: EntityId, tick: f64) -> Option<[f64; 3]> {
        let whole = tick.floor() as u64;
        let start = self.places.get(&(entity, whole))?;
        let end = self.places.get(&(entity, whole + 1))?;
        let share = tick - whole as f64;
        Some([0, 1, 2].map(|i| start[i] + (end[i] - start[i]) * share))
    }
}

/// A game of a player that walks straight on, and turns now and then.
struct Walker {
    client: GameClient,
    dice: u64,
    direction: [f64; 2],
    moves: u32,
}

impl Walker {
    fn new(server: &Server, number: u64, faults: Faults) -> Walker {
        let options = GameOptions::default();
        let trust = trust(server);
        let client = GameClient::new(server.address(), "localhost", &trust, options);
        let mut client = client.expect("a socket");
        client.set_faults(faults, SEED + number);
        Walker {
            client,
            dice: SEED + number,
            direction: [STEP, 0.0],
            moves: 0,
        }
    }

    fn entity(&self) -> Option<EntityId> {
        self.client.view()?.own().map(|own| own.id)
    }

    /// One frame of its game.
    fn frame(&mut self) {
        self.client.poll();
        if self.entity().is_some() && self.client.input_due().is_some() {
            if self.below(STEPS_PER_TURN) == 0 {
                let along = |number| (f64::from(number) - 1.0) * STEP;
                self.direction = [self.below(3), self.below(3)].map(along);
            }
            let words = self.direction.map(units);
            let sent = self.client.command(builtin::MOVE, &words);
            sent.expect("this world has it");
            self.moves += 1;
        }
        self.client.flush();
    }

    fn below(&mut self, bound: u32) -> u32 {
        self.dice = shared::world::mix::mix(self.dice, 1);
        (self.dice >> 40) as u32 % bound
    }
}

#[tokio::test]
async fn own_motion_is_foreseen_and_that_of_others_is_shown_over_a_network_that_loses() {
    let server = start(FIELD);
    let faults = Faults {
        loss: 0.05,
        delay: Duration::from_millis(40),
        jitter: Duration::from_millis(20),
        ..Faults::default()
    };
    let walkers = (0..WALKERS as u64).map(|number| Walker::new(&server, number, faults));
    let mut walkers: Vec<Walker> = walkers.collect();
    let mut watcher = Player::join(&server).await;
    let mut witness = Witness::default();
    // (entity, tick that was shown, place)
    let mut shown: Vec<(EntityId, f64, [f64; 3])> = vec![];
    let mut settled = None;
    let started = Instant::now();
    loop {
        let frame = Instant::now();
        // The server has something to say to the watcher in each tick.
        let _ = watcher.client.command(builtin::MOVE, &[0, 0]);
        watcher.client.flush();
        while frame.elapsed() < FRAME {
            let left = FRAME.saturating_sub(frame.elapsed());
            let received = tokio::time::timeout(left, watcher.client.receive(&mut witness));
            if let Ok(received) = received.await {
                received.expect("the watcher stays connected");
            }
        }
        walkers.iter_mut().for_each(Walker::frame);
        let newest = watcher.client.view().newest().0;
        let all_see_all = |w: &Walker| {
            w.client
                .view()
                .is_some_and(|v| v.entities().len() > WALKERS)
        };
        if settled.is_none() && walkers.iter().all(all_see_all) {
            settled = Some(newest);
        }
        let ticks = settled.map_or(0, |since| newest - since);
        // The clocks of the games have to settle, too.
        if ticks > 60 {
            walkers.iter().for_each(|w| note(w, &mut shown));
        }
        if ticks > u64::from(TICKS) {
            break;
        }
        assert!(started.elapsed() < DEADLINE * 2, "the world stands still");
    }

    for (number, walker) in walkers.iter().enumerate() {
        let prediction = walker.client.game().prediction().expect("it plays");
        let corrections = prediction.corrections();
        assert!(walker.moves > TICKS / 2, "walker {number} hardly walks");
        assert!(
            corrections.compared > 50,
            "walker {number}: {corrections:?}"
        );
        assert_eq!(
            corrections.corrected, 0,
            "seed {SEED}, {number}: {corrections:?}"
        );
    }
    let off = shown.iter().filter_map(|&(entity, tick, place)| {
        let truth = witness.place(entity, tick)?;
        Some(distance(place, truth))
    });
    let mut off: Vec<f64> = off.collect();
    off.sort_by(f64::total_cmp);
    assert!(off.len() > 1000, "{} frames", off.len());
    let step = STEP * 2f64.sqrt();
    let most = off[off.len() * 99 / 100];
    assert!(
        most <= step,
        "seed {SEED}: 1 of 100 frames is off by {most}"
    );
    for walker in walkers {
        walker.client.leave();
    }
    server.stop().unwrap();
}

/// Notes the others as a walker's game shows them.
fn note(walker: &Walker, shown: &mut Vec<(EntityId, f64, [f64; 3])>) {
    let game = walker.client.game();
    let (Some(view), Some(tick)) = (game.view(), game.scene().and_then(|s| s.shown_tick())) else {
        return;
    };
    for other in view.entities().values().filter(|e| e.id != view.entity()) {
        if let Some(place) = game.position(other.id) {
            shown.push((other.id, tick, place));
        }
    }
}

fn in_units(raw: i32) -> f64 {
    f64::from(raw) / f64::from(Fixed::ONE.raw())
}

fn distance(a: [f64; 3], b: [f64; 3]) -> f64 {
    let squares = [0, 1, 2].map(|i| (a[i] - b[i]).powi(2));
    squares.iter().sum::<f64>().sqrt()
}

const SEED: u64 = 4;
