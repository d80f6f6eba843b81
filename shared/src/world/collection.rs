//! Arrays and maps: what world files and scripts use as one attribute, and everybody else as
//! several, in consecutive columns. An array `slot` of 3 has the attributes `slot[0]`, `slot[1]` and
//! `slot[2]`; a map `bag` has one for each key, as `bag.wood`.

use super::columns::Columns;
use super::schema::Schema;

/// An array or a map.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Collection<'a> {
    pub name: &'a str,
    /// The first of its columns.
    pub first: u16,
    /// The number of its columns.
    pub len: u16,
    /// Of a map: its keys, by column; empty for an array.
    pub keys: Vec<&'a str>,
}

/// Which of a collection's attributes one is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Member<'a> {
    Index(u16),
    Key(&'a str),
}

impl Member<'_> {
    /// The name of an attribute of a collection.
    pub fn name(self, collection: &str) -> String {
        match self {
            Member::Index(index) => format!("{collection}[{index}]"),
            Member::Key(key) => format!("{collection}.{key}"),
        }
    }
}

/// The name of the collection of which an attribute is a part, and which part it is; `None` for any
/// other attribute.
pub fn member(name: &str) -> Option<(&str, Member<'_>)> {
    if let Some((collection, key)) = name.split_once('.') {
        return Some((collection, Member::Key(key)));
    }
    let (collection, index) = name.strip_suffix(']')?.split_once('[')?;
    let is_plain =
        index.bytes().all(|b| b.is_ascii_digit()) && (index == "0" || !index.starts_with('0'));
    let index = index.parse().ok().filter(|_| is_plain)?;
    Some((collection, Member::Index(index)))
}

/// The name by which world files and scripts know an attribute: that of its collection, if it is in
/// one.
pub fn declared_name(name: &str) -> &str {
    member(name).map_or(name, |(collection, _)| collection)
}

/// An attribute's name as scripts write it after an entity and a dot: `slot[3]`, `bag["wood"]`.
pub fn script_form(name: &str) -> String {
    match member(name) {
        Some((collection, Member::Key(key))) => format!("{collection}[{key:?}]"),
        _ => name.to_owned(),
    }
}

impl Collection<'_> {
    pub fn is_map(&self) -> bool {
        !self.keys.is_empty()
    }

    pub fn has(&self, column: u16) -> bool {
        (self.first..self.first + self.len).contains(&column)
    }

    /// Where a key stands among the columns.
    pub fn place(&self, key: &str) -> Option<u16> {
        let place = self.keys.iter().position(|own| *own == key)?;
        u16::try_from(place).ok()
    }
}

impl Schema {
    /// The arrays and maps, by column.
    pub fn collections(&self) -> Vec<Collection<'_>> {
        let mut found: Vec<Collection<'_>> = vec![];
        for (column, attribute) in (0..).zip(&self.attributes) {
            let Some((name, member)) = member(&attribute.name) else {
                continue;
            };
            let last = found.last_mut();
            let last = last.filter(|last| last.name == name && last.first + last.len == column);
            match (last, member) {
                (Some(last), Member::Index(index)) if !last.is_map() && index == last.len => {
                    last.len += 1;
                }
                (Some(last), Member::Key(key)) if last.is_map() && last.place(key).is_none() => {
                    last.keys.push(key);
                    last.len += 1;
                }
                (None, Member::Index(0)) => found.push(Collection {
                    name,
                    first: column,
                    len: 1,
                    keys: vec![],
                }),
                (None, Member::Key(key)) => found.push(Collection {
                    name,
                    first: column,
                    len: 1,
                    keys: vec![key],
                }),
                // No world file gives this.
                _ => {}
            }
        }
        found
    }

    /// Columns, and the others of their arrays and maps.
    pub fn with_collections(&self, columns: Columns) -> Columns {
        self.collections().iter().fold(columns, |all, own| {
            let first = usize::from(own.first);
            let whole: Columns = (first..first + usize::from(own.len)).collect();
            match (all & whole).is_empty() {
                true => all,
                false => all | whole,
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parts_of_a_collection_have_names_that_can_be_read_back() {
        for part in [Member::Index(0), Member::Index(19), Member::Key("wood")] {
            assert_eq!(member(&part.name("slot")), Some(("slot", part)));
        }
        for other in [
            "slot", "slot[", "slot[]", "slot[01]", "slot[-1]", "slot[1]x",
        ] {
            assert_eq!(member(other), None, "{other}");
            assert_eq!(declared_name(other), other);
        }
    }
}
