//! Two servers with the same options are a primary and its standby again, whichever is killed or
//! stopped.

use std::fs;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus};
use std::sync::{Arc, Mutex};

use client_bot::{Client, Connector};
use shared::wire::control::Ticket;
use tokio::time::timeout;

use crate::a_lease_decides::{Etcd, WORLD, join};
use crate::common::folder::TestFolder;
use crate::common::process::{signal, start_printing};
use crate::common::{Log, eventually, myriad_binary, myriad_in};

/// A server of the pair. Its options are the same in each process.
pub struct Member {
    pub binary: PathBuf,
    arguments: Vec<String>,
    pub address: String,
    metrics: String,
    child: Child,
    /// All output of the current process.
    printed: Arc<Mutex<String>>,
}

impl Member {
    /// `etcd` has its addresses.
    pub fn new(folder: &Path, data: &str, (etcd, lease_seconds): (&str, &str)) -> Member {
        let udp = || {
            UdpSocket::bind("127.0.0.1:0")
                .unwrap()
                .local_addr()
                .unwrap()
        };
        let (address, followers) = (udp().to_string(), udp().to_string());
        let tcp = TcpListener::bind("127.0.0.1:0").unwrap();
        let metrics = tcp.local_addr().unwrap().to_string();
        drop(tcp);
        let path = |name: &str| folder.join(name).display().to_string();
        let words = [
            &[
                "serve",
                "--pair",
                "--backend",
                "cpu",
                "--threads",
                "1",
                "--shards",
                "1",
            ][..],
            &["--data", &path(data), "--world", &path("world.toml")],
            &["--listen", &address, "--followers", &followers],
            &["--link-key", &path("link.pem"), "--metrics", &metrics],
            &["--lease", etcd, "--lease-seconds", lease_seconds],
            &[
                "--level",
                "standby",
                "--standby-required",
                "--standby-wait",
                "60",
            ],
            &["--checkpoint-every", "1"],
        ];
        let arguments: Vec<String> = words.concat().into_iter().map(str::to_owned).collect();
        let binary = myriad_binary();
        let (child, printed) = start(&binary, &arguments);
        Member {
            binary,
            arguments,
            address,
            metrics,
            child,
            printed,
        }
    }

    fn printed(&self) -> String {
        self.printed.lock().unwrap().clone()
    }

    pub fn count(&self, what: &str) -> usize {
        self.printed().matches(what).count()
    }

    pub fn is_primary(&self) -> bool {
        self.count("listening on ") > 0
    }

    /// Ends the process, and starts another one, as a supervisor does.
    pub fn restart(&mut self, by: &str) -> ExitStatus {
        signal(&self.child, by);
        let status = self.child.wait().unwrap();
        (self.child, self.printed) = start(&self.binary, &self.arguments);
        status
    }

    /// Starts another process if the current one has ended by itself, as a supervisor does. Returns
    /// its output then.
    pub fn supervise(&mut self) -> Option<String> {
        self.child.try_wait().unwrap()?;
        let printed = self.printed();
        (self.child, self.printed) = start(&self.binary, &self.arguments);
        Some(printed)
    }

    /// A metric without labels.
    fn metric(&self, name: &str) -> Option<String> {
        let mut stream = TcpStream::connect(&self.metrics).ok()?;
        let request = format!("GET /metrics HTTP/1.0\r\nHost: {}\r\n\r\n", self.metrics);
        stream.write_all(request.as_bytes()).ok()?;
        let mut page = String::new();
        stream.read_to_string(&mut page).ok()?;
        let value = page
            .lines()
            .find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
        value.map(str::to_owned)
    }
}

