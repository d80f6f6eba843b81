//! JSON web tokens, as the identity providers of OpenID Connect issue them: signed with a
//! key whose public half the server has from a file.
//!
//! | module | holds |
//! | --- | --- |
//! | `provider` | the signatures, checked by the TLS library's cryptography |

mod provider;

use std::collections::HashSet;
use std::path::Path;

use anyhow::{Context, Result, anyhow, bail};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD as BASE64;
use jsonwebtoken::errors::ErrorKind;
use jsonwebtoken::jwk::{Jwk, KeyOperations, PublicKeyUse};
use jsonwebtoken::{
    Algorithm, AlgorithmFamily, DecodingKey, Header, Validation, decode, decode_header,
};
use program::given;
use serde::Deserialize;
use world_file::{Format, plain};

use super::authenticator::{Authenticator, Credentials, Rejection, UnixTime};
use super::identity::{Account, Identity};
use super::names;

/// Checks JSON web tokens of one issuer for one audience.
pub struct JwtTokens {
    keys: Vec<Key>,
    issuer: String,
    audience: String,
}

struct Key {
    /// Its name in the headers of tokens; a single key needs none.
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
    iat: Option<f64>,
    preferred_username: Option<String>,
    name: Option<String>,
}

impl JwtTokens {
    /// The keys in a text: a public key as PEM, or a set of keys as JWKS.
    pub fn new(keys: &str, issuer: &str, audience: &str) -> Result<JwtTokens> {
        provider::install();
        let keys = match keys.trim_start().starts_with('{') {
            true => of_set(keys)?,
            false => of_pems(keys)?,
        };
        if keys.len() > KEYS_MAX {
            // A token without a key's name is compared with each of them.
            bail!("{} keys, where at most {KEYS_MAX} are allowed", keys.len());
        }
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
        let text = given::read_text(path).with_context(|| format!("cannot read {name}"))?;
        JwtTokens::new(&text, issuer, audience).with_context(|| format!("{name}"))
    }

    fn open(&self, token: &str) -> Result<Claims, Rejection> {
        let header =
            decode_header(token).map_err(|_| Rejection::Unreadable("expected a JSON web token"))?;
        if has_critical(token) {
            return Err(Rejection::Unreadable(
                "it demands an extension that the server lacks",
            ));
        }
        let candidates = self.keys.iter().filter(|key| self.may_be_of(&header, key));
        let mut rejection = Rejection::Unreadable("it is signed with a key that the server lacks");
        for key in candidates {
            match self.open_with(key, header.alg, token) {
                // It may be another key's.
                Err(Rejection::Forged) => rejection = Rejection::Forged,
                decided => return decided,
            }
        }
        Err(rejection)
    }

    /// Whether a token with this header may be signed with a key. Without a name there, the key
    /// has none either, or is the only one (OpenID Connect Core, section 10.1).
    fn may_be_of(&self, header: &Header, key: &Key) -> bool {
        let is_named = match (&key.id, &header.kid) {
            (None, _) => true,
            (Some(_), None) => self.keys.len() == 1,
            (Some(own), Some(named)) => own == named,
        };
        is_named && key.algorithms.contains(&header.alg)
    }

    fn open_with(&self, key: &Key, algorithm: Algorithm, token: &str) -> Result<Claims, Rejection> {
        let mut validation = Validation::new(algorithm);
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
            .find_map(|name| names::proven(&name).ok());
        Ok(Identity {
            account: Some(Account::new(claims.sub)?),
            name,
        })
    }

    fn issued(&self, token: &str) -> Option<UnixTime> {
        let claims = self.open(token).ok()?;
        claims.iat.map(|issued| UnixTime(issued.max(0.0) as u64))
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

/// Whether the header has critical extensions, of which none is supported (RFC 7515, section
/// 4.1.11).
fn has_critical(token: &str) -> bool {
    let header = token.split('.').next().unwrap_or_default();
    let header = BASE64.decode(header).unwrap_or_default();
    let header: Result<serde_json::Map<String, serde_json::Value>, _> =
        serde_json::from_slice(&header);
    header.map_or(true, |header| header.contains_key("crit"))
}

fn of_set(text: &str) -> Result<Vec<Key>> {
    let set: Set = serde_json::from_str(text)
        .map_err(|error| anyhow!(plain(&error.to_string(), Format::Json)))
        .context("expected a set of keys as JWKS")?;
    let mut keys = vec![];
    // Keys of unknown types are no fault of a set (RFC 7517, section 5).
    let known = set
        .keys
        .into_iter()
        .filter_map(|key| serde_json::from_value(key).ok());
    for jwk in known {
        let jwk: Jwk = jwk;
        // A set may hold keys for other purposes, and secrets sign nothing here.
        let verifies = |operations: &Vec<_>| operations.contains(&KeyOperations::Verify);
        if jwk.common.public_key_use == Some(PublicKeyUse::Encryption)
            || !jwk.common.key_operations.as_ref().is_none_or(verifies)
        {
            continue;
        }
        let Ok(key) = DecodingKey::from_jwk(&jwk) else {
            continue;
        };
        let mut algorithms = algorithms(key.family());
        if let Some(only) = jwk.common.key_algorithm {
            let only = Algorithm::try_from(only);
            algorithms.retain(|algorithm| only.as_ref() == Ok(algorithm));
        }
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

/// All public keys of a text.
fn of_pems(text: &str) -> Result<Vec<Key>> {
    let begins: Vec<usize> = text.match_indices("-----BEGIN").map(|(at, _)| at).collect();
    let ends = begins.iter().skip(1).copied().chain([text.len()]);
    let blocks = begins
        .iter()
        .zip(ends)
        .map(|(&begin, end)| &text[begin..end]);
    let keys: Vec<Key> = blocks
        .map(|pem| of_pem(pem.as_bytes()))
        .collect::<Result<_>>()?;
    match keys.is_empty() {
        true => bail!(EXPECTED),
        false => Ok(keys),
    }
}

fn of_pem(pem: &[u8]) -> Result<Key> {
    let key = DecodingKey::from_rsa_pem(pem)
        .or_else(|_| DecodingKey::from_ec_pem(pem))
        .or_else(|_| DecodingKey::from_ed_pem(pem))
        .ok()
        .context(EXPECTED)?;
    Ok(Key {
        id: None,
        algorithms: algorithms(key.family()),
        key,
    })
}

/// The algorithms of a family of keys; none for secrets, which anyone with the file could use to
/// sign.
fn algorithms(family: AlgorithmFamily) -> Vec<Algorithm> {
    match family {
        AlgorithmFamily::Hmac => vec![],
        family => family.algorithms().to_vec(),
    }
}

/// A set whose keys are parsed one by one.
#[derive(Deserialize)]
struct Set {
    keys: Vec<serde_json::Value>,
}

const EXPECTED: &str = "expected a public RSA, EC or Ed25519 key as PEM, or a set of keys as JWKS";
const KEYS_MAX: usize = 32;
/// Clocks of two machines differ.
const LEEWAY_SECONDS: f64 = 60.0;

#[cfg(test)]
mod tests;
