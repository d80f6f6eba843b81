#![no_main]

use libfuzzer_sys::fuzz_target;
use shared::wire::layers::LayerKind;
use world_file::maps;

fuzz_target!(|bytes: &[u8]| {
    for read in [maps::ldtk, maps::tiled] {
        for grid in read("a file", bytes).unwrap_or_default() {
            for kind in [LayerKind::Blocked, LayerKind::Height, LayerKind::Tag] {
                let _ = grid.image(kind);
            }
        }
    }
});
