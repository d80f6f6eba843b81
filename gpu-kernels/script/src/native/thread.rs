//! Runs commands, for one thread.

use std::marker::PhantomData;
use std::slice;

use shared::world::config::DELAY_TICKS_MAX;
use shared::{EntityId, Slot};

use super::Native;
use super::frame::{After, Frame, Near, Notify, OVERRUN, Outcome, Pair, Rows, View};
use super::function::Function;
use super::prefetch::prefetch;
use crate::atomic::KEYS_MAX;
use crate::interpreter::{NoEffect, Outgoing};
use crate::ir::{EFFECTS_MAX, NEAR_CENTER_MIN, NEAR_RADIUS_MAX, WRITES_MAX};

/// What runs ask of their caller. A panic in here ends the process, as machine code can't be
/// unwound.
pub trait Host: Outgoing {
    /// Adds the slots of all live entities within `radius` of `center`, in index order:
    /// [`World::near`](crate::interpreter::World::near).
    fn near(&mut self, center: [i32; 3], radius: i32, slots: &mut Vec<u32>);
}

/// A command that is run.
#[derive(Clone, Copy, Debug)]
pub struct Call<'a> {
    /// The acting entity, which lives, if the command has one.
    pub actor: Slot,
    /// At least as many as the command takes.
    pub words: &'a [i32],
    /// The number from which its random numbers follow:
    /// [`random_key`](crate::arith::random_key).
    pub random: u64,
}

/// How a run of an atomic command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ended {
    /// What it wrote: so many values that were there before stand at the start of the log.
    pub writes: usize,
    /// Why it has no effect. Then the writes are to be undone.
    pub result: Result<(), NoEffect>,
}

/// Runs commands over a view of the world, one after another.
// Machine code reads the frame through a pointer to all of it, so that must come first.
#[repr(C)]
pub struct Thread<'a, H> {
    frame: Frame,
    native: &'a Native,
    host: H,
    size: [i32; 3],
    /// By loop: the slots that it visits.
    near: Vec<Vec<u32>>,
    /// The rows, where commands may change them.
    rows: Option<*mut i32>,
    columns: usize,
    /// Whether the view has a census, and standings.
    has: [bool; 2],
    /// A bit for each relation that it has.
    relations: u32,
    /// How many commands the run has scheduled, and its notifications.
    afters: usize,
    notifications: usize,
    view: PhantomData<View<'a>>,
}

