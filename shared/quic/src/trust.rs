//! Which server certificates a client accepts.

use std::path::PathBuf;
use std::sync::Arc;

use program::given;
use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{CertificateError, DigitallySignedStruct, OtherError, RootCertStore, SignatureScheme};
use thiserror::Error;

/// Which server certificates to accept.
#[derive(Clone, Debug)]
pub enum Trust {
    /// Only these certificates.
    Certificates(Vec<CertificateDer<'static>>),
    /// Only a certificate with this SHA-256 fingerprint.
    Fingerprint([u8; 32]),
    /// Certificates signed by an authority in this PEM file.
    Authority(PathBuf),
    /// Any certificate: only for tests on networks without attackers.
    AnyCertificate,
}

impl Trust {
    /// Trust in the certificate of a fingerprint as servers print it: 64 hexadecimal digits,
    /// with or without colons.
    pub fn with_fingerprint(text: &str) -> Result<Trust, TrustError> {
        let digits: String = text.chars().filter(|&c| c != ':').collect();
        let mut fingerprint = [0; 32];
        if digits.len() != 64 || !digits.is_ascii() {
            return Err(TrustError::Fingerprint);
        }
        for (byte, i) in fingerprint.iter_mut().zip((0..64).step_by(2)) {
            *byte =
                u8::from_str_radix(&digits[i..i + 2], 16).map_err(|_| TrustError::Fingerprint)?;
        }
        Ok(Trust::Fingerprint(fingerprint))
    }
}

/// Why certificates can't be checked in this way.
#[derive(Debug, Error)]
pub enum TrustError {
    /// A text that should be a fingerprint is none.
    #[error("a fingerprint is 64 hexadecimal digits, as printed by the server")]
    Fingerprint,
    /// A file with certificates of an authority.
    #[error("cannot read PEM certificates from {path}: {message}")]
    Authority {
        /// Of the file.
        path: String,
        /// Why it can't be read.
        message: String,
    },
}

/// Checks a server's certificate, and that the server has its key.
pub fn verifier(
    trust: &Trust,
    provider: Arc<CryptoProvider>,
) -> Result<Arc<dyn ServerCertVerifier>, TrustError> {
    let Trust::Authority(path) = trust else {
        return Ok(Arc::new(Pinned {
            trust: trust.clone(),
            provider,
        }));
    };
    let unreadable = |message: String| TrustError::Authority {
        path: path.display().to_string(),
        message,
    };
    let mut roots = RootCertStore::empty();
    let text = given::read(path).map_err(|e| unreadable(e.to_string()))?;
    for certificate in CertificateDer::pem_slice_iter(&text) {
        let certificate = certificate.map_err(|e| unreadable(e.to_string()))?;
        roots
            .add(certificate)
            .map_err(|e| unreadable(e.to_string()))?;
    }
    let verifier = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider)
        .build()
        .map_err(|e| unreadable(e.to_string()))?;
    Ok(verifier)
}

/// A server's certificate is not one that the client trusts.
#[derive(Debug, Error)]
#[error("its SHA-256 fingerprint is {0}, which is not the expected one")]
struct OtherCertificate(String);

/// Accepts some certificates, or any. The server must always prove that it has the
/// certificate's key.
#[derive(Debug)]
struct Pinned {
    trust: Trust,
    provider: Arc<CryptoProvider>,
}

impl ServerCertVerifier for Pinned {
    fn verify_server_cert(
        &self,
        certificate: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        let is_accepted = match &self.trust {
            Trust::Certificates(expected) => expected.iter().any(|one| one == certificate),
            Trust::Fingerprint(expected) => fingerprint(certificate) == *expected,
            Trust::AnyCertificate => true,
            Trust::Authority(_) => false,
        };
        if is_accepted {
            Ok(ServerCertVerified::assertion())
        } else {
            let found = fingerprint(certificate).map(|byte| format!("{byte:02x}"));
            let other = OtherCertificate(found.concat());
            Err(CertificateError::Other(OtherError(Arc::new(other))).into())
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls12_signature(message, certificate, signature, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        // A certificate that anybody could have made proves nothing.
        if matches!(self.trust, Trust::AnyCertificate) {
            return Ok(HandshakeSignatureValid::assertion());
        }
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls13_signature(message, certificate, signature, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider
            .signature_verification_algorithms
            .supported_schemes()
    }
}

/// A certificate's SHA-256 fingerprint, which a server with a self-signed one prints.
pub fn fingerprint(certificate: &CertificateDer<'_>) -> [u8; 32] {
    let rustls::SupportedCipherSuite::Tls13(suite) = ring::cipher_suite::TLS13_AES_128_GCM_SHA256;
    let hash = suite.common.hash_provider.hash(certificate.as_ref());
    let mut bytes = [0; 32];
    bytes.copy_from_slice(hash.as_ref());
    bytes
}
