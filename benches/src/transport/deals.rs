//! Deals from end to end: transfers by live clients, confirmed once they are on disk, beside the
//! same transfers in PostgreSQL.
//!
//! | module | holds |
//! | --- | --- |
//! | `world` | the accounts, and what is drawn of them |
//! | `dealers` | the clients |
//! | `audit` | the check of all accounts, by the journal |
//! | `postgres` | the same in a database |

mod audit;
mod dealers;
#[cfg(feature = "postgres")]
mod postgres;
mod world;

use std::io::Write;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use clap::{Args, value_parser};
use durability::level::Level;
use platform::metrics::steps::Step;
use program::note;
use server::host::DataOptions;
use server::{Server, ServerOptions};
use tick::backend::BackendOptions;

use super::cores::{self, Cores, stay_on};
use crate::bench::Bench;
use crate::options::threads;
use crate::report::markdown::{grouped, head, line, number, title};
use crate::report::{Recorder, Report, Row};
use dealers::Dealers;

/// Fails where an account is not as the journal says, or a transfer was confirmed and lost.
pub struct LiveDeals;

/// Transfers between accounts by live clients, and in PostgreSQL where it is installed
///
/// Each client keeps a number of transfers in flight, and counts one as confirmed once the server
/// has processed it and its journal is on disk. In the end each account is compared with what a loop
/// over the journal leaves there. A build without the feature `postgres` leaves PostgreSQL out.
#[derive(Args, Clone, Debug)]
pub struct Options {
    /// Connections
    #[arg(long, default_value = "50", value_name = "N", value_parser = value_parser!(u32).range(1..=4096))]
    connections: u32,
    /// Transfers that each connection has in flight
    #[arg(long, default_value = "80", value_name = "N", value_parser = value_parser!(u32).range(1..=80))]
    pipelined: u32,
    /// Accounts: one of each is an entity
    #[arg(long, default_value = "100000", value_name = "N", value_parser = value_parser!(u32).range(2..=1 << 22))]
    accounts: u32,
    /// Exponents of Zipf's law
    #[arg(
        long,
        default_value = "0,1.5",
        value_delimiter = ',',
        value_name = "LIST"
    )]
    zipf: Vec<f64>,
    /// Ticks a second
    #[arg(long, default_value = "250", value_name = "N", value_parser = value_parser!(u32).range(1..=1000))]
    tick_hz: u32,
    /// Seconds that are measured
    #[arg(long, default_value = "10", value_name = "SECONDS", value_parser = value_parser!(u32).range(1..=3600))]
    seconds: u32,
    /// Cores of the server, which shares them with the clients if these are all [default: half of them]
    #[arg(long, value_name = "N", value_parser = threads)]
    server_cores: Option<usize>,
    /// Folder for the journal and the database, each in a new folder within [default: that of the system]
    #[arg(long, value_name = "FOLDER")]
    folder: Option<PathBuf>,
    /// Leave PostgreSQL out
    #[arg(long)]
    no_postgres: bool,
    /// Seed of all random numbers
    #[arg(long, default_value = "1", value_name = "N")]
    seed: u64,
    #[command(flatten)]
    backend: BackendOptions,
}

impl Bench for LiveDeals {
    const NAME: &'static str = NAME;

    type Options = Options;

    fn measure(options: &Options, recorder: &mut Recorder) -> anyhow::Result<()> {
        for &zipf in &options.zipf {
            let measured =
                cores::shared(options.server_cores, |cores| options.measure(zipf, cores));
            recorder.add([measured.with_context(|| format!("Zipf {zipf}"))?])?;
            if !options.no_postgres {
                recorder.add(options.measure_postgres(zipf)?)?;
            }
        }
        Ok(())
    }

    fn tables(report: &Report, out: &mut dyn Write) -> anyhow::Result<()> {
        title(out, &format!("Deals from end to end on {}", report.place()))?;
        let columns = [
            "Zipf",
            "subject",
            "connections",
            "in flight, each",
            "ticks a second",
            "confirmed a second",
            "p50, ms",
            "p99, ms",
            "without effect, %",
        ];
        head(out, &columns)?;
        for row in report.rows.iter().filter(|row| row.scenario == NAME) {
            let cells = [
                row.text("zipf").unwrap_or_default().to_owned(),
                row.backend.clone(),
                row.cell("connections"),
                row.cell("pipelined"),
                number(row.float("tick_hz")),
                row.whole("confirmed_per_second")
                    .map_or(String::new(), grouped),
                number(row.float("latency_ms_p50")),
                number(row.float("latency_ms_p99")),
                number(row.float("refused_percent")),
            ];
            line(out, &cells)?;
        }
        Ok(())
    }
}

