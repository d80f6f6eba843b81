//! The oracle: a second implementation of the tick, slow and simple. It loops over all
//! entities and clients, and keeps nothing between ticks but the state itself. It shares
//! only definitions with the engine: the random generator and the state hash.
//!
//! | module | holds |
//! | --- | --- |
//! | `atomic` | atomic commands, one after another |
//! | `commands` | the commands that run, and the updates of each |
//! | `usage` | how often clients use commands, and which had no effect |
//! | `timed` | commands that wait for their tick; the fallen, and their respawns |
//! | `regions` | subscriptions of clients and entities, and publications of entities |
//! | `past` | where entities were |
//! | `motion` | which entities get a new course |
//! | `interest` | what each client sees: deliveries |
//! | `visibility` | which entities a client does not see, however near they are |
//! | `scripts` | commands that only scripts define |
//! | `notifications` | notifications of commands, items and the fallen |
//! | `walls` | what walls hold up |
//! | `fields` | flow fields |
//! | `edits` | cells of layers that scripts changed |
//! | `things` | entities without a place, and who holds them |
//! | `zones` | the commands of hooks; who crosses the borders of zones |
//! | `hearings` | the notifications that reach each client by place |

mod atomic;
mod commands;
mod edits;
mod fields;
mod hearings;
mod interest;
mod motion;
mod notifications;
mod past;
mod regions;
mod scripts;
mod things;
mod timed;
mod usage;
mod visibility;
mod walls;
mod zones;

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use gpu_kernels::{
    Birth, Counts, Delivery, Frame, Notification, Observer, ObserverChange, RefusedCommand,
    SlotState, Snapshot, StateHash, Target, TimedCommand,
};
use script::Logic;
use script::logic::with_logic;
use shared::world::attribute::{halves, joined};
use shared::world::birthplace::Birthplace;
use shared::world::edit::{Edit, LayerKind};
use shared::world::initial::Choice;
use shared::world::mix::Random;
use shared::{AttributeType, Audience, EntityId, MergeRule, Occasion, Slot, Tick, WorldConfig};

use crate::rules::Rules;
use atomic::Waiting;
use commands::{Command, Given};
use fields::OracleField;

pub use motion::Movement;
pub use regions::Regions;

/// A world that computes what each tick must do.
#[derive(Clone)]
pub struct Oracle {
    /// The world's rules and limits.
    pub config: WorldConfig,
    rules: Rules,
    logic: Logic,
    /// The tick that comes next.
    pub tick: Tick,
    /// All slots, free ones too.
    pub slots: Vec<OracleSlot>,
    /// By client and index.
    pub observers: BTreeMap<(u32, u32), Observer>,
    /// All regions of clients and entities.
    pub regions: Regions,
    /// By client: the slots of its known set.
    pub known: BTreeMap<u32, BTreeSet<u32>>,
    /// Clients whose deliveries found no room in the last tick.
    pub behind: BTreeSet<u32>,
    /// Waiting commands in the order in which they were scheduled.
    pub timed: Vec<TimedCommand>,
    /// The number of commands scheduled since the world began.
    pub next_sequence: u64,
    /// Atomic commands that wait for the next tick.
    deferred: Vec<Waiting>,
    /// By ranking: its entities in order, at the start of the tick.
    standings: Vec<Vec<Slot>>,
    /// The cells that entities block, as at the start of the tick.
    closed: BTreeSet<[i32; 2]>,
    fields: Vec<OracleField>,
    /// The cells of layers that scripts changed, if they are not as the file has them.
    edited: BTreeMap<(LayerKind, u32), i32>,
}

/// A slot with its entity.
#[derive(Clone)]
pub struct OracleSlot {
    /// Whether an entity lives in it.
    pub state: SlotState,
    /// The number of times it has been filled.
    pub generation: u32,
    /// The entity's kind, or that of the one to be born again; 0 without either.
    pub kind: u16,
    /// If one is to be born again: the first tick in which it may be.
    pub due: Option<Tick>,
    /// All columns; 0 without an entity.
    pub row: Vec<i32>,
    /// Its movement as sent to clients.
    pub movement: Movement,
    /// Where its entity was after each tick of its life.
    pub past: BTreeMap<Tick, [i32; 3]>,
    /// By number of a command: the tick in which its client used it last.
    pub used: BTreeMap<u16, Tick>,
}

