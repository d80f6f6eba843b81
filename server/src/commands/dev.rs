//! `myriad dev`: runs a game while it is written. Saved scripts take effect in the running server;
//! for a saved world file, the world is migrated, and clients come back as the same entities over
//! the connections that they have.

use std::fs;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow};
use clap::Args;
use client_bot::cli::read_play;
use client_bot::connect::resolve;
use client_bot::{Swarm, SwarmOptions, Trust};
use durability::differences;
use durability::level::Level;
use host::{DataOptions, Server, ServerOptions, WebServing};
use migration::MigrationOptions;
use platform::metrics::machine;
use platform::problems::{Of, Problems};
use program::signals::Endings;
use program::{note, say};
use shared::WorldConfig;
use shared::world::logic::Text;
use tick::backend::BackendOptions;
use world_file::Overrides;

use super::arguments::{Loaded, fingerprint_text, load_world};
use super::game;
use super::migrate::Migration;
use super::web::say_page;

#[derive(Debug, Args)]
pub struct DevArguments {
    /// Folder of the game
    #[arg(default_value = ".")]
    folder: PathBuf,
    /// Number of bots
    #[arg(long, default_value_t = 20, value_parser = clap::value_parser!(u32).range(0..=10_000))]
    bots: u32,
    /// Play of the bots [default: the first one in the folder's plays; without any, they wander]
    #[arg(long, value_name = "FILE")]
    play: Option<PathBuf>,
    /// Where the page and the dashboard are
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:8433", value_parser = resolve)]
    page: SocketAddr,
    #[command(flatten)]
    backend: BackendOptions,
}

/// Runs a game until a signal.
pub fn run(arguments: &DevArguments) -> Result<()> {
    let endings = Endings::new();
    let mut game = RunningGame::start(arguments)?;
    game.introduce();
    while !endings.wait(PERIOD) {
        if !game.server.as_ref().is_some_and(Server::is_running) {
            break;
        }
        game.look()?;
    }
    game.stop()
}

/// A game that runs, and its files as they were tried last.
struct RunningGame<'a> {
    arguments: &'a DevArguments,
    file: PathBuf,
    world: WorldConfig,
    /// Its folder of scripts, which the server watches.
    scripts: Option<PathBuf>,
    data: Scratch,
    /// Of the files as they were tried last, for the page.
    problems: Problems,
    /// `None` only while the world is changed.
    server: Option<Server>,
    /// The addresses of clients and of the page, which stay.
    listen: SocketAddr,
    page: SocketAddr,
    bots: Option<Swarm>,
    tried: Tried,
}

/// The texts of files that were tried last, whether they took effect or not.
#[derive(Default, PartialEq, Eq)]
struct Tried {
    world: String,
    play: Option<Text>,
}

/// The folder of the world's data, which is removed at the end.
struct Scratch(PathBuf);

impl Drop for Scratch {
    fn drop(&mut self) {
        // Without it, the next start has the same folder of another process at worst.
        let _ = fs::remove_dir_all(&self.0);
    }
}

