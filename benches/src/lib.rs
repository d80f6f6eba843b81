//! The benches of Myriad.
//!
//! | module | holds |
//! | --- | --- |
//! | [`tick`] | what the server's tick does |
//! | [`engines`] | engines that run outside of a tick: content, events, regions |
//! | [`report`] | the JSON form, statistics, Markdown tables, plots |
#![deny(unsafe_code)]

pub mod engines;
pub mod report;
pub mod tick;
