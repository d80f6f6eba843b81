//! Figures for people and for Prometheus.
//!
//! | module | holds |
//! | --- | --- |
//! | [`counts`] | the counts of shards |
//! | [`stats`] | figures for people |
//! | [`steps`] | the steps of a tick on the tick thread, and their times |
//! | [`table`] | every metric, declared once |
//! | [`telemetry`] | figures for Prometheus |
//! | [`window`] | sums since the last sample, for the dashboard |
//! | [`web`] | refusals of the web port |
//! | [`port`] | the HTTP port that shows them |
//! | [`memory`] | the memory that this process may have |
//! | [`machine`] | figures of the operating system for machine and process |

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