/// The expected output of a tick.
#[derive(Default)]
pub struct OracleOutput {
    /// In command order.
    pub births: Vec<Birth>,
    /// All columns of each newborn, one after the other.
    pub birth_rows: Vec<i32>,
    /// By slot.
    pub deaths: Vec<EntityId>,
    /// Those of them that are things which accounts keep, and died with who held them.
    pub kept: Vec<EntityId>,
    /// New values by slot and column.
    pub changes: BTreeMap<(u32, u16), i32>,
    /// New courses by slot: a velocity for each axis.
    pub courses: BTreeMap<u32, Vec<i32>>,
    /// By slot and column of each change: the kind of the first command that updated it, and
    /// the slot of the entity that gave it; empty if clients cannot subscribe.
    pub causes: BTreeMap<(u32, u16), (u16, u32)>,
    /// Notifications of commands, of items with a new owner, and of the fallen, in this order.
    pub notifications: Vec<Notification>,
    /// Cells of layers that are something else after the tick, in the order of notifications.
    pub edits: Vec<Edit>,
    /// By client; clients without deliveries are missing.
    pub deliveries: BTreeMap<u32, Vec<Delivery>>,
    /// By client: places in `notifications`; clients without hearings are missing.
    pub hearings: BTreeMap<u32, Vec<u32>>,
    /// Commands of clients that had no effect, ascending.
    pub refused: Vec<RefusedCommand>,
    /// Runs that used up their budget, by command.
    pub over_budget: BTreeMap<u16, u64>,
    /// Runs that met an index or a key that is not there, by command.
    pub out_of_range: BTreeMap<u16, u64>,
    /// Counts of what happened.
    pub counts: Counts,
    /// The state after the tick.
    pub hash: StateHash,
}

impl Oracle {
    /// An empty world.
    pub fn new(config: &WorldConfig) -> Oracle {
        let slot = OracleSlot {
            state: SlotState::Free,
            generation: 0,
            kind: 0,
            due: None,
            row: vec![0; config.schema.attributes.len()],
            movement: Movement::default(),
            past: BTreeMap::new(),
            used: BTreeMap::new(),
        };
        let mut slots = vec![slot; config.schema.world.capacity as usize];
        if let (Some(kind), Some(shared)) = (config.schema.world_kind, slots.last_mut()) {
            shared.state = SlotState::Live;
            shared.generation = 1;
            shared.kind = kind;
            for own in &config.schema.kinds[usize::from(kind)].attributes {
                shared.row[usize::from(own.column)] = own.default;
            }
            shared.movement = Movement::resting(&shared.row[..config.schema.world.size.len()]);
        }
        let mut oracle = Oracle {
            config: config.clone(),
            rules: Rules::of(config),
            logic: Logic::of(config).expect("the world was checked"),
            tick: Tick(0),
            slots,
            observers: BTreeMap::new(),
            regions: Regions::default(),
            known: BTreeMap::new(),
            behind: BTreeSet::new(),
            timed: vec![],
            next_sequence: 0,
            deferred: vec![],
            standings: vec![],
            closed: BTreeSet::new(),
            fields: vec![OracleField::default(); config.schema.fields.len()],
            edited: BTreeMap::new(),
        };
        oracle.begin_fields();
        oracle
    }

