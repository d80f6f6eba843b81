//! Commands that a client sends.

use proc_macro2::Span;
use shared::predicate::nearest;
use shared::world::command::CommandWord;
use shared::{AttributeType, CommandSchema, Fixed};
use syn::spanned::Spanned;

use super::statement::strip;
use super::{Checked, Lower};
use crate::diagnostic::Diagnostic;
use crate::ir::{After, Binary, Operand};
use crate::parse::name_of;
use crate::types::{Type, Value};

/// The functions of clients only.
pub const SEND: &str = "send";
pub const PAUSE: &str = "pause";
/// In place of a command's number: a pause of so many ticks.
pub const PAUSED: u16 = u16::MAX;
/// The longest pause. In ticks it fits `Fixed`.
const PAUSE_SECONDS_MAX: i32 = 600;
/// Of a faster world a pause is shorter.
const TICK_HZ_MAX: u32 = 800;

impl<'a> Lower<'a> {
    /// `send(command(…))`, with the command's arguments except `me`.
    pub(super) fn send(&mut self, arguments: &[&'a syn::Expr], span: Span) -> Checked<Value> {
        let &[argument] = arguments else {
            let label = "expected `send(command(…))`";
            return Err(self.problem(span, "`send` takes one command", label));
        };
        let (syn::Expr::Call(call), Some(name)) = (strip(argument), called(argument)) else {
            let label = "expected `send(command(…))`";
            return Err(self.problem(argument.span(), "this is not a command", label));
        };
        let command = self.sent_command(&name, call.func.span())?;
        let mut words = vec![];
        for argument in &call.args {
            let rest = &command.words[words.len()..];
            let Some(word) = rest.first() else {
                return Err(self.wrong_words(command, call.span()));
            };
            let ty = Type::of(word.ty);
            let value = self.expression(argument, Some(ty))?;
            // The axes of a point are also taken one by one.
            let is_point = starts_with_point(rest, self.unit.dimensions);
            let ty = match is_point && !value.ty.is_number() {
                true => Type::Point,
                false => ty,
            };
            let value = self.convert(value, ty, argument)?;
            if value.ty == Type::Never {
                return Ok(Value::NEVER);
            }
            self.words(value, &mut words);
        }
        if words.len() < command.words.len() {
            return Err(self.wrong_words(command, call.span()));
        }
        self.schedule_call(After {
            ticks: Operand::Const(1),
            actor: self.me,
            command: command.kind.0,
            words,
        })
    }

    /// `pause(seconds)`: the client does nothing for so long.
    pub(super) fn pause(&mut self, arguments: &[&'a syn::Expr], span: Span) -> Checked<Value> {
        let &[argument] = arguments else {
            let label = "expected `pause(seconds)`";
            return Err(self.problem(span, "`pause` takes a number of seconds", label));
        };
        let seconds = self.expression_of(argument, Type::Fixed)?;
        if seconds.ty == Type::Never {
            return Ok(Value::NEVER);
        }
        let most = PAUSE_SECONDS_MAX << Fixed::FRACTION_BITS;
        let known = seconds.operand().constant();
        if known.is_some_and(|known| !(0..=most).contains(&known)) {
            let message = "nobody pauses for so long";
            let label = format!("expected 0 to {PAUSE_SECONDS_MAX} seconds");
            return Err(self.problem(argument.span(), message, label));
        }
        let tick_hz = self
            .unit
            .schema
            .world
            .tick_hz
            .min(TICK_HZ_MAX)
            .cast_signed();
        let tick_hz = Operand::Const(tick_hz << Fixed::FRACTION_BITS);
        let seconds = self.binary(Binary::Max, seconds.operand(), Operand::ZERO);
        let seconds = self.binary(Binary::Min, seconds, Operand::Const(most));
        let ticks = self.binary(Binary::MulFixed, seconds, tick_hz);
        let half = Operand::Const(1 << (Fixed::FRACTION_BITS - 1));
        let ticks = self.binary(Binary::Add, ticks, half);
        let bits = Operand::Const(Fixed::FRACTION_BITS.cast_signed());
        let ticks = self.binary(Binary::Shr, ticks, bits);
        self.schedule_call(After {
            ticks,
            actor: None,
            command: PAUSED,
            words: vec![],
        })
    }

    /// A command that clients may send.
    fn sent_command(&self, name: &str, span: Span) -> Checked<&'a CommandSchema> {
        let schema = self.unit.schema;
        let sent = || schema.commands.iter().filter(|c| c.senders.clients);
        if let Some(command) = sent().find(|c| c.name == name) {
            return Ok(command);
        }
        if schema.command_named(name).is_some() {
            let message = format!("clients may not send `{name}`");
            return Err(self.problem(span, message, ""));
        }
        let message = format!("this world has no command `{name}`");
        Err(match nearest(name, sent().map(|c| c.name.as_str())) {
            Some(near) => self.helped(span, message, "", format!("did you mean `{near}`?")),
            None => self.problem(span, message, ""),
        })
    }

    fn wrong_words(&self, command: &CommandSchema, span: Span) -> Box<Diagnostic> {
        let message = format!("`{}` takes other arguments", command.name);
        let form = form(command, self.unit.dimensions);
        self.problem(span, message, format!("expected `{form}`"))
    }

    /// What only commands of a world do.
    pub(super) fn is_for_worlds(&self, what: &str, span: Span) -> Box<Diagnostic> {
        let message = format!("{what} has no place here");
        let help = "a client changes the world by commands only: `send(command(…))`";
        self.helped(span, message, "only a world's own commands do this", help)
    }
}

/// The name of what an expression calls.
fn called(expression: &syn::Expr) -> Option<String> {
    let syn::Expr::Call(call) = strip(expression) else {
        return None;
    };
    match strip(&call.func) {
        syn::Expr::Path(path) => path.path.get_ident().map(name_of),
        _ => None,
    }
}

/// Whether these words begin with the axes of a point. A schema has no points: their axes
/// are words, named `x` and `y`, or `to_x` and `to_y`.
fn starts_with_point(words: &[CommandWord], dimensions: usize) -> bool {
    let Some(prefix) = words.first().and_then(|word| word.name.strip_suffix('x')) else {
        return false;
    };
    let is_axis = |(word, axis): (&CommandWord, &str)| {
        word.ty == AttributeType::Fixed && word.name.strip_prefix(prefix) == Some(axis)
    };
    let axes = words.iter().zip(["x", "y", "z"]).take(dimensions);
    (prefix.is_empty() || prefix.ends_with('_'))
        && words.len() >= dimensions
        && axes.into_iter().all(is_axis)
}

/// A command as it is written in `send`.
fn form(command: &CommandSchema, dimensions: usize) -> String {
    let mut parameters = vec![];
    let mut rest = &command.words[..];
    while let Some(word) = rest.first() {
        if starts_with_point(rest, dimensions) {
            let name = word.name.strip_suffix("_x").unwrap_or("point");
            parameters.push(format!("{name}: Point"));
            rest = &rest[dimensions..];
        } else {
            parameters.push(format!("{}: {}", word.name, Type::of(word.ty)));
            rest = &rest[1..];
        }
    }
    format!("{}({})", command.name, parameters.join(", "))
}
