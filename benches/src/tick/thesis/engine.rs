use std::sync::Arc;
use std::time::Instant;

use anyhow::{Context, ensure};
use gpu_kernels::{Backend, Frame, TickOutput};
use shared::{ClientRow, Tick, WorldConfig};

use super::{BackendName, Moves, OutputName, Sample, Scenario, Subject};
use crate::tick::backends::EngineName;

/// The engine, through the same door as the server's.
pub struct Engine {
    backend: Box<dyn Backend>,
    output: Arc<TickOutput>,
}

impl Engine {
    /// A scenario's world after the tick in which everyone is born, at a random
    /// place, and the moves that follow.
    pub fn populated(
        scenario: &Scenario,
        name: BackendName,
        form: OutputName,
        threads: usize,
    ) -> anyhow::Result<(Engine, Moves)> {
        let config = scenario.config()?;
        let mut backend = start(&config, name, form, threads)?;
        let mut frame = Frame::new(Tick(0));
        frame.populate(&config);
        let output = backend.tick(&frame)?;
        ensure!(output.counts.births == u64::from(scenario.clients));
        let moves = Moves::after_births(&config, &output);
        let engine = Engine { backend, output };
        Ok((engine, moves))
    }

    /// Of the last tick.
    pub fn output(&self) -> &TickOutput {
        &self.output
    }
}

/// Births and the baseline's start are the cpu backend's.
fn start(
    config: &WorldConfig,
    name: BackendName,
    form: OutputName,
    threads: usize,
) -> anyhow::Result<Box<dyn Backend>> {
    match (name, form) {
        (BackendName::Cuda, OutputName::Pairs) => EngineName::Cuda.start(config, threads),
        (BackendName::Cuda, OutputName::Ranges) => start_with_ranges(config),
        (BackendName::Baseline | BackendName::Cpu, _) => EngineName::Cpu.start(config, threads),
    }
}

#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
fn start_with_ranges(config: &WorldConfig) -> anyhow::Result<Box<dyn Backend>> {
    use gpu_kernels::cuda::{CudaBackend, OutputForm};
    let backend = CudaBackend::with_output(config, None, OutputForm::Ranges)?;
    Ok(Box::new(backend))
}

#[cfg(not(all(target_os = "linux", target_arch = "x86_64")))]
fn start_with_ranges(config: &WorldConfig) -> anyhow::Result<Box<dyn Backend>> {
    EngineName::Cuda.start(config, 1)
}

impl Subject for Engine {
    fn tick(&mut self, frame: &Frame) -> anyhow::Result<Sample> {
        let begin = Instant::now();
        self.output = self.backend.tick(frame).context("the tick failed")?;
        let total = begin.elapsed();
        let counts = &self.output.counts;
        let dropped = counts.deliveries_dropped + counts.updates_dropped + counts.commands_dropped;
        ensure!(dropped == 0, "something was dropped: {counts:?}");
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
