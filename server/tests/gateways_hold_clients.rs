//! Clients of gateways play in one world with those of its tick host, and outlive a gateway as well
//! as a tick host.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use client_bot::client_core::{Close, Event, GameOptions, LossCode};
use client_bot::connect::hello;
use client_bot::{BehaviourKind, GameClient};
use frontend::inbox::{ClientCommand, Inbox, Join, PendingRequest};
use frontend::wire::input::Input;
use gateway::host_link::HostOptions;
use gateway::message::{Hello, PROTOCOL, Reader, ToGateway, ToHost, VERSION};
use peer::connect::connect;
use peer::trust::LinkKey;
use quinn::{Connection, Endpoint, RecvStream, SendStream};
use script::builtin;
use server::server::gateway_server::Gateway;
use server::server::{DataOptions, GatewayPlaces};
use server::{Server, ServerOptions};
use shared::wire::request::RequestBody;
use shared::{ClientRow, EntityId, Tick};
use tokio::time::timeout;

use crate::common::folder::TestFolder;
use crate::common::names::{ByName, named};
use crate::common::{
    Bots, DEADLINE, PLAIN, Player, ROOM, eventually, play_until, ticks, trust, until, until_game,
    world,
};

/// A tick host, and the file by which its gateways know it.
struct Host {
    folder: TestFolder,
    server: Server,
    /// Where clients are asked for their names, if they are.
    by_name: bool,
}

impl Host {
    fn start(text: &str, name: &str, change: impl FnOnce(&mut ServerOptions)) -> Host {
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

    fn port(&self) -> String {
        self.server.gateways().expect("a port").to_string()
    }

    /// A gateway that has the world.
    async fn gateway(&self) -> Gateway {
        let port = self.port();
        self.gateway_of(vec![port]).await
    }

    async fn gateway_of(&self, hosts: Vec<String>) -> Gateway {
        let listen = free_udp_address();
        let host = HostOptions {
            hosts,
            key: key(&self.folder),
            clients_at: listen.to_string(),
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
                options
            };
            Gateway::start(host, options, Arc::default())
        };
        let started = tokio::task::spawn_blocking(start).await.unwrap();
        let gateway = started.expect("the gateway starts");
        gateway.expect("it was not stopped")
    }

    /// The same as soon as the network has room for another client.
    async fn join_soon(&self, at: SocketAddr, who: &shared::wire::control::Hello) -> Player {
        let started = std::time::Instant::now();
        loop {
            match Player::try_join_at(&self.server, at, who).await {
                Ok(player) => return player,
                Err(error) => assert!(started.elapsed() < DEADLINE, "{error}"),
            }
        }
    }

    async fn join(&self, at: SocketAddr, who: &shared::wire::control::Hello) -> Player {
        let joined = Player::try_join_at(&self.server, at, who).await;
        let mut player = joined.expect("a welcome");
        until(&mut [&mut player], "a player sees itself", |p| {
            p[0].client.view().own().is_some()
        })
        .await;
        player
    }

    /// A gateway that is none: it holds the key, and says what it likes.
    async fn attacker(&self) -> Attacker {
        let config = key(&self.folder).client_config(&PROTOCOL).unwrap();
        let (endpoint, connection) = connect(&self.port(), &config).await.unwrap();
        let (send, receive) = connection.open_bi().await.unwrap();
        let mut attacker = Attacker {
            _endpoint: endpoint,
            connection,
            send,
            receive,
            reader: Reader::new(),
        };
        attacker
            .say(&ToHost::Hello(Hello {
                version: VERSION,
                clients_at: String::new(),
                name: "an attacker".to_owned(),
            }))
            .await;
        attacker
    }
}

fn key(folder: &TestFolder) -> Arc<LinkKey> {
    Arc::new(LinkKey::load(&folder.join("link.pem")).unwrap())
}

/// Another program may take it, but hardly does.
fn free_udp_address() -> SocketAddr {
    let socket = std::net::UdpSocket::bind("127.0.0.1:0").expect("a port");
    socket.local_addr().expect("an address")
}

struct Attacker {
    _endpoint: Endpoint,
    connection: Connection,
    send: SendStream,
    receive: RecvStream,
    reader: Reader,
}

impl Attacker {
    async fn say(&mut self, message: &ToHost) {
        // One whose link is closed says nothing.
        let _ = self.send.write_all(&message.encode()).await;
    }

