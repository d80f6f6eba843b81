//! Where a file has its keys.

use std::ops::Range;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// The places of all keys of a file, by the names that problems have for them.
pub(super) struct Lines<'a> {
    text: &'a str,
    keys: Vec<KeySpan>,
    /// Where each line begins.
    starts: Vec<usize>,
}

struct KeySpan {
    key: String,
    /// From the key to the end of its value.
    span: Range<usize>,
    is_table: bool,
}

impl<'a> Lines<'a> {
    pub fn new(text: &'a str, table: &DeTable<'_>) -> Lines<'a> {
        let mut lines = Lines {
            text,
            keys: vec![],
            starts: starts(text),
        };
        lines.add_table("", table);
        lines
    }

    fn add_table(&mut self, prefix: &str, table: &DeTable<'_>) {
        for (key, value) in table {
            let name = match prefix {
                "" => key.get_ref().to_string(),
                prefix => format!("{prefix}.{}", key.get_ref()),
            };
            self.add(name, key.span().start, value);
        }
    }

    fn add(&mut self, key: String, start: usize, value: &Spanned<DeValue<'_>>) {
        match value.get_ref() {
            DeValue::Table(table) => self.add_table(&key, table),
            DeValue::Array(items) => {
                for (i, item) in items.iter().enumerate() {
                    let name = match name(item) {
                        Some(name) => format!("{key}.{name}"),
                        None => format!("{key}[{i}]"),
                    };
                    self.add(name, item.span().start, item);
                }
            }
            _ => {}
        }
        // After the keys in it, of which a place may be one.
        let span = start..value.span().end.max(start + 1);
        let is_table = value.get_ref().is_table();
        self.keys.push(KeySpan {
            key,
            span,
            is_table,
        });
    }

    /// The line of a key, from 1, or of the nearest one around it that the file has.
    pub fn line(&self, key: &str) -> Option<usize> {
        let is_around = |place: &&KeySpan| {
            let rest = key.strip_prefix(&place.key);
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
        };
        let around = self.keys.iter().filter(is_around);
        let nearest = around.max_by_key(|place| place.key.len())?;
        Some(self.line_at(nearest.span.start))
    }

    /// The innermost key around a place; none: an empty text.
    pub fn key_at(&self, place: usize) -> String {
        let mut around = self.keys.iter().filter(|key| key.span.contains(&place));
        around.next().map_or(String::new(), |key| key.key.clone())
    }

    /// What a key of this name would be called at a place where the file has none.
    pub fn key_like(&self, place: usize, name: &str) -> String {
        let start = self.starts[self.line_at(place) - 1];
        let line = self.text.get(start..).unwrap_or_default();
        let line = line.lines().next().unwrap_or_default().trim_start();
        if line.starts_with('[') {
            let header = line.trim_start_matches('[').split(']').next();
            return header.unwrap_or(name).trim().to_owned();
        }
        let around = self.key_at(place);
        if !around.is_empty() {
            return format!("{around}.{name}");
        }
        // The table of the nearest key before it.
        let before = self.keys.iter().filter(|key| key.span.start < place);
        let nearest = before.max_by_key(|key| (key.span.start, std::cmp::Reverse(key.key.len())));
        match nearest {
            Some(nearest) if nearest.is_table => format!("{}.{name}", nearest.key),
            Some(nearest) => match nearest.key.rsplit_once('.') {
                Some((table, _)) => format!("{table}.{name}"),
                None => name.to_owned(),
            },
            None => name.to_owned(),
        }
    }

    /// The line of a place, from 1.
    pub fn line_at(&self, place: usize) -> usize {
        self.starts.partition_point(|&start| start <= place)
    }

    /// How many characters of its line stand before a place, and one.
    pub fn column_at(&self, place: usize) -> usize {
        let start = self.starts[self.line_at(place) - 1];
        let before = self.text.get(start..place).unwrap_or_default();
        before.chars().count() + 1
    }
}

fn starts(text: &str) -> Vec<usize> {
    let ends = text.bytes().enumerate().filter(|&(_, byte)| byte == b'\n');
    [0].into_iter()
        .chain(ends.map(|(end, _)| end + 1))
        .collect()
}

/// The name by which problems call an item of a list.
fn name<'a>(item: &'a Spanned<DeValue<'_>>) -> Option<&'a str> {
    item.get_ref().get("name")?.get_ref().as_str()
}
