//! Deals: atomic commands that take from one entity and give to another, evenly spread or
//! contended, beside a loop of one thread over plain numbers.

use std::io::Write;
use std::time::{Duration, Instant};

use anyhow::{Context, anyhow, ensure};
use clap::{Args, value_parser};
use client_bot::note;
use gpu_kernels::{Backend, Frame};
use script::logic::with_logic;
use shared::world::logic::Text;
use shared::world::mix::Random;
use shared::{CommandKind, EntityId, Tick, WorldConfig};

use super::backends::{BackendOptions, Candidate};
use super::checks::ensure_same;
use crate::bench::Bench;
use crate::report::markdown::{head, line, number, title};
use crate::report::{Recorder, Report, Row, Sample};

/// Atomic commands. Fails where two backends disagree, or the state is another than that of
/// deals one after another.
pub struct Deals;

/// Atomic commands: each pays another entity what its own has, or nothing
///
/// All deals of a tick run as if one after another. Some are spread evenly, of some the payee is
/// drawn by a Zipf distribution, and some all take from one stall. There are no observers, so
/// that logic and atomic commands are measured; `serial` is a loop of one thread over a list of
/// numbers, which has no scripts, limits, changes or hashes.
#[derive(Args, Clone, Debug)]
pub struct Options {
    /// Deals of a tick that are spread evenly among as many entities
    #[arg(long, default_value = "1048576", value_name = "N", value_parser = value_parser!(u32).range(2..=1 << 22))]
    deals: u32,
    /// Timed ticks
    #[arg(long, default_value = "20", value_name = "N", value_parser = value_parser!(u32).range(1..=1000))]
    runs: u32,
    /// After so many ticks of the first scenario the sum of all that entities own is still the
    /// same; 0: this is not tried
    #[arg(long, default_value = "0", value_name = "N")]
    conserve: u32,
    #[command(flatten)]
    backends: BackendOptions,
}

/// Who deals with whom.
#[derive(Clone, Copy, Debug)]
struct Scenario {
    name: &'static str,
    deals: u32,
    entities: u32,
    payee: Payee,
}

#[derive(Clone, Copy, Debug)]
enum Payee {
    Even,
    /// By the exponent.
    Zipf(f64),
    /// All take from the first entity.
    Stall,
}

impl Bench for Deals {
    const NAME: &'static str = NAME;

    type Options = Options;

    fn measure(options: &Options, recorder: &mut Recorder) -> anyhow::Result<()> {
        let few = options.deals.min(4096);
        for scenario in [
            Scenario {
                name: "even",
                deals: options.deals,
                entities: options.deals,
                payee: Payee::Even,
            },
            Scenario {
                name: "few, even",
                deals: few,
                entities: options.deals,
                payee: Payee::Even,
            },
            Scenario {
                name: "Zipf 0.9",
                deals: options.deals.min(16_384),
                entities: options.deals,
                payee: Payee::Zipf(0.9),
            },
            Scenario {
                name: "one stall",
                deals: few,
                entities: options.deals,
                payee: Payee::Stall,
            },
        ] {
            let rows = measure(scenario, options).with_context(|| scenario.name)?;
            recorder.add(rows)?;
        }
        if options.conserve > 0 {
            conserve(options)?;
        }
        Ok(())
    }

    fn tables(report: &Report, out: &mut dyn Write) -> anyhow::Result<()> {
        title(out, "Deals")?;
        writeln!(
            out,
            "Times in milliseconds, medians of a tick; `merge` has the atomic commands. {}\n",
            report.origin()
        )?;
        let columns = ["scenario", "deals", "serial", "backend", "threads"];
        head(
            out,
            &[&columns[..], &["total", "merge", "million a second"]].concat(),
        )?;
        for row in &report.rows {
            let mut cells = columns[..2]
                .iter()
                .map(|name| row.cell(name))
                .collect::<Vec<_>>();
            cells.push(number(row.float("serial_ms")));
            cells.extend([row.backend.clone(), row.cell("threads")]);
            let merge = row.stage("merge");
            let rate = merge.map(|ms| row.work as f64 / ms / 1000.0);
            cells.extend([Some(row.total_ms), merge, rate].map(number));
            line(out, &cells)?;
        }
        Ok(())
    }
}

