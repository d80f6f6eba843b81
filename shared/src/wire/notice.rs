//! Notices: what a client is told of beside its view, because it subscribed to it
//! or is where it can be heard.
//!
//! | field | bits |
//! | --- | --- |
//! | form: 0 a change, 1 a notification | 1 |
//! | whether it was heard | 1 |
//! | number of subscriptions, each: its id | 11, 32 |
//! | change: slot, generation, kind, column, value before, after | slot, 32, 8, 6, value, value |
//! | change: command: 0 none, else one more than its number | 8 |
//! | notification: kind, whether it has a source, the source's slot and generation | 8, 1, slot, 32 |
//! | notification: its words by type, as commands have them | |

use super::DecodeError;
use super::bits::{BitReader, BitWriter};
use super::commands::put_word;
use super::stream::StreamCodec;
use crate::world::command::CommandKind;
use crate::world::id::EntityId;
use crate::world::notification::NotificationKind;

/// Something that a client is told of once, and that enters no view.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Notice {
    pub what: What,
    /// It happened where the client sees or has a region.
    pub heard: bool,
    /// The client's subscriptions whose predicates hold for it, by its own numbers,
    /// ascending.
    pub subscriptions: Vec<u32>,
}

/// What happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum What {
    /// An attribute of an entity changed, in view or not.
    Change {
        entity: EntityId,
        /// The entity's kind: an index into the schema's.
        kind: u16,
        column: u16,
        old: i32,
        new: i32,
        /// The kind of the first command that wanted it.
        command: Option<CommandKind>,
    },
    /// Something else happened.
    Notification {
        kind: NotificationKind,
        /// To whom, or by whom; [`EntityId::NONE`]: nobody.
        source: EntityId,
        /// Its fields, as the schema lists them.
        words: Vec<i32>,
    },
}

impl StreamCodec {
    /// Writes a notice. Of a notification that the world doesn't have, or with too
    /// few words, it panics.
    pub fn notice(&self, writer: &mut BitWriter, notice: &Notice) {
        self.begin_notice(writer);
        let is_notification = matches!(notice.what, What::Notification { .. });
        writer.put(u64::from(is_notification), 1);
        writer.put(u64::from(notice.heard), 1);
        writer.put(notice.subscriptions.len() as u64, SUBSCRIPTION_COUNT_BITS);
        for &id in &notice.subscriptions {
            writer.put(u64::from(id), 32);
        }
        match &notice.what {
            What::Change {
                entity,
                kind,
                column,
                old,
                new,
                command,
            } => {
                self.put_entity(writer, *entity);
                writer.put(u64::from(*kind), 8);
                writer.put(u64::from(*column), 6);
                self.put_value(writer, *column, *old);
                self.put_value(writer, *column, *new);
                let command = command.map_or(0, |c| u64::from(c.id()) + 1);
                writer.put(command, 8);
            }
            What::Notification {
                kind,
                source,
                words,
            } => {
                writer.put(u64::from(kind.id()), 8);
                writer.put(u64::from(*source != EntityId::NONE), 1);
                if *source != EntityId::NONE {
                    self.put_entity(writer, *source);
                }
                let types = self.words_of(kind.id());
                let types = types.expect("a notification of this world");
                let mut words = words.iter();
                for ty in types {
                    let &word = words.next().expect("a word for each type");
                    put_word(writer, *ty, word);
                }
            }
        }
    }

    pub(super) fn read_notice(&self, reader: &mut BitReader<'_>) -> Result<Notice, DecodeError> {
        let is_notification = reader.get_bool()?;
        let heard = reader.get_bool()?;
        let count = reader.get(SUBSCRIPTION_COUNT_BITS)?;
        let subscriptions = (0..count)
            .map(|_| Ok(reader.get(32)? as u32))
            .collect::<Result<Vec<_>, DecodeError>>()?;
        let what = match is_notification {
            false => self.read_change(reader)?,
            true => self.read_notification(reader)?,
        };
        Ok(Notice {
            what,
            heard,
            subscriptions,
        })
    }

    fn read_notification(&self, reader: &mut BitReader<'_>) -> Result<What, DecodeError> {
        let id = reader.get(8)?;
        let unknown = DecodeError::OutOfRange {
            what: "a notification's kind",
            found: id,
        };
        let kind = NotificationKind::from_id(id as u16).ok_or(unknown.clone())?;
        let types = self.words_of(id as u16).ok_or(unknown)?;
        let source = match reader.get_bool()? {
            true => self.entity(reader)?,
            false => EntityId::NONE,
        };
        let words = types
            .iter()
            .map(|&ty| self.read_word(reader, ty))
            .collect::<Result<Vec<_>, DecodeError>>()?;
        Ok(What::Notification {
            kind,
            source,
            words,
        })
    }

    fn read_change(&self, reader: &mut BitReader<'_>) -> Result<What, DecodeError> {
        let entity = self.entity(reader)?;
        let kind = self.kind(reader)?;
        let column = self.column(reader)?;
        let old = self.value(reader, column)?;
        let new = self.value(reader, column)?;
        let command = match reader.get(8)? as u16 {
            0 => None,
            id => Some(CommandKind::from_id(id - 1).ok_or(DecodeError::UnknownCommand(id - 1))?),
        };
        Ok(What::Change {
            entity,
            kind,
            column,
            old,
            new,
            command,
        })
    }
}

/// Room for as many as a world may allow a client.
const SUBSCRIPTION_COUNT_BITS: u32 = 11;
