//! The HTTP port that shows the metrics.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::{Context, Result};
use hyper::StatusCode;
use metrics_exporter_prometheus::{PrometheusBuilder, PrometheusHandle};
use metrics_process::Collector;

use super::{table, telemetry};
use crate::http::{self, HttpRequest, Limits, PLAIN_TEXT, Page, Site};

const LIMITS: Limits = Limits {
    connections: 16,
    header_time: Duration::from_secs(3),
    connection_time: Duration::from_secs(10),
};

/// Whether the server admits clients.
#[derive(Clone, Debug, Default)]
pub struct Readiness {
    /// The world is there.
    pub is_open: Arc<AtomicBool>,
    /// The server is about to end.
    pub stop: Arc<AtomicBool>,
    /// The audit log can't be written, and so no client is admitted.
    pub is_audit_failing: Arc<AtomicBool>,
}

/// What the port shows beside the metrics of ticks.
#[derive(Clone, Debug, Default)]
pub struct Shown {
    pub readiness: Readiness,
    /// The port's names beside the machine's own.
    pub names: Vec<String>,
    /// The labels of `myriad_build_info`.
    pub build: Vec<(&'static str, String)>,
    /// The folder of a persistent world.
    pub data: Option<PathBuf>,
}

/// Records metrics, and serves `http://ADDRESS/metrics` until the process ends, `/healthz` (the
/// process answers) and `/readyz` (clients are admitted). Returns the address: its port may have
/// been 0.
pub fn serve(address: SocketAddr, shown: Shown) -> Result<SocketAddr> {
    let metrics = PrometheusBuilder::new()
        .install_recorder()
        .context("cannot record metrics")?;
    let (listener, address) =
        http::bind(address).with_context(|| format!("cannot serve metrics on {address}"))?;
    let pages = Pages {
        metrics: metrics.clone(),
        process: Collector::default(),
        shown: shown.clone(),
    };
    pages.process.describe();
    // Histograms drain their samples then.
    let upkeep = move || metrics.run_upkeep();
    http::serve_at((listener, None), "metrics", Arc::new(pages), LIMITS, upkeep)?.keep();
    table::describe();
    table::BUILD_INFO.say(&shown.build);
    Ok(address)
}

struct Pages {
    metrics: PrometheusHandle,
    /// The usual `process_*`.
    process: Collector,
    shown: Shown,
}

impl Site for Pages {
    async fn answer(&self, request: HttpRequest) -> Page {
        match &*request.path {
            "/metrics" => {
                telemetry::record_memory();
                telemetry::record_disk(self.shown.data.as_deref());
                self.process.collect();
                Page::new(METRICS_TEXT, self.metrics.render())
            }
            "/healthz" => Page::new(PLAIN_TEXT, "alive\n"),
            "/readyz" => self.shown.readiness.page(),
            _ => Page::not_found("the pages are /metrics, /healthz and /readyz\n"),
        }
    }

    fn names(&self) -> &[String] {
        &self.shown.names
    }
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
            (true, false) if self.is_audit_failing.load(Ordering::Relaxed) => {
                unavailable("the audit log can't be written\n")
            }
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
        let answer = || {
            let page = readiness.page();
            (page.status.as_u16(), page.body)
        };
        assert_eq!(answer(), (503, "starting\n".into()));
        readiness.is_open.store(true, Ordering::Relaxed);
        assert_eq!(answer(), (200, "ready\n".into()));
        readiness.is_audit_failing.store(true, Ordering::Relaxed);
        assert_eq!(answer(), (503, "the audit log can't be written\n".into()));
        readiness.is_audit_failing.store(false, Ordering::Relaxed);
        assert_eq!(answer(), (200, "ready\n".into()));
        readiness.stop.store(true, Ordering::Relaxed);
        assert_eq!(answer(), (503, "stopping\n".into()));
    }
}
