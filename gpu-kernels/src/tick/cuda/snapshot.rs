//! Copying the state between host and device, for snapshots.

use std::ops::Range;

use device::{DriverError, Plain, Pointer};
use shared::EntityId;

use super::Part;
use super::deferred;
use super::edit_state;
use super::field_state;
use super::layout;
use super::motion;
use super::regions::{device_region, host_region};
use super::scripts::Kinds;
use super::timed;
use crate::slot::SlotState;
use crate::tick::frame::{Observer, Region, Target};
use crate::tick::state::Snapshot;

impl Part {
    /// Downloads a part of the state.
    pub(super) fn fetch<T: Plain + Default>(
        &self,
        from: Pointer<T>,
        n: u64,
    ) -> Result<Vec<T>, DriverError> {
        let mut values = vec![T::default(); n as usize];
        self.device.read(&mut values, from)?;
        Ok(values)
    }

    /// Appends what some clients know, and which of them are owed deliveries.
    pub(super) fn fetch_known(
        &self,
        clients: Range<u32>,
        known: &mut Vec<Vec<u32>>,
        behind: &mut Vec<u32>,
    ) -> Result<(), DriverError> {
        self.device.enter()?;
        let (s, w) = (&self.sizes, &self.world);
        let (first, n) = (u64::from(clients.start), clients.len() as u64);
        let counts: Vec<u32> = self.fetch(w.known_counts.at(first), n)?;
        let views = s.visible_max;
        let words: Vec<u32> = self.fetch(w.known.at(first * views), n * views)?;
        let owed: Vec<u8> = self.fetch(w.behind.at(first), n)?;
        for (client, &n) in counts.iter().enumerate() {
            let words = words[client * views as usize..][..n as usize].iter();
            known.push(words.map(|word| word >> layout::TIER_BITS).collect());
        }
        let owed = clients.zip(owed).filter(|&(_, owed)| owed != 0);
        behind.extend(owed.map(|(client, _)| client));
        Ok(())
    }

    pub(super) fn put_snapshot(&mut self, snapshot: &Snapshot) -> Result<(), DriverError> {
        self.device.enter()?;
        let (w, r) = (self.world, self.regions);
        let stride = self.sizes.visible_max as usize;
        let states: Vec<u32> = snapshot.states.iter().map(|&state| state as u32).collect();
        let kinds: Vec<u32> = snapshot.kinds.iter().map(|&kind| u32::from(kind)).collect();
        let observers: Vec<layout::Observer> =
            snapshot.observers.iter().map(device_observer).collect();
        let counts: Vec<u32> = snapshot.known.iter().map(|k| k.len() as u32).collect();
        let mut known = vec![0; snapshot.known.len() * stride];
        for (client, slots) in snapshot.known.iter().enumerate() {
            // The tier matters only in the tick in which an entity is seen.
            let words = &mut known[client * stride..][..slots.len()];
            for (word, slot) in words.iter_mut().zip(slots) {
                *word = slot << layout::TIER_BITS;
            }
        }
        let mut behind = vec![0u8; snapshot.known.len()];
        for &client in &snapshot.behind {
            behind[client as usize] = 1;
        }
        let device = &self.device;
        device.write(w.states, &states)?;
        device.write(w.generations, &snapshot.generations)?;
        device.write(w.slot_kinds, &kinds)?;
        if self.sizes.respawns > 0 {
            let due: Vec<u64> = snapshot.due.iter().map(|tick| tick.0).collect();
            device.write(w.rebirth_due, &due)?;
        }
        let ready: Vec<u64> = snapshot.ready.iter().map(|tick| tick.0).collect();
        device.write(w.ready, &ready)?;
        device.write(w.rows, &snapshot.rows)?;
        device.write(w.past, &snapshot.past)?;
        device.write(w.observers, &observers)?;
        device.write(w.known_counts, &counts)?;
        device.write(w.known, &known)?;
        device.write(w.behind, &behind)?;
        if self.sizes.walled > 0 {
            let columns = self.sizes.columns as usize;
            let along = |axis: usize| {
                snapshot
                    .rows
                    .chunks_exact(columns)
                    .map(move |row| row[axis])
            };
            let places: Vec<i32> = along(0).chain(along(1)).collect();
            device.write(w.wall_places, &places)?;
        }
        motion::put(self, snapshot)?;
        timed::put(self, snapshot)?;
        deferred::put(self, &snapshot.deferred)?;
        edit_state::put(device, &w, &self.sizes, &self.config, &snapshot.edits)?;
        field_state::put(device, &w, &self.config, &snapshot.fields)?;
        for (to, regions) in [
            (r.clients, &snapshot.regions),
            (r.publications, &snapshot.publications),
            (r.subscriptions, &snapshot.subscriptions),
        ] {
            let regions: Vec<layout::Region> = regions.iter().map(device_region).collect();
            device.write(to, &regions)?;
        }
        self.tick = snapshot.tick;
        self.waiting = Kinds::NONE;
        for timed in &snapshot.timed {
            self.waiting.add_waiting(timed.kind, timed.words());
        }
        self.fields = Default::default();
        self.may_defer = !snapshot.deferred.is_empty();
        self.clients_used = self.config.limits.clients;
        self.rebuild_index()
    }
}

/// The regions of living entities. Those of dead entities are still stored, but unused.
pub fn of_living(regions: &[layout::Region], states: &[u32]) -> Vec<Option<Region>> {
    let each = regions.iter().zip(states);
    each.map(|(region, &state)| host_region(region).filter(|_| state == SlotState::Live as u32))
        .collect()
}

pub fn slot_state(state: u32) -> SlotState {
    match state {
        0 => SlotState::Free,
        1 => SlotState::Live,
        2 => SlotState::Resting,
        3 => SlotState::Fallen,
        _ => SlotState::Reserved,
    }
}

/// An observer in the device's format.
pub fn device_observer(observer: &Option<Observer>) -> layout::Observer {
    let Some(Observer { target, radius }) = *observer else {
        return layout::Observer::default();
    };
    let (tag, [a, b, c]) = match target {
        Target::Entity(entity) => (1, [entity.slot.0 as i32, entity.generation as i32, 0]),
        Target::Point(point) => (2, point),
    };
    layout::Observer {
        tag,
        radius,
        a,
        b,
        c,
    }
}

pub fn host_observer(observer: &layout::Observer) -> Option<Observer> {
    let layout::Observer {
        tag,
        radius,
        a,
        b,
        c,
    } = *observer;
    let target = match tag {
        0 => return None,
        1 => Target::Entity(EntityId::new(a as u32, b as u32)),
        _ => Target::Point([a, b, c]),
    };
    Some(Observer { target, radius })
}
