//! Small HTTP ports: that of the metrics, and that of the page for browsers, also with TLS.
//!
//! A peer may hold a connection open, send headers slowly, or use up the process's file
//! descriptors: connections are few and short, a new one evicts an old one where there is no
//! room, and a failing `accept` is tried again after a pause. Each connection is answered once.
//! Requests of pages of other sites are refused, see [`cross_site`]. A WebSocket leaves the port
//! with its handshake, see [`taken`].

pub mod cross_site;
mod site;
pub mod taken;
mod upgrade;

use std::io;
use std::net::{IpAddr, SocketAddr, TcpListener as StdListener};
use std::sync::{Arc, Mutex, mpsc};
use std::time::Duration;

use anyhow::{Context, Result};
use http_body_util::{BodyExt, Full, LengthLimitError, Limited};
use hyper::body::{Body, Bytes, Incoming};
use hyper::header::{
    AUTHORIZATION, CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HeaderValue, VARY,
    X_CONTENT_TYPE_OPTIONS,
};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use rustls::ServerConfig;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout};
use tokio_rustls::TlsAcceptor;
use tracing::{debug, warn};

use crate::scheduling::give_way;
use cross_site::{RequestOrigin, is_host_allowed};

pub use site::{HttpRefusal, HttpRequest, Limits, PLAIN_TEXT, Page, Site};

/// Listens at an address, and returns it: its port may have been 0.
pub fn bind(address: SocketAddr) -> io::Result<(StdListener, SocketAddr)> {
    let listener = StdListener::bind(address)?;
    listener.set_nonblocking(true)?;
    let address = listener.local_addr()?;
    Ok((listener, address))
}

/// A port that is served. Dropping it closes the listener, and returns once it is closed: another
/// that shares its socket accepts all connections from then on. Those that are open are answered.
pub struct HttpPort {
    close: Option<oneshot::Sender<()>>,
    /// Disconnected once the listener is closed. Never locked: it lets threads share the port.
    closed: Mutex<mpsc::Receiver<()>>,
}

impl HttpPort {
    /// Serves it until the process ends.
    pub fn keep(self) {
        std::mem::forget(self);
    }
}

impl Drop for HttpPort {
    fn drop(&mut self) {
        self.close.take();
        if let Ok(closed) = self.closed.get_mut() {
            let _ = closed.recv();
        }
    }
}

/// Answers requests at the listener of [`bind`], on a thread of this name, with TLS if there are
/// settings for it. `upkeep` is called now and then.
pub fn serve_at<S: Site>(
    (listener, tls): (StdListener, Option<Arc<ServerConfig>>),
    name: &'static str,
    site: Arc<S>,
    limits: Limits,
    upkeep: impl Fn() + Send + 'static,
) -> Result<HttpPort> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let (close, closing) = oneshot::channel::<()>();
    let (is_closed, closed) = mpsc::channel();
    std::thread::Builder::new()
        .name(name.to_owned())
        .spawn(move || {
            // Figures can wait; a tick can't.
            give_way();
            runtime.block_on(async move {
                let listener = match TcpListener::from_std(listener) {
                    Ok(listener) => listener,
                    Err(error) => {
                        return warn!(%error, port = name, "an HTTP port can't be served");
                    }
                };
                let upkeep = async {
                    loop {
                        upkeep();
                        sleep(UPKEEP_EVERY).await;
                    }
                };
                let mut held = Held::default();
                let port = (site, tls.map(TlsAcceptor::from));
                tokio::select! {
                    _ = closing => {}
                    () = upkeep => {}
                    () = accept_all(listener, port, limits, &mut held) => {}
                }
                drop(is_closed);
                let _ = timeout(limits.header_time, held.ended()).await;
            });
        })
        .with_context(|| format!("cannot start the thread {name}"))?;
    Ok(HttpPort {
        close: Some(close),
        closed: Mutex::new(closed),
    })
}

/// Where connections come from.
trait Accept {
    async fn accept(&mut self) -> io::Result<(TcpStream, SocketAddr)>;
}

impl Accept for TcpListener {
    async fn accept(&mut self) -> io::Result<(TcpStream, SocketAddr)> {
        TcpListener::accept(self).await
    }
}

