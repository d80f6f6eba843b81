//! `[[zone]]`: named parts of the world, whose borders hooks watch.

use shared::world::fixed::Fixed;
use shared::world::hook::{CARRIED_EDGE_MAX, ZONES_MAX, Zone};
use shared::world::schema::Schema;

use super::check::{Problem, Problems, fixed, problem, unexpected};
use super::{kinds, raw, spawn};

pub(super) fn zones(schema: &Schema, raw: &[raw::Zone], problems: &mut Problems) -> Vec<Zone> {
    if raw.len() > ZONES_MAX {
        let expected = format!("at most {ZONES_MAX} zones");
        problems.take::<()>(unexpected("zone", raw.len(), expected));
        return vec![];
    }
    let mut zones: Vec<Zone> = vec![];
    for (i, raw) in raw.iter().enumerate() {
        let is_taken = zones.iter().any(|zone| zone.name == raw.name);
        if raw.name.is_empty() || is_taken {
            let expected = "a name that no other zone has";
            let key = format!("zone[{i}].name");
            problems.take::<()>(unexpected(key, format!("{:?}", raw.name), expected));
        }
        zones.extend(problems.take(zone(schema, &format!("zone.{}", raw.name), raw)));
    }
    zones
}

fn zone(schema: &Schema, key: &str, raw: &raw::Zone) -> Result<Zone, Problem> {
    let world = &schema.world;
    let carrier = match &raw.carrier {
        None => None,
        Some(name) => Some(kinds::placed(schema, &format!("{key}.carrier"), name)?),
    };
    let dimensions = world.size.len();
    let own = vec![0.0; dimensions];
    let given = spawn::Shape {
        // A carried disc is around its carrier.
        center: match (&raw.center, carrier, &raw.area) {
            (None, Some(_), None) => Some(&own[..]),
            (center, ..) => center.as_deref(),
        },
        radius: raw.radius,
        area: raw.area.as_deref(),
    };
    let area = spawn::shape(key, given, |key, raw| match carrier {
        None => spawn::point(key, world, raw),
        Some(_) => offset(key, dimensions, raw),
    })?;
    let zone = Zone {
        name: raw.name.clone(),
        area,
        carrier,
    };
    if carrier.is_some() {
        let [low, high] = zone.corners();
        let longest = (0..3)
            .map(|axis| high[axis].saturating_sub(low[axis]))
            .max();
        let most = (f64::from(CARRIED_EDGE_MAX) * world.aoi.to_f64()).min(OFFSET_MAX);
        if longest.is_some_and(|longest| Fixed::from_raw(longest).to_f64() > most) {
            let message = format!(
                "expected a carried zone of at most {CARRIED_EDGE_MAX} times `world.aoi`, {most} \
                 from edge to edge"
            );
            return problem(key, message);
        }
    }
    Ok(zone)
}

/// A point as seen from a carrier.
fn offset(key: &str, dimensions: usize, raw: &[f64]) -> Result<[i32; 3], Problem> {
    if raw.len() != dimensions {
        let expected = format!("{dimensions} numbers, one per axis");
        return unexpected(key, raw.len(), expected);
    }
    let mut point = [0; 3];
    for (axis, &raw) in point.iter_mut().zip(raw) {
        *axis = fixed(key, raw, -OFFSET_MAX, OFFSET_MAX)?.raw();
    }
    Ok(point)
}

/// The farthest that a carried zone is from its carrier: the sum of both can't overflow.
const OFFSET_MAX: f64 = 65_535.0;
