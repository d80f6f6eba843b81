//! Tests of scripts: functions of their texts that the running world does not have.
//!
//! `#[test] fn name()` sets entities up, gives commands and lets ticks pass in a [`Host`], and
//! looks at what comes out. `#[cfg(test)] fn` is a helper function of tests.

use std::sync::Arc;

use shared::world::logic::{Budget, Text};
use shared::{CommandKind, EntityId, Slot, Tick, WorldConfig};

use crate::arith::Random;
use crate::diagnostic::{Diagnostic, Problem};
use crate::interpreter::{Effects, Interpreter, Invocation, NoEffect, Outgoing, Space, World};
use crate::ir::NOBODY;
use crate::logic::with_stack;
use crate::lower::Lower;
use crate::lower::sites::{Site, Sited, TestStep, What};
use crate::parse::File;
use crate::shown::{shown, word};
use crate::unit::Unit;

/// A world in which tests run, one after another. Errors are sentences.
pub trait Host: World {
    /// The tick that comes next.
    fn now(&self) -> Tick;
    /// An entity of a kind, with the kind's defaults, lives from now on.
    fn spawn(&self, kind: u16, place: [i32; 3]) -> Result<Slot, String>;
    /// A living entity that has the attribute gets a value, within its bounds.
    fn set(&self, slot: Slot, column: u16, value: i32) -> Result<(), String>;
    /// A command for the next tick.
    fn send(&self, command: CommandKind, actor: EntityId, words: &[i32]) -> Result<(), String>;
    /// So many ticks pass.
    fn ticks(&self, n: u32) -> Result<(), String>;
}

/// A test, compiled.
pub struct Test {
    pub name: String,
    /// The name of its text.
    pub file: String,
    texts: Arc<Vec<Text>>,
    sited: Sited,
}

/// The tests of a checked world's texts, in their order.
pub fn tests(config: &WorldConfig) -> Result<Vec<Test>, Vec<Problem>> {
    with_stack(|| compile(config))
}

fn compile(config: &WorldConfig) -> Result<Vec<Test>, Vec<Problem>> {
    let (schema, logic) = (&config.schema, &config.logic);
    let mut problems = vec![];
    let files: Vec<File<'_>> = logic
        .texts
        .iter()
        .map(|text| File::parse(schema, text, &mut problems))
        .collect();
    let unit = Unit::of_tests(
        schema,
        &config.symbols,
        &files,
        &logic.constants,
        logic.numbers.clone(),
    );
    problems.into_iter().for_each(|problem| unit.note(problem));
    let texts = Arc::new(logic.texts.clone());
    let mut tests = vec![];
    for &(file, function) in &unit.tests {
        if unit.is_full() {
            break;
        }
        match Lower::with_sites(&unit, file, function) {
            Ok(sited) => tests.push(Test {
                name: function.name.clone(),
                file: unit.files[file].text.file.clone(),
                texts: texts.clone(),
                sited,
            }),
            Err(problems) => problems.into_iter().for_each(|problem| unit.note(problem)),
        }
    }
    let problems = unit.problems.take();
    match problems.is_empty() {
        true => Ok(tests),
        false => Err(problems),
    }
}

/// The most ticks that a test may let pass at once.
pub const TICKS_MAX: i32 = 100_000;
/// The most instructions of a test.
const INSTS_MAX: u64 = 100_000_000;

impl Test {
    /// Runs it. An error says where it failed, and the values there.
    pub fn run(
        &self,
        config: &WorldConfig,
        interpreter: &mut Interpreter,
        host: &impl Host,
    ) -> Result<(), Box<Diagnostic>> {
        let space = Space {
            dimensions: config.dimensions(),
            size: config.size_raw(),
            budget: Budget {
                steps: Budget::STEPS_MAX,
                visits: Budget::VISITS_MAX,
            },
        };
        let invocation = Invocation {
            tick: host.now(),
            entity: EntityId::NONE,
            words: &[],
            random: Random::new(config.seed, host.now(), EntityId::NONE, 0, 0),
        };
        let mut watch = Watch {
            test: self,
            config,
            host,
            next: 0,
            seen: vec![],
            failure: None,
        };
        let ran = interpreter.run_watched(
            &self.sited.code,
            &space,
            host,
            (&invocation, INSTS_MAX),
            &mut Nothing,
            |at, registers| watch.step(at, registers),
        );
        match (ran, watch.failure) {
            (_, Some(failure)) => Err(failure),
            (Ok(()), None) => Ok(()),
            (Err(_), None) => {
                let text = self.texts.iter().find(|text| text.file == self.file);
                let message = format!("the test `{}` does too much", self.name);
                let nowhere = Text::new(&self.file, "");
                let diagnostic = Diagnostic::at(text.unwrap_or(&nowhere), &(0..0), message, "");
                Err(Box::new(diagnostic))
            }
        }
    }
}

/// A test while it runs.
struct Watch<'a, H> {
    test: &'a Test,
    config: &'a WorldConfig,
    host: &'a H,
    /// The site after the last one: most are reached in order.
    next: usize,
    /// The latest values, with their names and sites.
    seen: Vec<(usize, String)>,
    failure: Option<Box<Diagnostic>>,
}

