//! Updates, scheduled commands and notifications: counted in one pass, stored in
//! the other.

use shared::world::config::DELAY_TICKS_MAX;

use crate::ir::{
    After, Code, EFFECTS_MAX, Index, NEAR_RADIUS_MAX, NOBODY, Notify, Operand, TIMED_WORDS_MAX,
};

use super::entities::{identity, key};
use super::layout::{Layout, NOWHERE};
use super::memory::{Presence, TICK, element, element_of, load, store, table};
use super::text::{Flag, Label, Long, Text, Value, Word};

/// What a kernel does with effects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pass {
    Count,
    Store,
    /// At once, of an atomic command with this turn; jumps to the label where there are more than
    /// it may have.
    Turn(Word, Label),
}

/// The effects of a run. Of those that a code has, how many there are so far, or where the
/// next one is stored.
pub struct Effects {
    pass: Pass,
    updates: Option<Word>,
    afters: Option<Word>,
    notifications: Option<Word>,
    /// Whether updates are stored; not set where they always are.
    keeps_updates: Option<Flag>,
    /// The update's command, as `first_updates` has it.
    cause: Option<Long>,
}

impl Effects {
    /// Those of the command at a place of the tick; jumps to `next` where there is nothing to
    /// store.
    pub fn new(
        text: &mut Text,
        layout: &Layout,
        code: &Code,
        pass: Pass,
        place: Word,
        next: Label,
    ) -> Effects {
        let numbers = &layout.numbers;
        let has = [
            code.has_updates(),
            numbers.timed_max > 0 && code.afters().next().is_some(),
            numbers.notifications_max > 0 && code.notifications().next().is_some(),
        ];
        let offsets = [
            layout.world.update_offsets,
            layout.world.after_offsets,
            layout.world.notification_offsets,
        ];
        let has = match pass {
            // They count, whether there is room for them or not.
            Pass::Turn(..) => [
                false,
                code.afters().next().is_some(),
                code.notifications().next().is_some(),
            ],
            _ => has,
        };
        let [updates, afters, notifications] = [0, 1, 2].map(|effect| {
            has[effect].then(|| match pass {
                Pass::Count | Pass::Turn(..) => text.set("mov.b32", format_args!("0")),
                Pass::Store => {
                    let address = element_of(text, offsets[effect], place, 4);
                    load(text, address, 0)
                }
            })
        });
        let mut effects = Effects {
            pass,
            updates,
            afters,
            notifications,
            keeps_updates: None,
            cause: None,
        };
        if pass == Pass::Store {
            effects.skip_if_nothing(text, next);
            effects.keep_cause(text, layout, place);
        }
        effects
    }

    pub fn pass(&self) -> Pass {
        self.pass
    }

    pub fn afters(&self) -> Option<Word> {
        self.afters
    }

    pub fn notifications(&self) -> Option<Word> {
        self.notifications
    }

    fn all(&self) -> impl Iterator<Item = Word> {
        [self.updates, self.afters, self.notifications]
            .into_iter()
            .flatten()
    }

    fn skip_if_nothing(&mut self, text: &mut Text, next: Label) {
        // Offsets are below `NOWHERE`, so that only those that all are have all of its bits.
        let both =
            |text: &mut Text, a: Word, b: Word| text.set("and.b32", format_args!("{a}, {b}"));
        let mut all = self.all();
        let Some(mut common) = all.next() else {
            return text.jump(next);
        };
        for offset in all {
            common = both(text, common, offset);
        }
        let is_nothing: Flag = text.set("setp.eq.u32", format_args!("{common}, {NOWHERE}"));
        text.jump_if(is_nothing, next);
        if let Some(updates) = self.updates.filter(|_| self.all().count() > 1) {
            let keeps = text.set("setp.ne.u32", format_args!("{updates}, {NOWHERE}"));
            self.keeps_updates = Some(keeps);
        }
    }

