//! The strings of constraints, as numbers: one for each string that a value must or must not
//! equal, and one for each pattern. The matches of a notification's string are remembered until
//! a string or pattern is added or removed.

use std::collections::{BTreeMap, HashMap};

use shared::predicate::Operator;

use super::batch::{ResolvedString, ResolvedStrings, UNKNOWN_STRING};

/// The numbers of strings and patterns.
#[derive(Default)]
pub struct Dictionary {
    exact: Numbers,
    /// By prefix, suffix and contains.
    patterns: [Patterns; 3],
    pattern_ids: Ids,
    remembered: HashMap<Box<str>, Remembered>,
}

/// The matches of a notification's string.
#[derive(Clone)]
struct Remembered {
    exact: u32,
    patterns: Box<[u32]>,
}

/// Numbers of strings, each with the number of constraints that use it. In a tree, since a
/// hash table that grows moves all its entries at once.
#[derive(Default)]
struct Numbers {
    ids: BTreeMap<Box<str>, (u32, u32)>,
    free: Ids,
}

/// Numbers that are free.
#[derive(Default)]
struct Ids {
    next: u32,
    free: Vec<u32>,
}

/// The patterns of one operator: their numbers, each with the number of constraints that use
/// it.
#[derive(Default)]
struct Patterns {
    ids: BTreeMap<Box<str>, (u32, u32)>,
    /// The number of patterns of each length in bytes. Only parts of these lengths are looked
    /// up.
    lengths: BTreeMap<usize, u32>,
}

impl Ids {
    fn take(&mut self) -> u32 {
        self.free.pop().unwrap_or_else(|| {
            self.next += 1;
            self.next - 1
        })
    }
}

impl Dictionary {
    /// The number of a string that a value must or must not equal. Counts a use of it.
    pub fn take_exact(&mut self, text: &str) -> u32 {
        if let Some((id, uses)) = self.exact.ids.get_mut(text) {
            *uses += 1;
            return *id;
        }
        self.remembered.clear();
        let id = self.exact.free.take();
        self.exact.ids.insert(text.into(), (id, 1));
        id
    }

    /// Uncounts a use of a string.
    pub fn give_back_exact(&mut self, text: &str) {
        let Some((id, uses)) = self.exact.ids.get_mut(text) else {
            return;
        };
        *uses -= 1;
        if *uses == 0 {
            self.exact.free.free.push(*id);
            self.exact.ids.remove(text);
            self.remembered.clear();
        }
    }

    /// The number of a pattern that isn't empty. Counts a use of it.
    pub fn take_pattern(&mut self, operator: Operator, text: &str) -> u32 {
        let patterns = &mut self.patterns[kind(operator)];
        if let Some((id, uses)) = patterns.ids.get_mut(text) {
            *uses += 1;
            return *id;
        }
        self.remembered.clear();
        let id = self.pattern_ids.take();
        patterns.ids.insert(text.into(), (id, 1));
        *patterns.lengths.entry(text.len()).or_default() += 1;
        id
    }

    /// Uncounts a use of a pattern.
    pub fn give_back_pattern(&mut self, operator: Operator, text: &str) {
        let patterns = &mut self.patterns[kind(operator)];
        let Some((id, uses)) = patterns.ids.get_mut(text) else {
            return;
        };
        *uses -= 1;
        if *uses > 0 {
            return;
        }
        self.pattern_ids.free.push(*id);
        patterns.ids.remove(text);
        self.remembered.clear();
        if let Some(count) = patterns.lengths.get_mut(&text.len()) {
            *count -= 1;
            if *count == 0 {
                patterns.lengths.remove(&text.len());
            }
        }
    }

    /// Resolves strings to their numbers and those of the patterns that they match.
    pub fn resolve(&mut self, strings: &[Box<str>], resolved: &mut ResolvedStrings) {
        resolved.strings.clear();
        resolved.patterns.clear();
        for text in strings {
            if !self.remembered.contains_key(text) {
                if self.remembered.len() == REMEMBERED_MAX {
                    self.remembered.clear();
                }
                let found = self.find(text);
                self.remembered.insert(text.clone(), found);
            }
            let found = &self.remembered[text];
            resolved.strings.push(ResolvedString {
                exact: found.exact,
                patterns_start: resolved.patterns.len() as u32,
                patterns_len: found.patterns.len() as u32,
                padding: 0,
            });
            resolved.patterns.extend_from_slice(&found.patterns);
        }
    }

    /// The matches of a string.
    fn find(&self, text: &str) -> Remembered {
        let mut found = vec![];
        let [prefixes, suffixes, parts] = &self.patterns;
        let mut look_up = |patterns: &Patterns, part: Option<&str>| {
            let id = part.and_then(|part| patterns.ids.get(part));
            found.extend(id.map(|(id, _)| *id));
        };
        for (&length, _) in prefixes.lengths.range(..=text.len()) {
            look_up(prefixes, text.get(..length));
        }
        for (&length, _) in suffixes.lengths.range(..=text.len()) {
            look_up(suffixes, text.get(text.len() - length..));
        }
        for (start, _) in text.char_indices() {
            for (&length, _) in parts.lengths.range(..=text.len() - start) {
                look_up(parts, text.get(start..start + length));
            }
        }
        // A part may occur several times.
        found.sort_unstable();
        found.dedup();
        let exact = self.exact.ids.get(text);
        Remembered {
            exact: exact.map_or(UNKNOWN_STRING, |(id, _)| *id),
            patterns: found.into(),
        }
    }
}

/// The place of an operator's patterns.
fn kind(operator: Operator) -> usize {
    match operator {
        Operator::Prefix => 0,
        Operator::Suffix => 1,
        _ => 2,
    }
}

/// The most strings that are remembered. Beyond it, all are forgotten.
const REMEMBERED_MAX: usize = 1 << 16;
