//! A single client in a world, step by step.

use std::net::SocketAddr;
use std::sync::mpsc::{Sender, channel};
use std::thread::JoinHandle;
use std::time::Instant;

use client_bot::client_core::LossCode;
use client_bot::connect::{ClientError, hello};
use client_bot::{Client, Connector, EventHandler};
use script::builtin;
use server::Server;
use shared::wire::control::{Hello, Ticket};
use shared::wire::notice::Notice;
use shared::wire::stream::Message;
use shared::{CommandKind, EntityId, Tick};
use tokio::time::timeout;

use super::{DEADLINE, POLL, come_back, trust, units};

/// A single client, and the messages of its stream.
pub struct Player {
    pub client: Client,
    pub log: Log,
}

#[derive(Default)]
pub struct Log {
    pub messages: Vec<(Tick, Message)>,
}

impl EventHandler for Log {
    fn message(&mut self, tick: Tick, item: &Message) {
        self.messages.push((tick, item.clone()));
    }
}

impl Player {
    /// Joins, and waits until it sees itself.
    pub async fn join(server: &Server) -> Player {
        Player::join_as(server, &hello("", None)).await
    }

    /// The same with a hello of its own.
    pub async fn join_as(server: &Server, hello: &Hello) -> Player {
        let joined = Player::try_join(server, hello).await;
        let mut player = joined.expect("the server welcomes a player");
        until(&mut [&mut player], "a player sees itself", |p| {
            p[0].client.view().own().is_some()
        })
        .await;
        player
    }

    /// Resumes the session of a ticket; begins a new one if it is over.
    pub async fn resume(server: &Server, ticket: Ticket) -> Player {
        let joined = Player::try_join(server, &hello("", Some(ticket))).await;
        joined.expect("the server welcomes a client that resumes")
    }

    /// The code and the sentence with which a server refuses a hello.
    pub async fn refusal(server: &Server, hello: &Hello) -> (LossCode, String) {
        let joined = Player::try_join(server, hello).await;
        let error = joined.err().expect("no welcome");
        (error.code(), error.to_string())
    }

    pub async fn try_join(server: &Server, hello: &Hello) -> Result<Player, ClientError> {
        Player::try_join_at(server, server.address(), hello).await
    }

    /// Joins by another address than the server's own.
    pub async fn try_join_at(
        server: &Server,
        address: SocketAddr,
        hello: &Hello,
    ) -> Result<Player, ClientError> {
        let connector = Connector::new(address, "localhost", &trust(server))?;
        let joining = Client::connect(&connector, hello);
        let client = timeout(DEADLINE, joining).await.expect("an answer")?;
        Ok(Player {
            client,
            log: Log::default(),
        })
    }

    /// Comes back after its connection has ended, wherever the world is now.
    pub async fn come_back(&mut self) {
        come_back(&mut self.client).await;
    }

    /// Receives for a moment, and acknowledges.
    pub async fn listen(&mut self) -> Result<(), ClientError> {
        let end = Instant::now() + POLL;
        loop {
            let left = end.saturating_duration_since(Instant::now());
            match timeout(left, self.client.receive(&mut self.log)).await {
                Ok(received) => received?,
                Err(_) => break,
            }
        }
        self.client.flush();
        Ok(())
    }

    pub fn entity(&self) -> EntityId {
        self.client.view().entity()
    }

    pub fn sees(&self, entity: EntityId) -> bool {
        let seen = self.client.view().entities().get(&entity.slot.0);
        seen.is_some_and(|seen| seen.id == entity)
    }

    /// The number of enters of an entity's slot.
    pub fn enters_of(&self, of: EntityId) -> usize {
        let is_it = |item: &Message| matches!(item, Message::Enter { entity, .. } if entity.slot == of.slot);
        self.log.messages.iter().filter(|(_, i)| is_it(i)).count()
    }

    /// The ticks of the leaves of an entity.
    pub fn leaves_of(&self, entity: EntityId) -> Vec<Tick> {
        let items = self.log.messages.iter();
        let leaves = items.filter(|(_, item)| *item == Message::Leave(entity.slot));
        leaves.map(|&(tick, _)| tick).collect()
    }

    /// The requests that were answered, each with its answer.
    pub fn answers(&self) -> Vec<(u32, Result<(), String>)> {
        let items = self.log.messages.iter();
        let answers = items.filter_map(|(_, item)| match item {
            Message::Answer(answer) => Some((answer.request, answer.result.clone())),
            _ => None,
        });
        answers.collect()
    }

    /// Waits for the answer to a request.
    pub async fn answer(&mut self, request: impl Into<Option<u32>>) -> Result<(), String> {
        let answer = self.client.answer(request, &mut self.log).await;
        answer.expect("an answer")
    }

    /// Subscribes, and waits for the answer.
    pub async fn subscribe(&mut self, id: u32, predicate: &str) -> Result<(), String> {
        let request = self.client.subscribe(id, predicate).expect("a short text");
        self.answer(request).await
    }

