//! The client's own entity, ahead of the server: its commands take effect at once.
//!
//! The server runs each tick's commands and rules over the state before, and merges their
//! updates. A prediction does the same for the own entity, with the same instructions: from
//! the newest tick in which the server's state of it is certain, up to the tick for which
//! input was sent last. The server's state then replaces the predicted one, and commands
//! that it has not processed run again on top. Without conflicts nothing changes by that;
//! with them, the shown state fades to the true one.
//!
//! The movement of a tick may be lost, and the server sends nothing of entities that stay on
//! their courses. So its silence is certain only if every tick since the last course has arrived,
//! or if it has processed a command behind the acknowledgement that shows what is missing.
//!
//! Not predicted: effects on other entities, of other clients and of timed commands, and all that
//! a [`Forecast`] leaves out. Those show when the server sends them.

use std::collections::VecDeque;
use std::time::Duration;

use script::Forecast;
use script::arith::Random;
use script::forecast::Foreseen;
use script::interpreter::{Interpreter, Invocation, Space};
use shared::wire::commands::Acknowledgement;
use shared::wire::control::Quotas;
use shared::{CommandKind, EntityId, Schema, Tick};

use crate::clock::{moment_of, tick_of};
use crate::event::RefusedRun;
use crate::scene::{Playhead, between, fade, length, units};
use crate::usage::{Usage, Use, Waiting};
use crate::view::View;
use foreground::{Foreground, OwnUpdates};
use kinds::Kinds;

mod foreground;
mod kinds;

/// The own entity, predicted.
#[derive(Debug)]
pub struct Prediction {
    forecast: Forecast,
    /// The commands that read layers, while these are missing.
    waiting: Vec<CommandKind>,
    space: Space,
    kinds: Kinds,
    tick_hz: u32,
    /// A correction larger than this is shown at once, in raw units.
    snap: f64,
    /// The entity that has these states; `None` while it is not known.
    own: Option<EntityId>,
    /// The entity's row after the tick `first`, and after each one up to that of input.
    states: VecDeque<Vec<i32>>,
    first: Tick,
    /// The newest tick in which the server's state is certain.
    certain: Tick,
    /// The newest tick for which input was sent.
    reached: Tick,
    commands: VecDeque<Planned>,
    /// Some were taken out, and the states still have them.
    has_refused: bool,
    /// The newest tick that was received.
    received_tick: Tick,
    /// Acknowledgements that reached the server: (a command, the newest tick that was
    /// acknowledged before it).
    acknowledged: VecDeque<(u32, Tick)>,
    usage: Usage,
    /// By column: when it was predicted to change last.
    changed: Vec<Option<Tick>>,
    /// By column: when the server last sent a change.
    received: Vec<Option<Tick>>,
    /// The shown offset from the prediction, in raw units.
    offset: [f64; 3],
    shown: Playhead,
    corrections: Corrections,
    interpreter: Interpreter,
}

/// How often the server's state differed from the prediction.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Corrections {
    /// States of the server that were compared with a prediction.
    pub compared: u64,
    /// Those after which the predicted position was another.
    pub corrected: u64,
    /// How far off the prediction was in the last of those, in units.
    pub last: f64,
}

/// A command that was given, and when it is expected to run.
#[derive(Debug)]
struct Planned {
    sequence: u32,
    kind: CommandKind,
    words: Vec<i32>,
    /// `None` until it is sent.
    tick: Option<Tick>,
    /// The tick that it is meant for, once it is sent.
    meant: Tick,
}

