//! The files of the page, and where its connection goes.

use std::sync::Arc;
use std::time::SystemTime;

use frontend::layers::SharedLayers;
use frontend::servers::{OtherServers, ServerAddress};
use hyper::StatusCode;
use hyper::header::{
    ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN, ACCESS_CONTROL_MAX_AGE,
    CACHE_CONTROL, CONTENT_ENCODING, HeaderValue, ORIGIN, UPGRADE, VARY,
};
use platform::http::cross_site::RequestOrigin;
use platform::http::taken::SocketTaker;
use platform::http::{HttpRequest, Page};
use platform::problems::Problems;
use serde::Serialize;
use transport::browsers::Renewed;
use transport::sockets::socket_thread::SocketPort;

use crate::web::root::WebRoot;

/// The parameters that the page requests before each connection.
#[derive(Debug, Serialize)]
struct Connect {
    /// The UDP port of the server, or of a proxy before it, on the host of the page.
    port: u16,
    /// The SHA-256 hash of the server's certificate in hexadecimal digits; `null`: the
    /// browser verifies the certificate.
    certificate_hash: Option<String>,
    /// The other servers of the world: where pages that lose this one may play on.
    servers: Vec<ServerAddress>,
}

/// The page of a server.
pub struct GamePage {
    /// The UDP port that pages connect to.
    pub port: u16,
    /// The certificate that pages pin; none: browsers verify the server's own.
    pub renewed: Option<Arc<Renewed>>,
    /// Pages of these origins may request the parameters, beside the server's own. If there are
    /// any, only they may open a WebSocket.
    pub origins: Vec<String>,
    /// The other servers of the world, whose pages may request the parameters, too.
    pub others: OtherServers,
    /// Takes WebSockets over.
    pub sockets: SocketPort,
    /// A custom page, whose files replace those of this one.
    pub root: Option<Arc<WebRoot>>,
    /// The layers of the world, by their hashes.
    pub layers: SharedLayers,
    /// The problems of the game's files, which the page shows to those who change them.
    pub problems: Option<Problems>,
}

impl GamePage {
    /// The path of the parameters.
    pub const CONNECT: &str = "/connect.json";
    /// The path of WebSockets.
    pub const PLAY: &str = "/play";

    /// In front of the hash of a layer.
    pub const LAYERS: &str = "/layers/";

    /// Answers a request.
    pub async fn answer(&self, request: &HttpRequest) -> Page {
        if request.path == GamePage::CONNECT {
            return self.for_origins(request, self.connect());
        }
        if let Some(hash) = request.path.strip_prefix(GamePage::LAYERS) {
            return self.for_origins(request, self.layer(hash));
        }
        if let Some(root) = &self.root
            && let Some(file) = root.at(&request.path).await
        {
            return file;
        }
        if let Some(problems) = &self.problems
            && let Some(page) = shown(problems, &request.path)
        {
            return page;
        }
        GamePage::built_in(&request.path)
    }

    /// Whether a page of another site may request a path. Documents may be linked and framed.
    pub fn allows(&self, origin: RequestOrigin<'_>, path: &str) -> bool {
        match origin {
            RequestOrigin::Own => true,
            RequestOrigin::Link | RequestOrigin::Frame => {
                !matches!(path, GamePage::CONNECT | GamePage::PLAY)
            }
            RequestOrigin::Other(origin) => self.is_allowed(origin.as_bytes()),
        }
    }

    /// Takes a WebSocket over, from the same origins as WebTransport.
    pub fn web_socket(&self, request: &HttpRequest) -> Option<Result<SocketTaker, Page>> {
        if request.path != GamePage::PLAY || !request.headers.contains_key(UPGRADE) {
            return None;
        }
        let origin = request.headers.get(ORIGIN);
        let is_allowed = |origin: &HeaderValue| self.is_allowed(origin.as_bytes());
        if !self.origins.is_empty() && !origin.is_some_and(is_allowed) {
            let reason = "pages of this origin are not allowed\n";
            return Some(Err(Page::error(StatusCode::FORBIDDEN, reason)));
        }
        let sockets = self.sockets.clone();
        Some(Ok(Arc::new(move |upgraded| sockets.hand_over(upgraded))))
    }

    /// Whether pages of this origin may request the parameters.
    fn is_allowed(&self, origin: &[u8]) -> bool {
        let is_it = |allowed: &str| origin.eq_ignore_ascii_case(allowed.as_bytes());
        self.origins.iter().any(|allowed| is_it(allowed))
            || (self.others.get().iter().map(|other| origin_of(&other.page)))
                .any(|page| !page.is_empty() && is_it(page))
    }

    /// The answer to a preflight of a page of another origin.
    pub fn preflight(&self, request: &HttpRequest) -> Option<Page> {
        let get = HeaderValue::from_static("GET");
        let age = HeaderValue::from_static("600");
        let page = Page {
            headers: vec![
                (ACCESS_CONTROL_ALLOW_METHODS, get),
                (ACCESS_CONTROL_MAX_AGE, age),
            ],
            ..Page::error(StatusCode::NO_CONTENT, "")
        };
        (request.path == GamePage::CONNECT).then(|| self.for_origins(request, page))
    }

