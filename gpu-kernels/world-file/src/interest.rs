//! What clients see, with an entity and without: `aoi_leave` and `[spectators]`.

use shared::world::config::Spectators;
use shared::world::fixed::Fixed;

use super::check::{Problem, SIZE_MAX, fixed, problem, unexpected};
use super::raw;

/// The distance beyond which known entities leave.
pub(super) fn aoi_leave(raw: &raw::Section, aoi: Fixed) -> Result<Fixed, Problem> {
    let Some(leave) = raw.aoi_leave else {
        return Ok(aoi);
    };
    let key = "world.aoi_leave";
    let found = leave;
    let leave = fixed(key, leave, 1.0, SIZE_MAX)?;
    if leave < aoi || i64::from(leave.raw()) > LEAVE_IN_AOIS_MAX * i64::from(aoi.raw()) {
        let aoi = aoi.to_f64();
        let most = (aoi * LEAVE_IN_AOIS_MAX as f64).min(SIZE_MAX);
        return unexpected(key, found, format!("{aoi} to {most}"));
    }
    if leave > aoi && raw.visible_max == 0 {
        let message = "clients that remember nothing, as with visible_max = 0, know no entity \
                       that could leave";
        return problem(key, message);
    }
    Ok(leave)
}

/// Whether clients may watch without an entity, and how.
pub(super) fn spectators(
    raw: &raw::Spectators,
    tick_hz: u32,
) -> Result<Option<Spectators>, Problem> {
    let key = "spectators.speed_max";
    let Some(speed) = raw.speed_max else {
        let anywhere = Spectators { step_max: None };
        return Ok(raw.allowed.then_some(anywhere));
    };
    if !raw.allowed {
        return problem(key, "nobody may watch; expected `allowed = true`");
    }
    let speed = fixed(key, speed, 0.0, SIZE_MAX)?;
    let step = speed.raw() / i32::try_from(tick_hz).unwrap_or(i32::MAX);
    Ok(Some(Spectators {
        step_max: Some(step),
    }))
}

/// Farther, the index would be searched in more rows of buckets.
const LEAVE_IN_AOIS_MAX: i64 = 2;
