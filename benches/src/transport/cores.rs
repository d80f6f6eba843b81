//! Which cores a thread, and those that it starts, may run on.

use std::ops::Range;

use anyhow::{Context, ensure};
use nix::sched::{CpuSet, sched_getaffinity, sched_setaffinity};
use nix::unistd::Pid;

/// The cores of this process, shared out.
#[derive(Clone, Debug)]
pub struct Cores {
    pub server: Vec<usize>,
    pub bots: Vec<usize>,
}

impl Cores {
    /// The first so many for the server, the rest for the bots. If the server has all of them,
    /// so have the bots.
    fn share(all: &[usize], server: usize) -> anyhow::Result<Cores> {
        ensure!(
            (1..=all.len()).contains(&server),
            "{server} cores for the server: expected 1 to {}",
            all.len()
        );
        let (server, left) = all.split_at(server);
        let bots = if left.is_empty() { all } else { left };
        Ok(Cores {
            server: server.to_vec(),
            bots: bots.to_vec(),
        })
    }
}

/// Measures with some of the cores for the server (half of them, if no number is given), and
/// gives this thread all of them back.
pub fn shared<T>(
    server: Option<usize>,
    measure: impl FnOnce(&Cores) -> anyhow::Result<T>,
) -> anyhow::Result<T> {
    let all = own()?;
    let cores = Cores::share(&all, server.unwrap_or((all.len() / 2).max(1)))?;
    let measured = measure(&cores);
    stay_on(&all)?;
    measured
}

/// The cores that this thread may run on.
pub fn own() -> anyhow::Result<Vec<usize>> {
    let set = sched_getaffinity(Pid::from_raw(0)).context("cannot ask for the cores")?;
    let every: Range<usize> = 0..CpuSet::count();
    Ok(every
        .filter(|&core| set.is_set(core).unwrap_or(false))
        .collect())
}

/// Keeps this thread, and those that it starts from now on, on some cores.
pub fn stay_on(cores: &[usize]) -> anyhow::Result<()> {
    let mut set = CpuSet::new();
    for &core in cores {
        set.set(core).context("no such core")?;
    }
    sched_setaffinity(Pid::from_raw(0), &set).context("cannot choose cores")
}
