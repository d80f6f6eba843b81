//! Scripts that change while the world runs: their folder is watched, and what is saved
//! comes into force with a tick that starts after it is compiled.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::Duration;

use anyhow::{Context, Result};
use gpu_kernels::logic::{CompiledLogic, LogicCompiler};
use notify::{RecommendedWatcher, RecursiveMode, Watcher};
use script::logic::compile_with;
use script::world::read_folder;
use script::{Logic, Problem};
use shared::WorldConfig;
use shared::world::logic::Text;
use tracing::{error, warn};

use crate::metrics::table;
use crate::scheduling::give_way;

/// Watches a folder of scripts on a thread of its own. Compiled scripts come out of the
/// receiver; texts with problems are reported, and the world keeps what it has.
pub fn watch(
    folder: &Path,
    config: WorldConfig,
    compiler: Box<dyn LogicCompiler>,
    stop: Arc<AtomicBool>,
) -> Result<Receiver<CompiledLogic>> {
    let (to_thread, events) = channel();
    let mut watcher = notify::recommended_watcher(to_thread)
        .context("the system can't watch files; scripts are not reloaded")?;
    watcher
        .watch(folder, RecursiveMode::NonRecursive)
        .with_context(|| format!("cannot watch {}", folder.display()))?;
    let (compiled, receiver) = channel();
    let reloader = Reloader {
        folder: folder.to_owned(),
        config,
        compiler,
        compiled,
        _watcher: watcher,
    };
    std::thread::Builder::new()
        .name("scripts".to_owned())
        .spawn(move || {
            // A reload can wait for the world.
            give_way();
            reloader.run(&events, &stop);
        })
        .context("cannot start the thread that compiles scripts")?;
    Ok(receiver)
}

struct Reloader {
    folder: PathBuf,
    /// The world with the newest scripts that compiled.
    config: WorldConfig,
    compiler: Box<dyn LogicCompiler>,
    compiled: Sender<CompiledLogic>,
    /// It watches for as long as this lives.
    _watcher: RecommendedWatcher,
}

impl Reloader {
    /// Runs until the world has ended.
    fn run(mut self, events: &Receiver<notify::Result<notify::Event>>, stop: &AtomicBool) {
        // A world that goes on has the scripts of its last day.
        if !self.reload() {
            return;
        }
        while !stop.load(Ordering::Relaxed) {
            match events.recv_timeout(STOP_LATENCY) {
                Err(RecvTimeoutError::Timeout) => continue,
                Err(RecvTimeoutError::Disconnected) => return,
                Ok(Ok(event)) if !is_change(&event) => continue,
                Ok(Ok(_)) => {}
                Ok(Err(error)) => {
                    warn!(%error, "watching the scripts' folder");
                    continue;
                }
            }
            // An editor's save is several events; the file is whole after the last.
            while events.recv_timeout(QUIET).is_ok() {}
            if !self.reload() {
                return;
            }
        }
    }

    /// Compiles what is in the folder now. False if the world has ended.
    fn reload(&mut self) -> bool {
        let own = match read_folder(&self.folder) {
            Ok(texts) => texts,
            Err(reason) => {
                error!(%reason, "the scripts can't be read; the world keeps those that it has");
                return self.reject();
            }
        };
        let mut logic = self.config.logic.clone();
        logic.texts.retain(|text| text.is_builtin);
        logic.texts.extend(own);
        if logic.texts == self.config.logic.texts {
            return true;
        }
        match compile_with(&self.config, &logic) {
            Ok((config, logic)) => self.compile(config, logic),
            Err(problems) => {
                let drawn = draw(&problems, &logic.texts);
                error!(lines = %drawn, "the scripts have problems; the world keeps those that it has");
                self.reject()
            }
        }
    }

    fn reject(&self) -> bool {
        table::RELOADS.add_to("rejected", 1);
        true
    }

    fn compile(&mut self, config: WorldConfig, logic: Logic) -> bool {
        match self.compiler.compile(config.clone(), logic) {
            Ok(compiled) => {
                self.config = config;
                table::RELOADS.add_to("compiled", 1);
                self.compiled.send(compiled).is_ok()
            }
            Err(error) => {
                error!(%error, "the scripts can't be compiled; the world keeps those that it has");
                self.reject()
            }
        }
    }
}

fn is_change(event: &notify::Event) -> bool {
    event.kind.is_create() || event.kind.is_modify() || event.kind.is_remove()
}

fn draw(problems: &[Problem], texts: &[Text]) -> String {
    let mut drawn = String::new();
    for problem in problems {
        if problem.diagnostic().is_none() {
            drawn += &format!("{problem}\n");
        }
    }
    let diagnostics: Vec<_> = problems.iter().filter_map(Problem::diagnostic).collect();
    drawn + &script::diagnostic::draw(&diagnostics, texts, false)
}

/// The longest that the thread outlives its world.
const STOP_LATENCY: Duration = Duration::from_millis(200);
/// After the last event of a save.
const QUIET: Duration = Duration::from_millis(10);
