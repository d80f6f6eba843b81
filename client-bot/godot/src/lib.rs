//! A Godot extension: a [`MyriadClient`](client::MyriadClient) is a node that plays in a world.
//!
//! | module | holds |
//! | --- | --- |
//! | `client` | the node: connecting, frames, commands, what is known |
//! | `emit` | a signal for each event of the client |
//! | `shown` | scenes that stand for entities in view |
//! | `convert` | entities as Godot's integers, text |

use godot::init::{ExtensionLibrary, gdextension};

mod client;
mod convert;
mod emit;
mod shown;

struct Myriad;

// SAFETY: Godot loads the library once, through the function that this declares.
#[gdextension]
unsafe impl ExtensionLibrary for Myriad {}
