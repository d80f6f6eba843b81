//! Regions: how many a client may have, how large, and which kinds are born with some.

use shared::world::fixed::Fixed;
use shared::world::schema::{KindRegions, Schema, WorldInfo};

use super::check::{Problem, Problems, SIZE_MAX, fixed, unexpected};
use super::ranges::{Limits, Ranges};
use super::raw;

/// Sets the ranges of the limits of regions; gives the longest edge that kinds may have.
pub(super) fn limits(
    ranges: &mut Ranges,
    given: &Limits,
    world: &WorldInfo,
    kinds: &[raw::Kind],
    problems: &mut Problems,
) -> Fixed {
    let edge_max = &mut ranges.region_edge_max;
    edge_max.default = (world.aoi.to_f64() * EDGE_IN_AOIS).min(edge_max.max);
    let found = given.region_edge_max.unwrap_or(edge_max.default);
    // Any edge that kinds may have fits the largest one.
    let is_allowed = (edge_max.min..=edge_max.max).contains(&found);
    let edge_max = Fixed::from_f64(found).filter(|_| is_allowed);
    let has_regions = |kind: &raw::Kind| kind.publishes.is_some() || kind.subscribes.is_some();
    let any_kind = kinds.iter().any(has_regions);
    ranges.entity_regions.default = any_kind;
    let of_entities = ranges.entity_regions.value(given.entity_regions);
    if any_kind && !of_entities {
        problems.take::<()>(unexpected(
            "limits.entity_regions",
            false,
            "true, since a kind has `publishes` or `subscribes`",
        ));
    }
    edge_max.unwrap_or(Fixed::MAX)
}

/// Adds the regions that newborns carry.
pub(super) fn add(
    schema: &mut Schema,
    kinds: &[raw::Kind],
    edge_max: Fixed,
    problems: &mut Problems,
) {
    let dimensions = schema.dimensions();
    let mut optional_edges = |kind: &raw::Kind, name: &str, raw: &Option<Vec<f64>>| {
        let raw = raw.as_ref()?;
        let key = format!("{}.{name}", kind.key());
        problems.take(edges(&key, raw, dimensions, edge_max))
    };
    for (kind, raw) in schema.kinds.iter_mut().zip(kinds) {
        kind.regions = KindRegions {
            publishes: optional_edges(raw, "publishes", &raw.publishes),
            subscribes: optional_edges(raw, "subscribes", &raw.subscribes),
        };
    }
}

fn edges(key: &str, raw: &[f64], dimensions: usize, edge_max: Fixed) -> Result<[i32; 3], Problem> {
    if raw.len() != dimensions {
        let expected = format!("{dimensions} numbers, one per axis");
        return unexpected(key, raw.len(), expected);
    }
    let mut edges = [1; 3];
    for (edge, &raw) in edges.iter_mut().zip(raw) {
        let length = fixed(key, raw, EDGE_MIN, SIZE_MAX)?;
        if length.raw() > edge_max.raw() {
            let expected = format!("at most limits.region_edge_max = {edge_max}");
            return unexpected(key, raw, expected);
        }
        *edge = length.raw();
    }
    Ok(edges)
}

/// The default of `limits.region_edge_max`, in radii of the area of interest.
const EDGE_IN_AOIS: f64 = 8.0;
/// The shortest edge: one raw unit.
const EDGE_MIN: f64 = 1.0 / 4096.0;
