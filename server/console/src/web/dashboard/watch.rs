//! The thread that takes a sample each second, and surveys the world while a dashboard shows it.
//! It only reads: the tick thread waits for it some microseconds at most.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result};
use frontend::mirror::SharedMirror;
use platform::metrics::window::SharedWindow;
use platform::scheduling::give_way;
use shared::WorldConfig;

use super::commands::Commands;
use super::history::History;
use super::survey::{Area, Crowd, Density, Surveyor, pause_after};
use super::viewers::{Viewer, Viewers};

/// The thread's sources.
pub struct Parts {
    pub world: Arc<WorldConfig>,
    pub window: SharedWindow,
    pub mirror: SharedMirror,
}

/// The thread's results, for the others.
pub struct Watched {
    recorded: Mutex<Recorded>,
    map: Mutex<Arc<Map>>,
    world: Mutex<Arc<WorldConfig>>,
}

/// The history, and the commands of the last seconds.
pub struct Recorded {
    pub history: History,
    pub commands: Commands,
}

/// The world from above.
#[derive(Debug, Default)]
pub struct Map {
    pub density: Density,
    pub crowds: BTreeMap<Viewer, (Area, Crowd)>,
}

impl Watched {
    pub fn new(parts: &Parts) -> Watched {
        Watched {
            recorded: Mutex::new(Recorded {
                history: History::new(),
                commands: Commands::new(&parts.world),
            }),
            map: Mutex::default(),
            world: Mutex::new(parts.world.clone()),
        }
    }

    pub fn recorded(&self) -> MutexGuard<'_, Recorded> {
        self.recorded.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The result of the last survey.
    pub fn map(&self) -> Arc<Map> {
        let map = self.map.lock().unwrap_or_else(PoisonError::into_inner);
        map.clone()
    }

    /// The world, with the scripts that are in force.
    pub fn world(&self) -> Arc<WorldConfig> {
        let world = self.world.lock().unwrap_or_else(PoisonError::into_inner);
        world.clone()
    }

    fn set_map(&self, map: Map) {
        *self.map.lock().unwrap_or_else(PoisonError::into_inner) = Arc::new(map);
    }

    fn set_world(&self, world: Arc<WorldConfig>) {
        self.recorded().commands.change_world(&world);
        *self.world.lock().unwrap_or_else(PoisonError::into_inner) = world;
    }
}

/// Starts the thread; it ends when `stop` is true.
pub fn start(
    parts: Parts,
    watched: Arc<Watched>,
    viewers: Arc<Mutex<Viewers>>,
    stop: Arc<AtomicBool>,
) -> Result<()> {
    let surveyor = Surveyor::new(&parts.world, parts.mirror);
    let thread = Thread {
        window: parts.window,
        surveyor,
        watched,
        viewers,
    };
    std::thread::Builder::new()
        .name("dashboard".to_owned())
        .spawn(move || {
            give_way();
            thread.run(&stop);
        })
        .context("cannot start the dashboard's thread")?;
    Ok(())
}

struct Thread {
    window: SharedWindow,
    surveyor: Surveyor,
    watched: Arc<Watched>,
    viewers: Arc<Mutex<Viewers>>,
}

impl Thread {
    fn run(mut self, stop: &AtomicBool) {
        let mut sampled = Instant::now();
        let mut next_look = Instant::now();
        while !stop.load(Ordering::Relaxed) {
            std::thread::sleep(STEP);
            let now = Instant::now();
            let took = now - sampled;
            if took >= SAMPLE_PERIOD {
                sampled = now;
                self.sample(took);
            }
            if now >= next_look && self.look(now) {
                next_look = Instant::now() + pause_after(now.elapsed());
            }
        }
    }

    fn sample(&self, took: Duration) {
        let mut window = self.window.take();
        if let Some(world) = window.world.take() {
            self.watched.set_world(world);
        }
        let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH);
        let mut recorded = self.watched.recorded();
        // A clock before 1970 is wrong anyway.
        recorded
            .history
            .add(&window, took, since_1970.unwrap_or_default());
        recorded.commands.add(&window, took);
    }

    /// Surveys the world if a dashboard shows the map.
    fn look(&mut self, now: Instant) -> bool {
        let wanted = {
            let mut viewers = self.viewers.lock().unwrap_or_else(PoisonError::into_inner);
            viewers.of_map(now)
        };
        if wanted.is_empty() {
            return false;
        }
        let with_area = wanted.iter().filter_map(|&(v, area)| Some((v, area?)));
        let (viewers, areas): (Vec<Viewer>, Vec<Area>) = with_area.unzip();
        let found = self.surveyor.look(&areas);
        let crowds = areas.into_iter().zip(found.crowds);
        self.watched.set_map(Map {
            density: found.density,
            crowds: viewers.into_iter().zip(crowds).collect(),
        });
        true
    }
}

const SAMPLE_PERIOD: Duration = Duration::from_secs(1);
const STEP: Duration = Duration::from_millis(20);
