//! What the server's tick does, stage by stage and as a whole.

pub mod backends;
pub mod due;
pub mod fan_out;
pub mod fight;
pub mod hot;
pub mod listen;
pub mod overlap;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
pub mod primitives;
pub mod thesis;
