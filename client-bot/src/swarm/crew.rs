//! What the bots of one thread share.

use std::sync::Arc;
use std::time::{Duration, Instant};

use quic::Handle;

use super::options::SwarmOptions;
use super::state::{SwarmState, Tally};

/// The state that the bots of a thread share.
pub struct Crew {
    pub options: SwarmOptions,
    pub state: Arc<SwarmState>,
    pub tally: Tally,
    /// The beginning of their games' time.
    started: Instant,
    /// By handle: when the bot acts, if no word of the server makes it act before.
    wakes: Vec<Option<Duration>>,
}

impl Crew {
    pub fn new(options: SwarmOptions, state: Arc<SwarmState>) -> Crew {
        Crew {
            options,
            state,
            tally: Tally::default(),
            started: Instant::now(),
            wakes: vec![],
        }
    }

    /// The time of the bots' games.
    pub fn time_of(&self, moment: Instant) -> Duration {
        moment.saturating_duration_since(self.started)
    }

    pub fn now(&self) -> Duration {
        self.started.elapsed()
    }

    /// Wakes a bot at a time, unless a word of the server comes before.
    pub fn wake_at(&mut self, handle: Handle, at: Duration) {
        if self.wakes.len() <= handle.index() {
            self.wakes.resize(handle.index() + 1, None);
        }
        self.wakes[handle.index()] = Some(at);
    }

    /// Whether a bot is to be woken by now. It is so once.
    pub fn take_wake(&mut self, handle: Handle, now: Duration) -> bool {
        let wake = self.wakes.get_mut(handle.index());
        wake.is_some_and(|wake| wake.take_if(|at| *at <= now).is_some())
    }

    pub fn let_sleep(&mut self, handle: Handle) {
        if let Some(wake) = self.wakes.get_mut(handle.index()) {
            *wake = None;
        }
    }
}
