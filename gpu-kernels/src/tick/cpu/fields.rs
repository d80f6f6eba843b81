//! Flow fields: where their goals are, and the steps that are in force.
//!
//! A field's search runs in the tick in which it comes into force, of what was noted when it was
//! taken. Fields of different ticks share what a search needs.

use device::cpu::{Workers, ranges};
use shared::WorldConfig;
use shared::world::field::{Field, Goals};

use super::State;
use super::slots::Slots;
use crate::space::field::{FieldCells, Ground, Search};
use crate::tick::state::{FieldState, part};

/// The fields of a world; empty in worlds without.
#[derive(Default)]
pub struct Fields {
    ground: Option<Ground>,
    /// By field.
    states: Vec<FieldState>,
    /// The words of the steps that are in force, field by field.
    words: Vec<i32>,
    searches: Vec<Search>,
}

/// The most fields that are searched at once.
pub const SEARCHES_MAX: usize = 4;

impl Fields {
    pub fn new(config: &WorldConfig, workers: &Workers) -> Fields {
        let fields = &config.schema.fields;
        let ground = Ground::new(&config.schema.layers, fields);
        let words = ground.as_ref().map_or(0, Ground::words);
        let mut own = Fields {
            ground,
            states: vec![FieldState::default(); fields.len()],
            words: vec![0; words * fields.len()],
            searches: vec![],
        };
        own.search(workers, fields, |_| true);
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

    pub fn restore(&mut self, workers: &Workers, fields: &[Field], states: &[FieldState]) {
        self.states.clone_from_slice(states);
        self.search(workers, fields, |_| true);
    }

    /// Finds the steps in force of some fields, by their numbers.
    fn search(&mut self, workers: &Workers, fields: &[Field], is_wanted: impl Fn(usize) -> bool) {
        let Some(ground) = &self.ground else { return };
        let own = self.words.chunks_exact_mut(ground.words());
        let own = fields.iter().zip(&self.states).zip(own).enumerate();
        let mut wanted: Vec<_> = own.filter(|(number, _)| is_wanted(*number)).collect();
        for some in wanted.chunks_mut(SEARCHES_MAX) {
            if self.searches.len() < some.len() {
                self.searches.resize_with(some.len(), Search::default);
            }
            let tasks = some.iter_mut().zip(&mut self.searches);
            workers.run(tasks.collect(), |((_, ((field, state), steps)), search)| {
                search.run(ground, field, &state.in_force, steps);
            });
        }
    }
}

impl State {
    /// Takes those fields that are due, and brings into force what was taken before. Doors are
    /// closed.
    pub(super) fn refresh_fields(&mut self, workers: &Workers, config: &WorldConfig) {
        let fields = &config.schema.fields;
        if !fields.iter().any(|field| field.is_due(self.tick)) {
            return;
        }
        let mut changed = vec![false; fields.len()];
        for (number, field) in fields.iter().enumerate() {
            if !field.is_due(self.tick) {
                continue;
            }
            let taken = FieldCells {
                goals: self.goals(workers, field),
                closed: self.layers.closed().to_vec(),
            };
            let own = &mut self.fields.states[number];
            let before = own.element(number);
            let under_way = std::mem::replace(&mut own.under_way, taken);
            let was_in_force = std::mem::replace(&mut own.in_force, under_way);
            changed[number] = was_in_force != own.in_force;
            let now = own.element(number);
            self.subtract(part::TRACKS, before);
            self.add(part::TRACKS, now);
        }
        self.fields
            .search(workers, fields, |number| changed[number]);
    }

    /// The cells of a field's goals that come and go.
    fn goals(&self, workers: &Workers, field: &Field) -> Vec<u32> {
        let (Goals::Kind(kind), Some(ground)) = (&field.goals, &self.fields.ground) else {
            return vec![];
        };
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
