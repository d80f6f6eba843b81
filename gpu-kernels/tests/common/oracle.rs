//! The tick again, slow and obvious: plain loops over everyone, nothing sorted
//! by tricks, nothing kept between ticks but the state itself. It shares with
//! the engine the definitions only: the random generator and the state hash.

mod commands;
mod hearings;
mod interest;
mod notifications;
mod regions;
mod timed;

use std::collections::{BTreeMap, BTreeSet};

use gpu_kernels::{
    Birth, Counts, Delivery, Frame, Notification, Observer, ObserverChange, SlotState, Snapshot,
    StateHash, Target, TimedCommand,
};
use shared::mix::Random;
use shared::{Audience, EntityId, MergeRule, Slot, Tick, WorldConfig};

use commands::Request;
pub use regions::Regions;

#[derive(Clone)]
pub struct Oracle {
    pub config: WorldConfig,
    pub tick: Tick,
    pub slots: Vec<OracleSlot>,
    /// By client and index.
    pub observers: BTreeMap<(u32, u32), Observer>,
    pub regions: Regions,
    pub known: BTreeMap<u32, BTreeSet<u32>>,
    pub behind: BTreeSet<u32>,
    /// In the order in which they were scheduled.
    pub timed: Vec<TimedCommand>,
    pub next_sequence: u64,
}

#[derive(Clone)]
pub struct OracleSlot {
    pub state: SlotState,
    pub generation: u32,
    pub kind: u16,
    pub row: Vec<i32>,
}

#[derive(Default)]
pub struct OracleOutput {
    pub births: Vec<Birth>,
    pub birth_rows: Vec<i32>,
    pub deaths: Vec<EntityId>,
    /// By slot and column.
    pub changes: BTreeMap<(u32, u16), i32>,
    /// Of each change, the kind of the first command that wanted it, where clients
    /// may subscribe to that.
    pub causes: BTreeMap<(u32, u16), u16>,
    pub notifications: Vec<Notification>,
    /// By client; clients without deliveries are missing.
    pub deliveries: BTreeMap<u32, Vec<Delivery>>,
    /// By client; clients that hear nothing are missing.
    pub hearings: BTreeMap<u32, Vec<u32>>,
    pub counts: Counts,
    pub hash: StateHash,
}

impl Oracle {
    pub fn new(config: &WorldConfig) -> Oracle {
        let slot = OracleSlot {
            state: SlotState::Free,
            generation: 0,
            kind: 0,
            row: vec![0; config.schema.attributes.len()],
        };
        Oracle {
            config: config.clone(),
            tick: Tick(0),
            slots: vec![slot; config.schema.world.capacity as usize],
            observers: BTreeMap::new(),
            regions: Regions::default(),
            known: BTreeMap::new(),
            behind: BTreeSet::new(),
            timed: vec![],
            next_sequence: 0,
        }
    }

    pub fn tick(&mut self, frame: &Frame) -> OracleOutput {
        assert_eq!(frame.tick, self.tick);
        let mut out = OracleOutput::default();
        self.take_in(frame, &mut out.counts);
        let requests = self.requests(frame, &mut out.counts);
        self.put_off(frame, &mut out.counts);
        let requests = self.those_that_run(requests, &mut out.counts);
        self.tell_of_commands(&requests, &mut out);
        let (updates, later) = self.updates(&requests, &mut out);
        for request in later {
            self.schedule(request, &mut out.counts);
        }
        let mut told = self.merge(updates, &mut out);
        let (changes, subscribed) = (
            &out.changes,
            self.config.limits.subscriptions_per_client > 0,
        );
        out.causes
            .retain(|key, _| subscribed && changes.contains_key(key));
        self.tell_of_items(&mut out);
        self.births_and_deaths(&requests, &mut told, &mut out);
        self.cut_notifications(&mut out);
        self.deliver(&told, &mut out);
        self.hear(&mut out);
        self.tick = Tick(self.tick.0.wrapping_add(1));
        out.hash = self.hash();
        out
    }

