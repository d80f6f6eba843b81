//! `[[field]]`: flow fields, along which entities find ways to goals.

use std::fmt::Write;

use shared::world::edit::LayerKind;
use shared::world::field::{
    COST_MAX, FIELD_CELLS_MAX, FIELDS_MAX, Field, Goals, REFRESH_TICKS_MAX,
};
use shared::world::hook::Zone;
use shared::world::layer::Blocked;
use shared::world::logic::Text;
use shared::world::schema::Schema;
use shared::world::spawn::SpawnArea;

use super::check::{Problem, Problems, in_range, one_of, problem, unexpected};
use super::logic::add_note;
use super::{kinds, raw, spawn};

/// `tags` are those of the layer `tag`, by number from 1 on.
pub(super) fn fields(
    schema: &Schema,
    tags: &[String],
    raw: &[raw::Field],
    problems: &mut Problems,
) -> Vec<Field> {
    if raw.is_empty() {
        return vec![];
    }
    let Some(walls) = schema.layers.blocked() else {
        let message = "the world has no layer `blocked`, through whose cells ways would lead";
        problems.take::<()>(problem("field", message));
        return vec![];
    };
    if let Err(beyond) = check_number(walls, raw.len()) {
        problems.take::<()>(Err(beyond));
        return vec![];
    }
    for layer in [LayerKind::Blocked, LayerKind::Tag] {
        if schema.layers.is_editable(layer) {
            let name = layer.name();
            let message = format!(
                "expected no field where the layer `{name}` is editable: fields don't know edits"
            );
            problems.take::<()>(problem("field", message));
            return vec![];
        }
    }
    let mut fields: Vec<Field> = vec![];
    let count = u32::try_from(raw.len()).unwrap_or(u32::MAX);
    for (i, own) in (0u32..).zip(raw) {
        let is_taken = fields.iter().any(|field| field.name == own.name);
        if own.name.is_empty() || is_taken {
            let expected = "a name that no other field has";
            let key = format!("field[{i}].name");
            problems.take::<()>(unexpected(key, format!("{:?}", own.name), expected));
        }
        let key = format!("field.{}", own.name);
        let found = field(schema, walls, tags, &key, own);
        if let Some(mut field) = problems.take(found) {
            // Fields of the same time are taken in different ticks.
            field.first = field.refresh_ticks * i / count;
            fields.push(field);
        }
    }
    fields
}

/// Adds a text to those of a world with fields that says which they are: so whatever depends on the
/// scripts, such as the state hash, depends on what these see.
pub(super) fn add_text(fields: &[Field], texts: &mut Vec<Text>) -> Result<(), Problem> {
    let mut text = String::new();
    for field in fields {
        let Field {
            name,
            goals,
            refresh_ticks,
            first,
            costs,
        } = field;
        let goals = match goals {
            Goals::Kind(kind) => format!("kind {kind}"),
            Goals::Cells(cells) => {
                let mut hash = 0;
                for &cell in cells.iter() {
                    hash = shared::world::mix::mix(hash, cell.into());
                }
                format!("{} cells {hash:016x}", cells.len())
            }
        };
        let _ = writeln!(
            text,
            "// {name:?} leads to {goals}, from tick {first} on every {refresh_ticks}, by costs {costs:?}."
        );
    }
    let text = Text {
        file: TEXT_FILE.to_owned(),
        text,
        is_builtin: true,
    };
    add_note(texts, text, "field", "fields")
}

/// Bounds what all fields need.
fn check_number(walls: &Blocked, count: usize) -> Result<(), Problem> {
    if count > FIELDS_MAX {
        return unexpected("field", count, format!("at most {FIELDS_MAX} fields"));
    }
    let (row, rows) = (walls.grid.row as u64, walls.grid.cells[1] as u64);
    let most = FIELD_CELLS_MAX / (row * rows).max(1);
    if count as u64 > most {
        let expected = format!(
            "at most {most} fields of {rows} rows of {row} cells, {FIELD_CELLS_MAX} cells in all; \
             a larger `cell` of the layer `blocked` leaves room for more"
        );
        return unexpected("field", count, expected);
    }
    Ok(())
}

