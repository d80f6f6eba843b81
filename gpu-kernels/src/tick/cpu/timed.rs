use std::collections::HashMap;

use shared::{EntityId, Occasion, Tick, WorldConfig};

use super::State;
use crate::logic::Catalog;
use crate::tick::counts::Counts;
use crate::tick::deferred::DeferredCommand;
use crate::tick::state::{Snapshot, part};
use crate::tick::timed::{TimedCommand, next_sequence_element};

/// The commands that wait for their tick: a list for each tick with due commands, in the
/// order in which they were scheduled. So the cost of a tick depends on the commands due in
/// it, not on how many wait.
pub struct Timed {
    room: usize,
    /// All commands in lists, by place; unused places are in `free`.
    commands: Vec<TimedCommand>,
    /// By place: the next one in its list.
    next: Vec<u32>,
    free: Vec<u32>,
    by_due: HashMap<Tick, List>,
    next_sequence: u64,
}

/// The first and the last place of a list.
#[derive(Clone, Copy)]
struct List {
    first: u32,
    last: u32,
}

impl Timed {
    pub fn new(config: &WorldConfig) -> Timed {
        Timed {
            room: config.limits.timed_commands as usize,
            commands: vec![],
            next: vec![],
            free: vec![],
            by_due: HashMap::new(),
            next_sequence: 0,
        }
    }

    /// The number of waiting commands.
    pub fn len(&self) -> usize {
        self.commands.len() - self.free.len()
    }

    pub fn next_sequence(&self) -> u64 {
        self.next_sequence
    }

    /// All waiting commands, by sequence.
    pub fn pending(&self) -> Vec<TimedCommand> {
        let lists = self.by_due.values().flat_map(|&list| self.walk(list));
        let mut pending: Vec<_> = lists.map(|place| self.commands[place as usize]).collect();
        pending.sort_unstable_by_key(|command| command.sequence);
        pending
    }

    pub fn restore(&mut self, snapshot: &Snapshot) {
        self.commands.clear();
        self.next.clear();
        self.free.clear();
        self.by_due.clear();
        for &command in &snapshot.timed {
            self.insert(command);
        }
        self.next_sequence = snapshot.next_sequence;
    }

    fn walk(&self, list: List) -> impl Iterator<Item = u32> + '_ {
        let next = move |&place: &u32| (place != list.last).then(|| self.next[place as usize]);
        std::iter::successors(Some(list.first), next)
    }

    fn insert(&mut self, command: TimedCommand) {
        let place = self.free.pop().unwrap_or_else(|| {
            self.commands.push(command);
            self.next.push(0);
            self.commands.len() as u32 - 1
        });
        self.commands[place as usize] = command;
        let list = self.by_due.entry(command.due).or_insert(List {
            first: place,
            last: place,
        });
        self.next[list.last as usize] = place;
        list.last = place;
    }

    /// Removes the commands that are due in a tick, and passes each on.
    fn take_due(&mut self, tick: Tick, mut each: impl FnMut(&TimedCommand)) {
        let Some(list) = self.by_due.remove(&tick) else {
            return;
        };
        let mut place = list.first;
        loop {
            each(&self.commands[place as usize]);
            self.free.push(place);
            if place == list.last {
                return;
            }
            place = self.next[place as usize];
        }
    }
}

impl State {
    /// Removes the commands that are due in this tick, and passes them on by sequence.
    pub fn take_due(&mut self, mut each: impl FnMut(&TimedCommand)) {
        let mut elements = 0u64;
        self.timed.take_due(self.tick, |command| {
            elements = elements.wrapping_add(command.element());
            each(command);
        });
        self.subtract(part::TIMED, elements);
    }

    /// Removes the atomic commands that waited for this tick.
    pub fn take_deferred(&mut self) -> Vec<DeferredCommand> {
        let deferred = std::mem::take(&mut self.deferred);
        for (place, command) in deferred.iter().enumerate() {
            self.subtract(part::TIMED, command.element(place));
        }
        deferred
    }

    /// Lets atomic commands wait for the next tick.
    pub fn defer(&mut self, commands: Vec<DeferredCommand>) {
        for (place, command) in commands.iter().enumerate() {
            self.add(part::TIMED, command.element(place));
        }
        self.deferred = commands;
    }

    /// Schedules what an occasion makes an entity of a kind give in the next tick. `other` is the
    /// other entity of the occasion.
    pub fn give_hooks(
        &mut self,
        catalog: &Catalog,
        (occasion, kind): (Occasion, u16),
        entity: EntityId,
        other: EntityId,
        counts: &mut Counts,
    ) {
        let due = self.tick.next();
        for hook in catalog.hooks(occasion, kind) {
            self.schedule(TimedCommand::of_hook(due, entity, hook, other), counts);
        }
    }

    /// Schedules a command, if there is room.
    pub fn schedule(&mut self, mut command: TimedCommand, counts: &mut Counts) {
        if self.timed.len() == self.timed.room {
            counts.timed_dropped += 1;
            return;
        }
        let sequence = self.timed.next_sequence;
        command.sequence = sequence;
        self.timed.next_sequence += 1;
        self.timed.insert(command);
        self.subtract(part::TIMED, next_sequence_element(sequence));
        self.add(part::TIMED, next_sequence_element(sequence + 1));
        self.add(part::TIMED, command.element());
    }
}
