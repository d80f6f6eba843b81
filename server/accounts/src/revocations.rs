//! Tokens that are revoked before they expire: single ones, and all of an account that were
//! issued before a time.
//!
//! A line of text for each; blank lines and those that begin with `#` count for nothing:
//!
//! ```text
//! token 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08
//! before 1764180000 alice@example.org
//! ```

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::path::Path;

use anyhow::{Context, Result, bail};
use program::given;
use ring::digest;

use super::authenticator::UnixTime;
use super::identity::Account;

/// What is revoked.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Revocations {
    /// By the SHA-256 of a token: a list of them gives none away.
    tokens: HashSet<Fingerprint>,
    /// Tokens of an account that were issued before this are revoked.
    before: HashMap<Account, UnixTime>,
}

/// The SHA-256 of a token.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Fingerprint([u8; 32]);

/// What of an accepted token a revocation goes by.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShownToken {
    pub fingerprint: Fingerprint,
    pub account: Option<Account>,
    /// `None` where the token does not say so: then any revocation of its account applies.
    pub issued: Option<UnixTime>,
}

impl Revocations {
    pub fn parse(text: &str) -> Result<Revocations> {
        let mut revoked = Revocations::default();
        for (line, number) in text.lines().zip(1..) {
            let line = line.trim();
            if !line.is_empty() && !line.starts_with('#') {
                let added = revoked.add(line);
                added.with_context(|| format!("line {number}"))?;
            }
        }
        Ok(revoked)
    }

    /// The same from a file.
    pub fn load(path: &Path) -> Result<Revocations> {
        let name = path.display();
        let text = given::read_text(path).with_context(|| format!("cannot read {name}"))?;
        Revocations::parse(&text).with_context(|| format!("{name}"))
    }

    fn add(&mut self, line: &str) -> Result<()> {
        match line.split_once(' ') {
            Some(("token", digits)) => {
                self.tokens.insert(Fingerprint::parse(digits)?);
            }
            Some(("before", rest)) => {
                let (time, account) = rest.split_once(' ').context(EXPECTED)?;
                let time = time.parse().ok().map(UnixTime).context(EXPECTED)?;
                let before = self.before.entry(Account::new(account)?).or_insert(time);
                *before = (*before).max(time);
            }
            _ => bail!(EXPECTED),
        }
        Ok(())
    }

    pub fn is_revoked(&self, shown: &ShownToken) -> bool {
        let before = shown.account.as_ref().and_then(|of| self.before.get(of));
        let is_early = |before: &UnixTime| shown.issued.is_none_or(|issued| issued < *before);
        self.tokens.contains(&shown.fingerprint) || before.is_some_and(is_early)
    }
}

impl Fingerprint {
    pub fn of(token: &str) -> Fingerprint {
        let mut bytes = [0; 32];
        bytes.copy_from_slice(digest::digest(&digest::SHA256, token.as_bytes()).as_ref());
        Fingerprint(bytes)
    }

    fn parse(digits: &str) -> Result<Fingerprint> {
        let is_hash = digits.len() == 64 && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
        if !is_hash {
            bail!("expected the SHA-256 of a token, of 64 hexadecimal digits");
        }
        let mut bytes = [0; 32];
        for (byte, at) in bytes.iter_mut().zip((0..).step_by(2)) {
            *byte = u8::from_str_radix(&digits[at..at + 2], 16)?;
        }
        Ok(Fingerprint(bytes))
    }
}

impl fmt::Debug for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

const EXPECTED: &str = "expected `token SHA256` or `before SECONDS-SINCE-1970 ACCOUNT`";

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(token: &str, account: &str, issued: Option<u64>) -> ShownToken {
        ShownToken {
            fingerprint: Fingerprint::of(token),
            account: Account::new(account).ok(),
            issued: issued.map(UnixTime),
        }
    }

    #[test]
    fn single_tokens_and_early_ones_of_an_account_are_revoked() {
        // By `printf test | sha256sum`.
        let text = "# stolen\ntoken 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08\n\n\
             before 1000 Alice of the hill\nbefore 900 Alice of the hill\n";
        let revoked = Revocations::parse(text).unwrap();
        let alice = "Alice of the hill";
        for (token, is_revoked) in [
            (shown("test", "bob", Some(5000)), true),
            (shown("test ", "bob", Some(0)), false),
            (shown("other", alice, Some(999)), true),
            (shown("other", alice, Some(1000)), false),
            (shown("other", alice, None), true),
            (shown("other", "", Some(0)), false),
        ] {
            assert_eq!(revoked.is_revoked(&token), is_revoked, "{token:?}");
        }
    }

    #[test]
    fn a_line_that_says_something_else_is_an_error_with_its_number() {
        for line in [
            "token test",
            "token",
            "before",
            "before 12",
            "before today alice",
            "before 12 ",
            "alice",
            &format!("token {}", "é".repeat(32)),
        ] {
            let error = Revocations::parse(&format!("# \n{line}")).unwrap_err();
            assert!(error.to_string().contains("line 2"), "{line}: {error:#}");
        }
    }
}
