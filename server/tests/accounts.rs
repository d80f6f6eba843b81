//! Accounts: admission by tokens, and the connections of an account.

use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::time::SystemTime;

use accounts::authenticator::UnixTime;
use accounts::identity::Account;
use accounts::signed::{Claims, SignedTokens};
use client_bot::client_core::{Close, LossCode};
use client_bot::connect::hello;
use server::Server;
use shared::Name;
use shared::wire::control::Hello;
use shared::wire::stream::Message;

use crate::common::names::{ByName, named};
use crate::common::{
    Player, ROOM, Vanished, eventually, myriad_binary, scratch, start_with, until,
};

const KEY: &[u8] = b"a key of thirty-two bytes or more";

fn start(clients_per_network: u32) -> Server {
    start_with(ROOM, |options| {
        options.shards = 2;
        options.clients_per_network = clients_per_network;
        options.authenticator = Arc::new(SignedTokens::new(KEY).unwrap());
    })
}

/// A token that was good from an hour ago on, until so many seconds from now.
fn token(account: &str, seconds_left: i64) -> String {
    let UnixTime(now) = UnixTime::of(SystemTime::now());
    let claims = Claims {
        account: Account::new(account).unwrap(),
        name: Name::new(account).unwrap(),
        from: now - 3600,
        until: now.saturating_add_signed(seconds_left),
    };
    SignedTokens::new(KEY).unwrap().issue(&claims)
}

async fn join(server: &Server, account: &str) -> Player {
    Player::join_as(server, &hello(&token(account, 600), None)).await
}

async fn refusal(server: &Server, hello: &Hello) -> String {
    Player::refusal(server, hello).await.1
}

#[tokio::test]
async fn only_a_good_token_admits() {
    let server = start(u32::MAX);
    let mut forged = token("alice", 600);
    forged.pop();
    for (token, why) in [
        (String::new(), "the server requires a token"),
        (token("alice", -30), "the token expired 3"),
        (forged, "the token"),
    ] {
        let (code, reason) = Player::refusal(&server, &hello(&token, None)).await;
        assert_eq!(code, LossCode::Closed(Close::Unauthorized), "{reason}");
        assert!(reason.contains(why), "{reason}");
    }
    let alice = join(&server, "alice").await;
    assert_eq!(
        alice.client.view().name(alice.entity()).unwrap(),
        &Name::new("alice").unwrap()
    );
    server.stop().unwrap();
}

#[tokio::test]
async fn a_second_connection_replaces_the_first_which_is_closed_with_the_reason() {
    let server = start(u32::MAX);
    let mut bystander = join(&server, "bob").await;
    let mut first = join(&server, "alice").await;
    let entity = first.entity();
    let second = join(&server, "alice").await;
    assert_eq!(second.entity(), entity, "an account has one entity");
    let (code, end) = first.end_with_code().await;
    assert_eq!(code, LossCode::Closed(Close::Replaced));
    assert!(
        end.ends_with("the account has joined with another connection"),
        "{end}"
    );
    // Others have seen one player that never left.
    until(&mut [&mut bystander], "it sees the account", |p| {
        p[0].sees(entity)
    })
    .await;
    assert_eq!(bystander.enters_of(entity), 1);
    assert!(bystander.leaves_of(entity).is_empty());
    assert_eq!(server.stats().figures().clients, 2);
    // The first one's ticket died with its connection.
    let ticket = first.client.ticket();
    let third = Player::try_join(&server, &hello(&token("carol", 600), Some(ticket))).await;
    assert_ne!(third.unwrap().entity(), entity);
    server.stop().unwrap();
}

#[tokio::test]
async fn a_lost_account_comes_back_without_its_ticket() {
    let server = start_with(
        "[world]\nsize = [30, 30]\naoi = 100\ncapacity = 64\ntick_hz = 20\n\
         [limits]\nidle_seconds = 2\nresume_seconds = 60",
        |options| options.authenticator = Arc::new(SignedTokens::new(KEY).unwrap()),
    );
    let alice = hello(&token("alice", 600), None);
    // It goes without a goodbye.
    let entity = Vanished::join_as(&server, &alice, async |_: &mut Player| ()).entity;
    eventually("the server has lost it", || {
        server.stats().figures().clients == 0
    })
    .await;
    let back = join(&server, "alice").await;
    assert_eq!(back.entity(), entity);
    server.stop().unwrap();
}

