//! How often clients use commands, and which of them had no effect.

use gpu_kernels::RefusedCommand;
use shared::{CommandSchema, EntityId, Refusal, Tick};

use super::commands::Command;
use super::{Oracle, OracleOutput};

impl Oracle {
    /// The form of a command that a client gave.
    fn clients_form(&self, command: &Command) -> Option<&CommandSchema> {
        let mut all = self.config.schema.commands.iter();
        let form = all.find(|form| form.kind.id() == command.kind)?;
        (command.place.is_some() && form.senders.clients).then_some(form)
    }

    /// Whether a client has given a command as often in the tick as it may. Before it, the frame
    /// has these of all entities; those of its own come one after another.
    pub(super) fn is_surplus(&self, command: &Command, before: &[(EntityId, u16)]) -> bool {
        let Some(form) = self.clients_form(command) else {
            return false;
        };
        let mut same = 0;
        for &(entity, kind) in before.iter().rev() {
            if entity != command.entity {
                break;
            }
            if kind == command.kind {
                same += 1;
            }
        }
        form.per_tick > 0 && same >= usize::from(form.per_tick)
    }

    /// Whether a client's command rests after its last use.
    pub(super) fn rests(&self, command: &Command) -> bool {
        let form = self.clients_form(command);
        let Some(form) = form.filter(|form| form.cooldown > 0) else {
            return false;
        };
        let used = &self.slots[command.entity.slot.index()].used;
        let used = used.get(&command.kind);
        used.is_some_and(|used| self.tick.0 < used.0 + u64::from(form.cooldown))
    }

    /// Notes the uses of commands that rest.
    pub(super) fn use_commands(&mut self, commands: &[Command]) {
        for command in commands {
            let form = self.clients_form(command);
            if form.is_some_and(|form| form.cooldown > 0) {
                let used = &mut self.slots[command.entity.slot.index()].used;
                used.insert(command.kind, self.tick);
            }
        }
    }

    /// A command had no effect: its client is to know.
    pub(super) fn refuse(&self, command: &Command, reason: Refusal, out: &mut OracleOutput) {
        self.refuse_because(command, reason, None, out);
    }

    /// Likewise, with what its script says of that.
    pub(super) fn refuse_because(
        &self,
        command: &Command,
        reason: Refusal,
        because: Option<u8>,
        out: &mut OracleOutput,
    ) {
        if self.clients_form(command).is_some() {
            out.refused.push(RefusedCommand {
                entity: command.entity,
                sequence: command.sequence,
                reason,
                because,
            });
            out.refused.sort();
        }
    }

    /// By slot and command that rests: when it may be used again.
    pub(super) fn ready(&self) -> Vec<Tick> {
        let mut ready = vec![];
        for slot in &self.slots {
            for form in &self.config.schema.commands {
                if form.cooldown > 0 {
                    let used = slot.used.get(&form.kind.id());
                    let next = used.map(|used| Tick(used.0 + u64::from(form.cooldown)));
                    ready.push(next.unwrap_or(Tick(0)));
                }
            }
        }
        ready
    }
}
