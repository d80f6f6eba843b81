//! The keys of `[world]` that say how movement is sent.

use shared::world::attribute::AttributeType;
use shared::world::config::Motion;
use shared::world::schema::Schema;

use super::check::{Problem, Problems, SIZE_MAX, fixed, place, problem, unexpected};
use super::{kinds, raw};

/// How movement is sent: `motion`, `wire_tolerance` and `velocity`.
pub(super) fn motion(
    schema: &Schema,
    raw: &raw::Section,
    problems: &mut Problems,
) -> Option<Motion> {
    let remembers = schema.world.visible_max > 0;
    if raw.motion == Some(true) && !remembers {
        let message = "clients that are sent changes only, as with visible_max = 0, can't \
                       know the course of who comes into view";
        problems.take::<()>(problem("world.motion", message));
    }
    let tolerance = fixed("world.wire_tolerance", raw.wire_tolerance, 0.0, SIZE_MAX);
    let tolerance = problems.take(tolerance)?.raw();
    let velocity = problems.take_or(vec![], velocity(schema, raw));
    raw.motion.unwrap_or(remembers).then_some(Motion {
        tolerance,
        velocity,
    })
}

/// The columns of the attributes that `velocity` names.
fn velocity(schema: &Schema, raw: &raw::Section) -> Result<Vec<u16>, Problem> {
    let Some(names) = &raw.velocity else {
        return Ok(vec![]);
    };
    let key = "world.velocity";
    let dimensions = schema.dimensions();
    if names.len() != dimensions {
        let expected = format!("{dimensions} names, one for each axis");
        return unexpected(key, names.len(), expected);
    }
    let column = |name: &String| match schema.column(name) {
        Some(column) if schema.attributes[column].ty != AttributeType::Fixed => {
            let key = kinds::attribute_key(schema, name);
            problem(key, "an attribute of `world.velocity` has type fixed")
        }
        Some(column) if column >= dimensions => place(key, column),
        _ => unexpected(
            key,
            format!("{name:?}"),
            "names of attributes of type fixed that a kind has",
        ),
    };
    names.iter().map(column).collect()
}