impl Prediction {
    pub(crate) fn new(schema: &Schema, forecast: Forecast, quotas: &Quotas) -> Prediction {
        let columns = schema.attributes.len();
        Prediction {
            space: Space {
                dimensions: schema.dimensions(),
                size: schema.world.size_raw(),
                budget: forecast.budget,
            },
            waiting: waiting(schema, &forecast),
            forecast,
            kinds: Kinds::of(schema),
            tick_hz: schema.world.tick_hz,
            snap: f64::from(schema.world.aoi.raw()) / 2.0,
            own: None,
            states: VecDeque::new(),
            first: Tick(0),
            certain: Tick(0),
            reached: Tick(0),
            commands: VecDeque::new(),
            has_refused: false,
            received_tick: Tick(0),
            acknowledged: VecDeque::new(),
            usage: Usage::new(schema, quotas),
            changed: vec![None; columns],
            received: vec![None; columns],
            offset: [0.0; 3],
            shown: Playhead::default(),
            corrections: Corrections::default(),
            interpreter: Interpreter::default(),
        }
    }

    /// Whether a command is predicted.
    pub fn foresees(&self, kind: CommandKind) -> bool {
        foreseen(&self.forecast, &self.waiting, kind).is_some()
    }

    /// The tick for which input is next.
    pub fn input_tick(&self) -> Tick {
        self.earliest(self.reached.next())
    }

    /// The first tick for which a command can be used again, by the client's knowledge.
    pub fn ready_at(&self, kind: CommandKind) -> Tick {
        let input = self.input_tick();
        let (_, ready) = self.usage.rests(kind, self.given());
        let queued = self.commands.iter().rev();
        let queued = queued.take_while(|command| command.tick.is_none());
        let queued = queued.filter(|command| command.kind == kind).count();
        let per_tick = usize::from(self.usage.per_tick(kind));
        match per_tick > 0 && queued >= per_tick {
            true => ready.max(input.next()),
            false => ready.max(input),
        }
    }

    /// The commands that the server has not processed, in the order in which they run.
    fn given(&self) -> impl Iterator<Item = Use> + Clone {
        let input = self.input_tick();
        self.commands.iter().map(move |command| Use {
            sequence: command.sequence,
            kind: command.kind,
            tick: command.tick.unwrap_or(input),
        })
    }

    /// The newest predicted tick, and the entity's row after it: one value for each column.
    /// `None` while the client has no entity, or nothing can be predicted.
    pub fn newest(&self) -> Option<(Tick, &[i32])> {
        let row = self.states.back()?;
        let steps = u32::try_from(self.states.len() - 1).ok()?;
        Some((self.first.after(steps), row))
    }

    /// Where the own entity is shown, in units; 0 on axes that the world lacks.
    pub fn position(&self) -> Option<[f64; 3]> {
        let place = self.place()?;
        Some(units(std::array::from_fn(|axis| {
            place[axis] + self.offset[axis]
        })))
    }

    /// How often the server's state differed, so far.
    pub fn corrections(&self) -> Corrections {
        self.corrections
    }

    /// A step begins with the input of its tick, and takes until the next.
    fn place(&self) -> Option<[f64; 3]> {
        let shown = self.shown.tick()?;
        let last = self.states.len().checked_sub(1)?;
        let state = |tick: f64| {
            let ahead = (tick - moment_of(self.first)).clamp(0.0, last as f64);
            self.kinds
                .position(&self.states[tick_of(ahead).low() as usize])
        };
        let whole = shown.floor();
        Some(between(state(whole - 1.0), state(whole), shown - whole))
    }
}

/// Calls of the game.
impl Prediction {
    /// A command was queued.
    pub(crate) fn give(&mut self, sequence: u32, kind: CommandKind, words: &[i32]) {
        if self.commands.len() == COMMANDS_MAX {
            self.commands.pop_front();
        }
        self.commands.push_back(Planned {
            sequence,
            kind,
            words: words.to_vec(),
            tick: None,
            meant: Tick(0),
        });
    }

    /// The first tick from this one on for which input can be sent: one that was received is
    /// over.
    pub(crate) fn earliest(&self, tick: Tick) -> Tick {
        tick.max(self.received_tick.next())
    }

