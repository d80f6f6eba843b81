//! Machine code does what the interpreter does.
#![cfg(feature = "native")]

use crate::programs;
use std::thread::ScopedJoinHandle;

use crate::programs::{BINARY, LIMITS, UNARY, WIDE};
use script::arith::{Random, is_within};
use script::atomic::KEYS_MAX;
use script::census::Census;
use script::holdings::Holdings;
use script::interpreter::{Effects, Interpreter, Invocation, NoEffect, Outgoing, Space, World};
use script::ir::{Budget, Code, Half, Inst, NOBODY, Operand, Reg, WRITES_MAX};
use script::native::{Call, Host, Native, NativeError, Rows, Shape, Thread, View};
use script::standings::Standings;
use shared::world::attribute::halves;
use shared::world::columns::{ATTRIBUTES_MAX, Columns};
use shared::world::group::RELATIONS_MAX as RELATIONS;
use shared::world::mix::mix;
use shared::{EntityId, Slot, Tick};

#[test]
fn random_commands_run_alike() {
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let done: Vec<Done> = std::thread::scope(|scope| {
        let compared = |first: u64| (first..PROGRAMS).step_by(threads).flat_map(compared);
        let parts = (0..threads as u64).map(|first| scope.spawn(move || compared(first).collect()));
        let parts: Vec<_> = parts.collect();
        let join = |part: ScopedJoinHandle<'_, Vec<Done>>| part.join().unwrap();
        parts.into_iter().flat_map(join).collect()
    });
    // Else most of them do nothing.
    let n = done.len();
    let share = |has: fn(&Done) -> bool| done.iter().filter(|done| has(done)).count() * 100 / n;
    assert!(share(|done| done.updates.is_none()) > 5, "overruns");
    assert!(
        share(|done| done.updates.as_ref().is_some_and(|u| !u.is_empty())) > 30,
        "updates"
    );
    assert!(
        share(|done| !done.emitted.is_empty()) > 30,
        "after and notify"
    );
}

/// Compares the runs of a command that a seed gives, with all instructions, in worlds that
/// the seed gives.
fn compared(seed: u64) -> Vec<Done> {
    let mut random = Generator { seed, drawn: 0 };
    let (shape, code) = random.program(false);
    let native = Native::compile([(7, &code)], shape.clone()).unwrap();
    let compare = |_| {
        let table = random.table(&shape);
        let words: Vec<i32> = (0..WORDS).map(|_| random.word()).collect();
        let run = Run {
            code: &code,
            actor: random.live(&table),
            words: &words,
            random: random.next(),
        };
        let expected = run.interpreted(&table);
        let got = run.native(&native, &table);
        assert_eq!(got, expected, "seed {seed}\n{code}\n{table:?}");
        got
    };
    (0..WORLDS_PER_PROGRAM).map(compare).collect()
}

#[test]
fn random_atomic_programs_leave_the_same_rows_and_undo_what_has_no_effect() {
    let mut ended = [0; 4];
    for seed in 0..PROGRAMS / 2 {
        for result in compared_atomic(seed) {
            ended[match result {
                Ok(()) => 0,
                Err(NoEffect::Overrun) => 1,
                Err(NoEffect::Refused) => 2,
                Err(NoEffect::Moved) => 3,
            }] += 1;
        }
    }
    println!("{ended:?}");
    assert!(ended.iter().all(|&n| n > 100), "{ended:?}");
}

fn compared_atomic(seed: u64) -> Vec<Result<(), NoEffect>> {
    let mut random = Generator { seed, drawn: 0 };
    let (mut shape, code) = random.program(true);
    for bounds in &mut shape.bounds {
        let [a, b] = [random.word(), random.word()];
        *bounds = match random.one_in(3) {
            true => (i32::MIN, i32::MAX),
            false => (a.min(b), a.max(b)),
        };
    }
    let native = Native::compile([(7, &code)], shape.clone()).unwrap();
    let compare = |_| {
        let mut table = random.table(&shape);
        for key in &mut table.keys {
            *key = random.below(table.states.len() + 1) as i32 - 1;
        }
        let words: Vec<i32> = (0..WORDS).map(|_| random.word()).collect();
        let run = Run {
            code: &code,
            actor: random.live(&table),
            words: &words,
            random: random.next(),
        };
        let expected = run.interpreted_atomic(&table);
        let got = run.native_atomic(&native, &table);
        assert_eq!(got, expected, "seed {seed}\n{code}\n{table:?}");
        got.result
    };
    (0..WORLDS_PER_PROGRAM).map(compare).collect()
}

