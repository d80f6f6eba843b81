//! Events.

use std::collections::VecDeque;
use std::ffi::{CString, c_char};
use std::ptr::null;
use std::sync::LazyLock;

use client_bot::View;
use client_bot::client_core::{Close, Event, LinkState, LossCode, Notice, NoticeBody, Talk};
use client_bot::named::{NamedChange, command_name, kind_name, number};
use shared::{EntityId, Tick};

use crate::clients::{MyriadClient, with};
use crate::failure::MyriadStatus;
use crate::memory::{c_text, put};

/// An entity. A slot is used again after its entity has gone; then the generation differs.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MyriadEntity {
    /// 4,294,967,295: no entity.
    pub slot: u32,
    pub generation: u32,
}

impl From<EntityId> for MyriadEntity {
    fn from(id: EntityId) -> MyriadEntity {
        MyriadEntity {
            slot: id.slot.0,
            generation: id.generation,
        }
    }
}

impl From<MyriadEntity> for EntityId {
    fn from(entity: MyriadEntity) -> EntityId {
        EntityId::new(entity.slot, entity.generation)
    }
}

/// The type of an event. Beside it stand the fields of `MyriadEvent` that it fills.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MyriadEventType {
    /// There is no event.
    #[default]
    None = 0,
    /// The client is in the world as a new entity: `entity`.
    Welcomed = 1,
    /// The client is in the world again, as the same entity: `entity`.
    Resumed = 2,
    /// The client's entity had died, and the client acts as this one from now on: `entity`.
    Reborn = 3,
    /// An entity is in view: `tick`, `entity`, `kind`, and the kind's `name`.
    Entered = 4,
    /// An entity is in view no longer: `tick`, `entity`. The client's own one leaves when it
    /// dies.
    Left = 5,
    /// An attribute of an entity in view has changed, other than the position: `tick`,
    /// `entity`, the attribute's `name`, `old_value`, `new_value`.
    Changed = 6,
    /// An attribute that the client subscribed to has changed, in view or not: as `Changed`,
    /// and `kind`, the command that caused it as `text`, and its sender as `by`.
    NoticedChange = 7,
    /// A notification of the world's logic: `tick`, its `name`, `entity` (what caused it, or
    /// none), `values` by its fields.
    Notified = 8,
    /// The client may have missed notices: `tick`.
    NoticesFull = 9,
    /// A player nearby speaks: `tick`, `entity`, `name` (null without one), `text`.
    Said = 10,
    /// A player speaks to this client alone: `tick`, `name`, `text`.
    Whispered = 11,
    /// A player speaks in a channel: `tick`, `channel`, `name`, `text`.
    Spoken = 12,
    /// A player has joined a channel: `tick`, `channel`, `name`.
    JoinedChannel = 13,
    /// A player has left a channel: `tick`, `channel`, `name`.
    LeftChannel = 14,
    /// A member of a channel, as requested: `tick`, `channel`, `name`. One event a member.
    Member = 15,
    /// The server's operator speaks: `tick`, `text`.
    Announced = 16,
    /// The reply to a request: `request`, `is_granted`, `text` (why not).
    Answered = 17,
    /// The server could not keep the subscription of this number: `request`.
    SubscriptionLost = 18,
    /// The world's commands or notifications have changed.
    InterfaceChanged = 19,
    /// The connection has ended, or could not be opened: `loss`, `text`, `retry_seconds`, and with
    /// `MYRIAD_LOSS_OUTDATED` `server_version` and `update_url`.
    Lost = 20,
    /// Commands had no effect: `tick`, `request` (the first one's number), `values` (how many
    /// there are), `text` (why).
    Refused = 21,
    /// The server falls silent, or sends again: `link`.
    Link = 22,
}

