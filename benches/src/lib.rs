//! What Myriad is measured with.
//!
//! | module | holds |
//! | --- | --- |
//! | [`content`] | content matching, in the scenarios of the paper on it |
//! | [`thesis`] | the four scenarios of the thesis's chapter 4, beside its own numbers |
//! | [`regions`] | region matching: the paper's scenarios, larger ones, hard ones |
//! | [`events`] | discrete-event simulation: the paper's torus network and PHOLD |
//! | [`fight`] | the tick that the server runs: exact distance, known sets, blows |
//! | [`due`] | commands that wait for their tick, and those whose tick has come |
//! | [`listen`] | content subscriptions in the tick: who is told of which changes |
//! | [`hot`] | all updates to one attribute of one entity, against an even spread |
//! | [`overlap`] | two ticks in flight against one at a time |
//! | `primitives` | the tick's sort and scan against CUB's |
//! | [`engines`] | backends by name |
//! | [`markdown`] | tables |
//! | [`plot`] | line charts as SVG files |
//! | [`report`] | the one JSON form of every bench |
//! | [`reprint`] | tables and plots of a kept report |
//! | [`statistics`] | median, mean and deviation |
#![deny(unsafe_code)]

pub mod content;
pub mod due;
pub mod engines;
pub mod events;
pub mod fight;
pub mod hot;
pub mod listen;
pub mod markdown;
pub mod overlap;
pub mod plot;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
pub mod primitives;
pub mod regions;
pub mod report;
pub mod reprint;
pub mod statistics;
pub mod thesis;
