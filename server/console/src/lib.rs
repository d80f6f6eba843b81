//! What operators and analysts look at. It reads the world, and nothing of the world reads it.
//!
//! | module | holds |
//! | --- | --- |
//! | [`admin`] | what an operator asks of a running server |
//! | [`web`] | the page for browsers, the dashboard and the replay |
//! | [`playback`] | a recording, played to any tick |
//! | [`export`] | the entities of a persistent world, for analysts |
#![forbid(unsafe_code)]

pub mod admin;
pub mod export;
pub mod playback;
pub mod web;
