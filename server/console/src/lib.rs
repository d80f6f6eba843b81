//! Tools for operators and analysts. They read the world, and nothing in the world depends on them.
//!
//! | module | holds |
//! | --- | --- |
//! | [`admin`] | requests of an operator to a running server |
//! | [`web`] | the page for browsers, the dashboard and the replay |
//! | [`playback`] | a recording, played to any tick |
//! | [`export`] | the entities of a persistent world, for analysts |
#![forbid(unsafe_code)]

pub mod admin;
pub mod export;
pub mod playback;
pub mod web;
