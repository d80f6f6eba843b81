//! From the text of a world file to a checked world.

use std::sync::Arc;

use shared::WorldConfig;
use shared::world::source::{Origin, Overrides, Source};

use super::build::{self, Built, Rejected};
use super::check::Problem;
use super::error::{ConfigError, Remark};
use super::lines::Lines;
use super::logic::Texts;
use super::{layers, overrides, read, syntax};

/// A checked world, and what its author may want to know.
#[derive(Clone, Debug)]
pub struct Checked {
    pub config: WorldConfig,
    /// What is allowed, but hardly meant.
    pub warnings: Vec<Remark>,
    /// Commands that the world lacks, which may be meant.
    pub notes: Vec<Remark>,
}

/// Checks the text of a world file, in which some keys have other values. `file` is its name in
/// errors; problems of scripts are drawn in `colours`, or plain.
pub(super) fn parse(
    text: &str,
    file: &str,
    overrides: Overrides,
    texts: &Texts<'_>,
    colours: bool,
) -> Result<Checked, ConfigError> {
    let (table, errors) = toml::de::DeTable::parse_recoverable(text);
    let table = table.into_inner();
    let lines = Lines::new(text, &table);
    let remarks = |problems: Vec<Problem>| {
        let problems = problems.into_iter();
        let mut remarks: Vec<Remark> = problems
            .map(|problem| Remark {
                file: file.to_owned(),
                line: match problem.place {
                    Some(place) => Some(lines.line_at(place)),
                    None => lines.line(&problem.key),
                },
                column: problem.place.map(|place| lines.column_at(place)),
                key: problem.key,
                message: problem.message,
            })
            .collect();
        remarks.sort_by_key(|remark| (remark.line, remark.column));
        remarks
    };
    let syntax = syntax::problems(text, errors, &lines);
    if !syntax.are_of_keys {
        return Err(ConfigError::Rejected {
            remarks: remarks(syntax.problems),
            drawn: String::new(),
        });
    }
    let (mut raw, mut problems) = read::read(table, &lines);
    overrides::apply(overrides, &mut raw);
    problems.0.extend(syntax.problems);
    let rejected = Rejected {
        problems,
        ..Rejected::default()
    };
    match build::build(&raw, texts, colours, rejected) {
        Ok(Built {
            mut config,
            warnings,
            notes,
            skipped,
            images,
        }) => {
            let skipped = skipped.into_iter().map(|message| Remark {
                file: file.to_owned(),
                line: None,
                column: None,
                key: "logic.folder".to_owned(),
                message,
            });
            config.source = Origin(Arc::new(Source {
                text: layers::inline(text, images),
                overrides,
                logic: config.logic.clone(),
            }));
            Ok(Checked {
                config,
                warnings: remarks(warnings).into_iter().chain(skipped).collect(),
                notes: remarks(notes),
            })
        }
        Err(Rejected { problems, drawn }) => Err(ConfigError::Rejected {
            remarks: remarks(problems.0),
            drawn,
        }),
    }
}
