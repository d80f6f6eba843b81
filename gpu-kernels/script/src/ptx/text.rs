//! The text of one kernel: its instructions, and the registers that they use.

use std::fmt::{self, Display, Write};

use crate::ir::Operand;

/// The text in the making.
#[derive(Debug, Default)]
pub struct Text {
    lines: String,
    /// By class: the registers so far.
    registers: [u32; CLASSES.len()],
    labels: u32,
    /// Rows change while the kernel runs, by other threads too.
    pub has_live_rows: bool,
}

/// A register of one class.
pub trait Register: Copy + Display {
    const CLASS: usize;
    fn new(number: u32) -> Self;
}

/// A place to jump to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Label(u32);

/// 32 bits: a register or a constant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Value {
    Const(i32),
    Word(Word),
}

/// By class: the type, and how the names begin.
const CLASSES: [(&str, &str); 5] = [
    ("b32", "%w"),
    ("b64", "%l"),
    ("pred", "%f"),
    ("f64", "%x"),
    ("b16", "%h"),
];

macro_rules! registers {
    ($($(#[$docs:meta])* $name:ident = $class:literal;)*) => { $(
        $(#[$docs])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub struct $name(u32);

        impl Register for $name {
            const CLASS: usize = $class;
            fn new(number: u32) -> $name {
                $name(number)
            }
        }

        impl Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{}{}", CLASSES[$class].1, self.0)
            }
        }
    )* };
}

registers! {
    /// 32 bits.
    Word = 0;
    /// 64 bits.
    Long = 1;
    /// A condition.
    Flag = 2;
    Double = 3;
    /// 16 bits.
    Half = 4;
}

impl Text {
    /// A register that nothing has set yet.
    pub fn register<R: Register>(&mut self) -> R {
        let next = &mut self.registers[R::CLASS];
        *next += 1;
        R::new(*next - 1)
    }

    /// A new register, set by an operation on these operands.
    pub fn set<R: Register>(&mut self, operation: &str, operands: fmt::Arguments<'_>) -> R {
        let register = self.register();
        self.put(operation, register, operands);
        register
    }

    /// Sets a register.
    pub fn put(&mut self, operation: &str, to: impl Register, operands: fmt::Arguments<'_>) {
        self.line(format_args!("{operation} {to}, {operands}"));
    }

    /// An instruction.
    pub fn line(&mut self, instruction: fmt::Arguments<'_>) {
        let _ = writeln!(self.lines, "    {instruction};");
    }

    pub fn label(&mut self) -> Label {
        self.labels += 1;
        Label(self.labels - 1)
    }

    /// The next instruction is at this label.
    pub fn place(&mut self, label: Label) {
        let _ = writeln!(self.lines, "{label}:");
    }

    pub fn jump(&mut self, to: Label) {
        self.line(format_args!("bra {to}"));
    }

    pub fn jump_if(&mut self, flag: Flag, to: Label) {
        self.line(format_args!("@{flag} bra {to}"));
    }

    pub fn jump_unless(&mut self, flag: Flag, to: Label) {
        self.line(format_args!("@!{flag} bra {to}"));
    }

    /// 1 if the flag is set, else 0.
    pub fn put_flag(&mut self, to: Word, flag: Flag) {
        self.put("selp.b32", to, format_args!("1, 0, {flag}"));
    }

    /// The value in a register.
    pub fn in_register(&mut self, value: Value) -> Word {
        match value {
            Value::Word(word) => word,
            Value::Const(_) => self.set("mov.b32", format_args!("{value}")),
        }
    }

    /// The kernel's body: its registers, then its instructions.
    pub fn finish(self) -> String {
        let mut body = String::new();
        for ((ty, prefix), n) in CLASSES.iter().zip(self.registers) {
            if n > 0 {
                let _ = writeln!(body, "    .reg .{ty} {prefix}<{n}>;");
            }
        }
        body + &self.lines
    }
}

impl Value {
    /// The value with a constant's bits as an unsigned number.
    pub fn unsigned(self) -> impl Display {
        match self {
            Value::Const(value) => (value as u32).to_string(),
            Value::Word(word) => word.to_string(),
        }
    }
}

/// The registers of a [`Code`](crate::ir::Code) are the first of the kernel.
impl From<Operand> for Value {
    fn from(operand: Operand) -> Value {
        match operand {
            Operand::Const(value) => Value::Const(value),
            Operand::Reg(reg) => Value::Word(Word(reg.0)),
        }
    }
}

impl Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Const(value) => value.fmt(f),
            Value::Word(word) => word.fmt(f),
        }
    }
}

impl Display for Label {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "$L{}", self.0)
    }
}