    fn keep_cause(&mut self, text: &mut Text, layout: &Layout, place: Word) {
        if layout.numbers.has_causes && self.updates.is_some() {
            let stamp = layout.tick.stamp;
            let stamp: Word = text.set("ld.param.u32", format_args!("[{TICK}+{stamp}]"));
            let newest_first: Word = text.set("not.b32", format_args!("{stamp}"));
            let cause = text.set("mov.b64", format_args!("{{{place}, {newest_first}}}"));
            self.cause = Some(cause);
        }
    }

    /// After a run: stores the counts.
    pub fn finish(&self, text: &mut Text, layout: &Layout, place: Word) {
        if self.pass != Pass::Count {
            return;
        }
        let world = &layout.world;
        let counts = [
            (self.updates, world.update_counts),
            (self.afters, world.after_counts),
            (self.notifications, world.notification_counts),
        ];
        for (count, field) in counts {
            let Some(count) = count else { continue };
            let address = element_of(text, field, place, 4);
            let is_some: Flag = text.set("setp.ne.u32", format_args!("{count}, 0"));
            text.line(format_args!(
                "@{is_some} st.global.u32 [{address}], {count}"
            ));
        }
    }

    /// An update of an attribute, where the entity has it.
    pub fn update(
        &self,
        text: &mut Text,
        layout: &Layout,
        slot: Value,
        has: Presence,
        (column, index): (u16, Option<Index>),
        value: Value,
    ) {
        let Some(n) = self.updates else { return };
        let is_kept = match (self.keeps_updates, has) {
            (None, has) => has,
            (Some(_), Presence::Never) => Presence::Never,
            (Some(keeps), Presence::Always) => Presence::If(keeps),
            (Some(keeps), Presence::If(has)) => {
                Presence::If(text.set("and.pred", format_args!("{keeps}, {has}")))
            }
        };
        self.emit(text, is_kept, n, u32::MAX, |text, n| {
            let slot = text.in_register(slot);
            let key = key(text, layout, slot, column, index);
            if let Some(cause) = self.cause {
                // The minimum is the first update, in whatever order threads run.
                let first = element_of(text, layout.world.first_updates, key, 8);
                text.line(format_args!("red.global.min.u64 [{first}], {cause}"));
            }
            let at = element_of(text, layout.world.keys, n, 4);
            store(text, at, 0, Value::Word(key));
            let at = element_of(text, layout.world.values, n, 4);
            store(text, at, 0, value);
        });
    }

    /// A scheduled command, where its actor is there.
    pub fn after(
        &self,
        text: &mut Text,
        layout: &Layout,
        after: &After,
        actor: Value,
        is: Presence,
    ) {
        let Some(n) = self.afters else { return };
        let fields = &layout.after;
        let table = match self.pass {
            Pass::Turn(..) => layout.world.atomic_afters,
            _ => layout.world.after_records,
        };
        self.emit(text, is, n, layout.numbers.timed_max, |text, n| {
            let record = element_of(text, table, n, fields.bytes);
            let ticks = clamped(text, after.ticks, 1, DELAY_TICKS_MAX as i32);
            store(text, record, fields.ticks, ticks);
            let [slot, generation] = match after.actor {
                Some(_) => identity(text, layout, actor, Presence::Always),
                None => [Value::Const(NOBODY), Value::Const(0)],
            };
            store(text, record, fields.slot, slot);
            store(text, record, fields.generation, generation);
            let kind = u32::from(after.command) | (after.words.len() as u32) << 16;
            store(text, record, fields.kind, Value::Const(kind as i32));
            store_words(text, record, fields.words, &after.words, TIMED_WORDS_MAX);
        });
    }

