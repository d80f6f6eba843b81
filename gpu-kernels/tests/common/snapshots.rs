//! What the hash and `restore` owe to every part of a snapshot.

use gpu_kernels::{Frame, RestoreError, Snapshot, StateHash};
use shared::WorldConfig;

use super::backends::backends;

pub type Change = fn(&mut Snapshot);

/// Each change alone is restored, moves that part of the hash and no other, gives a hash
/// that none of the others gave, and ticks on with a hash that is kept right.
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
            let moved: Vec<_> = (0..names.len())
                .filter(|&part| after.parts[part] != before.parts[part])
                .map(|part| names[part].as_str())
                .collect();
            assert_eq!(moved, [*part], "{label}, change {i}");
            assert!(!seen.contains(&after.combined()), "{label}, change {i}");
            seen.push(after.combined());
            let output = backend.tick(&Frame::new(changed.tick)).unwrap();
            let afresh = backend.state_hash().unwrap();
            assert_eq!(output.hash, afresh, "{label}, the tick after change {i}");
        }
    }
}

/// Each change alone is refused for that reason, and leaves the world as it was.
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

pub fn wrong_size(what: &'static str, expected: usize, found: usize) -> RestoreError {
    RestoreError::WrongSize {
        what,
        expected,
        found,
    }
}

pub fn out_of_range(what: &'static str, found: i64) -> RestoreError {
    RestoreError::OutOfRange { what, found }
}