#[test]
fn operators_agree_at_all_limits() {
    let words = [Reg(0), Reg(1)].map(Operand::from);
    let mut insts = vec![Inst::Word(Reg(0), 0), Inst::Word(Reg(1), 1)];
    let mut push = |inst: Inst| {
        insts.push(inst);
        insts.push(Inst::Update(0.into(), 0, Reg(2).into()));
    };
    for op in UNARY {
        push(Inst::Unary(Reg(2), op, words[0]));
    }
    let [a, b] = words;
    for op in BINARY {
        push(Inst::Binary(Reg(2), op, a, b));
        for limit in LIMITS {
            push(Inst::Binary(Reg(2), op, a, limit.into()));
            push(Inst::Binary(Reg(2), op, limit.into(), a));
        }
    }
    push(Inst::Random(Reg(2), a, b));
    let points = [[a, a, a], [b, b, b], [a, b, 0.into()], [0.into(); 3]];
    for from in points {
        for to in points {
            push(Inst::Distance(Reg(2), from, to));
            for radius in LIMITS {
                push(Inst::IsWithin(Reg(2), from, to, radius.into()));
            }
            push(Inst::IsWithin(Reg(2), from, to, b));
        }
    }
    let code = Code {
        insts,
        registers: 3,
        loops: 0,
    };
    let shape = shape(1, vec![Columns::from(1)]);
    let native = Native::compile([(7, &code)], shape.clone()).unwrap();
    let table = Generator { seed: 1, drawn: 0 }.table(&shape);
    for a in LIMITS {
        for b in LIMITS {
            let run = Run {
                code: &code,
                actor: Slot(0),
                words: &[a, b],
                random: 5,
            };
            assert_eq!(
                run.native(&native, &table),
                run.interpreted(&table),
                "{a} {b}"
            );
        }
    }
}

#[test]
fn operators_of_64_bits_agree_at_all_limits() {
    let words: Vec<Operand> = (0..4).map(|i| Reg(i).into()).collect();
    let mut insts: Vec<Inst> = (0..4).map(|i| Inst::Word(Reg(i), i as u16)).collect();
    let mut push = |op, half, words| {
        insts.push(Inst::Wide(Reg(4), op, half, words));
        insts.push(Inst::Update(0.into(), 0, Reg(4).into()));
    };
    const NUMBERS: [i64; 12] = [
        i64::MIN,
        i64::MIN + 1,
        -(1 << 32),
        -5_000_000_000,
        -1,
        0,
        1,
        63,
        u32::MAX as i64,
        1 << 32,
        i64::MAX - 1,
        i64::MAX,
    ];
    let [a, b] = [[words[0], words[1]], [words[2], words[3]]];
    for op in WIDE {
        for half in [Half::Low, Half::High] {
            push(op, half, [a[0], a[1], b[0], b[1]]);
            for limit in NUMBERS {
                let [low, high] = halves(limit).map(Operand::from);
                push(op, half, [a[0], a[1], low, high]);
                push(op, half, [low, high, b[0], b[1]]);
                push(op, half, [a[0], high, low, b[1]]);
                push(op, half, [low, high, low, high]);
            }
        }
    }
    let code = Code {
        insts,
        registers: 5,
        loops: 0,
    };
    let shape = shape(1, vec![Columns::from(1)]);
    let native = Native::compile([(7, &code)], shape.clone()).unwrap();
    let table = Generator { seed: 1, drawn: 0 }.table(&shape);
    for a in NUMBERS {
        for b in NUMBERS {
            let ([a_low, a_high], [b_low, b_high]) = (halves(a), halves(b));
            let run = Run {
                code: &code,
                actor: Slot(0),
                words: &[a_low, a_high, b_low, b_high],
                random: 5,
            };
            assert_eq!(
                run.native(&native, &table),
                run.interpreted(&table),
                "{a} {b}"
            );
        }
    }
}

