//! Flow fields: where their goals are, and the steps that are in force.
//!
//! A field is searched from when it is taken until it comes into force, beside the ticks.

use device::cpu::{Workers, ranges};
use shared::world::field::{Field, Goals};
use shared::{Tick, WorldConfig};

use super::State;
use super::searches::Searches;
use super::slots::Slots;
use crate::space::field::{FieldCells, Ground, Search};
use crate::tick::state::{FieldState, part};

/// The fields of a world; empty in worlds without.
#[derive(Default)]
pub struct Fields {
    searches: Option<Searches>,
    /// By field.
    states: Vec<FieldState>,
    /// By field: whether what is under way differs from what is in force, and so is searched.
    are_searched: Vec<bool>,
    /// The words of the steps that are in force, field by field.
    words: Vec<i32>,
}

/// The most fields that are searched at once.
pub const SEARCHES_MAX: usize = 4;

impl Fields {
    pub fn new(config: &WorldConfig, workers: &Workers) -> Fields {
        let fields = &config.schema.fields;
        let Some(ground) = Ground::new(&config.schema.layers, fields) else {
            return Fields::default();
        };
        let words = ground.words() * fields.len();
        let threads = fields.len().min(workers.threads()).min(SEARCHES_MAX);
        let mut own = Fields {
            searches: Some(Searches::new(ground, fields, threads)),
            states: vec![FieldState::default(); fields.len()],
            are_searched: vec![false; fields.len()],
            words: vec![0; words],
        };
        own.search_all(workers);
        own
    }

    pub fn states(&self) -> &[FieldState] {
        &self.states
    }

    pub fn words(&self) -> &[i32] {
        &self.words
    }

    /// A word; 0 where there is none.
    pub fn word(&self, place: i32) -> i32 {
        let place = usize::try_from(place).ok();
        let word = place.and_then(|place| self.words.get(place));
        word.copied().unwrap_or(0)
    }

    /// `now` is the tick of the state.
    pub fn restore(
        &mut self,
        workers: &Workers,
        fields: &[Field],
        states: &[FieldState],
        now: Tick,
    ) {
        self.states.clone_from_slice(states);
        if let Some(searches) = &self.searches {
            searches.forget();
        }
        self.search_all(workers);
        for (number, field) in fields.iter().enumerate() {
            // Each is due by then.
            self.begin(number, Tick(now.0 + u64::from(field.refresh_ticks)));
        }
    }

    /// Finds the steps in force of all fields.
    fn search_all(&mut self, workers: &Workers) {
        let Some(searches) = &self.searches else {
            return;
        };
        let words = searches.ground().words();
        let own = self.states.iter().zip(self.words.chunks_exact_mut(words));
        let mut own: Vec<_> = searches.fields().iter().zip(own).collect();
        let mut rooms = vec![Search::default(); SEARCHES_MAX.min(own.len())];
        for some in own.chunks_mut(SEARCHES_MAX) {
            let tasks = some.iter_mut().zip(&mut rooms);
            workers.run(tasks.collect(), |((field, (state, steps)), search)| {
                search.run(searches.ground(), field, &state.in_force, steps);
            });
        }
    }

    /// Begins to search what is under way, if it differs from what is in force.
    fn begin(&mut self, number: usize, due: Tick) {
        let Some(searches) = &self.searches else {
            return;
        };
        let state = &self.states[number];
        self.are_searched[number] = state.under_way != state.in_force;
        if self.are_searched[number] {
            searches.begin(number, state.under_way.clone(), due);
        }
    }

    /// Brings into force what is under way, and takes what comes after it, until a tick.
    fn take(&mut self, number: usize, taken: FieldCells, due: Tick) {
        let Some(searches) = &self.searches else {
            return;
        };
        if self.are_searched[number] {
            let words = searches.ground().words();
            searches.finish(number, &mut self.words[number * words..][..words]);
        }
        let own = &mut self.states[number];
        own.in_force = std::mem::replace(&mut own.under_way, taken);
        self.begin(number, due);
    }
}

impl State {
    /// Takes those fields that are due, and brings into force what was taken before. Doors are
    /// closed.
    pub(super) fn refresh_fields(&mut self, workers: &Workers, config: &WorldConfig) {
        for (number, field) in config.schema.fields.iter().enumerate() {
            if !field.is_due(self.tick) {
                continue;
            }
            let taken = FieldCells {
                goals: self.goals(workers, field),
                closed: self.layers.closed().to_vec(),
            };
            let before = self.fields.states[number].element(number);
            let due = Tick(self.tick.0 + u64::from(field.refresh_ticks));
            self.fields.take(number, taken, due);
            let now = self.fields.states[number].element(number);
            self.subtract(part::TRACKS, before);
            self.add(part::TRACKS, now);
        }
    }

    /// The cells of a field's goals that come and go.
    fn goals(&self, workers: &Workers, field: &Field) -> Vec<u32> {
        let (Goals::Kind(kind), Some(searches)) = (&field.goals, &self.fields.searches) else {
            return vec![];
        };
        let ground = searches.ground();
        let used = self.slots.used();
        let parts = workers.parts(used);
        let mut found = vec![vec![]; parts];
        let tasks = ranges(used, parts).zip(&mut found);
        let (slots, rows): (&Slots, _) = (&self.slots, &self.rows);
        workers.run(tasks.collect(), |(range, found)| {
            for slot in range {
                if slots.kinds()[slot] == *kind && slots.is_somewhere(slot) {
                    let row = &rows[slot * self.columns..];
                    found.push(ground.place([row[0], row[1]]));
                }
            }
        });
        let mut goals = found.concat();
        goals.sort_unstable();
        goals.dedup();
        goals
    }
}
