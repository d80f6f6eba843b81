//! Sockets, certificates and transport settings.

use std::io;
use std::net::{SocketAddr, UdpSocket};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use platform::renewal::{Renewals, Shared};
use platform::taken;
use program::given;
use quic::proto::crypto::rustls::QuicServerConfig;
use quic::proto::{AckFrequencyConfig, ServerConfig, TransportConfig, VarInt};
use quic::trust::fingerprint;
use quic::{DATAGRAM_BUFFER_BYTES, ThinFlowConfig, Turns, WebOptions};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::sign::CertifiedKey;
use shared::wire;
use tracing::info;

use super::browsers::{ByProtocol, Renewed};
use super::steady::SteadyTime;

/// A certificate chain and its key.
pub struct Identity {
    pub chain: Vec<CertificateDer<'static>>,
    pub key: PrivateKeyDer<'static>,
}

impl Identity {
    /// Reads PEM files.
    pub fn load(certificate: &Path, key: &Path) -> Result<Identity> {
        let read = |path: &Path| {
            let name = path.display().to_string();
            let text = given::read(path).with_context(|| format!("cannot read {name}"))?;
            anyhow::Ok((text, name))
        };
        let (certificate, key) = (read(certificate)?, read(key)?);
        Identity::parse((&certificate.0, &certificate.1), (&key.0, &key.1))
    }

    /// Reads the PEM texts of a certificate and its key, each with its name for errors.
    pub fn parse(certificate: (&[u8], &str), key: (&[u8], &str)) -> Result<Identity> {
        let (text, name) = certificate;
        let chain = CertificateDer::pem_slice_iter(text)
            .collect::<Result<Vec<_>, _>>()
            .with_context(|| format!("{name} is not a readable PEM certificate"))?;
        if chain.is_empty() {
            bail!("{name} holds no certificate");
        }
        let (text, name) = key;
        let key = PrivateKeyDer::from_pem_slice(text)
            .with_context(|| format!("{name} is not a readable PEM private key"))?;
        Ok(Identity { chain, key })
    }

    /// Reads PEM files that belong together, and does so again when they change.
    pub fn watched(
        renewals: &Renewals,
        certificate: &Path,
        key: &Path,
    ) -> Result<Shared<CertifiedKey>> {
        let (certificate, key) = (certificate.to_owned(), key.to_owned());
        let files = vec![certificate.clone(), key.clone()];
        renewals.watch(None)?;
        renewals.load("certificate", files, move || {
            let identity = Identity::load(&certificate, &key)?;
            let digits = fingerprint(&identity.chain[0]).map(|byte| format!("{byte:02x}"));
            let certified = identity.certified()?;
            info!(fingerprint = digits.concat(), "the certificate for clients");
            Ok(certified)
        })
    }

    /// For TLS. Fails if the key is not the certificate's.
    pub fn certified(self) -> Result<Arc<CertifiedKey>> {
        let provider = rustls::crypto::ring::default_provider();
        let certified = CertifiedKey::from_der(self.chain, self.key, &provider);
        Ok(Arc::new(
            certified.context("the certificate and the key do not match")?,
        ))
    }

    /// A new self-signed certificate for `localhost`, which lasts as long as the server.
    pub fn self_signed() -> Result<Identity> {
        let (certificate, key) = self_signed_pem()?;
        Identity::parse((certificate.as_bytes(), MADE), (key.as_bytes(), MADE))
    }
}

/// Names what no file has.
const MADE: &str = "a self-signed certificate";

/// The PEM texts of a new self-signed certificate for `localhost`, and of its key.
pub fn self_signed_pem() -> Result<(String, String)> {
    let certified = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()])
        .context("cannot make a self-signed certificate")?;
    Ok((certified.cert.pem(), certified.signing_key.serialize_pem()))
}

/// The connections of browsers, beside clients that speak Myriad's own protocol over QUIC.
#[derive(Clone, Debug)]
pub struct Browsers {
    pub options: WebOptions,
    /// A certificate of their own, in place of the usual one.
    pub renewed: Option<Arc<Renewed>>,
}