    async fn hears(&mut self) -> ToGateway {
        loop {
            if let Some(message) = self.reader.message().unwrap() {
                return message;
            }
            let chunk = self.receive.read_chunk(1 << 20, true).await.unwrap();
            self.reader.push(&chunk.expect("the link is open").bytes);
        }
    }

    /// Waits for its first tick.
    async fn has_world(&mut self) {
        while !matches!(self.hears().await, ToGateway::Tick(_)) {}
    }
}

async fn stop(gateway: Gateway) {
    let stopped = tokio::task::spawn_blocking(move || gateway.stop()).await;
    stopped.unwrap().expect("the gateway stops");
}

#[tokio::test]
async fn clients_of_gateways_and_of_the_tick_host_play_together() {
    let host = Host::start(PLAIN, "together", |_| ());
    let early = Bots::start(&host.server, 6, BehaviourKind::Fight).await;
    ticks(&host.server, 10).await;
    // They join a world that runs.
    let gateways = [host.gateway().await, host.gateway().await];
    let mut all = vec![early];
    for gateway in &gateways {
        let at = |bots: &mut client_bot::SwarmOptions| bots.server = gateway.address();
        all.push(Bots::start_with(&host.server, 12, BehaviourKind::Fight, at).await);
    }
    ticks(&host.server, 60).await;
    for bots in all {
        bots.verify(&host.server).await;
    }
    for gateway in gateways {
        stop(gateway).await;
    }
    host.server.stop().unwrap();
}

#[tokio::test]
async fn clients_of_a_gateway_get_the_layers_of_the_world() {
    let walls = "[world]\nsize = [4, 3]\naoi = 3\ncapacity = 8\n\
                 [[layer]]\nname = 'blocked'\ndrawing = \"\"\"\n####\n#..#\n####\n\"\"\"\n";
    let host = Host::start(walls, "layers", |_| ());
    let gateway = host.gateway().await;
    let (at, trust) = (gateway.address(), trust(&host.server));
    let game = GameClient::new(at, "localhost", &trust, GameOptions::default());
    let mut game = game.expect("a socket");
    let layers = tokio::task::spawn_blocking(move || {
        let what = ("the layers come", DEADLINE);
        until_game(&mut game, what, |game, _| game.layers().cloned())
    });
    assert_eq!(layers.await.unwrap(), world(walls).schema.layers);
    stop(gateway).await;
    host.server.stop().unwrap();
}

#[tokio::test]
async fn clients_of_a_gateway_that_ends_come_back_by_another_as_the_same_entities() {
    let host = Host::start(ROOM, "ends", |_| ());
    let (first, second) = (host.gateway().await, host.gateway().await);
    let mut witness = host.join(second.address(), &hello("", None)).await;
    let address = first.address();
    let server = &host.server;
    let game = GameClient::new(address, "localhost", &trust(server), GameOptions::default());
    let mut game = game.expect("a socket");
    let (mut game, events) = tokio::task::spawn_blocking(move || {
        let is_own = |event: &Event| matches!(event, Event::Entered { .. });
        let events = play_until(&mut game, "its entity", is_own);
        // Until it has been sent the address of the other gateway.
        for _ in 0..40 {
            game.wait(Duration::from_millis(10)).expect("a socket");
            game.poll();
            game.flush();
        }
        (game, events)
    })
    .await
    .unwrap();
    let Some(&Event::Welcomed(entity)) = events.first() else {
        panic!("{events:?}");
    };
    until(&mut [&mut witness], "it sees the other", |p| {
        p[0].sees(entity)
    })
    .await;
    stop(first).await;
    let back = tokio::task::spawn_blocking(move || {
        let is_back = |e: &Event| matches!(e, Event::Resumed(_) | Event::Welcomed(_));
        play_until(&mut game, "its return", is_back)
    });
    assert_eq!(back.await.unwrap().last(), Some(&Event::Resumed(entity)));
    // To others it has never gone.
    assert_eq!(witness.leaves_of(entity), []);
    stop(second).await;
    host.server.stop().unwrap();
}

