//! `blocks` of `[[kind]]`: entities that block cells, such as doors and buildings.

use shared::Audience;
use shared::world::attribute::AttributeType;
use shared::world::door::{DOOR_CELLS_MAX, Door};
use shared::world::logic::Text;
use shared::world::schema::Schema;

use super::check::{Problem, Problems, in_range, place, problem, unexpected};
use super::logic::add_note;
use super::raw;

pub(super) fn doors(
    schema: &Schema,
    raw_kinds: &[raw::Kind],
    problems: &mut Problems,
) -> Vec<Door> {
    let kinds = raw_kinds.iter().enumerate();
    let doors = kinds.filter_map(|(kind, raw)| {
        let cells = raw.blocks.as_ref()?;
        problems.take(door(schema, kind, raw, cells))
    });
    doors.collect()
}

/// Adds a text to those of a world with doors that says which they are: so whatever depends on the
/// scripts, such as the state hash, depends on what these see.
pub(super) fn add_text(doors: &[Door], texts: &mut Vec<Text>) -> Result<(), Problem> {
    let lines = doors.iter().map(|door| {
        let Door {
            kind,
            cells: [width, height],
            closed,
        } = door;
        let closed = match closed {
            Some(column) => format!(" while column {column} is true"),
            None => String::new(),
        };
        format!("// Kind {kind} blocks {width} by {height} cells{closed}.\n")
    });
    let text = Text {
        file: TEXT_FILE.to_owned(),
        text: lines.collect(),
        is_builtin: true,
    };
    add_note(texts, text, "kind", "kinds that block cells")
}

fn door(schema: &Schema, kind: usize, raw: &raw::Kind, cells: &[u32]) -> Result<Door, Problem> {
    let key = format!("{}.blocks", raw.key());
    let [width, height] = cells else {
        return unexpected(key, cells.len(), "two numbers of cells, along x and y");
    };
    if raw.is_shared {
        return problem(
            key,
            "what the whole world shares is nowhere, and blocks nothing",
        );
    }
    if schema.layers.blocked().is_none() {
        let message = "the world has no layer `blocked`, whose cells it would block";
        return problem(key, message);
    }
    let count = |cells: &u32| match u8::try_from(*cells) {
        Ok(cells) => in_range(&key, cells, 1, DOOR_CELLS_MAX),
        Err(_) => unexpected(&key, cells, format!("1 to {DOOR_CELLS_MAX}")),
    };
    Ok(Door {
        kind: place(&key, kind)?,
        cells: [count(width)?, count(height)?],
        closed: closed(schema, kind, raw)?,
    })
}

/// The column of the kind's attribute `closed`, if it has one.
fn closed(schema: &Schema, kind: usize, raw: &raw::Kind) -> Result<Option<u16>, Problem> {
    let mut own = schema.kinds[kind].attributes.iter();
    let attribute = |column: u16| &schema.attributes[usize::from(column)];
    let Some(own) = own.find(|own| attribute(own.column).name == "closed") else {
        return Ok(None);
    };
    let key = format!("{}.attributes.closed", raw.key());
    let closed = attribute(own.column);
    if closed.ty != AttributeType::Bool {
        let found = format!("{:?}", closed.ty).to_lowercase();
        let expected = "type bool, as the kind has `blocks`";
        return unexpected(format!("{key}.type"), found, expected);
    }
    if closed.audience != Audience::State {
        let found = format!("{:?}", closed.audience).to_lowercase();
        let expected = "\"state\", as all who see the entity walk around it";
        return unexpected(format!("{key}.audience"), format!("{found:?}"), expected);
    }
    Ok(Some(own.column))
}

const TEXT_FILE: &str = "world-doors.rs";
