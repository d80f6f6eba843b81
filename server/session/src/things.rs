//! The things that a client sees: what its own entity holds, what the entity holds that it has
//! opened, and those of entities in view that are for all. They come and go with the stream, so
//! each is sent once, and nothing is lost.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use frontend::mirror::{Mirror, things};
use shared::world::shown::{THINGS_MAX, THINGS_OF_OTHERS_MAX};
use shared::{Course, EntityId, EntityRef, Slot};

use super::frame::FrameWriter;

/// The things that a client sees.
#[derive(Debug, Default)]
pub struct Things {
    own: Bag,
    /// Of the entity that the own one has opened.
    opened: Bag,
    /// By slot: entities in view, each with its things that are for all, ascending.
    others: HashMap<u32, Vec<u32>>,
    /// Those that have come into view in this tick.
    come: Vec<u32>,
    /// The things that the client sees, by slot.
    seen: BTreeMap<u32, Seen>,
    /// Those of them that are to be sent.
    waiting: BTreeSet<u32>,
    /// The slot of the last one that was sent: those behind it go first.
    last: u32,
    /// Those that may be in no bag any more.
    dropped: Vec<u32>,
}

/// What an entity holds, directly or in other things.
#[derive(Debug, Default)]
struct Bag {
    holder: Option<EntityId>,
    /// Ascending.
    things: Vec<u32>,
}

/// A thing that the client sees.
#[derive(Debug)]
struct Seen {
    entity: EntityId,
    /// In how many bags it is.
    bags: u32,
    /// Whether it is in the own one: then the client has its private attributes, too.
    is_own: bool,
    /// Whether the client has it, perhaps as it was before.
    is_sent: bool,
}

impl Things {
    /// An entity that is no thing has come into view.
    pub fn come(&mut self, slot: Slot, mirror: &Mirror) {
        let shown = mirror.things().map(things::Things::shown);
        if shown.is_some_and(|shown| shown.are_some_of_others()) {
            self.come.push(slot.0);
        }
    }

    /// It has left.
    pub fn leave(&mut self, slot: Slot) {
        self.come.retain(|&come| come != slot.0);
        for thing in self.others.remove(&slot.0).unwrap_or_default() {
            self.remove(thing, false);
        }
    }

    /// Writes what has changed for the client, which acts as this entity. Things that are gone are
    /// written at once; others in as many bits, at least one, or not at all.
    pub fn write(
        &mut self,
        own: EntityId,
        mirror: &Mirror,
        frame: &mut FrameWriter<'_>,
        bits_max: Option<usize>,
    ) {
        let Some(things) = mirror.things() else {
            return;
        };
        let mut stirred = vec![];
        self.follow_own(own, mirror, things, &mut stirred);
        self.follow_others(mirror, things, &mut stirred);
        self.write_gone(frame);
        stirred.sort_unstable();
        stirred.dedup();
        self.write_changes(&stirred, mirror, frame, bits_max.is_some());
        if let Some(bits_max) = bits_max {
            self.write_waiting(mirror, frame, bits_max.min(BITS_MAX));
        }
    }

    /// Looks into the own bag and the opened one, where something has changed there. Appends what
    /// they have then.
    fn follow_own(
        &mut self,
        own: EntityId,
        mirror: &Mirror,
        things: &things::Things,
        stirred: &mut Vec<u32>,
    ) {
        let is_there = |entity: &EntityId| {
            mirror.living(entity.slot) == Some(*entity) && mirror.is_ready(entity.slot)
        };
        let own = Some(own).filter(is_there);
        let opened = own.and_then(|own| {
            let column = usize::from(things.shown().opened?);
            // Its kind has the attribute: it is a player's.
            let reference = EntityRef(*mirror.row(own.slot).get(column)?);
            mirror.referred(reference).filter(|opened| *opened != own)
        });
        for (is_own, holder) in [(true, own), (false, opened)] {
            let bag = if is_own {
                &mut self.own
            } else {
                &mut self.opened
            };
            let is_as_before = bag.holder == holder;
            if is_as_before && !holder.is_some_and(|holder| things.is_stirred(holder.slot)) {
                continue;
            }
            let now = holder.map(|holder| bag_of(mirror, holder.slot, false));
            let now = now.unwrap_or_default();
            stirred.extend_from_slice(&now);
            bag.holder = holder;
            let before = std::mem::replace(&mut bag.things, now.clone());
            self.replace(&before, &now, mirror, is_own);
        }
    }

    /// The same for the bags of entities in view.
    fn follow_others(&mut self, mirror: &Mirror, things: &things::Things, stirred: &mut Vec<u32>) {
        let mut holders = std::mem::take(&mut self.come);
        for &slot in &holders {
            self.others.entry(slot).or_default();
        }
        if self.others.len() < things.stirred().len() {
            let all = self.others.keys().copied();
            holders.extend(all.filter(|&slot| things.is_stirred(Slot(slot))));
        } else {
            let all = things.stirred().iter().copied();
            holders.extend(all.filter(|slot| self.others.contains_key(slot)));
        }
        for slot in holders {
            let now = bag_of(mirror, Slot(slot), true);
            stirred.extend_from_slice(&now);
            let before = self.others.insert(slot, now.clone());
            self.replace(&before.unwrap_or_default(), &now, mirror, false);
        }
    }

