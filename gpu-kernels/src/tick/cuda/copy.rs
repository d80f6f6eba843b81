//! Copies of the state: on the device in one go, and from there to the host in slices, beside
//! later ticks.

use device::plan::ALIGNMENT;
use device::{Device, DriverError, Lane, Plain, Pointer};
use shared::Tick;
use shared::world::layer::Layers;

use super::layout::{self, TIMED_COLUMNS, TimedState};
use super::regions::host_region;
use super::snapshot::{host_observer, of_living, slot_state};
use super::{Part, deferred, edit_state, field_state, timed};
use crate::tick::frame::Command;
use crate::tick::state::{Snapshot, Track};
use crate::tick::timed::TIMED_WORDS_MAX;

/// A copy of the state on its way to the host. What clients know is left out.
pub struct Copy {
    tick: Tick,
    logic: shared::world::logic::LogicConfig,
    clients: u32,
    next_sequence: u64,
    states: Piece<u32>,
    generations: Piece<u32>,
    kinds: Piece<u32>,
    due: Piece<u64>,
    ready: Piece<u64>,
    rows: Piece<i32>,
    glides: Piece<u32>,
    steps: Piece<i32>,
    offsets: Piece<i32>,
    past: Piece<i32>,
    observers: Piece<layout::Observer>,
    regions: Piece<layout::Region>,
    publications: Piece<layout::Region>,
    subscriptions: Piece<layout::Region>,
    timed: [Piece<u32>; TIMED_COLUMNS],
    deferred: Piece<Command>,
    deferred_words: Piece<i32>,
    deferred_flags: Piece<u32>,
    /// How many fields there are, and their sets.
    field_count: usize,
    fields: Piece<u32>,
    /// The layers as the file has them, their words now, and the bits of walls without doors; none where
    /// scripts change no cells.
    base: Layers,
    layers: Piece<i32>,
    walls: Piece<i32>,
}

/// An array of the state, of which the host has a part.
struct Piece<T> {
    from: Pointer<T>,
    count: usize,
    values: Vec<T>,
}

impl<T: Plain + Default> Piece<T> {
    /// Downloads as much as `bytes` allow, and takes them off. True if all is there.
    fn advance(&mut self, device: &Device, bytes: &mut usize) -> Result<bool, DriverError> {
        let begun = self.values.len();
        let more = (self.count - begun).min(*bytes / size_of::<T>());
        self.values.resize(begun + more, T::default());
        let (from, to) = (self.from.at(begun as u64), &mut self.values[begun..]);
        device.copies(|copies| copies.download(Lane::Downloads, to, from))?;
        *bytes -= more * size_of::<T>();
        Ok(self.values.len() == self.count)
    }
}

/// Where the arrays of a copy come from.
struct Sources<'a> {
    device: &'a Device,
    /// The next place in the copy on the device; `None`: from the state itself.
    place: Option<u64>,
}

impl Sources<'_> {
    fn piece<T: Plain>(&mut self, from: Pointer<T>, count: u64) -> Result<Piece<T>, DriverError> {
        let mut piece = Piece {
            from,
            count: count as usize,
            values: Vec::with_capacity(count as usize),
        };
        if let Some(place) = &mut self.place {
            let bytes = count * size_of::<T>() as u64;
            piece.from = Pointer::new(*place);
            self.device.copy(piece.from, from, count)?;
            *place += bytes.next_multiple_of(ALIGNMENT);
        }
        Ok(piece)
    }
}

impl Part {
    pub(super) fn begin_copy(&mut self) -> Result<(), DriverError> {
        let place = self.buffers.state_copy(self.base);
        self.copy = Some(Box::new(self.copy_from(Some(place))?));
        Ok(())
    }

    pub(super) fn advance_copy(&mut self) -> Result<Option<Snapshot>, DriverError> {
        let Some(mut copy) = self.copy.take() else {
            return Ok(None);
        };
        self.device.enter()?;
        match copy.advance(&self.device, SLICE_BYTES)? {
            true => Ok(Some(copy.finish())),
            false => {
                self.copy = Some(copy);
                Ok(None)
            }
        }
    }

    /// The state at once.
    pub(super) fn fetch_state(&self) -> Result<Snapshot, DriverError> {
        let mut copy = self.copy_from(None)?;
        copy.advance(&self.device, usize::MAX)?;
        Ok(copy.finish())
    }

