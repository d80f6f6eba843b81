//! Runs of commands for people: the values of each line, and what is logged. A command is a function
//! of the world at the start of its tick, so it can run again at any time, and what a world runs
//! needs none of this.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde::Serialize;
use shared::world::logic::{LogicConfig, Text};
use shared::{CommandKind, EntityId, Slot, WorldConfig};

use crate::diagnostic::Problem;
use crate::interpreter::{Effects, Interpreter, Invocation, NoEffect, Outgoing, Space, World};
use crate::logic::with_stack;
use crate::lower::Lower;
use crate::lower::sites::{Form, Sited, What};
use crate::parse::File;
use crate::shown::shown;
use crate::testing::site_at;
use crate::unit::Unit;

/// The commands of a world, for people.
pub struct Watched {
    texts: Vec<Text>,
    commands: BTreeMap<u16, Sited>,
    /// Those that log something.
    logging: BTreeSet<u16>,
}

/// A value of a line, each time that the run came by.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LineValue {
    /// The name of the text.
    pub file: String,
    /// From 1.
    pub line: usize,
    /// What has the value, as it is written.
    pub name: String,
    /// At most [`ROUNDS_MAX`], the first ones.
    pub values: Vec<String>,
    /// How often the run came by.
    pub rounds: usize,
}

/// What a run showed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Run {
    /// By text and line, then in the order of the run.
    pub values: Vec<LineValue>,
    pub logged: Vec<String>,
    /// The `require` that ended it.
    pub unmet: Option<Unmet>,
    /// Whether it used up its budget, so that it had no effect.
    pub is_over_budget: bool,
}

/// A `require` whose condition did not hold.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Unmet {
    /// The name of the text.
    pub file: String,
    /// From 1.
    pub line: usize,
    /// As it is written.
    pub condition: String,
    pub reason: Option<String>,
}

/// A sentence without its end.
impl fmt::Display for Unmet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Unmet {
            file,
            line,
            condition,
            reason,
        } = self;
        write!(f, "`{condition}` does not hold ({file}, line {line})")?;
        match reason {
            Some(reason) => write!(f, ": {reason}"),
            None => Ok(()),
        }
    }
}

/// The values that are shown of one place.
pub const ROUNDS_MAX: usize = 5;
/// The places with values that are shown of a run, and the lines that it logs.
const PLACES_MAX: usize = 2000;
/// The lines that a run logs.
const LOGGED_MAX: usize = 100;

impl Watched {
    /// The commands of a checked world for which `wants` is true.
    pub fn of(
        config: &WorldConfig,
        wants: impl Fn(CommandKind) -> bool + Sync,
    ) -> Result<Watched, Vec<Problem>> {
        with_stack(|| Ok(compile(config, &wants, false)))
    }

    /// Only those that log something, or give a reason for what they require.
    pub fn logging(config: &WorldConfig) -> Result<Watched, Vec<Problem>> {
        let texts = &config.logic.texts;
        let shows = |text: &Text| {
            ["log", "require"]
                .iter()
                .any(|name| text.text.contains(name))
        };
        if !texts.iter().any(shows) {
            return Ok(Watched {
                texts: vec![],
                commands: BTreeMap::new(),
                logging: BTreeSet::new(),
            });
        }
        with_stack(|| Ok(compile(config, &|_| true, true)))
    }

    pub fn is_empty(&self) -> bool {
        self.commands.is_empty()
    }

    pub fn has(&self, command: CommandKind) -> bool {
        self.commands.contains_key(&command.0)
    }

    /// Whether it logs something.
    pub fn logs(&self, command: CommandKind) -> bool {
        self.logging.contains(&command.0)
    }

    pub fn is_atomic(&self, command: CommandKind) -> bool {
        let sited = self.commands.get(&command.0);
        sited.is_some_and(|sited| sited.code.is_atomic())
    }

    pub fn texts(&self) -> &[Text] {
        &self.texts
    }

    /// Runs a command again. `None` if it is not one of these.
    pub fn run(
        &self,
        config: &WorldConfig,
        interpreter: &mut Interpreter,
        world: &impl World,
        command: CommandKind,
        invocation: &Invocation<'_>,
    ) -> Option<Run> {
        self.run_some(config, interpreter, world, (command, invocation), true)
    }

    /// What a command logs and where it ends, without the values of its lines; nothing if it is over
    /// its budget.
    pub fn logged(
        &self,
        config: &WorldConfig,
        interpreter: &mut Interpreter,
        world: &impl World,
        command: CommandKind,
        invocation: &Invocation<'_>,
    ) -> Run {
        let run = self.run_some(config, interpreter, world, (command, invocation), false);
        let run = run.filter(|run| !run.is_over_budget);
        run.unwrap_or_default()
    }

