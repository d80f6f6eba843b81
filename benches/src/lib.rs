//! What Myriad is measured with.
//!
//! | module | holds |
//! | --- | --- |
//! | [`thesis`] | the four scenarios of the thesis's chapter 4, beside its own numbers |
//! | [`events`] | discrete-event simulation: the paper's torus network and PHOLD |
//! | [`fight`] | the tick that the server runs: exact distance, known sets, blows |
//! | [`hot`] | all updates to one attribute of one entity, against an even spread |
//! | [`overlap`] | two ticks in flight against one at a time |
//! | [`engines`] | backends by name |
//! | [`markdown`] | tables |
//! | [`plot`] | line charts as SVG files |
//! | [`report`] | the one JSON form of every bench |
//! | [`reprint`] | tables and plots of a kept report |
//! | [`statistics`] | median, mean and deviation |
#![deny(unsafe_code)]

pub mod engines;
pub mod events;
pub mod fight;
pub mod hot;
pub mod markdown;
pub mod overlap;
pub mod plot;
pub mod report;
pub mod reprint;
pub mod statistics;
pub mod thesis;
