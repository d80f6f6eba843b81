//! The rules by which kinds give commands, and those that newborns give, and the engine's own notifications.

use shared::world::attribute::{AttributeType, Audience};
use shared::world::command::{CommandKind, CommandSchema};
use shared::world::config::{DELAY_TICKS_MAX, Every, Fall};
use shared::world::notification::NotificationSchema;
use shared::world::schema::Schema;
use shared::world::symbols::Symbols;

use super::check::{Problem, Problems, in_range, one_of, place, problem, unexpected};
use super::compile::Declared;
use super::{kinds, raw};

/// Which symbols the words of commands can be.
pub(super) struct SymbolWords<'a> {
    pub symbols: &'a Symbols,
    pub declared: &'a Declared,
}

impl SymbolWords<'_> {
    /// The names of the symbols that a command's word can be: those of an attribute, or all.
    fn names(&self, schema: &Schema, command: CommandKind, word: usize) -> Vec<String> {
        let commands = self.declared.commands.iter();
        let mut columns = commands.zip(&self.declared.word_columns);
        let own = columns.find(|(declared, _)| declared.kind == command);
        let column = own.and_then(|(_, columns)| columns.get(word).copied().flatten());
        let Some(column) = column else {
            return schema.symbols.clone();
        };
        let numbers = self.symbols.all_of(column).into_iter();
        let name = |number: i32| schema.symbols.get(usize::try_from(number).ok()?).cloned();
        numbers.filter_map(name).collect()
    }
}

pub(super) fn every(
    schema: &Schema,
    symbols: &SymbolWords<'_>,
    raw: &[raw::Every],
    problems: &mut Problems,
) -> Vec<Every> {
    let keyed = raw.iter().enumerate();
    let every: Vec<Every> = keyed
        .filter_map(|(i, raw)| {
            problems.take(every_one(schema, symbols, &format!("every[{i}]"), raw))
        })
        .collect();
    let capacity = schema.world.capacity;
    let own: u64 = every.iter().map(|rule| rule.own_words(capacity)).sum();
    if own > OWN_WORDS_MAX {
        let expected = format!("at most {OWN_WORDS_MAX} words of rules `at` their entities' place");
        problems.take::<()>(unexpected("every", own, expected));
    }
    every
}

/// They are indexed in 31 bits, beside those of timed commands.
const OWN_WORDS_MAX: u64 = 1 << 30;

fn every_one(
    schema: &Schema,
    symbols: &SymbolWords<'_>,
    key: &str,
    raw: &raw::Every,
) -> Result<Every, Problem> {
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
        return unexpected(format!("{key}.command"), found, expected_command(&names));
    };
    let own_place = match raw.at {
        None => None,
        Some(raw::RulePoint::Own) => Some(point(schema, &format!("{key}.at"), command)?),
    };
    let axes = schema.dimensions();
    let own = own_place.map_or(0..0, |place| place..place + axes);
    let key = format!("{key}.words");
    let given = (0..).zip(&command.words).filter(|(i, _)| !own.contains(i));
    let (expected, found) = (command.words.len() - own.len(), raw.words.len());
    if found != expected {
        let besides = if own.is_empty() {
            ""
        } else {
            " besides its point"
        };
        let name = &command.name;
        let message = format!("`{name}` takes {expected} numbers{besides}, found {found}");
        return problem(key, message);
    }
    let mut words = vec![0; command.words.len()];
    for ((i, word), value) in given.zip(&raw.words) {
        let own = match word.ty.has_symbols() {
            true => symbols.names(schema, command.kind, i),
            false => vec![],
        };
        words[i] = kinds::value(&key, word.ty, value, &own, &schema.symbols)?;
    }
    Ok(Every {
        kind,
        ticks,
        command: command.kind,
        words,
        own_place: own_place.map(|first| place(&key, first)).transpose()?,
        of_ended: None,
    })
}

fn expected_command(names: &[&str]) -> String {
    match names {
        [] => "a command with `#[command(rules)]`, which no script declares".to_owned(),
        _ => one_of(names),
    }
}

/// By kind: the command of its newborns.
pub(super) fn born(
    schema: &Schema,
    kinds: &[raw::Kind],
    problems: &mut Problems,
) -> Vec<Option<CommandKind>> {
    let born = |kind: &raw::Kind| {
        let name = kind.born.as_ref()?;
        problems.take(born_one(schema, &format!("{}.born", kind.key()), name))
    };
    kinds.iter().map(born).collect()
}

fn born_one(schema: &Schema, key: &str, name: &str) -> Result<CommandKind, Problem> {
    let givable = schema.commands.iter().filter(|c| c.is_for_newborns());
    if let Some(command) = givable.clone().find(|c| c.name == name) {
        return Ok(command.kind);
    }
    let names: Vec<_> = givable.map(|c| c.name.as_str()).collect();
    let expected = match names.is_empty() {
        true => "a command that takes `me` and nothing else, which no script declares".to_owned(),
        false => format!(
            "a command that takes `me` and nothing else, {}",
            one_of(&names)
        ),
    };
    unexpected(key, format!("{name:?}"), expected)
}

/// The first word of a command's only point.
fn point(schema: &Schema, key: &str, command: &CommandSchema) -> Result<usize, Problem> {
    let place = command.point(schema.dimensions());
    let message = || format!("`{}` does not take one point", command.name);
    place.map_or_else(|| problem(key, message()), Ok)
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
