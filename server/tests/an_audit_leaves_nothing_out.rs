//! The audit log has a line for each join, leave, refusal, request of an operator and edit of a
//! character, and lets nobody in without one.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use client_bot::client_core::{Close, LossCode};
use client_bot::connect::hello;
use console::admin::port::ask;
use console::admin::request::{Client, Request, Response};
use platform::audit::Audit;
use serde_json::Value;
use server::host::{DataOptions, ServerOptions};
use shared::wire::control::Hello;

use crate::common::folder::TestFolder;
use crate::common::names::{ByName, named};
use crate::common::{Player, ROOM, eventually, myriad_binary, start_with, world};

/// The lines of a log.
fn lines(path: &Path) -> Vec<Value> {
    let text = fs::read_to_string(path).unwrap();
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

fn audited(options: &mut ServerOptions, path: &Path) {
    options.shards = 2;
    options.authenticator = Arc::new(ByName);
    options.audit = Audit::open(path).unwrap();
}

#[tokio::test]
async fn joins_leaves_refusals_and_requests_of_operators_have_lines() {
    let folder = TestFolder::new("audit");
    let path = folder.join("audit.log");
    let socket: PathBuf = folder.join("admin.sock");
    let server = start_with(ROOM, |options| {
        audited(options, &path);
        options.admin = Some(socket.clone());
    });
    let ann = Player::join_as(&server, &named("Ann")).await;
    let mut ben = Player::join_as(&server, &named("Ben")).await;
    let (ann_entity, ben_entity) = (ann.entity(), ben.entity());
    let ticket = ann.client.ticket();
    // It is lost, and resumes.
    let again = Hello {
        resume: Some(ticket),
        ..named("Ann")
    };
    let ann_again = Player::join_as(&server, &again).await;
    let act = |request| {
        let socket = socket.clone();
        async move {
            let asked = tokio::task::spawn_blocking(move || ask(&socket, &request));
            asked.await.unwrap().unwrap()
        }
    };
    let kick = Request::Kick {
        whom: Client::Account("Ben".to_owned()),
        reason: "too loud".to_owned(),
    };
    assert_eq!(act(kick).await, Response::Done { clients: 1 });
    assert_eq!(ben.end_with_code().await.0, LossCode::Closed(Close::Kicked));
    let ban = Request::Ban {
        whom: accounts::bans::Banned::Account(accounts::identity::Account::new("Ben").unwrap()),
        seconds: 60,
        reason: "again".to_owned(),
    };
    act(ban).await;
    let (code, _) = Player::refusal(&server, &named("Ben")).await;
    assert_eq!(code, LossCode::Closed(Close::Banned));
    drop((ann, ann_again));
    eventually("they have left", || server.stats().figures().clients == 0).await;
    server.stop().unwrap();

    let lines = lines(&path);
    let of = |event: &str, account: &str| -> Vec<&Value> {
        let matches = |line: &&Value| line["event"] == event && line["account"] == account;
        lines.iter().filter(matches).collect()
    };
    let entity = |entity: shared::EntityId| serde_json::json!([entity.slot.0, entity.generation]);
    for (account, own) in [("Ann", ann_entity), ("Ben", ben_entity)] {
        let [join] = of("join", account)[..] else {
            panic!("{lines:#?}");
        };
        assert_eq!(join["entity"], entity(own));
        assert_eq!(join["name"], account);
        let address = join["address"].as_str().unwrap();
        assert!(address.starts_with("127.0.0.1:"), "{address}");
        assert!(join["tick"].as_u64().is_some() && join["time"].as_str().is_some());
    }
    assert_eq!(of("resume", "Ann")[0]["entity"], entity(ann_entity));
    // One connection of it was replaced, and the other one has left.
    let reasons: Vec<&str> = of("leave", "Ann")
        .iter()
        .filter_map(|l| l["reason"].as_str())
        .collect();
    assert_eq!(reasons.len(), 2);
    assert!(reasons[0].contains("resumed elsewhere"), "{reasons:?}");
    let left = of("leave", "Ben");
    assert!(
        left[0]["reason"].as_str().unwrap().contains("too loud"),
        "{left:?}"
    );
    let refused = of("refused", "Ben");
    assert!(
        refused[0]["reason"].as_str().unwrap().contains("again"),
        "{refused:?}"
    );
    let acts: Vec<&Value> = lines
        .iter()
        .filter(|line| line["event"] == "admin")
        .collect();
    assert_eq!(acts.len(), 2);
    assert_eq!(acts[0]["request"]["do"], "kick");
    assert_eq!(acts[0]["result"], "1 clients");
    assert!(acts[0]["by"].as_str().is_some_and(|by| !by.is_empty()));
    assert_eq!(acts[1]["request"]["do"], "ban");
    assert_eq!(lines.first().unwrap()["event"], "start");
    assert_eq!(lines.last().unwrap()["event"], "stop");
}

#[tokio::test]
async fn while_the_log_can_not_be_written_nobody_comes_in_and_the_world_runs_on() {
    let folder = TestFolder::new("audit-fails");
    let path = folder.join("audit.log");
    let mut failing = Arc::<AtomicBool>::default();
    let server = start_with(ROOM, |options| {
        audited(options, &path);
        failing = options.audit.failing();
    });
    let is_failing = || failing.load(Ordering::Relaxed);
    let mut early = Player::join_as(&server, &named("Ann")).await;
    assert!(!is_failing());
    // As if its disk were full.
    fs::rename(&path, folder.join("audit.1")).unwrap();
    symlink("/dev/full", &path).unwrap();
    eventually("it fails", || {
        // Something to write.
        let _ = visit(&server);
        is_failing()
    })
    .await;
    let (code, reason) = Player::refusal(&server, &named("Ben")).await;
    assert_eq!(code, LossCode::Closed(Close::Starting), "{reason}");
    early.listen().await.expect("the world runs on");
    drop(early);
    fs::remove_file(&path).unwrap();
    eventually("it is written again", || !is_failing()).await;
    let late = Player::join_as(&server, &named("Ben")).await;
    drop(late);
    server.stop().unwrap();
    let all = [lines(&folder.join("audit.1")), lines(&path)].concat();
    let count = |event, account| {
        let is_it = |line: &&Value| line["event"] == event && line["account"] == account;
        all.iter().filter(is_it).count()
    };
    for account in ["Ann", "Ben"] {
        assert_eq!(
            (count("join", account), count("leave", account)),
            (1, 1),
            "{all:#?}"
        );
    }
    let summed = all
        .iter()
        .find(|line| line["reason"] == "the audit log was not written");
    assert!(
        summed.is_some_and(|line| line["count"].as_u64() > Some(0)),
        "{all:#?}"
    );
}

/// A guest comes and goes: there is something to write.
fn visit(server: &server::Server) -> std::thread::Result<()> {
    let address = server.address();
    let certificate = server.certificate().clone();
    std::thread::spawn(move || {
        let trust = client_bot::Trust::Certificates(vec![certificate]);
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        runtime.block_on(async {
            let connector = client_bot::Connector::new(address, "localhost", &trust).unwrap();
            let refused = client_bot::Client::connect(&connector, &hello("", None)).await;
            drop(refused);
        });
    })
    .join()
}

#[test]
fn edits_of_characters_have_lines() {
    let folder = TestFolder::new("audit-edits");
    let (data, path) = (folder.join("data"), folder.join("audit.log"));
    let text = "[world]\nsize = [30, 30]\naoi = 100\ncapacity = 64\n[[kind]]\nname = 'player'\n\
        attributes = [{ name = 'gold', type = 'i32', persist = true, audience = 'private' }]";
    let mut options = ServerOptions::local(world(text));
    options.data = Some(DataOptions::new(&data));
    server::Server::start(options).unwrap().stop().unwrap();
    let exported = folder.join("all.json");
    let carol = "{\"account\":\"carol\",\"character\":{\"gold\":3}}";
    fs::write(
        &exported,
        format!("{carol}\n{}\n", carol.replace("carol", "dave")),
    )
    .unwrap();
    let run = |words: &[&str]| {
        let mut command = Command::new(myriad_binary());
        command
            .arg("characters")
            .args(words)
            .arg("--audit")
            .arg(&path);
        let output = command.output().unwrap();
        output.status.success()
    };
    let (data, exported) = (data.display().to_string(), exported.display().to_string());
    assert!(run(&["set", &data, "alice", "gold=7"]));
    assert!(run(&["import", &data, &exported]));
    assert!(run(&["delete", &data, "carol"]));
    assert!(!run(&["delete", &data, "nobody"]));
    let edits = lines(&path);
    let accounts: Vec<&str> = edits
        .iter()
        .filter_map(|line| line["account"].as_str())
        .collect();
    assert_eq!(accounts, ["alice", "carol", "dave", "carol"]);
    assert_eq!(edits[0]["request"]["set"]["gold"], 7);
    assert_eq!(edits[3]["request"], "delete");
    assert!(
        edits
            .iter()
            .all(|line| line["event"] == "edit" && line["by"].is_string())
    );
}
