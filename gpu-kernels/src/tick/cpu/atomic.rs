//! Runs the tick's atomic commands, one after another, over the merged world.
//!
//! A run changes the rows at once, and logs what was in them. Where it has no effect, the log
//! undoes it. The first entry of a (slot, column) is what the merge left there, and the last one
//! comes from the command that left what is there now.

mod join;
mod log;
mod run;
mod written;

use script::atomic::{KEYS_MAX, Key, Keys};
use script::interpreter::NoEffect;
use script::ir::NOBODY;
use script::native::prefetch;
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
use written::Written;

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
    written: Written,
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
            written: Written::default(),
            left: vec![],
            joined: Changes::default(),
        }
    }

    /// Runs the atomic commands of a tick: those that waited, then those that the tick's judge let
    /// through, by their places.
    pub fn run(
        &mut self,
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
                Some(verdict) => self.part.note(rules.catalog, &commands, n, verdict),
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
        let mut waiting = self.take_turns(rules, state, &commands, now);
        let rest = self.order[now..].iter().map(|&n| n as usize);
        waiting.extend(rest.map(|n| commands.defer(n, commands.has_moved(n))));
        out.counts.atomic_deferred = waiting.len() as u64;
        let kept = self.room.min(waiting.len());
        for (n, _) in waiting.drain(kept..) {
            out.counts.commands_dropped += 1;
            let refused = refusal(rules.catalog, &commands, n, shared::Refusal::BeyondLimits);
            out.refused.extend(refused);
        }
        state.defer(waiting.into_iter().map(|(_, command)| command).collect());
        self.part.conclude(rules.catalog, state, out);
        self.log
            .left(&state.rows, &mut self.written, &mut self.left);
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
        commands: &TickCommands<'_>,
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
        let order = &self.order[..now];
        for (turn, &place) in order.iter().enumerate() {
            if let Some(&later) = order.get(turn + 2 * AHEAD) {
                prefetch(commands.words(later as usize).as_ptr());
            }
            if let Some(&later) = order.get(turn + AHEAD) {
                look_ahead(scripts, commands, later as usize, &turns);
            }
            let n = place as usize;
            let kind = commands.get(n).kind;
            let own = match scripts.is_guarded(kind) {
                true => keys.next().copied().unwrap_or([NOBODY; KEYS_MAX]),
                false => [NOBODY; KEYS_MAX],
            };
            let run = rules.run_of(tick, commands, n);
            let verdict = match turns.run(kind, &run, own, &mut self.log) {
                Ok(true) => Verdict::Run(CommandKind(kind)),
                Ok(false) => Verdict::Idle(turns.reason()),
                Err(NoEffect::Overrun) => Verdict::OverBudget,
                Err(NoEffect::Refused) => Verdict::Refused(turns.reason()),
                Err(NoEffect::Moved) if commands.has_moved(n) => Verdict::Moved,
                Err(NoEffect::Moved) => {
                    waiting.push((n, commands.defer(n, true).1));
                    continue;
                }
            };
            if turns.missed() {
                self.part.note_miss(kind);
            }
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
            match scripts.kind_columns()[usize::from(kind)].has(column.into()) {
                true => state.rows[slot as usize * state.columns + usize::from(column)],
                false => EntityRef::NONE.0,
            }
        };
        let first = |kind: u16| {
            let first = state.counted.census().nth(kind, 0);
            first.map_or(NOBODY, |slot| slot.0 as i32)
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
                let slots = keys.slots(actor, commands.words(n), first, read, resolve);
                self.keys.push(slots);
            }
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

/// Prefetches the entities that a command names.
#[inline]
fn look_ahead(scripts: &Scripts, commands: &TickCommands<'_>, n: usize, turns: &Turns<'_>) {
    let command = commands.get(n);
    let script = scripts.command(command.kind);
    let keys = script.and_then(|script| script.atomic.as_ref());
    for path in keys.map(Keys::paths).unwrap_or_default() {
        match *path {
            Key::Actor => turns.prefetch(command.entity.slot),
            Key::Word(word) => {
                if let Some(&word) = commands.words(n).get(usize::from(word)) {
                    turns.prefetch(EntityRef(word).slot());
                }
            }
            Key::Of(..) | Key::Shared(_) | Key::First(_) => {}
        }
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
    let form = catalog.form_of(command.kind, usize::from(command.word_count));
    match form.filter(|_| rules.scripts.is_atomic(command.kind)) {
        None => Some(Verdict::Malformed),
        Some(form) if form.has_actor && !state.slots.has(command.entity) => Some(Verdict::Stale),
        Some(_) => None,
    }
}

/// How many turns ahead a command's entities are prefetched: some hundred nanoseconds. Its words are
/// twice as far ahead.
const AHEAD: usize = 8;
