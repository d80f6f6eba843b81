//! A backend that fails on purpose, as a GPU does: for tests where there is no GPU.

use std::sync::Arc;

use gpu_kernels::logic::{CompiledLogic, LogicCompiler};
use gpu_kernels::tick::fault::Fault;
use gpu_kernels::{
    Backend, Frame, RestoreError, Snapshot, Stage, StateHash, SubmittedTick, TickError, TickOutput,
};
use shared::Tick;

/// A backend of several parts, of which one fails.
pub struct FailingBackend {
    backend: Box<dyn Backend>,
    parts: usize,
    fault: Fault,
    failed: Option<TickError>,
}

impl FailingBackend {
    pub fn new(backend: Box<dyn Backend>, parts: usize, fault: Fault) -> FailingBackend {
        FailingBackend {
            backend,
            parts,
            fault,
            failed: None,
        }
    }

    /// Fails for good, if it is to fail in one of these stages of the tick.
    fn reach(&mut self, tick: Tick, stages: &[Stage]) -> Result<(), TickError> {
        let Fault { part, stage, .. } = self.fault;
        if self.fault.tick == tick && stages.contains(&stage) {
            let others = (0..self.parts as u32).filter(|&other| other != part as u32);
            self.failed = Some(TickError::Device {
                gpu: part as u32,
                stage: stage.name(),
                message: Fault::MESSAGE.to_owned(),
                left: others.collect(),
            });
        }
        self.check()
    }

    fn check(&self) -> Result<(), TickError> {
        self.failed.clone().map_or(Ok(()), Err)
    }
}

impl Backend for FailingBackend {
    fn name(&self) -> &'static str {
        self.backend.name()
    }

    fn logic_compiler(&self) -> Box<dyn LogicCompiler> {
        self.backend.logic_compiler()
    }

    fn stage(&mut self, logic: CompiledLogic) {
        self.backend.stage(logic);
    }

    fn submit(&mut self, frame: &Frame) -> Result<SubmittedTick, TickError> {
        self.check()?;
        // The state has changed by then, as on a GPU.
        let ticket = self.backend.submit(frame)?;
        self.reach(frame.tick, &Stage::ALL[..Stage::Download as usize])?;
        Ok(ticket)
    }

    fn collect(&mut self, ticket: SubmittedTick) -> Result<Arc<TickOutput>, TickError> {
        self.check()?;
        let output = self.backend.collect(ticket)?;
        self.reach(output.tick, &[Stage::Download])?;
        Ok(output)
    }

    fn set_quiet(&mut self, is_quiet: bool) {
        self.backend.set_quiet(is_quiet);
    }

    fn start_copy(&mut self) -> Result<(), TickError> {
        self.check()?;
        self.backend.start_copy()
    }

    fn continue_copy(&mut self) -> Result<Option<Snapshot>, TickError> {
        self.check()?;
        self.backend.continue_copy()
    }

    fn snapshot(&mut self) -> Result<Snapshot, TickError> {
        self.check()?;
        self.backend.snapshot()
    }

    fn restore(&mut self, snapshot: &Snapshot) -> Result<(), RestoreError> {
        self.backend.restore(snapshot)
    }

    fn state_hash(&mut self) -> Result<StateHash, TickError> {
        self.check()?;
        self.backend.state_hash()
    }
}
