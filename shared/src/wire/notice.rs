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
use super::stream::StreamCodec;
use crate::command::CommandKind;
use crate::id::EntityId;

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
}

impl StreamCodec {
    /// Writes a notice.
    pub fn notice(&self, writer: &mut BitWriter, notice: &Notice) {
        self.begin_notice(writer);
        let What::Change { .. } = notice.what;
        writer.put(0, 1);
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
        }
    }

    pub(super) fn read_notice(&self, reader: &mut BitReader<'_>) -> Result<Notice, DecodeError> {
        let form = reader.get(1)?;
        let heard = reader.get_bool()?;
        let count = reader.get(SUBSCRIPTION_COUNT_BITS)?;
        let subscriptions = (0..count)
            .map(|_| Ok(reader.get(32)? as u32))
            .collect::<Result<Vec<_>, DecodeError>>()?;
        let what = match form {
            0 => self.read_change(reader)?,
            _ => {
                return Err(DecodeError::OutOfRange {
                    what: "a notice's form",
                    found: form,
                });
            }
        };
        Ok(Notice {
            what,
            heard,
            subscriptions,
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
