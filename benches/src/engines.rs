//! Benches of the engines that run outside of a tick, each beside its baselines.
//!
//! | module | measures |
//! | --- | --- |
//! | [`content`] | content matching: the scenarios of Margara and Cugola, and a dense one |
//! | [`events`] | timed events: the torus network of Sang, Lee, Rego and King, and PHOLD |
//! | [`regions`] | region matching: the scenarios of Lo, Chung and Pai, larger and harder ones |

pub mod content;
pub mod events;
pub mod regions;

pub use content::Content;
pub use events::Events;
pub use regions::Regions;
