//! The HTTP port that shows the metrics.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::Result;
use hyper::StatusCode;
use metrics_exporter_prometheus::PrometheusHandle;

use super::telemetry;
use crate::http::{self, Limits, PLAIN_TEXT, Page};

const LIMITS: Limits = Limits {
    connections: 16,
    header_time: Duration::from_secs(3),
    connection_time: Duration::from_secs(10),
};

/// Whether the server takes clients.
#[derive(Clone, Debug, Default)]
pub struct Readiness {
    /// The world is there.
    pub is_open: Arc<AtomicBool>,
    /// The server is about to end.
    pub stop: Arc<AtomicBool>,
}

/// Serves `http://ADDRESS/metrics` until the process ends, `/healthz` (the process answers)
/// and `/readyz` (clients may come).
pub fn serve(address: SocketAddr, metrics: PrometheusHandle, readiness: Readiness) -> Result<()> {
    let shown = metrics.clone();
    let pages = move |path: &str| match path {
        "/metrics" => {
            telemetry::record_memory();
            Page::new(METRICS_TEXT, shown.render())
        }
        "/healthz" => Page::new(PLAIN_TEXT, "alive\n"),
        "/readyz" => readiness.page(),
        _ => Page::not_found("the pages are /metrics, /healthz and /readyz\n"),
    };
    // Histograms gather what they were told until then.
    let upkeep = move || {
        metrics.run_upkeep();
        true
    };
    http::serve(address, "metrics", Arc::new(pages), LIMITS, upkeep)?;
    Ok(())
}

impl Readiness {
    fn page(&self) -> Page {
        let unavailable = |text: &'static str| Page::error(StatusCode::SERVICE_UNAVAILABLE, text);
        match (
            self.is_open.load(Ordering::Relaxed),
            self.stop.load(Ordering::Relaxed),
        ) {
            (_, true) => unavailable("stopping\n"),
            (false, false) => unavailable("starting\n"),
            (true, false) => Page::new(PLAIN_TEXT, "ready\n"),
        }
    }
}

const METRICS_TEXT: &str = "text/plain; version=0.0.4; charset=utf-8";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_is_ready_from_the_opening_of_its_world_to_its_end() {
        let readiness = Readiness::default();
        let said = || {
            let page = readiness.page();
            (page.status.as_u16(), page.body)
        };
        assert_eq!(said(), (503, "starting\n".into()));
        readiness.is_open.store(true, Ordering::Relaxed);
        assert_eq!(said(), (200, "ready\n".into()));
        readiness.stop.store(true, Ordering::Relaxed);
        assert_eq!(said(), (503, "stopping\n".into()));
    }
}
