//! The thesis's tables as Markdown, with ours beside them.

use std::io::{self, Write};

use gpu_kernels::Stage;

use super::published::{self, Cell};
use super::results::{self, Column, Results, RowTime, Setting, param};
use crate::report::Report;
use crate::report::markdown::{NOTHING, grouped, head, line, number, rounded, title};

pub fn write(report: &Report, out: &mut dyn Write) -> io::Result<()> {
    let results = Results::of(report);
    writeln!(
        out,
        "Times in milliseconds, medians. CPU and GPU: the thesis, 2007. baseline: its CPU \
         implementation on one thread; the others: Myriad. {}",
        report.origin()
    )?;
    summary(&results, out)?;
    for time in [&COMPLETE, &COMPUTE] {
        for &map in &results.maps {
            execution_times(&results, time, map, out)?;
        }
        ratios(&results, time, out)?;
    }
    for group in results.places_of_equal_density() {
        equal_density(&results, &group, out)?;
    }
    for place in results.places() {
        for engine in results.engines() {
            stages(&results, place, engine, out)?;
        }
    }
    spread(&results, out)
}

/// Which time a table is about: the whole tick, or computing only.
pub struct Time {
    pub title: &'static str,
    /// The tables and figures of maps 2500 and 5000, and of the ratios, in chapter 4.
    pub numbers: [u32; 3],
    pub figures: [u32; 3],
    pub published: fn(u32, u32, u32) -> Option<(Cell, Cell)>,
    published_ratio: fn(u32, u32, u32) -> Option<Cell>,
    pub ours: RowTime,
}

pub const COMPLETE: Time = Time {
    title: "execution time",
    numbers: [5, 6, 7],
    figures: [1, 2, 3],
    published: published::times,
    published_ratio: published::ratio,
    ours: results::total,
};

/// Without upload and download.
pub const COMPUTE: Time = Time {
    title: "execution time, computing only",
    numbers: [9, 10, 11],
    figures: [4, 5, 6],
    published: published::compute_times,
    published_ratio: published::compute_ratio,
    ours: results::compute,
};

impl Time {
    /// "Table 4-5: ", or an empty text if the thesis has no such map.
    pub fn number(&self, what: &str, numbers: [u32; 3], map: u32) -> String {
        let index = [2500, 5000].iter().position(|&m| m == map);
        index.map_or(String::new(), |i| format!("{what} 4-{}: ", numbers[i]))
    }
}

/// The most important rows: small, middle and large in the first place, only large in
/// the others.
fn summary(results: &Results, out: &mut dyn Write) -> io::Result<()> {
    title(out, "In short")?;
    let fixed = [
        "clients",
        "map, AOI",
        "deliveries",
        "thesis, CPU",
        "thesis, GPU",
    ];
    let mut header = fixed.map(str::to_owned).to_vec();
    header.extend(results.columns.iter().map(Column::name));
    for engine in results.engines().filter(|e| e.backend != "cpu") {
        header.push(format!("{}, computing", engine.name()));
    }
    head(out, &header)?;
    for (i, place) in results.places().enumerate() {
        let measured = |clients: u32| {
            let mut columns = results.columns.iter();
            columns.find_map(|column| results.row(place, clients, column))
        };
        let counts = || {
            results
                .clients
                .iter()
                .copied()
                .filter(|&n| measured(n).is_some())
        };
        let largest = counts().max();
        let is_shown =
            |n: &u32| *n >= 524_288 || Some(*n) == largest || i == 0 && [4096, 65_536].contains(n);
        for clients in counts().filter(is_shown) {
            let published = published::times(place.map, place.aoi, clients);
            let theirs = |cell: Option<Cell>| match cell {
                Some(None) => "invalid".to_owned(),
                cell => rounded(cell.flatten()),
            };
            let mut cells = vec![
                grouped(u64::from(clients)),
                format!("{}², {}", place.map, place.aoi),
                measured(clients).map_or(NOTHING.to_owned(), |row| grouped(row.work)),
                theirs(published.map(|(cpu, _)| cpu)),
                theirs(published.map(|(_, gpu)| gpu)),
            ];
            let ours =
                |time: RowTime, column| rounded(results.row(place, clients, column).and_then(time));
            cells.extend(results.columns.iter().map(|c| ours(results::total, c)));
            let computing = results.engines().filter(|e| e.backend != "cpu");
            cells.extend(computing.map(|c| ours(results::compute, c)));
            line(out, &cells)?;
        }
    }
    Ok(())
}

/// Tables 4-5, 4-6, 4-9 and 4-10.
fn execution_times(
    results: &Results,
    time: &Time,
    map: u32,
    out: &mut dyn Write,
) -> io::Result<()> {
    let table = time.number("Table", time.numbers, map);
    title(out, &format!("{table}{}, map {map} x {map}", time.title))?;
    let places: Vec<Setting> = results
        .aois
        .iter()
        .map(|&aoi| Setting { map, aoi })
        .collect();
    times_of(
        results,
        time,
        &places,
        |place| format!("AOI {}", place.aoi),
        out,
    )
}

/// Table 4-12.
fn equal_density(results: &Results, places: &[Setting], out: &mut dyn Write) -> io::Result<()> {
    let is_published = |p: &Setting| published::times(p.map, p.aoi, 512).is_some();
    let number = match places.iter().all(is_published) {
        true => "Table 4-12: ",
        false => "",
    };
    title(
        out,
        &format!("{number}different AOIs with the same density of clients, computing only"),
    )?;
    times_of(results, &COMPUTE, places, Setting::name, out)
}

