//! The measurements of Sang, Lee, Rego and King (2019, section 4) of discrete-event
//! simulation: a torus queueing network and PHOLD. The engine runs them in windows, the
//! baselines one event after another.

mod calendar;
mod cuda;
mod figures;
mod measure;
mod options;
mod published;
mod scenario;
mod tables;

use std::io::Write;

use anyhow::Context;

use crate::bench::Bench;
use crate::report::plot::Chart;
use crate::report::{Recorder, Report};
pub use options::{Options, Part};

/// Timed events. Fails where two backends end in different states.
pub struct Events;

impl Bench for Events {
    const NAME: &'static str = NAME;
    const DRAWS: bool = true;

    type Options = Options;

    fn measure(options: &Options, recorder: &mut Recorder) -> anyhow::Result<()> {
        for &part in &options.parts {
            let rows = match part {
                Part::Torus => measure::torus(options),
                Part::Phold => measure::phold(options),
                Part::Accuracy => measure::accuracy(options),
                Part::Errors => measure::causality_errors(options),
                Part::Selection => cuda::selection(options),
            };
            recorder.add(rows.with_context(|| format!("part {}", part.name()))?)?;
        }
        Ok(())
    }

    fn tables(report: &Report, out: &mut dyn Write) -> anyhow::Result<()> {
        Ok(tables::write(report, out)?)
    }

    fn charts(report: &Report) -> anyhow::Result<Vec<(String, Chart)>> {
        Ok(figures::charts(report))
    }
}

const NAME: &str = "events";
