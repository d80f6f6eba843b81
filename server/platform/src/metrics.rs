//! Figures for people and for Prometheus.
//!
//! | module | holds |
//! | --- | --- |
//! | [`counts`] | what shards count |
//! | [`stats`] | figures for people |
//! | [`steps`] | the steps of a tick on the tick thread, and their times |
//! | [`table`] | every metric, declared once |
//! | [`telemetry`] | figures for Prometheus |
//! | [`window`] | what happened since the last look, for the dashboard |
//! | [`web`] | what the web port has refused |
//! | [`port`] | the HTTP port that shows them |
//! | [`memory`] | what memory this process may have |
//! | [`machine`] | what the operating system says of machine and process |

pub mod counts;
pub mod machine;
pub mod memory;
pub mod port;
pub mod stats;
pub mod steps;
pub mod table;
pub mod telemetry;
pub mod web;
pub mod window;