impl<'a, H: Host> Thread<'a, H> {
    /// # Panics
    ///
    /// If the view has rows or positions of other lengths than the commands were compiled for.
    pub fn new(native: &'a Native, view: &View<'a>, host: H) -> Thread<'a, H> {
        assert_eq!(view.columns, native.shape.columns);
        let dimensions = native.shape.space.dimensions;
        assert!(view.past_ticks == 0 || view.past_dimensions == dimensions);
        let kinds = native.shape.kind_columns.len();
        assert!(view.census_kinds == 0 || view.census_kinds == kinds);
        assert!(view.rankings == 0 || view.rankings == native.shape.rankings);
        Thread {
            frame: Frame::new(view, [near::<H>, after::<H>, notify::<H>]),
            native,
            host,
            size: native.shape.space.size,
            near: vec![],
            rows: None,
            columns: native.shape.columns,
            has: [view.census_kinds > 0, view.rankings > 0],
            relations: view.relations(),
            afters: 0,
            notifications: 0,
            view: PhantomData,
        }
    }

    /// For atomic commands, which change the rows.
    ///
    /// # Panics
    ///
    /// As in [`Thread::new`].
    pub fn of_rows(native: &'a Native, rows: Rows<'a>, host: H) -> Thread<'a, H> {
        let mut thread = Thread::new(native, rows.view(), host);
        thread.rows = Some(thread.frame.rows.cast_mut());
        thread
    }

    /// Runs an atomic command, which changes rows. Writes to the start of `log` what was in them.
    /// After a run without an effect the caller undoes its writes, and drops what the host was
    /// given.
    ///
    /// # Panics
    ///
    /// As in [`Thread::run`], if the rows can't be changed, or if the log has less room than a
    /// run needs.
    #[inline]
    pub fn run_atomic(
        &mut self,
        number: u16,
        call: &Call<'_>,
        keys: [i32; KEYS_MAX],
        log: &mut [Pair],
    ) -> Ended {
        let function = self.prepare(number, call);
        assert!(self.rows.is_some(), "rows that can't be changed");
        let log = log[..WRITES_MAX].as_mut_ptr_range();
        self.frame.keys = keys;
        (self.afters, self.notifications) = (0, 0);
        // SAFETY: as in `run`; the rows are borrowed for this thread alone.
        let ended = unsafe {
            (function.run)(
                (&raw mut *self).cast(),
                u64::from(call.actor.0),
                call.words.as_ptr(),
                call.random,
                log.start,
                log.end,
            )
        };
        let (writes, result) = match ended {
            0.. => (ended as usize, Ok(())),
            _ => (
                (!ended >> 2) as usize,
                Err(match !ended & 3 {
                    why if why == Outcome::Refused as i64 => NoEffect::Refused,
                    why if why == Outcome::Moved as i64 => NoEffect::Moved,
                    _ => NoEffect::Overrun,
                }),
            ),
        };
        // Other backends end such a run at once, whatever comes after.
        let is_over = function.is_atomic && self.afters.max(self.notifications) > EFFECTS_MAX;
        self.frame.missed *= u32::from(!is_over);
        Ended {
            writes,
            result: if is_over {
                Err(NoEffect::Overrun)
            } else {
                result
            },
        }
    }

    /// Puts back what was in the rows before a run, by its log.
    ///
    /// # Panics
    ///
    /// If the rows can't be changed, or lack a place.
    pub fn undo(&mut self, log: &[Pair]) {
        let rows = self.rows.expect("rows that can't be changed");
        let places = self.frame.slots as usize * self.columns;
        for &(key, before) in log.iter().rev() {
            assert!((key as usize) < places);
            // SAFETY: it is within the rows, which are borrowed for this thread alone.
            unsafe { rows.add(key as usize).write(before as i32) };
        }
    }

    /// Runs a command. Writes its updates to the start of `out`, as many as there is room for,
    /// and tells how many it has; passes commands that it schedules and notifications to the
    /// host. After an error the caller drops all of these.
    ///
    /// # Panics
    ///
    /// If the command isn't compiled, words are missing, or the actor's slot was never used
    /// though the command reads it.
    #[inline]
    pub fn run(
        &mut self,
        number: u16,
        call: &Call<'_>,
        out: &mut [Pair],
    ) -> Result<usize, NoEffect> {
        let function = self.prepare(number, call);
        assert!(!function.is_atomic, "it changes rows");
        let out = out.as_mut_ptr_range();
        // SAFETY: `self` is a frame followed by what the callbacks need, for a view with
        // the rows that the code was compiled for, and `prepare` checked the rest. The code
        // writes between the two ends only.
        let count = unsafe {
            (function.run)(
                (&raw mut *self).cast(),
                u64::from(call.actor.0),
                call.words.as_ptr(),
                call.random,
                out.start,
                out.end,
            )
        };
        match count {
            OVERRUN => Err(NoEffect::Overrun),
            count => Ok(count as usize),
        }
    }

    /// Why the last run had no effect, if it said so and had none: the number of a reason.
    pub fn reason(&self) -> Option<u8> {
        u8::try_from(self.frame.reason.checked_sub(1)?).ok()
    }

    /// Prefetches what commands read of an entity, if the slot was ever used: its row, and its
    /// generation. Of states and kinds, many are in a line.
    #[inline]
    pub fn prefetch(&self, slot: Slot) {
        if slot.0 < self.frame.slots {
            let slot = slot.index();
            prefetch(self.frame.rows.wrapping_add(slot * self.columns));
            prefetch(self.frame.generations.wrapping_add(slot));
        }
    }

    /// Whether an index of the last run was none that there is, if the run had an effect.
    pub fn missed(&self) -> bool {
        self.frame.missed != 0
    }

    pub fn host(&self) -> &H {
        &self.host
    }

    pub fn host_mut(&mut self) -> &mut H {
        &mut self.host
    }

    pub fn into_host(self) -> H {
        self.host
    }

    /// Checks all that the code takes for granted.
    #[inline]
    fn prepare(&mut self, number: u16, call: &Call<'_>) -> &'a Function {
        let function = self.native.get(number).expect("a command without code");
        assert!(function.words <= call.words.len(), "too few words");
        assert!(
            !function.acts || call.actor.0 < self.frame.slots,
            "no actor"
        );
        if function.needs_more {
            self.prepare_more(function);
        }
        self.frame.reason = 0;
        self.frame.missed = 0;
        function
    }

    /// Checks what few functions take for granted.
    #[inline(never)]
    fn prepare_more(&mut self, function: &Function) {
        let [by_kind, by_ranking] = function.asks;
        assert!(!by_kind || self.has[0], "no census");
        assert!(!by_ranking || self.has[1], "no standings");
        assert!(function.relations & !self.relations == 0, "no holdings");
        if self.near.len() < usize::from(function.loops) {
            self.near.resize_with(function.loops.into(), Vec::new);
        }
    }
}

