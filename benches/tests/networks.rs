//! A short form of the matrix of bad networks: input gets through, and views are right.

use std::time::Duration;

use benches::transport::networks::{Options, Play, Suite, scenes};
use clap::{Args, Command, FromArgMatches};

fn options(line: &str) -> Options {
    let command = Options::augment_args(Command::new("networks").no_binary_name(true));
    let matches = command.get_matches_from(line.split_whitespace());
    Options::from_arg_matches(&matches).expect("options of the bench")
}

#[test]
fn nearly_every_tick_has_input_on_any_network_of_the_matrix() {
    for frame in [4, 16] {
        let line =
            format!("--hz 10,30,60,128 --suites matrix --short --seconds 12 --frame {frame}");
        for scene in scenes::of(&options(&line)) {
            let name = format!(
                "{} at {} Hz, frames of {frame} ms",
                scene.name, scene.play.tick_hz
            );
            let outcome = scene.play.run().expect(&name);
            let empty = outcome.empty_percent();
            assert!(
                empty < 2.0 + scene.inevitable_percent,
                "{name}: {outcome:?}"
            );
            assert_eq!((outcome.wrong, outcome.lost), (0, 0), "{name}: {outcome:?}");
        }
    }
}

#[test]
fn input_gets_through_again_soon_after_the_network_changes() {
    let line = "--hz 10,60 --suites changes --seconds 15";
    for scene in scenes::of(&options(line)) {
        let name = format!("{} at {} Hz", scene.name, scene.play.tick_hz);
        let outcome = scene.play.run().expect(&name);
        assert!(outcome.empty_percent() < 2.0, "{name}: {outcome:?}");
        assert_eq!((outcome.wrong, outcome.lost), (0, 0), "{name}: {outcome:?}");
        if scene.play.change.is_some() {
            // Single ticks later on are not what this is about.
            let recovery = outcome.recovery.expect(&name);
            assert!(recovery < Duration::from_secs(7), "{name}: {outcome:?}");
            assert!(outcome.empty_after_percent() < 2.0, "{name}: {outcome:?}");
        }
    }
}

#[test]
fn a_narrow_link_is_sent_less_and_keeps_its_player() {
    let line = "--hz 10,30,60,128 --suites links --seconds 20";
    for scene in scenes::of(&options(line)) {
        let name = format!("{} at {} Hz", scene.name, scene.play.tick_hz);
        let outcome = scene.play.run().expect(&name);
        assert_eq!((outcome.wrong, outcome.lost), (0, 0), "{name}: {outcome:?}");
        assert!(outcome.empty_percent() < 2.0, "{name}: {outcome:?}");
        assert!(outcome.empty_after_percent() < 2.0, "{name}: {outcome:?}");
        assert!(
            outcome.age_p99 < Duration::from_secs(1),
            "{name}: {outcome:?}"
        );
    }
}

#[test]
fn a_network_depends_on_its_seed_alone() {
    let play = |seed: u64| -> Play {
        let line = format!("--hz 30 --suites matrix --short --seconds 6 --seed {seed}");
        scenes::of(&options(&line)).pop().expect("a scene").play
    };
    let outcome = |seed| format!("{:?}", play(seed).run().expect("a play"));
    assert_eq!(outcome(1), outcome(1));
    assert_ne!(outcome(1), outcome(2));
    assert_eq!(options("").suites, Suite::ALL);
}
