//! One tick's talk for one client, in the order in which it was said.

use std::sync::Arc;

use frontend::SessionWorld;
use frontend::talk::size_of;
use frontend::talk_budget::TalkBudget;
use gpu_kernels::Notification;
use platform::metrics::counts::FanOutCounts;
use shared::ClientRow;
use shared::wire::talk::Talk;

use super::frame::{FrameWriter, TickView};

/// Writes talk to the client itself, and talk nearby within its budget for that. `own` is the
/// talk to it, each with its index among all talk of the tick; it is empty afterwards.
pub fn write(
    client: ClientRow,
    view: TickView<'_>,
    own: &mut Vec<(usize, Arc<Talk>)>,
    near: &mut TalkBudget,
    frame: &mut FrameWriter<'_>,
    counts: &mut FanOutCounts,
) {
    let publication = view.publication;
    let nearby = &publication.nearby_talk;
    if !nearby.is_empty() {
        let (tick, tick_hz) = (publication.tick, view.world.config.schema.world.tick_hz);
        let output = &publication.output;
        for &hearing in output.hearings.of(client) {
            let notification = &output.notifications[hearing as usize];
            let Some(index) = index_of(notification, view.world) else {
                continue;
            };
            let Some(Some(talk)) = nearby.get(index) else {
                continue;
            };
            if publication.muted.contains(&(client, index)) {
                continue;
            }
            match near.take(size_of(talk), tick, tick_hz) {
                true => own.push((index, talk.clone())),
                false => counts.talk_left_out += 1,
            }
        }
        own.sort_by_key(|(index, _)| *index);
    }
    for (_, talk) in own.drain(..) {
        let codec = frame.codec;
        codec.talk(frame.message(), &talk);
    }
}

/// The index of the talk that a notification is about, if it is about talk.
pub fn index_of(notification: &Notification, world: &SessionWorld) -> Option<usize> {
    let is_say = world.say.is_some_and(|say| say.id() == notification.kind);
    let index = notification.words().first().filter(|_| is_say)?;
    usize::try_from(*index).ok()
}
