//! Writes a command as PTX, the driver's assembly language.
//!
//! A command becomes a module with two kernels ([`kernel_names`]): one counts the effects of
//! each of the tick's commands of its kind, and after a scan of the counts the other stores
//! them (thesis 3.3). Both are given the tick's structures by value; each thread runs some
//! of the commands, whatever the number of threads.
//!
//! What is constant for a world is written as a constant, so a module is for one world.
//!
//! | module | holds |
//! | --- | --- |
//! | [`layout`] | what the text must know of the device and the world |
//! | `kernel` | one kernel: its loop over commands, and its instructions |
//! | `operators` | arithmetic |
//! | `entities` | references, attributes, distances |
//! | `near` | visits of what is near |
//! | `random` | random numbers |
//! | `effects` | updates, scheduled commands, notifications |
//! | `atomic` | the kernels of all atomic commands: keys, and workers that run them |
//! | `turn` | one run of an atomic command: its writes, and how it ends |
//! | `memory` | parameters and loads |
//! | `text` | instructions and registers |

mod atomic;
mod effects;
mod entities;
mod kernel;
pub mod layout;
mod memory;
mod near;
mod operators;
mod random;
mod text;
mod turn;

use std::fmt::Write;

use crate::ir::Code;

pub use atomic::AtomicCommand;

use atomic::Workers;
use effects::Pass;
use memory::{TICK, WORLD};

pub use layout::Layout;

/// The kernels of a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KernelNames {
    pub count: String,
    pub store: String,
}

/// The names of the kernels of a command by its number.
pub fn kernel_names(kind: u16) -> KernelNames {
    KernelNames {
        count: format!("command_{kind}_count"),
        store: format!("command_{kind}_store"),
    }
}

/// The text for a command with this number.
pub fn module(kind: u16, code: &Code, layout: &Layout) -> String {
    let mut text = header();
    let names = kernel_names(kind);
    for (name, pass) in [(names.count, Pass::Count), (names.store, Pass::Store)] {
        let body = kernel::body(kind, code, layout, pass);
        entry(&mut text, layout, &name, &body);
    }
    text
}

/// The kernels of a world's atomic commands.
pub mod atomic_kernels {
    /// Finds the slots of all keys.
    pub const KEYS: &str = "atomic_keys";
    /// Runs commands: each thread those that it finds in the queue, and what they free.
    pub const THREADS: &str = "atomic_run_threads";
    /// Likewise, by a thread of each warp, which waits for more.
    pub const WARPS: &str = "atomic_run_warps";
}

/// The text for a world's atomic commands.
pub fn atomic_module(commands: &[AtomicCommand<'_>], layout: &Layout) -> String {
    let mut text = header();
    let bodies = [
        (atomic_kernels::KEYS, atomic::keys(commands, layout)),
        (
            atomic_kernels::THREADS,
            atomic::run(commands, layout, Workers::Threads),
        ),
        (
            atomic_kernels::WARPS,
            atomic::run(commands, layout, Workers::Warps),
        ),
    ];
    for (name, body) in bodies {
        entry(&mut text, layout, name, &body);
    }
    text
}

fn header() -> String {
    format!(".version {VERSION}\n.target {TARGET}\n.address_size 64\n")
}

fn entry(text: &mut String, layout: &Layout, name: &str, body: &str) {
    let (world, tick) = (layout.world.bytes, layout.tick.bytes);
    let _ = write!(
        text,
        "\n.visible .entry {name}(\n    .param .align 8 .b8 {WORLD}[{world}],\n    \
         .param .align 8 .b8 {TICK}[{tick}]\n)\n.maxntid {THREADS_MAX}, 1, 1\n{{\n{body}}}\n"
    );
}

/// The most threads of a block.
pub const THREADS_MAX: u32 = 256;
/// As old as it may be, so that the drivers of all these years can read it.
const VERSION: &str = "7.0";
const TARGET: &str = "sm_75";