#[test]
fn updates_that_do_not_fit_are_counted_only() {
    let update = |value: i32| Inst::Update(Reg(0).into(), 1, value.into());
    let code = Code {
        insts: vec![Inst::Actor(Reg(0)), update(10), update(11), update(12)],
        registers: 1,
        loops: 0,
    };
    let shape = shape(2, vec![Columns::from(3)]);
    let native = Native::compile([(0, &code)], shape.clone()).unwrap();
    let table = Generator { seed: 1, drawn: 0 }.table(&shape);
    let view = table.view();
    let mut thread = Thread::new(&native, &view, Recorder::of(&table));
    let call = Call {
        actor: Slot(0),
        words: &[],
        random: 0,
    };
    for len in 0..5 {
        let untouched = (77, 77);
        let mut all = [untouched; 8];
        assert_eq!(thread.run(0, &call, &mut all[..len]), Ok(3));
        let fit = len.min(3);
        assert_eq!(all[..fit], [(1, 10), (1, 11), (1, 12)][..fit]);
        assert!(all[fit..].iter().all(|&pair| pair == untouched));
    }
}

#[test]
fn copies_run_on_when_others_are_dropped_or_replaced() {
    let constant = |value: i32| Code {
        insts: vec![
            Inst::Actor(Reg(0)),
            Inst::Update(Reg(0).into(), 0, value.into()),
        ],
        registers: 1,
        loops: 0,
    };
    let shape = shape(1, vec![Columns::from(1)]);
    let table = Generator { seed: 1, drawn: 0 }.table(&shape);
    let first = Native::compile([(0, &constant(0)), (1, &constant(1))], shape.clone()).unwrap();
    let value_of = |native: &Native, number: u16| {
        let view = table.view();
        let mut thread = Thread::new(native, &view, Recorder::of(&table));
        let call = Call {
            actor: Slot(0),
            words: &[],
            random: 0,
        };
        let mut out = [(0, 0)];
        assert_eq!(thread.run(number, &call, &mut out), Ok(1));
        out[0].1
    };
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let copy = first.clone();
            let (value_of, constant) = (&value_of, &constant);
            scope.spawn(move || {
                for i in 0..20 {
                    let mut next = copy.clone();
                    next.replace(1, &constant(i * 4 + thread)).unwrap();
                    assert_eq!(value_of(&next, 1), (i * 4 + thread) as u32);
                    assert_eq!(value_of(&copy, 1), 1);
                    drop(next);
                    assert_eq!(value_of(&copy, 0), 0);
                }
            });
        }
        drop(first);
    });
}

#[test]
fn what_is_not_there_is_refused() {
    let compile = |inst: Inst| {
        let code = Code {
            insts: vec![inst],
            registers: 1,
            loops: 1,
        };
        Native::compile([(3, &code)], shape(2, vec![Columns::from(3)])).map(|_| ())
    };
    let refused = |reason| Err(NativeError::Malformed { number: 3, reason });
    let column = refused("a column that isn't there");
    assert_eq!(compile(Inst::Read(Reg(0), NOBODY.into(), 1)), Ok(()));
    assert_eq!(compile(Inst::Read(Reg(0), NOBODY.into(), 2)), column);
    let reg = refused("a register that isn't there");
    assert_eq!(compile(Inst::Tick(Reg(1))), reg);
    assert_eq!(compile(Inst::Copy(Reg(0), Reg(1).into())), reg);
    assert_eq!(compile(Inst::Jump(1)), Ok(()));
    let jump = refused("a jump that leads nowhere");
    assert_eq!(compile(Inst::Jump(2)), jump);
    let number = refused("a loop that isn't there");
    assert_eq!(compile(Inst::NearNext(Reg(0), 1, 0)), number);
}

