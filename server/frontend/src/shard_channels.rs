//! The tick thread's channels to the shards: each tick goes to all shards at once, and at most
//! one tick is in fan-out.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SendError, Sender, TryRecvError, channel};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use super::mirror::SharedMirror;
use super::publication::{FanOutReport, Publication, ShardLinks};
use crate::SessionWorld;
use crate::inbox::{SessionId, SessionKey};

/// From the tick to a shard.
pub enum ToShard {
    /// Send this tick to every client, then report.
    Tick(SharedTick),
    /// Report on the connections of these sessions, or of all.
    Inspect(Option<Vec<SessionId>>, Sender<ShardLinks>),
    /// Another world has taken the place of the one before: begin every session anew over its
    /// connection, then answer.
    Restart(Arc<SessionWorld>, Sender<()>),
    /// Close every connection with this reason, and end.
    Stop(String),
}

/// A tick for a shard of this process, which drops it before it reports.
#[derive(Clone)]
pub struct SharedTick {
    pub publication: Arc<Publication>,
    /// The world after the tick, until every shard has reported.
    pub mirror: SharedMirror,
    /// When the shards would receive it if no tick were late.
    pub due: Instant,
    /// When the tick was to begin, as the next one will a period later.
    pub scheduled: Instant,
}

/// The channels to the shards. `T` is the tick thread's record of a tick until its fan-out is
/// done.
pub struct ShardChannels<T> {
    senders: Vec<ShardSender>,
    reports: Receiver<FanOutReport>,
    busy: Option<Busy<T>>,
}

/// The channel to a shard, which may be asleep.
pub struct ShardSender {
    sender: Sender<ToShard>,
    wake: Box<dyn Fn() + Send>,
}

/// A tick after its fan-out.
pub struct FannedOut<T> {
    pub publication: Publication,
    pub report: FanOutReport,
    /// When the last shard had sent to its clients.
    pub finished: Instant,
    pub record: T,
}

/// A tick in fan-out.
struct Busy<T> {
    tick: SharedTick,
    record: T,
    /// Shards that have not reported.
    missing: usize,
    /// The reports so far, joined.
    report: Option<FanOutReport>,
}

impl ShardSender {
    /// `wake` is called after each message.
    pub fn new(sender: Sender<ToShard>, wake: impl Fn() + Send + 'static) -> ShardSender {
        ShardSender {
            sender,
            wake: Box::new(wake),
        }
    }

    /// Fails if the shard has ended.
    fn send(&self, message: ToShard) -> Result<(), SendError<ToShard>> {
        self.sender.send(message)?;
        (self.wake)();
        Ok(())
    }
}

impl<T> ShardChannels<T> {
    pub fn new(senders: Vec<ShardSender>, reports: Receiver<FanOutReport>) -> ShardChannels<T> {
        ShardChannels {
            senders,
            reports,
            busy: None,
        }
    }

    pub fn count(&self) -> usize {
        self.senders.len()
    }

    /// Whether a tick is in fan-out.
    pub fn is_busy(&self) -> bool {
        self.busy.is_some()
    }

    /// Publishes a tick to all shards; `record` makes the tick thread's record of it afterwards.
    /// Fails while a tick is in fan-out, or if a shard has ended.
    pub fn publish(&mut self, tick: SharedTick, record: impl FnOnce() -> T) -> Result<()> {
        if self.is_busy() {
            bail!("a tick is published while the one before is with the shards");
        }
        for (number, shard) in self.senders.iter().enumerate() {
            let message = ToShard::Tick(tick.clone());
            if shard.send(message).is_err() {
                bail!("shard {number} has ended");
            }
        }
        self.busy = Some(Busy {
            tick,
            record: record(),
            missing: self.senders.len(),
            report: None,
        });
        Ok(())
    }

