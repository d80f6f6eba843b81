//! What a client does, as a script: `fn act()` in the language of commands. Parameters of `act` are
//! what the client remembers from one run to the next.
//!
//! `me` is the client's entity. The world is what the client was sent, and its only
//! effects are commands that are sent: `send(strike(target))`, with the arguments of the
//! command except `me`. Everything else that a command of a world does is rejected.

use shared::world::logic::{Budget, Constants, Numbers, Text};
use shared::world::symbols::Symbols;
use shared::{CommandKind, EntityId, EntityRef, Schema, Slot, Tick};

use crate::arith::Random;
use crate::diagnostic::Problem;
use crate::interpreter::{Effects, Interpreter, Invocation, NoEffect, Outgoing, Space, World};
use crate::ir::Code;
use crate::logic::with_stack;
use crate::lower::{Lower, PAUSE, PAUSED, SEND, constant};
use crate::parse::{File, Function, Item, Parameter};
use crate::types::Type;
use crate::unit::Unit;

/// What a client does, compiled for one world.
#[derive(Clone, Debug)]
pub struct Play {
    code: Code,
    space: Space,
    /// What a client remembers before its first run.
    memory: Vec<i32>,
}

/// A command that a play sends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sent {
    pub command: CommandKind,
    /// As many as the command takes.
    pub words: Vec<i32>,
}

/// What a client does in a tick.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Turn {
    pub sent: Vec<Sent>,
    /// For how many ticks from this one on it is not to be run; 0: it does not pause.
    pub pause: u32,
}

impl Play {
    /// What a client remembers before its first run: zeros, `false`, and nobody.
    pub fn memory(&self) -> Vec<i32> {
        self.memory.clone()
    }

    /// Compiles a text for clients of a world, by the schema that they are welcomed with.
    pub fn compile(schema: &Schema, text: &Text) -> Result<Play, Vec<Problem>> {
        with_stack(|| compile(schema, text))
    }

    /// Runs it once. `me` lives in `world`; `memory` is what the run before left. A run beyond the
    /// budget, which is that of worlds, sends and remembers nothing.
    pub fn act(
        &self,
        interpreter: &mut Interpreter,
        world: &impl World,
        (tick, me): (Tick, EntityId),
        seed: u64,
        memory: &mut Vec<i32>,
    ) -> Result<Turn, NoEffect> {
        let invocation = Invocation {
            tick,
            entity: me,
            words: memory,
            random: Random::new(seed, tick, me, 0, 0),
        };
        let mut outbox = Outbox {
            turn: Turn::default(),
            memory: memory.clone(),
        };
        interpreter.run(&self.code, &self.space, world, &invocation, &mut outbox)?;
        *memory = outbox.memory;
        Ok(outbox.turn)
    }
}

struct Outbox {
    turn: Turn,
    memory: Vec<i32>,
}

impl Outgoing for Outbox {
    fn after(&mut self, ticks: u32, _entity: EntityId, kind: u16, words: &[i32]) {
        match kind {
            PAUSED => self.turn.pause = self.turn.pause.max(ticks),
            kind => self.turn.sent.push(Sent {
                command: CommandKind(kind),
                words: words.to_vec(),
            }),
        }
    }

    // What is remembered. The compiler rejects others, and updates.
    fn notify(&mut self, first: u16, _: EntityId, _: Option<([i32; 3], i32)>, words: &[i32]) {
        let place = usize::from(first);
        if let Some(memory) = self.memory.get_mut(place..place + words.len()) {
            memory.copy_from_slice(words);
        }
    }
}

impl Effects for Outbox {
    fn update(&mut self, _: Slot, _: u16, _: i32) {}
}

