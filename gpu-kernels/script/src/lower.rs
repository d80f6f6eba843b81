//! Turns checked functions into instructions. Types are checked on the way.
//!
//! | module | lowers |
//! | --- | --- |
//! | `statement` | blocks, `let`, assignments |
//! | `loops` | loops, and what leaves them |
//! | `collection` | arrays and maps, by index and key |
//! | `expression` | operators, names, attributes, `if`, `match` |
//! | `call` | helper functions and built-in functions |
//! | `effect` | updates, scheduled commands, notifications |
//! | `birth` | births, and the values that newborns are given |
//! | `newborn` | commands that name newborns |
//! | `everywhere` | what asks for entities wherever they are |
//! | `relation` | what asks for the things of a holder, or the members of a group |
//! | `angle` | sines, directions and turns |
//! | `layer`, `way`, `field` | walls, heights and tags; ways around walls; steps along flow fields |
//! | `timer` | scheduled commands that an attribute keeps |
//! | `atomic` | what only atomic commands have |
//! | `send` | commands that a client sends, and its pauses |
//! | `testing` | what only tests do |
//! | `sites` | where the instructions come from, for those who look at them |
//! | `constant` | constants, with what the world file sets |
//! | `wide` | numbers of 64 bits |
//! | `symbol` | symbols and the attributes that can have them |
//! | `log` | `log(…)`, which a world drops |
//! | `finish` | labels to places; removes what has no use |

mod angle;
mod atomic;
mod birth;
mod call;
mod collection;
mod constant;
mod effect;
mod everywhere;
mod expression;
mod field;
mod finish;
mod layer;
mod log;
mod loops;
mod newborn;
mod plane;
mod relation;
mod send;
pub mod sites;
mod statement;
mod symbol;
mod testing;
mod timer;
mod way;
mod wide;

use std::collections::HashMap;

use proc_macro2::Span;
use shared::world::fixed::Fixed;
use syn::spanned::Spanned;

use atomic::Atomic;

use crate::arith;
use crate::diagnostic::Diagnostic;
use crate::ir::{Binary, Code, Inst, Notify, Operand, Reg, Unary};
use crate::parse::Function;
use crate::types::{Type, Value};
use crate::unit::Unit;

pub use constant::constant;
pub use send::{PAUSE, PAUSED, SEND};
use sites::{Site, Sited};
pub use statement::{is_change, is_comparison, strip};
use timer::Timer;
pub use timer::kept;

/// A step of lowering, or its problem.
pub type Checked<T> = Result<T, Box<Diagnostic>>;

/// The most instructions of a command, after helper functions are inlined.
pub const INSTRUCTIONS_MAX: usize = 8192;
/// The most expressions that are lowered for a command, with those that leave no
/// instruction: a helper function's are lowered at each call.
const WORK_MAX: u32 = 65_536;
/// The most expressions that are lowered for all texts.
const ALL_WORK_MAX: u32 = 1 << 21;
/// How deep expressions may nest, with those of helper functions and of constants.
const DEPTH_MAX: u32 = 1024;

/// A function while it is lowered.
pub struct Lower<'a> {
    unit: &'a Unit<'a>,
    lines: Vec<Line>,
    registers: u32,
    labels: u32,
    /// Names by block; the last one is the innermost.
    scopes: Vec<Scope>,
    /// The function, and those that are inlined in it.
    frames: Vec<Frame<'a>>,
    loops: Vec<Loop>,
    near_depth: u8,
    near_max: u8,
    /// Problems of statements so far.
    problems: Vec<Diagnostic>,
    /// How many expressions were lowered.
    work: u32,
    /// Whether a limit was reached, so that nothing more is lowered.
    is_stopped: bool,
    /// The actor of the command, if it has one.
    me: Option<Operand>,
    /// If the command is atomic.
    atomic: Option<Atomic>,
    /// Set while what an attribute is to keep is lowered.
    timer: Option<Timer>,
    /// How many commands the run has scheduled since it may have begun to name newborns.
    scheduled: Option<Value>,
    /// Not 0 once an index was none that there is; `None`: there is no index.
    missed: Option<Reg>,
    /// The registers that surely have a thing or nobody, with its kind.
    things: Vec<(Reg, u16)>,
}

