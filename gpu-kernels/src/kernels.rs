//! The prebuilt kernels of the tick and of content matching.

use device::Module;

pub static KERNELS: Module = Module {
    fatbin: include_bytes!("../prebuilt/kernels.fatbin"),
    sources_hash: include_str!("../prebuilt/sources.hash"),
};
