//! The rules by which kinds give commands, and the engine's own notifications.

use super::check::{Problem, Problems, in_range, problem, unexpected};
use super::{kinds, raw};
use crate::world::attribute::{AttributeType, Audience};
use crate::world::command::CommandSchema;
use crate::world::config::{DELAY_TICKS_MAX, Every, Fall};
use crate::world::notification::NotificationSchema;
use crate::world::schema::Schema;

pub(super) fn every(schema: &Schema, raw: &[raw::Every], problems: &mut Problems) -> Vec<Every> {
    let keyed = raw.iter().enumerate();
    keyed
        .filter_map(|(i, raw)| problems.take(every_one(schema, &format!("every[{i}]"), raw)))
        .collect()
}

fn every_one(schema: &Schema, key: &str, raw: &raw::Every) -> Result<Every, Problem> {
    let kind = kinds::index(schema, &format!("{key}.kind"), &raw.kind)?;
    let ticks = in_range(&format!("{key}.ticks"), raw.ticks, 1, DELAY_TICKS_MAX)?;
    // A world file can't name an entity, so commands with a target are for clients only.
    let has_target =
        |c: &CommandSchema| c.words.iter().any(|word| word.ty == AttributeType::Entity);
    let givable = schema
        .commands
        .iter()
        .filter(|c| c.senders.rules && !has_target(c));
    let Some(command) = givable.clone().find(|c| c.name == raw.command) else {
        let names: Vec<_> = givable.map(|c| c.name.as_str()).collect();
        let found = format!("{:?}", raw.command);
        return unexpected(format!("{key}.command"), found, format!("one of {names:?}"));
    };
    let key = format!("{key}.words");
    let (expected, found) = (command.words.len(), raw.words.len());
    if found != expected {
        let message = format!("`{}` takes {expected} numbers, found {found}", command.name);
        return problem(key, message);
    }
    let words = raw.words.iter().zip(&command.words);
    let words = words.map(|(value, word)| kinds::value(&key, word.ty, value, &[], &[]));
    Ok(Every {
        kind,
        ticks,
        command: command.kind,
        words: words.collect::<Result<_, _>>()?,
    })
}

/// The engine's own notifications that can happen, by ascending number. A pick tells the
/// owner of an item, so there is one only where clients may know owners.
pub(super) fn notifications(
    schema: &Schema,
    falls: &[Option<Fall>],
    tells_owner: Option<u16>,
) -> Vec<NotificationSchema> {
    let is_public = |column: u16| {
        let audience = schema.attributes[usize::from(column)].audience;
        matches!(audience, Audience::Movement | Audience::State)
    };
    let mut possible = vec![];
    if falls.iter().any(Option::is_some) {
        possible.push(NotificationSchema::fall());
    }
    if tells_owner.is_some_and(is_public) {
        possible.push(NotificationSchema::picked());
    }
    possible
}