impl Drop for Member {
    fn drop(&mut self) {
        if std::thread::panicking() {
            println!("{}", self.printed());
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn start(binary: &Path, arguments: &[String]) -> (Child, Arc<Mutex<String>>) {
    start_printing(Command::new(binary).args(arguments))
}

pub const ALONE: &str = "it is noted that this server has no standby";
const IN_PAIR: &str = "it is noted that this server has a standby, which may take over";

/// The primary's number, once the other is its standby.
pub fn primary_of(members: &[Member; 2]) -> Option<usize> {
    let primaries = [0, 1].map(|n| members[n].is_primary());
    let number = primaries.iter().position(|&is| is)?;
    let noted = [ALONE, IN_PAIR].map(|what| members[number].count(what));
    if primaries[0] == primaries[1] || noted[0] != noted[1] {
        return None;
    }
    // A standby that follows before the first tick leaves nothing to note.
    let is = |n: usize, name| members[n].metric(name).as_deref() == Some("1");
    let is_formed = is(number, "myriad_standby_in_force") && is(1 - number, "myriad_following");
    is_formed.then_some(number)
}

/// Waits until one is the primary and the other its standby, and returns the primary's number.
async fn formed(members: &[Member; 2]) -> usize {
    let mut primary = None;
    eventually("the two are a pair", || {
        primary = primary_of(members);
        primary.is_some()
    })
    .await;
    primary.unwrap()
}

/// What a player has. Its connection stays, as it did not leave.
struct Holding {
    _client: Client,
    _connector: Connector,
    ticket: Ticket,
    entity: shared::EntityId,
    newest: shared::Tick,
}

/// A player plays for a moment, as the same entity as before.
async fn play(address: &str, before: Option<Holding>) -> Holding {
    let ticket = before.as_ref().map(|before| before.ticket);
    let (mut client, connector) = join(address, ticket).await;
    let mut log = Log::default();
    let _ = timeout(std::time::Duration::from_millis(300), async {
        while client.receive(&mut log).await.is_ok() {
            client.flush();
        }
    })
    .await;
    let now = Holding {
        ticket: client.ticket(),
        entity: client.view().entity(),
        newest: client.view().newest(),
        _client: client,
        _connector: connector,
    };
    if let Some(before) = before {
        assert_eq!(now.entity, before.entity);
        assert!(
            now.newest > before.newest,
            "{} after {}",
            now.newest,
            before.newest
        );
    }
    now
}

#[tokio::test]
async fn a_pair_reforms_by_itself_whichever_is_killed_or_stopped() {
    let folder = TestFolder::new("pair");
    let Some(etcd) = Etcd::start(&folder.join("etcd"), false) else {
        return;
    };
    fs::write(folder.join("world.toml"), WORLD).unwrap();
    let myriad = |words: &[&str]| myriad_in(&folder, words);
    myriad(&["link-key", "link.pem"]);
    myriad(&["init", "one", "--world", "world.toml", "--backend", "cpu"]);
    let mut members = ["one", "two"].map(|data| Member::new(&folder, data, (&etcd.url, "2")));
    let mut primary = formed(&members).await;
    assert_eq!(primary, 0);
    let mut player = play(&members[primary].address, None).await;
    for (hits_primary, by) in [
        (true, "-KILL"),
        (false, "-KILL"),
        (true, "-TERM"),
        (false, "-TERM"),
        (true, "-KILL"),
        (true, "-TERM"),
    ] {
        let hit = if hits_primary { primary } else { 1 - primary };
        let alone_before = members[primary].count(ALONE);
        let status = members[hit].restart(by);
        assert_eq!(status.success(), by == "-TERM", "{status}");
        if !hits_primary {
            eventually("the primary runs alone", || {
                members[primary].count(ALONE) > alone_before
            })
            .await;
        }
        let before = primary;
        primary = formed(&members).await;
        // Of two that may lead, either is first.
        assert!(hits_primary || primary == before, "{by}");
        player = play(&members[primary].address, Some(player)).await;
        let (primary, standby) = (&members[primary], &members[1 - primary]);
        eventually("their metrics say so", || {
            let is = |member: &Member, name, value| member.metric(name).as_deref() == Some(value);
            is(primary, "myriad_lease_held", "1")
                && is(primary, "myriad_standby_in_force", "1")
                && is(standby, "myriad_following", "1")
        })
        .await;
    }
    let data = |name: &str| -> PathBuf { folder.join(name) };
    drop(members);
    for name in ["one", "two"] {
        let verified = Command::new(myriad_binary())
            .arg("verify")
            .arg(data(name))
            .output();
        assert!(verified.unwrap().status.success(), "{name}");
    }
}
