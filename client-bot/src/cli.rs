//! The command line of `myriad-bot`.

use std::ffi::OsString;
use std::net::SocketAddr;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow, bail};
use clap::error::ErrorKind;
use clap::parser::ValueSource;
use clap::{Arg, ArgMatches, Command, CommandFactory, Id, Parser};
use program::console;
use program::given;
use shared::wire::control::TOKEN_BYTES_MAX;
use shared::world::logic::Text;

use crate::behaviour::BehaviourKind;
use crate::conditions::Condition;
use crate::connect::Trust;
use crate::network::NetworkArguments;
use crate::scrape::Source;
use crate::stages::Stage;

/// Load-test a Myriad server with a swarm of bots, and check what it sends them
#[derive(Debug, Parser)]
#[command(name = "myriad-bot", version)]
pub struct Arguments {
    /// The server's address, as HOST:PORT
    #[arg(default_value = "127.0.0.1:4433")]
    pub(crate) server: String,
    /// Number of bots
    #[arg(long, default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub(crate) clients: u32,
    /// Seconds that the bots play, once all are connected
    #[arg(long, default_value_t = 10.0, value_parser = positive)]
    pub(crate) seconds: f64,
    /// Over a time, let the number of bots in the world go to another one, as `30s:1000`; the
    /// next stage goes on from there. Bots play as they come; may be given several times
    #[arg(long, value_name = "TIME:BOTS", conflicts_with_all = ["clients", "seconds", "verify"])]
    pub(crate) stage: Vec<Stage>,
    /// Turns per second of each bot [default: the server's tick rate]
    #[arg(long, value_parser = positive)]
    pub(crate) rate: Option<f64>,
    /// Behaviour of the bots
    #[arg(long, value_enum, default_value_t)]
    pub(crate) behaviour: BehaviourKind,
    /// Script that the bots run in each tick
    #[arg(long, value_name = "FILE", conflicts_with_all = ["behaviour", "rate"])]
    pub(crate) play: Option<PathBuf>,
    /// Check what bots receive against each other, in play and at rest
    #[arg(long)]
    pub(crate) verify: bool,
    /// One bot of so many keeps a view of all that it receives, and is verified; the others know
    /// only themselves, and cost less: for wander, stroll and crowd
    #[arg(long, value_name = "N", default_value = "1", value_parser = not_zero)]
    pub(crate) view_every: NonZeroUsize,
    /// Print the report as one JSON object, alone on standard output
    #[arg(long)]
    pub(crate) json: bool,
    /// Fail if a figure of the report in JSON is so, as `latency_ms_p99 > 150`; may be given
    /// several times
    #[arg(long, value_name = "CONDITION")]
    pub(crate) fail_if: Vec<Condition>,
    /// Write the report as a page with plots, an HTML file
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<PathBuf>,
    /// Show the server's metrics in that page, from their address, as
    /// `http://127.0.0.1:9000/metrics`
    #[arg(long, value_name = "URL", requires = "html")]
    pub(crate) metrics: Option<Source>,
    /// Share the bots with so many other machines, which join with `--join`
    #[arg(long, value_name = "N", requires = "workers_listen", value_parser = workers)]
    pub(crate) workers: Option<usize>,
    /// Address at which these join, for a network without attackers
    #[arg(long, value_name = "ADDRESS", requires = "workers")]
    pub(crate) workers_listen: Option<SocketAddr>,
    /// Play a share of the bots of the swarm that listens there for workers
    #[arg(long, value_name = "HOST:PORT", conflicts_with_all = OF_THE_COORDINATOR)]
    pub(crate) join: Option<String>,
    /// Accept the certificate with this SHA-256 fingerprint, which the server prints
    #[arg(long, value_name = "HEX", conflicts_with_all = ["authority", "insecure"])]
    pub(crate) fingerprint: Option<String>,
    /// Accept certificates signed by an authority in this PEM file
    #[arg(long, value_name = "FILE", conflicts_with = "insecure")]
    pub(crate) authority: Option<PathBuf>,
    /// Accept any certificate
    #[arg(long)]
    pub(crate) insecure: bool,
    /// Name in the server's certificate
    #[arg(long, default_value = "localhost")]
    pub(crate) name: String,
    /// Token that the server requires; every user of this machine can read it here
    #[arg(long, value_parser = token)]
    pub(crate) token: Option<String>,
    /// File with the token that the server requires
    #[arg(long, value_name = "FILE", conflicts_with = "token")]
    pub(crate) token_file: Option<PathBuf>,
    /// File with the keys of the server's accounts: each bot gets an account, `bot-0` and so on
    #[arg(long, value_name = "FILE", conflicts_with_all = ["token", "token_file"])]
    pub(crate) account_key: Option<PathBuf>,
    /// Of the bots, the last so many watch without an entity, where the world allows it
    #[arg(long, default_value_t = 0, value_parser = clap::value_parser!(u32).range(..=1_000_000))]
    pub(crate) spectators: u32,
    /// Threads to run the bots on [default: all cores]
    #[arg(long, value_parser = threads)]
    pub(crate) threads: Option<usize>,
    /// Sockets to connect from; all bots of one socket land on one shard of the server
    #[arg(long, default_value_t = 16, value_parser = sockets)]
    pub(crate) sockets: usize,
    #[command(flatten)]
    pub(crate) network: NetworkArguments,
    /// Seed of the bots' random numbers
    #[arg(long, default_value_t = 1)]
    pub(crate) seed: u64,
}

