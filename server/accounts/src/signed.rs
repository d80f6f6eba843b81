//! Signed tokens of Myriad's own: issued with a key, and accepted by every server with that
//! key.
//!
//! A token is `myriad1.CLAIMS.SIGNATURE`, both in base64 for addresses: the claims as JSON,
//! and the HMAC-SHA256 of all before the last point.

use std::path::Path;

use anyhow::{Context, Result, bail};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD as BASE64;
use client_bot::given;
use ring::hmac;
use serde::{Deserialize, Serialize};
use shared::Name;

use super::authenticator::{Authenticator, Credentials, Rejection, UnixTime};
use super::identity::{Account, Identity};
use super::names;

/// The claims of a token.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Claims {
    pub account: Account,
    /// The name of the player.
    pub name: Name,
    /// Seconds since 1970: the token is good from the one and until the other.
    pub from: u64,
    pub until: u64,
}

/// The key of signed tokens: issues them and checks them.
pub struct SignedTokens(hmac::Key);

impl SignedTokens {
    /// A key of at least [`KEY_BYTES_MIN`] bytes.
    pub fn new(key: &[u8]) -> Result<SignedTokens> {
        if key.len() < KEY_BYTES_MIN {
            bail!(
                "a key of {} bytes, expected at least {KEY_BYTES_MIN}",
                key.len()
            );
        }
        Ok(SignedTokens(hmac::Key::new(hmac::HMAC_SHA256, key)))
    }

    /// The key in a file, without the ends of lines at its end.
    pub fn load(path: &Path) -> Result<SignedTokens> {
        let bytes = given::read(path).with_context(|| format!("cannot read {}", path.display()))?;
        let end = bytes.trim_ascii_end().len();
        SignedTokens::new(&bytes[..end]).with_context(|| {
            format!(
                "{} holds no key; `openssl rand -hex 32` makes one",
                path.display()
            )
        })
    }

    /// A token with these claims.
    pub fn issue(&self, claims: &Claims) -> String {
        let json = serde_json::to_vec(claims).unwrap_or_default();
        let signed = format!("{PREFIX}.{}", BASE64.encode(json));
        let signature = hmac::sign(&self.0, signed.as_bytes());
        format!("{signed}.{}", BASE64.encode(signature))
    }

    /// The claims of a token that this key has signed, whatever the time.
    fn open(&self, token: &str) -> Result<Claims, Rejection> {
        let unreadable = || Rejection::Unreadable("expected one of `myriad token`");
        let (signed, signature) = token.rsplit_once('.').ok_or_else(unreadable)?;
        let claims = signed
            .strip_prefix(PREFIX)
            .and_then(|rest| rest.strip_prefix('.'))
            .ok_or_else(unreadable)?;
        let signature = BASE64.decode(signature).map_err(|_| unreadable())?;
        // In a time that does not depend on how much of a guess is right. Nothing is parsed
        // before.
        hmac::verify(&self.0, signed.as_bytes(), &signature).map_err(|_| Rejection::Forged)?;
        let json = BASE64.decode(claims).map_err(|_| unreadable())?;
        serde_json::from_slice(&json).map_err(|_| Rejection::Unreadable("its claims are not ours"))
    }
}

impl Authenticator for SignedTokens {
    fn authenticate(
        &self,
        credentials: &Credentials<'_>,
        UnixTime(now): UnixTime,
    ) -> Result<Identity, Rejection> {
        if credentials.token.is_empty() {
            return Err(Rejection::Missing);
        }
        let claims = self.open(credentials.token)?;
        if now >= claims.until {
            return Err(Rejection::Expired(now - claims.until));
        }
        if now + LEEWAY_SECONDS < claims.from {
            return Err(Rejection::Early(claims.from - now));
        }
        Ok(Identity {
            account: Some(claims.account),
            // A name that is not valid any more does not keep its account out.
            name: names::proven(&claims.name).ok(),
        })
    }

    fn is_guessable(&self) -> bool {
        false
    }

    fn description(&self) -> String {
        "accounts by signed tokens, from `myriad token`".to_owned()
    }
}

const PREFIX: &str = "myriad1";
/// For the full strength of HMAC-SHA256.
pub const KEY_BYTES_MIN: usize = 32;
/// Clocks of two machines differ.
const LEEWAY_SECONDS: u64 = 60;

#[cfg(test)]
mod tests {
    use super::*;

    fn claims() -> Claims {
        Claims {
            account: Account::new("alice@example.org").unwrap(),
            name: Name::new("Alice").unwrap(),
            from: 1000,
            until: 5000,
        }
    }

    fn show(key: &SignedTokens, token: &str, now: u64) -> Result<Identity, Rejection> {
        let credentials = Credentials {
            token,
            wished_name: "another player",
        };
        key.authenticate(&credentials, UnixTime(now))
    }

    #[test]
    fn a_token_is_good_between_its_times_and_names_the_account() {
        let key = SignedTokens::new(&[7; 32]).unwrap();
        let token = key.issue(&claims());
        let alice = show(&key, &token, 1000).unwrap();
        assert_eq!(alice.account, Some(claims().account));
        assert_eq!(alice.name, Some(claims().name));
        assert!(show(&key, &token, 4999).is_ok());
        assert_eq!(show(&key, &token, 5000), Err(Rejection::Expired(0)));
        assert_eq!(show(&key, &token, 5600), Err(Rejection::Expired(600)));
        assert!(show(&key, &token, 940).is_ok(), "clocks differ");
        assert_eq!(show(&key, &token, 900), Err(Rejection::Early(100)));
    }

    #[test]
    fn no_changed_byte_and_no_other_key_is_believed() {
        let key = SignedTokens::new(&[7; 32]).unwrap();
        let token = key.issue(&claims());
        for place in 0..token.len() {
            let mut bytes = token.clone().into_bytes();
            bytes[place] = if bytes[place] == b'A' { b'B' } else { b'A' };
            let changed = String::from_utf8(bytes).unwrap();
            let rejection = show(&key, &changed, 2000).unwrap_err();
            assert!(rejection.is_guess(), "byte {place}: {rejection}");
        }
        let other = SignedTokens::new(&[8; 32]).unwrap();
        assert_eq!(show(&other, &token, 2000), Err(Rejection::Forged));
        assert_eq!(show(&key, "", 2000), Err(Rejection::Missing));
        for garbage in [
            "x",
            "a.b.c",
            "myriad1..",
            "myriad1.e30.",
            "\u{e9}.\u{e9}.\u{e9}",
        ] {
            assert!(show(&key, garbage, 2000).unwrap_err().is_guess());
        }
        assert!(SignedTokens::new(&[7; 31]).is_err());
    }
}
