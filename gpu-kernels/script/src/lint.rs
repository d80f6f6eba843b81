//! What is allowed in texts, but hardly meant: warnings, each with a name by which
//! `#[allow(name)]` silences it where it stands.
//!
//! | module | finds |
//! | --- | --- |
//! | `names` | what nothing uses, and what never runs |
//! | `flow` | reads after writes, and what two commands of a tick can spend twice |
//! | `world` | commands that nothing gives |
//! | `allow` | where warnings are silenced |

mod allow;
mod flow;
mod names;
mod world;

use std::ops::Range;

use shared::WorldConfig;
use shared::world::logic::{LogicConfig, Text};

pub use crate::diagnostic::Warning;
use crate::logic::with_stack;
use crate::parse::File;
use crate::unit::Unit;
use allow::Allowed;

/// The names of all warnings.
pub const NAMES: [&str; 13] = [
    CLAMPED_DELAYS,
    DOUBLE_SPENDS,
    HIDDEN_VALUES,
    IDLE_COMPARISONS,
    IDLE_RULES,
    LONG_LOOPS,
    STALE_READS,
    UNREACHABLE_CODE,
    UNUSED_ATTRIBUTES,
    UNUSED_COMMANDS,
    UNUSED_CONSTANTS,
    UNUSED_FUNCTIONS,
    UNUSED_VARIABLES,
];

const CLAMPED_DELAYS: &str = "clamped_delays";
const DOUBLE_SPENDS: &str = "double_spends";
const HIDDEN_VALUES: &str = "hidden_values";
const IDLE_COMPARISONS: &str = "idle_comparisons";
const IDLE_RULES: &str = "idle_rules";
const LONG_LOOPS: &str = "long_loops";
const STALE_READS: &str = "stale_reads";
const UNREACHABLE_CODE: &str = "unreachable_code";
/// Of an attribute in a world file, whose `allow` silences it.
const UNUSED_ATTRIBUTES: &str = "unused_attributes";
const UNUSED_COMMANDS: &str = "unused_commands";
const UNUSED_CONSTANTS: &str = "unused_constants";
const UNUSED_FUNCTIONS: &str = "unused_functions";
const UNUSED_VARIABLES: &str = "unused_variables";

/// The warnings of a checked world's own texts, by text and place. Texts that don't compile
/// have none.
pub fn warnings(config: &WorldConfig) -> Vec<Warning> {
    with_stack(|| Ok(find(config))).unwrap_or_default()
}

fn find(config: &WorldConfig) -> Vec<Warning> {
    let (schema, logic) = (&config.schema, &config.logic);
    let mut problems = vec![];
    let files: Vec<File<'_>> = logic
        .texts
        .iter()
        .map(|text| File::parse(schema, text, &mut problems))
        .collect();
    if !problems.is_empty() {
        return vec![];
    }
    let unit = unit(config, logic, &files);
    let mut found = Found {
        unit: &unit,
        warnings: vec![],
    };
    let uses = names::check(&mut found);
    flow::check(&mut found, config);
    world::check(&mut found, config, &uses);
    let allowed: Vec<Allowed> = logic.texts.iter().map(allowed_in).collect();
    let mut warnings = found.warnings;
    warnings.retain(|(file, warning)| {
        !files[*file].text.is_builtin
            && !allowed[*file].silences(warning.name, warning.diagnostic.span.start)
    });
    warnings.sort_by(|(a_file, a), (b_file, b)| {
        let place = |file: usize, w: &Warning| (file, w.diagnostic.span.start, w.name);
        place(*a_file, a).cmp(&place(*b_file, b))
    });
    warnings.dedup();
    warnings.into_iter().map(|(_, warning)| warning).collect()
}

fn allowed_in(text: &Text) -> Allowed {
    Allowed::of(&text.text)
}

fn unit<'a>(config: &'a WorldConfig, logic: &'a LogicConfig, files: &'a [File<'a>]) -> Unit<'a> {
    let mut unit = Unit::new(
        &config.schema,
        &config.symbols,
        files,
        logic.budget,
        &logic.constants,
        logic.numbers.clone(),
    );
    unit.has_sites = true;
    unit
}

/// The warnings so far, with the numbers of their texts.
struct Found<'a> {
    unit: &'a Unit<'a>,
    warnings: Vec<(usize, Warning)>,
}

impl Found<'_> {
    fn warn(
        &mut self,
        name: &'static str,
        (file, place): (usize, Range<usize>),
        message: impl Into<String>,
        label: impl Into<String>,
        help: impl Into<String>,
    ) {
        let mut diagnostic = self.unit.files[file].at_bytes(place, message, label);
        diagnostic.help = Some(help.into()).filter(|help| !help.is_empty());
        self.warnings.push((file, Warning { name, diagnostic }));
    }
}