#[test]
#[should_panic = "too few words"]
fn a_run_without_its_words_is_refused() {
    let code = Code {
        insts: vec![Inst::Word(Reg(0), 1)],
        registers: 1,
        loops: 0,
    };
    let shape = shape(1, vec![Columns::from(1)]);
    let native = Native::compile([(0, &code)], shape.clone()).unwrap();
    let table = Generator { seed: 1, drawn: 0 }.table(&shape);
    let view = table.view();
    let call = Call {
        actor: Slot(0),
        words: &[1],
        random: 0,
    };
    let mut thread = Thread::new(&native, &view, Recorder::of(&table));
    let _ = thread.run(0, &call, &mut []);
}

// A compiler without optimizations takes its time.
const PROGRAMS: u64 = if cfg!(debug_assertions) { 6000 } else { 20_000 };
const WORLDS_PER_PROGRAM: usize = 10;
const WORDS: usize = 3;
const LIVE: u8 = 1;
const RANKINGS: usize = 2;

fn shape(columns: usize, kind_columns: Vec<Columns>) -> Shape {
    Shape {
        space: Space {
            dimensions: 2,
            size: [1 << 20, 1 << 20, 1],
            budget: Budget::default(),
        },
        columns,
        bounds: vec![(i32::MIN, i32::MAX); columns * kind_columns.len()],
        kind_columns,
        rankings: RANKINGS,
        live: LIVE,
    }
}

/// A world's arrays.
#[derive(Debug)]
struct Table<'a> {
    shape: &'a Shape,
    rows: Vec<i32>,
    states: Vec<u8>,
    generations: Vec<u32>,
    kinds: Vec<u16>,
    keys: [i32; KEYS_MAX],
    census: Census,
    holdings: Vec<Holdings>,
    standings: Standings,
}

const TICK: Tick = Tick((1 << 40) - 3);

/// The words of fields.
const FIELDS: [i32; 56] = [0x1357_9bdf; 56];
/// The words of layers.
const LAYERS: [i32; 40] = [0x1234_5678; 40];

impl Table<'_> {
    fn view(&self) -> View<'_> {
        View::new(
            TICK,
            self.shape.columns,
            &self.rows,
            &self.states,
            &self.generations,
            &self.kinds,
        )
        .with_layers(&LAYERS)
        .with_fields(&FIELDS)
        .with_census(&self.census)
        .with_holdings(&self.holdings)
        .with_standings(&self.standings)
    }

    fn is_live(&self, slot: usize) -> bool {
        self.states.get(slot) == Some(&LIVE)
    }
}

impl World for Table<'_> {
    fn attribute(&self, slot: Slot, column: usize) -> i32 {
        let at = slot.index() * self.shape.columns + column;
        self.rows.get(at).copied().unwrap_or(0)
    }

    fn generation(&self, slot: Slot) -> Option<u32> {
        (self.is_live(slot.index())).then(|| self.generations[slot.index()])
    }

    fn kind(&self, slot: Slot) -> u16 {
        self.kinds[slot.index()]
    }

    fn has(&self, slot: Slot, column: usize) -> bool {
        let kind = self.kinds.get(slot.index());
        kind.is_some_and(|&kind| self.shape.kind_columns[usize::from(kind)].has(column))
    }

    fn bounds(&self, slot: Slot, column: usize) -> (i32, i32) {
        let kind = usize::from(self.kinds[slot.index()]);
        self.shape.bounds[kind * self.shape.columns + column]
    }

    fn layer(&self, place: i32) -> i32 {
        let place = usize::try_from(place).unwrap_or(usize::MAX);
        LAYERS.get(place).copied().unwrap_or(0)
    }

    fn field(&self, place: i32) -> i32 {
        let place = usize::try_from(place).unwrap_or(usize::MAX);
        FIELDS.get(place).copied().unwrap_or(0)
    }

    fn census(&self) -> Option<&Census> {
        Some(&self.census)
    }

    fn holdings(&self, relation: u8) -> Option<&Holdings> {
        self.holdings.get(usize::from(relation))
    }

    fn standings(&self) -> Option<&Standings> {
        Some(&self.standings)
    }

    fn is_key(&self, slot: Slot) -> bool {
        self.keys.contains(&(slot.0 as i32))
    }

    fn near(&self, center: [i32; 3], radius: i32, slots: &mut Vec<u32>) {
        for slot in 0..self.states.len() {
            let row = &self.rows[slot * self.shape.columns..][..self.shape.columns];
            let mut position = [0; 3];
            let axes = self.shape.space.dimensions.min(row.len());
            position[..axes].copy_from_slice(&row[..axes]);
            if self.is_live(slot) && is_within(position, center, radius) {
                slots.push(slot as u32);
            }
        }
    }
}

