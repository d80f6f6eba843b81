//! At a promoted standby: notifies the server before it, which may be alive or come back, that it
//! is deposed.

use std::path::Path;
use std::time::Duration;
use std::{fs, io};

use anyhow::{Context, Result};
use durability::epoch::Epoch;
use durability::folder::write;
use peer::background::Background;
use peer::connect::connect;
use peer::trust::LinkKey;
use platform::runtime::runtime;
use quinn::{ClientConfig, VarInt};
use tokio::time::{sleep, timeout};
use tracing::{debug, info, warn};

use super::link::{Hello, PROTOCOL, ToPrimary, ToStandby};

/// Tries until the other server has confirmed it. Dropping it ends that.
pub struct Fence {
    _notifying: Background,
}

impl Fence {
    /// `primary` is the port of the server before, `epoch` that of this one, which has its world
    /// in this folder.
    pub fn start(folder: &Path, primary: String, key: &LinkKey, epoch: Epoch) -> Result<Fence> {
        write(folder, FILE, primary.as_bytes())?;
        Fence::resume(folder, primary, key, epoch)
    }

    /// Resumes in a folder after a restart, if the server before has not confirmed it yet.
    pub fn again(folder: &Path, key: Option<&LinkKey>, epoch: Epoch) -> Result<Option<Fence>> {
        let path = folder.join(FILE);
        let primary = match fs::read_to_string(&path) {
            Ok(primary) => primary,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => {
                return Err(error).with_context(|| format!("cannot read {}", path.display()));
            }
        };
        let Some(key) = key else {
            warn!(
                primary,
                "the server before may be unaware that it is deposed, and can't be notified without \
                 --followers and --link-key"
            );
            return Ok(None);
        };
        Fence::resume(folder, primary, key, epoch).map(Some)
    }

    fn resume(folder: &Path, primary: String, key: &LinkKey, epoch: Epoch) -> Result<Fence> {
        let config = key.client_config(&PROTOCOL)?;
        let path = folder.join(FILE);
        let task = async move {
            notify_until_confirmed(&primary, &config, epoch).await;
            if let Err(error) = fs::remove_file(&path) {
                warn!(%error, "the server before is notified again after a restart");
            }
        };
        Ok(Fence {
            _notifying: Background::start_abortable("fence", runtime()?, task)?,
        })
    }
}

async fn notify_until_confirmed(primary: &str, config: &ClientConfig, epoch: Epoch) {
    loop {
        match timeout(PATIENCE, notify(primary, config, epoch)).await {
            Ok(Ok(())) => {
                info!(
                    primary,
                    "the server before has confirmed that it is deposed"
                );
                return;
            }
            Ok(Err(error)) => debug!(primary, "the server before is not notified: {error:#}"),
            Err(_) => {}
        }
        sleep(RETRY).await;
    }
}

async fn notify(primary: &str, config: &ClientConfig, epoch: Epoch) -> Result<()> {
    let (_endpoint, connection) = connect(primary, config).await?;
    let (mut send, mut receive) = connection.open_bi().await?;
    let hello = ToPrimary::Hello(Hello {
        epoch,
        is_promoted: true,
        ..Hello::default()
    });
    send.write_all(&hello.encode()).await?;
    let reply = ToStandby::reader().next::<ToStandby>(&mut receive).await;
    connection.close(VarInt::from_u32(0), b"notified");
    reply?;
    Ok(())
}

/// In the folder of a promoted server: the port of the server before, until that has confirmed.
const FILE: &str = "untold";
const RETRY: Duration = Duration::from_secs(1);
const PATIENCE: Duration = Duration::from_secs(5);