impl Options {
    /// Runs a server and its clients, and checks all accounts.
    fn measure(&self, zipf: f64, cores: &Cores) -> anyhow::Result<Row> {
        let folder = Scratch::new(self, "world")?;
        let world = world::config(self)?;
        stay_on(&cores.server)?;
        let server = Server::start(ServerOptions {
            backend: self.backend,
            shards: cores.server.len(),
            threads: cores.server.len(),
            data: Some(DataOptions {
                level: Level::Synced,
                keeps_all: true,
                ..DataOptions::new(&folder.0)
            }),
            ..ServerOptions::local(world.clone())
        })?;
        stay_on(&cores.bots)?;
        let pairs = world::Pairs::new(self, zipf);
        let dealers = Dealers::start(self, server.address(), &pairs, cores.bots.len())?;
        dealers.wait_for_all(&server)?;
        dealers.begin();
        std::thread::sleep(WARM_UP);
        server.stats().restart();
        let begun = (Instant::now(), dealers.confirmed());
        std::thread::sleep(Duration::from_secs(self.seconds.into()));
        let seconds = begun.0.elapsed().as_secs_f64();
        let confirmed = dealers.confirmed() - begun.1;
        let figures = server.stats().figures();
        let done = dealers.finish()?;
        let backend = server.backend();
        server.stop()?;
        let audit = audit::audit(&folder.0, &world)?;
        ensure!(
            audit.transfers == done.confirmed,
            "{} transfers are in the journal, {} were confirmed",
            audit.transfers,
            done.confirmed
        );
        let refused = done.refused as f64 / done.confirmed.max(1) as f64;
        let per_second = confirmed as f64 / seconds;
        note!("{NAME}, Zipf {zipf}, {backend}: {per_second:.0} transfers a second, all sums kept");
        let mut row = self.row(zipf, backend, &done.latencies);
        row.put("confirmed_per_second", per_second as u64);
        row.put("refused_percent", 100.0 * refused);
        row.put("tick_hz", figures.ticks as f64 / seconds);
        row.put("server_cores", cores.server.len());
        row.put("engine_ms_p50", figures.engine_ms(0.5));
        row.put("tick_ms_p50", figures.tick_ms(0.5));
        let steps = Step::ALL.map(|step| (step.name().to_owned(), figures.step_ms(step, 0.5)));
        row.stages_ms = steps.into();
        row.work = confirmed;
        Ok(row)
    }

    #[cfg(feature = "postgres")]
    fn measure_postgres(&self, zipf: f64) -> anyhow::Result<Option<Row>> {
        let folder = Scratch::new(self, "postgres")?;
        let Some(measured) = postgres::measure(self, zipf, &folder.0)? else {
            note!("{NAME}: PostgreSQL is not installed, and left out");
            return Ok(None);
        };
        let per_second = measured.confirmed as f64 / measured.seconds;
        note!("{NAME}, Zipf {zipf}, PostgreSQL: {per_second:.0} transfers a second");
        let mut row = self.row(zipf, "PostgreSQL", &measured.latencies);
        row.put("confirmed_per_second", per_second as u64);
        row.work = measured.confirmed;
        Ok(Some(row))
    }

    #[cfg(not(feature = "postgres"))]
    fn measure_postgres(&self, _: f64) -> anyhow::Result<Option<Row>> {
        note!("{NAME}: built without the feature `postgres`, so PostgreSQL is left out");
        Ok(None)
    }

    fn row(&self, zipf: f64, subject: &str, latencies: &Latencies) -> Row {
        let [p50, p99] = [0.5, 0.99].map(|quantile| latencies.quantile(quantile));
        let mut row = Row::new(NAME, subject, "live", [p50]);
        row.put("zipf", zipf.to_string());
        row.put("connections", self.connections);
        row.put("pipelined", self.pipelined);
        row.put("accounts", self.accounts);
        row.put("latency_ms_p50", p50.as_secs_f64() * 1e3);
        row.put("latency_ms_p99", p99.as_secs_f64() * 1e3);
        row
    }
}

/// How long confirmations took, and of how many transfers each.
#[derive(Default)]
struct Latencies(Vec<(Duration, u32)>);

impl Latencies {
    fn quantile(&self, quantile: f64) -> Duration {
        let mut sorted = self.0.clone();
        sorted.sort_unstable();
        let all: u64 = sorted.iter().map(|entry| u64::from(entry.1)).sum();
        let mut left = (all as f64 * quantile) as u64;
        let found = sorted.iter().find(|entry| {
            let is_it = left < u64::from(entry.1);
            left = left.saturating_sub(entry.1.into());
            is_it
        });
        found
            .or(sorted.last())
            .map_or(Duration::ZERO, |entry| entry.0)
    }
}

/// A new folder, which is removed in the end.
struct Scratch(PathBuf);

/// Of the folders of this process.
static COUNT: AtomicU32 = AtomicU32::new(0);

impl Scratch {
    fn new(options: &Options, name: &str) -> anyhow::Result<Scratch> {
        let within = options.folder.clone().unwrap_or_else(std::env::temp_dir);
        let (process, number) = (std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        let folder = within.join(format!("myriad-{NAME}-{name}-{process}-{number}"));
        std::fs::create_dir_all(&folder)
            .with_context(|| format!("cannot create {}", folder.display()))?;
        Ok(Scratch(folder))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

const NAME: &str = "deals-live";
const WARM_UP: Duration = Duration::from_secs(2);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_count_each_transfer() {
        let ms = Duration::from_millis;
        let latencies = Latencies(vec![(ms(9), 1), (ms(2), 98), (ms(3), 1)]);
        assert_eq!(latencies.quantile(0.5), ms(2));
        assert_eq!(latencies.quantile(0.98), ms(3));
        assert_eq!(latencies.quantile(0.99), ms(9));
        assert_eq!(Latencies::default().quantile(0.5), ms(0));
    }
}
