//! At the primary: the port that a standby connects to.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use anyhow::{Result, anyhow, bail};
use durability::characters::CharacterStore;
use durability::disk::Folder;
use durability::epoch::Epoch;
use durability::folder::Keys;
use durability::role::{Role, Standing};
use peer::arrivals::Failure;
use peer::frames::{FrameReader, NextError};
use peer::port::{Port, Purpose, clients_at};
use peer::trust::LinkKey;
use platform::metrics::table;
use quinn::{Connection, RecvStream, SendStream, VarInt};
use shared::wire::control::ADDRESS_BYTES_MAX;
use tokio::sync::mpsc;
use tokio::time::timeout;
use tracing::{error, info, warn};

use super::backlog::Plan;
use super::feed::{Feed, Seated};
use super::link::{Has, Hello, PROTOCOL, ToPrimary, ToStandby, Welcome};

/// An open port. Dropping it closes it.
pub struct LinkPort(Port);

/// The primary's state for standbys.
#[derive(Clone)]
pub struct Primary {
    pub feed: Arc<Feed>,
    pub folder: PathBuf,
    /// The characters of accounts; none in worlds without them.
    pub characters: Option<Arc<CharacterStore>>,
    /// The tick of its first record since it started.
    pub first: u64,
    /// Slots of the world.
    pub capacity: u32,
    pub epoch: Epoch,
    pub tick_hz: u32,
    /// Its identity towards clients; `None` if the operator gives it to both.
    pub keys: Option<Keys>,
}

impl LinkPort {
    /// Opens the port at an address; port 0 picks a free one.
    pub fn open(address: SocketAddr, key: &LinkKey, primary: Primary) -> Result<LinkPort> {
        let open = Arc::new(AtomicUsize::new(0));
        let work = move |from, connected| serve(from, connected, open.clone(), primary.clone());
        let port = Port::open(address, key.server_config(&PROTOCOL)?, PURPOSE, work)?;
        Ok(LinkPort(port))
    }

    pub fn address(&self) -> SocketAddr {
        self.0.address()
    }
}

async fn serve(
    from: SocketAddr,
    connected: Result<Connection, Failure>,
    open: Arc<AtomicUsize>,
    primary: Primary,
) {
    let result = match connected {
        Ok(connection) => take_place(connection, &open, &primary).await,
        Err(failure) => {
            table::FOLLOWERS_REFUSED.add_to(failure.reason(), 1);
            Err(failure.into())
        }
    };
    if let Err(error) = result {
        warn!(%from, error = format!("{error:#}"), "a standby's connection has ended");
    }
}

/// Serves an authenticated connection, if there are not too many.
async fn take_place(connection: Connection, open: &AtomicUsize, primary: &Primary) -> Result<()> {
    if open.fetch_add(1, Ordering::Relaxed) >= CONNECTIONS_MAX {
        open.fetch_sub(1, Ordering::Relaxed);
        table::FOLLOWERS_REFUSED.add_to("crowded", 1);
        connection.close(VarInt::from_u32(0), b"too many follow");
        return Err(anyhow!("too many follow"));
    }
    let result = converse(connection, primary).await;
    open.fetch_sub(1, Ordering::Relaxed);
    result
}

async fn converse(connection: Connection, primary: &Primary) -> Result<()> {
    let greeted = timeout(HELLO_WAIT, greet(connection)).await;
    let Ok(greeted) = greeted else {
        table::FOLLOWERS_REFUSED.add_to("silent", 1);
        return Err(anyhow!("no hello in {} seconds", HELLO_WAIT.as_secs()));
    };
    let Greeted {
        connection,
        mut send,
        receive,
        hello,
    } = greeted?;
    if hello.epoch > primary.epoch {
        return depose(primary, &hello, send).await;
    }
    if hello.is_promoted {
        return Ok(());
    }
    let clients_at = clients_at(&hello.clients_at, connection.remote_address())?;
    if clients_at.len() > ADDRESS_BYTES_MAX {
        bail!("an address for clients has at most {ADDRESS_BYTES_MAX} bytes");
    }
    let Some(seated) = primary.feed.take_seat(&clients_at) else {
        table::FOLLOWERS_REFUSED.add_to("second", 1);
        let reason = "another standby follows".to_owned();
        return refuse(primary, reason, send).await;
    };
    let (first, plan) = (seated.first, plan(primary, &hello).await?);
    info!(from = %connection.remote_address(), clients_at, ?hello.has, first, "a standby follows");
    let welcome = ToStandby::Welcome(Welcome {
        epoch: primary.epoch,
        tick_hz: primary.tick_hz,
        // Characters may be as new as this.
        next: primary.feed.next(),
        checkpoint_bytes: plan.checkpoint_bytes(),
        characters: plan.characters(),
        keys: primary.keys.clone(),
    });
    send.write_all(&welcome.encode()).await?;
    // Either side's end is the end of both.
    tokio::select! {
        sent = give(primary, plan, &seated, send) => sent,
        ended = listen(&seated, receive) => ended,
    }
}

