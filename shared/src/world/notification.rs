//! The built-in notifications: what the world's logic tells besides changes.
//!
//! A notification says that something happened, to whom and, where it can be heard,
//! in which area. It is no part of any view: whoever hears it or subscribed to it is
//! told once.

use serde::{Deserialize, Serialize};

use super::attribute::AttributeType;

/// The kinds of notification that worlds know.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[repr(u16)]
pub enum NotificationKind {
    /// A blast, heard wider than it hurts: `commands.blast.sound` along each axis from
    /// its centre, which its words tell. Of whoever blasted.
    Blast = 0,
    /// An entity that respawns has no hit points left. Of the fallen, at its place,
    /// with its kind.
    Fall = 1,
    /// An item has a new owner. Of the owner, at the item's place, with the item.
    Pick = 2,
    /// What a client announces with the command of this name.
    Shout = 3,
}

/// One word of a notification.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NotificationField {
    pub name: String,
    pub ty: AttributeType,
}

/// One notification as clients must read it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NotificationSchema {
    pub kind: NotificationKind,
    pub name: String,
    /// Its words, in order.
    pub fields: Vec<NotificationField>,
}

/// The most words that a notification has.
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

    /// Its words in a world of `dimensions` axes: names and types.
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

    /// As clients must read it.
    pub fn schema(self, dimensions: usize) -> NotificationSchema {
        NotificationSchema {
            kind: self,
            name: self.name().to_owned(),
            fields: self.fields(dimensions),
        }
    }
}
