//! Kernels of random commands do on a GPU what the interpreter does.
//!
//! `PTX_SEED=7` runs one seed, `PTX_SEEDS=5000` the first 5,000.
#![allow(unsafe_code)]

use std::env;
use std::ops::Range;

use device::gpu::LIBRARY;
use device::layout::Described;
use device::{ConstPointer, Device, Grid, Plain, Plan, Pointer};
use script::interpreter::Interpreter;
use script::ptx::layout::{
    AfterFields, CommandFields, CounterFields, NOWHERE, NotificationFields, Numbers, TickFields,
    WorldFields,
};
use script::ptx::{self, Layout};
use shared::world::group::RELATIONS_MAX as RELATIONS;

use crate::programs;
use crate::ptx::state::{Command, KIND, Run, State, TICK};
use crate::ptx::worlds;

device::device_struct! {
    /// A world.
    pub struct TestWorld(n: Sizes) {
        /// So that not everything is where it would be without a layout.
        padding: u64;
        group_starts: Pointer<u32> = KIND as u64 + 2;
        group_order: Pointer<u32> = n.commands + ORDER_FROM as u64;
        commands: Pointer<TestCommand> = n.commands;
        due_words: Pointer<i32> = 3 * n.commands;
        update_counts: Pointer<u32> = n.commands, zeroed;
        after_counts: Pointer<u32> = n.commands, zeroed;
        notification_counts: Pointer<u32> = n.commands, zeroed;
        verdicts: Pointer<u32> = n.commands, zeroed;
        reasons: Pointer<u32> = n.commands, zeroed;
        update_offsets: Pointer<u32> = n.commands;
        after_offsets: Pointer<u32> = n.commands;
        notification_offsets: Pointer<u32> = n.commands;
        keys: Pointer<u32> = UPDATES_MAX as u64, ones;
        values: Pointer<u32> = UPDATES_MAX as u64, ones;
        first_updates: Pointer<u64> = n.capacity * n.columns, ones;
        after_records: Pointer<TestAfter> = RECORDS_MAX as u64, ones;
        rows: Pointer<i32> = n.capacity * n.columns;
        past: Pointer<i32> = n.past;
        layers: Pointer<i32> = n.layers;
        fields: Pointer<i32> = n.fields;
        states: Pointer<u32> = n.capacity;
        generations: Pointer<u32> = n.capacity;
        slot_kinds: Pointer<u32> = n.capacity;
        kind_columns: ConstPointer<u64> = n.kinds * n.columns.div_ceil(64);
        census_starts: Pointer<u32> = n.kinds + 1;
        census_slots: Pointer<u32> = n.capacity;
        held_starts: Pointer<u32> = (n.capacity + 1) * RELATIONS as u64;
        held_slots: Pointer<u32> = n.capacity * RELATIONS as u64;
        standing_slots: Pointer<u32> = n.standings;
        standing_ranks: Pointer<u32> = n.standings;
        index_len: Pointer<u64> = 1;
        index_keys: Pointer<u64> = n.capacity;
        index_slots: Pointer<u32> = n.capacity;
        index_positions: Pointer<i32> = 3 * n.capacity;
        directory: Pointer<u32> = n.directory;
    }
}

device::device_struct! {
    /// A tick.
    pub struct TestTick(n: Sizes) {
        number: u64;
        stamp: u32;
        past_next: u32;
        words: Pointer<i32> = 3 * n.commands;
        notifications: Pointer<TestNotification> = RECORDS_MAX as u64, ones;
        counters: Pointer<u32> = KIND as u64 + 1, zeroed;
    }
}

device::device_struct! {
    /// A command.
    pub struct TestCommand {
        sequence: u32;
        slot: u32;
        generation: u32;
        word_start: u32;
        kind: u32;
    }
}

