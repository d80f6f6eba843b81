//! The certificate for browsers.
//!
//! A browser trusts a self-signed certificate by the hash in the page if it is an ECDSA
//! certificate of two weeks at most. So browsers have their own, beside that of other clients,
//! which may pin a fingerprint for longer. It is renewed long before it expires.

use std::sync::Arc;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use anyhow::{Context, Result};
use platform::renewal::Shared;
use quic::trust::fingerprint;
use rcgen::{CertificateParams, KeyPair, PKCS_ECDSA_P256_SHA256};
use rustls::pki_types::PrivatePkcs8KeyDer;
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;
use tracing::warn;

/// A certificate that is renewed in time.
#[derive(Debug)]
pub struct Renewed {
    current: Mutex<Current>,
}

#[derive(Clone, Debug)]
struct Current {
    key: Arc<CertifiedKey>,
    hash: [u8; 32],
    made: SystemTime,
}

impl Renewed {
    pub fn new(now: SystemTime) -> Result<Renewed> {
        let current = Mutex::new(Current::new(now)?);
        Ok(Renewed { current })
    }

    /// The SHA-256 hash of the certificate, which browsers compare.
    pub fn hash(&self, now: SystemTime) -> [u8; 32] {
        self.current(now).hash
    }

    fn current(&self, now: SystemTime) -> Current {
        let mut current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        // Browsers check its dates. A clock that is set back a little must not change the hash,
        // which pages have.
        let is_in_time = match now.duration_since(current.made) {
            Ok(age) => age < RENEW_AFTER,
            Err(ahead) => ahead.duration() < BEFORE / 2,
        };
        if !is_in_time {
            match Current::new(now) {
                Ok(renewed) => *current = renewed,
                Err(error) => warn!(%error, "the certificate for browsers can't be renewed"),
            }
        }
        current.clone()
    }
}

impl Current {
    fn new(now: SystemTime) -> Result<Current> {
        let key = KeyPair::generate_for(&PKCS_ECDSA_P256_SHA256).context("cannot make a key")?;
        let mut parameters = CertificateParams::new(["localhost".to_owned()])?;
        // Clocks of clients may be behind.
        parameters.not_before = (now - BEFORE).into();
        parameters.not_after = (now - BEFORE + VALID).into();
        let certificate = parameters
            .self_signed(&key)
            .context("cannot make a certificate for browsers")?;
        let chain = vec![certificate.der().clone()];
        let hash = fingerprint(&chain[0]);
        let key = PrivatePkcs8KeyDer::from(key.serialize_der()).into();
        let provider = rustls::crypto::ring::default_provider();
        Ok(Current {
            key: Arc::new(CertifiedKey::from_der(chain, key, &provider)?),
            hash,
            made: now,
        })
    }
}

/// Chooses by the protocol that a client asks for.
#[derive(Debug)]
pub struct ByProtocol {
    pub usual: Shared<CertifiedKey>,
    /// For browsers; `None` if they get the usual one.
    pub renewed: Option<Arc<Renewed>>,
}

impl ResolvesServerCert for ByProtocol {
    fn resolve(&self, hello: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        let mut protocols = hello.alpn().into_iter().flatten();
        let renewed = self.renewed.as_ref();
        match renewed.filter(|_| protocols.any(|protocol| protocol == quic::web::ALPN)) {
            Some(renewed) => Some(renewed.current(SystemTime::now()).key),
            None => Some(self.usual.get()),
        }
    }
}

const DAY: Duration = Duration::from_secs(24 * 60 * 60);
/// Browsers accept no certificate that is valid for more than 14 days.
const VALID: Duration = DAY.saturating_mul(13);
const BEFORE: Duration = DAY;
const RENEW_AFTER: Duration = DAY.saturating_mul(6);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_certificate_is_kept_for_days_and_replaced_before_its_end() {
        let start = SystemTime::now();
        let renewed = Renewed::new(start).unwrap();
        let first = renewed.hash(start);
        assert_eq!(renewed.hash(start + DAY * 5), first);
        let second = renewed.hash(start + DAY * 6);
        assert_ne!(second, first);
        assert_eq!(renewed.hash(start + DAY * 11), second);
        assert_ne!(renewed.hash(start + DAY * 100), second);
        assert!(RENEW_AFTER + BEFORE < VALID);
    }

    #[test]
    fn a_clock_that_is_set_back_replaces_it_too() {
        let start = SystemTime::now();
        let renewed = Renewed::new(start).unwrap();
        let first = renewed.hash(start);
        assert_eq!(renewed.hash(start - DAY / 4), first);
        assert_ne!(renewed.hash(start - DAY * 3), first);
    }
}
