//! Commands that nothing gives.

use shared::WorldConfig;

use super::names::Uses;
use super::{Found, IDLE_RULES, UNUSED_COMMANDS};

pub fn check(found: &mut Found<'_>, config: &WorldConfig, uses: &Uses) {
    // Scripts without a world file may be for any.
    let has_file = !config.source.0.text.is_empty();
    let unit = found.unit;
    for (name, signature) in &unit.commands {
        let senders = signature.function.senders.unwrap_or_default();
        let is_hook = config.hooks.iter().any(|h| h.command == signature.kind)
            || !signature.function.hooks.is_empty();
        let is_ruled = config.every.iter().any(|e| e.command == signature.kind);
        if senders.clients || is_hook || is_ruled || uses.commands.contains(name) {
            continue;
        }
        let file = signature.file;
        let place = (file, unit.files[file].range(signature.function.span));
        if !senders.rules {
            let message = format!("nothing gives the command `{name}`");
            let label = "no `after` names it, and no kind gives it when `born`";
            let help =
                "declare what gives it: `#[command(clients)]`, `#[command(rules)]` or `#[on(…)]`";
            found.warn(UNUSED_COMMANDS, place, message, label, help);
        } else if has_file {
            let message = format!("no rule gives the command `{name}`");
            let label = "no `[[every]]` of the world file names it";
            let help = format!("add `[[every]]` with `command = \"{name}\"` to the world file");
            found.warn(IDLE_RULES, place, message, label, help);
        }
    }
}
