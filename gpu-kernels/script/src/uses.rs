//! Which texts of a world use something of each other. Texts with mistakes have words, too, so
//! this looks at words alone: it may find a use where there is none, but misses none.

use std::collections::{BTreeMap, BTreeSet};

use shared::world::logic::Text;

/// The names that texts declare, and the words that they have. Several versions of a text count
/// as one.
#[derive(Default)]
pub struct Uses<'a> {
    texts: BTreeMap<&'a str, Words<'a>>,
}

#[derive(Default)]
struct Words<'a> {
    all: BTreeSet<&'a str>,
    declared: BTreeSet<&'a str>,
}

impl<'a> Uses<'a> {
    pub fn of(texts: impl IntoIterator<Item = &'a Text>) -> Uses<'a> {
        let mut uses = Uses::default();
        for text in texts {
            let own = uses.texts.entry(&text.file).or_default();
            let mut before = "";
            for word in words(&text.text) {
                own.all.insert(word);
                if DECLARING.contains(&before) {
                    own.declared.insert(word);
                }
                before = word;
            }
        }
        uses
    }

    /// These texts, and all that use something of them, directly or not.
    pub fn users_of(&self, files: &BTreeSet<&'a str>) -> BTreeSet<&'a str> {
        let mut found = files.clone();
        loop {
            let used = |file: &&str| found.iter().any(|of| self.uses(file, of));
            let others = self.texts.keys().filter(|file| !found.contains(*file));
            let more: Vec<&str> = others.filter(|file| used(file)).copied().collect();
            if more.is_empty() {
                return found;
            }
            found.extend(more);
        }
    }

    /// Divides files into groups that use nothing of each other.
    pub fn groups(&self, files: &BTreeSet<&'a str>) -> Vec<BTreeSet<&'a str>> {
        let mut groups: Vec<BTreeSet<&str>> = vec![];
        for &file in files {
            let is_near = |group: &BTreeSet<&str>| {
                let mut group = group.iter();
                group.any(|other| self.uses(file, other) || self.uses(other, file))
            };
            let (near, far) = groups.into_iter().partition(is_near);
            groups = far;
            let near: Vec<BTreeSet<&str>> = near;
            groups.push(near.into_iter().flatten().chain([file]).collect());
        }
        groups.sort();
        groups
    }

    fn uses(&self, file: &str, of: &str) -> bool {
        let (Some(own), Some(of)) = (self.texts.get(file), self.texts.get(of)) else {
            return false;
        };
        of.declared.iter().any(|name| own.all.contains(name))
    }
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    let words = text.split(|letter: char| !letter.is_alphanumeric() && letter != '_');
    words.filter(|word| !word.is_empty())
}

const DECLARING: [&str; 3] = ["fn", "const", "struct"];

#[cfg(test)]
mod tests {
    use super::*;

    fn texts() -> [Text; 5] {
        [
            Text::new("a.rs", "pub fn heal(me: Entity) { me.hp += "),
            Text::new("b.rs", "#[command] fn rest(me: Entity) { heal(me); }"),
            Text::new(
                "c.rs",
                "#[command] fn nap(me: Entity) { after(1, rest(me)); }",
            ),
            Text::new("d.rs", "const REACH: i32 = 3;"),
            Text::new("e.rs", "fn walk(me: Entity) {}"),
        ]
    }

    #[test]
    fn users_of_a_text_are_found_through_others() {
        let texts = texts();
        let uses = Uses::of(&texts);
        let users = |file| uses.users_of(&[file].into());
        assert_eq!(users("a.rs"), ["a.rs", "b.rs", "c.rs"].into());
        assert_eq!(users("c.rs"), ["c.rs"].into());
    }

    #[test]
    fn texts_that_use_nothing_of_each_other_are_in_groups_of_their_own() {
        let texts = texts();
        let uses = Uses::of(&texts);
        let files = ["a.rs", "c.rs", "b.rs", "d.rs", "e.rs"].into();
        let expected = [
            ["a.rs", "b.rs", "c.rs"].into(),
            ["d.rs"].into(),
            BTreeSet::from(["e.rs"]),
        ];
        assert_eq!(uses.groups(&files), expected);
        // Without what joins them, they are apart.
        assert_eq!(uses.groups(&["a.rs", "c.rs"].into()).len(), 2);
    }
}
