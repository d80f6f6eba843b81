//! The page and the dashboard at one address.

use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result};
use platform::http::cross_site::RequestOrigin;
use platform::http::taken::SocketTaker;
use platform::http::{self, HttpPort, HttpRefusal, HttpRequest, Limits, Page, Site};
use platform::metrics::table;
use platform::metrics::web::WebRefusal;
use rustls::ServerConfig;

use super::dashboard::Dashboard;
use super::page::GamePage;

/// The site at the web address.
pub struct WebSite {
    pub page: GamePage,
    /// None at a gateway, which has no world of its own.
    pub dashboard: Option<Arc<Dashboard>>,
    /// Names of the port beside the machine's own.
    pub names: Vec<String>,
}

impl WebSite {
    /// Serves it until the port is dropped, by https with settings for TLS.
    pub fn serve(self, port: (TcpListener, Option<Arc<ServerConfig>>)) -> Result<HttpPort> {
        let dashboard = self.dashboard.clone();
        http::serve_at(port, "page", Arc::new(self), LIMITS, move || {
            if let Some(dashboard) = &dashboard {
                table::DASHBOARDS.set(dashboard.open() as u64);
            }
        })
    }
}

/// Takes the address, so that it is known before the server has started.
pub fn bind(address: SocketAddr) -> Result<(TcpListener, SocketAddr)> {
    http::bind(address).with_context(|| format!("cannot serve the page on {address}"))
}

impl Site for WebSite {
    async fn answer(&self, request: HttpRequest) -> Page {
        match &self.dashboard {
            Some(dashboard) if is_of_dashboard(&request.path) => dashboard.answer(request).await,
            _ => self.page.answer(&request).await,
        }
    }

    fn names(&self) -> &[String] {
        &self.names
    }

    fn wants_token(&self, path: &str) -> bool {
        let dashboard = self.dashboard.as_ref();
        is_of_dashboard(path) && dashboard.is_some_and(|dashboard| dashboard.wants_token())
    }

    fn allows(&self, origin: RequestOrigin<'_>, path: &str) -> bool {
        match is_of_dashboard(path) {
            true => origin == RequestOrigin::Link && is_page(path, "/dashboard"),
            false => self.page.allows(origin, path),
        }
    }

    fn preflight(&self, request: &HttpRequest) -> Option<Page> {
        self.page.preflight(request)
    }

    fn takes(&self, path: &str) -> bool {
        path == Dashboard::ACTS
    }

    fn web_socket(&self, request: &HttpRequest) -> Option<Result<SocketTaker, Page>> {
        let taker = self.page.web_socket(request);
        if matches!(taker, Some(Err(_))) {
            self.note(HttpRefusal::Foreign);
        }
        taker
    }

    fn note(&self, refusal: HttpRefusal) {
        let refusal = match refusal {
            HttpRefusal::Crowded => WebRefusal::Crowded,
            HttpRefusal::Slow => WebRefusal::Slow,
            HttpRefusal::Malformed => WebRefusal::Malformed,
            HttpRefusal::Large => WebRefusal::Large,
            HttpRefusal::Foreign => WebRefusal::Foreign,
        };
        match &self.dashboard {
            Some(dashboard) => dashboard.note(refusal),
            None => table::WEB_REFUSED.add_to(refusal.name(), 1),
        }
    }
}

fn is_of_dashboard(path: &str) -> bool {
    let rest = path.strip_prefix("/dashboard");
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// Whether a path is that of a page, with or without a slash.
pub fn is_page(path: &str, page: &str) -> bool {
    path.strip_prefix(page)
        .is_some_and(|rest| matches!(rest, "" | "/"))
}

/// Of a port for browsers.
pub const LIMITS: Limits = Limits {
    connections: 64,
    header_time: Duration::from_secs(3),
    connection_time: Duration::from_secs(20),
};
