//! What a client does, as a script: `fn act()` in the language of commands.
//!
//! `me` is the client's entity. The world is what the client was sent, and its only
//! effects are commands that are sent: `send(strike(target))`, with the arguments of the
//! command except `me`. Everything else that a command of a world does is rejected.

use shared::world::logic::{Budget, Constants, Numbers, Text};
use shared::world::symbols::Symbols;
use shared::{CommandKind, EntityId, Schema, Slot, Tick};

use crate::arith::Random;
use crate::diagnostic::Problem;
use crate::interpreter::{Effects, Interpreter, Invocation, NoEffect, Outgoing, Space, World};
use crate::ir::Code;
use crate::logic::with_stack;
use crate::lower::{Lower, SEND, constant};
use crate::parse::{File, Function, Item};
use crate::types::Type;
use crate::unit::Unit;

/// What a client does, compiled for one world.
#[derive(Clone, Debug)]
pub struct Play {
    code: Code,
    space: Space,
}

/// A command that a play sends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sent {
    pub command: CommandKind,
    /// As many as the command takes.
    pub words: Vec<i32>,
}

impl Play {
    /// Compiles a text for clients of a world, by the schema that they are welcomed with.
    pub fn compile(schema: &Schema, text: &Text) -> Result<Play, Vec<Problem>> {
        with_stack(|| compile(schema, text))
    }

    /// Runs it once and gives the commands to send. `me` lives in `world`. A run beyond the
    /// budget, which is that of worlds, sends nothing.
    pub fn act(
        &self,
        interpreter: &mut Interpreter,
        world: &impl World,
        (tick, me): (Tick, EntityId),
        seed: u64,
    ) -> Result<Vec<Sent>, NoEffect> {
        let invocation = Invocation {
            tick,
            entity: me,
            words: &[],
            random: Random::new(seed, tick, me, 0, 0),
        };
        let mut sent = Outbox(vec![]);
        interpreter.run(&self.code, &self.space, world, &invocation, &mut sent)?;
        Ok(sent.0)
    }
}

struct Outbox(Vec<Sent>);

impl Outgoing for Outbox {
    fn after(&mut self, _ticks: u32, _entity: EntityId, kind: u16, words: &[i32]) {
        self.0.push(Sent {
            command: CommandKind(kind),
            words: words.to_vec(),
        });
    }

    // The compiler rejects these, and updates.
    fn notify(&mut self, _: u16, _: EntityId, _: Option<([i32; 3], i32)>, _: &[i32]) {}
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
    let mut code = Code::default();
    for (file, function) in unit.helpers() {
        let lowered = match function.name == ACT {
            true => Lower::act(unit, file, function),
            false => Lower::function(unit, file, function),
        };
        match lowered {
            Ok(lowered) if function.name == ACT => code = lowered,
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
            Item::Function(function) if function.name == SEND => {
                note(
                    function.span,
                    "`send` is a built-in name",
                    "expected another one",
                );
            }
            Item::Function(function) if function.name == ACT => {
                has_act = true;
                if !is_plain(function) {
                    let label = "expected `fn act()`: `me` is known in it";
                    note(
                        function.span,
                        "`act` takes nothing and gives nothing",
                        label,
                    );
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

fn is_plain(function: &Function) -> bool {
    function.parameters.is_empty() && function.result == Type::Unit
}

/// The function that is run.
const ACT: &str = "act";
