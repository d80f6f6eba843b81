use std::collections::BTreeMap;

use script::arith::Random;
use script::interpreter::{Effects, Interpreter, Invocation, Outgoing, Overrun, World};
use script::native::{Call, Host, Thread, View};
use shared::{CommandKind, EntityId, NotificationKind, Refusal, Slot, WorldConfig};

use device::cpu::{Workers, grow, ranges, take};

use super::causes::Causes;
use super::usage::is_surplus;
use super::{Due, Index, State};
use crate::logic::{Catalog, Rest, Scripts};
use crate::space::Area;
use crate::tick::frame::Command;
use crate::tick::notification::Notification;
use crate::tick::output::{Changes, RefusedCommand, TickOutput};
use crate::tick::timed::TimedCommand;
use crate::tick::trace::{Trace, TracedUpdate};

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
    /// Its entity has given it as often in the tick as it may.
    OverPerTick,
    /// It rests after a use.
    Resting,
    /// It used up its budget, and has no effect.
    OverBudget,
    /// It ran, and had no effect.
    Idle,
    Run(CommandKind),
}

/// What decides on commands, and runs them.
#[derive(Clone, Copy)]
pub struct Rules<'a> {
    pub catalog: &'a Catalog,
    pub scripts: &'a Scripts,
}

