//! Reads texts: limits first, then Rust's syntax, then the items that a script may have.

use std::ops::Range;

use proc_macro2::{LineColumn, Span, TokenStream};
use shared::world::logic::Text;
use shared::{Occasion, Schema};

use crate::diagnostic::{Diagnostic, PROBLEMS_MAX};
use crate::types::Type;

pub(crate) mod foreign;
mod hooks;
mod items;
mod limits;
mod quotes;

pub use limits::TEXT_BYTES_MAX;

/// A parsed text.
pub struct File<'a> {
    pub text: &'a Text,
    schema: &'a Schema,
    /// By line: its first byte.
    lines: Vec<usize>,
    pub items: Vec<Item>,
}

/// What a script declares.
pub enum Item {
    Const(Box<Const>),
    Function(Function),
    Notification(NotificationItem),
}

pub struct Const {
    pub name: String,
    pub span: Span,
    pub is_public: bool,
    pub ty: Type,
    pub value: syn::Expr,
    /// `#[range(low, high)]`: what a world file may set it to.
    pub range: Option<(syn::Expr, syn::Expr)>,
}

pub struct Function {
    pub name: String,
    pub span: Span,
    pub is_public: bool,
    pub doc: String,
    /// What may give it; `None`: a helper, not a command.
    pub senders: Option<shared::Senders>,
    /// When the world gives it by itself: no two of these happen at once.
    pub hooks: Vec<HookItem>,
    /// Whether it is for tests alone.
    pub test: Option<TestRole>,
    /// Whether it is a command that runs as if alone.
    pub is_atomic: bool,
    pub parameters: Vec<Parameter>,
    pub result: Type,
    pub body: syn::Block,
}

/// `#[on(occasion)]`
#[derive(Clone, Copy)]
pub struct HookItem {
    pub occasion: Occasion,
    pub kind: Option<u16>,
    pub span: Span,
}

/// What a function is that the running world does not have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TestRole {
    /// `#[test]`
    Test,
    /// `#[cfg(test)]`: tests call it.
    Helper,
}

pub struct Parameter {
    pub name: String,
    pub span: Span,
    pub ty: Type,
    pub is_mutable: bool,
}

/// `struct Name { field: Type }`: a notification's form.
pub struct NotificationItem {
    pub name: String,
    pub span: Span,
    pub fields: Vec<(String, Type)>,
}

