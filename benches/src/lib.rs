//! What Myriad is measured with.
//!
//! | module | holds |
//! | --- | --- |
//! | [`thesis`] | the four scenarios of the thesis's chapter 4, beside its own numbers |
//! | [`events`] | discrete-event simulation: the paper's torus network and PHOLD |
//! | [`report`] | the one JSON form of every bench |
//! | [`statistics`] | median, mean and deviation |
#![deny(unsafe_code)]

pub mod events;
pub mod report;
pub mod statistics;
pub mod thesis;
