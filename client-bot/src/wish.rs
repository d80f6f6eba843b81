//! What listening bots subscribe to: predicates that they can also judge by
//! themselves, without anything that the server judges by.

use shared::schema::AttributeType;
use shared::wire::notice::What;
use shared::{Audience, EntityId, NotificationKind, Schema};

/// Something that a bot wants to hear of. What is `None` may be anything.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Wish {
    /// An attribute's changes.
    Change {
        column: u16,
        /// The kind of the entity: an index into the schema's.
        kind: Option<u16>,
        old_below: Option<i32>,
        new_below: Option<i32>,
    },
    /// Notifications of a kind.
    Notification {
        kind: NotificationKind,
        /// Of its first field, where that is a whole number.
        word_below: Option<i32>,
    },
}

impl Wish {
    /// Some wishes that can come true in a world: of what clients are told reliably.
    pub fn all(schema: &Schema) -> Vec<Wish> {
        let mut all = vec![];
        for column in 0..schema.attributes.len() {
            let audience = schema.attributes[column].audience;
            if matches!(audience, Audience::State | Audience::Private) {
                all.extend(Wish::of_changes(schema, column as u16));
            }
        }
        for notification in &schema.notifications {
            let kind = notification.kind;
            let bounds = match notification.fields.first() {
                Some(first) if first.ty == AttributeType::I32 => vec![None, Some(SOME_NUMBER)],
                _ => vec![None],
            };
            let wish = |word_below| Wish::Notification { kind, word_below };
            all.extend(bounds.into_iter().map(wish));
        }
        all
    }

    fn of_changes(schema: &Schema, column: u16) -> Vec<Wish> {
        let wish = |kind, old_below, new_below| Wish::Change {
            column,
            kind,
            old_below,
            new_below,
        };
        let mut all = vec![wish(None, None, None)];
        for (kind, own) in schema.kinds.iter().enumerate() {
            let own = own.attributes.iter().find(|a| a.column == column);
            let Some(own) = own else { continue };
            let kind = Some(kind as u16);
            all.push(wish(kind, None, None));
            if schema.attributes[usize::from(column)].ty == AttributeType::I32 {
                let middle = i64::midpoint(i64::from(own.min), i64::from(own.max)) as i32;
                all.push(wish(kind, Some(middle), None));
                all.push(wish(None, None, Some(own.default)));
                all.push(wish(None, Some(own.default), Some(own.default)));
            }
        }
        all
    }

    /// As the server reads it.
    pub fn text(&self, schema: &Schema) -> String {
        match self {
            Wish::Change {
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
            Wish::Notification { kind, word_below } => {
                let name = kind.name();
                let notification = schema.notification(*kind);
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

    /// Whether it holds for what happened, for a client whose own entity is `own`:
    /// of private attributes it hears only about itself.
    pub fn holds(&self, what: &What, own: EntityId, schema: &Schema) -> bool {
        match (self, what) {
            (
                Wish::Change {
                    column,
                    kind,
                    old_below,
                    new_below,
                },
                What::Change {
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
                Wish::Notification { kind, word_below },
                What::Notification {
                    kind: found, words, ..
                },
            ) => kind == found && word_below.is_none_or(|below| words[0] < below),
            _ => false,
        }
    }
}

/// Some shouts are below it, and some are not.
pub const SOME_NUMBER: i32 = 500;