impl Rules<'_> {
    #[inline]
    fn run_of<'d>(&self, state: &State, due: &'d Due, command: &Command) -> Run<'d> {
        let start = command.word_start as usize;
        let Command {
            entity,
            kind,
            sequence,
            word_count,
            ..
        } = *command;
        Run {
            entity,
            words: &due.words[start..start + usize::from(word_count)],
            random: self.scripts.random_key(state.tick, entity, kind, sequence),
        }
    }
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
        rules: Rules<'_>,
        state: &mut State,
        index: &Index,
        due: &Due,
        out: &mut TickOutput,
    ) {
        let n = due.commands.len();
        let kind_columns = rules.scripts.kind_columns();
        let world = Frozen {
            state,
            index,
            kind_columns,
        };
        self.count(workers, rules, world, due);
        let total = exclusive_scan(&mut self.offsets[..n]);
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
        self.store(workers, rules, world, due, kept);
        self.conclude(rules.catalog, due, (kept, total), state, out);
        for after in &mut self.after {
            for command in after.drain(..) {
                state.schedule(command, &mut out.counts);
            }
        }
        for notifications in &mut self.notifications {
            for notification in notifications.drain(..) {
                out.notify(notification, rules.catalog.notifications_max());
            }
        }
    }

    /// Counts the verdicts, and says which commands of clients had no effect: those from
    /// `kept` on lose their updates. What was used rests.
    fn conclude(
        &self,
        catalog: &Catalog,
        due: &Due,
        (kept, total): (usize, u64),
        state: &mut State,
        out: &mut TickOutput,
    ) {
        let n = due.commands.len();
        let mut over_budget: BTreeMap<u16, u64> = BTreeMap::new();
        let counts = &mut out.counts;
        for (i, command) in due.commands.iter().enumerate() {
            let updates =
                || self.offsets[..n].get(i + 1).copied().unwrap_or(total) > self.offsets[i];
            let reason = match self.verdicts[i] {
                Verdict::Malformed => {
                    counts.malformed += 1;
                    continue;
                }
                Verdict::Stale => {
                    counts.stale += 1;
                    Refusal::Dead
                }
                Verdict::OverPerTick => {
                    counts.over_per_tick += 1;
                    Refusal::OverPerTick
                }
                Verdict::Resting => {
                    counts.resting += 1;
                    Refusal::Resting
                }
                Verdict::OverBudget => {
                    counts.over_budget += 1;
                    *over_budget.entry(command.kind).or_default() += 1;
                    Refusal::BeyondLimits
                }
                verdict => {
                    counts.applied += 1;
                    if i < due.given
                        && state.ready.is_used()
                        && let Some(rest) = catalog.rest(command.kind)
                    {
                        state.rest(command.entity.slot, rest.place, rest.ticks);
                    }
                    match verdict {
                        Verdict::Idle => Refusal::Idle,
                        _ if i >= kept && updates() => Refusal::BeyondLimits,
                        _ => continue,
                    }
                }
            };
            if i < due.given && catalog.is_clients(command.kind) {
                out.refused.push(RefusedCommand {
                    entity: command.entity,
                    sequence: command.sequence,
                    reason,
                });
            }
        }
        let of_kinds = over_budget.into_iter();
        out.over_budget
            .extend(of_kinds.map(|(kind, runs)| (CommandKind(kind), runs)));
    }

    /// Judges every command and counts its updates into `offsets`.
    fn count(&mut self, workers: &Workers, rules: Rules<'_>, world: Frozen<'_>, due: &Due) {
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
            let (spare, told) = (std::mem::take(after), std::mem::take(notifications));
            let mut runner = Runner::new(rules.scripts, world, spare, told);
            for (i, command) in range.enumerate() {
                verdicts[i] = world.judge(rules.catalog, due, command);
                let command = &due.commands[command];
                offsets[i] = 0;
                let Verdict::Run(kind) = verdicts[i] else {
                    continue;
                };
                if !rules.scripts.has(kind.id()) {
                    continue;
                }
                match runner.count(kind.id(), &rules.run_of(world.state, due, command)) {
                    Ok(None) => verdicts[i] = Verdict::Idle,
                    Ok(Some(count)) => offsets[i] = count as u64,
                    Err(Overrun) => verdicts[i] = Verdict::OverBudget,
                }
            }
            (*after, *notifications) = runner.into_emitted();
        });
    }

    /// Stores the updates of the first `kept` commands.
    fn store(
        &mut self,
        workers: &Workers,
        rules: Rules<'_>,
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
            (range, take(&mut pairs, n))
        });
        let verdicts = &self.verdicts;
        workers.run(tasks.collect(), |(range, mut pairs)| {
            let mut runner = Runner::new(rules.scripts, world, vec![], vec![]);
            for i in range {
                let out = take(&mut pairs, start(i + 1) - start(i));
                let Verdict::Run(kind) = verdicts[i] else {
                    continue;
                };
                if out.is_empty() {
                    continue;
                }
                let run = rules.run_of(world.state, due, &due.commands[i]);
                runner.store(kind.id(), &run, out);
                if let Some(causes) = &causes {
                    for &(key, _) in out.iter() {
                        causes.note(key as usize, i as u32);
                    }
                }
            }
        });
    }

    /// Adds notifications of items with a new owner, before any entity dies.
    pub fn notify_of_picks(rules: Rules<'_>, state: &State, index: &Index, out: &mut TickOutput) {
        let catalog = rules.catalog;
        let Some(owner) = catalog.tells_owner() else {
            return;
        };
        if !catalog.tells(NotificationKind::PICKED) {
            return;
        }
        let world = Frozen {
            state,
            index,
            kind_columns: rules.scripts.kind_columns(),
        };
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

    /// Says what each command wants, as long as the updates are not merged.
    pub fn trace(&self, config: &WorldConfig, due: &Due, trace: &mut Trace) {
        let starts = &self.offsets[..due.commands.len()];
        let start = |command: usize| {
            let start = starts
                .get(command)
                .map_or(self.len, |&start| start as usize);
            start.min(self.len)
        };
        trace.commands.clone_from(&due.commands);
        trace.words.clone_from(&due.words);
        for command in 0..due.commands.len() {
            let pairs = &self.pairs[start(command)..start(command + 1)];
            let updates = pairs.iter();
            trace
                .updates
                .extend(updates.map(|&pair| TracedUpdate::new(config, command, pair)));
        }
    }

    /// Writes what caused each change, and who acted, in worlds that record this.
    pub fn write_causes(
        &self,
        catalog: &Catalog,
        due: &Due,
        columns: usize,
        changes: &mut Changes,
    ) {
        let mut causes = std::mem::take(&mut changes.causes);
        let mut actors = std::mem::take(&mut changes.actors);
        causes.clear();
        actors.clear();
        if let Some(first) = self.causes.as_ref().map(Causes::of_tick) {
            for (slot, changed, _) in changes.iter() {
                for &column in changed {
                    let key = slot.index() * columns + usize::from(column);
                    let command = &due.commands[first.first(key)];
                    causes.push(command.kind);
                    actors.push(match catalog.has_actor(CommandKind(command.kind)) {
                        true => command.entity.slot.0,
                        false => EntityId::NONE.slot.0,
                    });
                }
            }
        }
        (changes.causes, changes.actors) = (causes, actors);
    }

    /// The kind of the tick's n-th command, if it ran.
    pub fn ran(&self, command: usize) -> Option<CommandKind> {
        match self.verdicts[command] {
            Verdict::Run(kind) => Some(kind),
            _ => None,
        }
    }
}