    /// The notices that it was sent.
    pub fn notices(&self) -> Vec<&Notice> {
        let items = self.log.messages.iter();
        let notices = items.filter_map(|(_, item)| match item {
            Message::Notice(notice) => Some(notice),
            _ => None,
        });
        notices.collect()
    }

    /// An attribute of an entity in view.
    pub fn value(&self, entity: EntityId, attribute: &str) -> i32 {
        let view = self.client.view();
        let column = view.schema().column(attribute).expect("such an attribute");
        view.entities()[&entity.slot.0].row[column]
    }

    pub fn send(&mut self, kind: CommandKind, words: &[i32]) {
        let sent = self.client.command(kind, words);
        assert!(sent.is_some(), "this world has no command {kind:?}");
        self.client.flush();
    }

    /// Listens until the connection ends, and gives the reason.
    pub async fn end(&mut self) -> String {
        self.error().await.to_string()
    }

    /// The same with the code.
    pub async fn end_with_code(&mut self) -> (LossCode, String) {
        let error = self.error().await;
        (error.code(), error.to_string())
    }

    async fn error(&mut self) -> ClientError {
        let started = Instant::now();
        loop {
            if let Err(error) = self.listen().await {
                return error;
            }
            assert!(started.elapsed() < DEADLINE, "the connection does not end");
        }
    }
}

/// Lets players listen until a condition holds.
pub async fn until(
    players: &mut [&mut Player],
    what: &str,
    mut holds: impl FnMut(&[&mut Player]) -> bool,
) {
    let started = Instant::now();
    while !holds(players) {
        assert!(started.elapsed() < DEADLINE, "timed out: {what}");
        listen(players, what).await;
    }
}

/// Lets players listen for this many ticks.
pub async fn listen_for(server: &Server, players: &mut [&mut Player], ticks: u64) {
    let end = server.stats().figures().ticks + ticks;
    until(players, "the world runs", |_| {
        server.stats().figures().ticks >= end
    })
    .await;
}

/// Lets all of these players listen for some ticks.
pub async fn all_listen(server: &Server, players: &mut [Player]) {
    let mut all: Vec<&mut Player> = players.iter_mut().collect();
    listen_for(server, &mut all, 4).await;
}

/// Moves a player somewhere in one step, and waits until it is there.
pub async fn go(player: &mut Player, x: f64, y: f64) {
    let own = player.client.view().own().expect("it lives");
    let goal = [units(x), units(y)];
    let step = [goal[0] - own.row[0], goal[1] - own.row[1]];
    player.send(builtin::MOVE, &step);
    until(&mut [player], "it is there", |p| {
        let own = p[0].client.view().own();
        own.is_some_and(|own| own.row[..2] == goal)
    })
    .await;
}

async fn listen(players: &mut [&mut Player], what: &str) {
    for player in players {
        if let Err(error) = player.listen().await {
            panic!("while waiting until {what}: {error}");
        }
    }
}

/// A player whose machine has stopped: it sends nothing any more, not even a goodbye.
pub struct Vanished {
    pub entity: EntityId,
    pub ticket: Ticket,
    /// The newest tick that it received.
    pub newest: Tick,
    wake: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Vanished {
    /// Joins, sees itself, and vanishes.
    pub fn join(server: &Server) -> Vanished {
        Vanished::join_with(server, async |_: &mut Player| ())
    }

    /// Joins, sees itself, does something, and vanishes.
    pub fn join_with(server: &Server, act: impl AsyncFnOnce(&mut Player) + Send) -> Vanished {
        Vanished::join_as(server, &hello("", None), act)
    }

    /// The same with a hello of its own.
    pub fn join_as(
        server: &Server,
        hello: &Hello,
        act: impl AsyncFnOnce(&mut Player) + Send,
    ) -> Vanished {
        std::thread::scope(|scope| {
            let joined = scope.spawn(|| Vanished::join_here(server, hello, act));
            joined.join().expect("a player joins and vanishes")
        })
    }

    fn join_here(server: &Server, hello: &Hello, act: impl AsyncFnOnce(&mut Player)) -> Vanished {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .expect("a runtime");
        let player = runtime.block_on(async {
            let mut player = Player::join_as(server, hello).await;
            act(&mut player).await;
            player
        });
        let (wake, woken) = channel();
        let (entity, ticket) = (player.entity(), player.client.ticket());
        let newest = player.client.view().newest();
        let thread = std::thread::spawn(move || {
            // The socket stays open, and is not read.
            let _ = woken.recv();
            drop((player, runtime));
        });
        Vanished {
            entity,
            ticket,
            newest,
            wake: Some(wake),
            thread: Some(thread),
        }
    }
}

impl Drop for Vanished {
    fn drop(&mut self) {
        self.wake = None;
        if let Some(thread) = self.thread.take() {
            thread.join().expect("a vanished player's thread ends");
        }
    }
}
