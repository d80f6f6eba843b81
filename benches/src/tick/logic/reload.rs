use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use gpu_kernels::logic::{CompiledLogic, LogicCompiler};
use program::note;
use script::logic::{compile_with, with_logic};
use shared::WorldConfig;
use shared::world::logic::{LogicConfig, Text};

use super::{Options, RELOADS};
use crate::report::{Row, Sample};
use crate::tick::backends::BASELINE;
use crate::tick::fight::{Arena, config};

/// A row for scripts that are compiled beside the world, and one for those that are
/// compiled on the spot.
pub fn measure(options: &Options) -> anyhow::Result<Vec<Row>> {
    let config = config(options.reload_clients, options.random.seed)?;
    let texts = (0..COMMANDS).map(|number| text(number, 0));
    let mut logic = config.logic.clone();
    logic.texts.extend(texts);
    let config = with_logic(&config, &logic).map_err(|problems| anyhow::anyhow!("{problems:?}"))?;

    let beside = beside(options, &config)?;
    let spot = on_the_spot(options, &config, &beside)?;
    for (i, (a, b)) in beside.hashes.iter().zip(&spot.hashes).enumerate() {
        ensure!(a == b, "the states differ after tick {}", i + 1);
    }
    Ok(vec![
        beside.row("compiled beside the world", options),
        spot.row("compiled on the spot", options),
    ])
}

/// The result of one run.
#[derive(Default)]
struct ReloadRun {
    /// Of ticks with the scripts of before, and of those with other ones.
    plain: Vec<Duration>,
    reloading: Vec<Duration>,
    /// From a changed text to the end of the first tick that it is in force in.
    until_in_force: Vec<Duration>,
    /// By tick: the scripts that came into force.
    logics: Vec<Option<LogicConfig>>,
    hashes: Vec<u64>,
}

/// The world ticks at its rate, while another thread compiles. A text changes once the last
/// change is in force.
fn beside(options: &Options, config: &WorldConfig) -> anyhow::Result<ReloadRun> {
    let mut arena = Arena::of(config, &BASELINE)?;
    let (texts, changed) = channel::<LogicConfig>();
    let (compiled, ready) = channel();
    let compiler = arena.backend.logic_compiler();
    let base = config.clone();
    let worker = thread::spawn(move || compile(compiler, base, changed, compiled));
    let mut played = ReloadRun::default();
    let period = Duration::from_secs(1) / options.tick_hz;
    let mut next = Instant::now();
    let mut change: Option<Instant> = None;
    while played.until_in_force.len() < options.reloads || played.plain.len() < TICKS_MIN {
        thread::sleep(next.saturating_duration_since(Instant::now()));
        next += period;
        let staged = match ready.try_recv() {
            Ok(compiled) => Some(compiled?),
            Err(_) => None,
        };
        let logic = staged.map(|compiled: CompiledLogic| {
            let logic = compiled.config.logic.clone();
            arena.backend.stage(compiled);
            logic
        });
        let time = played.tick(&mut arena, logic.as_ref())?;
        if logic.is_some()
            && let Some(changed) = change.take()
        {
            played.until_in_force.push(changed.elapsed());
        }
        let done = played.until_in_force.len();
        // The changes come at any time of a tick.
        if change.is_none() && done < options.reloads && played.plain.len() >= WARM_UP_TICKS {
            thread::sleep(period.saturating_sub(time) * (done as u32 % 8) / 8);
            change = Some(Instant::now());
            let mut logic = config.logic.clone();
            change_one(&mut logic, done + 1);
            texts.send(logic).context("the compiler ended")?;
        }
    }
    drop(texts);
    worker.join().ok().context("the compiler failed")?;
    Ok(played)
}

/// Compiles each change, beside the world.
fn compile(
    mut compiler: Box<dyn LogicCompiler>,
    mut config: WorldConfig,
    changed: Receiver<LogicConfig>,
    compiled: Sender<anyhow::Result<CompiledLogic>>,
) {
    for logic in changed {
        let result = compile_with(&config, &logic)
            .map_err(|problems| anyhow::anyhow!("{problems:?}"))
            .and_then(|(changed, logic)| {
                config = changed.clone();
                Ok(compiler.compile(changed, logic)?)
            });
        if compiled.send(result).is_err() {
            return;
        }
    }
}

