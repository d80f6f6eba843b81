//! `myriad logic test`: the tests that stand in scripts, on every backend of this machine.

use std::cell::RefCell;
use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Context, Result, anyhow};
use clap::Args;
use gpu_kernels::tick::still::StillWorld;
use gpu_kernels::{Backend, Frame, SlotState, Snapshot};
use program::say;
use script::arith::Random;
use script::diagnostic::draw;
use script::interpreter::{Interpreter, Invocation, World};
use script::testing::{self, Host, Test};
use script::watched::Watched;
use script::{Diagnostic, Problem};
use shared::world::attribute::{halves, joined};
use shared::{AttributeType, CommandKind, EntityId, Slot, Tick, WorldConfig};

use super::backends::backends;
use super::place;

#[derive(Debug, Args)]
pub struct TestArguments {
    /// Folder of the scripts, one of its scripts, or a world file
    #[arg(value_name = "FOLDER|FILE")]
    path: PathBuf,
    /// Only tests whose names contain this
    name: Option<String>,
    /// World file [default: the only one beside the folder, else a plain default world]
    #[arg(long, value_name = "FILE")]
    world: Option<PathBuf>,
}

/// Runs the tests of a world file's scripts. False if one fails.
pub fn world(file: &Path) -> Result<bool> {
    run(&TestArguments {
        path: file.to_owned(),
        name: None,
        world: None,
    })
}

/// Runs the tests. False if one fails.
pub fn run(arguments: &TestArguments) -> Result<bool> {
    let begun = Instant::now();
    let path = &arguments.path;
    let ends_in = |ending: &str| path.extension().is_some_and(|found| found == ending);
    let world = arguments.world.as_deref();
    let (folder, world, script) = match () {
        () if ends_in("toml") => (None, Some(path.as_path()), None),
        () if ends_in("rs") => {
            let folder = match path.parent() {
                Some(parent) if parent.as_os_str().is_empty() => Path::new("."),
                Some(parent) => parent,
                None => Path::new("."),
            };
            let script = path.file_name().unwrap_or_default();
            (Some(folder), world, Some(script.to_string_lossy()))
        }
        () => (Some(path.as_path()), world, None),
    };
    let Some(checked) = place::world(folder, world)? else {
        return Ok(false);
    };
    let config = with_room(checked.config);
    let Some(tests) = compiled(&config) else {
        return Ok(false);
    };
    let is_chosen = |test: &&Test| {
        script.as_ref().is_none_or(|script| test.file == *script)
            && (arguments.name.as_ref()).is_none_or(|name| test.name.contains(name.as_str()))
    };
    let watched = Watched::of(&config, |_| true).map_err(|p| anyhow!("{}", p[0]))?;
    let chosen: Vec<&Test> = tests.iter().filter(is_chosen).collect();
    let mut labels = vec![];
    let mut failures: Vec<Failure<'_>> = vec![];
    for starter in backends(&config) {
        let backend = starter.try_start(&config)?;
        let bench = Bench::new(&config, &watched, backend)
            .with_context(|| format!("{} could not start", starter.label))?;
        let mut interpreter = Interpreter::default();
        for &test in &chosen {
            bench.clear();
            let Err(diagnostic) = test.run(&config, &mut interpreter, &bench) else {
                continue;
            };
            let same = failures
                .iter_mut()
                .find(|known| std::ptr::eq(known.test, test) && known.diagnostic == *diagnostic);
            match same {
                Some(known) => known.backends.push(starter.label.clone()),
                None => failures.push(Failure {
                    test,
                    diagnostic: *diagnostic,
                    ended: bench.take_ended(),
                    backends: vec![starter.label.clone()],
                }),
            }
        }
        labels.push(starter.label);
    }
    let colours = std::io::stdout().is_terminal();
    for failure in &failures {
        let (name, file) = (&failure.test.name, &failure.test.file);
        let of = match failure.backends.len() == labels.len() {
            true => String::new(),
            false => format!(" on {}", failure.backends.join(", ")),
        };
        say!("test `{name}` of {file} failed{of}:");
        let drawn = draw(&[&failure.diagnostic], &config.logic.texts, colours);
        say!("{}", drawn.trim_end());
        for ended in &failure.ended {
            say!("{ended}");
        }
        say!("");
    }
    let is_failed = |test: &&Test| failures.iter().any(|f| std::ptr::eq(f.test, *test));
    let failed = chosen.iter().filter(|test| is_failed(test)).count();
    let passed = chosen.len() - failed;
    say!(
        "{passed} passed, {failed} failed on {} in {:.1} s",
        labels.join(", "),
        begun.elapsed().as_secs_f64()
    );
    Ok(failed == 0)
}

struct Failure<'a> {
    test: &'a Test,
    diagnostic: Diagnostic,
    /// Where the commands that it gave ended early.
    ended: Vec<String>,
    /// Those on which it fails like this.
    backends: Vec<String>,
}

