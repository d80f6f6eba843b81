//! Compiles the texts of a world into commands. `change` gives a world others.

use std::collections::BTreeSet;

use shared::world::attribute::high_name;
use shared::world::command::CommandWord;
use shared::world::edit::EDIT_KIND;
use shared::world::hook::HOOKS_MAX;
use shared::world::logic::{Budget, Constants, LogicConfig, Numbers, Text};
use shared::world::notification::{NotificationField, NotificationSchema};
use shared::world::symbols::Symbols;
use shared::{
    AttributeType, CommandKind, CommandSchema, Hook, Schema, Senders, WorldConfig, WorldConstant,
};

mod change;

use crate::atomic::Keys;
use crate::diagnostic::{PROBLEMS_MAX, Problem};
use crate::ir::{Code, Inst, WRITES_MAX};
use crate::lower::{Lower, constant, kept};
use crate::parse::File;
use crate::types::Type;
use crate::unit::{Form, Signature, Unit};
use crate::usage::{KEYS, Usage, is_usage, usage};
use crate::uses::Uses;
pub use change::{compile_with, restore_with, with_logic};

/// The commands of a world, checked.
#[derive(Clone, Debug)]
pub struct Logic {
    /// By number.
    pub commands: Vec<Command>,
    /// Notifications that the commands may emit, by number.
    pub notifications: Vec<NotificationSchema>,
    /// The commands that the world gives by itself, by number.
    pub hooks: Vec<Hook>,
    /// All constants of texts but points, by name.
    pub constants: Vec<WorldConstant>,
    /// The numbers of names, with those of new names.
    pub numbers: Numbers,
    pub budget: Budget,
    /// Why commands of clients have no effect, by number.
    pub reasons: Vec<String>,
    /// Commands of built-in texts that the world can't have, and why.
    pub left_out: Vec<(String, String)>,
}

/// A command.
#[derive(Clone, Debug)]
pub struct Command {
    pub schema: CommandSchema,
    /// The comment above it.
    pub doc: String,
    /// The name of its text.
    pub file: String,
    pub code: Code,
    /// Of a command that runs as if alone: the entities that it has to do with.
    pub atomic: Option<Keys>,
    /// The most updates or writes of a run.
    pub updates_max: u64,
    /// By word: the attribute of which it is a symbol, if its parameter says so.
    pub word_columns: Vec<Option<u16>>,
}

impl Command {
    /// Whether it asks where entities were, or gets what its client saw.
    pub fn rewinds(&self) -> bool {
        let asks = |inst: &Inst| matches!(inst, Inst::Past(..));
        self.schema.is_given() && self.schema.seen_word().is_some()
            || self.code.insts.iter().any(asks)
    }
}

impl Logic {
    /// The logic of a checked world.
    pub fn of(config: &WorldConfig) -> Result<Logic, Vec<Problem>> {
        let mut logic = Logic::compile_with(&config.schema, &config.symbols, &config.logic)?;
        logic.refuse_excess(&config.exact);
        logic.fit(&config.schema);
        Ok(logic)
    }

    /// Refuses writes of these columns that would be clamped.
    fn refuse_excess(&mut self, columns: &[u16]) {
        for inst in self.commands.iter_mut().flat_map(|c| &mut c.code.insts) {
            if let Inst::Write(write) | Inst::WriteAt(write, _) = inst {
                write.fits |= columns.contains(&write.column);
            }
        }
    }

    /// Removes what a world of this schema has no room for.
    fn fit(&mut self, schema: &Schema) {
        let logic = self;
        logic
            .commands
            .retain(|c| schema.command(c.schema.kind).is_some());
        logic
            .notifications
            .retain(|n| schema.notification(n.kind).is_some());
        for command in &mut logic.commands {
            command.code.drop_notifications(|kind| {
                let is_declared = logic.notifications.iter().any(|n| n.kind.0 == kind);
                is_declared || kind == EDIT_KIND.0
            });
        }
    }

    /// Compiles texts, or says all that is wrong with them. Of the schema, attributes, kinds
    /// and symbols count. An attribute has all symbols within its bounds.
    pub fn compile(schema: &Schema, logic: &LogicConfig) -> Result<Logic, Vec<Problem>> {
        Logic::compile_with(schema, &Symbols::within_bounds(schema), logic)
    }

