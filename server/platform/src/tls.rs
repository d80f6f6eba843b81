//! TLS towards other programs: databases and etcd.

use anyhow::Result;
use rustls::crypto::ring::default_provider;
use rustls::{ClientConfig, RootCertStore};

/// Trusts the certificates that the system does, or those in the files that `SSL_CERT_FILE` and
/// `SSL_CERT_DIR` name.
pub fn trust_the_system() -> Result<ClientConfig> {
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    Ok(
        ClientConfig::builder_with_provider(default_provider().into())
            .with_safe_default_protocol_versions()?
            .with_root_certificates(roots)
            .with_no_client_auth(),
    )
}
