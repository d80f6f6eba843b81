//! The files of the page, and where its connection goes.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use anyhow::{Context, Result};
use serde::Serialize;

use crate::http::{self, Limits, Page};
use crate::transport::browsers::Renewed;

/// What the page asks for before each connection.
#[derive(Debug, Serialize)]
struct Connect {
    /// The server's UDP port, on the host of the page.
    port: u16,
    /// The SHA-256 hash of the server's certificate in hexadecimal digits; `null`: the
    /// browser is to judge the certificate.
    certificate_hash: Option<String>,
}

/// Serves the page until the process ends, for the server at `server`. Gives its address.
pub fn serve(
    address: SocketAddr,
    server: SocketAddr,
    renewed: Option<Arc<Renewed>>,
) -> Result<SocketAddr> {
    let pages = move |path: &str| page(path, server.port(), renewed.as_deref());
    http::serve(address, "page", Arc::new(pages), LIMITS, || ())
        .with_context(|| format!("cannot serve the page on {address}"))
}

fn page(path: &str, port: u16, renewed: Option<&Renewed>) -> Page {
    if path == "/connect.json" {
        let hash = renewed.map(|renewed| renewed.hash(SystemTime::now()));
        let connect = Connect {
            port,
            certificate_hash: hash.map(|hash| hash.map(|byte| format!("{byte:02x}")).concat()),
        };
        // Numbers and text are always written.
        let json = serde_json::to_vec(&connect).unwrap_or_default();
        return Page::new("application/json", json);
    }
    let path = if path == "/" { "/index.html" } else { path };
    let file = FILES
        .iter()
        .find(|file| Some(file.0) == path.strip_prefix('/'));
    match file {
        Some(&(_, content_type, bytes)) => Page::new(content_type, bytes),
        None => Page::not_found("the page is /\n"),
    }
}

const HTML: &str = "text/html; charset=utf-8";
const SCRIPT: &str = "text/javascript; charset=utf-8";
const STYLE: &str = "text/css; charset=utf-8";
const WASM: &str = "application/wasm";

/// A file of the page by its name.
macro_rules! file {
    ($folder:literal, $name:literal, $content_type:ident) => {{
        let bytes = include_bytes!(concat!("../../../client-bot/web/", $folder, "/", $name));
        ($name, $content_type, bytes)
    }};
}

/// (name, type, bytes)
const FILES: [(&str, &str, &[u8]); 8] = [
    file!("page", "index.html", HTML),
    file!("page", "style.css", STYLE),
    file!("page", "main.js", SCRIPT),
    file!("page", "game.js", SCRIPT),
    file!("page", "transport.js", SCRIPT),
    file!("page", "draw.js", SCRIPT),
    file!("page", "panel.js", SCRIPT),
    file!("prebuilt", "game.wasm", WASM),
];

const LIMITS: Limits = Limits {
    connections: 64,
    header_time: Duration::from_secs(3),
    connection_time: Duration::from_secs(20),
};
