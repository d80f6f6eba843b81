//! Ramps and waves: how many bots are in the world over time, as stages of a load test.

use std::str::FromStr;
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// Over so long a time, the number of bots goes evenly to this one. As text `30s:1000`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stage {
    pub time: Duration,
    pub bots: u32,
}

impl FromStr for Stage {
    type Err = String;

    fn from_str(text: &str) -> Result<Stage, String> {
        let stage = text.split_once(':').and_then(|(time, bots)| {
            let units = [("s", 1), ("m", 60), ("h", 3600)];
            let seconds = units.iter().find_map(|(unit, seconds)| {
                let number: u64 = time.strip_suffix(unit)?.parse().ok()?;
                number.checked_mul(*seconds)
            });
            let seconds = seconds.filter(|seconds| (1..=SECONDS_MAX).contains(seconds))?;
            let bots = bots.parse().ok().filter(|bots| *bots <= BOTS_MAX)?;
            Some(Stage {
                time: Duration::from_secs(seconds),
                bots,
            })
        });
        stage.ok_or_else(|| {
            format!(
                "{text:?} is no stage: expected TIME:BOTS such as `30s:1000`, `5m:1000` or `1h:0`, \
                 with at most {BOTS_MAX} bots and seven days"
            )
        })
    }
}

/// The most bots of some stages.
pub fn most(stages: &[Stage]) -> u32 {
    stages.iter().map(|stage| stage.bots).max().unwrap_or(0)
}

/// How long stages take.
pub fn length(stages: &[Stage]) -> Duration {
    stages.iter().map(|stage| stage.time).sum()
}

/// How many bots are wanted at a time after the beginning, at which there are none.
pub fn bots_at(stages: &[Stage], mut time: Duration) -> u32 {
    let mut before = 0;
    for stage in stages {
        if time < stage.time {
            let part = time.as_secs_f64() / stage.time.as_secs_f64();
            let way = f64::from(stage.bots) - f64::from(before);
            return (f64::from(before) + way * part).round() as u32;
        }
        time -= stage.time;
        before = stage.bots;
    }
    before
}

/// The part of one of several swarms: together they have all bots.
pub fn share(bots: u32, part: usize, parts: usize) -> u32 {
    let end = |part: usize| (u64::from(bots) * part as u64 / parts as u64) as u32;
    end(part + 1) - end(part)
}

const SECONDS_MAX: u64 = 7 * 24 * 3600;
const BOTS_MAX: u32 = 1_000_000;

#[cfg(test)]
mod tests {
    use super::*;

    fn seconds(seconds: f64) -> Duration {
        Duration::from_secs_f64(seconds)
    }

    #[test]
    fn the_number_of_bots_goes_evenly_from_stage_to_stage() {
        let stages = ["10s:100", "1m:100", "5s:40"].map(|text| text.parse().unwrap());
        let at = |time| bots_at(&stages, seconds(time));
        assert_eq!([at(0.0), at(2.5), at(9.99), at(10.0)], [0, 25, 100, 100]);
        assert_eq!([at(69.0), at(72.5), at(75.0), at(1e6)], [100, 70, 40, 40]);
        assert_eq!(length(&stages), seconds(75.0));
        assert_eq!(most(&stages), 100);
        assert_eq!(bots_at(&[], seconds(1.0)), 0);
    }

    #[test]
    fn shares_have_all_bots_and_differ_by_one_at_most() {
        for bots in [0, 1, 7, 1000, 1_000_000] {
            for parts in [1, 2, 3, 7] {
                let shares: Vec<u32> = (0..parts).map(|part| share(bots, part, parts)).collect();
                assert_eq!(shares.iter().sum::<u32>(), bots);
                let (least, most) = (shares.iter().min(), shares.iter().max());
                assert!(most.unwrap() - least.unwrap() <= 1, "{shares:?}");
            }
        }
    }

    #[test]
    fn what_is_no_stage_says_what_was_expected() {
        let wrong = [
            "",
            "30s",
            "30:10",
            "s:10",
            "0s:10",
            "30s:-1",
            "30s:1000001",
            "9h9:1",
            "169h:1",
        ];
        for text in wrong {
            let error = text.parse::<Stage>().unwrap_err();
            assert!(error.contains("expected TIME:BOTS"), "{error}");
        }
    }
}
