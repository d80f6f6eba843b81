//! Notifications: what happens besides changes.

use gpu_kernels::{Area, Notification};
use script::builtin;
use shared::{EntityId, NotificationKind};

use super::commands::{BLAST, Command, SHOUT, reference};
use super::{Oracle, OracleOutput};

impl Oracle {
    /// Adds notifications of blasts and shouts, in command order.
    pub(super) fn notify_of_commands(&self, commands: &[Command], out: &mut OracleOutput) {
        for command in commands {
            out.notifications.extend(self.notifications_of(command));
        }
    }

    /// A command's notifications.
    pub(super) fn notifications_of(&self, command: &Command) -> Vec<Notification> {
        let axes = self.config.schema.world.size.len();
        let rules = &self.rules;
        let source = command.entity;
        if let Some(script) = self.script(command.kind) {
            let ran = self.run_script(script, command);
            let sent = ran.expect("it is within its budget").notifications;
            return sent
                .into_iter()
                .map(|raw| self.notification_of(raw))
                .collect();
        }
        let (kind, area, words) = match command.kind {
            BLAST if rules.blast_sound.raw() > 0 && self.in_blast_reach(command) => {
                let center = self.point(&command.words);
                let area = self.area(center, rules.blast_sound.raw());
                (builtin::BLAST_NOTIFICATION, area, center[..axes].to_vec())
            }
            SHOUT => {
                let radius = command.words[0].max(0).min(rules.shout_radius_max.raw());
                let area = self.area(self.position(source.slot.0), radius);
                let words = command.words[1..].to_vec();
                (builtin::SHOUT_NOTIFICATION, area, words)
            }
            _ => return vec![],
        };
        vec![Notification::new(kind, source, Some(area), &words)]
    }

    /// Adds notifications of items with a new owner, by slot. Dying entities still live here.
    pub(super) fn notify_of_picks(&self, out: &mut OracleOutput) {
        let Some(column) = self.config.tells_owner.map(usize::from) else {
            return;
        };
        let audience = self.config.schema.attributes[column].audience;
        let is_public = [shared::Audience::State, shared::Audience::Movement].contains(&audience);
        if self.config.limits.notifications_per_tick == 0 || !is_public {
            return;
        }
        for (&(slot, changed), &value) in &out.changes {
            let Some(owner) = self
                .slot_of(value)
                .filter(|_| usize::from(changed) == column)
            else {
                continue;
            };
            let id = |slot: u32| EntityId::new(slot, self.slots[slot as usize].generation);
            let area = self.area(self.position(slot), 0);
            let words = [reference(id(slot))];
            out.notifications.push(Notification::new(
                NotificationKind::PICKED,
                id(owner),
                Some(area),
                &words,
            ));
        }
    }

    /// Adds the notification that an entity falls, before it is removed.
    pub(super) fn notify_of_fall(&self, entity: EntityId, out: &mut OracleOutput) {
        if self.config.limits.notifications_per_tick == 0 {
            return;
        }
        let kind = i32::from(self.slots[entity.slot.index()].kind);
        let area = self.area(self.position(entity.slot.0), 0);
        out.notifications.push(Notification::new(
            NotificationKind::FALL,
            entity,
            Some(area),
            &[kind],
        ));
    }

    /// Keeps the first notifications, as many as there is room for.
    pub(super) fn cut_notifications(&self, out: &mut OracleOutput) {
        let wanted = out.notifications.len();
        let room = self.config.limits.notifications_per_tick as usize;
        out.notifications.truncate(room);
        out.counts.notifications = out.notifications.len() as u64;
        out.counts.notifications_dropped = (wanted - out.notifications.len()) as u64;
    }

    /// The box of all points at most this far from the center along each axis.
    pub(super) fn area(&self, center: [i32; 3], distance: i32) -> Area {
        let axes = self.config.schema.world.size.len();
        let (mut low, mut high) = (vec![], vec![]);
        for &at in &center[..axes] {
            low.push(at - distance);
            high.push(at + distance + 1);
        }
        low.resize(3, 0);
        high.resize(3, 1);
        Area {
            low: low.try_into().unwrap(),
            high: high.try_into().unwrap(),
        }
    }
}