    /// Input for a tick is complete: predicts up to it.
    pub(crate) fn reach(&mut self, view: &View, tick: Tick) {
        let has_new = self.plan_new(tick);
        self.reached = tick;
        match self.newest() {
            // It was predicted already, without these commands.
            Some((newest, _)) if has_new && newest >= tick => {
                let shown = self.place();
                let kept = tick.since(self.first) as usize;
                self.states.truncate(kept.max(1));
                self.run_to(view, newest);
                self.fade_from(shown);
            }
            _ => self.run_to(view, tick),
        }
    }

    /// Finds when the new commands run, and leaves out those that will be refused.
    fn plan_new(&mut self, tick: Tick) -> bool {
        let planned = |command: &Planned| command.tick.is_some();
        let first = self.commands.partition_point(planned);
        let new: Vec<Planned> = self.commands.drain(first..).collect();
        let has_new = !new.is_empty();
        for mut command in new {
            let given = self.commands.iter().filter_map(|given| {
                Some(Waiting {
                    kind: given.kind,
                    tick: given.tick?,
                    meant: given.meant,
                })
            });
            command.tick = self.usage.plan(command.kind, tick, given);
            command.meant = tick;
            if command.tick.is_some() {
                self.commands.push_back(command);
            }
        }
        has_new
    }

    /// The newest command was sent for the first time, behind an acknowledgement.
    pub(crate) fn send(&mut self, sequence: u32, acknowledged: Tick) {
        if self.acknowledged.len() == COMMANDS_MAX {
            self.acknowledged.pop_front();
        }
        self.acknowledged.push_back((sequence, acknowledged));
    }

    /// Advances the shown state to this tick of input.
    pub(crate) fn advance(&mut self, tick: f64, now: Duration) {
        let seconds = self.shown.advance(tick, f64::from(self.tick_hz), now);
        fade(&mut self.offset, seconds);
    }

    /// The world's commands may have changed.
    pub(crate) fn change(&mut self, schema: &Schema, forecast: Forecast) {
        self.usage.change(schema);
        self.space.budget = forecast.budget;
        self.waiting = waiting(schema, &forecast);
        self.forecast = forecast;
    }

    /// The schema has the world's layers from now on.
    pub(crate) fn use_layers(&mut self) {
        self.waiting.clear();
    }

    /// Another connection begins, with sequence numbers of its own.
    pub(crate) fn resume(&mut self) {
        self.forget();
        self.commands.clear();
        self.acknowledged.clear();
    }

    fn forget(&mut self) {
        self.own = None;
        self.states.clear();
        self.usage.forget();
    }
}

/// Reports of the server.
impl Prediction {
    /// Commands had no effect. Their prediction ends with the next datagram.
    pub(crate) fn refuse(&mut self, refused: &RefusedRun) {
        let is_of_run = |sequence: u32| sequence.wrapping_sub(refused.first) < refused.count;
        let is_refused = |c: &Planned| is_of_run(c.sequence);
        // Those that ran rest all the same.
        if refused.reason.is_after_its_run() {
            let ran: Vec<Use> = self.given().filter(|c| is_of_run(c.sequence)).collect();
            ran.into_iter().for_each(|used| self.usage.note(used));
        } else {
            self.usage.take_back(is_of_run);
        }
        self.has_refused |= self.commands.iter().any(is_refused);
        self.commands.retain(|command| !is_refused(command));
    }

    /// Lasting attributes of the own entity changed in a tick.
    pub(crate) fn receive_columns(&mut self, tick: Tick, columns: impl Iterator<Item = u16>) {
        for column in columns {
            self.received[usize::from(column)] = Some(tick);
        }
    }

