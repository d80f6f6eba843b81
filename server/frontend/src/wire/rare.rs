//! What a tick has few of, as it travels.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::sync::Arc;

use gpu_kernels::listen::{Notice, Notices, SomeNotices};
use gpu_kernels::{Notification, RefusedCommand, TickOutput};
use serde::{Deserialize, Serialize};
use shared::wire::close::Close;
use shared::wire::control::Ticket;
use shared::wire::request::{Answer, GivenText};
use shared::wire::talk::Talk;
use shared::world::edit::Edit;
use shared::world::logic::LogicConfig;
use shared::{ClientRow, EntityId, Name, NotificationKind, Refusal, Slot, Tick};

use super::WireError;
use crate::inbox::SessionId;
use crate::mirror::Newborns;
use crate::publication::{Publication, SessionEvent};
use crate::servers::Others;

/// What a tick has few of.
#[derive(Serialize, Deserialize)]
pub struct Rare {
    pub tick: Tick,
    pub durable_through: Option<Tick>,
    /// The number of the front end's newest message that the tick has.
    pub message: u64,
    pub logic: Option<LogicConfig>,
    pub gone: Vec<SessionId>,
    pub events: Vec<Event>,
    /// With the index among all talk of the tick.
    pub nearby_talk: Vec<(u16, Talk)>,
    pub muted: Vec<(ClientRow, u16)>,
    pub named: Vec<(EntityId, Name)>,
    pub unready: Vec<Slot>,
    /// Those that any client of the front end gets: source, kind, words.
    pub notifications: Vec<(EntityId, u16, Vec<i32>)>,
    pub subscribed: SomeNotices,
    /// With the number of a reason of the world.
    pub refused: Vec<(EntityId, u32, Refusal, Option<u8>)>,
    /// Cells of layers that are others after the tick.
    pub edits: Vec<Edit>,
}

/// A [`SessionEvent`].
#[derive(Serialize, Deserialize)]
pub enum Event {
    Assigned {
        session: SessionId,
        client: ClientRow,
        entity: EntityId,
        ticket: Ticket,
        resumed: bool,
        processed: Option<u32>,
    },
    Reborn {
        session: SessionId,
        entity: EntityId,
    },
    Answered {
        session: SessionId,
        request: u32,
        result: Result<(), String>,
    },
    Texts {
        session: SessionId,
        request: u32,
        texts: Vec<GivenText>,
    },
    Talk {
        session: SessionId,
        index: u16,
        talk: Talk,
    },
    Closed {
        session: SessionId,
        code: u32,
        reason: String,
    },
}

impl Rare {
    /// The publication with this output, and the world's scripts if they have changed.
    pub fn into_publication(
        self,
        mut output: TickOutput,
    ) -> Result<(Publication, Option<LogicConfig>), WireError> {
        let notifications = self.notifications.iter().map(|(source, kind, words)| {
            Notification::new(NotificationKind(*kind), *source, None, words)
        });
        output.notifications = notifications.collect();
        let refused = self
            .refused
            .into_iter()
            .map(|(entity, sequence, reason, because)| RefusedCommand {
                entity,
                sequence,
                reason,
                because,
            });
        output.refused = refused.collect();
        output.edits = self.edits;
        output.refused.sort_unstable();
        let subscribed = Notices::of_some(self.subscribed);
        let subscribed = subscribed.ok_or(WireError::Contradiction("a match has no notice"))?;
        let mut nearby_talk = vec![];
        for (index, talk) in self.nearby_talk {
            let index = usize::from(index);
            nearby_talk.resize(nearby_talk.len().max(index + 1), None);
            nearby_talk[index] = Some(Arc::new(talk));
        }
        let muted = self
            .muted
            .into_iter()
            .map(|(row, index)| (row, usize::from(index)));
        let publication = Publication {
            tick: self.tick,
            durable_through: self.durable_through,
            // Those of a front end are its own.
            others: Others::default(),
            output: Arc::new(output),
            newborns: Newborns {
                named: self.named,
                unready: self.unready,
            },
            subscribed,
            world: None,
            nearby_talk,
            muted: muted.collect(),
            events: vec![
                self.events
                    .into_iter()
                    .filter_map(Event::into_event)
                    .collect(),
            ],
            inputs: vec![self.message],
        };
        Ok((publication, self.logic))
    }
}

impl Event {
    pub fn of(event: &SessionEvent) -> Event {
        match event.clone() {
            SessionEvent::Assigned {
                session,
                client,
                entity,
                ticket,
                resumed,
                processed,
            } => Event::Assigned {
                session,
                client,
                entity,
                ticket,
                resumed,
                processed,
            },
            SessionEvent::Reborn { session, entity } => Event::Reborn { session, entity },
            SessionEvent::Answered { session, answer } => Event::Answered {
                session,
                request: answer.request,
                result: answer.result,
            },
            SessionEvent::Texts {
                session,
                request,
                texts,
            } => Event::Texts {
                session,
                request,
                texts,
            },
            SessionEvent::Talk {
                session,
                index,
                talk,
            } => Event::Talk {
                session,
                index: short(index),
                talk: (*talk).clone(),
            },
            SessionEvent::Closed {
                session,
                close,
                reason,
            } => Event::Closed {
                session,
                code: close.code(),
                reason: reason.into_owned(),
            },
        }
    }

    /// `None` for a code that no session ends with.
    fn into_event(self) -> Option<SessionEvent> {
        Some(match self {
            Event::Assigned {
                session,
                client,
                entity,
                ticket,
                resumed,
                processed,
            } => SessionEvent::Assigned {
                session,
                client,
                entity,
                ticket,
                resumed,
                processed,
            },
            Event::Reborn { session, entity } => SessionEvent::Reborn { session, entity },
            Event::Answered {
                session,
                request,
                result,
            } => SessionEvent::Answered {
                session,
                answer: Answer { request, result },
            },
            Event::Texts {
                session,
                request,
                texts,
            } => SessionEvent::Texts {
                session,
                request,
                texts,
            },
            Event::Talk {
                session,
                index,
                talk,
            } => SessionEvent::Talk {
                session,
                index: index.into(),
                talk: Arc::new(talk),
            },
            Event::Closed {
                session,
                code,
                reason,
            } => SessionEvent::Closed {
                session,
                close: Close::from_code(code.into())?,
                reason: Cow::Owned(reason),
            },
        })
    }
}

/// The notices of some clients.
pub fn some_notices(all: &Notices, rows: &BTreeSet<ClientRow>, received: &[u32]) -> SomeNotices {
    let mut some = SomeNotices::default();
    for &row in rows {
        for of in all.of(row) {
            let place = number(some.notices.len());
            some.notices.push(match of.notice {
                Notice::Notification(place) => Notice::Notification(place_in(received, place)),
                change @ Notice::Change { .. } => change,
            });
            let matches = of.subscriptions.iter().map(|&id| (row.0, place, id));
            some.matches.extend(matches);
        }
        if all.is_cut(row) {
            some.cut.push(row.0);
        }
    }
    let lost = all.lost().iter().filter(|(row, _)| rows.contains(row));
    some.lost.extend(lost);
    some
}

/// The place of a notification among those that are sent.
pub fn place_in(received: &[u32], place: u32) -> u32 {
    number(received.partition_point(|&other| other < place))
}

pub fn number(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}

/// An index among the talk of a tick, which has less.
pub fn short(index: usize) -> u16 {
    u16::try_from(index).unwrap_or(u16::MAX)
}
