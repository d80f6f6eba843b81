//! A flash crowd: clients are spread over the map until half of them move into one area of
//! interest within five seconds of game time, and stay. Do GPUs share it?

use std::io::Write;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use gpu_kernels::{Frame, Observer, ObserverChange, Target, TickOutput};
use program::note;
use script::builtin;
use shared::world::mix::{Random, mix};
use shared::{ClientRow, EntityId, Fixed, Tick, WorldConfig};

use crate::report::markdown::{NOTHING, grouped, head, line, number, title};
use crate::report::{Report, Row, Sample};
use crate::tick::backends::{BASELINE, BackendOptions, Candidate};
use crate::tick::checks::ensure_nothing_dropped;
use crate::tick::fight::Delivered;

/// A row for each backend. Its last tick is run by the baseline, too, from the state before.
pub fn measure(
    clients: u32,
    visible_max: u32,
    options: &BackendOptions,
) -> anyhow::Result<Vec<Row>> {
    let config = config(clients, visible_max, options.run.seed())?;
    let mut rows: Vec<Row> = vec![];
    for candidate in options.named() {
        let run = run(&config, &candidate)?;
        let row = row(&config, &candidate, &run);
        if let Some(first) = rows.first() {
            ensure!(
                row.checksum == first.checksum,
                "{} and {} disagree after tick {TICKS}",
                row.backend,
                first.backend
            );
        }
        note!(
            "a flash of {clients} clients, {}: {:.3} ms{}",
            row.backend,
            row.total_ms,
            match row.float("imbalance") {
                Some(imbalance) => format!(", GPUs within {:.1} %", 100.0 * imbalance),
                None => String::new(),
            }
        );
        rows.push(row);
    }
    Ok(rows)
}

/// The ticks of a second, and what became of them.
pub fn write(report: &Report, out: &mut dyn Write) -> anyhow::Result<()> {
    for row in report.rows.iter().filter(|row| row.scenario == NAME) {
        let (clients, gpus) = (row.cell("clients"), row.whole("gpus").unwrap_or(1));
        title(out, "A flash crowd")?;
        writeln!(
            out,
            "{clients} clients, {} on {gpus}: half of them move into one area from second {} to \
             {}. Busy times of a tick by GPU in milliseconds, medians of a second, and by how much \
             the longest exceeds the mean; clients and deliveries by GPU in the last tick of a \
             second. {}\n",
            row.backend,
            RUSH_BEGIN / TICK_HZ,
            RUSH_END / TICK_HZ,
            report.origin()
        )?;
        head(
            out,
            &["second", "total", "busy", "excess", "clients", "deliveries"],
        )?;
        let list = |name: &str| row.params.get(name).and_then(|value| value.as_array());
        let of = |name: &str, second: usize| list(name).and_then(|all| all.get(second));
        for second in 0..(TICKS / TICK_HZ) as usize {
            let busy: Vec<f64> = floats(of("second_busy_ms", second));
            let cells = |name: &str| -> String {
                let all = floats(of(name, second));
                let all: Vec<String> = all.iter().map(|&n| grouped(n as u64)).collect();
                all.join(" + ")
            };
            let total = of("second_total_ms", second).and_then(|value| value.as_f64());
            let times: Vec<String> = busy.iter().map(|&ms| number(Some(ms))).collect();
            line(
                out,
                &[
                    (second + 1).to_string(),
                    number(total),
                    match times.is_empty() {
                        true => NOTHING.to_owned(),
                        false => times.join(" + "),
                    },
                    excess(&busy).map_or(NOTHING.to_owned(), |e| format!("{:.1} %", 100.0 * e)),
                    cells("second_clients"),
                    cells("second_deliveries"),
                ],
            )?;
        }
    }
    Ok(())
}

/// What a backend did.
struct Run {
    samples: Vec<Sample>,
    /// By tick, by GPU: how long it was busy. Empty on CPUs.
    busy: Vec<Vec<Duration>>,
    /// At the end of each second, by part: clients and deliveries.
    shares: Vec<Vec<(usize, usize)>>,
    state: u64,
    delivered: Delivered,
}