/// Why a connection is lost: close codes of the server, and from 256 on what the client found. The
/// number may also be one that a later version of this library has.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MyriadLoss {
    /// The event is about something else.
    #[default]
    None = -1,
    /// The server has ended the session.
    Bye = 0,
    /// The server refuses the client for a reason without a number of its own: `text`.
    Refused = 1,
    /// The server is full.
    Full = 2,
    /// Client and server do not understand each other.
    Malformed = 3,
    /// The client was too slow for the server.
    TooSlow = 4,
    /// The session continues in another connection.
    Resumed = 5,
    /// The server is shutting down.
    Shutdown = 6,
    /// The player's entity was removed.
    Removed = 7,
    /// The account plays from another place.
    Replaced = 8,
    /// The operator has thrown the client out.
    Kicked = 9,
    /// The server is starting.
    Starting = 10,
    /// The server is a standby, which has not taken over.
    Standby = 11,
    /// The account or the network is banned.
    Banned = 12,
    /// The token is missing, wrong, expired or not valid yet.
    Unauthorized = 13,
    /// The game and the server have different versions.
    Outdated = 14,
    /// The game was made for another world.
    SchemaMismatch = 15,
    /// The server does not answer.
    TimedOut = 256,
    /// The server cannot be reached.
    Unreachable = 257,
    /// The server's certificate is not trusted.
    Untrusted = 258,
    /// The server's name has no address.
    NameNotFound = 259,
    /// Anything else.
    Other = 260,
}

impl From<LossCode> for MyriadLoss {
    fn from(code: LossCode) -> MyriadLoss {
        match code {
            LossCode::Closed(close) => match close {
                Close::Bye => MyriadLoss::Bye,
                Close::Refused => MyriadLoss::Refused,
                Close::Full => MyriadLoss::Full,
                Close::Malformed => MyriadLoss::Malformed,
                Close::TooSlow => MyriadLoss::TooSlow,
                Close::Resumed => MyriadLoss::Resumed,
                Close::Shutdown => MyriadLoss::Shutdown,
                Close::Removed => MyriadLoss::Removed,
                Close::Replaced => MyriadLoss::Replaced,
                Close::Kicked => MyriadLoss::Kicked,
                Close::Starting => MyriadLoss::Starting,
                Close::Standby => MyriadLoss::Standby,
                Close::Banned => MyriadLoss::Banned,
                Close::Unauthorized => MyriadLoss::Unauthorized,
                Close::Outdated => MyriadLoss::Outdated,
                Close::SchemaMismatch => MyriadLoss::SchemaMismatch,
            },
            LossCode::TimedOut => MyriadLoss::TimedOut,
            LossCode::Unreachable => MyriadLoss::Unreachable,
            LossCode::Untrusted => MyriadLoss::Untrusted,
            LossCode::NameNotFound => MyriadLoss::NameNotFound,
            LossCode::Other => MyriadLoss::Other,
        }
    }
}

/// Whether the server is silent.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MyriadLink {
    /// The client is not in the world, or the event is about something else.
    #[default]
    None = 0,
    /// The server sends as often as it should.
    Good = 1,
    /// Nothing was received for longer than the server is ever silent.
    Unstable = 2,
}

impl From<LinkState> for MyriadLink {
    fn from(state: LinkState) -> MyriadLink {
        match state {
            LinkState::Good => MyriadLink::Good,
            LinkState::Unstable => MyriadLink::Unstable,
        }
    }
}

/// Something that has happened. Texts and lists are the library's, and last until the next call
/// of `myriad_next_event` for this client, or its end.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct MyriadEvent {
    pub what: MyriadEventType,
    /// The tick of the server in which it happened.
    pub tick: u64,
    pub entity: MyriadEntity,
    /// The entity that caused a change.
    pub by: MyriadEntity,
    /// The number of the entity's kind.
    pub kind: u16,
    /// Whether a request was granted.
    pub is_granted: bool,
    /// The number of a request, of a subscription, or of a command.
    pub request: u32,
    pub old_value: f64,
    pub new_value: f64,
    /// After so many seconds the client tries again; negative: it does not.
    pub retry_seconds: f64,
    pub name: *const c_char,
    pub channel: *const c_char,
    pub text: *const c_char,
    pub values: *const f64,
    pub value_count: usize,
    /// Why the connection is lost.
    pub loss: MyriadLoss,
    /// How the link to the server is from now on.
    pub link: MyriadLink,
    /// The protocol version of a server that refuses the client's; 0: not known.
    pub server_version: u32,
    /// Where players get the game for such a server; null: not known.
    pub update_url: *const c_char,
}

/// An event with its texts.
#[derive(Debug, Default)]
pub(crate) struct QueuedEvent {
    what: MyriadEventType,
    tick: Tick,
    entity: Option<EntityId>,
    by: Option<EntityId>,
    kind: u16,
    is_granted: bool,
    request: u32,
    old_value: f64,
    new_value: f64,
    retry_seconds: Option<f64>,
    name: Option<CString>,
    channel: Option<CString>,
    text: Option<CString>,
    values: Vec<f64>,
    loss: MyriadLoss,
    link: MyriadLink,
    server_version: u32,
    update_url: Option<CString>,
}

