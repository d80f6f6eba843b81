//! Events.

use std::collections::VecDeque;
use std::ffi::{CString, c_char};
use std::ptr::null;
use std::sync::LazyLock;

use client_bot::View;
use client_bot::client_core::{Close, Event, LinkState, LossCode, NamedEvent};
use shared::{EntityId, Tick};

pub use client_bot::client_core::EventType;

use crate::text::c_text;

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
    /// The account connects too often.
    TooOften = 16,
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
                Close::TooOften => MyriadLoss::TooOften,
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
    pub what: EventType,
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
    what: EventType,
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
    pub fn event(&self) -> MyriadEvent {
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

    /// Adds an event: one for each of several changes or members.
    pub fn add(event: &Event, view: Option<&View>, queue: &mut VecDeque<QueuedEvent>) {
        NamedEvent::each(event, view, |event| match event.what {
            EventType::Member => queue.extend(event.members.iter().map(|name| QueuedEvent {
                name: Some(c_text(name)),
                ..QueuedEvent::of(&event)
            })),
            _ => queue.push_back(QueuedEvent::of(&event)),
        });
    }

    fn of(event: &NamedEvent) -> QueuedEvent {
        let text = |text: &Option<String>| text.as_deref().map(c_text);
        let (old, new) = match event.change {
            Some((old, new)) => (old.number(), new.number()),
            None => (0.0, 0.0),
        };
        let loss = event.loss.as_ref();
        let update = loss.and_then(|loss| loss.update.as_ref());
        let url = update.and_then(|update| update.url.as_deref());
        QueuedEvent {
            what: event.what,
            tick: event.tick,
            entity: event.entity,
            by: event.by,
            kind: event.kind,
            is_granted: event.is_granted,
            request: event.request,
            old_value: old,
            new_value: new,
            retry_seconds: loss.and_then(|loss| Some(loss.retry_in?.as_secs_f64())),
            name: text(&event.name),
            channel: text(&event.channel),
            text: text(&event.text),
            values: match event.what {
                EventType::Refused | EventType::CellsChanged => vec![f64::from(event.count)],
                _ => event.fields.iter().map(|f| f.value.number()).collect(),
            },
            loss: loss.map_or(MyriadLoss::None, |loss| loss.code.into()),
            link: event.link.map_or(MyriadLink::None, MyriadLink::from),
            server_version: update.map_or(0, |update| update.server_version.into()),
            update_url: url.map(c_text),
        }
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
