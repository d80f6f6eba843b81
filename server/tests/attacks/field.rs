//! Where attacks happen: a server in a process of its own, and fifty bots that play on it
//! and verify their views.

use std::collections::HashMap;
use std::fs::{self, File};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::PathBuf;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use client_bot::connect::hello;
use client_bot::connector::Connected;
use client_bot::{Client, Connector, Swarm, SwarmOptions, Trust};
use rustix::process::{Pid, Signal, kill_process};
use shared::wire::control::Hello;
use tokio::time::{sleep, timeout};

use crate::common::{DEADLINE, eventually, free_address, myriad_binary, scratch};

/// A server and its honest clients.
pub struct Field {
    pub address: SocketAddr,
    pub metrics: SocketAddr,
    /// Of the page and the dashboard, whose token is [`DASHBOARD_TOKEN`]; none in most fields,
    /// as servers that take browsers allow them more.
    web: Option<SocketAddr>,
    pub trust: Trust,
    token: String,
    server: Process,
    bots: Swarm,
    /// The memory of the server's process before the attack, in bytes.
    memory: u64,
}

/// A running `myriad serve`. It is killed when this is dropped.
struct Process {
    child: Child,
    /// Kept open: the server writes its last words there.
    output: BufReader<ChildStdout>,
    /// Its standard error.
    log: PathBuf,
    /// Its world and its tokens.
    files: [PathBuf; 3],
}

impl Field {
    /// Starts a server, lets the bots in, and lets them play for a second.
    pub async fn start() -> Field {
        Field::start_with_token("").await
    }

    /// The same with a token, which the server has from a file.
    pub async fn start_with_token(token: &str) -> Field {
        Field::start_as(WORLD, token, false).await
    }

    /// The same without a token, with a page and a dashboard.
    pub async fn start_with_page() -> Field {
        Field::start_as(WORLD, "", true).await
    }

    /// The same in another world.
    pub async fn start_in(world: &str) -> Field {
        Field::start_as(world, "", false).await
    }

    async fn start_as(world: &str, token: &str, has_page: bool) -> Field {
        let metrics = free_address();
        let (server, address, web, trust) = Process::start(world, metrics, token, has_page);
        let mut swarm = Swarm::start(SwarmOptions {
            token: token.to_owned(),
            sockets: 8,
            verify: true,
            ..SwarmOptions::new(address, trust.clone(), BOTS)
        })
        .expect("the bots start");
        eventually("all bots are connected", || swarm.is_settled()).await;
        swarm.play();
        let mut field = Field {
            address,
            metrics,
            web,
            trust,
            token: token.to_owned(),
            server,
            bots: swarm,
            memory: 0,
        };
        field.ticks(20).await;
        field.memory = field.server.memory();
        field
    }

    /// Where the page and the dashboard are.
    pub fn page(&self) -> SocketAddr {
        self.web.expect("a field with a page")
    }

    /// Waits until the server has run this many more ticks.
    pub async fn ticks(&self, count: u64) {
        let end = self.figure(TICKS) + count as f64;
        // Reading a figure blocks this thread, which sends the attacker's datagrams while it waits.
        sleep(POLL).await;
        eventually("the world runs", || self.figure(TICKS) >= end).await;
    }

    /// A number of the metrics page.
    pub fn figure(&self, name: &str) -> f64 {
        let page = scrape(self.metrics).expect("the page of metrics");
        let figures = figures(&page);
        let figure = figures.get(name);
        *figure.unwrap_or_else(|| panic!("no {name} in:\n{page}"))
    }

    /// What the server's process holds more than before the attack, in bytes.
    pub fn memory_grown(&self) -> u64 {
        self.server.memory().saturating_sub(self.memory)
    }

    /// Waits until a number of the metrics page is above another.
    pub async fn until_above(&self, name: &str, least: f64) {
        let what = format!("{name} is above {least}");
        eventually(&what, || self.figure(name) > least).await;
    }

    /// Waits until a number of the metrics page is what it should be.
    pub async fn until_figure(&self, name: &str, expected: u64) {
        let started = Instant::now();
        loop {
            let found = self.figure(name);
            if found == expected as f64 {
                return;
            }
            let waited = started.elapsed();
            assert!(
                waited < DEADLINE,
                "{name} is {found}, expected {expected}; {}",
                self.server.log()
            );
            sleep(POLL).await;
        }
    }

    /// The server's log.
    pub fn log(&self) -> String {
        self.server.log()
    }

