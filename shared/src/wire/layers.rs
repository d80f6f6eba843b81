//! The layers of a world: their descriptions in the welcome, and their content, which a client
//! fetches once.
//!
//! The content of a layer is its cells row by row, from the lowest `y` on, each from the lowest `x`
//! on:
//!
//! | layer | a cell |
//! | --- | --- |
//! | `Blocked` | 1 bit, eight in a byte, the lowest first: 1 is a wall |
//! | `Height` | 2 bytes, the lowest first, in two's complement |
//! | `Tag` | 1 byte: 0 is none, *n* is the *n*-th tag of the description |
//!
//! It travels as a zlib stream (RFC 1950), in the [messages](super::stream::Message) `layer`.

use serde::{Deserialize, Serialize};
use thiserror::Error;

pub use crate::world::edit::LayerKind;
use crate::world::layer::{CELLS_MAX, Layers, Sheet, Sheets, cells_of};
use crate::world::mix::hash_of;

/// A layer of a world.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LayerInfo {
    pub kind: LayerKind,
    /// Along `x` and `y`.
    pub cells: [u32; 2],
    /// The binary logarithm of the edge of a cell, in raw units.
    pub edge_bits: u8,
    /// Of the content: layers of one hash have the same.
    pub hash: u64,
    /// The bytes of the content as they travel.
    pub packed_bytes: u32,
    /// Of the layer of tags: the symbols of the tags 1, 2, …
    pub tags: Vec<i32>,
    /// Whether scripts change its cells, so that clients are sent [edits](crate::world::edit). A welcome
    /// has it in a field of its own, as older clients know nothing of it.
    #[serde(skip)]
    pub is_editable: bool,
}

/// Why bytes are not the content of a layer.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum LayerError {
    #[error("the world has no layer with the hash {0:016x}")]
    Unknown(u64),
    #[error("the layer `{layer}` has {found} bytes, expected {expected}")]
    Length {
        layer: &'static str,
        found: usize,
        expected: usize,
    },
    #[error("the layer `{layer}` has the hash {found:016x}, expected {expected:016x}")]
    Hash {
        layer: &'static str,
        found: u64,
        expected: u64,
    },
    #[error("the layer `{layer}` is not a zlib stream of {expected} bytes")]
    Packed {
        layer: &'static str,
        expected: usize,
    },
}

/// The most bytes of a content.
pub const LAYER_BYTES_MAX: usize = 2 * (CELLS_MAX as usize) * (CELLS_MAX as usize);
/// The most bytes of a content as it travels.
pub const LAYER_PACKED_BYTES_MAX: usize = packed_max(LAYER_BYTES_MAX);
/// The most bytes of a content in one message.
pub const LAYER_PART_BYTES_MAX: usize = (1 << 16) - 1;

impl LayerInfo {
    /// The bytes of the content, unpacked.
    pub fn content_bytes(&self) -> usize {
        let [width, height] = self.cells.map(|cells| cells as usize);
        (width * height * self.kind.bits() as usize).div_ceil(8)
    }

    /// Checks a content.
    pub fn check(&self, content: &[u8]) -> Result<(), LayerError> {
        let (layer, expected) = (self.kind.name(), self.content_bytes());
        let found = content.len();
        if found != expected {
            return Err(LayerError::Length {
                layer,
                found,
                expected,
            });
        }
        let (found, expected) = (hash_of(content), self.hash);
        match found == expected {
            true => Ok(()),
            false => Err(LayerError::Hash {
                layer,
                found,
                expected,
            }),
        }
    }
}

/// The descriptions and contents of the layers of a world. `packed_bytes` is 0 in them.
pub fn contents(layers: &Layers) -> Vec<(LayerInfo, Vec<u8>)> {
    let sheets = layers.sheets();
    let mut all = vec![];
    let mut add = |kind: LayerKind, cells: [i32; 2], edge_bits: u32, content: Vec<u8>| {
        let info = LayerInfo {
            kind,
            cells: cells.map(i32::cast_unsigned),
            edge_bits: u8::try_from(edge_bits).unwrap_or(u8::MAX),
            hash: hash_of(&content),
            packed_bytes: 0,
            tags: match kind {
                LayerKind::Tag => sheets.tag_symbols.clone(),
                _ => vec![],
            },
            is_editable: layers.is_editable(kind),
        };
        all.push((info, content));
    };
    if let (Some(walls), Some(sheet)) = (layers.blocked(), &sheets.blocked) {
        let bytes = sheet.cells.chunks(8).map(|cells| {
            let bits = cells.iter().rev();
            bits.fold(0, |byte, &is_wall| byte << 1 | u8::from(is_wall))
        });
        let (cells, content) = (walls.grid.cells, bytes.collect());
        add(LayerKind::Blocked, cells, sheet.edge_bits, content);
    }
    if let (Some(grid), Some(sheet)) = (layers.height(), &sheets.height) {
        let bytes = sheet.cells.iter().flat_map(|height| height.to_le_bytes());
        let (cells, content) = (grid.cells, bytes.collect());
        add(LayerKind::Height, cells, sheet.edge_bits, content);
    }
    if let (Some(tags), Some(sheet)) = (layers.tag(), &sheets.tag) {
        let content = sheet.cells.clone();
        add(LayerKind::Tag, tags.grid.cells, sheet.edge_bits, content);
    }
    all
}