    fn run_some(
        &self,
        config: &WorldConfig,
        interpreter: &mut Interpreter,
        world: &impl World,
        (command, invocation): (CommandKind, &Invocation<'_>),
        with_values: bool,
    ) -> Option<Run> {
        let sited = self.commands.get(&command.0)?;
        let space = Space {
            dimensions: config.dimensions(),
            size: config.size_raw(),
            budget: config.logic.budget,
        };
        let (mut run, mut next) = (Run::default(), 0);
        let mut places: BTreeMap<usize, LineValue> = BTreeMap::new();
        let watch = |at: usize, registers: &mut [i32]| {
            let Some((number, site)) = site_at(sited, at, &mut next) else {
                return Ok(());
            };
            let show = |value| shown(value, registers, &config.schema, world);
            let source = || self.texts[site.file].text[site.span.clone()].to_owned();
            let line = || {
                let text = &self.texts[site.file];
                let before = text.text.get(..site.span.start).unwrap_or_default();
                (text.file.clone(), before.matches('\n').count() + 1)
            };
            let (name, value) = match &site.what {
                What::Unmet { reason } => {
                    let (file, line) = line();
                    run.unmet = Some(Unmet {
                        file,
                        line,
                        condition: source(),
                        reason: reason.clone(),
                    });
                    return Ok(());
                }
                What::Log { text, values } => {
                    if run.logged.len() < LOGGED_MAX {
                        run.logged.push(filled(text, values.iter().map(show)));
                    }
                    return Ok(());
                }
                _ if !with_values => return Ok(()),
                What::Read { value, .. } => (source(), show(value)),
                What::Update { form, value, .. } => {
                    let sign = match form {
                        Form::Add => " +=",
                        Form::Take => " -=",
                        Form::Set => " ←",
                    };
                    (source() + sign, show(value))
                }
                What::Value { name, value } => (name.clone(), show(value)),
                What::Test(_) => return Ok(()),
            };
            if places.len() >= PLACES_MAX && !places.contains_key(&number) {
                return Ok(());
            }
            let place = places.entry(number).or_insert_with(|| {
                let (file, line) = line();
                LineValue {
                    file,
                    line,
                    name,
                    values: vec![],
                    rounds: 0,
                }
            });
            place.rounds += 1;
            if place.values.len() < ROUNDS_MAX {
                place.values.push(value);
            }
            Ok(())
        };
        let ran = interpreter.run_watched(
            &sited.code,
            &space,
            world,
            (invocation, u64::MAX),
            &mut Nothing,
            watch,
        );
        run.is_over_budget = ran == Err(NoEffect::Overrun);
        // A helper function that is called twice has its places twice.
        run.values = places.into_values().collect();
        run.values
            .sort_by(|a, b| (&a.file, a.line).cmp(&(&b.file, b.line)));
        Some(run)
    }
}

fn compile(
    config: &WorldConfig,
    wants: &dyn Fn(CommandKind) -> bool,
    only_logging: bool,
) -> Watched {
    let (schema, logic) = (&config.schema, &config.logic);
    let LogicConfig { texts, .. } = logic;
    let mut problems = vec![];
    let files: Vec<File<'_>> = texts
        .iter()
        .map(|text| File::parse(schema, text, &mut problems))
        .collect();
    let mut unit = Unit::new(
        schema,
        &config.symbols,
        &files,
        logic.budget,
        &logic.constants,
        logic.numbers.clone(),
    );
    unit.has_sites = true;
    let unit = &unit;
    let (mut commands, mut logging) = (BTreeMap::new(), BTreeSet::new());
    for signature in unit.commands.values() {
        if !wants(signature.kind) {
            continue;
        }
        // Of built-in texts, a world may lack some.
        let Ok(sited) = Lower::with_sites(unit, signature.file, signature.function) else {
            continue;
        };
        let has = |is: fn(&What) -> bool| sited.sites.iter().any(|(_, site)| is(&site.what));
        let logs = has(|what| matches!(what, What::Log { .. }));
        if logs {
            logging.insert(signature.kind.0);
        }
        if !only_logging || logs || has(|what| matches!(what, What::Unmet { reason: Some(_) })) {
            commands.insert(signature.kind.0, sited);
        }
    }
    Watched {
        texts: texts.clone(),
        commands,
        logging,
    }
}

/// A text with values in place of its `{}`, and the others behind it.
fn filled(text: &str, mut values: impl Iterator<Item = String>) -> String {
    let mut filled = String::new();
    let mut parts = text.split("{}");
    filled += parts.next().unwrap_or_default();
    for part in parts {
        filled += &values.next().unwrap_or_else(|| "{}".to_owned());
        filled += part;
    }
    for value in values {
        filled += " ";
        filled += &value;
    }
    filled
}

/// The effects of the run are known already.
struct Nothing;

impl Outgoing for Nothing {
    fn after(&mut self, _: u32, _: EntityId, _: u16, _: &[i32]) {}

    fn notify(&mut self, _: u16, _: EntityId, _: Option<([i32; 3], i32)>, _: &[i32]) {}
}

impl Effects for Nothing {
    fn update(&mut self, _: Slot, _: u16, _: i32) {}
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_stand_where_the_text_has_room_for_them_and_the_others_behind_it() {
        let values = |n: usize| (1..=n).map(|n| n.to_string());
        assert_eq!(filled("sold {} of {}", values(3)), "sold 1 of 2 3");
        assert_eq!(filled("sold", values(2)), "sold 1 2");
        assert_eq!(filled("sold {}", values(0)), "sold {}");
    }
}
