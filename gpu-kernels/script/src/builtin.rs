//! The built-in set: the commands of worlds without scripts of their own.

use crate::logic::Numbers;
use crate::parse::Text;

/// Its texts. A world has those of its commands whose attributes it has.
pub const TEXTS: [(&str, &str); 15] = [
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
];

/// The texts as a world holds them.
pub fn texts() -> Vec<Text> {
    TEXTS
        .iter()
        .map(|&(file, text)| Text::new(file, text))
        .collect()
}

/// The numbers of the set's names: the same in every world.
pub fn numbers() -> Numbers {
    Numbers::of(
        &[
            "move", "strike", "heal", "blast", "pick", "roam", "burn", "shout", "poison", "sicken",
            "shield", "unshield", "follow", "teleport", "harvest", "regrow", "trade", "taunt",
            "score",
        ],
        &["blast", "shout"],
    )
}
