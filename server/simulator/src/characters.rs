//! Characters of accounts, which a machine's power can't take: what is written is there.

use std::sync::{Arc, Mutex, PoisonError};

use anyhow::Result;
use durability::characters::{Store, Texts};

#[derive(Clone, Default)]
pub struct SimulatedCharacters(Arc<Mutex<(Texts, u64)>>);

impl SimulatedCharacters {
    fn change<T>(&self, change: impl FnOnce(&mut (Texts, u64)) -> T) -> T {
        change(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Store for SimulatedCharacters {
    fn claim(&self) -> Result<()> {
        Ok(())
    }

    fn all(&self) -> Result<Texts> {
        Ok(self.change(|(all, _)| all.clone()))
    }

    fn put(&self, texts: &Texts, tick: u64) -> Result<()> {
        self.change(|(all, newest)| {
            all.extend(texts.clone());
            *newest = tick.max(*newest);
        });
        Ok(())
    }

    fn tick(&self) -> Result<u64> {
        Ok(self.change(|(_, newest)| *newest))
    }

    fn restart(&self, tick: u64) -> Result<()> {
        self.change(|(_, newest)| *newest = tick);
        Ok(())
    }

    fn remove(&self, account: &str) -> Result<bool> {
        Ok(self.change(|(all, _)| all.remove(account).is_some()))
    }
}
