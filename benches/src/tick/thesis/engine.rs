use std::sync::Arc;
use std::time::Instant;

use anyhow::{Context, ensure};
use gpu_kernels::{Backend, Frame, TickOutput};
use shared::{ClientRow, Tick, WorldConfig};

use super::options::{BackendName, OutputName};
use super::scenario::Scenario;
use super::subject::Subject;
use crate::cuda;
use crate::report::Sample;
use crate::tick::backends;
use crate::tick::checks::ensure_nothing_dropped;
use crate::tick::moves::Moves;

/// A backend of the server.
pub struct Engine {
    backend: Box<dyn Backend>,
    output: Arc<TickOutput>,
}

impl Engine {
    /// A scenario's world after the tick in which all entities are born at random
    /// places, and the moves that follow.
    pub fn populated(
        scenario: &Scenario,
        name: BackendName,
        form: OutputName,
        threads: usize,
        gpus: u32,
    ) -> anyhow::Result<(Engine, Moves)> {
        let config = scenario.config()?;
        let mut backend = start(&config, name, form, threads, gpus)?;
        let mut frame = Frame::new(Tick(0));
        frame.populate(&config);
        let output = backend.tick(&frame)?;
        ensure!(output.counts.births == u64::from(scenario.clients));
        let moves = Moves::after_births(&config, &output)?;
        let engine = Engine { backend, output };
        Ok((engine, moves))
    }

    /// The output of the last tick.
    pub fn output(&self) -> &TickOutput {
        &self.output
    }
}

/// The baseline takes the births of the cpu backend.
fn start(
    config: &WorldConfig,
    name: BackendName,
    form: OutputName,
    threads: usize,
    gpus: u32,
) -> anyhow::Result<Box<dyn Backend>> {
    match (name, form) {
        (BackendName::Cuda, OutputName::Pairs) => cuda::backend(config, gpus),
        (BackendName::Cuda, OutputName::Ranges) => cuda::backend_with_ranges(config),
        (BackendName::Baseline | BackendName::Cpu, _) => backends::cpu(config, threads),
    }
}

impl Subject for Engine {
    fn tick(&mut self, frame: &Frame) -> anyhow::Result<Sample> {
        let begin = Instant::now();
        self.output = self.backend.tick(frame).context("the tick failed")?;
        let total = begin.elapsed();
        ensure_nothing_dropped(&self.output)?;
        Ok(Sample::of(&self.output, total))
    }

    fn deliveries(&self, visit: &mut dyn FnMut(u32, u32)) {
        if let Some(ranges) = &self.output.bucket_ranges {
            for client in 0..ranges.clients() as u32 {
                for &slot in ranges.of(ClientRow(client)).flatten() {
                    visit(client, slot);
                }
            }
            return;
        }
        let deliveries = &self.output.deliveries;
        for client in 0..deliveries.clients() as u32 {
            for delivery in deliveries.of(ClientRow(client)) {
                visit(client, delivery.slot().0);
            }
        }
    }
}