/// What a run did.
#[derive(Debug, Default, PartialEq)]
struct Done {
    /// None after an overrun.
    updates: Option<Vec<(u32, u32)>>,
    emitted: Vec<Emitted>,
    missed: bool,
    reason: Option<u8>,
}

#[derive(Clone, Debug, PartialEq)]
enum Emitted {
    After(u32, EntityId, u16, Vec<i32>),
    Notify(u16, EntityId, Option<([i32; 3], i32)>, Vec<i32>),
}

struct Recorder<'a> {
    table: &'a Table<'a>,
    updates: Vec<(u32, u32)>,
    emitted: Vec<Emitted>,
    missed: bool,
}

impl<'a> Recorder<'a> {
    fn of(table: &'a Table<'a>) -> Recorder<'a> {
        Recorder {
            table,
            updates: vec![],
            emitted: vec![],
            missed: false,
        }
    }
}

/// What a run of an atomic command left.
#[derive(Debug, PartialEq)]
struct Left {
    result: Result<(), NoEffect>,
    rows: Vec<i32>,
    /// Nothing, if it has no effect.
    emitted: Vec<Emitted>,
    missed: bool,
    reason: Option<u8>,
}

impl Effects for Recorder<'_> {
    fn update(&mut self, slot: Slot, column: u16, value: i32) {
        let key = slot.index() * self.table.shape.columns + usize::from(column);
        self.updates.push((key as u32, value as u32));
    }

    fn write(&mut self, slot: Slot, column: u16, value: i32) {
        self.update(slot, column, value);
    }

    fn miss(&mut self) {
        self.missed = true;
    }
}

impl Outgoing for Recorder<'_> {
    fn after(&mut self, ticks: u32, entity: EntityId, kind: u16, words: &[i32]) {
        self.emitted
            .push(Emitted::After(ticks, entity, kind, words.to_vec()));
    }

    fn notify(
        &mut self,
        kind: u16,
        source: EntityId,
        area: Option<([i32; 3], i32)>,
        words: &[i32],
    ) {
        self.emitted
            .push(Emitted::Notify(kind, source, area, words.to_vec()));
    }
}

impl Host for Recorder<'_> {
    fn near(&mut self, center: [i32; 3], radius: i32, slots: &mut Vec<u32>) {
        self.table.near(center, radius, slots);
    }
}

/// A command that is run.
struct Run<'a> {
    code: &'a Code,
    actor: Slot,
    words: &'a [i32],
    random: u64,
}

