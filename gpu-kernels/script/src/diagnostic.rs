//! What is wrong with a text, where, and how to mend it.

use std::fmt;
use std::ops::Range;

use annotate_snippets::{AnnotationKind, Group, Level, Renderer, Snippet};
use shared::world::logic::Text;

/// One problem of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// The name of the text.
    pub file: String,
    /// The place, in bytes of the text.
    pub span: Range<usize>,
    /// From 1.
    pub line: usize,
    /// In characters, from 1.
    pub column: usize,
    /// What is wrong.
    pub message: String,
    /// What was expected at the place; may be empty.
    pub label: String,
    /// How to mend it.
    pub help: Option<String>,
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Diagnostic {
            file,
            line,
            column,
            message,
            ..
        } = self;
        write!(f, "{file}:{line}:{column}: {message}")?;
        if !self.label.is_empty() {
            write!(f, ": {}", self.label)?;
        }
        match &self.help {
            Some(help) => write!(f, " ({help})"),
            None => Ok(()),
        }
    }
}

/// What is wrong with the logic of a world.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Problem {
    /// In a text.
    Text(Diagnostic),
    /// A constant that the world file sets.
    Setting { key: String, message: String },
}

impl Problem {
    /// The problem of a text, if it is one.
    pub fn diagnostic(&self) -> Option<&Diagnostic> {
        match self {
            Problem::Text(diagnostic) => Some(diagnostic),
            Problem::Setting { .. } => None,
        }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Problem::Text(diagnostic) => diagnostic.fmt(f),
            Problem::Setting { key, message } => write!(f, "{key}: {message}"),
        }
    }
}

/// Draws problems as a compiler does: with the lines, the place marked, and the help below.
pub fn draw(diagnostics: &[&Diagnostic], texts: &[Text], colours: bool) -> String {
    let renderer = match colours {
        true => Renderer::styled(),
        false => Renderer::plain(),
    };
    let mut drawn = String::new();
    for diagnostic in diagnostics {
        let text = texts.iter().find(|text| text.file == diagnostic.file);
        let source = text.map_or("", |text| text.text.as_str());
        let end = diagnostic.span.end.min(source.len());
        let span = diagnostic.span.start.min(end)..end;
        let mut mark = AnnotationKind::Primary.span(span);
        if !diagnostic.label.is_empty() {
            mark = mark.label(&diagnostic.label);
        }
        let snippet = Snippet::source(source)
            .path(&diagnostic.file)
            .annotation(mark);
        let title = Level::ERROR.primary_title(&diagnostic.message);
        let mut report = vec![Group::with_title(title).element(snippet)];
        if let Some(help) = &diagnostic.help {
            report.push(Group::with_title(Level::HELP.secondary_title(help)));
        }
        drawn += &renderer.render(&report);
        drawn += "\n\n";
    }
    drawn
}

/// "expected one of …", as a label.
pub fn one_of(names: &[&str]) -> String {
    match names {
        [] => "it has none".to_owned(),
        _ => format!("expected one of `{}`", names.join("`, `")),
    }
}

/// The most problems that are reported at once.
pub const PROBLEMS_MAX: usize = 64;
