//! Requests of an operator to a running server, over a Unix socket that only the server's user
//! can open: a line of JSON, and a line of JSON as its answer.
//!
//! | module | holds |
//! | --- | --- |
//! | [`request`] | requests and answers |
//! | [`desk`] | handles requests, and logs them |
//! | [`port`] | the socket |

pub mod desk;
pub mod port;
pub mod request;
mod socket;
