//! What machine code reads and whom it calls. Both sides name the fields here.

use std::marker::PhantomData;

use shared::Tick;
use shared::world::group::RELATIONS_MAX;
use shared::world::id::CAPACITY_MAX;
use shared::world::notification::NOTIFICATION_WORDS_MAX;

use crate::atomic::KEYS_MAX;
use crate::census::Census;
use crate::holdings::Holdings;
use crate::ir::{NOBODY, TIMED_WORDS_MAX};
use crate::standings::Standings;

/// The world at the start of a tick: arrays by slot, for all slots that were ever used.
#[derive(Clone, Copy, Debug)]
pub struct View<'a> {
    pub(super) columns: usize,
    pub(super) slots: u32,
    tick: Tick,
    rows: *const i32,
    states: *const u8,
    generations: *const u32,
    kinds: *const u16,
    past: *const i32,
    pub(super) past_ticks: u32,
    past_slots: u32,
    pub(super) past_dimensions: usize,
    layers: *const i32,
    layer_words: u32,
    fields: *const i32,
    field_words: u32,
    census_starts: *const u32,
    census_slots: *const u32,
    /// The number of kinds of the census; 0 without one.
    pub(super) census_kinds: usize,
    held: [Held; RELATIONS_MAX],
    /// The number of rankings of the standings; 0 without them.
    pub(super) rankings: usize,
    standings_stride: usize,
    standings_counts: *const u32,
    standings_slots: *const u32,
    standings_ranks: *const u32,
    borrowed: PhantomData<&'a [i32]>,
}

// SAFETY: it stands for shared slices of plain numbers (and of `S`, which is `Sync`).
unsafe impl Send for View<'_> {}
// SAFETY: likewise.
unsafe impl Sync for View<'_> {}