    /// A datagram of a tick has arrived, after which the view is this: compares it with the
    /// prediction.
    pub(crate) fn receive(&mut self, view: &View, arrived: &Acknowledgement, tick: Tick) {
        let own = view.own().filter(|_| !self.forecast.commands.is_empty());
        let Some(own) = own else {
            return self.forget();
        };
        let is_new = self.own != Some(own.id);
        if tick <= self.received_tick && !is_new {
            return;
        }
        self.received_tick = self.received_tick.max(tick);
        let processed = view.processed();
        let shown = self.place();
        let before = self.newest();
        let before = before.map(|(tick, row)| (tick, self.kinds.position(row)));
        let is_replanned = self.replan(tick, processed) | std::mem::take(&mut self.has_refused);
        let is_certain = tick == view.newest()
            && tick == arrived.newest
            && latest_missing(arrived, own.course.tick)
                .is_none_or(|missing| missing < self.acknowledged_by(processed));
        if is_new {
            self.usage.forget();
        }
        if is_certain || is_new {
            let row = self.row_of_server(view, tick);
            self.start_at(own.id, tick, row);
            self.drop_processed(processed);
        } else if is_replanned {
            let certain = self.certain.since(self.first) as usize;
            self.states.truncate(certain + 1);
        } else {
            return;
        }
        let goal = before.map_or(self.reached, |(tick, _)| tick);
        self.run_to(view, goal);
        self.correct(before, is_certain && !is_new);
        self.fade_from(shown);
    }

    /// Notes when commands ran, or that they came too late. True if that is news.
    fn replan(&mut self, tick: Tick, processed: u32) -> bool {
        let mut is_news = false;
        // The tick of the command before, and what runs in it.
        let (mut last, mut in_last) = (Tick(0), vec![]);
        for command in &mut self.commands {
            let Some(planned) = command.tick else { break };
            let known = if is_processed(command.sequence, processed) {
                planned.min(tick)
            } else {
                let soonest = command.meant.max(tick.next()).max(last);
                let same = in_last.iter().filter(|kind| **kind == command.kind).count();
                let per_tick = usize::from(self.usage.per_tick(command.kind));
                match soonest == last && per_tick > 0 && same >= per_tick {
                    true => soonest.next(),
                    false => soonest,
                }
            };
            if known > last {
                last = known;
                in_last.clear();
            }
            in_last.push(command.kind);
            is_news |= known != planned;
            command.tick = Some(known);
        }
        is_news
    }

    /// The newest tick that the server knew to have arrived when it processed a command.
    fn acknowledged_by(&self, processed: u32) -> Tick {
        let mut known = self.acknowledged.iter().rev();
        let last = known.find(|(sequence, _)| is_processed(*sequence, processed));
        last.map_or(Tick(0), |&(_, tick)| tick)
    }

    fn drop_processed(&mut self, processed: u32) {
        let is_known = |used: &Use| is_processed(used.sequence, processed);
        let known: Vec<Use> = self.given().filter(is_known).collect();
        for used in known {
            let (resting, _) = self.usage.rests(used.kind, self.given());
            if !resting.contains(&used.sequence) {
                self.usage.note(used);
            }
        }
        self.commands
            .retain(|c| c.tick.is_none() || !is_processed(c.sequence, processed));
        let next = |known: &VecDeque<(u32, Tick)>| known.get(1).map(|known| known.0);
        while next(&self.acknowledged).is_some_and(|sequence| is_processed(sequence, processed)) {
            self.acknowledged.pop_front();
        }
    }

    /// The entity's row after a tick. Of lasting attributes the server speaks elsewhere and
    /// later, so predicted changes of them stay until it had time for that.
    fn row_of_server(&self, view: &View, tick: Tick) -> Vec<i32> {
        let Some(own) = view.own() else {
            return vec![];
        };
        let mut row = own.row.clone();
        let position = view.position(own, tick);
        row[..self.kinds.dimensions].copy_from_slice(&position[..self.kinds.dimensions]);
        let ahead = (tick >= self.first).then(|| tick.since(self.first));
        let predicted = ahead.and_then(|ahead| self.states.get(ahead as usize));
        let Some(predicted) = predicted.filter(|_| self.own == Some(own.id)) else {
            return row;
        };
        for (column, value) in row.iter_mut().enumerate() {
            let is_right = match self.kinds.steps[column] {
                // Rounded, it would be the same.
                Some(step) => value.abs_diff(predicted[column]) < step,
                None => self.changed[column].is_some_and(|changed| {
                    tick < changed.after(self.tick_hz)
                        && self.received[column].is_none_or(|received| received < changed)
                }),
            };
            if is_right {
                *value = predicted[column];
            }
        }
        row
    }

