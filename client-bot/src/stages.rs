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
fn bots_at(stages: &[Stage], mut time: Duration) -> u32 {
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

/// Stages as a load test follows them. It waits for the number with which each stage ends, for up to
/// a second: on a busy machine no wave loses its crest.
#[derive(Debug)]
pub struct Ramp<'a> {
    stages: &'a [Stage],
    /// How many of them are done.
    done: usize,
}

impl Ramp<'_> {
    pub fn new(stages: &[Stage]) -> Ramp<'_> {
        Ramp { stages, done: 0 }
    }

    /// How many bots are wanted at a time.
    pub fn wanted(&self, time: Duration) -> u32 {
        let ended = self.ended(time).map(|(_, bots)| bots);
        ended.unwrap_or_else(|| bots_at(self.stages, time))
    }

    /// So many bots are there.
    pub fn note(&mut self, present: u64, time: Duration) {
        let ended = self.ended(time);
        let is_done = |(end, bots)| present == u64::from(bots) || time >= end + STAGE_WAIT;
        self.done += usize::from(ended.is_some_and(is_done));
    }

    /// Whether it waits for the bots of a stage that has ended.
    pub fn is_behind(&self, time: Duration) -> bool {
        self.ended(time).is_some()
    }

    /// The end of the first stage that is not done, and its number of bots, if it has ended.
    fn ended(&self, time: Duration) -> Option<(Duration, u32)> {
        let stage = self.stages.get(self.done)?;
        let end = length(&self.stages[..=self.done]);
        (end <= time).then_some((end, stage.bots))
    }
}

/// The part of one of several swarms: together they have all bots.
pub fn share(bots: u32, part: usize, parts: usize) -> u32 {
    let end = |part: usize| (u64::from(bots) * part as u64 / parts as u64) as u32;
    end(part + 1) - end(part)
}

/// How long the bots of a stage may take to come or go after its end.
const STAGE_WAIT: Duration = Duration::from_secs(1);
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
    fn a_stage_ends_once_its_bots_are_there_or_have_had_their_time() {
        let stages = ["10s:100", "1m:100", "5s:40"].map(|text| text.parse().unwrap());
        let mut ramp = Ramp::new(&stages);
        let mut at = |time, present| {
            let wanted = ramp.wanted(seconds(time));
            ramp.note(present, seconds(time));
            (wanted, ramp.is_behind(seconds(time)))
        };
        assert_eq!(at(2.5, 25), (25, false));
        assert_eq!(at(9.5, 90), (95, false));
        // Nobody looked for a moment.
        assert_eq!(at(10.5, 95), (100, true));
        assert_eq!(at(10.6, 100), (100, false));
        assert_eq!(at(70.1, 100), (100, false));
        assert_eq!(at(72.5, 90), (70, false));
        assert_eq!(at(75.0, 45), (40, true));
        assert_eq!(at(75.9, 45), (40, true));
        assert_eq!(at(76.0, 45), (40, false));
        assert_eq!(at(80.0, 40), (40, false));
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
