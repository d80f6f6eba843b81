//! The initial state of a loop: of a new world, or of a recovered one.

use durability::characters::Rows;
use durability::recovered::Recovered;
use durability::roster::RosterChange;
use gpu_kernels::{Frame, StateHash};
use shared::{Tick, WorldConfig};
use tracing::warn;

use crate::characters::Characters;
use crate::directory::Directory;
use crate::holdings::Holdings;

/// The initial state of a loop.
pub(super) struct InitialState {
    pub(super) frame: Frame,
    pub(super) directory: Directory,
    pub(super) holdings: Holdings,
    pub(super) before: StateHash,
    pub(super) characters: Option<Characters>,
    pub(super) changes: Vec<RosterChange>,
}

impl InitialState {
    /// A new world.
    pub(super) fn new(config: &WorldConfig, holdings: Holdings) -> InitialState {
        let mut frame = Frame::new(Tick(0));
        frame.populate(config);
        InitialState {
            frame,
            directory: Directory::new(config),
            holdings,
            before: StateHash::default(),
            characters: None,
            changes: vec![],
        }
    }

    /// A recovered world.
    pub(super) fn recovered(
        config: &WorldConfig,
        mut holdings: Holdings,
        from: &Recovered,
        rows: Rows,
    ) -> InitialState {
        let next = from.snapshot.tick;
        let mut frame = Frame::new(next);
        if next == Tick(0) {
            frame.populate(config);
        }
        let left_out = holdings.restore(&from.roster);
        if left_out > 0 {
            warn!(
                left_out,
                "subscriptions that the world's scripts don't allow any more"
            );
        }
        holdings.record_changes();
        let mut directory = Directory::restore(config, &from.roster, next);
        // No client watches the position of a death: all sessions have ended.
        directory.settle(&from.last, |_| [0; 3]);
        let mut characters = Characters::new(config, rows);
        if let Some(characters) = &mut characters {
            characters.restore(&from.roster);
            characters.settle(&from.last, &directory, None);
        }
        // The journal may lack these, if it ended with the deaths.
        let saved = from.roster.characters.clone().into_iter();
        let changes = saved.map(|(account, row)| RosterChange::Character { account, row });
        directory.lose_sessions(&from.snapshot, &mut frame);
        InitialState {
            frame,
            directory,
            holdings,
            before: from.hash.clone(),
            characters,
            changes: changes.collect(),
        }
    }
}
