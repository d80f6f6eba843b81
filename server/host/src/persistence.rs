//! The durability of a server's world: journal and checkpoints, a standby, and a lease.

use std::sync::Arc;

use anyhow::{Result, bail};
use durability::folder::DataFolder;
use durability::level::Level;
use durability::recovered::Recovered;
use durability::role::{Role, Standing};
use standby::feed::{Alone, Feed};
use standby::lease::renewal::{Contender, HeldLease, LeaseOptions};
use standby::port::{LinkPort, Primary};
use tick::tick_loop::PersistentWorld;
use tracing::warn;

use super::options::ServerOptions;
use super::world_data;

/// Where a standby gets records from.
pub struct Followed {
    pub feed: Arc<Feed>,
    pub port: LinkPort,
}

/// The durability of a world: its worker, the feed of its standby, and its lease.
pub struct Durability {
    pub world: PersistentWorld,
    pub standby: Option<Followed>,
    pub lease: Option<HeldLease>,
}

/// Starts the durability of a world, and lets a standby follow it.
pub fn start(
    options: &ServerOptions,
    folder: DataFolder,
    recovered: Recovered,
    lease: Option<HeldLease>,
) -> Result<Durability> {
    let Some(data) = &options.data else {
        bail!("a world without a folder can't be persistent");
    };
    let standing = Standing {
        role: Role::Primary,
        epoch: recovered.epoch,
    };
    let lease = match (lease, &options.lease) {
        (None, Some(lease)) => {
            // First here: an epoch that etcd has must not be used again.
            standing.write(folder.path())?;
            let lease = LeaseOptions {
                id: folder.server_id()?,
                ..lease.clone()
            };
            Some(Contender::new(lease)?.take(recovered.epoch)?)
        }
        (lease, _) => lease,
    };
    let validity = lease.as_ref().map(HeldLease::validity);
    let Some(standby) = &options.standby else {
        if data.level == Level::Standby {
            bail!("level standby needs a port for the standby: --followers ADDRESS");
        }
        let world =
            world_data::start_durability(folder, data, recovered, options.threads, None, validity)?;
        return Ok(Durability {
            world,
            standby: None,
            lease,
        });
    };
    let alone = lease.as_ref().map(|lease| lease.alone() as Arc<dyn Alone>);
    let feed = Arc::new(Feed::with_alone(standby.feed, alone));
    if data.level == Level::Standby && !standby.feed.is_required {
        warn!("level `synced` holds until a standby follows");
    }
    let mut primary = Primary {
        feed: feed.clone(),
        folder: folder.path().to_owned(),
        characters: None,
        first: recovered.start.tick,
        capacity: recovered.world.schema.world.capacity,
        epoch: recovered.epoch,
        tick_hz: recovered.world.schema.world.tick_hz,
        keys: match &options.identity {
            Some(_) => None,
            None => Some(folder.export()?),
        },
    };
    standing.write(folder.path())?;
    let threads = options.threads;
    let world = world_data::start_durability(
        folder,
        data,
        recovered,
        threads,
        Some(feed.clone()),
        validity,
    )?;
    primary.characters = world.worker.characters();
    let port = LinkPort::open(standby.listen, &standby.key, primary)?;
    Ok(Durability {
        world,
        standby: Some(Followed { feed, port }),
        lease,
    })
}
