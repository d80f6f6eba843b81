//! The effect of bad networks on a player: a server and a game in this process, in a time that is made,
//! with a network between them that is made by a seed.

mod play;
pub mod scenes;

use std::io::Write;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use anyhow::anyhow;
use clap::Args;

use crate::bench::Bench;
use crate::options::threads;
use crate::report::markdown::{head, line, number, rounded, title};
use crate::report::{Recorder, Report, Row};
pub use play::{Outcome, Play};
pub use scenes::{Scene, Suite};

/// The effect of bad networks on a player's input and view.
pub struct Networks;

/// The effect of bad networks on a player
///
/// One player gives a step for each tick, behind networks that delay, lose, hold back and
/// bound what is sent. Counted are the ticks in which none of its commands ran, and how old its
/// view is. The first row of each rate is the baseline: a network without faults. Time is made,
/// so the figures depend on the seed alone, and not on the machine.
#[derive(Args, Clone, Debug)]
pub struct Options {
    /// Networks to play on
    #[arg(long, value_enum, value_delimiter = ',', default_values_t = Suite::ALL)]
    pub suites: Vec<Suite>,
    /// Ticks a second
    #[arg(long, value_delimiter = ',', default_values_t = [10, 30, 60, 128], value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub hz: Vec<u32>,
    /// Seconds that each player plays, beside the first five
    #[arg(long, default_value = "25", value_name = "SECONDS", value_parser = clap::value_parser!(u32).range(5..=3600))]
    pub seconds: u32,
    /// Milliseconds from one frame of the game to the next
    #[arg(long, default_value = "4", value_name = "MS", value_parser = clap::value_parser!(u64).range(1..=1000))]
    pub frame: u64,
    /// A quarter of the matrix
    #[arg(long)]
    pub short: bool,
    /// Threads that play [default: one per core]
    #[arg(long, value_name = "N", value_parser = threads)]
    pub threads: Option<usize>,
    #[command(flatten)]
    pub random: crate::options::SeedOption,
}

impl Bench for Networks {
    const NAME: &'static str = NAME;

    type Options = Options;

    fn measure(options: &Options, recorder: &mut Recorder) -> anyhow::Result<()> {
        let scenes: Vec<Scene> = scenes::of(options);
        let cores = || std::thread::available_parallelism().map_or(1, |n| n.get());
        let threads = options.threads.unwrap_or_else(cores);
        let next = AtomicUsize::new(0);
        let rows = Mutex::new(vec![None; scenes.len()]);
        std::thread::scope(|scope| {
            for _ in 0..threads {
                scope.spawn(|| {
                    while let Some((number, scene)) = take(&next, &scenes) {
                        let row = measure(scene);
                        let mut rows = rows.lock().unwrap_or_else(|poison| poison.into_inner());
                        rows[number] = Some(row.map_err(|error| format!("{error:#}")));
                    }
                });
            }
        });
        let rows = rows
            .into_inner()
            .unwrap_or_else(|poison| poison.into_inner());
        for (scene, row) in scenes.iter().zip(rows) {
            let row = row.unwrap_or_else(|| Err("it was not played".to_owned()));
            recorder.add([row.map_err(|error| anyhow!("{}: {error}", scene.name))?])?;
        }
        Ok(())
    }

    fn tables(report: &Report, out: &mut dyn Write) -> anyhow::Result<()> {
        title(out, "Players on bad networks")?;
        head(out, &COLUMNS.map(|column| column.0))?;
        for row in report.rows.iter().filter(|row| row.scenario == NAME) {
            let cell = |(_, name): (&str, &str)| match name {
                "network" => row.approach.clone(),
                "recovery_s" | "empty_percent" | "inevitable_percent" => number(row.float(name)),
                _ => rounded(row.float(name)),
            };
            line(out, &COLUMNS.map(cell))?;
        }
        Ok(())
    }
}

/// Plays one scene, and gives its row.
pub fn measure(scene: &Scene) -> anyhow::Result<Row> {
    let begun = Instant::now();
    let outcome = scene.play.run()?;
    let mut row = Row::new(NAME, "cpu", &scene.name, [begun.elapsed()]);
    row.work = u64::from(outcome.ticks);
    let ms = |time: Duration| time.as_secs_f64() * 1000.0;
    row.put("tick_hz", scene.play.tick_hz);
    row.put("seed", scene.play.seed);
    row.put("empty_percent", outcome.empty_percent());
    if scene.play.change.is_some() {
        row.put("empty_after_percent", outcome.empty_after_percent());
    }
    row.put("inevitable_percent", scene.inevitable_percent);
    row.put("refused", outcome.refused);
    row.put("compared", outcome.compared);
    row.put("corrected", outcome.corrected);
    row.put("wrong", outcome.wrong);
    row.put("lost", outcome.lost);
    row.put("age_ms_p50", ms(outcome.age_p50));
    row.put("age_ms_p99", ms(outcome.age_p99));
    row.put("lead_ms", ms(outcome.lead));
    row.put("deferred", outcome.deferred);
    row.put("out_of_touch", outcome.out_of_touch);
    row.put("rate_down", outcome.rate_down);
    row.put("rate_up", outcome.rate_up);
    if scene.play.change.is_some() {
        // None within the time of the play counts as the worst.
        let seconds = f64::from(scene.play.seconds);
        let recovery = outcome.recovery.map_or(seconds, |r| r.as_secs_f64());
        row.put("recovery_s", recovery);
    }
    Ok(row)
}

fn take<'a>(next: &AtomicUsize, scenes: &'a [Scene]) -> Option<(usize, &'a Scene)> {
    let number = next.fetch_add(1, Ordering::Relaxed);
    Some((number, scenes.get(number)?))
}

/// Title, parameter.
const COLUMNS: [(&str, &str); 16] = [
    ("network", "network"),
    ("Hz", "tick_hz"),
    ("ticks without input, %", "empty_percent"),
    ("inevitable, %", "inevitable_percent"),
    ("recovery, s", "recovery_s"),
    ("refused", "refused"),
    ("corrections", "corrected"),
    ("wrong at rest", "wrong"),
    ("lost", "lost"),
    ("age p50, ms", "age_ms_p50"),
    ("age p99, ms", "age_ms_p99"),
    ("lead, ms", "lead_ms"),
    ("deferred", "deferred"),
    ("out of touch", "out_of_touch"),
    ("down, B/s", "rate_down"),
    ("up, B/s", "rate_up"),
];
const NAME: &str = "networks";
