//! The notices of one tick for one client: by subscription, and by place (hearings).

use gpu_kernels::TickOutput;
use gpu_kernels::listen::{self, ClientNotice};
use platform::metrics::counts::FanOutCounts;
use shared::wire::FRAME_BYTES_MAX;
use shared::wire::notice::{Notice, NoticeBody};
use shared::{ClientRow, NotificationKind};

use super::frame::{FrameWriter, TickView};
use super::talk;

/// Writes a client's notices, each once, in the order of the tick: notifications, then
/// changes. Before them, the subscriptions that have ended by themselves.
///
/// The tick has already left out what is beyond the client's limits, and beyond what its
/// subscriptions may cost. Notices that would take up too much of the frame are left out here.
/// In both cases a message says that there may have been more.
pub fn write(
    client: ClientRow,
    view: TickView<'_>,
    frame: &mut FrameWriter<'_>,
    counts: &mut FanOutCounts,
) {
    write_lost(client, view, frame);
    let publication = view.publication;
    let codec = frame.codec;
    let heard = publication.output.hearings.of(client);
    let notices = Both {
        subscribed: publication.subscribed.of(client).peekable(),
        heard,
    };
    let limits = &view.world.config.limits;
    let mut matching = 0;
    let heard_max = limits.client_hearings_per_tick as usize;
    let mut is_full = !heard.is_empty() && heard.len() == heard_max;
    for (notice, heard, subscriptions) in notices {
        if frame.bit_len() >= NOTICES_BITS_MAX {
            is_full = true;
            break;
        }
        if subscriptions.is_empty() && is_talk(notice, view) {
            continue;
        }
        matching += usize::from(!subscriptions.is_empty());
        let notice = Notice {
            body: body(&publication.output, notice),
            heard,
            subscriptions: subscriptions.to_vec(),
        };
        codec.notice(frame.message(), &notice);
        counts.notices += 1;
    }
    is_full |= matching == limits.client_notices_per_tick as usize;
    is_full |= publication.subscribed.is_cut(client);
    if is_full {
        write_full(frame, counts);
    }
}

/// Writes, in place of a client's notices, that there may have been some.
pub fn leave_out(
    client: ClientRow,
    view: TickView<'_>,
    frame: &mut FrameWriter<'_>,
    counts: &mut FanOutCounts,
) {
    write_lost(client, view, frame);
    let publication = view.publication;
    let has_some = publication.subscribed.of(client).next().is_some()
        || publication.subscribed.is_cut(client)
        || !publication.output.hearings.of(client).is_empty();
    if has_some {
        write_full(frame, counts);
    }
}

/// Writes which subscriptions have ended by themselves.
fn write_lost(client: ClientRow, view: TickView<'_>, frame: &mut FrameWriter<'_>) {
    let lost = view.publication.subscribed.lost().iter();
    for &(_, id) in lost.filter(|lost| lost.0 == client) {
        frame.codec.lost(frame.message(), id);
    }
}

/// Writes that there may have been more.
fn write_full(frame: &mut FrameWriter<'_>, counts: &mut FanOutCounts) {
    frame.codec.full(frame.message());
    counts.notices_full += 1;
}

/// Whether a message of talk takes the place of the notice.
fn is_talk(notice: listen::Notice, view: TickView<'_>) -> bool {
    let notifications = &view.publication.output.notifications;
    match notice {
        listen::Notice::Notification(index) => {
            talk::index_of(&notifications[index as usize], view.world).is_some()
        }
        listen::Notice::Change { .. } => false,
    }
}

/// A notice as the wire has it.
fn body(output: &TickOutput, notice: listen::Notice) -> NoticeBody {
    match notice {
        listen::Notice::Change {
            entity,
            kind,
            column,
            old,
            new,
            command,
            by,
        } => NoticeBody::Change {
            entity,
            kind,
            column,
            old,
            new,
            command,
            by,
        },
        listen::Notice::Notification(index) => {
            let notification = &output.notifications[index as usize];
            NoticeBody::Notification {
                kind: NotificationKind(notification.kind),
                source: notification.source,
                words: notification.words().to_vec(),
            }
        }
    }
}

/// Joins a client's notices by subscription with its hearings.
struct Both<'a, T: Iterator<Item = ClientNotice<'a>>> {
    subscribed: std::iter::Peekable<T>,
    /// Indices in [`TickOutput::notifications`], ascending.
    heard: &'a [u32],
}

impl<'a, T: Iterator<Item = ClientNotice<'a>>> Iterator for Both<'a, T> {
    /// A notice, whether it is a hearing, and the subscriptions that it satisfies.
    type Item = (listen::Notice, bool, &'a [u32]);

    fn next(&mut self) -> Option<Self::Item> {
        let index = match self.subscribed.peek().map(|subscribed| subscribed.notice) {
            Some(listen::Notice::Notification(index)) => Some(index),
            _ => None,
        };
        if let Some((&heard, rest)) = self.heard.split_first()
            && index.is_none_or(|index| heard <= index)
        {
            self.heard = rest;
            let subscribed = self.subscribed.next_if(|_| index == Some(heard));
            let subscriptions = subscribed.map_or(&[][..], |subscribed| subscribed.subscriptions);
            return Some((listen::Notice::Notification(heard), true, subscriptions));
        }
        let subscribed = self.subscribed.next()?;
        Some((subscribed.notice, false, subscribed.subscriptions))
    }
}

/// Half of a frame: the other half has room for answers and a whole view.
const NOTICES_BITS_MAX: usize = FRAME_BYTES_MAX / 2 * 8;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_notice_that_is_heard_and_subscribed_to_comes_once_and_in_order() {
        let change = listen::Notice::Change {
            entity: shared::EntityId::new(1, 1),
            kind: 0,
            column: 2,
            old: 3,
            new: 4,
            command: None,
            by: shared::EntityId::NONE,
        };
        let notice = |notice, subscriptions| ClientNotice {
            notice,
            subscriptions,
        };
        let notified = listen::Notice::Notification;
        let all = [
            notice(notified(2), &[7, 8][..]),
            notice(notified(5), &[7]),
            notice(change, &[9]),
        ];
        let join = |notices: &[ClientNotice<'static>], heard: &'static [u32]| {
            let subscribed = notices.iter().copied();
            Both {
                subscribed: subscribed.peekable(),
                heard,
            }
            .collect::<Vec<_>>()
        };
        assert_eq!(
            join(&all, &[1, 2, 9]),
            [
                (notified(1), true, &[][..]),
                (notified(2), true, &[7, 8]),
                (notified(5), false, &[7]),
                (notified(9), true, &[]),
                (change, false, &[9]),
            ]
        );
        assert_eq!(join(&all[2..], &[]), [(change, false, &[9][..])]);
        assert_eq!(join(&[], &[3]), [(notified(3), true, &[][..])]);
    }
}
