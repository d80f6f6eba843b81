//! Characters of accounts, which a machine's power can't take: what is written is there.

use std::sync::{Arc, Mutex, PoisonError};

use anyhow::Result;
use durability::characters::{Store, Texts};

#[derive(Clone, Default)]
pub struct SimulatedCharacters(Arc<Mutex<Texts>>);

impl SimulatedCharacters {
    fn change<T>(&self, change: impl FnOnce(&mut Texts) -> T) -> T {
        change(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Store for SimulatedCharacters {
    fn claim(&self) -> Result<()> {
        Ok(())
    }

    fn all(&self) -> Result<Texts> {
        Ok(self.change(|all| all.clone()))
    }

    fn put(&self, texts: &Texts, _: u64) -> Result<()> {
        self.change(|all| all.extend(texts.clone()));
        Ok(())
    }

    fn remove(&self, account: &str) -> Result<bool> {
        Ok(self.change(|all| all.remove(account).is_some()))
    }
}
