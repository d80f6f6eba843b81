//! Authentication between two servers: both have the same file, with a certificate and its key.
//! Each accepts only certificates of its own file.

use std::net::{IpAddr, Ipv4Addr};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use platform::private;
use platform::renewal::{Renewals, Shared};
use program::given;
use quic::trust::{Trust, verifier};
use quinn::crypto::rustls::{QuicClientConfig, QuicServerConfig};
use quinn::{ClientConfig, ServerConfig, TransportConfig, VarInt};
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{ResolvesClientCert, Resumption};
use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;
use rustls::{DigitallySignedStruct, DistinguishedName, SignatureScheme};
use transport::quic::self_signed_pem;
use transport::steady::SteadyTime;

/// The protocol of a link, and its flow control.
#[derive(Clone, Copy, Debug)]
pub struct Protocol {
    pub alpn: &'static [u8],
    /// The most bytes in flight to the side that has the port.
    pub to_port: u32,
    /// And to the side that connects.
    pub from_port: u32,
    /// A side that is silent for this long is gone.
    pub silence_max: Duration,
}

/// A certificate with its key, and all accepted certificates: those in force now.
#[derive(Debug)]
pub struct LinkKey(Shared<Current>);

/// The contents of a file.
#[derive(Debug)]
struct Current {
    own: Arc<CertifiedKey>,
    known: Arc<dyn ServerCertVerifier>,
}

impl LinkKey {
    /// Writes a new one into a file, which must not be there yet.
    pub fn create(path: &Path) -> Result<()> {
        let (certificate, key) = self_signed_pem()?;
        let written = private::write_new(path, format!("{certificate}{key}").as_bytes());
        written.with_context(|| format!("cannot write {}", path.display()))
    }

    /// Reads a PEM file with one key and its certificate, then others that are accepted.
    pub fn load(path: &Path) -> Result<LinkKey> {
        Ok(LinkKey(Shared::new(Current::load(path)?)))
    }

    /// The same, and again when the file changes.
    pub fn watched(renewals: &Renewals, path: &Path) -> Result<LinkKey> {
        let path = path.to_owned();
        let files = vec![path.clone()];
        let current = renewals.load("link key", files, move || Current::load(&path))?;
        Ok(LinkKey(current))
    }

    /// The side that has the port.
    pub fn server_config(&self, protocol: &Protocol) -> Result<ServerConfig> {
        let mut tls = rustls::ServerConfig::builder_with_provider(provider())
            .with_protocol_versions(&[&rustls::version::TLS13])?
            .with_client_cert_verifier(Arc::new(Known(self.0.clone())))
            .with_cert_resolver(Arc::new(Own(self.0.clone())));
        tls.alpn_protocols = vec![protocol.alpn.to_vec()];
        tls.send_tls13_tickets = 0;
        let crypto = QuicServerConfig::try_from(tls)?;
        let mut config = ServerConfig::with_crypto(Arc::new(crypto));
        config.time_source(Arc::new(SteadyTime));
        let mut transport = transport(protocol, protocol.to_port, protocol.from_port)?;
        transport.max_concurrent_bidi_streams(VarInt::from_u32(1));
        config.transport_config(Arc::new(transport));
        Ok(config)
    }

    /// The side that connects.
    pub fn client_config(&self, protocol: &Protocol) -> Result<ClientConfig> {
        let mut tls = rustls::ClientConfig::builder_with_provider(provider())
            .with_protocol_versions(&[&rustls::version::TLS13])?
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(Known(self.0.clone())))
            .with_client_cert_resolver(Arc::new(Own(self.0.clone())));
        tls.alpn_protocols = vec![protocol.alpn.to_vec()];
        // A session that is resumed shows no certificate.
        tls.resumption = Resumption::disabled();
        let crypto = QuicClientConfig::try_from(tls)?;
        let mut config = ClientConfig::new(Arc::new(crypto));
        let mut transport = transport(protocol, protocol.from_port, protocol.to_port)?;
        transport.max_concurrent_bidi_streams(VarInt::from_u32(0));
        config.transport_config(Arc::new(transport));
        Ok(config)
    }
}

impl Current {
    fn load(path: &Path) -> Result<Arc<Current>> {
        let name = path.display();
        let text = given::read(path).with_context(|| format!("cannot read {name}"))?;
        let known = CertificateDer::pem_slice_iter(&text).collect::<Result<Vec<_>, _>>();
        let known = known.with_context(|| format!("{name} has no readable certificates"))?;
        if known.is_empty() {
            bail!("{name} has no certificate: make one with `myriad link-key {name}`");
        }
        let key = PrivateKeyDer::from_pem_slice(&text)
            .with_context(|| format!("{name} has no readable private key"))?;
        let own = vec![known[0].clone()];
        let own = CertifiedKey::from_der(own, key, &provider())
            .with_context(|| format!("{name}: its certificate and key do not match"))?;
        let known = verifier(&Trust::Certificates(known), provider())?;
        let own = Arc::new(own);
        Ok(Arc::new(Current { own, known }))
    }
}

fn provider() -> Arc<CryptoProvider> {
    Arc::new(ring::default_provider())
}

/// Of a side that receives and sends so many bytes at a time.
fn transport(protocol: &Protocol, receives: u32, sends: u32) -> Result<TransportConfig> {
    let mut transport = TransportConfig::default();
    transport
        .max_concurrent_uni_streams(VarInt::from_u32(0))
        .datagram_receive_buffer_size(None)
        .stream_receive_window(VarInt::from_u32(receives))
        .receive_window(VarInt::from_u32(receives))
        .send_window(u64::from(sends))
        .keep_alive_interval(Some(protocol.silence_max / 6))
        .max_idle_timeout(Some(protocol.silence_max.try_into()?));
    Ok(transport)
}

/// Shows the certificate that is in force.
#[derive(Debug)]
struct Own(Shared<Current>);

impl ResolvesServerCert for Own {
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(self.0.get().own.clone())
    }
}

impl ResolvesClientCert for Own {
    fn resolve(&self, _: &[&[u8]], _: &[SignatureScheme]) -> Option<Arc<CertifiedKey>> {
        Some(self.0.get().own.clone())
    }

    fn has_certs(&self) -> bool {
        true
    }
}

/// Verifies either side by the accepted certificates of now.
#[derive(Debug)]
struct Known(Shared<Current>);

impl Known {
    fn verifier(&self) -> Arc<dyn ServerCertVerifier> {
        self.0.get().known.clone()
    }
}

impl ServerCertVerifier for Known {
    fn verify_server_cert(
        &self,
        certificate: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        ocsp: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        self.verifier()
            .verify_server_cert(certificate, intermediates, name, ocsp, now)
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.verifier()
            .verify_tls12_signature(message, certificate, signature)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.verifier()
            .verify_tls13_signature(message, certificate, signature)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.verifier().supported_verify_schemes()
    }
}

impl ClientCertVerifier for Known {
    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        &[]
    }

    fn verify_client_cert(
        &self,
        certificate: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        now: UnixTime,
    ) -> Result<ClientCertVerified, rustls::Error> {
        // Certificates are compared byte by byte, whatever their names.
        let name = ServerName::from(IpAddr::from(Ipv4Addr::LOCALHOST));
        self.verifier()
            .verify_server_cert(certificate, intermediates, &name, &[], now)?;
        Ok(ClientCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.verifier()
            .verify_tls12_signature(message, certificate, signature)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.verifier()
            .verify_tls13_signature(message, certificate, signature)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.verifier().supported_verify_schemes()
    }
}
