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
    /// All commands of the tick, preallocated, and their words.
    pub commands: Vec<Command>,
    pub words: Vec<i32>,
    /// How many of them are the frame's: the first.
    pub given: usize,
}

impl Due {
    pub fn new(config: &WorldConfig) -> Due {
        Due {
            rules: config.every.clone(),
            commands_max: config.limits.commands_per_tick as usize,
            dimensions: config.dimensions(),
            commands: vec![],
            words: vec![],
            given: 0,
        }
    }

    /// Joins the frame's commands with the timed commands that are due and those of world
    /// rules. Rule after rule, each gives a command to its kind's entities by ascending
    /// slot, if (tick + slot) is a multiple of the rule's ticks. Rules come last, since a
    /// command that they lose to the limit comes again. Positions are those before the tick.
    pub fn gather(&mut self, frame: &Frame, state: &mut State, counts: &mut Counts) {
        self.commands.clear();
        self.words.clear();
        let kept = frame.commands.len().min(self.commands_max);
        self.commands.extend_from_slice(&frame.commands[..kept]);
        self.words.extend_from_slice(&frame.words);
        self.given = kept;
        let mut total = frame.commands.len();
        state.take_due(|timed| {
            total += 1;
            if self.commands.len() < self.commands_max {
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
                if self.commands.len() < self.commands_max {
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
        counts.commands_dropped = (total - self.commands.len()) as u64;
    }
}
