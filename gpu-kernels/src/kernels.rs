//! The prebuilt kernels of the tick and of content matching.

use device::Module;

use crate::{content, tick};

/// They must have been built from these sources, for these layouts.
pub static KERNELS: Module = Module {
    fatbin: include_bytes!("../prebuilt/kernels.fatbin"),
    sources_hash: include_str!("../prebuilt/sources.hash"),
    layouts: &[
        ("tick_layout_hash", tick::cuda::layout::hash),
        ("content_layout_hash", content::cuda::layout::hash),
    ],
};
