use std::ops::{Deref, DerefMut, Range};

use rayon::prelude::*;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use shared::world::command::COMMANDS_MAX;
use shared::world::mix::order_key;
use shared::{EntityId, Tick};

use super::Command;
use device::HostVec;

/// A frame's commands with a survey of them. The survey is updated with each push, since
/// reading all commands again takes longer than running them.
#[derive(Clone, Debug)]
pub struct Commands {
    pub(super) items: HostVec<Command>,
    /// `None` after other kinds of changes.
    survey: Option<Survey>,
}

/// Totals of a list of commands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Survey {
    /// The number of commands of each number.
    pub kinds: [u64; COMMANDS_MAX],
    /// The end of the commands' words.
    pub words: usize,
}

impl Commands {
    pub fn push(&mut self, command: Command) {
        if let Some(survey) = &mut self.survey {
            survey.add(&command);
        }
        self.items.push(command);
    }

    /// Changes where a command's words are.
    pub(super) fn set_words(&mut self, place: usize, words: Range<usize>) {
        let command = &mut self.items[place];
        command.word_start = u32::try_from(words.start).unwrap_or(u32::MAX);
        command.word_count = u16::try_from(words.len()).unwrap_or(u16::MAX);
        if let Some(survey) = &mut self.survey {
            survey.words = survey.words.max(words.end);
        }
    }

    /// Removes all commands and keeps the memory.
    pub fn clear(&mut self) {
        self.items.clear();
        self.survey = Some(Survey::default());
    }

    /// Makes room for this many more commands.
    pub(super) fn reserve(&mut self, additional: usize) {
        self.items.reserve(additional);
    }

    /// Sets the number of commands, for the caller to write: each is what it was, or any.
    pub(super) fn refill(&mut self, len: usize) -> &mut [Command] {
        self.survey = None;
        self.items.truncate(len);
        self.items.resize(len, ANY);
        &mut self.items
    }

    /// Appends commands whose words come behind the first `words`.
    pub(super) fn append(&mut self, other: &Commands, words: usize) {
        self.add_survey(other, words);
        self.items.extend(other.items.iter().map(behind(words)));
    }

    /// The same on the threads of the current pool.
    pub(super) fn append_on_threads(&mut self, other: &Commands, words: usize) {
        self.add_survey(other, words);
        let items = other.items.par_iter().with_min_len(GRAIN / 8);
        self.items.extend_on_threads(items.map(behind(words)));
    }

    fn add_survey(&mut self, other: &Commands, words: usize) {
        if let Some(survey) = &mut self.survey {
            let mut others = other.survey();
            others.words += words;
            *survey = survey.and(&others);
        }
    }

    /// Sorts by (mix(seed, tick, entity), sequence).
    pub(super) fn order(&mut self, seed: u64, tick: Tick) {
        self.items
            .sort_by_cached_key(|c| (order_key(seed, tick, c.entity), c.sequence));
    }

    /// How many commands there are of each number.
    pub fn by_number(&self) -> [u64; COMMANDS_MAX] {
        self.survey().kinds
    }

    pub(crate) fn survey(&self) -> Survey {
        self.survey.unwrap_or_else(|| Survey::of(&self.items))
    }

    /// The memory that the commands are in.
    pub(crate) fn memory(&self) -> &HostVec<Command> {
        &self.items
    }
}

impl Survey {
    fn of(commands: &[Command]) -> Survey {
        let chunks = commands.par_chunks(GRAIN).map(|commands| {
            let mut survey = Survey::default();
            commands.iter().for_each(|command| survey.add(command));
            survey
        });
        chunks.reduce(Survey::default, |a, b| a.and(&b))
    }

    /// The survey of both lists.
    fn and(&self, other: &Survey) -> Survey {
        Survey {
            kinds: std::array::from_fn(|i| self.kinds[i] + other.kinds[i]),
            words: self.words.max(other.words),
        }
    }

    fn add(&mut self, command: &Command) {
        if let Some(n) = self.kinds.get_mut(usize::from(command.kind)) {
            *n += 1;
        }
        let end = command.word_start as usize + usize::from(command.word_count);
        self.words = self.words.max(end);
    }
}

/// Moves a command's words behind the first `words`.
fn behind(words: usize) -> impl Fn(&Command) -> Command {
    let words = u32::try_from(words).unwrap_or(u32::MAX);
    move |command| Command {
        word_start: command.word_start.saturating_add(words),
        ..*command
    }
}

impl Default for Survey {
    fn default() -> Survey {
        Survey {
            kinds: [0; COMMANDS_MAX],
            words: 0,
        }
    }
}

impl Default for Commands {
    fn default() -> Commands {
        Commands {
            items: HostVec::new(),
            survey: Some(Survey::default()),
        }
    }
}

impl From<Vec<Command>> for Commands {
    fn from(items: Vec<Command>) -> Commands {
        Commands {
            items: items.into(),
            survey: None,
        }
    }
}

impl PartialEq for Commands {
    fn eq(&self, other: &Commands) -> bool {
        self.items == other.items
    }
}

impl Eq for Commands {}

impl Deref for Commands {
    type Target = [Command];

    fn deref(&self) -> &[Command] {
        &self.items
    }
}

impl DerefMut for Commands {
    fn deref_mut(&mut self) -> &mut [Command] {
        self.survey = None;
        &mut self.items
    }
}

impl<'a> IntoIterator for &'a Commands {
    type Item = &'a Command;
    type IntoIter = std::slice::Iter<'a, Command>;

    fn into_iter(self) -> Self::IntoIter {
        self.items.iter()
    }
}

impl Serialize for Commands {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.items.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Commands {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Commands, D::Error> {
        Vec::deserialize(deserializer).map(Commands::from)
    }
}

/// The present content of a place where a command is to be written.
const ANY: Command = Command {
    entity: EntityId::NONE,
    sequence: 0,
    word_start: 0,
    kind: 0,
    word_count: 0,
};
/// The number of commands that take a thread about 20 µs.
const GRAIN: usize = 16 * 1024;

#[cfg(test)]
mod tests {
    use shared::EntityId;

    use super::*;

    fn command(kind: u16, word_start: u32, word_count: u16) -> Command {
        Command {
            entity: EntityId::NONE,
            sequence: 0,
            word_start,
            kind,
            word_count,
        }
    }

    #[test]
    fn what_is_known_is_what_a_second_look_finds() {
        let mut commands = Commands::default();
        for i in 0..50_000 {
            commands.push(command((i % 11) as u16, i % 977, (i % 5) as u16));
        }
        let kept = commands.survey();
        assert_eq!(kept, Survey::of(&commands));
        assert_eq!(kept.words, 976 + 4);
        commands.order(1, Tick(2));
        assert_eq!(commands.survey(), kept);
        commands[7] = command(3, 5000, 9);
        assert_eq!(commands.survey().words, 5009);
        assert_eq!(
            Commands::from(commands.to_vec()).survey(),
            commands.survey()
        );
        commands.clear();
        assert_eq!(commands.survey(), Survey::default());
    }
}
