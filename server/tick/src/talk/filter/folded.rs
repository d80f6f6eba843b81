//! The normalized form of a text for searches, with the parts of the original.

use std::collections::HashMap;
use std::ops::Range;

use accounts::names::is_ignorable;
use icu_casemap::CaseMapper;
use icu_normalizer::DecomposingNormalizerBorrowed;
use icu_normalizer::properties::CanonicalCombiningClassMapBorrowed;
use icu_properties::CodePointMapData;
use icu_properties::props::{GeneralCategory, GeneralCategoryGroup, LineBreak};

/// A text without differences of capitals, widths, forms, dashes and blanks.
pub struct Folded {
    pub text: String,
    pub parts: Vec<Part>,
    /// By place in `text`: the part that begins there.
    begins: HashMap<usize, usize>,
}

/// A letter with its marks, a run of blanks, or another character.
pub struct Part {
    /// In the original.
    pub range: Range<usize>,
    pub is_blank: bool,
    base: char,
}

impl Folded {
    pub fn new(original: &str) -> Folded {
        let mut folded = Folded {
            text: String::with_capacity(original.len()),
            parts: vec![],
            begins: HashMap::new(),
        };
        let mut rest = original.char_indices().peekable();
        while let Some((start, base)) = rest.next() {
            let is_blank = base.is_whitespace();
            let belongs = |&(_, next): &(usize, char)| {
                is_ignorable(next)
                    || match is_blank {
                        true => next.is_whitespace(),
                        false => is_mark(next),
                    }
            };
            let mut end = start + base.len_utf8();
            while let Some((at, next)) = rest.next_if(belongs) {
                end = at + next.len_utf8();
            }
            folded.push(&original[start..end], start..end, is_blank);
        }
        folded.begins.insert(folded.text.len(), folded.parts.len());
        folded
    }

    fn push(&mut self, original: &str, range: Range<usize>, is_blank: bool) {
        let folded = match is_blank {
            true => " ".to_owned(),
            false => fold(original),
        };
        match (folded.chars().next(), self.parts.last_mut()) {
            (Some(base), _) => {
                self.begins.insert(self.text.len(), self.parts.len());
                self.text.push_str(&folded);
                self.parts.push(Part {
                    range,
                    is_blank,
                    base,
                });
            }
            // Invisible characters belong to the one before them.
            (None, Some(before)) => before.range.end = range.end,
            (None, None) => {}
        }
    }

    /// The parts from one place in the text to another; `None` if these are not between parts.
    pub fn parts_of(&self, start: usize, end: usize) -> Option<Range<usize>> {
        Some(*self.begins.get(&start)?..*self.begins.get(&end)?)
    }

    /// The character that a part shows, without its marks.
    pub fn base(&self, part: usize) -> char {
        self.parts[part].base
    }
}

/// Whether two neighbours are in one word for all that their scripts say: without a blank between
/// them, letters and digits are, unless words of a script follow each other without one.
pub fn is_joined(left: char, right: char) -> bool {
    [left, right]
        .into_iter()
        .all(|c| c.is_alphanumeric() && !breaks_anywhere(c))
}

/// Where lines break between any two letters, or where a dictionary says so, there are no blanks
/// between words (UAX 14).
fn breaks_anywhere(character: char) -> bool {
    matches!(
        CodePointMapData::<LineBreak>::new().get(character),
        LineBreak::Ideographic
            | LineBreak::ComplexContext
            | LineBreak::ConditionalJapaneseStarter
            | LineBreak::Nonstarter
            | LineBreak::Aksara
            | LineBreak::AksaraPrebase
            | LineBreak::AksaraStart
    )
}

/// Decomposed, so that no letter of one part can be composed with one of another.
fn fold(part: &str) -> String {
    let (case, nfkd) = (CaseMapper::new(), DecomposingNormalizerBorrowed::new_nfkd());
    let mut part = nfkd.normalize(part).into_owned();
    for _ in 0..2 {
        part = nfkd.normalize(&case.fold_string(&part)).into_owned();
    }
    part.retain(|c| !is_ignorable(c));
    let category = CodePointMapData::<GeneralCategory>::new();
    let usual = |c| match c {
        '\u{2018}' | '\u{2019}' | '\u{2bc}' => '\'',
        c if category.get(c) == GeneralCategory::DashPunctuation => '-',
        c => c,
    };
    part.chars().map(usual).collect()
}

/// Whether a character modifies the one before it.
fn is_mark(character: char) -> bool {
    let category = CodePointMapData::<GeneralCategory>::new().get(character);
    let class = CanonicalCombiningClassMapBorrowed::new().get_u8(character);
    GeneralCategoryGroup::Mark.contains(category)
        || class != 0
        // Vowels and ends of syllables of Hangul; marks of half-width Katakana.
        || matches!(character, '\u{1160}'..='\u{11ff}' | '\u{d7b0}'..='\u{d7ff}'
            | '\u{ff9e}' | '\u{ff9f}')
}