    /// Receives pending reports. Returns the tick once none is missing.
    pub fn poll(&mut self) -> Result<Option<FannedOut<T>>> {
        while self.is_busy() {
            match self.reports.try_recv() {
                Ok(report) => self.note(&report),
                Err(TryRecvError::Empty) => return Ok(None),
                Err(TryRecvError::Disconnected) => bail!("all shards have ended"),
            }
            if let Some(done) = self.take_done()? {
                return Ok(Some(done));
            }
        }
        Ok(None)
    }

    /// As [`ShardChannels::poll`], but waits up to `patience` for one more report.
    pub fn poll_for(&mut self, patience: Duration) -> Result<Option<FannedOut<T>>> {
        match self.reports.recv_timeout(patience) {
            Ok(report) => self.note(&report),
            Err(RecvTimeoutError::Timeout) => return Ok(None),
            Err(RecvTimeoutError::Disconnected) => bail!("all shards have ended"),
        }
        self.take_done()
    }

    /// Waits until the fan-out is done, and returns its tick; none if no tick is in fan-out.
    /// Fails if a shard takes longer than [`SHARD_PATIENCE`] for its report.
    pub fn wait(&mut self) -> Result<Option<FannedOut<T>>> {
        while self.is_busy() {
            let report = self.reports.recv_timeout(SHARD_PATIENCE);
            self.note(&report.context("a shard does not answer")?);
            if let Some(done) = self.take_done()? {
                return Ok(Some(done));
            }
        }
        Ok(None)
    }

    /// Requests the figures of connections, those of some sessions or all, and returns the number
    /// of shards that will answer.
    pub fn inspect(&self, some: Option<&[SessionKey]>, answers: &Sender<ShardLinks>) -> usize {
        let reached = self.senders.iter().enumerate().filter(|(number, shard)| {
            let sessions = some.map(|all| {
                let own = all.iter().filter(|session| session.0 == *number);
                own.map(|session| session.1).collect::<Vec<_>>()
            });
            let has_some = sessions.as_ref().is_none_or(|own| !own.is_empty());
            has_some
                && shard
                    .send(ToShard::Inspect(sessions, answers.clone()))
                    .is_ok()
        });
        reached.count()
    }

    /// Lets all shards begin their sessions anew in another world, and waits until they have.
    pub fn restart(&self, world: &Arc<SessionWorld>) -> Result<()> {
        let (done, answers) = channel();
        for (number, shard) in self.senders.iter().enumerate() {
            let message = ToShard::Restart(world.clone(), done.clone());
            if shard.send(message).is_err() {
                bail!("shard {number} has ended");
            }
        }
        for _ in &self.senders {
            answers
                .recv_timeout(SHARD_PATIENCE)
                .context("a shard does not answer")?;
        }
        Ok(())
    }

    /// The ends of the channels, for another tick thread.
    pub fn into_ends(self) -> (Vec<ShardSender>, Receiver<FanOutReport>) {
        (self.senders, self.reports)
    }

    /// Ends all shards. They finish their fan-out first.
    pub fn stop(&self, reason: &str) {
        for shard in &self.senders {
            // A shard that has ended has no clients.
            let _ = shard.send(ToShard::Stop(reason.to_owned()));
        }
    }

    fn note(&mut self, report: &FanOutReport) {
        if let Some(busy) = &mut self.busy {
            busy.missing -= 1;
            busy.report = Some(match busy.report {
                Some(all) => all.and(report),
                None => *report,
            });
        }
    }

    fn take_done(&mut self) -> Result<Option<FannedOut<T>>> {
        let Some(busy) = self.busy.take_if(|busy| busy.missing == 0) else {
            return Ok(None);
        };
        let Some(publication) = Arc::into_inner(busy.tick.publication) else {
            bail!("a shard still reads a tick that it reported as done");
        };
        let report = busy.report.context("the server has no shards")?;
        Ok(Some(FannedOut {
            publication,
            finished: busy.tick.due + report.took,
            report,
            record: busy.record,
        }))
    }
}

/// A shard that takes this long for one tick is broken, not slow.
pub const SHARD_PATIENCE: Duration = Duration::from_secs(60);
