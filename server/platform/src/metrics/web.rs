//! Refusals of the web port.

use std::sync::atomic::{AtomicU64, Ordering};

/// Why the web port refused something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(usize)]
pub enum WebRefusal {
    /// A connection that was evicted by others.
    Crowded,
    /// A request that was not complete in time.
    Slow,
    /// A request that could not be read.
    Malformed,
    /// A request with a longer body than may be.
    Large,
    /// A request of a page of another origin, or with another host's name.
    Foreign,
    /// A wrong token.
    Token,
    /// A network that has shown too many wrong tokens.
    Guessing,
    /// A dashboard beyond the number that may be open.
    Viewers,
    /// Too many requests of a dashboard.
    Often,
    /// A request while too many others were at work.
    Busy,
}

impl WebRefusal {
    pub const ALL: [WebRefusal; 10] = [
        WebRefusal::Crowded,
        WebRefusal::Slow,
        WebRefusal::Malformed,
        WebRefusal::Large,
        WebRefusal::Foreign,
        WebRefusal::Token,
        WebRefusal::Guessing,
        WebRefusal::Viewers,
        WebRefusal::Often,
        WebRefusal::Busy,
    ];

    pub const fn name(self) -> &'static str {
        match self {
            WebRefusal::Crowded => "crowded",
            WebRefusal::Slow => "slow",
            WebRefusal::Malformed => "malformed",
            WebRefusal::Large => "large",
            WebRefusal::Foreign => "foreign",
            WebRefusal::Token => "token",
            WebRefusal::Guessing => "guessing",
            WebRefusal::Viewers => "viewers",
            WebRefusal::Often => "often",
            WebRefusal::Busy => "busy",
        }
    }
}

/// Refusals of one server.
#[derive(Debug, Default)]
pub struct WebRefusals([AtomicU64; WebRefusal::ALL.len()]);

impl WebRefusals {
    pub fn note(&self, refusal: WebRefusal) {
        self.0[refusal as usize].fetch_add(1, Ordering::Relaxed);
    }

    pub fn of(&self, refusal: WebRefusal) -> u64 {
        self.0[refusal as usize].load(Ordering::Relaxed)
    }
}
