//! Swarms of several machines as one: a coordinator gives each worker its share of the bots, lets
//! all begin to play at once, and adds up what they report.
//!
//! Both speak lines of JSON over TCP. A worker reaches the server by its own options, so neither
//! tokens nor keys are sent.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow, bail};
use program::within::within;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::report::Figures;
use crate::series::Sample;
use crate::stages::Stage;

/// What a worker's bots do.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Load {
    pub clients: u32,
    /// The number of the first bot, among those of all machines.
    pub first: usize,
    pub spectators: u32,
    pub behaviour: String,
    /// Name and text of a script for bots.
    pub play: Option<(String, String)>,
    pub rate_hz: Option<f64>,
    pub verify: bool,
    pub view_every: usize,
    pub seconds: f64,
    pub stages: Vec<Stage>,
    pub seed: u64,
}

impl Load {
    /// The name of the script, or of the behaviour.
    pub fn behaviour_name(&self) -> &str {
        let play = self.play.as_ref();
        play.map_or(&self.behaviour, |(name, _)| name)
    }
}

/// What a worker reports at the end.
#[derive(Debug, Serialize, Deserialize)]
pub struct Outcome {
    pub figures: Figures,
    pub samples: Vec<Sample>,
}

/// A worker's first line.
#[derive(Debug, Serialize, Deserialize)]
struct Greeting {
    swarm: String,
}

/// Whether a worker's bots are connected, or why not.
#[derive(Debug, Serialize, Deserialize)]
enum Ready {
    Ready,
    Failed(String),
}

/// The coordinator's word to begin.
#[derive(Debug, Serialize, Deserialize)]
enum Begin {
    Play,
}

/// A connection of lines.
struct Lines {
    from: SocketAddr,
    reader: BufReader<TcpStream>,
}

impl Lines {
    fn new(stream: TcpStream) -> Result<Lines> {
        stream.set_nodelay(true)?;
        Ok(Lines {
            from: stream.peer_addr()?,
            reader: BufReader::new(stream),
        })
    }

    fn send(&mut self, message: &impl Serialize) -> Result<()> {
        let mut line = serde_json::to_vec(message)?;
        line.push(b'\n');
        let sent = self.reader.get_mut().write_all(&line);
        sent.with_context(|| format!("cannot write to {}", self.from))
    }

    /// The next line, which comes within a time.
    fn receive<T: DeserializeOwned>(&mut self, patience: Duration, bytes_max: u64) -> Result<T> {
        let from = self.from;
        let gone = || format!("{from} has not answered");
        self.reader.get_ref().set_read_timeout(Some(patience))?;
        let mut line = String::new();
        let mut read = self.reader.by_ref().take(bytes_max);
        read.read_line(&mut line).with_context(gone)?;
        if !line.ends_with('\n') {
            bail!("{from} has closed the connection");
        }
        serde_json::from_str(&line)
            .map_err(|error| anyhow!("{from} does not speak as a swarm of this version: {error}"))
    }
}

/// The coordinator's workers.
pub struct Workers(Vec<Lines>);

impl Workers {
    pub fn none() -> Workers {
        Workers(vec![])
    }

    /// Waits until so many have joined. Whoever is no worker is turned away.
    pub fn wait(
        listen: SocketAddr,
        count: usize,
        mut joined: impl FnMut(SocketAddr, usize),
        listening: impl FnOnce(SocketAddr),
    ) -> Result<Workers> {
        let listener = TcpListener::bind(listen)
            .with_context(|| format!("cannot listen on {listen} for workers"))?;
        listening(listener.local_addr()?);
        let mut workers = vec![];
        while workers.len() < count {
            let (stream, _) = listener.accept()?;
            let greeted = within(GREETING_WAIT, || {
                let mut lines = Lines::new(stream)?;
                let Greeting { swarm } = lines.receive(GREETING_WAIT, GREETING_BYTES_MAX)?;
                match swarm == VERSION {
                    true => Ok(lines),
                    false => bail!("{} is {swarm}", lines.from),
                }
            });
            match greeted.map_err(Into::into).flatten() {
                Ok(lines) => {
                    workers.push(lines);
                    let newest = workers.last().map(|worker: &Lines| worker.from);
                    joined(newest.unwrap_or(listen), workers.len());
                }
                Err(error) => program::say!("turned away: {error:#}; expected {VERSION}"),
            }
        }
        Ok(Workers(workers))
    }

