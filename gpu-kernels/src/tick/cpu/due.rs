use shared::{EntityId, Slot, WorldConfig};

use super::State;
use crate::tick::counts::Counts;
use crate::tick::frame::{Command, Frame};
use crate::tick::timed::TimedCommand;

/// The tick's commands: the frame's, then timed commands and those of world rules.
pub struct Due {
    rules: Vec<shared::Every>,
    commands_max: usize,
    dimensions: usize,
    /// Those that are due beside the frame's, and their words.
    commands: Vec<Command>,
    words: Vec<i32>,
}

/// All commands of a tick: the frame's, then those that are due.
#[derive(Clone, Copy)]
pub struct TickCommands<'a> {
    given: &'a [Command],
    given_words: &'a [i32],
    due: &'a [Command],
    due_words: &'a [i32],
}

impl<'a> TickCommands<'a> {
    pub fn len(&self) -> usize {
        self.given.len() + self.due.len()
    }

    #[inline]
    pub fn get(&self, n: usize) -> &'a Command {
        match self.given.get(n) {
            Some(command) => command,
            None => &self.due[n - self.given.len()],
        }
    }

    /// The n-th command's words.
    #[inline]
    pub fn words(&self, n: usize) -> &'a [i32] {
        let words = match self.is_given(n) {
            true => self.given_words,
            false => self.due_words,
        };
        let command = self.get(n);
        &words[command.word_start as usize..][..usize::from(command.word_count)]
    }

    /// Whether the n-th command is the frame's.
    #[inline]
    pub fn is_given(&self, n: usize) -> bool {
        n < self.given.len()
    }

    /// The frame's commands before the n-th, which is the frame's too.
    pub fn given_before(&self, n: usize) -> &'a [Command] {
        &self.given[..n]
    }

    /// Copies all to one list of commands and one of words.
    pub fn copy_to(&self, commands: &mut Vec<Command>, words: &mut Vec<i32>) {
        words.clear();
        words.extend_from_slice(self.given_words);
        words.extend_from_slice(self.due_words);
        commands.clear();
        commands.extend_from_slice(self.given);
        let behind = self.given_words.len() as u32;
        commands.extend(self.due.iter().map(|&command| Command {
            word_start: command.word_start + behind,
            ..command
        }));
    }
}

impl Due {
    pub fn new(config: &WorldConfig) -> Due {
        Due {
            rules: config.every.clone(),
            commands_max: config.limits.commands_per_tick as usize,
            dimensions: config.dimensions(),
            commands: vec![],
            words: vec![],
        }
    }

    /// Those that were gathered, and their words.
    pub fn commands(&self) -> (&[Command], &[i32]) {
        (&self.commands, &self.words)
    }

    /// The frame's commands and those that were gathered for it.
    pub fn after<'a>(&'a self, frame: &'a Frame) -> TickCommands<'a> {
        TickCommands {
            given: &frame.commands[..frame.commands.len().min(self.commands_max)],
            given_words: &frame.words,
            due: &self.commands,
            due_words: &self.words,
        }
    }

    /// Gathers the commands after the frame's: the timed ones that are due, and those
    /// of world rules. Rule after rule, each gives a command to its kind's entities by ascending
    /// slot, if (tick + slot) is a multiple of the rule's ticks. Rules come last, since a
    /// command that they lose to the limit comes again. Positions are those before the tick.
    pub fn gather(&mut self, frame: &Frame, state: &mut State, counts: &mut Counts) {
        self.commands.clear();
        self.words.clear();
        let room = self.commands_max.saturating_sub(frame.commands.len());
        let mut total = frame.commands.len();
        state.take_due(|timed| {
            total += 1;
            if self.commands.len() < room {
                self.commands.push(Command {
                    entity: timed.entity,
                    sequence: timed.sequence as u32,
                    word_start: self.words.len() as u32,
                    kind: timed.kind,
                    word_count: timed.word_count,
                });
                self.words.extend_from_slice(timed.words());
            }
        });
        for after in &frame.after {
            let command = &after.command;
            let due = state.tick.after(after.ticks);
            let words = frame.words_of(command);
            let timed = TimedCommand::new(due, command.entity, command.kind, words);
            state.schedule(timed, counts);
        }
        for (number, rule) in self.rules.iter().enumerate() {
            let shared_words = self.words.len() as u32;
            self.words.extend_from_slice(&rule.words);
            let ticks = u64::from(rule.ticks);
            let first = (ticks - state.tick.0 % ticks) % ticks;
            for slot in (first as usize..state.slots.used()).step_by(rule.ticks as usize) {
                if !state.slots.is_live(slot) || state.slots.kinds()[slot] != rule.kind {
                    continue;
                }
                total += 1;
                if self.commands.len() < room {
                    let word_start = match rule.own_place {
                        None => shared_words,
                        Some(place) => {
                            let start = self.words.len();
                            self.words.extend_from_slice(&rule.words);
                            let own = &mut self.words[start + usize::from(place)..];
                            let axes = self.dimensions;
                            let row = state.row(Slot(slot as u32));
                            own[..axes].copy_from_slice(&row[..axes]);
                            start as u32
                        }
                    };
                    self.commands.push(Command {
                        entity: EntityId {
                            slot: Slot(slot as u32),
                            generation: state.slots.generations()[slot],
                        },
                        sequence: number as u32,
                        word_start,
                        kind: rule.command.id(),
                        word_count: rule.words.len() as u16,
                    });
                }
            }
        }
        counts.commands = total as u64;
        counts.commands_dropped = (total - self.after(frame).len()) as u64;
    }
}
