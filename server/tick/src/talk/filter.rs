//! A filter of texts: a hook for games, and a word list as a ready one.

use std::path::Path;

use aho_corasick::AhoCorasick;
use anyhow::{Context, Result, bail};
use platform::renewal::Shared;
use program::given;
use shared::{Name, Text};

use folded::{Folded, is_joined};

mod folded;

/// Judges a text before it is sent. It runs on the tick thread: a filter that needs another service
/// should let a text pass and act on its speaker later.
pub trait TalkFilter: Send + Sync {
    fn judge(&self, speech: Speech<'_>, speaker: Option<&Name>, text: &Text) -> Verdict;
}

/// The listeners of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Speech<'a> {
    /// Players nearby.
    Say,
    /// One player.
    Whisper(&'a Name),
    Channel(&'a Name),
    /// All that see an entity with it: the text of an attribute.
    Attribute,
}

/// The verdict on a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    Pass,
    /// Send this text instead.
    Replace(Text),
    /// Send nothing; the reason goes to the speaker.
    Refuse(String),
}

/// A filter that is reloaded with its list.
impl TalkFilter for Shared<dyn TalkFilter> {
    fn judge(&self, speech: Speech<'_>, speaker: Option<&Name>, text: &Text) -> Verdict {
        self.get().judge(speech, speaker, text)
    }
}

/// Lets everything pass.
pub struct NoFilter;

impl TalkFilter for NoFilter {
    fn judge(&self, _: Speech<'_>, _: Option<&Name>, _: &Text) -> Verdict {
        Verdict::Pass
    }
}

/// Masks words and phrases with asterisks, whatever their capitals, widths and blanks: as whole
/// words in scripts with blanks between words, and anywhere in scripts without.
pub struct WordList(AhoCorasick);

impl WordList {
    /// A word or phrase a line. Empty lines, and what follows a `#` at the beginning of a line or
    /// behind a blank, are left out.
    pub fn new(words: &str) -> Result<WordList> {
        let words = words.strip_prefix('\u{feff}').unwrap_or(words);
        let words = words.lines().map(without_comment).map(Folded::new);
        let words = words.map(|word| word.text.trim().to_owned());
        let words: Vec<String> = words.filter(|word| !word.is_empty()).collect();
        if words.is_empty() {
            bail!("expected a word or phrase a line, found none");
        }
        // All that match at a place: the longest may not be a whole word where another one is.
        Ok(WordList(AhoCorasick::new(words).context("too many words")?))
    }

    /// The same from a file.
    pub fn load(path: &Path) -> Result<WordList> {
        let name = path.display();
        let bytes =
            given::read(path).with_context(|| format!("cannot read the words in {name}"))?;
        let words = std::str::from_utf8(&bytes)
            .with_context(|| format!("{name}: expected words as UTF-8"))?;
        WordList::new(words).with_context(|| format!("{name}"))
    }

