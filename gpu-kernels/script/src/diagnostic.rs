//! What is wrong with a text, where, and how to mend it.

use std::fmt;
use std::ops::Range;

use annotate_snippets::{AnnotationKind, Group, Level, Renderer, Snippet, Title};
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

impl Diagnostic {
    /// A sentence about some bytes of a text. Only those of the first line are marked.
    pub fn at(
        text: &Text,
        place: &Range<usize>,
        message: impl Into<String>,
        label: impl Into<String>,
    ) -> Diagnostic {
        let before = text.text.get(..place.start).unwrap_or_default();
        let start = before.rfind('\n').map_or(0, |end| end + 1);
        let marked = text.text.get(place.clone()).unwrap_or_default();
        let length = marked.lines().next().map_or(0, str::len);
        Diagnostic {
            file: text.file.clone(),
            span: place.start..place.start + length,
            line: before.matches('\n').count() + 1,
            column: before[start..].chars().count() + 1,
            message: message.into(),
            label: label.into(),
            help: None,
        }
    }
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

/// A warning of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Warning {
    /// By which it is silenced.
    pub name: &'static str,
    pub diagnostic: Diagnostic,
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} [{}]", self.diagnostic, self.name)
    }
}

/// Draws problems as a compiler does: with the lines, the place marked, and the help below.
pub fn draw(diagnostics: &[&Diagnostic], texts: &[Text], colours: bool) -> String {
    let problems = diagnostics.iter();
    let problems = problems.map(|problem| (Level::ERROR.primary_title(&problem.message), *problem));
    draw_all(problems, texts, colours)
}

/// Draws warnings likewise, with their names.
pub fn draw_warnings(warnings: &[Warning], texts: &[Text], colours: bool) -> String {
    let warnings = warnings.iter().map(|warning| {
        let title = Level::WARNING.primary_title(&warning.diagnostic.message);
        (title.id(warning.name), &warning.diagnostic)
    });
    draw_all(warnings, texts, colours)
}

fn draw_all<'a>(
    problems: impl Iterator<Item = (Title<'a>, &'a Diagnostic)>,
    texts: &'a [Text],
    colours: bool,
) -> String {
    let renderer = match colours {
        true => Renderer::styled(),
        false => Renderer::plain(),
    };
    let mut drawn = String::new();
    for (title, diagnostic) in problems {
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
