//! What listening bots subscribe to: predicates that they can also judge by
//! themselves, without anything that the server judges by.

use shared::schema::AttributeType;
use shared::{Audience, EntityId, Schema};

/// A conjunction; what is `None` may be anything.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wish {
    pub about: About,
    /// The kind of the entity, or of the source: an index into the schema's.
    pub kind: Option<u16>,
}

/// What a wish is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum About {
    /// An attribute's changes, to a value in a range and from a value in a range.
    Change {
        column: u16,
        old_below: Option<i32>,
        new_below: Option<i32>,
    },
}

/// A change of an attribute, as the owner of the entity was told of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Change {
    pub entity: EntityId,
    pub kind: u16,
    pub column: u16,
    pub old: i32,
    pub new: i32,
}

impl Wish {
    /// Some wishes that can come true in a world: about changes of attributes that
    /// clients are told of reliably.
    pub fn all(schema: &Schema) -> Vec<Wish> {
        let mut all = vec![];
        for (column, attribute) in schema.attributes.iter().enumerate() {
            if !matches!(attribute.audience, Audience::State | Audience::Private) {
                continue;
            }
            let column = column as u16;
            let change = |old_below, new_below| About::Change {
                column,
                old_below,
                new_below,
            };
            let mut push = |about, kind| all.push(Wish { about, kind });
            push(change(None, None), None);
            for (kind, own) in schema.kinds.iter().enumerate() {
                let own = own.attributes.iter().find(|a| a.column == column);
                let Some(own) = own else { continue };
                push(change(None, None), Some(kind as u16));
                if attribute.ty == AttributeType::I32 {
                    let middle = i64::midpoint(i64::from(own.min), i64::from(own.max)) as i32;
                    push(change(Some(middle), None), Some(kind as u16));
                    push(change(None, Some(own.default)), None);
                    push(change(Some(own.default), Some(own.default)), None);
                }
            }
        }
        all
    }

    /// As the server reads it.
    pub fn text(&self, schema: &Schema) -> String {
        let mut text = match &self.about {
            About::Change {
                column,
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
                text
            }
        };
        if let Some(kind) = self.kind {
            text += &format!(" && kind == {:?}", schema.kinds[usize::from(kind)].name);
        }
        text
    }

    /// Whether it holds for a change of somebody's entity, for a client whose own
    /// entity is `own`.
    pub fn holds(&self, change: &Change, own: EntityId, schema: &Schema) -> bool {
        let About::Change {
            column,
            old_below,
            new_below,
        } = &self.about;
        let is_private =
            schema.attributes[usize::from(change.column)].audience == Audience::Private;
        change.column == *column
            && self.kind.is_none_or(|kind| change.kind == kind)
            && old_below.is_none_or(|below| change.old < below)
            && new_below.is_none_or(|below| change.new < below)
            && (!is_private || change.entity == own)
    }
}
