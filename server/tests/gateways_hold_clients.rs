//! Clients of gateways play in one world with those of its tick host, and outlive a gateway as well
//! as a tick host.

use std::net::SocketAddr;
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use client_bot::client_core::{Close, Event, GameOptions, LossCode};
use client_bot::connect::ClientError;
use client_bot::connect::hello;
use client_bot::{BehaviourKind, GameClient};
use frontend::inbox::{ClientCommand, Inbox, Join, PendingRequest};
use frontend::wire::MESSAGE_BYTES_MAX;
use frontend::wire::input::Input;
use gateway::host_link::HostOptions;
use gateway::message::{Hello, PROTOCOL, ToGateway, ToHost, VERSION};
use peer::connect::connect;
use peer::frames::FrameReader;
use peer::trust::LinkKey;
use quinn::{Connection, Endpoint, RecvStream, SendStream};
use script::builtin;
use serde_json::Value;
use server::server::gateway_server::Gateway;
use server::server::{DataOptions, GatewayPlaces, WebServing};
use server::{Server, ServerOptions};
use shared::wire::request::RequestBody;
use shared::{ClientRow, EntityId, Tick};
use tokio::time::timeout;

use crate::a_page_plays::{PLAYING, room};
use crate::admin;
use crate::common::chromium::Chromium;
use crate::common::folder::TestFolder;
use crate::common::names::{ByName, named};
use crate::common::process::{signal, start_printing};
use crate::common::python;
use crate::common::{
    self, Bots, DEADLINE, PLAIN, Player, ROOM, eventually, myriad_binary, play_until, scratch,
    ticks, trust, until, until_game, world,
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
        self.gateway_with(hosts, |_| ()).await
    }

    /// The same with other options. One with a page has it where others name it.
    async fn gateway_with(
        &self,
        hosts: Vec<String>,
        change: impl FnOnce(&mut ServerOptions) + Send + 'static,
    ) -> Gateway {
        let listen = free_udp_address();
        let page = free_tcp_address();
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
            reader: FrameReader::new(MESSAGE_BYTES_MAX),
        };
        attacker
            .say(&ToHost::Hello(Hello {
                version: VERSION,
                clients_at: String::new(),
                page_at: String::new(),
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

fn free_tcp_address() -> SocketAddr {
    let socket = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    socket.local_addr().expect("an address")
}

struct Attacker {
    _endpoint: Endpoint,
    connection: Connection,
    send: SendStream,
    receive: RecvStream,
    reader: FrameReader,
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
        until_game(&mut game, ("another address", DEADLINE), |game, _| {
            game.game().address().map(drop)
        });
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
        options.admin = Some(scratch("gateways.sock"));
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
    let socket = scratch("gateways.sock");
    let mut command = Command::new(myriad_binary());
    command.args(["admin", "--socket"]).arg(&socket);
    command.args(["ban", "--account", "Ann", "--for", "1h"]);
    let run = tokio::task::spawn_blocking(move || command.output());
    let ban = run.await.unwrap().unwrap();
    assert!(ban.status.success(), "{}", common::text(&ban));
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

#[tokio::test]
async fn a_full_gateway_sends_its_clients_to_another_one() {
    let host = Host::start(ROOM, "full", |_| ());
    let small = |options: &mut ServerOptions| options.clients_max = Some(1);
    let first = host.gateway_with(vec![host.port()], small).await;
    let second = host.gateway_with(vec![host.port()], small).await;
    let trust = trust(&host.server);
    let address = first.address();
    let play = move || {
        let game = GameClient::new(address, "localhost", &trust, GameOptions::default());
        let mut game = game.expect("a socket");
        let is_own = |event: &Event| matches!(event, Event::Entered { .. });
        let events = play_until(&mut game, "its entity", is_own);
        (game, events)
    };
    let one = tokio::task::spawn_blocking(play.clone()).await.unwrap().0;
    // The other one is known to it, and has room.
    let two = tokio::task::spawn_blocking(play).await.unwrap();
    assert!(matches!(two.1[0], Event::Lost { .. }), "{:?}", two.1);
    let full = |at| {
        let server = &host.server;
        async move {
            Player::try_join_at(server, at, &hello("", None))
                .await
                .err()
        }
    };
    for (at, other) in [(&first, &second), (&second, &first)] {
        let ending = match full(at.address()).await {
            Some(ClientError::Refused(ending) | ClientError::Ended(ending)) => ending,
            other => panic!("{other:?}"),
        };
        assert_eq!(ending.code, LossCode::Closed(Close::Full));
        assert_eq!(ending.reason, "this server has its 1 clients");
        let redirect = ending.redirect.expect("another server");
        assert_eq!(redirect.0, other.address().to_string());
    }
    drop((one, two));
    for gateway in [first, second] {
        stop(gateway).await;
    }
    host.server.stop().unwrap();
}

#[tokio::test]
async fn a_page_whose_gateway_ends_plays_on_by_another_one_as_the_same_entity() {
    let Some(browser) = Chromium::start(&scratch("page-gateways")) else {
        return;
    };
    let host = Host::start(&room(), "pages", |_| ());
    let web = |options: &mut ServerOptions| {
        options.web = Some(WebServing::at(([127, 0, 0, 1], 0).into()));
    };
    let first = host.gateway_with(vec![host.port()], web).await;
    let second = host.gateway_with(vec![host.port()], web).await;
    let mut witness = host.join(second.address(), &hello("", None)).await;
    let page = first.page().expect("a page");
    browser.open(&format!("http://{page}/"));
    browser.until("the page is in the world", PLAYING);
    // Once to connect, and once for the others.
    let asked = "performance.getEntriesByType('resource')
        .filter(({ name }) => name.endsWith('/connect.json')).length > 1";
    browser.until("it has asked where the other is", asked);
    let known = common::get(page, "/connect.json");
    let other = second.page().expect("a page");
    assert!(known.contains(&format!("http://{other}/")), "{known}");
    until(&mut [&mut witness], "both are there", |p| {
        p[0].client.view().entities().len() == 2
    })
    .await;
    let own = witness.entity();
    let others = witness.client.view().entities().values();
    let entity = others
        .map(|e| e.id)
        .find(|&id| id != own)
        .expect("its player");
    stop(first).await;
    browser.until("it plays on", PLAYING);
    let slot = browser.value("myriad.game.quality().own");
    assert_eq!(slot.as_u64(), Some(u64::from(entity.slot.0)));
    ticks(&host.server, 2).await;
    assert_eq!(witness.leaves_of(entity), []);
    drop(browser);
    stop(second).await;
    host.server.stop().unwrap();
}

#[tokio::test]
async fn operators_see_the_connections_of_gateways() {
    let socket = scratch("gateways-listed.sock");
    let host = Host::start(ROOM, "listed", |options| {
        options.admin = Some(socket.clone())
    });
    let gateway = host.gateway().await;
    let player = host.join(gateway.address(), &hello("", None)).await;
    let clients = admin::list(&socket).await;
    assert_eq!(clients.len(), 1);
    let link = clients[0].link.as_ref().expect("its connection");
    assert!(link.address.starts_with("127.0.0.1:"), "{link:?}");
    assert!(
        link.packets_sent > 0 && link.round_trip_ms > 0.0,
        "{link:?}"
    );
    drop(player);
    stop(gateway).await;
    host.server.stop().unwrap();
}

#[tokio::test]
async fn clients_of_a_gateway_that_stalls_come_back_by_another_one() {
    let host = Host::start(ROOM, "stalls", |options| {
        if let Some(gateways) = &mut options.gateways {
            gateways.silence_max = Duration::from_secs(2);
        }
    });
    let other = host.gateway().await;
    let listen = free_udp_address();
    let mut command = Command::new(myriad_binary());
    command.args([
        "gateway",
        "--world",
        &host.port(),
        "--shards",
        "1",
        "--threads",
        "1",
    ]);
    command.arg("--link-key").arg(host.folder.join("link.pem"));
    command.args(["--listen", &listen.to_string()]);
    command.args(["--clients-at", &listen.to_string()]);
    let (mut stalled, printed) = start_printing(&mut command);
    eventually("it listens", || {
        printed
            .lock()
            .expect("no panic with it")
            .contains("listening on")
    })
    .await;
    let trust = trust(&host.server);
    let playing = tokio::task::spawn_blocking(move || {
        let game = GameClient::new(listen, "localhost", &trust, GameOptions::default());
        let mut game = game.expect("a socket");
        let is_own = |event: &Event| matches!(event, Event::Entered { .. });
        let events = play_until(&mut game, "its entity", is_own);
        // It is sent where the other is.
        until_game(&mut game, ("another address", DEADLINE), |game, _| {
            game.game().address().map(drop)
        });
        (game, events)
    });
    let (mut game, events) = playing.await.unwrap();
    let Some(&Event::Welcomed(entity)) = events.first() else {
        panic!("{events:?}");
    };
    signal(&stalled, "-STOP");
    let back = tokio::task::spawn_blocking(move || {
        let is_back = |e: &Event| matches!(e, Event::Resumed(_) | Event::Welcomed(_));
        play_until(&mut game, "its return", is_back)
    });
    assert_eq!(back.await.unwrap().last(), Some(&Event::Resumed(entity)));
    let freed = || host.server.stats().figures().clients == 1;
    eventually("its place is free", freed).await;
    // It goes on as a gateway without clients once it runs again.
    signal(&stalled, "-CONT");
    eventually("it has the world again", || {
        let log = printed.lock().expect("no panic with it");
        log.matches("the gateway has its world").count() == 2
    })
    .await;
    stalled.kill().expect("it runs");
    stalled.wait().expect("it ends");
    stop(other).await;
    host.server.stop().unwrap();
}

#[tokio::test]
async fn a_client_in_python_comes_back_by_another_gateway() {
    let Some(python) = python::interpreter() else {
        return;
    };
    let host = Host::start(ROOM, "python", |_| ());
    let (first, second) = (host.gateway().await, host.gateway().await);
    let port = first.address().port().to_string();
    let mut command = python::program(&python, "stay.py", &["127.0.0.1", &port]);
    let (child, printed) = start_printing(&mut command);
    let running = python::Running(child);
    let lines = || {
        let printed = printed.lock().expect("no panic with it");
        let lines = printed
            .lines()
            .map(|line| serde_json::from_str(line).expect(line));
        lines.collect::<Vec<Value>>()
    };
    let other = Value::from(vec![second.address().to_string()]);
    eventually("it is in the world, and knows the other", || {
        lines().iter().any(|line| line["servers"] == other)
    })
    .await;
    stop(first).await;
    eventually("it is back", || {
        lines()
            .iter()
            .filter(|line| !line["entity"].is_null())
            .count()
            == 2
    })
    .await;
    let welcomes: Vec<Value> = lines();
    let welcomes: Vec<_> = welcomes
        .iter()
        .filter(|line| !line["entity"].is_null())
        .collect();
    assert_eq!(welcomes[0]["resumed"], false);
    assert_eq!(welcomes[1]["resumed"], true);
    assert_eq!(welcomes[0]["entity"], welcomes[1]["entity"]);
    drop(running);
    stop(second).await;
    host.server.stop().unwrap();
}
