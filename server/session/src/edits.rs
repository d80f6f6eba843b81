//! Cells of layers that scripts changed, as a client is sent them: all that differ from the file, part by
//! part, then those of each tick.

use shared::wire::stream::EDITS_MAX;
use shared::world::edit::{Edit, LayerKind};

use super::frame::{FrameWriter, TickView};

/// What a client has been sent of the cells that differ.
#[derive(Debug)]
pub struct Edits {
    /// The first one, by layer and cell, that it has not been sent; `None`: it has all.
    next: Option<(LayerKind, u32)>,
}

impl Default for Edits {
    fn default() -> Edits {
        Edits {
            next: Some((LayerKind::Blocked, 0)),
        }
    }
}

impl Edits {
    /// Writes what a tick changed of the cells that the client has, then the next ones that it lacks:
    /// none if its stream is full.
    pub fn write(&mut self, view: TickView<'_>, is_thin: bool, frame: &mut FrameWriter<'_>) {
        let has = |edit: &&Edit| self.next.is_none_or(|next| (edit.layer, edit.cell) < next);
        let new: Vec<Edit> = (view.publication.output.edits.iter())
            .filter(has)
            .copied()
            .collect();
        for edits in new.chunks(EDITS_MAX) {
            frame.codec.edits(frame.message(), edits);
        }
        let Some(next) = self.next.filter(|_| !is_thin) else {
            return;
        };
        let stream = view.world.config.limits.client_stream_bytes as usize;
        let most = (stream / 4 / EDIT_BYTES).clamp(1, EDITS_PER_TICK);
        let mut rest = view.mirror.layers().edits_from(next);
        let part: Vec<Edit> = rest.by_ref().take(most).collect();
        self.next = rest.next().map(|edit| (edit.layer, edit.cell));
        if !part.is_empty() {
            frame.codec.edits(frame.message(), &part);
        }
    }
}

/// What an edit takes at most.
const EDIT_BYTES: usize = 6;
/// Cells that a client is sent in a tick of those that it lacks.
const EDITS_PER_TICK: usize = 4096;