    pub fn count(&self) -> usize {
        self.0.len()
    }

    /// Gives each its share.
    pub fn assign(&mut self, loads: &[Load]) -> Result<()> {
        let mut workers = self.0.iter_mut().zip(loads);
        workers.try_for_each(|(worker, load)| worker.send(load))
    }

    /// Waits until the bots of all are connected.
    pub fn wait_until_ready(&mut self) -> Result<()> {
        for worker in &mut self.0 {
            match worker.receive(READY_WAIT, READY_BYTES_MAX)? {
                Ready::Ready => {}
                Ready::Failed(why) => bail!("{}: {why}", worker.from),
            }
        }
        Ok(())
    }

    pub fn play(&mut self) -> Result<()> {
        let mut workers = self.0.iter_mut();
        workers.try_for_each(|worker| worker.send(&Begin::Play))
    }

    /// What all report. They play for a time.
    pub fn outcomes(&mut self, time: Duration) -> Result<Vec<Outcome>> {
        let until = Instant::now() + time + OUTCOME_WAIT;
        let workers = self.0.iter_mut();
        let outcomes = workers.map(|worker| {
            let left = until.saturating_duration_since(Instant::now());
            worker.receive(left.max(Duration::from_secs(1)), OUTCOME_BYTES_MAX)
        });
        outcomes.collect()
    }
}

/// A worker's connection to its coordinator.
pub struct Coordinator(Lines);

impl Coordinator {
    /// Joins, and waits for the worker's share.
    pub fn join(address: &str) -> Result<(Coordinator, Load)> {
        let began = Instant::now();
        let stream = loop {
            match TcpStream::connect(address) {
                Ok(stream) => break stream,
                // It may have been started a little later.
                Err(_) if began.elapsed() < COORDINATOR_WAIT => {
                    std::thread::sleep(Duration::from_millis(200));
                }
                Err(error) => {
                    let why = format!("no coordinator answers at {address}");
                    return Err(error).context(why);
                }
            }
        };
        let mut lines = Lines::new(stream)?;
        lines.send(&Greeting {
            swarm: VERSION.to_owned(),
        })?;
        // Others may be long in coming.
        let load = lines.receive(ASSIGNMENT_WAIT, LOAD_BYTES_MAX)?;
        Ok((Coordinator(lines), load))
    }

    /// Reports that all bots are connected, and waits for the word to play.
    pub fn ready(&mut self) -> Result<()> {
        self.0.send(&Ready::Ready)?;
        let Begin::Play = self.0.receive(READY_WAIT, READY_BYTES_MAX)?;
        Ok(())
    }

    /// Reports why the bots can't play.
    pub fn fail(&mut self, why: &str) -> Result<()> {
        self.0.send(&Ready::Failed(why.to_owned()))
    }

    pub fn report(&mut self, outcome: &Outcome) -> Result<()> {
        self.0.send(outcome)
    }
}

/// What both name at the beginning: lines of other versions may differ.
const VERSION: &str = concat!("myriad-bot ", env!("CARGO_PKG_VERSION"));
const COORDINATOR_WAIT: Duration = Duration::from_secs(30);
const GREETING_WAIT: Duration = Duration::from_secs(5);
const ASSIGNMENT_WAIT: Duration = Duration::from_secs(3600);
const READY_WAIT: Duration = Duration::from_secs(300);
/// After the play: rest, comparison, and the way of the report.
const OUTCOME_WAIT: Duration = Duration::from_secs(120);
const GREETING_BYTES_MAX: u64 = 256;
const READY_BYTES_MAX: u64 = 64 << 10;
/// With a script, and stages.
const LOAD_BYTES_MAX: u64 = 32 << 20;
/// That of days has some megabytes.
const OUTCOME_BYTES_MAX: u64 = 256 << 20;
