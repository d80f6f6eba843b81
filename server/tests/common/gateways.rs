//! A tick host with gateways.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use gateway::host_link::HostOptions;
use peer::trust::LinkKey;
use server::host::GatewayPlaces;
use server::host::gateway_server::Gateway;
use server::{Server, ServerOptions};

use super::folder::TestFolder;
use super::names::ByName;
use super::{DEADLINE, Player, free_address, until, world};

/// A tick host, and the file by which its gateways know it.
pub struct Host {
    pub folder: TestFolder,
    pub server: Server,
    /// Where clients are asked for their names, if they are.
    by_name: bool,
}

impl Host {
    pub fn start(text: &str, name: &str, change: impl FnOnce(&mut ServerOptions)) -> Host {
        let folder = TestFolder::new(&format!("gateways-{name}"));
        LinkKey::create(&folder.join("link.pem")).unwrap();
        let any = SocketAddr::from(([127, 0, 0, 1], 0));
        let mut options = ServerOptions {
            shards: 1,
            threads: 1,
            gateways: Some(GatewayPlaces {
                // A busy machine is no dead gateway.
                silence_max: Duration::from_secs(20),
                ..GatewayPlaces::new(any, key(&folder))
            }),
            ..ServerOptions::local(world(text))
        };
        change(&mut options);
        Host {
            by_name: !options.authenticator.is_open(),
            server: Server::start(options).expect("the tick host starts"),
            folder,
        }
    }

    pub fn port(&self) -> String {
        self.server.gateways().expect("a port").to_string()
    }

    /// A gateway that has the world.
    pub async fn gateway(&self) -> Gateway {
        let port = self.port();
        self.gateway_of(vec![port]).await
    }

    pub async fn gateway_of(&self, hosts: Vec<String>) -> Gateway {
        self.gateway_with(hosts, |_| ()).await
    }

    /// The same with other options. One with a page has it where others name it.
    pub async fn gateway_with(
        &self,
        hosts: Vec<String>,
        change: impl FnOnce(&mut ServerOptions) + Send + 'static,
    ) -> Gateway {
        let listen = free_address();
        let page = free_address();
        let host = HostOptions {
            hosts,
            key: key(&self.folder),
            clients_at: listen.to_string(),
            page_at: format!("http://{page}/"),
            name: "a test's".to_owned(),
        };
        let by_name = self.by_name;
        let start = move || {
            let options = |first: &gateway::gateway_loop::FirstWorld| {
                let mut options = ServerOptions {
                    listen,
                    shards: 2,
                    threads: 1,
                    ..ServerOptions::local(first.config.clone())
                };
                if by_name {
                    options.authenticator = Arc::new(ByName);
                }
                change(&mut options);
                if let Some(web) = &mut options.web {
                    web.page = page;
                }
                options
            };
            Gateway::start(host, options, Arc::default())
        };
        let started = tokio::task::spawn_blocking(start).await.unwrap();
        let gateway = started.expect("the gateway starts");
        gateway.expect("it was not stopped")
    }

    /// The same as soon as the network has room for another client.
    pub async fn join_soon(&self, at: SocketAddr, who: &shared::wire::control::Hello) -> Player {
        let started = std::time::Instant::now();
        loop {
            match Player::try_join_at(&self.server, at, who).await {
                Ok(player) => return player,
                Err(error) => assert!(started.elapsed() < DEADLINE, "{error}"),
            }
        }
    }

    pub async fn join(&self, at: SocketAddr, who: &shared::wire::control::Hello) -> Player {
        let joined = Player::try_join_at(&self.server, at, who).await;
        let mut player = joined.expect("a welcome");
        until(&mut [&mut player], "a player sees itself", |p| {
            p[0].client.view().own().is_some()
        })
        .await;
        player
    }
}

pub fn key(folder: &TestFolder) -> Arc<LinkKey> {
    Arc::new(LinkKey::load(&folder.join("link.pem")).unwrap())
}

pub async fn stop(gateway: Gateway) {
    let stopped = tokio::task::spawn_blocking(move || gateway.stop()).await;
    stopped.unwrap().expect("the gateway stops");
}
