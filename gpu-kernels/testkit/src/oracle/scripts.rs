//! Commands that only scripts define: the interpreter runs them over the oracle's world,
//! one entity after another. The usual built-in ones have versions of their own in `commands`.

use gpu_kernels::Notification;
use script::arith::Random;
use script::interpreter::{Effects, Interpreter, Invocation, NoEffect, Outgoing, Space, World};
use script::{Command as Script, arith};
use shared::world::ranking::Ranking;
use shared::{EntityId, NotificationKind, Slot};

use super::Oracle;
use super::commands::{Command, Delayed, SHOUT};

/// The effects of a script's run.
#[derive(Default)]
pub struct Ran {
    /// Slot, column, value.
    pub updates: Vec<(u32, usize, i32)>,
    /// Of an atomic command: slot, column, the value that it leaves.
    pub writes: Vec<(u32, usize, i32)>,
    pub later: Vec<Delayed>,
    pub notifications: Vec<RawNotification>,
    /// Whether an index or a key was not there.
    pub missed: bool,
    /// Why it has no effect, if it has none.
    pub reason: Option<u8>,
}

/// Why a run has no effect, and what its script says of that.
pub type Unmet = (NoEffect, Option<u8>);

/// Kind, source, area by centre and distance, words.
type RawNotification = (u16, EntityId, Option<([i32; 3], i32)>, Vec<i32>);

impl Oracle {
    /// The script of a command that isn't one of the usual built-in ones.
    pub(super) fn script(&self, kind: u16) -> Option<&Script> {
        let scripts = self.logic.commands.iter();
        let mut found = scripts.filter(|script| script.schema.kind.id() == kind);
        found.next().filter(|script| {
            let texts = &self.config.logic.texts;
            let text = texts.iter().find(|text| text.file == script.file);
            kind > SHOUT || !text.is_some_and(|text| text.is_builtin)
        })
    }

    /// Runs a script.
    pub(super) fn run_script(&self, script: &Script, command: &Command) -> Result<Ran, Unmet> {
        self.run_script_in(self, script, command)
    }

    /// Runs a script in a world like this one.
    pub(super) fn run_script_in(
        &self,
        world: &impl World,
        script: &Script,
        command: &Command,
    ) -> Result<Ran, Unmet> {
        let space = Space {
            dimensions: self.config.schema.world.size.len(),
            size: [0, 1, 2].map(|axis| self.size(axis)),
            budget: self.config.logic.budget,
        };
        let Command {
            entity,
            kind,
            sequence,
            ..
        } = *command;
        let invocation = Invocation {
            tick: self.tick,
            entity,
            words: &command.words,
            random: Random::new(self.config.seed, self.tick, entity, kind, sequence),
        };
        let mut ran = Ran::default();
        let mut interpreter = Interpreter::default();
        let result = interpreter.run(&script.code, &space, world, &invocation, &mut ran);
        ran.reason = interpreter.reason();
        match result {
            Ok(()) => Ok(ran),
            Err(why) => Err((why, ran.reason)),
        }
    }

    /// A script's notification as the tick's.
    pub(super) fn notification_of(
        &self,
        (kind, source, area, words): RawNotification,
    ) -> Notification {
        let area = area.map(|(center, distance)| self.area(center, distance));
        Notification::new(NotificationKind(kind), source, area, &words)
    }
}

impl Oracle {
    /// The entities of a ranking as they are now, in its order.
    pub(super) fn ordered(&self, ranking: &Ranking) -> Vec<Slot> {
        let living = self.living().into_iter().map(|entity| entity.slot);
        let own = living.filter(|&slot| World::kind(self, slot) == ranking.kind);
        let mut own: Vec<Slot> = own.collect();
        // It is stable, so equal ones stay in the order of slots. In the width of 64 bits, no number
        // is its own opposite.
        own.sort_by_key(|&slot| {
            let value = i64::from(self.slots[slot.index()].row[usize::from(ranking.column)]);
            if ranking.is_least_first {
                value
            } else {
                -value
            }
        });
        own
    }
}

