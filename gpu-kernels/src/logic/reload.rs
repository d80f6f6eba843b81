//! Other scripts for a world that runs.
//!
//! Scripts are compiled beside the world ([`LogicCompiler`]), handed over
//! ([`Backend::stage`](crate::Backend::stage)), and come into force with the frame that
//! names them ([`Frame::logic`](crate::Frame::logic)). A frame whose scripts were not handed
//! over, as in a replay, has them compiled on the spot.

use std::any::Any;

use script::{Forecast, Logic};
use shared::WorldConfig;
use shared::world::logic::LogicConfig;

use super::ScriptError;

/// Compiles scripts for a backend, on any thread.
pub trait LogicCompiler: Send {
    /// Compiles the scripts of a world: what [`compile_with`](script::logic::compile_with)
    /// returned.
    fn compile(&mut self, config: WorldConfig, logic: Logic) -> Result<CompiledLogic, ScriptError>;
}

/// Scripts, ready to come into force on the backend whose compiler made them.
pub struct CompiledLogic {
    /// The world with these scripts.
    pub config: WorldConfig,
    /// The forecast by which clients of that world predict.
    pub forecast: Forecast,
    code: Box<dyn Any + Send>,
}

impl CompiledLogic {
    pub(crate) fn new(
        config: WorldConfig,
        forecast: Forecast,
        code: impl Any + Send,
    ) -> CompiledLogic {
        CompiledLogic {
            config,
            forecast,
            code: Box::new(code),
        }
    }

    /// The code, if these are the scripts and the code is a backend's own.
    pub(crate) fn into_code<C: Any>(self, logic: &LogicConfig) -> Option<(WorldConfig, C)> {
        if self.config.logic != *logic {
            return None;
        }
        let code = self.code.downcast().ok()?;
        Some((self.config, *code))
    }
}
