//! The scenarios of Margara and Cugola's paper on content-based matching: its default
//! (Table 1), its times there (Table 2), and its sweeps (Figures 6 to 11), with a dense
//! scenario beside them.

mod baselines;
mod cuda;
mod figures;
mod matcher;
mod measure;
mod options;
mod scenario;
mod subject;
mod tables;
mod ways;
mod workload;

use std::io::Write;

use anyhow::Context;

use crate::bench::Bench;
use crate::report::plot::Chart;
use crate::report::{Recorder, Report};
pub use options::Options;
pub use scenario::Group;

/// Content matching. Fails where two ways find different subscribers.
pub struct Content;

impl Bench for Content {
    const NAME: &'static str = "content";
    const DRAWS: bool = true;

    type Options = Options;

    fn measure(options: &Options, recorder: &mut Recorder) -> anyhow::Result<()> {
        for &group in &options.groups {
            for scenario in group.scenarios() {
                let rows = measure::measure(&scenario, options)
                    .with_context(|| format!("{} at {}", group.name(), scenario.at))?;
                recorder.add(rows)?;
            }
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
