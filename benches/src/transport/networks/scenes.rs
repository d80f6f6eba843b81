//! The networks on which a player plays.

use std::time::Duration;

use clap::ValueEnum;
use quic::Faults;
use quic::faults::{BUILT_IN, Network};

use super::Options;
use super::play::Play;

/// A play, and what it is called.
#[derive(Clone, Debug)]
pub struct Scene {
    pub name: String,
    pub play: Play,
    /// Ticks that stay without input since both of a command's first two datagrams are lost.
    pub inevitable_percent: f64,
}

/// Networks of one kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Suite {
    /// Round trip, jitter and loss, each way the same
    Matrix,
    /// Delays that change while the player plays, and ways that differ
    Changes,
    /// The built-in traces
    Traces,
    /// Links with little bandwidth
    Links,
}

impl Suite {
    pub const ALL: [Suite; 4] = [Suite::Matrix, Suite::Changes, Suite::Traces, Suite::Links];
}

/// All scenes of some options, the baseline of each rate first.
pub fn of(options: &Options) -> Vec<Scene> {
    let mut scenes = vec![];
    for &hz in &options.hz {
        let with = |name: &str, up, down| scene(options, hz, name.to_owned(), up, down);
        scenes.push(with(
            "no faults",
            steady(Faults::default()),
            steady(Faults::default()),
        ));
        for suite in &options.suites {
            match suite {
                Suite::Matrix => scenes.extend(matrix(options, hz)),
                Suite::Changes => scenes.extend(changes(options, hz)),
                Suite::Traces => scenes.extend(traces(options, hz)),
                Suite::Links => scenes.extend(links(options, hz)),
            }
        }
    }
    scenes
}

fn matrix(options: &Options, hz: u32) -> Vec<Scene> {
    let (round_trips, jitters, losses): (&[u64], &[u64], &[u32]) = match options.short {
        false => (
            &[0, 40, 100, 200, 400, 600, 800],
            &[0, 20, 40, 60, 80, 100],
            &[0, 1, 5],
        ),
        true => (&[0, 160, 600], &[0, 80], &[0, 5]),
    };
    let mut scenes = vec![];
    for &round_trip in round_trips {
        for &jitter in jitters {
            for &loss in losses {
                let faults = Faults {
                    delay: ms(round_trip) / 2,
                    jitter: ms(jitter),
                    loss: f64::from(loss) / 100.0,
                    ..Faults::default()
                };
                let name = format!("round trip {round_trip}, jitter {jitter}, loss {loss} %");
                let mut scene = scene(options, hz, name, steady(faults), steady(faults));
                // As every command is in the next datagram, too.
                scene.inevitable_percent = f64::from(loss * loss) / 100.0;
                scenes.push(scene);
            }
        }
    }
    scenes
}

