//! The world's commands as kernels: compiled on any thread, kept in a cache, and loaded
//! between two ticks.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use device::{CompileError, Device, DriverError, Kernel, Loaded, MachineCode};
use script::ptx::{AtomicCommand, Layout};
use script::{Command, Forecast, Logic, ptx};
use sha2::{Digest, Sha256};
use shared::world::command::COMMANDS_MAX;
use shared::world::given::{FollowUp, is_follow_up};
use shared::{CommandKind, WorldConfig};

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
pub struct Code {
    commands: Vec<CommandCode>,
    /// What runs the atomic ones.
    atomic: Option<AtomicCode>,
}

struct AtomicCode {
    key: String,
    machine_code: Arc<MachineCode>,
}

#[derive(Clone)]
struct CommandCode {
    form: Form,
    /// Unless it is atomic.
    own: Option<OwnCode>,
}

#[derive(Clone)]
struct OwnCode {
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
    /// The numbers of the commands that it may schedule.
    pub schedules: Vec<u16>,
    /// Whether any of these names a newborn.
    pub follow_ups: bool,
    pub is_atomic: bool,
    /// Whether it can say why it has no effect.
    pub has_reasons: bool,
    /// Whether it asks for entities by kind, or by ranking.
    pub asks: bool,
    /// A bit for each relation of which it asks: the things of holders, the members of groups.
    pub asked_relations: u32,
    /// A bit for each ranking of which it asks.
    pub asked_rankings: u32,
}

/// Commands on the GPU.
#[derive(Default)]
pub struct Scripts {
    commands: Vec<LoadedCommand>,
    atomic: Option<LoadedAtomic>,
}

/// A command on the GPU.
pub struct LoadedCommand {
    pub form: Form,
    /// Unless it is atomic.
    own: Option<LoadedOwn>,
}

struct LoadedOwn {
    key: String,
    kernels: Arc<CommandKernels>,
}

struct LoadedAtomic {
    key: String,
    runners: Arc<AtomicRunners>,
}

/// The kernels of all atomic commands, which are there as long as this is.
pub struct AtomicRunners {
    pub keys: Kernel,
    pub threads: Kernel,
    pub warps: Kernel,
    _code: Loaded,
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
        let layout = script_layout(config, &self.sizes);
        let codes = in_parallel(&logic.commands, |command| {
            let own = match command.atomic {
                Some(_) => None,
                None => {
                    let text = ptx::module(command.schema.kind.id(), &command.code, &layout);
                    let key = self.key(&text);
                    let machine_code = self.machine_code(&key, &text)?;
                    Some(OwnCode { key, machine_code })
                }
            };
            let form = Form::of(command);
            Ok(CommandCode { form, own })
        });
        let codes: Result<_, CompileError> = codes.into_iter().collect();
        let commands = codes.map_err(ScriptError::Kernels)?;
        let atomic = self.atomic(logic, &layout);
        let atomic = atomic.map_err(ScriptError::Kernels)?;
        self.newest = Arc::new(Code { commands, atomic });
        Ok(self.newest.clone())
    }

    /// Compiles the atomic commands, if there are any.
    fn atomic(&self, logic: &Logic, layout: &Layout) -> Result<Option<AtomicCode>, CompileError> {
        let commands = logic.commands.iter().filter_map(AtomicCommand::of);
        let commands: Vec<_> = commands.collect();
        if commands.is_empty() {
            return Ok(None);
        }
        let text = ptx::atomic_module(&commands, layout);
        let key = self.key(&text);
        let machine_code = self.machine_code(&key, &text)?;
        Ok(Some(AtomicCode { key, machine_code }))
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
        if let Some(known) = self.newest.machine_code(key) {
            return Ok(known);
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
        let mut schedules: Vec<u16> = command.code.afters().map(|after| after.command).collect();
        let named = command.code.follow_ups().map(|follow_up| follow_up.command);
        let before = schedules.len();
        schedules.extend(named);
        let follow_ups = schedules.len() > before;
        schedules.sort_unstable();
        schedules.dedup();
        Form {
            kind: command.schema.kind.id(),
            updates_max: command.updates_max,
            schedules,
            follow_ups,
            is_atomic: command.atomic.is_some(),
            has_reasons: command.code.has_reasons(),
            asks: command.code.asked_kinds().next().is_some()
                || command.code.asked_rankings().next().is_some(),
            asked_relations: command.code.asked_relations(),
            asked_rankings: (command.code.asked_rankings())
                .fold(0, |bits, ranking| bits | 1 << ranking),
        }
    }
}

impl Scripts {
    /// Puts commands onto the GPU. Those that are there already stay.
    pub fn load(&self, code: &Code, device: &Device) -> Result<Scripts, ScriptError> {
        let load = |command: &CommandCode| {
            let form = command.form.clone();
            let own = match &command.own {
                Some(own) => Some(self.own(form.kind, own, device)?),
                None => None,
            };
            Ok(LoadedCommand { form, own })
        };
        let loaded = || {
            let commands: Result<_, DriverError> = code.commands.iter().map(load).collect();
            let atomic = match &code.atomic {
                Some(atomic) => Some(self.load_atomic(atomic, device)?),
                None => None,
            };
            Ok(Scripts {
                commands: commands?,
                atomic,
            })
        };
        loaded().map_err(|error: DriverError| ScriptError::Kernels(error.into()))
    }

