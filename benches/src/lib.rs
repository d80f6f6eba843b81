//! What Myriad is measured with.
//!
//! | module | holds |
//! | --- | --- |
//! | [`thesis`] | the four scenarios of the thesis's chapter 4, beside its own numbers |
//! | [`markdown`] | tables |
//! | [`plot`] | line charts as SVG files |
//! | [`report`] | the one JSON form of every bench |
//! | [`reprint`] | tables and plots of a kept report |
//! | [`statistics`] | median, mean and deviation |
#![deny(unsafe_code)]

pub mod markdown;
pub mod plot;
pub mod report;
pub mod reprint;
pub mod statistics;
pub mod thesis;
