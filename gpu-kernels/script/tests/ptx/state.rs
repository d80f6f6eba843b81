//! A random state of a world, commands for it, and what the interpreter makes of them.

use script::arith::{self, Random};
use script::census::Census;
use script::holdings::Holdings;
use script::interpreter::{Effects, Interpreter, Invocation, NoEffect, Outgoing, World};
use script::ir::Code;
use script::ptx::layout::Numbers;
use script::standings::Standings;
use shared::world::group::RELATIONS_MAX as RELATIONS;
use shared::world::mix::mix;
use shared::{EntityId, Slot, Tick};

pub const KIND: u16 = 7;
pub const TICK: Tick = Tick((1 << 40) + 1234);

/// A world's state, as the device has it.
pub struct State {
    pub numbers: Numbers,
    pub rows: Vec<i32>,
    /// By place in the ring, slot and axis.
    pub past: Vec<i32>,
    pub layers: Vec<i32>,
    pub fields: Vec<i32>,
    pub states: Vec<u32>,
    pub generations: Vec<u32>,
    pub slot_kinds: Vec<u32>,
    pub census: Census,
    pub holdings: Vec<Holdings>,
    pub standings: Standings,
    /// By bucket, then by slot.
    pub index: Vec<(u64, u32)>,
    pub commands: Vec<Command>,
}

#[derive(Clone, Copy)]
pub struct Command {
    pub entity: EntityId,
    pub sequence: u32,
    pub words: [i32; 3],
}

/// The effects of one run.
#[derive(Default)]
pub struct Run {
    /// (slot, column, value)
    pub updates: Vec<(u32, u32, i32)>,
    pub afters: Vec<[u32; 9]>,
    pub notifications: Vec<[u32; 17]>,
    /// Whether an index was none that there is.
    pub missed: bool,
    /// Why it has no effect, if it has none.
    pub reason: Option<u8>,
    dimensions: usize,
}

impl State {
    pub fn new(seed: u64, numbers: Numbers, commands: usize) -> State {
        let mut drawn = 0;
        let mut below = |n: u64| {
            drawn += 1;
            ((mix(mix(seed, drawn), drawn) >> 32) * n) >> 32
        };
        let capacity = numbers.capacity as usize;
        let columns = numbers.columns as usize;
        let dimensions = numbers.space.dimensions;
        let mut state = State {
            rows: vec![0; capacity * columns],
            past: vec![],
            layers: vec![],
            fields: vec![],
            states: (0..capacity).map(|_| u32::from(below(4) > 0)).collect(),
            generations: (0..capacity).map(|_| 1 + below(600) as u32).collect(),
            slot_kinds: vec![0; capacity],
            census: Census::default(),
            holdings: vec![],
            standings: Standings::default(),
            index: vec![],
            commands: vec![],
            numbers,
        };
        let living: Vec<usize> = (0..capacity).filter(|&s| state.states[s] == 1).collect();
        for &slot in &living {
            let kind = below(state.numbers.kind_columns.len() as u64) as usize;
            state.slot_kinds[slot] = kind as u32;
            for column in 0..columns {
                let has = state.numbers.kind_columns[kind].has(column);
                let value = match column < dimensions {
                    true => below(state.numbers.space.size[column] as u64) as i32,
                    false => below(1 << 14) as i32 - (1 << 13),
                };
                state.rows[slot * columns + column] = if has { value } else { 0 };
            }
            let key = state.bucket(slot);
            state.index.push((key, slot as u32));
        }
        state.index.sort_unstable();
        let kind_of = |&slot: &usize| (state.slot_kinds[slot] as u16, slot as u32);
        let kinds = state.numbers.kind_columns.len();
        state.census = Census::of(kinds, living.iter().map(kind_of));
        for _ in 0..RELATIONS {
            let pairs: Vec<(u32, u32)> = (0..capacity as u64 / 2)
                .map(|_| {
                    let of = |at: u64| living.get(at as usize).map_or(0, |&slot| slot as u32);
                    (of(below(4)), of(below(living.len() as u64)))
                })
                .collect();
            state.holdings.push(Holdings::of(capacity, pairs));
        }
        let rankings = &state.numbers.rankings;
        state.standings = Standings::new(rankings.len(), capacity);
        for (number, &kind) in rankings.iter().enumerate() {
            let own = living.iter().map(kind_of).filter(|own| own.0 == kind);
            let own: Vec<u32> = own.map(|(_, slot)| slot).collect();
            // Any order does.
            state.standings.set(number, own.into_iter().rev());
        }
        let kept = state.numbers.rewind_ticks as usize * capacity * dimensions;
        state.past = (0..kept).map(|_| below(1 << 13) as i32).collect();
        state.layers = (0..state.numbers.layer_words)
            .map(|_| below(1 << 32) as i32)
            .collect();
        state.fields = (0..state.numbers.field_words)
            .map(|_| below(1 << 32) as i32)
            .collect();
        for sequence in 0..commands {
            let mut random_word = || match below(4) {
                0 => below(1 << 32) as i32,
                1 => below(1 << 20) as i32,
                _ => {
                    let slot = below(capacity as u64) as u32;
                    EntityId::new(slot, state.generations[slot as usize])
                        .reference()
                        .0
                }
            };
            let words = [(); 3].map(|()| random_word());
            let slot = living[below(living.len() as u64) as usize];
            state.commands.push(Command {
                entity: EntityId::new(slot as u32, state.generations[slot]),
                sequence: sequence as u32,
                words,
            });
        }
        state
    }

