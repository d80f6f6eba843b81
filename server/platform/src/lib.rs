//! Parts of a server's process that do not depend on what it serves.
//!
//! | module | holds |
//! | --- | --- |
//! | [`audit`] | who came and left, and what operators did: a file that leaves nothing out |
//! | [`log`] | the log, so many lines a second |
//! | [`metrics`] | figures for people and for Prometheus |
//! | [`http`] | small HTTP ports |
//! | [`rate_limit`] | so much at once, and then an even rate |
//! | [`problems`] | the problems of a game's files, for those who change it while it runs |
//! | [`private`] | files that only the server's user may read |
//! | [`reach`] | TCP connections to whichever address of a name answers |
//! | [`tls`] | certificates that this machine trusts |
//! | [`renewal`] | certificates, keys and tokens that change while the server runs |
//! | [`taken`] | what is taken for a moment longer than its user has it |
//! | [`waits`], [`runtime`] | waits for something outside; a runtime that ends without waiting |
//! | `request` | HTTP requests to other programs, where a feature needs them |
//! | [`traces`], [`trace_options`] | traces of commands, where the feature `traces` is on |
//! | [`scheduling`] | threads with a core of their own, and those that give way to the world |
#![forbid(unsafe_code)]

pub mod audit;
pub mod http;
pub mod log;
pub mod metrics;
pub mod private;
pub mod problems;
pub mod rate_limit;
pub mod reach;
pub mod renewal;
#[cfg(feature = "request")]
pub mod request;
pub mod runtime;
pub mod scheduling;
pub mod taken;
pub mod tls;
pub mod trace_options;
#[cfg_attr(not(feature = "traces"), path = "no_traces.rs")]
pub mod traces;
pub mod waits;
