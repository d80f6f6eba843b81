//! The prebuilt kernels.

use device::Module;
use device::gpu::Layout;

/// The kernels of all engines, for an engine that relies on these layouts.
pub const fn module(layouts: &'static [Layout]) -> Module {
    Module {
        fatbin: include_bytes!("../prebuilt/kernels.fatbin"),
        sources_hash: include_str!("../prebuilt/sources.hash"),
        layouts,
    }
}