fn run(config: &WorldConfig, candidate: &Candidate) -> anyhow::Result<Run> {
    let mut backend = candidate.start(config)?;
    let mut frame = Frame::new(Tick(0));
    frame.populate(config);
    let births = backend.tick(&frame)?;
    let mut rush = Rush::after_births(config, &births)?;
    drop(births);
    let (mut samples, mut busy, mut shares) = (vec![], vec![], vec![]);
    let mut last: Option<Arc<TickOutput>> = None;
    for tick in 1..=TICKS {
        rush.fill(&mut frame, Tick(tick));
        // The baseline takes minutes for the whole of it.
        let before = match tick {
            TICKS => Some(backend.snapshot()?),
            _ => None,
        };
        drop(last.take());
        let begin = Instant::now();
        let output = backend.tick(&frame).context("the tick failed")?;
        samples.push(Sample::of(&output, begin.elapsed()));
        ensure_nothing_dropped(&output)?;
        busy.push(output.part_times.clone());
        if tick % TICK_HZ == 0 {
            shares.push(output.deliveries.shares().collect());
        }
        if let Some(before) = before {
            let mut baseline = BASELINE.start(config)?;
            baseline.restore(&before)?;
            let expected = baseline.tick(&frame)?;
            ensure!(
                expected.hash == output.hash && Delivered::by(&expected) == Delivered::by(&output),
                "{} and the baseline disagree on tick {tick}",
                candidate.name
            );
        }
        last = Some(output);
    }
    let last = last.context("no ticks")?;
    Ok(Run {
        samples,
        busy,
        shares,
        state: last.hash.combined(),
        delivered: Delivered::by(&last),
    })
}

fn row(config: &WorldConfig, candidate: &Candidate, run: &Run) -> Row {
    let settled = SETTLED as usize;
    let (name, approach) = (candidate.name, candidate.approach);
    let mut row = Row::of(NAME, name, approach, &run.samples[settled..]);
    row.put("clients", config.limits.clients);
    row.put("visible_max", config.schema.world.visible_max);
    row.put("threads", candidate.threads);
    if candidate.gpus > 1 {
        row.put("gpus", candidate.gpus);
    }
    row.put("deliveries", run.delivered.total());
    let milliseconds = |time: &Duration| (time.as_secs_f64() * 1e6).round() / 1e3;
    let busy: Vec<Vec<f64>> = (run.busy.iter())
        .map(|tick| tick.iter().map(milliseconds).collect())
        .collect();
    let seconds = || busy.chunks(TICK_HZ as usize);
    let second_busy: Vec<Vec<f64>> = seconds().map(medians).collect();
    let excesses: Vec<f64> = busy[settled..]
        .iter()
        .filter_map(|tick| excess(tick))
        .collect();
    if candidate.gpus > 1 {
        row.put("imbalance", excess(&medians(&busy[settled..])));
        row.put("imbalance_ticks_median", median(excesses.clone()));
        row.put(
            "imbalance_ticks_max",
            excesses.iter().copied().fold(0.0, f64::max),
        );
    }
    let totals: Vec<f64> = (run.samples.chunks(TICK_HZ as usize))
        .map(|second| median(second.iter().map(|s| milliseconds(&s.total)).collect()))
        .collect();
    row.put("second_total_ms", totals);
    row.put("second_busy_ms", lists(&second_busy));
    let shares = |of: fn(&(usize, usize)) -> usize| -> serde_json::Value {
        let by_second = run.shares.iter();
        let by_second = by_second.map(|second| second.iter().map(of).collect::<Vec<_>>());
        by_second.collect::<Vec<_>>().into()
    };
    row.put("second_clients", shares(|share| share.0));
    row.put("second_deliveries", shares(|share| share.1));
    row.put("tick_busy_ms", lists(&busy));
    row.work = run.delivered.total();
    row.checksum = format!("{:016x}", mix(run.state, run.delivered.sum));
    row
}

fn lists(all: &[Vec<f64>]) -> serde_json::Value {
    all.to_vec().into()
}

fn floats(value: Option<&serde_json::Value>) -> Vec<f64> {
    let all = value.and_then(|value| value.as_array());
    all.map_or(vec![], |all| {
        all.iter().filter_map(|n| n.as_f64()).collect()
    })
}

/// By GPU: the median over some ticks.
fn medians(ticks: &[Vec<f64>]) -> Vec<f64> {
    let gpus = ticks.first().map_or(0, Vec::len);
    let of = |gpu: usize| median(ticks.iter().map(|tick| tick[gpu]).collect());
    (0..gpus).map(of).collect()
}

fn median(mut all: Vec<f64>) -> f64 {
    all.sort_by(f64::total_cmp);
    all.get(all.len() / 2).copied().unwrap_or(0.0)
}

/// By how much the busiest of several exceeds their mean.
fn excess(busy: &[f64]) -> Option<f64> {
    let mean = busy.iter().sum::<f64>() / busy.len() as f64;
    let most = busy.iter().copied().fold(0.0, f64::max);
    (busy.len() > 1 && mean > 0.0).then(|| most / mean - 1.0)
}