    fn own(&self, kind: u16, own: &OwnCode, device: &Device) -> Result<LoadedOwn, DriverError> {
        let there = self.commands.iter().filter_map(|there| there.own.as_ref());
        let kernels = match { there }.find(|there| there.key == own.key) {
            Some(there) => there.kernels.clone(),
            None => Arc::new(CommandKernels::load(kind, &own.machine_code, device)?),
        };
        let key = own.key.clone();
        Ok(LoadedOwn { key, kernels })
    }

    fn load_atomic(&self, code: &AtomicCode, device: &Device) -> Result<LoadedAtomic, DriverError> {
        let there = self.atomic.as_ref().filter(|there| there.key == code.key);
        let runners = match there {
            Some(there) => there.runners.clone(),
            None => Arc::new(AtomicRunners::load(&code.machine_code, device)?),
        };
        let key = code.key.clone();
        Ok(LoadedAtomic { key, runners })
    }

    /// What runs atomic commands, if there are any.
    pub fn atomic(&self) -> Option<&AtomicRunners> {
        self.atomic.as_ref().map(|atomic| &*atomic.runners)
    }

    /// A bit for each number of an atomic command.
    pub fn atomic_kinds(&self) -> [u64; COMMANDS_MAX / 64] {
        self.kinds(|form| form.is_atomic)
    }

    /// A bit for each number of a command that can say why it has no effect.
    pub fn reasoned_kinds(&self) -> [u64; COMMANDS_MAX / 64] {
        self.kinds(|form| form.has_reasons)
    }

    fn kinds(&self, is_one: impl Fn(&Form) -> bool) -> [u64; COMMANDS_MAX / 64] {
        let mut kinds = [0; COMMANDS_MAX / 64];
        for command in self.commands().filter(|command| is_one(&command.form)) {
            let number = usize::from(command.form.kind);
            kinds[number / 64] |= 1 << (number % 64);
        }
        kinds
    }

    /// All commands, by number.
    pub fn commands(&self) -> impl Iterator<Item = &LoadedCommand> {
        self.commands.iter()
    }

    /// Whether any command asks for entities by kind, or by ranking.
    pub fn ask(&self) -> bool {
        self.commands().any(|command| command.form.asks)
    }

    /// A bit for each relation of which any command asks.
    pub fn asked_relations(&self) -> u32 {
        self.commands()
            .fold(0, |bits, command| bits | command.form.asked_relations)
    }

    /// A bit for each ranking of which any command asks.
    pub fn asked_rankings(&self) -> u32 {
        self.commands()
            .fold(0, |bits, command| bits | command.form.asked_rankings)
    }

    /// Whether any command schedules others.
    pub fn schedules_any(&self) -> bool {
        self.commands()
            .any(|command| !command.form.schedules.is_empty())
    }
}

impl LoadedCommand {
    /// The kernels that count the effects of the tick's commands of this kind, and store them;
    /// none of an atomic command.
    pub fn kernels(&self) -> Option<(Kernel, Kernel)> {
        let own = self.own.as_ref()?;
        Some((own.kernels.count, own.kernels.store))
    }
}

impl Code {
    /// The machine code of a text, by its key.
    fn machine_code(&self, key: &str) -> Option<Arc<MachineCode>> {
        let own = self
            .commands
            .iter()
            .filter_map(|command| command.own.as_ref());
        let own = own.map(|own| (&own.key, &own.machine_code));
        let atomic = self
            .atomic
            .iter()
            .map(|atomic| (&atomic.key, &atomic.machine_code));
        let (_, code) = own.chain(atomic).find(|&(known, _)| known == key)?;
        Some(code.clone())
    }
}

impl AtomicRunners {
    fn load(machine_code: &MachineCode, device: &Device) -> Result<AtomicRunners, DriverError> {
        let code = device.load_code(machine_code)?;
        Ok(AtomicRunners {
            keys: code.kernel(ptx::atomic_kernels::KEYS)?,
            threads: code.kernel(ptx::atomic_kernels::THREADS)?,
            warps: code.kernel(ptx::atomic_kernels::WARPS)?,
            _code: code,
        })
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
    /// Whether any command that waits may be a follow-up.
    pub follow_ups: bool,
}

impl Kinds {
    pub const NONE: Kinds = Kinds {
        is_in: [false; COMMANDS_MAX],
        any: false,
        follow_ups: false,
    };

    pub fn add(&mut self, kind: u16) {
        self.any = true;
        if let Some(is_in) = self.is_in.get_mut(usize::from(kind)) {
            *is_in = true;
        }
    }

    /// Adds the number of a command that waits, and of what it schedules as a follow-up.
    pub fn add_waiting(&mut self, kind: u16, words: &[i32]) {
        self.add(kind);
        let is_birth = kind == CommandKind::SPAWN.id();
        if let Some(&word) = words
            .first()
            .filter(|&&word| is_birth && is_follow_up(word))
        {
            self.follow_ups = true;
            self.add(FollowUp::of(word).command);
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
