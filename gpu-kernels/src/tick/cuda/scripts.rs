//! The world's commands as kernels: compiled on any thread, kept in a cache, and loaded
//! between two ticks.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use device::{CompileError, Device, DriverError, Kernel, Loaded, MachineCode};
use script::{Command, Forecast, Logic, ptx};
use sha2::{Digest, Sha256};
use shared::WorldConfig;
use shared::world::command::COMMANDS_MAX;

use super::layout::script_layout;
use super::sizes::Sizes;
use crate::logic::{CompiledLogic, LogicCompiler, ScriptError};

/// Keeps machine code beyond the process, so that a world starts without the compiler.
pub trait CodeCache: fmt::Debug + Send + Sync {
    /// What was put under a key, which consists of hexadecimal digits.
    fn get(&self, key: &str) -> Option<Vec<u8>>;

    /// Keeps bytes, if it can.
    fn put(&self, key: &str, bytes: &[u8]);
}

/// Compiles scripts for one world's GPU.
#[derive(Clone)]
pub struct Compiler {
    device: Arc<Device>,
    /// [`Device::target`].
    target: String,
    sizes: Sizes,
    cache: Option<Arc<dyn CodeCache>>,
    /// The newest, whose unchanged commands are used again.
    newest: Arc<Code>,
}

/// Commands in machine code.
#[derive(Default)]
pub struct Code(Vec<CommandCode>);

#[derive(Clone)]
struct CommandCode {
    form: Form,
    /// The key of its text: two of one key are the same.
    key: String,
    machine_code: Arc<MachineCode>,
}

/// What the host must know of a command.
#[derive(Clone)]
pub struct Form {
    /// Its number.
    pub kind: u16,
    /// The most updates of a run.
    pub updates_max: u64,
    /// The numbers of the commands that it may put off.
    pub puts_off: Vec<u16>,
}

/// Commands on the GPU.
#[derive(Default)]
pub struct Scripts(Vec<LoadedCommand>);

/// A command on the GPU.
pub struct LoadedCommand {
    pub form: Form,
    key: String,
    kernels: Arc<CommandKernels>,
}

/// The kernels of a command, which are there as long as this is.
struct CommandKernels {
    count: Kernel,
    store: Kernel,
    _code: Loaded,
}

impl Compiler {
    pub fn new(
        device: Arc<Device>,
        sizes: Sizes,
        cache: Option<Arc<dyn CodeCache>>,
    ) -> Result<Compiler, DriverError> {
        Ok(Compiler {
            target: device.target()?,
            device,
            sizes,
            cache,
            newest: Arc::default(),
        })
    }

    /// Whether another device can run what is compiled.
    pub fn is_for(&self, device: &Device) -> Result<bool, DriverError> {
        Ok(device.target()? == self.target)
    }

    /// Compiles the commands of a world that are not as they were before, several at a time.
    pub fn code(&mut self, config: &WorldConfig, logic: &Logic) -> Result<Arc<Code>, ScriptError> {
        if let Some(command) = logic.commands.iter().find(|c| c.atomic.is_some()) {
            return Err(ScriptError::Atomic(command.schema.name.clone()));
        }
        let layout = script_layout(config, &self.sizes);
        let codes = in_parallel(&logic.commands, |command| {
            let text = ptx::module(command.schema.kind.id(), &command.code, &layout);
            let key = self.key(&text);
            let machine_code = self.machine_code(&key, &text)?;
            Ok(CommandCode {
                form: Form::of(command),
                key,
                machine_code,
            })
        });
        let codes: Result<_, CompileError> = codes.into_iter().collect();
        self.newest = Arc::new(Code(codes.map_err(ScriptError::Kernels)?));
        Ok(self.newest.clone())
    }

    fn key(&self, text: &str) -> String {
        let mut hash = Sha256::new();
        for part in [&self.target, text] {
            hash.update((part.len() as u64).to_le_bytes());
            hash.update(part);
        }
        format!("{:x}", hash.finalize())
    }

    fn machine_code(&self, key: &str, text: &str) -> Result<Arc<MachineCode>, CompileError> {
        if let Some(known) = self.newest.0.iter().find(|known| known.key == key) {
            return Ok(known.machine_code.clone());
        }
        let cached = self.cache.as_ref().and_then(|cache| cache.get(key));
        if let Some(code) = cached.and_then(|bytes| MachineCode::from_bytes(&bytes)) {
            return Ok(Arc::new(code));
        }
        let code = self.device.compile(text)?;
        if let Some(cache) = &self.cache {
            cache.put(key, &code.to_bytes());
        }
        Ok(Arc::new(code))
    }
}

impl LogicCompiler for Compiler {
    fn compile(&mut self, config: WorldConfig, logic: Logic) -> Result<CompiledLogic, ScriptError> {
        let code = self.code(&config, &logic)?;
        let forecast = Forecast::of(&config, &logic);
        Ok(CompiledLogic::new(config, forecast, code))
    }
}

