//! Which things clients see, and whose.

use serde::{Deserialize, Serialize};

/// Who sees the things of a kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Shown {
    /// Nobody, nor what they hold.
    None,
    /// The client whose entity holds them, also in other things that it sees.
    #[default]
    Holder,
    /// Also who sees the entity that holds them.
    All,
}

/// Which things of a world clients see. The default is of a world that shows none.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ShownThings {
    /// By kind; [`Shown::None`] for kinds that are no things.
    pub kinds: Vec<Shown>,
    /// The column of the players' kind that refers to an entity whose things the client sees, too.
    pub opened: Option<u16>,
}

impl ShownThings {
    /// Who sees the things of a kind.
    pub fn of(&self, kind: u16) -> Shown {
        let own = self.kinds.get(usize::from(kind));
        own.copied().unwrap_or(Shown::None)
    }

    /// Whether clients see any things.
    pub fn are_some(&self) -> bool {
        self.kinds.iter().any(|shown| *shown != Shown::None)
    }

    /// Whether clients see some of other entities.
    pub fn are_some_of_others(&self) -> bool {
        self.kinds.contains(&Shown::All)
    }
}

/// The most things of its own entity that a client sees, and of the one that it has opened.
pub const THINGS_MAX: usize = 2048;
/// The most things that it sees of each other entity.
pub const THINGS_OF_OTHERS_MAX: usize = 64;