/// # Safety
///
/// Called by code that [`Thread::run`] called with this frame.
unsafe extern "C" fn near<H: Host>(frame: *mut Frame, operands: *const i32) {
    // SAFETY: the pointer leads to the whole thread, which that borrows for itself.
    let thread = unsafe { &mut *frame.cast::<Thread<'_, H>>() };
    // SAFETY: the code has written these operands.
    let operands = unsafe { &*operands.cast::<Near>() };
    let slots = &mut thread.near[operands.number as usize];
    slots.clear();
    if operands.radius >= 0 {
        let center = operands.center.map(|c| c.max(NEAR_CENTER_MIN));
        let radius = operands.radius.min(NEAR_RADIUS_MAX);
        thread.host.near(center, radius, slots);
        // The code reads their rows unchecked.
        let used = thread.frame.slots;
        assert!(slots.iter().fold(true, |all, &slot| all & (slot < used)));
    }
    let slots = slots.as_ptr_range();
    (thread.frame.near_start, thread.frame.near_end) = (slots.start, slots.end);
}

/// # Safety
///
/// Like [`near`].
unsafe extern "C" fn after<H: Host>(frame: *mut Frame, operands: *const i32) {
    // SAFETY: as in `near`.
    let thread = unsafe { &mut *frame.cast::<Thread<'_, H>>() };
    let operands = operands.cast::<After>();
    // SAFETY: the code has written these operands, except some words.
    let (command, ticks, entity, words) = unsafe {
        let entity = entity((*operands).slot, (*operands).generation);
        let words = (&raw const (*operands).words).cast();
        let words = slice::from_raw_parts(words, (*operands).words_len as usize);
        ((*operands).command, (*operands).ticks, entity, words)
    };
    let ticks = ticks.clamp(1, DELAY_TICKS_MAX as i32);
    thread.afters += 1;
    thread
        .host
        .after(ticks as u32, entity, command as u16, words);
}

/// # Safety
///
/// Like [`near`].
unsafe extern "C" fn notify<H: Host>(frame: *mut Frame, operands: *const i32) {
    // SAFETY: as in `near`.
    let thread = unsafe { &mut *frame.cast::<Thread<'_, H>>() };
    let operands = operands.cast::<Notify>();
    // SAFETY: the code has written these operands, except some words, and the area if
    // there is none.
    let (kind, source, area, words) = unsafe {
        let source = entity((*operands).slot, (*operands).generation);
        let area = match (*operands).has_area {
            0 => None,
            _ => Some(((*operands).center, (*operands).distance)),
        };
        thread.notifications += 1;
        let words = (&raw const (*operands).words).cast();
        let words = slice::from_raw_parts(words, (*operands).words_len as usize);
        ((*operands).kind, source, area, words)
    };
    let size = thread.size;
    let area = area.map(|(center, distance)| {
        let inside = |axis: usize| center[axis].min(size[axis] - 1).max(0);
        let distance = distance.clamp(0, NEAR_RADIUS_MAX);
        (std::array::from_fn(inside), distance)
    });
    thread.host.notify(kind as u16, source, area, words);
}

fn entity(slot: i32, generation: i32) -> EntityId {
    EntityId::new(slot as u32, generation as u32)
}
