//! The contents of a world's layers, packed once for all clients.

use std::sync::{Arc, PoisonError, RwLock};

use bytes::Bytes;
use shared::wire::layers::{LayerInfo, contents, pack};
use shared::world::layer::Layers;

/// What clients are sent of a world's layers.
#[derive(Debug, Default)]
pub struct PackedLayers {
    /// Of [`Layers`].
    hash: u64,
    infos: Vec<LayerInfo>,
    /// One for each description.
    packed: Vec<Bytes>,
}

/// Those of the world that is served, for sessions and for the page, also after another world has
/// taken its place.
#[derive(Clone, Debug, Default)]
pub struct SharedLayers(Arc<RwLock<Arc<PackedLayers>>>);

impl PackedLayers {
    fn of(layers: &Layers) -> PackedLayers {
        let mut of = PackedLayers {
            hash: layers.hash(),
            ..PackedLayers::default()
        };
        for (info, content) in contents(layers) {
            let packed = Bytes::from(pack(&content));
            of.infos.push(LayerInfo {
                packed_bytes: u32::try_from(packed.len()).unwrap_or(u32::MAX),
                ..info
            });
            of.packed.push(packed);
        }
        of
    }

    /// The descriptions, as a welcome has them.
    pub fn infos(&self) -> &[LayerInfo] {
        &self.infos
    }

    /// The place of the layer with this hash, if the world has one.
    pub fn place(&self, hash: u64) -> Option<usize> {
        self.infos.iter().position(|info| info.hash == hash)
    }

    /// A packed content, by the layer's place, and its hash.
    pub fn at(&self, place: usize) -> Option<(u64, &Bytes)> {
        let info = self.infos.get(place)?;
        Some((info.hash, self.packed.get(place)?))
    }

    /// A packed content by its hash.
    pub fn content(&self, hash: u64) -> Option<&Bytes> {
        Some(self.at(self.place(hash)?)?.1)
    }
}

impl SharedLayers {
    pub fn get(&self) -> Arc<PackedLayers> {
        let shared = self.0.read().unwrap_or_else(PoisonError::into_inner);
        shared.clone()
    }

    /// From now on these are served. They are packed unless they are the same as before.
    pub fn serve(&self, layers: &Layers) -> Arc<PackedLayers> {
        let before = self.get();
        if before.hash == layers.hash() {
            return before;
        }
        let now = Arc::new(PackedLayers::of(layers));
        let mut shared = self.0.write().unwrap_or_else(PoisonError::into_inner);
        *shared = now.clone();
        now
    }
}
