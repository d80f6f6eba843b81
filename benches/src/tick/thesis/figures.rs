//! The thesis's figures 4-1 to 4-6, and the steps and densities of tables 4-8 and
//! 4-12, as charts with ours beside its own.

use super::published::{self, Cell};
use super::results::{self, Column, Results, Setting};
use super::tables::{COMPLETE, COMPUTE, STEPS_PLACE, Time};
use crate::report::Report;
use crate::report::plot::{Axis, Chart, Point, Series};

/// All figures, each with the name of its file.
pub fn charts(report: &Report) -> Vec<(String, Chart)> {
    let results = Results::of(report);
    let mut charts = vec![];
    let mut add = |chart: Chart, name: String| charts.push((name + ".svg", chart));
    for (time, prefix) in [(&COMPLETE, "time"), (&COMPUTE, "computing")] {
        for place in results.places() {
            let chart = execution_time(&results, time, place);
            add(chart, format!("{prefix}-{}-aoi-{}", place.map, place.aoi));
        }
        // A ratio needs the baseline's time.
        if results.columns.iter().any(Column::is_baseline) {
            for engine in results.engines() {
                let name = format!("{prefix}-ratio-{}", file_name(engine));
                add(ratio(&results, time, engine), name);
            }
        }
    }
    for engine in results.engines() {
        if results.places().any(|place| place == STEPS_PLACE) {
            let name = format!("steps-{}", file_name(engine));
            add(steps(&results, engine), name);
        }
    }
    for group in results.places_of_equal_density() {
        let places = group.iter().map(|p| format!("{}-aoi-{}", p.map, p.aoi));
        let name = format!("density-{}", places.collect::<Vec<_>>().join("-"));
        add(equal_density(&results, &group), name);
    }
    charts
}

/// Figures 4-1, 4-2, 4-4 and 4-5, one for each AOI.
fn execution_time(results: &Results, time: &Time, place: Setting) -> Chart {
    let figure = time.number("Fig", time.figures, place.map);
    let published = |clients| (time.published)(place.map, place.aoi, clients);
    let mut series = vec![
        line(results, "thesis, CPU", |n| published(n)?.0).thin(),
        line(results, "thesis, GPU", |n| published(n)?.1).thin(),
    ];
    series.extend(results.columns.iter().map(|column| {
        let ours = |n| results.row(place, n, column).and_then(time.ours);
        line(results, &column.name(), ours)
    }));
    chart(
        format!("{figure}{}, {}", time.title, place.name()),
        MILLISECONDS,
        series,
    )
}

/// Figures 4-3 and 4-6. The thesis's ratios are those of its printed times.
fn ratio(results: &Results, time: &Time, engine: &Column) -> Chart {
    let published = |place: Setting, clients| {
        let (cpu, gpu): (Cell, Cell) = (time.published)(place.map, place.aoi, clients)?;
        Some(cpu? / gpu?)
    };
    let theirs = results.places().map(|place| {
        let name = format!("thesis, {}", place.name());
        line(results, &name, |n| published(place, n)).thin()
    });
    let ours = results.places().map(|place| {
        let name = format!("{}, {}", engine.name(), place.name());
        line(results, &name, |n| {
            results.ratio(time.ours, place, n, engine)
        })
    });
    let [.., figure] = time.figures;
    let only = time.title.trim_start_matches("execution time");
    chart(
        format!("Fig 4-{figure}: how many times as fast as one CPU thread{only}"),
        "ratio",
        theirs.chain(ours).collect(),
    )
}

/// Table 4-8, with our stages summed up to its steps.
fn steps(results: &Results, engine: &Column) -> Chart {
    type Of = fn(&published::Steps) -> f64;
    let steps: [(&str, Of, &[&str]); 4] = [
        ("upload", |s| s.upload, &["upload"]),
        ("bucket sorting", |s| s.bucket_sorting, &["index"]),
        (
            "logic processing",
            |s| s.logic_processing,
            &["due", "logic", "merge", "lifecycle", "interest"],
        ),
        ("download", |s| s.download, &["download"]),
    ];
    let place = STEPS_PLACE;
    let theirs = steps.iter().map(|&(step, of, _)| {
        let published = |n| published::steps(place.map, place.aoi, n).map(of);
        line(results, &format!("thesis, {step}"), published).thin()
    });
    let ours = steps.iter().map(|&(step, _, stages)| {
        let name = format!("{}, {step}", engine.name());
        line(results, &name, |n| {
            let row = results.row(place, n, engine)?;
            stages.iter().map(|&s| row.stages_ms.get(s)).sum()
        })
    });
    chart(
        format!("Table 4-8: the steps, {}", place.name()),
        MILLISECONDS,
        theirs.chain(ours).collect(),
    )
}

/// Table 4-12: lines of one kind coincide where a larger AOI costs nothing.
fn equal_density(results: &Results, places: &[Setting]) -> Chart {
    let mut series = vec![];
    for &place in places {
        let published = |clients| published::compute_times(place.map, place.aoi, clients);
        let name = place.name();
        series.push(
            line(results, &format!("thesis, CPU, {name}"), |n| {
                published(n)?.0
            })
            .thin(),
        );
        series.push(
            line(results, &format!("thesis, GPU, {name}"), |n| {
                published(n)?.1
            })
            .thin(),
        );
    }
    for column in &results.columns {
        series.extend(places.iter().map(|&place| {
            let name = format!("{}, {}", column.name(), place.name());
            line(results, &name, |n| {
                results::compute(results.row(place, n, column)?)
            })
        }));
    }
    chart(
        "Table 4-12: different AOIs, the same density, computing only".to_owned(),
        MILLISECONDS,
        series,
    )
}

/// A value for each number of clients.
fn line(results: &Results, name: &str, value: impl Fn(u32) -> Option<f64>) -> Series {
    let clients = results.clients.iter();
    let points = clients.map(|&n| (f64::from(n), value(n)));
    Series::new(name, points.collect::<Vec<Point>>())
}

/// Lines without a point are left out, such as those of the thesis for a scenario that
/// it does not have.
fn chart(title: String, y: &str, mut series: Vec<Series>) -> Chart {
    series.retain(|line| line.points.iter().any(|point| point.1.is_some()));
    Chart {
        title,
        x: Axis::log2("clients"),
        y: Axis::log10(y),
        series,
    }
}

fn file_name(column: &Column) -> String {
    column.name().replace(' ', "-")
}

const MILLISECONDS: &str = "time of a tick (ms)";
