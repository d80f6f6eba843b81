//! Figures for people and for Prometheus.
//!
//! | module | holds |
//! | --- | --- |
//! | [`counts`] | what shards count |
//! | [`stats`] | figures for people |
//! | [`table`] | every metric, declared once |
//! | [`telemetry`] | figures for Prometheus |
//! | [`machine`] | what the operating system says of machine and process |

pub mod counts;
pub mod machine;
pub mod stats;
pub mod table;
pub mod telemetry;