impl Arguments {
    /// The arguments of this process; options also from variables like `MYRIAD_BOT_CLIENTS`.
    pub fn read() -> Arguments {
        console::arguments("myriad-bot", matches("MYRIAD_BOT", Arguments::command()))
    }
}

/// The command with a variable of the environment for each of its options, and for those of
/// its subcommands: the prefix, and the option's name in capitals. The command line comes
/// first.
pub fn with_variables(prefix: &str, command: Command) -> Command {
    with_some(prefix, command, &|_| true)
}

/// Reads a script for bots.
pub fn read_play(path: &Path) -> Result<Text> {
    let text = given::read_text(path);
    let text = text.with_context(|| format!("cannot read {}", path.display()))?;
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    Ok(Text::new(name, text))
}

pub(crate) fn trust(arguments: &Arguments) -> Result<Trust> {
    if arguments.insecure {
        return Ok(Trust::AnyCertificate);
    }
    if let Some(path) = &arguments.authority {
        return Ok(Trust::Authority(path.clone()));
    }
    let Some(text) = &arguments.fingerprint else {
        bail!(
            "no certificate to accept; expected --fingerprint HEX, --authority FILE or --insecure"
        );
    };
    Trust::with_fingerprint(text).context("--fingerprint")
}

pub(crate) fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

fn positive(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(number) if number > 0.0 && number <= 1e6 => Ok(number),
        _ => Err("expected a number above 0, at most 1000000".to_owned()),
    }
}

/// A command's arguments from the command line of this process and its environment.
pub fn matches(prefix: &str, command: Command) -> Result<ArgMatches, clap::Error> {
    let arguments = std::env::args_os().collect();
    matches_of(prefix, command, arguments, |name| std::env::var_os(name))
}

/// The same for other arguments. `variable` is the environment.
fn matches_of(
    prefix: &str,
    command: Command,
    arguments: Vec<OsString>,
    variable: impl Fn(&str) -> Option<OsString>,
) -> Result<ArgMatches, clap::Error> {
    // The command line by itself. Its mistakes are found below.
    let alone = command.clone().ignore_errors(true);
    let given = alone.try_get_matches_from(&arguments).unwrap_or_default();
    // An option that does not count may lack others that it requires: clap requires nothing that is
    // excluded.
    let beaten = beaten(&command, &given);
    let counts = |id: &Id| !beaten.contains(id);
    let set = |argument: &Arg| variable_of(prefix, argument).filter(|_| counts(argument.get_id()));
    let chosen = chosen(&command, &given);
    let chosen = chosen.iter().flat_map(|command| command.get_arguments());
    let mut names = chosen.filter_map(set);
    // That of an unset one would be no setting, such as no token.
    if let Some(name) = names.find(|name| variable(name).is_some_and(|value| value.is_empty())) {
        let message = "expected a value, or no such variable";
        let message = format!("the variable {name} is empty: {message}");
        return Err(command.clone().error(ErrorKind::ValueValidation, message));
    }
    drop(names);
    with_some(prefix, command, &counts).try_get_matches_from(arguments)
}

/// The command with the variables of some of its options.
fn with_some(prefix: &str, command: Command, counts: &impl Fn(&Id) -> bool) -> Command {
    command
        .mut_args(|argument| match variable_of(prefix, &argument) {
            // Some values are secrets.
            Some(name) if counts(argument.get_id()) => argument.env(name).hide_env_values(true),
            _ => argument,
        })
        .mut_subcommands(|inner| with_some(prefix, inner, counts))
}

