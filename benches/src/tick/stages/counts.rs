//! Counts of what a tick takes from the system: the same on any machine.

use anyhow::{bail, ensure};

use crate::counting::Allocated;
use crate::report::{Row, Sample};
use crate::tick::fight::Arena;

/// What some ticks took.
#[derive(Debug, Default)]
pub struct Counter {
    ticks: Vec<Taken>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Taken {
    allocated: Allocated,
    pages: u64,
}

impl Counter {
    /// Runs a tick, and counts what the backend allocates on this thread.
    pub fn count(&mut self, arena: &mut Arena) -> anyhow::Result<Sample> {
        let pages = pages_touched();
        let sample = arena.tick()?;
        self.ticks.push(Taken {
            allocated: arena.allocated,
            pages: pages_touched() - pages,
        });
        Ok(sample)
    }

    /// The median of one figure.
    fn median(&self, figure: impl Fn(&Taken) -> u64) -> u64 {
        let mut all: Vec<u64> = self.ticks.iter().map(figure).collect();
        all.sort_unstable();
        all.get(all.len() / 2).copied().unwrap_or(0)
    }

    fn figures(&self) -> [u64; 2] {
        [
            self.median(|taken| taken.allocated.times),
            self.median(|taken| taken.allocated.bytes),
        ]
    }

    pub fn put(&self, row: &mut Row) {
        let [times, bytes] = self.figures();
        row.put("allocations", times);
        row.put("bytes", bytes);
        row.put("pages", self.median(|taken| taken.pages));
    }

    /// Fails if a tick of so many clients takes more than 5 % above what is kept here.
    pub fn check(&self, clients: u32) -> anyhow::Result<()> {
        let kept = KEPT.iter().find(|(of, _)| *of == clients);
        let Some((_, kept)) = kept else {
            bail!("no figures are kept for {clients} clients, only for 4096");
        };
        let found = self.figures();
        ensure!(found[0] > 0, "this program does not count its allocations");
        for ((what, found), kept) in ["allocations", "bytes"].into_iter().zip(found).zip(kept) {
            ensure!(
                found * 100 <= kept * 105,
                "{found} {what} in a tick, {kept} before: where that is meant, change the figure in \
                 {} and say why",
                file!()
            );
        }
        Ok(())
    }
}

/// Pages that this process touched first; 0 where that is not known.
fn pages_touched() -> u64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    // Behind the program's name in parentheses: the state, then numbers.
    let numbers = stat.rsplit(')').next().unwrap_or_default();
    let faults = numbers.split_whitespace().nth(7);
    faults.and_then(|faults| faults.parse().ok()).unwrap_or(0)
}

/// By clients: allocations of a tick on one thread, and their bytes.
const KEPT: &[(u32, [u64; 2])] = &[(4096, [23, 4_236])];
