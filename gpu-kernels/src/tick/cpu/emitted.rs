//! What commands that run hand over besides changes.

use script::interpreter::Outgoing;
use script::native::Host;
use shared::{EntityId, NotificationKind, Tick};

use super::Index;
use crate::notification::Notification;
use crate::space::Area;
use crate::tick::timed::TimedCommand;

/// The timed commands and notifications of the commands that one thread runs.
pub struct Emitted<'a> {
    pub tick: Tick,
    pub dimensions: usize,
    /// Where they look around; `None`: they don't.
    pub index: Option<&'a Index>,
    pub after: Vec<TimedCommand>,
    pub notifications: Vec<Notification>,
}

impl Emitted<'_> {
    /// How many there are of each.
    pub fn marks(&self) -> (usize, usize) {
        (self.after.len(), self.notifications.len())
    }

    pub fn drop_after(&mut self, (after, notifications): (usize, usize)) {
        self.after.truncate(after);
        self.notifications.truncate(notifications);
    }
}

impl Host for Emitted<'_> {
    fn near(&mut self, center: [i32; 3], radius: i32, slots: &mut Vec<u32>) {
        if let Some(index) = self.index {
            index.near(center, radius, slots);
        }
    }
}

impl Outgoing for Emitted<'_> {
    fn after(&mut self, ticks: u32, entity: EntityId, kind: u16, words: &[i32]) {
        let due = self.tick.after(ticks);
        self.after.push(TimedCommand::new(due, entity, kind, words));
    }

    fn notify(
        &mut self,
        kind: u16,
        source: EntityId,
        area: Option<([i32; 3], i32)>,
        words: &[i32],
    ) {
        let area = area.map(|(center, distance)| Area::around(center, distance, self.dimensions));
        let kind = NotificationKind(kind);
        self.notifications
            .push(Notification::new(kind, source, area, words));
    }
}