/// The tests of a world. `None`: they have problems, which are printed.
pub fn compiled(config: &WorldConfig) -> Option<Vec<Test>> {
    match testing::tests(config) {
        Ok(tests) => Some(tests),
        Err(problems) => {
            let diagnostics: Vec<_> = problems.iter().filter_map(Problem::diagnostic).collect();
            let colours = std::io::stdout().is_terminal();
            say!(
                "{}",
                draw(&diagnostics, &config.logic.texts, colours).trim_end()
            );
            let others = problems.iter().filter(|p| p.diagnostic().is_none());
            others.for_each(|problem| say!("{problem}"));
            None
        }
    }
}

/// A world with room for what a test sets up, and no more: each test begins with an empty one.
fn with_room(mut config: WorldConfig) -> WorldConfig {
    let world = &mut config.schema.world;
    world.capacity = world.capacity.min(ENTITIES_MAX);
    config.limits.clients = config.limits.clients.min(CLIENTS_MAX);
    config
}

/// The most entities of a test.
const ENTITIES_MAX: u32 = 1024;
/// The tick divides its work by clients, so there is at least one.
const CLIENTS_MAX: u32 = 1;

/// The commands that are shown with a failure.
const ENDED_MAX: usize = 8;

/// A world of one backend, in which test after test runs.
struct Bench<'a> {
    config: &'a WorldConfig,
    watched: &'a Watched,
    empty: Snapshot,
    state: RefCell<State>,
}

struct State {
    backend: Box<dyn Backend>,
    /// The world as the test sees it.
    snapshot: Snapshot,
    /// Whether the backend has another one.
    is_changed: bool,
    /// For the next tick.
    commands: Vec<(CommandKind, EntityId, Vec<i32>)>,
    /// Where the latest commands ended whose conditions did not hold: at most [`ENDED_MAX`].
    ended: Vec<String>,
}

impl<'a> Bench<'a> {
    fn new(
        config: &'a WorldConfig,
        watched: &'a Watched,
        mut backend: Box<dyn Backend>,
    ) -> Result<Bench<'a>> {
        // No client watches.
        backend.set_quiet(true);
        let empty = backend.snapshot()?;
        let state = State {
            backend,
            snapshot: empty.clone(),
            is_changed: false,
            commands: vec![],
            ended: vec![],
        };
        Ok(Bench {
            config,
            watched,
            empty,
            state: RefCell::new(state),
        })
    }

    /// Begins a test.
    fn clear(&self) {
        let mut state = self.state.borrow_mut();
        state.snapshot.clone_from(&self.empty);
        state.is_changed = true;
        state.commands.clear();
        state.ended.clear();
    }

    fn take_ended(&self) -> Vec<String> {
        std::mem::take(&mut self.state.borrow_mut().ended)
    }

    /// Notes where the commands of the next tick end early: as they see the world alone.
    fn note_ended(&self, state: &mut State) {
        let (tick, mut interpreter) = (state.snapshot.tick, Interpreter::default());
        let world = StillWorld::new(self.config, &state.snapshot);
        for (sequence, (kind, actor, words)) in (0..).zip(&state.commands) {
            let invocation = Invocation {
                tick,
                entity: *actor,
                words,
                random: Random::new(self.config.seed, tick, *actor, kind.0, sequence),
            };
            let run = self
                .watched
                .run(self.config, &mut interpreter, &world, *kind, &invocation);
            if let Some(unmet) = run.and_then(|run| run.unmet) {
                let name = self.config.logic.numbers.command_name(*kind);
                if state.ended.len() == ENDED_MAX {
                    state.ended.remove(0);
                }
                let name = name.unwrap_or_default();
                state
                    .ended
                    .push(format!("`{name}` ended in tick {tick}: {unmet}"));
            }
        }
    }

    fn with<T>(&self, look: impl FnOnce(StillWorld<'_>) -> T) -> T {
        let state = self.state.borrow();
        look(StillWorld::new(self.config, &state.snapshot))
    }

    fn run_ticks(&self, n: u32) -> Result<()> {
        let mut state = self.state.borrow_mut();
        self.note_ended(&mut state);
        let State {
            backend,
            snapshot,
            is_changed,
            commands,
            ..
        } = &mut *state;
        if std::mem::take(is_changed) {
            backend
                .restore(snapshot)
                .map_err(|error| anyhow!("{error}"))?;
        }
        let mut tick = snapshot.tick;
        for _ in 0..n {
            let mut frame = Frame::new(tick);
            for (sequence, (kind, actor, words)) in (0..).zip(commands.drain(..)) {
                frame.push(actor, sequence, kind, &words);
            }
            frame.order(self.config.seed);
            backend.tick(&frame)?;
            tick = tick.next();
        }
        *snapshot = backend.snapshot()?;
        Ok(())
    }
}

