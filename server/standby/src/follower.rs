//! At the standby: the thread that follows a primary.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use durability::characters::Texts;
use durability::epoch::Epoch;
use durability::folder::DataFolder;
use peer::connect::connect;
use peer::frames::FrameReader;
use peer::trust::LinkKey;
use platform::metrics::table;
use platform::runtime::runtime;
use quinn::{ClientConfig, Connection, Endpoint, RecvStream, SendStream, VarInt};
use tokio::sync::Notify;
use tokio::time::{sleep, timeout};
use tracing::{error, info, warn};

use super::link::{Hello, PROTOCOL, ToPrimary, ToStandby, Welcome};
use super::replica::{Piece, Replica};
use super::runner::{Ran, RunOptions, Runner};

/// The primary, and how to follow it.
#[derive(Clone, Debug)]
pub struct FollowOptions {
    /// HOST:PORT of the primary's port for a standby.
    pub primary: String,
    pub run: RunOptions,
    /// HOST:PORT, or only :PORT.
    pub clients_at: String,
}

/// A standby that follows. Dropping it ends its threads.
pub struct Follower {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<(Replica, Runner)>>,
}

/// The progress of a standby.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// The first tick that is not on its disk; `None`: it has no world yet.
    pub next: Option<u64>,
    /// Whether it has all that its primary had when it connected.
    pub is_complete: bool,
    pub is_connected: bool,
    /// Why it does not follow any more.
    pub failure: Option<String>,
    /// Ticks a second; 0: not known yet.
    pub tick_hz: u32,
}

/// A standby that has stopped, ready to take over.
pub struct Stopped {
    pub folder: DataFolder,
    pub ran: Ran,
    /// The highest that was seen.
    pub epoch: Epoch,
    pub tick_hz: u32,
}

struct Shared {
    progress: Mutex<Progress>,
    stop: Notify,
}

impl Follower {
    /// Runs the records of the folder, then follows.
    pub fn start(folder: DataFolder, key: &LinkKey, options: FollowOptions) -> Result<Follower> {
        let config = key.client_config(&PROTOCOL)?;
        let begun = Arc::default();
        let runner = Runner::start(options.run, (folder.disk(), Arc::clone(&begun)))?;
        let replica = Replica::open(folder, begun, |piece| runner.take(piece, 0))
            .context("the standby can't continue from its folder: remove the files in it")?;
        let shared = Arc::new(Shared {
            progress: Mutex::new(Progress {
                next: replica.has().map(|has| has.next),
                ..Progress::default()
            }),
            stop: Notify::new(),
        });
        let runtime = runtime()?;
        let thread = Thread {
            replica,
            runner,
            shared: shared.clone(),
            options,
            config,
            link: None,
        };
        let thread = std::thread::Builder::new()
            .name("follow".to_owned())
            .spawn(move || runtime.block_on(thread.run()))
            .context("cannot start the thread that follows")?;
        Ok(Follower {
            shared,
            thread: Some(thread),
        })
    }

    pub fn progress(&self) -> Progress {
        self.shared.lock().clone()
    }

    /// Fails if the standby should not take over. Unless it must: then only if it can't.
    pub fn check(&self, is_forced: bool) -> Result<()> {
        let progress = self.progress();
        if let Some(reason) = progress.failure {
            bail!("the standby has stopped to follow: {reason}");
        }
        if progress.next.is_none() {
            bail!("the standby has no world yet");
        }
        if !progress.is_complete && !is_forced {
            bail!(
                "the standby has not caught up with its primary since it started, so it may lack \
                ticks that were sent to clients; with --force it takes over as it is"
            );
        }
        Ok(())
    }

    /// Ends the link, and runs the records on disk.
    pub fn stop(mut self) -> Result<Stopped> {
        let tick_hz = self.progress().tick_hz;
        let Some((replica, runner)) = self.end() else {
            bail!("the thread that follows has failed");
        };
        let epoch = replica.epoch();
        match runner.finish()? {
            Some(ran) => Ok(Stopped {
                folder: replica.into_folder(),
                ran,
                epoch,
                tick_hz,
            }),
            None => bail!("the standby has no world yet"),
        }
    }

    fn end(&mut self) -> Option<(Replica, Runner)> {
        self.shared.stop.notify_one();
        self.thread.take()?.join().ok()
    }
}

