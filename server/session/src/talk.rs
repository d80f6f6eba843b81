//! What one client hears of one tick's talk, in the order in which it was said.

use std::sync::Arc;

use frontend::SessionWorld;
use frontend::talk::size_of;
use frontend::talk_budget::TalkBudget;
use gpu_kernels::Notification;
use platform::metrics::counts::FanOutCounts;
use shared::ClientRow;
use shared::wire::talk::Talk;

use super::frame::{FrameWriter, TickView};

/// Writes what was said to the client, together with what it hears by place, as far as its
/// budget for that goes. `own` is what was said to it, each with its place among all that was
/// said; it is empty afterwards.
pub fn write(
    client: ClientRow,
    view: TickView<'_>,
    own: &mut Vec<(usize, Arc<Talk>)>,
    near: &mut TalkBudget,
    frame: &mut FrameWriter<'_>,
    counts: &mut FanOutCounts,
) {
    let publication = view.publication;
    let said = &publication.said;
    if !said.is_empty() {
        let (tick, tick_hz) = (publication.tick, view.world.config.schema.world.tick_hz);
        let output = &publication.output;
        for &heard in output.hearings.of(client) {
            let notification = &output.notifications[heard as usize];
            let Some(place) = place_of(notification, view.world) else {
                continue;
            };
            let Some(Some(talk)) = said.get(place) else {
                continue;
            };
            if publication.hushed.contains(&(client, place)) {
                continue;
            }
            match near.take(size_of(talk), tick, tick_hz) {
                true => own.push((place, talk.clone())),
                false => counts.talk_left_out += 1,
            }
        }
        own.sort_by_key(|(place, _)| *place);
    }
    for (_, talk) in own.drain(..) {
        let codec = frame.codec;
        codec.talk(frame.begun(), &talk);
    }
}

/// The place of what was said, if this notification tells of it.
pub fn place_of(notification: &Notification, world: &SessionWorld) -> Option<usize> {
    let is_say = world.say.is_some_and(|say| say.id() == notification.kind);
    let word = notification.words().first().filter(|_| is_say)?;
    usize::try_from(*word).ok()
}
