//! Edits: cells of layers that scripts changed in a tick, which are others from the next one on.

use shared::Limits;
use shared::world::edit::{EDIT_KIND, Edit, LayerKind};
use shared::world::layer::Layers;

use crate::notification::Notification;
use crate::tick::output::TickOutput;

/// Applies the edits among a tick's notifications, in their order, and counts them. Returns what this
/// adds to the state hash, wrapping.
pub fn apply(layers: &mut Layers, limits: &Limits, output: &mut TickOutput) -> u64 {
    let (mut taken, mut added) = (0, 0u64);
    for notification in &output.notifications {
        if notification.kind != EDIT_KIND.0 {
            continue;
        }
        let edit = of(layers, notification).filter(|_| taken < limits.edits_per_tick);
        let Some(edit) = edit.filter(|edit| has_room(layers, limits, edit)) else {
            output.counts.edits_dropped += 1;
            continue;
        };
        taken += 1;
        let before = element(layers, &edit);
        if layers.edit(&edit) {
            added = added.wrapping_add(element(layers, &edit).wrapping_sub(before));
            output.edits.push(edit);
        }
    }
    output.counts.edits = output.edits.len() as u64;
    added
}

/// The edit that a notification carries; `None` if these layers don't allow it.
fn of(layers: &Layers, notification: &Notification) -> Option<Edit> {
    let &[number, cell, word] = notification.words() else {
        return None;
    };
    let layer = LayerKind::of(number)?;
    let edit = Edit {
        layer,
        cell: cell.cast_unsigned(),
        value: layers.value_of(layer, word)?,
    };
    layers.allows(&edit).then_some(edit)
}

/// Whether no more cells than may be differ after an edit.
fn has_room(layers: &Layers, limits: &Limits, edit: &Edit) -> bool {
    let base = layers.unedited(edit.layer, edit.cell);
    let differs = layers.value(edit.layer, edit.cell) != base;
    differs || Some(edit.value) == base || layers.edits().len() < limits.edited_cells as usize
}

/// The element of an edit's cell as it is; 0 unless it differs.
fn element(layers: &Layers, edit: &Edit) -> u64 {
    let &Edit { layer, cell, .. } = edit;
    let value = layers.value(layer, cell);
    match value {
        Some(value) if layers.unedited(layer, cell) != Some(value) => {
            Edit { value, ..*edit }.element()
        }
        _ => 0,
    }
}
