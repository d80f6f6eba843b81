//! Notifications: their numbers, and their form in a world's schema.
//!
//! A notification says that something happened in a tick, to which entity, and in which
//! area it can be heard. It is not part of any view: each client that hears it or has
//! subscribed to it is sent it once.

use serde::{Deserialize, Serialize};

use super::attribute::AttributeType;

/// The number of a notification. The schema of a world says which ones can happen in it,
/// and their names; the engine itself emits only two.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct NotificationKind(pub u16);

impl NotificationKind {
    /// An entity of a kind that respawns has fallen. Source: the entity. Words: its kind.
    /// It is heard at its position.
    pub const FALL: NotificationKind = NotificationKind(0);
    /// An item has a new owner. Source: the owner. Words: the item. It is heard at the
    /// item's position.
    pub const PICKED: NotificationKind = NotificationKind(1);

    pub const fn id(self) -> u16 {
        self.0
    }
}

/// The form of a notification, as clients decode it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NotificationSchema {
    pub kind: NotificationKind,
    pub name: String,
    /// Its words, in order; at most [`NOTIFICATION_WORDS_MAX`].
    pub fields: Vec<NotificationField>,
}

/// One word of a notification.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NotificationField {
    pub name: String,
    pub ty: AttributeType,
}

impl NotificationSchema {
    /// [`NotificationKind::FALL`].
    pub fn fall() -> NotificationSchema {
        NotificationSchema {
            kind: NotificationKind::FALL,
            name: "fall".to_owned(),
            fields: vec![NotificationField::new("kind", AttributeType::I32)],
        }
    }

    /// [`NotificationKind::PICKED`].
    pub fn picked() -> NotificationSchema {
        NotificationSchema {
            kind: NotificationKind::PICKED,
            name: "pick".to_owned(),
            fields: vec![NotificationField::new("item", AttributeType::Entity)],
        }
    }
}

impl NotificationField {
    pub fn new(name: &str, ty: AttributeType) -> NotificationField {
        NotificationField {
            name: name.to_owned(),
            ty,
        }
    }
}

/// Notifications are numbered below this.
pub const NOTIFICATIONS_MAX: usize = 64;
/// The most words of a notification.
pub const NOTIFICATION_WORDS_MAX: usize = 8;
