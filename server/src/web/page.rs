//! The files of the page, and where its connection goes.

use std::sync::Arc;
use std::time::SystemTime;

use serde::Serialize;

use crate::http::Page;
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

/// The page of a server.
pub struct GamePage {
    /// The server's UDP port.
    pub port: u16,
    /// The certificate that pages pin; none: browsers judge the server's own.
    pub renewed: Option<Arc<Renewed>>,
}

impl GamePage {
    /// What is at a path.
    pub fn at(&self, path: &str) -> Page {
        if path == "/connect.json" {
            return self.connect();
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

    fn connect(&self) -> Page {
        let hash = self
            .renewed
            .as_ref()
            .map(|renewed| renewed.hash(SystemTime::now()));
        let connect = Connect {
            port: self.port,
            certificate_hash: hash.map(|hash| hash.map(|byte| format!("{byte:02x}")).concat()),
        };
        // Numbers and text are always written.
        let json = serde_json::to_vec(&connect).unwrap_or_default();
        Page::new("application/json", json)
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
const FILES: [(&str, &str, &[u8]); 9] = [
    file!("page", "index.html", HTML),
    file!("page", "style.css", STYLE),
    file!("page", "main.js", SCRIPT),
    file!("page", "game.js", SCRIPT),
    file!("page", "transport.js", SCRIPT),
    file!("page", "draw.js", SCRIPT),
    file!("page", "panel.js", SCRIPT),
    file!("page", "steps.js", SCRIPT),
    file!("prebuilt", "game.wasm", WASM),
];
