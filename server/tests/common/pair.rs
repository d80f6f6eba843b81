//! A primary and its standby.

use std::net::SocketAddr;
use std::sync::Arc;

use peer::trust::LinkKey;
use server::host::following::{Follow, Standby};
use server::host::{DataOptions, StandbyOptions};
use server::{Server, ServerOptions};
use shared::Tick;
use standby::feed::FeedOptions;

use super::folder::TestFolder;
use super::{Player, eventually, free_address, leave, ticks, world};

/// Two folders and the file by which their servers know each other.
pub struct Pair {
    pub folder: TestFolder,
    world: String,
}

impl Pair {
    pub fn new(world: &str, name: &str) -> Pair {
        let folder = TestFolder::new(&format!("standby-{name}"));
        LinkKey::create(&folder.join("link.pem")).unwrap();
        Pair {
            folder,
            world: world.to_owned(),
        }
    }

    /// The file by which they know each other.
    pub fn key(&self) -> Arc<LinkKey> {
        Arc::new(LinkKey::load(&self.folder.join("link.pem")).unwrap())
    }

    /// Options of a server with this folder.
    pub fn options(&self, data: &str, change: impl FnOnce(&mut ServerOptions)) -> ServerOptions {
        let mut options = ServerOptions {
            // A standby gives its port away for a moment, before its server has it.
            listen: free_address(),
            shards: 1,
            threads: 1,
            ..ServerOptions::local(world(&self.world))
        };
        options.data = Some(DataOptions {
            checkpoint_seconds: 1,
            keeps_all: true,
            ..DataOptions::new(self.folder.join(data))
        });
        change(&mut options);
        options
    }

    pub fn primary(&self, change: impl FnOnce(&mut ServerOptions)) -> Server {
        let options = self.options("primary", |options| {
            options.standby = Some(self.followed());
            change(options);
        });
        Server::start(options).expect("the primary starts")
    }

    pub fn standby(&self, primary: &Server) -> Standby {
        self.standby_with(primary, |_| ())
    }

    pub fn standby_with(
        &self,
        primary: &Server,
        change: impl FnOnce(&mut ServerOptions),
    ) -> Standby {
        let follow = self.follow(primary);
        Standby::start(self.options("standby", change), follow).expect("the standby starts")
    }

    /// How to follow a server.
    pub fn follow(&self, primary: &Server) -> Follow {
        Follow {
            primary: primary.followers().expect("a port").to_string(),
            key: self.key(),
            clients_at: None,
            notifies: true,
        }
    }

    /// Promotes with a port for the next standby.
    pub fn promote(&self, mut standby: Standby) -> Server {
        standby.options_mut().standby = Some(self.followed());
        standby.promote().expect("a promotion")
    }

    fn followed(&self) -> StandbyOptions {
        StandbyOptions {
            listen: SocketAddr::from(([127, 0, 0, 1], 0)),
            key: self.key(),
            feed: FeedOptions::default(),
        }
    }
}

/// Waits until a standby has all that its primary had.
pub async fn complete(standby: &Standby) {
    eventually("the standby has caught up", || {
        let progress = standby.progress();
        assert_eq!(progress.failure, None);
        progress.is_complete
    })
    .await;
}

/// Waits until a standby has all ticks that were sent, and those up to the one that sends a death
/// of now.
pub async fn has_all(primary: &Server) {
    ticks(primary, 3).await;
    // A server counts the ticks since its start, its standby those of the world.
    let player = Player::join(primary).await;
    let last = player.client.view().newest();
    leave(primary, player).await;
    has_through(primary, last).await;
}

/// Waits until a standby has a tick of the world, and those before it.
pub async fn has_through(primary: &Server, last: Tick) {
    eventually("the standby has the ticks that were sent", || {
        primary.acknowledged() > Some(last)
    })
    .await;
}