/// A command and the subcommands that a command line chooses.
fn chosen<'a>(command: &'a Command, given: &ArgMatches) -> Vec<&'a Command> {
    let (mut chosen, mut given) = (vec![command], Some(given));
    while let Some((name, inner)) = given.and_then(ArgMatches::subcommand) {
        let last = chosen[chosen.len() - 1];
        chosen.extend(last.find_subcommand(name));
        given = Some(inner);
    }
    chosen
}

/// The arguments that a command line gives, and those that one of these excludes.
fn beaten(command: &Command, given: &ArgMatches) -> Vec<Id> {
    let is_given = |argument: &&Arg| source_of(given, argument) == Some(ValueSource::CommandLine);
    let by_line: Vec<&Arg> = command.get_arguments().filter(is_given).collect();
    let excludes = |one: &Arg, other: &Arg| {
        let excluded = command.get_arg_conflicts_with(one);
        let mut excluded = excluded.iter();
        excluded.any(|argument| argument.get_id() == other.get_id())
    };
    let is_beaten = |argument: &&Arg| {
        let by = |one: &&Arg| excludes(one, argument) || excludes(argument, one);
        let mut by_line = by_line.iter();
        by_line.any(|one| one.get_id() == argument.get_id() || by(one))
    };
    let beaten = command.get_arguments().filter(is_beaten);
    let mut beaten: Vec<Id> = beaten.map(|argument| argument.get_id().clone()).collect();
    if let Some((name, given)) = given.subcommand()
        && let Some(inner) = command.find_subcommand(name)
    {
        beaten.extend(self::beaten(inner, given));
    }
    beaten
}

fn source_of(given: &ArgMatches, argument: &Arg) -> Option<ValueSource> {
    let id = argument.get_id().as_str();
    // Unknown to what was parsed up to a mistake.
    given.try_contains_id(id).ok()?;
    given.value_source(id)
}

/// The variable of an option.
fn variable_of(prefix: &str, argument: &Arg) -> Option<String> {
    let long = argument.get_long()?;
    let is_option = !["help", "version"].contains(&long);
    is_option.then(|| format!("{prefix}_{}", long.replace('-', "_").to_uppercase()))
}

/// Parses a token: a hello has room for it, and it is one.
pub fn token(text: &str) -> Result<String, String> {
    match text.len() {
        0 => Err("expected a token of at least one byte".to_owned()),
        1..=TOKEN_BYTES_MAX => Ok(text.to_owned()),
        bytes => Err(format!(
            "a token of {bytes} bytes, where {TOKEN_BYTES_MAX} are allowed"
        )),
    }
}

/// The token in a file: its text without the end of the line.
pub fn read_token(path: &Path) -> Result<String> {
    let text = token_text(path)?;
    if text.trim().is_empty() {
        bail!("{} holds no token", path.display());
    }
    token(&text).map_err(|problem| anyhow!("{}: {problem}", path.display()))
}

/// The tokens in a file, one a line: all are good, while clients go over from one to the next.
pub fn read_tokens(path: &Path) -> Result<Vec<String>> {
    let text = token_text(path)?;
    let lines = text.lines().filter(|line| !line.trim().is_empty());
    let tokens = lines.map(token).collect::<Result<Vec<_>, _>>();
    let tokens = tokens.map_err(|problem| anyhow!("{}: {problem}", path.display()))?;
    match tokens.len() {
        0 => bail!("{} holds no token", path.display()),
        1..=TOKENS_MAX => Ok(tokens),
        count => bail!(
            "{} holds {count} tokens, expected at most {TOKENS_MAX}",
            path.display()
        ),
    }
}

fn token_text(path: &Path) -> Result<String> {
    let text = given::read_text(path)
        .with_context(|| format!("cannot read the token in {}", path.display()))?;
    Ok(text.trim_end_matches(['\r', '\n']).to_owned())
}

/// Each is compared with each hello.
const TOKENS_MAX: usize = 8;

/// Parses a count of at least 1.
pub fn at_least_one(text: &str) -> Result<usize, String> {
    count(text, COUNT_MAX)
}

/// The same, as a number that is never 0.
pub fn not_zero(text: &str) -> Result<NonZeroUsize, String> {
    let number = NonZeroUsize::new(at_least_one(text)?);
    number.ok_or_else(|| "expected at least 1".to_owned())
}

/// Parses a number of threads: more than a few for each core only wait for each other.
pub fn threads(text: &str) -> Result<usize, String> {
    count(text, THREADS_MAX.max(THREADS_PER_CORE * cores()))
}

