//! Authentication of clients: the options of `myriad serve`.

use std::path::PathBuf;
use std::sync::Arc;

use accounts::authenticator::Authenticator;
use accounts::jwt::JwtTokens;
use accounts::revocations::Revocations;
use accounts::shared_word::SharedWord;
use accounts::signed::SignedTokens;
use anyhow::Result;
use clap::Args;
use client_bot::cli::{read_tokens, token};
use platform::renewal::{Renewals, Shared};

#[derive(Debug, Args)]
pub struct AccountArguments {
    /// Token that all clients must show; every user of this machine can read it here. Without
    /// a token or a key, every client is admitted
    #[arg(long, value_parser = token)]
    token: Option<String>,
    /// File with the token that all clients must show, or with several, one a line
    #[arg(long, value_name = "FILE", conflicts_with = "token")]
    token_file: Option<PathBuf>,
    /// File with the key of signed tokens, as `myriad token` issues them, or with several, one a
    /// line: each client is its token's account
    #[arg(long, value_name = "FILE", conflicts_with_all = ["token", "token_file"])]
    account_key: Option<PathBuf>,
    /// File with the public keys of an identity provider, as PEM or JWKS: each client is the
    /// subject of its JSON web token
    #[arg(
        long, value_name = "FILE", requires_all = ["jwt_issuer", "jwt_audience"],
        conflicts_with_all = ["token", "token_file", "account_key"]
    )]
    jwt_keys: Option<PathBuf>,
    /// Issuer that JSON web tokens must name
    #[arg(long, value_name = "TEXT", requires = "jwt_keys")]
    jwt_issuer: Option<String>,
    /// Audience that JSON web tokens must name
    #[arg(long, value_name = "TEXT", requires = "jwt_keys")]
    jwt_audience: Option<String>,
    /// File with revoked tokens and accounts, one a line: sessions with them end
    #[arg(long, value_name = "FILE")]
    revoked: Option<PathBuf>,
    /// The most clients from one IPv4 address or IPv6 /64 [default: no limit]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub clients_per_network: Option<u32>,
}

impl AccountArguments {
    /// The authenticator, with files that may be renewed.
    pub fn authenticator(&self, renewals: &Renewals) -> Result<Arc<dyn Authenticator>> {
        let keys = (&self.jwt_keys, &self.jwt_issuer, &self.jwt_audience);
        let shared = if let Some(path) = self.account_key.clone() {
            renewals.load("account key", vec![path.clone()], move || {
                Ok(Arc::new(SignedTokens::load(&path)?) as Arc<dyn Authenticator>)
            })?
        } else if let (Some(path), Some(issuer), Some(audience)) = keys {
            let (path, issuer, audience) = (path.clone(), issuer.clone(), audience.clone());
            renewals.load("keys of JSON web tokens", vec![path.clone()], move || {
                let tokens = JwtTokens::load(&path, &issuer, &audience)?;
                Ok(Arc::new(tokens) as Arc<dyn Authenticator>)
            })?
        } else if let Some(path) = self.token_file.clone() {
            renewals.load("token", vec![path.clone()], move || {
                Ok(Arc::new(SharedWord::any_of(read_tokens(&path)?)) as Arc<dyn Authenticator>)
            })?
        } else {
            let word = self.token.clone().unwrap_or_default();
            return Ok(Arc::new(SharedWord::new(word)));
        };
        Ok(Arc::new(shared))
    }

    /// The revoked tokens, in a file that may be renewed.
    pub fn revocations(&self, renewals: &Renewals) -> Result<Option<Shared<Revocations>>> {
        let Some(path) = self.revoked.clone() else {
            return Ok(None);
        };
        let load = move || Ok(Arc::new(Revocations::load(&path)?));
        let files = self.revoked.iter().cloned().collect();
        renewals.load("revoked tokens", files, load).map(Some)
    }
}
