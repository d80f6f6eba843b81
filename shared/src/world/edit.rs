//! Edits: cells of [layers](super::layer) that scripts change while a world runs.
//!
//! A script's edit travels through a tick as a notification of the kind [`EDIT_KIND`], which no world
//! declares: so edits have the order of notifications, and the same room.

use serde::{Deserialize, Serialize};

use super::mix::mix;
use super::notification::NotificationKind;

/// What the cells of a layer are. A world has at most one of each, in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[repr(u8)]
pub enum LayerKind {
    Blocked,
    Height,
    Tag,
}

impl LayerKind {
    pub const ALL: [LayerKind; 3] = [LayerKind::Blocked, LayerKind::Height, LayerKind::Tag];

    /// As world files have it.
    pub fn name(self) -> &'static str {
        match self {
            LayerKind::Blocked => "blocked",
            LayerKind::Height => "height",
            LayerKind::Tag => "tag",
        }
    }

    /// Bits of a cell.
    pub fn bits(self) -> u32 {
        match self {
            LayerKind::Blocked => 1,
            LayerKind::Height => 16,
            LayerKind::Tag => 8,
        }
    }

    /// The layer of this number, counted from 0.
    pub fn of(number: i32) -> Option<LayerKind> {
        let place = usize::try_from(number).ok()?;
        LayerKind::ALL.get(place).copied()
    }
}

/// What a cell of a layer is from now on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Edit {
    pub layer: LayerKind,
    /// The number of the cell: row by row, from the lowest `y` on, each from the lowest `x` on.
    pub cell: u32,
    /// Of `blocked`, 0 or 1; a height; the number of a tag, or 0.
    pub value: i32,
}

impl Edit {
    /// Its element of the state hash.
    pub fn element(&self) -> u64 {
        let place = 17 << 56 | (self.layer as u64) << 32 | u64::from(self.cell);
        mix(place, u64::from(self.value.cast_unsigned()))
    }
}

/// The kind of the notifications that carry edits. Their words are the number of the layer, the cell,
/// and the value; of a tag, its symbol.
pub const EDIT_KIND: NotificationKind = NotificationKind(u16::MAX);
