//! `myriad logic run`: the effects of one command in a world that stands still.

use std::path::PathBuf;

use anyhow::{Result, anyhow, bail, ensure};
use clap::Args;
use program::say;
use script::arith::Random;
use script::interpreter::{Interpreter, Invocation, NoEffect, Space};
use script::watched::Watched;
use script::{Command, Logic};
use shared::world::value::words_at;
use shared::{AttributeType, AttributeValue, CommandSchema, EntityId, EntityRef, WorldConfig};
use world_file::Checked;

use super::effects::{self, CommandEffects};
use super::place;
use super::still::Still;

#[derive(Debug, Args)]
pub struct RunArguments {
    /// Name of the command
    name: String,
    /// Its arguments: numbers, true or false, symbols, and slots of entities
    #[arg(allow_negative_numbers = true)]
    words: Vec<String>,
    /// World file [default: the only one beside the folder, else a plain default world]
    #[arg(long, value_name = "FILE")]
    world: Option<PathBuf>,
    /// Folder of scripts, instead of the world file's own
    #[arg(long)]
    folder: Option<PathBuf>,
    /// Recording whose world is used, instead of a new one
    #[arg(long, value_name = "RECORDING", conflicts_with_all = ["world", "folder", "players"])]
    on: Option<PathBuf>,
    /// Tick of the recording, from 0 [default: after its last]
    #[arg(long, value_name = "N", requires = "on")]
    tick: Option<u64>,
    /// Players in the middle of a new world, in the lowest slots
    #[arg(long, value_name = "N", default_value_t = 2)]
    players: u32,
    /// Slot of the entity that gives the command
    #[arg(long, value_name = "SLOT", default_value_t = 0)]
    actor: u32,
}

/// Runs the command. False if it is malformed, stale or over its budget.
pub fn run(arguments: &RunArguments) -> Result<bool> {
    let (still, notes) = match &arguments.on {
        Some(recording) => (Still::recorded(recording, arguments.tick)?, vec![]),
        None => {
            let (folder, world) = (arguments.folder.as_deref(), arguments.world.as_deref());
            let Some(Checked { config, notes, .. }) = place::world(folder, world)? else {
                return Ok(false);
            };
            (Still::new(config, arguments.players)?, notes)
        }
    };
    let logic = Logic::of(&still.config).map_err(|problems| anyhow!("{}", problems[0]))?;
    let name = &arguments.name;
    let named = logic.commands.iter().find(|c| c.schema.name == *name);
    let Some(command) = named else {
        let left_out = notes
            .iter()
            .find(|n| n.message.starts_with(&format!("`{name}` ")));
        let names: Vec<&str> = logic
            .commands
            .iter()
            .map(|c| c.schema.name.as_str())
            .collect();
        match left_out {
            Some(note) => bail!("{}", note.message),
            None => bail!("there is no command `{name}`; expected one of {names:?}"),
        }
    };
    let schema = &command.schema;
    let words = match words(&still, command, &arguments.words) {
        Ok(words) => words,
        Err(reason) => {
            say!("malformed: {reason}");
            return Ok(false);
        }
    };
    let actor = match (schema.has_actor, still.entity(arguments.actor)) {
        (false, _) => EntityId::NONE,
        (true, Some(actor)) => actor,
        (true, None) => {
            say!("stale: no entity lives in slot {}", arguments.actor);
            return Ok(false);
        }
    };
    print_given(&still, schema, actor, &words);
    let config = &still.config;
    let invocation = Invocation {
        tick: still.snapshot.tick,
        entity: actor,
        words: &words,
        random: Random::new(config.seed, still.snapshot.tick, actor, schema.kind.id(), 0),
    };
    let mut effects = CommandEffects::default();
    let ran = Interpreter::default().run(
        &command.code,
        &space(config),
        &still.world(),
        &invocation,
        &mut effects,
    );
    let kind = schema.kind;
    let watched = Watched::of(config, |other| other == kind).map_err(|p| anyhow!("{}", p[0]))?;
    let mut interpreter = Interpreter::default();
    let shown = watched.run(config, &mut interpreter, &still.world(), kind, &invocation);
    let unmet = shown.and_then(|run| run.unmet);
    if let Err(NoEffect::Refused | NoEffect::Moved) = ran {
        match unmet {
            Some(unmet) => say!("refused, so without effect: {unmet}"),
            None => say!("refused, so without effect: a value does not fit"),
        }
        return Ok(true);
    }
    if ran == Err(NoEffect::Overrun) {
        let budget = config.logic.budget;
        say!(
            "over budget, so without effect: more than {} steps or {} visits",
            budget.steps,
            budget.visits
        );
        return Ok(false);
    }
    let lines = effects.lines(&still);
    for line in &lines {
        say!("{line}");
    }
    match (unmet, lines.is_empty()) {
        (Some(unmet), true) => say!("no effect: {unmet}"),
        (Some(unmet), false) => say!("it ended there: {unmet}"),
        (None, true) => say!("no effect: it ran to its end, and changes nothing"),
        (None, false) => {}
    }
    Ok(true)
}

