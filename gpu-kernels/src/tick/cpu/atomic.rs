//! Runs the tick's atomic commands, one after another, over the merged world.
//!
//! A run changes the rows at once, and logs what was in them. Where it has no effect, the log
//! undoes it. In the end the log is sorted by (slot, column): its first entry there is what the
//! merge left, and its last one comes from the command that left what is there now.

mod join;
mod log;
mod run;

use device::cpu::{RadixSorter, Workers};
use script::atomic::KEYS_MAX;
use script::interpreter::NoEffect;
use script::ir::NOBODY;
use shared::{CommandKind, EntityRef, WorldConfig};

use super::emitted::Emitted;
use super::left::Left;
use super::logic::{Part, Rules, Verdict, refusal};
use super::{Merge, State, TickCommands};
use crate::logic::{Catalog, Scripts};
use crate::tick::deferred::DeferredCommand;
use crate::tick::output::{Changes, TickOutput};
use crate::tick::trace::{Trace, TracedUpdate};
use join::join;
use log::Log;
use run::Turns;

/// The stage's buffers.
pub struct Atomic {
    /// The most that run in a tick.
    per_tick: usize,
    /// The most that wait.
    room: usize,
    /// The places of the tick's atomic commands, those that waited first.
    order: Vec<u32>,
    /// The slots of the keys of those that look at them, in order.
    keys: Vec<[i32; KEYS_MAX]>,
    log: Log,
    part: Part,
    sorter: RadixSorter<(u32, u32)>,
    left: Vec<Left>,
    joined: Changes,
}

impl Atomic {
    pub fn new(config: &WorldConfig) -> Atomic {
        Atomic {
            per_tick: config.limits.atomic_per_tick as usize,
            room: config.limits.commands_per_tick as usize,
            order: vec![],
            keys: vec![],
            log: Log::default(),
            part: Part::default(),
            sorter: RadixSorter::new(0),
            left: vec![],
            joined: Changes::default(),
        }
    }

