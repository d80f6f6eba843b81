//! Hot reload of scripts: their folder is watched, and saved scripts take effect with a tick that
//! starts after they are compiled. A changed world file is only reported.
//!
//! | module | holds |
//! | --- | --- |
//! | `folder_watch` | detects changes of a folder's scripts, also if its path leads elsewhere |
//! | `partial` | the changed scripts that take effect |
//! | `reported` | problems that were logged, so that each is logged once |
//! | `world_file` | changes in the world file |

mod folder_watch;
mod partial;
mod reported;
mod world_file;

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

use anyhow::{Context, Result};
use gpu_kernels::logic::{CompiledLogic, LogicCompiler};
use platform::metrics::table;
use platform::problems::{Of, Problems};
use platform::scheduling::give_way;
use script::{Logic, lint};
use shared::WorldConfig;
use shared::world::logic::Text;
use tracing::{error, info, warn};

use ::world_file::Overrides;
use ::world_file::folder::{self, Scripts};
use folder_watch::FolderWatch;
use partial::admit;
use reported::Reported;
use world_file::FileWatch;

/// A world file as it was read.
#[derive(Clone, Debug)]
pub struct WorldFile {
    pub path: PathBuf,
    pub text: String,
    /// Keys whose values differ from the file's.
    pub overrides: Overrides,
}

/// The sources of a running world.
pub struct Watched {
    /// Its folder of scripts.
    pub folder: Option<PathBuf>,
    pub file: Option<WorldFile>,
    /// Where the problems of scripts are also shown, if anywhere.
    pub problems: Option<Problems>,
}

/// Watches scripts and the world file on a thread of its own. Compiled scripts come out of the
/// receiver; texts with problems are reported, and the world keeps what it has of them. `None`
/// if there is nothing to watch.
pub fn watch(
    watched: Watched,
    config: WorldConfig,
    compiler: Box<dyn LogicCompiler>,
    stop: Arc<AtomicBool>,
) -> Result<Option<Receiver<CompiledLogic>>> {
    if watched.folder.is_none() && watched.file.is_none() {
        return Ok(None);
    }
    let (compiled, receiver) = channel();
    let mut file = watched.file.map(|file| FileWatch::new(file, &config));
    let (folder, shown) = (watched.folder, watched.problems);
    std::thread::Builder::new()
        .name("scripts".to_owned())
        .spawn(move || {
            // A reload can wait for the world.
            give_way();
            let mut scripts = folder.map(|folder| Reloader {
                watch: FolderWatch::new(folder.clone()),
                folder,
                config,
                compiler,
                compiled,
                tried: None,
                reported: Reported::default(),
                shown,
            });
            if let Some(scripts) = &mut scripts {
                scripts.warn();
            }
            // A recovered world has the scripts of its last run.
            let mut is_running = scripts.as_mut().is_none_or(Reloader::reload);
            while is_running && !stop.load(Ordering::Relaxed) {
                match &mut scripts {
                    Some(scripts) => {
                        let has_changed = scripts.watch.has_changed(STOP_LATENCY);
                        is_running = !has_changed || scripts.reload();
                    }
                    None => std::thread::sleep(STOP_LATENCY),
                }
                if let Some(file) = &mut file {
                    file.check();
                }
            }
        })
        .context("cannot start the thread that compiles scripts")?;
    Ok(Some(receiver))
}

struct Reloader {
    watch: FolderWatch,
    folder: PathBuf,
    /// The world with the newest scripts that compiled.
    config: WorldConfig,
    compiler: Box<dyn LogicCompiler>,
    compiled: Sender<CompiledLogic>,
    /// The content of the folder when it was read last.
    tried: Option<Scripts>,
    reported: Reported,
    shown: Option<Problems>,
}

impl Reloader {
    /// Compiles the folder's scripts. False if the world has ended.
    fn reload(&mut self) -> bool {
        let scripts = match folder::read(&self.folder) {
            Ok(scripts) if scripts.texts.is_empty() && self.own_texts().next().is_some() => {
                let folder = self.folder.display();
                let reason = format!("{folder} has no scripts that can be read");
                return self.reject(vec![reason]);
            }
            Ok(scripts) => scripts,
            Err(reason) => return self.reject(vec![reason]),
        };
        if self.tried.as_ref() == Some(&scripts) {
            return true;
        }
        self.tried = Some(scripts.clone());
        let mut problems: Vec<String> = scripts.unreadable.values().cloned().collect();
        for skipped in self.reported.skipped(&scripts.skipped) {
            warn!("{skipped}");
        }
        let wanted = self.wanted(scripts);
        if wanted == self.config.logic.texts {
            return problems.is_empty() && self.accept() || self.reject(problems);
        }
        let admitted = admit(&self.config, wanted);
        problems.extend(admitted.problems);
        let is_running = match admitted.compiled {
            Some((config, logic)) => self.compile(config, logic, &mut problems),
            None => true,
        };
        match problems.is_empty() {
            true => self.accept(),
            false => self.reject(problems),
        };
        is_running
    }

    fn own_texts(&self) -> impl Iterator<Item = &Text> {
        let texts = self.config.logic.texts.iter();
        texts.filter(|text| !text.is_builtin)
    }

    /// The texts of the world as the folder has them. A script that can't be read stays as it
    /// is.
    fn wanted(&self, scripts: Scripts) -> Vec<Text> {
        let is_unreadable = |text: &&Text| scripts.unreadable.contains_key(&text.file);
        let mut own: Vec<Text> = self.own_texts().filter(is_unreadable).cloned().collect();
        own.extend(scripts.texts);
        own.sort_by(|a, b| a.file.cmp(&b.file));
        let builtin = self.config.logic.texts.iter();
        let builtin = builtin.filter(|text| text.is_builtin).cloned();
        builtin.chain(own).collect()
    }

    /// Logs the warnings of the scripts, each once.
    fn warn(&mut self) {
        let warnings = lint::warnings(&self.config);
        let warnings = warnings.iter().map(ToString::to_string).collect();
        for warning in self.reported.warnings(warnings) {
            warn!("{warning}");
        }
    }

    fn accept(&mut self) -> bool {
        if let Some(shown) = &self.shown {
            shown.clear(Of::Scripts);
        }
        if self.reported.fixed() {
            info!("the scripts have no problems any more");
        }
        true
    }

    fn reject(&mut self, problems: Vec<String>) -> bool {
        table::RELOADS.add_to("rejected", 1);
        if let Some(shown) = &self.shown {
            shown.set(Of::Scripts, problems.join("\n\n"));
        }
        let news = self.reported.new_problems(problems);
        if !news.is_empty() {
            let news = news.join("\n");
            error!(lines = %news, "scripts have problems; the world keeps what it has of them");
        }
        true
    }

    fn compile(&mut self, config: WorldConfig, logic: Logic, problems: &mut Vec<String>) -> bool {
        match self.compiler.compile(config.clone(), logic) {
            Ok(compiled) => {
                self.config = config;
                self.warn();
                table::RELOADS.add_to("compiled", 1);
                self.compiled.send(compiled).is_ok()
            }
            Err(error) => {
                problems.push(format!("the scripts can't be compiled: {error}"));
                true
            }
        }
    }
}

/// The longest time that the thread outlives its world.
const STOP_LATENCY: Duration = Duration::from_millis(200);