    /// The same in a world whose attributes have these symbols.
    pub fn compile_with(
        schema: &Schema,
        symbols: &Symbols,
        logic: &LogicConfig,
    ) -> Result<Logic, Vec<Problem>> {
        with_stack(|| compile(schema, symbols, logic))
    }

    /// The command of a number.
    pub fn command(&self, kind: CommandKind) -> Option<&Command> {
        let at = self.commands.binary_search_by_key(&kind, |c| c.schema.kind);
        at.ok().map(|at| &self.commands[at])
    }
}

/// Runs the compiler. Parsing recurses as deep as a text nests, which the limits on texts
/// keep within this stack.
pub(crate) fn with_stack<T: Send>(
    compile: impl FnOnce() -> Result<T, Vec<Problem>> + Send,
) -> Result<T, Vec<Problem>> {
    #[cfg(not(target_family = "wasm"))]
    return std::thread::scope(|scope| {
        let builder = std::thread::Builder::new().stack_size(STACK_BYTES);
        let worker = builder.spawn_scoped(scope, compile);
        let failed = |message: String| {
            let key = "logic".to_owned();
            Err(vec![Problem::Setting { key, message }])
        };
        match worker.map(|worker| worker.join()) {
            Ok(Ok(result)) => result,
            Ok(Err(_)) => failed("the compiler has failed; this is a defect of Myriad".to_owned()),
            // As with `ulimit -v` or `-u`.
            Err(error) => failed(format!(
                "the compiler's thread can't be started, with {} MiB of stack: {error}; are memory \
                 or processes of this user limited?",
                STACK_BYTES >> 20
            )),
        }
    });
    #[cfg(target_family = "wasm")]
    compile()
}

/// The most texts of a world.
pub const TEXTS_MAX: usize = 256;
/// The most bytes of all texts of a world.
const LOGIC_BYTES_MAX: usize = 1 << 20;
/// Twice what the deepest text within the limits needs in a build without optimization; an
/// optimized one needs 8 MiB.
const STACK_BYTES: usize = 64 << 20;

fn compile(schema: &Schema, symbols: &Symbols, logic: &LogicConfig) -> Result<Logic, Vec<Problem>> {
    let LogicConfig {
        texts,
        constants,
        budget,
        numbers,
        ..
    } = logic;
    check_lengths(texts)?;
    check_budget(*budget)?;
    let mut parsed = vec![];
    let files: Vec<File<'_>> = texts
        .iter()
        .map(|text| File::parse(schema, text, &mut parsed))
        .collect();
    if !parsed.is_empty() {
        let mut problems: Vec<Problem> = parsed.into_iter().map(Problem::Text).collect();
        problems.extend(problems_beside(schema, symbols, logic, &problems));
        problems.truncate(PROBLEMS_MAX);
        return Err(problems);
    }
    let unit = Unit::new(schema, symbols, &files, *budget, constants, numbers.clone());
    check_constants(&unit, constants);
    check_hooks(&unit);
    let (commands, left_out) = lower_all(&unit);
    let problems = unit.problems.take();
    if !problems.is_empty() {
        return Err(problems);
    }
    let hooks = hooks_of(&unit);
    let constants = constants_of(&unit);
    let (forms, numbers, reasons) = unit.into_forms();
    let used = |form: &Form| {
        let mut notifications = commands.iter().flat_map(|c| c.code.notifications());
        notifications.any(|n| n.kind == form.kind.0)
    };
    let mut notifications: Vec<NotificationSchema> = forms
        .iter()
        .filter(|(_, form)| used(form))
        .map(|(name, form)| notification_schema(name, form, schema.dimensions()))
        .collect();
    notifications.sort_by_key(|n| n.kind);
    Ok(Logic {
        commands,
        notifications,
        hooks,
        constants,
        numbers,
        budget: *budget,
        reasons,
        left_out,
    })
}

