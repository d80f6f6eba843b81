//! Who holds which things, and which things lost their holders.

use device::cpu::{Workers, ranges};
use script::holdings::Holdings;
use shared::EntityRef;
use shared::world::schema::Schema;

use super::slots::Slots;
use crate::tick::output::Changes;

/// The things of a world by holder, as they are at the start of a tick. Worlds without things have
/// none.
#[derive(Default)]
pub struct Held {
    /// The column with the holders; `None` in worlds without things.
    column: Option<usize>,
    holdings: Holdings,
    /// Pairs of a holder and a thing, and the things whose holder has ended, by part of the slots.
    parts: Vec<Part>,
    /// [`Slots::version`] when the parts were found.
    version: u64,
    /// Whether holders have changed since.
    is_changed: bool,
    /// Whether `holdings` is of other parts.
    is_stale: bool,
    /// The things whose holder has ended, ascending, and a bit for each of their kinds.
    ended: Vec<u32>,
    ended_kinds: [u64; KINDS_MAX / 64],
}

#[derive(Default)]
struct Part {
    pairs: Vec<(u32, u32)>,
    ended: Vec<u32>,
}

impl Held {
    pub fn new(schema: &Schema) -> Held {
        Held {
            column: schema.holder_column(),
            is_changed: true,
            ..Held::default()
        }
    }

    /// The column with the holders; `None` in worlds without things.
    pub fn column(&self) -> Option<usize> {
        self.column
    }

    /// The things of each holder, as [`Held::find_holdings`] found them last.
    pub fn holdings(&self) -> &Holdings {
        &self.holdings
    }

    /// Whether the holder of any thing of a kind has ended.
    pub fn any_ended(&self, kind: u16) -> bool {
        let kind = usize::from(kind);
        self.ended_kinds[kind / 64] >> (kind % 64) & 1 == 1
    }

    /// Whether the holder of a thing has ended.
    pub fn has_ended(&self, slot: usize) -> bool {
        self.ended.binary_search(&(slot as u32)).is_ok()
    }

    /// Notes the changes of a tick.
    pub fn note(&mut self, changes: &Changes) {
        let Some(column) = self.column else { return };
        let is_holder = |&changed: &u16| usize::from(changed) == column;
        self.is_changed = self.is_changed || changes.columns.iter().any(is_holder);
    }

    /// Everything may have changed.
    pub fn forget(&mut self) {
        self.is_changed = true;
    }

    /// Looks for the holder of each thing, unless all that live and their holders are as before.
    pub fn update(&mut self, workers: &Workers, slots: &Slots, (rows, columns): (&[i32], usize)) {
        let Some(column) = self.column else { return };
        if !self.is_changed && self.version == slots.version() {
            return;
        }
        (self.is_changed, self.version, self.is_stale) = (false, slots.version(), true);
        let used = slots.used();
        self.parts.resize_with(workers.parts(used), Part::default);
        let tasks = ranges(used, self.parts.len()).zip(&mut self.parts);
        workers.run(tasks.collect(), |(range, part)| {
            part.pairs.clear();
            part.ended.clear();
            for slot in range {
                let kind = slots.kinds()[slot];
                if !slots.is_thing_kind(kind) || !slots.is_live(slot) {
                    continue;
                }
                let reference = EntityRef(rows[slot * columns + column]);
                if reference == EntityRef::NONE {
                    continue;
                }
                let holder = slots.resolve(reference).filter(|&holder| {
                    let of_holder = slots.kinds()[holder];
                    !slots.is_thing_kind(of_holder) || of_holder < kind
                });
                match holder {
                    Some(holder) => part.pairs.push((holder as u32, slot as u32)),
                    None => part.ended.push(slot as u32),
                }
            }
        });
        self.ended.clear();
        self.ended_kinds.fill(0);
        for part in &self.parts {
            self.ended.extend_from_slice(&part.ended);
        }
        for &slot in &self.ended {
            let kind = usize::from(slots.kinds()[slot as usize]);
            self.ended_kinds[kind / 64] |= 1 << (kind % 64);
        }
    }

    /// Sorts the things by holder, for commands that ask, unless they are as before. The world has
    /// used so many slots.
    pub fn find_holdings(&mut self, used: usize) {
        if std::mem::take(&mut self.is_stale) {
            self.holdings
                .fill(used, self.parts.iter().map(|part| &part.pairs[..]));
        }
    }
}

/// More than any world has.
const KINDS_MAX: usize = 256;
