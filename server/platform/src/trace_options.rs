//! What a trace of a command has, and where traces go.

use std::time::Instant;

use shared::Tick;

/// Where traces go, and how many.
#[derive(Clone, Debug, PartialEq)]
pub struct TraceOptions {
    /// The address of a collector that takes OTLP over HTTP.
    pub endpoint: String,
    /// The most commands a second that are traced. One a tick is the most in any case.
    pub per_second: f64,
}

/// The way of one command.
#[derive(Clone, Debug)]
pub struct CommandTrace<'a> {
    pub command: &'a str,
    pub tick: Tick,
    /// The shard that received it.
    pub shard: usize,
    /// Clients that the tick was sent to.
    pub clients: u64,
    /// From its arrival to the last packet of its tick.
    pub whole: (Instant, Instant),
    pub parts: Vec<Part>,
}

/// A part of the way, in the order of time.
#[derive(Clone, Debug)]
pub struct Part {
    pub name: &'static str,
    pub time: (Instant, Instant),
    pub parts: Vec<Part>,
}

impl Part {
    /// A part without parts.
    pub fn new(name: &'static str, from: Instant, to: Instant) -> Part {
        Part {
            name,
            time: (from, to),
            parts: vec![],
        }
    }
}