/// The problems of those texts that use nothing of texts with problems. What these declare
/// would be missed elsewhere.
fn problems_beside(
    schema: &Schema,
    symbols: &Symbols,
    logic: &LogicConfig,
    problems: &[Problem],
) -> Vec<Problem> {
    let files = problems.iter().filter_map(Problem::diagnostic);
    let files: BTreeSet<&str> = files.map(|diagnostic| diagnostic.file.as_str()).collect();
    let left_out = Uses::of(&logic.texts).users_of(&files);
    let is_kept = |text: &&Text| !left_out.contains(text.file.as_str());
    let texts: Vec<Text> = logic.texts.iter().filter(is_kept).cloned().collect();
    let others = LogicConfig {
        texts,
        constants: Constants::new(),
        ..logic.clone()
    };
    let problems = compile(schema, symbols, &others).err().unwrap_or_default();
    let of_texts = problems.into_iter();
    of_texts
        .filter(|problem| problem.diagnostic().is_some())
        .collect()
}

fn check_lengths(texts: &[Text]) -> Result<(), Vec<Problem>> {
    let bytes: usize = texts.iter().map(|text| text.text.len()).sum();
    let message = if texts.len() > TEXTS_MAX {
        format!(
            "at most {TEXTS_MAX} texts are allowed, found {}",
            texts.len()
        )
    } else if bytes > LOGIC_BYTES_MAX {
        format!("the texts may have {LOGIC_BYTES_MAX} bytes together, found {bytes}")
    } else {
        return Ok(());
    };
    let key = "logic".to_owned();
    Err(vec![Problem::Setting { key, message }])
}

/// A world file's budget is checked already; that of a recorded frame may be anything.
fn check_budget(budget: Budget) -> Result<(), Vec<Problem>> {
    let limits = [
        ("steps", budget.steps, Budget::STEPS_MAX),
        ("visits", budget.visits, Budget::VISITS_MAX),
    ];
    for (key, found, most) in limits {
        if !(1..=most).contains(&found) {
            let message = format!("expected 1 to {most}, found {found}");
            let key = format!("logic.{key}");
            return Err(vec![Problem::Setting { key, message }]);
        }
    }
    Ok(())
}

/// Evaluates all constants, and finds settings that no constant has.
fn check_constants<'a>(unit: &'a Unit<'a>, settings: &Constants) {
    for (file, item) in unit.constants() {
        if unit.is_full() {
            return;
        }
        let _ = constant(unit, file, &item.name);
    }
    for (stem, settings) in settings {
        let own = unit
            .constants()
            .filter(|(file, _)| unit.files[*file].text.stem() == stem);
        let own: Vec<String> = own.map(|(_, item)| item.name.to_lowercase()).collect();
        let is_command = unit.commands.contains_key(stem);
        if !is_command && !unit.files.iter().any(|file| file.text.stem() == stem) {
            let stems: Vec<&str> = unit.files.iter().map(|file| file.text.stem()).collect();
            let message = match stems.is_empty() {
                true => "there is no such text, as the world has no scripts".to_owned(),
                false => format!("there is no such text; expected one of {stems:?}"),
            };
            unit.wrong_setting(stem, "", message);
            continue;
        }
        let is_known = |key: &String| own.contains(key) || is_usage(unit, stem, key);
        let usages = KEYS
            .iter()
            .filter(|_| is_command)
            .map(|key| (*key).to_owned());
        let known: Vec<String> = match own.is_empty() {
            true => usages.collect(),
            false => own.clone(),
        };
        for key in settings.keys().filter(|key| !is_known(key)) {
            let message = match known.is_empty() {
                true => format!("there is no such constant: {stem}.rs declares none"),
                false => format!("there is no such constant; expected one of {known:?}"),
            };
            unit.wrong_setting(stem, key, message);
        }
    }
}

