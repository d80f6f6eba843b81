//! `[[ranking]]`: orders of the entities of a kind, of which scripts ask.

use shared::world::attribute::{AttributeType, Audience};
use shared::world::logic::Text;
use shared::world::ranking::{RANKING_LENGTH_MAX, RANKINGS_MAX, Ranking};
use shared::world::schema::Schema;

use super::check::{Problem, Problems, in_range, one_of, unexpected};
use super::logic::add_note;
use super::{kinds, raw};

pub(super) fn rankings(
    schema: &Schema,
    raw: &[raw::Ranking],
    problems: &mut Problems,
) -> Vec<Ranking> {
    if raw.len() > RANKINGS_MAX {
        let expected = format!("at most {RANKINGS_MAX} rankings");
        problems.take::<()>(unexpected("ranking", raw.len(), expected));
        return vec![];
    }
    let mut rankings: Vec<Ranking> = vec![];
    for (i, raw) in raw.iter().enumerate() {
        let name = raw.name.as_ref().unwrap_or(&raw.by);
        let is_taken = rankings.iter().any(|ranking| ranking.name == *name);
        if name.is_empty() || is_taken {
            let expected = "a name that no other ranking has";
            let key = format!("ranking[{i}].name");
            problems.take::<()>(unexpected(key, format!("{name:?}"), expected));
        }
        let ranking = ranking(schema, &format!("ranking.{name}"), name, raw);
        rankings.extend(problems.take(ranking));
    }
    rankings
}

/// Adds a text to those of a world with rankings that says which they are: so whatever depends on
/// the scripts, such as the state hash, depends on what these see.
pub(super) fn add_text(rankings: &[Ranking], texts: &mut Vec<Text>) -> Result<(), Problem> {
    let mut text = String::new();
    for ranking in rankings {
        let Ranking {
            name,
            kind,
            column,
            is_least_first,
            length,
            is_sent: _,
        } = ranking;
        let first = if *is_least_first { "least" } else { "greatest" };
        text += &format!(
            "// {name:?} has the first {length} of kind {kind} by column {column}, {first} first.\n"
        );
    }
    let text = Text {
        file: TEXT_FILE.to_owned(),
        text,
        is_builtin: true,
    };
    add_note(texts, text, "ranking", "rankings")
}

fn ranking(schema: &Schema, key: &str, name: &str, raw: &raw::Ranking) -> Result<Ranking, Problem> {
    let kind = kinds::of_many(schema, &format!("{key}.kind"), &raw.kind)?;
    let own = schema.kinds[usize::from(kind)].attributes.iter();
    let numbers = own.filter(|own| {
        let attribute = &schema.attributes[usize::from(own.column)];
        matches!(attribute.ty, AttributeType::I32 | AttributeType::Fixed)
    });
    let named = numbers.map(|own| {
        let name = schema.attributes[usize::from(own.column)].name.as_str();
        (name, own.column)
    });
    let Some((_, column)) = named.clone().find(|(name, _)| *name == raw.by) else {
        let names = one_of(named.map(|(name, _)| name));
        let expected = format!("an attribute of `{}` that is a number, {names}", raw.kind);
        return unexpected(format!("{key}.by"), format!("{:?}", raw.by), expected);
    };
    let most = RANKING_LENGTH_MAX;
    let is_hidden = schema.attributes[usize::from(column)].audience == Audience::Hidden;
    let is_place = usize::from(column) < schema.dimensions();
    if raw.clients && (is_hidden || is_place) {
        let expected = format!(
            "`false`, as `{}` is {}",
            raw.by,
            if is_place { "a position" } else { "hidden" }
        );
        return unexpected(format!("{key}.clients"), true, expected);
    }
    Ok(Ranking {
        name: name.to_owned(),
        kind,
        column,
        is_least_first: raw.first == raw::First::Least,
        length: in_range(&format!("{key}.length"), raw.length, 1, most)?,
        is_sent: raw.clients,
    })
}

const TEXT_FILE: &str = "world-rankings.rs";
