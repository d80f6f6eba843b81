//! Reads the keys of a file, part by part, and finds all keys that are unknown, missing or of
//! another type, so that one does not hide the others.

use serde::Deserialize;
use toml::Spanned;
use toml::de::{DeTable, DeValue, ValueDeserializer};

use super::check::{Problem, Problems};
use super::lines::Lines;
use super::mend::{Mended, drop_around, drop_item, is_date, stand_in};
use super::shape::{Format, plain, unknown_key};
use super::{collections, raw, things};

/// The keys with their types, and the problems of those that have another one. Such a key
/// has its default; an item of a list that lacks a key is left out.
pub(super) fn read(table: DeTable<'_>, lines: &Lines<'_>) -> (raw::World, Problems) {
    let mut reader = Reader {
        lines,
        problems: Problems::default(),
    };
    let mut world = raw::World::default();
    for (key, value) in table {
        let start = key.span().start;
        match key.get_ref().as_ref() {
            "world" => world.world = reader.part(value).unwrap_or_default(),
            "limits" => world.limits = reader.part(value).unwrap_or_default(),
            "logic" => world.logic = reader.part(value).unwrap_or_default(),
            "commands" => world.commands = reader.part(value).unwrap_or_default(),
            "spectators" => world.spectators = reader.part(value).unwrap_or_default(),
            "visibility" => world.visibility = reader.part(value).unwrap_or_default(),
            "kind" => {
                let before = reader.problems.0.len();
                let kinds = reader.list("kind", start, value);
                // Without kinds that can be read, the rest is checked with the usual one.
                let is_unread = kinds.is_empty() && reader.problems.0.len() > before;
                world.kind = (!is_unread).then_some(kinds);
            }
            "zone" => world.zone = reader.list("zone", start, value),
            "ranking" => world.ranking = reader.list("ranking", start, value),
            "layer" => world.layer = reader.list("layer", start, value),
            "field" => world.field = reader.list("field", start, value),
            "plane" => world.plane = reader.list("plane", start, value),
            "every" => world.every = reader.list("every", start, value),
            other => {
                let message = unknown_key(other, PARTS);
                reader.note_of(other.to_owned(), start, message);
            }
        }
    }
    let shared = std::mem::take(&mut world.world.attributes);
    if !shared.is_empty() {
        let kinds = world.kind.get_or_insert_with(raw::default_kinds);
        kinds.push(raw::Kind::shared(shared));
    }
    if let Some(kinds) = &mut world.kind {
        things::add_holders(kinds);
        collections::expand(kinds, &mut reader.problems);
    }
    (world, reader.problems)
}

struct Reader<'a> {
    lines: &'a Lines<'a>,
    problems: Problems,
}

impl Reader<'_> {
    fn list<T: for<'de> Deserialize<'de>>(
        &mut self,
        name: &str,
        start: usize,
        value: Spanned<DeValue<'_>>,
    ) -> Vec<T> {
        match value.into_inner() {
            DeValue::Array(items) => items
                .into_iter()
                .filter_map(|item| self.part(item))
                .collect(),
            other => {
                let found = found(&other);
                let message = format!(
                    "expected a list, each entry of which begins with `[[{name}]]`, found {found}"
                );
                self.note_of(name.to_owned(), start, message);
                vec![]
            }
        }
    }

    fn part<T: for<'de> Deserialize<'de>>(&mut self, value: Spanned<DeValue<'_>>) -> Option<T> {
        // The first goes on behind each problem; the second is what can be used.
        let (mut rest, mut kept) = (value.clone(), value);
        let mut is_lost = false;
        for round in 0..PROBLEMS_MAX {
            let start = rest.span().start;
            let error = match T::deserialize(ValueDeserializer::from(rest.clone())) {
                Ok(part) if round == 0 => return Some(part),
                Ok(_) => break,
                Err(error) => error,
            };
            let place = error.span().map_or(start, |span| span.start);
            let mut message = plain(error.message(), Format::Toml);
            if is_date(&mut rest, place) {
                // To serde, a date is a map.
                message = message.replace("found a table", "found a date");
            }
            if !self.note(place, message) {
                return None;
            }
            match stand_in(&mut rest, place, error.message()) {
                Mended::Nothing => return None,
                Mended::Removed => drop_around(&mut kept, place),
                Mended::Replaced => is_lost |= !drop_item(&mut kept, place),
            }
        }
        match is_lost {
            true => None,
            false => T::deserialize(ValueDeserializer::from(kept)).ok(),
        }
    }

    /// Notes a problem of the key at a place. False if it is known.
    fn note(&mut self, place: usize, message: String) -> bool {
        self.note_of(self.lines.key_at(place), place, message)
    }

    fn note_of(&mut self, key: String, place: usize, message: String) -> bool {
        let mut known = self.problems.0.iter();
        let is_new = !known.any(|known| known.place == Some(place) && known.message == message);
        if is_new {
            self.problems.0.push(Problem {
                key,
                message,
                place: Some(place),
            });
        }
        is_new
    }
}

/// A value that is no list.
fn found(value: &DeValue<'_>) -> String {
    match value {
        DeValue::String(text) => format!("{text:?}"),
        DeValue::Table(_) => "a table".to_owned(),
        DeValue::Integer(_) => "a number".to_owned(),
        other => format!("a {}", other.type_str()),
    }
}

const PARTS: &str = "one of `world`, `limits`, `logic`, `commands`, `spectators`, `visibility`, `kind`, \
     `zone`, `ranking`, `layer`, `field`, `plane`, `every`";
/// The most problems of one part; a file with more is mended in several rounds.
const PROBLEMS_MAX: usize = 64;
