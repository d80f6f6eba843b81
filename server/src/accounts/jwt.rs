//! JSON web tokens, as the identity providers of OpenID Connect issue them: signed with a
//! key whose public half the server has from a file.
//!
//! | module | holds |
//! | --- | --- |
//! | `provider` | the signatures, checked by the TLS library's cryptography |

mod provider;

use std::collections::HashSet;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail};
use jsonwebtoken::errors::ErrorKind;
use jsonwebtoken::jwk::{JwkSet, PublicKeyUse};
use jsonwebtoken::{Algorithm, AlgorithmFamily, DecodingKey, Validation, decode, decode_header};
use serde::Deserialize;
use shared::Name;

use super::authenticator::{Authenticator, Credentials, Rejection, UnixTime};
use super::identity::{Account, Identity};

/// Checks JSON web tokens of one issuer for one audience.
pub struct JwtTokens {
    keys: Vec<Key>,
    issuer: String,
    audience: String,
}

struct Key {
    /// What a token's header calls it; a single key needs no name.
    id: Option<String>,
    key: DecodingKey,
    /// The algorithms that it may be used with.
    algorithms: Vec<Algorithm>,
}

/// The claims that are read; others are ignored.
#[derive(Debug, Deserialize)]
struct Claims {
    sub: String,
    exp: f64,
    nbf: Option<f64>,
    preferred_username: Option<String>,
    name: Option<String>,
}

impl JwtTokens {
    /// The keys in a text: a public key as PEM, or a set of keys as JWKS.
    pub fn new(keys: &str, issuer: &str, audience: &str) -> Result<JwtTokens> {
        provider::install();
        let keys = match keys.trim_start().starts_with('{') {
            true => of_set(keys)?,
            false => vec![of_pem(keys.as_bytes())?],
        };
        if issuer.is_empty() || audience.is_empty() {
            bail!("an issuer and an audience are needed: any other's tokens would be good, too");
        }
        Ok(JwtTokens {
            keys,
            issuer: issuer.to_owned(),
            audience: audience.to_owned(),
        })
    }

    /// The same from a file.
    pub fn load(path: &Path, issuer: &str, audience: &str) -> Result<JwtTokens> {
        let name = path.display();
        let text = fs::read_to_string(path).with_context(|| format!("cannot read {name}"))?;
        JwtTokens::new(&text, issuer, audience).with_context(|| format!("{name}"))
    }

    fn open(&self, token: &str) -> Result<Claims, Rejection> {
        let header =
            decode_header(token).map_err(|_| Rejection::Unreadable("expected a JSON web token"))?;
        let is_named = |key: &&Key| key.id.is_none() || key.id == header.kid;
        let candidates = self.keys.iter().filter(is_named);
        let mut candidates = candidates.filter(|key| key.algorithms.contains(&header.alg));
        let Some(key) = candidates.next() else {
            return Err(Rejection::Unreadable(
                "it is signed with a key that the server lacks",
            ));
        };
        let mut validation = Validation::new(header.alg);
        validation.algorithms = key.algorithms.clone();
        validation.set_issuer(&[&self.issuer]);
        validation.set_audience(&[&self.audience]);
        let required = ["exp", "iss", "aud", "sub"];
        validation.required_spec_claims = HashSet::from(required.map(str::to_owned));
        // Times are compared with that of the caller.
        validation.validate_exp = false;
        let decoded = decode::<Claims>(token, &key.key, &validation);
        decoded
            .map(|data| data.claims)
            .map_err(|error| match error.kind() {
                ErrorKind::InvalidIssuer => Rejection::Issuer,
                ErrorKind::InvalidAudience => Rejection::Audience,
                ErrorKind::MissingRequiredClaim(_) => {
                    Rejection::Unreadable("expected the claims iss, aud, sub and exp")
                }
                ErrorKind::Json(_) | ErrorKind::InvalidClaimFormat(_) => {
                    Rejection::Unreadable("a claim has an unexpected form")
                }
                _ => Rejection::Forged,
            })
    }
}

impl Authenticator for JwtTokens {
    fn authenticate(
        &self,
        credentials: &Credentials<'_>,
        UnixTime(now): UnixTime,
    ) -> Result<Identity, Rejection> {
        if credentials.token.is_empty() {
            return Err(Rejection::Missing);
        }
        let claims = self.open(credentials.token)?;
        let now = now as f64;
        if claims.exp + LEEWAY_SECONDS <= now {
            return Err(Rejection::Expired((now - claims.exp) as u64));
        }
        if let Some(from) = claims.nbf
            && from > now + LEEWAY_SECONDS
        {
            return Err(Rejection::Early((from - now) as u64));
        }
        let names = [
            claims.preferred_username,
            claims.name,
            Some(claims.sub.clone()),
        ];
        // A name that is too long to show does not keep a player out.
        let name = names
            .into_iter()
            .flatten()
            .find_map(|name| Name::new(name).ok());
        Ok(Identity {
            account: Some(Account::new(claims.sub)?),
            name,
        })
    }

    fn is_guessable(&self) -> bool {
        false
    }

    fn description(&self) -> String {
        format!(
            "accounts by JSON web tokens of {} for {}, {} keys",
            self.issuer,
            self.audience,
            self.keys.len()
        )
    }
}

fn of_set(text: &str) -> Result<Vec<Key>> {
    let set: JwkSet = serde_json::from_str(text).context("expected a set of keys as JWKS")?;
    let mut keys = vec![];
    for jwk in &set.keys {
        // A set may hold keys for other purposes, and secrets sign nothing here.
        if jwk.common.public_key_use == Some(PublicKeyUse::Encryption) {
            continue;
        }
        let Ok(key) = DecodingKey::from_jwk(jwk) else {
            continue;
        };
        let algorithms = algorithms(key.family());
        if algorithms.is_empty() {
            continue;
        }
        keys.push(Key {
            id: jwk.common.key_id.clone(),
            key,
            algorithms,
        });
    }
    if keys.is_empty() {
        bail!("expected a set with an RSA, EC or Ed25519 key");
    }
    Ok(keys)
}

fn of_pem(pem: &[u8]) -> Result<Key> {
    let key = DecodingKey::from_rsa_pem(pem)
        .or_else(|_| DecodingKey::from_ec_pem(pem))
        .or_else(|_| DecodingKey::from_ed_pem(pem))
        .ok()
        .context("expected a public RSA, EC or Ed25519 key as PEM, or a set of keys as JWKS")?;
    Ok(Key {
        id: None,
        algorithms: algorithms(key.family()),
        key,
    })
}

/// What a key of a family may verify; none for secrets, which anybody with the file could
/// sign with.
fn algorithms(family: AlgorithmFamily) -> Vec<Algorithm> {
    match family {
        AlgorithmFamily::Hmac => vec![],
        family => family.algorithms().to_vec(),
    }
}

/// Clocks of two machines differ.
const LEEWAY_SECONDS: f64 = 60.0;

#[cfg(test)]
mod tests;
