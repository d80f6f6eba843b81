//! Benches of the server's tick, as a whole and stage by stage.
//!
//! | module | measures |
//! | --- | --- |
//! | [`thesis`] | the four scenarios of the thesis's chapter 4, beside its own times |
//! | [`fight`] | whole ticks as the server runs them: exact distance, known sets, blows |
//! | [`stages`] | what each stage of a fight costs, beside the least that it can |
//! | [`crowd`] | everybody within one area of interest: the nearest of all others |
//! | [`hot`] | all updates to one attribute of one entity, against an even spread |
//! | [`deals`] | transfers as an atomic command, against a loop |
//! | [`zones`] | entities that cross the borders of zones, against a loop |
//! | [`due`] | waiting commands, and those whose tick has come |
//! | [`mod@logic`] | scripts: a command's cost, compiling, other scripts for a running world |
//! | [`asking`] | questions of scripts: rankings, ways around walls, flow fields, things |
//! | [`listen`] | content subscriptions: which clients are sent which changes |
//! | [`keep`] | persistent worlds: ticks at each level, during checkpoints, recovery |
//! | [`overlap`] | two ticks in flight against one at a time |
//! | `primitives` | the tick's sort and scan against CUB's |

pub mod asking;
mod backends;
mod checks;
mod clients;
pub mod crowd;
pub mod deals;
pub mod due;
pub mod fan_out;
pub mod fight;
pub mod hot;
pub mod keep;
pub mod listen;
pub mod logic;
mod moves;
pub mod overlap;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
pub mod primitives;
pub mod stages;
pub mod thesis;
mod worlds;
pub mod zones;

pub use asking::Asking;
pub use backends::{BackendName, BackendOptions};
pub use clients::ClientCounts;
pub use crowd::Crowd;
pub use deals::Deals;
pub use due::Due;
pub use fan_out::FanOut;
pub use fight::Fight;
pub use hot::Hot;
pub use keep::Keep;
pub use listen::Listen;
pub use logic::Logic;
pub use moves::{Actor, Moves};
pub use overlap::Overlap;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
pub use primitives::Primitives;
pub use stages::Stages;
pub use thesis::Thesis;
pub use zones::Zones;
