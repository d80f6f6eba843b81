//! `[visibility]`: what hides entities from clients that are near enough to see them.

use shared::Limits;
use shared::world::attribute::AttributeType;
use shared::world::logic::Text;
use shared::world::schema::Schema;
use shared::world::visibility::Visibility;

use super::check::{Problem, Problems, one_of, problem, unexpected};
use super::logic::add_note;
use super::raw;

pub(super) fn visibility(
    schema: &Schema,
    file: &raw::World,
    problems: &mut Problems,
) -> Visibility {
    let raw = &file.visibility;
    let mut column = |key: &str, name: &Option<String>| {
        let column = name.as_ref().map(|name| bits(schema, key, name));
        column.and_then(|column| problems.take(column))
    };
    let visibility = Visibility {
        hides: column("visibility.hides", &raw.hides),
        reveals: column("visibility.reveals", &raw.reveals),
        line_of_sight: raw.line_of_sight,
    };
    if raw.line_of_sight && !file.layer.iter().any(|layer| layer.name == "blocked") {
        let message =
            "the world has no layer `blocked`, whose walls would hide what is behind them";
        problems.take::<()>(problem("visibility.line_of_sight", message));
    }
    if raw.reveals.is_some() && raw.hides.is_none() {
        let message = "nothing is hidden that it could reveal; expected `hides` beside it";
        problems.take::<()>(problem("visibility.reveals", message));
    }
    if !visibility.is_plain() && schema.world.visible_max == 0 {
        let message = "clients that remember nothing, as with visible_max = 0, know no entity \
                       that could leave";
        problems.take::<()>(problem("visibility", message));
    }
    visibility
}

/// The column of an attribute whose bits hide or reveal.
fn bits(schema: &Schema, key: &str, name: &str) -> Result<u16, Problem> {
    let kinds = schema.kinds.iter().enumerate();
    let placed = kinds.filter(|&(kind, _)| Some(kind) != schema.world_kind.map(usize::from));
    let all = placed.flat_map(|(_, kind)| &kind.attributes);
    let mut numbers: Vec<(&str, u16)> = all
        .map(|own| (&schema.attributes[usize::from(own.column)], own.column))
        .filter(|(attribute, _)| attribute.ty == AttributeType::I32)
        .map(|(attribute, column)| (attribute.name.as_str(), column))
        .collect();
    numbers.sort_by_key(|&(_, column)| column);
    numbers.dedup();
    let found = numbers.iter().find(|(own, _)| *own == name);
    if let Some(&(_, column)) = found {
        return Ok(column);
    }
    let expected = match schema.column(name) {
        Some(_) => "an attribute of entities of type i32",
        None => "the name of an attribute of entities",
    };
    let expected = match numbers.is_empty() {
        true => format!("{expected} of type i32; the world has none"),
        false => format!(
            "{expected}, {}",
            one_of(numbers.iter().map(|(name, _)| *name))
        ),
    };
    unexpected(key, format!("{name:?}"), expected)
}

/// What clients are sent from anywhere must not be of hidden entities.
pub(super) fn check_limits(schema: &Schema, limits: &Limits) -> Result<(), Problem> {
    if schema.visibility.hides.is_none() || limits.subscriptions_per_client == 0 {
        return Ok(());
    }
    let expected = "0, as subscriptions would be sent what hidden entities do (`visibility.hides`)";
    let found = limits.subscriptions_per_client;
    unexpected("limits.subscriptions_per_client", found, expected)
}

/// Adds a text to those of a world that hides entities, with what hides them: so whatever depends on
/// the scripts, such as the state hash, depends on this.
pub(super) fn add_text(visibility: &Visibility, texts: &mut Vec<Text>) -> Result<(), Problem> {
    let mut text = String::new();
    if let Some(hides) = visibility.hides {
        text += &format!("// Bits of column {hides} hide an entity.\n");
    }
    if let Some(reveals) = visibility.reveals {
        text += &format!("// Bits of column {reveals} reveal what has them.\n");
    }
    if visibility.line_of_sight {
        text += "// Walls hide what is behind them.\n";
    }
    let text = Text {
        file: TEXT_FILE.to_owned(),
        text,
        is_builtin: true,
    };
    add_note(texts, text, "visibility", "visibility")
}

const TEXT_FILE: &str = "world-visibility.rs";