    pub fn hash(&self) -> StateHash {
        let columns = self.config.schema.attributes.len();
        let per_client = self.config.limits.observers_per_client as usize;
        StateHash::of(&self.snapshot(), columns, per_client)
    }

    pub fn snapshot(&self) -> Snapshot {
        let limits = &self.config.limits;
        let mut observers = vec![];
        let mut known = vec![];
        for client in 0..limits.clients {
            for index in 0..limits.observers_per_client {
                observers.push(self.observers.get(&(client, index)).copied());
            }
            known.push(self.known_by(client).into_iter().collect());
        }
        let [regions, publications, subscriptions] = self.all_regions();
        Snapshot {
            tick: self.tick,
            states: self.slots.iter().map(|s| s.state).collect(),
            generations: self.slots.iter().map(|s| s.generation).collect(),
            kinds: self.slots.iter().map(|s| s.kind).collect(),
            rows: self.slots.iter().flat_map(|s| s.row.clone()).collect(),
            observers,
            regions,
            publications,
            subscriptions,
            known,
            behind: self.behind.iter().copied().collect(),
            timed: self.timed.clone(),
            next_sequence: self.next_sequence,
        }
    }

    /// Everyone alive, ascending by slot.
    pub fn alive(&self) -> Vec<EntityId> {
        (0..self.slots.len() as u32)
            .map(|slot| EntityId::new(slot, self.slots[slot as usize].generation))
            .filter(|&entity| self.is_alive(entity))
            .collect()
    }

    pub fn is_alive(&self, entity: EntityId) -> bool {
        match self.slots.get(entity.slot.index()) {
            Some(slot) => slot.state == SlotState::Live && slot.generation == entity.generation,
            None => false,
        }
    }

    pub fn position(&self, slot: u32) -> [i32; 3] {
        let row = &self.slots[slot as usize].row;
        match self.config.schema.world.size.len() {
            2 => [row[0], row[1], 0],
            _ => [row[0], row[1], row[2]],
        }
    }

    /// The world's size in raw units; 1 where there is no such axis.
    fn size(&self, axis: usize) -> i32 {
        let sizes = &self.config.schema.world.size;
        sizes.get(axis).map_or(1, |size| size.raw())
    }

    fn known_by(&self, client: u32) -> BTreeSet<u32> {
        self.known.get(&client).cloned().unwrap_or_default()
    }

    fn take_in(&mut self, frame: &Frame, counts: &mut Counts) {
        for change in &frame.observers {
            self.set_observer(change, counts);
        }
        self.set_regions(frame, counts);
        for client in &frame.forget {
            if client.0 >= self.config.limits.clients {
                counts.ignored += 1;
            }
            self.known.remove(&client.0);
            self.behind.remove(&client.0);
        }
        for slot in &frame.release {
            match self.slots.get_mut(slot.index()) {
                Some(slot) if slot.state == SlotState::Resting => slot.state = SlotState::Free,
                _ => counts.ignored += 1,
            }
        }
    }

    fn set_observer(&mut self, change: &ObserverChange, counts: &mut Counts) {
        let limits = &self.config.limits;
        if change.client.0 >= limits.clients || change.index >= limits.observers_per_client {
            counts.ignored += 1;
            return;
        }
        let place = (change.client.0, change.index);
        let Some(observer) = change.observer else {
            self.observers.remove(&place);
            return;
        };
        let target = match observer.target {
            Target::Entity(entity) => Target::Entity(entity),
            Target::Point(p) => {
                Target::Point([0, 1, 2].map(|axis| p[axis].min(self.size(axis) - 1).max(0)))
            }
        };
        let aoi = self.config.schema.world.aoi.raw();
        let radius = observer.radius.min(aoi).max(0);
        self.observers.insert(place, Observer { target, radius });
    }

