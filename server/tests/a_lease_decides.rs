//! A lease at a third party decides which server is the primary.

use std::collections::VecDeque;
use std::fs;
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use client_bot::connect::{ClientError, hello};
use client_bot::{Client, Connector, Trust};
use shared::wire::control::Ticket;
use shared::world::mix::mix;
use standby::lease::holding::{Holding, NextStep};
use tokio::time::{sleep, timeout};

use crate::common::folder::TestFolder;
use crate::common::process::{Process, signal};
use crate::common::{DEADLINE, Log, free_address};

/// A server of the simulation. Its clock is off by up to a tenth, and begins anywhere.
struct Contender {
    rate: f64,
    holding: Option<Holding>,
    lease: u64,
    paused_until: u64,
    /// Of a question that was sent, until it is answered or given up: when, by its own clock.
    requested: Option<(Duration, u64)>,
    /// When it arrives there, when the answer arrives here, and its kind.
    on_its_way: VecDeque<(u64, Message)>,
}

#[derive(Clone, Copy, Debug)]
enum Message {
    Ask {
        is_renewal: bool,
        lease: u64,
        sent: Duration,
    },
    Answer {
        is_renewal: bool,
        is_good: bool,
        sent: Duration,
    },
}

const LEASE_MS: u64 = 1000;

/// Time is in steps of a millisecond. The third party frees the key once the lease of its
/// holder has ended by its own clock; each grant and each renewal counts from its arrival.
fn simulate(seed: u64) -> u64 {
    let mut state = seed;
    let mut dice = move |below: u64| {
        state = mix(state, 1);
        state % below
    };
    let mut servers: Vec<Contender> = (0..3)
        .map(|_| Contender {
            rate: 0.9 + dice(201) as f64 / 1000.0,
            holding: None,
            lease: 0,
            paused_until: 0,
            requested: None,
            on_its_way: VecDeque::new(),
        })
        .collect();
    let (mut holder, mut ends_at, mut last_lease) = (None::<(usize, u64)>, 0, 0);
    let mut takes = 0;
    for now in 0..60_000_u64 {
        if holder.is_some() && now >= ends_at {
            holder = None;
        }
        for (index, server) in servers.iter_mut().enumerate() {
            // A request in flight arrives at the third party even if its sender is paused.
            let clock = Duration::from_secs_f64(now as f64 * server.rate / 1000.0);
            let mut answers = vec![];
            for _ in 0..server.on_its_way.len() {
                let Some((at, message)) = server.on_its_way.pop_front() else {
                    break;
                };
                match message {
                    _ if at > now => server.on_its_way.push_back((at, message)),
                    Message::Ask {
                        is_renewal,
                        lease,
                        sent,
                    } => {
                        let is_good = match is_renewal {
                            true => holder == Some((index, lease)),
                            false => holder.is_none(),
                        };
                        if is_good {
                            holder = Some((index, lease));
                            ends_at = now + LEASE_MS;
                        }
                        // One answer in five is lost.
                        if dice(5) > 0 {
                            let back = now + 1 + dice(400);
                            let answer = Message::Answer {
                                is_renewal,
                                is_good,
                                sent,
                            };
                            server.on_its_way.push_back((back, answer));
                        }
                    }
                    Message::Answer { .. } if server.paused_until > now => {
                        server.on_its_way.push_back((at, message));
                    }
                    Message::Answer { .. } => answers.push(message),
                }
            }
            if server.paused_until > now {
                continue;
            }
            for answer in answers {
                let Message::Answer {
                    is_renewal,
                    is_good,
                    sent,
                } = answer
                else {
                    continue;
                };
                if server.requested.map(|(requested, _)| requested) != Some(sent) {
                    continue;
                }
                server.requested = None;
                let lease = Duration::from_millis(LEASE_MS);
                match (&mut server.holding, is_good) {
                    (Some(holding), true) => holding.renewed(sent, lease, clock),
                    (Some(holding), false) if is_renewal => holding.lost(),
                    (None, true) if !is_renewal => {
                        server.holding = Some(Holding::taken(sent, lease));
                        takes += 1;
                    }
                    _ => {}
                }
            }
            if server
                .requested
                .is_some_and(|(_, given_up)| now >= given_up)
            {
                server.requested = None;
                if let Some(holding) = &mut server.holding {
                    holding.failed(clock);
                }
            }
            let wants = match &mut server.holding {
                Some(holding) => match holding.next(clock) {
                    NextStep::Renew => true,
                    NextStep::Wait(_) => false,
                    NextStep::End => {
                        server.holding = None;
                        false
                    }
                },
                None => dice(100) == 0,
            };
            if wants && server.requested.is_none() {
                let is_renewal = server.holding.is_some();
                if !is_renewal {
                    last_lease += 1;
                    server.lease = last_lease;
                }
                let ask = Message::Ask {
                    is_renewal,
                    lease: server.lease,
                    sent: clock,
                };
                server.requested = Some((clock, now + 300));
                if dice(5) > 0 {
                    server.on_its_way.push_back((now + 1 + dice(400), ask));
                }
            }
            if dice(3000) == 0 {
                server.paused_until = now + dice(4000);
            }
        }
        // A paused server sends no tick, and checks its clock before the next one.
        let mut believers = vec![];
        for (index, server) in servers.iter_mut().enumerate() {
            let clock = Duration::from_secs_f64(now as f64 * server.rate / 1000.0);
            if let Some(holding) = &mut server.holding
                && holding.clone().holds(clock)
            {
                believers.push(index);
            }
        }
        assert!(
            believers.len() <= 1,
            "seed {seed}: {believers:?} at {now} ms"
        );
        if let Some(&believer) = believers.first() {
            let of = holder.map(|(index, _)| index);
            assert_eq!(of, Some(believer), "seed {seed}: at {now} ms");
        }
    }
    takes
}