#[tokio::test]
async fn a_ticket_gives_no_access_to_another_account() {
    let server = start_with(ROOM, |options| {
        options.authenticator = Arc::new(ByName);
    });
    let vanished = Vanished::join(&server);
    // The ticket is a guest's: with an account it is of no use, without one it is.
    let with_ticket = Hello {
        resume: Some(vanished.ticket),
        ..named("mallory")
    };
    let joined = Player::try_join(&server, &with_ticket).await.unwrap();
    assert_ne!(joined.entity(), vanished.entity);
    let back = Player::resume(&server, vanished.ticket).await;
    assert_eq!(back.entity(), vanished.entity);
    server.stop().unwrap();
}

#[tokio::test]
async fn a_network_has_no_more_clients_than_the_operator_allows() {
    let server = start(2);
    let first = join(&server, "alice").await;
    let _second = join(&server, "bob").await;
    let third = hello(&token("carol", 600), None);
    let reason = refusal(&server, &third).await;
    assert!(
        reason.ends_with("there are 2 clients of this network already"),
        "{reason}"
    );
    first.client.leave();
    eventually("one has left", || server.stats().figures().clients == 1).await;
    join(&server, "carol").await;
    server.stop().unwrap();
}

#[tokio::test]
async fn players_are_called_what_they_wish_and_no_two_the_same() {
    let server = start_with(ROOM, |_| ());
    let mut players = vec![];
    for name in ["Bob", "", "bob"] {
        players.push(Player::try_join(&server, &named(name)).await.unwrap());
    }
    let entities: Vec<_> = players.iter().map(Player::entity).collect();
    let mut all: Vec<&mut Player> = players.iter_mut().collect();
    until(&mut all, "all see all", |players| {
        players.iter().all(|p| entities.iter().all(|&e| p.sees(e)))
    })
    .await;
    for player in &players {
        let view = player.client.view();
        let names = entities
            .iter()
            .map(|&entity| view.name(entity).map(|name| &**name));
        assert_eq!(
            names.collect::<Vec<_>>(),
            [Some("Bob"), None, Some("bob#2")]
        );
    }
    // A name comes right behind its enter.
    let messages = &players[1].log.messages;
    let enter = messages.iter().position(
        |(_, message)| matches!(message, Message::Enter { entity, .. } if *entity == entities[0]),
    );
    let behind = &messages[enter.expect("Bob has entered") + 1].1;
    assert!(matches!(behind, Message::Name { slot, .. } if *slot == entities[0].slot));
    let reason = refusal(&server, &named(" Bob")).await;
    assert!(
        reason.ends_with("the name: a name begins or ends with a blank"),
        "{reason}"
    );
    server.stop().unwrap();
}

#[tokio::test]
async fn a_token_of_the_command_line_admits() {
    let key = scratch("token.key");
    std::fs::write(&key, [KEY, b"\n"].concat()).unwrap();
    let issue = |arguments: &[&str], key: &Path| {
        let myriad = Command::new(myriad_binary())
            .arg("token")
            .args(arguments)
            .arg("--key")
            .arg(key)
            .output()
            .unwrap();
        (
            String::from_utf8(myriad.stdout)
                .unwrap()
                .trim_end()
                .to_owned(),
            String::from_utf8(myriad.stderr).unwrap(),
        )
    };
    let (token, _) = issue(&["--account", "alice@example.org", "--name", "Alice"], &key);
    let server = start(u32::MAX);
    let joined = Player::try_join(&server, &hello(&token, None)).await;
    joined.expect("the token is good");
    std::fs::write(&key, "short").unwrap();
    let (nothing, error) = issue(&["--account", "alice"], &key);
    assert_eq!(nothing, "");
    assert!(error.contains("expected at least 32"), "{error}");
    let (_, error) = issue(&["--account", "alice", "--for", "1 hour"], &key);
    assert!(error.contains("expected a span like 90s"), "{error}");
    server.stop().unwrap();
}
