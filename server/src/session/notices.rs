//! What one client is told of one tick beside its view: what it subscribed to, and
//! what it can hear.

use gpu_kernels::TickOutput;
use gpu_kernels::content::listen::{self, Told};
use shared::wire::FRAME_BYTES_MAX;
use shared::wire::bits::BitWriter;
use shared::wire::notice::{Notice, What};
use shared::{ClientRow, NotificationKind};

use super::ShardWorld;
use crate::publication::{FanOutDone, Publication};

/// Writes a client's notices, each once, in the tick's order: notifications, then
/// changes; and which of its subscriptions have ended by themselves. Begins the frame
/// if need be.
///
/// As many as the client may be told of are there already. What takes up too much of
/// the frame is left out besides. In both cases the client is told that there may have
/// been more.
pub fn write(
    client: ClientRow,
    publication: &Publication,
    world: &ShardWorld,
    writer: &mut BitWriter,
    report: &mut FanOutDone,
) {
    let Publication {
        tick,
        output,
        subscribed,
        ..
    } = publication;
    let heard = output.hearings.of(client);
    let mut notices = Both {
        told: subscribed.of(client).peekable(),
        heard,
    }
    .peekable();
    let lost = subscribed.lost().iter().filter(|lost| lost.0 == client);
    let mut lost = lost.map(|lost| lost.1).peekable();
    if notices.peek().is_none() && lost.peek().is_none() {
        return;
    }
    if writer.bit_len() == 0 {
        world.stream.begin(writer, *tick);
    }
    for id in lost {
        world.stream.lost(writer, id);
    }
    let limits = &world.config.limits;
    let mut matching = 0;
    let most = limits.client_hearings_per_tick as usize;
    let mut is_full = !heard.is_empty() && heard.len() == most;
    for (notice, heard, subscriptions) in notices {
        if writer.bit_len() >= NOTICES_BITS_MAX {
            is_full = true;
            break;
        }
        matching += usize::from(!subscriptions.is_empty());
        let Some(what) = what(output, notice) else {
            continue;
        };
        let notice = Notice {
            what,
            heard,
            subscriptions: subscriptions.to_vec(),
        };
        world.stream.notice(writer, &notice);
        report.notices += 1;
    }
    is_full |= matching == limits.client_notices_per_tick as usize;
    if is_full {
        world.stream.full(writer);
        report.notices_full += 1;
    }
}

/// None of what no client has a word for.
fn what(output: &TickOutput, notice: listen::Notice) -> Option<What> {
    Some(match notice {
        listen::Notice::Change {
            entity,
            kind,
            column,
            old,
            new,
            command,
        } => What::Change {
            entity,
            kind,
            column,
            old,
            new,
            command,
        },
        listen::Notice::Notification(place) => {
            let notification = &output.notifications[place as usize];
            What::Notification {
                kind: NotificationKind::from_id(notification.kind)?,
                source: notification.source,
                words: notification.words().to_vec(),
            }
        }
    })
}

/// Joins what a client subscribed to with what it hears: places of notifications,
/// ascending.
struct Both<'a, T: Iterator<Item = Told<'a>>> {
    told: std::iter::Peekable<T>,
    heard: &'a [u32],
}

impl<'a, T: Iterator<Item = Told<'a>>> Iterator for Both<'a, T> {
    /// What, whether it is heard, and the subscriptions that it satisfies.
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

/// Half of a frame; the other half has room for answers and a whole view.
const NOTICES_BITS_MAX: usize = FRAME_BYTES_MAX / 2 * 8;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_heard_and_subscribed_to_comes_once_and_in_order() {
        let change = listen::Notice::Change {
            entity: shared::EntityId::new(1, 1),
            kind: 0,
            column: 2,
            old: 3,
            new: 4,
            command: None,
        };
        let told = |notice, subscriptions| Told {
            notice,
            subscriptions,
        };
        let notified = listen::Notice::Notification;
        let all = [
            told(notified(2), &[7, 8][..]),
            told(notified(5), &[7]),
            told(change, &[9]),
        ];
        let join = |told: &[Told<'static>], heard: &'static [u32]| {
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
