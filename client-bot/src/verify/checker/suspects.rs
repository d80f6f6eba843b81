//! Possible errors as long as a bot's stream is behind its datagrams. It is held until the
//! stream has passed its tick, and only then judged: what was merely late is no error.

use std::collections::VecDeque;

use client_core::Region;
use shared::{Slot, Tick};

use super::{Checker, Membership, Shown};
use crate::verify::findings::Findings;
use crate::verify::history::History;

/// One bot's suspects, oldest first.
#[derive(Default)]
pub(super) struct Suspects {
    missing: VecDeque<Missing>,
    misplaced: VecDeque<Misplaced>,
}

/// Slots that should be in view and are not.
pub(super) struct Missing {
    pub tick: Tick,
    pub slots: Vec<Slot>,
    /// The regions in which some of them may be seen, as the bot knew them.
    pub regions: Vec<Region>,
}

/// An entity that is elsewhere than where its course leads.
pub(super) struct Misplaced {
    pub tick: Tick,
    pub shown: Shown,
    /// Where its own bot has it.
    pub expected: [i32; 3],
}

impl Suspects {
    /// Holds slots that should be in view. `findings` counts those without room.
    pub fn hold_missing(&mut self, findings: &Findings, missing: Missing) {
        match self.missing.len() < HELD_MAX {
            true => self.missing.push_back(missing),
            false => missing.slots.iter().for_each(|_| findings.leave_open()),
        }
    }

    pub fn hold_misplaced(&mut self, findings: &Findings, misplaced: Misplaced) {
        match self.misplaced.len() < HELD_MAX {
            true => self.misplaced.push_back(misplaced),
            false => findings.leave_open(),
        }
    }

    /// The next slots of a tick that the stream has passed.
    pub fn pop_missing(&mut self, passed: Tick) -> Option<Missing> {
        self.missing.pop_front_if(|held| held.tick < passed)
    }

    /// The next place of a tick that the stream has passed.
    pub fn pop_misplaced(&mut self, passed: Tick) -> Option<Misplaced> {
        self.misplaced.pop_front_if(|held| held.tick < passed)
    }

    /// The stream has not passed these: they can't be judged.
    pub fn leave_open(&self, findings: &Findings) {
        let missing = self.missing.iter().map(|missing| missing.slots.len());
        for _ in 0..missing.sum::<usize>() + self.misplaced.len() {
            findings.leave_open();
        }
    }
}

impl Checker {
    /// Judges what looked wrong in ticks that the stream has passed with a frame of this
    /// tick, which is not applied yet.
    pub(super) fn judge_suspects(&mut self, history: &History, passed: Tick) {
        let findings = &history.findings;
        while let Some(Missing {
            tick,
            slots,
            regions,
        }) = self.suspects.pop_missing(passed)
        {
            let first = tick.before(history.enter_ticks_max);
            let is_full = self.record.sees_count() >= history.visible_max;
            let are_known = self.regions.throughout(first, tick).eq(regions) && !is_full;
            for slot in slots {
                match are_known {
                    // It is the last tick for which the record stands.
                    true => {
                        findings.check_late(self.record.sees(slot), || self.blindness(tick, slot))
                    }
                    false => findings.leave_open(),
                }
            }
        }
        while let Some(Misplaced {
            tick,
            shown,
            expected,
        }) = self.suspects.pop_misplaced(passed)
        {
            let is_late = self.came_or_went(&shown, tick);
            findings.check_late(is_late, || self.misplacement(tick, &shown, &expected));
        }
    }

    /// Whether an entity with a course from before a tick has come or gone since, as far
    /// as the stream has shown.
    pub(super) fn came_or_went(&self, shown: &Shown, tick: Tick) -> bool {
        let is_meant = |m: &Membership| m.slot == shown.slot.0;
        let changed = |m: &Membership| is_meant(m) && shown.since < m.tick && m.tick <= tick;
        shown.since < tick && self.memberships.iter().any(changed)
    }

    pub(super) fn misplacement(&self, tick: Tick, shown: &Shown, expected: &[i32; 3]) -> String {
        let Shown {
            slot,
            position,
            since,
            ..
        } = shown;
        format!(
            "tick {tick}: bot {} received in tick {since} that slot {} is at {position:?}, its \
             own bot {expected:?}",
            self.bot, slot.0
        )
    }

    pub(super) fn lateness(&self, tick: Tick, shown: &Shown, expected: &[i32; 3]) -> String {
        let wait = shown.late.map_or(0, |late| late.1);
        format!(
            "{}, and has not been for the {wait} ticks that news may wait",
            self.misplacement(tick, shown, expected)
        )
    }

    pub(super) fn blindness(&self, tick: Tick, slot: Slot) -> String {
        format!(
            "tick {tick}: bot {} does not see slot {}, which it should by now",
            self.bot, slot.0
        )
    }
}

/// So that a stream that stands still takes bounded memory.
const HELD_MAX: usize = 4096;