async fn accept_all<S: Site>(
    mut listener: impl Accept,
    (site, tls): (Arc<S>, Option<TlsAcceptor>),
    limits: Limits,
    held: &mut Held,
) {
    let mut pause = PAUSE_MIN;
    loop {
        match listener.accept().await {
            Ok((stream, address)) => {
                pause = PAUSE_MIN;
                if held.make_room(limits.connections) {
                    site.note(HttpRefusal::Crowded);
                }
                let port = (site.clone(), tls.clone());
                let reader = tokio::spawn(serve_one(stream, address.ip(), port, limits));
                held.0.push((address.ip(), reader));
            }
            Err(error) => {
                // Most often the process has no file descriptor left: trying again at once
                // would do nothing else.
                warn!(%error, "an HTTP port can't accept connections");
                sleep(pause).await;
                pause = (pause * 2).min(PAUSE_MAX);
            }
        }
    }
}

/// The open connections, each with its address, oldest first.
#[derive(Default)]
struct Held(Vec<(IpAddr, JoinHandle<()>)>);

impl Held {
    /// Evicts a connection if there is no room: the oldest of the address that has the most. So a
    /// reader is answered however many connections another address holds. True if one was evicted.
    fn make_room(&mut self, connections_max: usize) -> bool {
        self.0.retain(|(_, connection)| !connection.is_finished());
        if self.0.len() < connections_max {
            return false;
        }
        let number_of = |address: IpAddr| self.0.iter().filter(|held| held.0 == address).count();
        let most = self.0.iter().map(|held| number_of(held.0)).max();
        let oldest = (self.0.iter()).position(|held| Some(number_of(held.0)) == most);
        if let Some(oldest) = oldest {
            self.0.remove(oldest).1.abort();
        }
        oldest.is_some()
    }

    /// Waits for the end of all connections.
    async fn ended(self) {
        for (_, connection) in self.0 {
            let _ = connection.await;
        }
    }
}

async fn serve_one<S: Site>(
    stream: TcpStream,
    peer: IpAddr,
    (site, tls): (Arc<S>, Option<TlsAcceptor>),
    limits: Limits,
) {
    let Ok(at) = stream.local_addr() else {
        return;
    };
    let ends = Ends { peer, at: at.ip() };
    let Some(tls) = tls else {
        return serve_over(stream, ends, &site, limits).await;
    };
    match timeout(limits.header_time, tls.accept(stream)).await {
        Ok(Ok(stream)) => serve_over(stream, ends, &site, limits).await,
        Ok(Err(error)) => {
            debug!(%error, "a reader of an HTTP port speaks no TLS");
            site.note(HttpRefusal::Malformed);
        }
        Err(_) => site.note(HttpRefusal::Slow),
    }
}

/// Serves a connection over TCP, or over TLS.
async fn serve_over<S: Site, T>(stream: T, ends: Ends, site: &Arc<S>, limits: Limits)
where
    T: AsyncRead + AsyncWrite + Send + Unpin + 'static,
{
    let answer = answer(stream, ends, site.clone(), limits.header_time);
    match timeout(limits.connection_time, answer).await {
        Ok(Ok(())) => {}
        Ok(Err(error)) => {
            debug!(%error, "a reader of an HTTP port");
            // Closing early is no fault of the client.
            if error.is_timeout() {
                site.note(HttpRefusal::Slow);
            } else if error.is_parse() {
                site.note(HttpRefusal::Malformed);
            }
        }
        Err(_) => {
            debug!("a reader of an HTTP port was too slow");
            site.note(HttpRefusal::Slow);
        }
    }
}

/// The two ends of a connection.
#[derive(Clone, Copy)]
struct Ends {
    peer: IpAddr,
    /// Where it has reached this machine.
    at: IpAddr,
}

async fn answer<S: Site, T>(
    stream: T,
    ends: Ends,
    site: Arc<S>,
    header_time: Duration,
) -> hyper::Result<()>
where
    T: AsyncRead + AsyncWrite + Send + Unpin + 'static,
{
    let service = service_fn(move |mut request: Request<Incoming>| {
        let site = site.clone();
        async move {
            let is_get = *request.method() == Method::GET;
            let upgrade = hyper::upgrade::on(&mut request);
            let page = match read(request, ends, &*site, header_time).await {
                Ok(request) => match site.web_socket(&request).filter(|_| is_get) {
                    None => site.answer(request).await,
                    Some(Err(page)) => page,
                    Some(Ok(taker)) => {
                        let page = upgrade::accept(&request.headers);
                        if page.status == StatusCode::SWITCHING_PROTOCOLS {
                            tokio::spawn(upgrade::hand_over(upgrade, taker));
                        }
                        page
                    }
                },
                Err(page) => page,
            };
            Ok::<_, std::convert::Infallible>(response(page))
        }
    });
    http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(header_time)
        .max_buf_size(HEADER_BYTES_MAX)
        .keep_alive(false)
        .serve_connection(TokioIo::new(stream), service)
        .with_upgrades()
        .await
}

