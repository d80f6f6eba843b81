//! Why a connection has ended, or could not be opened.

use shared::wire::close::{Close, Redirect, Update};

/// Why a connection is lost: as the server reported, or the client found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LossCode {
    /// The server closed it, or the client closed it for this reason.
    Closed(Close),
    /// No packet of the server came for too long.
    TimedOut,
    /// The connection could not be opened, or was cut: no server listens there, it takes no more
    /// connections for now, or the network is gone.
    Unreachable,
    /// The server's certificate is not one that the client trusts.
    Untrusted,
    /// The server's name has no address.
    NameNotFound,
    /// Anything else, also a code that this version does not know.
    Other,
}

/// Why a connection has ended, for [`Game::closed`](crate::Game::closed).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ending {
    /// Why, for programs.
    pub code: LossCode,
    /// A sentence for people.
    pub reason: String,
    /// With [`Close::Outdated`]: the server's version.
    pub update: Option<Update>,
    /// With [`Close::Full`]: a server that may have room.
    pub redirect: Option<Redirect>,
}

impl LossCode {
    /// By ascending number.
    pub const ALL: [LossCode; 22] = [
        LossCode::Closed(Close::Bye),
        LossCode::Closed(Close::Refused),
        LossCode::Closed(Close::Full),
        LossCode::Closed(Close::Malformed),
        LossCode::Closed(Close::TooSlow),
        LossCode::Closed(Close::Resumed),
        LossCode::Closed(Close::Shutdown),
        LossCode::Closed(Close::Removed),
        LossCode::Closed(Close::Replaced),
        LossCode::Closed(Close::Kicked),
        LossCode::Closed(Close::Starting),
        LossCode::Closed(Close::Standby),
        LossCode::Closed(Close::Banned),
        LossCode::Closed(Close::Unauthorized),
        LossCode::Closed(Close::Outdated),
        LossCode::Closed(Close::SchemaMismatch),
        LossCode::Closed(Close::TooOften),
        LossCode::TimedOut,
        LossCode::Unreachable,
        LossCode::Untrusted,
        LossCode::NameNotFound,
        LossCode::Other,
    ];

    /// A number for languages without such an enumeration: that of the close, or one from 256 on.
    pub const fn number(self) -> u32 {
        match self {
            LossCode::Closed(close) => close.code(),
            LossCode::TimedOut => 256,
            LossCode::Unreachable => 257,
            LossCode::Untrusted => 258,
            LossCode::NameNotFound => 259,
            LossCode::Other => 260,
        }
    }

    /// A name for languages without such an enumeration.
    pub const fn name(self) -> &'static str {
        match self {
            LossCode::Closed(close) => match close {
                Close::Bye => "bye",
                Close::Refused => "refused",
                Close::Full => "full",
                Close::Malformed => "malformed",
                Close::TooSlow => "too_slow",
                Close::Resumed => "resumed",
                Close::Shutdown => "shutdown",
                Close::Removed => "removed",
                Close::Replaced => "replaced",
                Close::Kicked => "kicked",
                Close::Starting => "starting",
                Close::Standby => "standby",
                Close::Banned => "banned",
                Close::Unauthorized => "unauthorized",
                Close::Outdated => "outdated",
                Close::SchemaMismatch => "schema_mismatch",
                Close::TooOften => "too_often",
            },
            LossCode::TimedOut => "timed_out",
            LossCode::Unreachable => "unreachable",
            LossCode::Untrusted => "untrusted",
            LossCode::NameNotFound => "name_not_found",
            LossCode::Other => "other",
        }
    }

    /// A short text for players. The sentence beside a code has more detail.
    pub const fn words(self) -> &'static str {
        match self {
            LossCode::Closed(close) => match close {
                Close::Bye => "the server has ended the session",
                Close::Refused => "the server refuses the client",
                Close::Full => "the server is full",
                Close::Malformed => "client and server do not understand each other",
                Close::TooSlow => "the client was too slow for the server",
                Close::Resumed => "the session continues on another connection",
                Close::Shutdown => "the server is shutting down",
                Close::Removed => "the player's entity was removed",
                Close::Replaced => "the account plays from another place",
                Close::Kicked => "kicked by the operator",
                Close::Starting => "the server is starting",
                Close::Standby => "the server is on standby",
                Close::Banned => "banned",
                Close::Unauthorized => "the server does not accept the token",
                Close::Outdated => "the game and the server have different versions",
                Close::SchemaMismatch => "the game was made for another world",
                Close::TooOften => "the account connects too often",
            },
            LossCode::TimedOut => "the server does not answer",
            LossCode::Unreachable => "the server cannot be reached",
            LossCode::Untrusted => "the server's certificate is not trusted",
            LossCode::NameNotFound => "the server's name has no address",
            LossCode::Other => "the connection was lost",
        }
    }

    /// Whether another attempt may go better without anybody doing something about it.
    pub const fn is_worth_a_retry(self) -> bool {
        match self {
            LossCode::Closed(close) => match close {
                Close::Full
                | Close::TooSlow
                | Close::Shutdown
                | Close::Starting
                | Close::Standby
                | Close::TooOften => true,
                Close::Bye
                | Close::Refused
                | Close::Malformed
                | Close::Resumed
                | Close::Removed
                | Close::Replaced
                | Close::Kicked
                | Close::Banned
                | Close::Unauthorized
                | Close::Outdated
                | Close::SchemaMismatch => false,
            },
            // It may be an attacker's server, and would be one at the next attempt.
            LossCode::Untrusted => false,
            LossCode::TimedOut
            | LossCode::Unreachable
            | LossCode::NameNotFound
            | LossCode::Other => true,
        }
    }
}