/// Where all clients are, and where the second half of them moves to.
struct Rush {
    seed: u64,
    size: i32,
    entities: Vec<EntityId>,
    /// In raw units.
    positions: Vec<[i32; 2]>,
    /// By client from the second half on: its place in the crowd.
    places: Vec<[i32; 2]>,
}

impl Rush {
    fn after_births(config: &WorldConfig, births: &TickOutput) -> anyhow::Result<Rush> {
        let born = births.births.iter().filter_map(|birth| birth.entity);
        let entities: Vec<EntityId> = born.collect();
        let columns = config.schema.attributes.len();
        let rows = births.birth_rows.chunks_exact(columns);
        let positions: Vec<[i32; 2]> = rows.map(|row| [row[0], row[1]]).collect();
        ensure!(
            entities.len() == config.limits.clients as usize,
            "not all are born"
        );
        let size = config.size_raw()[0];
        // A square whose diagonal is within the radius of the area of interest.
        let edge = config.schema.world.aoi.raw() * 7 / 10;
        let place = |&entity: &EntityId| {
            let mut random = Random::new(config.seed, Tick(0), entity);
            [(); 2].map(|()| size / 2 - edge / 2 + random.below(edge as u32) as i32)
        };
        Ok(Rush {
            seed: config.seed,
            size,
            // The last half of the rows: cut evenly, the last GPU would serve all of it.
            places: entities[entities.len() / 2..].iter().map(place).collect(),
            entities,
            positions,
        })
    }

    fn fill(&mut self, frame: &mut Frame, tick: Tick) {
        frame.reset(tick);
        if tick == Tick(1) {
            for (client, &entity) in (0..).map(ClientRow).zip(&self.entities) {
                frame.observers.push(ObserverChange {
                    client,
                    index: 0,
                    observer: Some(Observer {
                        target: Target::Entity(entity),
                        radius: i32::MAX,
                    }),
                });
            }
        }
        let calm = self.entities.len() / 2;
        for (client, position) in self.positions.iter_mut().enumerate() {
            let entity = self.entities[client];
            let mut random = Random::new(self.seed, tick, entity);
            let place = client.checked_sub(calm).map(|i| self.places[i]);
            let step = match place {
                Some(place) if (RUSH_BEGIN..RUSH_END).contains(&tick.0) => {
                    let left = (RUSH_END - tick.0) as i32;
                    [0, 1].map(|axis| (place[axis] - position[axis]) / left)
                }
                // To and fro, so that all stay where they are.
                _ => position.map(|from| {
                    let length = 1 + random.below(Fixed::ONE.raw() as u32 / 4) as i32;
                    let step = if tick.0.is_multiple_of(2) {
                        length
                    } else {
                        -length
                    };
                    if (0..self.size).contains(&(from + step)) {
                        step
                    } else {
                        -step
                    }
                }),
            };
            frame.push(entity, tick.low(), builtin::MOVE, &step);
            *position = [position[0] + step[0], position[1] + step[1]];
        }
        frame.order(self.seed);
    }
}

/// As dense as a fight before the rush.
fn config(clients: u32, visible_max: u32, seed: u64) -> anyhow::Result<WorldConfig> {
    let side = (2500.0 * (f64::from(clients) / 524_288.0).sqrt())
        .ceil()
        .max(40.0);
    let text = format!(
        r#"
        [world]
        name = "flash"
        size = [{side}, {side}]
        aoi = 10
        capacity = {clients}
        seed = {seed}
        tick_hz = {TICK_HZ}
        visible_max = {visible_max}

        [limits]
        clients = {clients}
        deliveries_per_tick = {deliveries}

        # Across the map in the time of the rush.
        [commands]
        move = {{ speed_max = {side} }}

        [[kind]]
        name = "player"
        population = {clients}
        "#,
        deliveries = 2 * u64::from(clients) * u64::from(visible_max),
    );
    Ok(world_file::parse(&text, "the world of the flash crowd")?)
}

const NAME: &str = "crowd flash";
const TICK_HZ: u64 = 20;
const RUSH_BEGIN: u64 = 2 * TICK_HZ;
const RUSH_END: u64 = RUSH_BEGIN + 5 * TICK_HZ;
/// Two seconds later.
const SETTLED: u64 = RUSH_END + 2 * TICK_HZ;
const TICKS: u64 = SETTLED + 3 * TICK_HZ;