fn changes(options: &Options, hz: u32) -> Vec<Scene> {
    let changed = |name: &str, up, down| {
        let mut scene = scene(options, hz, name.to_owned(), up, down);
        scene.play.change = Some((CHANGE, CHANGE));
        scene
    };
    let step = |before: Faults, after: Faults| vec![(Duration::ZERO, before), (CHANGE, after)];
    let both =
        |name: &str, changes: Vec<(Duration, Faults)>| changed(name, changes.clone(), changes);
    let wander: Vec<_> = (0..4 * (options.seconds + 5))
        .map(|quarter| {
            // To and fro between 20 and 220 ms within ten seconds, each way.
            let at = quarter % 40;
            let far = if at < 20 { at } else { 40 - at };
            (ms(250) * quarter, delayed(20 + 10 * u64::from(far), 10))
        })
        .collect();
    let gone = Faults {
        loss: 1.0,
        ..delayed(40, 10)
    };
    let hole = vec![
        (Duration::ZERO, delayed(40, 10)),
        (CHANGE - ms(2000), gone),
        (CHANGE, delayed(40, 10)),
    ];
    let bunched = Faults {
        bunch: ms(50),
        ..delayed(30, 5)
    };
    let steady_ones = [
        (
            "delay wanders from 20 to 220 each way",
            wander.clone(),
            wander,
        ),
        (
            "packets are held back for 50",
            steady(bunched),
            steady(bunched),
        ),
        (
            "10 up, 250 down",
            steady(delayed(10, 5)),
            steady(delayed(250, 5)),
        ),
        (
            "250 up, 10 down",
            steady(delayed(250, 5)),
            steady(delayed(10, 5)),
        ),
        (
            "jitter 80 up, none down",
            steady(delayed(20, 80)),
            steady(delayed(20, 0)),
        ),
        (
            "jitter 80 down, none up",
            steady(delayed(20, 0)),
            steady(delayed(20, 80)),
        ),
    ];
    let mut scenes = vec![
        both(
            "delay steps from 0 to 150 each way",
            step(delayed(0, 0), delayed(150, 0)),
        ),
        both(
            "delay steps from 0 to 300 each way",
            step(delayed(0, 0), delayed(300, 0)),
        ),
        both(
            "delay steps from 300 to 0 each way",
            step(delayed(300, 0), delayed(0, 0)),
        ),
        changed(
            "delay steps from 20 to 220 up",
            step(delayed(20, 10), delayed(220, 10)),
            steady(delayed(20, 10)),
        ),
        changed(
            "delay steps from 20 to 220 down",
            steady(delayed(20, 10)),
            step(delayed(20, 10), delayed(220, 10)),
        ),
        both("nothing for 2 s", hole),
    ];
    if let Some(hole) = scenes.last_mut() {
        hole.play.change = Some((CHANGE - ms(2000), CHANGE));
    }
    scenes
        .extend(steady_ones.map(|(name, up, down)| scene(options, hz, name.to_owned(), up, down)));
    scenes
}

fn traces(options: &Options, hz: u32) -> Vec<Scene> {
    let named = BUILT_IN.iter().filter_map(|(name, _)| {
        let network = Network::named(name).ok()?;
        let sampled = |path: &quic::faults::Path| {
            let span = u64::from(options.seconds) + 5;
            let at = (0..span * 100).map(|hundredth| ms(10 * hundredth));
            at.map(|at| (at, path.at(at))).collect()
        };
        let (up, down) = (sampled(&network.up), sampled(&network.down));
        Some(scene(options, hz, (*name).to_owned(), up, down))
    });
    named.collect()
}

fn links(options: &Options, hz: u32) -> Vec<Scene> {
    let before = delayed(30, 5);
    let narrow = |kbits: u32| {
        let narrow = Faults {
            rate: kbits * 125,
            buffer: ms(300),
            ..before
        };
        vec![(Duration::ZERO, before), (CHANGE, narrow)]
    };
    let scene = |name: String, up, down| {
        let mut scene = scene(options, hz, name, up, down);
        scene.play.change = Some((CHANGE, CHANGE));
        scene.play.crowd = 200;
        scene
    };
    let down = [256, 64, 16].map(|kbits| {
        let name = format!("{kbits} kbit/s down after 12 s");
        scene(name, steady(before), narrow(kbits))
    });
    let up = [64, 16].map(|kbits| {
        let name = format!("{kbits} kbit/s up after 12 s");
        scene(name, narrow(kbits), steady(before))
    });
    let both = [64, 16].map(|kbits| {
        let name = format!("{kbits} kbit/s each way after 12 s");
        scene(name, narrow(kbits), narrow(kbits))
    });
    down.into_iter().chain(up).chain(both).collect()
}

fn scene(
    options: &Options,
    hz: u32,
    name: String,
    up: Vec<(Duration, Faults)>,
    down: Vec<(Duration, Faults)>,
) -> Scene {
    Scene {
        name,
        play: Play {
            tick_hz: hz,
            up,
            down,
            frame: ms(options.frame),
            seconds: options.seconds + 5,
            change: None,
            crowd: 16,
            seed: options.random.seed,
        },
        inevitable_percent: 0.0,
    }
}

fn steady(faults: Faults) -> Vec<(Duration, Faults)> {
    vec![(Duration::ZERO, faults)]
}

fn delayed(delay: u64, jitter: u64) -> Faults {
    Faults {
        delay: ms(delay),
        jitter: ms(jitter),
        ..Faults::default()
    }
}

fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

/// When the network changes.
const CHANGE: Duration = Duration::from_secs(12);
