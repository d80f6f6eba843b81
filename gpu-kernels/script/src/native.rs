//! Runs commands as machine code, which Cranelift makes when a world starts or its commands
//! change. The [`interpreter`](crate::interpreter) says what each instruction means.
//!
//! A command becomes a function. It writes its updates to where there is room for them, tells
//! how many it has, and passes the commands that it schedules and its notifications to the
//! [`Host`]. An atomic one changes the world's rows, and writes there what was in them, so that
//! its caller can undo that.
//!
//! | module | holds |
//! | --- | --- |
//! | `check` | whether instructions are well-formed; which of them a run needs |
//! | `facts` | which registers surely hold the slot of an entity |
//! | `emit` | instructions → Cranelift's |
//! | `frame` | what the machine code reads, and whom it calls |
//! | `function` | the machine code of a command and its memory |
//! | `prefetch` | what runs read soon |
//! | `thread` | runs commands, for one thread |

// The only module of the crate that may.
#![allow(unsafe_code)]

mod check;
mod emit;
mod facts;
mod frame;
mod function;
mod prefetch;
mod thread;

use std::sync::Arc;

use shared::world::columns::{ATTRIBUTES_MAX, Columns};
use thiserror::Error;

pub use frame::{Pair, Rows, View};
pub use prefetch::prefetch;
pub use thread::{Call, Ended, Host, Thread};

use crate::interpreter::Space;
use crate::ir::Code;
use function::Function;

/// The commands of a world as machine code. Copies share it, and it is freed with the last.
#[derive(Clone, Debug)]
pub struct Native {
    shape: Arc<Shape>,
    /// By the command's number.
    functions: Vec<Option<Arc<Function>>>,
}

/// Why there is no machine code.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum NativeError {
    #[error("no machine code for this kind of machine: {0}")]
    Target(String),
    #[error("command {number}: {reason}")]
    Malformed { number: u16, reason: &'static str },
    #[error("command {number}: {reason}")]
    Compile { number: u16, reason: String },
}

/// The properties of a world that machine code depends on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shape {
    pub space: Space,
    /// Attributes of a row.
    pub columns: usize,
    /// The number of rankings.
    pub rankings: usize,
    /// By kind: the columns that it has.
    pub kind_columns: Vec<Columns>,
    /// By kind, then by column: the least and the greatest value of an attribute that it has.
    pub bounds: Vec<(i32, i32)>,
    /// The state of a slot whose entity lives.
    pub live: u8,
}

impl Native {
    /// Compiles commands, each with its number.
    ///
    /// # Panics
    ///
    /// If rows have more than [`ATTRIBUTES_MAX`] columns, or bounds are missing.
    pub fn compile<'c>(
        commands: impl IntoIterator<Item = (u16, &'c Code)>,
        shape: Shape,
    ) -> Result<Native, NativeError> {
        assert!(shape.columns <= ATTRIBUTES_MAX);
        assert_eq!(shape.bounds.len(), shape.columns * shape.kind_columns.len());
        let mut native = Native {
            shape: Arc::new(shape),
            functions: vec![],
        };
        for (number, code) in commands {
            native.replace(number, code)?;
        }
        Ok(native)
    }

    /// Compiles one command anew. Copies keep the old one, and share the others. After an
    /// error everything is as before.
    pub fn replace(&mut self, number: u16, code: &Code) -> Result<(), NativeError> {
        let function = Function::compile(number, code, &self.shape)?;
        let i = usize::from(number);
        if self.functions.len() <= i {
            self.functions.resize(i + 1, None);
        }
        self.functions[i] = Some(Arc::new(function));
        Ok(())
    }

    pub fn has(&self, number: u16) -> bool {
        self.get(number).is_some()
    }

    /// Whether a command draws random numbers, so that its [`Call::random`] matters.
    pub fn draws(&self, number: u16) -> bool {
        self.get(number).is_some_and(|function| function.draws)
    }

    pub fn shape(&self) -> &Shape {
        &self.shape
    }

    fn get(&self, number: u16) -> Option<&Function> {
        self.functions.get(usize::from(number))?.as_deref()
    }
}
