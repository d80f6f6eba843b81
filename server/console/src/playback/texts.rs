//! What the handles of texts stand for.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use shared::Text;
use shared::world::words::TextHandle;

/// The texts that clients gave.
#[derive(Default)]
pub struct Texts(Mutex<HashMap<TextHandle, Text>>);

impl Texts {
    /// Adds those of a tick.
    pub fn note(&self, texts: &[(TextHandle, Text)]) {
        if texts.is_empty() {
            return;
        }
        let mut known = self.read();
        for (handle, text) in texts {
            if known.len() < TEXTS_MAX {
                known.insert(*handle, text.clone());
            }
        }
    }

    /// All of them, by their handles.
    pub fn read(&self) -> MutexGuard<'_, HashMap<TextHandle, Text>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Of more, the later ones are shown as their handles.
const TEXTS_MAX: usize = 1_000_000;