impl World for Bench<'_> {
    fn attribute(&self, slot: Slot, column: usize) -> i32 {
        self.with(|world| match world.generation(slot) {
            Some(_) => world.attribute(slot, column),
            None => 0,
        })
    }

    fn generation(&self, slot: Slot) -> Option<u32> {
        self.with(|world| world.generation(slot))
    }

    fn kind(&self, slot: Slot) -> u16 {
        self.with(|world| match world.generation(slot) {
            Some(_) => world.kind(slot),
            None => u16::MAX,
        })
    }

    fn has(&self, slot: Slot, column: usize) -> bool {
        self.with(|world| world.has(slot, column))
    }

    fn past(&self, slot: Slot, axis: usize, tick: i32) -> i32 {
        self.with(|world| world.past(slot, axis, tick))
    }

    fn layer(&self, place: i32) -> i32 {
        self.with(|world| world.layer(place))
    }

    fn field(&self, place: i32) -> i32 {
        self.with(|world| world.field(place))
    }

    fn count(&self, kind: u16) -> u32 {
        self.with(|world| world.count(kind))
    }

    fn nth(&self, kind: u16, place: u32) -> Option<Slot> {
        self.with(|world| world.nth(kind, place))
    }

    fn held(&self, relation: u8, holder: Slot, place: u32) -> Option<Slot> {
        self.with(|world| world.held(relation, holder, place))
    }

    fn rank(&self, ranking: u16, slot: Slot) -> u32 {
        self.with(|world| world.rank(ranking, slot))
    }

    fn ranked(&self, ranking: u16, place: u32) -> Option<Slot> {
        self.with(|world| world.ranked(ranking, place))
    }

    fn near(&self, center: [i32; 3], radius: i32, slots: &mut Vec<u32>) {
        self.with(|world| world.near(center, radius, slots));
    }
}

impl Host for Bench<'_> {
    fn now(&self) -> Tick {
        self.state.borrow().snapshot.tick
    }

    fn spawn(&self, kind: u16, place: [i32; 3]) -> Result<Slot, String> {
        let schema = &self.config.schema;
        let mut state = self.state.borrow_mut();
        let snapshot = &mut state.snapshot;
        let is_free = |state: &SlotState| *state == SlotState::Free;
        let slot = snapshot.states.iter().position(is_free);
        let slot = slot.ok_or_else(|| {
            let room = snapshot.states.len();
            format!("the world of a test has room for {room} entities")
        })?;
        snapshot.states[slot] = SlotState::Live;
        snapshot.generations[slot] += 1;
        snapshot.kinds[slot] = kind;
        let mut row = schema.default_row(usize::from(kind));
        row[..schema.dimensions()].copy_from_slice(&place[..schema.dimensions()]);
        let bounds = schema.bounds(kind.into());
        for own in &schema.kinds[usize::from(kind)].attributes {
            let column = usize::from(own.column);
            row[column] = row[column].clamp(bounds[column].0, bounds[column].1);
        }
        let columns = schema.attributes.len();
        snapshot.rows[slot * columns..][..columns].copy_from_slice(&row);
        state.is_changed = true;
        Ok(Slot(slot as u32))
    }

    fn set(&self, slot: Slot, column: u16, value: i32) -> Result<(), String> {
        let schema = &self.config.schema;
        if self.generation(slot).is_none() {
            return Err("this entity is dead".to_owned());
        }
        let kind = &schema.kinds[usize::from(self.kind(slot))];
        let Some(own) = kind.attributes.iter().find(|a| a.column == column) else {
            let attribute = &schema.attributes[usize::from(column)].name;
            return Err(format!("a `{}` has no `{attribute}`", kind.name));
        };
        let mut state = self.state.borrow_mut();
        let place = slot.index() * schema.attributes.len() + usize::from(column);
        let rows = &mut state.snapshot.rows;
        match schema.attributes[usize::from(column)].ty {
            AttributeType::I64 => rows[place] = value,
            // The low half came before.
            AttributeType::High => {
                let (min, max) = schema.wide_bounds()[usize::from(column) - 1];
                let number = joined([rows[place - 1], value]).clamp(min, max);
                rows[place - 1..=place].copy_from_slice(&halves(number));
            }
            AttributeType::I32
            | AttributeType::Fixed
            | AttributeType::Bool
            | AttributeType::Entity
            | AttributeType::Symbol
            | AttributeType::Text => rows[place] = value.clamp(own.min, own.max),
        }
        state.is_changed = true;
        Ok(())
    }

    fn send(&self, command: CommandKind, actor: EntityId, words: &[i32]) -> Result<(), String> {
        let mut state = self.state.borrow_mut();
        state.commands.push((command, actor, words.to_vec()));
        Ok(())
    }

    fn ticks(&self, n: u32) -> Result<(), String> {
        self.run_ticks(n)
            .map_err(|error| format!("the world stopped: {error:#}"))
    }
}
