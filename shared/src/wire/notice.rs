//! Notices: changes and notifications that a client is sent beside its view, because it
//! subscribed to them or is in their area.
//!
//! | field | bits |
//! | --- | --- |
//! | form: 0 a change, 1 a notification | 1 |
//! | whether it reached the client by place | 1 |
//! | number of subscriptions, then the id of each | 11, 32 |
//! | change: entity, kind, column, value before, value after | see `fields` |
//! | change: command: 0 none, else its number plus one | 9 |
//! | change: whether it names the sender of the command, if so: the entity | 1, see `fields` |
//! | notification: kind, whether it has a source, if so: the entity | 8, 1, see `fields` |
//! | notification: its words by type, as in commands | |

use super::DecodeError;
use super::bits::{BitReader, BitWriter};
use super::fields::{FieldCodec, put_word};
use crate::world::attribute::AttributeType;
use crate::world::command::CommandKind;
use crate::world::id::EntityId;
use crate::world::notification::NotificationKind;
use crate::world::schema::Schema;

/// A change or a notification, as it is sent to one client. It is sent once and is
/// not part of the view.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Notice {
    pub body: NoticeBody,
    /// Whether it reached the client by place: the notification's area reaches into the client's
    /// area of interest or one of its regions.
    pub heard: bool,
    /// The client's subscriptions that it satisfies: ids that the client chose,
    /// ascending.
    pub subscriptions: Vec<u32>,
}

/// The event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NoticeBody {
    /// An attribute of an entity changed, in view or not.
    Change {
        entity: EntityId,
        /// The entity's kind: an index into the schema's kinds.
        kind: u16,
        column: u16,
        old: i32,
        new: i32,
        /// The number of the first command with an update of it.
        command: Option<CommandKind>,
        /// The entity that gave this command, in view or not; [`EntityId::NONE`] if it is
        /// not known.
        by: EntityId,
    },
    /// A notification of the world's logic.
    Notification {
        kind: NotificationKind,
        /// The entity that caused it or that it is about; [`EntityId::NONE`] without one.
        source: EntityId,
        /// Its fields, in the schema's order.
        words: Vec<i32>,
    },
}

/// Writes and reads notices in one world.
#[derive(Clone, Debug)]
pub(super) struct NoticeCodec {
    /// By number of a notification: the types of its words; `None` where the world lacks it.
    words: Vec<Option<Vec<AttributeType>>>,
    /// By number of a command: whether the world has it.
    commands: Vec<bool>,
}

impl NoticeCodec {
    pub(super) fn new(schema: &Schema) -> NoticeCodec {
        let commands = schema.commands_by_number(|_| ()).into_iter();
        NoticeCodec {
            words: schema.notifications_by_number(|n| n.fields.iter().map(|f| f.ty).collect()),
            commands: commands.map(|command| command.is_some()).collect(),
        }
    }

    pub(super) fn put(&self, fields: &FieldCodec, writer: &mut BitWriter, notice: &Notice) {
        let is_notification = matches!(notice.body, NoticeBody::Notification { .. });
        writer.put(u64::from(is_notification), 1);
        writer.put(u64::from(notice.heard), 1);
        writer.put(notice.subscriptions.len() as u64, SUBSCRIPTION_COUNT_BITS);
        for &id in &notice.subscriptions {
            writer.put(u64::from(id), 32);
        }
        match &notice.body {
            NoticeBody::Change {
                entity,
                kind,
                column,
                old,
                new,
                command,
                by,
            } => {
                fields.put_entity(writer, *entity);
                fields.put_kind(writer, *kind);
                fields.put_column(writer, *column);
                fields.put_value(writer, *column, *old);
                fields.put_value(writer, *column, *new);
                let command = command.map_or(0, |c| u64::from(c.id()) + 1);
                writer.put(command, COMMAND_BITS);
                put_optional(fields, writer, *by);
            }
            NoticeBody::Notification {
                kind,
                source,
                words,
            } => {
                writer.put(u64::from(kind.id()), 8);
                put_optional(fields, writer, *source);
                let types = self.types(*kind).expect("a notification of this world");
                let mut words = words.iter();
                for ty in types {
                    let &word = words.next().expect("a word for each type");
                    put_word(writer, *ty, word);
                }
            }
        }
    }

    pub(super) fn read(
        &self,
        fields: &FieldCodec,
        reader: &mut BitReader<'_>,
    ) -> Result<Notice, DecodeError> {
        let is_notification = reader.get_bool()?;
        let heard = reader.get_bool()?;
        let count = reader.get(SUBSCRIPTION_COUNT_BITS)?;
        let subscriptions = (0..count)
            .map(|_| reader.get_as(32))
            .collect::<Result<Vec<_>, DecodeError>>()?;
        let body = match is_notification {
            false => self.read_change(fields, reader)?,
            true => self.read_notification(fields, reader)?,
        };
        Ok(Notice {
            body,
            heard,
            subscriptions,
        })
    }

    fn read_notification(
        &self,
        fields: &FieldCodec,
        reader: &mut BitReader<'_>,
    ) -> Result<NoticeBody, DecodeError> {
        let id = reader.get_as(8)?;
        let kind = NotificationKind(id);
        let types = self.types(kind).ok_or(DecodeError::OutOfRange {
            what: "a notification's kind",
            found: id.into(),
        })?;
        let source = read_optional(fields, reader)?;
        let words = types
            .iter()
            .map(|&ty| fields.word(reader, ty))
            .collect::<Result<Vec<_>, DecodeError>>()?;
        Ok(NoticeBody::Notification {
            kind,
            source,
            words,
        })
    }

    fn read_change(
        &self,
        fields: &FieldCodec,
        reader: &mut BitReader<'_>,
    ) -> Result<NoticeBody, DecodeError> {
        let entity = fields.entity(reader)?;
        let kind = fields.kind(reader)?;
        let column = fields.column(reader)?;
        let old = fields.value(reader, column)?;
        let new = fields.value(reader, column)?;
        let command = match reader.get_as::<u16>(COMMAND_BITS)? {
            0 => None,
            id => Some(self.command(id - 1)?),
        };
        let by = read_optional(fields, reader)?;
        Ok(NoticeBody::Change {
            entity,
            kind,
            column,
            old,
            new,
            command,
            by,
        })
    }

    fn command(&self, id: u16) -> Result<CommandKind, DecodeError> {
        match self.commands.get(usize::from(id)) {
            Some(true) => Ok(CommandKind(id)),
            _ => Err(DecodeError::UnknownCommand(id)),
        }
    }

    fn types(&self, kind: NotificationKind) -> Option<&[AttributeType]> {
        self.words.get(usize::from(kind.id()))?.as_deref()
    }
}

/// Writes an entity, or that there is none.
fn put_optional(fields: &FieldCodec, writer: &mut BitWriter, entity: EntityId) {
    writer.put(u64::from(entity != EntityId::NONE), 1);
    if entity != EntityId::NONE {
        fields.put_entity(writer, entity);
    }
}

fn read_optional(fields: &FieldCodec, reader: &mut BitReader<'_>) -> Result<EntityId, DecodeError> {
    match reader.get_bool()? {
        true => fields.entity(reader),
        false => Ok(EntityId::NONE),
    }
}

/// Room for none, and for each of 256 commands.
const COMMAND_BITS: u32 = 9;
/// Room for as many subscriptions as a world may allow a client.
const SUBSCRIPTION_COUNT_BITS: u32 = 11;
