//! What a command line sets in place of a world file.

use super::raw;

/// Keys of a world file that have other values than in the file. What follows from a key
/// follows from these, and they pass through the same checks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Overrides {
    /// `world.tick_hz`
    pub tick_hz: Option<u32>,
    /// `world.motion`
    pub motion: Option<bool>,
}

impl Overrides {
    pub(super) fn apply(self, raw: &mut raw::World) {
        let Overrides { tick_hz, motion } = self;
        if let Some(tick_hz) = tick_hz {
            raw.world.tick_hz = tick_hz;
        }
        raw.world.motion = motion.or(raw.world.motion);
    }
}