    /// Waits until the server has logged something.
    pub async fn until_log(&self, what: &str, is_there: impl Fn(&str) -> bool) {
        eventually(what, || is_there(&self.log())).await;
    }

    /// A client that is welcomed, and can misbehave from there on.
    pub async fn join(&self) -> Connected {
        self.join_with(&hello(&self.token, None)).await
    }

    pub async fn join_with(&self, hello: &Hello) -> Connected {
        let connector = self.connector();
        let joining = timeout(DEADLINE, connector.connect(hello)).await;
        joining.expect("an answer").expect("a welcome")
    }

    /// A socket of its own for an honest client.
    pub fn connector(&self) -> Connector {
        Connector::new(self.address, "localhost", &self.trust).expect("a socket")
    }

    /// The attack is over, and the server has counted so many malformed messages.
    pub async fn stands_after_malformed(self, expected: u64) {
        self.until_figure("myriad_messages_malformed_total", expected)
            .await;
        self.stands().await;
    }

    /// The attack is over. A client can connect, no client is left behind, the bots received only
    /// correct data, none of them was lost, and the server's memory is as before.
    pub async fn stands(self) {
        let newcomer = self.connector();
        let hello = hello(&self.token, None);
        let joining = Client::connect(&newcomer, &hello);
        let joined = timeout(DEADLINE, joining).await.expect("an answer");
        joined.expect("a client can connect").leave();
        newcomer.wait_idle().await;
        self.until_figure("myriad_clients", BOTS as u64).await;
        let Field {
            server,
            mut bots,
            memory,
            metrics,
            ..
        } = self;
        bots.rest();
        let ticks = || figures(&scrape(metrics).expect("the page of metrics"))[TICKS];
        let rested = ticks() + REST_TICKS;
        eventually("the world rests", || ticks() >= rested).await;
        let started = Instant::now();
        let kept = loop {
            let kept = server.memory().saturating_sub(memory);
            if kept <= MEMORY_SPARE || started.elapsed() > DEADLINE {
                break kept;
            }
            sleep(POLL).await;
        };
        let report = bots.finish().expect("the bots report");
        println!(
            "latency of honest clients: p50 {:.0} ms, p99 {:.0} ms; {} checks; \
             memory {} KiB, then {} KiB more",
            report.latency_ms_p50,
            report.latency_ms_p99,
            report.verify_checked,
            memory >> 10,
            kept >> 10,
        );
        let story = format!("{:?}\n{}", report.examples, server.log());
        assert_eq!(report.clients_connected, BOTS as u64, "{story}");
        assert_eq!(report.sessions_lost, 0, "{story}");
        assert_eq!(report.verify_errors, 0, "{story}");
        assert!(report.verify_checked > 0, "nothing was verified");
        assert!(
            kept <= MEMORY_SPARE,
            "the server keeps {kept} bytes more than the {memory} before the attack"
        );
        server.stop();
    }
}

impl Process {
    /// A process, the addresses of its clients and its page, and its certificate.
    fn start(
        world_text: &str,
        metrics: SocketAddr,
        token: &str,
        has_page: bool,
    ) -> (Process, SocketAddr, Option<SocketAddr>, Trust) {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let file = |suffix: &str| {
            scratch(&format!(
                "attacked-{}-{number}.{suffix}",
                std::process::id()
            ))
        };
        let (world, log, token_file) = (file("toml"), file("log"), file("token"));
        let dashboard_token = file("dashboard-token");
        fs::write(&world, world_text).expect("a world file");
        fs::write(&dashboard_token, DASHBOARD_TOKEN).expect("a token's file");
        let mut command = Command::new(myriad_binary());
        command
            .args(["serve", "--listen", "127.0.0.1:0", "--backend", "cpu"])
            .args(["--shards", "1", "--threads", "1"])
            .arg("--world")
            .arg(&world)
            .arg("--metrics")
            .arg(metrics.to_string())
            .env("RUST_LOG", "info")
            .stdout(Stdio::piped())
            .stderr(File::create(&log).expect("a log file"));
        if !token.is_empty() {
            fs::write(&token_file, format!("{token}\n")).expect("a token's file");
            command.arg("--token-file").arg(&token_file);
        }
        if has_page {
            command
                .args(["--web", "127.0.0.1:0", "--dashboard-token-file"])
                .arg(&dashboard_token);
        }
        let mut child = command.spawn().expect("the server starts");
        let mut output = BufReader::new(child.stdout.take().expect("its output"));
        let mut printed = String::new();
        let mut word = |name: &str| {
            let start = printed.len();
            while !printed[start..].contains(name) {
                let read = output.read_line(&mut printed).expect("readable output");
                assert!(read > 0, "the server did not start: {printed}");
            }
            let line = printed[start..].lines().find(|line| line.starts_with(name));
            let value = line.expect("it begins the line")[name.len()..].trim();
            value.to_owned()
        };
        let address = word("listening on ").parse().expect("an address");
        let digits = word("fingerprint ");
        let mut fingerprint = [0; 32];
        for (i, byte) in fingerprint.iter_mut().enumerate() {
            *byte = u8::from_str_radix(&digits[2 * i..2 * i + 2], 16).expect("hexadecimal");
        }
        let web = has_page.then(|| {
            let page = word("play on http://");
            let (web, _) = page.split_once(',').expect("the dashboard follows");
            web.parse().expect("an address")
        });
        let process = Process {
            child,
            output,
            log,
            files: [world, token_file, dashboard_token],
        };
        (process, address, web, Trust::Fingerprint(fingerprint))
    }

