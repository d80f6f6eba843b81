//! Game logic as scripts: commands in Rust's syntax, with semantics of their own. Without the
//! feature `compile` only `arith`, `atomic`, `census`, `forecast`, `holdings`, `interpreter`, `ir`
//! and `standings` are there.
//!
//! | module | holds |
//! | --- | --- |
//! | `logic` | compiles the texts of a world into commands |
//! | `builtin` | texts that worlds can choose |
//! | `play` | compiles and runs what a client does: `fn act()` |
//! | `functions` | the functions that scripts have without declaring them |
//! | `parse` | reads texts, with limits |
//! | `unit` | what names mean in all texts of a world |
//! | `uses` | which texts use something of each other |
//! | `usage` | how often an entity may use a command |
//! | `lower` | checks types, and turns functions into instructions |
//! | `diagnostic` | what is wrong with a text, and how it is drawn |
//! | `lint` | warnings: what is allowed, but hardly meant |
//! | `testing` | compiles and runs tests: `#[test] fn` |
//! | `watched` | runs of commands for people: what each line gives, and what is logged |
//! | `shown` | values as text |
//! | `forecast` | what clients are sent, to predict their own entity |
//! | `ir` | what a command becomes: instructions over 32-bit registers |
//! | `arith` | what operators give for all operands; random numbers |
//! | `atomic` | which entities an atomic command has to do with |
//! | `census` | the living entities of a world by kind |
//! | `holdings` | the things of a world by holder, the members of groups by group |
//! | `standings` | where entities stand in a world's rankings |
//! | `interpreter` | runs instructions one by one |
//! | `native` | compiles instructions to machine code (feature `native`) |
//! | `ptx` | writes instructions as kernels for a GPU |

#![deny(unsafe_code)]

pub mod arith;
pub mod atomic;
#[cfg(feature = "compile")]
pub mod builtin;
pub mod census;
#[cfg(feature = "compile")]
pub mod diagnostic;
pub mod forecast;
#[cfg(feature = "compile")]
mod functions;
pub mod holdings;
pub mod interpreter;
pub mod ir;
#[cfg(feature = "compile")]
pub mod lint;
#[cfg(feature = "compile")]
pub mod logic;
#[cfg(feature = "compile")]
mod lower;
#[cfg(feature = "native")]
pub mod native;
#[cfg(feature = "compile")]
pub mod parse;
#[cfg(feature = "compile")]
pub mod play;
#[cfg(feature = "compile")]
pub mod ptx;
#[cfg(feature = "compile")]
mod shown;
pub mod standings;
#[cfg(feature = "compile")]
pub mod testing;
#[cfg(feature = "compile")]
mod types;
#[cfg(feature = "compile")]
mod unit;
#[cfg(feature = "compile")]
mod usage;
#[cfg(feature = "compile")]
pub mod uses;
#[cfg(feature = "compile")]
pub mod watched;

#[cfg(feature = "compile")]
pub use diagnostic::{Diagnostic, Problem};
pub use forecast::Forecast;
#[cfg(feature = "compile")]
pub use functions::BUILTINS;
#[cfg(feature = "compile")]
pub use logic::{Command, Logic};
#[cfg(feature = "compile")]
pub use play::Play;