impl From<Close> for LossCode {
    fn from(close: Close) -> LossCode {
        LossCode::Closed(close)
    }
}

impl Ending {
    /// An end that the client has found, without a word of the server.
    pub fn new(code: impl Into<LossCode>, reason: impl Into<String>) -> Ending {
        Ending {
            code: code.into(),
            reason: reason.into(),
            update: None,
            redirect: None,
        }
    }

    /// A close by the server, with its code and sentence as they came.
    pub fn closed(code: u64, reason: &str) -> Ending {
        let code = Close::from_code(code).map_or(LossCode::Other, LossCode::Closed);
        let mut ending = Ending::new(code, "");
        let sentence;
        (sentence, ending.update, ending.redirect) = match code {
            LossCode::Closed(Close::Outdated) => {
                let (sentence, update) = Update::split(reason);
                (sentence, update, None)
            }
            LossCode::Closed(Close::Full) => {
                let (sentence, redirect) = Redirect::split(reason);
                (sentence, None, redirect)
            }
            _ => (reason, None, None),
        };
        ending.reason = match sentence {
            "" => code.words().to_owned(),
            sentence => sentence.to_owned(),
        };
        ending
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn each_code_has_a_number_a_name_and_words_of_its_own() {
        let numbers: Vec<u32> = LossCode::ALL.map(LossCode::number).to_vec();
        assert!(numbers.is_sorted());
        let distinct = |texts: &[&str]| texts.iter().collect::<BTreeSet<_>>().len();
        assert_eq!(distinct(&LossCode::ALL.map(LossCode::name)), numbers.len());
        assert_eq!(distinct(&LossCode::ALL.map(LossCode::words)), numbers.len());
        for close in Close::ALL {
            assert!(LossCode::ALL.contains(&close.into()), "{close:?}");
        }
    }

    #[test]
    fn the_document_and_the_client_in_python_have_the_same_table() {
        let document = include_str!("../../losses.md");
        let python = include_str!("../../python/myriad/close.py");
        for code in LossCode::ALL {
            let (name, number, words) = (code.name(), code.number(), code.words());
            let (again, is_so) = match code.is_worth_a_retry() {
                true => ("yes", "True"),
                false => ("no", "False"),
            };
            let row = format!("| `{name}` | {number} | {words} | {again} |\n");
            assert!(document.contains(&row), "{row}");
            if let LossCode::Closed(_) = code {
                let entry = format!("    {number}: (\"{name}\", \"{words}\", {is_so}),\n");
                assert!(python.contains(&entry), "{entry}");
            }
        }
    }

    #[test]
    fn a_client_that_is_not_wanted_stays_away() {
        let worth: Vec<_> = LossCode::ALL
            .into_iter()
            .filter(|code| code.is_worth_a_retry())
            .map(LossCode::name)
            .collect();
        let expected = "full too_slow shutdown starting standby too_often timed_out unreachable \
                        name_not_found other";
        assert_eq!(worth.join(" "), expected);
    }

    #[test]
    fn only_outdated_carries_an_update_and_every_end_has_a_sentence() {
        let reason = "too old [version=13 url=https://example.org]";
        let outdated = Ending::closed(Close::Outdated.code().into(), reason);
        assert_eq!(outdated.reason, "too old");
        let update = outdated.update.expect("an update");
        assert_eq!(update.server_version, 13);
        assert_eq!(update.url.as_deref(), Some("https://example.org"));
        let refused = Ending::closed(Close::Refused.code().into(), reason);
        assert_eq!((&*refused.reason, refused.update), (reason, None));
        let bare = Ending::closed(Close::Outdated.code().into(), "[version=13]");
        assert_eq!(bare.reason, LossCode::Closed(Close::Outdated).words());
        assert!(bare.update.is_some());
        for code in [17, 256, 258, u64::MAX] {
            assert_eq!(Ending::closed(code, "").code, LossCode::Other);
        }
    }
}