device::device_struct! {
    /// A scheduled command.
    pub struct TestAfter {
        ticks: u32;
        slot: u32;
        generation: u32;
        kind: u32;
        words: [i32; 5];
    }
}

device::device_struct! {
    /// A notification.
    pub struct TestNotification {
        slot: u32;
        generation: u32;
        kind: u16;
        word_count: u8;
        has_area: u8;
        low: [i32; 3];
        high: [i32; 3];
        words: [i32; 8];
    }
}

#[derive(Clone, Copy)]
pub struct Sizes {
    commands: u64,
    capacity: u64,
    columns: u64,
    kinds: u64,
    directory: u64,
    past: u64,
    layers: u64,
    fields: u64,
    standings: u64,
}

const COMMANDS: usize = 300;
const CAPACITY: u32 = 1500;
/// Places of other commands in the order.
const ORDER_FROM: usize = 5;
const UPDATES_MAX: usize = 20_000;
const RECORDS_MAX: usize = 400;
const STAMP: u32 = 99;
const OVER_BUDGET: u32 = 0x102;

#[test]
fn kernels_do_what_the_interpreter_does() {
    if let Err(reason) = device::gpu::info(0) {
        println!("skipped: no GPU ({reason})");
        return;
    }
    for seed in seeds() {
        let mut numbers = worlds::numbers(seed);
        numbers.capacity = CAPACITY;
        numbers.timed_max = numbers.timed_max.min(RECORDS_MAX as u32);
        numbers.notifications_max = numbers.notifications_max.min(RECORDS_MAX as u32);
        numbers.space.budget.visits = [2000, 60][(seed / 3 % 2) as usize];
        numbers.over_budget = OVER_BUDGET;
        let layout = layout(numbers.clone());
        let code = programs::program(seed, worlds::shape(&layout));
        let state = State::new(seed, numbers, COMMANDS);
        let text = ptx::module(KIND, &code, &layout);
        let context = || format!("PTX_SEED={seed}\n{code}");
        Test::new(&state).compare(&text, &code, &context);
    }
}

fn seeds() -> Range<u64> {
    let number = |name: &str| env::var(name).ok().and_then(|n| n.parse::<u64>().ok());
    match number("PTX_SEED") {
        Some(seed) => seed..seed + 1,
        None => 0..number("PTX_SEEDS").unwrap_or(100),
    }
}

fn layout(numbers: Numbers) -> Layout {
    fn of<T: Described, F>(new: impl Fn(u32, &mut dyn FnMut(&str) -> u32) -> F) -> F {
        let structure = T::structure();
        let mut offset = |name: &str| match is_of_atomic(name) {
            true => 0,
            false => structure.offset(name) as u32,
        };
        new(structure.bytes as u32, &mut offset)
    }
    // Only atomic commands use these.
    fn is_of_atomic(name: &str) -> bool {
        name.starts_with("atomic_") || name == "bounds"
    }
    Layout {
        world: of::<TestWorld, _>(|bytes, offset| WorldFields::new(bytes, offset)),
        tick: of::<TestTick, _>(|bytes, offset| TickFields::new(bytes, offset)),
        // Others than that by command, which is the first, are of atomic commands only.
        counters: CounterFields::default(),
        command: of::<TestCommand, _>(|bytes, offset| CommandFields::new(bytes, offset)),
        after: of::<TestAfter, _>(|bytes, offset| AfterFields::new(bytes, offset)),
        notification: of::<TestNotification, _>(|bytes, offset| {
            NotificationFields::new(bytes, offset)
        }),
        numbers,
    }
}

/// A state on the GPU.
struct Test<'a> {
    state: &'a State,
    device: Device,
    world: TestWorld,
    tick: TestTick,
}

