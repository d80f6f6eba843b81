//! A load test from first to last: bots connect, play and report, on one machine or on several.

use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use clap::ValueEnum;
use program::console::{ProgressLine, leave_output_to_json, print_json};
use program::printable::OneLine;
use program::say;
use program::signals::Endings;
use shared::world::logic::Text;
use shared::world::visibility::Visibility;
use tokens::SigningKeys;

use crate::behaviour::BehaviourKind;
use crate::cli::{Arguments, cores, read_play, read_token, trust};
use crate::connect::addresses_of;
use crate::join::{Coordinator, Load, Outcome, Workers};
use crate::page;
use crate::report::{SwarmReport, print_lines};
use crate::scout::reach;
use crate::scrape::Scraper;
use crate::series::{self, Sample, Series};
use crate::stages::{self, Ramp, Stage};
use crate::swarm::{Swarm, SwarmOptions};

/// Runs a swarm and prints its report. False if a bot did not connect, was lost, or found an
/// error, if a figure is as it may not be, or if nothing was verified that should have been.
pub fn run(arguments: &Arguments) -> Result<bool> {
    if let Some(coordinator) = &arguments.join {
        return work(arguments, coordinator);
    }
    if arguments.json {
        leave_output_to_json();
    }
    let Measured { report, samples } = measure(arguments)?;
    say!("Bots against {}:", arguments.server);
    print_lines(&report.lines());
    for example in &report.examples {
        say!("  ! {}", OneLine(example));
    }
    if arguments.json {
        print_json(&report)?;
    }
    let failures: Vec<String> = (arguments.fail_if.iter())
        .filter_map(|condition| {
            let found = condition.found(&report)?;
            Some(format!("{condition}, and it is {found}"))
        })
        .collect();
    for failure in &failures {
        say!("failed: {failure}");
    }
    if let Some(path) = &arguments.html {
        let title = format!("Load test of {}", arguments.server);
        let page = page::html(&title, &report, &failures, &samples);
        std::fs::write(path, page).with_context(|| format!("cannot write {}", path.display()))?;
        say!("The report is in {}", path.display());
    }
    let verified = !arguments.verify || report.verify_checked > 0;
    Ok(report.verify_errors == 0
        && report.sessions_lost == 0
        && report.joins_failed == 0
        && report.clients_connected == report.clients
        && verified
        && failures.is_empty())
}

/// What a load test has found.
#[derive(Debug)]
pub struct Measured {
    pub report: SwarmReport,
    /// By second of play.
    pub samples: Vec<Sample>,
}

/// Runs a swarm, with its workers if it has some.
pub fn measure(arguments: &Arguments) -> Result<Measured> {
    let scraper = arguments.metrics.clone().map(Scraper::start).transpose()?;
    let load = load_of(arguments)?;
    let mut workers = match (arguments.workers, arguments.workers_listen) {
        (Some(count), Some(address)) => Workers::wait(
            address,
            count,
            |from, joined| say!("{from} has joined: {joined} of {count}"),
            |address| say!("{count} workers can join at {address}"),
        )?,
        _ => Workers::none(),
    };
    let mut shares = shares_of(&load, workers.count() + 1);
    let own = shares.remove(0);
    workers.assign(&shares)?;
    let test = LoadTest::start(options_of(arguments, &own)?, &own)?;
    let test = test.connect()?;
    workers.wait_until_ready()?;
    workers.play()?;
    let outcome = test.play(scraper)?;
    let Outcome {
        mut figures,
        mut samples,
    } = outcome;
    for other in workers.outcomes(length_of(&load))? {
        figures.add(&other.figures);
        series::add(&mut samples, &other.samples);
    }
    Ok(Measured {
        report: figures.report(),
        samples,
    })
}

/// Plays a share of another machine's load test.
fn work(arguments: &Arguments, coordinator: &str) -> Result<bool> {
    let (mut coordinator, load) = Coordinator::join(coordinator)?;
    say!("{} bots of {}", load.clients, load.behaviour_name());
    let test = options_of(arguments, &load).and_then(|options| LoadTest::start(options, &load));
    let test = match test.and_then(LoadTest::connect) {
        Ok(test) => test,
        Err(error) => {
            coordinator.fail(&format!("{error:#}"))?;
            return Err(error);
        }
    };
    coordinator.ready()?;
    let outcome = test.play(None)?;
    coordinator.report(&outcome)?;
    Ok(true)
}