    fn position(&self, slot: usize) -> [i32; 3] {
        let dimensions = self.numbers.space.dimensions;
        let row = &self.rows[slot * self.numbers.columns as usize..];
        [0, 1, 2].map(|axis| if axis < dimensions { row[axis] } else { 0 })
    }

    fn bucket(&self, slot: usize) -> u64 {
        let edge = self.numbers.bucket_edge;
        let position = self.position(slot);
        (0..3).rev().fold(0, |key, axis| {
            key * self.numbers.buckets[axis] + (position[axis] / edge) as u64
        })
    }

    /// By axis, then by place in the index.
    pub fn index_positions(&self) -> Vec<i32> {
        let capacity = self.numbers.capacity as usize;
        let mut positions = vec![0; 3 * capacity];
        for (place, &(_, slot)) in self.index.iter().enumerate() {
            for (axis, position) in self.position(slot as usize).into_iter().enumerate() {
                positions[axis * capacity + place] = position;
            }
        }
        positions
    }

    /// By entry: where its buckets begin in the index.
    pub fn directory(&self) -> Vec<u32> {
        let shift = self.numbers.directory_shift;
        let buckets: u64 = self.numbers.buckets.iter().product();
        let start = |entry: u64| {
            let key = entry << shift;
            self.index.partition_point(|&(other, _)| other < key) as u32
        };
        (0..((buckets - 1) >> shift) + 3).map(start).collect()
    }

    /// What a command does; nothing if it is over its budget.
    pub fn run(
        &self,
        interpreter: &mut Interpreter,
        code: &Code,
        command: &Command,
    ) -> Result<Run, NoEffect> {
        let Command {
            entity, sequence, ..
        } = *command;
        let invocation = Invocation {
            tick: TICK,
            entity,
            words: &command.words,
            random: Random::new(self.numbers.seed, TICK, entity, KIND, sequence),
        };
        let mut run = Run {
            dimensions: self.numbers.space.dimensions,
            ..Run::default()
        };
        let space = &self.numbers.space;
        interpreter.run(code, space, self, &invocation, &mut run)?;
        run.reason = interpreter.reason();
        Ok(run)
    }
}

impl World for State {
    fn attribute(&self, slot: Slot, column: usize) -> i32 {
        self.rows[slot.index() * self.numbers.columns as usize + column]
    }

    fn generation(&self, slot: Slot) -> Option<u32> {
        let lives = self.states.get(slot.index()) == Some(&self.numbers.live);
        lives.then(|| self.generations[slot.index()])
    }

    fn kind(&self, slot: Slot) -> u16 {
        self.slot_kinds[slot.index()] as u16
    }

    fn has(&self, slot: Slot, column: usize) -> bool {
        let kind = self.slot_kinds[slot.index()];
        self.numbers.kind_columns[kind as usize].has(column)
    }

    fn past(&self, slot: Slot, axis: usize, tick: i32) -> i32 {
        let kept = self.numbers.rewind_ticks;
        if kept == 0 {
            return -1;
        }
        let back = arith::ticks_back(TICK.low().cast_signed(), tick, kept);
        let place = (TICK.0 + u64::from(kept - back)) % u64::from(kept);
        let at = place as usize * self.numbers.capacity as usize + slot.index();
        self.past[at * self.numbers.space.dimensions + axis] - 1
    }

    fn layer(&self, place: i32) -> i32 {
        let place = usize::try_from(place).unwrap_or(usize::MAX);
        self.layers.get(place).copied().unwrap_or(0)
    }

    fn field(&self, place: i32) -> i32 {
        let place = usize::try_from(place).unwrap_or(usize::MAX);
        self.fields.get(place).copied().unwrap_or(0)
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

    fn near(&self, center: [i32; 3], radius: i32, slots: &mut Vec<u32>) {
        let all = self.index.iter().map(|&(_, slot)| slot);
        slots.extend(
            all.filter(|&slot| arith::is_within(self.position(slot as usize), center, radius)),
        );
    }
}

impl Effects for Run {
    fn update(&mut self, slot: Slot, column: u16, value: i32) {
        self.updates.push((slot.0, column.into(), value));
    }

    fn miss(&mut self) {
        self.missed = true;
    }
}

impl Outgoing for Run {
    fn after(&mut self, ticks: u32, entity: EntityId, kind: u16, words: &[i32]) {
        let form = u32::from(kind) | (words.len() as u32) << 16;
        let mut record = [ticks, entity.slot.0, entity.generation, form, 0, 0, 0, 0, 0];
        for (to, &word) in record[4..].iter_mut().zip(words) {
            *to = word as u32;
        }
        self.afters.push(record);
    }

    fn notify(
        &mut self,
        kind: u16,
        source: EntityId,
        area: Option<([i32; 3], i32)>,
        words: &[i32],
    ) {
        let form = u32::from(kind) | (words.len() as u32) << 16 | u32::from(area.is_some()) << 24;
        // Words that are not there are not stored.
        let mut record = [u32::MAX; 17];
        record[3..9].fill(0);
        record[..3].copy_from_slice(&[source.slot.0, source.generation, form]);
        if let Some((center, distance)) = area {
            for axis in 0..3 {
                let (low, high) = match axis < self.dimensions {
                    true => (center[axis] - distance, center[axis] + distance + 1),
                    false => (0, 1),
                };
                record[3 + axis] = low as u32;
                record[6 + axis] = high as u32;
            }
        }
        for (to, &word) in record[9..].iter_mut().zip(words) {
            *to = word as u32;
        }
        self.notifications.push(record);
    }
}
