//! Recordings of tests.

use std::fs;
use std::path::Path;

use server::commands::replay::replay;
use tick::backend::{BackendChoice, BackendOptions};

/// Replays a recording to its end, and removes it.
pub fn replays(file: &Path) {
    let backend = BackendOptions {
        backend: BackendChoice::Cpu,
        ..BackendOptions::default()
    };
    let replayed = replay(file, backend, 2).unwrap();
    assert!(
        replayed.ticks > 20 && replayed.broken_off.is_none(),
        "{replayed:?}"
    );
    let _ = fs::remove_file(file);
}
