//! Atomic commands: one after another, each in the world that the ones before left.

use std::collections::{BTreeMap, BTreeSet};

use gpu_kernels::DeferredCommand;
use script::atomic::Key;
use script::interpreter::{NoEffect, World};
use shared::{Audience, EntityId, Refusal, Slot};

use super::commands::Command;
use super::{Oracle, OracleOutput};

/// An atomic command that waits for the next tick.
#[derive(Clone)]
pub struct Waiting {
    command: Command,
    /// Whether its references had changed by its turn.
    has_moved: bool,
}

impl Waiting {
    /// In the backends' format.
    pub fn stored(&self) -> DeferredCommand {
        let Command {
            entity,
            kind,
            sequence,
            words: given,
            place,
        } = &self.command;
        let mut words = [0; 5];
        for (word, &given) in words.iter_mut().zip(given) {
            *word = given;
        }
        DeferredCommand {
            entity: *entity,
            kind: *kind,
            word_count: given.len() as u16,
            sequence: *sequence,
            is_given: place.is_some(),
            has_moved: self.has_moved,
            words,
        }
    }
}

/// The world at the turn of a command.
struct Turn<'a> {
    oracle: &'a Oracle,
    /// The slots of the entities that it named at the start of the stage.
    named: BTreeSet<u32>,
}

impl Oracle {
    pub(super) fn is_atomic(&self, kind: u16) -> bool {
        self.script(kind)
            .is_some_and(|script| script.atomic.is_some())
    }

    /// Gives each atomic command its turn, those that waited first.
    pub(super) fn take_turns(
        &mut self,
        judged: Vec<Command>,
        changed: &mut BTreeSet<u32>,
        out: &mut OracleOutput,
    ) {
        let mut order = vec![];
        for waiting in std::mem::take(&mut self.deferred) {
            let command = &waiting.command;
            if !self.is_atomic(command.kind) || !self.is_well_formed(command) {
                out.counts.malformed += 1;
            } else if self.has_actor(command) && !self.is_alive(command.entity) {
                out.counts.stale += 1;
                self.refuse(command, Refusal::Dead, out);
            } else {
                order.push(waiting);
            }
        }
        order.extend(judged.into_iter().map(|command| Waiting {
            command,
            has_moved: false,
        }));
        let now = order.len().min(self.config.limits.atomic_per_tick as usize);
        let rest = order.split_off(now);
        let named: Vec<_> = order.iter().map(|w| self.named_by(&w.command)).collect();
        let merged: Vec<Vec<i32>> = self.slots.iter().map(|slot| slot.row.clone()).collect();
        let mut writers = BTreeMap::new();
        let mut later = vec![];
        for (waiting, named) in order.into_iter().zip(named) {
            let script = self.script(waiting.command.kind).cloned();
            let script = script.expect("it was judged");
            let command = &waiting.command;
            let turn = Turn {
                oracle: self,
                named,
            };
            let ran = match self.run_script_in(&turn, &script, command) {
                Ok(ran) => ran,
                Err((NoEffect::Moved, _)) if !waiting.has_moved => {
                    self.deferred.push(Waiting {
                        has_moved: true,
                        ..waiting
                    });
                    continue;
                }
                Err((why, said)) => {
                    let mut because = None;
                    let reason = match why {
                        NoEffect::Refused => {
                            because = said;
                            out.counts.atomic_refused += 1;
                            Refusal::Unmet
                        }
                        NoEffect::Moved => {
                            out.counts.atomic_moved += 1;
                            Refusal::Moved
                        }
                        NoEffect::Overrun => {
                            out.counts.over_budget += 1;
                            *out.over_budget.entry(command.kind).or_default() += 1;
                            Refusal::BeyondLimits
                        }
                    };
                    self.refuse_because(command, reason, because, out);
                    continue;
                }
            };
            out.counts.applied += 1;
            if ran.missed {
                *out.out_of_range.entry(command.kind).or_default() += 1;
            }
            if ran.writes.is_empty() && ran.later.is_empty() && ran.notifications.is_empty() {
                self.refuse_because(command, Refusal::Idle, ran.reason, out);
            }
            let actor = match self.has_actor(command) {
                true => command.entity,
                false => EntityId::NONE,
            };
            for (slot, column, value) in ran.writes {
                self.slots[slot as usize].row[column] = value;
                writers.insert((slot, column as u16), (command.kind, actor.slot.0));
            }
            let notifications = ran.notifications.into_iter();
            out.notifications
                .extend(notifications.map(|raw| self.notification_of(raw)));
            later.extend(ran.later);
        }
        self.deferred.extend(rest);
        out.counts.atomic_deferred = self.deferred.len() as u64;
        let room = self.config.limits.commands_per_tick as usize;
        for lost in self.deferred.split_off(room.min(self.deferred.len())) {
            out.counts.commands_dropped += 1;
            self.refuse(&lost.command, Refusal::BeyondLimits, out);
        }
        for command in later {
            self.schedule(command, &mut out.counts);
        }
        for (slot, before) in merged.into_iter().enumerate() {
            self.note_changes(slot as u32, &before, &writers, changed, out);
        }
        out.counts.changes = out.changes.len() as u64;
    }

