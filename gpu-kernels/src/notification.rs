//! Notifications: events of a tick besides changes.

use serde::{Deserialize, Serialize};
use shared::world::notification::NOTIFICATION_WORDS_MAX;
use shared::{EntityId, NotificationKind};

use crate::space::Area;

/// A notification of something that happened in a tick. It reaches clients by place or by
/// subscription.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
#[repr(C)]
pub struct Notification {
    /// The entity it is about, which may have died in the tick; [`EntityId::NONE`] for none.
    pub source: EntityId,
    /// The number of a [`NotificationKind`].
    pub kind: u16,
    word_count: u8,
    has_area: u8,
    low: [i32; 3],
    high: [i32; 3],
    /// What is behind those that are there means nothing.
    words: [i32; NOTIFICATION_WORDS_MAX],
}

const _: () = assert!(size_of::<Notification>() == 68);

device::plain!(Notification {
    source: EntityId,
    kind: u16,
    word_count: u8,
    has_area: u8,
    low: [i32; 3],
    high: [i32; 3],
    words: [i32; NOTIFICATION_WORDS_MAX],
});

device::describe_struct! {
    /// Something that happened; `word_count` of its words are there.
    Notification {
        slot: u32 = source.slot;
        generation: u32 = source.generation;
        kind: u16 = kind;
        word_count: u8 = word_count;
        has_area: u8 = has_area;
        low: [i32; 3] = low;
        high: [i32; 3] = high;
        words: [i32; NOTIFICATION_WORDS_MAX] = words;
    }
}

impl PartialEq for Notification {
    fn eq(&self, other: &Notification) -> bool {
        let parts = |n: &Notification| (n.source, n.kind, n.has_area, n.low, n.high);
        parts(self) == parts(other) && self.words() == other.words()
    }
}

impl Eq for Notification {}

impl Notification {
    /// `words` has at most [`NOTIFICATION_WORDS_MAX`] entries.
    pub fn new(
        kind: NotificationKind,
        source: EntityId,
        area: Option<Area>,
        words: &[i32],
    ) -> Notification {
        let mut all = [0; NOTIFICATION_WORDS_MAX];
        all[..words.len()].copy_from_slice(words);
        Notification {
            source,
            kind: kind.id(),
            word_count: words.len() as u8,
            has_area: u8::from(area.is_some()),
            low: area.unwrap_or_default().low,
            high: area.unwrap_or_default().high,
            words: all,
        }
    }

    /// The area of its hearings; `None` if it can only be subscribed to.
    pub fn area(&self) -> Option<Area> {
        (self.has_area != 0).then_some(Area {
            low: self.low,
            high: self.high,
        })
    }

    /// The values of its fields, in the order of the schema.
    pub fn words(&self) -> &[i32] {
        &self.words[..usize::from(self.word_count)]
    }
}
