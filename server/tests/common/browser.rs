//! Clients that speak WebTransport as browsers do, and also as they don't.

use std::net::SocketAddr;
use std::sync::Arc;

use quic::trust::{Trust, verifier};
use quinn::crypto::rustls::QuicClientConfig;
use quinn::{
    ClientConfig, Connection, ConnectionError, Endpoint, RecvStream, SendStream, TransportConfig,
};
use rustls::pki_types::CertificateDer;
use server::Server;
use tokio::time::timeout;
use web_transport_proto::{ConnectRequest, Frame, Settings, StreamUni, VarInt};

use super::DEADLINE;

/// An HTTP/3 connection without any request.
pub struct Browser {
    pub connection: Connection,
    /// The certificate that the server showed.
    pub certificate: CertificateDer<'static>,
    control: Option<SendStream>,
    _endpoint: Endpoint,
}

/// A session over WebTransport.
pub struct WebSession {
    pub browser: Browser,
    pub request: SendStream,
    /// The server's answer to the request, and the end of the session.
    pub answer: RecvStream,
}

impl Browser {
    pub async fn connect(server: &Server) -> Browser {
        Browser::try_connect(server).await.expect("a connection")
    }

    pub async fn try_connect(server: &Server) -> Result<Browser, ConnectionError> {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        // These tests look at the certificate themselves.
        let verifier = verifier(&Trust::AnyCertificate, provider.clone()).expect("a verifier");
        let mut tls = rustls::ClientConfig::builder_with_provider(provider)
            .with_protocol_versions(&[&rustls::version::TLS13])
            .expect("TLS 1.3")
            .dangerous()
            .with_custom_certificate_verifier(verifier)
            .with_no_client_auth();
        tls.alpn_protocols = vec![b"h3".to_vec()];
        let crypto = QuicClientConfig::try_from(tls).expect("TLS for QUIC");
        let mut config = ClientConfig::new(Arc::new(crypto));
        config.transport_config(Arc::new(TransportConfig::default()));
        let any = SocketAddr::from(([127, 0, 0, 1], 0));
        let endpoint = Endpoint::client(any).expect("a socket");
        let connecting = endpoint
            .connect_with(config, server.address(), "localhost")
            .expect("a valid address");
        let connected = timeout(DEADLINE, connecting).await.expect("an answer");
        let connection = connected?;
        let identity = connection.peer_identity().expect("a certificate");
        let chain = identity.downcast::<Vec<CertificateDer<'static>>>();
        Ok(Browser {
            connection,
            certificate: chain.expect("a chain")[0].clone(),
            control: None,
            _endpoint: endpoint,
        })
    }

    /// Sends its settings.
    pub async fn send_settings(&mut self) {
        let mut settings = Settings::default();
        settings.enable_webtransport(1);
        let mut bytes = vec![];
        settings.encode(&mut bytes);
        self.send_control(&bytes).await;
    }

    /// Opens a control stream with any bytes.
    pub async fn send_control(&mut self, bytes: &[u8]) {
        self.control = Some(self.send_uni(bytes).await);
    }

    pub async fn send_uni(&self, bytes: &[u8]) -> SendStream {
        let opened = timeout(DEADLINE, self.connection.open_uni()).await;
        let mut stream = opened.expect("room for a stream").expect("a stream");
        stream.write_all(bytes).await.expect("room for bytes");
        stream
    }

    /// Opens a bidirectional stream with any bytes.
    pub async fn send_bi(&self, bytes: &[u8]) -> (SendStream, RecvStream) {
        let opened = timeout(DEADLINE, self.connection.open_bi()).await;
        let (mut send, receive) = opened.expect("room for a stream").expect("a stream");
        send.write_all(bytes).await.expect("room for bytes");
        (send, receive)
    }

    /// Reads the server's settings.
    pub async fn settings(&self) -> Settings {
        let accepted = timeout(DEADLINE, self.connection.accept_uni()).await;
        let mut stream = accepted.expect("a control stream").expect("a stream");
        let read = timeout(DEADLINE, Settings::read(&mut stream)).await;
        read.expect("settings in time").expect("settings")
    }

    /// Begins a session from a page of an origin.
    pub async fn begin(mut self, origin: &str) -> WebSession {
        self.send_settings().await;
        let (request, answer) = self.send_bi(&request(origin)).await;
        WebSession {
            browser: self,
            request,
            answer,
        }
    }
}

impl WebSession {
    /// A session that the server has accepted.
    pub async fn open(server: &Server) -> WebSession {
        let browser = Browser::connect(server).await;
        let mut session = browser.begin("https://example.org").await;
        let answer = web_transport_proto::ConnectResponse::read(&mut session.answer);
        timeout(DEADLINE, answer)
            .await
            .expect("an answer in time")
            .expect("the session is accepted");
        session
    }

    /// The session's stream, with these bytes.
    pub async fn stream(&self, bytes: &[u8]) -> (SendStream, RecvStream) {
        let mut head = attached(0);
        head.extend_from_slice(bytes);
        self.browser.send_bi(&head).await
    }

    /// How the server ends the session: a code and a sentence.
    pub async fn end(&mut self) -> (u32, String) {
        let mut capsules = web_transport_proto::Http3CapsuleReader::new(&mut self.answer);
        let read = timeout(DEADLINE, capsules.read()).await;
        match read.expect("the session ends in time") {
            Ok(Some(web_transport_proto::Capsule::CloseWebTransportSession { code, reason })) => {
                (code, reason)
            }
            other => panic!("no end of the session: {other:?}"),
        }
    }
}

/// The request of a session.
pub fn request(origin: &str) -> Vec<u8> {
    let url: url::Url = "https://localhost/".parse().expect("an address");
    let request = ConnectRequest::new(url);
    let name = web_transport_proto::http::header::ORIGIN;
    let origin = origin.parse().expect("an origin");
    let mut bytes = vec![];
    request
        .with_header(name, origin)
        .encode(&mut bytes)
        .expect("a request");
    bytes
}

/// The head of a session's stream.
pub fn attached(session: u32) -> Vec<u8> {
    let mut bytes = vec![];
    Frame::WEBTRANSPORT.encode(&mut bytes);
    VarInt::from_u32(session).encode(&mut bytes);
    bytes
}

/// A frame of any kind.
pub fn frame(kind: u32, payload: &[u8]) -> Vec<u8> {
    let mut bytes = vec![];
    VarInt::from_u32(kind).encode(&mut bytes);
    VarInt::from_u32(payload.len() as u32).encode(&mut bytes);
    bytes.extend_from_slice(payload);
    bytes
}

/// A control stream with one frame.
pub fn control(kind: u32, payload: &[u8]) -> Vec<u8> {
    let mut bytes = vec![];
    StreamUni::CONTROL.encode(&mut bytes);
    bytes.extend_from_slice(&frame(kind, payload));
    bytes
}
