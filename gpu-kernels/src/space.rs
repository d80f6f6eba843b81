//! Boxes, and the order in which a world sorts them; the steps of flow fields. Nothing here depends on
//! the tick.

mod aabb;
pub mod field;
pub mod levels;

pub use aabb::{Aabb, Area};
