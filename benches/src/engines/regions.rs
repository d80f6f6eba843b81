//! Region matching: the scenarios of Lo, Chung and Pai, "Offloading Region Matching of
//! Data Distribution Management with CUDA" (section IV), larger ones, and scenarios that
//! are hard for some approach.

mod baseline;
mod figures;
mod measure;
mod options;
mod scenario;
mod subject;
mod tables;

use std::io::Write;

use anyhow::Context;

use crate::bench::Bench;
use crate::report::plot::Chart;
use crate::report::{Recorder, Report};
pub use options::{BackendName, Options, Suite};
pub use scenario::{Kind, Scenario};

/// Region matching. Fails where two ways find different pairs.
pub struct Regions;

impl Bench for Regions {
    const NAME: &'static str = NAME;
    const DRAWS: bool = true;

    type Options = Options;

    fn measure(options: &Options, recorder: &mut Recorder) -> anyhow::Result<()> {
        for scenario in options.scenarios() {
            let rows = measure::measure(&scenario, options);
            recorder.add(rows.with_context(|| format!("{scenario:?}"))?)?;
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

const NAME: &str = "regions";
