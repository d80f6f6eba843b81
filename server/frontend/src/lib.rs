//! The contract between the tick and its front ends, which serve clients.
//!
//! | module | holds |
//! | --- | --- |
//! | [`inbox`] | up: joins, leaves, requests, commands |
//! | [`publication`] | down: one tick's results; up: reports on their fan-out |
//! | [`remote`] | the tick's end of a front end in another process |
//! | [`wire`] | both directions in bytes |
//! | [`mirror`] | the world on the host, for the fan-out |
//! | [`world`] | the world, as sessions use it |
//! | [`layers`] | the contents of its layers, packed |
//! | [`servers`] | the other servers of the world |
//! | [`welcome`] | the welcome, mostly the same for all clients |
//! | [`talk`], [`talk_budget`] | the size of talk; the budget of a listener |
//! | [`shard_channels`] | the tick thread's channels to the shards of this process |
//!
//! All that passes between the two are plain values, so a front end may be in another process:
//!
//! ```text
//!             shards of this process                front ends elsewhere
//! down        SharedTick: a Publication,            FeedWriter → bytes → FeedReader: a Publication,
//!             and the tick's own mirror             which the front end's own mirror applies
//! up          SharedInbox, FanOutReport             Input → bytes → RemoteFrontend
//! the tick    waits for their reports               does not wait; gives up who is too far behind
//! ```
//!
//! A thread of the server is the tick's end of such a link: to the tick it is a shard, which
//! reports as soon as it has written the tick. A front end begins with the first tick of its world.
//! Scripts that change travel as texts, and it compiles them itself. Figures of connections and
//! traces of commands stay with the process that has the connections.
#![forbid(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::cast_possible_truncation))]

pub mod inbox;
pub mod layers;
pub mod mirror;
pub mod publication;
pub mod remote;
pub mod servers;
pub mod shard_channels;
pub mod talk;
pub mod talk_budget;
pub mod welcome;
pub mod wire;
pub mod world;

pub use world::SessionWorld;
