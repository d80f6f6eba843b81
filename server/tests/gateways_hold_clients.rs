//! Clients of gateways play in one world with those of its tick host, and outlive a gateway as well
//! as a tick host.

use std::net::SocketAddr;
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use client_bot::client_core::{Close, Event, GameOptions, LossCode};
use client_bot::connect::hello;
use client_bot::{BehaviourKind, GameClient};
use frontend::inbox::{ClientCommand, Inbox, Join, PendingRequest};
use frontend::wire::MESSAGE_BYTES_MAX;
use frontend::wire::input::Input;
use gateway::message::{Hello, PROTOCOL, ToGateway, ToHost, VERSION};
use peer::connect::connect;
use peer::frames::FrameReader;
use peer::trust::LinkKey;
use quinn::{Connection, Endpoint, RecvStream, SendStream};
use script::builtin;
use server::host::{DataOptions, GatewayPlaces};
use server::{Server, ServerOptions};
use shared::wire::request::RequestBody;
use shared::{ClientRow, EntityId, Tick};
use tokio::time::timeout;

use crate::admin;
use crate::common::folder::TestFolder;
use crate::common::gateways::{Host, key, stop};
use crate::common::names::{ByName, named};
use crate::common::{
    self, Bots, DEADLINE, PLAIN, Player, ROOM, eventually, myriad_binary, play_until, scratch,
    ticks, trust, until, until_game, world,
};

struct Attacker {
    _endpoint: Endpoint,
    connection: Connection,
    send: SendStream,
    receive: RecvStream,
    reader: FrameReader,
}

impl Attacker {
    /// It holds the key, and says what it likes.
    async fn of(host: &Host) -> Attacker {
        let config = key(&host.folder).client_config(&PROTOCOL).unwrap();
        let (endpoint, connection) = connect(&host.port(), &config).await.unwrap();
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
        while !matches!(self.hears().await, ToGateway::Tick(..)) {}
    }
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
    let mut attacker = Attacker::of(&host).await;
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
    let mut second = Attacker::of(&host).await;
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
