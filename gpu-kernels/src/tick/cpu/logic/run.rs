//! Runs commands on a frozen world, as one thread does.

use script::arith::Random;
use script::census::Census;
use script::holdings::Holdings;
use script::interpreter::{Effects, Interpreter, Invocation, NoEffect, Outgoing, World};
use script::native::{Call, Thread, View};
use script::standings::Standings;
use shared::world::columns::Columns;
use shared::{EntityId, Slot};

use super::pairs::{Pair, Pairs};
use crate::logic::Scripts;
use crate::notification::Notification;
use crate::tick::cpu::emitted::Emitted;
use crate::tick::cpu::{Index, State, TickCommands, prefetch_item};
use crate::tick::timed::TimedCommand;

/// The world as commands see it.
#[derive(Clone, Copy)]
pub struct Frozen<'a> {
    pub state: &'a State,
    pub index: &'a Index,
    pub kind_columns: &'a [Columns],
}

impl Frozen<'_> {
    /// Prefetches the words of a command that comes soon, and what its entity has in memory.
    #[inline]
    pub fn prefetch(&self, commands: TickCommands<'_>, n: usize) {
        if n < commands.len() {
            let (command, words) = commands.with_all_words(n);
            let slot = command.entity.slot.index();
            prefetch_item(words, command.word_start as usize);
            prefetch_item(&self.state.rows, slot * self.state.columns);
            prefetch_item(self.state.slots.generations(), slot);
            prefetch_item(self.state.slots.states(), slot);
            prefetch_item(self.state.slots.kinds(), slot);
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
        self.kind_columns[usize::from(self.kind(slot))].has(column)
    }

    fn past(&self, slot: Slot, axis: usize, tick: i32) -> i32 {
        self.state
            .past
            .coordinate(self.state.tick, slot, axis, tick)
    }

    fn layer(&self, place: i32) -> i32 {
        self.state.layers.word(place)
    }

    fn field(&self, place: i32) -> i32 {
        self.state.fields.word(place)
    }

    fn census(&self) -> Option<&Census> {
        Some(self.state.counted.census())
    }

    fn holdings(&self, relation: u8) -> Option<&Holdings> {
        self.state.held.holdings().get(usize::from(relation))
    }

    fn standings(&self) -> Option<&Standings> {
        Some(self.state.ranked.standings())
    }

    fn near(&self, center: [i32; 3], radius: i32, slots: &mut Vec<u32>) {
        self.index.near(center, radius, slots);
    }
}

/// The commands of a tick that one thread runs, whatever runs them.
#[expect(clippy::large_enum_variant, reason = "there is one for each thread")]
pub enum Runner<'a> {
    Native(Thread<'a, Emitted<'a>>),
    Interpreted(Box<Interpreted<'a>>),
}

/// Runs commands by the interpreter.
pub struct Interpreted<'a> {
    interpreter: Interpreter,
    scripts: &'a Scripts,
    world: Frozen<'a>,
    emitted: Emitted<'a>,
    missed: bool,
}

