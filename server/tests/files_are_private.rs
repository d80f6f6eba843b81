//! Files with keys, tickets, accounts and players' words are their user's only, from the moment
//! they are made, whichever command makes them.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use crate::common::folder::TestFolder;
use crate::common::names::{ByName, named};
use crate::common::pair::{Pair, complete};
use crate::common::{Player, listen_for, myriad_binary};

const WORLD: &str = "
    [world]
    size = [100, 100]
    capacity = 64
    tick_hz = 20

    [limits]
    clients = 8

    [[kind]]
    name = 'player'
    attributes = [{ name = 'gold', type = 'i32', default = 1, persist = true, audience = 'private' }]
";

/// Runs a command whose files anybody could read, for all that its user asks of the system.
fn run(arguments: &[&str]) {
    let mut words = vec![r#"umask 000; exec "$0" "$@""#.to_owned()];
    words.push(myriad_binary().display().to_string());
    words.extend(arguments.iter().map(ToString::to_string));
    let output = Command::new("sh").arg("-c").args(words).output();
    let output = output.expect("a shell");
    assert!(output.status.success(), "{arguments:?}: {output:?}");
}

/// The files and folders that others may read or write, and the number of all.
fn open_to_others(folder: &Path) -> (Vec<PathBuf>, usize) {
    let (mut open, mut all) = (vec![], 0);
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("a file").path();
        let found = fs::symlink_metadata(&path).expect("a file");
        all += 1;
        if found.permissions().mode() & 0o077 != 0 {
            open.push(path.clone());
        }
        if found.is_dir() {
            let (within, count) = open_to_others(&path);
            open.extend(within);
            all += count;
        }
    }
    (open, all)
}

#[tokio::test]
async fn whichever_command_makes_a_file_with_secrets_only_its_user_can_read_it() {
    let folder = TestFolder::new("private");
    let at = |name: &str| folder.join(name).display().to_string();
    fs::set_permissions(&*folder, fs::Permissions::from_mode(0o755)).expect("rights");
    let world = TestFolder::new("private-world");
    let file = world.join("world.toml");
    fs::write(&file, WORLD).expect("a file");
    let (world_file, changed) = (file.display().to_string(), world.join("changed.toml"));
    fs::write(&changed, WORLD.replace("default = 1,", "default = 2,")).expect("a file");

    // Before the start, others may read the file that is to be replaced.
    fs::write(folder.join("recording"), "long ago").expect("a file");
    let serve = |more: &[&str]| {
        let usual = [
            "serve",
            "--backend",
            "cpu",
            "--threads",
            "1",
            "--shards",
            "1",
        ];
        let port = [
            "--listen",
            "127.0.0.1:0",
            "--stop-after",
            "1",
            "--world",
            &world_file,
        ];
        run(&[&usual[..], &port, more].concat());
    };
    let long = format!("{}/control", at(&"f".repeat(120)));
    fs::create_dir(folder.join("f".repeat(120))).expect("a folder");
    let closed = fs::Permissions::from_mode(0o700);
    fs::set_permissions(folder.join("f".repeat(120)), closed).expect("rights");
    serve(&["--record", &at("recording"), "--admin", &long]);
    serve(&[
        "--data",
        &at("data"),
        "--new",
        "--checkpoint-every",
        "1",
        "--keep",
    ]);
    run(&["link-key", &at("link.pem")]);
    run(&["export", &at("data"), "--to", &at("entities.json")]);
    if cfg!(feature = "parquet") {
        run(&["export", &at("data"), "--to", &at("entities.parquet")]);
    }
    run(&["fork", &at("data"), "--at", "1", "--to", &at("forked")]);
    run(&[
        "migrate",
        &at("data"),
        "--world",
        &changed.display().to_string(),
    ]);
    run(&["replay", &at("recording")]);

    let (open, all) = open_to_others(&folder);
    assert_eq!(open, Vec::<PathBuf>::new());
    assert!(all > 15, "{all} files");
}

#[tokio::test]
async fn what_a_server_and_its_standby_keep_of_players_is_theirs() {
    let pair = Pair::new(WORLD, "private");
    let primary = pair.primary(|options| options.authenticator = Arc::new(ByName));
    let mut ann = Player::join_as(&primary, &named("ann")).await;
    let standby = pair.standby(&primary);
    listen_for(&primary, &mut [&mut ann], 30).await;
    complete(&standby).await;
    drop(standby);
    primary.stop().expect("the primary stops");
    let (open, all) = open_to_others(&pair.folder);
    assert_eq!(open, Vec::<PathBuf>::new());
    assert!(all > 10, "{all} files");
}

/// Commands that make public files: scripts of a new game, bindings for its clients.
const OTHERS: &[&str] = &[
    "private.rs",
    "commands/bindings.rs",
    "commands/import.rs",
    "commands/logic/new.rs",
    "commands/shell.rs",
];

#[test]
fn one_module_makes_all_files() {
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut folders = vec![sources.clone()];
    let mut makers = vec![];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).expect("a folder") {
            let path = entry.expect("a file").path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let name = path
                .strip_prefix(&sources)
                .expect("a source")
                .display()
                .to_string();
            let text = fs::read_to_string(&path).unwrap_or_default();
            let text = text
                .split("#[cfg(test)]\nmod tests {")
                .next()
                .unwrap_or_default();
            let makes = [
                "File::create",
                "fs::write(",
                "create_new(true)",
                "create(true)",
            ];
            let makes = makes.iter().any(|call| text.contains(call));
            let is_helped = text.contains("private::options()");
            if makes && !is_helped && !name.ends_with("tests.rs") {
                makers.push(name);
            }
        }
    }
    makers.retain(|name| !OTHERS.contains(&name.as_str()));
    assert_eq!(
        makers,
        Vec::<String>::new(),
        "expected them to use private.rs"
    );
}
