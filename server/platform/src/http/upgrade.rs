//! The handshake of a WebSocket (RFC 6455), after which the site takes the connection over.

use std::io;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hyper::header::{
    CONNECTION, HeaderMap, HeaderName, HeaderValue, SEC_WEBSOCKET_ACCEPT, SEC_WEBSOCKET_KEY,
    SEC_WEBSOCKET_VERSION, UPGRADE,
};
use hyper::upgrade::{OnUpgrade, Parts};
use hyper::{StatusCode, upgrade};
use hyper_util::rt::TokioIo;
use ring::digest::{SHA1_FOR_LEGACY_USE_ONLY, digest};
use tokio::net::TcpStream;
use tokio_rustls::server::TlsStream;
use tracing::debug;

use super::site::Page;
use super::taken::{SocketTaker, Taken, Upgraded};

/// The answer to a handshake, or why it is none.
pub fn accept(headers: &HeaderMap) -> Page {
    let names = |name: HeaderName, token: &str| {
        let values = headers.get_all(name).iter();
        let texts = values.filter_map(|value| value.to_str().ok());
        texts
            .flat_map(|text| text.split(','))
            .any(|part| part.trim().eq_ignore_ascii_case(token))
    };
    let is_upgrade = names(CONNECTION, "upgrade") && names(UPGRADE, "websocket");
    let is_known = names(SEC_WEBSOCKET_VERSION, "13");
    if !is_upgrade || !is_known {
        let reason = "expected the handshake of a WebSocket of version 13\n";
        let mut page = Page::error(StatusCode::UPGRADE_REQUIRED, reason);
        let version = HeaderValue::from_static("13");
        page.headers.push((SEC_WEBSOCKET_VERSION, version));
        let websocket = HeaderValue::from_static("websocket");
        page.headers.push((UPGRADE, websocket));
        return page;
    }
    let key = headers.get(SEC_WEBSOCKET_KEY).map(HeaderValue::as_bytes);
    let key = key.filter(|key| STANDARD.decode(key).is_ok_and(|key| key.len() == KEY_BYTES));
    let accepted = key.map(|key| {
        let digest = digest(&SHA1_FOR_LEGACY_USE_ONLY, &[key, GUID].concat());
        HeaderValue::try_from(STANDARD.encode(digest))
    });
    let Some(Ok(accepted)) = accepted else {
        let reason = "expected a Sec-WebSocket-Key of 16 bytes in base64\n";
        return Page::error(StatusCode::BAD_REQUEST, reason);
    };
    let mut page = Page::error(StatusCode::SWITCHING_PROTOCOLS, "");
    page.headers = vec![
        (CONNECTION, HeaderValue::from_static("Upgrade")),
        (UPGRADE, HeaderValue::from_static("websocket")),
        (SEC_WEBSOCKET_ACCEPT, accepted),
    ];
    page
}

/// Hands a connection over once the answer to its handshake is sent.
pub async fn hand_over(upgrade: OnUpgrade, taker: SocketTaker) {
    // Else the connection has ended before.
    let Ok(upgraded) = upgrade.await else {
        return;
    };
    match take(upgraded) {
        Ok(upgraded) => taker(upgraded),
        Err(error) => debug!(%error, "a web socket was lost"),
    }
}

fn take(upgraded: upgrade::Upgraded) -> io::Result<Upgraded> {
    let (tcp, tls, read) = match upgraded.downcast::<TokioIo<TcpStream>>() {
        Ok(Parts { io, read_buf, .. }) => (io.into_inner(), None, read_buf),
        Err(upgraded) => match upgraded.downcast::<TokioIo<TlsStream<TcpStream>>>() {
            Ok(Parts { io, read_buf, .. }) => {
                let (tcp, tls) = io.into_inner().into_inner();
                (tcp, Some(Box::new(tls)), read_buf)
            }
            Err(_) => return Err(io::Error::other("it is neither TCP nor TLS")),
        },
    };
    let address = tcp.peer_addr()?;
    let tcp = tcp.into_std()?;
    Ok(Upgraded {
        connection: match tls {
            None => Taken::Plain(tcp),
            Some(tls) => Taken::Tls(tcp, tls),
        },
        address,
        read,
    })
}

const KEY_BYTES: usize = 16;
/// RFC 6455, section 1.3.
const GUID: &[u8] = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11";

#[cfg(test)]
mod tests {
    use super::*;

    fn handshake(changed: &[(&'static str, &'static str)]) -> HeaderMap {
        let usual = [
            ("connection", "keep-alive, Upgrade"),
            ("upgrade", "websocket"),
            ("sec-websocket-version", "13"),
            ("sec-websocket-key", "dGhlIHNhbXBsZSBub25jZQ=="),
        ];
        let mut headers = HeaderMap::new();
        for (name, value) in usual.iter().chain(changed) {
            headers.insert(*name, HeaderValue::from_static(value));
        }
        headers
    }

    #[test]
    fn the_example_of_the_standard_is_accepted_as_it_says() {
        let page = accept(&handshake(&[]));
        assert_eq!(page.status, StatusCode::SWITCHING_PROTOCOLS);
        let (_, value) = &page.headers[2];
        assert_eq!(value, "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
    }

    #[test]
    fn requests_that_are_no_handshake_are_refused_with_what_was_expected() {
        for (name, value, status) in [
            ("connection", "close", 426),
            ("upgrade", "h2c", 426),
            ("sec-websocket-version", "8", 426),
            ("sec-websocket-key", "c2hvcnQ=", 400),
            ("sec-websocket-key", "no base64", 400),
        ] {
            let page = accept(&handshake(&[(name, value)]));
            assert_eq!(page.status.as_u16(), status, "{name}: {value}");
            assert!(page.body.starts_with(b"expected"), "{name}: {value}");
        }
    }
}