    /// Begins a copy: by way of a `place` on the device, or from the state itself.
    fn copy_from(&self, place: Option<u64>) -> Result<Copy, DriverError> {
        self.device.enter()?;
        let device = &*self.device;
        let (s, w, r) = (&self.sizes, &self.world, &self.regions);
        let mut from = Sources { device, place };
        let slots = s.capacity * s.motion;
        let due = if s.respawns > 0 { s.capacity } else { 0 };
        // This waits for the ticks before, too.
        let timed: TimedState = self.fetch(w.timed_state, 1)?[0];
        let deferred = self.fetch(w.deferred_state, 1)?[0].len;
        let mut columns = vec![];
        for column in 0..TIMED_COLUMNS as u64 {
            columns.push(from.piece(w.timed.at(column * s.timed), timed.len)?);
        }
        let Ok(timed_columns) = columns.try_into() else {
            unreachable!("a piece for each column");
        };
        let copy = Copy {
            tick: self.tick,
            logic: self.config.logic.clone(),
            clients: self.config.limits.clients,
            next_sequence: timed.next_sequence,
            states: from.piece(w.states, s.capacity)?,
            generations: from.piece(w.generations, s.capacity)?,
            kinds: from.piece(w.slot_kinds, s.capacity)?,
            due: from.piece(w.rebirth_due, due)?,
            ready: from.piece(w.ready, s.capacity * s.resting)?,
            rows: from.piece(w.rows, s.capacity * s.columns)?,
            glides: from.piece(w.track_glides, slots)?,
            steps: from.piece(w.track_steps, 3 * slots)?,
            offsets: from.piece(w.track_offsets, 3 * slots)?,
            past: from.piece(w.past, s.past())?,
            observers: from.piece(w.observers, s.observers)?,
            regions: from.piece(r.clients, s.client_regions)?,
            publications: from.piece(r.publications, s.carriers)?,
            subscriptions: from.piece(r.subscriptions, s.carriers)?,
            timed: timed_columns,
            deferred: from.piece(w.deferred, deferred)?,
            deferred_words: from.piece(w.deferred_words, deferred * TIMED_WORDS_MAX as u64)?,
            deferred_flags: from.piece(w.deferred_flags, deferred)?,
            field_count: s.fields as usize,
            fields: from.piece(w.field_sets, s.field_sets())?,
            base: self.config.schema.layers.clone(),
            layers: from.piece(w.layers.writable(), s.edited_words())?,
            walls: from.piece(w.walls.writable(), s.edited_walls())?,
        };
        // The downloads have a lane of their own.
        device.synchronize(Lane::Work)?;
        Ok(copy)
    }
}

impl Copy {
    /// Downloads at most so many bytes more. True if all is there.
    fn advance(&mut self, device: &Device, mut bytes: usize) -> Result<bool, DriverError> {
        let (d, b) = (device, &mut bytes);
        let mut is_done = self.states.advance(d, b)?
            && self.generations.advance(d, b)?
            && self.kinds.advance(d, b)?
            && self.due.advance(d, b)?
            && self.ready.advance(d, b)?
            && self.rows.advance(d, b)?
            && self.glides.advance(d, b)?
            && self.steps.advance(d, b)?
            && self.offsets.advance(d, b)?
            && self.past.advance(d, b)?
            && self.observers.advance(d, b)?
            && self.regions.advance(d, b)?
            && self.publications.advance(d, b)?
            && self.subscriptions.advance(d, b)?;
        is_done = is_done
            && self.deferred.advance(d, b)?
            && self.deferred_words.advance(d, b)?
            && self.deferred_flags.advance(d, b)?
            && self.fields.advance(d, b)?
            && self.layers.advance(d, b)?
            && self.walls.advance(d, b)?;
        for column in &mut self.timed {
            is_done = is_done && column.advance(d, b)?;
        }
        Ok(is_done)
    }

    /// The copy as a snapshot.
    fn finish(self) -> Snapshot {
        let states = self.states.values;
        let slots = self.glides.count;
        let due = |slot: usize| self.due.values.get(slot).copied().unwrap_or(0);
        let track = |slot: usize| Track {
            glides: self.glides.values[slot] != 0,
            step: [0, 1, 2].map(|axis| self.steps.values[axis * slots + slot]),
            offset: [0, 1, 2].map(|axis| self.offsets.values[axis * slots + slot]),
        };
        let waiting = 0..self.timed[0].count;
        let waiting =
            waiting.map(|i| timed::timed_command(self.timed.each_ref().map(|c| c.values[i])));
        Snapshot {
            tick: self.tick,
            due: (0..states.len()).map(|slot| Tick(due(slot))).collect(),
            tracks: (0..slots).map(track).collect(),
            past: self.past.values,
            timed: waiting.collect(),
            ready: self.ready.values.iter().map(|&tick| Tick(tick)).collect(),
            kinds: self.kinds.values.iter().map(|&kind| kind as u16).collect(),
            generations: self.generations.values,
            rows: self.rows.values,
            observers: self.observers.values.iter().map(host_observer).collect(),
            regions: self.regions.values.iter().map(host_region).collect(),
            publications: of_living(&self.publications.values, &states),
            subscriptions: of_living(&self.subscriptions.values, &states),
            known: vec![vec![]; self.clients as usize],
            behind: vec![],
            next_sequence: self.next_sequence,
            deferred: deferred::commands(
                &self.deferred.values,
                &self.deferred_words.values,
                &self.deferred_flags.values,
            ),
            fields: field_state::states(&self.fields.values, self.field_count),
            edits: edit_state::of_words(&self.base, self.layers.values, &self.walls.values),
            logic: self.logic,
            states: states.into_iter().map(slot_state).collect(),
        }
    }
}

/// What takes some two milliseconds to download.
const SLICE_BYTES: usize = 16 << 20;