#[tokio::test]
async fn clients_of_a_gateway_stay_connected_while_their_tick_host_is_replaced() {
    let any = SocketAddr::from(([127, 0, 0, 1], 0));
    let folder = TestFolder::new("gateways-replaced-world");
    let data = |options: &mut ServerOptions| {
        options.data = Some(DataOptions {
            checkpoint_seconds: 1,
            ..DataOptions::new(&*folder)
        });
    };
    let host = Host::start(ROOM, "replaced", data);
    let at: SocketAddr = host.port().parse().unwrap();
    let gateway = host.gateway().await;
    let address = gateway.address();
    let trust = trust(&host.server);
    let game = GameClient::new(address, "localhost", &trust, GameOptions::default());
    let mut game = game.expect("a socket");
    let playing = tokio::task::spawn_blocking(move || {
        let is_own = |event: &Event| matches!(event, Event::Entered { .. });
        let events = play_until(&mut game, "its entity", is_own);
        let Some(&Event::Welcomed(entity)) = events.first() else {
            panic!("{events:?}");
        };
        (game, entity)
    });
    let (mut game, entity) = playing.await.unwrap();
    host.server.stop().unwrap();
    eventually("the gateway is without a world", || !gateway.serves()).await;
    // New clients are refused meanwhile.
    let connector = client_bot::Connector::new(address, "localhost", &trust).unwrap();
    let early = client_bot::Client::connect(&connector, &hello("", None)).await;
    let code = early.err().expect("no world to join").code();
    assert_eq!(code, LossCode::Closed(Close::Starting));
    let mut options = ServerOptions {
        shards: 1,
        threads: 1,
        gateways: Some(GatewayPlaces {
            silence_max: Duration::from_secs(20),
            ..GatewayPlaces::new(at, key(&host.folder))
        }),
        ..ServerOptions::local(world(ROOM))
    };
    options.listen = any;
    data(&mut options);
    let again = Server::start(options).expect("the world continues");
    eventually("the gateway has it", || gateway.serves()).await;
    let playing = tokio::task::spawn_blocking(move || {
        let is_back = |event: &Event| matches!(event, Event::Resumed(_) | Event::Welcomed(_));
        let events = play_until(&mut game, "its world", is_back);
        let own = game.view().and_then(|view| view.own()).expect("its entity");
        // One unit towards the middle.
        let step = [0, 1].map(|axis| 4096 * (61_440 - own.row[axis]).signum());
        let goal = [own.row[0] + step[0], own.row[1] + step[1]];
        game.command(builtin::MOVE, &step).expect("a command");
        until_game(&mut game, ("its step", DEADLINE), |game, _| {
            let own = game.view().and_then(|view| view.own())?;
            (own.row[..2] == goal).then_some(())
        });
        events
    });
    let events = playing.await.unwrap();
    assert_eq!(events.last(), Some(&Event::Resumed(entity)));
    let is_lost = |event: &Event| matches!(event, Event::Lost { .. });
    assert!(!events.iter().any(is_lost), "{events:?}");
    stop(gateway).await;
    again.stop().unwrap();
}

#[tokio::test]
async fn bans_networks_and_accounts_hold_across_gateways() {
    let host = Host::start(ROOM, "bans", |options| {
        options.authenticator = Arc::new(ByName);
        options.admin = Some(crate::common::scratch("gateways.sock"));
        options.clients_per_network = 3;
    });
    let (first, second) = (host.gateway().await, host.gateway().await);
    let mut ann = host.join(first.address(), &named("Ann")).await;
    let entity = ann.entity();
    // The same account by the other gateway takes its place.
    let again = host.join(second.address(), &named("Ann")).await;
    assert_eq!(again.entity(), entity);
    let ended = timeout(DEADLINE, async {
        loop {
            if let Err(error) = ann.listen().await {
                return error;
            }
        }
    });
    let code = ended.await.expect("its end").code();
    assert_eq!(code, LossCode::Closed(Close::Replaced));
    // All are of one network.
    let ben = host.join_soon(first.address(), &named("Ben")).await;
    let _cleo = host.join_soon(host.server.address(), &named("Cleo")).await;
    let refusal = |at, name: &'static str| {
        let server = &host.server;
        async move {
            let joined = Player::try_join_at(server, at, &named(name)).await;
            let error = joined.err().expect("no welcome");
            (error.code(), error.to_string())
        }
    };
    let (code, reason) = refusal(first.address(), "Dora").await;
    assert_eq!(code, LossCode::Closed(Close::Refused), "{reason}");
    assert!(reason.contains("clients of this network"), "{reason}");
    drop(ben);
    // Banned at the tick host, gone and refused at gateways.
    let socket = crate::common::scratch("gateways.sock");
    let mut command = std::process::Command::new(crate::common::myriad_binary());
    command.args(["admin", "--socket"]).arg(&socket);
    command.args(["ban", "--account", "Ann", "--for", "1h"]);
    let run = tokio::task::spawn_blocking(move || command.output());
    let ban = run.await.unwrap().unwrap();
    assert!(ban.status.success(), "{}", crate::common::text(&ban));
    eventually("the ban holds", || {
        host.server.stats().figures().clients < 3
    })
    .await;
    let (code, reason) = refusal(second.address(), "Ann").await;
    assert_eq!(code, LossCode::Closed(Close::Banned), "{reason}");
    for gateway in [first, second] {
        stop(gateway).await;
    }
    host.server.stop().unwrap();
}

