//! What happens in a load test second by second: figures of the bots, and of their server.

use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use crate::scrape::{Scraper, ServerSample};
use crate::swarm::{Progress, Swarm};

/// One second, or a little more.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Sample {
    /// Since the beginning of play, at its end.
    pub seconds: f64,
    /// Bots in the world.
    pub bots: f64,
    pub commands_per_second: f64,
    /// From sending a command to the datagram that confirms it.
    pub latency_ms_p50: f64,
    pub latency_ms_p99: f64,
    /// Nothing where its metrics are not read, or did not come.
    pub server: Option<ServerSample>,
}

/// Takes samples.
pub struct Series {
    began: Instant,
    taken: Instant,
    before: Progress,
    scraper: Option<Scraper>,
    samples: Vec<Sample>,
}

impl Series {
    /// From now on. `scraper` reads the server's metrics, if they are to be read.
    pub fn start(swarm: &Swarm, scraper: Option<Scraper>) -> Series {
        let now = Instant::now();
        swarm.take_recent_latency_ms();
        Series {
            began: now,
            taken: now,
            before: swarm.progress(),
            scraper,
            samples: vec![],
        }
    }

    /// Takes a sample once a second has passed.
    pub fn look(&mut self, swarm: &Swarm) {
        let now = Instant::now();
        let passed = now - self.taken;
        if passed < PERIOD {
            return;
        }
        let progress = swarm.progress();
        let sent = progress.commands_sent - self.before.commands_sent;
        let [latency_ms_p50, latency_ms_p99] = swarm.take_recent_latency_ms();
        self.samples.push(Sample {
            seconds: (now - self.began).as_secs_f64(),
            bots: progress.present as f64,
            commands_per_second: sent as f64 / passed.as_secs_f64(),
            latency_ms_p50,
            latency_ms_p99,
            server: self.scraper.as_mut().and_then(Scraper::take),
        });
        self.taken = now;
        self.before = progress;
    }

    pub fn finish(self) -> Vec<Sample> {
        self.samples
    }
}

/// Adds the samples of another machine's bots, which played at the same time.
pub fn add(all: &mut Vec<Sample>, others: &[Sample]) {
    for (number, other) in others.iter().enumerate() {
        let Some(sample) = all.get_mut(number) else {
            // It has played a little longer.
            all.push(other.clone());
            continue;
        };
        sample.bots += other.bots;
        sample.commands_per_second += other.commands_per_second;
        // Of two parts, the worse one: a percentile of both lies between them.
        sample.latency_ms_p50 = sample.latency_ms_p50.max(other.latency_ms_p50);
        sample.latency_ms_p99 = sample.latency_ms_p99.max(other.latency_ms_p99);
        sample.server = sample.server.take().or_else(|| other.server.clone());
    }
}

const PERIOD: Duration = Duration::from_secs(1);
