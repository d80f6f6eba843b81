//! The commands of a world, ready to run on a CPU.

use std::fmt;

use device::CompileError;
use script::arith::random_key;
use script::interpreter::Space;
use script::ir::Inst;
use script::native::{Native, NativeError, Shape};
use script::{Command, Logic, Problem};
use shared::world::columns::Columns;
use shared::{EntityId, Tick, WorldConfig};

use crate::slot::SlotState;

/// Compiled commands.
pub struct Scripts {
    logic: Logic,
    /// By number: how a command runs, if it has a script.
    forms: Vec<Option<ScriptForm>>,
    /// By entity kind: its columns.
    kind_columns: Vec<Columns>,
    /// The commands that ask for entities wherever they are.
    asking: Vec<Asking>,
    pub space: Space,
    seed: u64,
    engine: Engine,
    native: Option<Native>,
}

/// How a command runs.
#[derive(Clone, Copy)]
pub struct ScriptForm {
    /// Its place in [`Logic::commands`].
    place: u16,
    /// Whether it draws random numbers.
    draws: bool,
    pub is_atomic: bool,
    /// Whether it is atomic, and looks at its keys.
    is_guarded: bool,
}

/// A command that asks for entities wherever they are.
pub struct Asking {
    pub command: u16,
    pub kinds: Vec<u16>,
    pub rankings: Vec<u16>,
    /// A bit for each.
    pub relations: u32,
}

/// Why scripts can't run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ScriptError {
    /// A world whose scripts were not checked, such as one from a damaged recording.
    Problems(Vec<Problem>),
    Native(NativeError),
    /// A GPU's driver refuses them.
    Kernels(CompileError),
}

/// An executor of commands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Engine {
    /// Machine code where the machine's kind is known, else the interpreter.
    #[default]
    Fastest,
    Interpreter,
}

impl Scripts {
    /// Compiles the scripts of a world.
    pub fn new(config: &WorldConfig, engine: Engine) -> Result<Scripts, ScriptError> {
        let logic = Logic::of(config).map_err(ScriptError::Problems)?;
        Scripts::after(config, logic, engine, None)
    }

    /// Compiles other scripts of the same world, which it has `config` with. Commands that
    /// are as before keep their machine code.
    pub fn changed(&self, config: &WorldConfig, logic: Logic) -> Result<Scripts, ScriptError> {
        Scripts::after(config, logic, self.engine, Some(self))
    }

    fn after(
        config: &WorldConfig,
        logic: Logic,
        engine: Engine,
        before: Option<&Scripts>,
    ) -> Result<Scripts, ScriptError> {
        let space = Space {
            dimensions: config.dimensions(),
            size: config.size_raw(),
            budget: logic.budget,
        };
        let numbers = logic
            .commands
            .iter()
            .map(|c| usize::from(c.schema.kind.id()));
        let count = numbers.max().map_or(0, |last| last + 1);
        let mut forms = vec![None; count];
        for (place, command) in logic.commands.iter().enumerate() {
            let number = usize::from(command.schema.kind.id());
            let is_guard = |inst: &Inst| matches!(inst, Inst::Keep(_));
            forms[number] = Some(ScriptForm {
                place: place as u16,
                draws: command.code.draws(),
                is_atomic: command.atomic.is_some(),
                is_guarded: command.code.insts.iter().any(is_guard),
            });
        }
        let asks = logic.commands.iter().filter(|command| command.code.asks());
        let asking = asks.map(|command| Asking {
            command: command.schema.kind.id(),
            kinds: command.code.asked_kinds().collect(),
            rankings: command.code.asked_rankings().collect(),
            relations: command.code.asked_relations(),
        });
        let asking = asking.collect();
        let mut scripts = Scripts {
            logic,
            forms,
            kind_columns: config.schema.kind_columns(),
            asking,
            space,
            seed: config.seed,
            engine,
            native: None,
        };
        if engine == Engine::Fastest {
            scripts.native = scripts.compile(config, before)?;
        }
        Ok(scripts)
    }

    fn compile(
        &self,
        config: &WorldConfig,
        before: Option<&Scripts>,
    ) -> Result<Option<Native>, ScriptError> {
        let shape = Shape {
            space: self.space,
            columns: config.schema.attributes.len(),
            rankings: config.schema.rankings.len(),
            kind_columns: self.kind_columns.clone(),
            bounds: (0..config.schema.kinds.len())
                .flat_map(|kind| config.schema.bounds(kind))
                .collect(),
            live: SlotState::Live as u8,
        };
        let before = before.and_then(|before| Some((before, before.native.as_ref()?)));
        // The code depends on the budget, too.
        let before = before.filter(|(_, native)| *native.shape() == shape);
        let start = match &before {
            Some((_, native)) => Ok((*native).clone()),
            None => Native::compile([], shape),
        };
        let mut native = start.map_err(ScriptError::Native)?;
        for command in &self.logic.commands {
            let number = command.schema.kind.id();
            let known = before.and_then(|(before, _)| before.command(number));
            if known.is_some_and(|known| known.code == command.code) {
                continue;
            }
            match native.replace(number, &command.code) {
                Ok(()) => {}
                Err(NativeError::Target(_)) => return Ok(None),
                Err(error) => return Err(ScriptError::Native(error)),
            }
        }
        Ok(Some(native))
    }

    /// By entity kind: its columns.
    pub fn kind_columns(&self) -> &[Columns] {
        &self.kind_columns
    }

    /// The commands that ask for entities wherever they are.
    pub fn asking(&self) -> &[Asking] {
        &self.asking
    }

    pub fn logic(&self) -> &Logic {
        &self.logic
    }

    /// The machine code of the commands, if there is some.
    pub fn native(&self) -> Option<&Native> {
        self.native.as_ref()
    }

    /// The script of a command; `None` for the engine's own.
    #[inline]
    pub fn command(&self, number: u16) -> Option<&Command> {
        let form = self.form(number)?;
        Some(&self.logic.commands[usize::from(form.place)])
    }

    /// How a command runs; `None` for the engine's own.
    #[inline]
    pub fn form(&self, number: u16) -> Option<ScriptForm> {
        *self.forms.get(usize::from(number))?
    }

    #[inline]
    pub fn is_atomic(&self, number: u16) -> bool {
        self.form(number).is_some_and(|form| form.is_atomic)
    }

    /// Whether a command looks at its keys.
    #[inline]
    pub fn is_guarded(&self, number: u16) -> bool {
        self.form(number).is_some_and(|form| form.is_guarded)
    }

    /// The number from which a run's random numbers follow; 0 if it draws none.
    #[inline]
    pub fn random_key(&self, tick: Tick, entity: EntityId, number: u16, sequence: u32) -> u64 {
        match self.form(number) {
            Some(form) if form.draws => random_key(self.seed, tick, entity, number, sequence),
            _ => 0,
        }
    }
}

impl fmt::Display for ScriptError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ScriptError::Problems(problems) => {
                write!(f, "the world's scripts have problems")?;
                problems
                    .iter()
                    .try_for_each(|problem| write!(f, "\n{problem}"))
            }
            ScriptError::Native(error) => error.fmt(f),
            ScriptError::Kernels(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for ScriptError {}
