//! Compiles the texts of a world into commands.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};
use shared::world::command::CommandWord;
use shared::world::mix::mix;
use shared::world::notification::{NotificationField, NotificationSchema};
use shared::{CommandKind, CommandSchema, NotificationKind, Schema};

use crate::diagnostic::Diagnostic;
use crate::ir::{Budget, Code, Inst};
use crate::lower::Lower;
use crate::parse::{File, Function, TEXTS_MAX, Text};
use crate::types::Type;
use crate::unit::{Form, Unit, snake_case};

pub use shared::world::command::COMMANDS_MAX;
pub use shared::world::notification::NOTIFICATIONS_MAX;

/// What a world file sets constants to: by text's name without its ending, then by the
/// constant's name in lower case.
pub type Constants = BTreeMap<String, BTreeMap<String, Constant>>;

/// A value in a world file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Constant {
    Int(i64),
    Float(f64),
    Bool(bool),
    Text(String),
}

impl fmt::Display for Constant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Constant::Int(number) => number.fmt(f),
            Constant::Float(number) => number.fmt(f),
            Constant::Bool(truth) => truth.fmt(f),
            Constant::Text(text) => write!(f, "{text:?}"),
        }
    }
}

/// What is wrong with the logic of a world.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Problem {
    /// In a text.
    Text(Diagnostic),
    /// A constant that the world file sets.
    Setting { key: String, message: String },
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Problem::Text(diagnostic) => diagnostic.fmt(f),
            Problem::Setting { key, message } => write!(f, "{key}: {message}"),
        }
    }
}

/// The numbers of a world's names. A name keeps its number as long as the world lives, and
/// no other name gets it, since commands that wait hold it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Numbers {
    commands: Vec<String>,
    notifications: Vec<String>,
}

/// The engine's own commands come first: `spawn` and `despawn`.
const COMMANDS_FIRST: usize = 2;
/// The engine's own notifications come first: `fall` and `pick`.
const NOTIFICATIONS_FIRST: usize = 2;

impl Numbers {
    /// Numbers of these names, in this order.
    pub fn of(commands: &[&str], notifications: &[&str]) -> Numbers {
        let names = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect();
        Numbers {
            commands: names(commands),
            notifications: names(notifications),
        }
    }

    /// A command's number, a new one for a new name; `None` if there are too many.
    pub fn command(&mut self, name: &str) -> Option<CommandKind> {
        let number = number_of(&mut self.commands, name, COMMANDS_MAX - COMMANDS_FIRST)?;
        Some(CommandKind((COMMANDS_FIRST + number) as u16))
    }

    /// Likewise.
    pub fn notification(&mut self, name: &str) -> Option<NotificationKind> {
        let most = NOTIFICATIONS_MAX - NOTIFICATIONS_FIRST;
        let number = number_of(&mut self.notifications, name, most)?;
        Some(NotificationKind((NOTIFICATIONS_FIRST + number) as u16))
    }
}

fn number_of(names: &mut Vec<String>, name: &str, most: usize) -> Option<usize> {
    if let Some(number) = names.iter().position(|known| known == name) {
        return Some(number);
    }
    if names.len() == most {
        return None;
    }
    names.push(name.to_owned());
    Some(names.len() - 1)
}

/// What is compiled.
pub struct Sources<'a> {
    /// The world's attributes, kinds and symbols; its commands don't matter.
    pub schema: &'a Schema,
    pub texts: &'a [Text],
    pub constants: &'a Constants,
    pub budget: Budget,
    /// Numbers that names have already.
    pub numbers: Numbers,
    /// Whether commands that this world can't have are left out: those that name what it
    /// lacks, or that do nothing.
    pub is_lenient: bool,
}

/// The commands of a world, checked.
#[derive(Clone, Debug)]
pub struct Logic {
    /// By number.
    pub commands: Vec<Command>,
    /// Notifications that the commands may emit, by number.
    pub notifications: Vec<NotificationSchema>,
    pub numbers: Numbers,
    pub budget: Budget,
    /// Of texts, constants and numbers: two logics of one hash do the same.
    pub hash: u64,
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
    /// The most updates of a run.
    pub updates_max: u64,
}

impl Logic {
    /// Compiles texts, or says all that is wrong with them.
    pub fn compile(sources: Sources<'_>) -> Result<Logic, Vec<Problem>> {
        // Parsing recurses as deep as a text nests. The limits on texts keep that within this
        // stack.
        #[cfg(not(target_family = "wasm"))]
        return std::thread::scope(|scope| {
            let builder = std::thread::Builder::new().stack_size(STACK_BYTES);
            let worker = builder.spawn_scoped(scope, || compile(sources));
            match worker.map(|worker| worker.join()) {
                Ok(Ok(result)) => result,
                _ => Err(vec![Problem::Setting {
                    key: "logic".to_owned(),
                    message: "the compiler could not run; this is a defect of Myriad".to_owned(),
                }]),
            }
        });
        #[cfg(target_family = "wasm")]
        compile(sources)
    }

    /// The command of a number.
    pub fn command(&self, kind: CommandKind) -> Option<&Command> {
        let at = self.commands.binary_search_by_key(&kind, |c| c.schema.kind);
        at.ok().map(|at| &self.commands[at])
    }
}

const STACK_BYTES: usize = 256 << 20;