    /// Runs the atomic commands of a tick: those that waited, then those that the tick's judge let
    /// through, by their places.
    pub fn run(
        &mut self,
        workers: &Workers,
        rules: Rules<'_>,
        state: &mut State,
        (commands, judged): (TickCommands<'_>, impl Iterator<Item = u32>),
        merge: &mut Merge,
        out: &mut TickOutput,
    ) {
        self.order.clear();
        self.log.clear();
        self.left.clear();
        self.part.clear(0);
        for n in commands.deferred_places() {
            match judge_again(rules, state, commands, n) {
                Some(verdict) => self.part.note(rules.catalog, commands, n, verdict),
                None => self.order.push(n as u32),
            }
        }
        self.order.extend(judged);
        if self.order.is_empty() {
            self.part.conclude(rules.catalog, state, out);
            return;
        }
        let now = self.order.len().min(self.per_tick);
        self.find_keys(rules.scripts, state, commands, now);
        let mut waiting = self.take_turns(rules, state, commands, now);
        let rest = self.order[now..].iter().map(|&n| n as usize);
        waiting.extend(rest.map(|n| commands.defer(n, commands.has_moved(n))));
        out.counts.atomic_deferred = waiting.len() as u64;
        let kept = self.room.min(waiting.len());
        for (n, _) in waiting.drain(kept..) {
            out.counts.commands_dropped += 1;
            let refused = refusal(rules.catalog, commands, n, shared::Refusal::BeyondLimits);
            out.refused.extend(refused);
        }
        state.defer(waiting.into_iter().map(|(_, command)| command).collect());
        self.part.conclude(rules.catalog, state, out);
        self.find_changes(workers, state, merge);
        merge.leave(state, &self.left);
        if !self.left.is_empty() {
            join(
                &mut out.changes,
                &self.left,
                state.columns,
                &mut self.joined,
            );
            out.counts.changes = out.changes.values.len() as u64;
        }
    }

    /// Runs the first commands. Returns those that come again.
    fn take_turns(
        &mut self,
        rules: Rules<'_>,
        state: &mut State,
        commands: TickCommands<'_>,
        now: usize,
    ) -> Vec<(usize, DeferredCommand)> {
        let mut waiting = vec![];
        let (scripts, tick) = (rules.scripts, state.tick);
        let (after, notifications) = self.part.take_emitted();
        let emitted = Emitted {
            tick,
            dimensions: scripts.space.dimensions,
            index: None,
            after,
            notifications,
        };
        let mut turns = Turns::new(rules, state, emitted);
        let mut keys = self.keys.iter();
        for &place in &self.order[..now] {
            let n = place as usize;
            let kind = commands.get(n).kind;
            let own = match scripts.is_guarded(kind) {
                true => keys.next().copied().unwrap_or([NOBODY; KEYS_MAX]),
                false => [NOBODY; KEYS_MAX],
            };
            let run = rules.run_of(tick, commands, n);
            let verdict = match turns.run(kind, &run, own, &mut self.log) {
                Ok(true) => Verdict::Run(CommandKind(kind)),
                Ok(false) => Verdict::Idle,
                Err(NoEffect::Overrun) => Verdict::OverBudget,
                Err(NoEffect::Refused) => Verdict::Refused,
                Err(NoEffect::Moved) if commands.has_moved(n) => Verdict::Moved,
                Err(NoEffect::Moved) => {
                    waiting.push((n, commands.defer(n, true).1));
                    continue;
                }
            };
            self.log.end_command(place);
            self.part.note(rules.catalog, commands, n, verdict);
        }
        self.part.set_emitted(turns.into_emitted());
        waiting
    }

    /// Finds the keys of those commands that look at them, before any has changed them.
    fn find_keys(
        &mut self,
        scripts: &Scripts,
        state: &State,
        commands: TickCommands<'_>,
        now: usize,
    ) {
        self.keys.clear();
        let read = |slot: i32, column: u16| {
            let kind = state.slots.kinds()[slot as usize];
            match scripts.kind_columns()[usize::from(kind)] >> column & 1 == 1 {
                true => state.rows[slot as usize * state.columns + usize::from(column)],
                false => EntityRef::NONE.0,
            }
        };
        let resolve = |reference: i32| {
            let reference = EntityRef(reference);
            let slot = reference.slot().index();
            let is_there = slot < state.slots.used()
                && state.slots.is_live(slot)
                && reference.is_generation(state.slots.generations()[slot]);
            if is_there { slot as i32 } else { NOBODY }
        };
        for &place in &self.order[..now] {
            let n = place as usize;
            let command = commands.get(n);
            if !scripts.is_guarded(command.kind) {
                continue;
            }
            let script = scripts.command(command.kind);
            if let Some(keys) = script.and_then(|script| script.atomic.as_ref()) {
                let actor = command.entity.slot.0 as i32;
                let slots = keys.slots(actor, commands.words(n), read, resolve);
                self.keys.push(slots);
            }
        }
    }

    /// Finds the attributes that are left with another value than the merge left.
    fn find_changes(&mut self, workers: &Workers, state: &State, merge: &Merge) {
        let places = self.log.places();
        let n = places.len();
        self.sorter.sort(workers, places, n, 0..merge.key_bits());
        let (places, log) = self.log.sorted();
        let mut first = 0;
        while let Some(&(key, place)) = places.get(first) {
            let same = places[first..].iter().take_while(|entry| entry.0 == key);
            let end = first + same.count();
            let (before, now) = (log.before(place), state.rows[key as usize]);
            if now != before {
                self.left.push(Left {
                    key,
                    before,
                    now,
                    command: log.command(places[end - 1].1),
                });
            }
            first = end;
        }
    }

    /// What the commands of the tick left, by (slot, column).
    pub fn left(&self) -> &[Left] {
        &self.left
    }

    /// Records each command's writes, in order.
    pub fn trace(&self, config: &WorldConfig, state: &State, trace: &mut Trace) {
        let writes = self.log.writes(&state.rows);
        let writes = writes.into_iter();
        trace.updates.extend(
            writes.map(|(command, pair)| TracedUpdate::new(config, command as usize, pair)),
        );
    }
}

/// Why a command that waited has no turn; `None` if it has one.
fn judge_again(
    rules: Rules<'_>,
    state: &State,
    commands: TickCommands<'_>,
    n: usize,
) -> Option<Verdict> {
    let command = commands.get(n);
    let catalog: &Catalog = rules.catalog;
    // Scripts may have changed meanwhile.
    let kind = catalog.command(command.kind, usize::from(command.word_count));
    match kind.filter(|_| rules.scripts.is_atomic(command.kind)) {
        None => Some(Verdict::Malformed),
        Some(kind) if catalog.has_actor(kind) && !state.slots.has(command.entity) => {
            Some(Verdict::Stale)
        }
        Some(_) => None,
    }
}
