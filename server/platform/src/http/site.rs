//! The content of a port: requests, pages, and the site between them.

use std::net::IpAddr;
use std::time::Duration;

use hyper::StatusCode;
use hyper::body::Bytes;
use hyper::header::{HeaderMap, HeaderName, HeaderValue};

use super::cross_site::RequestOrigin;
use super::taken::SocketTaker;

/// The limits of a port.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Connections at a time.
    pub connections: usize,
    /// For a request's headers.
    pub header_time: Duration,
    /// From a connection's begin to its end.
    pub connection_time: Duration,
}

/// The content of a port. A function from paths to pages is a read-only site.
pub trait Site: Send + Sync + 'static {
    fn answer(&self, request: HttpRequest) -> impl Future<Output = Page> + Send;

    /// Whether POST is allowed for a path.
    fn takes(&self, _path: &str) -> bool {
        false
    }

    /// The answer to a preflight request of a browser, for a page of another origin.
    /// `None`: OPTIONS is not allowed for the path.
    fn preflight(&self, _request: &HttpRequest) -> Option<Page> {
        None
    }

    /// Names of the port beside the machine's own, for example of a proxy before it.
    fn names(&self) -> &[String] {
        &[]
    }

    /// Whether a path requires a token, under whichever name it is requested.
    fn wants_token(&self, _path: &str) -> bool {
        false
    }

    /// Whether a request of this origin for a path is allowed.
    fn allows(&self, origin: RequestOrigin<'_>, _path: &str) -> bool {
        origin == RequestOrigin::Link
    }

    /// Whether a path is that of a WebSocket, and then what takes its connection over, or why the
    /// request is refused.
    fn web_socket(&self, _request: &HttpRequest) -> Option<Result<SocketTaker, Page>> {
        None
    }

    /// A request or connection was refused before the site got it.
    fn note(&self, _refusal: HttpRefusal) {}
}

impl<F: Fn(&str) -> Page + Send + Sync + 'static> Site for F {
    async fn answer(&self, request: HttpRequest) -> Page {
        self(&request.path)
    }
}

/// A request that was read.
#[derive(Clone, Debug)]
pub struct HttpRequest {
    pub peer: IpAddr,
    pub path: String,
    /// The part behind the `?`; may be empty.
    pub query: String,
    pub headers: HeaderMap,
    /// Of a POST.
    pub body: Option<Bytes>,
}

impl HttpRequest {
    /// A header that is text.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }
}

/// Why a port refused a request or connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HttpRefusal {
    /// A connection was evicted by others.
    Crowded,
    /// A request was not complete in time.
    Slow,
    /// A request could not be read.
    Malformed,
    /// A body is longer than `BODY_BYTES_MAX`.
    Large,
    /// It is of a page of another site, or names another host.
    Foreign,
}

/// The response of a port.
#[derive(Clone, Debug)]
pub struct Page {
    pub status: StatusCode,
    pub content_type: &'static str,
    pub body: Bytes,
    /// Whether pages of other origins may show it in a frame.
    pub may_be_framed: bool,
    /// Further headers.
    pub headers: Vec<(HeaderName, HeaderValue)>,
}

impl Page {
    pub fn new(content_type: &'static str, body: impl Into<Bytes>) -> Page {
        Page {
            status: StatusCode::OK,
            content_type,
            body: body.into(),
            may_be_framed: true,
            headers: vec![],
        }
    }

    pub fn not_found(text: &'static str) -> Page {
        Page::error(StatusCode::NOT_FOUND, text)
    }

    /// An error with a sentence.
    pub fn error(status: StatusCode, text: impl Into<Bytes>) -> Page {
        Page {
            status,
            ..Page::new(PLAIN_TEXT, text)
        }
    }
}

pub const PLAIN_TEXT: &str = "text/plain; charset=utf-8";
