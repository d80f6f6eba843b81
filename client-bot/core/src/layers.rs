//! The layers of a world: walls, heights and tags. The welcome describes them; a client fetches their
//! content once, and keeps it by its hash.

use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use shared::wire::DecodeError;
use shared::wire::layers::{LayerError, LayerInfo, LayerKind, assemble};
use shared::world::edit::Edit;
use shared::world::layer::Layers;
use shared::world::limits::EDITED_CELLS_MAX;

/// Where a game has the content of its world's layers from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LayerSource {
    /// The session. Without the feature `inflate`, the caller unpacks it.
    Session,
    /// The caller, who fetches [`Game::missing_layers`](crate::Game::missing_layers), for example by
    /// HTTP.
    Caller,
}

/// The layers of the last worlds, for games that come to one of them again. Clones share it.
#[derive(Clone, Default)]
pub struct LayerCache(Arc<Mutex<VecDeque<Kept>>>);

struct Kept {
    size: [i32; 3],
    home: [i32; 2],
    infos: Vec<LayerInfo>,
    layers: Layers,
}

impl LayerCache {
    fn get(&self, size: [i32; 3], home: [i32; 2], infos: &[LayerInfo]) -> Option<Layers> {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let found = kept
            .iter()
            .find(|kept| kept.size == size && kept.home == home && kept.infos == infos);
        found.map(|kept| kept.layers.clone())
    }

    fn keep(&self, kept: Kept) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if all.len() == WORLDS_KEPT {
            all.pop_front();
        }
        all.push_back(kept);
    }
}

impl fmt::Debug for LayerCache {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("LayerCache")
    }
}

/// The contents of a world's layers that a client has, and what is on its way.
#[derive(Debug, Default)]
pub(crate) struct LayerFetch {
    size: [i32; 3],
    /// The size of plane 0; 0 in a world without planes.
    home: [i32; 2],
    infos: Vec<LayerInfo>,
    cache: LayerCache,
    /// One for each description; unpacked, and checked.
    contents: Vec<Option<Vec<u8>>>,
    is_asked: bool,
    /// The part that has arrived of the layer that is being sent.
    arriving: Vec<u8>,
    /// Layers that have arrived, for the caller to unpack, with their hashes.
    packed: VecDeque<(u64, Vec<u8>)>,
    /// By layer and cell: what scripts made of them, while layers are missing.
    edited: BTreeMap<(LayerKind, u32), i32>,
}

impl LayerFetch {
    /// Of a world of this size and that of its plane 0, with these layers.
    pub fn new(size: [i32; 3], home: [i32; 2], infos: &[LayerInfo]) -> LayerFetch {
        LayerFetch {
            size,
            home,
            infos: infos.to_vec(),
            contents: vec![None; infos.len()],
            ..LayerFetch::default()
        }
    }

    pub fn infos(&self) -> &[LayerInfo] {
        &self.infos
    }

    /// The layers, if an earlier session had them. Those that come are kept.
    pub fn look_up(&mut self, cache: &LayerCache) -> Option<Layers> {
        self.cache = cache.clone();
        let found = self.cache.get(self.size, self.home, &self.infos)?;
        self.contents.clear();
        Some(found)
    }

    /// The layers whose content is missing; none of a world with more than clients keep.
    pub fn missing(&self) -> impl Iterator<Item = &LayerInfo> {
        let all = self.infos.iter().map(LayerInfo::content_bytes);
        let is_kept = all.sum::<usize>() <= LAYERS_BYTES_MAX;
        let each = self.infos.iter().zip(&self.contents);
        each.filter(move |(_, content)| is_kept && content.is_none())
            .map(|(info, _)| info)
    }

    /// The hashes to ask the session for, once.
    pub fn ask(&mut self) -> Vec<u64> {
        if std::mem::replace(&mut self.is_asked, true) {
            return vec![];
        }
        self.missing().map(|info| info.hash).collect()
    }