/// What all bots do.
fn load_of(arguments: &Arguments) -> Result<Load> {
    let play = arguments.play.as_deref().map(read_play).transpose()?;
    Ok(Load {
        clients: match &*arguments.stage {
            [] => arguments.clients,
            stages => stages::most(stages),
        },
        first: 0,
        spectators: arguments.spectators,
        behaviour: name_of(arguments.behaviour),
        play: play.map(|text| (text.file, text.text)),
        rate_hz: arguments.rate,
        verify: arguments.verify,
        view_every: arguments.view_every.get(),
        seconds: arguments.seconds,
        stages: arguments.stage.clone(),
        seed: arguments.seed,
    })
}

/// The shares of so many machines.
fn shares_of(load: &Load, parts: usize) -> Vec<Load> {
    let mut first = 0;
    let parts = (0..parts).map(|part| {
        let share = |bots| stages::share(bots, part, parts);
        let stages = load.stages.iter().map(|stage| Stage {
            bots: share(stage.bots),
            ..*stage
        });
        let own = Load {
            clients: share(load.clients),
            first,
            spectators: share(load.spectators),
            stages: stages.collect(),
            seed: load.seed.wrapping_add(first as u64),
            ..load.clone()
        };
        first += own.clients as usize;
        own
    });
    parts.collect()
}

/// How a machine's bots reach the server is its own to say, what they do the load's.
fn options_of(arguments: &Arguments, load: &Load) -> Result<SwarmOptions> {
    let behaviour = BehaviourKind::from_str(&load.behaviour, false);
    let Ok(behaviour) = behaviour else {
        bail!("{:?} is no behaviour of this version", load.behaviour);
    };
    let trust = trust(arguments)?;
    let accounts = arguments.account_key.as_deref();
    Ok(SwarmOptions {
        server: reach(&addresses_of(&arguments.server)?, &arguments.name, &trust)?,
        name: arguments.name.clone(),
        trust,
        token: match &arguments.token_file {
            Some(path) => read_token(path)?,
            None => arguments.token.clone().unwrap_or_default(),
        },
        accounts: accounts.map(SigningKeys::load).transpose()?,
        first: load.first,
        clients: load.clients as usize,
        target: match load.stages.is_empty() {
            true => load.clients as usize,
            false => 0,
        },
        spectators: load.spectators as usize,
        visibility: Visibility::default(),
        behaviour,
        play: (load.play.as_ref()).map(|(name, text)| Text::new(name.as_str(), text.as_str())),
        rate_hz: load.rate_hz,
        threads: arguments.threads.unwrap_or_else(cores),
        sockets: arguments.sockets,
        seed: load.seed,
        network: arguments.network.network()?,
        verify: load.verify,
        come_back: false,
        view_every: load.view_every.try_into().unwrap_or(arguments.view_every),
    })
}

/// A machine's part of a load test.
struct LoadTest {
    swarm: Swarm,
    stages: Vec<Stage>,
    time: Duration,
    clients: usize,
    verify: bool,
}

impl LoadTest {
    fn start(options: SwarmOptions, load: &Load) -> Result<LoadTest> {
        Ok(LoadTest {
            clients: options.clients,
            verify: options.verify,
            stages: load.stages.clone(),
            time: length_of(load),
            swarm: Swarm::start(options)?,
        })
    }

    /// Waits until the bots are connected. With stages, they connect as they play.
    fn connect(self) -> Result<LoadTest> {
        let mut line = ProgressLine::new();
        // While bots connect, a signal ends all at once: there is nothing to report.
        let started = Instant::now();
        while self.stages.is_empty() && !self.swarm.is_settled() && started.elapsed() < CONNECT_WAIT
        {
            std::thread::sleep(LOOK_PERIOD);
            let connected = self.swarm.progress().connected;
            line.show(&format!("connecting: {connected} of {}", self.clients));
        }
        line.end();
        if let Some(problems) = self.swarm.script_problems() {
            self.swarm.finish()?;
            bail!(problems);
        }
        let is_alone = self.clients > 0 && self.swarm.progress().connected == 0;
        if self.stages.is_empty() && is_alone {
            return Err(no_bot(self.swarm));
        }
        Ok(self)
    }