/// Reads a request, also its body if the site takes one. If it is refused, the answer is.
async fn read<S: Site>(
    request: Request<Incoming>,
    ends: Ends,
    site: &S,
    body_time: Duration,
) -> Result<HttpRequest, Page> {
    let path = request.uri().path().to_owned();
    let query = request.uri().query().unwrap_or_default().to_owned();
    let not_allowed = || Page::error(StatusCode::METHOD_NOT_ALLOWED, "");
    let is_post = match *request.method() {
        Method::GET | Method::HEAD | Method::OPTIONS => false,
        Method::POST if site.takes(&path) => true,
        _ => return Err(not_allowed()),
    };
    // OPTIONS is a preflight, and has no effect.
    if *request.method() != Method::OPTIONS {
        check_origin(&request, ends.at, site).inspect_err(|_| site.note(HttpRefusal::Foreign))?;
    }
    let (head, body) = request.into_parts();
    let body = match is_post {
        true => Some(read_body(body, site, body_time).await?),
        false => None,
    };
    let request = HttpRequest {
        peer: ends.peer,
        path,
        query,
        headers: head.headers,
        body,
    };
    match head.method {
        Method::OPTIONS => Err(site.preflight(&request).unwrap_or_else(not_allowed)),
        _ => Ok(request),
    }
}

/// Checks the host and origin of a request.
fn check_origin<S: Site>(request: &Request<Incoming>, at: IpAddr, site: &S) -> Result<(), Page> {
    let (path, headers) = (request.uri().path(), request.headers());
    let refuse = |reason: &'static str| {
        let mut page = Page::error(StatusCode::FORBIDDEN, reason);
        page.headers
            .push((VARY, HeaderValue::from_static("Origin")));
        Err(page)
    };
    let wants_token = site.wants_token(path);
    // A browser sends this for a page of another site only after a preflight, which is refused.
    if wants_token && headers.contains_key(AUTHORIZATION) {
        return Ok(());
    }
    if !wants_token && !is_host_allowed(headers, at, site.names()) {
        return refuse("this is no name of this server: start it with --http-host\n");
    }
    match RequestOrigin::of(request.method(), headers, site.names()) {
        RequestOrigin::Own => Ok(()),
        origin if site.allows(origin, path) => Ok(()),
        _ => refuse("pages of other sites may not request this\n"),
    }
}

async fn read_body<S: Site>(body: Incoming, site: &S, time: Duration) -> Result<Bytes, Page> {
    let refuse = |refused, status| {
        site.note(refused);
        Err(Page::error(status, ""))
    };
    // A body that will be too long is not awaited.
    if body.size_hint().lower() > BODY_BYTES_MAX as u64 {
        return refuse(HttpRefusal::Large, StatusCode::PAYLOAD_TOO_LARGE);
    }
    match timeout(time, Limited::new(body, BODY_BYTES_MAX).collect()).await {
        Ok(Ok(body)) => Ok(body.to_bytes()),
        Ok(Err(error)) if error.is::<LengthLimitError>() => {
            refuse(HttpRefusal::Large, StatusCode::PAYLOAD_TOO_LARGE)
        }
        Ok(Err(_)) => refuse(HttpRefusal::Malformed, StatusCode::BAD_REQUEST),
        Err(_) => refuse(HttpRefusal::Slow, StatusCode::REQUEST_TIMEOUT),
    }
}

fn response(page: Page) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::from(page.body));
    *response.status_mut() = page.status;
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(page.content_type));
    if !page.headers.iter().any(|header| header.0 == CACHE_CONTROL) {
        headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    }
    let nosniff = HeaderValue::from_static("nosniff");
    headers.insert(X_CONTENT_TYPE_OPTIONS, nosniff);
    if !page.may_be_framed {
        let no_frames = HeaderValue::from_static("frame-ancestors 'none'");
        headers.insert(CONTENT_SECURITY_POLICY, no_frames);
    }
    headers.extend(page.headers);
    response
}

