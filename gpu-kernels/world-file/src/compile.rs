//! What the scripts of a world declare, once they are compiled.

use script::diagnostic::{Problem, draw};
use script::ir::{After, Inst, Operand};
use script::logic::{Command, Logic};
use shared::world::columns::Columns;
use shared::world::command::CommandSchema;
use shared::world::given;
use shared::world::logic::LogicConfig;
use shared::world::notification::NotificationSchema;
use shared::world::symbols::Symbols;
use shared::{CommandKind, Hook, Schema, WorldConstant};

/// What scripts declare.
pub struct Declared {
    /// By number.
    pub commands: Vec<CommandSchema>,
    /// The commands that the world gives by itself.
    pub hooks: Vec<Hook>,
    /// All constants of texts.
    pub constants: Vec<WorldConstant>,
    /// Those that can happen, by number.
    pub notifications: Vec<NotificationSchema>,
    /// By command, as `commands`, and by word: the attribute of which it is a symbol, if the
    /// script says so.
    pub word_columns: Vec<Vec<Option<u16>>>,
    /// Whether any command schedules commands.
    pub schedules: bool,
    /// Whether any command asks where entities were, or gets what its client saw.
    pub rewinds: bool,
    /// Why commands of clients have no effect, by number.
    pub unmet: Vec<String>,
    /// What in the texts needs limits above 0.
    pub reasons: Reasons,
    /// The kinds that commands spawn.
    pub spawns: Vec<u16>,
    /// The kinds of which a command goes over all, and which command that is.
    pub gone_over: Vec<(u16, String)>,
    /// The columns that commands update; of an array or a map, all or none.
    pub updates: Columns,
    /// The columns that commands read, likewise.
    pub reads: Columns,
    /// Built-in commands that the world can't have, and why.
    pub left_out: Vec<(String, String)>,
}

/// What in the texts of a world needs limits, as in "`hit` of hit.rs uses `was_within`".
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reasons {
    pub timed_commands: Option<String>,
    pub rewind_ticks: Option<String>,
    pub atomic_per_tick: Option<String>,
    pub notifications_per_tick: Option<String>,
}

/// Why scripts were rejected.
#[derive(Default)]
pub struct LogicError {
    /// Problems of texts, drawn for people; may be empty.
    pub drawn: String,
    /// Problems of the world file: keys and messages.
    pub keys: Vec<(String, String)>,
}

/// The commands and notifications of a world whose attributes, kinds and symbols are known. New
/// names get numbers. Problems are drawn in `colours`, or plain.
pub(super) fn compile(
    schema: &Schema,
    symbols: &Symbols,
    logic: &mut LogicConfig,
    colours: bool,
) -> Result<Declared, LogicError> {
    let compiled = Logic::compile_with(schema, symbols, logic);
    let compiled = compiled.map_err(|problems| error(problems, logic, colours))?;
    let reasons = reasons(&compiled);
    let spawns = spawned(&compiled);
    let gone_over = gone_over(&compiled);
    logic.numbers = compiled.numbers;
    let insts = || compiled.commands.iter().flat_map(|c| &c.code.insts);
    let columns = compiled.commands.iter().flat_map(|c| c.code.updates());
    Ok(Declared {
        schedules: compiled
            .commands
            .iter()
            .any(|c| c.schema.is_given() && c.code.afters().next().is_some()),
        spawns,
        gone_over,
        rewinds: compiled.commands.iter().any(|c| c.rewinds()),
        reasons,
        reads: {
            let reads = insts().filter(|inst| !inst.is_change());
            schema.with_collections(reads.flat_map(Inst::columns).collect())
        },
        updates: schema.with_collections(columns.collect()),
        left_out: compiled.left_out,
        unmet: compiled.reasons,
        word_columns: compiled
            .commands
            .iter()
            .map(|c| c.word_columns.clone())
            .collect(),
        commands: compiled.commands.into_iter().map(|c| c.schema).collect(),
        notifications: compiled.notifications,
        hooks: compiled.hooks,
        constants: compiled.constants,
    })
}

/// What in the texts needs limits.
fn reasons(logic: &Logic) -> Reasons {
    let first = |is_reason: &dyn Fn(&&Command) -> bool, what: &str| {
        let command = logic.commands.iter().find(is_reason)?;
        let (name, file) = (&command.schema.name, &command.file);
        Some(format!("`{name}` of {file} {what}"))
    };
    let asks = |c: &&Command| c.code.insts.iter().any(|i| matches!(i, Inst::Past(..)));
    let schedules = |c: &&Command| c.schema.is_given() && c.code.afters().next().is_some();
    let notifies = |c: &&Command| c.code.notifications().next().is_some();
    let is_hook = |c: &&Command| logic.hooks.iter().any(|h| h.command == c.schema.kind);
    Reasons {
        timed_commands: first(
            &schedules,
            "schedules a command by `after`, `spawn` or `despawn`",
        )
        .or_else(|| first(&is_hook, "is a hook")),
        rewind_ticks: first(&asks, "uses `was_within`")
            .or_else(|| first(&|c| c.rewinds(), "has a parameter `seen`")),
        atomic_per_tick: first(&|c| c.atomic.is_some(), "is atomic"),
        notifications_per_tick: first(&notifies, "notifies clients by `tell`"),
    }
}

/// The kinds that commands spawn.
fn spawned(logic: &Logic) -> Vec<u16> {
    let afters = logic.commands.iter().flat_map(|c| c.code.afters());
    let spawns = afters.filter(|after| after.command == CommandKind::SPAWN.id());
    let kind = |after: &After| Some(given::birth(after.words.first()?.constant()?)?.0);
    spawns.filter_map(kind).collect()
}

/// The kinds of which a command goes over all, each with the first command.
fn gone_over(logic: &Logic) -> Vec<(u16, String)> {
    let mut found: Vec<(u16, String)> = vec![];
    for command in &logic.commands {
        for inst in &command.code.insts {
            if let Inst::Nth(_, kind, Operand::Reg(_)) = *inst
                && found.iter().all(|(known, _)| *known != kind)
            {
                let (name, file) = (&command.schema.name, &command.file);
                found.push((kind, format!("`{name}` of {file}")));
            }
        }
    }
    found
}

/// Problems as one error: those of the world file, and those of texts, drawn.
fn error(problems: Vec<Problem>, logic: &LogicConfig, colours: bool) -> LogicError {
    let mut error = LogicError::default();
    for problem in &problems {
        if let Problem::Setting { key, message } = problem {
            error.keys.push((key.clone(), message.clone()));
        }
    }
    let diagnostics: Vec<_> = problems.iter().filter_map(Problem::diagnostic).collect();
    error.drawn = draw(&diagnostics, &logic.texts, colours);
    error
}