impl<'a> Runner<'a> {
    pub fn new(
        scripts: &'a Scripts,
        world: Frozen<'a>,
        after: Vec<TimedCommand>,
        notifications: Vec<Notification>,
    ) -> Runner<'a> {
        let emitted = Emitted {
            tick: world.state.tick,
            index: Some(world.index),
            dimensions: scripts.space.dimensions,
            after,
            notifications,
        };
        let Some(native) = scripts.native() else {
            return Runner::Interpreted(Box::new(Interpreted {
                interpreter: Interpreter::default(),
                scripts,
                world,
                emitted,
                missed: false,
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
        let view = state.past.seen_by(view).with_layers(state.layers.words());
        let view = view.with_fields(state.fields.words());
        let view = view.with_census(state.counted.census());
        let view = view.with_standings(state.ranked.standings());
        let view = view.with_holdings(state.held.holdings());
        Runner::Native(Thread::new(native, &view, emitted))
    }

    /// Runs a command. Appends its updates to those in `pairs`, as far as they are kept there,
    /// and collects its timed commands and notifications. Returns the number of its updates;
    /// `None` if it does nothing at all.
    #[inline]
    pub fn run(
        &mut self,
        kind: u16,
        call: &Run<'_>,
        pairs: &mut Pairs,
    ) -> Result<Option<usize>, NoEffect> {
        let marks = self.emitted().marks();
        loop {
            let n = match self.write(kind, call, pairs.room()) {
                Ok(n) => n,
                Err(error) => {
                    self.drop_after(marks);
                    return Err(error);
                }
            };
            if pairs.keep(n) {
                let has_effect = n > 0 || self.emitted().marks() != marks;
                return Ok(Some(n).filter(|_| has_effect));
            }
            self.drop_after(marks);
        }
    }

    /// Runs a command again only for its updates, for which there is room.
    pub fn store(&mut self, kind: u16, call: &Run<'_>, out: &mut [Pair]) {
        let marks = self.emitted().marks();
        // The first run was within its budget, so this one is.
        let stored = self.write(kind, call, out);
        debug_assert_eq!(stored, Ok(out.len()));
        self.drop_after(marks);
    }

    /// Writes a command's updates as far as there is room, and counts them.
    #[inline]
    fn write(&mut self, kind: u16, call: &Run<'_>, out: &mut [Pair]) -> Result<usize, NoEffect> {
        match self {
            Runner::Native(thread) => thread.run(kind, &call.native(), out),
            Runner::Interpreted(runner) => {
                let columns = runner.world.state.columns;
                let mut n = 0;
                let ran = runner.run(kind, call, |slot, column, value| {
                    let key = slot.index() * columns + usize::from(column);
                    if let Some(pair) = out.get_mut(n) {
                        *pair = (key as u32, value as u32);
                    }
                    n += 1;
                });
                ran.map(|()| n)
            }
        }
    }

    /// Whether the last run, which had an effect, met an index or a key that is not there.
    #[inline]
    pub fn missed(&self) -> bool {
        match self {
            Runner::Native(thread) => thread.missed(),
            Runner::Interpreted(runner) => runner.missed,
        }
    }

    /// Why the last run had no effect, if it said so and had none.
    pub fn reason(&self) -> Option<u8> {
        match self {
            Runner::Native(thread) => thread.reason(),
            Runner::Interpreted(runner) => runner.interpreter.reason(),
        }
    }

    fn drop_after(&mut self, marks: (usize, usize)) {
        match self {
            Runner::Native(thread) => thread.host_mut().drop_after(marks),
            Runner::Interpreted(runner) => runner.emitted.drop_after(marks),
        }
    }

    fn emitted(&self) -> &Emitted<'a> {
        match self {
            Runner::Native(thread) => thread.host(),
            Runner::Interpreted(runner) => &runner.emitted,
        }
    }

    pub fn into_emitted(self) -> (Vec<TimedCommand>, Vec<Notification>) {
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
    ) -> Result<(), NoEffect> {
        let Some(command) = self.scripts.command(kind) else {
            return Ok(());
        };
        let world = self.world;
        let invocation = Invocation {
            tick: world.state.tick,
            entity: call.entity,
            words: call.words,
            random: Random::from_key(call.random),
        };
        self.missed = false;
        let mut effects = WithUpdates {
            emitted: &mut self.emitted,
            missed: &mut self.missed,
            update,
        };
        let space = &self.scripts.space;
        self.interpreter
            .run(&command.code, space, &world, &invocation, &mut effects)
    }
}

/// A command that is run.
pub struct Run<'a> {
    pub entity: EntityId,
    pub words: &'a [i32],
    pub random: u64,
}

impl Run<'_> {
    #[inline]
    pub fn native(&self) -> Call<'_> {
        Call {
            actor: self.entity.slot,
            words: self.words,
            random: self.random,
        }
    }
}

struct WithUpdates<'a, 'w, U> {
    emitted: &'a mut Emitted<'w>,
    missed: &'a mut bool,
    update: U,
}

impl<U: FnMut(Slot, u16, i32)> Effects for WithUpdates<'_, '_, U> {
    fn update(&mut self, slot: Slot, column: u16, value: i32) {
        (self.update)(slot, column, value);
    }

    fn miss(&mut self) {
        *self.missed = true;
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