/// A row for each backend.
fn measure(scenario: Scenario, options: &Options) -> anyhow::Result<Vec<Row>> {
    let config = config(
        scenario.entities,
        scenario.deals,
        options.backends.run.seed(),
    )?;
    let (mut rows, mut expected) = (vec![], vec![]);
    for candidate in options.backends.named() {
        let mut arena = Arena::new(&config, &candidate)?;
        let (mut samples, mut hashes, mut serial) = (vec![], vec![], vec![]);
        for _ in 0..WARM_UP_TICKS + options.runs as usize {
            let (sample, hash, loop_time) = arena.tick(scenario)?;
            samples.push(sample);
            hashes.push(hash);
            serial.push(loop_time);
        }
        arena.check()?;
        ensure_same(&candidate, &hashes, &expected)?;
        serial.sort_unstable();
        let serial_ms = serial[serial.len() / 2].as_secs_f64() * 1000.0;
        let mut row = Row::of(
            NAME,
            candidate.name,
            candidate.approach,
            &samples[WARM_UP_TICKS..],
        );
        row.put("scenario", scenario.name);
        row.put("deals", scenario.deals);
        row.put("entities", scenario.entities);
        row.put("threads", candidate.threads);
        row.put("serial_ms", serial_ms);
        row.work = u64::from(scenario.deals);
        row.checksum = format!("{:016x}", hashes[hashes.len() - 1]);
        let merge = row.stage("merge").unwrap_or(0.0);
        note!(
            "{} deals, {}, {}: {:.3} ms, of these {merge:.3} for merge and deals; serial {serial_ms:.3}",
            scenario.deals,
            scenario.name,
            row.backend,
            row.total_ms
        );
        rows.push(row);
        expected = hashes;
    }
    Ok(rows)
}

/// Runs many ticks of deals, and fails if the sum of all that entities own has changed.
fn conserve(options: &Options) -> anyhow::Result<()> {
    let scenario = Scenario {
        name: "conserved",
        deals: options.deals,
        entities: options.deals / 4,
        payee: Payee::Zipf(0.4),
    };
    let config = config(
        scenario.entities,
        scenario.deals,
        options.backends.run.seed(),
    )?;
    for candidate in options.backends.named() {
        let mut arena = Arena::new(&config, &candidate)?;
        for tick in 0..options.conserve {
            arena.fill(scenario);
            let output = arena
                .backend
                .tick(&arena.frame)
                .context("the tick failed")?;
            arena.next = arena.next.next();
            if tick % 100 == 99 || tick + 1 == options.conserve {
                let left: u64 = arena.owned()?.into_iter().map(|gold| gold as u64).sum();
                let all = u64::from(scenario.entities) * u64::from(START);
                ensure!(left == all, "{left} of {all} are left after tick {tick}");
            }
            ensure!(output.counts.atomic_deferred == 0, "not all have a turn");
        }
        let deals = u64::from(options.conserve) * u64::from(scenario.deals);
        note!(
            "{}: after {deals} deals, all sums are as before",
            candidate.name
        );
    }
    Ok(())
}

/// A world of entities that deal, and what they own by the loop.
struct Arena {
    seed: u64,
    backend: Box<dyn Backend>,
    kind: CommandKind,
    entities: Vec<EntityId>,
    columns: usize,
    column: usize,
    gold: Vec<u32>,
    next: Tick,
    frame: Frame,
    /// By rank: the share of all up to it.
    shares: Vec<f64>,
}

impl Arena {
    fn new(config: &WorldConfig, candidate: &Candidate) -> anyhow::Result<Arena> {
        let mut backend = candidate.start(config)?;
        let mut frame = Frame::new(Tick(0));
        frame.populate(config);
        let births = backend.tick(&frame)?;
        let entities: Vec<EntityId> = births.births.iter().filter_map(|b| b.entity).collect();
        let column = config.schema.column("gold").context("there is gold")?;
        let pay = config.schema.commands.iter().find(|c| c.name == "pay");
        Ok(Arena {
            seed: config.seed,
            backend,
            kind: pay.context("there is the command")?.kind,
            gold: vec![START; entities.len()],
            entities,
            columns: config.schema.attributes.len(),
            column,
            next: Tick(1),
            frame,
            shares: vec![],
        })
    }

