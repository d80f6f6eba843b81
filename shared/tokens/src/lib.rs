//! Tokens that a key signs: `myriad1.CLAIMS.SIGNATURE`, both in base64 for addresses: the claims as
//! JSON, and the HMAC-SHA256 of all before the last point.
//!
//! Servers check them, and swarms issue one to each of their bots.

#![forbid(unsafe_code)]

use std::fmt;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use anyhow::{Context, Result, bail};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD as BASE64;
use program::given;
use ring::hmac;
use serde::Serialize;

/// The keys of signed tokens: the first one signs, and tokens of all are good.
#[derive(Clone)]
pub struct SigningKeys(Arc<[hmac::Key]>);

/// The text is no token of any key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unsigned {
    Unreadable,
    /// It is one, of another key.
    Forged,
}

impl SigningKeys {
    /// Keys of at least [`KEY_BYTES_MIN`] bytes.
    pub fn new(keys: &[&[u8]]) -> Result<SigningKeys> {
        if !(1..=KEYS_MAX).contains(&keys.len()) {
            bail!("{} keys, expected 1 to {KEYS_MAX}", keys.len());
        }
        for key in keys {
            if key.len() < KEY_BYTES_MIN {
                bail!(
                    "a key of {} bytes, expected at least {KEY_BYTES_MIN}",
                    key.len()
                );
            }
        }
        let keys = keys.iter();
        let keys = keys.map(|key| hmac::Key::new(hmac::HMAC_SHA256, key));
        Ok(SigningKeys(keys.collect()))
    }

    /// The keys in a file of text, one a line; of another file, all bytes are one key, without the
    /// ends of lines at its end.
    pub fn load(path: &Path) -> Result<SigningKeys> {
        let bytes = given::read(path).with_context(|| format!("cannot read {}", path.display()))?;
        let bytes = bytes.trim_ascii_end();
        let is_text = |byte: &u8| byte.is_ascii_graphic() || byte.is_ascii_whitespace();
        let keys: Vec<&[u8]> = match bytes.iter().all(is_text) {
            true => bytes
                .split(|&byte| byte == b'\n')
                .map(<[u8]>::trim_ascii_end)
                .filter(|line| !line.is_empty())
                .collect(),
            false => vec![bytes],
        };
        SigningKeys::new(&keys).with_context(|| {
            format!(
                "{} holds no key; `openssl rand -hex 32` makes one",
                path.display()
            )
        })
    }

    /// How many keys there are.
    pub fn count(&self) -> usize {
        self.0.len()
    }

    /// A token with these claims.
    pub fn sign(&self, claims: &impl Serialize) -> String {
        let json = serde_json::to_vec(claims).unwrap_or_default();
        let signed = format!("{PREFIX}.{}", BASE64.encode(json));
        let signature = hmac::sign(&self.0[0], signed.as_bytes());
        format!("{signed}.{}", BASE64.encode(signature))
    }

    /// The claims of a token that one of the keys has signed, as JSON.
    pub fn open(&self, token: &str) -> Result<Vec<u8>, Unsigned> {
        let (signed, signature) = token.rsplit_once('.').ok_or(Unsigned::Unreadable)?;
        let claims = signed.strip_prefix(PREFIX);
        let claims = claims.and_then(|rest| rest.strip_prefix('.'));
        let claims = claims.ok_or(Unsigned::Unreadable)?;
        let signature = BASE64.decode(signature);
        let signature = signature.map_err(|_| Unsigned::Unreadable)?;
        // In a time that does not depend on how much of a guess is right. Nothing is parsed
        // before.
        let is_signed = |key: &hmac::Key| hmac::verify(key, signed.as_bytes(), &signature).is_ok();
        if !self.0.iter().any(is_signed) {
            return Err(Unsigned::Forged);
        }
        BASE64.decode(claims).map_err(|_| Unsigned::Unreadable)
    }

    /// The token of a bot: the account `bot-7`, for a day.
    pub fn of_bot(&self, number: usize) -> String {
        #[derive(Serialize)]
        struct Claims {
            account: String,
            name: String,
            from: u64,
            until: u64,
        }
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
        let now = now.unwrap_or(Duration::ZERO).as_secs();
        let name = format!("bot-{number}");
        self.sign(&Claims {
            account: name.clone(),
            name,
            from: now,
            until: now + DAY_SECONDS,
        })
    }
}

/// Never the keys themselves.
impl fmt::Debug for SigningKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} keys", self.count())
    }
}

const PREFIX: &str = "myriad1";
/// For the full strength of HMAC-SHA256.
pub const KEY_BYTES_MIN: usize = 32;
/// Of a server: each is tried with each token.
const KEYS_MAX: usize = 8;
const DAY_SECONDS: u64 = 24 * 3600;
