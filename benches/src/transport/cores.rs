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
    /// The first so many for the server, the rest for the bots. If there is one core only,
    /// both have it.
    pub fn share(server: usize) -> anyhow::Result<Cores> {
        let all = own()?;
        if all.len() == 1 {
            return Ok(Cores {
                server: all.clone(),
                bots: all,
            });
        }
        ensure!(
            (1..all.len()).contains(&server),
            "{server} cores for the server: expected 1 to {}",
            all.len() - 1
        );
        let (server, bots) = all.split_at(server);
        Ok(Cores {
            server: server.to_vec(),
            bots: bots.to_vec(),
        })
    }
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
