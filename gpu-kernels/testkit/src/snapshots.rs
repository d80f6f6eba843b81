//! Checks that the state hash and `restore` cover every part of a snapshot.

use gpu_kernels::{Frame, RestoreError, Snapshot, StateHash};
use shared::WorldConfig;

use crate::backends::backends;

/// One change of a snapshot.
pub type Change = fn(&mut Snapshot);

/// Checks each change alone: the changed snapshot is restored, differs from `base` only in
/// the named part of the hash, has a hash of its own, and the next tick keeps the hash
/// right. Panics otherwise.
pub fn assert_hash_sees(config: &WorldConfig, base: &Snapshot, changes: &[(&str, Change)]) {
    let names = StateHash::part_names(&config.schema);
    for (label, mut backend) in backends(config) {
        backend.restore(base).unwrap();
        let before = backend.state_hash().unwrap();
        assert_eq!(before.parts.len(), names.len(), "{label}");
        let mut seen = vec![before.combined()];
        for (i, (part, change)) in changes.iter().enumerate() {
            let mut changed = base.clone();
            change(&mut changed);
            backend.restore(&changed).unwrap();
            assert_eq!(backend.snapshot().unwrap(), changed, "{label}, change {i}");
            let after = backend.state_hash().unwrap();
            let differing: Vec<_> = (0..names.len())
                .filter(|&part| after.parts[part] != before.parts[part])
                .map(|part| names[part].as_str())
                .collect();
            assert_eq!(differing, [*part], "{label}, change {i}");
            assert!(!seen.contains(&after.combined()), "{label}, change {i}");
            seen.push(after.combined());
            let output = backend.tick(&Frame::new(changed.tick)).unwrap();
            let computed = backend.state_hash().unwrap();
            assert_eq!(output.hash, computed, "{label}, the tick after change {i}");
        }
    }
}

/// Checks that each change alone is rejected for the given reason and leaves the world
/// unchanged. Panics otherwise.
pub fn assert_refused(config: &WorldConfig, base: &Snapshot, cases: &[(Change, RestoreError)]) {
    for (label, mut backend) in backends(config) {
        backend.restore(base).unwrap();
        for (change, expected) in cases {
            let mut bad = base.clone();
            change(&mut bad);
            assert_eq!(backend.restore(&bad).as_ref(), Err(expected), "{label}");
            assert_eq!(&backend.snapshot().unwrap(), base, "{label}: {expected}");
        }
    }
}

/// The error of a part with a wrong number of entries.
pub fn wrong_size(what: &'static str, expected: usize, found: usize) -> RestoreError {
    RestoreError::WrongSize {
        what,
        expected,
        found,
    }
}

/// The error of a part with an impossible value.
pub fn out_of_range(what: &'static str, found: i64) -> RestoreError {
    RestoreError::OutOfRange { what, found }
}
