//! The thesis's tables as Markdown, with ours beside them.

use std::io::{self, Write};

use clap::ValueEnum;
use gpu_kernels::Stage;

use super::BackendName;
use super::published::{self, Cell};
use crate::report::{Report, Row};

pub fn write(report: &Report, out: &mut dyn Write) -> io::Result<()> {
    let tables = Tables {
        rows: &report.rows,
        maps: distinct(&report.rows, "map"),
        aois: distinct(&report.rows, "aoi"),
        clients: distinct(&report.rows, "clients"),
        backends: BackendName::value_variants()
            .iter()
            .copied()
            .filter(|b| report.rows.iter().any(|row| row.backend == b.name()))
            .collect(),
    };
    writeln!(
        out,
        "Times in milliseconds, medians. CPU and GPU: the thesis, 2007. baseline: its way on \
         one thread; cpu and cuda: Myriad. On {}{}, {}.",
        report.machine,
        report
            .gpu
            .as_ref()
            .map_or(String::new(), |gpu| format!(" and {gpu}")),
        report.date
    )?;
    for &map in &tables.maps {
        tables.execution_times(map, out)?;
    }
    tables.ratios(out)?;
    for &map in &tables.maps {
        for &aoi in &tables.aois {
            for engine in tables.engines() {
                tables.stages(map, aoi, engine, out)?;
            }
        }
    }
    tables.spread(out)
}

struct Tables<'a> {
    rows: &'a [Row],
    maps: Vec<u32>,
    aois: Vec<u32>,
    clients: Vec<u32>,
    /// Those that were measured.
    backends: Vec<BackendName>,
}