/// An instruction whose targets are labels, or what becomes instructions at the end.
enum Line {
    Inst(Inst),
    Label(u32),
    /// A loop, a call, a notification or a scheduled command.
    Step {
        in_loop: bool,
    },
    /// Only where sites are asked for.
    Site(Box<Site>),
}

/// The names of a block.
#[derive(Default)]
struct Scope {
    locals: HashMap<String, Local>,
}

#[derive(Clone, Copy)]
struct Local {
    value: Value,
    is_mutable: bool,
    /// Whether it is born in the next tick; then the value is how many commands the run had
    /// scheduled with its birth.
    is_unborn: bool,
}

/// A function that is being inlined.
struct Frame<'a> {
    /// The text that it stands in.
    file: usize,
    function: Option<&'a Function>,
    /// Where `return` goes, and the registers that take its value.
    exit: u32,
    result: Option<Value>,
    returns: u32,
    /// Scopes and loops from here on are its own.
    scopes: usize,
    loops: usize,
}

/// Where `break` and `continue` go.
struct Loop {
    exit: u32,
    again: u32,
}

impl<'a> Lower<'a> {
    fn new(unit: &'a Unit<'a>, file: usize) -> Lower<'a> {
        let mut lower = Lower {
            unit,
            lines: vec![],
            registers: 0,
            labels: 0,
            scopes: vec![Scope::default()],
            frames: vec![],
            loops: vec![],
            near_depth: 0,
            near_max: 0,
            problems: vec![],
            work: 0,
            is_stopped: false,
            me: None,
            atomic: None,
            timer: None,
            scheduled: None,
            missed: None,
            things: vec![],
        };
        let exit = lower.label();
        lower.frames.push(Frame {
            file,
            function: None,
            exit,
            result: None,
            returns: 0,
            scopes: 0,
            loops: 0,
        });
        lower
    }

    /// A command's or helper's instructions.
    pub fn function(
        unit: &'a Unit<'a>,
        file: usize,
        function: &'a Function,
    ) -> Result<Code, Vec<Diagnostic>> {
        Lower::function_as(unit, file, function, function.is_atomic)
    }

    /// The instructions of a function as they are lowered, and what they come from.
    pub fn with_sites(
        unit: &'a Unit<'a>,
        file: usize,
        function: &'a Function,
    ) -> Result<Sited, Vec<Diagnostic>> {
        let lower = Lower::lowered(unit, file, function, function.is_atomic)?;
        Ok(lower.finish_with_sites())
    }

    /// The same of a helper that atomic commands may call, if `is_atomic`.
    pub fn function_as(
        unit: &'a Unit<'a>,
        file: usize,
        function: &'a Function,
        is_atomic: bool,
    ) -> Result<Code, Vec<Diagnostic>> {
        let mut lower = Lower::lowered(unit, file, function, is_atomic)?;
        let (code, names) = lower.finish();
        match lower.atomic.take() {
            // A helper is bounded where it is called.
            Some(atomic) if function.senders.is_some() => {
                atomic::guarded(&lower, &atomic, code, &names).map_err(|problem| vec![*problem])
            }
            _ => Ok(code),
        }
    }

    fn lowered(
        unit: &'a Unit<'a>,
        file: usize,
        function: &'a Function,
        is_atomic: bool,
    ) -> Result<Lower<'a>, Vec<Diagnostic>> {
        let mut lower = Lower::new(unit, file);
        lower.frames[0].function = Some(function);
        lower.atomic = is_atomic.then(|| Atomic {
            refuse: lower.label(),
            ..Atomic::default()
        });
        let mut word = 0;
        for parameter in &function.parameters {
            let is_actor = function.senders.is_some() && parameter.name == "me";
            let value = match is_actor {
                true => {
                    let slot = lower.set(Inst::Actor);
                    lower.me = Some(slot);
                    Value::scalar(Type::Entity, slot)
                }
                false => lower.word(parameter.ty, &mut word),
            };
            lower.bind(&parameter.name, value, parameter.is_mutable);
            lower.value_site(&parameter.span, &parameter.name, value);
        }
        lower.finish_function(function)
    }

    /// The instructions of `fn act()`, in which `me` is the client's entity. Its parameters are what
    /// the client remembers: words of the run. What they are at its end comes out as notifications,
    /// each of the number of its first word.
    pub fn act(
        unit: &'a Unit<'a>,
        file: usize,
        function: &'a Function,
    ) -> Result<Code, Vec<Diagnostic>> {
        let mut lower = Lower::new(unit, file);
        lower.frames[0].function = Some(function);
        let slot = lower.set(Inst::Actor);
        lower.me = Some(slot);
        lower.bind("me", Value::scalar(Type::Entity, slot), false);
        let (mut word, mut memory) = (0, vec![]);
        for parameter in &function.parameters {
            let first = word;
            let value = lower.word(parameter.ty, &mut word);
            lower.bind(&parameter.name, value, true);
            let local = lower.local(&parameter.name);
            memory.extend(local.map(|local| (first, local.value)));
        }
        Ok(lower.finish_with(function, &memory)?.finish().0)
    }

    fn finish_function(self, function: &'a Function) -> Result<Lower<'a>, Vec<Diagnostic>> {
        self.finish_with(function, &[])
    }

    /// The same, where values come out at the end, each with its number.
    fn finish_with(
        mut self,
        function: &'a Function,
        memory: &[(u16, Value)],
    ) -> Result<Lower<'a>, Vec<Diagnostic>> {
        let result = self.body(&function.body, function.result);
        if let Err(problem) = result {
            self.problems.push(*problem);
        }
        if !self.problems.is_empty() {
            return Err(self.problems);
        }
        let exit = self.frames[0].exit;
        self.place(exit);
        for &(kind, value) in memory {
            let mut words = vec![];
            self.words(value, &mut words);
            self.emit(Inst::Notify(Notify {
                kind,
                source: None,
                area: None,
                words,
            }));
        }
        if let Some(missed) = self.missed {
            self.emit(Inst::Miss(missed.into()));
        }
        self.emit(Inst::End);
        if let Some(refuse) = self.atomic.as_ref().map(|atomic| atomic.refuse) {
            self.place(refuse);
            self.emit(Inst::Refuse);
        }
        Ok(self)
    }

    /// Where the name of the function stands that is lowered.
    fn name_span(&self) -> Span {
        let function = self.frames.first().and_then(|frame| frame.function);
        function.map_or_else(Span::call_site, |function| function.span)
    }

    /// The value of an expression that must be constant.
    pub fn constant_expression(
        unit: &'a Unit<'a>,
        file: usize,
        expression: &'a syn::Expr,
        ty: Type,
    ) -> Checked<Value> {
        let mut lower = Lower::new(unit, file);
        let value = lower.expression_of(expression, ty)?;
        if let Some(problem) = lower.problems.pop() {
            return Err(Box::new(problem));
        }
        let is_idle = |line: &Line| !matches!(line, Line::Inst(_));
        if !value.is_constant() || !lower.lines.iter().all(is_idle) {
            let label = "expected numbers, and other constants";
            return Err(lower.problem(expression.span(), "this is not constant", label));
        }
        Ok(value)
    }

    /// The value of a parameter that comes from outside.
    fn word(&mut self, ty: Type, next: &mut u16) -> Value {
        let dimensions = self.unit.dimensions;
        let mut take = || {
            let word = *next;
            *next += 1;
            self.set(|reg| Inst::Word(reg, word))
        };
        match ty {
            Type::Point => {
                let mut operands = [Operand::ZERO; 3];
                for operand in &mut operands[..dimensions] {
                    *operand = take();
                }
                Value::new(ty, operands)
            }
            Type::Long => {
                let low = take();
                Value::of_halves([low, take()])
            }
            Type::Entity => {
                let reference = take();
                Value::scalar(ty, self.set(|reg| Inst::Resolve(reg, reference)))
            }
            // Clients may send any number.
            Type::Bool => {
                let word = take();
                Value::scalar(ty, self.binary(Binary::Ne, word, Operand::ZERO))
            }
            // So does a text that the client was not given: the server puts a number below all
            // handles in its place.
            Type::Text => {
                let word = take();
                let is_given = self.binary(Binary::Le, Operand::ZERO, word);
                let refusal = self.refusal();
                self.emit(Inst::JumpUnless(is_given, refusal));
                Value::scalar(ty, word)
            }
            // A foreign symbol ends the command before it does anything.
            Type::SymbolOf(column) => {
                let word = take();
                let own = self.unit.symbols.all_of(column);
                let is_own = self.is_one_of(word, &own);
                let refusal = self.refusal();
                self.emit(Inst::JumpUnless(is_own, refusal));
                Value::scalar(ty, word)
            }
            _ => Value::scalar(ty, take()),
        }
    }

    /// The file of the function that is being lowered.
    fn file(&self) -> usize {
        self.frames.last().map_or(0, |frame| frame.file)
    }

    fn problem(
        &self,
        span: Span,
        message: impl Into<String>,
        label: impl Into<String>,
    ) -> Box<Diagnostic> {
        Box::new(self.unit.files[self.file()].at(span, message, label))
    }

    fn helped(
        &self,
        span: Span,
        message: impl Into<String>,
        label: impl Into<String>,
        help: impl Into<String>,
    ) -> Box<Diagnostic> {
        let mut problem = self.problem(span, message, label);
        problem.help = Some(help.into());
        problem
    }

    /// `me::hp`, where a name is expected.
    fn no_path(&self, path: &syn::Path) -> Box<Diagnostic> {
        let parts: Vec<String> = path.segments.iter().map(|s| s.ident.to_string()).collect();
        let mut problem = self.problem(path.span(), "scripts have no paths", "expected a name");
        let is_local = parts
            .first()
            .is_some_and(|first| self.local(first).is_some());
        problem.help = is_local.then(|| format!("write `{}`", parts.join(".")));
        problem
    }

    fn emit(&mut self, inst: Inst) {
        self.lines.push(Line::Inst(inst));
    }

    fn register(&mut self) -> Reg {
        self.registers += 1;
        Reg(self.registers - 1)
    }

    /// Emits an instruction that sets a new register.
    fn set(&mut self, inst: impl FnOnce(Reg) -> Inst) -> Operand {
        let reg = self.register();
        self.emit(inst(reg));
        reg.into()
    }

    fn label(&mut self) -> u32 {
        self.labels += 1;
        self.labels - 1
    }

    fn place(&mut self, label: u32) {
        self.lines.push(Line::Label(label));
    }

    /// Counts a step of the run's budget.
    fn step(&mut self) {
        let in_loop = !self.loops.is_empty();
        self.lines.push(Line::Step { in_loop });
    }

    fn unary(&mut self, op: Unary, a: Operand) -> Operand {
        match a.constant() {
            Some(a) => arith::unary(op, a).into(),
            None => self.set(|reg| Inst::Unary(reg, op, a)),
        }
    }

    fn binary(&mut self, op: Binary, a: Operand, b: Operand) -> Operand {
        match (a.constant(), b.constant()) {
            (Some(a), Some(b)) => arith::binary(op, a, b).into(),
            _ => self.set(|reg| Inst::Binary(reg, op, a, b)),
        }
    }

    /// New registers with a value, which can be set again.
    fn copy(&mut self, value: Value) -> Value {
        let mut copy = Value::new(value.ty, value.operands);
        for operand in &mut copy.operands[..value.ty.width(self.unit.dimensions)] {
            let from = *operand;
            *operand = self.set(|reg| Inst::Copy(reg, from));
        }
        copy
    }

    /// Sets registers that hold a value of the same type.
    fn assign(&mut self, to: Value, from: Value) {
        let width = to.ty.width(self.unit.dimensions);
        for (to, &from) in to.operands.iter().zip(&from.operands).take(width) {
            if let Operand::Reg(reg) = *to {
                self.emit(Inst::Copy(reg, from));
            }
        }
    }

    fn bind(&mut self, name: &str, value: Value, is_mutable: bool) {
        let value = match is_mutable {
            true => self.copy(value),
            false => value,
        };
        self.bind_local(
            name,
            Local {
                value,
                is_mutable,
                is_unborn: false,
            },
        );
    }

    fn bind_local(&mut self, name: &str, local: Local) {
        if let Some(scope) = self.scopes.last_mut() {
            scope.locals.insert(name.to_owned(), local);
        }
    }

    fn local(&self, name: &str) -> Option<Local> {
        let own = self.frames.last().map_or(0, |frame| frame.scopes);
        let scopes = self.scopes[own..].iter().rev();
        scopes
            .filter_map(|scope| scope.locals.get(name))
            .next()
            .copied()
    }

    /// A value as one of this type.
    fn convert(&self, value: Value, ty: Type, at: &dyn Spanned) -> Checked<Value> {
        if value.ty == ty || value.ty == Type::Never {
            return Ok(Value {
                is_literal: false,
                ..value
            });
        }
        if ty == Type::Unit {
            return Ok(Value::UNIT);
        }
        if value.ty.is_symbol() && ty.is_symbol() {
            return self.convert_symbol(value, ty, at);
        }
        if let (Type::Int, Type::Fixed, true, Some(whole)) =
            (value.ty, ty, value.is_literal, value.operand().constant())
        {
            return match Fixed::from_f64(f64::from(whole)) {
                Some(fixed) => Ok(Value::constant(Type::Fixed, fixed.raw())),
                None => {
                    Err(self.problem(at.span(), "this number does not fit `Fixed`", FIXED_RANGE))
                }
            };
        }
        if let (Type::Int, Type::Long, true, Some(whole)) =
            (value.ty, ty, value.is_literal, value.operand().constant())
        {
            return Ok(Value::long_constant(whole.into()));
        }
        let expected = format!("`{}`", self.unit.show(ty));
        Err(self.mismatch(value.ty, &expected, Some(ty), at.span()))
    }

    /// Another type was expected.
    fn mismatch(
        &self,
        found: Type,
        expected: &str,
        ty: Option<Type>,
        span: Span,
    ) -> Box<Diagnostic> {
        if found == Type::Unit {
            return self.problem(span, "a value is missing", format!("expected {expected}"));
        }
        let label = format!("expected {expected}, found `{}`", self.unit.show(found));
        let mut problem = self.problem(span, "the types differ", label);
        let source = self.unit.files[self.file()].source(span).unwrap_or("…");
        let operand = match source.contains(|c| "+-*/%<>=!&|^{".contains(c)) {
            true => format!("({source})"),
            false => source.to_owned(),
        };
        problem.help = match (found, ty) {
            (Type::Fixed, Some(Type::Int)) if source.starts_with(|c: char| c.is_ascii_digit()) => {
                Some("whole numbers are written without a fraction".to_owned())
            }
            (Type::Fixed, Some(Type::Int)) => Some(format!(
                "write `{operand} as i32`, which drops the fraction"
            )),
            (Type::Int, Some(Type::Long)) => Some(format!("write `{operand} as i64`")),
            (Type::Long, Some(Type::Int)) => Some(format!(
                "write `{operand} as i32`, which keeps the low 32 bits"
            )),
            (Type::Int, Some(Type::Fixed)) => Some(format!("write `{operand} as Fixed`")),
            (Type::Entity, Some(Type::Point)) => Some(format!("write `{operand}.position`")),
            (Type::Symbol, Some(Type::SymbolOf(_))) => Some(format!(
                "`Symbol` can be any symbol of the world; declare it as {expected}"
            )),
            _ => None,
        };
        problem
    }
}

/// What fits `Fixed`, as labels say it.
const FIXED_RANGE: &str = "expected -524288 to 524287.99";
