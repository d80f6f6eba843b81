//! Game logic as scripts: commands in Rust's syntax, with semantics of their own.
//!
//! | module | holds |
//! | --- | --- |
//! | `ir` | what a command becomes: instructions over 32-bit registers |
//! | `arith` | what operators give for all operands; random numbers |
//! | `interpreter` | runs instructions one by one |
//! | `ptx` | writes instructions as kernels for a GPU |

pub mod arith;
pub mod interpreter;
pub mod ir;
pub mod ptx;