impl<H: Host> Watch<'_, H> {
    fn step(&mut self, at: usize, registers: &mut [i32]) -> Result<(), NoEffect> {
        let Some((number, site)) = site_at(&self.test.sited, at, &mut self.next) else {
            return Ok(());
        };
        let text = match &site.what {
            What::Test(step) => match self.take(step, registers) {
                Ok(()) => return Ok(()),
                Err(message) => message,
            },
            What::Read { value, .. } => {
                let name = &self.test.texts[site.file].text[site.span.clone()];
                self.see(number, &format!("`{name}`"), value, registers);
                return Ok(());
            }
            What::Value { name, value } => {
                let name = match &name[..] {
                    "left" | "right" => name.clone(),
                    name => format!("`{name}`"),
                };
                self.see(number, &name, value, registers);
                return Ok(());
            }
            What::Log { .. } | What::Update { .. } | What::Unmet { .. } => return Ok(()),
        };
        let values = self.values_in(site);
        let diagnostic = Diagnostic::at(&self.test.texts[site.file], &site.span, text, values);
        self.failure = Some(Box::new(diagnostic));
        Err(NoEffect::Overrun)
    }

    fn see(&mut self, site: usize, name: &str, value: &crate::types::Value, registers: &[i32]) {
        let value = shown(value, registers, &self.config.schema, self.host);
        if self.seen.len() >= SEEN_MAX {
            self.seen.drain(..SEEN_MAX / 2);
        }
        self.seen.retain(|(other, _)| *other != site);
        self.seen.push((site, format!("{name} is {value}")));
    }

    /// The values that were seen within a place.
    fn values_in(&self, around: &Site) -> String {
        let is_inside = |site: &Site| {
            site.file == around.file
                && around.span.start <= site.span.start
                && site.span.end <= around.span.end
        };
        let inside = self.seen.iter().filter(|(site, _)| {
            let site = &self.test.sited.sites[*site].1;
            is_inside(site)
        });
        let mut values: Vec<&str> = inside.map(|(_, text)| text.as_str()).collect();
        let is_side = |text: &&str| text.starts_with("left ") || text.starts_with("right ");
        if values.iter().any(is_side) {
            values.retain(is_side);
        }
        values.dedup();
        values.join(", ")
    }

    /// A step of the test. An error is why it fails.
    fn take(&mut self, step: &TestStep, registers: &mut [i32]) -> Result<(), String> {
        match step {
            TestStep::Spawn { slot, kind, place } => {
                let kind = u16::try_from(word(*kind, registers));
                let kind = kind.map_err(|_| "there is no such kind".to_owned())?;
                let place = place.map(|axis| word(axis, registers));
                registers[slot.0 as usize] = self.host.spawn(kind, place)?.0.cast_signed();
                Ok(())
            }
            TestStep::Set {
                slot,
                column,
                index,
                words,
            } => {
                let slot = word(*slot, registers);
                if slot == NOBODY {
                    return Err("this entity is `none`".to_owned());
                }
                let first = match index {
                    Some(index) => index.column(*column, word(index.place, registers)),
                    None => *column,
                };
                for (i, &value) in (0..).zip(words) {
                    let value = word(value, registers);
                    self.host
                        .set(Slot(slot.cast_unsigned()), first + i, value)?;
                }
                Ok(())
            }
            TestStep::Send {
                command,
                actor,
                words,
            } => {
                let actor = match actor {
                    None => EntityId::NONE,
                    Some(slot) => {
                        let slot = Slot(word(*slot, registers).cast_unsigned());
                        let generation = self.host.generation(slot);
                        let generation =
                            generation.ok_or("nobody lives who could give this command")?;
                        EntityId { slot, generation }
                    }
                };
                let words: Vec<i32> = words.iter().map(|&w| word(w, registers)).collect();
                self.host.send(CommandKind(*command), actor, &words)
            }
            TestStep::Now(now) => {
                registers[now.0 as usize] = self.host.now().low().cast_signed();
                Ok(())
            }
            TestStep::Ticks(n) => match word(*n, registers) {
                n @ 1..=TICKS_MAX => self.host.ticks(n.cast_unsigned()),
                n => Err(format!("expected 1 to {TICKS_MAX} ticks, found {n}")),
            },
            TestStep::Assert { condition, text } => match word(*condition, registers) {
                0 => Err(text.clone()),
                _ => Ok(()),
            },
        }
    }
}

/// The site before an instruction, if there is one. `next` is where to look first.
pub(crate) fn site_at<'a>(
    sited: &'a Sited,
    at: usize,
    next: &mut usize,
) -> Option<(usize, &'a Site)> {
    let at = at as u32;
    let number = match sited.sites.get(*next) {
        Some((place, _)) if *place == at => *next,
        _ => sited
            .sites
            .binary_search_by_key(&at, |(place, _)| *place)
            .ok()?,
    };
    *next = number + 1;
    Some((number, &sited.sites[number].1))
}

/// Values that are remembered for a failure.
const SEEN_MAX: usize = 256;

/// Helper functions of a test change its world at once, so nothing is left to collect.
struct Nothing;

impl Outgoing for Nothing {
    fn after(&mut self, _: u32, _: EntityId, _: u16, _: &[i32]) {}

    fn notify(&mut self, _: u16, _: EntityId, _: Option<([i32; 3], i32)>, _: &[i32]) {}
}

impl Effects for Nothing {
    fn update(&mut self, _: Slot, _: u16, _: i32) {}
}