/// Parses a number of machines.
fn workers(text: &str) -> Result<usize, String> {
    count(text, WORKERS_MAX)
}

/// Parses a number of sockets.
fn sockets(text: &str) -> Result<usize, String> {
    count(text, SOCKETS_MAX)
}

fn count(text: &str, max: usize) -> Result<usize, String> {
    match text.parse() {
        Ok(number) if (1..=max).contains(&number) => Ok(number),
        _ => Err(format!(
            "expected a whole number of at least 1 and at most {max}"
        )),
    }
}

/// What a worker does is its coordinator's to say.
const OF_THE_COORDINATOR: [&str; 16] = [
    "clients",
    "seconds",
    "stage",
    "rate",
    "behaviour",
    "play",
    "verify",
    "view_every",
    "json",
    "fail_if",
    "html",
    "metrics",
    "spectators",
    "seed",
    "workers",
    "workers_listen",
];
const WORKERS_MAX: usize = 64;
const COUNT_MAX: usize = 1_000_000;
/// On any machine; tests of many threads need no cores.
const THREADS_MAX: usize = 256;
const THREADS_PER_CORE: usize = 4;
/// As many files as a process may usually have open, and some for others.
const SOCKETS_MAX: usize = 1000;

#[cfg(test)]
mod tests {
    use clap::error::ErrorKind::{ArgumentConflict, ValueValidation};

    use super::*;

    fn command() -> Command {
        let serve = Command::new("serve")
            .arg(Arg::new("token").long("token").value_parser(token))
            .arg(
                Arg::new("token_file")
                    .long("token-file")
                    .conflicts_with("token"),
            )
            .arg(
                Arg::new("key")
                    .long("key")
                    .conflicts_with_all(["token", "token_file"]),
            )
            .arg(Arg::new("listen").long("listen").default_value("0.0.0.0:1"));
        let check = Command::new("check").arg(Arg::new("token").long("token"));
        Command::new("myriad").subcommands([serve, check])
    }

    /// The token, the file and the address of `serve`.
    fn read(line: &str, variables: &[(&str, &str)]) -> Result<[Option<String>; 3], ErrorKind> {
        // Nothing reads the environment of this process.
        let variable = |wanted: &str| {
            let found = variables.iter().find(|(name, _)| *name == wanted);
            found.map(|(_, value)| OsString::from(value))
        };
        let arguments = line.split_whitespace().map(OsString::from).collect();
        let matches = matches_of("T19", command(), arguments, variable);
        let matches = matches.map_err(|error| error.kind())?;
        let (_, serve) = matches.subcommand().expect("a subcommand");
        Ok(["token", "token_file", "listen"].map(|id| {
            let value: Option<&String> = serve.try_get_one(id).ok().flatten();
            value.cloned()
        }))
    }

    #[test]
    fn an_empty_variable_is_an_error_where_it_would_count() {
        let empty = [("T19_TOKEN", "")];
        assert_eq!(read("myriad serve", &empty), Err(ValueValidation));
        let also = [("T19_KEY", "")];
        assert_eq!(read("myriad serve --listen x", &also), Err(ValueValidation));
        let given = read("myriad serve --token word", &empty).expect("a token");
        assert_eq!(given[0].as_deref(), Some("word"));
        // It is another command's, or not needed.
        assert!(read("myriad check --token word", &empty).is_ok());
        assert!(read("myriad serve --token word", &also).is_ok());
        assert_eq!(read("myriad serve --token=", &[]), Err(ValueValidation));
    }

    #[test]
    fn options_of_the_command_line_exclude_each_other() {
        let both = read("myriad serve --token word --token-file f", &[]);
        assert_eq!(both, Err(ArgumentConflict));
    }

    #[test]
    fn counts_have_a_bound_that_the_error_names() {
        assert_eq!(threads("8"), Ok(8));
        let refused = threads("200000").unwrap_err();
        assert!(refused.contains("at most"), "{refused}");
        for bad in ["0", "-1", "1.5", "", "99999999999999999999999"] {
            assert!(at_least_one(bad).is_err(), "{bad}");
            assert!(threads(bad).is_err(), "{bad}");
        }
        let arguments = |option, count| Arguments::try_parse_from(["bots", option, count]);
        for option in ["--clients", "--spectators", "--threads", "--sockets"] {
            let refused = arguments(option, "2000000").unwrap_err().to_string();
            assert!(refused.contains("2000000"), "{option}: {refused}");
            assert!(arguments(option, "4").is_ok(), "{option}");
        }
    }
}
