//! Which of the server's threads runs where, and which gives way, where cores are few.

use tracing::warn;

/// Lowers the priority of this thread, and of those that it starts.
pub fn give_way() {
    // Elsewhere this would be the priority of the whole process.
    #[cfg(target_os = "linux")]
    if let Err(error) = rustix::process::setpriority_process(None, NICENESS) {
        let thread = std::thread::current();
        let name = thread.name().unwrap_or_default();
        warn!(%error, name, "a thread has the priority of the others");
    }
}

/// Keeps this thread, one of `count` alike, on a core of its own, if the process may use just as
/// many. The system, which wakes all of them at once, often lets two share a core for tens of
/// milliseconds while another is free.
pub fn take_own_core(number: usize, count: usize) {
    #[cfg(target_os = "linux")]
    if let Err(error) = linux::take_own_core(number, count) {
        warn!(%error, number, "a thread has no core of its own");
    }
    #[cfg(not(target_os = "linux"))]
    let _ = (number, count);
}

#[cfg(target_os = "linux")]
mod linux {
    use rustix::io::Result;
    use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

    pub fn take_own_core(number: usize, count: usize) -> Result<()> {
        let allowed = sched_getaffinity(None)?;
        if usize::try_from(allowed.count()) != Ok(count) {
            // Another server may have chosen the same of several.
            return Ok(());
        }
        let mut cores = (0..CpuSet::MAX_CPU).filter(|&core| allowed.is_set(core));
        let Some(core) = cores.nth(number) else {
            return Ok(());
        };
        let mut own = CpuSet::new();
        own.set(core);
        sched_setaffinity(None, &own)
    }
}

/// A tenth of the processor's time, if others want all of it: 10 of 19.
#[cfg(target_os = "linux")]
const NICENESS: i32 = 10;

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use rustix::thread::{CpuSet, sched_getaffinity};

    use super::take_own_core;

    /// The cores that each of `count` threads may use.
    fn cores_of(count: usize) -> Vec<CpuSet> {
        let threads: Vec<_> = (0..count)
            .map(|number| {
                std::thread::spawn(move || {
                    take_own_core(number, count);
                    sched_getaffinity(None).unwrap()
                })
            })
            .collect();
        threads.into_iter().map(|t| t.join().unwrap()).collect()
    }

    #[test]
    fn as_many_threads_as_cores_have_one_each() {
        let all = sched_getaffinity(None).unwrap();
        let own = cores_of(all.count() as usize);
        for core in (0..CpuSet::MAX_CPU).filter(|&core| all.is_set(core)) {
            let here = own.iter().filter(|cores| cores.is_set(core));
            assert_eq!(here.count(), 1, "core {core}");
        }
    }

    #[test]
    fn more_or_fewer_threads_than_cores_share_them_all() {
        let all = sched_getaffinity(None).unwrap();
        let count = all.count() as usize;
        for count in [count - 1, count + 1] {
            assert!(cores_of(count).iter().all(|cores| cores == &all));
        }
    }
}
