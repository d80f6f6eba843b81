//! What a world was made from: with this, it is made again.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::logic::LogicConfig;

/// A world file as it was read, and the scripts that it had then.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Source {
    /// The text of the file.
    pub text: String,
    pub overrides: Overrides,
    /// The texts of the scripts, with the numbers of their names: built-in texts may be others in
    /// another version, and a folder may have changed.
    pub logic: LogicConfig,
}

/// Keys of a world file that have other values than in the file. What follows from a key
/// follows from these, and they pass through the same checks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Overrides {
    /// `world.tick_hz`
    pub tick_hz: Option<u32>,
    /// `world.motion`
    pub motion: Option<bool>,
}

/// The source of a world. It says nothing that the world's other parts do not, and several texts
/// give the same world: so it does not count when worlds are compared.
#[derive(Clone, Debug, Default)]
pub struct Origin(pub Arc<Source>);

impl PartialEq for Origin {
    fn eq(&self, _: &Origin) -> bool {
        true
    }
}
