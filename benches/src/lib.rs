//! What Myriad is measured with.
//!
//! | module | holds |
//! | --- | --- |
//! | [`content`] | content matching, in the scenarios of the paper on it |
//! | [`thesis`] | the four scenarios of the thesis's chapter 4, beside its own numbers |
//! | [`report`] | the one JSON form of every bench |
//! | [`statistics`] | median, mean and deviation |
#![deny(unsafe_code)]

pub mod content;
pub mod report;
pub mod statistics;
pub mod thesis;