    /// By part of a text: whether it is in a word of the list.
    fn found(&self, text: &Folded) -> Vec<bool> {
        let mut found = vec![false; text.parts.len()];
        for word in self.0.find_overlapping_iter(&text.text) {
            let Some(parts) = text.parts_of(word.start(), word.end()) else {
                continue;
            };
            let begins =
                parts.start == 0 || !is_joined(text.base(parts.start - 1), text.base(parts.start));
            let ends = parts.end == found.len()
                || !is_joined(text.base(parts.end - 1), text.base(parts.end));
            if begins && ends {
                found[parts].fill(true);
            }
        }
        found
    }
}

impl TalkFilter for WordList {
    fn judge(&self, _: Speech<'_>, _: Option<&Name>, text: &Text) -> Verdict {
        let folded = Folded::new(text);
        let found = self.found(&folded);
        if !found.contains(&true) {
            return Verdict::Pass;
        }
        let mut masked = String::with_capacity(text.len());
        for (part, is_found) in folded.parts.iter().zip(found) {
            match is_found && !part.is_blank {
                true => masked.push('*'),
                false => masked.push_str(&text[part.range.clone()]),
            }
        }
        match Text::new(masked) {
            Ok(masked) => Verdict::Replace(masked),
            // Asterisks are no longer than what they replace.
            Err(_) => Verdict::Pass,
        }
    }
}

fn without_comment(line: &str) -> &str {
    let line = line.trim();
    let mut marks = line.match_indices('#').map(|(at, _)| at);
    let is_comment = |&at: &usize| {
        line[..at]
            .chars()
            .next_back()
            .is_none_or(char::is_whitespace)
    };
    marks.find(is_comment).map_or(line, |at| &line[..at])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(words: &str) -> WordList {
        WordList::new(words).expect("a list of words")
    }

    /// The text that passes.
    fn said(list: &WordList, text: &str) -> String {
        let text = Text::new(text).expect("a text");
        match list.judge(Speech::Say, None, &text) {
            Verdict::Pass => text.to_string(),
            Verdict::Replace(text) => text.to_string(),
            Verdict::Refuse(reason) => panic!("refused: {reason}"),
        }
    }

    #[test]
    fn listed_words_are_masked_and_words_that_contain_them_are_not() {
        let list = list("darn\n  Être \n\n");
        let said = |text| said(&list, text);
        assert_eq!(
            said("Darn! DARN, darned (darn)"),
            "****! ****, darned (****)"
        );
        assert_eq!(said("c'est être ÊTRE"), "c'est **** ****");
        assert_eq!(said("all is well"), "all is well");
        assert_eq!(said("undarn darn2 darn_"), "undarn darn2 ****_");
    }

    #[test]
    fn words_are_found_in_other_forms_of_their_letters() {
        let list = list("darn\nStraße\noffice\nêtre\nгад\nさくら");
        for (text, masked) in [
            ("\u{ff24}\u{ff41}\u{ff32}\u{ff2e}!", "****!"),
            ("\u{1d41d}\u{1d41a}\u{1d42b}\u{1d427}", "****"),
            ("da\u{34f}rn", "****"),
            ("STRASSE, STRA\u{1e9e}E", "*******, ******"),
            ("o\u{fb03}ce", "****"),
            ("e\u{302}tre", "****"),
            ("ГАД гада", "*** гада"),
            ("今さくらだ", "今***だ"),
        ] {
            assert_eq!(said(&list, text), masked, "{text}");
        }
        assert_eq!(said(&list, "dárn"), "dárn");
    }

    #[test]
    fn words_are_found_anywhere_in_scripts_without_blanks() {
        let list = list("傻瓜\nばか\nバカ\nควาย\nໂງ່\nឆ្កែ\nခွေး\ndarn\nбот");
        for (text, masked) in [
            ("你是个傻瓜吗", "你是个**吗"),
            ("このばかもの", "この**もの"),
            ("ｱﾊﾞｶﾀﾞ", "ｱ**ﾀﾞ"),
            ("ไอ้ควายเอ๊ย", "ไอ้****เอ๊ย"),
            ("ເຈົ້າໂງ່ຫຼາຍ", "ເຈົ້າ**ຫຼາຍ"),
            ("ឆ្កែនេះ", "**នេះ"),
            ("ခွေးကောင်", "*ကောင်"),
            ("你darn傻", "你****傻"),
            ("робот бот", "робот ***"),
        ] {
            assert_eq!(said(&list, text), masked, "{text}");
        }
        // A vowel sign is a part of its letter.
        assert_eq!(said(&super::tests::list("ก"), "กีก"), "กี*");
    }

    #[test]
    fn phrases_and_words_with_marks_are_found() {
        let list = list("go to hell\nson-of-a-gun\nl'enfer\na$$\n五 毛");
        for (text, masked) in [
            ("Go  to\u{a0}HELL!", "**  **\u{a0}****!"),
            ("go to hello", "go to hello"),
            ("you son-of-a-gun", "you ************"),
            ("son\u{2011}of\u{2010}a\u{2013}gun", "************"),
            ("l\u{2019}enfer", "*******"),
            ("a$$, pa$$", "***, pa$$"),
            ("五\u{3000}毛", "*\u{3000}*"),
        ] {
            assert_eq!(said(&list, text), masked, "{text}");
        }
    }

    #[test]
    fn a_list_may_have_a_mark_of_its_encoding_ends_of_lines_of_windows_and_comments() {
        let list = list("\u{feff}darn\r\n# fine words\r\n\r\nheck # mild\r\nc#\r\n");
        assert_eq!(said(&list, "darn heck c# fine"), "**** **** ** fine");
        assert_eq!(said(&list, "# mild"), "# mild");
        for empty in ["", "\u{feff}\r\n", "# darn\n", "\u{200b}\n"] {
            assert!(WordList::new(empty).is_err(), "{empty:?}");
        }
    }

    #[test]
    fn a_word_inside_another_listed_one_is_found_by_itself() {
        let list = list("darned thing\ndarned\nthing");
        assert_eq!(said(&list, "darned things"), "****** things");
        assert_eq!(said(&list, "darned thing"), "****** *****");
    }
}
