use std::ops::Range;

use shared::world::command::{COMMANDS_MAX, WAITING_WORDS_MAX};
use shared::{EntityId, Slot, WorldConfig};

use super::State;
use crate::tick::counts::Counts;
use crate::tick::deferred::DeferredCommand;
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
    /// Atomic commands that waited, and their words.
    deferred: Vec<DeferredCommand>,
    deferred_commands: Vec<Command>,
    deferred_words: Vec<i32>,
}

/// All commands of a tick: the frame's, then those that are due. Behind them are the places of
/// atomic commands that waited for this tick, which are no commands of it otherwise.
#[derive(Clone, Copy)]
pub struct TickCommands<'a> {
    given: &'a [Command],
    given_words: &'a [i32],
    due: &'a [Command],
    due_words: &'a [i32],
    deferred: &'a [DeferredCommand],
    deferred_commands: &'a [Command],
    deferred_words: &'a [i32],
}

impl<'a> TickCommands<'a> {
    /// By number of a command: whether the tick has it, also among those that waited.
    pub fn kinds(&self) -> [bool; COMMANDS_MAX] {
        let mut kinds = [false; COMMANDS_MAX];
        let all = self.given.iter().chain(self.due);
        for command in all.chain(self.deferred_commands) {
            if let Some(has) = kinds.get_mut(usize::from(command.kind)) {
                *has = true;
            }
        }
        kinds
    }

    /// Without those that waited.
    pub fn len(&self) -> usize {
        self.given.len() + self.due.len()
    }

    /// The places of atomic commands that waited, in order.
    pub fn deferred_places(&self) -> Range<usize> {
        self.len()..self.len() + self.deferred.len()
    }

    /// The n-th command, if it waited for this tick.
    fn deferred(&self, n: usize) -> Option<&'a DeferredCommand> {
        self.deferred.get(n.checked_sub(self.len())?)
    }

    /// Whether the n-th command waited as its references had changed.
    pub fn has_moved(&self, n: usize) -> bool {
        self.deferred(n).is_some_and(|waited| waited.has_moved)
    }

    /// The n-th command and its place, to wait for the next tick.
    pub fn defer(&self, n: usize, has_moved: bool) -> (usize, DeferredCommand) {
        let command = self.get(n);
        let mut words = [0; WAITING_WORDS_MAX];
        let given = self.words(n);
        words[..given.len()].copy_from_slice(given);
        let deferred = DeferredCommand {
            entity: command.entity,
            kind: command.kind,
            word_count: command.word_count,
            sequence: command.sequence,
            is_given: self.was_given(n),
            has_moved,
            words,
        };
        (n, deferred)
    }

    #[inline]
    pub fn get(&self, n: usize) -> &'a Command {
        self.with_all_words(n).0
    }

    /// The n-th command's words.
    #[inline]
    pub fn words(&self, n: usize) -> &'a [i32] {
        let (command, words) = self.with_all_words(n);
        &words[command.word_start as usize..][..usize::from(command.word_count)]
    }

    /// The n-th command, and the words among which its own are.
    #[inline]
    pub fn with_all_words(&self, n: usize) -> (&'a Command, &'a [i32]) {
        if let Some(command) = self.given.get(n) {
            (command, self.given_words)
        } else if let Some(command) = self.due.get(n - self.given.len()) {
            (command, self.due_words)
        } else {
            (&self.deferred_commands[n - self.len()], self.deferred_words)
        }
    }

    /// Whether the n-th command is the frame's.
    #[inline]
    pub fn is_given(&self, n: usize) -> bool {
        n < self.given.len()
    }

    /// Whether the n-th command is the frame's, or was that of the frame in which it began to wait.
    #[inline]
    pub fn was_given(&self, n: usize) -> bool {
        self.is_given(n) || self.deferred(n).is_some_and(|waited| waited.is_given)
    }

    /// The frame's commands before the n-th, which is the frame's too.
    pub fn given_before(&self, n: usize) -> &'a [Command] {
        &self.given[..n]
    }

    /// Copies all, with those that waited, to one list of commands and one of words.
    pub fn copy_to(&self, commands: &mut Vec<Command>, words: &mut Vec<i32>) {
        words.clear();
        words.extend_from_slice(self.given_words);
        words.extend_from_slice(self.due_words);
        words.extend_from_slice(self.deferred_words);
        commands.clear();
        commands.extend_from_slice(self.given);
        let mut extend = |more: &[Command], behind: usize| {
            commands.extend(more.iter().map(|&command| Command {
                word_start: command.word_start + behind as u32,
                ..command
            }));
        };
        let given = self.given_words.len();
        extend(self.due, given);
        extend(self.deferred_commands, given + self.due_words.len());
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
            deferred: vec![],
            deferred_commands: vec![],
            deferred_words: vec![],
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
            deferred: &self.deferred,
            deferred_commands: &self.deferred_commands,
            deferred_words: &self.deferred_words,
        }
    }

    /// Gathers the atomic commands that waited for this tick.
    fn gather_deferred(&mut self, state: &mut State) {
        self.deferred = state.take_deferred();
        self.deferred_commands.clear();
        self.deferred_words.clear();
        for waited in &self.deferred {
            self.deferred_commands.push(Command {
                entity: waited.entity,
                sequence: waited.sequence,
                word_start: self.deferred_words.len() as u32,
                kind: waited.kind,
                word_count: waited.word_count,
            });
            self.deferred_words.extend_from_slice(waited.words());
        }
    }

    /// Gathers the commands after the frame's: the timed ones that are due, and those
    /// of world rules. Rule after rule, each gives a command to its kind's entities by ascending
    /// slot, if (tick + slot) is a multiple of the rule's ticks. Rules come last, since a
    /// command that they lose to the limit comes again. Positions are those before the tick.
    pub fn gather(&mut self, frame: &Frame, state: &mut State, counts: &mut Counts) {
        self.commands.clear();
        self.words.clear();
        self.gather_deferred(state);
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
            let of_ended = rule.of_ended;
            if of_ended.is_some_and(|relation| !state.held.any_ended(relation, rule.kind)) {
                continue;
            }
            for slot in (first as usize..state.slots.used()).step_by(rule.ticks as usize) {
                if !state.slots.is_live(slot) || state.slots.kinds()[slot] != rule.kind {
                    continue;
                }
                if of_ended.is_some_and(|relation| !state.held.has_ended(relation, slot)) {
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
