use shared::{CommandKind, EntityId, NotificationKind, Slot, Tick, WorldConfig};

use device::cpu::{Workers, grow, ranges, take};

use super::causes::{Causes, TickCauses};
use super::{Due, Index, State};
use crate::logic::{Catalog, Emit, Invocation, World};
use crate::tick::frame::Command;
use crate::tick::notification::Notification;
use crate::tick::output::TickOutput;
use crate::tick::timed::{TimedCommand, due_after};

/// The tick's updates, which its commands emit.
pub struct Updates {
    updates_max: u64,
    /// (slot × columns + column, the value's bits).
    pub pairs: Vec<(u32, u32)>,
    pub len: usize,
    /// Per command: the number of its updates, then their start.
    offsets: Vec<u64>,
    verdicts: Vec<Verdict>,
    /// Timed commands that each thread's commands schedule.
    after: Vec<Vec<TimedCommand>>,
    /// Notifications of each thread's commands.
    notifications: Vec<Vec<Notification>>,
    causes: Option<Causes>,
}

/// The verdict on a command.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Verdict {
    #[default]
    Malformed,
    Stale,
    Run(CommandKind),
}

impl Updates {
    pub fn new(config: &WorldConfig) -> Updates {
        Updates {
            updates_max: u64::from(config.limits.updates_per_tick),
            pairs: vec![],
            len: 0,
            offsets: vec![],
            verdicts: vec![],
            after: vec![],
            notifications: vec![],
            causes: Causes::new(config),
        }
    }

    /// Runs every command twice: to count its updates, then to store them. The first run
    /// also collects its timed commands and notifications. Each thread collects those of
    /// its own commands, and they are joined in command order.
    pub fn emit(
        &mut self,
        workers: &Workers,
        catalog: &Catalog,
        state: &mut State,
        index: &Index,
        due: &Due,
        out: &mut TickOutput,
    ) {
        let n = due.commands.len();
        let world = Frozen { state, index };
        self.count(workers, catalog, world, due);
        let total = exclusive_scan(&mut self.offsets[..n]);
        for verdict in &self.verdicts[..n] {
            match verdict {
                Verdict::Malformed => out.counts.malformed += 1,
                Verdict::Stale => out.counts.stale += 1,
                Verdict::Run(_) => out.counts.applied += 1,
            }
        }
        // A command keeps all its updates or none: from the first that doesn't fit, all
        // lose theirs.
        let offsets = &self.offsets[..n];
        let end = |i: usize| offsets.get(i + 1).copied().unwrap_or(total);
        let kept = match total > self.updates_max {
            true => partition_point(n, |i| end(i) <= self.updates_max),
            false => n,
        };
        let len = offsets.get(kept).copied().unwrap_or(total);
        self.len = len as usize;
        out.counts.updates = len;
        out.counts.updates_dropped = total - len;
        if let Some(causes) = &mut self.causes {
            causes.next_tick();
        }
        self.store(workers, catalog, world, due, kept);
        for after in &mut self.after {
            for command in after.drain(..) {
                state.schedule(command, &mut out.counts);
            }
        }
        for notifications in &mut self.notifications {
            for notification in notifications.drain(..) {
                out.notify(notification, catalog.notifications_max());
            }
        }
    }

    /// Judges every command and counts its updates into `offsets`.
    fn count(&mut self, workers: &Workers, catalog: &Catalog, world: Frozen<'_>, due: &Due) {
        let n = due.commands.len();
        let parts = workers.parts_of(n, COMMANDS_GRAIN);
        grow(&mut self.offsets, n);
        grow(&mut self.verdicts, n);
        let (mut offsets, mut verdicts) = (&mut self.offsets[..n], &mut self.verdicts[..n]);
        if self.after.len() < parts {
            self.after.resize_with(parts, Vec::new);
            self.notifications.resize_with(parts, Vec::new);
        }
        let notes = self.after.iter_mut().zip(&mut self.notifications);
        let tasks = ranges(n, parts).zip(notes).map(|(range, notes)| {
            let len = range.len();
            let (offsets, verdicts) = (take(&mut offsets, len), take(&mut verdicts, len));
            (range, offsets, verdicts, notes)
        });
        workers.run(tasks.collect(), |(range, offsets, verdicts, notes)| {
            let (after, notifications) = notes;
            for (i, command) in range.enumerate() {
                let mut count = CountUpdates {
                    n: 0,
                    tick: world.state.tick,
                    after: &mut *after,
                    notifications: &mut *notifications,
                };
                let command = &due.commands[command];
                verdicts[i] = world.judge(catalog, command);
                if let Verdict::Run(kind) = verdicts[i] {
                    world.run(catalog, due, command, kind, &mut count);
                }
                offsets[i] = count.n;
            }
        });
    }

    /// Stores the updates of the first `kept` commands.
    fn store(
        &mut self,
        workers: &Workers,
        catalog: &Catalog,
        world: Frozen<'_>,
        due: &Due,
        kept: usize,
    ) {
        let causes = self.causes.as_ref().map(Causes::of_tick);
        grow(&mut self.pairs, self.len);
        let mut pairs = &mut self.pairs[..self.len];
        let offsets = &self.offsets[..due.commands.len()];
        let start = |command: usize| match command < kept {
            true => offsets[command] as usize,
            false => self.len,
        };
        let parts = workers.parts_of(kept, COMMANDS_GRAIN);
        let tasks = ranges(kept, parts).map(|range| {
            let n = start(range.end) - start(range.start);
            let store = StoreUpdates {
                columns: world.state.columns,
                pairs: take(&mut pairs, n),
                next: 0,
                causes,
                command: 0,
            };
            (range, store)
        });
        let verdicts = &self.verdicts;
        workers.run(tasks.collect(), |(range, mut store)| {
            for command in range {
                if let Verdict::Run(kind) = verdicts[command] {
                    store.command = command as u32;
                    world.run(catalog, due, &due.commands[command], kind, &mut store);
                }
            }
        });
    }

