//! Signed tokens of Myriad's own: issued with a key, and accepted by every server with that
//! key. While keys are rotated, a server has several.

use std::path::Path;

use anyhow::Result;
use serde::{Deserialize, Serialize};
use shared::Name;
use tokens::{SigningKeys, Unsigned};

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

/// The keys of signed tokens: the first one issues them, and all check them.
pub struct SignedTokens(SigningKeys);

impl SignedTokens {
    /// One key.
    pub fn new(key: &[u8]) -> Result<SignedTokens> {
        SigningKeys::new(&[key]).map(SignedTokens)
    }

    /// The keys in a file: see [`SigningKeys::load`].
    pub fn load(path: &Path) -> Result<SignedTokens> {
        SigningKeys::load(path).map(SignedTokens)
    }

    /// A token with these claims.
    pub fn issue(&self, claims: &Claims) -> String {
        self.0.sign(claims)
    }

    /// The claims of a token that one of the keys has signed, whatever the time.
    fn open(&self, token: &str) -> Result<Claims, Rejection> {
        let claims = self.0.open(token).map_err(|unsigned| match unsigned {
            Unsigned::Unreadable => Rejection::Unreadable("expected one of `myriad token`"),
            Unsigned::Forged => Rejection::Forged,
        })?;
        serde_json::from_slice(&claims)
            .map_err(|_| Rejection::Unreadable("its claims are not ours"))
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

    fn issued(&self, token: &str) -> Option<UnixTime> {
        self.open(token).ok().map(|claims| UnixTime(claims.from))
    }

    fn description(&self) -> String {
        let of = match self.0.count() {
            1 => String::new(),
            count => format!(", of {count} keys"),
        };
        format!("accounts by signed tokens, from `myriad token`{of}")
    }
}

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
    fn tokens_of_each_key_in_a_file_are_good_and_the_first_one_issues() {
        let name = format!("myriad-account-keys-{}", std::process::id());
        let file = std::env::temp_dir().join(name);
        let [old, new] = ["0123456789abcdef".repeat(4), "fedcba9876543210".repeat(4)];
        let load = |text: &[u8]| {
            std::fs::write(&file, text).unwrap();
            SignedTokens::load(&file)
        };
        let before = load(old.as_bytes()).unwrap();
        let both = load(format!("{new}\n{old}\n").as_bytes()).unwrap();
        let after = load(format!("{new}\r\n").as_bytes()).unwrap();
        let early = before.issue(&claims());
        let late = both.issue(&claims());
        assert!(show(&both, &early, 2000).is_ok() && show(&both, &late, 2000).is_ok());
        assert!(show(&after, &late, 2000).is_ok());
        assert_eq!(show(&after, &early, 2000), Err(Rejection::Forged));
        assert_eq!(show(&before, &late, 2000), Err(Rejection::Forged));
        assert_eq!(both.issued(&early), Some(UnixTime(1000)));
        // A key of bytes may have ends of lines within.
        let mut bytes = [0xff; 40];
        bytes[3] = b'\n';
        let binary = load(&bytes).unwrap();
        assert!(
            show(
                &SignedTokens::new(&bytes).unwrap(),
                &binary.issue(&claims()),
                2000
            )
            .is_ok()
        );
        for wrong in [&b"\n"[..], b"short", format!("{new}\nshort\n").as_bytes()] {
            assert!(load(wrong).is_err());
        }
        std::fs::remove_file(&file).unwrap();
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