/// The same ticks, with frames whose scripts were not handed over: the baseline.
fn on_the_spot(
    options: &Options,
    config: &WorldConfig,
    beside: &ReloadRun,
) -> anyhow::Result<ReloadRun> {
    let mut arena = Arena::of(config, &BASELINE)?;
    let mut played = ReloadRun::default();
    for logic in &beside.logics {
        let time = played.tick(&mut arena, logic.as_ref())?;
        if logic.is_some() {
            played.until_in_force.push(time);
        }
    }
    ensure!(played.reloading.len() == options.reloads);
    Ok(played)
}

impl ReloadRun {
    /// Runs a tick, with other scripts if there are some.
    fn tick(&mut self, arena: &mut Arena, logic: Option<&LogicConfig>) -> anyhow::Result<Duration> {
        let sample = arena.tick_with(logic)?;
        match logic {
            Some(_) => self.reloading.push(sample.total),
            None => self.plain.push(sample.total),
        }
        self.logics.push(logic.cloned());
        self.hashes.push(arena.output.hash.combined());
        Ok(sample.total)
    }

    fn row(&self, approach: &str, options: &Options) -> Row {
        let whole = |&total: &Duration| Sample::of_stage("tick", total);
        let samples: Vec<Sample> = self.plain.iter().skip(WARM_UP_TICKS).map(whole).collect();
        let mut row = Row::of(RELOADS, "cpu", approach, &samples);
        row.put("clients", options.reload_clients);
        row.put("commands", COMMANDS);
        row.put("reloads", self.reloading.len());
        row.put("tick_hz", options.tick_hz);
        let ms = |time: Duration| time.as_secs_f64() * 1e3;
        let most = |times: &[Duration]| times.iter().copied().max().unwrap_or_default();
        let median = |times: &[Duration]| {
            let mut times = times.to_vec();
            times.sort();
            times.get(times.len() / 2).copied().unwrap_or_default()
        };
        for (name, times) in [
            ("reloading_tick", &self.reloading[..]),
            ("in_force", &self.until_in_force[..]),
        ] {
            row.put(&format!("{name}_ms"), ms(median(times)));
            row.put(&format!("{name}_ms_max"), ms(most(times)));
        }
        let plain = &self.plain[WARM_UP_TICKS.min(self.plain.len())..];
        row.put("tick_ms_max", ms(most(plain)));
        row.work = self.reloading.len() as u64;
        row.checksum = format!("{:016x}", self.hashes.last().copied().unwrap_or_default());
        note!(
            "logic, {approach}: {:.1} ms until in force, {:.2} ms a tick, {:.2} ms one with other scripts",
            ms(median(&self.until_in_force)),
            row.total_ms,
            ms(median(&self.reloading)),
        );
        row
    }
}

/// The texts with one that differs from all before.
fn change_one(logic: &mut LogicConfig, change: usize) {
    let own = logic.texts.len() - COMMANDS;
    let number = change % COMMANDS;
    logic.texts[own + number] = text(number, change);
}

/// A text like that of a blow, with a number of its own.
fn text(number: usize, damage: usize) -> Text {
    let text = format!(
        "const REACH: Fixed = 10.0;
        #[command(clients)]
        fn blow_{number}(me: Entity, target: Entity) {{
            require(target != me && is_within(me, target, REACH));
            target.hp -= {damage};
            for other in near(target, 2.0) {{
                if other != me && other != target {{
                    other.hp -= {number} + random(0, 3);
                }}
            }}
        }}"
    );
    Text::new(format!("blow_{number}.rs"), text)
}

/// The commands of which one is changed.
const COMMANDS: usize = 32;
const WARM_UP_TICKS: usize = 4;
/// The fewest ticks without other scripts.
const TICKS_MIN: usize = 20;
