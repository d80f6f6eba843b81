//! Runs the tick's commands, which emit updates.

mod pairs;
mod run;

use std::collections::BTreeMap;

use shared::{CommandKind, EntityId, Hook, NotificationKind, Refusal, Slot, Tick, WorldConfig};

use device::cpu::{Workers, grow, partition_point, ranges, take};

use super::causes::{Causes, TickCauses};
use super::left::Left;
use super::usage::is_surplus;
use super::{Index, State, TickCommands};
use crate::logic::{Catalog, Rest, Scripts};
use crate::notification::Notification;
use crate::tick::counts::Counts;
use crate::tick::frame::Command;
use crate::tick::output::{Changes, TickOutput};
use crate::tick::refused::RefusedCommand;
use crate::tick::timed::TimedCommand;
use crate::tick::trace::{Trace, TracedUpdate};
pub use pairs::Pair;
use pairs::Pairs;
pub use run::Run;
use run::{Frozen, Runner};

/// The tick's updates, which its commands emit.
pub struct Updates {
    updates_max: u64,
    pub len: usize,
    /// All updates, if they had to be joined.
    pairs: Vec<Pair>,
    is_joined: bool,
    /// Per command: the number of its updates, then their start if these are joined.
    offsets: Vec<u64>,
    /// The work of each part of the commands.
    parts: Vec<Part>,
    causes: Option<Causes>,
    /// Whether the tick itself asks for causes.
    has_fall_hooks: bool,
    /// The tick's causes are not requested.
    is_quiet: bool,
}

/// The verdict on a command.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    Malformed,
    Stale,
    /// Its entity has given it as often in the tick as it may.
    OverPerTick,
    /// It rests after a use.
    Resting,
    /// It used up its budget, and has no effect.
    OverBudget,
    /// It ran, and had no effect, for this reason of the world.
    Idle(Option<u8>),
    Run(CommandKind),
    /// It is atomic, and has its turn later in the tick.
    Atomic,
    /// A condition of an atomic command does not hold, for this reason of the world.
    Refused(Option<u8>),
    /// References of an atomic command had changed, in the tick before, too.
    Moved,
}

/// The results of the commands of one thread.
#[derive(Default)]
pub struct Part {
    pairs: Pairs,
    /// Those that aren't kept included.
    updates: u64,
    /// The first whose updates aren't kept.
    missing: Option<usize>,
    /// Timed commands that these schedule.
    after: Vec<TimedCommand>,
    notifications: Vec<Notification>,
    counts: VerdictCounts,
    /// By kind of command.
    over_budget: BTreeMap<u16, u64>,
    out_of_range: BTreeMap<u16, u64>,
    refused: Vec<RefusedCommand>,
    /// Uses of commands that rest.
    used: Vec<(Slot, Rest)>,
    /// The places of births and deaths.
    lives: Vec<u32>,
    /// The places of atomic commands.
    atomic: Vec<u32>,
}

/// A birth or a death.
pub struct Life<'a> {
    /// Its place among the tick's commands.
    pub place: u32,
    /// Whether the frame has it.
    pub is_given: bool,
    pub command: &'a Command,
    pub words: &'a [i32],
}

/// How many commands had each verdict.
#[derive(Clone, Copy, Default)]
struct VerdictCounts {
    malformed: u64,
    stale: u64,
    over_per_tick: u64,
    resting: u64,
    over_budget: u64,
    refused: u64,
    moved: u64,
    applied: u64,
}

/// Judges commands, and runs them.
#[derive(Clone, Copy)]
pub struct Rules<'a> {
    pub catalog: &'a Catalog,
    pub scripts: &'a Scripts,
}

impl Rules<'_> {
    /// The run of a command.
    #[inline]
    pub fn run_of<'d>(&self, tick: Tick, commands: &TickCommands<'d>, n: usize) -> Run<'d> {
        let &Command {
            entity,
            kind,
            sequence,
            ..
        } = commands.get(n);
        Run {
            entity,
            words: commands.words(n),
            random: self.scripts.random_key(tick, entity, kind, sequence),
        }
    }
}

