//! Players with names, and accounts by these.

use accounts::authenticator::{Authenticator, Credentials, Rejection, UnixTime};
use accounts::identity::{Account, Identity};
use client_bot::connect::hello;
use server::Server;
use shared::wire::control::Hello;

use super::Player;

/// A game's own: a client that wishes a name has the account of this name, all others are guests.
pub struct ByName;

impl Authenticator for ByName {
    fn authenticate(
        &self,
        credentials: &Credentials<'_>,
        _: UnixTime,
    ) -> Result<Identity, Rejection> {
        let name = credentials.name()?;
        let account = name.as_deref().map(Account::new).transpose()?;
        Ok(Identity { account, name })
    }

    fn description(&self) -> String {
        "accounts by what anybody says".to_owned()
    }
}

/// The hello of a player with a name.
pub fn named(name: &str) -> Hello {
    Hello {
        name: name.to_owned(),
        ..hello("", None)
    }
}

/// Joins by a name, and waits until it sees itself.
pub async fn join_named(server: &Server, name: &str) -> Player {
    Player::join_as(server, &named(name)).await
}