impl<'a> File<'a> {
    /// Parses a text for a world of this schema. Problems are added to the list.
    pub fn parse(schema: &'a Schema, text: &'a Text, problems: &mut Vec<Diagnostic>) -> File<'a> {
        let starts = text.text.match_indices('\n').map(|(i, _)| i + 1);
        let mut file = File {
            text,
            schema,
            lines: std::iter::once(0).chain(starts).collect(),
            items: vec![],
        };
        if let Err(problem) = file.read(problems) {
            problems.push(*problem);
        }
        file
    }

    fn read(&mut self, problems: &mut Vec<Diagnostic>) -> Result<(), Box<Diagnostic>> {
        let text = &self.text.text;
        if text.len() > TEXT_BYTES_MAX {
            let found = format!("the text has {} bytes", text.len());
            let label = format!("at most {TEXT_BYTES_MAX} are allowed");
            return Err(Box::new(self.at_bytes(0..0, found, label)));
        }
        if text.starts_with('\u{feff}') {
            let message = "the text begins with a byte order mark";
            let label = "save it as UTF-8 without one";
            return Err(Box::new(self.at_bytes(0..3, message, label)));
        }
        let tokens = text.parse::<TokenStream>();
        let tokens = tokens.map_err(|error| match quotes::open_end(text) {
            Some((place, message)) => self.at_bytes(place, message, ""),
            None => self.at(error.span(), "this is not Rust's syntax", ""),
        })?;
        if let Err(excess) = limits::check(tokens.clone()) {
            let problem = self.at(excess.span, excess.message, excess.label);
            return Err(Box::new(problem));
        }
        let parsed: syn::File =
            syn::parse2(tokens.clone()).map_err(|error| self.no_rust(error, tokens))?;
        if let Some(attribute) = items::attributes(&parsed.attrs).next() {
            problems.push(*self.unknown_attribute(attribute, "none for a whole text"));
        }
        for item in parsed.items {
            if problems.len() >= PROBLEMS_MAX {
                break;
            }
            match self.item(item) {
                Ok(item) => self.items.push(item),
                Err(problem) => problems.push(*problem),
            }
        }
        Ok(())
    }

    /// The problem at a place of the text.
    pub fn at(
        &self,
        span: Span,
        message: impl Into<String>,
        label: impl Into<String>,
    ) -> Diagnostic {
        self.at_bytes(self.range(span), message, label)
    }

    /// The problem at some bytes of the text. Only those of the first line are marked.
    pub fn at_bytes(
        &self,
        place: Range<usize>,
        message: impl Into<String>,
        label: impl Into<String>,
    ) -> Diagnostic {
        let text = &self.text.text;
        let line = self.lines.partition_point(|&start| start <= place.start);
        let before = &text[self.lines[line - 1]..place.start];
        let length = text[place.clone()].lines().next().map_or(0, str::len);
        Diagnostic {
            file: self.text.file.clone(),
            span: place.start..place.start + length,
            line,
            column: before.chars().count() + 1,
            message: message.into(),
            label: label.into(),
            help: None,
        }
    }

    /// What is written at a place, if it is short.
    pub fn source(&self, span: Span) -> Option<&str> {
        let source = &self.text.text[self.range(span)];
        (!source.is_empty() && source.len() <= 40 && !source.contains('\n')).then_some(source)
    }

    /// A text that is not Rust, with what was meant if it looks like another language.
    fn no_rust(&self, error: syn::Error, tokens: TokenStream) -> Diagnostic {
        let mut diagnostic = self.error(error);
        let range = |span| self.range(span);
        let at = diagnostic.span.start;
        if let Some(found) = foreign::near(tokens, &self.text.text, at, &range) {
            diagnostic = self.at_bytes(found.place, found.message, found.label);
            diagnostic.help = Some(found.help);
        }
        diagnostic
    }

    fn error(&self, error: syn::Error) -> Diagnostic {
        let mut label = error.to_string();
        let mut place = self.range(error.span());
        if label.starts_with("unexpected end of input") && place.is_empty() {
            let end = self.text.text.trim_end().len();
            place = end..end;
        }
        // All items of Rust, of which scripts have three.
        if label.contains("one of: `fn`, `extern`") {
            label = "expected `fn`, `const` or `struct`".to_owned();
        }
        let mut diagnostic = self.at_bytes(place, "this is not Rust's syntax", label);
        if let Some((_, keyword)) = diagnostic.label.split_once("found keyword ") {
            let keyword = keyword.trim_matches('`');
            diagnostic.help = Some(format!("choose another name, or write `r#{keyword}`"));
        }
        diagnostic
    }

    /// The bytes of a place.
    pub fn range(&self, span: Span) -> Range<usize> {
        let (start, end) = (self.byte(span.start()), self.byte(span.end()));
        start..end.max(start)
    }

    fn byte(&self, place: LineColumn) -> usize {
        let text = &self.text.text;
        let Some(&start) = self.lines.get(place.line.saturating_sub(1)) else {
            return text.len();
        };
        let line = &text[start..];
        let within = line.char_indices().nth(place.column).map(|(i, _)| i);
        start + within.unwrap_or(line.len())
    }
}

/// The pattern of an arm of a `match`, and its condition after `if`.
pub fn guarded(pattern: &syn::Pat) -> (&syn::Pat, Option<&syn::Expr>) {
    match pattern {
        syn::Pat::Guard(guarded) => (&guarded.pat, Some(&guarded.guard)),
        pattern => (pattern, None),
    }
}

/// An identifier's text; `move` for `r#move`.
pub fn name_of(ident: &proc_macro2::Ident) -> String {
    let name = ident.to_string();
    name.strip_prefix("r#").map(str::to_owned).unwrap_or(name)
}
