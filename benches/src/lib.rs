//! What Myriad is measured with.
//!
//! | module | holds |
//! | --- | --- |
//! | [`thesis`] | the four scenarios of the thesis's chapter 4, beside its own numbers |
//! | [`regions`] | region matching: the paper's scenarios, larger ones, hard ones |
//! | [`report`] | the one JSON form of every bench |
//! | [`statistics`] | median, mean and deviation |
#![deny(unsafe_code)]

pub mod regions;
pub mod report;
pub mod statistics;
pub mod thesis;
