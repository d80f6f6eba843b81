//! What a command line sets in place of a world file.

use shared::world::source::Overrides;

use super::raw;

pub(super) fn apply(overrides: Overrides, raw: &mut raw::World) {
    let Overrides { tick_hz, motion } = overrides;
    if let Some(tick_hz) = tick_hz {
        raw.world.tick_hz = tick_hz;
    }
    raw.world.motion = motion.or(raw.world.motion);
}
