//! Commands that wait for their tick; the fallen, and their respawns.

use gpu_kernels::{Counts, Frame, SlotState, TimedCommand};
use std::collections::BTreeMap;

use shared::{EntityId, Occasion, Tick};

use super::commands::{BURN, Command, Delayed};
use super::{Movement, Oracle, OracleOutput};

impl Oracle {
    /// Removes this tick's commands from those that wait, in the order in which they were
    /// scheduled.
    pub(super) fn due(&mut self) -> Vec<Command> {
        let mut due = vec![];
        let mut waiting = vec![];
        for timed in self.timed.drain(..) {
            match timed.due == self.tick {
                true => due.push(Command {
                    entity: timed.entity,
                    kind: timed.kind,
                    sequence: timed.sequence as u32,
                    words: timed.words[..usize::from(timed.word_count)].to_vec(),
                    place: None,
                }),
                false => waiting.push(timed),
            }
        }
        self.timed = waiting;
        due
    }

    /// Schedules the frame's commands for later ticks.
    pub(super) fn schedule_from_frame(&mut self, frame: &Frame, counts: &mut Counts) {
        for after in &frame.after {
            let command = after.command;
            let start = command.word_start as usize;
            let words = frame.words[start..start + usize::from(command.word_count)].to_vec();
            let command = Command {
                entity: command.entity,
                kind: command.kind,
                sequence: 0,
                words,
                place: None,
            };
            self.schedule((after.ticks, command), counts);
        }
    }

    /// Schedules a command, if there is room.
    pub(super) fn schedule(&mut self, (ticks, command): Delayed, counts: &mut Counts) {
        if self.timed.len() == self.config.limits.timed_commands as usize {
            counts.timed_dropped += 1;
            return;
        }
        let mut words = [0; 5];
        for (word, &given) in words.iter_mut().zip(&command.words) {
            *word = given;
        }
        self.timed.push(TimedCommand {
            due: Tick(self.tick.0 + u64::from(ticks)),
            sequence: self.next_sequence,
            entity: command.entity,
            kind: command.kind,
            word_count: command.words.len() as u16,
            words,
        });
        self.next_sequence += 1;
    }

    /// Embers at a point in the world, from the next tick on.
    pub(super) fn embers(&self, center: [i32; 3], ticks: i32) -> Vec<Delayed> {
        if ticks < 1 {
            return vec![];
        }
        let mut words = center[..self.config.schema.world.size.len()].to_vec();
        words.push(ticks);
        let command = Command {
            entity: EntityId::NONE,
            kind: BURN,
            sequence: 0,
            words,
            place: None,
        };
        vec![(1, command)]
    }

    /// Kills entities whose kind falls at their value of an attribute. They keep their slots,
    /// except players, of whose rebirth the server takes care.
    /// Those with hooks for it live until these have run.
    pub(super) fn fall(
        &mut self,
        actors: &BTreeMap<(u32, u16), (u16, u32)>,
        out: &mut OracleOutput,
    ) -> Vec<EntityId> {
        let mut fallen = vec![];
        for entity in self.alive() {
            let slot = &self.slots[entity.slot.index()];
            let kind = usize::from(slot.kind);
            let Some(fall) = self.config.falls[kind] else {
                continue;
            };
            let was_falling = slot.due.is_some();
            if slot.row[usize::from(fall.column)] > fall.at && !was_falling {
                continue;
            }
            let has_hooks = (self.config.hooks_of(Occasion::Fall, slot.kind)).count() > 0;
            if has_hooks && !was_falling {
                let kind = slot.kind;
                let changed = out.changes.contains_key(&(entity.slot.0, fall.column));
                let by = match actors.get(&(entity.slot.0, fall.column)) {
                    Some(&(_, actor)) if changed => self.id_of(actor),
                    _ => EntityId::NONE,
                };
                self.slots[entity.slot.index()].due = Some(Tick(self.tick.0 + 1));
                self.give_hooks(Occasion::Fall, entity, kind, by, &mut out.counts);
                continue;
            }
            self.notify_of_fall(entity, out);
            fallen.push((entity, fall.respawn_ticks));
        }
        for &(entity, ticks) in &fallen {
            let slot = &mut self.slots[entity.slot.index()];
            slot.row.fill(0);
            slot.movement = Movement::default();
            slot.past.clear();
            slot.used.clear();
            slot.due = None;
            if slot.kind == self.config.player_kind {
                slot.state = SlotState::Resting;
                slot.kind = 0;
            } else {
                slot.state = SlotState::Fallen;
                slot.due = Some(Tick(self.tick.0 + u64::from(ticks)));
            }
        }
        fallen.into_iter().map(|(entity, _)| entity).collect()
    }

    /// Whether a slot's entity is born again in this tick: it is due, and all clients know
    /// that it fell.
    pub(super) fn is_to_be_born(&self, slot: usize) -> bool {
        let slot = &self.slots[slot];
        slot.state == SlotState::Reserved && slot.due.is_some_and(|due| due <= self.tick)
    }
}
