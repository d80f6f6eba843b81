//! Traces of single commands: which are sampled, and their way through a tick.

use std::time::{Duration, Instant};

use frontend::inbox::SampledCommand;
use gpu_kernels::{Stage, TickOutput};
use platform::metrics::steps::{Mark, Step};
use platform::trace_options::{CommandTrace, Part, TraceOptions};
use platform::traces::TraceExporter;
use shared::WorldConfig;

/// The traces of a world's commands.
pub struct Traces {
    exporter: TraceExporter,
    /// From one traced command to the next.
    every: Duration,
    next: Instant,
}

/// A command that is traced, with its shard and the steps of its tick.
pub struct TracedTick {
    pub command: SampledCommand,
    pub shard: usize,
    pub begun: Instant,
    pub marks: Vec<Mark>,
}

impl Traces {
    pub fn new(exporter: TraceExporter, options: &TraceOptions) -> Traces {
        let every = Duration::try_from_secs_f64(options.per_second.recip());
        Traces {
            exporter,
            every: every.unwrap_or(Duration::MAX),
            next: Instant::now(),
        }
    }

    /// Whether one of the commands that arrive from now on is to be traced.
    pub fn is_due(&self, now: Instant) -> bool {
        now >= self.next
    }

    /// Whether a command that has arrived is traced, before another one is due.
    pub fn take(&mut self, now: Instant) -> bool {
        if !self.is_due(now) {
            return false;
        }
        // None if the rate is so low that no other one comes.
        let next = self.next.checked_add(self.every);
        let next = next.filter(|&next| next > now);
        let next = next.or_else(|| now.checked_add(self.every));
        self.next = next.unwrap_or(now + Duration::from_secs(u64::from(u32::MAX)));
        true
    }

    /// Exports the way of a command whose tick is sent.
    pub(super) fn export(
        &self,
        traced: &TracedTick,
        output: &TickOutput,
        finished: Instant,
        (world, clients): (&WorldConfig, u64),
    ) {
        let names = &world.logic.numbers;
        let begun = traced.begun;
        let arrived = begun.checked_sub(traced.command.waited).unwrap_or(begun);
        let published = traced.marks.last().map_or(begun, |mark| mark.to);
        let finished = finished.max(published);
        let steps = traced.marks.iter().map(|mark| step(mark, output));
        self.exporter.export(&CommandTrace {
            command: names.command_name(traced.command.kind).unwrap_or("unknown"),
            tick: output.tick,
            shard: traced.shard,
            clients,
            whole: (arrived, finished),
            parts: vec![
                Part::new("inbox", arrived, begun),
                Part {
                    parts: steps.collect(),
                    ..Part::new("tick", begun, published)
                },
                Part::new("fan_out", published, finished),
            ],
        });
    }
}

/// A step of the tick thread; the backend's with its stages, one after the other. On GPUs some
/// overlap.
fn step(mark: &Mark, output: &TickOutput) -> Part {
    let mut part = Part::new(mark.step.name(), mark.from, mark.to);
    if mark.step == Step::Backend {
        let mut from = mark.from;
        for stage in Stage::ALL {
            let to = from + output.stages.of(stage);
            part.parts.push(Part::new(stage.name(), from, to));
            from = to;
        }
    }
    part
}
