//! How often an entity may use a command: what a world file sets for it, beside constants.

use shared::world::config::DELAY_TICKS_MAX;
use shared::world::logic::Constant;

use crate::unit::{Signature, Unit};

/// How often a client may give a command for its entity in a tick, and how long it rests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Usage {
    /// 0: as often as it wants.
    pub per_tick: u8,
    pub cooldown: u32,
}

/// The keys of a command in a world file.
pub const KEYS: [&str; 2] = ["per_tick", "cooldown"];

/// Whether `commands.NAME.key` says how often a command may be used. If the text of that name
/// has a constant of this name, the key sets the constant.
pub fn is_usage(unit: &Unit<'_>, name: &str, key: &str) -> bool {
    let is_constant = || {
        let mut constants = unit.constants();
        constants.any(|(file, item)| {
            unit.files[file].text.stem() == name && item.name.to_lowercase() == key
        })
    };
    KEYS.contains(&key) && unit.commands.contains_key(name) && !is_constant()
}

/// What the world file says of a command, or the defaults. Only clients are bounded.
pub fn usage(unit: &Unit<'_>, signature: &Signature<'_>) -> Usage {
    let name = signature.function.name.as_str();
    let is_clients = signature.function.senders.is_some_and(|s| s.clients);
    let set = |key: &str, most: u32| {
        let setting = unit.setting_of(name, key)?;
        if !is_usage(unit, name, key) {
            return None;
        }
        let message = match setting {
            _ if !is_clients => "no client can give this command".to_owned(),
            Constant::Int(number) => match u32::try_from(*number) {
                Ok(number) if number <= most => return Some(number),
                _ => format!("expected 0 to {most}, found {number}"),
            },
            other => format!("expected a whole number, found {other}"),
        };
        unit.wrong_setting(name, key, message);
        None
    };
    let [per_tick, cooldown] = KEYS;
    Usage {
        per_tick: set(per_tick, u32::from(u8::MAX))
            .and_then(|number| u8::try_from(number).ok())
            .unwrap_or(u8::from(is_clients)),
        cooldown: set(cooldown, DELAY_TICKS_MAX).unwrap_or(0),
    }
}
