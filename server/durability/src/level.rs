//! Durability levels.

use std::time::Duration;

use clap::ValueEnum;

/// How many of the ticks that were sent to clients may be lost with the machine. A killed
/// server loses nothing that was written, at any level.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Level {
    /// Ticks since the last checkpoint.
    None,
    /// The last tenth of a second.
    Soon,
    /// None: a tick is sent to clients once it is synced. Once named `told`.
    #[default]
    #[value(alias = "told")]
    Synced,
    /// None, even if the machine is gone: a tick is sent to clients once its standby has synced
    /// it, too.
    Standby,
}

impl Level {
    /// How long a record may wait to be synced; `None`: until the next checkpoint.
    pub fn patience(self) -> Option<Duration> {
        match self {
            Level::None => None,
            Level::Soon => Some(SOON),
            Level::Synced | Level::Standby => Some(Duration::ZERO),
        }
    }
}

const SOON: Duration = Duration::from_millis(100);