#[tokio::test]
async fn a_gateway_speaks_for_its_own_clients_only() {
    let host = Host::start(ROOM, "attack", |_| ());
    let mut player = Player::join(&host.server).await;
    let entity = player.entity();
    let mut attacker = host.attacker().await;
    attacker.has_world().await;
    let mut inbox = Inbox::default();
    for sequence in 0..50 {
        let command = ClientCommand {
            entity,
            sequence,
            kind: builtin::MOVE,
        };
        inbox.push(command, &[4096, 4096]);
    }
    // The actor of its own invention, and what only servers may give.
    let none = ClientCommand {
        entity: EntityId::new(9999, 1),
        sequence: 1,
        kind: shared::CommandKind::DESPAWN,
    };
    inbox.push(none, &[]);
    inbox.confirmed.push(0);
    inbox.requests.push(PendingRequest {
        session: 0,
        client: ClientRow(0),
        number: 1,
        body: Ok(RequestBody::Unsubscribe { id: 1 }),
    });
    let input = Input {
        // Of the future.
        sent_through: Some(Tick(u64::MAX)),
        acked_through: Tick(u64::MAX),
        ..Input::take(&mut inbox)
    };
    attacker.say(&ToHost::Input(input.encode())).await;
    let place = |player: &Player| player.client.view().own().expect("it lives").row.clone();
    let before = place(&player);
    let newest = player.client.view().newest();
    ticks(&host.server, 10).await;
    until(&mut [&mut player], "the world runs", |p| {
        p[0].client.view().newest() > newest.after(10)
    })
    .await;
    assert_eq!(place(&player), before);
    // A client of its own may come and go; bytes that are no message end it.
    let mut inbox = Inbox::default();
    inbox.join(Join {
        session: 7,
        ..Join::default()
    });
    let input = Input::take(&mut inbox);
    attacker.say(&ToHost::Input(input.encode())).await;
    let two = || host.server.stats().figures().clients == 2;
    eventually("its client has come", two).await;
    attacker.say(&ToHost::Input(vec![0xff; 40])).await;
    let closed = timeout(DEADLINE, attacker.connection.closed());
    closed.await.expect("the link is closed");
    ticks(&host.server, 3).await;
    assert!(host.server.is_running());
    host.server.stop().unwrap();
}

#[tokio::test]
async fn a_key_that_is_not_known_and_a_gateway_too_many_are_refused() {
    let host = Host::start(ROOM, "refused", |options| {
        if let Some(gateways) = &mut options.gateways {
            gateways.count = 1;
        }
    });
    let other = TestFolder::new("gateways-other");
    LinkKey::create(&other.join("link.pem")).unwrap();
    let config = key(&other).client_config(&PROTOCOL).unwrap();
    let foreign = async {
        let (_endpoint, connection) = connect(&host.port(), &config).await?;
        // The handshake may end first at this side.
        let (mut send, mut receive) = connection.open_bi().await?;
        send.write_all(&[0; 8]).await?;
        anyhow::Ok(receive.read_chunk(10, true).await?)
    };
    assert!(foreign.await.is_err(), "an unknown key has been accepted");
    let gateway = host.gateway().await;
    let mut second = host.attacker().await;
    let ToGateway::Refused(reason) = second.hears().await else {
        panic!("a second gateway has a place");
    };
    assert!(reason.contains("--gateways-max"), "{reason}");
    stop(gateway).await;
    // The place is free again.
    let third = host.gateway().await;
    stop(third).await;
    host.server.stop().unwrap();
}