/// The layers of a world of this size, in raw units, of their contents. All are checked. `home` is the
/// size of its plane 0, or 0.
pub fn assemble(
    size: [i32; 3],
    home: [i32; 2],
    infos: &[LayerInfo],
    contents: &[impl AsRef<[u8]>],
) -> Layers {
    let mut sheets = Sheets {
        home,
        ..Sheets::default()
    };
    for (info, content) in infos.iter().zip(contents) {
        let (edge_bits, content) = (u32::from(info.edge_bits), content.as_ref());
        sheets.editable[info.kind as usize] = info.is_editable;
        match info.kind {
            LayerKind::Blocked => {
                let [width, height] = info.cells.map(|cells| cells as usize);
                let bits = content
                    .iter()
                    .flat_map(|byte| (0..8).map(move |bit| byte >> bit & 1 == 1));
                let cells = bits.take(width * height).collect();
                sheets.blocked = Some(Sheet { edge_bits, cells });
            }
            LayerKind::Height => {
                let cells = content.as_chunks().0.iter();
                let cells = cells.map(|&bytes| i16::from_le_bytes(bytes)).collect();
                sheets.height = Some(Sheet { edge_bits, cells });
            }
            LayerKind::Tag => {
                // A number beyond the tags is none.
                let most = info.tags.len();
                let cells = content.iter().map(|&tag| match usize::from(tag) > most {
                    true => 0,
                    false => tag,
                });
                sheets.tag = Some(Sheet {
                    edge_bits,
                    cells: cells.collect(),
                });
                sheets.tag_symbols.clone_from(&info.tags);
            }
        }
    }
    Layers::new(size, &sheets)
}

/// Whether these can be the layers of a world of this size, in raw units, and with so many symbols;
/// if not, what is wrong. From the network, they may be anything.
pub fn check(infos: &[LayerInfo], size: [i32; 3], symbols: usize) -> Result<(), &'static str> {
    let require = |holds: bool, what| if holds { Ok(()) } else { Err(what) };
    require(
        infos.is_sorted_by(|a, b| a.kind < b.kind),
        "the layers are not in order",
    )?;
    for info in infos {
        let edges = EDGE_BITS_MIN..=EDGE_BITS_MAX;
        require(
            edges.contains(&info.edge_bits),
            "the edge of a layer's cell is out of range",
        )?;
        let cells = [0, 1].map(|axis: usize| cells_of(size[axis], info.edge_bits.into()));
        let fits = cells.iter().all(|cells| (1..=CELLS_MAX).contains(cells));
        require(
            fits && cells.map(i32::cast_unsigned) == info.cells,
            "a layer's cells do not cover the world",
        )?;
        require(
            info.packed_bytes as usize <= packed_max(info.content_bytes()),
            "a layer's content is too long",
        )?;
        let tags = info.tags.iter().map(|&tag| usize::try_from(tag));
        let is_known = tags
            .into_iter()
            .all(|tag| tag.is_ok_and(|tag| tag < symbols));
        require(
            is_known && info.tags.len() <= TAGS_MAX,
            "a layer has tags that the world lacks",
        )?;
    }
    Ok(())
}

/// The most bytes of a content of this length as it travels: a zlib stream is hardly longer than what
/// it holds.
const fn packed_max(content_bytes: usize) -> usize {
    content_bytes + content_bytes / 1024 + 64
}

#[cfg(feature = "deflate")]
mod packing {
    use miniz_oxide::deflate::compress_to_vec_zlib;
    use miniz_oxide::inflate::decompress_to_vec_zlib_with_limit;

    use super::{LayerError, LayerInfo};

    /// A content as it travels.
    pub fn pack(content: &[u8]) -> Vec<u8> {
        compress_to_vec_zlib(content, LEVEL)
    }

    /// Unpacks and checks a content. Nothing longer than it is unpacked, whatever the bytes are.
    pub fn unpack(info: &LayerInfo, packed: &[u8]) -> Result<Vec<u8>, LayerError> {
        let expected = info.content_bytes();
        let content = decompress_to_vec_zlib_with_limit(packed, expected);
        let content = content.map_err(|_| LayerError::Packed {
            layer: info.kind.name(),
            expected,
        })?;
        info.check(&content)?;
        Ok(content)
    }

    /// More takes longer than it saves: a start waits for it.
    const LEVEL: u8 = 4;
}

#[cfg(feature = "deflate")]
pub use packing::{pack, unpack};

