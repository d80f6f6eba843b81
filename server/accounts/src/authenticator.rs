//! Checks of tokens, and the reasons for rejecting one.

use std::time::{SystemTime, UNIX_EPOCH};

use platform::renewal::Shared;
use shared::Name;
use shared::wire::close::Close;
use shared::world::talk::TextError;
use thiserror::Error;

use super::identity::{AccountError, Identity};
use super::names;

/// Identifies the owner of a token. Game servers may bring their own; one is called on every
/// shard's thread, for each hello, so it should take less than a millisecond and not wait.
pub trait Authenticator: Send + Sync {
    /// The identity of a client, or why it is not admitted.
    fn authenticate(
        &self,
        credentials: &Credentials<'_>,
        now: UnixTime,
    ) -> Result<Identity, Rejection>;

    /// When a token that was accepted was issued; `None` where it does not say so.
    fn issued(&self, _token: &str) -> Option<UnixTime> {
        None
    }

    /// A description for the operator, logged at the start.
    fn description(&self) -> String;

    /// Whether a right token can be guessed. If so, all tokens of a network with too many wrong
    /// ones are refused for a while; else a right one is still accepted.
    fn is_guessable(&self) -> bool {
        true
    }

    /// Whether every client is admitted: the log warns of it.
    fn is_open(&self) -> bool {
        false
    }
}

/// One that is replaced when its keys are.
impl Authenticator for Shared<dyn Authenticator> {
    fn authenticate(
        &self,
        credentials: &Credentials<'_>,
        now: UnixTime,
    ) -> Result<Identity, Rejection> {
        self.get().authenticate(credentials, now)
    }

    fn issued(&self, token: &str) -> Option<UnixTime> {
        self.get().issued(token)
    }

    fn description(&self) -> String {
        self.get().description()
    }

    fn is_guessable(&self) -> bool {
        self.get().is_guessable()
    }

    fn is_open(&self) -> bool {
        self.get().is_open()
    }
}

/// The sender's claims in a hello. None is proven.
#[derive(Clone, Copy, Debug, Default)]
pub struct Credentials<'a> {
    pub token: &'a str,
    /// Empty: no wish.
    pub wished_name: &'a str,
}

/// Seconds since 1 January 1970.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct UnixTime(pub u64);

/// Why a client is not admitted; the sentence is for its player.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Rejection {
    #[error("the token is not the server's")]
    WrongWord,
    #[error("the server requires a token")]
    Missing,
    #[error("the token is not one that this server can read: {0}")]
    Unreadable(&'static str),
    #[error("the token's signature is wrong")]
    Forged,
    #[error("the token expired {0} seconds ago")]
    Expired(u64),
    #[error("the token is not valid yet: it will be in {0} seconds")]
    Early(u64),
    #[error("the token has been revoked")]
    Revoked,
    #[error("the token is of another issuer than this server trusts")]
    Issuer,
    #[error("the token is for another audience than this server")]
    Audience,
    #[error("the token's account: {0}")]
    Account(#[from] AccountError),
    #[error("the name: {0}")]
    Name(#[from] TextError),
    /// The reason of an embedding game. It is not about the token, so the player is not asked for
    /// another.
    #[error("{0}")]
    Other(String),
}

impl Rejection {
    /// Whether the client may be guessing tokens, which is limited per network.
    pub fn is_guess(&self) -> bool {
        matches!(
            self,
            Rejection::WrongWord | Rejection::Unreadable(_) | Rejection::Forged
        )
    }

    /// The code with which the client is closed.
    pub fn close(&self) -> Close {
        match self {
            Rejection::Name(_) | Rejection::Other(_) => Close::Refused,
            Rejection::WrongWord
            | Rejection::Missing
            | Rejection::Unreadable(_)
            | Rejection::Forged
            | Rejection::Expired(_)
            | Rejection::Early(_)
            | Rejection::Revoked
            | Rejection::Issuer
            | Rejection::Audience
            | Rejection::Account(_) => Close::Unauthorized,
        }
    }
}

impl Credentials<'_> {
    /// The client's wished name, for accounts without a name of their own.
    pub fn name(&self) -> Result<Option<Name>, Rejection> {
        match self.wished_name {
            "" => Ok(None),
            name => Ok(Some(names::wished(name)?)),
        }
    }
}

impl UnixTime {
    /// The time on this machine's clock.
    pub fn of(time: SystemTime) -> UnixTime {
        let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
        UnixTime(since.as_secs())
    }
}
