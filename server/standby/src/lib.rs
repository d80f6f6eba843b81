//! A second server that follows a primary, and can take over.
//!
//! The primary sends a standby its newest checkpoint and the records of its journal, as they
//! are on its disk. The standby writes them into its own folder, acknowledges those that can't be
//! lost there any more, and runs the same ticks. Each record has the hash of the state before
//! its tick, so a machine that computes wrongly is found a tick later.
//!
//! | module | holds |
//! | --- | --- |
//! | [`link`] | the messages between the two, without sockets |
//! | [`feed`] | at the primary: records in flight, acknowledgements, and the waits of ticks |
//! | [`port`] | at the primary: the port that a standby connects to |
//! | [`backlog`] | at the primary: the records and checkpoint that a standby lacks |
//! | [`replica`] | at the standby: the folder |
//! | [`runner`] | at the standby: the thread that runs the ticks |
//! | [`closed_port`] | at the standby: the port for clients, before it takes over |
//! | [`follower`] | at the standby: the thread that follows |
//! | [`fence`] | at a promoted standby: notifies the server before that it is deposed |
#![forbid(unsafe_code)]

pub mod backlog;
pub mod closed_port;
pub mod feed;
pub mod fence;
pub mod follower;
pub mod lease;
pub mod link;
pub mod port;
pub mod replica;
pub mod runner;
