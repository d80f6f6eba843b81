//! The results of checks.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};

/// The results of all checks so far.
#[derive(Default)]
pub struct Findings {
    pub checked: AtomicU64,
    pub errors: AtomicU64,
    /// Checks that hold, but only since a bot's stream has caught up with its datagrams.
    pub late: AtomicU64,
    /// Cases that no bot can judge.
    pub open: AtomicU64,
    /// The first few errors as sentences.
    examples: Mutex<Vec<String>>,
}

impl Findings {
    /// Counts a check, and an error if it does not hold.
    pub fn check(&self, holds: bool, describe: impl FnOnce() -> String) {
        self.checked.fetch_add(1, Relaxed);
        if holds {
            return;
        }
        self.errors.fetch_add(1, Relaxed);
        let mut examples = self.examples.lock().unwrap_or_else(PoisonError::into_inner);
        if examples.len() < EXAMPLES_MAX {
            examples.push(describe());
        }
    }

    /// Counts a check of what looked wrong before the stream had passed its tick.
    pub fn check_late(&self, holds: bool, describe: impl FnOnce() -> String) {
        self.late.fetch_add(u64::from(holds), Relaxed);
        self.check(holds, describe);
    }

    /// Counts a case that cannot be judged.
    pub fn leave_open(&self) {
        self.open.fetch_add(1, Relaxed);
    }

    pub fn examples(&self) -> Vec<String> {
        self.examples
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }
}

const EXAMPLES_MAX: usize = 10;
