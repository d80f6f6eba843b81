//! The built-in texts, of which a world chooses.

use shared::world::logic::{Numbers, Text};
use shared::{CommandKind, NotificationKind};

/// The texts that a world without scripts of its own has.
pub const USUAL: [&str; 7] = ["move", "strike", "heal", "blast", "pick", "roam", "shout"];

const TEXTS: [(&str, &str); 17] = [
    ("move.rs", include_str!("../builtin/move.rs")),
    ("strike.rs", include_str!("../builtin/strike.rs")),
    ("heal.rs", include_str!("../builtin/heal.rs")),
    ("blast.rs", include_str!("../builtin/blast.rs")),
    ("pick.rs", include_str!("../builtin/pick.rs")),
    ("roam.rs", include_str!("../builtin/roam.rs")),
    ("shout.rs", include_str!("../builtin/shout.rs")),
    ("poison.rs", include_str!("../builtin/poison.rs")),
    ("shield.rs", include_str!("../builtin/shield.rs")),
    ("follow.rs", include_str!("../builtin/follow.rs")),
    ("teleport.rs", include_str!("../builtin/teleport.rs")),
    ("harvest.rs", include_str!("../builtin/harvest.rs")),
    ("trade.rs", include_str!("../builtin/trade.rs")),
    ("taunt.rs", include_str!("../builtin/taunt.rs")),
    ("score.rs", include_str!("../builtin/score.rs")),
    ("steer.rs", include_str!("../builtin/steer.rs")),
    ("say.rs", include_str!("../builtin/say.rs")),
];

/// The names of all texts.
pub fn names() -> impl Iterator<Item = &'static str> {
    TEXTS.iter().map(|(file, _)| file.trim_end_matches(".rs"))
}

/// The text of a name.
pub fn text(name: &str) -> Option<Text> {
    let mut texts = TEXTS.iter();
    let &(file, text) = texts.find(|(file, _)| file.strip_suffix(".rs") == Some(name))?;
    Some(Text {
        file: file.to_owned(),
        text: text.to_owned(),
        is_builtin: true,
    })
}

/// The text of a name in a world with walls: there, steps go along these. In worlds without, the
/// texts stay as they were, since state hashes depend on them.
pub fn text_for_walls(name: &str) -> Option<Text> {
    let mut text = text(name)?;
    if WALKS.contains(&name) {
        let line = |line: &str| match step_of(line) {
            Some(step) => format!("{STEP_START}slide(me, {step}){STEP_END}\n"),
            None => format!("{line}\n"),
        };
        text.text = text.text.lines().map(line).collect();
    }
    Some(text)
}

/// The offset that a line adds to the position.
fn step_of(line: &str) -> Option<&str> {
    line.strip_prefix(STEP_START)?.strip_suffix(STEP_END)
}

const WALKS: [&str; 4] = ["move", "roam", "follow", "steer"];
const STEP_START: &str = "    me.position += ";
const STEP_END: &str = ";";

pub const MOVE: CommandKind = CommandKind(2);
pub const STRIKE: CommandKind = CommandKind(3);
pub const HEAL: CommandKind = CommandKind(4);
pub const BLAST: CommandKind = CommandKind(5);
pub const PICK: CommandKind = CommandKind(6);
pub const ROAM: CommandKind = CommandKind(7);
pub const BURN: CommandKind = CommandKind(8);
pub const SHOUT: CommandKind = CommandKind(9);
pub const BLAST_NOTIFICATION: NotificationKind = NotificationKind(2);
pub const SHOUT_NOTIFICATION: NotificationKind = NotificationKind(3);

/// The numbers of the set's names: the same in every world.
pub fn numbers() -> Numbers {
    Numbers::of(
        &[
            "move", "strike", "heal", "blast", "pick", "roam", "burn", "shout", "poison", "sicken",
            "shield", "unshield", "follow", "teleport", "harvest", "regrow", "trade", "taunt",
            "score", "steer", "drift", "say",
        ],
        &["blast", "shout", "say"],
    )
}