/// The world as commands see it.
#[derive(Clone, Copy)]
struct Frozen<'a> {
    state: &'a State,
    index: &'a Index,
    kind_columns: &'a [u64],
}

impl Frozen<'_> {
    fn judge(&self, catalog: &Catalog, due: &Due, n: usize) -> Verdict {
        let command = &due.commands[n];
        match catalog.command(command.kind, usize::from(command.word_count)) {
            None => Verdict::Malformed,
            Some(kind) if catalog.has_actor(kind) && !self.state.slots.has(command.entity) => {
                Verdict::Stale
            }
            Some(kind) if n < due.given => {
                let rest = || catalog.rest(command.kind);
                let rests = |rest: Rest| self.state.rests(command.entity.slot, rest.place);
                if is_surplus(catalog, due, n) {
                    Verdict::OverPerTick
                } else if self.state.ready.is_used() && rest().is_some_and(rests) {
                    Verdict::Resting
                } else {
                    Verdict::Run(kind)
                }
            }
            Some(kind) => Verdict::Run(kind),
        }
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

    fn has(&self, slot: Slot, column: usize) -> bool {
        self.kind_columns[usize::from(self.kind(slot))] >> column & 1 == 1
    }

    fn past(&self, slot: Slot, axis: usize, tick: i32) -> i32 {
        self.state
            .past
            .coordinate(self.state.tick, slot, axis, tick)
    }

    fn near(&self, center: [i32; 3], radius: i32, slots: &mut Vec<u32>) {
        self.index.within(center, radius, |slot| slots.push(slot.0));
    }
}

/// The commands of a tick that one thread runs, whatever runs them.
#[expect(clippy::large_enum_variant, reason = "there is one for each thread")]
enum Runner<'a> {
    Native(Thread<'a, Emitted<'a>>),
    Interpreted(Box<Interpreted<'a>>),
}

/// Runs commands by the interpreter.
struct Interpreted<'a> {
    interpreter: Interpreter,
    scripts: &'a Scripts,
    emitted: Emitted<'a>,
}

impl<'a> Runner<'a> {
    fn new(
        scripts: &'a Scripts,
        world: Frozen<'a>,
        after: Vec<TimedCommand>,
        notifications: Vec<Notification>,
    ) -> Runner<'a> {
        let emitted = Emitted {
            world,
            dimensions: scripts.space.dimensions,
            after,
            notifications,
        };
        let Some(native) = scripts.native() else {
            return Runner::Interpreted(Box::new(Interpreted {
                interpreter: Interpreter::default(),
                scripts,
                emitted,
            }));
        };
        let state = world.state;
        let view = View::new(
            state.tick,
            state.columns,
            &state.rows,
            &state.slots.states()[..state.slots.used()],
            state.slots.generations(),
            state.slots.kinds(),
        );
        let view = state.past.seen_by(view);
        Runner::Native(Thread::new(native, &view, emitted))
    }

    /// Runs a command to count its updates, and collects what it puts off and tells. `None` if
    /// it does nothing at all.
    #[inline]
    fn count(&mut self, kind: u16, call: &Run<'_>) -> Result<Option<usize>, Overrun> {
        let marks = self.emitted().marks();
        let count = match self {
            Runner::Native(thread) => thread.count(kind, &call.native()),
            Runner::Interpreted(runner) => {
                let mut n = 0;
                let ran = runner.run(kind, call, |_, _, _| n += 1);
                ran.map(|()| n)
            }
        };
        if count.is_err() {
            match self {
                Runner::Native(thread) => thread.host_mut().drop_after(marks),
                Runner::Interpreted(runner) => runner.emitted.drop_after(marks),
            }
        }
        let has_effect = |&n: &usize| n > 0 || self.emitted().marks() != marks;
        count.map(|n| Some(n).filter(has_effect))
    }

    fn emitted(&self) -> &Emitted<'a> {
        match self {
            Runner::Native(thread) => thread.host(),
            Runner::Interpreted(runner) => &runner.emitted,
        }
    }

    /// Runs a command again to write its updates.
    #[inline]
    fn store(&mut self, kind: u16, call: &Run<'_>, out: &mut [(u32, u32)]) {
        // The first run was within its budget, so this one is.
        let stored = match self {
            Runner::Native(thread) => thread.store(kind, &call.native(), out),
            Runner::Interpreted(runner) => {
                let columns = runner.emitted.world.state.columns;
                let mut next = 0;
                let marks = runner.emitted.marks();
                let ran = runner.run(kind, call, |slot, column, value| {
                    out[next] = (
                        (slot.index() * columns + usize::from(column)) as u32,
                        value as u32,
                    );
                    next += 1;
                });
                runner.emitted.drop_after(marks);
                ran.map(|()| next)
            }
        };
        debug_assert_eq!(stored, Ok(out.len()));
    }

    fn into_emitted(self) -> (Vec<TimedCommand>, Vec<Notification>) {
        let emitted = match self {
            Runner::Native(thread) => thread.into_host(),
            Runner::Interpreted(runner) => runner.emitted,
        };
        (emitted.after, emitted.notifications)
    }
}