impl<'a> RunningGame<'a> {
    fn start(arguments: &'a DevArguments) -> Result<RunningGame<'a>> {
        let file = game::find(&arguments.folder)?.world;
        let Loaded {
            world,
            scripts,
            file: read,
        } = load_world(&file, Overrides::default())?;
        let name = format!("myriad-dev-{}", std::process::id());
        let mut game = RunningGame {
            arguments,
            file,
            world,
            scripts,
            data: Scratch(std::env::temp_dir().join(name)),
            problems: Problems::default(),
            server: None,
            listen: SocketAddr::from(([127, 0, 0, 1], 0)),
            page: arguments.page,
            bots: None,
            tried: Tried {
                world: read.map(|read| read.text).unwrap_or_default(),
                play: None,
            },
        };
        let server = Server::start(game.options())?;
        game.listen = server.address();
        game.page = server.page().unwrap_or(arguments.page);
        game.server = Some(server);
        game.tried.play = game.play();
        game.start_bots();
        Ok(game)
    }

    fn introduce(&self) {
        let Some(server) = &self.server else { return };
        say_page(server);
        say!(
            "other clients: {} fingerprint {}",
            server.address(),
            fingerprint_text(server.certificate())
        );
        say!(
            "{} runs on {}, with {} bots: {}. Change its files: what you save takes effect.",
            self.file.display(),
            server.backend_note(),
            self.arguments.bots,
            self.tried.play.as_ref().map_or("they wander", Text::stem),
        );
    }

    /// For a server of the world as it is in the folder of its data.
    fn options(&self) -> ServerOptions {
        ServerOptions {
            listen: self.listen,
            scripts: self.scripts.clone(),
            backend: self.arguments.backend,
            problems: Some(self.problems.clone()),
            web: Some(WebServing::at(self.page)),
            data: Some(DataOptions {
                // It ends with this program.
                level: Level::None,
                ..DataOptions::new(&self.data.0)
            }),
            ..ServerOptions::local(self.world.clone())
        }
    }

    /// Tries the files that have changed.
    fn look(&mut self) -> Result<()> {
        let play = self.play();
        if play != self.tried.play {
            self.tried.play = play;
            self.start_bots();
        }
        // A file that is being written may be empty, or gone for a moment.
        let text = world_file::read_file(&self.file).unwrap_or_default();
        if text.is_empty() || text == self.tried.world {
            return Ok(());
        }
        std::thread::sleep(PERIOD / 4);
        if world_file::read_file(&self.file).is_ok_and(|later| later == text) {
            self.tried.world = text;
            self.change_world()?;
        }
        Ok(())
    }

    /// Moves the world to its changed file. Problems of the file are printed, and the world stays
    /// as it is.
    fn change_world(&mut self) -> Result<()> {
        let show = self.file.display().to_string();
        let loaded = match load_world(&self.file, Overrides::default()) {
            Ok(loaded) => loaded,
            Err(problems) => {
                note!("{problems:#}");
                note!("the world keeps {show} as it was");
                self.problems.set(Of::World, format!("{problems:#}"));
                return Ok(());
            }
        };
        self.problems.clear(Of::World);
        let changes = differences::of_all(&self.world, &loaded.world);
        if changes.is_empty() && loaded.scripts == self.scripts {
            return Ok(());
        }
        let begun = Instant::now();
        self.stop_bots();
        let Some(server) = self.server.take() else {
            return Ok(());
        };
        let held = server.hold()?;
        let before = std::mem::replace(&mut self.world, loaded.world);
        let scripts = std::mem::replace(&mut self.scripts, loaded.scripts);
        let migrated = self.migrate();
        if let Err(reason) = &migrated {
            note!("{show}: {reason:#}");
            note!("the world keeps {show} as it was");
            self.problems.set(Of::World, format!("{show}: {reason:#}"));
            (self.world, self.scripts) = (before, scripts);
        }
        let server = Server::resume(held, self.options());
        self.server = Some(server.with_context(|| format!("the world of {show} can't run"))?);
        self.start_bots();
        if migrated.is_ok() {
            changes.iter().for_each(|change| say!("  {change}"));
            let seconds = begun.elapsed().as_secs_f64();
            say!("{show} is in force after {seconds:.1} s");
        }
        Ok(())
    }

    fn migrate(&self) -> Result<()> {
        let migration = Migration {
            folder: &self.data.0,
            given: &self.world,
            options: MigrationOptions {
                removes_entities: true,
                renames: vec![],
            },
            database: None,
            backend: self.arguments.backend,
            threads: None,
        };
        match migration.plan()? {
            Some(plan) => migration.commit(plan).map(drop),
            None => Ok(()),
        }
    }

    /// The play of the bots as it is on disk. One that can't be read is none.
    fn play(&self) -> Option<Text> {
        let found = || {
            game::plays_of(&self.arguments.folder)
                .ok()?
                .into_iter()
                .next()
        };
        let path = self.arguments.play.clone().or_else(found)?;
        read_play(&path).ok()
    }

    /// Starts the bots anew, with the play as it is. Problems of the play are printed, and there
    /// are no bots then.
    fn start_bots(&mut self) {
        self.stop_bots();
        self.problems.clear(Of::Play);
        if self.arguments.bots == 0 {
            return;
        }
        let play = self.tried.play.clone();
        if let Some(text) = &play
            && let Err(problems) = client_bot::behaviour::compile(&self.world.schema, text)
        {
            note!("{problems}");
            note!("there are no bots until the play is right");
            self.problems.set(Of::Play, problems.to_string());
            return;
        }
        match self.swarm(play) {
            Ok(bots) => self.bots = Some(bots),
            Err(reason) => note!("the bots can't start: {reason:#}"),
        }
    }

    fn swarm(&self, play: Option<Text>) -> Result<Swarm> {
        let server = self.server.as_ref().ok_or_else(|| anyhow!("no server"))?;
        let clients = self.arguments.bots as usize;
        let trust = Trust::Certificates(vec![server.certificate().clone()]);
        let mut swarm = Swarm::start(SwarmOptions {
            play,
            sockets: SwarmOptions::sockets_for(clients, machine::cores()),
            seed: self.world.seed,
            ..SwarmOptions::new(server.address(), trust, clients)
        })?;
        swarm.play();
        Ok(swarm)
    }

    fn stop_bots(&mut self) {
        if let Some(bots) = self.bots.take() {
            // Nobody asks for their report.
            let _ = bots.finish();
        }
    }

    fn stop(mut self) -> Result<()> {
        self.stop_bots();
        match self.server.take() {
            Some(server) => server.stop(),
            None => Ok(()),
        }
    }
}

/// How often the files are read.
const PERIOD: Duration = Duration::from_millis(200);