#[test]
fn two_servers_never_both_believe_that_they_hold_the_lease() {
    let takes: u64 = (0..40).map(simulate).sum();
    assert!(
        takes > 100,
        "the lease has changed hands only {takes} times"
    );
}

#[test]
fn a_lease_is_believed_from_the_sending_and_never_again_after_its_end() {
    let ms = Duration::from_millis;
    let mut holding = Holding::taken(ms(0), ms(1000));
    assert_eq!(holding.next(ms(0)), NextStep::Wait(ms(200)));
    assert_eq!(holding.next(ms(200)), NextStep::Renew);
    holding.renewed(ms(200), ms(1000), ms(700));
    assert!(holding.holds(ms(949)));
    assert!(!holding.holds(ms(950)));
    holding.renewed(ms(900), ms(1000), ms(960));
    assert_eq!(holding.next(ms(961)), NextStep::End);
}

pub const WORLD: &str = "
    [world]
    size = [60, 60]
    aoi = 60
    capacity = 64
    tick_hz = 20

    [limits]
    clients = 48
    resume_seconds = 60

    [[kind]]
    name = 'player'
    attributes = [{ name = 'hp', type = 'i32', default = 100, audience = 'state' }]
";

/// An etcd of its own. It ends when it is dropped.
pub struct Etcd {
    child: Child,
    pub url: String,
    /// The certificate for its clients, if it speaks TLS.
    certificate: Option<PathBuf>,
}

impl Etcd {
    /// `None`, and a line that says so, where there is none.
    pub fn start(folder: &Path, has_tls: bool) -> Option<Etcd> {
        Etcd::start_with(folder, has_tls, |_, _| ())
    }

    /// The same with more options, some for the certificate.
    fn start_with(
        folder: &Path,
        has_tls: bool,
        change: impl Fn(&mut Command, Option<&Path>),
    ) -> Option<Etcd> {
        Etcd::try_to_start(folder, has_tls, &change, 5)
    }

