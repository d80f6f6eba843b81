//! Accounts, and the identity of a client.

use std::fmt;

use serde::{Deserialize, Serialize};
use shared::Name;
use thiserror::Error;

/// An account, which a token proves, and which has a player's character.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Account(String);

/// Why a text is no account.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum AccountError {
    #[error("an account has 1 to {ACCOUNT_BYTES_MAX} bytes, found {0}")]
    Length(usize),
    #[error("an account has no control characters")]
    Control,
}

/// The identity of a client.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Identity {
    /// `None` where the server proves none.
    pub account: Option<Account>,
    /// The wished name of the player, used unless another player has it.
    pub name: Option<Name>,
}

impl Account {
    pub fn new(text: impl Into<String>) -> Result<Account, AccountError> {
        let text = text.into();
        if !(1..=ACCOUNT_BYTES_MAX).contains(&text.len()) {
            return Err(AccountError::Length(text.len()));
        }
        match text.chars().any(char::is_control) {
            true => Err(AccountError::Control),
            false => Ok(Account(text)),
        }
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Account {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl TryFrom<String> for Account {
    type Error = AccountError;

    fn try_from(text: String) -> Result<Account, AccountError> {
        Account::new(text)
    }
}

impl From<Account> for String {
    fn from(account: Account) -> String {
        account.0
    }
}

/// As many as a subject of OpenID Connect has.
pub const ACCOUNT_BYTES_MAX: usize = 255;
