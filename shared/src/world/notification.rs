//! The built-in notifications.
//!
//! A notification says that something happened in a tick, to which entity, and in which
//! area it can be heard. It is not part of any view: each client that hears it or has
//! subscribed to it is told once.

use serde::{Deserialize, Serialize};

use super::attribute::AttributeType;

/// The kinds of notification.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[repr(u16)]
pub enum NotificationKind {
    /// A blast. Source: the entity that gave the command. Words: the centre. It is heard
    /// within `commands.blast.sound` of the centre along each axis.
    Blast = 0,
    /// An entity of a kind that respawns has no hit points left. Source: the entity.
    /// Words: its kind. It is heard at its position.
    Fall = 1,
    /// An item has a new owner. Source: the owner. Words: the item. It is heard at the
    /// item's position.
    Pick = 2,
    /// A shout. Source: the entity that gave the command. Words: its number.
    Shout = 3,
}

/// One word of a notification.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NotificationField {
    pub name: String,
    pub ty: AttributeType,
}

/// The form of a notification, as clients decode it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NotificationSchema {
    pub kind: NotificationKind,
    pub name: String,
    /// Its words, in order.
    pub fields: Vec<NotificationField>,
}

/// The most words of a notification.
pub const NOTIFICATION_WORDS_MAX: usize = 4;

impl NotificationKind {
    pub const ALL: [NotificationKind; 4] = [
        NotificationKind::Blast,
        NotificationKind::Fall,
        NotificationKind::Pick,
        NotificationKind::Shout,
    ];

    pub const fn from_id(id: u16) -> Option<NotificationKind> {
        if (id as usize) < Self::ALL.len() {
            Some(Self::ALL[id as usize])
        } else {
            None
        }
    }

    pub const fn id(self) -> u16 {
        self as u16
    }

    pub const fn name(self) -> &'static str {
        match self {
            NotificationKind::Blast => "blast",
            NotificationKind::Fall => "fall",
            NotificationKind::Pick => "pick",
            NotificationKind::Shout => "shout",
        }
    }

    /// The names and types of its words in a world of `dimensions` axes.
    pub fn fields(self, dimensions: usize) -> Vec<NotificationField> {
        let field = |name: &str, ty| NotificationField {
            name: name.to_owned(),
            ty,
        };
        match self {
            NotificationKind::Blast => ["x", "y", "z"][..dimensions]
                .iter()
                .map(|axis| field(axis, AttributeType::Fixed))
                .collect(),
            NotificationKind::Fall => vec![field("kind", AttributeType::I32)],
            NotificationKind::Pick => vec![field("item", AttributeType::Entity)],
            NotificationKind::Shout => vec![field("number", AttributeType::I32)],
        }
    }

    /// Its form in a world of `dimensions` axes.
    pub fn schema(self, dimensions: usize) -> NotificationSchema {
        NotificationSchema {
            kind: self,
            name: self.name().to_owned(),
            fields: self.fields(dimensions),
        }
    }
}