/// The commands of all texts, and those that are left out, with the reason.
fn lower_all<'a>(unit: &'a Unit<'a>) -> (Vec<Command>, Vec<(String, String)>) {
    let (mut commands, mut left_out) = (vec![], vec![]);
    // Helpers that nobody calls are checked, too.
    for (file, function) in unit.helpers() {
        if unit.is_full() {
            break;
        }
        if unit.files[file].text.is_builtin {
            continue;
        }
        // One that only fits atomic commands is for those.
        if let Err(problems) = Lower::function(unit, file, function)
            && Lower::function_as(unit, file, function, true).is_err()
        {
            problems.into_iter().for_each(|problem| unit.note(problem));
        }
    }
    for signature in unit.commands.values() {
        if unit.is_full() {
            break;
        }
        let is_lenient = unit.files[signature.file].text.is_builtin;
        match Lower::function(unit, signature.file, signature.function) {
            // It does nothing in this world.
            Ok(code) if is_lenient && !has_effect(&code) => {
                let reason = "it has no effect with these constants and attributes";
                left_out.push((signature.function.name.clone(), reason.to_owned()));
            }
            Ok(code) => {
                let schema = command_schema(unit, signature);
                commands.push(Command {
                    atomic: atomic_keys(signature, &code),
                    updates_max: updates_max(&code, unit.budget),
                    word_columns: word_columns(unit, signature),
                    schema,
                    doc: signature.function.doc.clone(),
                    file: unit.files[signature.file].text.file.clone(),
                    code,
                });
            }
            // It names what this world lacks.
            Err(problems) if is_lenient => {
                let reason = problems.first().map_or(String::new(), |p| p.to_string());
                left_out.push((signature.function.name.clone(), reason));
            }
            Err(problems) => problems.into_iter().for_each(|problem| unit.note(problem)),
        }
    }
    let scheduled = |commands: &[Command], kind: CommandKind| {
        let mut afters = commands.iter().flat_map(|command| command.code.afters());
        afters.any(|after| after.command == kind.0)
    };
    for (of, column, kind) in unit.kept() {
        // A helper that nobody calls may have named it.
        if let Some(own) = commands.iter().find(|own| own.schema.kind == of)
            && scheduled(&commands, kind)
        {
            let attribute = &unit.schema.attributes[usize::from(column)].name;
            commands.push(kept_command(own, (column, attribute), kind));
        }
    }
    commands.sort_by_key(|command| command.schema.kind);
    (commands, left_out)
}

/// A command as it is where an attribute keeps it: see `lower::timer`.
fn kept_command(of: &Command, (column, attribute): (u16, &str), kind: CommandKind) -> Command {
    let mut words = of.schema.words.clone();
    words.push(CommandWord::new("timer", AttributeType::I32));
    let code = kept(&of.code, words.len() as u16, column);
    let atomic = of.atomic.as_ref();
    Command {
        schema: CommandSchema {
            kind,
            name: format!("{}@{attribute}", of.schema.name),
            senders: Senders::default(),
            has_actor: true,
            words,
            per_tick: 0,
            cooldown: 0,
        },
        doc: of.doc.clone(),
        file: of.file.clone(),
        atomic: atomic.map(|_| Keys::of(&code).unwrap_or_default()),
        updates_max: of.updates_max,
        word_columns: of.word_columns.iter().copied().chain([None]).collect(),
        code,
    }
}

/// The constants that have one word.
fn constants_of<'a>(unit: &'a Unit<'a>) -> Vec<WorldConstant> {
    let mut constants = vec![];
    for (file, item) in unit.constants() {
        let value = constant(unit, file, &item.name).and_then(Result::ok);
        // Clients get constants of one word.
        let value = value.filter(|value| value.ty != Type::Long);
        let Some(value) = value.and_then(|value| value.operand().constant()) else {
            continue;
        };
        let ty = match item.ty {
            Type::Int => AttributeType::I32,
            Type::Fixed => AttributeType::Fixed,
            Type::Bool => AttributeType::Bool,
            Type::Symbol | Type::SymbolOf(_) => AttributeType::Symbol,
            _ => continue,
        };
        let stem = unit.files[file].text.stem();
        let name = format!("{stem}.{}", item.name.to_lowercase());
        constants.push(WorldConstant { name, ty, value });
    }
    constants.sort_by(|a, b| a.name.cmp(&b.name));
    constants
}

fn hooks_of(unit: &Unit<'_>) -> Vec<Hook> {
    let own = |signature: &Signature<'_>| {
        let (command, has_other) = (signature.kind, signature.function.parameters.len() > 1);
        let hooks = signature.function.hooks.iter().map(move |hook| Hook {
            occasion: hook.occasion,
            kind: hook.kind,
            command,
            has_other,
        });
        hooks.collect::<Vec<_>>()
    };
    let mut hooks: Vec<Hook> = unit.commands.values().flat_map(own).collect();
    hooks.sort_by_key(|hook| hook.command);
    hooks
}

