//! Texts of attributes: the server sends handles, and their texts on request.

use std::collections::VecDeque;
use std::sync::Arc;

use rustc_hash::FxHashMap;
use shared::wire::members::MemberMessage;
use shared::wire::request::{GivenText, TEXTS_MAX};
use shared::world::columns::Columns;
use shared::world::words::TextHandle;
use shared::{CommandKind, Schema};

use crate::command::CommandError;
use crate::{Message, NoticeBody};

/// The texts that a client has received.
#[derive(Clone, Debug, Default)]
pub(crate) struct Texts {
    /// `None`: the world has it no more.
    known: FxHashMap<TextHandle, Option<Arc<str>>>,
}

/// The texts that a client lacks.
#[derive(Debug, Default)]
pub(crate) struct Wanted {
    columns: Columns,
    /// In the order in which they were seen.
    waiting: VecDeque<TextHandle>,
    /// By request, those that the server was asked for.
    asked: Vec<(u32, Vec<TextHandle>)>,
}

/// An argument of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Argument<'a> {
    /// In the engine's numbers.
    Word(i32),
    /// For a parameter of type text.
    Text(&'a str),
}

/// What became of a command with texts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GivenCommand {
    /// It is queued, with this sequence number.
    Queued(u32),
    /// The server is asked first for the text with a request of this number. Once it has granted it,
    /// the command is queued; if not, it is given up, and [`Event::Answered`](crate::Event) of the
    /// request says why.
    Waits(u32),
}

/// Commands that wait until the server has their texts, in order.
#[derive(Debug, Default)]
pub(crate) struct HeldCommands(VecDeque<Held>);

#[derive(Debug)]
struct Held {
    kind: CommandKind,
    words: Vec<i32>,
    texts: Vec<HeldText>,
    is_refused: bool,
}

#[derive(Debug)]
struct HeldText {
    /// Among the words.
    place: usize,
    text: String,
    /// `None`: it is granted.
    request: Option<u32>,
}

impl Texts {
    /// A text; `None` if it has not been received, or the world has it no more.
    pub fn get(&self, handle: TextHandle) -> Option<&str> {
        match handle.is_empty() {
            true => Some(""),
            false => self.known.get(&handle)?.as_deref(),
        }
    }

    /// Whether there is nothing to wait for.
    pub fn is_settled(&self, handle: TextHandle) -> bool {
        handle.0 <= 0 || self.known.contains_key(&handle)
    }

    /// Takes over texts that have come. Beyond [`KNOWN_MAX`] those that nothing in view has are
    /// forgotten.
    fn take(&mut self, texts: &[GivenText], is_in_view: impl Fn(TextHandle) -> bool) {
        if self.known.len() + texts.len() > KNOWN_MAX {
            self.known.retain(|&handle, _| is_in_view(handle));
        }
        for GivenText { handle, text } in texts {
            let text = text.as_ref().map(|text| Arc::from(&**text));
            if self.known.len() < KNOWN_MAX || self.known.contains_key(handle) {
                self.known.insert(*handle, text);
            }
        }
    }
}

impl Wanted {
    pub fn new(schema: &Schema) -> Wanted {
        Wanted {
            columns: schema.text_columns().collect(),
            ..Wanted::default()
        }
    }

    /// Whether an attribute in a column has texts.
    fn is_text(&self, column: u16) -> bool {
        self.columns.has(usize::from(column))
    }

    /// Notes the texts of a message that are not known. `of_notice` gives those of a notice.
    pub fn see(
        &mut self,
        message: &Message,
        known: &Texts,
        of_notice: impl FnOnce(&NoticeBody) -> Vec<TextHandle>,
    ) {
        match message {
            Message::Enter { values, .. }
            | Message::State { values, .. }
            | Message::Members(
                MemberMessage::Member { values, .. } | MemberMessage::Changed { values, .. },
            ) => {
                for &(column, value) in values {
                    if self.is_text(column) {
                        self.want(TextHandle(value), known);
                    }
                }
            }
            Message::Notice(notice) => {
                for handle in of_notice(&notice.body) {
                    self.want(handle, known);
                }
            }
            _ => {}
        }
    }

    fn want(&mut self, handle: TextHandle, known: &Texts) {
        let is_asked = |(_, handles): &(u32, Vec<TextHandle>)| handles.contains(&handle);
        if known.is_settled(handle)
            || self.waiting.contains(&handle)
            || self.asked.iter().any(is_asked)
        {
            return;
        }
        if self.waiting.len() == WAITING_MAX {
            // What was seen long ago may have left the view.
            self.waiting.pop_front();
        }
        self.waiting.push_back(handle);
    }

    /// Asks for texts, as many as the server should be asked for at once.
    pub fn ask(&mut self, mut request: impl FnMut(Vec<TextHandle>) -> u32) {
        while !self.waiting.is_empty() && self.asked.len() < ASKED_MAX {
            let count = self.waiting.len().min(TEXTS_MAX);
            let handles: Vec<TextHandle> = self.waiting.drain(..count).collect();
            self.asked.push((request(handles.clone()), handles));
        }
    }

    /// A request is answered. True if it was one for texts.
    pub fn answer(&mut self, request: u32) -> bool {
        let before = self.asked.len();
        self.asked.retain(|(asked, _)| *asked != request);
        self.asked.len() < before
    }

    /// Takes over texts that have come.
    pub fn take(
        &mut self,
        request: u32,
        texts: &[GivenText],
        known: &mut Texts,
        is_in_view: impl Fn(TextHandle) -> bool,
    ) {
        self.answer(request);
        known.take(texts, is_in_view);
    }
}

