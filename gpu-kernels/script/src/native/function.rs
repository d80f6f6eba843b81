//! The machine code of one command.

use std::fmt;
use std::mem;
use std::sync::{Arc, LazyLock, Mutex};

use cranelift_codegen::isa::OwnedTargetIsa;
use cranelift_codegen::settings::{self, Configurable};
use cranelift_frontend::FunctionBuilderContext;
use cranelift_jit::{JITBuilder, JITModule};
use cranelift_module::{FuncId, Module, default_libcall_names};

use super::check;
use super::emit::{self, Emission};
use super::frame::Run;
use super::{NativeError, Shape, facts};
use crate::ir::{Code, Inst};

/// A command's code. It may be called while this lives.
pub struct Function {
    pub run: Run,
    /// How many words it reads, from the first.
    pub words: usize,
    /// Whether it reads its actor.
    pub acts: bool,
    /// Whether it draws random numbers.
    pub draws: bool,
    /// Whether it changes rows.
    pub is_atomic: bool,
    /// Whether it asks for entities by kind, and by ranking.
    pub asks: [bool; 2],
    /// A bit for each relation of which it asks.
    pub relations: u32,
    /// Loops over what is near.
    pub loops: u8,
    /// Whether it asks for anything, or loops over what is near.
    pub needs_more: bool,
    /// The shape whose tables the code reads.
    _shape: Arc<Shape>,
    // Only so that it can be shared: nobody locks it.
    _memory: Mutex<Memory>,
}

impl Function {
    pub fn compile(number: u16, code: &Code, shape: &Arc<Shape>) -> Result<Function, NativeError> {
        let isa = ISA.as_ref().map_err(Clone::clone)?.clone();
        check::check(code, shape).map_err(|reason| NativeError::Malformed { number, reason })?;
        let failed = |reason: String| NativeError::Compile { number, reason };

        let mut builder = JITBuilder::with_isa(isa, default_libcall_names());
        // It finds the functions that it calls in its frame, so there is no name to look up.
        builder.symbol_lookup_fn(Box::new(|_| None));
        let mut memory = Memory(Some(JITModule::new(builder)));
        let states = facts::blocks(code);
        let run = memory.define(code, shape, &states).map_err(failed)?;
        let module = memory.module();
        (module.finalize_definitions()).map_err(|error| failed(error.to_string()))?;

        let run = module.get_finalized_function(run);
        let words = code.insts.iter().map(|inst| match inst {
            Inst::Word(_, word) => usize::from(*word) + 1,
            _ => 0,
        });
        let has = |is: fn(&Inst) -> bool| code.insts.iter().any(is);
        let asks = [
            code.asked_kinds().next().is_some(),
            code.asked_rankings().next().is_some(),
        ];
        let relations = code.asked_relations();
        Ok(Function {
            // SAFETY: `emit::signature` is that of `Run`.
            run: unsafe { mem::transmute::<*const u8, Run>(run) },
            words: words.max().unwrap_or(0),
            acts: has(|inst| matches!(inst, Inst::Actor(_))),
            draws: has(|inst| matches!(inst, Inst::Random(..))),
            is_atomic: code.is_atomic(),
            needs_more: asks.contains(&true) || relations != 0 || code.loops > 0,
            asks,
            relations,
            loops: code.loops,
            _shape: shape.clone(),
            _memory: Mutex::new(memory),
        })
    }
}

impl fmt::Debug for Function {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Function").finish_non_exhaustive()
    }
}

/// Memory of machine code.
struct Memory(Option<JITModule>);

impl Memory {
    fn module(&mut self) -> &mut JITModule {
        self.0.as_mut().expect("it is there until it is dropped")
    }

    fn define(
        &mut self,
        code: &Code,
        shape: &Shape,
        states: &[Option<facts::State>],
    ) -> Result<FuncId, String> {
        let module = self.module();
        let config = module.target_config();
        let mut context = module.make_context();
        context.func.signature = emit::signature(config);
        let id = (module.declare_anonymous_function(&context.func.signature))
            .map_err(|error| error.to_string())?;
        let emission = Emission {
            code,
            shape,
            states,
            config,
        };
        emission.emit(&mut context.func, &mut FunctionBuilderContext::new());
        match module.define_function(id, &mut context) {
            Ok(()) => Ok(id),
            Err(error) => Err(error.to_string()),
        }
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        if let Some(module) = self.0.take() {
            // SAFETY: pointers to the code are in the `Function` that owns this, and who
            // runs them borrows it.
            unsafe { module.free_memory() };
        }
    }
}

/// This machine, as Cranelift knows it.
static ISA: LazyLock<Result<OwnedTargetIsa, NativeError>> = LazyLock::new(|| {
    let failed = |reason: &dyn fmt::Display| NativeError::Target(reason.to_string());
    let mut flags = settings::builder();
    let verifies = if cfg!(debug_assertions) {
        "true"
    } else {
        "false"
    };
    for (flag, value) in [
        ("opt_level", "speed"),
        ("enable_verifier", verifies),
        // Commands come with the world, not from clients, so nobody can use them to read
        // memory by wrong guesses of the processor.
        ("enable_heap_access_spectre_mitigation", "false"),
        ("enable_table_access_spectre_mitigation", "false"),
        ("unwind_info", "false"),
        ("is_pic", "false"),
        ("use_colocated_libcalls", "false"),
    ] {
        flags.set(flag, value).map_err(|error| failed(&error))?;
    }
    let isa = cranelift_native::builder()
        .map_err(|error| failed(&error))?
        .finish(settings::Flags::new(flags))
        .map_err(|error| failed(&error))?;
    // Addresses are computed in 64 bits.
    match isa.pointer_bits() {
        64 => Ok(isa),
        bits => Err(failed(&format!("it has {bits}-bit addresses"))),
    }
});