/// Notes the first hook of a world that has too many.
fn check_hooks(unit: &Unit<'_>) {
    let signatures = unit.commands.values();
    let mut hooks = signatures.flat_map(|s| s.function.hooks.iter().map(|hook| (s.file, hook)));
    if let Some((file, hook)) = hooks.nth(HOOKS_MAX) {
        let message = "the world has too many hooks";
        let label = format!("at most {HOOKS_MAX}");
        unit.note(unit.files[file].at(hook.span, message, label));
    }
}

fn has_effect(code: &Code) -> bool {
    let is_sent = |inst: &Inst| matches!(inst, Inst::After(_) | Inst::Notify(_));
    code.has_updates() || code.insts.iter().any(is_sent)
}

/// The keys of a command that is atomic. They are bounded, as it was lowered.
fn atomic_keys(signature: &Signature<'_>, code: &Code) -> Option<Keys> {
    (signature.function.is_atomic).then(|| Keys::of(code).unwrap_or_default())
}

fn command_schema(unit: &Unit<'_>, signature: &Signature<'_>) -> CommandSchema {
    let (kind, function) = (signature.kind, signature.function);
    let Usage { per_tick, cooldown } = usage(unit, signature);
    let parameters = function.parameters.iter().filter(|p| p.name != "me");
    let parameters: Vec<_> = parameters.map(|p| (p.name.clone(), p.ty)).collect();
    let words = words_of(&parameters, unit.dimensions);
    CommandSchema {
        kind,
        name: function.name.clone(),
        senders: function.senders.unwrap_or_default(),
        has_actor: function.parameters.first().is_some_and(|p| p.name == "me"),
        words: words.map(|(name, ty)| CommandWord { name, ty }).collect(),
        per_tick,
        cooldown,
    }
}

/// By word of a command: the attribute of which it is a symbol.
fn word_columns(unit: &Unit<'_>, signature: &Signature<'_>) -> Vec<Option<u16>> {
    let parameters = signature.function.parameters.iter();
    let columns = parameters.filter(|p| p.name != "me").flat_map(|p| {
        let column = match p.ty {
            Type::SymbolOf(column) => Some(column),
            _ => None,
        };
        std::iter::repeat_n(column, p.ty.width(unit.dimensions))
    });
    columns.collect()
}

fn notification_schema(name: &str, form: &Form, dimensions: usize) -> NotificationSchema {
    let fields = words_of(&form.fields, dimensions);
    NotificationSchema {
        kind: form.kind,
        name: name.to_owned(),
        fields: fields
            .map(|(name, ty)| NotificationField { name, ty })
            .collect(),
    }
}

/// Names and types of words. The axes of the only point are `x`, `y`, `z`; those of one of
/// several have its name before them.
fn words_of(
    named: &[(String, Type)],
    dimensions: usize,
) -> impl Iterator<Item = (String, shared::AttributeType)> {
    let points = named.iter().filter(|(_, ty)| *ty == Type::Point).count();
    named.iter().flat_map(move |(name, ty)| {
        let axes = ["x", "y", "z"].iter();
        let names: Vec<String> = match (ty, points) {
            (Type::Point, 1) => axes.map(|&axis| axis.to_owned()).collect(),
            (Type::Point, _) => axes.map(|axis| format!("{name}_{axis}")).collect(),
            (Type::Long, _) => vec![name.clone(), high_name(name)],
            _ => vec![name.clone()],
        };
        names.into_iter().zip(ty.words(dimensions))
    })
}

/// The most updates of a run: each one outside of loops once, the others as often as the
/// budget allows.
fn updates_max(code: &Code, budget: Budget) -> u64 {
    let mut in_loop = vec![false; code.insts.len()];
    for (i, inst) in code.insts.iter().enumerate() {
        if let Some(target) = inst.target().filter(|&target| target as usize <= i) {
            in_loop[target as usize..=i].fill(true);
        }
    }
    let updates = code.insts.iter().zip(&in_loop);
    let updates = updates.filter(|(inst, _)| inst.is_change());
    let rounds = u64::from(budget.steps) + u64::from(budget.visits);
    let all = updates.map(|(_, &in_loop)| if in_loop { rounds } else { 1 });
    match code.is_atomic() {
        true => all.sum::<u64>().min(WRITES_MAX as u64),
        false => all.sum(),
    }
}