fn print_given(still: &Still, schema: &CommandSchema, actor: EntityId, words: &[i32]) {
    let who = match actor == EntityId::NONE {
        true => "nobody".to_owned(),
        false => {
            let place = effects::place(still, still.position(actor.slot));
            format!("{} at {place}", effects::entity(still, actor))
        }
    };
    let all = schema.words.iter().enumerate();
    let all = all.filter(|(at, word)| *at < words.len() && word.ty != AttributeType::High);
    let words: Vec<String> = all
        .map(|(at, word)| {
            let raw = words[at];
            let shown = effects::value(still, word.ty, words_at(words, at));
            match still
                .referred(EntityRef(raw))
                .filter(|_| word.ty == AttributeType::Entity)
            {
                Some(entity) => {
                    let place = effects::place(still, still.position(entity.slot));
                    format!("{}: {shown} at {place}", word.name)
                }
                None => format!("{}: {shown}", word.name),
            }
        })
        .collect();
    let (tick, name) = (still.snapshot.tick, &schema.name);
    say!("tick {tick}, {who} gives {name}({})", words.join(", "));
}

fn space(config: &WorldConfig) -> Space {
    Space {
        dimensions: config.dimensions(),
        size: config.size_raw(),
        budget: config.logic.budget,
    }
}

/// Parses the arguments of a command.
fn words(still: &Still, command: &Command, given: &[String]) -> Result<Vec<i32>> {
    let schema = &command.schema;
    // A number of 64 bits is two words, which are given as one.
    let words = schema.words.iter().zip(&command.word_columns);
    let words = words.filter(|(word, _)| word.ty != AttributeType::High);
    let (expected, found) = (words.clone().count(), given.len());
    let unit = if expected == 1 { "word" } else { "words" };
    let parameters = match effects::parameters(&still.config, command).as_str() {
        "" => String::new(),
        parameters => format!(" ({parameters})"),
    };
    ensure!(
        expected == found,
        "`{}` takes {expected} {unit}{parameters}, found {found}",
        schema.name,
    );
    let mut all = vec![];
    for ((word, column), given) in words.zip(given) {
        let (low, high) = self::word(still, word.ty, *column, given)
            .map_err(|reason| anyhow!("{}: {reason}, found {given:?}", word.name))?;
        all.push(low);
        all.extend(high);
    }
    Ok(all)
}

/// The word of an argument, and of a number of 64 bits the second one.
fn word(
    still: &Still,
    ty: AttributeType,
    column: Option<u16>,
    given: &str,
) -> Result<(i32, Option<i32>), String> {
    let one = |word: i32| (word, None);
    let expected = |what: &str| format!("expected {what}");
    match ty {
        AttributeType::I32
        | AttributeType::Bool
        | AttributeType::Fixed
        | AttributeType::I64
        | AttributeType::Text
        | AttributeType::High => {
            let value = AttributeValue::parse(ty, given, &[]);
            let words = value.map(AttributeValue::words);
            words.ok_or_else(|| expected(ty.expected()))
        }
        AttributeType::Symbol => {
            let all = (0..).zip(&still.config.schema.symbols);
            let own = column.map(|column| still.config.symbols.all_of(column));
            let is_own = |number: &i32| own.as_ref().is_none_or(|own| own.contains(number));
            let mut own = all.filter(|(number, _)| is_own(number));
            let found = own.clone().find(|(_, symbol)| *symbol == given);
            found.map(|(number, _)| one(number)).ok_or_else(|| {
                let names: Vec<&String> = own.by_ref().map(|(_, symbol)| symbol).collect();
                expected(&format!("one of {names:?}"))
            })
        }
        AttributeType::Entity if given == "none" => Ok(one(EntityRef::NONE.0)),
        AttributeType::Entity => {
            let slot = given.parse().ok();
            let entity = slot.and_then(|slot| still.entity(slot));
            let found = entity.map(|entity| one(entity.reference().0));
            found.ok_or_else(|| expected("the slot of a living entity, or none"))
        }
    }
}
