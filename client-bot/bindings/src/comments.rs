//! The comments of a world file: those that stand right above a kind or an attribute.

use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// The comments of a world file, by kind.
#[derive(Debug, Default)]
pub struct Comments(Vec<OfKind>);

#[derive(Debug, Default)]
struct OfKind {
    name: String,
    comment: String,
    /// (name, comment)
    attributes: Vec<(String, String)>,
}

impl Comments {
    /// Those of a text; none of a text that is no TOML.
    pub fn of(text: &str) -> Comments {
        let Ok(table) = DeTable::parse(text) else {
            return Comments::default();
        };
        let table = table.into_inner();
        let mut all = vec![];
        for kind in items(table.get("kind")) {
            let Some(keys) = kind.get_ref().as_table() else {
                continue;
            };
            all.push(OfKind {
                name: name_of(keys),
                comment: above(text, kind.span().start),
                attributes: attributes(text, keys),
            });
        }
        // What the whole world shares.
        if let Some(world) = table
            .get("world")
            .and_then(|world| world.get_ref().as_table())
        {
            all.push(OfKind {
                name: "world".to_owned(),
                comment: String::new(),
                attributes: attributes(text, world),
            });
        }
        Comments(all)
    }

    pub fn kind(&self, kind: &str) -> &str {
        self.find(kind).map_or("", |kind| &kind.comment)
    }

    pub fn attribute(&self, kind: &str, attribute: &str) -> &str {
        let all = self.find(kind).map_or(&[][..], |kind| &kind.attributes);
        let found = all.iter().find(|(name, _)| name == attribute);
        found.map_or("", |(_, comment)| comment)
    }

    fn find(&self, kind: &str) -> Option<&OfKind> {
        self.0.iter().find(|of| of.name == kind)
    }
}

fn attributes(text: &str, keys: &DeTable<'_>) -> Vec<(String, String)> {
    let attributes = items(keys.get("attributes")).iter();
    let named = attributes.filter_map(|attribute| {
        let name = name_of(attribute.get_ref().as_table()?);
        Some((name, above(text, attribute.span().start)))
    });
    named.collect()
}

fn items<'a, 'i>(list: Option<&'a Spanned<DeValue<'i>>>) -> &'a [Spanned<DeValue<'i>>] {
    let list = list.and_then(|list| list.get_ref().as_array());
    list.map_or(&[], |list| list)
}

fn name_of(keys: &DeTable<'_>) -> String {
    let name = keys.get("name").and_then(|name| name.get_ref().as_str());
    name.unwrap_or_default().to_owned()
}

/// The lines of comment right above a place.
fn above(text: &str, place: usize) -> String {
    let before = text.get(..place).unwrap_or_default();
    let mut lines: Vec<&str> = before.lines().rev().collect();
    // The beginning of the line itself, unless it begins there.
    if !before.is_empty() && !before.ends_with('\n') {
        lines.remove(0);
    }
    let comments = lines.iter().map_while(|line| line.trim().strip_prefix('#'));
    let mut comments: Vec<&str> = comments.map(str::trim).collect();
    comments.reverse();
    comments.join(" ")
}
