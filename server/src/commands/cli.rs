//! The command line of `myriad`.

use anyhow::Result;
use clap::{CommandFactory, Parser, Subcommand};
use client_bot::cli::{matches, with_variables};
use host::version;
use platform::log::{self, LogFormat};
use program::console;

use super::admin::{self, AdminArguments};
use super::backup::{self, BackupArguments, RestoreArguments};
use super::bindings::{self, BindingsArguments};
use super::characters::{self, CharactersArguments};
use super::check::{self, CheckArguments};
use super::demo::{self, DemoArguments};
use super::dev::{self, DevArguments};
use super::doctor::{self, DoctorArguments};
use super::export::{self, ExportArguments};
use super::fork::{self, ForkArguments};
use super::gateway::{self, GatewayArguments};
use super::import::{self, ImportArguments};
use super::init::{self, InitArguments};
use super::inspect::{self, InspectArguments};
use super::link_key::{self, LinkKeyArguments};
use super::logic::{self, LogicArguments};
use super::migrate::{self, MigrateArguments};
use super::new::{self, NewArguments};
use super::promote::{self, PromoteArguments};
use super::replay::{self, ReplayArguments};
use super::serve::{self, ServeArguments};
use super::shell::{self, CompletionsArguments, ManArguments};
use super::test::{self, TestArguments};
use super::token::{self, TokenArguments};
use super::verify::{self, VerifyArguments};

/// A game server for one large shared world
#[derive(Debug, Parser)]
#[command(name = "myriad", version, long_version = version::long())]
pub struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Run a server and a swarm of bots on this machine, and report how it went
    Demo(DemoArguments),
    /// Write a small game to start from
    New(NewArguments),
    /// Run a game while you change it: saved files take effect
    Dev(DevArguments),
    /// Check a game, run the tests of its scripts, and let its plays play
    Test(TestArguments),
    /// Run a server
    Serve(Box<ServeArguments>),
    /// Hold clients of a world that runs on another machine
    Gateway(Box<GatewayArguments>),
    /// Begin a persistent world in a folder
    Init(InitArguments),
    /// Control a running server: list, kick and ban clients, send messages
    Admin(AdminArguments),
    /// Make a standby the primary
    Promote(PromoteArguments),
    /// Make the file with which a primary and its standby authenticate each other
    LinkKey(LinkKeyArguments),
    /// Issue a token for an account
    Token(TokenArguments),
    /// Check a world file and its scripts
    Check(CheckArguments),
    /// Write the world as types of a language, for a game's client
    Bindings(BindingsArguments),
    /// Make the image of a world's layer from a map of an editor
    Import(ImportArguments),
    /// Write, check and try scripts
    Logic(LogicArguments),
    /// Run a recording or a persistent world again, and compare the state hash of each tick
    Replay(ReplayArguments),
    /// Show the contents of the folder of a persistent world
    Inspect(InspectArguments),
    /// Check every byte of a persistent world
    Verify(VerifyArguments),
    /// Make a new world of a persistent one, as it was before any tick
    Fork(ForkArguments),
    /// Copy a persistent world, whose server may run, into a backup
    Backup(BackupArguments),
    /// Make a new world of a backup, as it was before any tick
    Restore(RestoreArguments),
    /// Move a persistent world to another world file
    Migrate(MigrateArguments),
    /// Write the entities of a persistent world as lines of JSON or as Parquet
    Export(ExportArguments),
    /// See and change the characters of accounts
    Characters(CharactersArguments),
    /// Check this machine and suggest fixes
    Doctor(DoctorArguments),
    /// Print the completions of this program for a shell
    Completions(CompletionsArguments),
    /// Write the manual pages of this program
    Man(ManArguments),
}

impl Arguments {
    /// The arguments of this process; options also from variables like `MYRIAD_LISTEN`.
    pub fn read() -> Arguments {
        console::arguments("myriad", matches("MYRIAD", Arguments::command()))
    }
}

/// The command line, whose options may also be variables of the environment.
fn command() -> clap::Command {
    with_variables("MYRIAD", Arguments::command())
}

/// Runs a command. False if it ran to its end and found something wrong.
pub fn run(arguments: Arguments) -> Result<bool> {
    match &arguments.command {
        Command::Serve(serve) => log::start(serve.log_format, log::SERVING),
        Command::Gateway(gateway) => log::start(gateway.log_format, log::SERVING),
        _ => log::start(LogFormat::Text, log::QUIET),
    }
    match arguments.command {
        Command::Demo(arguments) => demo::run(&arguments),
        Command::New(arguments) => new::run(&arguments).map(|()| true),
        Command::Dev(arguments) => dev::run(&arguments).map(|()| true),
        Command::Test(arguments) => test::run(&arguments),
        Command::Serve(arguments) => serve::run(*arguments).map(|()| true),
        Command::Gateway(arguments) => gateway::run(*arguments).map(|()| true),
        Command::Init(arguments) => init::run(&arguments).map(|()| true),
        Command::Admin(arguments) => admin::run(arguments).map(|()| true),
        Command::Promote(arguments) => promote::run(&arguments).map(|()| true),
        Command::LinkKey(arguments) => link_key::run(&arguments).map(|()| true),
        Command::Token(arguments) => token::run(arguments).map(|()| true),
        Command::Check(arguments) => check::run(&arguments),
        Command::Bindings(arguments) => bindings::run(&arguments).map(|()| true),
        Command::Import(arguments) => import::run(&arguments).map(|()| true),
        Command::Logic(arguments) => logic::run(&arguments),
        Command::Replay(arguments) => replay::run(&arguments),
        Command::Inspect(arguments) => inspect::run(&arguments),
        Command::Verify(arguments) => verify::run(&arguments),
        Command::Fork(arguments) => fork::run(&arguments).map(|()| true),
        Command::Backup(arguments) => backup::backup(&arguments).map(|()| true),
        Command::Restore(arguments) => backup::restore(&arguments).map(|()| true),
        Command::Migrate(arguments) => migrate::run(&arguments).map(|()| true),
        Command::Export(arguments) => export::run(&arguments).map(|()| true),
        Command::Characters(arguments) => characters::run(&arguments).map(|()| true),
        Command::Doctor(arguments) => doctor::run(&arguments),
        Command::Completions(arguments) => shell::complete(&arguments, command()).map(|()| true),
        Command::Man(arguments) => shell::write_pages(&arguments, command()).map(|()| true),
    }
}
