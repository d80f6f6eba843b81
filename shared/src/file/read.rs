//! Reads the keys of a file, part by part, so that a wrong type in one part does not hide
//! problems of the others.

use serde::Deserialize;
use toml::Spanned;
use toml::de::{DeTable, DeValue, ValueDeserializer};

use super::check::{Problem, Problems};
use super::lines::Lines;
use super::raw;

/// The keys with their types, and the problems of those that have another one. Such a part
/// has its defaults.
pub(super) fn read(table: DeTable<'_>, lines: &Lines) -> (raw::World, Problems) {
    let mut reader = Reader {
        lines,
        problems: Problems::default(),
    };
    let mut world = raw::World::default();
    for (key, value) in table {
        match key.get_ref().as_ref() {
            "world" => world.world = reader.part(value).unwrap_or_default(),
            "limits" => world.limits = reader.part(value).unwrap_or_default(),
            "logic" => world.logic = reader.part(value).unwrap_or_default(),
            "commands" => world.commands = reader.part(value).unwrap_or_default(),
            "spectators" => world.spectators = reader.part(value).unwrap_or_default(),
            "kind" => {
                let before = reader.problems.0.len();
                let kinds = reader.list(value);
                // Without kinds that can be read, the rest is checked with the usual one.
                let is_unread = kinds.is_empty() && reader.problems.0.len() > before;
                world.kind = (!is_unread).then_some(kinds);
            }
            "every" => world.every = reader.list(value),
            other => {
                let message = format!("unknown field `{other}`, expected one of {PARTS}");
                reader.note(other.to_owned(), &message);
            }
        }
    }
    (world, reader.problems)
}

struct Reader<'a> {
    lines: &'a Lines,
    problems: Problems,
}

impl Reader<'_> {
    fn list<T: for<'de> Deserialize<'de>>(&mut self, value: Spanned<DeValue<'_>>) -> Vec<T> {
        let span = value.span();
        match value.into_inner() {
            DeValue::Array(items) => items
                .into_iter()
                .filter_map(|item| self.part(item))
                .collect(),
            other => {
                let key = self.lines.key_at(span.start);
                let message = format!("invalid type: {}, expected a list", other.type_str());
                self.note(key, &message);
                vec![]
            }
        }
    }

    fn part<T: for<'de> Deserialize<'de>>(&mut self, value: Spanned<DeValue<'_>>) -> Option<T> {
        let start = value.span().start;
        match T::deserialize(ValueDeserializer::from(value)) {
            Ok(part) => Some(part),
            Err(error) => {
                let place = error.span().map_or(start, |span| span.start);
                self.note(self.lines.key_at(place), error.message());
                None
            }
        }
    }

    fn note(&mut self, key: String, message: &str) {
        self.problems.0.push(Problem {
            key,
            message: message.to_owned(),
        });
    }
}

const PARTS: &str = "`world`, `limits`, `logic`, `commands`, `spectators`, `kind`, `every`";