impl<'a> View<'a> {
    /// `states` has one element for each slot that was ever used; the other arrays may be
    /// longer. `rows` holds `columns` numbers for each slot, 0 for those that its kind lacks.
    /// `S` is a number of one byte.
    ///
    /// # Panics
    ///
    /// If an array is too short, or `S` isn't one byte.
    pub fn new<S: Copy + Sync>(
        tick: Tick,
        columns: usize,
        rows: &'a [i32],
        states: &'a [S],
        generations: &'a [u32],
        kinds: &'a [u16],
    ) -> View<'a> {
        const { assert!(size_of::<S>() == 1) };
        let slots = states.len();
        assert!(slots <= CAPACITY_MAX as usize);
        assert!(slots.checked_mul(columns).unwrap() <= rows.len());
        assert!(slots <= generations.len() && slots <= kinds.len());
        View {
            columns,
            slots: slots as u32,
            tick,
            rows: rows.as_ptr(),
            states: states.as_ptr().cast(),
            generations: generations.as_ptr(),
            kinds: kinds.as_ptr(),
            past: std::ptr::null(),
            past_ticks: 0,
            past_slots: 0,
            past_dimensions: 0,
            layers: NO_WORDS.as_ptr(),
            layer_words: 0,
            fields: NO_WORDS.as_ptr(),
            field_words: 0,
            census_starts: std::ptr::null(),
            census_slots: std::ptr::null(),
            census_kinds: 0,
            held: [Held::NONE; RELATIONS_MAX],
            rankings: 0,
            standings_stride: 0,
            standings_counts: std::ptr::null(),
            standings_slots: std::ptr::null(),
            standings_ranks: std::ptr::null(),
            borrowed: PhantomData,
        }
    }

    /// With what is kept of so many ticks: by the tick's number modulo that, by slot, then by
    /// axis, each coordinate plus 1; 0 where an entity was nowhere. Nothing, if it is empty.
    ///
    /// # Panics
    ///
    /// If it isn't as long as some number of slots needs.
    #[must_use]
    pub fn with_past(self, past: &'a [i32], ticks: u32, dimensions: usize) -> View<'a> {
        if past.is_empty() {
            return self;
        }
        let of_slot = ticks as usize * dimensions;
        assert!(past.len().is_multiple_of(of_slot));
        let slots = past.len() / of_slot;
        assert!(slots <= CAPACITY_MAX as usize);
        View {
            past: past.as_ptr(),
            past_ticks: ticks,
            past_slots: slots as u32,
            past_dimensions: dimensions,
            ..self
        }
    }

    /// With the words of the world's layers.
    ///
    /// # Panics
    ///
    /// If there are more than 2^31.
    #[must_use]
    pub fn with_layers(self, words: &'a [i32]) -> View<'a> {
        if words.is_empty() {
            return self;
        }
        assert!(words.len() <= 1 << 31);
        View {
            layers: words.as_ptr(),
            layer_words: words.len() as u32,
            ..self
        }
    }

    /// With the words of the world's fields.
    ///
    /// # Panics
    ///
    /// If there are more than 2^31.
    #[must_use]
    pub fn with_fields(self, words: &'a [i32]) -> View<'a> {
        if words.is_empty() {
            return self;
        }
        assert!(words.len() <= 1 << 31);
        View {
            fields: words.as_ptr(),
            field_words: words.len() as u32,
            ..self
        }
    }
}

impl<'a> View<'a> {
    /// With the living entities by kind.
    ///
    /// # Panics
    ///
    /// If the census names slots that it doesn't have.
    #[must_use]
    pub fn with_census(self, census: &'a Census) -> View<'a> {
        let (starts, slots) = census.parts();
        assert!(starts.is_sorted() && starts.iter().all(|&at| at as usize <= slots.len()));
        View {
            census_starts: starts.as_ptr(),
            census_slots: slots.as_ptr(),
            census_kinds: starts.len().saturating_sub(1),
            ..self
        }
    }

    /// With the things of each holder and the members of each group, by relation, but not those that
    /// were found when there were fewer slots: commands that ask for them have them found before.
    ///
    /// # Panics
    ///
    /// If they name slots that they don't have, or of too many relations.
    #[must_use]
    pub fn with_holdings(mut self, holdings: impl IntoIterator<Item = &'a Holdings>) -> View<'a> {
        for (relation, holdings) in holdings.into_iter().enumerate() {
            let (starts, slots) = holdings.parts();
            if starts.len() <= self.slots as usize {
                continue;
            }
            debug_assert!(starts.is_sorted());
            assert!(starts.last().is_none_or(|&end| end as usize <= slots.len()));
            self.held[relation] = Held {
                starts: starts.as_ptr(),
                slots: slots.as_ptr(),
            };
        }
        self
    }

    /// A bit for each relation that it has.
    pub(super) fn relations(&self) -> u32 {
        let is_there = |held: &Held| u32::from(!held.starts.is_null());
        (0..)
            .zip(&self.held)
            .fold(0, |bits, (number, held)| bits | is_there(held) << number)
    }

    /// With where entities stand in rankings.
    ///
    /// # Panics
    ///
    /// If the standings have no room for all slots.
    #[must_use]
    pub fn with_standings(self, standings: &'a Standings) -> View<'a> {
        let (stride, counts, slots, ranks) = standings.parts();
        if counts.is_empty() {
            return self;
        }
        assert!(stride >= self.slots as usize);
        assert!(counts.iter().all(|&count| count as usize <= stride));
        assert!(slots.len() == counts.len() * stride && ranks.len() == slots.len());
        View {
            rankings: counts.len(),
            standings_stride: stride,
            standings_counts: counts.as_ptr(),
            standings_slots: slots.as_ptr(),
            standings_ranks: ranks.as_ptr(),
            ..self
        }
    }
}

/// Where there are none, a word can be loaded nevertheless.
static NO_WORDS: [i32; 1] = [0];

/// The world as atomic commands see it and change it, one after another.
#[derive(Debug)]
pub struct Rows<'a>(View<'a>);

impl<'a> Rows<'a> {
    /// As in [`View::new`].
    ///
    /// # Panics
    ///
    /// Likewise.
    pub fn new<S: Copy + Sync>(
        tick: Tick,
        columns: usize,
        rows: &'a mut [i32],
        states: &'a [S],
        generations: &'a [u32],
        kinds: &'a [u16],
    ) -> Rows<'a> {
        let pointer = rows.as_mut_ptr();
        let mut view = View::new(tick, columns, rows, states, generations, kinds);
        view.rows = pointer;
        Rows(view)
    }

    /// As in [`View::with_past`].
    ///
    /// # Panics
    ///
    /// Likewise.
    #[must_use]
    pub fn with_past(self, past: &'a [i32], ticks: u32, dimensions: usize) -> Rows<'a> {
        Rows(self.0.with_past(past, ticks, dimensions))
    }

    /// As in [`View::with_layers`].
    ///
    /// # Panics
    ///
    /// Likewise.
    #[must_use]
    pub fn with_layers(self, words: &'a [i32]) -> Rows<'a> {
        Rows(self.0.with_layers(words))
    }

    /// As in [`View::with_fields`].
    ///
    /// # Panics
    ///
    /// Likewise.
    #[must_use]
    pub fn with_fields(self, words: &'a [i32]) -> Rows<'a> {
        Rows(self.0.with_fields(words))
    }

    /// As in [`View::with_census`].
    ///
    /// # Panics
    ///
    /// Likewise.
    #[must_use]
    pub fn with_census(self, census: &'a Census) -> Rows<'a> {
        Rows(self.0.with_census(census))
    }

    /// As in [`View::with_holdings`].
    ///
    /// # Panics
    ///
    /// Likewise.
    #[must_use]
    pub fn with_holdings(self, holdings: impl IntoIterator<Item = &'a Holdings>) -> Rows<'a> {
        Rows(self.0.with_holdings(holdings))
    }

    /// As in [`View::with_standings`].
    ///
    /// # Panics
    ///
    /// Likewise.
    #[must_use]
    pub fn with_standings(self, standings: &'a Standings) -> Rows<'a> {
        Rows(self.0.with_standings(standings))
    }

    pub(super) fn view(&self) -> &View<'a> {
        &self.0
    }
}

/// What machine code reads.
#[repr(C)]
pub struct Frame {
    pub rows: *const i32,
    pub states: *const u8,
    pub generations: *const u32,
    pub kinds: *const u16,
    pub near: Callback,
    pub after: Callback,
    pub notify: Callback,
    /// Where the slots that `near` found begin and end.
    pub near_start: *const u32,
    pub near_end: *const u32,
    pub slots: u32,
    pub tick: u32,
    pub past: *const i32,
    /// 0 if nothing is kept.
    pub past_slots: u32,
    pub past_ticks: u32,
    /// Where this tick's positions are to be: its number modulo `past_ticks`.
    pub past_next: u32,
    pub layers: *const i32,
    /// 0 if there are none; a first word can be loaded nevertheless.
    pub layer_words: u32,
    /// Likewise.
    pub fields: *const i32,
    pub field_words: u32,
    /// By kind, and at last: where its entities begin in `census_slots`.
    pub census_starts: *const u32,
    pub census_slots: *const u32,
    /// By relation.
    pub held: [Held; RELATIONS_MAX],
    /// The slots for which each ranking has room.
    pub standings_stride: u64,
    /// By ranking: how many entities it has; by ranking and place: the slot; by ranking and slot: the
    /// place, from 1 on.
    pub standings_counts: *const u32,
    pub standings_slots: *const u32,
    pub standings_ranks: *const u32,
    /// The slots of the keys of the atomic command that runs, or `NOBODY`.
    pub keys: [i32; KEYS_MAX],
    /// Not 0 if an index of the run was none that there is.
    pub missed: u32,
    /// Why the run has no effect: the number of a reason, plus 1; 0: it does not say.
    pub reason: u32,
}

/// The things of each holder, or the members of each group; null where they were not found.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Held {
    /// By slot of a holder, and at last: where its things begin in `slots`.
    pub starts: *const u32,
    pub slots: *const u32,
}

impl Held {
    const NONE: Held = Held {
        starts: std::ptr::null(),
        slots: std::ptr::null(),
    };
}

/// A function that machine code calls. The second argument leads to the operands: one of the
/// structs below.
pub type Callback = unsafe extern "C" fn(*mut Frame, *const i32);

/// A run: frame, slot of the actor, words, random key, where the updates go and where that
/// ends → the number of updates, or [`OVERRUN`]. Those that don't fit are counted only.
///
/// Of an atomic command: → the number of its writes; without an effect, the complement of
/// 4 × that number + an [`Outcome`].
pub type Run = unsafe extern "C" fn(*mut Frame, u64, *const i32, u64, *mut Pair, *mut Pair) -> i64;

/// (slot × columns + column, the bits of the update's value; of a write, of the value before)
pub type Pair = (u32, u32);

pub const OVERRUN: i64 = -1;

/// Why a run of an atomic command has no effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i64)]
pub enum Outcome {
    Overrun = 0,
    Refused = 1,
    Moved = 2,
}

impl Frame {
    pub fn new(view: &View<'_>, [near, after, notify]: [Callback; 3]) -> Frame {
        Frame {
            rows: view.rows,
            states: view.states,
            generations: view.generations,
            kinds: view.kinds,
            near,
            after,
            notify,
            near_start: std::ptr::null(),
            near_end: std::ptr::null(),
            slots: view.slots,
            tick: view.tick.low(),
            past: view.past,
            past_slots: view.past_slots,
            past_ticks: view.past_ticks,
            past_next: (view.tick.0 % u64::from(view.past_ticks.max(1))) as u32,
            layers: view.layers,
            layer_words: view.layer_words,
            fields: view.fields,
            field_words: view.field_words,
            census_starts: view.census_starts,
            census_slots: view.census_slots,
            held: view.held,
            standings_stride: view.standings_stride as u64,
            standings_counts: view.standings_counts,
            standings_slots: view.standings_slots,
            standings_ranks: view.standings_ranks,
            keys: [NOBODY; KEYS_MAX],
            missed: 0,
            reason: 0,
        }
    }
}

/// Operands of `near`.
#[repr(C)]
pub struct Near {
    pub number: i32,
    pub center: [i32; 3],
    pub radius: i32,
}

/// Operands of `after`; of the words, only the first `words_len` are written.
#[repr(C)]
pub struct After {
    pub command: i32,
    pub ticks: i32,
    pub slot: i32,
    pub generation: i32,
    pub words_len: i32,
    pub words: [i32; TIMED_WORDS_MAX],
}

/// Operands of `notify`; of the words, only the first `words_len` are written.
#[repr(C)]
pub struct Notify {
    pub kind: i32,
    pub slot: i32,
    pub generation: i32,
    /// If it is 0, the next two are not written.
    pub has_area: i32,
    pub center: [i32; 3],
    pub distance: i32,
    pub words_len: i32,
    pub words: [i32; NOTIFICATION_WORDS_MAX],
}

const _: () = assert!(size_of::<Pair>() == 8);