impl Updates {
    pub fn new(config: &WorldConfig) -> Updates {
        Updates {
            updates_max: u64::from(config.limits.updates_per_tick),
            len: 0,
            pairs: vec![],
            is_joined: false,
            offsets: vec![],
            parts: vec![],
            causes: Causes::new(config),
            has_fall_hooks: WorldConfig::notifies_of_falls(&config.hooks),
            is_quiet: false,
        }
    }

    /// Whether the causes of the next ticks are not requested by clients.
    pub fn set_quiet(&mut self, is_quiet: bool) {
        self.is_quiet = is_quiet;
    }

    /// The hooks from the next tick on: some get the cause of a fall.
    pub fn set_hooks(&mut self, hooks: &[Hook]) {
        self.has_fall_hooks = WorldConfig::notifies_of_falls(hooks);
    }

    /// The causes of this tick, if anybody asks for them.
    fn tick_causes(&self) -> Option<TickCauses<'_>> {
        asked(&self.causes, !self.is_quiet || self.has_fall_hooks)
    }

    /// The updates, in command order: the lists follow each other.
    pub fn lists(&self) -> Vec<&[Pair]> {
        match self.is_joined {
            true => vec![&self.pairs[..self.len]],
            false => self
                .parts
                .iter()
                .map(|part| part.pairs.as_slice())
                .collect(),
        }
    }

    /// Runs every command. Each thread collects the results of its own commands: updates, timed
    /// commands, notifications. Updates stay where they are, unless some were not kept, or the
    /// command behind each is needed.
    #[expect(clippy::too_many_arguments, reason = "a stage's inputs")]
    pub fn emit(
        &mut self,
        workers: &Workers,
        rules: Rules<'_>,
        state: &mut State,
        index: &Index,
        commands: TickCommands<'_>,
        is_traced: bool,
        out: &mut TickOutput,
    ) {
        let n = commands.len();
        let kind_columns = rules.scripts.kind_columns();
        let world = Frozen {
            state,
            index,
            kind_columns,
        };
        let parts = workers.parts_of(n, COMMANDS_GRAIN);
        let most = 2 * self.updates_max as usize / parts;
        self.parts.iter_mut().for_each(|part| part.clear(most));
        self.run(workers, rules, world, commands, parts);
        let total = self.parts.iter().map(|part| part.updates).sum();
        if let Some(causes) = &mut self.causes {
            causes.next_tick();
        }
        let is_missing = self.parts.iter().any(|part| part.missing.is_some());
        self.is_joined = is_traced || is_missing || self.tick_causes().is_some();
        self.is_joined |= total > self.updates_max;
        let kept = match self.is_joined {
            true => self.join_all(workers, rules, world, (commands, parts, total), out),
            false => total,
        };
        self.len = kept as usize;
        out.counts.updates = kept;
        out.counts.updates_dropped = total - kept;
        for part in &mut self.parts[..parts] {
            part.conclude(rules.catalog, state, out);
        }
    }

    /// Joins the updates of all commands, as many as the tick may have. Returns their number.
    fn join_all(
        &mut self,
        workers: &Workers,
        rules: Rules<'_>,
        world: Frozen<'_>,
        (commands, parts, total): (TickCommands<'_>, usize, u64),
        out: &mut TickOutput,
    ) -> u64 {
        let n = commands.len();
        self.scan(workers, n, parts);
        // A command keeps all its updates or none: from the first that doesn't fit, all
        // lose theirs.
        let offsets = &self.offsets[..n];
        let end = |i: usize| offsets.get(i + 1).copied().unwrap_or(total);
        let kept = match total > self.updates_max {
            true => partition_point(n, |i| end(i) <= self.updates_max),
            false => n,
        };
        let lost = (kept..n).filter(|&i| end(i) > offsets[i]);
        let refused = |i| refusal(rules.catalog, &commands, i, Refusal::BeyondLimits);
        out.refused.extend(lost.filter_map(refused));
        let len = offsets.get(kept).copied().unwrap_or(total);
        self.len = len as usize;
        self.join(workers, rules, world, commands, (parts, kept));
        len
    }

    /// Judges every command, runs it, and writes the number of its updates to `offsets`.
    fn run(
        &mut self,
        workers: &Workers,
        rules: Rules<'_>,
        world: Frozen<'_>,
        commands: TickCommands<'_>,
        parts: usize,
    ) {
        let n = commands.len();
        grow(&mut self.offsets, n);
        let mut offsets = &mut self.offsets[..n];
        if self.parts.len() < parts {
            self.parts.resize_with(parts, Part::default);
        }
        let tasks = ranges(n, parts).zip(&mut self.parts).map(|(range, part)| {
            let offsets = take(&mut offsets, range.len());
            (range, offsets, part)
        });
        let has_rests = world.state.ready.is_used();
        workers.run(tasks.collect(), |(range, offsets, part)| {
            let (after, notifications) = part.take_emitted();
            let mut runner = Runner::new(rules.scripts, world, after, notifications);
            for (n, offset) in range.zip(offsets) {
                world.prefetch(commands, n + AHEAD);
                let before = part.updates;
                let mut verdict = judge(world.state, rules.catalog, commands, n);
                if let Verdict::Run(kind) = verdict
                    && let Some(form) = rules.scripts.form(kind.id())
                {
                    if form.is_atomic {
                        verdict = Verdict::Atomic;
                        part.atomic.push(n as u32);
                    } else {
                        let run = rules.run_of(world.state.tick, &commands, n);
                        verdict = part.run(&mut runner, kind, &run);
                        if part.pairs.is_full() {
                            part.missing.get_or_insert(n);
                        }
                    }
                }
                *offset = part.updates - before;
                part.note(rules.catalog, &commands, n, verdict);
                let is_used = matches!(
                    verdict,
                    Verdict::Idle(_) | Verdict::Run(_) | Verdict::Atomic
                );
                if has_rests && is_used {
                    part.note_use(rules.catalog, commands, n);
                }
            }
            part.set_emitted(runner.into_emitted());
        });
    }

    /// Turns the numbers of updates into their starts.
    fn scan(&mut self, workers: &Workers, n: usize, parts: usize) {
        let mut offsets = &mut self.offsets[..n];
        let mut total = 0;
        let tasks = ranges(n, parts).zip(&self.parts).map(|(range, part)| {
            let first = total;
            total += part.updates;
            (take(&mut offsets, range.len()), first)
        });
        let tasks = tasks.collect();
        workers.run(tasks, |(offsets, first)| {
            exclusive_scan(first, offsets);
        });
    }

    /// Joins the updates of the first `kept` commands. Those that their part didn't keep run
    /// again: it had more than its share.
    fn join(
        &mut self,
        workers: &Workers,
        rules: Rules<'_>,
        world: Frozen<'_>,
        commands: TickCommands<'_>,
        (parts, kept): (usize, usize),
    ) {
        let n = commands.len();
        grow(&mut self.pairs, self.len);
        let mut pairs = &mut self.pairs[..self.len];
        let causes = asked(&self.causes, !self.is_quiet || self.has_fall_hooks);
        let (offsets, len) = (&self.offsets[..n], self.len);
        let start = |command: usize| match command < kept {
            true => offsets[command] as usize,
            false => len,
        };
        let tasks = ranges(n, parts).zip(&self.parts).map(|(range, part)| {
            let pairs = take(&mut pairs, start(range.end) - start(range.start));
            (range, part, pairs)
        });
        workers.run(tasks.collect(), |(range, part, pairs)| {
            let of_part = part.pairs.as_slice();
            let copied = of_part.len().min(pairs.len());
            pairs[..copied].copy_from_slice(&of_part[..copied]);
            if let Some(first) = part.missing.filter(|&first| first < kept) {
                let mut rest = &mut pairs[copied..];
                let mut runner = Runner::new(rules.scripts, world, vec![], vec![]);
                for n in first..range.end {
                    let out = take(&mut rest, start(n + 1) - start(n));
                    if !out.is_empty() {
                        let run = rules.run_of(world.state.tick, &commands, n);
                        runner.store(commands.get(n).kind, &run, out);
                    }
                }
            }
            let Some(causes) = &causes else {
                return;
            };
            let mut pairs = &pairs[..];
            for command in range {
                let (own, rest) = pairs.split_at(start(command + 1) - start(command));
                for &(key, _) in own {
                    causes.note(key as usize, command as u32);
                }
                pairs = rest;
            }
        });
    }

    /// Adds notifications of items with a new owner, before any entity dies.
    pub fn notify_of_picks(rules: Rules<'_>, state: &State, index: &Index, out: &mut TickOutput) {
        let catalog = rules.catalog;
        let Some(owner) = catalog.tells_owner() else {
            return;
        };
        if !catalog.has_notification(NotificationKind::PICKED) {
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

    /// Records each command's updates, as long as they are not merged.
    pub fn trace(&self, config: &WorldConfig, commands: TickCommands<'_>, trace: &mut Trace) {
        let starts = &self.offsets[..commands.len()];
        let start = |command: usize| {
            let start = starts
                .get(command)
                .map_or(self.len, |&start| start as usize);
            start.min(self.len)
        };
        commands.copy_to(&mut trace.commands, &mut trace.words);
        for command in 0..commands.len() {
            let pairs = &self.pairs[start(command)..start(command + 1)];
            let updates = pairs.iter();
            trace
                .updates
                .extend(updates.map(|&pair| TracedUpdate::new(config, command, pair)));
        }
    }

    /// Writes the command behind each change, and its sender, in worlds that record this.
    pub fn write_causes(
        &self,
        workers: &Workers,
        catalog: &Catalog,
        commands: TickCommands<'_>,
        columns: usize,
        changes: &mut Changes,
    ) {
        let Some(first) = self.tick_causes() else {
            changes.causes.clear();
            changes.actors.clear();
            return;
        };
        changes.causes.resize(changes.values.len(), 0);
        changes.actors.resize(changes.values.len(), 0);
        let (mut causes, mut actors) = (&mut changes.causes[..], &mut changes.actors[..]);
        let (slots, offsets) = (&changes.slots, &changes.offsets);
        let parts = workers.parts(slots.len());
        let tasks = ranges(slots.len(), parts).map(|range| {
            let n = (offsets[range.end] - offsets[range.start]) as usize;
            (range, take(&mut causes, n), take(&mut actors, n))
        });
        let changed = &changes.columns;
        workers.run(tasks.collect(), |(range, causes, actors)| {
            let start = offsets[range.start] as usize;
            for i in range {
                for at in offsets[i] as usize..offsets[i + 1] as usize {
                    let key = slots[i] as usize * columns + usize::from(changed[at]);
                    let command = commands.get(first.first(key));
                    causes[at - start] = command.kind;
                    actors[at - start] = match catalog.has_actor(CommandKind(command.kind)) {
                        true => command.entity.slot.0,
                        false => EntityId::NONE.slot.0,
                    };
                }
            }
        });
    }

    /// The places of the tick's atomic commands, in order.
    pub fn atomic(&self) -> impl Iterator<Item = u32> + '_ {
        self.parts
            .iter()
            .flat_map(|part| part.atomic.iter().copied())
    }

    /// Notes the atomic commands behind changes.
    pub fn note_atomic(&self, left: &[Left]) {
        if let Some(causes) = self.tick_causes() {
            for left in left {
                causes.set(left.key as usize, left.command);
            }
        }
    }

    /// The entity whose command updated an attribute first, which changed in the tick; none where
    /// causes are not kept.
    pub fn actor_of(&self, catalog: &Catalog, commands: TickCommands<'_>, key: usize) -> EntityId {
        let Some(causes) = self.tick_causes() else {
            return EntityId::NONE;
        };
        let command = commands.get(causes.first(key));
        match catalog.has_actor(CommandKind(command.kind)) {
            true => command.entity,
            false => EntityId::NONE,
        }
    }

    /// The tick's births and deaths among its commands, in order.
    pub fn lives<'a>(&'a self, commands: TickCommands<'a>) -> impl Iterator<Item = Life<'a>> {
        let places = self.parts.iter().flat_map(|part| &part.lives);
        places.map(move |&place| Life {
            place,
            is_given: commands.is_given(place as usize),
            command: commands.get(place as usize),
            words: commands.words(place as usize),
        })
    }
}

impl Part {
    pub fn clear(&mut self, most: usize) {
        self.pairs.clear(most);
        self.updates = 0;
        self.missing = None;
        self.counts = VerdictCounts::default();
        self.over_budget.clear();
        self.out_of_range.clear();
        self.refused.clear();
        self.used.clear();
        self.lives.clear();
        self.atomic.clear();
    }

    /// Runs a command that isn't atomic, and keeps its updates.
    #[inline]
    fn run(&mut self, runner: &mut Runner<'_>, kind: CommandKind, run: &Run<'_>) -> Verdict {
        let verdict = match runner.run(kind.id(), run, &mut self.pairs) {
            Ok(Some(updates)) => {
                self.updates += updates as u64;
                Verdict::Run(kind)
            }
            Ok(None) => Verdict::Idle(runner.reason()),
            Err(_) => Verdict::OverBudget,
        };
        if runner.missed() {
            self.note_miss(kind.id());
        }
        verdict
    }

    /// Hands out the lists of timed commands and notifications, to be filled.
    pub fn take_emitted(&mut self) -> (Vec<TimedCommand>, Vec<Notification>) {
        let after = std::mem::take(&mut self.after);
        (after, std::mem::take(&mut self.notifications))
    }

    pub fn set_emitted(&mut self, emitted: (Vec<TimedCommand>, Vec<Notification>)) {
        (self.after, self.notifications) = emitted;
    }

    /// Counts a verdict, and notes which command of a client has no effect.
    #[inline]
    pub fn note(
        &mut self,
        catalog: &Catalog,
        commands: &TickCommands<'_>,
        n: usize,
        verdict: Verdict,
    ) {
        let counts = &mut self.counts;
        let mut because = None;
        let reason = match verdict {
            Verdict::Atomic => return,
            Verdict::Refused(reason) => {
                counts.refused += 1;
                because = reason;
                Refusal::Unmet
            }
            Verdict::Moved => {
                counts.moved += 1;
                Refusal::Moved
            }
            Verdict::Run(kind) => {
                counts.applied += 1;
                if matches!(kind, CommandKind::SPAWN | CommandKind::DESPAWN) {
                    self.lives.push(n as u32);
                }
                return;
            }
            Verdict::Idle(reason) => {
                counts.applied += 1;
                because = reason;
                Refusal::Idle
            }
            Verdict::Malformed => {
                counts.malformed += 1;
                return;
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
                *self.over_budget.entry(commands.get(n).kind).or_default() += 1;
                Refusal::BeyondLimits
            }
        };
        let refused = refusal(catalog, commands, n, reason);
        self.refused
            .extend(refused.map(|refused| RefusedCommand { because, ..refused }));
    }

    /// Counts a run that met an index or a key that is not there.
    pub fn note_miss(&mut self, kind: u16) {
        *self.out_of_range.entry(kind).or_default() += 1;
    }

    /// Notes a command that rests from now on.
    fn note_use(&mut self, catalog: &Catalog, commands: TickCommands<'_>, n: usize) {
        let command = commands.get(n);
        if commands.is_given(n)
            && let Some(rest) = catalog.rest(command.kind)
        {
            self.used.push((command.entity.slot, rest));
        }
    }

    /// Hands over the results, in the order of the commands. Used commands begin their cooldown.
    pub fn conclude(&mut self, catalog: &Catalog, state: &mut State, out: &mut TickOutput) {
        self.counts.add_to(&mut out.counts);
        add_runs(&mut out.over_budget, &self.over_budget);
        add_runs(&mut out.out_of_range, &self.out_of_range);
        out.refused.append(&mut self.refused);
        for (slot, rest) in self.used.drain(..) {
            state.rest(slot, rest.place, rest.ticks);
        }
        for command in self.after.drain(..) {
            state.schedule(command, &mut out.counts);
        }
        for notification in self.notifications.drain(..) {
            out.notify(notification, catalog.notifications_max());
        }
    }
}

/// Adds runs by command to a list that ascends by command.
fn add_runs(list: &mut Vec<(CommandKind, u64)>, more: &BTreeMap<u16, u64>) {
    for (&kind, &runs) in more {
        let kind = CommandKind(kind);
        match list.binary_search_by_key(&kind, |&(kind, _)| kind) {
            Ok(place) => list[place].1 += runs,
            Err(place) => list.insert(place, (kind, runs)),
        }
    }
}

impl VerdictCounts {
    fn add_to(self, counts: &mut Counts) {
        counts.malformed += self.malformed;
        counts.stale += self.stale;
        counts.over_per_tick += self.over_per_tick;
        counts.resting += self.resting;
        counts.over_budget += self.over_budget;
        counts.atomic_refused += self.refused;
        counts.atomic_moved += self.moved;
        counts.applied += self.applied;
    }
}

/// The report of a client's command; `None` of commands that no client gave.
pub fn refusal(
    catalog: &Catalog,
    commands: &TickCommands<'_>,
    n: usize,
    reason: Refusal,
) -> Option<RefusedCommand> {
    let command = commands.get(n);
    let is_clients = commands.was_given(n) && catalog.is_clients(command.kind);
    is_clients.then_some(RefusedCommand {
        entity: command.entity,
        sequence: command.sequence,
        reason,
        because: None,
    })
}

#[inline]
fn judge(state: &State, catalog: &Catalog, commands: TickCommands<'_>, n: usize) -> Verdict {
    let &Command {
        entity,
        kind,
        word_count,
        ..
    } = commands.get(n);
    let Some(form) = catalog.form_of(kind, usize::from(word_count)) else {
        return Verdict::Malformed;
    };
    if form.has_actor && !state.slots.has(entity) {
        return Verdict::Stale;
    }
    let is_given = commands.is_given(n);
    let is_surplus = |most| is_surplus(most, commands, n);
    let rests = |rest: Rest| state.rests(entity.slot, rest.place);
    if is_given && form.per_tick.is_some_and(is_surplus) {
        Verdict::OverPerTick
    } else if is_given && form.rest.is_some_and(rests) {
        Verdict::Resting
    } else {
        Verdict::Run(CommandKind(kind))
    }
}

/// Replaces each number by `first` and the sum of those before it.
fn exclusive_scan(first: u64, numbers: &mut [u64]) {
    let mut sum = first;
    for number in numbers {
        sum += std::mem::replace(number, sum);
    }
}

/// The minimum number of commands that is worth a second thread.
const COMMANDS_GRAIN: usize = 1024;
/// So many commands ahead, words and an entity's row are prefetched: commands come in random order.
const AHEAD: usize = 16;

fn asked(causes: &Option<Causes>, is_asked: bool) -> Option<TickCauses<'_>> {
    causes.as_ref().filter(|_| is_asked).map(Causes::of_tick)
}
