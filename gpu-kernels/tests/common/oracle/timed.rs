use gpu_kernels::{Counts, Frame, SlotState, TimedCommand};
use shared::{EntityId, Tick};

use super::commands::{BURN, Request, SPAWN};
use super::{Oracle, OracleOutput};

/// A command for a later tick: how many ticks later, and what.
pub type Later = (u32, Request);

impl Oracle {
    /// Takes what is due out of what waits: what was scheduled first comes first.
    pub(super) fn due(&mut self) -> Vec<Request> {
        let mut due = vec![];
        let mut waiting = vec![];
        for timed in self.timed.drain(..) {
            match timed.due == self.tick {
                true => due.push(Request {
                    entity: timed.entity,
                    kind: timed.kind,
                    words: timed.words[..usize::from(timed.word_count)].to_vec(),
                }),
                false => waiting.push(timed),
            }
        }
        self.timed = waiting;
        due
    }

    /// What the server puts off.
    pub(super) fn put_off(&mut self, frame: &Frame, counts: &mut Counts) {
        for after in &frame.after {
            let command = after.command;
            let start = command.word_start as usize;
            let words = frame.words[start..start + usize::from(command.word_count)].to_vec();
            let request = Request {
                entity: command.entity,
                kind: command.kind,
                words,
            };
            self.schedule((after.ticks, request), counts);
        }
    }

    pub(super) fn schedule(&mut self, (ticks, request): Later, counts: &mut Counts) {
        if self.timed.len() == self.config.limits.timed_commands as usize {
            counts.timed_dropped += 1;
            return;
        }
        let mut words = [0; 5];
        for (word, &given) in words.iter_mut().zip(&request.words) {
            *word = given;
        }
        self.timed.push(TimedCommand {
            due: Tick((u64::from(self.tick.0) + u64::from(ticks)) as u32),
            sequence: self.next_sequence,
            entity: request.entity,
            kind: request.kind,
            word_count: request.words.len() as u16,
            words,
        });
        self.next_sequence += 1;
    }

    /// Embers at a point in the world, from the next tick on.
    pub(super) fn embers(&self, center: [i32; 3], ticks: i32) -> Vec<Later> {
        if ticks < 1 {
            return vec![];
        }
        let mut words = center[..self.config.schema.world.size.len()].to_vec();
        words.push(ticks);
        let request = Request {
            entity: EntityId::NONE,
            kind: BURN,
            words,
        };
        vec![(1, request)]
    }

    /// Those of kinds that respawn who have no hit points left die, and are born
    /// anew later; players by the server's command.
    pub(super) fn fall(&mut self, out: &mut OracleOutput) -> Vec<EntityId> {
        let mut fallen = vec![];
        for entity in self.alive() {
            let slot = &self.slots[entity.slot.index()];
            let kind = usize::from(slot.kind);
            let ticks = self.config.respawn_ticks[kind];
            if ticks == 0 {
                continue;
            }
            let hp = self.hp().unwrap();
            let attributes = &self.config.schema.kinds[kind].attributes;
            let own = attributes.iter().find(|a| usize::from(a.column) == hp);
            if slot.row[hp] != own.unwrap().min {
                continue;
            }
            self.tell_of_fall(entity, out);
            fallen.push(entity);
            if kind == usize::from(self.config.player_kind) {
                continue;
            }
            let birth = Request {
                entity: EntityId::NONE,
                kind: SPAWN,
                words: vec![kind as i32, -1],
            };
            self.schedule((ticks, birth), &mut out.counts);
        }
        for entity in &fallen {
            let slot = &mut self.slots[entity.slot.index()];
            slot.state = SlotState::Resting;
            slot.kind = 0;
            slot.row.fill(0);
        }
        fallen
    }
}
