//! What clients see: `aoi_leave` in the world file.

use super::check::{Problem, SIZE_MAX, fixed, problem, unexpected};
use super::raw;
use crate::world::fixed::Fixed;
use crate::world::schema::InterestMode;

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
    if leave > aoi && raw.interest == InterestMode::Buckets {
        return problem(
            key,
            "whole buckets have no distance; expected `interest = \"exact\"`",
        );
    }
    if leave > aoi && raw.visible_max == 0 {
        let message = "clients that remember nothing, as with visible_max = 0, know no entity \
                       that could leave";
        return problem(key, message);
    }
    Ok(leave)
}

/// Farther, the index would be searched in more rows of buckets.
const LEAVE_IN_AOIS_MAX: i64 = 2;
