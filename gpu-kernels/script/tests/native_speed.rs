//! How fast machine code is made and runs:
//! `cargo test --release -p script --test it native_speed -- --ignored --nocapture`.
#![cfg(feature = "native")]

use std::hint::black_box;
use std::time::{Duration, Instant};

use script::arith::{Random, is_within};
use script::interpreter::{Effects, Interpreter, Invocation, Outgoing, Space, World};
use script::ir::{After, Binary, Budget, Code, Inst, NOBODY, Notify, Operand, Point, Reg};
use script::native::{Call, Host, Native, Shape, Thread, View};
use shared::world::columns::Columns;
use shared::world::mix::mix;
use shared::{EntityId, EntityRef, Slot, Tick};

#[test]
#[ignore = "measures"]
fn strikes_of_a_tick() {
    println!("ns a strike, count and store: written in Rust, machine code, interpreter");
    for slots in [1_000, 100_000, 2_000_000] {
        let table = Table::new(slots);
        let strikes: Vec<(u32, [i32; 1])> = (0..100_000)
            .map(|i| {
                let actor = mix(i, 1) as usize % slots;
                // Half are out of reach.
                let target = (actor + mix(i, 2) as usize % 64) % slots;
                let target = match slots {
                    2_000_000 => (actor * 7 + 1) % slots,
                    _ => target,
                };
                let id = EntityId::new(target as u32, 1);
                (actor as u32, [id.reference().0])
            })
            .collect();
        let native = Native::compile([(0, &strike())], shape()).unwrap();
        let mut out = vec![(0, 0); strikes.len()];

        let (by_hand, hand_updates) = best(|| {
            let mut n = 0;
            for (actor, words) in &strikes {
                let mut count = Count(0);
                table.strike(Slot(*actor), words, &mut count);
                let mut store = Store {
                    out: &mut out[n..n + count.0],
                    n: 0,
                };
                table.strike(Slot(*actor), words, &mut store);
                n += count.0;
            }
            n
        });
        let expected = out.clone();
        let (by_machine, updates) = best(|| {
            let view = table.view();
            let mut thread = Thread::new(&native, &view, &table);
            let mut n = 0;
            for (actor, words) in &strikes {
                let call = Call {
                    actor: Slot(*actor),
                    words,
                    random: 0,
                };
                n += thread.run(0, &call, &mut out[n..]).unwrap();
            }
            n
        });
        assert_eq!((updates, &out), (hand_updates, &expected));
        let (interpreted, updates) = best(|| {
            let mut interpreter = Interpreter::default();
            let (space, code) = (shape().space, strike());
            let mut n = 0;
            for (actor, words) in &strikes {
                let invocation = Invocation {
                    tick: Tick(1),
                    entity: EntityId::new(*actor, 1),
                    words,
                    random: Random::from_key(0),
                };
                let mut count = Count(0);
                let run = interpreter.run(&code, &space, &table, &invocation, &mut count);
                run.unwrap();
                let mut store = Store {
                    out: &mut out[n..n + count.0],
                    n: 0,
                };
                let run = interpreter.run(&code, &space, &table, &invocation, &mut store);
                run.unwrap();
                n += count.0;
            }
            n
        });
        assert_eq!((updates, &out), (hand_updates, &expected));
        let ns = |time: Duration| time.as_nanos() as f64 / strikes.len() as f64;
        println!(
            "{slots:>9} slots, {updates:>6} updates: {:6.1} {:6.1} {:6.1}",
            ns(by_hand),
            ns(by_machine),
            ns(interpreted)
        );
    }
}

#[test]
#[ignore = "measures"]
fn commands_are_compiled() {
    // What a process does once.
    Native::compile([(0, &strike())], shape()).unwrap();
    for (name, code) in [("strike", strike()), ("blast", blast()), ("roam", roam())] {
        let (time, _) = best(|| {
            Native::compile([(0, &code)], shape()).unwrap();
            0
        });
        println!("{name}: {} instructions, {time:?}", code.insts.len());
    }
    let codes = [strike(), blast(), roam()];
    let (time, _) = best(|| {
        let set = (0..17).map(|number| (number, &codes[usize::from(number) % 3]));
        Native::compile(set, shape()).unwrap();
        0
    });
    println!("17 commands: {time:?}");
}