    /// A part of a layer has arrived. Gives all layers, once they are complete.
    pub fn take_part(
        &mut self,
        hash: u64,
        offset: u32,
        bytes: &[u8],
    ) -> Result<Option<Layers>, DecodeError> {
        let malformed = |error: &dyn fmt::Display| DecodeError::Malformed(error.to_string());
        let is_known = self.infos.iter().any(|info| info.hash == hash);
        let info = self.missing().find(|info| info.hash == hash);
        let Some(info) = info.cloned().filter(|_| self.is_asked) else {
            return match is_known && self.is_asked {
                // The caller had it meanwhile.
                true => Ok(None),
                false => Err(malformed(&LayerError::Unknown(hash))),
            };
        };
        let length = info.packed_bytes as usize;
        if offset as usize != self.arriving.len() || self.arriving.len() + bytes.len() > length {
            return Err(malformed(&"a part of a layer is not the next one"));
        }
        self.arriving.extend_from_slice(bytes);
        if self.arriving.len() < length {
            return Ok(None);
        }
        let packed = std::mem::take(&mut self.arriving);
        #[cfg(feature = "inflate")]
        {
            let content = shared::wire::layers::unpack(&info, &packed);
            let content = content.map_err(|error| malformed(&error))?;
            Ok(self.put_checked(hash, content))
        }
        #[cfg(not(feature = "inflate"))]
        {
            self.packed.push_back((hash, packed));
            Ok(None)
        }
    }

    pub fn take_packed(&mut self) -> Option<(u64, Vec<u8>)> {
        self.packed.pop_front()
    }

    /// The caller has the content of a layer. Gives all layers, once they are complete.
    pub fn put(&mut self, hash: u64, content: Vec<u8>) -> Result<Option<Layers>, LayerError> {
        let info = self.missing().find(|info| info.hash == hash);
        info.ok_or(LayerError::Unknown(hash))?.check(&content)?;
        Ok(self.put_checked(hash, content))
    }

    /// Checks edits of cells. While layers are missing, they wait for them.
    pub fn take_edits(&mut self, edits: &[Edit]) -> Result<(), DecodeError> {
        for edit in edits {
            let info = self.infos.iter().find(|info| info.kind == edit.layer);
            let fits = info.is_some_and(|info| {
                let cells = u64::from(info.cells[0]) * u64::from(info.cells[1]);
                let has_tag = edit.layer != LayerKind::Tag
                    || usize::try_from(edit.value).is_ok_and(|tag| tag <= info.tags.len());
                info.is_editable && u64::from(edit.cell) < cells && has_tag
            });
            if !fits {
                let what = format!("an edit of the layer `{}`", edit.layer.name());
                return Err(DecodeError::Malformed(what));
            }
        }
        if self.missing().next().is_some() {
            let edits = edits
                .iter()
                .map(|edit| ((edit.layer, edit.cell), edit.value));
            self.edited.extend(edits);
            if self.edited.len() > EDITS_WAITING_MAX {
                return Err(DecodeError::TooLong {
                    found: self.edited.len(),
                    limit: EDITS_WAITING_MAX,
                });
            }
        }
        Ok(())
    }

    /// Layers that have come, with the edits that waited for them.
    pub fn edited(&mut self, mut layers: Layers) -> Layers {
        for ((layer, cell), value) in std::mem::take(&mut self.edited) {
            layers.edit(&Edit { layer, cell, value });
        }
        layers
    }

    fn put_checked(&mut self, hash: u64, content: Vec<u8>) -> Option<Layers> {
        for (info, of) in self.infos.iter().zip(&mut self.contents) {
            if info.hash == hash {
                *of = Some(content.clone());
            }
        }
        let contents: Option<Vec<&Vec<u8>>> = self.contents.iter().map(Option::as_ref).collect();
        let layers = assemble(self.size, self.home, &self.infos, &contents?);
        self.contents.clear();
        self.cache.keep(Kept {
            size: self.size,
            home: self.home,
            infos: self.infos.clone(),
            layers: layers.clone(),
        });
        Some(layers)
    }
}

/// Cells of which edits wait for the content of layers.
const EDITS_WAITING_MAX: usize = EDITED_CELLS_MAX as usize;
/// Worlds whose layers are kept.
const WORLDS_KEPT: usize = 4;
/// The most bytes of a world's layers, unpacked, that a client fetches: 64 MiB. It plays without
/// larger ones.
pub const LAYERS_BYTES_MAX: usize = 64 << 20;
