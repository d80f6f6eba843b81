//! Epochs: which server wrote a record. Of two servers of a world, the one of the higher epoch
//! wins.
//!
//! | bits | hold |
//! | --- | --- |
//! | 12 high | promotions before it: the term |
//! | 20 low | starts in this term |
//!
//! So a server that starts again never outranks a standby that was promoted meanwhile.

use std::fmt;

use anyhow::{Context, Result};

/// The epoch of a server, as records have it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Epoch(pub u32);

impl Epoch {
    /// How many promotions led to it.
    pub fn term(self) -> u32 {
        self.0 >> START_BITS
    }

    /// The epoch of the next server that starts in the same folder.
    pub fn restarted(self) -> Result<Epoch> {
        let is_last = self.0 & STARTS_MAX == STARTS_MAX;
        let next = (!is_last).then_some(Epoch(self.0 + 1));
        next.context("the world was started too often: fork it into a new folder")
    }

    /// The epoch of a standby that takes over from a server of this one.
    pub fn promoted(self) -> Result<Epoch> {
        let term = self.term() + 1;
        let next = (term <= TERMS_MAX).then_some(Epoch(term << START_BITS));
        next.context("the world was promoted too often: fork it into a new folder")
    }
}

impl fmt::Display for Epoch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.term(), self.0 & STARTS_MAX)
    }
}

const START_BITS: u32 = 20;
const STARTS_MAX: u32 = (1 << START_BITS) - 1;
const TERMS_MAX: u32 = u32::MAX >> START_BITS;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_promoted_server_outranks_every_restart_of_the_one_before() {
        let first = Epoch(3);
        let promoted = first.promoted().unwrap();
        let mut restarted = first;
        for _ in 0..1000 {
            restarted = restarted.restarted().unwrap();
            assert!(restarted < promoted);
        }
        assert!(Epoch(STARTS_MAX).restarted().is_err());
        assert_eq!(promoted.to_string(), "1.0");
        assert_eq!(promoted.restarted().unwrap().to_string(), "1.1");
        let last = Epoch(TERMS_MAX << START_BITS);
        assert!(last.promoted().is_err());
    }
}