/// An authenticated connection, with its first message.
struct Greeted {
    connection: Connection,
    send: SendStream,
    receive: (RecvStream, FrameReader),
    hello: Hello,
}

async fn greet(connection: Connection) -> Result<Greeted> {
    let (send, mut receive) = connection.accept_bi().await?;
    let mut reader = ToPrimary::reader();
    match read(&mut receive, &mut reader).await? {
        ToPrimary::Hello(hello) => Ok(Greeted {
            connection,
            send,
            receive: (receive, reader),
            hello,
        }),
        _ => Err(malformed(&"the first message is no hello")),
    }
}

/// This server is the one that was deposed.
async fn depose(primary: &Primary, hello: &Hello, send: SendStream) -> Result<()> {
    let epoch = hello.epoch;
    table::FOLLOWERS_REFUSED.add_to("epoch", 1);
    if epoch.term() > primary.epoch.term() {
        error!(%epoch, "a standby was promoted: this server must not continue");
        // Before anything else, so that it never happens again.
        primary.feed.depose(epoch);
        let standing = Standing {
            role: Role::Deposed,
            epoch,
        };
        standing.write(&primary.folder)?;
    }
    let reason = format!("epoch {epoch} is above that of this server");
    refuse(primary, reason, send).await
}

async fn refuse(primary: &Primary, reason: String, mut send: SendStream) -> Result<()> {
    let epoch = primary.epoch;
    let refused = ToStandby::Refused { epoch, reason };
    send.write_all(&refused.encode()).await?;
    send.finish()?;
    // Closing at once would drop the message.
    let _ = timeout(GOODBYE, send.stopped()).await;
    Ok(())
}

async fn plan(primary: &Primary, hello: &Hello) -> Result<Plan> {
    let (disk, capacity) = (Folder::new(&primary.folder), primary.capacity);
    let characters = primary.characters.clone();
    // While this server did not run, an operator may have changed characters, which is in no
    // record.
    let is_usable = |has: &Has| characters.is_none() || has.next > primary.first;
    let has = hello.has.filter(is_usable);
    let plan = move || Plan::new(&disk, capacity, characters.as_deref(), has);
    tokio::task::spawn_blocking(plan).await?
}

/// Sends the records of the folder, then those that the journal writes.
async fn give(
    primary: &Primary,
    plan: Plan,
    seated: &Seated<'_>,
    mut send: SendStream,
) -> Result<()> {
    let (disk, capacity) = (Folder::new(&primary.folder), primary.capacity);
    let until = seated.first;
    let (to, mut messages) = mpsc::channel(BACKLOG_MESSAGES);
    let read = tokio::task::spawn_blocking(move || {
        plan.send(&disk, capacity, until, &mut |message| {
            to.blocking_send(message).is_ok()
        })
    });
    while let Some(message) = messages.recv().await {
        send.write_all(&message).await?;
    }
    read.await??;
    while let Some(message) = seated.next().await {
        send.write_all(&message).await?;
    }
    Err(anyhow!("it has lost its place"))
}

async fn listen(seated: &Seated<'_>, from: (RecvStream, FrameReader)) -> Result<()> {
    let (mut receive, mut reader) = from;
    loop {
        match read(&mut receive, &mut reader).await? {
            ToPrimary::Synced(next) if seated.acknowledge(next) => {}
            ToPrimary::Differs(reason) => {
                table::STANDBYS_DIFFER.add(1);
                error!(reason, "the standby's state differs, and it stops");
                return Err(anyhow!("its state differs"));
            }
            _ => return Err(malformed(&"it acknowledges a tick that it was not sent")),
        }
    }
}

/// The next message of a standby.
async fn read(receive: &mut RecvStream, reader: &mut FrameReader) -> Result<ToPrimary> {
    match reader.next(receive).await {
        Err(NextError::Malformed(error)) => Err(malformed(&error)),
        read => Ok(read?),
    }
}

fn malformed(error: &dyn std::fmt::Display) -> anyhow::Error {
    table::FOLLOWERS_REFUSED.add_to("malformed", 1);
    anyhow!("{error}")
}

/// Of authenticated ones; including refused ones, until they are gone.
const CONNECTIONS_MAX: usize = 8;
const PURPOSE: Purpose = Purpose {
    thread: "followers",
    name: "the port for a standby",
    goodbye: "the primary stops",
};
const HELLO_WAIT: Duration = Duration::from_secs(3);
const GOODBYE: Duration = Duration::from_millis(500);
/// Parts of a checkpoint, or records, between the disk and the connection.
const BACKLOG_MESSAGES: usize = 4;