    /// A notification.
    pub fn notify(
        &self,
        text: &mut Text,
        layout: &Layout,
        notify: &Notify,
        source: Value,
        is: Presence,
    ) {
        let Some(n) = self.notifications else { return };
        let fields = &layout.notification;
        let max = layout.numbers.notifications_max;
        let pass = self.pass;
        self.emit(text, Presence::Always, n, max, |text, n| {
            let table: Long = match pass {
                Pass::Turn(..) => table(text, layout.world.atomic_notifications),
                _ => {
                    let table = layout.tick.notifications;
                    text.set("ld.param.u64", format_args!("[{TICK}+{table}]"))
                }
            };
            let record = element(text, table, n, fields.bytes);
            let [slot, generation] = identity(text, layout, source, is);
            store(text, record, fields.slot, slot);
            store(text, record, fields.generation, generation);
            let mut store_small = |bits: u32, field: u32, value: usize| {
                let value: Word = text.set("mov.b32", format_args!("{value}"));
                text.line(format_args!(
                    "st.global.u{bits} [{record}+{field}], {value}"
                ));
            };
            store_small(16, fields.kind, notify.kind.into());
            store_small(8, fields.word_count, notify.words.len());
            store_small(8, fields.has_area, notify.area.is_some().into());
            store_area(text, layout, notify, record);
            let words = &notify.words;
            store_words(text, record, fields.words, words, words.len());
        });
    }

    /// Counts an effect that is there, or stores it below `max`: `write` is given its place.
    fn emit(
        &self,
        text: &mut Text,
        is: Presence,
        n: Word,
        max: u32,
        write: impl FnOnce(&mut Text, Word),
    ) {
        if let Presence::Never = is {
            return;
        }
        if self.pass == Pass::Count {
            let condition = match is {
                Presence::If(flag) => format!("@{flag} "),
                _ => String::new(),
            };
            return text.line(format_args!("{condition}add.u32 {n}, {n}, 1"));
        }
        let beyond = text.label();
        if let Presence::If(flag) = is {
            text.jump_unless(flag, beyond);
        }
        if let Pass::Turn(turn, overrun) = self.pass {
            let is_over: Flag = text.set("setp.ge.u32", format_args!("{n}, {EFFECTS_MAX}"));
            text.jump_if(is_over, overrun);
            if max > 0 {
                let place = text.set("mad.lo.u32", format_args!("{turn}, {EFFECTS_MAX}, {n}"));
                write(text, place);
            }
            text.put("add.u32", n, format_args!("{n}, 1"));
            return text.place(beyond);
        }
        if max < u32::MAX {
            let is_full: Flag = text.set("setp.ge.u32", format_args!("{n}, {max}"));
            text.jump_if(is_full, beyond);
        }
        write(text, n);
        text.put("add.u32", n, format_args!("{n}, 1"));
        text.place(beyond);
    }
}

fn store_words(text: &mut Text, record: Long, field: u32, words: &[Operand], n: usize) {
    let words = words
        .iter()
        .copied()
        .chain(std::iter::repeat(Operand::ZERO));
    for (word, place) in words.zip(0..n as u32) {
        store(text, record, field + 4 * place, word.into());
    }
}

fn store_area(text: &mut Text, layout: &Layout, notify: &Notify, record: Long) {
    let fields = &layout.notification;
    let space = &layout.numbers.space;
    let distance = notify
        .area
        .map(|(_, distance)| clamped(text, distance, 0, NEAR_RADIUS_MAX));
    for (axis, offset) in (0..3).zip((0..).step_by(4)) {
        let [low, high] = match (notify.area, distance) {
            (Some((center, _)), Some(distance)) if axis < space.dimensions => {
                let center = clamped(text, center[axis], 0, space.size[axis] - 1);
                let center = text.in_register(center);
                let low = text.set("sub.s32", format_args!("{center}, {distance}"));
                let end: Word = text.set("add.s32", format_args!("{center}, {distance}"));
                let end = text.set("add.s32", format_args!("{end}, 1"));
                [low, end].map(Value::Word)
            }
            (Some(_), _) => [0, 1].map(Value::Const),
            (None, _) => [0, 0].map(Value::Const),
        };
        store(text, record, fields.low + offset, low);
        store(text, record, fields.high + offset, high);
    }
}

fn clamped(text: &mut Text, value: Operand, low: i32, high: i32) -> Value {
    match Value::from(value) {
        Value::Const(value) => Value::Const(value.clamp(low, high)),
        Value::Word(value) => {
            let value: Word = text.set("max.s32", format_args!("{value}, {low}"));
            Value::Word(text.set("min.s32", format_args!("{value}, {high}")))
        }
    }
}
