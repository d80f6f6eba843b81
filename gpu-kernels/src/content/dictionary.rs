//! Strings that constraints name, as numbers: one for each string that something
//! must equal, and one for each pattern. What a notification's string is to them is
//! found once, and remembered until patterns or strings come or go.

use std::collections::{BTreeMap, HashMap};

use shared::content::Operator;

use super::batch::{ResolvedString, ResolvedStrings, UNKNOWN_STRING};

#[derive(Default)]
pub struct Dictionary {
    exact: Numbers,
    /// By prefix, suffix and contains.
    patterns: [Patterns; 3],
    pattern_ids: Ids,
    remembered: HashMap<Box<str>, Remembered>,
}

/// What was found of one string.
#[derive(Clone)]
struct Remembered {
    exact: u32,
    patterns: Box<[u32]>,
}

/// Numbers of strings, each with how many conditions use it: in trees, since one string
/// more never moves the others.
#[derive(Default)]
struct Numbers {
    ids: BTreeMap<Box<str>, (u32, u32)>,
    free: Ids,
}

/// The smallest numbers that are free.
#[derive(Default)]
struct Ids {
    next: u32,
    free: Vec<u32>,
}

#[derive(Default)]
struct Patterns {
    ids: BTreeMap<Box<str>, (u32, u32)>,
    /// How many patterns have so many bytes: only those lengths are looked for.
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
    /// The number of a string that something must or must not equal.
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

    /// The number of a pattern that isn't empty.
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

    /// What the strings of a batch are to the constraints.
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

    fn find(&self, text: &str) -> Remembered {
        let mut found = vec![];
        let [prefixes, suffixes, parts] = &self.patterns;
        let mut look = |patterns: &Patterns, part: Option<&str>| {
            let id = part.and_then(|part| patterns.ids.get(part));
            found.extend(id.map(|(id, _)| *id));
        };
        for (&length, _) in prefixes.lengths.range(..=text.len()) {
            look(prefixes, text.get(..length));
        }
        for (&length, _) in suffixes.lengths.range(..=text.len()) {
            look(suffixes, text.get(text.len() - length..));
        }
        for (start, _) in text.char_indices() {
            for (&length, _) in parts.lengths.range(..=text.len() - start) {
                look(parts, text.get(start..start + length));
            }
        }
        // The same part may stand in several places.
        found.sort_unstable();
        found.dedup();
        let exact = self.exact.ids.get(text);
        Remembered {
            exact: exact.map_or(UNKNOWN_STRING, |(id, _)| *id),
            patterns: found.into(),
        }
    }
}

fn kind(operator: Operator) -> usize {
    match operator {
        Operator::Prefix => 0,
        Operator::Suffix => 1,
        _ => 2,
    }
}

/// Beyond it, what was found is forgotten and found again.
const REMEMBERED_MAX: usize = 1 << 16;
