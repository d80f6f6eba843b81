//! What is allowed in a world, but hardly meant.

use std::io::IsTerminal;

use program::say;
use script::diagnostic::draw_warnings;
use script::lint;
use world_file::Checked;

/// Prints the warnings of a world file and of its scripts, and what its world lacks. The number
/// of warnings.
pub fn print(checked: &Checked) -> usize {
    for warning in &checked.warnings {
        say!("warning: {warning}");
    }
    for note in &checked.notes {
        say!("note: {note}");
    }
    let scripts = lint::warnings(&checked.config);
    if !scripts.is_empty() {
        let colours = std::io::stdout().is_terminal();
        let drawn = draw_warnings(&scripts, &checked.config.logic.texts, colours);
        say!("{}", drawn.trim_end());
    }
    checked.warnings.len() + scripts.len()
}

/// Whether a check fails for its warnings, which it then says.
pub fn are_denied(warnings: usize, deny: bool) -> bool {
    let is_denied = deny && warnings > 0;
    if is_denied {
        say!("failed for {warnings} warnings, as --deny-warnings says");
    }
    is_denied
}