impl HeldCommands {
    /// Holds a command until the texts are granted for which `request` asks. Gives the number of the
    /// last request.
    pub fn hold(
        &mut self,
        (kind, words): (CommandKind, Vec<i32>),
        texts: Vec<(usize, &str)>,
        mut request: impl FnMut(&str) -> u32,
    ) -> Result<u32, CommandError> {
        if self.0.len() >= HELD_MAX {
            return Err(CommandError::TooManyTexts);
        }
        let mut last = 0;
        let texts = texts.into_iter().map(|(place, text)| {
            last = request(text);
            HeldText {
                place,
                text: text.to_owned(),
                request: Some(last),
            }
        });
        let texts = texts.collect();
        let is_refused = false;
        self.0.push_back(Held {
            kind,
            words,
            texts,
            is_refused,
        });
        Ok(last)
    }

    /// A request is answered; `None`: it is refused.
    pub fn answer(&mut self, request: u32, handle: Option<TextHandle>) {
        for held in &mut self.0 {
            let mut texts = held.texts.iter_mut();
            if let Some(text) = texts.find(|text| text.request == Some(request)) {
                text.request = None;
                match (handle, held.words.get_mut(text.place)) {
                    (Some(handle), Some(word)) => *word = handle.0,
                    _ => held.is_refused = true,
                }
            }
        }
    }

    /// The next command whose texts are granted.
    pub fn next(&mut self) -> Option<(CommandKind, Vec<i32>)> {
        loop {
            let first = self.0.front()?;
            if first.texts.iter().any(|text| text.request.is_some()) {
                return None;
            }
            let first = self.0.pop_front()?;
            if !first.is_refused {
                return Some((first.kind, first.words));
            }
        }
    }

    /// Asks for all texts anew: another session continues with the commands.
    pub fn ask_again(&mut self, mut request: impl FnMut(&str) -> u32) {
        for text in self.0.iter_mut().flat_map(|held| &mut held.texts) {
            text.request = Some(request(&text.text));
        }
    }
}

/// The most texts that a client keeps.
const KNOWN_MAX: usize = 8192;
/// The most texts that it has yet to ask for.
const WAITING_MAX: usize = 4096;
/// The most requests for texts at once: the others of a client shall not wait behind them.
const ASKED_MAX: usize = 4;
/// The most commands that wait for their texts.
const HELD_MAX: usize = 16;

#[cfg(test)]
mod tests {
    use shared::Text;

    use super::*;

    fn given(handle: i32, text: &str) -> GivenText {
        GivenText {
            handle: TextHandle(handle),
            text: Text::new(text).ok(),
        }
    }

    #[test]
    fn commands_leave_in_order_once_their_texts_are_granted() {
        let mut held = HeldCommands::default();
        let mut numbers = 10..;
        let mut ask = |_: &str| numbers.next().unwrap();
        let kind = CommandKind(5);
        let mut hold = |words: Vec<i32>, texts: Vec<(usize, &str)>| {
            held.hold((kind, words), texts, &mut ask).unwrap()
        };
        assert_eq!(hold(vec![0, 7], vec![(0, "a")]), 10);
        assert_eq!(hold(vec![0, 0], vec![(0, "b"), (1, "c")]), 12);
        assert_eq!(hold(vec![0], vec![(0, "d")]), 13);
        held.answer(13, Some(TextHandle(99)));
        assert_eq!(held.next(), None, "the first waits");
        held.answer(10, Some(TextHandle(50)));
        assert_eq!(held.next(), Some((kind, vec![50, 7])));
        held.answer(11, Some(TextHandle(51)));
        assert_eq!(held.next(), None, "one of two is missing");
        held.answer(12, None);
        assert_eq!(held.next(), Some((kind, vec![99])), "the second is refused");
        assert_eq!(held.next(), None);
    }

    #[test]
    fn only_so_many_commands_wait() {
        let mut held = HeldCommands::default();
        let mut hold = || held.hold((CommandKind(5), vec![0]), vec![(0, "a")], |_| 1);
        for _ in 0..HELD_MAX {
            assert_eq!(hold(), Ok(1));
        }
        assert_eq!(hold(), Err(CommandError::TooManyTexts));
    }

    #[test]
    fn a_text_is_asked_for_once_and_few_are_at_a_time() {
        let (mut wanted, mut known) = (Wanted::default(), Texts::default());
        for handle in (1..=1000).chain(1..=10) {
            wanted.want(TextHandle(handle), &known);
        }
        wanted.want(TextHandle::EMPTY, &known);
        let mut asked = vec![];
        wanted.ask(|handles| {
            asked.push(handles.len());
            asked.len() as u32
        });
        assert_eq!(asked, [TEXTS_MAX; ASKED_MAX]);
        wanted.take(1, &[given(1, "one"), given(2, "")], &mut known, |_| true);
        assert_eq!(known.get(TextHandle(1)), Some("one"));
        assert_eq!(known.get(TextHandle(2)), None);
        assert!(known.is_settled(TextHandle(2)) && !known.is_settled(TextHandle(900)));
        let mut again = vec![];
        wanted.ask(|handles| {
            again.extend(handles);
            9
        });
        assert_eq!(again.len(), TEXTS_MAX);
        assert!(!again.contains(&TextHandle(1)));
    }

    #[test]
    fn what_nothing_in_view_has_is_forgotten_first() {
        let mut known = Texts::default();
        for handle in 1..=KNOWN_MAX as i32 {
            known.take(&[given(handle, "x")], |_| true);
        }
        known.take(&[given(1 << 20, "y")], |handle| handle.0 == 7);
        assert_eq!(known.get(TextHandle(7)), Some("x"));
        assert_eq!(known.get(TextHandle(1 << 20)), Some("y"));
        assert_eq!(known.known.len(), 2);
    }
}
