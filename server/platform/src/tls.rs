//! TLS towards other programs: databases and etcd.

use std::path::Path;

use anyhow::{Context, Result};
use rustls::client::WantsClientCert;
use rustls::crypto::ring::default_provider;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ClientConfig, ConfigBuilder, RootCertStore};

/// Trusts the certificates that the system does, or those in the files that `SSL_CERT_FILE` and
/// `SSL_CERT_DIR` name.
pub fn trust_the_system() -> Result<ClientConfig> {
    Ok(system_roots()?.with_no_client_auth())
}

/// The same, and shows a certificate, of these PEM files.
pub fn trust_the_system_as(certificate: &Path, key: &Path) -> Result<ClientConfig> {
    let chain = CertificateDer::pem_file_iter(certificate)
        .and_then(Iterator::collect::<Result<Vec<_>, _>>)
        .with_context(|| format!("the certificate in {}", certificate.display()))?;
    let key = PrivateKeyDer::from_pem_file(key)
        .with_context(|| format!("the key in {}", key.display()))?;
    Ok(system_roots()?.with_client_auth_cert(chain, key)?)
}

fn system_roots() -> Result<ConfigBuilder<ClientConfig, WantsClientCert>> {
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    Ok(
        ClientConfig::builder_with_provider(default_provider().into())
            .with_safe_default_protocol_versions()?
            .with_root_certificates(roots),
    )
}
