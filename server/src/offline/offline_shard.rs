//! A shard that encodes for its clients and sends nothing.

use std::sync::mpsc::{Receiver, Sender};
use std::time::Duration;

use anyhow::Result;
use frontend::SessionWorld;
use frontend::inbox::SharedInbox;
use frontend::mirror::Mirror;
use frontend::publication::{FanOutReport, Publication, SessionEvent};
use frontend::shard_channels::{SharedTick, ToShard};
use platform::metrics::counts::FanOutCounts;
use session::fan_out::Scratch;
use session::frame::TickView;
use session::stream::Unsent;
use session::{Assignment, Player, Session};
use shared::wire::commands::{Acknowledgement, ClientDatagram};
use shared::{Tick, WorldConfig};

use super::offline_link::OfflineLink;

/// Sessions without connections.
pub struct OfflineShard {
    number: usize,
    world: SessionWorld,
    /// The tick's, or with a link the shard's own.
    inbox: SharedInbox,
    link: Option<Box<OfflineLink>>,
    /// By number.
    sessions: Vec<Session>,
    scratch: Scratch,
    is_checked: bool,
    encoded: Encoded,
}

/// The bytes of a shard for its clients.
#[derive(Default)]
pub struct Encoded {
    /// By tick: the hash of the state after it.
    pub hashes: Vec<u64>,
    pub bytes: u64,
    pub checksum: u64,
    /// The bytes of the feed, with a link.
    pub feed_bytes: u64,
}

impl OfflineShard {
    pub fn new(
        number: usize,
        config: &WorldConfig,
        clients: usize,
        (inbox, link): (SharedInbox, Option<Box<OfflineLink>>),
        is_checked: bool,
    ) -> OfflineShard {
        OfflineShard {
            number,
            world: SessionWorld::new(config),
            inbox,
            link,
            sessions: (0..clients).map(|_| Session::new(&config.limits)).collect(),
            scratch: Scratch::default(),
            is_checked,
            encoded: Encoded::default(),
        }
    }

    /// Runs until the tick thread stops it, and returns the encoded bytes.
    pub fn run(
        mut self,
        from_tick: Receiver<ToShard>,
        reports: &Sender<FanOutReport>,
    ) -> Result<Encoded> {
        while let Ok(ToShard::Tick(tick)) = from_tick.recv() {
            let report = self.fan_out(&tick)?;
            let number = tick.publication.tick;
            drop(tick);
            // A failed tick thread takes no reports, but stops the shard.
            let _ = reports.send(report);
            if self.link.is_some() {
                // A shard's inbox is swapped by the tick; a front end elsewhere counts itself.
                self.inbox.lock().tick = number.next();
            }
            self.acknowledge(number);
            if let Some(link) = &mut self.link {
                link.send(&mut self.inbox.lock(), Some(number), number);
            }
        }
        self.encoded.feed_bytes = self.link.map_or(0, |link| link.feed_bytes);
        Ok(self.encoded)
    }

    fn fan_out(&mut self, tick: &SharedTick) -> Result<FanOutReport> {
        let hash = &tick.publication.output.hash;
        self.encoded.hashes.push(hash.combined());
        let Some(mut link) = self.link.take() else {
            let number = self.number;
            let mut report = self.send(&tick.publication, number, &tick.mirror.read());
            report.took = tick.due.elapsed();
            return Ok(report);
        };
        let (publication, acked_through) = link.pass(tick)?;
        let report = self.send(&publication, 0, link.mirror());
        self.link = Some(link);
        Ok(FanOutReport {
            took: tick.due.elapsed(),
            acked_through,
            ..report
        })
    }

    /// Encodes a tick for every client. `number` is that of the shard in the publication.
    fn send(&mut self, publication: &Publication, number: usize, mirror: &Mirror) -> FanOutReport {
        for event in &publication.events[number] {
            if let &SessionEvent::Assigned {
                session,
                client,
                entity,
                ticket,
                resumed,
                processed,
            } = event
            {
                let session = &mut self.sessions[session as usize];
                let own = Assignment {
                    player: Player { client, entity },
                    ticket,
                    resumed,
                    processed,
                };
                session.assign(own, publication.tick, &self.world, &publication.others);
            }
        }
        let mut counts = FanOutCounts::default();
        let mut acked_through = publication.tick;
        let view = TickView {
            publication,
            mirror,
            world: &self.world,
            input: 0,
            send_every: 1,
        };
        for session in &mut self.sessions {
            let (encoded, is_checked) = (&mut self.encoded, self.is_checked);
            session.send_tick(view, &mut self.scratch, &mut counts, |datagram| {
                encoded.note(&datagram, is_checked);
            });
            // A ticket is another one in each run.
            let has_welcome = publication.tick.0 < TICKS_OF_WELCOMES;
            let sent = session.send(|unsent| {
                let bytes: &[u8] = match &unsent {
                    Unsent::Shared(bytes) => bytes,
                    Unsent::Own(bytes) => bytes,
                };
                encoded.note(bytes, is_checked && !has_welcome);
                bytes.len()
            });
            if sent == 0 {
                encoded.note(&[], is_checked && !has_welcome);
            }
            counts.stream_bytes += sent as u64;
            acked_through = acked_through.min(session.acked_through().unwrap_or(acked_through));
        }
        counts.sessions = self.sessions.len() as u64;
        FanOutReport {
            took: Duration::ZERO,
            acked_through,
            counts,
        }
    }

    /// Every client has received everything.
    fn acknowledge(&mut self, tick: Tick) {
        let datagram = ClientDatagram {
            acknowledgement: Acknowledgement {
                newest: tick,
                mask: u32::MAX,
                stream: tick,
            },
            ..ClientDatagram::default()
        };
        let mut inbox = self.inbox.lock();
        for session in &mut self.sessions {
            // An error is a session that has no entity yet.
            let _ = session.receive(&datagram, &self.world, &mut inbox);
        }
    }
}

impl Encoded {
    fn note(&mut self, bytes: &[u8], is_checked: bool) {
        self.bytes += bytes.len() as u64;
        if is_checked {
            let sum = u64::from(crc32fast::hash(bytes));
            self.checksum = self.checksum.rotate_left(1).wrapping_add(sum);
        }
    }
}

const TICKS_OF_WELCOMES: u64 = 2;
