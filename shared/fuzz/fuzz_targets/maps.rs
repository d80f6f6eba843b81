#![no_main]

use libfuzzer_sys::fuzz_target;
use shared::wire::layers::LayerKind;
use world_file::maps::{self, ObjectsAs};

fuzz_target!(|bytes: &[u8]| {
    for read in [maps::ldtk, maps::tiled] {
        let map = read("a file", bytes).unwrap_or_default();
        for layer in map.objects {
            for what in [ObjectsAs::Kinds, ObjectsAs::Zones] {
                let _ = layer.lines(what, 4.0);
            }
        }
        for grid in map.grids {
            for kind in [LayerKind::Blocked, LayerKind::Height, LayerKind::Tag] {
                let _ = grid.image(kind);
            }
        }
    }
});