    /// The physical memory of the process, in bytes.
    fn memory(&self) -> u64 {
        let path = format!("/proc/{}/status", self.child.id());
        let status = fs::read_to_string(path).expect("the server runs");
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        let kilobytes = line.expect("its memory").trim().trim_end_matches(" kB");
        kilobytes.parse::<u64>().expect("a number") << 10
    }

    fn log(&self) -> String {
        fs::read_to_string(&self.log).expect("the server's log")
    }

    /// Ends the server as an operator does. No attack may fill its log.
    fn stop(mut self) {
        let pid = Pid::from_child(&self.child);
        kill_process(pid, Signal::INT).expect("the server runs");
        let mut printed = String::new();
        self.output
            .read_to_string(&mut printed)
            .expect("its output");
        let ended = self.child.wait().expect("it ends");
        let log = self.log();
        assert!(ended.success(), "{ended}: {printed}\n{log}");
        assert!(log.len() < LOG_BYTES_MAX, "{} bytes of log", log.len());
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // Both fail where it has ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
        for file in self.files.iter().chain([&self.log]) {
            let _ = fs::remove_file(file);
        }
    }
}

/// So many times as many of whatever an attack does: `ATTACK_SCALE`, by default once.
pub fn scaled(count: usize) -> usize {
    let scale = std::env::var("ATTACK_SCALE").ok();
    count * scale.map_or(1, |scale| scale.parse().expect("a whole number"))
}

/// Reads the page of metrics; none if the port does not give it.
pub fn scrape(address: SocketAddr) -> Option<String> {
    let mut stream = TcpStream::connect(address).ok()?;
    stream.set_read_timeout(Some(DEADLINE)).ok()?;
    stream
        .write_all(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n")
        .ok()?;
    let mut page = String::new();
    stream.read_to_string(&mut page).ok()?;
    page.starts_with("HTTP/1.1 200 ").then_some(page)
}

fn figures(page: &str) -> HashMap<String, f64> {
    let lines = page.lines().filter_map(|line| line.split_once(' '));
    let figures = lines.filter_map(|(name, value)| Some((name.to_owned(), value.parse().ok()?)));
    figures.collect()
}

/// The bots see some others, and a lost client is soon forgotten.
const WORLD: &str = "
    [world]
    size = [200, 200]
    aoi = 50
    capacity = 512
    tick_hz = 40

    [limits]
    clients = 128
    idle_seconds = 10
    resume_seconds = 2
    unread_seconds = 3
    regions_per_client = 4
    subscriptions_per_client = 4

    [[kind]]
    name = 'player'
    attributes = [
        { name = 'hp', type = 'i32', default = 100, min = 0, max = 100, audience = 'state' },
    ]
";
/// The requests of the dashboard.
pub const DASHBOARD_TOKEN: &str = "open sesame";
const BOTS: usize = 50;
const TICKS: &str = "myriad_tick_seconds_count";
/// At 40 Hz: bots compare only entities that have not moved for a second.
const REST_TICKS: f64 = 60.0;
const POLL: Duration = Duration::from_millis(20);
/// The memory that an allocator may retain after a peak.
const MEMORY_SPARE: u64 = 24 << 20;
const LOG_BYTES_MAX: usize = 64 << 10;