    /// The server's state of this tick is certain. The one before is still shown.
    fn start_at(&mut self, own: EntityId, tick: Tick, row: Vec<i32>) {
        let ahead = tick.since(self.first) as usize;
        let is_there = tick >= self.first && ahead < self.states.len();
        if self.own != Some(own) || !is_there {
            self.states.clear();
            self.first = tick;
        } else {
            self.states.truncate(ahead);
        }
        self.own = Some(own);
        self.certain = tick;
        self.states.push_back(row);
        while self.states.len() > SHOWN_BEFORE {
            self.states.pop_front();
            self.first = self.first.next();
        }
    }

    /// Compares the prediction with the one before.
    fn correct(&mut self, before: Option<(Tick, [i32; 3])>, is_certain: bool) {
        let Some((tick, before)) = before else {
            return;
        };
        self.corrections.compared += u64::from(is_certain);
        let now = match self.newest() {
            Some((now, row)) if now == tick => self.kinds.position(row),
            _ => return,
        };
        if now == before {
            return;
        }
        let error: [f64; 3] = std::array::from_fn(|i| f64::from(now[i]) - f64::from(before[i]));
        self.corrections.corrected += 1;
        self.corrections.last = length(units(error));
    }

    /// The shown position does not jump, unless it is far.
    fn fade_from(&mut self, shown: Option<[f64; 3]>) {
        let (Some(before), Some(now)) = (shown, self.place()) else {
            return;
        };
        for axis in 0..3 {
            self.offset[axis] += before[axis] - now[axis];
        }
        if length(self.offset) > self.snap {
            self.offset = [0.0; 3];
        }
    }
}

/// The world's rules.
impl Prediction {
    fn run_to(&mut self, view: &View, goal: Tick) {
        let Some(own) = self.own.and_then(|_| view.own()) else {
            return;
        };
        let Some((mut tick, _)) = self.newest() else {
            return;
        };
        // Beyond this the server has been silent for long, and nothing can be foreseen.
        if goal.since(self.certain) > self.tick_hz.saturating_mul(AHEAD_SECONDS) {
            return;
        }
        while tick < goal {
            tick = tick.next();
            let row = self.next_row(view, own.id, own.kind, tick);
            self.states.push_back(row);
        }
    }

    /// The commands of a tick that rest in it.
    fn resting_in(&self, tick: Tick) -> Vec<u32> {
        let due = self.commands.iter().filter(|c| c.tick == Some(tick));
        let resting = due.map(|planned| self.usage.rests(planned.kind, self.given()).0);
        resting.flatten().collect()
    }

