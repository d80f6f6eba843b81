//! Bots in a process of their own, so that the memory of this one is the server's.
//!
//! The other process is this program again, with the hidden subcommand [`NAME`]. It prints a
//! line when its bots have settled, takes the lines of `Word`, and ends with its report.

use std::io::{BufRead, BufReader, Write, stdin};
use std::net::SocketAddr;
use std::num::NonZeroUsize;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, TryRecvError, channel};
use std::time::Duration;

use anyhow::{Context, bail};
use clap::{ArgMatches, Args, FromArgMatches, ValueEnum};
use client_bot::report::SwarmReport;
use client_bot::{BehaviourKind, Swarm, SwarmOptions, Trust};
use platform::metrics::machine;
use program::note;
use program::say;

/// The hidden subcommand.
pub const NAME: &str = "bots";

/// Which bots to run, as a command line.
#[derive(Args, Clone, Debug)]
pub struct Options {
    #[arg(long)]
    pub server: SocketAddr,
    #[arg(long)]
    pub clients: usize,
    #[arg(long, value_enum)]
    pub behaviour: BehaviourKind,
    #[arg(long)]
    pub threads: usize,
    #[arg(long)]
    pub sockets: usize,
    #[arg(long)]
    pub view_every: NonZeroUsize,
    #[arg(long)]
    pub seed: u64,
    #[arg(long)]
    pub come_back: bool,
}

/// A process of bots. Dropping it ends it.
pub struct Bots {
    process: Child,
    words: ChildStdin,
    lines: Receiver<String>,
}

/// A command to the process of bots.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Word {
    /// The bots begin to play.
    Play,
    /// They send no more commands.
    Rest,
    /// They compare their views, and leave.
    Finish,
}

impl Bots {
    /// Starts the process on the cores of this thread; its bots begin to connect.
    pub fn start(options: &Options) -> anyhow::Result<Bots> {
        let program = std::env::current_exe().context("cannot find this program")?;
        let mut process = Command::new(program)
            .arg(NAME)
            .args(options.words())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .context("cannot start the process of the bots")?;
        let (words, output) = (process.stdin.take(), process.stdout.take());
        let (Some(words), Some(output)) = (words, output) else {
            bail!("the process of the bots has no pipes");
        };
        let (sender, lines) = channel();
        std::thread::spawn(move || {
            for line in BufReader::new(output).lines().map_while(Result::ok) {
                if sender.send(line).is_err() {
                    return;
                }
            }
        });
        Ok(Bots {
            process,
            words,
            lines,
        })
    }

    /// Whether every bot has connected, or has failed to.
    pub fn is_settled(&self) -> anyhow::Result<bool> {
        match self.lines.try_recv() {
            Ok(_) => Ok(true),
            Err(TryRecvError::Empty) => Ok(false),
            Err(TryRecvError::Disconnected) => bail!("the bots have failed"),
        }
    }

    /// Processor time of the process so far, in seconds.
    pub fn seconds(&self) -> f64 {
        machine::thread_seconds_of(self.process.id(), |_| true)
    }

    /// Lets the bots play.
    pub fn play(&mut self) -> anyhow::Result<()> {
        self.say(Word::Play)
    }

    /// Lets the bots send no more commands, so that the world comes to rest.
    pub fn rest(&mut self) -> anyhow::Result<()> {
        self.say(Word::Rest)
    }

    /// Ends the bots, and gives their report.
    pub fn finish(mut self) -> anyhow::Result<SwarmReport> {
        self.say(Word::Finish)?;
        let report = self.lines.recv_timeout(FINISH_PATIENCE);
        let report = report.context("the bots do not report")?;
        serde_json::from_str(&report).context("the bots' report cannot be read")
    }

    fn say(&mut self, word: Word) -> anyhow::Result<()> {
        let written = writeln!(self.words, "{}", word.text()).and_then(|()| self.words.flush());
        written.context("the bots have failed")
    }
}

impl Drop for Bots {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

impl Options {
    fn words(&self) -> Vec<String> {
        let behaviour = self.behaviour.name().to_owned();
        let values = [
            ("--server", self.server.to_string()),
            ("--clients", self.clients.to_string()),
            ("--behaviour", behaviour),
            ("--threads", self.threads.to_string()),
            ("--sockets", self.sockets.to_string()),
            ("--view-every", self.view_every.to_string()),
            ("--seed", self.seed.to_string()),
        ];
        let words = values.map(|(name, value)| [name.to_owned(), value]);
        let come_back = self.come_back.then(|| "--come-back".to_owned());
        words.into_iter().flatten().chain(come_back).collect()
    }
}

impl Word {
    fn text(self) -> &'static str {
        match self {
            Word::Play => "play",
            Word::Rest => "rest",
            Word::Finish => "finish",
        }
    }
}

/// Runs the bots that a command line names, by the commands of the process at the other end.
pub fn run(matches: &ArgMatches) -> anyhow::Result<()> {
    let options = Options::from_arg_matches(matches)?;
    // The server is the process that started this one.
    let (trust, clients) = (Trust::AnyCertificate, options.clients);
    let mut swarm = Swarm::start(SwarmOptions {
        behaviour: options.behaviour,
        threads: options.threads,
        sockets: options.sockets,
        seed: options.seed,
        verify: true,
        view_every: options.view_every,
        come_back: options.come_back,
        ..SwarmOptions::new(options.server, trust, clients)
    })?;
    while !swarm.is_settled() {
        std::thread::sleep(POLL);
    }
    say!("settled");
    for line in stdin().lines() {
        match Word::from_str(&line?, false) {
            Ok(Word::Play) => swarm.play(),
            Ok(Word::Rest) => swarm.rest(),
            Ok(Word::Finish) => {
                let report = swarm.finish()?;
                for example in &report.examples {
                    note!("! {example}");
                }
                say!("{}", serde_json::to_string(&report)?);
                return Ok(());
            }
            Err(problem) => bail!("{problem}"),
        }
    }
    bail!("the process of the server has ended")
}

const POLL: Duration = Duration::from_millis(20);
const FINISH_PATIENCE: Duration = Duration::from_secs(300);