    /// A bag has other things than before, both ascending.
    fn replace(&mut self, before: &[u32], now: &[u32], mirror: &Mirror, is_own: bool) {
        for thing in before {
            if now.binary_search(thing).is_err() {
                self.remove(*thing, is_own);
            }
        }
        for thing in now {
            if before.binary_search(thing).is_err() {
                self.add(*thing, mirror, is_own);
            }
        }
    }

    fn add(&mut self, thing: u32, mirror: &Mirror, is_own: bool) {
        let entity = mirror.id(Slot(thing));
        let seen = self.seen.entry(thing).or_insert(Seen {
            entity,
            bags: 0,
            is_own: false,
            is_sent: false,
        });
        seen.bags += 1;
        seen.is_own |= is_own;
        if is_own || !seen.is_sent {
            self.waiting.insert(thing);
        }
    }

    fn remove(&mut self, thing: u32, is_own: bool) {
        let Some(seen) = self.seen.get_mut(&thing) else {
            return;
        };
        seen.bags -= 1;
        if is_own {
            seen.is_own = false;
            // What the client may not know any more, it does not keep.
            self.waiting.insert(thing);
        }
        if seen.bags == 0 {
            self.dropped.push(thing);
        }
    }

    fn write_gone(&mut self, frame: &mut FrameWriter<'_>) {
        for thing in self.dropped.drain(..) {
            // It may be in another bag by now.
            if self.seen.get(&thing).is_none_or(|seen| seen.bags > 0) {
                continue;
            }
            self.waiting.remove(&thing);
            if self.seen.remove(&thing).is_some_and(|seen| seen.is_sent) {
                frame.codec.leave(frame.message(), Slot(thing));
            }
        }
    }

    /// Writes what has changed among the attributes of some things, ascending. Where it may not be
    /// written, they are sent as a whole later.
    fn write_changes(
        &mut self,
        stirred: &[u32],
        mirror: &Mirror,
        frame: &mut FrameWriter<'_>,
        may_write: bool,
    ) {
        for thing in stirred {
            let Some(seen) = self.seen.get(thing) else {
                continue;
            };
            if self.waiting.contains(thing) {
                continue;
            }
            let slot = Slot(*thing);
            let own = mirror.masks(slot);
            let private = if seen.is_own { own.private } else { 0 };
            match mirror.columns_to_send(slot) & (own.state | private) {
                0 => {}
                columns if may_write => {
                    let values = mirror.values(slot, columns);
                    frame.codec.state(frame.message(), slot, values);
                }
                _ => drop(self.waiting.insert(*thing)),
            }
        }
    }

    fn write_waiting(&mut self, mirror: &Mirror, frame: &mut FrameWriter<'_>, bits_max: usize) {
        let end = frame.bit_len() + bits_max;
        loop {
            let behind = self.waiting.range(self.last.saturating_add(1)..).next();
            let Some(&thing) = behind.or(self.waiting.first()) else {
                return;
            };
            self.waiting.remove(&thing);
            self.last = thing;
            if let Some(seen) = self.seen.get_mut(&thing) {
                seen.is_sent = true;
                let (kind, row) = (mirror.kind(Slot(thing)), mirror.row(Slot(thing)));
                let codec = frame.codec;
                let course = Course::default();
                codec.enter(
                    frame.message(),
                    seen.entity,
                    kind,
                    seen.is_own,
                    &course,
                    row,
                );
            }
            if frame.bit_len() >= end {
                return;
            }
        }
    }
}

/// What clients see of the things of an entity, ascending.
fn bag_of(mirror: &Mirror, holder: Slot, of_another: bool) -> Vec<u32> {
    let most = if of_another {
        THINGS_OF_OTHERS_MAX
    } else {
        THINGS_MAX
    };
    let mut things = vec![];
    mirror.bag(holder, of_another, most, &mut things);
    let mut things: Vec<u32> = things.into_iter().map(|thing| thing.0).collect();
    things.sort_unstable();
    things
}

/// At most so much of a frame, as clients read some KiB in a tick: 8 KiB.
const BITS_MAX: usize = 8 * 1024 * 8;

#[cfg(test)]
mod tests {
    use shared::wire::{PROTOCOL_VERSION, PROTOCOL_VERSION_MIN, THINGS_VERSION};

    use crate::Session;

    #[test]
    fn clients_of_older_versions_are_sent_none() {
        let limits = world_file::default().limits;
        for version in PROTOCOL_VERSION_MIN..=PROTOCOL_VERSION {
            let things = Session::of_version(&limits, version).things;
            assert_eq!(things.is_some(), version >= THINGS_VERSION);
        }
    }
}
