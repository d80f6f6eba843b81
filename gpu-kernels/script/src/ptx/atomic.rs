//! The kernels of a world's atomic commands, by data flow.
//!
//! The keys of all turns are sorted by entity, so that each entity has a queue of the turns that
//! have to do with it, in order. A turn is run once it is at the head of all its queues: by the
//! worker that ended the last one before it. So the commands of each entity run one after another,
//! in order, and those without an entity in common at the same time.

use std::fmt::Write as _;

use crate::atomic::{KEYS_MAX, Key, Keys};
use crate::ir::{Code, EFFECTS_MAX, NOBODY};
use crate::logic::Command;

use super::entities;
use super::kernel::{Run, own_number};
use super::layout::Layout;
use super::memory::{LOAD_LIVE, Presence, STORE_LIVE, counters, element_of, load, load_of, store};
use super::text::{Flag, Half, Label, Long, Text, Value, Word};
use super::turn::{ENTRY_BYTES, LOG, Turn};

/// A command that is atomic.
#[derive(Clone, Copy)]
pub struct AtomicCommand<'a> {
    pub kind: u16,
    pub code: &'a Code,
    pub keys: &'a Keys,
    /// The most writes of a run.
    pub writes_max: u64,
}

impl AtomicCommand<'_> {
    /// `None` if the command is not atomic.
    pub fn of(command: &Command) -> Option<AtomicCommand<'_>> {
        Some(AtomicCommand {
            kind: command.schema.kind.id(),
            code: &command.code,
            keys: command.atomic.as_ref()?,
            writes_max: command.updates_max,
        })
    }
}

/// The threads that run commands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Workers {
    /// Each thread those in the queue at its number, and what these free: quick where many can
    /// run. What else is freed it leaves in the queue.
    Threads,
    /// A thread of each warp, the others in the queue, until all have ended.
    Warps,
}