/// Edges of cells: from 1/16 to 1024 units.
const EDGE_BITS_MIN: u8 = 8;
const EDGE_BITS_MAX: u8 = 22;
/// The most tags of a layer.
pub const TAGS_MAX: usize = 255;

#[cfg(all(test, feature = "deflate"))]
mod tests {
    use super::*;

    const UNIT: i32 = 4096;

    fn info(kind: LayerKind, cells: [u32; 2], content: &[u8]) -> LayerInfo {
        LayerInfo {
            kind,
            cells,
            edge_bits: 12,
            hash: hash_of(content),
            packed_bytes: 0,
            tags: vec![],
            is_editable: false,
        }
    }

    #[test]
    fn layers_are_the_same_after_they_travelled() {
        let size = [37 * UNIT - 5, 21 * UNIT, 1];
        let number = |at: usize| hash_of(&at.to_le_bytes());
        let height = |at| i16::try_from(number(at) % 30_000).expect("a small number") - 20_000;
        let sheets = Sheets {
            blocked: Some(Sheet {
                edge_bits: 12,
                cells: (0..37 * 21)
                    .map(|at| at > 0 && number(at) % 3 == 0)
                    .collect(),
            }),
            height: Some(Sheet {
                edge_bits: 13,
                cells: (0..19 * 11).map(height).collect(),
            }),
            tag: Some(Sheet {
                edge_bits: 14,
                cells: (0..10 * 6).map(|at| (number(at) % 3) as u8).collect(),
            }),
            tag_symbols: vec![1, 0],
            home: [20 * UNIT, 0],
            editable: [true, false, true],
        };
        let layers = Layers::new(size, &sheets);
        assert_eq!(layers.sheets(), sheets);
        let (infos, raw): (Vec<LayerInfo>, Vec<Vec<u8>>) = contents(&layers).into_iter().unzip();
        assert_eq!(
            infos.iter().map(|info| info.content_bytes()).sum::<usize>(),
            98 + 418 + 60
        );
        assert_eq!(check(&infos, size, 2), Ok(()));
        let again: Vec<Vec<u8>> = infos
            .iter()
            .zip(&raw)
            .map(|(info, content)| unpack(info, &pack(content)).unwrap())
            .collect();
        let arrived = assemble(size, sheets.home, &infos, &again);
        assert_eq!(arrived, layers);
        assert_eq!(arrived.words(), layers.words());
        assert_eq!(arrived.hash(), layers.hash());
    }

    #[test]
    fn wrong_contents_are_refused_with_what_was_expected() {
        let content = [7; 20];
        let info = info(LayerKind::Height, [5, 2], &content);
        let error = |packed: &[u8]| unpack(&info, packed).unwrap_err().to_string();
        assert_eq!(unpack(&info, &pack(&content)), Ok(content.to_vec()));
        assert_eq!(
            error(&pack(&[7; 19])),
            "the layer `height` has 19 bytes, expected 20"
        );
        assert_eq!(
            error(&pack(&[8; 20])),
            format!(
                "the layer `height` has the hash {:016x}, expected {:016x}",
                hash_of(&[8; 20]),
                info.hash
            )
        );
        let no_stream = "the layer `height` is not a zlib stream of 20 bytes";
        // Also one that would become a hundred million bytes.
        for packed in [
            &pack(&vec![0; 100_000_000])[..],
            &pack(&[7; 21]),
            b"",
            b"height",
        ] {
            assert_eq!(error(packed), no_stream);
        }
    }

    #[test]
    fn descriptions_that_no_world_has_are_refused() {
        let size = [8 * UNIT, 8 * UNIT, 1];
        let good = info(LayerKind::Tag, [8, 8], &[]);
        let wrong = |change: fn(&mut LayerInfo)| {
            let mut wrong = good.clone();
            change(&mut wrong);
            check(&[wrong], size, 1)
        };
        assert_eq!(wrong(|_| {}), Ok(()));
        assert_eq!(wrong(|info| info.tags = vec![0]), Ok(()));
        assert!(wrong(|info| info.tags = vec![1]).is_err());
        assert!(wrong(|info| info.tags = vec![-1]).is_err());
        assert!(wrong(|info| info.tags = vec![0; 256]).is_err());
        assert!(wrong(|info| info.edge_bits = 7).is_err());
        assert!(wrong(|info| info.edge_bits = 33).is_err());
        assert!(wrong(|info| info.cells = [8, 9]).is_err());
        assert!(wrong(|info| info.packed_bytes = u32::MAX).is_err());
        assert!(check(&[good.clone(), good.clone()], size, 1).is_err());
        // Of cells so small that too many would cover the world.
        let tiny = LayerInfo {
            edge_bits: 8,
            ..info(LayerKind::Tag, [1 << 22, 1 << 22], &[])
        };
        assert!(check(&[tiny], [1 << 30, 1 << 30, 1], 1).is_err());
    }
}