const COLUMNS: usize = 6;
const HP: u16 = 3;
const REACH: i32 = 3 << 12;
const DAMAGE: i32 = 10;

fn shape() -> Shape {
    Shape {
        space: Space {
            dimensions: 2,
            size: [1 << 30, 1 << 30, 1],
            budget: Budget::default(),
        },
        columns: COLUMNS,
        rankings: 0,
        kind_columns: [0b111111, 0b010011, 0b001011].map(Columns::from).into(),
        bounds: vec![(i32::MIN, i32::MAX); COLUMNS],
        live: 1,
    }
}

fn position(slot: Reg, x: Reg, y: Reg) -> ([Inst; 2], Point) {
    let reads = [Inst::Read(x, slot.into(), 0), Inst::Read(y, slot.into(), 1)];
    (reads, [x.into(), y.into(), Operand::ZERO])
}

fn strike() -> Code {
    let [word, target, test, actor] = [0, 1, 2, 3].map(Reg);
    let (reads, own) = position(actor, Reg(4), Reg(5));
    let (more_reads, other) = position(target, Reg(6), Reg(7));
    let end = 100;
    let mut insts = vec![
        Inst::Word(word, 0),
        Inst::Resolve(target, word.into()),
        Inst::Binary(test, Binary::Eq, target.into(), NOBODY.into()),
        Inst::JumpIf(test.into(), end),
        Inst::Actor(actor),
        Inst::Binary(test, Binary::Eq, target.into(), actor.into()),
        Inst::JumpIf(test.into(), end),
    ];
    insts.extend(reads);
    insts.extend(more_reads);
    insts.extend([
        Inst::IsWithin(test, own, other, REACH.into()),
        Inst::JumpUnless(test.into(), end),
        Inst::Has(test, target.into(), HP),
        Inst::JumpUnless(test.into(), end),
        Inst::Update(target.into(), HP, (-DAMAGE).into()),
    ]);
    Code {
        insts: fix(insts, end),
        registers: 8,
        loops: 0,
    }
}

/// Lets jumps to `end` lead to the end.
fn fix(mut insts: Vec<Inst>, end: u32) -> Vec<Inst> {
    let len = insts.len() as u32;
    for inst in &mut insts {
        if let Some(target) = inst.target_mut()
            && *target >= end
        {
            *target = len;
        }
    }
    insts
}

fn blast() -> Code {
    let [x, y, actor, test, slot] = [0, 1, 2, 3, 4].map(Reg);
    let center = [x.into(), y.into(), Operand::ZERO];
    let (reads, own) = position(actor, Reg(5), Reg(6));
    let mut insts = vec![Inst::Actor(actor)];
    for (axis, reg) in [x, y].into_iter().enumerate() {
        insts.push(Inst::Word(reg, axis as u16));
        insts.push(Inst::Binary(reg, Binary::Max, reg.into(), 0.into()));
        insts.push(Inst::Binary(reg, Binary::Min, reg.into(), (1 << 30).into()));
    }
    insts.extend(reads);
    insts.push(Inst::IsWithin(test, own, center, REACH.into()));
    insts.push(Inst::JumpUnless(test.into(), 100));
    insts.push(Inst::After(After {
        ticks: 1.into(),
        actor: None,
        command: 3,
        words: vec![x.into(), y.into(), 5.into()],
    }));
    insts.push(Inst::Notify(Notify {
        kind: 1,
        source: Some(actor.into()),
        area: Some((center, 20_000.into())),
        words: vec![x.into(), y.into()],
    }));
    insts.push(Inst::NearOpen(0, center, REACH.into()));
    let next = insts.len() as u32;
    insts.push(Inst::NearNext(slot, 0, 100));
    insts.push(Inst::Binary(test, Binary::Eq, slot.into(), actor.into()));
    insts.push(Inst::JumpIf(test.into(), next));
    insts.push(Inst::Has(test, slot.into(), HP));
    insts.push(Inst::JumpUnless(test.into(), next));
    insts.push(Inst::Update(slot.into(), HP, (-DAMAGE).into()));
    insts.push(Inst::Jump(next));
    Code {
        insts: fix(insts, 100),
        registers: 7,
        loops: 1,
    }
}

fn roam() -> Code {
    let [actor, step] = [0, 1].map(Reg);
    let mut insts = vec![Inst::Actor(actor)];
    for axis in 0..2 {
        insts.push(Inst::Random(step, (-4096).into(), 4096.into()));
        insts.push(Inst::Update(actor.into(), axis, step.into()));
    }
    Code {
        insts,
        registers: 2,
        loops: 0,
    }
}