fn compile(sources: Sources<'_>) -> Result<Logic, Vec<Problem>> {
    let mut problems = vec![];
    if sources.texts.len() > TEXTS_MAX {
        return Err(vec![Problem::Setting {
            key: "logic".to_owned(),
            message: format!(
                "{} texts; at most {TEXTS_MAX} are allowed",
                sources.texts.len()
            ),
        }]);
    }
    let mut parsed = vec![];
    let files: Vec<File<'_>> = sources
        .texts
        .iter()
        .map(|text| File::parse(text, &mut parsed))
        .collect();
    problems.extend(parsed.into_iter().map(Problem::Text));
    let Sources {
        schema,
        constants,
        budget,
        numbers,
        is_lenient,
        ..
    } = sources;
    let unit = Unit::new(schema, &files, budget, constants, numbers);
    check_constants(&unit, constants);
    let commands = lower_all(&unit, is_lenient);
    problems.append(&mut unit.problems.borrow_mut());
    if !problems.is_empty() {
        return Err(problems);
    }
    let hash = hash(&sources.texts, constants, &budget);
    let (forms, numbers) = unit.into_forms();
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
    let names = numbers.commands.iter().chain(&numbers.notifications);
    let hash = names.fold(hash, |hash, name| mix_text(hash, name));
    Ok(Logic {
        commands,
        notifications,
        numbers,
        budget,
        hash,
    })
}

/// Evaluates all constants, and finds settings that no constant has.
fn check_constants<'a>(unit: &'a Unit<'a>, settings: &Constants) {
    for (file, item) in unit.constants() {
        let _ = unit.constant(file, &item.name);
    }
    for (stem, settings) in settings {
        let own = unit
            .constants()
            .filter(|(file, _)| unit.files[*file].text.stem() == stem);
        let own: Vec<String> = own.map(|(_, item)| item.name.to_lowercase()).collect();
        if !unit.files.iter().any(|file| file.text.stem() == stem) {
            let stems: Vec<&str> = unit.files.iter().map(|file| file.text.stem()).collect();
            let message = format!("there is no such text; expected one of {stems:?}");
            unit.wrong_setting(stem, "", message);
            continue;
        }
        for key in settings.keys().filter(|key| !own.contains(key)) {
            let message = format!("there is no such constant; expected one of {own:?}");
            unit.wrong_setting(stem, key, message);
        }
    }
}

fn lower_all<'a>(unit: &'a Unit<'a>, is_lenient: bool) -> Vec<Command> {
    let mut commands = vec![];
    // Helpers that nobody calls are checked, too.
    if !is_lenient {
        for (file, function) in unit.helpers() {
            if let Err(problems) = Lower::function(unit, file, function) {
                problems.into_iter().for_each(|problem| unit.note(problem));
            }
        }
    }
    for signature in unit.commands.values() {
        match Lower::function(unit, signature.file, signature.function) {
            // It does nothing in this world.
            Ok(code) if is_lenient && !has_effect(&code) => {}
            Ok(code) => {
                let schema = command_schema(signature.kind, signature.function, unit.dimensions);
                commands.push(Command {
                    updates_max: updates_max(&code, unit.budget),
                    schema,
                    doc: signature.function.doc.clone(),
                    file: unit.files[signature.file].text.file.clone(),
                    code,
                });
            }
            // It names what this world lacks.
            Err(_) if is_lenient => {}
            Err(problems) => problems.into_iter().for_each(|problem| unit.note(problem)),
        }
    }
    commands.sort_by_key(|command| command.schema.kind);
    commands
}

fn has_effect(code: &Code) -> bool {
    let is_effect =
        |inst: &Inst| matches!(inst, Inst::Update(..) | Inst::After(_) | Inst::Notify(_));
    code.insts.iter().any(is_effect)
}

fn command_schema(kind: CommandKind, function: &Function, dimensions: usize) -> CommandSchema {
    let parameters = function.parameters.iter().filter(|p| p.name != "me");
    let parameters: Vec<_> = parameters.map(|p| (p.name.clone(), p.ty)).collect();
    let words = words_of(&parameters, dimensions);
    CommandSchema {
        kind,
        name: function.name.clone(),
        senders: function.senders.unwrap_or_default(),
        has_actor: function.parameters.first().is_some_and(|p| p.name == "me"),
        words: words.map(|(name, ty)| CommandWord { name, ty }).collect(),
    }
}

fn notification_schema(name: &str, form: &Form, dimensions: usize) -> NotificationSchema {
    let fields = words_of(&form.fields, dimensions);
    NotificationSchema {
        kind: form.kind,
        name: snake_case(name),
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
    let updates = updates.filter(|(inst, _)| matches!(inst, Inst::Update(..)));
    let rounds = u64::from(budget.steps) + u64::from(budget.visits);
    updates
        .map(|(_, &in_loop)| if in_loop { rounds } else { 1 })
        .sum()
}

fn hash(texts: &[Text], constants: &Constants, budget: &Budget) -> u64 {
    let budget = u64::from(budget.steps) << 32 | u64::from(budget.visits);
    let mut hash = mix(0x6c6f_6769_63, budget);
    for text in texts {
        hash = mix_text(hash, &text.file);
        hash = mix_text(hash, &text.text);
    }
    for (stem, settings) in constants {
        hash = mix_text(hash, stem);
        for (key, value) in settings {
            hash = mix_text(hash, key);
            hash = mix_text(hash, &value.to_string());
        }
    }
    hash
}

fn mix_text(hash: u64, text: &str) -> u64 {
    let mut hash = mix(hash, text.len() as u64);
    for chunk in text.as_bytes().chunks(8) {
        let mut word = [0; 8];
        word[..chunk.len()].copy_from_slice(chunk);
        hash = mix(hash, u64::from_le_bytes(word));
    }
    hash
}