impl Run<'_> {
    fn interpreted(&self, table: &Table<'_>) -> Done {
        let mut effects = Recorder::of(table);
        let invocation = Invocation {
            tick: TICK,
            entity: EntityId {
                slot: self.actor,
                generation: table.generation(self.actor).unwrap(),
            },
            words: self.words,
            random: Random::from_key(self.random),
        };
        let space = &table.shape.space;
        let mut interpreter = Interpreter::default();
        let result = interpreter.run(self.code, space, table, &invocation, &mut effects);
        Done {
            updates: result.ok().map(|()| effects.updates),
            emitted: effects.emitted,
            missed: effects.missed,
            reason: interpreter.reason().filter(|_| result.is_ok()),
        }
    }

    fn native(&self, native: &Native, table: &Table<'_>) -> Done {
        let view = table.view();
        let mut thread = Thread::new(native, &view, Recorder::of(table));
        let call = Call {
            actor: self.actor,
            words: self.words,
            random: self.random,
        };
        let count = thread.run(7, &call, &mut []);
        let emitted = std::mem::take(&mut thread.host_mut().emitted);
        let missed = thread.missed();
        let updates = count.ok().map(|count| {
            let mut out = vec![(99, 99); count];
            assert_eq!(thread.run(7, &call, &mut out), Ok(count));
            assert_eq!(
                thread.host().emitted,
                emitted,
                "where updates go changes nothing"
            );
            out
        });
        let reason = thread.reason().filter(|_| updates.is_some());
        Done {
            updates,
            emitted,
            missed,
            reason,
        }
    }

    fn interpreted_atomic(&self, table: &Table<'_>) -> Left {
        let mut effects = Recorder::of(table);
        let invocation = Invocation {
            tick: TICK,
            entity: EntityId {
                slot: self.actor,
                generation: table.generation(self.actor).unwrap(),
            },
            words: self.words,
            random: Random::from_key(self.random),
        };
        let space = &table.shape.space;
        let mut interpreter = Interpreter::default();
        let result = interpreter.run(self.code, space, table, &invocation, &mut effects);
        let mut rows = table.rows.clone();
        for (key, value) in effects.updates {
            rows[key as usize] = value as i32;
        }
        Left {
            result,
            rows,
            emitted: result.map_or(vec![], |()| effects.emitted),
            missed: effects.missed,
            reason: said(result, interpreter.reason()),
        }
    }

    fn native_atomic(&self, native: &Native, table: &Table<'_>) -> Left {
        let mut changed = table.rows.clone();
        let rows = Rows::new(
            TICK,
            table.shape.columns,
            &mut changed,
            &table.states,
            &table.generations,
            &table.kinds,
        );
        let rows = rows.with_layers(&LAYERS).with_fields(&FIELDS);
        let rows = rows.with_census(&table.census);
        let rows = rows.with_holdings(&table.holdings);
        let rows = rows.with_standings(&table.standings);
        let mut thread = Thread::of_rows(native, rows, Recorder::of(table));
        let call = Call {
            actor: self.actor,
            words: self.words,
            random: self.random,
        };
        let mut log = vec![(99, 99); WRITES_MAX];
        let ended = thread.run_atomic(7, &call, table.keys, &mut log);
        let mut emitted = std::mem::take(&mut thread.host_mut().emitted);
        let missed = thread.missed();
        if ended.result.is_err() {
            thread.undo(&log[..ended.writes]);
            emitted.clear();
        }
        let reason = said(ended.result, thread.reason());
        Left {
            result: ended.result,
            rows: changed,
            emitted,
            missed,
            reason,
        }
    }
}

/// The reason of a run that ends for one: the others have none that counts.
fn said(result: Result<(), NoEffect>, reason: Option<u8>) -> Option<u8> {
    match result {
        Ok(()) | Err(NoEffect::Refused) => reason,
        Err(NoEffect::Overrun | NoEffect::Moved) => None,
    }
}

struct Generator {
    seed: u64,
    drawn: u64,
}

impl Generator {
    fn next(&mut self) -> u64 {
        self.drawn += 1;
        mix(mix(self.seed, self.drawn), 1)
    }

    fn below(&mut self, n: usize) -> usize {
        (self.next() % n as u64) as usize
    }

