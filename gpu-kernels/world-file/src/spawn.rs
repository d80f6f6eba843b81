//! `places` and `spawn` of `[[kind]]`: where entities are born.

use shared::world::plane::Atlas;
use shared::world::schema::WorldInfo;
use shared::world::spawn::SpawnArea;

use super::check::{Problem, Problems, SIZE_MAX, fixed, problem, unexpected};
use super::{planes, raw};

/// By kind.
pub(super) fn areas(
    world: &WorldInfo,
    atlas: &Atlas,
    kinds: &[raw::Kind],
    problems: &mut Problems,
) -> Vec<Option<SpawnArea>> {
    let area = |kind: &raw::Kind| {
        let raw = kind.spawn.as_ref()?;
        let world = planes::info_of(world, atlas, kind);
        problems.take(area(&format!("{}.spawn", kind.key()), &world, raw))
    };
    kinds.iter().map(area).collect()
}

/// By kind: where one each is born in the first tick.
pub(super) fn places(
    world: &WorldInfo,
    atlas: &Atlas,
    kinds: &[raw::Kind],
    problems: &mut Problems,
) -> Vec<Vec<[i32; 3]>> {
    let mut places = vec![];
    for kind in kinds {
        let world = planes::info_of(world, atlas, kind);
        let own = kind.places.iter().enumerate().filter_map(|(i, raw)| {
            let key = format!("{}.places[{i}]", kind.key());
            problems.take(point(&key, &world, raw))
        });
        places.push(own.collect());
    }
    places
}

fn area(key: &str, world: &WorldInfo, raw: &raw::Spawn) -> Result<SpawnArea, Problem> {
    let given = Shape {
        center: raw.center.as_deref(),
        radius: raw.radius,
        area: raw.area.as_deref(),
    };
    shape(key, given, |key, raw| point(key, world, raw))
}

/// The keys of a disc, or of a box.
#[derive(Clone, Copy)]
pub(super) struct Shape<'a> {
    pub center: Option<&'a [f64]>,
    pub radius: Option<f64>,
    pub area: Option<&'a [Vec<f64>]>,
}

/// A disc or a box, whose points `point` reads.
pub(super) fn shape(
    key: &str,
    given: Shape<'_>,
    point: impl Fn(&str, &[f64]) -> Result<[i32; 3], Problem>,
) -> Result<SpawnArea, Problem> {
    match (given.center, given.radius, given.area) {
        (Some(center), radius, None) => Ok(SpawnArea::Ball {
            center: point(&format!("{key}.center"), center)?,
            radius: fixed(
                &format!("{key}.radius"),
                radius.unwrap_or(0.0),
                0.0,
                SIZE_MAX,
            )?
            .raw(),
        }),
        (None, None, Some(corners)) => {
            let key = format!("{key}.area");
            let [low, high] = corners else {
                return unexpected(key, corners.len(), "2 corners: the low and the high one");
            };
            let (low, high) = (point(&key, low)?, point(&key, high)?);
            if low.iter().zip(&high).any(|(low, high)| low > high) {
                return problem(key, "the first corner must be the low one along every axis");
            }
            Ok(SpawnArea::Box { low, high })
        }
        _ => problem(key, "expected `center` and `radius`, or `area`"),
    }
}

/// A point of the world.
pub(super) fn point(key: &str, world: &WorldInfo, raw: &[f64]) -> Result<[i32; 3], Problem> {
    if raw.len() != world.size.len() {
        let expected = format!("{} numbers, one per axis", world.size.len());
        return unexpected(key, raw.len(), expected);
    }
    let mut point = [0; 3];
    for ((axis, &raw), size) in point.iter_mut().zip(raw).zip(&world.size) {
        let place = fixed(key, raw, 0.0, size.to_f64())?;
        *axis = place.raw().min(size.raw() - 1);
    }
    Ok(point)
}
