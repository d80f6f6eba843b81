//! What may be said: a hook for games, and a list of words as a ready one.

use std::collections::HashSet;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use shared::{Name, Text};

/// Judges what is said before anybody is told. It runs on the tick thread: a filter that
/// has to ask elsewhere should let a text pass and act on its speaker later.
pub trait TalkFilter: Send + Sync {
    fn judge(&self, speech: Speech<'_>, speaker: Option<&Name>, text: &Text) -> Verdict;
}

/// To whom something is said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Speech<'a> {
    /// To those near.
    Say,
    /// To one player.
    Whisper(&'a Name),
    Channel(&'a Name),
}

/// What becomes of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    Pass,
    /// This is said in its place.
    Replace(Text),
    /// Nothing is said; the speaker is told why.
    Refuse(String),
}

/// Lets everything pass.
pub struct NoFilter;

impl TalkFilter for NoFilter {
    fn judge(&self, _: Speech<'_>, _: Option<&Name>, _: &Text) -> Verdict {
        Verdict::Pass
    }
}

/// Puts asterisks in the place of some words, whatever their capitals.
pub struct WordList(HashSet<String>);

impl WordList {
    /// A word a line.
    pub fn new(words: &str) -> WordList {
        let words = words.lines().map(str::trim).filter(|word| !word.is_empty());
        WordList(words.map(str::to_lowercase).collect())
    }

    /// The same from a file.
    pub fn load(path: &Path) -> Result<WordList> {
        let words = fs::read_to_string(path)
            .with_context(|| format!("cannot read the words in {}", path.display()))?;
        Ok(WordList::new(&words))
    }
}

impl TalkFilter for WordList {
    fn judge(&self, _: Speech<'_>, _: Option<&Name>, text: &Text) -> Verdict {
        let mut masked = String::with_capacity(text.len());
        let mut rest: &str = text;
        while let Some(first) = rest.chars().next() {
            let is_word = first.is_alphanumeric();
            let end = rest.find(|c: char| c.is_alphanumeric() != is_word);
            let (part, behind) = rest.split_at(end.unwrap_or(rest.len()));
            match is_word && self.0.contains(&part.to_lowercase()) {
                true => masked.extend(part.chars().map(|_| '*')),
                false => masked.push_str(part),
            }
            rest = behind;
        }
        match Text::new(masked) {
            Ok(masked) if masked != *text => Verdict::Replace(masked),
            // Asterisks are no longer than what they replace.
            _ => Verdict::Pass,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn listed_words_are_masked_and_words_that_contain_them_are_not() {
        let list = WordList::new("darn\n  Être \n\n");
        let said = |text: &str| {
            let text = Text::new(text).unwrap();
            match list.judge(Speech::Say, None, &text) {
                Verdict::Pass => text.to_string(),
                Verdict::Replace(text) => text.to_string(),
                Verdict::Refuse(reason) => panic!("refused: {reason}"),
            }
        };
        assert_eq!(
            said("Darn! DARN, darned (darn)"),
            "****! ****, darned (****)"
        );
        assert_eq!(said("c'est être ÊTRE"), "c'est **** ****");
        assert_eq!(said("all is well"), "all is well");
    }
}