impl Drop for Follower {
    fn drop(&mut self) {
        if let Some((_, runner)) = self.end() {
            runner.abandon();
        }
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Progress> {
        self.progress.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

struct Thread {
    replica: Replica,
    runner: Runner,
    shared: Arc<Shared>,
    options: FollowOptions,
    config: ClientConfig,
    /// The connection to the primary, while there is one.
    link: Option<(Endpoint, Connection)>,
}

impl Thread {
    async fn run(mut self) -> (Replica, Runner) {
        let shared = self.shared.clone();
        tokio::select! {
            () = shared.stop.notified() => {}
            () = self.follow() => {}
        }
        // So that the primary does not wait for this standby any more.
        self.close(b"the standby stops").await;
        table::FOLLOWING.set(0);
        if let Err(error) = self.replica.sync() {
            error!("{error:#}");
            shared.lock().failure = Some(format!("{error:#}"));
        }
        (self.replica, self.runner)
    }

    /// Follows, and tries again, until the world can't continue.
    async fn follow(&mut self) {
        loop {
            if let Err(error) = self.follow_once().await {
                warn!(primary = self.options.primary, "not following: {error:#}");
            }
            let failure = self.runner.failure();
            {
                let mut progress = self.shared.lock();
                progress.is_connected = false;
                table::FOLLOWING.set(0);
                progress.failure.clone_from(&failure);
            }
            if failure.is_some() {
                self.shared.stop.notified().await;
                return;
            }
            sleep(RETRY).await;
            while self.runner.is_full() {
                sleep(RETRY).await;
            }
        }
    }

    async fn follow_once(&mut self) -> Result<()> {
        let (endpoint, connection) = connect(&self.options.primary, &self.config).await?;
        self.link = Some((endpoint, connection.clone()));
        let followed = self.follow_on(&connection).await;
        self.close(b"it connects again").await;
        followed
    }

    /// Closes the connection, and lets the primary know.
    async fn close(&mut self, reason: &[u8]) {
        if let Some((endpoint, connection)) = self.link.take() {
            connection.close(VarInt::from_u32(0), reason);
            let _ = timeout(GOODBYE, endpoint.wait_idle()).await;
        }
    }

    async fn follow_on(&mut self, connection: &Connection) -> Result<()> {
        let (mut send, mut receive) = connection.open_bi().await?;
        let hello = ToPrimary::Hello(Hello {
            epoch: self.replica.epoch(),
            has: self
                .replica
                .has()
                .filter(|_| !self.replica.lacks_characters()),
            is_promoted: false,
            clients_at: self.options.clients_at.clone(),
        });
        send.write_all(&hello.encode()).await?;
        let mut reader = ToStandby::reader();
        let welcome = match reader.next(&mut receive).await? {
            ToStandby::Welcome(welcome) => welcome,
            ToStandby::Refused { epoch, reason } => bail!("the server of epoch {epoch}: {reason}"),
            _ => bail!("the primary does not begin with a welcome"),
        };
        let begins = welcome.checkpoint_bytes.is_some();
        self.replica.follow(welcome.epoch, begins)?;
        if let Some(keys) = &welcome.keys {
            self.replica.folder().import(keys)?;
        }
        info!(epoch = %welcome.epoch, next = welcome.next, begins, "following");
        if let Some(length) = welcome.checkpoint_bytes {
            let count = welcome.characters;
            self.begin((length, count), &mut receive, &mut reader)
                .await?;
        }
        self.note(&welcome);
        self.take_records(&welcome, (send, receive), reader).await
    }

    /// Receives a checkpoint of a length and so many characters, if the world has some, and
    /// begins with them.
    async fn begin(
        &mut self,
        (length, count): (u64, Option<u64>),
        receive: &mut RecvStream,
        reader: &mut FrameReader,
    ) -> Result<()> {
        self.shared.lock().is_complete = false;
        let mut bytes = vec![];
        while (bytes.len() as u64) < length {
            match reader.next(receive).await? {
                ToStandby::Part(part) => bytes.extend_from_slice(&part),
                _ => bail!("the checkpoint is not complete"),
            }
        }
        let mut left = count.unwrap_or_default();
        let mut texts = Texts::new();
        while left > 0 {
            match reader.next(receive).await? {
                ToStandby::Characters(some) => {
                    left = left.saturating_sub(some.len() as u64);
                    texts.extend(some);
                }
                _ => bail!("the characters are not complete"),
            }
        }
        let begun = self.replica.begin(&bytes, count.map(|_| &texts))?;
        self.runner.take(begun, bytes.len())
    }

    async fn take_records(
        &mut self,
        welcome: &Welcome,
        (mut send, mut receive): (SendStream, RecvStream),
        mut reader: FrameReader,
    ) -> Result<()> {
        loop {
            match self.take_what_came(&mut reader) {
                Ok(0) => {}
                Ok(_) => {
                    self.note(welcome);
                    let next = self.replica.has().map_or(0, |has| has.next);
                    send.write_all(&ToPrimary::Synced(next).encode()).await?;
                }
                Err(error) => {
                    if let Some(reason) = self.runner.failure() {
                        let differs = ToPrimary::Differs(reason);
                        send.write_all(&differs.encode()).await?;
                        send.finish()?;
                        let _ = timeout(GOODBYE, send.stopped()).await;
                    }
                    return Err(error);
                }
            }
            match receive.read_chunk(CHUNK_BYTES_MAX, true).await? {
                Some(chunk) => reader.push(&chunk.bytes),
                None => bail!("the primary has ended the link"),
            }
        }
    }

    /// Writes and syncs the records that are complete, then lets them run. Returns their number.
    fn take_what_came(&mut self, reader: &mut FrameReader) -> Result<usize> {
        let mut taken = vec![];
        while let Some(message) = reader.message::<ToStandby>()? {
            let ToStandby::Record {
                begins_segment,
                bytes,
            } = message
            else {
                bail!("something else comes where a record is expected");
            };
            let record = self.replica.append(&bytes, begins_segment)?;
            taken.push((record, bytes.len()));
        }
        if taken.is_empty() {
            return Ok(0);
        }
        self.replica.sync()?;
        let count = taken.len();
        for (record, bytes) in taken {
            self.runner.take(Piece::Record(record), bytes)?;
        }
        if self.runner.is_full() {
            bail!("this machine runs the ticks too slowly");
        }
        Ok(count)
    }

    fn note(&self, welcome: &Welcome) {
        self.runner.set_rate(welcome.tick_hz);
        let next = self.replica.has().map(|has| has.next);
        let mut progress = self.shared.lock();
        progress.next = next;
        progress.is_connected = true;
        table::FOLLOWING.set(1);
        table::FOLLOWING_TICK.set(next.unwrap_or(0).saturating_sub(1));
        progress.tick_hz = welcome.tick_hz;
        progress.is_complete = next.is_some_and(|next| next >= welcome.next);
    }
}

const RETRY: Duration = Duration::from_millis(500);
const GOODBYE: Duration = Duration::from_millis(200);
const CHUNK_BYTES_MAX: usize = 1 << 20;