    fn try_to_start(
        folder: &Path,
        has_tls: bool,
        change: &impl Fn(&mut Command, Option<&Path>),
        attempts: u32,
    ) -> Option<Etcd> {
        let scheme = if has_tls { "https" } else { "http" };
        let url = format!("{scheme}://{}", free_address());
        let peers = format!("http://{}", free_address());
        let health = free_address();
        let mut command = Command::new("etcd");
        command
            .arg("--data-dir")
            .arg(folder)
            .args(["--listen-client-urls", &url])
            .args(["--advertise-client-urls", &url])
            .args(["--listen-peer-urls", &peers])
            .args(["--initial-advertise-peer-urls", &peers])
            .args(["--initial-cluster", &format!("default={peers}")])
            .args(["--listen-metrics-urls", &format!("http://{health}")])
            // Hashes of passwords would take longer than a server waits, on a busy machine.
            .args(["--bcrypt-cost", "4"])
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        let certificate = has_tls.then(|| {
            let made = rcgen::generate_simple_self_signed(vec!["127.0.0.1".to_owned()]);
            let made = made.expect("a certificate");
            let [certificate, key] = ["pem", "key"].map(|end| folder.with_extension(end));
            fs::write(&certificate, made.cert.pem()).expect("a file");
            fs::write(&key, made.signing_key.serialize_pem()).expect("a file");
            command.arg("--cert-file").arg(&certificate);
            command.arg("--key-file").arg(&key);
            certificate
        });
        change(&mut command, certificate.as_deref());
        let Ok(child) = command.spawn() else {
            println!("skipped: there is no etcd (apt-get install etcd-server)");
            return None;
        };
        let mut etcd = Etcd {
            child,
            url,
            certificate,
        };
        let begun = Instant::now();
        // It answers before it has chosen its leader, which is itself.
        while !is_healthy(health).unwrap_or(false) {
            // Another program has taken one of the ports meanwhile.
            if attempts > 1 && matches!(etcd.child.try_wait(), Ok(Some(_))) {
                return Etcd::try_to_start(folder, has_tls, change, attempts - 1);
            }
            assert!(begun.elapsed() < DEADLINE, "etcd does not answer");
            std::thread::sleep(Duration::from_millis(50));
        }
        Some(etcd)
    }
}

pub fn is_healthy(address: SocketAddr) -> io::Result<bool> {
    let mut stream = TcpStream::connect(address)?;
    stream.set_read_timeout(Some(Duration::from_secs(1)))?;
    stream.write_all(b"GET /health HTTP/1.0\r\n\r\n")?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    Ok(answer.contains("\"health\":\"true\""))
}

impl Drop for Etcd {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Etcd {
    /// Sends a request, as an administrator does.
    fn post(&self, path: &str, body: &str) {
        let address = self.url.strip_prefix("http://").expect("without TLS");
        let mut stream = TcpStream::connect(address).expect("etcd is there");
        let length = body.len();
        let request = format!("POST {path} HTTP/1.0\r\nContent-Length: {length}\r\n\r\n{body}");
        stream.write_all(request.as_bytes()).expect("a request");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("an answer");
        assert!(answer.contains(" 200 OK"), "{path}: {answer}");
    }

