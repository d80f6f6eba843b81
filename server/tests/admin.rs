//! An operator's actions over the control socket, and their effects on clients.

use std::io::{Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use client_bot::client_core::{Close, LossCode};
use console::admin::request::{ListedClient, Response};
use server::Server;
use server::host::{DataOptions, ServerOptions};
use shared::wire::control::Hello;
use shared::wire::stream::Message;
use shared::wire::talk::Talk;

use crate::common::folder::{TestFolder, refusal};
use crate::common::names::{ByName, join_named as join, named};
use crate::common::{Player, ROOM, eventually, myriad_binary, scratch, start_with, until, world};

fn start(file: &str) -> (Server, PathBuf) {
    let socket = scratch(file);
    let server = start_with(ROOM, |options| {
        options.shards = 2;
        options.admin = Some(socket.clone());
        options.authenticator = Arc::new(ByName);
    });
    (server, socket)
}

/// The output of `myriad admin`: standard output, or the error.
async fn admin(socket: &Path, arguments: &[&str]) -> Result<String, String> {
    let mut command = Command::new(myriad_binary());
    command
        .arg("admin")
        .arg("--socket")
        .arg(socket)
        .args(arguments);
    let run = tokio::task::spawn_blocking(move || command.output());
    let output = run.await.unwrap().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap().trim_end().to_owned();
    match output.status.success() {
        true => Ok(text(output.stdout)),
        false => Err(text(output.stderr)),
    }
}

pub async fn list(socket: &Path) -> Vec<ListedClient> {
    let json = admin(socket, &["--json", "list"]).await.unwrap();
    match serde_json::from_str(&json).unwrap() {
        Response::Clients(clients) => clients,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn the_list_has_every_client_with_its_entity_and_its_link() {
    let (server, socket) = start("list.sock");
    let (ann, guest) = (join(&server, "Ann").await, join(&server, "").await);
    let clients = list(&socket).await;
    assert_eq!(clients.len(), 2);
    for (listed, (player, name)) in clients.iter().zip([(&ann, Some("Ann")), (&guest, None)]) {
        assert_eq!(
            (listed.account.as_deref(), listed.name.as_deref()),
            (name, name)
        );
        let entity = player.entity();
        assert_eq!(listed.entity, Some([entity.slot.0, entity.generation]));
        let link = listed.link.as_ref().expect("it is connected");
        assert!(link.address.starts_with("127.0.0.1:"), "{link:?}");
        assert!(
            link.packets_sent > 0 && link.round_trip_ms > 0.0,
            "{link:?}"
        );
    }
    let text = admin(&socket, &["list"]).await.unwrap();
    assert!(text.contains("account Ann name Ann entity"), "{text}");
    let figures = admin(&socket, &["stats"]).await.unwrap();
    assert!(figures.contains("clients 2\n"), "{figures}");
    server.stop().unwrap();
}

#[tokio::test]
async fn a_kicked_client_gets_the_reason_and_its_entity_goes() {
    let (server, socket) = start("kick.sock");
    let mut bystander = join(&server, "Bob").await;
    let mut ann = join(&server, "Ann").await;
    let entity = ann.entity();
    until(&mut [&mut bystander], "it sees Ann", |p| p[0].sees(entity)).await;
    let kick = ["kick", "--account", "Ann", "--reason", "too loud"];
    admin(&socket, &kick).await.unwrap();
    let (code, end) = ann.end_with_code().await;
    assert_eq!(code, LossCode::Closed(Close::Kicked));
    assert!(end.ends_with("kicked by the operator: too loud"), "{end}");
    until(&mut [&mut bystander], "Ann has gone", |p| {
        !p[0].sees(entity)
    })
    .await;
    // Its ticket brings it back no more; a new hello does.
    let back = Hello {
        resume: Some(ann.client.ticket()),
        ..named("Ann")
    };
    let back = Player::try_join(&server, &back).await.unwrap();
    assert_ne!(back.entity(), entity);
    let missing = admin(&socket, &["kick", "--name", "Zoe"])
        .await
        .unwrap_err();
    assert!(missing.contains("there is no such client"), "{missing}");
    server.stop().unwrap();
}

#[tokio::test]
async fn a_banned_account_stays_out_until_the_ban_ends() {
    let (server, socket) = start("ban.sock");
    let mut ann = join(&server, "Ann").await;
    let ban = [
        "ban",
        "--account",
        "Ann",
        "--for",
        "1h",
        "--reason",
        "cheating",
    ];
    admin(&socket, &ban).await.unwrap();
    let banned = LossCode::Closed(Close::Banned);
    let (code, end) = ann.end_with_code().await;
    assert_eq!(code, banned);
    assert!(end.ends_with("banned by the operator: cheating"), "{end}");
    let (code, reason) = Player::refusal(&server, &named("Ann")).await;
    assert_eq!(code, banned);
    assert!(
        reason.contains("banned for another 3") && reason.ends_with(": cheating"),
        "{reason}"
    );
    join(&server, "Bob").await;
    let bans = admin(&socket, &["bans"]).await.unwrap();
    assert!(bans.starts_with("account Ann until "), "{bans}");
    admin(&socket, &["unban", "--account", "Ann"])
        .await
        .unwrap();
    join(&server, "Ann").await;
    assert!(
        admin(&socket, &["unban", "--account", "Ann"])
            .await
            .is_err()
    );
    server.stop().unwrap();
}

#[tokio::test]
async fn a_banned_network_stays_out_with_all_its_clients() {
    let (server, socket) = start("network.sock");
    let mut players = [join(&server, "Ann").await, join(&server, "").await];
    let ban = ["ban", "--network", "127.0.0.0/8", "--for", "90s"];
    assert_eq!(
        admin(&socket, &ban).await.unwrap(),
        "done, 2 clients concerned"
    );
    for player in &mut players {
        let end = player.end().await;
        assert!(end.ends_with("banned by the operator"), "{end}");
    }
    assert!(Player::try_join(&server, &named("Bob")).await.is_err());
    eventually("no client is left", || {
        server.stats().figures().clients == 0
    })
    .await;
    server.stop().unwrap();
}

#[tokio::test]
async fn a_message_reaches_one_client_or_all() {
    let (server, socket) = start("tell.sock");
    let mut players = [join(&server, "Ann").await, join(&server, "Bob").await];
    let to_one = ["tell", "--name", "bob", "psst"];
    assert_eq!(
        admin(&socket, &to_one).await.unwrap(),
        "done, 1 clients concerned"
    );
    let to_all = ["tell", "--all", "a restart in five minutes"];
    assert_eq!(
        admin(&socket, &to_all).await.unwrap(),
        "done, 2 clients concerned"
    );
    let received = |player: &Player| -> Vec<String> {
        let messages = player.log.messages.iter();
        let announced = messages.filter_map(|(_, message)| match message {
            Message::Talk(Talk::Announced { text }) => Some(text.to_string()),
            _ => None,
        });
        announced.collect()
    };
    let [ann, bob] = &mut players;
    until(&mut [ann, bob], "both get the message", |p| {
        received(p[0]).len() == 1 && received(p[1]).len() == 2
    })
    .await;
    assert_eq!(received(bob), ["psst", "a restart in five minutes"]);
    assert_eq!(received(ann), ["a restart in five minutes"]);
    assert!(admin(&socket, &["tell", "to whom?"]).await.is_err());
    server.stop().unwrap();
}

#[tokio::test]
async fn bans_of_a_persistent_world_hold_after_a_restart() {
    let folder = TestFolder::new("bans");
    let restart = || {
        let socket = scratch("kept-bans.sock");
        let server = start_with(ROOM, |options| {
            options.admin = Some(socket.clone());
            options.authenticator = Arc::new(ByName);
            options.data = Some(DataOptions::new(&*folder));
        });
        (server, socket)
    };
    let (server, socket) = restart();
    for account in ["Ann", "Bob"] {
        let ban = ["ban", "--account", account, "--for", "1h"];
        admin(&socket, &ban).await.unwrap();
    }
    server.stop().unwrap();

    let (server, socket) = restart();
    let refused = Player::try_join(&server, &named("Ann")).await.err();
    let reason = refused.unwrap().to_string();
    assert!(reason.contains("banned for another 3"), "{reason}");
    let unban = ["unban", "--account", "Ann"];
    admin(&socket, &unban).await.unwrap();
    server.stop().unwrap();

    let (server, socket) = restart();
    join(&server, "Ann").await;
    let bans = admin(&socket, &["bans"]).await.unwrap();
    assert!(bans.starts_with("account Bob until "), "{bans}");
    assert_eq!(bans.lines().count(), 1);
    server.stop().unwrap();

    // The server does not start if the list can't be read.
    std::fs::write(folder.join("bans.json"), "[{}]").unwrap();
    let mut options = ServerOptions::local(world(ROOM));
    options.data = Some(DataOptions::new(&*folder));
    let reason = refusal(options);
    assert!(
        reason.contains("bans.json is not a list of bans"),
        "{reason}"
    );
}

#[tokio::test]
async fn the_socket_is_the_users_own_and_survives_what_cannot_be_read() {
    let (server, socket) = start("own.sock");
    let mode = std::fs::metadata(&socket).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    for garbage in [&b"\n"[..], b"{\"do\":\"fly\"}\n", b"\xff\xfe\n", b"[[[[\n"] {
        let mut stream = UnixStream::connect(&socket).unwrap();
        stream.write_all(garbage).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        assert!(answer.contains("the request can't be read"), "{answer}");
    }
    assert_eq!(list(&socket).await.len(), 0);
    // A second server may not take it, and the first leaves nothing behind.
    let taken = std::panic::catch_unwind(|| start("own.sock"));
    assert!(taken.is_err());
    server.stop().unwrap();
    assert!(!socket.exists());
    let gone = admin(&socket, &["list"]).await.unwrap_err();
    assert!(gone.contains("no server answers at"), "{gone}");
}
