//! One run of an atomic command: what it writes is in the rows at once, and a log of what was there
//! undoes it where the run has no effect.

use crate::ir::{Index, WRITES_MAX, Write, WriteOp};

use super::effects::Effects;
use super::entities;
use super::layout::Layout;
use super::memory::{LOAD_LIVE, Presence, STORE_LIVE, element, element_of, load, store, table};
use super::text::{Flag, Label, Long, Text, Value, Word};

/// The name of a thread's log: (place in the rows, what was there).
pub const LOG: &str = "log";
/// Bytes of an entry of the log.
pub const ENTRY_BYTES: u32 = 8;

/// The registers and labels of a run.
#[derive(Clone, Copy)]
pub struct Turn {
    /// Which turn it is.
    pub number: Word,
    /// The number of the command.
    pub kind: u16,
    /// How many entries the log has.
    pub written: Word,
    pub verdict: Word,
    pub overrun: Label,
    pub refuse: Label,
    pub moved: Label,
    /// Where to continue after the run, with the verdict stored.
    pub next: Label,
}

impl Turn {
    pub fn new(
        text: &mut Text,
        kind: u16,
        [number, written, verdict]: [Word; 3],
        next: Label,
    ) -> Turn {
        Turn {
            number,
            kind,
            written,
            verdict,
            overrun: text.label(),
            refuse: text.label(),
            moved: text.label(),
            next,
        }
    }

    /// A change of an attribute, where the entity has it.
    pub fn write(
        self,
        text: &mut Text,
        layout: &Layout,
        write: &Write,
        index: Option<Index>,
        has: Presence,
    ) {
        let beyond = text.label();
        match has {
            Presence::Never => return,
            Presence::If(flag) => text.jump_unless(flag, beyond),
            Presence::Always => {}
        }
        let written = self.written;
        let is_over: Flag = text.set("setp.ge.u32", format_args!("{written}, {WRITES_MAX}"));
        text.jump_if(is_over, self.overrun);
        let slot = text.in_register(write.slot.into());
        let key = entities::key(text, layout, slot, write.column, index);
        let place = element_of(text, layout.world.rows, key, 4);
        let before: Word = text.set(LOAD_LIVE, format_args!("[{place}]"));
        let value = text.in_register(write.value.into());
        let [old, given] =
            [before, value].map(|word| -> Long { text.set("cvt.s64.s32", format_args!("{word}")) });
        let wanted: Long = match write.op {
            WriteOp::Set => given,
            WriteOp::Add => text.set("add.s64", format_args!("{old}, {given}")),
            WriteOp::Sub => text.set("sub.s64", format_args!("{old}, {given}")),
        };
        let kind = element_of(text, layout.world.slot_kinds, slot, 4);
        let kind = load(text, kind, 0);
        let bounds = entities::key(text, layout, kind, write.column, index);
        let bounds = element_of(text, layout.world.bounds, bounds, 8);
        let [low, high] = [0, 4].map(|offset| -> Long {
            let bound = load(text, bounds, offset);
            text.set("cvt.s64.s32", format_args!("{bound}"))
        });
        let clamped: Long = text.set("max.s64", format_args!("{wanted}, {low}"));
        let clamped: Long = text.set("min.s64", format_args!("{clamped}, {high}"));
        if write.fits {
            let fits_not: Flag = text.set("setp.ne.s64", format_args!("{clamped}, {wanted}"));
            text.jump_if(fits_not, self.refuse);
        }
        let entry = entry(text, written);
        text.line(format_args!(
            "st.local.v2.u32 [{entry}], {{{key}, {before}}}"
        ));
        text.put("add.u32", written, format_args!("{written}, 1"));
        let after: Word = text.set("cvt.u32.u64", format_args!("{clamped}"));
        text.line(format_args!("{STORE_LIVE} [{place}], {after}"));
        text.place(beyond);
    }

