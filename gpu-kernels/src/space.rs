//! Boxes, and the order in which a world sorts them. Nothing here depends on the tick.

mod aabb;
pub mod levels;

pub use aabb::{Aabb, Area};