    /// Runs one tick; the frame must be for the next tick.
    pub fn tick(&mut self, frame: &Frame) -> OracleOutput {
        assert_eq!(frame.tick, self.tick);
        if let Some(logic) = &frame.logic {
            self.config = with_logic(&self.config, logic).expect("the frame's scripts are valid");
            self.logic = Logic::of(&self.config).expect("the frame's scripts are valid");
            self.rules = Rules::of(&self.config);
        }
        let rankings = self.config.schema.rankings.iter();
        self.standings = rankings.map(|ranking| self.ordered(ranking)).collect();
        self.closed = self.closed_cells();
        self.refresh_fields();
        let mut out = OracleOutput::default();
        let before = self.bodies();
        self.apply_frame(frame, &mut out.counts);
        let commands = self.commands(frame, &mut out);
        self.schedule_from_frame(frame, &mut out.counts);
        let given = self.given(&commands);
        let (commands, atomic) = self.runnable(commands, &mut out);
        self.use_commands(&commands);
        self.use_commands(&atomic);
        self.notify_of_commands(&commands, &mut out);
        let (updates, later) = self.updates(&commands, &mut out);
        for command in later {
            self.schedule(command, &mut out.counts);
        }
        let places: Vec<[i32; 3]> = (0..self.slots.len() as u32)
            .map(|slot| self.position(slot))
            .collect();
        let along = |key: &(u32, usize)| key.1 < 2;
        let several = updates
            .iter()
            .filter(|(key, values)| along(key) && values.len() > 1);
        let several: BTreeSet<u32> = several.map(|((slot, _), _)| *slot).collect();
        let mut changed = self.merge(updates, &mut out);
        self.take_turns(atomic, &mut changed, &mut out);
        self.hold_at_walls(&places, &several, &mut out);
        self.tell_courses(&places, &mut changed, &mut out);
        let actors = out.causes.clone();
        let (changes, subscribed) = (&out.changes, self.config.causes);
        out.causes
            .retain(|key, _| subscribed && changes.contains_key(key));
        self.notify_of_picks(&mut out);
        self.births_and_deaths(&commands, given, &actors, &mut changed, &mut out);
        self.watch_zones(&before, &mut out.counts);
        out.counts.timed = self.timed.len() as u64;
        self.keep_places();
        self.cut_notifications(&mut out);
        // No client sees by place what is nowhere.
        let alive = self.alive();
        changed.retain(|&slot| alive.iter().any(|entity| entity.slot.0 == slot));
        self.deliver(&changed, &mut out);
        self.find_hearings(&mut out);
        self.change_cells(&mut out);
        self.tick = Tick(self.tick.0.wrapping_add(1));
        out.hash = self.hash();
        out
    }

    /// The hash of the present state.
    pub fn hash(&self) -> StateHash {
        let columns = self.config.schema.attributes.len();
        let per_client = self.config.limits.observers_per_client as usize;
        StateHash::of(&self.snapshot(), columns, per_client)
    }

