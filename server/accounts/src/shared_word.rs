//! Servers without accounts: open ones, and those with a word for all, or with several while
//! clients go over from one to the next.

use subtle::{Choice, ConstantTimeEq};

use super::authenticator::{Authenticator, Credentials, Rejection, UnixTime};
use super::guesses::WORD_BYTES_SAFE;
use super::identity::Identity;

/// Admits every client with one of some words; with the empty word, every client. Clients choose
/// their names, and have no accounts.
pub struct SharedWord(Vec<String>);

impl SharedWord {
    pub fn new(word: impl Into<String>) -> SharedWord {
        SharedWord(vec![word.into()])
    }

    /// Each of these words is good.
    pub fn any_of(words: Vec<String>) -> SharedWord {
        SharedWord(words)
    }
}

impl Authenticator for SharedWord {
    fn authenticate(
        &self,
        credentials: &Credentials<'_>,
        _: UnixTime,
    ) -> Result<Identity, Rejection> {
        if !is_one_of(credentials.token, self.0.iter().map(String::as_str)) {
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
            false => format!(
                "{} for all, without accounts",
                match self.0.len() {
                    1 => "one token".to_owned(),
                    count => format!("{count} tokens"),
                }
            ),
        }
    }

    fn is_guessable(&self) -> bool {
        let is_short = |word: &String| word.len() < WORD_BYTES_SAFE;
        !self.is_open() && self.0.iter().any(is_short)
    }

    fn is_open(&self) -> bool {
        self.0.iter().any(String::is_empty)
    }
}

/// Whether a word is one of these, in a time that does not depend on how much of a guess is right.
pub fn is_one_of<'a>(shown: &str, words: impl Iterator<Item = &'a str>) -> bool {
    let compared = words.map(|word| shown.as_bytes().ct_eq(word.as_bytes()));
    compared
        .fold(Choice::from(0), |any, is_this| any | is_this)
        .into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_of_several_words_admits_until_it_is_taken_away() {
        let both = SharedWord::any_of(vec!["the word of old".into(), "a new word of today".into()]);
        let come = |server: &SharedWord, token| {
            let credentials = Credentials {
                token,
                wished_name: "",
            };
            server.authenticate(&credentials, UnixTime(0)).is_ok()
        };
        assert!(come(&both, "the word of old") && come(&both, "a new word of today"));
        assert!(!come(&both, "") && !come(&both, "the word of old\na new word of today"));
        // The shorter one can be guessed.
        assert!(both.is_guessable() && !both.is_open());
        let new = SharedWord::any_of(vec!["a new word of today".into()]);
        assert!(!come(&new, "the word of old") && !new.is_guessable());
    }

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