    /// Adds notifications of items with a new owner, before any entity dies.
    pub fn notify_of_picks(catalog: &Catalog, state: &State, index: &Index, out: &mut TickOutput) {
        let Some(owner) = catalog.tells_owner() else {
            return;
        };
        if !catalog.tells(NotificationKind::PICKED) {
            return;
        }
        let world = Frozen { state, index };
        let is_owned = |(_, columns, _): &(Slot, &[u16], &[i32])| {
            columns.iter().any(|&column| usize::from(column) == owner)
        };
        let changes = std::mem::take(&mut out.changes);
        for (item, ..) in changes.iter().filter(is_owned) {
            if let Some(notification) = catalog.picked(&world, item) {
                out.notify(notification, catalog.notifications_max());
            }
        }
        out.changes = changes;
    }

    /// The kind of the first command that updated an attribute, in worlds that record it.
    pub fn causes(&self) -> Option<impl Fn(u32) -> u16 + Sync + '_> {
        let causes = self.causes.as_ref()?.of_tick();
        Some(move |key| match self.verdicts[causes.first(key)] {
            Verdict::Run(kind) => kind.id(),
            // Only commands that ran have updates.
            Verdict::Malformed | Verdict::Stale => u16::MAX,
        })
    }

    /// The kind of the tick's n-th command, if it ran.
    pub fn ran(&self, command: usize) -> Option<CommandKind> {
        match self.verdicts[command] {
            Verdict::Run(kind) => Some(kind),
            Verdict::Malformed | Verdict::Stale => None,
        }
    }
}

/// The world as commands see it.
#[derive(Clone, Copy)]
struct Frozen<'a> {
    state: &'a State,
    index: &'a Index,
}

impl Frozen<'_> {
    fn judge(&self, catalog: &Catalog, command: &Command) -> Verdict {
        match catalog.command(command.kind, usize::from(command.word_count)) {
            None => Verdict::Malformed,
            Some(kind) if catalog.has_actor(kind) && !self.state.slots.has(command.entity) => {
                Verdict::Stale
            }
            Some(kind) => Verdict::Run(kind),
        }
    }

    fn run(
        &self,
        catalog: &Catalog,
        due: &Due,
        command: &Command,
        kind: CommandKind,
        emit: &mut impl Emit,
    ) {
        let start = command.word_start as usize;
        let invocation = Invocation {
            tick: self.state.tick,
            entity: command.entity,
            words: &due.words[start..start + usize::from(command.word_count)],
        };
        catalog.run(kind, self, &invocation, emit);
    }
}

impl World for Frozen<'_> {
    fn attribute(&self, slot: Slot, column: usize) -> i32 {
        self.state.rows[slot.index() * self.state.columns + column]
    }

    fn generation(&self, slot: Slot) -> Option<u32> {
        let i = slot.index();
        let live = i < self.state.slots.used() && self.state.slots.is_live(i);
        live.then(|| self.state.slots.generations()[i])
    }

    fn kind(&self, slot: Slot) -> u16 {
        self.state.slots.kinds()[slot.index()]
    }

    fn within(&self, center: [i32; 3], radius: i32, visit: impl FnMut(Slot)) {
        self.index.within(center, radius, visit);
    }
}

struct CountUpdates<'a> {
    n: u64,
    tick: Tick,
    after: &'a mut Vec<TimedCommand>,
    notifications: &'a mut Vec<Notification>,
}

impl Emit for CountUpdates<'_> {
    fn update(&mut self, _: Slot, _: usize, _: i32) {
        self.n += 1;
    }

    fn after(&mut self, ticks: u32, entity: EntityId, kind: CommandKind, words: &[i32]) {
        let due = due_after(self.tick, ticks);
        self.after
            .push(TimedCommand::new(due, entity, kind.id(), words));
    }

    fn notify(&mut self, notification: Notification) {
        self.notifications.push(notification);
    }
}

struct StoreUpdates<'a> {
    columns: usize,
    pairs: &'a mut [(u32, u32)],
    next: usize,
    causes: Option<TickCauses<'a>>,
    command: u32,
}

impl Emit for StoreUpdates<'_> {
    fn update(&mut self, slot: Slot, column: usize, value: i32) {
        let key = slot.index() * self.columns + column;
        if let Some(causes) = &self.causes {
            causes.note(key, self.command);
        }
        self.pairs[self.next] = (key as u32, value as u32);
        self.next += 1;
    }

    /// Already collected when the updates were counted.
    fn after(&mut self, _: u32, _: EntityId, _: CommandKind, _: &[i32]) {}

    /// Already collected, like timed commands.
    fn notify(&mut self, _: Notification) {}
}

/// Replaces each number by the sum of those before it, and returns the total.
pub fn exclusive_scan(numbers: &mut [u64]) -> u64 {
    let mut sum = 0;
    for number in numbers {
        sum += std::mem::replace(number, sum);
    }
    sum
}

/// The first of `0..n` for which `holds` no longer holds.
pub fn partition_point(n: usize, holds: impl Fn(usize) -> bool) -> usize {
    let (mut low, mut high) = (0, n);
    while low < high {
        let middle = (low + high) / 2;
        if holds(middle) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    low
}

/// The minimum number of commands that is worth a second thread.
const COMMANDS_GRAIN: usize = 2048;