impl Test<'_> {
    fn new(state: &State) -> Test<'_> {
        let directory = state.directory();
        let sizes = Sizes {
            commands: COMMANDS as u64,
            capacity: CAPACITY.into(),
            columns: state.numbers.columns.into(),
            kinds: state.numbers.kind_columns.len() as u64,
            directory: directory.len() as u64,
            past: state.past.len() as u64,
            layers: state.layers.len() as u64,
            fields: state.fields.len() as u64,
            standings: u64::from(CAPACITY) * state.numbers.rankings.len() as u64,
        };
        let mut plan = Plan::default();
        let groups = [
            plan.add(TestWorld::buffers(&sizes)),
            plan.add(TestTick::buffers(&sizes)),
        ];
        let mut device = Device::open(0, &LIBRARY, &[]).expect("the GPU opens");
        let base = device.allocate(plan.bytes()).expect("there is room");
        for (buffer, start) in plan.buffers() {
            let at = Pointer::<u8>::new(base + start);
            let byte = buffer.fill.unwrap_or(0xa5);
            let filled = device.fill(at, buffer.bytes, byte);
            filled.expect("a buffer is filled");
        }
        let mut world = TestWorld::default();
        world.place(plan.places(base, &groups[0]));
        let mut tick = TestTick {
            number: TICK.0,
            stamp: STAMP,
            past_next: (TICK.0 % u64::from(state.numbers.rewind_ticks.max(1))) as u32,
            ..TestTick::default()
        };
        tick.place(plan.places(base, &groups[1]));
        let test = Test {
            state,
            device,
            world,
            tick,
        };
        test.upload(&directory);
        test
    }

    fn upload(&self, directory: &[u32]) {
        let (state, world) = (self.state, &self.world);
        self.write(world.rows, &state.rows);
        self.write(world.past, &state.past);
        self.write(world.layers, &state.layers);
        self.write(world.fields, &state.fields);
        let (starts, slots) = state.census.parts();
        self.write(world.census_starts, starts);
        self.write(world.census_slots, slots);
        let capacity = u64::from(state.numbers.capacity);
        for (relation, holdings) in (0..).zip(&state.holdings) {
            let (starts, slots) = holdings.parts();
            self.write(world.held_starts.at(relation * (capacity + 1)), starts);
            self.write(world.held_slots.at(relation * capacity), slots);
        }
        let (_, _, slots, ranks) = state.standings.parts();
        self.write(world.standing_slots, slots);
        self.write(world.standing_ranks, ranks);
        self.write(world.states, &state.states);
        self.write(world.generations, &state.generations);
        self.write(world.slot_kinds, &state.slot_kinds);
        let columns = state.numbers.columns as usize;
        let kinds = state.numbers.kind_columns.iter();
        let words: Vec<u64> = kinds.flat_map(|own| own.words(columns)).copied().collect();
        self.write(world.kind_columns.writable(), &words);
        self.write(world.index_len, &[state.index.len() as u64]);
        let (keys, slots): (Vec<u64>, Vec<u32>) = state.index.iter().copied().unzip();
        self.write(world.index_keys, &keys);
        self.write(world.index_slots, &slots);
        self.write(world.index_positions, &state.index_positions());
        self.write(world.directory, directory);
        let starts = [ORDER_FROM as u32, (ORDER_FROM + COMMANDS) as u32];
        self.write(world.group_starts.at(KIND.into()), &starts);
        let order: Vec<u32> = (0..COMMANDS as u32).rev().collect();
        self.write(world.group_order.at(ORDER_FROM as u64), &order);
        // The words of every second command are in the frame.
        let words: Vec<i32> = state.commands.iter().flat_map(|c| c.words).collect();
        self.write(self.tick.words, &words);
        self.write(world.due_words, &words);
        let command = |(i, command): (usize, &Command)| TestCommand {
            sequence: command.sequence,
            slot: command.entity.slot.0,
            generation: command.entity.generation,
            word_start: (3 * i as u32) | ((i as u32 % 2) << 31),
            kind: KIND.into(),
        };
        let commands: Vec<TestCommand> = state.commands.iter().enumerate().map(command).collect();
        self.write(world.commands, &commands);
        // A wrong kind of words would show.
        for (i, _) in words.chunks(3).enumerate() {
            let other = [self.tick.words, world.due_words][1 - i % 2];
            self.write(other.at(3 * i as u64), &[0x5a5a_5a5a; 3]);
        }
    }

    fn compare(&self, text: &str, code: &script::ir::Code, context: &dyn Fn() -> String) {
        let mut interpreter = Interpreter::default();
        let runs = self.state.commands.iter();
        let runs: Vec<Option<Run>> = runs
            .map(|command| self.state.run(&mut interpreter, code, command).ok())
            .collect();
        let machine_code = self.device.compile(text);
        let machine_code = machine_code.unwrap_or_else(|error| panic!("{error}\n{text}"));
        let loaded = self.device.load_code(&machine_code);
        let loaded = loaded.expect("machine code loads");
        let names = ptx::kernel_names(KIND);
        let launch = |name: &str| {
            let kernel = loaded.kernel(name).expect("the kernel is there");
            // Fewer threads than commands, so that some run several.
            let grid = Grid::blocks(2, 64);
            // SAFETY: the layout is that of these structures, whose buffers are as large as
            // the numbers say.
            let launched = unsafe { self.device.launch(kernel, grid, &(self.world, self.tick)) };
            launched.expect("the kernel is launched");
        };
        launch(&names.count);
        let expected = Expected::of(&runs, &self.state.numbers);
        self.compare_counts(&expected, context);
        self.compare_misses(&runs, context);
        self.write(self.world.update_offsets, &expected.offsets[0]);
        self.write(self.world.after_offsets, &expected.offsets[1]);
        self.write(self.world.notification_offsets, &expected.offsets[2]);
        launch(&names.store);
        self.compare_misses(&runs, context);
        self.compare_effects(&expected, context);
    }

    fn compare_counts(&self, expected: &Expected, context: &dyn Fn() -> String) {
        let verdicts = self.read(self.world.verdicts, COMMANDS);
        assert_eq!(verdicts, expected.verdicts, "verdicts, {}", context());
        let reasons = self.read(self.world.reasons, COMMANDS);
        for ((found, expected), verdict) in reasons.iter().zip(&expected.reasons).zip(&verdicts) {
            // Runs beyond their budget have another one.
            let is_same = found == expected || *verdict == OVER_BUDGET;
            assert!(is_same, "reason {found}, not {expected}, {}", context());
        }
        let counts = [
            ("updates", self.world.update_counts),
            ("afters", self.world.after_counts),
            ("notifications", self.world.notification_counts),
        ];
        for ((name, at), expected) in counts.into_iter().zip(&expected.counts) {
            let found = self.read(at, COMMANDS);
            assert_eq!(&found, expected, "counts of {name}, {}", context());
        }
    }

    /// Runs are counted in the first pass only.
    fn compare_misses(&self, runs: &[Option<Run>], context: &dyn Fn() -> String) {
        let missed = runs.iter().flatten().filter(|run| run.missed).count() as u32;
        let counters = self.read(self.tick.counters, usize::from(KIND) + 1);
        assert_eq!(counters[usize::from(KIND)], missed, "misses, {}", context());
    }

    fn compare_effects(&self, expected: &Expected, context: &dyn Fn() -> String) {
        let keys = self.read(self.world.keys, UPDATES_MAX);
        let values = self.read(self.world.values, UPDATES_MAX);
        let updates: Vec<(u32, u32)> = keys.into_iter().zip(values).collect();
        assert_eq!(updates, expected.updates, "updates, {}", context());
        let first = self.read(self.world.first_updates, expected.first.len());
        assert_eq!(first, expected.first, "first updates, {}", context());
        let records = self.read(self.world.after_records.cast::<[u32; 9]>(), RECORDS_MAX);
        assert_eq!(records, expected.afters, "afters, {}", context());
        let notifications = self.tick.notifications.cast::<[u32; 17]>();
        let records = self.read(notifications, RECORDS_MAX);
        assert_eq!(records, expected.notifications, "{}", context());
    }

    fn write<T: Plain>(&self, to: Pointer<T>, values: &[T]) {
        self.device.write(to, values).expect("an upload works");
    }

    fn read<T: Plain>(&self, from: Pointer<T>, n: usize) -> Vec<T> {
        let mut values = vec![device::plain::zeroed(); n];
        let read = self.device.read(&mut values, from);
        read.expect("a download works");
        values
    }
}