    /// Runs the commands and rules of a tick over the state before, and merges their updates. Those
    /// that are atomic follow, one after another, as if no other client gave any.
    fn next_row(&mut self, view: &View, own: EntityId, kind: u16, tick: Tick) -> Vec<i32> {
        let resting = self.resting_in(tick);
        let Some(before) = self.states.back() else {
            return vec![];
        };
        let foreground = Foreground {
            view,
            own,
            kind,
            row: before,
            kinds: &self.kinds,
        };
        let mut updates = OwnUpdates {
            slot: own.slot,
            updates: vec![],
        };
        // With their words, in order.
        let mut atomic: Vec<(&Foreseen, Vec<i32>)> = vec![];
        let mut run = |command: &Foreseen, words: &[i32]| {
            let invocation = Invocation {
                tick,
                entity: own,
                words,
                random: Random::from_key(0),
            };
            let kept = updates.updates.len();
            let ran = self.interpreter.run_bounded(
                &command.code,
                &self.space,
                &foreground,
                &invocation,
                &mut updates,
                INSTRUCTIONS_MAX,
            );
            if ran.is_err() {
                updates.updates.truncate(kept);
            }
        };
        let due = self.commands.iter().filter(|c| c.tick == Some(tick));
        let runs = |planned: &&Planned| !resting.contains(&planned.sequence);
        for planned in due.filter(runs) {
            let command = foreseen(&self.forecast, &self.waiting, planned.kind);
            let fits = |c: &&Foreseen| usize::from(c.word_count) == planned.words.len();
            match command.filter(fits) {
                Some(command) if command.code.is_atomic() => {
                    atomic.push((command, planned.words.clone()));
                }
                Some(command) => run(command, &planned.words),
                None => {}
            }
        }
        let turn = tick.0 + u64::from(own.slot.0);
        for rule in &self.forecast.rules {
            let Some(command) = foreseen(&self.forecast, &self.waiting, rule.command) else {
                continue;
            };
            if turn.is_multiple_of(u64::from(rule.ticks.max(1))) {
                let mut words = rule.words.clone();
                if let Some(place) = rule.own_place.map(usize::from) {
                    let position = &before[..self.kinds.dimensions];
                    words[place..place + position.len()].copy_from_slice(position);
                }
                match command.code.is_atomic() {
                    true => atomic.push((command, words)),
                    false => run(command, &words),
                }
            }
        }
        let mut row = before.clone();
        let by_several = Kinds::is_moved_by_several(&updates.updates);
        self.kinds.merge(&mut row, kind, updates.updates);
        for (command, words) in atomic {
            let foreground = Foreground {
                view,
                own,
                kind,
                row: &row,
                kinds: &self.kinds,
            };
            let mut writes = OwnUpdates {
                slot: own.slot,
                updates: vec![],
            };
            let ran = self.interpreter.run_bounded(
                &command.code,
                &self.space,
                &foreground,
                &Invocation {
                    tick,
                    entity: own,
                    words: &words,
                    random: Random::from_key(0),
                },
                &mut writes,
                INSTRUCTIONS_MAX,
            );
            if ran.is_ok() {
                for (column, value) in writes.updates {
                    row[usize::from(column)] = value;
                }
            }
        }
        let [here, last] = [&row, before].map(|row| self.kinds.position(row));
        if here[..2] != last[..2] {
            let [x, y, _] = view.schema().layers.held(last, here, by_several);
            row[..2].copy_from_slice(&[x, y]);
        }
        for (column, changed) in self.changed.iter_mut().enumerate() {
            if row[column] != before[column] {
                *changed = Some(tick);
            }
        }
        row
    }
}

/// The command of a number, if it can be predicted now.
fn foreseen<'f>(
    forecast: &'f Forecast,
    waiting: &[CommandKind],
    kind: CommandKind,
) -> Option<&'f Foreseen> {
    forecast.command(kind).filter(|_| !waiting.contains(&kind))
}

/// The commands that can't be run, as they read layers that the schema lacks.
fn waiting(schema: &Schema, forecast: &Forecast) -> Vec<CommandKind> {
    let has_none = schema.layers.is_empty();
    let commands = forecast.commands.iter();
    let waiting = commands.filter(|command| has_none && command.code.reads_layers());
    waiting.map(|command| command.kind).collect()
}

fn is_processed(sequence: u32, processed: u32) -> bool {
    processed.wrapping_sub(sequence) as i32 >= 0
}

/// The latest tick behind `since` of which nothing has arrived, or not all. The server has
/// sent again long ago all that was missing further back than acknowledgements reach.
fn latest_missing(arrived: &Acknowledgement, since: Tick) -> Option<Tick> {
    let oldest = arrived.newest.0.saturating_sub(32).max(since.0 + 1);
    let behind = oldest..arrived.newest.0;
    behind.rev().map(Tick).find(|&tick| !arrived.has(tick))
}

/// More commands than a server processes in the longest round trip.
const COMMANDS_MAX: usize = 256;
/// A prediction reaches no further.
const AHEAD_SECONDS: u32 = 4;
/// States that are kept up to the certain one: the shown one may lie between the two before.
const SHOWN_BEFORE: usize = 3;
/// A command that takes longer is not predicted.
const INSTRUCTIONS_MAX: u64 = 1 << 20;
