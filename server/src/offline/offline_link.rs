//! A front end behind a link, with both ends in one process: each tick and all input go through
//! their bytes.

use std::sync::Arc;
use std::time::Duration;

use accounts::guard::Guard;
use accounts::moment::Moment;
use accounts::shared_word::SharedWord;
use anyhow::{Result, ensure};
use device::cpu::Workers;
use frontend::inbox::{Inbox, SharedInbox};
use frontend::mirror::Mirror;
use frontend::publication::Publication;
use frontend::remote::{LagLimits, RemoteFrontend};
use frontend::shard_channels::SharedTick;
use frontend::wire::feed::FeedReader;
use frontend::wire::input::Input;
use shared::wire::movement::MovementCodec;
use shared::{Tick, WorldConfig};

/// Both ends of the link.
pub struct OfflineLink {
    tick_end: RemoteFrontend,
    reader: FeedReader,
    /// The front end's own copy of the world.
    mirror: Mirror,
    workers: Workers,
    bytes: Vec<u8>,
    /// The bytes of all ticks.
    pub feed_bytes: u64,
}

impl OfflineLink {
    pub fn new(number: usize, config: &WorldConfig, inbox: SharedInbox) -> Result<OfflineLink> {
        let guard = Arc::new(Guard::new(Arc::new(SharedWord::new("")), u32::MAX));
        let limits = LagLimits::of(config, Duration::from_secs(5));
        Ok(OfflineLink {
            tick_end: RemoteFrontend::new(number, config, (inbox, guard), Tick(0), limits),
            reader: FeedReader::new(config),
            mirror: Mirror::new(config, MovementCodec::new(&config.schema)?),
            workers: Workers::new(1)?,
            bytes: vec![],
            feed_bytes: 0,
        })
    }

    /// Passes a tick through the link. Returns it, and the tick up to which slots need not rest.
    pub fn pass(&mut self, tick: &SharedTick) -> Result<(Publication, Tick)> {
        self.bytes.clear();
        let mirror = &tick.mirror.read();
        let written = (&*tick.publication, &**mirror);
        let acked_through = (self.tick_end).publish(&self.workers, written, &mut self.bytes);
        let lost = self.tick_end.lost();
        ensure!(lost.is_none(), "a front end is lost: {lost:?}");
        self.feed_bytes += self.bytes.len() as u64;
        let feed = self.reader.read(&self.workers, &self.bytes)?;
        let output = &feed.publication.output;
        self.mirror.apply(&self.workers, output);
        let newborns = &feed.publication.newborns;
        self.mirror.note_newborns(newborns, &output.deaths);
        Ok((feed.publication, acked_through))
    }

    /// The world after the last tick.
    pub fn mirror(&self) -> &Mirror {
        &self.mirror
    }

    /// Passes what has arrived to the tick.
    pub fn send(&mut self, inbox: &mut Inbox, sent_through: Option<Tick>, acked_through: Tick) {
        let input = Input {
            sent_through,
            acked_through,
            ..Input::take(inbox)
        };
        self.tick_end.receive(&input.encode(), Moment::now());
    }
}