/// The QUIC settings of all connections. Each of `turns` lets each of them send a packet.
pub fn server_config(
    identity: &Shared<CertifiedKey>,
    browsers: Option<&Browsers>,
    idle: Duration,
    turns: Turns,
) -> Result<ServerConfig> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let takes_browsers = browsers.is_some();
    let by_protocol = ByProtocol {
        usual: identity.clone(),
        renewed: browsers.and_then(|browsers| browsers.renewed.clone()),
    };
    let mut tls = rustls::ServerConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&rustls::version::TLS13])?
        .with_no_client_auth()
        .with_cert_resolver(Arc::new(by_protocol));
    tls.alpn_protocols = wire::SERVER_ALPNS.map(<[u8]>::to_vec).to_vec();
    if takes_browsers {
        tls.alpn_protocols.push(::quic::web::ALPN.to_vec());
    }
    // Sessions have tickets of their own; TLS's would take some kilobytes a client.
    tls.send_tls13_tickets = 0;
    let crypto = QuicServerConfig::try_from(tls).context("the TLS settings do not suit QUIC")?;
    let mut config = ServerConfig::with_crypto(Arc::new(crypto));
    config.time_source(Arc::new(SteadyTime));
    config.transport_config(Arc::new(transport(takes_browsers, idle, turns)?));
    Ok(config)
}

/// The TLS settings of the page's port, with the certificate of QUIC, also after a renewal.
pub fn https_config(identity: &Shared<CertifiedKey>) -> Result<Arc<rustls::ServerConfig>> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let resolver = ByProtocol {
        usual: identity.clone(),
        renewed: None,
    };
    let mut tls = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .with_no_client_auth()
        .with_cert_resolver(Arc::new(resolver));
    tls.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(Arc::new(tls))
}

fn transport(takes_browsers: bool, idle: Duration, turns: Turns) -> Result<TransportConfig> {
    // A client opens one stream; each more would cost memory. The client's protocol is not
    // known yet. A browser opens one for its session, three for HTTP/3, and maybe one without
    // meaning.
    let (bidirectional, unidirectional) = if takes_browsers { (2, 4) } else { (1, 0) };
    let mut transport = TransportConfig::default();
    transport
        .max_concurrent_bidi_streams(VarInt::from_u32(bidirectional))
        .max_concurrent_uni_streams(VarInt::from_u32(unidirectional))
        // A hello and requests.
        .stream_receive_window(VarInt::from_u32(4 * 1024))
        .receive_window(VarInt::from_u32(8 * 1024))
        .send_window(256 * 1024)
        .send_fairness(false)
        .datagram_receive_buffer_size(Some(32 * 1024))
        .datagram_send_buffer_size(DATAGRAM_BUFFER_BYTES)
        .congestion_controller_factory(Arc::new(ThinFlowConfig::new(turns)))
        .max_idle_timeout(Some(
            idle.try_into().context("the idle time-out is too long")?,
        ))
        .initial_rtt(INITIAL_ROUND_TRIP)
        .ack_frequency_config(Some(acks()))
        // Datagrams fit the smallest packet, so larger ones are not searched for.
        .mtu_discovery_config(None);
    Ok(transport)
}

/// How often a client acknowledges packets to QUIC: not each second one, as a narrow uplink would
/// carry little else. Datagrams have acknowledgements of their own, and the stream is thin.
fn acks() -> AckFrequencyConfig {
    let mut acks = AckFrequencyConfig::default();
    acks.ack_eliciting_threshold(VarInt::from_u32(ACK_PACKETS))
        .max_ack_delay(Some(ACK_DELAY));
    acks
}

/// Fewer packets than a window at first has.
const ACK_PACKETS: u32 = 8;
/// Or a round trip, if that is shorter.
const ACK_DELAY: Duration = Duration::from_millis(150);
/// Before a round trip is measured, lost packets are sent again after three of these. The first
/// packets are the longest: a link of 16 kbit/s needs 0.6 seconds for one.
const INITIAL_ROUND_TRIP: Duration = Duration::from_millis(150);

/// One socket for each shard, all on one port: the kernel spreads clients over them. Port
/// 0 picks a free port.
pub fn bind(address: SocketAddr, shards: usize) -> Result<Vec<UdpSocket>> {
    let refused = || format!("cannot listen on {address}");
    let is_taken = |error: &io::Error| error.kind() == io::ErrorKind::AddrInUse;
    let first = taken::retry(|| quic::socket::bind(address), is_taken).with_context(refused)?;
    quic::socket::share_port(&first).with_context(refused)?;
    let shared = first.local_addr()?;
    let mut sockets = vec![first];
    for _ in 1..shards {
        sockets.push(quic::socket::bind_beside(shared).with_context(refused)?);
    }
    Ok(sockets)
}
