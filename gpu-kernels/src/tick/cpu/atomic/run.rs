//! Runs atomic commands on rows that they change, one after another.

use script::arith::Random;
use script::atomic::KEYS_MAX;
use script::census::Census;
use script::interpreter::{Effects, Interpreter, Invocation, NoEffect, Outgoing, World};
use script::native::{Rows, Thread};
use script::standings::Standings;
use shared::world::columns::Columns;
use shared::world::layer::Layers;
use shared::{EntityId, Slot, Tick};

use super::log::Log;
use crate::logic::{Catalog, Scripts};
use crate::notification::Notification;
use crate::tick::cpu::State;
use crate::tick::cpu::emitted::Emitted;
use crate::tick::cpu::fields::Fields;
use crate::tick::cpu::logic::{Rules, Run};
use crate::tick::cpu::past::Past;
use crate::tick::cpu::slots::Slots;
use crate::tick::timed::TimedCommand;

/// The commands of a tick, whatever runs them.
#[expect(clippy::large_enum_variant, reason = "there is one")]
pub enum Turns<'a> {
    Native(Thread<'a, Emitted<'a>>),
    Interpreted(Box<Interpreted<'a>>),
}

/// Runs commands by the interpreter.
pub struct Interpreted<'a> {
    interpreter: Interpreter,
    scripts: &'a Scripts,
    world: Turn<'a>,
    emitted: Emitted<'a>,
    writes: Vec<(Slot, u16, i32)>,
    missed: bool,
}

/// The world as the command that runs sees it.
struct Turn<'a> {
    catalog: &'a Catalog,
    tick: Tick,
    columns: usize,
    kind_columns: &'a [Columns],
    rows: &'a mut [i32],
    slots: &'a Slots,
    past: &'a Past,
    layers: &'a Layers,
    fields: &'a Fields,
    census: &'a Census,
    standings: &'a Standings,
    keys: [i32; KEYS_MAX],
}

impl<'a> Turns<'a> {
    pub fn new(rules: Rules<'a>, state: &'a mut State, emitted: Emitted<'a>) -> Turns<'a> {
        let State {
            tick,
            columns,
            slots,
            rows,
            past,
            layers,
            fields,
            counted,
            ranked,
            ..
        } = state;
        let (slots, past, layers, fields) = (&*slots, &*past, &*layers, &*fields);
        let (census, standings) = (counted.census(), ranked.standings());
        let Some(native) = rules.scripts.native() else {
            return Turns::Interpreted(Box::new(Interpreted {
                interpreter: Interpreter::default(),
                scripts: rules.scripts,
                world: Turn {
                    catalog: rules.catalog,
                    tick: *tick,
                    columns: *columns,
                    kind_columns: rules.scripts.kind_columns(),
                    rows,
                    slots,
                    past,
                    layers,
                    fields,
                    census,
                    standings,
                    keys: [script::ir::NOBODY; KEYS_MAX],
                },
                emitted,
                writes: vec![],
                missed: false,
            }));
        };
        let rows = Rows::new(
            *tick,
            *columns,
            rows,
            &slots.states()[..slots.used()],
            slots.generations(),
            slots.kinds(),
        );
        let rows = past.seen_in(rows).with_layers(layers.words());
        let rows = rows.with_fields(fields.words());
        let rows = rows.with_census(census).with_standings(standings);
        Turns::Native(Thread::of_rows(native, rows, emitted))
    }

    /// Runs a command, and logs its writes. False if it does nothing at all.
    #[inline]
    pub fn run(
        &mut self,
        kind: u16,
        call: &Run<'_>,
        keys: [i32; KEYS_MAX],
        log: &mut Log,
    ) -> Result<bool, NoEffect> {
        let marks = self.emitted().marks();
        let ran = match self {
            Turns::Native(thread) => {
                let room = log.room();
                let ended = thread.run_atomic(kind, &call.native(), keys, room);
                if ended.result.is_err() {
                    thread.undo(&room[..ended.writes]);
                }
                ended.result.map(|()| ended.writes)
            }
            Turns::Interpreted(runner) => runner.run(kind, call, keys, log.room()),
        };
        match ran {
            Ok(writes) => {
                log.keep(writes);
                Ok(writes > 0 || self.emitted().marks() != marks)
            }
            Err(why) => {
                self.drop_after(marks);
                Err(why)
            }
        }
    }

    /// Whether the last run, which had an effect, met an index or a key that is not there.
    #[inline]
    pub fn missed(&self) -> bool {
        match self {
            Turns::Native(thread) => thread.missed(),
            Turns::Interpreted(runner) => runner.missed,
        }
    }

    /// Why the last run had no effect, if it said so and had none.
    pub fn reason(&self) -> Option<u8> {
        match self {
            Turns::Native(thread) => thread.reason(),
            Turns::Interpreted(runner) => runner.interpreter.reason(),
        }
    }

    /// Prefetches what commands read of an entity.
    #[inline]
    pub fn prefetch(&self, slot: Slot) {
        if let Turns::Native(thread) = self {
            thread.prefetch(slot);
        }
    }

    fn emitted(&self) -> &Emitted<'_> {
        match self {
            Turns::Native(thread) => thread.host(),
            Turns::Interpreted(runner) => &runner.emitted,
        }
    }