const UPKEEP_EVERY: Duration = Duration::from_secs(2);
const PAUSE_MIN: Duration = Duration::from_millis(10);
const PAUSE_MAX: Duration = Duration::from_secs(1);
/// The least that hyper takes.
const HEADER_BYTES_MAX: usize = 8192;
const BODY_BYTES_MAX: usize = 4096;

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::TcpStream as StdStream;
    use std::sync::atomic::{AtomicU32, Ordering};

    use super::*;

    fn pages(path: &str) -> Page {
        match path {
            "/page" => Page::new(PLAIN_TEXT, "a page"),
            _ => Page::not_found("no such page"),
        }
    }

    /// A port with room for four connections.
    fn start(header_time: Duration) -> SocketAddr {
        let listener = StdListener::bind("127.0.0.1:0").unwrap();
        listener.set_nonblocking(true).unwrap();
        let address = listener.local_addr().unwrap();
        std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()
                .unwrap();
            let limits = Limits {
                connections: 4,
                header_time,
                connection_time: DEADLINE,
            };
            runtime.block_on(async {
                let listener = TcpListener::from_std(listener).unwrap();
                let port = (Arc::new(pages), None);
                accept_all(listener, port, limits, &mut Held::default()).await;
            });
        });
        address
    }

    fn open(address: SocketAddr) -> StdStream {
        let stream = StdStream::connect(address).unwrap();
        stream.set_read_timeout(Some(DEADLINE)).unwrap();
        stream
    }

    fn send(address: SocketAddr, request: &str) -> String {
        let mut stream = open(address);
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    }

    #[test]
    fn each_path_has_its_answer() {
        let address = start(DEADLINE);
        let answer = |line: &str| send(address, &format!("{line} HTTP/1.1\r\nHost: a\r\n\r\n"));
        let page = answer("GET /page");
        assert!(page.starts_with("HTTP/1.1 200 OK\r\n"), "{page}");
        assert!(page.ends_with("\r\n\r\na page"), "{page}");
        assert!(answer("GET /").starts_with("HTTP/1.1 404 "));
        assert!(answer("POST /page").starts_with("HTTP/1.1 405 "));
        assert!(answer("OPTIONS /page").starts_with("HTTP/1.1 405 "));
        assert!(send(address, "nonsense\r\n\r\n").starts_with("HTTP/1.1 400 "));
        let long = format!("GET /{} HTTP/1.1\r\n\r\n", "a".repeat(100_000));
        let mut stream = open(address);
        // The port may close before it has read all.
        let _ = stream.write_all(long.as_bytes());
        let mut refusal = vec![];
        let _ = stream.read_to_end(&mut refusal);
        assert!(!refusal.ends_with(b"a page"));
    }

    #[test]
    fn requests_of_other_sites_are_refused_and_those_of_programs_and_links_answered() {
        let address = start(DEADLINE);
        let status = |headers: &str| {
            let request = format!("GET /page HTTP/1.1\r\n{headers}\r\n\r\n");
            let answer = send(address, &request);
            answer.split(' ').nth(1).unwrap().to_owned()
        };
        let link = "Sec-Fetch-Site: cross-site\r\nSec-Fetch-Mode: navigate\r\nSec-Fetch-Dest:";
        for headers in [
            "Host: localhost",
            "Host: 127.0.0.1\r\nSec-Fetch-Site: none",
            "Host: 127.0.0.1\r\nSec-Fetch-Site: same-origin",
            &format!("Host: 127.0.0.1\r\n{link} document"),
        ] {
            assert_eq!(status(headers), "200", "{headers}");
        }
        for headers in [
            "Host: localhost\r\nSec-Fetch-Site: cross-site",
            "Host: localhost\r\nSec-Fetch-Site: same-site\r\nSec-Fetch-Dest: image",
            "Host: localhost\r\nOrigin: http://evil.example",
            "Host: localhost\r\nOrigin: null\r\nUpgrade: websocket\r\nConnection: Upgrade",
            &format!("Host: localhost\r\n{link} iframe"),
            "Host: evil.example\r\nSec-Fetch-Site: same-origin",
        ] {
            assert_eq!(status(headers), "403", "{headers}");
        }
    }

    #[test]
    fn connections_that_say_nothing_are_closed_in_time() {
        let address = start(Duration::from_millis(50));
        let mut slow = open(address);
        slow.write_all(b"GET /page HTTP/1.1\r\nHo").unwrap();
        for stream in [open(address), slow] {
            assert_ended(stream);
        }
    }

    #[test]
    fn a_reader_is_answered_though_others_hold_every_connection() {
        let address = start(DEADLINE);
        let mut silent: Vec<StdStream> = (0..12).map(|_| open(address)).collect();
        let page = send(address, "GET /page HTTP/1.1\r\nHost: a\r\n\r\n");
        assert!(page.ends_with("a page"), "{page}");
        // The first ones were evicted.
        silent.truncate(8);
        silent.into_iter().for_each(assert_ended);
    }

    /// A page that takes a moment.
    struct Slow;

    impl Site for Slow {
        async fn answer(&self, _: HttpRequest) -> Page {
            sleep(Duration::from_millis(2)).await;
            Page::new(PLAIN_TEXT, "a page")
        }
    }

    #[test]
    fn each_request_is_answered_though_ports_take_the_place_of_others() {
        let (listener, address) = bind(SocketAddr::from(([127, 0, 0, 1], 0))).unwrap();
        let limits = Limits {
            connections: 100,
            header_time: DEADLINE,
            connection_time: DEADLINE,
        };
        let start = || {
            let again = listener.try_clone().unwrap();
            serve_at((again, None), "test", Arc::new(Slow), limits, || {}).unwrap()
        };
        let readers = [(); 8].map(|()| {
            std::thread::spawn(move || {
                for _ in 0..60 {
                    let page = send(address, "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n");
                    assert!(page.ends_with("a page"), "{page}");
                }
            })
        });
        while readers.iter().any(|reader| !reader.is_finished()) {
            let port = start();
            std::thread::sleep(Duration::from_millis(5));
            drop(port);
        }
        for reader in readers {
            reader.join().unwrap();
        }
    }

    #[tokio::test]
    async fn room_is_made_at_the_cost_of_the_address_that_holds_the_most() {
        let connection = || tokio::spawn(std::future::pending::<()>());
        let [reader, other] = [IpAddr::from([10, 0, 0, 1]), IpAddr::from([10, 0, 0, 2])];
        let from = [reader, other, other, reader, other];
        let mut held = Held(from.map(|address| (address, connection())).into());
        let left = |held: &mut Held, connections_max| {
            let before = held.0.len();
            let has_made_room = held.make_room(connections_max);
            assert_eq!(has_made_room, held.0.len() < before);
            held.0.iter().map(|held| held.0).collect::<Vec<_>>()
        };
        assert_eq!(left(&mut held, 6), from);
        assert_eq!(left(&mut held, 5), [reader, other, reader, other]);
        // Two each: the oldest of all goes.
        assert_eq!(left(&mut held, 4), [other, reader, other]);
        assert_eq!(left(&mut held, 3), [reader, other]);
    }

    fn assert_ended(mut stream: StdStream) {
        let mut rest = vec![];
        // A reset is an end, too.
        if let Err(error) = stream.read_to_end(&mut rest) {
            assert_eq!(error.kind(), io::ErrorKind::ConnectionReset);
        }
        assert!(!rest.ends_with(b"a page"));
    }

    /// No descriptor is left, ever.
    struct Exhausted(Arc<AtomicU32>);

    impl Accept for Exhausted {
        async fn accept(&mut self) -> io::Result<(TcpStream, SocketAddr)> {
            self.0.fetch_add(1, Ordering::Relaxed);
            Err(io::Error::other("too many open files"))
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_port_that_cannot_accept_tries_again_after_pauses() {
        let tries = Arc::new(AtomicU32::new(0));
        let limits = Limits {
            connections: 4,
            header_time: DEADLINE,
            connection_time: DEADLINE,
        };
        let mut held = Held::default();
        let port = (Arc::new(pages), None);
        let accepting = accept_all(Exhausted(tries.clone()), port, limits, &mut held);
        let minute = timeout(Duration::from_secs(60), accepting);
        assert!(minute.await.is_err());
        let tries = tries.load(Ordering::Relaxed);
        assert!((60..75).contains(&tries), "{tries} tries in a minute");
    }

    /// Only a failure takes this long.
    const DEADLINE: Duration = Duration::from_secs(40);
}
