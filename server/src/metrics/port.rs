//! The HTTP port that shows the metrics.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;
use metrics_exporter_prometheus::PrometheusHandle;

use crate::http::{self, Limits, PLAIN_TEXT, Page};

const LIMITS: Limits = Limits {
    connections: 16,
    header_time: Duration::from_secs(3),
    connection_time: Duration::from_secs(10),
};

/// Serves `http://ADDRESS/metrics` until the process ends.
pub fn serve(address: SocketAddr, metrics: PrometheusHandle) -> Result<()> {
    let shown = metrics.clone();
    let pages = move |path: &str| match path {
        "/metrics" => Page::new(METRICS_TEXT, shown.render()),
        "/health" => Page::new(PLAIN_TEXT, "OK"),
        _ => Page::not_found("the page is /metrics\n"),
    };
    // Histograms gather what they were told until then.
    let upkeep = move || {
        metrics.run_upkeep();
        true
    };
    http::serve(address, "metrics", Arc::new(pages), LIMITS, upkeep)?;
    Ok(())
}

const METRICS_TEXT: &str = "text/plain; version=0.0.4; charset=utf-8";