impl Interpreted<'_> {
    fn run(
        &mut self,
        kind: u16,
        call: &Run<'_>,
        update: impl FnMut(Slot, u16, i32),
    ) -> Result<(), Overrun> {
        let Some(command) = self.scripts.command(kind) else {
            return Ok(());
        };
        let world = self.emitted.world;
        let invocation = Invocation {
            tick: world.state.tick,
            entity: call.entity,
            words: call.words,
            random: Random::from_key(call.random),
        };
        let emitted = &mut self.emitted;
        let mut effects = WithUpdates { emitted, update };
        let space = &self.scripts.space;
        self.interpreter
            .run(&command.code, space, &world, &invocation, &mut effects)
    }
}

/// A command that is run.
struct Run<'a> {
    entity: EntityId,
    words: &'a [i32],
    random: u64,
}

impl Run<'_> {
    #[inline]
    fn native(&self) -> Call<'_> {
        Call {
            actor: self.entity.slot,
            words: self.words,
            random: self.random,
        }
    }
}

/// What the commands of one thread put off and tell.
struct Emitted<'a> {
    world: Frozen<'a>,
    dimensions: usize,
    after: Vec<TimedCommand>,
    notifications: Vec<Notification>,
}

impl Emitted<'_> {
    fn marks(&self) -> (usize, usize) {
        (self.after.len(), self.notifications.len())
    }

    fn drop_after(&mut self, (after, notifications): (usize, usize)) {
        self.after.truncate(after);
        self.notifications.truncate(notifications);
    }
}

impl Host for Emitted<'_> {
    fn near(&mut self, center: [i32; 3], radius: i32, slots: &mut Vec<u32>) {
        self.world.near(center, radius, slots);
    }
}

impl Outgoing for Emitted<'_> {
    fn after(&mut self, ticks: u32, entity: EntityId, kind: u16, words: &[i32]) {
        let due = self.world.state.tick.after(ticks);
        self.after.push(TimedCommand::new(due, entity, kind, words));
    }

    fn notify(
        &mut self,
        kind: u16,
        source: EntityId,
        area: Option<([i32; 3], i32)>,
        words: &[i32],
    ) {
        let area = area.map(|(center, distance)| Area::around(center, distance, self.dimensions));
        let kind = NotificationKind(kind);
        self.notifications
            .push(Notification::new(kind, source, area, words));
    }
}

struct WithUpdates<'a, 'w, U> {
    emitted: &'a mut Emitted<'w>,
    update: U,
}

impl<U: FnMut(Slot, u16, i32)> Effects for WithUpdates<'_, '_, U> {
    fn update(&mut self, slot: Slot, column: u16, value: i32) {
        (self.update)(slot, column, value);
    }
}

impl<U: FnMut(Slot, u16, i32)> Outgoing for WithUpdates<'_, '_, U> {
    fn after(&mut self, ticks: u32, entity: EntityId, kind: u16, words: &[i32]) {
        self.emitted.after(ticks, entity, kind, words);
    }

    fn notify(
        &mut self,
        kind: u16,
        source: EntityId,
        area: Option<([i32; 3], i32)>,
        words: &[i32],
    ) {
        self.emitted.notify(kind, source, area, words);
    }
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