    fn one_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }

    fn one_of<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.below(all.len())]
    }

    /// Any number, most often one with something special to it.
    fn word(&mut self) -> i32 {
        match self.below(4) {
            0 => self.one_of(&LIMITS),
            1 => self.below(100) as i32 - 20,
            2 => self.below(1 << 20) as i32,
            _ => self.next() as i32,
        }
    }

    fn shape(&mut self) -> Shape {
        let columns = match self.below(10) {
            0 => self.one_of(&[64, 65, 200, ATTRIBUTES_MAX]),
            _ => 1 + self.below(6),
        };
        let kinds = match self.below(4) {
            0 => 60 + self.below(10),
            1 => 1,
            _ => 1 + self.below(5),
        };
        let mut has = |_: &usize| !self.one_in(4);
        let kinds = (0..kinds).map(|_| (0..columns).filter(&mut has).collect());
        let mut shape = shape(columns, kinds.collect());
        shape.space.dimensions = 2 + self.below(2);
        shape.space.size[2] = self.one_of(&[1, 1 << 20]);
        shape.space.budget.visits = self.one_of(&[0, 5, 20, 100]);
        shape
    }

    /// A command with all instructions, and the world that it is for.
    fn program(&mut self, is_atomic: bool) -> (Shape, Code) {
        let shape = self.shape();
        let code = programs::program(
            self.seed,
            programs::Shape {
                columns: shape.columns as u16,
                dimensions: shape.space.dimensions,
                kinds: shape.kind_columns.len() as u16,
                rankings: RANKINGS as u16,
                words: WORDS as u16,
                commands: u16::MAX,
                notifications: u16::MAX,
                is_wild: true,
                is_atomic,
            },
        );
        (shape, code)
    }

    /// Slot 0 lives, as that is in registers that are not set.
    fn table<'a>(&mut self, shape: &'a Shape) -> Table<'a> {
        let slots = 1 + self.below(12);
        let mut table = Table {
            shape,
            rows: vec![0; slots * shape.columns],
            states: vec![],
            generations: vec![],
            kinds: vec![],
            keys: [NOBODY; KEYS_MAX],
            census: Census::default(),
            holdings: vec![],
            standings: Standings::default(),
        };
        for slot in 0..slots {
            let is_live = slot == 0 || !self.one_in(4);
            table.states.push(match is_live {
                true => LIVE,
                false => self.one_of(&[0, 2, 255]),
            });
            let generation = self.one_of(&[0, 1, 2, 255, 256, 257, u32::MAX]);
            table.generations.push(generation);
            let kind = match is_live {
                true => self.below(shape.kind_columns.len()),
                false => 0,
            };
            table.kinds.push(kind as u16);
            for column in 0..shape.columns {
                if is_live && shape.kind_columns[kind].has(column) {
                    table.rows[slot * shape.columns + column] = match self.below(3) {
                        0 => self.word(),
                        1 => {
                            EntityId::new(self.below(slots) as u32, generation)
                                .reference()
                                .0
                        }
                        _ => self.below(200) as i32,
                    };
                }
            }
        }
        let slots = (0..slots).filter(|&slot| table.is_live(slot));
        let living = slots.map(|slot| (table.kinds[slot], slot as u32));
        table.census = Census::of(shape.kind_columns.len(), living);
        let slots = table.states.len();
        for _ in 0..RELATIONS {
            let pairs: Vec<(u32, u32)> = (0..self.below(3 * slots))
                .map(|_| (self.below(slots) as u32, self.below(slots) as u32))
                .collect();
            (table.holdings).push(Holdings::of(slots + self.below(3), pairs));
        }
        table.standings = Standings::new(RANKINGS, slots + self.below(3));
        for ranking in 0..RANKINGS {
            // Any order does.
            let order = (self.below(slots)..slots).rev();
            let living: Vec<usize> = order.filter(|&slot| table.is_live(slot)).collect();
            let living = living.into_iter().map(|slot| slot as u32);
            table.standings.set(ranking, living);
        }
        table
    }

    fn live(&mut self, table: &Table<'_>) -> Slot {
        let live = (0..table.states.len()).filter(|&slot| table.is_live(slot));
        let live: Vec<usize> = live.collect();
        Slot(self.one_of(&live) as u32)
    }
}