/// What the kernels must write: also that they write nothing else.
struct Expected {
    verdicts: Vec<u32>,
    /// Each plus 1, or 0.
    reasons: Vec<u32>,
    counts: [Vec<u32>; 3],
    offsets: [Vec<u32>; 3],
    updates: Vec<(u32, u32)>,
    first: Vec<u64>,
    afters: Vec<[u32; 9]>,
    notifications: Vec<[u32; 17]>,
}

impl Expected {
    fn of(runs: &[Option<Run>], numbers: &Numbers) -> Expected {
        let mut expected = Expected {
            verdicts: vec![],
            reasons: vec![],
            counts: Default::default(),
            offsets: Default::default(),
            updates: vec![(u32::MAX, u32::MAX); UPDATES_MAX],
            first: vec![u64::MAX; (numbers.capacity * numbers.columns) as usize],
            afters: vec![[u32::MAX; 9]; RECORDS_MAX],
            notifications: vec![[u32::MAX; 17]; RECORDS_MAX],
        };
        let mut next = [0; 3];
        let max = [
            UPDATES_MAX,
            numbers.timed_max as usize,
            numbers.notifications_max as usize,
        ];
        for (i, run) in runs.iter().enumerate() {
            let verdict = if run.is_some() { 0 } else { OVER_BUDGET };
            expected.verdicts.push(verdict);
            let nothing = Run::default();
            let run = run.as_ref().unwrap_or(&nothing);
            let reason = run.reason.map_or(0, |number| u32::from(number) + 1);
            expected.reasons.push(reason);
            let lens = [run.updates.len(), run.afters.len(), run.notifications.len()];
            for effect in 0..3 {
                let n = if max[effect] == 0 { 0 } else { lens[effect] };
                let start = next[effect];
                next[effect] += n;
                // All updates of a command or none, but as many of the others as fit.
                let fits = match effect {
                    0 => next[0] <= max[0],
                    _ => start < max[effect],
                };
                let offset = if n > 0 && fits { start as u32 } else { NOWHERE };
                expected.counts[effect].push(n as u32);
                expected.offsets[effect].push(offset);
            }
            expected.store(i, run, numbers, max);
        }
        expected
    }

    fn store(&mut self, i: usize, run: &Run, numbers: &Numbers, max: [usize; 3]) {
        let offsets = [0, 1, 2].map(|effect| self.offsets[effect][i]);
        let [updates, afters, notifications] = offsets.map(|offset| match offset {
            NOWHERE => usize::MAX / 2..usize::MAX,
            offset => offset as usize..usize::MAX,
        });
        for (at, &(slot, column, value)) in updates.zip(&run.updates) {
            if at >= UPDATES_MAX {
                break;
            }
            let key = slot * numbers.columns + column;
            self.updates[at] = (key, value as u32);
            if numbers.has_causes {
                let first = &mut self.first[key as usize];
                *first = (*first).min(u64::from(!STAMP) << 32 | i as u64);
            }
        }
        for (at, &record) in afters.zip(&run.afters) {
            if at < max[1] {
                self.afters[at] = record;
            }
        }
        for (at, &record) in notifications.zip(&run.notifications) {
            if at < max[2] {
                self.notifications[at] = record;
            }
        }
    }
}
