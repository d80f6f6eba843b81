//! The page and the dashboard of a running server.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use anyhow::Result;
use console::admin::desk::Desk;
use console::web::dashboard::data::Facts;
use console::web::dashboard::{self, Dashboard, watch};
use console::web::page::GamePage;
use console::web::site::WebSite;
use frontend::mirror::SharedMirror;
use platform::http::HttpPort;
use platform::log::script_lines::ScriptLines;
use platform::metrics::window::SharedWindow;

use super::options::ServerOptions;
use super::serving::Bound;

/// The dashboard's access to the running server.
pub struct DashboardSources {
    pub window: SharedWindow,
    pub script_lines: ScriptLines,
    pub mirror: SharedMirror,
    pub desk: Desk,
    pub stop: Arc<AtomicBool>,
}

/// Serves both until the port is dropped. `port` is the server's own UDP port.
pub fn serve(
    options: &ServerOptions,
    page: Bound,
    port: u16,
    backend: &'static str,
    sources: DashboardSources,
) -> Result<HttpPort> {
    let dashboard = start_dashboard(options, page.address, backend, sources)?;
    serve_site(options, page, port, Some(dashboard))
}

/// Serves the page, and the dashboard if there is one.
pub fn serve_site(
    options: &ServerOptions,
    page: Bound,
    port: u16,
    dashboard: Option<Arc<Dashboard>>,
) -> Result<HttpPort> {
    let game = GamePage {
        port: page.connect_port.unwrap_or(port),
        renewed: page.renewed,
        origins: page.origins,
        others: page.others,
        sockets: page.sockets,
        root: page.root,
        layers: page.layers,
        problems: options.problems.clone(),
    };
    let site = WebSite {
        page: game,
        dashboard,
        names: options.http_hosts.clone(),
    };
    site.serve((page.listener, page.tls))
}

fn start_dashboard(
    options: &ServerOptions,
    page: SocketAddr,
    backend: &'static str,
    of: DashboardSources,
) -> Result<Arc<Dashboard>> {
    let web = options.web.as_ref();
    let dashboard = Dashboard::start(dashboard::Parts {
        address: page.ip(),
        token: web.and_then(|web| web.dashboard_token.clone()),
        facts: Facts {
            backend,
            version: env!("CARGO_PKG_VERSION"),
            shards: options.shards.max(1),
            clients_max: options.world.limits.clients,
        },
        watch: watch::Parts {
            world: Arc::new(options.world.clone()),
            window: of.window,
            mirror: of.mirror,
        },
        script_lines: of.script_lines,
        desk: of.desk,
        stop: of.stop,
    })?;
    Ok(Arc::new(dashboard))
}
