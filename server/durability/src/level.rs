//! When a tick counts as kept.

use std::time::Duration;

use clap::ValueEnum;

/// How much of what clients were told may be lost with the machine. A server that is killed
/// loses nothing that was written, at any level.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Level {
    /// Ticks since the last checkpoint.
    None,
    /// The last tenth of a second.
    Soon,
    /// Nothing: clients are told of a tick once it can't be lost.
    #[default]
    Told,
    /// Nothing, even if the machine is gone: clients are told of a tick once its standby has
    /// it on disk, too.
    Standby,
}

impl Level {
    /// How long a record may wait to be synced; `None`: until the next checkpoint.
    pub fn patience(self) -> Option<Duration> {
        match self {
            Level::None => None,
            Level::Soon => Some(SOON),
            Level::Told | Level::Standby => Some(Duration::ZERO),
        }
    }
}

const SOON: Duration = Duration::from_millis(100);