    fn drop_after(&mut self, marks: (usize, usize)) {
        match self {
            Turns::Native(thread) => thread.host_mut().drop_after(marks),
            Turns::Interpreted(runner) => runner.emitted.drop_after(marks),
        }
    }

    pub fn into_emitted(self) -> (Vec<TimedCommand>, Vec<Notification>) {
        let emitted = match self {
            Turns::Native(thread) => thread.into_host(),
            Turns::Interpreted(runner) => runner.emitted,
        };
        (emitted.after, emitted.notifications)
    }
}

impl Interpreted<'_> {
    fn run(
        &mut self,
        kind: u16,
        call: &Run<'_>,
        keys: [i32; KEYS_MAX],
        log: &mut [(u32, u32)],
    ) -> Result<usize, NoEffect> {
        let Some(command) = self.scripts.command(kind) else {
            return Ok(0);
        };
        self.world.keys = keys;
        self.writes.clear();
        self.missed = false;
        let invocation = Invocation {
            tick: self.world.tick,
            entity: call.entity,
            words: call.words,
            random: Random::from_key(call.random),
        };
        let mut effects = Written {
            emitted: &mut self.emitted,
            writes: &mut self.writes,
            missed: &mut self.missed,
        };
        let space = &self.scripts.space;
        self.interpreter
            .run(&command.code, space, &self.world, &invocation, &mut effects)?;
        for (entry, &(slot, column, value)) in log.iter_mut().zip(&self.writes) {
            let key = slot.index() * self.world.columns + usize::from(column);
            let before = std::mem::replace(&mut self.world.rows[key], value);
            *entry = (key as u32, before as u32);
        }
        Ok(self.writes.len())
    }
}

impl World for Turn<'_> {
    fn attribute(&self, slot: Slot, column: usize) -> i32 {
        self.rows[slot.index() * self.columns + column]
    }

    fn generation(&self, slot: Slot) -> Option<u32> {
        let i = slot.index();
        let live = i < self.slots.used() && self.slots.is_live(i);
        live.then(|| self.slots.generations()[i])
    }

    fn kind(&self, slot: Slot) -> u16 {
        self.slots.kinds()[slot.index()]
    }

    fn has(&self, slot: Slot, column: usize) -> bool {
        self.kind_columns[usize::from(self.kind(slot))].has(column)
    }

    fn bounds(&self, slot: Slot, column: usize) -> (i32, i32) {
        self.catalog.bounds(self.kind(slot))[column]
    }

    fn is_key(&self, slot: Slot) -> bool {
        self.keys.contains(&(slot.0 as i32))
    }

    fn past(&self, slot: Slot, axis: usize, tick: i32) -> i32 {
        self.past.coordinate(self.tick, slot, axis, tick)
    }

    fn layer(&self, place: i32) -> i32 {
        self.layers.word(place)
    }

    fn field(&self, place: i32) -> i32 {
        self.fields.word(place)
    }

    fn census(&self) -> Option<&Census> {
        Some(self.census)
    }

    fn standings(&self) -> Option<&Standings> {
        Some(self.standings)
    }

    // An atomic command does not look around.
    fn near(&self, _: [i32; 3], _: i32, _: &mut Vec<u32>) {}
}

/// What a run by the interpreter does.
struct Written<'a, 'w> {
    emitted: &'a mut Emitted<'w>,
    writes: &'a mut Vec<(Slot, u16, i32)>,
    missed: &'a mut bool,
}

impl Effects for Written<'_, '_> {
    // An atomic command has no updates.
    fn update(&mut self, _: Slot, _: u16, _: i32) {}

    fn write(&mut self, slot: Slot, column: u16, value: i32) {
        self.writes.push((slot, column, value));
    }

    fn miss(&mut self) {
        *self.missed = true;
    }
}

impl Outgoing for Written<'_, '_> {
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