/// Writes the next event to `event`, or that there is none.
///
/// # Safety
/// `event` points to room for an event.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn myriad_next_event(
    client: MyriadClient,
    event: *mut MyriadEvent,
) -> MyriadStatus {
    with(client, |client| {
        client.current = client.events.pop_front();
        let current = client.current.get_or_insert_default();
        unsafe { put(event, current.event(), "an event") }
    })
}

/// A few words for players about a `MyriadLoss`, in English; empty for other numbers. The text is
/// the library's, and stays.
#[unsafe(no_mangle)]
pub extern "C" fn myriad_loss_words(loss: i32) -> *const c_char {
    let words = WORDS.iter().find(|(number, _)| *number == loss);
    words.map_or(c"".as_ptr(), |(_, words)| words.as_ptr())
}

static WORDS: LazyLock<Vec<(i32, CString)>> = LazyLock::new(|| {
    let all = LossCode::ALL.into_iter();
    all.map(|code| (MyriadLoss::from(code) as i32, c_text(code.words())))
        .collect()
});

impl QueuedEvent {
    fn event(&self) -> MyriadEvent {
        let text = |text: &Option<CString>| text.as_ref().map_or(null(), |text| text.as_ptr());
        MyriadEvent {
            what: self.what,
            tick: self.tick.0,
            entity: self.entity.unwrap_or(EntityId::NONE).into(),
            by: self.by.unwrap_or(EntityId::NONE).into(),
            kind: self.kind,
            is_granted: self.is_granted,
            request: self.request,
            old_value: self.old_value,
            new_value: self.new_value,
            retry_seconds: self.retry_seconds.unwrap_or(-1.0),
            name: text(&self.name),
            channel: text(&self.channel),
            text: text(&self.text),
            values: self.values.as_ptr(),
            value_count: self.values.len(),
            loss: self.loss,
            link: self.link,
            server_version: self.server_version,
            update_url: text(&self.update_url),
        }
    }

    fn of(what: MyriadEventType, tick: Tick) -> QueuedEvent {
        QueuedEvent {
            what,
            tick,
            ..QueuedEvent::default()
        }
    }

    fn about(what: MyriadEventType, tick: Tick, entity: EntityId) -> QueuedEvent {
        QueuedEvent {
            entity: Some(entity),
            ..QueuedEvent::of(what, tick)
        }
    }

    /// Adds an event: one for each of several changes or members.
    pub fn add(event: &Event, view: Option<&View>, queue: &mut VecDeque<QueuedEvent>) {
        use MyriadEventType as Type;
        let none = Tick::default();
        queue.push_back(match event {
            Event::Welcomed(entity) => QueuedEvent::about(Type::Welcomed, none, *entity),
            Event::Resumed(entity) => QueuedEvent::about(Type::Resumed, none, *entity),
            Event::Reborn(entity) => QueuedEvent::about(Type::Reborn, none, *entity),
            Event::Entered { tick, entity, kind } => {
                let name = view.and_then(|view| kind_name(view, *kind));
                QueuedEvent {
                    kind: *kind,
                    name: name.map(c_text),
                    ..QueuedEvent::about(Type::Entered, *tick, *entity)
                }
            }
            Event::Left { tick, entity } => QueuedEvent::about(Type::Left, *tick, *entity),
            Event::Changed {
                tick,
                entity,
                changes,
            } => {
                queue.extend(changes.iter().map(|change| {
                    let event = QueuedEvent::about(Type::Changed, *tick, *entity);
                    event.changed(view, change.column, change.old, change.new)
                }));
                return;
            }
            Event::Notice { tick, notice } => QueuedEvent::noticed(*tick, notice, view),
            Event::NoticesFull(tick) => QueuedEvent::of(Type::NoticesFull, *tick),
            Event::Talk { tick, talk } => {
                QueuedEvent::talk(*tick, talk, queue);
                return;
            }
            Event::Refused { tick, commands } => QueuedEvent {
                request: commands.first,
                values: vec![f64::from(commands.count)],
                text: Some(c_text(&commands.reason.to_string())),
                ..QueuedEvent::of(Type::Refused, *tick)
            },
            Event::Answered(answer) => QueuedEvent {
                request: answer.request,
                is_granted: answer.result.is_ok(),
                text: answer.result.as_ref().err().map(|why| c_text(why)),
                ..QueuedEvent::of(Type::Answered, none)
            },
            Event::SubscriptionLost(id) => QueuedEvent {
                request: *id,
                ..QueuedEvent::of(Type::SubscriptionLost, none)
            },
            Event::InterfaceChanged => QueuedEvent::of(Type::InterfaceChanged, none),
            Event::Link { state, .. } => QueuedEvent {
                link: (*state).into(),
                ..QueuedEvent::of(Type::Link, none)
            },
            Event::Lost {
                code,
                reason,
                update,
                retry_in,
            } => {
                let url = update.as_ref().and_then(|update| update.url.as_deref());
                let version = update.as_ref().map(|update| update.server_version);
                QueuedEvent {
                    text: Some(c_text(reason)),
                    retry_seconds: retry_in.map(|wait| wait.as_secs_f64()),
                    loss: (*code).into(),
                    server_version: version.map_or(0, u32::from),
                    update_url: url.map(c_text),
                    ..QueuedEvent::of(Type::Lost, none)
                }
            }
        });
    }