/// The body of the kernel that finds the slots of each turn's keys.
pub fn keys(commands: &[AtomicCommand<'_>], layout: &Layout) -> String {
    let mut text = Text::default();
    let [again, next, done] = [(); 3].map(|()| text.label());
    let count = turns(&mut text, layout);
    let [turn, step] = own_number(&mut text);
    let is_none: Flag = text.set("setp.ge.u32", format_args!("{turn}, {count}"));
    text.jump_if(is_none, done);
    text.place(again);
    let place = load_of(&mut text, layout.world.atomic_places, turn);
    let record = element_of(
        &mut text,
        layout.world.commands,
        place,
        layout.command.bytes,
    );
    let slots = element_of(
        &mut text,
        layout.world.atomic_slots,
        turn,
        4 * KEYS_MAX as u32,
    );
    let labels = dispatch(
        &mut text,
        layout,
        record,
        commands.iter().map(|command| command.kind),
    );
    text.jump(next);
    for (label, command) in labels.into_iter().zip(commands) {
        text.place(label);
        let mut found: Vec<Word> = vec![];
        for &path in command.keys.paths() {
            let slot = match path {
                Key::Actor => load(&mut text, record, layout.command.slot as i32),
                Key::Word(number) => {
                    let start = load(&mut text, record, layout.command.word_start as i32);
                    let words = entities::words(&mut text, layout, start);
                    let reference = load(&mut text, words, i32::from(number) * 4);
                    resolved(&mut text, layout, Value::Word(reference))
                }
                Key::Shared(reference) => resolved(&mut text, layout, Value::Const(reference)),
                Key::First(kind) => {
                    let slot = entities::nth(&mut text, layout, kind, Value::Const(0));
                    text.in_register(slot)
                }
                Key::Of(of, column) => {
                    let of = Value::Word(found[usize::from(of)]);
                    let is: Flag = text.set("setp.ne.s32", format_args!("{of}, {NOBODY}"));
                    let has = entities::has(&mut text, layout, of, Presence::If(is), column);
                    let reference = reference_in(&mut text, layout, of, has, column);
                    resolved(&mut text, layout, reference)
                }
            };
            found.push(slot);
        }
        for key in 0..KEYS_MAX {
            let slot = found.get(key).copied();
            let slot = slot.map_or(Value::Const(NOBODY), Value::Word);
            store(&mut text, slots, 4 * key as u32, slot);
        }
        text.jump(next);
    }
    text.place(next);
    text.put("add.u32", turn, format_args!("{turn}, {step}"));
    let is_more: Flag = text.set("setp.lt.u32", format_args!("{turn}, {count}"));
    text.jump_if(is_more, again);
    text.place(done);
    text.line(format_args!("ret"));
    text.finish()
}

/// The reference in an attribute; that to nobody where the entity lacks it.
fn reference_in(
    text: &mut Text,
    layout: &Layout,
    slot: Value,
    has: Presence,
    column: u16,
) -> Value {
    match has {
        Presence::Never => Value::Const(NOBODY),
        Presence::Always => entities::attribute(text, layout, slot, has, column),
        Presence::If(flag) => {
            let value = entities::attribute(text, layout, slot, has, column);
            Value::Word(text.set("selp.b32", format_args!("{value}, {NOBODY}, {flag}")))
        }
    }
}

fn resolved(text: &mut Text, layout: &Layout, reference: Value) -> Word {
    let reference = Value::Word(text.in_register(reference));
    let slot: Word = text.register();
    entities::resolve(text, layout, slot, reference);
    slot
}

/// The body of a kernel that runs commands.
pub fn run(commands: &[AtomicCommand<'_>], layout: &Layout, workers: Workers) -> String {
    let mut text = Text::default();
    text.has_live_rows = true;
    // A code's registers are the first.
    let registers = commands.iter().map(|command| command.code.registers).max();
    for _ in 0..registers.unwrap_or(0) {
        text.register::<Word>();
    }
    let [turn, written, verdict, ended] = [(); 4].map(|()| text.register::<Word>());
    let [take, got, begin, ran, exit] = [(); 5].map(|()| text.label());
    let counters = counters(&mut text, layout);
    let count = turns(&mut text, layout);
    match workers {
        Workers::Threads => by_threads(&mut text, layout, counters, turn, [take, got, exit]),
        Workers::Warps => by_warps(
            &mut text,
            layout,
            (counters, count),
            turn,
            [take, got, exit],
        ),
    }
    text.place(got);
    text.line(format_args!("fence.acq_rel.gpu"));
    text.put("mov.b32", ended, format_args!("0"));
    text.place(begin);
    let place = load_of(&mut text, layout.world.atomic_places, turn);
    let record = element_of(
        &mut text,
        layout.world.commands,
        place,
        layout.command.bytes,
    );
    text.put("mov.b32", written, format_args!("0"));
    // Loaded beside what the run needs, so that nothing waits for them.
    let others = others(&mut text, layout, turn, commands);
    let labels = dispatch(
        &mut text,
        layout,
        record,
        commands.iter().map(|command| command.kind),
    );
    text.jump(ran);
    for (label, &AtomicCommand { kind, code, .. }) in labels.into_iter().zip(commands) {
        text.place(label);
        let own = Turn::new(&mut text, kind, [turn, written, verdict], ran);
        Run::of_turn(&mut text, layout, code, (kind, place), own, ran).write();
    }
    text.place(ran);
    text.line(format_args!("fence.acq_rel.gpu"));
    let next = free_others(&mut text, layout, counters, &others);
    text.put("add.u32", ended, format_args!("{ended}, 1"));
    text.line(format_args!("fence.acq_rel.gpu"));
    let goes_on: Flag = text.set("setp.ne.s32", format_args!("{next}, {NOBODY}"));
    text.put("mov.b32", turn, format_args!("{next}"));
    text.jump_if(goes_on, begin);
    let done = layout.counters.atomic_done;
    text.line(format_args!(
        "red.global.add.u32 [{counters}+{done}], {ended}"
    ));
    text.jump(take);
    text.place(exit);
    text.line(format_args!("ret"));
    let mut body = String::new();
    let writes_max = commands.iter().map(|command| command.writes_max).max();
    let bytes = writes_max.unwrap_or(0).max(1) * u64::from(ENTRY_BYTES);
    let _ = writeln!(body, "    .local .align 8 .b8 {LOG}[{bytes}];");
    body + &text.finish()
}

/// Takes turns by the number of the thread.
fn by_threads(
    text: &mut Text,
    layout: &Layout,
    counters: Long,
    turn: Word,
    [take, got, exit]: [Label; 3],
) {
    let [number, step] = own_number(text);
    let first = load(text, counters, layout.counters.atomic_first as i32);
    text.place(take);
    let is_none: Flag = text.set("setp.ge.u32", format_args!("{number}, {first}"));
    text.jump_if(is_none, exit);
    let place = element_of(text, layout.world.atomic_queue, number, 4);
    text.put(LOAD_LIVE, turn, format_args!("[{place}]"));
    text.put("add.u32", number, format_args!("{number}, {step}"));
    text.jump(got);
}

/// Takes the next in the queue, and waits for it. Each worker waits at a place of its own and rests
/// between two looks, as looks slow down the workers that run: most of all those at the counter of
/// ended turns, which is one for all.
fn by_warps(
    text: &mut Text,
    layout: &Layout,
    (counters, count): (Long, Word),
    turn: Word,
    [take, got, exit]: [Label; 3],
) {
    let fields = &layout.counters;
    let lane: Word = text.set("mov.u32", format_args!("%laneid"));
    let is_idle: Flag = text.set("setp.ne.u32", format_args!("{lane}, 0"));
    text.jump_if(is_idle, exit);
    let first = load(text, counters, fields.atomic_first as i32);
    let looks: Word = text.register();
    text.place(take);
    let head = fields.atomic_head;
    let ticket: Word = text.set(
        "atom.global.add.u32",
        format_args!("[{counters}+{head}], 1"),
    );
    let ticket: Word = text.set("add.u32", format_args!("{ticket}, {first}"));
    let is_none: Flag = text.set("setp.ge.u32", format_args!("{ticket}, {count}"));
    text.jump_if(is_none, exit);
    let place = element_of(text, layout.world.atomic_queue, ticket, 4);
    text.put("mov.b32", looks, format_args!("0"));
    let wait = text.label();
    text.place(wait);
    text.put(LOAD_LIVE, turn, format_args!("[{place}]"));
    let is_there: Flag = text.set("setp.ne.s32", format_args!("{turn}, {NOBODY}"));
    text.jump_if(is_there, got);
    let rest = text.label();
    let between = LOOKS_BETWEEN - 1;
    let part: Word = text.set("and.b32", format_args!("{looks}, {between}"));
    let skips: Flag = text.set("setp.ne.u32", format_args!("{part}, 0"));
    text.jump_if(skips, rest);
    let done = fields.atomic_done;
    let done: Word = text.set(LOAD_LIVE, format_args!("[{counters}+{done}]"));
    let is_all: Flag = text.set("setp.ge.u32", format_args!("{done}, {count}"));
    text.jump_if(is_all, exit);
    text.place(rest);
    text.line(format_args!("nanosleep.u32 {REST_NS}"));
    text.put("add.u32", looks, format_args!("{looks}, 1"));
    let goes_on: Flag = text.set("setp.lt.u32", format_args!("{looks}, {LOOKS_MAX}"));
    text.jump_if(goes_on, wait);
    let one: Word = text.set("mov.b32", format_args!("1"));
    let stuck = fields.atomic_stuck;
    text.line(format_args!("{STORE_LIVE} [{counters}+{stuck}], {one}"));
    text.jump(exit);
}

/// The turns after one in the queues of its entities, or that of nobody.
fn others(
    text: &mut Text,
    layout: &Layout,
    turn: Word,
    commands: &[AtomicCommand<'_>],
) -> Vec<Word> {
    let next = element_of(text, layout.world.atomic_next, turn, 4 * KEYS_MAX as u32);
    let most = commands
        .iter()
        .map(|command| command.keys.paths().len())
        .max();
    let keys = 0..most.unwrap_or(0) as i32;
    keys.map(|key| load(text, next, 4 * key)).collect()
}

/// Takes a turn that has ended out of the queues of its entities. Returns one of the `others` that
/// can run now, and puts more into the queue.
fn free_others(text: &mut Text, layout: &Layout, counters: Long, others: &[Word]) -> Word {
    let world = &layout.world;
    let next: Word = text.set("mov.b32", format_args!("{NOBODY}"));
    for &other in others {
        let (skip, more) = (text.label(), text.label());
        let is_none: Flag = text.set("setp.eq.s32", format_args!("{other}, {NOBODY}"));
        text.jump_if(is_none, skip);
        let waits = element_of(text, world.atomic_waits, other, 4);
        let left: Word = text.set("atom.global.add.u32", format_args!("[{waits}], -1"));
        let waits_on: Flag = text.set("setp.ne.u32", format_args!("{left}, 1"));
        text.jump_if(waits_on, skip);
        let has_next: Flag = text.set("setp.ne.s32", format_args!("{next}, {NOBODY}"));
        text.jump_if(has_next, more);
        text.put("mov.b32", next, format_args!("{other}"));
        text.jump(skip);
        text.place(more);
        let tail = layout.counters.atomic_tail;
        let free: Word = text.set(
            "atom.global.add.u32",
            format_args!("[{counters}+{tail}], 1"),
        );
        let free = element_of(text, world.atomic_queue, free, 4);
        text.line(format_args!("fence.acq_rel.gpu"));
        text.line(format_args!("{STORE_LIVE} [{free}], {other}"));
        text.place(skip);
    }
    next
}

/// Jumps to the label of a command's kind; goes on where it is none of these.
fn dispatch(
    text: &mut Text,
    layout: &Layout,
    record: Long,
    kinds: impl Iterator<Item = u16>,
) -> Vec<Label> {
    let kind: Word = text.register();
    let field = layout.command.kind;
    let half: Half = text.set("ld.global.nc.u16", format_args!("[{record}+{field}]"));
    text.put("cvt.u32.u16", kind, format_args!("{half}"));
    let mut labels = vec![];
    for number in kinds {
        let label = text.label();
        let is_it: Flag = text.set("setp.eq.u32", format_args!("{kind}, {number}"));
        text.jump_if(is_it, label);
        labels.push(label);
    }
    labels
}

/// How many turns the tick has.
fn turns(text: &mut Text, layout: &Layout) -> Word {
    let counters = counters(text, layout);
    let asked = load(text, counters, layout.counters.atomic_asked as i32);
    text.set(
        "min.u32",
        format_args!("{asked}, {}", layout.numbers.atomic_max),
    )
}

/// How long a worker rests between two looks.
const REST_NS: u32 = 200;
/// A worker looks at the counter of ended turns once in so many looks. At each look, a chain of
/// 1,700 links took 15.4 ms on an H100; at one in 16 it took 12.9.
const LOOKS_BETWEEN: u32 = 16;
/// After so many, some seconds, it gives up: it waits for what never comes.
const LOOKS_MAX: u32 = 1 << 24;
const _: () = assert!(LOOKS_BETWEEN.is_power_of_two());
const _: () = assert!(KEYS_MAX.is_power_of_two() && EFFECTS_MAX > 0);
