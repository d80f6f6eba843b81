//! Accounts, and what is known of a client.

use std::fmt;

use serde::{Deserialize, Serialize};
use shared::Name;
use thiserror::Error;

/// An account: what a token proves, and what a player keeps from one evening to the next.
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

/// What is known of a client.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Identity {
    /// `None` where the server proves none.
    pub account: Option<Account>,
    /// What the player is to be called, unless somebody else is called so.
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
