use std::collections::BTreeMap;

use gpu_kernels::{DeferredCommand, Snapshot, TimedCommand};
use shared::world::command::{CommandSchema, CommandWord};
use shared::world::given::{self, FollowUp};
use shared::{CommandKind, Schema, Tick};

use super::changes::{Changes, counted};
use super::names::{Names, Pair};

/// Commands that wait keep their tick and their order, with the numbers of the new world.
pub fn migrate(names: &Names<'_>, kept: &Snapshot, new: &mut Snapshot, changes: &mut Changes) {
    let mut dropped: BTreeMap<String, u64> = BTreeMap::new();
    for command in &kept.timed {
        match translate(names, command) {
            Ok(command) => new.timed.push(command),
            Err(reason) => *dropped.entry(reason).or_default() += 1,
        }
    }
    for command in &kept.deferred {
        match translate_deferred(names, command) {
            Ok(command) => new.deferred.push(command),
            Err(reason) => *dropped.entry(reason).or_default() += 1,
        }
    }
    let room = names.given.limits.commands_per_tick as usize;
    if new.deferred.len() > room {
        let reason = format!("there is room for {room} only (limits.commands_per_tick)");
        dropped.insert(reason, (new.deferred.len() - room) as u64);
        new.deferred.truncate(room);
    }
    let room = names.given.limits.timed_commands as usize;
    if new.timed.len() > room {
        let reason = format!("there is room for {room} only (limits.timed_commands)");
        dropped.insert(reason, (new.timed.len() - room) as u64);
        new.timed.truncate(room);
    }
    // A world without room for any has never scheduled one.
    new.next_sequence = match room {
        0 => 0,
        _ => kept.next_sequence,
    };
    for (reason, count) in dropped {
        let waiting = counted(count, "waiting command is", "waiting commands are");
        changes.say(format!("{waiting} dropped: {reason}"));
    }
}

/// Likewise, of an atomic command.
fn translate_deferred(
    names: &Names<'_>,
    kept: &DeferredCommand,
) -> Result<DeferredCommand, String> {
    let timed = TimedCommand::new(Tick(0), kept.entity, kept.kind, kept.words());
    let TimedCommand { kind, words, .. } = translate(names, &timed)?;
    Ok(DeferredCommand {
        kind,
        words,
        ..*kept
    })
}

/// A command with the numbers of the new world, or why there is none.
fn translate(names: &Names<'_>, kept: &TimedCommand) -> Result<TimedCommand, String> {
    let kind = CommandKind(kept.kind);
    let Pair { old, new } = names
        .command(kind)
        .map_err(|reason| format!("{} {reason}", names.command_name(kind)))?;
    let mut command = *kept;
    command.kind = new.kind.id();
    let count = usize::from(kept.word_count);
    let words = &mut command.words[..count];
    if kind == CommandKind::SPAWN {
        let Some(word) = words.first_mut() else {
            return Err("spawn has no kind".to_owned());
        };
        if given::is_values(*word) {
            translate_values(names, words);
            return Ok(command);
        }
        if given::is_follow_up(*word) {
            translate_follow_up(names, words)?;
            return Ok(command);
        }
        let born = given::birth(*word);
        let born = born.and_then(|(old, commands)| Some((names.kind(old)?, commands)));
        *word = match born {
            Some((kind, commands)) => given::birth_word(kind, commands),
            None => return Err("the kind to be born is gone".to_owned()),
        };
        return Ok(command);
    }
    for (word, schema) in words.iter_mut().zip(&old.words) {
        translate_word(names, old, schema, word)?;
    }
    Ok(command)
}

fn translate_word(
    names: &Names<'_>,
    of: &CommandSchema,
    schema: &CommandWord,
    word: &mut i32,
) -> Result<(), String> {
    // Below 0 it is no symbol, in all worlds.
    if schema.ty.has_symbols() && *word >= 0 {
        *word = names
            .symbol(*word)
            .ok_or_else(|| format!("{} names a symbol that is gone", of.name))?;
    }
    Ok(())
}

/// A command that is to be scheduled for a newborn.
fn translate_follow_up(names: &Names<'_>, words: &mut [i32]) -> Result<(), String> {
    let [form, _, others @ ..] = words else {
        return Err("spawn has no newborn".to_owned());
    };
    let follow_up = FollowUp::of(*form);
    let kind = CommandKind(follow_up.command);
    let Pair { old, new } = names
        .command(kind)
        .map_err(|reason| format!("{} {reason}", names.command_name(kind)))?;
    let own = (0..).zip(&old.words);
    let own = own.filter(|(place, _)| follow_up.newborn >> place & 1 == 0);
    for (word, (_, schema)) in others.iter_mut().zip(own) {
        translate_word(names, old, schema, word)?;
    }
    let command = new.kind.id();
    *form = FollowUp {
        command,
        ..follow_up
    }
    .word();
    Ok(())
}

/// The values that a birth is to be given. Of those that are gone, the new file says what they are.
fn translate_values(names: &Names<'_>, words: &mut [i32]) {
    let Some((word, values)) = words.split_first_mut() else {
        return;
    };
    let mut columns = given::columns(*word);
    for (column, value) in columns.iter_mut().zip(values.iter_mut()) {
        let mut all = (0..).take(names.given.schema.attributes.len());
        let new = all.find_map(|new| {
            let source = names.source(usize::from(new))?;
            let is_half = |schema: &Schema, column: usize| schema.attributes[column].ty.is_half();
            // One word is not both halves of a number.
            let widens = is_half(&names.given.schema, usize::from(new))
                && !is_half(&names.kept.schema, source.column);
            let is_it = source.column == usize::from(*column) && !widens;
            is_it.then_some((new, names.value(source, *value)?))
        });
        (*column, *value) = match new {
            Some(new) => new,
            None => (given::NO_COLUMN, 0),
        };
    }
    let mut pairs: Vec<(u16, i32)> = columns.into_iter().zip(values.iter().copied()).collect();
    pairs.sort_by_key(|(column, _)| given::is_far(*column));
    let sorted = columns.iter_mut().zip(values);
    for ((column, value), pair) in sorted.zip(pairs) {
        (*column, *value) = pair;
    }
    *word = given::values_word(columns);
}