/// The thesis's times and ours, for each number of clients and each place.
fn times_of(
    results: &Results,
    time: &Time,
    places: &[Setting],
    name: impl Fn(&Setting) -> String,
    out: &mut dyn Write,
) -> io::Result<()> {
    let mut header = vec!["clients".to_owned()];
    for place in places {
        let measured = results.columns.iter().map(Column::name);
        let columns = ["CPU", "GPU"]
            .map(str::to_owned)
            .into_iter()
            .chain(measured);
        header.extend(columns.map(|column| format!("{}: {column}", name(place))));
    }
    head(out, &header)?;
    for &clients in &results.clients {
        let mut cells = vec![clients.to_string()];
        for &place in places {
            let published = (time.published)(place.map, place.aoi, clients);
            cells.push(theirs(published.map(|(cpu, _)| cpu)));
            cells.push(theirs(published.map(|(_, gpu)| gpu)));
            let columns = results.columns.iter();
            let ours = |c| results.row(place, clients, c).and_then(time.ours);
            cells.extend(columns.map(|c| number(ours(c))));
        }
        line_if_known(out, &cells)?;
    }
    Ok(())
}

/// Tables 4-7 and 4-11.
fn ratios(results: &Results, time: &Time, out: &mut dyn Write) -> io::Result<()> {
    let [.., table] = time.numbers;
    let only = time.title.trim_start_matches("execution time");
    title(
        out,
        &format!("Table 4-{table}: how many times as fast{only}"),
    )?;
    if table == 11 {
        writeln!(
            out,
            "At map 2500 the thesis's ratios, shown as printed, are higher than those of the \
             times in its table 4-9.\n"
        )?;
    }
    let mut header = vec!["clients".to_owned()];
    for place in results.places() {
        let name = place.name();
        header.push(format!("{name}: CPU / GPU"));
        let engines = results.engines().map(Column::name);
        header.extend(engines.map(|engine| format!("{name}: baseline / {engine}")));
    }
    head(out, &header)?;
    for &clients in &results.clients {
        let mut cells = vec![clients.to_string()];
        for place in results.places() {
            let printed = (time.published_ratio)(place.map, place.aoi, clients);
            cells.push(theirs(printed));
            let engines = results.engines();
            cells.extend(engines.map(|e| number(results.ratio(time.ours, place, clients, e))));
        }
        line_if_known(out, &cells)?;
    }
    Ok(())
}

/// Table 4-8, and the same table of other scenarios.
fn stages(
    results: &Results,
    place: Setting,
    engine: &Column,
    out: &mut dyn Write,
) -> io::Result<()> {
    let published = place == STEPS_PLACE;
    let number_of = if published { "Table 4-8: " } else { "" };
    title(
        out,
        &format!(
            "{number_of}the stages of {}, {}",
            engine.name(),
            place.name()
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
    for &clients in &results.clients {
        let mut cells = vec![clients.to_string()];
        if published {
            let steps = published::steps(place.map, place.aoi, clients);
            let cell = |of: fn(&published::Steps) -> f64| theirs(steps.map(|s| Some(of(s))));
            cells.push(cell(|s| s.upload));
            cells.push(cell(|s| s.bucket_sorting));
            cells.push(cell(|s| s.logic_processing));
            cells.push(cell(|s| s.download));
        }
        let row = results.row(place, clients, engine);
        for stage in Stage::ALL {
            cells.push(number(row.and_then(|row| row.stage(stage.name()))));
        }
        cells.push(row.map_or(NOTHING.to_owned(), |row| row.work.to_string()));
        line_if_known(out, &cells)?;
    }
    Ok(())
}

/// Mean and deviation of the samples.
fn spread(results: &Results, out: &mut dyn Write) -> io::Result<()> {
    title(out, "Spread")?;
    head(
        out,
        &[
            "map",
            "AOI",
            "clients",
            "backend",
            "output",
            "runs",
            "median",
            "mean",
            "deviation",
        ],
    )?;
    for row in &results.rows {
        let whole = |name| param(row, name).map_or(NOTHING.to_owned(), |n| n.to_string());
        let column = Column::of(row);
        let cells = [
            whole("map"),
            whole("aoi"),
            whole("clients"),
            column.backend,
            column.output,
            row.samples.to_string(),
            number(Some(row.total_ms)),
            number(Some(row.total_ms_mean)),
            number(Some(row.total_ms_deviation)),
        ];
        line(out, &cells)?;
    }
    Ok(())
}

/// A line, unless all its values are missing.
fn line_if_known(out: &mut dyn Write, cells: &[String]) -> io::Result<()> {
    let [_, values @ ..] = cells else {
        return Ok(());
    };
    match values.iter().all(|cell| cell == NOTHING) {
        true => Ok(()),
        false => line(out, cells),
    }
}

/// A cell of the thesis, which may not have the scenario.
fn theirs(cell: Option<Cell>) -> String {
    match cell {
        Some(None) => "INVALID".to_owned(),
        cell => number(cell.flatten()),
    }
}

/// The scenario of table 4-8.
pub const STEPS_PLACE: Setting = Setting { map: 2500, aoi: 10 };