    /// Notes the attributes of an entity that have another value than before the stage.
    fn note_changes(
        &self,
        slot: u32,
        before: &[i32],
        writers: &BTreeMap<(u32, u16), (u16, u32)>,
        changed: &mut BTreeSet<u32>,
        out: &mut OracleOutput,
    ) {
        let axes = self.config.schema.world.size.len();
        for (column, &before) in before.iter().enumerate() {
            let now = self.slots[slot as usize].row[column];
            if now == before {
                continue;
            }
            let key = (slot, column as u16);
            out.changes.insert(key, now);
            out.causes.insert(key, writers[&key]);
            let is_told_as_course = self.config.motion.is_some() && column < axes;
            let audience = self.config.schema.attributes[column].audience;
            if audience != Audience::Hidden && !is_told_as_course {
                changed.insert(slot);
            }
        }
    }

    /// The entities that a command names now.
    fn named_by(&self, command: &Command) -> BTreeSet<u32> {
        let script = self.script(command.kind).expect("it was judged");
        let keys = script.atomic.as_ref().expect("it is atomic");
        let mut named: Vec<Option<u32>> = vec![];
        for key in keys.paths() {
            named.push(match *key {
                Key::Actor => Some(command.entity.slot.0),
                Key::Word(word) => self.slot_of(command.words[usize::from(word)]),
                Key::Shared(reference) => self.slot_of(reference),
                Key::First(kind) => World::nth(self, kind, 0).map(|slot| slot.0),
                Key::Of(of, column) => {
                    let of = named[usize::from(of)].map(Slot);
                    let of = of.filter(|&of| World::has(self, of, column.into()));
                    of.and_then(|of| self.slot_of(World::attribute(self, of, column.into())))
                }
            });
        }
        named.into_iter().flatten().collect()
    }
}

impl World for Turn<'_> {
    fn attribute(&self, slot: Slot, column: usize) -> i32 {
        self.oracle.attribute(slot, column)
    }

    fn generation(&self, slot: Slot) -> Option<u32> {
        self.oracle.generation(slot)
    }

    fn kind(&self, slot: Slot) -> u16 {
        self.oracle.kind(slot)
    }

    fn has(&self, slot: Slot, column: usize) -> bool {
        World::has(self.oracle, slot, column)
    }

    fn bounds(&self, slot: Slot, column: usize) -> (i32, i32) {
        self.oracle.bounds(slot, column)
    }

    fn is_key(&self, slot: Slot) -> bool {
        self.named.contains(&slot.0)
    }

    fn past(&self, slot: Slot, axis: usize, tick: i32) -> i32 {
        World::past(self.oracle, slot, axis, tick)
    }

    fn layer(&self, place: i32) -> i32 {
        World::layer(self.oracle, place)
    }

    fn field(&self, place: i32) -> i32 {
        World::field(self.oracle, place)
    }

    fn count(&self, kind: u16) -> u32 {
        World::count(self.oracle, kind)
    }

    fn nth(&self, kind: u16, place: u32) -> Option<Slot> {
        World::nth(self.oracle, kind, place)
    }

    fn held(&self, relation: u8, holder: Slot, place: u32) -> Option<Slot> {
        World::held(self.oracle, relation, holder, place)
    }

    fn rank(&self, ranking: u16, slot: Slot) -> u32 {
        self.oracle.rank(ranking, slot)
    }

    fn ranked(&self, ranking: u16, place: u32) -> Option<Slot> {
        self.oracle.ranked(ranking, place)
    }

    fn near(&self, center: [i32; 3], radius: i32, slots: &mut Vec<u32>) {
        World::near(self.oracle, center, radius, slots);
    }
}
