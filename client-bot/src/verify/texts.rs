//! Checks of the texts of attributes: what bots read is what was written.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

use client_core::View;
use rustc_hash::FxHashMap;
use shared::wire::request::GivenText;
use shared::world::words::TextHandle;

use super::FinalView;
use super::findings::Findings;

/// What each handle stands for, by all that bots were sent.
#[derive(Default)]
pub struct KnownTexts(Mutex<FxHashMap<TextHandle, KnownText>>);

#[derive(Clone)]
struct KnownText {
    text: String,
    /// Whether a bot gave it.
    is_given: bool,
}

impl KnownTexts {
    /// Checks that a handle stands for the same text for all bots.
    fn check(&self, findings: &Findings, handle: TextHandle, found: KnownText) {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= KNOWN_MAX && !known.contains_key(&handle) {
            return findings.leave_open();
        }
        let before = known.entry(handle).or_insert_with(|| found.clone());
        before.is_given |= found.is_given;
        findings.check(before.text == found.text, || {
            let (before, found) = (&before.text, &found.text);
            format!("a text was {before:?} to one bot, and {found:?} to another")
        });
    }

    /// A text that a bot gave.
    fn given(&self, handle: TextHandle) -> Option<String> {
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let known = known.get(&handle).filter(|known| known.is_given);
        known.map(|known| known.text.clone())
    }
}

/// The texts that a bot gives.
#[derive(Default)]
pub struct TextLog {
    /// By request, those that are not answered yet.
    given: VecDeque<(u32, String)>,
}

impl TextLog {
    pub fn give(&mut self, request: u32, text: String) {
        self.given.push_back((request, text));
    }

    /// A request is rejected. True if it was for a text.
    pub fn reject(&mut self, request: u32) -> bool {
        let first = self.given.pop_front_if(|given| given.0 == request);
        first.is_some()
    }

    /// Texts have come: one that the bot gave, or those for which it asked.
    pub fn take(
        &mut self,
        (findings, known): (&Findings, &KnownTexts),
        bot: usize,
        request: u32,
        texts: &[GivenText],
    ) {
        let given = self.given.pop_front_if(|given| given.0 == request);
        let is_given = given.is_some();
        if let Some((_, text)) = given {
            let is_it = matches!(texts, [one] if one.text.as_deref() == Some(&text));
            findings.check(is_it, || {
                format!("bot {bot}: the text {text:?} was granted as {texts:?}")
            });
        }
        for GivenText { handle, text } in texts {
            if let Some(text) = text.as_deref() {
                let text = text.to_owned();
                let found = KnownText { text, is_given };
                known.check(findings, *handle, found);
            }
        }
    }
}

/// A text of a bot's own entity.
#[derive(Clone, Debug)]
pub struct OwnText {
    handle: TextHandle,
    /// As the bot reads it.
    text: Option<String>,
}

impl OwnText {
    pub fn all_of(view: &View) -> Vec<OwnText> {
        let own = view.own().into_iter();
        let all = own.flat_map(|own| {
            let columns = view.schema().text_columns();
            columns.map(|column| OwnText {
                handle: TextHandle(own.row[column]),
                text: view.text_of(own, column).map(str::to_owned),
            })
        });
        all.collect()
    }
}

/// Checks that bots read of their own attributes what a bot has given, once nothing changes. Others
/// in the world may have given them more.
pub fn check_texts(findings: &Findings, known: &KnownTexts, views: &[FinalView]) {
    let still = |view: &&FinalView| !view.touched.contains(&view.entity.slot.0);
    for view in views.iter().filter(still) {
        for OwnText { handle, text } in &view.texts {
            if handle.is_empty() {
                continue;
            }
            let Some(given) = known.given(*handle) else {
                findings.leave_open();
                continue;
            };
            findings.check(text.as_deref() == Some(&given), || {
                let bot = view.bot;
                format!("bot {bot}: a text of its own is {text:?}, {given:?} was given")
            });
        }
    }
}

/// More are not compared.
const KNOWN_MAX: usize = 100_000;

#[cfg(test)]
mod tests {
    use std::sync::atomic::Ordering::Relaxed;

    use shared::Text;

    use super::*;

    fn text(handle: u32, text: &str) -> GivenText {
        GivenText {
            handle: TextHandle::new(9, handle),
            text: Text::new(text).ok(),
        }
    }

    fn errors(findings: &Findings) -> u64 {
        findings.errors.load(Relaxed)
    }

    #[test]
    fn a_text_that_is_granted_is_the_one_that_was_given() {
        let (findings, known) = (Findings::default(), KnownTexts::default());
        let (all, mut log) = ((&findings, &known), TextLog::default());
        log.give(4, "Grüße".to_owned());
        log.give(5, "Beware".to_owned());
        log.take(all, 0, 3, &[text(1, "of another")]);
        log.take(all, 0, 4, &[text(2, "Grüße")]);
        assert_eq!(errors(&findings), 0);
        assert_eq!(known.given(TextHandle::new(9, 2)).as_deref(), Some("Grüße"));
        assert_eq!(known.given(TextHandle::new(9, 1)), None);
        log.take(all, 0, 5, &[text(3, "Bewar")]);
        assert_eq!(errors(&findings), 1);
        assert!(!log.reject(6));
        log.give(6, "no".to_owned());
        assert!(log.reject(6));
    }

    #[test]
    fn a_handle_that_two_bots_read_otherwise_is_an_error() {
        let (findings, known) = (Findings::default(), KnownTexts::default());
        let all = (&findings, &known);
        let mut logs = [TextLog::default(), TextLog::default()];
        logs[0].take(all, 0, 1, &[text(1, "north"), text(2, "south")]);
        logs[1].take(all, 1, 1, &[text(2, "south")]);
        assert_eq!(errors(&findings), 0);
        logs[1].take(all, 1, 2, &[text(1, "south")]);
        assert_eq!(errors(&findings), 1);
    }
}