impl Form {
    fn of(command: &Command) -> Form {
        let mut puts_off: Vec<u16> = command.code.afters().map(|after| after.command).collect();
        puts_off.sort_unstable();
        puts_off.dedup();
        Form {
            kind: command.schema.kind.id(),
            updates_max: command.updates_max,
            puts_off,
        }
    }
}

impl Scripts {
    /// Puts commands onto the GPU. Those that are there already stay.
    pub fn load(&self, code: &Code, device: &Device) -> Result<Scripts, ScriptError> {
        let load = |command: &CommandCode| {
            let CommandCode {
                form,
                key,
                machine_code,
            } = command;
            let there = self.0.iter().find(|there| there.key == *key);
            let kernels = match there {
                Some(there) => there.kernels.clone(),
                None => Arc::new(CommandKernels::load(form.kind, machine_code, device)?),
            };
            Ok(LoadedCommand {
                form: form.clone(),
                key: key.clone(),
                kernels,
            })
        };
        let loaded: Result<_, DriverError> = code.0.iter().map(load).collect();
        loaded
            .map(Scripts)
            .map_err(|error| ScriptError::Kernels(error.into()))
    }

    /// All commands, by number.
    pub fn commands(&self) -> impl Iterator<Item = &LoadedCommand> {
        self.0.iter()
    }

    /// Whether any command puts others off.
    pub fn put_off(&self) -> bool {
        self.commands()
            .any(|command| !command.form.puts_off.is_empty())
    }
}

impl LoadedCommand {
    /// The kernel that counts the effects of the tick's commands of this kind.
    pub fn count(&self) -> Kernel {
        self.kernels.count
    }

    /// The kernel that stores them.
    pub fn store(&self) -> Kernel {
        self.kernels.store
    }
}

impl CommandKernels {
    fn load(
        kind: u16,
        machine_code: &MachineCode,
        device: &Device,
    ) -> Result<CommandKernels, DriverError> {
        let code = device.load_code(machine_code)?;
        let names = ptx::kernel_names(kind);
        Ok(CommandKernels {
            count: code.kernel(&names.count)?,
            store: code.kernel(&names.store)?,
            _code: code,
        })
    }
}

/// Numbers of commands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kinds {
    is_in: [bool; COMMANDS_MAX],
    /// Whether there is any number, also one that no command can have.
    pub any: bool,
}

impl Kinds {
    pub const NONE: Kinds = Kinds {
        is_in: [false; COMMANDS_MAX],
        any: false,
    };

    pub fn add(&mut self, kind: u16) {
        self.any = true;
        if let Some(is_in) = self.is_in.get_mut(usize::from(kind)) {
            *is_in = true;
        }
    }

    /// Those that commands can have.
    pub fn iter(&self) -> impl Iterator<Item = usize> + '_ {
        let all = self.is_in.iter().enumerate();
        all.filter(|&(_, &is_in)| is_in).map(|(kind, _)| kind)
    }
}

/// Calls `each` for all items, on as many threads as help; the results are in their order.
fn in_parallel<T: Sync, R: Send>(items: &[T], each: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let next = AtomicUsize::new(0);
    let work = || {
        let mut done = vec![];
        loop {
            let i = next.fetch_add(1, Ordering::Relaxed);
            let Some(item) = items.get(i) else {
                return done;
            };
            done.push((i, each(item)));
        }
    };
    let mut all = thread::scope(|scope| {
        let helpers = 1..items.len().min(COMPILERS_MAX);
        let helpers: Vec<_> = helpers.map(|_| scope.spawn(work)).collect();
        let mut all = work();
        for helper in helpers {
            match helper.join() {
                Ok(done) => all.extend(done),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        all
    });
    all.sort_unstable_by_key(|&(i, _)| i);
    all.into_iter().map(|(_, result)| result).collect()
}

/// Threads that compile at a time.
const COMPILERS_MAX: usize = 8;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_have_the_order_of_their_items() {
        for n in [0, 1, 2, 7, 100] {
            let items: Vec<u64> = (0..n).collect();
            let squares = in_parallel(&items, |&item| item * item);
            assert_eq!(squares, items.iter().map(|i| i * i).collect::<Vec<_>>());
        }
    }

    #[test]
    fn a_kind_that_no_command_can_have_counts_as_one() {
        let mut kinds = Kinds::NONE;
        kinds.add(256);
        assert!(kinds.any && kinds.iter().next().is_none());
        for kind in [7, 0, 255, u16::MAX, 7] {
            kinds.add(kind);
        }
        assert_eq!(kinds.iter().collect::<Vec<_>>(), [0, 7, 255]);
    }
}