    pub fn signal(&self, name: &str) {
        signal(&self.child, name);
    }
}

/// A server whose lease lasts two seconds, and the etcd that it asks.
fn spawn(folder: &Path, more: &[&str], etcd: Option<&Etcd>) -> Process {
    let more = [&["--lease-seconds", "2"], more].concat();
    Process::spawn_with(folder, "127.0.0.1:0", 1, &more, |command| {
        if let Some(certificate) = etcd.and_then(|etcd| etcd.certificate.as_ref()) {
            command.env("SSL_CERT_FILE", certificate);
        }
        if let Some(etcd) = etcd {
            command.args(["--lease", &etcd.url]);
        }
    })
}

pub async fn join(address: &str, ticket: Option<Ticket>) -> (Client, Connector) {
    let address: SocketAddr = address.parse().expect("an address");
    let begun = Instant::now();
    loop {
        let trust = Trust::AnyCertificate;
        let connector = Connector::new(address, "localhost", &trust).expect("a socket");
        let joining = timeout(DEADLINE, async {
            Client::connect(&connector, &hello("", ticket)).await
        });
        match joining.await.expect("an answer") {
            Ok(client) => return (client, connector),
            Err(ClientError::Ended(_)) if begun.elapsed() < DEADLINE => {
                sleep(Duration::from_millis(20)).await;
            }
            Err(error) => panic!("{error}"),
        }
    }
}

/// A primary with a player, and a standby that takes over by itself once `fail` has hit it.
async fn take_over(name: &str, fail: &str, has_tls: bool) {
    let folder = TestFolder::new(name);
    let Some(etcd) = Etcd::start(&folder.join("etcd"), has_tls) else {
        return;
    };
    let world = folder.join("world.toml");
    fs::write(&world, WORLD).unwrap();
    let key = folder.join("link.pem").display().to_string();
    let made = Command::new(env!("CARGO_BIN_EXE_myriad"))
        .args(["link-key", &key])
        .status();
    assert!(made.expect("the binary runs").success());
    let both = ["--link-key", &*key];
    let world = world.display().to_string();
    let strict = [
        "--world",
        &world,
        "--followers",
        "127.0.0.1:0",
        "--level",
        "standby",
        "--standby-required",
        "--standby-wait",
        "60",
    ];
    let strict = [&both[..], &strict].concat();
    let mut primary = spawn(&folder.join("one"), &strict, Some(&etcd));
    let address = primary.says("listening on ");
    let follow = primary.says("a standby may follow at ");
    let following = [&both[..], &["--follow", &follow]].concat();
    let mut standby = spawn(&folder.join("two"), &following, Some(&etcd));
    let (mut client, _connector) = join(&address, None).await;
    let mut log = Log::default();
    // The standby has seen by now that the lease is held.
    let _ = timeout(Duration::from_secs(2), async {
        while client.receive(&mut log).await.is_ok() {}
    })
    .await;
    primary.signal(fail);
    let promoted = standby.says("listening on ");
    let newest = client.view().newest();
    let (again, _connector) = join(&promoted, Some(client.ticket())).await;
    assert_eq!(again.view().entity(), client.view().entity());
    assert!(again.view().newest() >= newest);
    if fail == "-STOP" {
        // Data in flight before the stop does not count.
        let _ = timeout(Duration::from_millis(100), async {
            while client.receive(&mut log).await.is_ok() {}
        })
        .await;
        let newest = client.view().newest();
        primary.signal("-CONT");
        let ended = async { while client.receive(&mut log).await.is_ok() {} };
        timeout(DEADLINE, ended).await.expect("an end");
        assert_eq!(client.view().newest(), newest, "it sent a tick");
        let errors = primary.fails().await;
        let is_logged = errors.contains("must not continue");
        assert!(is_logged, "{errors}");
    }
}

#[tokio::test]
async fn a_standby_takes_over_by_itself_from_a_primary_that_is_killed() {
    take_over("lease-killed", "-KILL", true).await;
}

#[tokio::test]
async fn a_primary_that_was_stopped_for_too_long_sends_no_tick_and_ends() {
    take_over("lease-stopped", "-STOP", false).await;
}

#[tokio::test]
async fn a_primary_outlasts_a_short_absence_of_etcd_and_no_long_one() {
    let folder = TestFolder::new("lease-etcd-away");
    let Some(etcd) = Etcd::start(&folder.join("etcd"), false) else {
        return;
    };
    let world = folder.join("world.toml");
    fs::write(&world, WORLD).unwrap();
    let world = world.display().to_string();
    let mut primary = spawn(&folder.join("one"), &["--world", &world], Some(&etcd));
    let address = primary.says("listening on ");
    let (mut client, _connector) = join(&address, None).await;
    let mut log = Log::default();
    etcd.signal("-STOP");
    sleep(Duration::from_millis(600)).await;
    etcd.signal("-CONT");
    // Longer than a lease.
    let until = Instant::now() + Duration::from_secs(3);
    while Instant::now() < until {
        if let Err(error) = client.receive(&mut log).await {
            panic!("the client receives no more: {error}");
        }
        client.flush();
    }
    etcd.signal("-STOP");
    let ended = async { while client.receive(&mut log).await.is_ok() {} };
    timeout(DEADLINE, ended).await.expect("an end");
    etcd.signal("-CONT");
    let errors = primary.fails().await;
    assert!(errors.contains("must not continue"), "{errors}");
}

#[tokio::test]
async fn a_server_without_its_etcd_says_where_it_looked() {
    let folder = TestFolder::new("lease-no-etcd");
    let closed = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", closed.local_addr().unwrap());
    drop(closed);
    for (url, expected) in [
        (&*url, "etcd at 127.0.0.1:"),
        (
            "etcd.example.com",
            "expected http://HOST:PORT or https://HOST:PORT",
        ),
    ] {
        let process = spawn(&folder.join("one"), &["--lease", url], None);
        let errors = process.fails().await;
        assert!(errors.contains(expected), "{errors}");
    }
}

#[tokio::test]
async fn a_server_shows_etcd_its_certificate() {
    let folder = TestFolder::new("lease-certificate");
    let etcd = Etcd::start_with(&folder.join("etcd"), true, |command, certificate| {
        let authority = certificate.expect("TLS");
        command.arg("--client-cert-auth");
        command.arg("--trusted-ca-file").arg(authority);
    });
    let Some(etcd) = etcd else { return };
    let world = folder.join("world.toml");
    fs::write(&world, WORLD).unwrap();
    let world = world.display().to_string();
    let refused = spawn(&folder.join("one"), &["--world", &world], Some(&etcd));
    let errors = refused.fails().await;
    assert!(errors.contains("etcd at 127.0.0.1:"), "{errors}");
    let [certificate, key] = ["pem", "key"].map(|end| {
        folder
            .join("etcd")
            .with_extension(end)
            .display()
            .to_string()
    });
    let shown = ["--lease-certificate", &certificate, "--lease-key", &key];
    let more = [&["--world", &*world][..], &shown].concat();
    let mut server = spawn(&folder.join("two"), &more, Some(&etcd));
    server.says("listening on ");
    server.stop();
}

#[tokio::test]
async fn a_server_is_a_user_of_etcd() {
    let folder = TestFolder::new("lease-user");
    let Some(etcd) = Etcd::start(&folder.join("etcd"), false) else {
        return;
    };
    etcd.post(
        "/v3/auth/user/add",
        r#"{"name": "root", "password": "word"}"#,
    );
    etcd.post("/v3/auth/user/grant", r#"{"user": "root", "role": "root"}"#);
    etcd.post("/v3/auth/enable", "{}");
    let world = folder.join("world.toml");
    fs::write(&world, WORLD).unwrap();
    let world = world.display().to_string();
    for (word, is_right) in [("other", false), ("word", true)] {
        let file = folder.join(word);
        fs::write(&file, word).unwrap();
        let file = file.display().to_string();
        let user = ["--lease-user", "root", "--lease-password-file", &file];
        let more = [&["--world", &*world][..], &user].concat();
        let data = folder.join(format!("data-{word}"));
        let mut server = spawn(&data, &more, Some(&etcd));
        if is_right {
            server.says("listening on ");
            server.stop();
        } else {
            let errors = server.fails().await;
            assert!(errors.contains("the user root"), "{errors}");
        }
    }
}
