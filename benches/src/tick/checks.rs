//! Checks that fail a bench of the tick.

use std::fmt::Debug;

use anyhow::ensure;
use gpu_kernels::TickOutput;

use super::backends::Candidate;

/// Fails if the tick dropped something: it did less work than the bench measures.
pub fn ensure_nothing_dropped(output: &TickOutput) -> anyhow::Result<()> {
    let counts = &output.counts;
    let dropped = counts.deliveries_dropped + counts.updates_dropped + counts.commands_dropped;
    ensure!(dropped == 0, "something was dropped: {counts:?}");
    Ok(())
}

/// Fails if a candidate's results differ from those of the first one, usually the baseline,
/// after any tick that both ran. Results are those of consecutive ticks, from tick 1.
pub fn ensure_same<T: PartialEq + Debug>(
    candidate: &Candidate,
    found: &[T],
    expected: &[T],
) -> anyhow::Result<()> {
    for (i, (found, expected)) in found.iter().zip(expected).enumerate() {
        ensure!(
            found == expected,
            "after tick {}, {} has {found:x?} where the first backend has {expected:x?}",
            i + 1,
            candidate.name,
        );
    }
    Ok(())
}
