//! PHOLD (Fujimoto 1990): a fixed number of events that hop between processes at
//! random. Any number of them may meet at one process.

use super::random::{Draw, exponential};
use super::{Event, Model, ModelError, NEVER, Start, Tally, within};

/// PHOLD's parameters. An event's number counts what its source has caused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Phold {
    pub processes: u32,
    pub events_per_process: u32,
    pub seed: u64,
    /// Ticks from an event to the one that it causes, on average.
    pub delay_mean: u32,
    /// The least ticks from an event to the one that it causes.
    pub lookahead: u32,
    /// How many events of a million go to another process; all are equally likely.
    pub remote_per_million: u32,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct PholdProcess {
    /// Events caused.
    pub caused: u32,
    /// When its latest event happened.
    pub clock: u32,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct PholdTally {
    /// Events caused for another process.
    pub remote: u64,
    /// Their delays and those of the others, in ticks.
    pub delay: u64,
}

impl Phold {
    /// PHOLD with one event a process.
    pub fn new(
        processes: u32,
        seed: u64,
        delay_mean: u32,
        lookahead: u32,
        remote_per_million: u32,
    ) -> Result<Phold, ModelError> {
        within("processes", processes, 1, EVENTS_MAX)?;
        within("ticks of delay on average", delay_mean, 2, u32::MAX)?;
        within(
            "ticks of lookahead below the average delay",
            lookahead,
            1,
            delay_mean - 1,
        )?;
        within("remote events of a million", remote_per_million, 0, MILLION)?;
        Ok(Phold {
            processes,
            events_per_process: 1,
            seed,
            delay_mean,
            lookahead,
            remote_per_million,
        })
    }

    /// The same with more events a process at the beginning.
    pub fn with_events(self, events_per_process: u32) -> Result<Phold, ModelError> {
        within(
            "events a process",
            events_per_process,
            1,
            EVENTS_MAX / self.processes,
        )?;
        Ok(Phold {
            events_per_process,
            ..self
        })
    }

    pub fn events(&self) -> u32 {
        self.processes * self.events_per_process
    }
}

impl Model for Phold {
    type Process = PholdProcess;
    type Tally = PholdTally;

    fn processes(&self) -> u32 {
        self.processes
    }

    fn lookahead(&self) -> u32 {
        self.lookahead
    }

    /// Every process causes its first events at time 0.
    fn start(&self) -> Start<Phold> {
        let mut start = Start {
            processes: vec![PholdProcess::default(); self.processes as usize],
            events: Vec::with_capacity(self.events() as usize),
            tally: PholdTally::default(),
        };
        for number in 0..self.events() {
            let target = number % self.processes;
            let cause = Event {
                time: 0,
                source: target,
                number,
                target,
            };
            let process = &mut start.processes[target as usize];
            let events = &mut start.events;
            self.handle(&cause, process, &mut start.tally, |next| events.push(next));
        }
        start
    }

    #[inline]
    fn handle(
        &self,
        event: &Event,
        process: &mut PholdProcess,
        tally: &mut PholdTally,
        mut schedule: impl FnMut(Event),
    ) {
        let own = event.target;
        let mut draw = Draw::new(self.seed, own, process.caused);
        let (first, second) = (draw.bits(), draw.bits());
        let mean = self.delay_mean - self.lookahead;
        let delay = exponential(mean, (first >> 32) as u32) + u64::from(self.lookahead);
        let below =
            |bits: u64, bound: u32| (((bits & 0xffff_ffff) * u64::from(bound)) >> 32) as u32;
        let remote = below(first, MILLION) < self.remote_per_million && self.processes > 1;
        let target = match remote {
            // A step of 1 or more round the ring of processes.
            true => {
                let step = 1 + u64::from(below(second, self.processes - 1));
                let place = u64::from(own) + step;
                let around = u64::from(self.processes);
                (if place >= around {
                    place - around
                } else {
                    place
                }) as u32
            }
            false => own,
        };
        let number = process.caused;
        process.caused = number.wrapping_add(1);
        process.clock = event.time;
        tally.remote += u64::from(remote);
        tally.delay += delay;
        schedule(Event {
            time: (u64::from(event.time) + delay).min(u64::from(NEVER)) as u32,
            source: own,
            number,
            target,
        });
    }

    fn process_bits(process: &PholdProcess) -> u64 {
        u64::from(process.clock) << 32 | u64::from(process.caused)
    }
}

impl Tally for PholdTally {
    fn add(&mut self, other: &PholdTally) {
        self.remote += other.remote;
        self.delay += other.delay;
    }
}

/// Processes and events are numbered in 30 bits.
pub const EVENTS_MAX: u32 = 1 << 30;
const MILLION: u32 = 1_000_000;
