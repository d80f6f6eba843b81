//! The benches of Myriad: each measures one thing beside a baseline in the same run.
//!
//! | module | holds |
//! | --- | --- |
//! | [`cli`] | the command line, with the list of all benches |
//! | [`mod@bench`] | what a bench is, and the one way to run it |
//! | [`tick`] | benches of the server's tick and its stages |
//! | [`engines`] | benches of engines that run outside of a tick |
//! | [`transport`] | live clients over QUIC |
//! | [`report`] | the JSON form, statistics, Markdown tables, plots |
//! | [`counting`] | an allocator that counts |
//! | [`options`] | options that several benches have |
#![deny(unsafe_code)]

pub mod bench;
pub mod cli;
pub mod counting;
mod cuda;
mod dice;
pub mod engines;
pub mod options;
pub mod report;
pub mod tick;
pub mod transport;
