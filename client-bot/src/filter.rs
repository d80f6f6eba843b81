//! Filters that bots subscribe to and can evaluate themselves, with none of the server's
//! code for predicates.

use client_core::NoticeBody;
use shared::world::attribute::AttributeType;
use shared::{Audience, EntityId, NotificationKind, Schema};

/// Selects some events. A condition that is `None` holds for all of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Filter {
    /// Changes of an attribute.
    Change {
        column: u16,
        /// The entity's kind: an index into the schema's kinds.
        kind: Option<u16>,
        old_below: Option<i32>,
        new_below: Option<i32>,
    },
    /// Notifications of one kind.
    Notification {
        kind: NotificationKind,
        /// A bound of its first field, if that is a whole number.
        word_below: Option<i32>,
    },
}

impl Filter {
    /// Some filters that can match in a world, for attributes that clients are sent
    /// reliably.
    pub fn all(schema: &Schema) -> Vec<Filter> {
        let mut all = vec![];
        for column in 0..schema.attributes.len() {
            let audience = schema.attributes[column].audience;
            // Changes of numbers of 64 bits are no events.
            let is_half = schema.attributes[column].ty.is_half();
            if matches!(audience, Audience::State | Audience::Private) && !is_half {
                all.extend(Filter::of_changes(schema, column as u16));
            }
        }
        for notification in &schema.notifications {
            let kind = notification.kind;
            let bounds = match notification.fields.first() {
                Some(first) if first.ty == AttributeType::I32 => vec![None, Some(SOME_NUMBER)],
                _ => vec![None],
            };
            let filter = |word_below| Filter::Notification { kind, word_below };
            all.extend(bounds.into_iter().map(filter));
        }
        all
    }

    fn of_changes(schema: &Schema, column: u16) -> Vec<Filter> {
        let change = |kind, old_below, new_below| Filter::Change {
            column,
            kind,
            old_below,
            new_below,
        };
        let mut all = vec![change(None, None, None)];
        for (kind, own) in schema.kinds.iter().enumerate() {
            let own = own.attributes.iter().find(|a| a.column == column);
            let Some(own) = own else { continue };
            let kind = Some(kind as u16);
            all.push(change(kind, None, None));
            if schema.attributes[usize::from(column)].ty == AttributeType::I32 {
                let middle = i64::midpoint(i64::from(own.min), i64::from(own.max)) as i32;
                all.push(change(kind, Some(middle), None));
                all.push(change(None, None, Some(own.default)));
                all.push(change(None, Some(own.default), Some(own.default)));
            }
        }
        all
    }

    /// The predicate that the server reads.
    pub fn text(&self, schema: &Schema) -> String {
        match self {
            Filter::Change {
                column,
                kind,
                old_below,
                new_below,
            } => {
                let name = &schema.attributes[usize::from(*column)].name;
                let mut text = format!("attribute == {name:?}");
                for (name, below) in [("old", old_below), ("new", new_below)] {
                    if let Some(below) = below {
                        text += &format!(" && {name} < {below}");
                    }
                }
                if let Some(kind) = kind {
                    text += &format!(" && kind == {:?}", schema.kinds[usize::from(*kind)].name);
                }
                text
            }
            Filter::Notification { kind, word_below } => {
                let notification = schema.notification(*kind);
                let name = notification.map_or("", |n| &n.name);
                let first = notification.and_then(|n| n.fields.first());
                match (first, word_below) {
                    (Some(field), Some(below)) => {
                        format!("event == {name:?} && {name}.{} < {below}", field.name)
                    }
                    _ => format!("event == {name:?}"),
                }
            }
        }
    }

    /// Whether it matches an event, for a client whose own entity is `own`: changes of
    /// private attributes match only if they are its own entity's.
    pub fn matches(&self, body: &NoticeBody, own: EntityId, schema: &Schema) -> bool {
        match (self, body) {
            (
                Filter::Change {
                    column,
                    kind,
                    old_below,
                    new_below,
                },
                NoticeBody::Change {
                    entity,
                    kind: found_kind,
                    column: found_column,
                    old,
                    new,
                    ..
                },
            ) => {
                let audience = schema.attributes[usize::from(*column)].audience;
                column == found_column
                    && kind.is_none_or(|kind| kind == *found_kind)
                    && old_below.is_none_or(|below| *old < below)
                    && new_below.is_none_or(|below| *new < below)
                    && (audience != Audience::Private || *entity == own)
            }
            (
                Filter::Notification { kind, word_below },
                NoticeBody::Notification {
                    kind: found, words, ..
                },
            ) => kind == found && word_below.is_none_or(|below| words[0] < below),
            _ => false,
        }
    }
}

/// A bound that divides the numbers of shouts.
pub const SOME_NUMBER: i32 = 500;