fn field(
    schema: &Schema,
    walls: &Blocked,
    tags: &[String],
    key: &str,
    raw: &raw::Field,
) -> Result<Field, Problem> {
    let goals = match (&raw.kind, &raw.zone, &raw.places) {
        (Some(kind), None, None) => {
            Goals::Kind(kinds::placed(schema, &format!("{key}.kind"), kind)?)
        }
        (None, Some(zone), None) => {
            Goals::Cells(cells_of_zone(schema, walls, &format!("{key}.zone"), zone)?.into())
        }
        (None, None, Some(places)) => {
            Goals::Cells(cells_of_places(schema, walls, &format!("{key}.places"), places)?.into())
        }
        _ => return problem(key, "expected one of `kind`, `zone` and `places`"),
    };
    let refresh_ticks = in_range(
        &format!("{key}.refresh_ticks"),
        raw.refresh_ticks,
        1,
        REFRESH_TICKS_MAX,
    )?;
    Ok(Field {
        name: raw.name.clone(),
        goals,
        refresh_ticks,
        first: 0,
        costs: costs(tags, &format!("{key}.costs"), raw)?,
    })
}

/// By number of a tag.
fn costs(tags: &[String], key: &str, raw: &raw::Field) -> Result<Vec<u8>, Problem> {
    if raw.costs.is_empty() {
        return Ok(vec![]);
    }
    let mut costs = vec![1; tags.len() + 1];
    for (name, &cost) in &raw.costs {
        let Some(at) = tags.iter().position(|tag| tag == name) else {
            let expected = format!("tags of the layer `tag`, {}", one_of(tags));
            return unexpected(key, format!("{name:?}"), expected);
        };
        let key = format!("{key}.{name}");
        costs[at + 1] = match u8::try_from(cost) {
            Ok(cost) => in_range(&key, cost, 1, COST_MAX)?,
            Err(_) => return unexpected(key, cost, format!("1 to {COST_MAX}")),
        };
    }
    Ok(costs)
}

/// The free cells whose middle is in a zone.
fn cells_of_zone(
    schema: &Schema,
    walls: &Blocked,
    key: &str,
    name: &str,
) -> Result<Vec<u32>, Problem> {
    let stays = || schema.zones.iter().filter(|zone| zone.carrier.is_none());
    let Some(zone) = stays().find(|zone| zone.name == name) else {
        let names = one_of(stays().map(|zone| zone.name.as_str()));
        let expected = format!("a zone that no entity carries, {names}");
        return unexpected(key, format!("{name:?}"), expected);
    };
    let grid = walls.grid;
    let half = 1 << (grid.edge_bits - 1);
    let mut cells = vec![];
    for y in 0..grid.cells[1] {
        for x in 0..grid.cells[0] {
            let middle = [x, y].map(|cell| (cell << grid.edge_bits) + half);
            if is_in(zone, middle) && !schema.layers.is_blocked([middle[0], middle[1], 0]) {
                cells.push((y * grid.row + x) as u32);
            }
        }
    }
    match cells.is_empty() {
        true => problem(
            key,
            "expected a zone with the middle of a free cell in it, found none",
        ),
        false => Ok(cells),
    }
}

fn is_in(zone: &Zone, [x, y]: [i32; 2]) -> bool {
    match zone.area {
        SpawnArea::Box { low, high } => {
            (low[0]..=high[0]).contains(&x) && (low[1]..=high[1]).contains(&y)
        }
        SpawnArea::Ball { center, radius } => {
            let square = |axis: i32, center: i32| {
                let off = i64::from(axis) - i64::from(center);
                off * off
            };
            let radius = i64::from(radius);
            square(x, center[0]) + square(y, center[1]) <= radius * radius
        }
    }
}

fn cells_of_places(
    schema: &Schema,
    walls: &Blocked,
    key: &str,
    places: &[Vec<f64>],
) -> Result<Vec<u32>, Problem> {
    if places.is_empty() {
        return unexpected(key, "none", "at least one place");
    }
    let mut cells = vec![];
    for (i, raw) in places.iter().enumerate() {
        let key = format!("{key}[{i}]");
        let place = spawn::point(&key, &schema.world, raw)?;
        if schema.layers.is_blocked(place) {
            return unexpected(key, format!("{raw:?} in a wall"), "a place in a free cell");
        }
        let [x, y] = [0, 1].map(|axis| place[axis] >> walls.grid.edge_bits);
        cells.push((y * walls.grid.row + x) as u32);
    }
    cells.sort_unstable();
    cells.dedup();
    Ok(cells)
}

const TEXT_FILE: &str = "world-fields.rs";