    /// The present state in the backends' format.
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
        let [regions, publications, subscriptions] = self.region_lists();
        Snapshot {
            tick: self.tick,
            states: self.slots.iter().map(|s| s.state).collect(),
            generations: self.slots.iter().map(|s| s.generation).collect(),
            kinds: self.slots.iter().map(|s| s.kind).collect(),
            due: self
                .slots
                .iter()
                .map(|s| s.due.unwrap_or(Tick(0)))
                .collect(),
            rows: self.slots.iter().flat_map(|s| s.row.clone()).collect(),
            tracks: self.tracks(),
            past: self.past(),
            ready: self.ready(),
            observers,
            regions,
            publications,
            subscriptions,
            known,
            behind: self.behind.iter().copied().collect(),
            timed: self.timed.clone(),
            next_sequence: self.next_sequence,
            deferred: self.deferred.iter().map(Waiting::stored).collect(),
            fields: self.field_states(),
            edits: self.edits(),
            logic: self.config.logic.clone(),
        }
    }

    /// All living entities that are somewhere in the world, ascending by slot.
    pub fn alive(&self) -> Vec<EntityId> {
        let mut alive = self.living();
        alive.retain(|entity| !self.is_thing(entity.slot));
        alive
    }

    /// The same, with things, which are nowhere.
    pub fn living(&self) -> Vec<EntityId> {
        (0..self.slots.len() as u32)
            .map(|slot| EntityId::new(slot, self.slots[slot as usize].generation))
            .filter(|&entity| self.is_alive(entity) && self.shared() != Some(entity))
            .collect()
    }

    /// Those of a kind.
    pub fn living_of(&self, kind: &str) -> Vec<EntityId> {
        let kind = self.config.schema.kind(kind).expect("a kind of the world");
        let mut living = self.living();
        living.retain(|entity| usize::from(self.slots[entity.slot.index()].kind) == kind);
        living
    }

    /// The entity that has what the whole world shares.
    fn shared(&self) -> Option<EntityId> {
        self.config.schema.world_entity()
    }

    /// Whether the entity lives: its slot and its generation match.
    pub fn is_alive(&self, entity: EntityId) -> bool {
        match self.slots.get(entity.slot.index()) {
            Some(slot) => slot.state == SlotState::Live && slot.generation == entity.generation,
            None => false,
        }
    }

    /// The position of the entity in a slot, in raw units; 0 along an axis that the world lacks.
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

    /// Applies the frame's observers, regions, clients to forget and slots to release.
    fn apply_frame(&mut self, frame: &Frame, counts: &mut Counts) {
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
                Some(slot) if slot.state == SlotState::Fallen => slot.state = SlotState::Reserved,
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

    /// Applies one merged value for each (entity, attribute). Returns the slots with a
    /// change that clients may see.
    fn merge(
        &mut self,
        updates: BTreeMap<(u32, usize), Vec<i32>>,
        out: &mut OracleOutput,
    ) -> BTreeSet<u32> {
        let mut changed = BTreeSet::new();
        let of = |slot, column| updates.get(&(slot, column));
        for (&(slot, column), values) in &updates {
            let attribute = &self.config.schema.attributes[column];
            match attribute.ty {
                AttributeType::I64 => {
                    let highs = of(slot, column + 1).expect("numbers are updated as a whole");
                    let both = values.iter().zip(highs);
                    let numbers: Vec<i64> = both.map(|(&low, &high)| joined([low, high])).collect();
                    self.merge_wide(slot, column, &numbers, &mut changed, out);
                    continue;
                }
                AttributeType::High => continue,
                AttributeType::I32
                | AttributeType::Fixed
                | AttributeType::Bool
                | AttributeType::Entity
                | AttributeType::Symbol
                | AttributeType::Text => {}
            }
            let before = self.slots[slot as usize].row[column];
            let merged = match attribute.merge {
                MergeRule::Sum => {
                    let mut sum = i128::from(before);
                    for &value in values {
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
            let is_told_as_course =
                self.config.motion.is_some() && column < self.config.schema.world.size.len();
            if attribute.audience != Audience::Hidden && !is_told_as_course {
                changed.insert(slot);
            }
            self.slots[slot as usize].row[column] = after;
            out.changes.insert((slot, column as u16), after);
        }
        out.counts.changes = out.changes.len() as u64;
        changed
    }

    /// The same of a number of 64 bits, which is in two columns.
    fn merge_wide(
        &mut self,
        slot: u32,
        column: usize,
        numbers: &[i64],
        changed: &mut BTreeSet<u32>,
        out: &mut OracleOutput,
    ) {
        let attribute = &self.config.schema.attributes[column];
        let row = &self.slots[slot as usize].row;
        let before = [row[column], row[column + 1]];
        let mut numbers = numbers.iter().map(|&number| i128::from(number));
        let merged = match attribute.merge {
            MergeRule::Sum => i128::from(joined(before)) + numbers.sum::<i128>(),
            MergeRule::Min => numbers.min().unwrap(),
            MergeRule::Max => numbers.max().unwrap(),
            MergeRule::First => numbers.next().unwrap(),
            MergeRule::Last => numbers.next_back().unwrap(),
        };
        let kind = usize::from(self.slots[slot as usize].kind);
        let own = |column: usize| {
            let mut own = self.config.schema.kinds[kind].attributes.iter();
            let own = own.find(|own| usize::from(own.column) == column);
            own.expect("only attributes that the kind has are updated")
        };
        let (low, high) = (own(column), own(column + 1));
        let least = i128::from(joined([low.min, high.min]));
        let most = i128::from(joined([low.max, high.max]));
        let after = halves(merged.max(least).min(most) as i64);
        let is_seen = attribute.audience != Audience::Hidden;
        for half in 0..2 {
            if after[half] == before[half] {
                continue;
            }
            if is_seen {
                changed.insert(slot);
            }
            self.slots[slot as usize].row[column + half] = after[half];
            let key = (slot, (column + half) as u16);
            out.changes.insert(key, after[half]);
        }
    }

    fn births_and_deaths(
        &mut self,
        commands: &[Command],
        mut given: VecDeque<BTreeMap<usize, Given>>,
        actors: &BTreeMap<(u32, u16), (u16, u32)>,
        changed: &mut BTreeSet<u32>,
        out: &mut OracleOutput,
    ) {
        let mut died = BTreeMap::new();
        let mut players = vec![];
        // By sequence, of births that waited.
        let mut born = BTreeMap::new();
        let mut later = vec![];
        for command in commands {
            match command.kind {
                commands::SPAWN if command.has_values() => {}
                commands::SPAWN if command.follows_up() => {
                    let since = command.words[1] as u32 >> 20;
                    match born.get(&command.sequence.wrapping_sub(since)) {
                        Some(&newborn) if since < 4095 => later.push(command.follow_up(newborn)),
                        _ => {
                            out.counts.applied -= 1;
                            out.counts.stale += 1;
                        }
                    }
                }
                commands::SPAWN => {
                    let slot = self.slots.iter().position(|s| s.state == SlotState::Free);
                    let given = given.pop_front().expect("each birth has its values");
                    let entity = self.birth((&command.words, given), slot, changed, out);
                    if let (None, Some(entity)) = (command.place, entity) {
                        born.insert(command.sequence, entity);
                    }
                }
                // Nothing ends what the whole world shares.
                commands::DESPAWN if self.shared() == Some(command.entity) => {}
                commands::DESPAWN if self.is_alive(command.entity) => {
                    if self.slots[command.entity.slot.index()].kind == self.config.player_kind {
                        players.push(command.entity);
                    }
                    self.die(command.entity);
                    changed.remove(&command.entity.slot.0);
                    died.insert(command.entity.slot.0, command.entity);
                }
                _ => {}
            }
        }
        for command in later {
            self.schedule(command, &mut out.counts);
        }
        for entity in self.fall(actors, out) {
            if self.slots[entity.slot.index()].state == SlotState::Resting {
                players.push(entity);
            }
            changed.remove(&entity.slot.0);
            died.insert(entity.slot.0, entity);
        }
        for thing in self.end_kept(&players) {
            changed.remove(&thing.slot.0);
            died.insert(thing.slot.0, thing);
            out.kept.push(thing);
        }
        out.kept.sort_by_key(|thing| thing.slot);
        for &entity in died.values() {
            self.drop_regions(entity);
        }
        for slot in 0..self.slots.len() {
            if self.is_to_be_born(slot) {
                // With the token of those whom no client waits for.
                let kind = self.slots[slot].kind;
                let mut words = vec![i32::from(kind), -1];
                // In the area of its kind, if it has one.
                let birthplace = Birthplace::of(&self.config, kind);
                words.extend(birthplace.place(self.tick, slot as u32));
                self.birth((&words, BTreeMap::new()), Some(slot), changed, out);
            }
        }
        out.deaths = died.into_values().collect();
        out.counts.deaths = out.deaths.len() as u64;
        out.counts.entities = self.alive().len() as u64;
        let waits = |slot: &&OracleSlot| slot.due.is_some() && slot.state != SlotState::Live;
        out.counts.respawns = self.slots.iter().filter(waits).count() as u64;
    }

    /// Leaves the slot of an entity resting.
    fn die(&mut self, entity: EntityId) {
        let slot = &mut self.slots[entity.slot.index()];
        slot.state = SlotState::Resting;
        slot.kind = 0;
        slot.row.fill(0);
        slot.movement = Movement::default();
        slot.past.clear();
        slot.used.clear();
        slot.due = None;
    }

    fn birth(
        &mut self,
        (words, given): (&[i32], BTreeMap<usize, Given>),
        slot: Option<usize>,
        changed: &mut BTreeSet<u32>,
        out: &mut OracleOutput,
    ) -> Option<EntityId> {
        let (kind, mut token) = (words[0] as u16, words[1] as u32);
        // The topmost bit says that a client joins; all bits, that there is no client.
        let joins = token != u32::MAX && token >= 1 << 31;
        if joins {
            token -= 1 << 31;
        }
        let words = &[&[words[0], token as i32], &words[2..]].concat()[..];
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
            return None;
        };
        out.counts.births += 1;
        let mut row = self.newborn(words, entity);
        let before = out.births.iter().rev();
        let before: Vec<_> = before.map(|birth| birth.entity).collect();
        for own in &self.config.schema.kinds[usize::from(kind)].attributes {
            let column = usize::from(own.column);
            if let Some(value) = given.get(&column)
                && column >= self.config.schema.world.size.len()
            {
                let value = match value {
                    Given::Value(value) => *value,
                    Given::BirthsAgo(ago) => {
                        let other = before.get(*ago).copied().flatten();
                        other.map_or(-1, commands::reference)
                    }
                };
                row[column] = match self.config.schema.attributes[column].ty.is_half() {
                    true => value,
                    false => value.max(own.min).min(own.max),
                };
            }
        }
        out.birth_rows.extend(&row);
        changed.insert(entity.slot.0);
        self.add_kind_regions(entity, kind);
        self.slots[entity.slot.index()] = OracleSlot {
            used: BTreeMap::new(),
            state: SlotState::Live,
            generation: entity.generation,
            kind,
            past: BTreeMap::new(),
            movement: Movement::resting(&row[..self.config.schema.world.size.len()]),
            due: None,
            row,
        };
        self.give_hooks(
            Occasion::Birth,
            entity,
            kind,
            EntityId::NONE,
            &mut out.counts,
        );
        if joins {
            self.give_hooks(
                Occasion::Join,
                entity,
                kind,
                EntityId::NONE,
                &mut out.counts,
            );
        }
        Some(entity)
    }

    /// The columns of a newborn: defaults, its place, drawn values, or all as the birth gives them.
    fn newborn(&self, words: &[i32], entity: EntityId) -> Vec<i32> {
        let (kind, token) = (words[0] as u16, words[1] as u32);
        let mut row = vec![0; self.config.schema.attributes.len()];
        for attribute in &self.config.schema.kinds[usize::from(kind)].attributes {
            row[usize::from(attribute.column)] = attribute.default;
        }
        let mut random = Random::new(self.config.seed, self.tick, entity);
        let dimensions = self.config.schema.world.size.len();
        if !self.is_kind_of_things(kind) {
            for (axis, place) in row[..dimensions].iter_mut().enumerate() {
                *place = match words.get(2 + axis) {
                    Some(&position) => position.min(self.size(axis) - 1).max(0),
                    None => random.below(self.size(axis) as u32) as i32,
                };
            }
            let place = self.free_place([row[0], row[1], 0]);
            row[..2].copy_from_slice(&place[..2]);
        }
        for initial in &self.config.initials[usize::from(kind)] {
            row[usize::from(initial.column)] = match &initial.choice {
                Choice::Between { low, count } => {
                    (i64::from(*low) + i64::from(random.below(*count))) as i32
                }
                Choice::OneOf(values) => {
                    let place = random.below(values.len() as u32);
                    values[place as usize]
                }
                Choice::InTurn(values) => {
                    // Entities without a client have no number of their own.
                    let is_clients = token != u32::MAX;
                    let turn = if is_clients { token } else { entity.slot.0 };
                    values[turn as usize % values.len()]
                }
            };
        }
        // A birth may give all columns.
        if words.len() == 2 + row.len() {
            for (column, value) in row.iter_mut().enumerate().skip(dimensions) {
                let kind = &self.config.schema.kinds[usize::from(kind)];
                let own = kind
                    .attributes
                    .iter()
                    .find(|a| usize::from(a.column) == column);
                *value = match own {
                    // Half of a number has no bounds by itself.
                    Some(_) if self.config.schema.attributes[column].ty.is_half() => {
                        words[2 + column]
                    }
                    Some(own) => words[2 + column].max(own.min).min(own.max),
                    None => 0,
                };
            }
        }
        row
    }
}
