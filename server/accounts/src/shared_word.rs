//! Servers without accounts: open ones, and those with one word for all.

use subtle::ConstantTimeEq;

use super::authenticator::{Authenticator, Credentials, Rejection, UnixTime};
use super::guesses::WORD_BYTES_SAFE;
use super::identity::Identity;

/// Admits every client with the same word; with the empty word, every client. Clients choose
/// their names, and have no accounts.
pub struct SharedWord(String);

impl SharedWord {
    pub fn new(word: impl Into<String>) -> SharedWord {
        SharedWord(word.into())
    }
}

impl Authenticator for SharedWord {
    fn authenticate(
        &self,
        credentials: &Credentials<'_>,
        _: UnixTime,
    ) -> Result<Identity, Rejection> {
        // In a time that does not depend on how much of a guess is right.
        let is_ours = credentials.token.as_bytes().ct_eq(self.0.as_bytes());
        if !bool::from(is_ours) {
            return Err(Rejection::WrongWord);
        }
        Ok(Identity {
            account: None,
            name: credentials.name()?,
        })
    }

    fn description(&self) -> String {
        match self.is_open() {
            true => "open to everybody, without accounts: for development".to_owned(),
            false => "one token for all, without accounts".to_owned(),
        }
    }

    fn is_guessable(&self) -> bool {
        !self.is_open() && self.0.len() < WORD_BYTES_SAFE
    }

    fn is_open(&self) -> bool {
        self.0.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_word_admits_and_names_are_checked() {
        let server = SharedWord::new("open sesame");
        let come = |token, wished_name| {
            server.authenticate(&Credentials { token, wished_name }, UnixTime(0))
        };
        let bob = come("open sesame", "bob").unwrap();
        assert_eq!((bob.account, bob.name.as_deref()), (None, Some("bob")));
        assert_eq!(come("open sesame", "").unwrap().name, None);
        for guess in ["", "open sesam", "open sesame ", "Open sesame"] {
            assert_eq!(come(guess, "bob"), Err(Rejection::WrongWord));
        }
        let ugly = come("open sesame", "a\nb").unwrap_err();
        assert!(!ugly.is_guess(), "{ugly}");
        assert!(!server.is_open() && SharedWord::new("").is_open());
    }
}
