//! By what a primary and a standby know each other: a file that both have, with a certificate
//! and its key. Each accepts the certificates of its own file only, from either side.

use std::fs;
use std::io::Write;
use std::net::{IpAddr, Ipv4Addr};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use client_bot::Trust;
use client_bot::connect::verifier;
use quinn::crypto::rustls::{QuicClientConfig, QuicServerConfig};
use quinn::{ClientConfig, ServerConfig, TransportConfig, VarInt};
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use rustls::{DigitallySignedStruct, DistinguishedName, SignatureScheme};

use super::link::ALPN;
use crate::transport::quic::self_signed_pem;
use crate::transport::steady::SteadyTime;

/// A certificate with its key, and all certificates that are known.
#[derive(Debug)]
pub struct LinkKey {
    known: Vec<CertificateDer<'static>>,
    key: PrivateKeyDer<'static>,
}

impl LinkKey {
    /// Writes a new one into a file, which must not be there yet.
    pub fn create(path: &Path) -> Result<()> {
        let (certificate, key) = self_signed_pem()?;
        let mut options = fs::OpenOptions::new();
        options.write(true).create_new(true).mode(0o600);
        let written = options.open(path).and_then(|mut file| {
            file.write_all(format!("{certificate}{key}").as_bytes())?;
            file.sync_all()
        });
        written.with_context(|| format!("cannot write {}", path.display()))
    }

    /// Reads a PEM file with one key and its certificate, then others that are known.
    pub fn load(path: &Path) -> Result<LinkKey> {
        let name = path.display();
        let text = fs::read(path).with_context(|| format!("cannot read {name}"))?;
        let known = CertificateDer::pem_slice_iter(&text).collect::<Result<Vec<_>, _>>();
        let known = known.with_context(|| format!("{name} has no readable certificates"))?;
        if known.is_empty() {
            bail!("{name} has no certificate: make one with `myriad link-key {name}`");
        }
        let key = PrivateKeyDer::from_pem_slice(&text)
            .with_context(|| format!("{name} has no readable private key"))?;
        Ok(LinkKey { known, key })
    }

    /// The primary's side.
    pub fn server_config(&self) -> Result<ServerConfig> {
        let mut tls = rustls::ServerConfig::builder_with_provider(provider())
            .with_protocol_versions(&[&rustls::version::TLS13])?
            .with_client_cert_verifier(Arc::new(Known(self.verifier()?)))
            .with_single_cert(vec![self.known[0].clone()], self.key.clone_key())
            .context("the link's certificate and key do not match")?;
        tls.alpn_protocols = vec![ALPN.to_vec()];
        tls.send_tls13_tickets = 0;
        let crypto = QuicServerConfig::try_from(tls)?;
        let mut config = ServerConfig::with_crypto(Arc::new(crypto));
        config.time_source(Arc::new(SteadyTime));
        let mut transport = transport()?;
        transport
            .max_concurrent_bidi_streams(VarInt::from_u32(1))
            .stream_receive_window(VarInt::from_u32(16 * 1024))
            .receive_window(VarInt::from_u32(16 * 1024));
        config.transport_config(Arc::new(transport));
        Ok(config)
    }

    /// The standby's side.
    pub fn client_config(&self) -> Result<ClientConfig> {
        let mut tls = rustls::ClientConfig::builder_with_provider(provider())
            .with_protocol_versions(&[&rustls::version::TLS13])?
            .dangerous()
            .with_custom_certificate_verifier(self.verifier()?)
            .with_client_auth_cert(vec![self.known[0].clone()], self.key.clone_key())
            .context("the link's certificate and key do not match")?;
        tls.alpn_protocols = vec![ALPN.to_vec()];
        let crypto = QuicClientConfig::try_from(tls)?;
        let mut config = ClientConfig::new(Arc::new(crypto));
        let mut transport = transport()?;
        transport
            .max_concurrent_bidi_streams(VarInt::from_u32(0))
            .stream_receive_window(VarInt::from_u32(WINDOW_BYTES))
            .receive_window(VarInt::from_u32(WINDOW_BYTES));
        config.transport_config(Arc::new(transport));
        Ok(config)
    }

    fn verifier(&self) -> Result<Arc<dyn ServerCertVerifier>> {
        let trust = Trust::Certificates(self.known.clone());
        Ok(verifier(&trust, provider())?)
    }
}

fn provider() -> Arc<CryptoProvider> {
    Arc::new(ring::default_provider())
}

fn transport() -> Result<TransportConfig> {
    let mut transport = TransportConfig::default();
    transport
        .max_concurrent_uni_streams(VarInt::from_u32(0))
        .datagram_receive_buffer_size(None)
        .send_window(u64::from(WINDOW_BYTES))
        .keep_alive_interval(Some(KEEP_ALIVE))
        .max_idle_timeout(Some(SILENCE_MAX.try_into()?));
    Ok(transport)
}

/// Accepts a standby by what its primary is accepted by.
#[derive(Debug)]
struct Known(Arc<dyn ServerCertVerifier>);

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
        // Certificates are known as they are, whatever their names.
        let name = ServerName::from(IpAddr::from(Ipv4Addr::LOCALHOST));
        self.0
            .verify_server_cert(certificate, intermediates, &name, &[], now)?;
        Ok(ClientCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.0
            .verify_tls12_signature(message, certificate, signature)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.0
            .verify_tls13_signature(message, certificate, signature)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.supported_verify_schemes()
    }
}

/// In flight between the two.
const WINDOW_BYTES: u32 = 8 << 20;
const KEEP_ALIVE: Duration = Duration::from_millis(500);
/// A side that is silent for this long is gone.
const SILENCE_MAX: Duration = Duration::from_secs(3);