    fn changed(self, view: Option<&View>, column: u16, old: i32, new: i32) -> QueuedEvent {
        let change = view.and_then(|view| NamedChange::of(view, column, old, new));
        let raw = (f64::from(old), f64::from(new));
        let (old_value, new_value) = change.as_ref().map_or(raw, |of| (of.old, of.new));
        QueuedEvent {
            name: change.map(|change| c_text(&change.attribute)),
            old_value,
            new_value,
            ..self
        }
    }

    fn noticed(tick: Tick, notice: &Notice, view: Option<&View>) -> QueuedEvent {
        match &notice.body {
            NoticeBody::Change {
                entity,
                kind,
                column,
                old,
                new,
                command,
                by,
            } => QueuedEvent {
                kind: *kind,
                by: Some(*by),
                text: command
                    .and_then(|command| command_name(view?, command))
                    .map(c_text),
                ..QueuedEvent::about(MyriadEventType::NoticedChange, tick, *entity)
            }
            .changed(view, *column, *old, *new),
            NoticeBody::Notification {
                kind,
                source,
                words,
            } => {
                let form = view.and_then(|view| view.schema().notification(*kind));
                let fields = form.map_or(&[][..], |form| &form.fields);
                QueuedEvent {
                    name: form.map(|form| c_text(&form.name)),
                    values: (fields.iter().zip(words))
                        .map(|(field, raw)| number(field.ty, *raw))
                        .collect(),
                    ..QueuedEvent::about(MyriadEventType::Notified, tick, *source)
                }
            }
        }
    }

    fn talk(tick: Tick, talk: &Talk, queue: &mut VecDeque<QueuedEvent>) {
        use MyriadEventType as Type;
        let in_channel = |what, channel: &str, name: &str| QueuedEvent {
            channel: Some(c_text(channel)),
            name: Some(c_text(name)),
            ..QueuedEvent::of(what, tick)
        };
        queue.push_back(match talk {
            Talk::Said {
                speaker,
                name,
                text,
            } => QueuedEvent {
                name: name.as_ref().map(|name| c_text(name)),
                text: Some(c_text(text)),
                ..QueuedEvent::about(Type::Said, tick, *speaker)
            },
            Talk::Whispered { from, text } => QueuedEvent {
                name: Some(c_text(from)),
                text: Some(c_text(text)),
                ..QueuedEvent::of(Type::Whispered, tick)
            },
            Talk::Spoken {
                channel,
                from,
                text,
            } => QueuedEvent {
                text: Some(c_text(text)),
                ..in_channel(Type::Spoken, channel, from)
            },
            Talk::Joined { channel, name } => in_channel(Type::JoinedChannel, channel, name),
            Talk::Left { channel, name } => in_channel(Type::LeftChannel, channel, name),
            Talk::Members { channel, names } => {
                queue.extend(
                    names
                        .iter()
                        .map(|name| in_channel(Type::Member, channel, name)),
                );
                return;
            }
            Talk::Announced { text } => QueuedEvent {
                text: Some(c_text(text)),
                ..QueuedEvent::of(Type::Announced, tick)
            },
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_loss_has_the_number_of_its_code() {
        for code in LossCode::ALL {
            let number = MyriadLoss::from(code) as i64;
            assert_eq!(number, i64::from(code.number()), "{code:?}");
        }
    }
}
