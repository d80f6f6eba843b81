//! A gateway in a process of its own: this program again, with the hidden subcommand [`NAME`]. It
//! prints a line when it serves, and ends with its standard input.

use std::io::{BufRead, BufReader, Read, stdin};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::Arc;

use anyhow::{Context, ensure};
use clap::{ArgMatches, Args, FromArgMatches};
use gateway::host_link::HostOptions;
use peer::trust::LinkKey;
use platform::metrics::machine;
use program::say;
use server::ServerOptions;
use server::host::gateway_server::Gateway;

/// The hidden subcommand.
pub const NAME: &str = "gateway";

/// Which gateway to run, as a command line.
#[derive(Args, Clone, Debug)]
pub struct Options {
    #[arg(long)]
    pub world: SocketAddr,
    #[arg(long)]
    pub link_key: PathBuf,
    /// For clients.
    #[arg(long)]
    pub listen: SocketAddr,
    #[arg(long)]
    pub shards: usize,
}

/// A process with a gateway. Dropping it ends it.
pub struct GatewayProcess {
    process: Child,
    /// The gateway ends with it.
    _words: Option<ChildStdin>,
    listen: SocketAddr,
}

impl GatewayProcess {
    /// Starts the process on the cores of this thread, and waits until it serves.
    pub fn start(
        world: SocketAddr,
        key: &Path,
        listen: SocketAddr,
        shards: usize,
    ) -> anyhow::Result<GatewayProcess> {
        let program = std::env::current_exe().context("cannot find this program")?;
        let mut process = Command::new(program)
            .arg(NAME)
            .args(["--world", &world.to_string()])
            .arg("--link-key")
            .arg(key)
            .args(["--listen", &listen.to_string()])
            .args(["--shards", &shards.to_string()])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .context("cannot start the process of a gateway")?;
        let words = process.stdin.take();
        let output = process.stdout.take().context("it has no output")?;
        let mut line = String::new();
        BufReader::new(output).read_line(&mut line)?;
        let own = GatewayProcess {
            process,
            _words: words,
            listen,
        };
        ensure!(!line.is_empty(), "a gateway has failed");
        Ok(own)
    }

    /// Where clients reach it.
    pub fn address(&self) -> SocketAddr {
        self.listen
    }

    /// Processor time of the process so far, in seconds.
    pub fn seconds(&self) -> f64 {
        machine::thread_seconds_of(self.process.id(), |_| true)
    }

    /// Ends it as `kill -9` does.
    pub fn kill(mut self) -> anyhow::Result<()> {
        self.process.kill().context("cannot kill a gateway")?;
        self.process.wait().context("a gateway does not end")?;
        Ok(())
    }
}

impl Drop for GatewayProcess {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Runs the gateway that a command line names, until its standard input ends.
pub fn run(matches: &ArgMatches) -> anyhow::Result<()> {
    let options = Options::from_arg_matches(matches)?;
    let host = HostOptions {
        hosts: vec![options.world.to_string()],
        key: Arc::new(LinkKey::load(&options.link_key)?),
        clients_at: options.listen.to_string(),
        page_at: String::new(),
        name: format!("process {}", std::process::id()),
    };
    let gateway = Gateway::start(
        host,
        |first| ServerOptions {
            listen: options.listen,
            shards: options.shards,
            threads: options.shards,
            ..ServerOptions::local(first.config.clone())
        },
        Arc::default(),
    )?;
    let gateway = gateway.context("it was stopped")?;
    say!("serves");
    let mut rest = vec![];
    stdin().read_to_end(&mut rest)?;
    gateway.stop()
}