fn compile(schema: &Schema, text: &Text) -> Result<Play, Vec<Problem>> {
    let mut parsed = vec![];
    let files = [File::parse(schema, text, &mut parsed)];
    let constants = Constants::new();
    // More is not said to clients.
    let symbols = Symbols::within_bounds(schema);
    let mut unit = Unit::new(
        schema,
        &symbols,
        &files,
        Budget::default(),
        &constants,
        Numbers::default(),
    );
    unit.is_client = true;
    let unit = &unit;
    parsed.into_iter().for_each(|problem| unit.note(problem));
    check_items(unit);
    for (file, item) in unit.constants() {
        let _ = constant(unit, file, &item.name);
    }
    let (mut code, mut memory) = (Code::default(), vec![]);
    for (file, function) in unit.helpers() {
        let lowered = match function.name == ACT {
            true => Lower::act(unit, file, function),
            false => Lower::function(unit, file, function),
        };
        match lowered {
            Ok(lowered) if function.name == ACT => {
                code = lowered;
                memory = empty(function, schema.dimensions());
            }
            Ok(_) => {}
            Err(problems) => problems.into_iter().for_each(|problem| unit.note(problem)),
        }
    }
    let problems = unit.problems.take();
    if !problems.is_empty() {
        return Err(problems);
    }
    let mut size = [1; 3];
    for (axis, length) in size.iter_mut().zip(&schema.world.size) {
        *axis = length.raw();
    }
    Ok(Play {
        code,
        space: Space {
            dimensions: schema.dimensions(),
            size,
            budget: Budget::default(),
        },
        memory,
    })
}

/// Notes what a play can't declare, or lacks.
fn check_items(unit: &Unit<'_>) {
    let file = &unit.files[0];
    let mut has_act = false;
    let note = |span, message: &str, label: &str| unit.note(file.at(span, message, label));
    for item in &file.items {
        match item {
            Item::Function(function) if function.senders.is_some() => {
                let label = "commands are a world's; remove `#[command]`";
                note(function.span, "a client has no commands of its own", label);
            }
            Item::Function(function) if [SEND, PAUSE].contains(&&*function.name) => {
                let message = format!("`{}` is a built-in name", function.name);
                note(function.span, &message, "expected another one");
            }
            Item::Function(function) if function.name == ACT => {
                has_act = true;
                if function.result != Type::Unit {
                    note(function.span, "`act` gives nothing", "expected `fn act()`");
                }
                for parameter in &function.parameters {
                    if let Some((message, label)) = forgotten(parameter) {
                        note(parameter.span, &message, label);
                    }
                }
            }
            Item::Notification(item) => {
                let label = "notifications are a world's";
                note(item.span, "a client tells nobody of anything", label);
            }
            Item::Function(_) | Item::Const(_) => {}
        }
    }
    // A text that could not be read may have one.
    if !has_act && unit.problems.borrow().is_empty() {
        let start = proc_macro2::Span::call_site();
        note(
            start,
            "there is no `fn act()`",
            "it is what the client does in a tick",
        );
    }
}

/// Why a parameter of `act` can't be remembered, and what is expected.
fn forgotten(parameter: &Parameter) -> Option<(String, &'static str)> {
    let name = &parameter.name;
    if name == "me" {
        let label = "expected `fn act()`: `me` is known in it";
        return Some(("`me` is the client's own entity".to_owned(), label));
    }
    if !matches!(
        parameter.ty,
        Type::Int | Type::Long | Type::Fixed | Type::Bool | Type::Entity | Type::Point
    ) {
        let message = format!("`{name}` can't be remembered");
        return Some((message, "expected i32, i64, Fixed, bool, Entity or Point"));
    }
    (!parameter.is_mutable).then(|| {
        let message = format!("`{name}` is remembered, and would never change");
        (message, "write `mut` before it")
    })
}

/// The words of the parameters of `act` before its first run.
fn empty(function: &Function, dimensions: usize) -> Vec<i32> {
    let words = function.parameters.iter().flat_map(|parameter| {
        let word = match parameter.ty {
            Type::Entity => EntityRef::NONE.0,
            _ => 0,
        };
        vec![word; parameter.ty.width(dimensions)]
    });
    words.collect()
}

/// The function that is run.
const ACT: &str = "act";
