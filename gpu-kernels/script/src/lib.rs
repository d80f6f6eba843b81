//! Game logic as scripts: commands in Rust's syntax, with semantics of their own.
//!
//! | module | holds |
//! | --- | --- |
//! | `logic` | compiles the texts of a world into commands |
//! | `builtin` | texts that worlds can choose |
//! | `play` | compiles and runs what a client does: `fn act()` |
//! | `world` | world files with their scripts (feature `file`) |
//! | `parse` | reads texts, with limits |
//! | `unit` | what names mean in all texts of a world |
//! | `lower` | checks types, and turns functions into instructions |
//! | `diagnostic` | what is wrong with a text, and how it is drawn |
//! | `ir` | what a command becomes: instructions over 32-bit registers |
//! | `arith` | what operators give for all operands; random numbers |
//! | `interpreter` | runs instructions one by one |
//! | `native` | compiles instructions to machine code (feature `native`) |
//! | `ptx` | writes instructions as kernels for a GPU |

#![deny(unsafe_code)]

pub mod arith;
pub mod builtin;
pub mod diagnostic;
pub mod interpreter;
pub mod ir;
pub mod logic;
mod lower;
#[cfg(feature = "native")]
pub mod native;
pub mod parse;
pub mod play;
pub mod ptx;
mod types;
mod unit;
#[cfg(feature = "file")]
pub mod world;

pub use diagnostic::Diagnostic;
pub use logic::{Command, Logic, Problem};
pub use lower::BUILTINS;
pub use play::Play;
