//! The notices that one client is told of one tick: what it subscribed to, and what it
//! hears.

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
/// subscriptions may cost. Notices that would
/// take up too much of the frame are left out here. In both cases the client is told
/// that there may have been more.
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
        told: publication.subscribed.of(client).peekable(),
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
        codec.notice(frame.begun(), &notice);
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
        frame.codec.lost(frame.begun(), id);
    }
}

/// Writes that there may have been more.
fn write_full(frame: &mut FrameWriter<'_>, counts: &mut FanOutCounts) {
    frame.codec.full(frame.begun());
    counts.notices_full += 1;
}

/// Whether the client is told by what was said instead.
fn is_talk(notice: listen::Notice, view: TickView<'_>) -> bool {
    let notifications = &view.publication.output.notifications;
    match notice {
        listen::Notice::Notification(place) => {
            talk::place_of(&notifications[place as usize], view.world).is_some()
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
        listen::Notice::Notification(place) => {
            let notification = &output.notifications[place as usize];
            NoticeBody::Notification {
                kind: NotificationKind(notification.kind),
                source: notification.source,
                words: notification.words().to_vec(),
            }
        }
    }
}

/// Joins the notices that a client subscribed to with the notifications that it hears.
struct Both<'a, T: Iterator<Item = ClientNotice<'a>>> {
    told: std::iter::Peekable<T>,
    /// Places in [`TickOutput::notifications`], ascending.
    heard: &'a [u32],
}

impl<'a, T: Iterator<Item = ClientNotice<'a>>> Iterator for Both<'a, T> {
    /// A notice, whether it is heard, and the subscriptions that it satisfies.
    type Item = (listen::Notice, bool, &'a [u32]);

    fn next(&mut self) -> Option<Self::Item> {
        let place = match self.told.peek().map(|told| told.notice) {
            Some(listen::Notice::Notification(place)) => Some(place),
            _ => None,
        };
        if let Some((&heard, rest)) = self.heard.split_first()
            && place.is_none_or(|place| heard <= place)
        {
            self.heard = rest;
            let told = self.told.next_if(|_| place == Some(heard));
            let subscriptions = told.map_or(&[][..], |told| told.subscriptions);
            return Some((listen::Notice::Notification(heard), true, subscriptions));
        }
        let told = self.told.next()?;
        Some((told.notice, false, told.subscriptions))
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
        let told = |notice, subscriptions| ClientNotice {
            notice,
            subscriptions,
        };
        let notified = listen::Notice::Notification;
        let all = [
            told(notified(2), &[7, 8][..]),
            told(notified(5), &[7]),
            told(change, &[9]),
        ];
        let join = |told: &[ClientNotice<'static>], heard: &'static [u32]| {
            let told = told.iter().copied();
            Both {
                told: told.peekable(),
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
