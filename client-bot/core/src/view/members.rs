//! The other members of the groups of the client's entity, wherever they are, with what they share.

use rustc_hash::FxHashMap;
use shared::wire::members::MemberMessage;
use shared::{AttributeValue, EntityId, Name, Slot};

use super::View;

/// A member of a group of the client's entity. It may be in view, too: then
/// [`View::get`] has it as it is seen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member {
    /// Its slot, and how often that was used.
    pub id: EntityId,
    /// Its player's name.
    pub name: Option<Name>,
    /// The attributes that refer to the groups to which both belong: indices into the schema's.
    pub groups: Vec<u16>,
    /// One value per column of the schema; 0 where it is not shared.
    pub row: Vec<i32>,
    /// The columns that are shared, ascending.
    pub columns: Vec<u16>,
}

/// All members that the server has sent, by slot.
#[derive(Debug, Default)]
pub(super) struct Members(FxHashMap<u32, Member>);

impl Members {
    /// Applies a message, in a world of so many columns.
    pub fn apply(&mut self, message: MemberMessage, columns: usize) {
        match message {
            MemberMessage::Left(slot) => drop(self.0.remove(&slot.0)),
            MemberMessage::Changed { slot, values } => {
                let Some(member) = self.0.get_mut(&slot.0) else {
                    return;
                };
                for (column, value) in values {
                    member.row[usize::from(column)] = value;
                }
            }
            MemberMessage::Member {
                entity,
                groups,
                name,
                values,
            } => {
                let mut row = vec![0; columns];
                for &(column, value) in &values {
                    row[usize::from(column)] = value;
                }
                let member = Member {
                    id: entity,
                    name,
                    groups,
                    row,
                    columns: values.iter().map(|(column, _)| *column).collect(),
                };
                self.0.insert(entity.slot.0, member);
            }
        }
    }

    pub fn values(&self) -> impl Iterator<Item = &Member> {
        self.0.values()
    }
}

impl View {
    /// The other members of a group of the client's own entity, by ascending slot, wherever they are:
    /// of the one to which an attribute refers, such as `party`. The server sends at most
    /// [`MEMBERS_SENT_MAX`](shared::world::group::MEMBERS_SENT_MAX), with those attributes that they
    /// share.
    pub fn members(&self, attribute: &str) -> impl Iterator<Item = &Member> {
        let column = self.schema().column(attribute);
        let column = column.and_then(|column| u16::try_from(column).ok());
        let is_in = move |member: &&Member| column.is_some_and(|own| member.groups.contains(&own));
        self.all_members().filter(is_in)
    }

    /// The newest value of an attribute that a member shares; `None` of others.
    pub fn shared_by(&self, member: &Member, attribute: &str) -> Option<AttributeValue> {
        let column = self.schema().column(attribute)?;
        let is_shared = member.columns.iter().any(|own| usize::from(*own) == column);
        let ty = self.schema().attributes[column].ty;
        is_shared.then(|| AttributeValue::in_row(ty, &member.row, column))
    }

    /// A member of any group of the client's own entity.
    pub fn member(&self, slot: Slot) -> Option<&Member> {
        self.members.0.get(&slot.0)
    }

    /// The members of all groups of the client's own entity, by ascending slot.
    pub fn all_members(&self) -> impl Iterator<Item = &Member> {
        let mut members: Vec<&Member> = self.members.values().collect();
        members.sort_unstable_by_key(|member| member.id.slot);
        members.into_iter()
    }
}
