//! `myriad token`: issues a signed token for an account.

use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use accounts::authenticator::UnixTime;
use accounts::identity::Account;
use accounts::names;
use accounts::signed::{Claims, SignedTokens};
use anyhow::{Context, Result};
use clap::Args;
use program::say;
use shared::Name;

use super::arguments::span;

#[derive(Debug, Args)]
pub struct TokenArguments {
    /// Account that the token is for
    #[arg(long, value_parser = account)]
    account: Account,
    /// Name of the player [default: the account]
    #[arg(long, value_parser = name)]
    name: Option<Name>,
    /// How long the token is good: 90s, 30m, 12h or 7d
    #[arg(long = "for", value_name = "SPAN", value_parser = span, default_value = "1h")]
    span: Duration,
    /// File with the key, which `myriad serve --account-key` has, too
    #[arg(long, value_name = "FILE")]
    key: PathBuf,
}

/// Prints a token.
pub fn run(arguments: TokenArguments) -> Result<()> {
    let key = SignedTokens::load(&arguments.key)?;
    let name = match arguments.name {
        Some(name) => name,
        None => names::wished(arguments.account.as_str())
            .context("the account can't be shown as a name; expected --name")?,
    };
    let UnixTime(now) = UnixTime::of(SystemTime::now());
    say!(
        "{}",
        key.issue(&Claims {
            account: arguments.account,
            name,
            from: now,
            until: now.saturating_add(arguments.span.as_secs()),
        })
    );
    Ok(())
}

fn account(text: &str) -> Result<Account, String> {
    let account = Account::new(text).map_err(|error| error.to_string())?;
    // Accounts are compared byte for byte: people could not distinguish these.
    match text.chars().find(|&c| names::is_unseen(c)) {
        Some(unseen) => Err(format!(
            "expected an account that shows all that it is; U+{:04X} shows nothing",
            u32::from(unseen)
        )),
        None => Ok(account),
    }
}

fn name(text: &str) -> Result<Name, String> {
    names::wished(text).map_err(|error| error.to_string())
}
