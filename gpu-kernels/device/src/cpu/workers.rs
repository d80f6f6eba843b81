use std::ops::Range;
use std::sync::Arc;

use rayon::prelude::*;
use thiserror::Error;

use crate::tuning::{CPU_GRAIN, CPU_PARTS_PER_THREAD, CPU_POOL_MIN};

/// The threads that a backend or an engine works on.
///
/// Only the amount of work decides the number of parts. A single part runs on the calling
/// thread: waking threads costs more than a small stage.
pub struct Workers {
    pool: Option<Arc<rayon::ThreadPool>>,
    threads: usize,
}

/// Why worker threads could not start.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("cannot start worker threads: {0}")]
pub struct ThreadError(String);

impl ThreadError {
    pub(super) fn new(reason: String) -> ThreadError {
        ThreadError(reason)
    }
}

impl Workers {
    /// `threads` is at least one; with one, work runs on the calling thread.
    pub fn new(threads: usize) -> Result<Workers, ThreadError> {
        let threads = threads.max(1);
        let pool = match threads {
            1 => None,
            _ => {
                let pool = rayon::ThreadPoolBuilder::new()
                    .num_threads(threads)
                    .thread_name(|i| format!("tick-{i}"))
                    .build()
                    .map_err(|error| ThreadError::new(error.to_string()))?;
                Some(Arc::new(pool))
            }
        };
        Ok(Workers { pool, threads })
    }

    pub fn threads(&self) -> usize {
        self.threads
    }

    /// The number of parts to split this many items into.
    pub fn parts(&self, items: usize) -> usize {
        self.parts_of(items, CPU_GRAIN)
    }

    /// The number of parts to split items into, if `grain` of them outweigh a wake-up.
    pub fn parts_of(&self, items: usize, grain: usize) -> usize {
        match self.threads {
            1 => 1,
            threads => (items / grain).clamp(1, threads * CPU_PARTS_PER_THREAD),
        }
    }

    /// The maximum of [`Workers::parts`] with this many threads.
    pub fn parts_max(threads: usize) -> usize {
        threads.max(1) * CPU_PARTS_PER_THREAD
    }

    /// The pool to run a whole tick of this many items in, if it is worth several threads.
    /// Stages that begin on one of its threads start without a switch.
    pub fn pool_for(&self, items: usize) -> Option<Arc<rayon::ThreadPool>> {
        self.pool.clone().filter(|_| items >= CPU_POOL_MIN)
    }

    /// Runs each task, in parallel if there are several.
    pub fn run<T: Send>(&self, mut tasks: Vec<T>, work: impl Fn(T) + Send + Sync) {
        match &self.pool {
            Some(pool) if tasks.len() > 1 => {
                pool.install(|| tasks.into_par_iter().with_max_len(1).for_each(work));
            }
            _ => tasks.drain(..).for_each(work),
        }
    }
}

/// Splits `0..items` into `parts` even ranges.
pub fn ranges(items: usize, parts: usize) -> impl ExactSizeIterator<Item = Range<usize>> {
    (0..parts).map(move |part| items * part / parts..items * (part + 1) / parts)
}

/// The first of `0..n` for which `holds` no longer holds.
pub fn partition_point(n: usize, holds: impl Fn(usize) -> bool) -> usize {
    let (mut low, mut high) = (0, n);
    while low < high {
        let middle = (low + high) / 2;
        if holds(middle) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    low
}

/// Takes the first `n` elements off a slice.
pub fn take<'a, T>(rest: &mut &'a mut [T], n: usize) -> &'a mut [T] {
    let (head, tail) = std::mem::take(rest).split_at_mut(n);
    *rest = tail;
    head
}

/// Makes a buffer at least `n` long. It never shrinks, so a buffer that has seen
/// its largest tick isn't cleared again.
pub fn grow<T: Copy + Default>(buffer: &mut Vec<T>, n: usize) {
    if buffer.len() < n {
        buffer.resize(n, T::default());
    }
}
