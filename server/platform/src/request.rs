//! HTTP requests to other programs: collectors of traces, and stores of objects. Each has a
//! connection of its own.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use http_body_util::{BodyExt, Full, Limited};
use hyper::body::Bytes;
use hyper::client::conn::http1::handshake;
use hyper::header::{HOST, HeaderValue};
use hyper::{Request, Response, Uri};
use hyper_util::rt::TokioIo;
use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::time::timeout;
use tokio_rustls::TlsConnector;

use crate::reach;
use crate::tls::trust_the_system;

/// Sends requests to `http://` and `https://` addresses.
#[derive(Clone, Debug)]
pub struct Requester {
    tls: Arc<ClientConfig>,
    /// For a request with its answer.
    patience: Duration,
    /// The most bytes of an answer.
    bytes_max: usize,
}

impl Requester {
    /// Trusts the certificates that the system does.
    pub fn new(patience: Duration, bytes_max: usize) -> Result<Requester> {
        Ok(Requester {
            tls: Arc::new(trust_the_system()?),
            patience,
            bytes_max,
        })
    }

    /// Sends a request and reads its answer, whatever its status.
    pub async fn send(&self, request: Request<Bytes>) -> Result<Response<Bytes>> {
        let to = request.uri().clone();
        let sent = timeout(self.patience, self.send_to(&to, request)).await;
        let sent = sent.context("no answer in time").and_then(|sent| sent);
        sent.with_context(|| format!("{}://{}", to.scheme_str().unwrap_or(""), authority(&to)))
    }

    async fn send_to(&self, to: &Uri, mut request: Request<Bytes>) -> Result<Response<Bytes>> {
        let host = to.host().context("the address has no host")?;
        let port = match (to.scheme_str(), to.port_u16()) {
            (_, Some(port)) => port,
            (Some("http"), None) => 80,
            (Some("https"), None) => 443,
            _ => bail!("expected an address like http://HOST or https://HOST"),
        };
        let named = HeaderValue::from_str(authority(to))?;
        request.headers_mut().entry(HOST).or_insert(named);
        // Servers want the path alone.
        let path = to.path_and_query().map_or("/", |path| path.as_str());
        *request.uri_mut() = path.parse()?;
        let name = format!("{host}:{port}");
        let stream = timeout(CONNECT_PATIENCE, reach::connect(&name)).await;
        let stream = stream.context("no connection in time")??;
        if to.scheme_str() == Some("https") {
            let name = ServerName::try_from(host.trim_matches(['[', ']']).to_owned())?;
            let stream = TlsConnector::from(self.tls.clone()).connect(name, stream);
            let stream = timeout(CONNECT_PATIENCE, stream).await;
            let stream = stream.context("no TLS in time")??;
            return self.send_over(stream, request).await;
        }
        self.send_over(stream, request).await
    }

    async fn send_over<S>(&self, stream: S, request: Request<Bytes>) -> Result<Response<Bytes>>
    where
        S: AsyncRead + AsyncWrite + Unpin,
    {
        let (mut sender, connection) = handshake(TokioIo::new(stream)).await?;
        let exchange = async {
            let answer = sender.send_request(request.map(Full::new)).await?;
            let (head, body) = answer.into_parts();
            let body = Limited::new(body, self.bytes_max).collect().await;
            let body = body.map_err(|error| anyhow::anyhow!(error))?;
            anyhow::Ok(Response::from_parts(head, body.to_bytes()))
        };
        tokio::pin!(exchange);
        tokio::pin!(connection);
        tokio::select! {
            answer = &mut exchange => answer,
            ended = &mut connection => {
                ended?;
                // The last of the answer may be there already.
                exchange.await
            }
        }
    }
}

/// HOST or HOST:PORT.
fn authority(to: &Uri) -> &str {
    let authority = to.authority().map_or("", |authority| authority.as_str());
    authority
        .rsplit_once('@')
        .map_or(authority, |(_, rest)| rest)
}

const CONNECT_PATIENCE: Duration = Duration::from_secs(10);

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::TcpListener;

    use super::*;

    #[tokio::test]
    async fn a_request_has_a_path_and_a_host_and_its_answer_a_limit() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let server = std::thread::spawn(move || {
            let mut requests = vec![];
            for stream in listener.incoming().take(2) {
                let (mut stream, mut bytes) = (stream.unwrap(), vec![]);
                while !bytes.ends_with(b"\r\n\r\nbody") {
                    let mut byte = [0];
                    stream.read_exact(&mut byte).unwrap();
                    bytes.push(byte[0]);
                }
                let answer = b"HTTP/1.1 404 Not Found\r\nContent-Length: 8\r\n\r\nnot here";
                stream.write_all(answer).unwrap();
                requests.push(String::from_utf8(bytes).unwrap());
            }
            requests
        });
        let url = format!("http://{address}/a/b?c=d");
        let request = || {
            Request::put(&url)
                .body(Bytes::from_static(b"body"))
                .unwrap()
        };
        let patience = Duration::from_secs(60);
        let sent = Requester::new(patience, 8).unwrap().send(request()).await;
        let answer = sent.unwrap();
        assert_eq!(
            (answer.status().as_u16(), &**answer.body()),
            (404, &b"not here"[..])
        );
        // Longer than was allowed.
        let sent = Requester::new(patience, 7).unwrap().send(request()).await;
        let error = format!("{:#}", sent.unwrap_err());
        assert!(error.contains(&address.to_string()), "{error}");
        for request in server.join().unwrap() {
            assert!(
                request.starts_with("PUT /a/b?c=d HTTP/1.1\r\n"),
                "{request}"
            );
            let host = format!("host: {address}\r\n");
            assert!(request.contains(&host), "{request}");
        }
    }
}