    /// One value for each (entity, attribute). Gives who has a change that
    /// anybody is told of.
    fn merge(
        &mut self,
        updates: BTreeMap<(u32, usize), Vec<i32>>,
        out: &mut OracleOutput,
    ) -> BTreeSet<u32> {
        let mut told = BTreeSet::new();
        for ((slot, column), values) in updates {
            let attribute = &self.config.schema.attributes[column];
            let before = self.slots[slot as usize].row[column];
            let merged = match attribute.merge {
                MergeRule::Sum => {
                    let mut sum = i128::from(before);
                    for &value in &values {
                        sum += i128::from(value);
                    }
                    sum
                }
                MergeRule::Min => i128::from(*values.iter().min().unwrap()),
                MergeRule::Max => i128::from(*values.iter().max().unwrap()),
                MergeRule::First => i128::from(values[0]),
                MergeRule::Last => i128::from(values[values.len() - 1]),
            };
            let kind = usize::from(self.slots[slot as usize].kind);
            let own = self.config.schema.kinds[kind]
                .attributes
                .iter()
                .find(|a| usize::from(a.column) == column)
                .expect("only attributes that the kind has are updated");
            let after = merged.max(i128::from(own.min)).min(i128::from(own.max)) as i32;
            if after == before {
                continue;
            }
            if attribute.audience != Audience::Hidden {
                told.insert(slot);
            }
            self.slots[slot as usize].row[column] = after;
            out.changes.insert((slot, column as u16), after);
        }
        out.counts.changes = out.changes.len() as u64;
        told
    }

    fn births_and_deaths(
        &mut self,
        requests: &[Request],
        told: &mut BTreeSet<u32>,
        out: &mut OracleOutput,
    ) {
        let mut died = BTreeMap::new();
        for request in requests {
            match request.kind {
                commands::SPAWN => {
                    let slot = self.slots.iter().position(|s| s.state == SlotState::Free);
                    self.birth(request, slot, told, out);
                }
                commands::DESPAWN if self.is_alive(request.entity) => {
                    let slot = &mut self.slots[request.entity.slot.index()];
                    slot.state = SlotState::Resting;
                    slot.kind = 0;
                    slot.row.fill(0);
                    told.remove(&request.entity.slot.0);
                    died.insert(request.entity.slot.0, request.entity);
                }
                _ => {}
            }
        }
        for entity in self.fall(out) {
            told.remove(&entity.slot.0);
            died.insert(entity.slot.0, entity);
        }
        for &entity in died.values() {
            self.drop_regions(entity);
        }
        out.deaths = died.into_values().collect();
        out.counts.deaths = out.deaths.len() as u64;
        out.counts.entities = self.alive().len() as u64;
        out.counts.timed = self.timed.len() as u64;
    }

    fn birth(
        &mut self,
        request: &Request,
        slot: Option<usize>,
        told: &mut BTreeSet<u32>,
        out: &mut OracleOutput,
    ) {
        let (kind, token) = (request.words[0] as u16, request.words[1] as u32);
        let entity = slot.map(|slot| EntityId {
            slot: Slot(slot as u32),
            generation: self.slots[slot].generation.wrapping_add(1),
        });
        out.births.push(Birth {
            token,
            kind,
            entity,
        });
        let Some(entity) = entity else {
            out.counts.births_refused += 1;
            return;
        };
        out.counts.births += 1;
        let mut row = vec![0; self.config.schema.attributes.len()];
        for attribute in &self.config.schema.kinds[usize::from(kind)].attributes {
            row[usize::from(attribute.column)] = attribute.default;
        }
        let mut random = Random::new(self.config.seed, self.tick, entity);
        let dimensions = self.config.schema.world.size.len();
        for (axis, place) in row[..dimensions].iter_mut().enumerate() {
            *place = match request.words.get(2 + axis) {
                Some(&position) => position.min(self.size(axis) - 1).max(0),
                None => random.below(self.size(axis) as u32) as i32,
            };
        }
        out.birth_rows.extend(&row);
        told.insert(entity.slot.0);
        self.carry(entity, kind);
        self.slots[entity.slot.index()] = OracleSlot {
            state: SlotState::Live,
            generation: entity.generation,
            kind,
            row,
        };
    }
}
