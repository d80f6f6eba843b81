//! Stage: applying the frame, and adding timed commands and those of world rules. Timed ones can
//! be read back after the tick.

use device::{DriverError, Grid};
use shared::CommandKind;

use super::Part;
use super::launcher::Launcher;
use super::regions::RegionsKernels;
use super::sizes::Sizes;
use crate::tick::backend::DueCommands;
use crate::tick::counts::Counters;
use crate::tick::frame::Command;
use crate::tick::timed::TIMED_WORDS_MAX;

device::kernels! {
    pub struct DueKernels {
        apply_frame: "apply_frame",
        timed_count: "due_timed_count",
        timed_store: "due_timed_store",
        delayed: "due_delayed",
        rules_count: "due_count",
        rules_store: "due_store",
        end: "due_end",
    }
}

impl DueKernels {
    /// Applies the frame's changes of observers, clients, slots and regions.
    pub fn apply_frame(&self, run: &Launcher, regions: &RegionsKernels) -> Result<(), DriverError> {
        let tick = &run.tick;
        let items = tick
            .frame_commands
            .max(tick.observer_sets)
            .max(tick.forgets)
            .max(tick.releases);
        run.items(self.apply_frame, u64::from(items))?;
        run.items(regions.apply, u64::from(tick.region_sets))
    }

    pub fn run(&self, run: &Launcher) -> Result<(), DriverError> {
        let timed = u64::from(run.world.timed_max);
        run.items(self.timed_count, timed)?;
        run.items(self.timed_store, timed)?;
        run.items(self.delayed, u64::from(run.tick.afters))?;
        if run.world.rules > 0 {
            let items = u64::from(run.world.rules) * u64::from(run.world.capacity);
            run.items(self.rules_count, items)?;
            run.items(self.rules_store, items)?;
        }
        run.grid(self.end, Grid::blocks(1, 1))
    }
}

/// Timed commands of the last tick, and where the device has them.
#[derive(Default)]
pub struct DueBuffer {
    /// The place of the first one among the tick's commands, and how many there are.
    first: u64,
    len: u64,
    commands: Vec<Command>,
    words: Vec<i32>,
}

impl DueBuffer {
    /// Notes the commands of a tick whose frame has given so many.
    pub fn end_tick(&mut self, given: u32, counters: &Counters, sizes: &Sizes) {
        self.first = u64::from(given);
        // The others were dropped.
        let room = sizes.commands.saturating_sub(self.first);
        self.len = counters.timed_due.min(room);
        self.commands.clear();
        self.words.clear();
    }

    /// Those that were read.
    pub fn commands(&self) -> DueCommands<'_> {
        DueCommands {
            commands: &self.commands,
            words: &self.words,
            has_rules: false,
            left_out: match self.commands.is_empty() {
                true => 0,
                false => self.len - self.commands.len() as u64,
            },
        }
    }

    /// Lets the commands find their words, which the device has behind those of rules.
    fn settle(&mut self, rule_words: u32) {
        for command in &mut self.commands {
            command.word_start = (command.word_start & !DUE_WORDS).wrapping_sub(rule_words);
        }
    }
}

impl Part {
    /// Reads the timed commands of the last tick, if any of the wanted kinds may be among them. No
    /// tick may be in flight.
    pub(super) fn fetch_due(
        &mut self,
        wants: &dyn Fn(CommandKind) -> bool,
    ) -> Result<(), DriverError> {
        let mut waiting = self
            .waiting
            .iter()
            .filter_map(|kind| u16::try_from(kind).ok());
        let n = self.due.len.min(DUE_READ_MAX);
        if n == 0 || !waiting.any(|kind| wants(CommandKind(kind))) {
            return Ok(());
        }
        self.device.enter()?;
        let world = &self.world;
        let words = world.due_words.at(u64::from(world.rule_words));
        let commands = self.fetch(world.commands.at(self.due.first), n)?;
        self.due.words = self.fetch(words, n * TIMED_WORDS_MAX as u64)?;
        self.due.commands = commands;
        self.due.settle(world.rule_words);
        Ok(())
    }
}

/// As in `kernels/tick/world.cuh`: the words are not the frame's.
const DUE_WORDS: u32 = 1 << 31;
/// The most timed commands of a tick that are read back: some tenths of a millisecond.
const DUE_READ_MAX: u64 = 1 << 14;

#[cfg(test)]
mod tests {
    use shared::EntityId;

    use super::*;

    #[test]
    fn commands_of_the_device_find_their_words() {
        let rule_words = 7;
        let command = |n: u32, word_count| Command {
            entity: EntityId::new(n, 1),
            sequence: n,
            word_start: (rule_words + n * TIMED_WORDS_MAX as u32) | DUE_WORDS,
            kind: 9,
            word_count,
        };
        let mut due = DueBuffer {
            first: 3,
            len: 5,
            commands: vec![command(0, 2), command(1, 0), command(2, 5)],
            words: (0..15).collect(),
        };
        due.settle(rule_words);
        let found: Vec<(u32, &[i32])> = due
            .commands()
            .iter()
            .map(|(command, words)| (command.sequence, words))
            .collect();
        let expected: [(u32, &[i32]); 3] = [(0, &[0, 1]), (1, &[]), (2, &[10, 11, 12, 13, 14])];
        assert_eq!(found, expected);
        assert_eq!(due.commands().left_out, 2);
    }
}