/// The shortest time of some runs, and what the last gave.
fn best(mut run: impl FnMut() -> usize) -> (Duration, usize) {
    let mut best = (Duration::MAX, 0);
    for _ in 0..30 {
        let start = Instant::now();
        let result = black_box(run());
        best = (best.0.min(start.elapsed()), result);
    }
    best
}

struct Table {
    columns: usize,
    kind_columns: Vec<Columns>,
    rows: Vec<i32>,
    states: Vec<u8>,
    generations: Vec<u32>,
    kinds: Vec<u16>,
}

impl Table {
    fn new(slots: usize) -> Table {
        let kinds = (0..slots).map(|slot| [0, 0, 0, 1][mix(slot as u64, 3) as usize % 4]);
        let rows = (0..slots).flat_map(|slot| {
            let at = slot as i32 % 1000 * 400;
            [at, at, 0, 100, 0, 0]
        });
        Table {
            columns: black_box(COLUMNS),
            kind_columns: shape().kind_columns,
            rows: rows.collect(),
            states: vec![1; slots],
            generations: vec![1; slots],
            kinds: kinds.collect(),
        }
    }

    fn view(&self) -> View<'_> {
        View::new(
            Tick(1),
            self.columns,
            &self.rows,
            &self.states,
            &self.generations,
            &self.kinds,
        )
    }

    /// The command as a server has it that is written for it.
    fn strike(&self, from: Slot, words: &[i32], emit: &mut impl Effects) {
        let &[target] = words else { return };
        let reference = EntityRef(target);
        let slot = reference.slot();
        let Some(generation) = self.generation(slot) else {
            return;
        };
        if !reference.is_generation(generation) || slot == from {
            return;
        }
        let position = |slot| {
            let axis = |axis| self.attribute(slot, axis);
            [axis(0), axis(1), 0]
        };
        if is_within(position(from), position(slot), REACH) && self.has(slot, HP.into()) {
            emit.update(slot, HP, -DAMAGE);
        }
    }
}

impl World for Table {
    fn attribute(&self, slot: Slot, column: usize) -> i32 {
        self.rows[slot.index() * self.columns + column]
    }

    fn generation(&self, slot: Slot) -> Option<u32> {
        let is_live = self.states.get(slot.index()) == Some(&1);
        is_live.then(|| self.generations[slot.index()])
    }

    fn kind(&self, slot: Slot) -> u16 {
        self.kinds[slot.index()]
    }

    fn has(&self, slot: Slot, column: usize) -> bool {
        self.kind_columns[usize::from(self.kind(slot))].has(column)
    }

    fn near(&self, _: [i32; 3], _: i32, _: &mut Vec<u32>) {}
}

impl Host for &Table {
    fn near(&mut self, center: [i32; 3], radius: i32, slots: &mut Vec<u32>) {
        World::near(*self, center, radius, slots);
    }
}

impl Outgoing for &Table {
    fn after(&mut self, _: u32, _: EntityId, _: u16, _: &[i32]) {}
    fn notify(&mut self, _: u16, _: EntityId, _: Option<([i32; 3], i32)>, _: &[i32]) {}
}

struct Count(usize);

impl Effects for Count {
    fn update(&mut self, _: Slot, _: u16, _: i32) {
        self.0 += 1;
    }
}

impl Outgoing for Count {
    fn after(&mut self, _: u32, _: EntityId, _: u16, _: &[i32]) {}
    fn notify(&mut self, _: u16, _: EntityId, _: Option<([i32; 3], i32)>, _: &[i32]) {}
}

struct Store<'a> {
    out: &'a mut [(u32, u32)],
    n: usize,
}

impl Effects for Store<'_> {
    fn update(&mut self, slot: Slot, column: u16, value: i32) {
        let key = slot.index() * COLUMNS + usize::from(column);
        self.out[self.n] = (key as u32, value as u32);
        self.n += 1;
    }
}

impl Outgoing for Store<'_> {
    fn after(&mut self, _: u32, _: EntityId, _: u16, _: &[i32]) {}
    fn notify(&mut self, _: u16, _: EntityId, _: Option<([i32; 3], i32)>, _: &[i32]) {}
}