    /// Lets pages of the origins that may connect read an answer.
    fn for_origins(&self, request: &HttpRequest, mut page: Page) -> Page {
        page.headers
            .push((VARY, HeaderValue::from_static("Origin")));
        let origin = request.headers.get(ORIGIN);
        if let Some(origin) = origin.filter(|origin| self.is_allowed(origin.as_bytes())) {
            page.headers
                .push((ACCESS_CONTROL_ALLOW_ORIGIN, origin.clone()));
        }
        page
    }

    /// A file of the page that is part of the server.
    fn built_in(path: &str) -> Page {
        let path = if path == "/" { "/index.html" } else { path };
        let file = FILES
            .iter()
            .find(|file| Some(file.0) == path.strip_prefix('/'));
        match file {
            Some(&(_, content_type, bytes)) => Page::new(content_type, bytes),
            None => Page::not_found("the page is /\n"),
        }
    }

    /// The content of a layer, which is the same for ever.
    fn layer(&self, hash: &str) -> Page {
        let is_hash = hash.len() == 16 && hash.bytes().all(|digit| digit.is_ascii_hexdigit());
        let hash = u64::from_str_radix(hash, 16).ok().filter(|_| is_hash);
        let layers = self.layers.get();
        let Some(content) = hash.and_then(|hash| layers.content(hash)) else {
            return Page::not_found("the world has no layer with this hash\n");
        };
        let for_ever = HeaderValue::from_static("public, max-age=31536000, immutable");
        let mut page = Page::new("application/octet-stream", content.clone());
        page.headers = vec![
            (CACHE_CONTROL, for_ever),
            (CONTENT_ENCODING, HeaderValue::from_static("deflate")),
        ];
        page
    }

    fn connect(&self) -> Page {
        let hash = self
            .renewed
            .as_ref()
            .map(|renewed| renewed.hash(SystemTime::now()));
        let connect = Connect {
            port: self.port,
            certificate_hash: hash.map(|hash| hash.map(|byte| format!("{byte:02x}")).concat()),
            servers: self.others.get().to_vec(),
        };
        // Numbers and text are always written.
        let json = serde_json::to_vec(&connect).unwrap_or_default();
        Page::new("application/json", json)
    }
}

/// The scheme, host and port of a page.
fn origin_of(page: &str) -> &str {
    let host = page.find("://").map_or(0, |scheme| scheme + 3);
    let end = page[host..].find('/').map_or(page.len(), |end| host + end);
    &page[..end]
}

/// What the page has besides where it shows problems: a script of its own, so that the page of
/// players stays as small as it is.
fn shown(problems: &Problems, path: &str) -> Option<Page> {
    match path {
        "/" | "/index.html" => {
            let page = String::from_utf8_lossy(include_bytes!(
                "../../../../client-bot/web/page/index.html"
            ));
            let script = "<script type=\"module\" src=\"problems.js\"></script>\n  </head>";
            let page = page.replacen("</head>", script, 1);
            Some(Page::new(HTML, page.into_bytes()))
        }
        "/problems.js" => Some(Page::new(SCRIPT, include_bytes!("problems.js").as_slice())),
        "/problems.json" => {
            // Texts are always written.
            let json = serde_json::to_vec(&problems.texts()).unwrap_or_default();
            Some(Page::new("application/json", json))
        }
        _ => None,
    }
}

const HTML: &str = "text/html; charset=utf-8";
const SCRIPT: &str = "text/javascript; charset=utf-8";
const STYLE: &str = "text/css; charset=utf-8";
const WASM: &str = "application/wasm";

/// A file of the page by its name.
macro_rules! file {
    ($folder:literal, $name:literal, $content_type:ident) => {{
        let bytes = include_bytes!(concat!("../../../../client-bot/web/", $folder, "/", $name));
        ($name, $content_type, bytes)
    }};
}

/// (name, type, bytes)
const FILES: [(&str, &str, &[u8]); 23] = [
    file!("page", "index.html", HTML),
    file!("page", "style.css", STYLE),
    file!("page", "banners.js", SCRIPT),
    file!("page", "camera.js", SCRIPT),
    file!("page", "commands.js", SCRIPT),
    file!("page", "draw.js", SCRIPT),
    file!("page", "effects.js", SCRIPT),
    file!("page", "elements.js", SCRIPT),
    file!("page", "game.js", SCRIPT),
    file!("page", "gestures.js", SCRIPT),
    file!("page", "ground.js", SCRIPT),
    file!("page", "layers.js", SCRIPT),
    file!("page", "log.js", SCRIPT),
    file!("page", "look.js", SCRIPT),
    file!("page", "main.js", SCRIPT),
    file!("page", "minimap.js", SCRIPT),
    file!("page", "panel.js", SCRIPT),
    file!("page", "planes.js", SCRIPT),
    file!("page", "steps.js", SCRIPT),
    file!("page", "transport.js", SCRIPT),
    file!("page", "websocket.js", SCRIPT),
    file!("page", "webtransport.js", SCRIPT),
    file!("prebuilt", "game.wasm", WASM),
];