    fn play(mut self, scraper: Option<Scraper>) -> Result<Outcome> {
        self.swarm.play();
        let mut series = Series::start(&self.swarm, scraper);
        let mut line = ProgressLine::new();
        let endings = Endings::new();
        let began = Instant::now();
        let mut stages = Ramp::new(&self.stages);
        while began.elapsed() < self.time || stages.is_behind(began.elapsed()) {
            let wait = self.time.saturating_sub(began.elapsed()).min(LOOK_PERIOD);
            if endings.wait(wait.max(LOOK_MIN)) {
                break;
            }
            series.look(&self.swarm);
            if !self.stages.is_empty() {
                self.follow(&mut stages, began.elapsed(), &mut line);
            }
        }
        drop(endings);
        line.end();
        if let Some(problems) = self.swarm.script_problems() {
            self.swarm.finish()?;
            bail!(problems);
        }
        if self.clients > 0 && self.swarm.progress().connected == 0 {
            return Err(no_bot(self.swarm));
        }
        self.swarm.rest();
        std::thread::sleep(if self.verify { REST } else { LAST_UPDATES });
        Ok(Outcome {
            figures: self.swarm.finish_figures()?,
            samples: series.finish(),
        })
    }

    /// Lets as many bots join or leave as the stages want now.
    fn follow(&self, stages: &mut Ramp<'_>, time: Duration, line: &mut ProgressLine) {
        let wanted = stages.wanted(time);
        self.swarm.set_target(wanted as usize);
        let present = self.swarm.progress().present;
        stages.note(present, time);
        let (time, all) = (time.as_secs(), self.time.as_secs());
        line.show(&format!("{time} of {all} s: {present} of {wanted} bots"));
    }
}

/// Why no bot could connect.
fn no_bot(swarm: Swarm) -> anyhow::Error {
    let report = match swarm.finish() {
        Ok(report) => report,
        Err(error) => return error.into(),
    };
    let why = report.examples.first().map_or("no answer", String::as_str);
    anyhow::anyhow!("no bot could connect; is the server running? {why}")
}

/// How long bots play.
fn length_of(load: &Load) -> Duration {
    match &*load.stages {
        [] => Duration::from_secs_f64(load.seconds),
        stages => stages::length(stages),
    }
}

fn name_of(behaviour: BehaviourKind) -> String {
    let value = behaviour.to_possible_value();
    value.map_or_else(String::new, |value| value.get_name().to_owned())
}

/// How long bots may take to connect.
const CONNECT_WAIT: Duration = Duration::from_secs(120);
/// How often the number of bots is looked at.
const LOOK_PERIOD: Duration = Duration::from_millis(100);
/// For the last bots, after the last stage.
const LOOK_MIN: Duration = Duration::from_millis(10);
/// How long the world rests before views are compared.
const REST: Duration = Duration::from_secs(2);
/// How long the last updates may take to arrive, if nothing is compared.
const LAST_UPDATES: Duration = Duration::from_millis(300);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn machines_share_bots_stages_and_accounts() {
        let load = Load {
            clients: 10,
            first: 0,
            spectators: 3,
            behaviour: "wander".to_owned(),
            play: None,
            rate_hz: None,
            verify: false,
            view_every: 1,
            seconds: 1.0,
            stages: vec!["10s:10".parse().unwrap(), "5s:4".parse().unwrap()],
            seed: 7,
        };
        let shares = shares_of(&load, 3);
        let clients: Vec<u32> = shares.iter().map(|share| share.clients).collect();
        assert_eq!(clients, [3, 3, 4]);
        let firsts: Vec<usize> = shares.iter().map(|share| share.first).collect();
        assert_eq!(firsts, [0, 3, 6]);
        let last: u32 = shares.iter().map(|share| share.stages[1].bots).sum();
        assert_eq!(last, 4);
        assert!(
            shares
                .iter()
                .all(|share| share.stages[0].bots == share.clients)
        );
    }
}
