use device::cpu::Workers;
use rayon::prelude::*;
use shared::{CommandKind, EntityId};

use super::{Command, Commands, Frame};

/// Commands with their words, as one thread collects them for a frame.
#[derive(Clone, Debug, Default)]
pub struct Batch {
    /// Their words begin at places of `words`.
    commands: Commands,
    words: Vec<i32>,
}

impl Batch {
    /// Appends a command.
    pub fn push(&mut self, entity: EntityId, sequence: u32, kind: CommandKind, words: &[i32]) {
        self.commands
            .push(command(self.words.len(), entity, sequence, kind, words));
        self.words.extend_from_slice(words);
    }

    /// Removes the commands at these places, which ascend.
    pub fn remove(&mut self, places: &[usize]) {
        let mut places = places.iter().peekable();
        let mut kept = Batch::default();
        for (place, (command, words)) in self.iter().enumerate() {
            if places.next_if_eq(&&place).is_none() {
                let kind = CommandKind(command.kind);
                kept.push(command.entity, command.sequence, kind, words);
            }
        }
        *self = kept;
    }

    /// Passes each command with its words, which may be changed.
    pub fn change_words(&mut self, mut change: impl FnMut(&Command, &mut [i32])) {
        for command in self.commands.iter() {
            let start = command.word_start as usize;
            let end = start + usize::from(command.word_count);
            if let Some(words) = self.words.get_mut(start..end) {
                change(command, words);
            }
        }
    }

    /// Removes all commands and keeps the memory.
    pub fn clear(&mut self) {
        self.commands.clear();
        self.words.clear();
    }

    /// Each command with its words, in the order of arrival.
    pub fn iter(&self) -> impl Iterator<Item = (&Command, &[i32])> {
        self.commands.iter().map(|command| {
            let start = command.word_start as usize;
            let words = start..start + usize::from(command.word_count);
            (command, &self.words[words])
        })
    }

    /// The number of commands.
    pub fn len(&self) -> usize {
        self.commands.len()
    }

    pub fn is_empty(&self) -> bool {
        self.commands.is_empty()
    }
}

impl Frame {
    /// Appends the commands of batches, one batch after the other.
    pub fn append(&mut self, workers: &Workers, batches: &[&Batch]) {
        let commands = batches.iter().map(|batch| batch.len()).sum();
        let words = batches.iter().map(|batch| batch.words.len()).sum();
        self.commands.reserve(commands);
        self.words.reserve(words);
        match workers.pool_for(commands) {
            Some(pool) => pool.install(|| {
                for batch in batches {
                    self.commands
                        .append_on_threads(&batch.commands, self.words.len());
                    let words = batch.words.par_iter().with_min_len(GRAIN);
                    self.words.extend_on_threads(words.copied());
                }
            }),
            None => {
                for batch in batches {
                    self.commands.append(&batch.commands, self.words.len());
                    self.words.extend_from_slice(&batch.words);
                }
            }
        }
    }
}

/// A command whose words begin at a place among others.
pub fn command(
    word_start: usize,
    entity: EntityId,
    sequence: u32,
    kind: CommandKind,
    words: &[i32],
) -> Command {
    // A command with more words than can be counted is malformed all the same, and one
    // that begins beyond all counts is rejected with the frame.
    Command {
        entity,
        sequence,
        word_start: u32::try_from(word_start).unwrap_or(u32::MAX),
        kind: kind.id(),
        word_count: u16::try_from(words.len()).unwrap_or(u16::MAX),
    }
}

/// The number of words that take a thread some microseconds.
const GRAIN: usize = 8 * 1024;

#[cfg(test)]
mod tests {
    use shared::Tick;

    use super::*;

    #[test]
    fn batches_make_the_frame_that_single_commands_make() {
        let mut one_by_one = Frame::new(Tick(0));
        one_by_one.spawn(0, 7);
        let mut in_batches = one_by_one.clone();
        let mut batches = vec![Batch::default(); 3];
        for (number, batch) in (0u32..).zip(&mut batches) {
            // The second one is empty.
            for i in 0..20_000 * (1 - number % 2) {
                let entity = EntityId::new(i, number + 1);
                let words = [i as i32, number as i32, 5];
                let words = &words[..i as usize % 4];
                let kind = CommandKind((i % 9) as u16);
                batch.push(entity, i, kind, words);
                one_by_one.push(entity, i, kind, words);
            }
        }
        let all: Vec<&Batch> = batches.iter().collect();
        let alone = in_batches.clone();
        for (threads, mut frame) in [(1, alone), (3, in_batches.clone())] {
            frame.append(&Workers::new(threads).unwrap(), &all);
            assert_eq!(frame, one_by_one, "{threads} threads");
            assert_eq!(frame.commands.survey(), one_by_one.commands.survey());
            assert!(frame.check(Tick(0)).is_ok());
        }
        in_batches.append(&Workers::new(1).unwrap(), &[]);
        assert_eq!(in_batches.commands.len(), 1);
    }
}
