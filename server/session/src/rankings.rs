//! The rankings that a client has asked for.

use frontend::SessionWorld;
use shared::wire::rankings;
use shared::{EntityId, Tick};

use super::frame::{FrameWriter, TickView};

/// What a client wants of rankings, and what it has been sent.
#[derive(Debug, Default)]
pub struct Rankings(Vec<Wanted>);

#[derive(Debug)]
struct Wanted {
    number: u8,
    /// So many of the first, at least one.
    length: u16,
    /// None: nothing yet.
    sent: Option<Sent>,
}

/// What the client has been sent last of a ranking.
#[derive(Clone, Copy, Debug)]
struct Sent {
    tick: Tick,
    /// Of the first ones.
    version: u64,
    /// The own place.
    own: u32,
}

impl Rankings {
    /// The client asks for a ranking, or no longer. It may be one of the world before.
    pub fn ask(&mut self, number: u32, length: u32, world: &SessionWorld) {
        let mut numbered = (0u8..).zip(rankings::sent(&world.config.schema));
        let Some((number, ranking)) = numbered.find(|(own, _)| u32::from(*own) == number) else {
            return;
        };
        self.0.retain(|wanted| wanted.number != number);
        let length = u16::try_from(length).unwrap_or(u16::MAX);
        if length > 0 {
            self.0.push(Wanted {
                number,
                length: length.min(ranking.length),
                sent: None,
            });
        }
    }

    /// Has them kept up to date, also in ticks whose changes the client is sent later.
    pub fn want(&self, view: TickView<'_>) {
        for wanted in &self.0 {
            view.mirror.rankings.want(wanted.number);
        }
    }

    /// Writes what has changed for the client, which acts as this entity; of each ranking at most
    /// once a second.
    pub fn write(&mut self, entity: EntityId, view: TickView<'_>, frame: &mut FrameWriter<'_>) {
        let tick = view.publication.tick;
        let tick_hz = view.world.config.schema.world.tick_hz;
        for wanted in &mut self.0 {
            let Some(order) = view.mirror.rankings.get(wanted.number) else {
                continue;
            };
            let (version, own) = (order.version(wanted.length), order.place(entity));
            let is_new = wanted.sent.is_none_or(|sent| sent.version != version);
            if wanted
                .sent
                .is_some_and(|sent| tick.since(sent.tick) < tick_hz || !is_new && sent.own == own)
            {
                continue;
            }
            wanted.sent = Some(Sent { tick, version, own });
            let first = is_new.then(|| order.first(wanted.length));
            frame
                .codec
                .ranking(frame.message(), wanted.number, own, first);
        }
    }
}
