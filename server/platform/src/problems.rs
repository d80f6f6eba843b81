//! The problems of a game's files as they are now, for those who change the game while it runs.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Shared by those who read files and those who show problems.
#[derive(Clone, Default)]
pub struct Problems(Arc<Mutex<BTreeMap<Of, String>>>);

/// What has problems. In this order they are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Of {
    World,
    Scripts,
    Play,
}

impl Problems {
    /// The problems of some files, with their places, as they are printed: in place of those before.
    pub fn set(&self, of: Of, text: String) {
        self.all().insert(of, text);
    }

    /// These files have none any more.
    pub fn clear(&self, of: Of) {
        self.all().remove(&of);
    }

    /// All that there are.
    pub fn texts(&self) -> Vec<String> {
        self.all().values().cloned().collect()
    }

    fn all(&self) -> MutexGuard<'_, BTreeMap<Of, String>> {
        // It is whole after each change, so a panic elsewhere does no harm.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn problems_are_those_of_the_newest_try() {
        let problems = Problems::default();
        problems.set(Of::Play, "a.rs:1:2: one".to_owned());
        problems.set(Of::World, "w.toml:3:4: two".to_owned());
        assert_eq!(problems.texts(), ["w.toml:3:4: two", "a.rs:1:2: one"]);
        problems.clone().set(Of::Play, "a.rs:5:6: three".to_owned());
        problems.clear(Of::World);
        problems.clear(Of::Scripts);
        assert_eq!(problems.texts(), ["a.rs:5:6: three"]);
    }
}