impl Tables<'_> {
    fn row(&self, map: u32, aoi: u32, clients: u32, backend: BackendName) -> Option<&Row> {
        self.rows.iter().find(|row| {
            row.backend == backend.name()
                && [("map", map), ("aoi", aoi), ("clients", clients)]
                    .iter()
                    .all(|&(name, value)| param(row, name) == Some(value))
        })
    }

    /// The measured backends of the engine.
    fn engines(&self) -> impl Iterator<Item = BackendName> + '_ {
        let engines = self.backends.iter().copied();
        engines.filter(|&b| b != BackendName::Baseline)
    }

    fn median(&self, map: u32, aoi: u32, clients: u32, backend: BackendName) -> Option<f64> {
        Some(self.row(map, aoi, clients, backend)?.total_ms)
    }

    /// Tables 4-5 and 4-6.
    fn execution_times(&self, map: u32, out: &mut dyn Write) -> io::Result<()> {
        let number = match map {
            2500 => "Table 4-5: ",
            5000 => "Table 4-6: ",
            _ => "",
        };
        title(out, &format!("{number}execution time, map {map} x {map}"))?;
        let mut header = vec!["clients".to_owned()];
        for aoi in &self.aois {
            let measured = self.backends.iter().map(|b| b.name());
            let columns = ["CPU", "GPU"].into_iter().chain(measured);
            header.extend(columns.map(|c| format!("AOI {aoi}: {c}")));
        }
        head(out, &header)?;
        for &clients in &self.clients {
            let mut cells = vec![clients.to_string()];
            for &aoi in &self.aois {
                let published = published::times(map, aoi, clients);
                cells.push(theirs(published.map(|(cpu, _)| cpu)));
                cells.push(theirs(published.map(|(_, gpu)| gpu)));
                for &backend in &self.backends {
                    cells.push(ours(self.median(map, aoi, clients, backend)));
                }
            }
            line(out, &cells)?;
        }
        Ok(())
    }

    /// Table 4-7.
    fn ratios(&self, out: &mut dyn Write) -> io::Result<()> {
        title(out, "Table 4-7: how many times as fast")?;
        let mut header = vec!["clients".to_owned()];
        for map in &self.maps {
            for aoi in &self.aois {
                header.push(format!("{map}, AOI {aoi}: CPU / GPU"));
                for engine in self.engines() {
                    let name = engine.name();
                    header.push(format!("{map}, AOI {aoi}: baseline / {name}"));
                }
            }
        }
        head(out, &header)?;
        for &clients in &self.clients {
            let mut cells = vec![clients.to_string()];
            for &map in &self.maps {
                for &aoi in &self.aois {
                    let median = |backend| self.median(map, aoi, clients, backend);
                    cells.push(theirs(published::ratio(map, aoi, clients)));
                    for engine in self.engines() {
                        let ratio = median(BackendName::Baseline)
                            .zip(median(engine))
                            .map(|(baseline, engine)| baseline / engine);
                        cells.push(ours(ratio));
                    }
                }
            }
            line(out, &cells)?;
        }
        Ok(())
    }

    /// Table 4-8, and its like for the other scenarios.
    fn stages(
        &self,
        map: u32,
        aoi: u32,
        engine: BackendName,
        out: &mut dyn Write,
    ) -> io::Result<()> {
        let published = (map, aoi) == (2500, 10);
        let number = if published { "Table 4-8: " } else { "" };
        title(
            out,
            &format!(
                "{number}the stages of {}, map {map} x {map}, AOI {aoi}",
                engine.name()
            ),
        )?;
        let mut header = vec!["clients".to_owned()];
        if published {
            let steps = ["upload", "bucket sorting", "logic processing", "download"];
            header.extend(steps.map(|step| format!("GPU: {step}")));
        }
        header.extend(Stage::ALL.map(|stage| stage.name().to_owned()));
        header.push("deliveries".to_owned());
        head(out, &header)?;
        for &clients in &self.clients {
            let mut cells = vec![clients.to_string()];
            if published {
                let steps = published::steps(map, aoi, clients);
                let cell = |of: fn(&published::Steps) -> f64| theirs(steps.map(|s| Some(of(s))));
                cells.push(cell(|s| s.upload));
                cells.push(cell(|s| s.bucket_sorting));
                cells.push(cell(|s| s.logic_processing));
                cells.push(cell(|s| s.download));
            }
            let row = self.row(map, aoi, clients, engine);
            for stage in Stage::ALL {
                let median = row.and_then(|row| row.stages_ms.get(stage.name()).copied());
                cells.push(ours(median));
            }
            cells.push(row.map_or(NOTHING.to_owned(), |row| row.work.to_string()));
            line(out, &cells)?;
        }
        Ok(())
    }

    /// How far the samples lie apart.
    fn spread(&self, out: &mut dyn Write) -> io::Result<()> {
        title(out, "Spread")?;
        let header = [
            "map",
            "AOI",
            "clients",
            "backend",
            "runs",
            "median",
            "mean",
            "deviation",
        ];
        head(out, &header.map(str::to_owned))?;
        for row in self.rows {
            let number = |name| param(row, name).map_or(NOTHING.to_owned(), |n| n.to_string());
            let total = row.total();
            let cells = [
                number("map"),
                number("aoi"),
                number("clients"),
                row.backend.clone(),
                row.samples.to_string(),
                ours(Some(total.median)),
                ours(Some(total.mean)),
                ours(Some(total.deviation)),
            ];
            line(out, &cells)?;
        }
        Ok(())
    }
}

fn param(row: &Row, name: &str) -> Option<u32> {
    row.params.get(name)?.as_u64().map(|value| value as u32)
}

/// A parameter's values, in the order in which they come.
fn distinct(rows: &[Row], name: &str) -> Vec<u32> {
    let mut values = vec![];
    for value in rows.iter().filter_map(|row| param(row, name)) {
        if !values.contains(&value) {
            values.push(value);
        }
    }
    values
}

fn title(out: &mut dyn Write, text: &str) -> io::Result<()> {
    writeln!(out, "\n### {text}\n")
}

fn head(out: &mut dyn Write, cells: &[String]) -> io::Result<()> {
    line(out, cells)?;
    writeln!(out, "|{}", " ---: |".repeat(cells.len()))
}

fn line(out: &mut dyn Write, cells: &[String]) -> io::Result<()> {
    writeln!(out, "| {} |", cells.join(" | "))
}

/// A cell of the thesis's, if it has the scenario at all.
fn theirs(cell: Option<Cell>) -> String {
    match cell {
        None => NOTHING.to_owned(),
        Some(None) => "INVALID".to_owned(),
        Some(Some(value)) => format!("{value:.3}"),
    }
}

fn ours(value: Option<f64>) -> String {
    value.map_or(NOTHING.to_owned(), |value| format!("{value:.3}"))
}

const NOTHING: &str = "-";
