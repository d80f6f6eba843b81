//! Who holds which things, and who is a member of which groups; whose holders or groups have ended.

use device::cpu::{Workers, ranges};
use script::holdings::Holdings;
use shared::EntityRef;
use shared::world::group::Relation;
use shared::world::schema::Schema;

use super::slots::Slots;
use crate::tick::output::Changes;

/// The things of a world by holder and the members of its groups, as they are at the start of a tick.
/// Worlds without things have none.
#[derive(Default)]
pub struct Held {
    /// The column with the holders; `None` in worlds without things.
    column: Option<usize>,
    /// By number of the relation.
    relations: Vec<Related>,
    holdings: Vec<Holdings>,
}

/// Those that have one relation.
struct Related {
    relation: Relation,
    /// Pairs of a holder and a thing, and the things whose holder has ended, by part of the slots; or
    /// of a group and a member.
    parts: Vec<Part>,
    /// [`Slots::version`] when the parts were found.
    version: u64,
    /// Whether holders have changed since.
    is_changed: bool,
    /// Whether the holdings are of other parts.
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
        let relations: Vec<Related> = schema.relations().map(Related::new).collect();
        Held {
            column: schema.holder_column(),
            holdings: vec![Holdings::default(); relations.len()],
            relations,
        }
    }

    /// The column with the holders; `None` in worlds without things.
    pub fn column(&self) -> Option<usize> {
        self.column
    }

    /// By relation: the things of each holder, or the members of each group, as
    /// [`Held::find_holdings`] found them last.
    pub fn holdings(&self) -> &[Holdings] {
        &self.holdings
    }

    /// Whether that has ended to which any entity of a kind relates.
    pub fn any_ended(&self, relation: u8, kind: u16) -> bool {
        let kind = usize::from(kind);
        let related = self.relations.get(usize::from(relation));
        related.is_some_and(|related| related.ended_kinds[kind / 64] >> (kind % 64) & 1 == 1)
    }

    /// Whether that has ended to which an entity relates.
    pub fn has_ended(&self, relation: u8, slot: usize) -> bool {
        let related = self.relations.get(usize::from(relation));
        related.is_some_and(|related| related.ended.binary_search(&(slot as u32)).is_ok())
    }

    /// Notes the changes of a tick.
    pub fn note(&mut self, changes: &Changes) {
        for related in &mut self.relations {
            let column = related.relation.column;
            related.is_changed = related.is_changed || changes.columns.contains(&column);
        }
    }

    /// Everything may have changed.
    pub fn forget(&mut self) {
        for related in &mut self.relations {
            related.is_changed = true;
        }
    }

    /// Looks for the holder of each thing and the groups of each member, unless all that live and what
    /// they refer to are as before.
    pub fn update(&mut self, workers: &Workers, slots: &Slots, rows: (&[i32], usize)) {
        for related in &mut self.relations {
            related.update(workers, slots, rows);
        }
    }

    /// Sorts the things by holder and the members by group, in those relations whose number has a bit,
    /// for commands that ask, unless they are as before. The world has used so many slots.
    pub fn find_holdings(&mut self, asked: u32, used: usize) {
        let all = self.relations.iter_mut().zip(&mut self.holdings);
        for (number, (related, holdings)) in all.enumerate() {
            if asked >> number & 1 == 1 && std::mem::take(&mut related.is_stale) {
                holdings.fill(used, related.parts.iter().map(|part| &part.pairs[..]));
            }
        }
    }
}

impl Related {
    fn new(relation: Relation) -> Related {
        Related {
            relation,
            parts: vec![],
            version: 0,
            is_changed: true,
            is_stale: false,
            ended: vec![],
            ended_kinds: [0; KINDS_MAX / 64],
        }
    }

    fn update(&mut self, workers: &Workers, slots: &Slots, (rows, columns): (&[i32], usize)) {
        if !self.is_changed && self.version == slots.version() {
            return;
        }
        (self.is_changed, self.version, self.is_stale) = (false, slots.version(), true);
        let used = slots.used();
        self.parts.resize_with(workers.parts(used), Part::default);
        let relation = self.relation;
        let tasks = ranges(used, self.parts.len()).zip(&mut self.parts);
        workers.run(tasks.collect(), |(range, part)| {
            part.pairs.clear();
            part.ended.clear();
            for slot in range {
                let kind = slots.kinds()[slot];
                let has_one = match relation.kind {
                    None => slots.is_thing_kind(kind),
                    Some(of_members) => kind == of_members,
                };
                if !has_one || !slots.is_live(slot) {
                    continue;
                }
                let column = usize::from(relation.column);
                let reference = EntityRef(rows[slot * columns + column]);
                if reference == EntityRef::NONE {
                    continue;
                }
                let other = slots.resolve(reference).filter(|&other| {
                    let to = slots.kinds()[other];
                    match relation.kind {
                        None => !slots.is_thing_kind(to) || to < kind,
                        Some(_) => slots.is_thing_kind(to),
                    }
                });
                match other {
                    Some(other) => part.pairs.push((other as u32, slot as u32)),
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
}

/// More than any world has.
const KINDS_MAX: usize = 256;
