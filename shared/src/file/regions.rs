//! Regions: how many there may be, how large, and which kinds are born with some.

use super::{Problem, SIZE_MAX, fixed, in_range, problem, raw};
use crate::world::config::{InterestMode, KindRegions, REGIONS_PER_CLIENT_MAX};
use crate::world::fixed::Fixed;
use crate::world::schema::{Schema, WorldInfo};

/// What `[limits]` says of regions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct RegionLimits {
    pub per_client: u32,
    pub edge_max: Fixed,
    pub of_entities: bool,
}

/// A kind's `publishes` and `subscribes` as they are written.
pub(super) type RawRegions = (Option<Vec<f64>>, Option<Vec<f64>>);

pub(super) fn limits(
    raw: &raw::Limits,
    world: &WorldInfo,
    interest: InterestMode,
    kinds: &[RawRegions],
) -> Result<RegionLimits, Problem> {
    let key = "limits.region_edge_max";
    let some = (world.aoi.to_f64() * EDGE_IN_AOIS).min(SIZE_MAX);
    let edge_max = fixed(key, raw.region_edge_max.unwrap_or(some), STEP, SIZE_MAX)?;
    let with_some =
        |(publishes, subscribes): &RawRegions| publishes.is_some() || subscribes.is_some();
    let any_kind = kinds.iter().any(with_some);
    let limits = RegionLimits {
        per_client: in_range(
            "limits.regions_per_client",
            raw.regions_per_client,
            0,
            REGIONS_PER_CLIENT_MAX,
        )?,
        edge_max,
        of_entities: raw.entity_regions.unwrap_or(any_kind),
    };
    if any_kind && !limits.of_entities {
        return problem(
            "limits.entity_regions",
            false,
            "true where kinds have publishes or subscribes",
        );
    }
    // Whole squares have no distance by which the nearest could be told.
    if interest == InterestMode::Buckets && (limits.per_client > 0 || limits.of_entities) {
        return problem(
            "world.interest",
            "\"buckets\"",
            "\"exact\" in a world with regions",
        );
    }
    Ok(limits)
}

/// By kind.
pub(super) fn of_kinds(
    schema: &Schema,
    kinds: &[RawRegions],
    edge_max: Fixed,
) -> Result<Vec<KindRegions>, Problem> {
    let each = schema.kinds.iter().zip(kinds);
    each.map(|(kind, (publishes, subscribes))| {
        let edges = |name: &str, raw: &Option<Vec<f64>>| match raw {
            None => Ok(None),
            Some(raw) => {
                let key = format!("kind.{}.{name}", kind.name);
                edges(&key, raw, schema.dimensions(), edge_max).map(Some)
            }
        };
        Ok(KindRegions {
            publishes: edges("publishes", publishes)?,
            subscribes: edges("subscribes", subscribes)?,
        })
    })
    .collect()
}

fn edges(key: &str, raw: &[f64], dimensions: usize, edge_max: Fixed) -> Result<[i32; 3], Problem> {
    if raw.len() != dimensions {
        return problem(
            key,
            format!("{} numbers", raw.len()),
            format!("{dimensions} numbers, one an axis"),
        );
    }
    let mut edges = [1; 3];
    for (edge, &raw) in edges.iter_mut().zip(raw) {
        let length = fixed(key, raw, STEP, SIZE_MAX)?;
        if length.raw() > edge_max.raw() {
            return problem(
                key,
                raw,
                format!("at most limits.region_edge_max = {edge_max}"),
            );
        }
        *edge = length.raw();
    }
    Ok(edges)
}

/// The longest edge of a region where the file doesn't say it.
const EDGE_IN_AOIS: f64 = 8.0;
/// The shortest edge.
const STEP: f64 = 1.0 / 4096.0;