    /// Ends the run where an entity is none of the command's keys.
    pub fn keep(self, text: &mut Text, layout: &Layout, slot: Value, is: Presence) {
        if let Presence::Never = is {
            return;
        }
        let is_key = text.label();
        if let Presence::If(flag) = is {
            text.jump_unless(flag, is_key);
        }
        let keys = crate::atomic::KEYS_MAX as u32;
        let slots = element_of(text, layout.world.atomic_slots, self.number, 4 * keys);
        for key in 0..keys as i32 {
            let own = load(text, slots, 4 * key);
            let is_it: Flag = text.set("setp.eq.u32", format_args!("{own}, {slot}"));
            text.jump_if(is_it, is_key);
        }
        text.jump(self.moved);
        text.place(is_key);
    }

    /// After the last instruction: stores what became of the run of the command at a place.
    pub fn end(self, text: &mut Text, layout: &Layout, effects: &Effects, command: Word) {
        let world = &layout.world;
        let (end, undo) = (text.label(), text.label());
        let verdict = self.verdict;
        let rooms = [layout.numbers.timed_max, layout.numbers.notifications_max];
        let counts = [
            (effects.afters(), world.atomic_after_counts),
            (effects.notifications(), world.atomic_notification_counts),
        ];
        let mut all = self.written;
        for ((count, field), room) in counts.into_iter().zip(rooms) {
            let Some(count) = count else { continue };
            if room > 0 {
                let address = element_of(text, field, self.number, 4);
                store(text, address, 0, Value::Word(count));
            }
            all = text.set("or.b32", format_args!("{all}, {count}"));
        }
        let does: Flag = text.set("setp.ne.u32", format_args!("{all}, 0"));
        let (kind, idle) = (self.kind, layout.numbers.idle);
        text.put("selp.b32", verdict, format_args!("{kind}, {idle}, {does}"));
        if layout.numbers.has_causes {
            self.note_writer(text, layout, command);
        }
        text.jump(end);
        let numbers = &layout.numbers;
        for (label, why) in [
            (self.overrun, numbers.over_budget),
            (self.refuse, numbers.refused),
            (self.moved, numbers.moved),
        ] {
            text.place(label);
            text.put("mov.b32", verdict, format_args!("{why}"));
            text.jump(undo);
        }
        text.place(undo);
        self.undo(text, layout, end);
        text.place(end);
        let address = element_of(text, world.atomic_verdicts, self.number, 4);
        store(text, address, 0, Value::Word(verdict));
        text.jump(self.next);
    }

    fn note_writer(self, text: &mut Text, layout: &Layout, command: Word) {
        let (again, done) = (text.label(), text.label());
        let writers = table(text, layout.world.atomic_writers);
        let n: Word = text.set("mov.b32", format_args!("0"));
        text.place(again);
        let is_done: Flag = text.set("setp.ge.u32", format_args!("{n}, {}", self.written));
        text.jump_if(is_done, done);
        let entry = entry(text, n);
        let key: Word = text.set("ld.local.u32", format_args!("[{entry}]"));
        let writer = element(text, writers, key, 4);
        text.line(format_args!("{STORE_LIVE} [{writer}], {command}"));
        text.put("add.u32", n, format_args!("{n}, 1"));
        text.jump(again);
        text.place(done);
    }

    fn undo(self, text: &mut Text, layout: &Layout, done: Label) {
        let again = text.label();
        let written = self.written;
        let rows = table(text, layout.world.rows);
        text.place(again);
        let is_done: Flag = text.set("setp.eq.u32", format_args!("{written}, 0"));
        text.jump_if(is_done, done);
        text.put("sub.u32", written, format_args!("{written}, 1"));
        let entry = entry(text, written);
        let [key, before] = [(); 2].map(|()| text.register::<Word>());
        text.line(format_args!(
            "ld.local.v2.u32 {{{key}, {before}}}, [{entry}]"
        ));
        let place = element(text, rows, key, 4);
        text.line(format_args!("{STORE_LIVE} [{place}], {before}"));
        text.jump(again);
    }
}

/// The address of an entry of the log.
fn entry(text: &mut Text, n: Word) -> Long {
    let log: Long = text.set("mov.u64", format_args!("{LOG}"));
    element(text, log, n, ENTRY_BYTES)
}