    /// The deals of a tick.
    fn fill(&mut self, scenario: Scenario) {
        let n = self.entities.len();
        if let Payee::Zipf(exponent) = scenario.payee
            && self.shares.is_empty()
        {
            let mut sum = 0.0;
            self.shares.extend((1..=n).map(|rank| {
                sum += (rank as f64).powf(-exponent);
                sum
            }));
        }
        self.frame.reset(self.next);
        let mut random = Random::new(self.seed, self.next, EntityId::NONE);
        for i in 0..scenario.deals {
            let payer = match scenario.deals as usize == n {
                true => i as usize,
                false => random.below(n as u32) as usize,
            };
            let other = match scenario.payee {
                Payee::Even => random.below(n as u32) as usize,
                Payee::Zipf(_) => {
                    let all = self.shares[n - 1];
                    let drawn = f64::from(random.below(1 << 24)) / f64::from(1 << 24) * all;
                    self.shares
                        .partition_point(|&share| share <= drawn)
                        .min(n - 1)
                }
                Payee::Stall => 0,
            };
            let words = [
                self.entities[other].reference().0,
                random.below(PRICE_MAX) as i32,
            ];
            self.frame.push(self.entities[payer], i, self.kind, &words);
        }
        self.frame.order(self.seed);
    }

    /// Runs a tick, and the same deals in a loop.
    fn tick(&mut self, scenario: Scenario) -> anyhow::Result<(Sample, u64, Duration)> {
        self.fill(scenario);
        self.next = self.next.next();
        let deals: Vec<(u32, u32, i32)> = (self.frame.commands.iter())
            .map(|command| {
                let words = self.frame.words_of(command);
                let other = shared::EntityRef(words[0]).slot().0;
                (command.entity.slot.0, other, words[1])
            })
            .collect();
        let begin = Instant::now();
        let output = self.backend.tick(&self.frame).context("the tick failed")?;
        let sample = Sample::of(&output, begin.elapsed());
        ensure!(output.counts.atomic_deferred == 0, "not all have a turn");
        let begin = Instant::now();
        for &(payer, payee, n) in &deals {
            let (payer, payee) = (payer as usize, payee as usize);
            if n > 0 && self.gold[payer] >= n as u32 {
                self.gold[payer] -= n as u32;
                self.gold[payee] += n as u32;
            }
        }
        Ok((sample, output.hash.combined(), begin.elapsed()))
    }

    /// What each entity owns, by slot.
    fn owned(&mut self) -> anyhow::Result<Vec<i32>> {
        let rows = self.backend.snapshot()?.rows;
        let rows = rows.chunks_exact(self.columns);
        Ok(rows.map(|row| row[self.column]).collect())
    }

    /// Fails unless the world is as the loop left the numbers.
    fn check(&mut self) -> anyhow::Result<()> {
        let owned = self.owned()?;
        let differs = |(have, want): (&i32, &u32)| *have as u32 != *want;
        match owned.iter().zip(&self.gold).position(differs) {
            None => Ok(()),
            Some(slot) => Err(anyhow!(
                "the entity in slot {slot} owns {}, {} by the loop",
                owned[slot],
                self.gold[slot]
            )),
        }
    }
}

fn config(entities: u32, deals: u32, seed: u64) -> anyhow::Result<WorldConfig> {
    let commands = entities.max(deals);
    let text = format!(
        r#"
        [world]
        name = "deals"
        size = [1000, 1000]
        aoi = 10
        capacity = {entities}
        seed = {seed}
        visible_max = 1

        [limits]
        clients = 1
        commands_per_tick = {commands}
        atomic_per_tick = {commands}
        deliveries_per_tick = 1

        [[kind]]
        name = "player"
        population = {entities}
        attributes = [
            {{ name = "gold", type = "i32", default = {START}, min = 0, max = 2000000000, audience = "state" }},
        ]
        "#
    );
    let config = world_file::parse(&text, "the world of deals")?;
    let mut logic = config.logic.clone();
    logic.texts.push(Text::new("deals.rs", DEAL.to_owned()));
    let with = with_logic(&config, &logic);
    with.map_err(|problems| anyhow!("{}", problems[0]))
}

const DEAL: &str = "
#[command(clients, atomic)]
fn pay(me: Entity, to: Entity, n: i32) {
    require(n > 0 && me.gold >= n);
    me.gold -= n;
    to.gold += n;
}
";

const NAME: &str = "deals";
const START: u32 = 100;
const PRICE_MAX: u32 = 50;
const WARM_UP_TICKS: usize = 3;