impl World for Oracle {
    fn attribute(&self, slot: Slot, column: usize) -> i32 {
        self.slots[slot.index()].row[column]
    }

    fn generation(&self, slot: Slot) -> Option<u32> {
        let generation = self.slots.get(slot.index())?.generation;
        self.is_alive(EntityId { slot, generation })
            .then_some(generation)
    }

    fn kind(&self, slot: Slot) -> u16 {
        self.slots[slot.index()].kind
    }

    fn has(&self, slot: Slot, column: usize) -> bool {
        let kind = &self.config.schema.kinds[usize::from(self.kind(slot))];
        kind.attributes
            .iter()
            .any(|a| usize::from(a.column) == column)
    }

    fn bounds(&self, slot: Slot, column: usize) -> (i32, i32) {
        let kind = &self.config.schema.kinds[usize::from(self.kind(slot))];
        let mut own = kind.attributes.iter();
        let own = own.find(|a| usize::from(a.column) == column);
        match self.config.schema.attributes[column].ty.is_half() {
            true => (i32::MIN, i32::MAX),
            false => own.map_or((0, 0), |own| (own.min, own.max)),
        }
    }

    fn past(&self, slot: Slot, axis: usize, tick: i32) -> i32 {
        self.coordinate(slot.index(), axis, tick)
    }

    fn layer(&self, place: i32) -> i32 {
        self.layer_word(place)
    }

    fn field(&self, place: i32) -> i32 {
        self.field_word(place)
    }

    fn count(&self, kind: u16) -> u32 {
        let living = self.living().into_iter();
        living.filter(|e| World::kind(self, e.slot) == kind).count() as u32
    }

    fn nth(&self, kind: u16, place: u32) -> Option<Slot> {
        let living = self.living().into_iter().map(|entity| entity.slot);
        let mut own = living.filter(|&slot| World::kind(self, slot) == kind);
        own.nth(place as usize)
    }

    fn held(&self, relation: u8, holder: Slot, place: u32) -> Option<Slot> {
        Oracle::held(self, relation, holder)
            .get(place as usize)
            .copied()
    }

    fn rank(&self, ranking: u16, slot: Slot) -> u32 {
        let mut order = self.standings[usize::from(ranking)].iter();
        let place = order.position(|&own| own == slot);
        place.map_or(0, |place| place as u32 + 1)
    }

    fn ranked(&self, ranking: u16, place: u32) -> Option<Slot> {
        let order = &self.standings[usize::from(ranking)];
        order.get(place as usize).copied()
    }

    fn near(&self, center: [i32; 3], radius: i32, slots: &mut Vec<u32>) {
        let edge = self.config.schema.world.aoi.raw();
        let mut found = vec![];
        for entity in self.alive() {
            let [x, y, z] = self.position(entity.slot.0);
            if arith::is_within([x, y, z], center, radius) {
                found.push((z / edge, y / edge, x / edge, entity.slot.0));
            }
        }
        // By bucket, row by row, then by slot.
        found.sort();
        slots.extend(found.into_iter().map(|(_, _, _, slot)| slot));
    }
}

impl Effects for Ran {
    fn update(&mut self, slot: Slot, column: u16, value: i32) {
        self.updates.push((slot.0, column.into(), value));
    }

    fn write(&mut self, slot: Slot, column: u16, value: i32) {
        self.writes.push((slot.0, column.into(), value));
    }

    fn miss(&mut self) {
        self.missed = true;
    }
}

impl Outgoing for Ran {
    fn after(&mut self, ticks: u32, entity: EntityId, kind: u16, words: &[i32]) {
        let command = Command {
            entity,
            kind,
            sequence: 0,
            words: words.to_vec(),
            place: None,
        };
        self.later.push((ticks, command));
    }

    fn notify(
        &mut self,
        kind: u16,
        source: EntityId,
        area: Option<([i32; 3], i32)>,
        words: &[i32],
    ) {
        self.notifications
            .push((kind, source, area, words.to_vec()));
    }
}
