//! A client in the world, over QUIC.

use std::pin::Pin;
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use client_core::event::PendingRequest;
use client_core::{Region, RetryOptions, Route, Session, TalkRequest, View};
use quic::Turns;
use quinn::{Connection, RecvStream, SendStream, VarInt};
use shared::wire::control::{Close, Hello, Ticket};
use shared::{CommandKind, Tick};

use crate::connect::{ClientError, ended};
use crate::connector::{Connected, Connector};

pub use client_core::EventHandler;

/// A client in the world: a [`Session`] and the connection that it runs over.
pub struct Client {
    connection: Connection,
    send: SendStream,
    receive: RecvStream,
    session: Session,
    /// Bytes of the stream that came with the welcome.
    rest: Vec<u8>,
    route: Route,
    turns: Turns,
    /// When the last turn began.
    turned: Instant,
}

impl Client {
    /// Connects and waits to be welcomed.
    pub async fn connect(connector: &Connector, hello: &Hello) -> Result<Client, ClientError> {
        let connected = connector.connect(hello).await?;
        Ok(Client::begin(connected, Route::default()))
    }

    fn begin(connected: Connected, mut route: Route) -> Client {
        let Connected {
            connection,
            send,
            receive,
            welcome,
            session,
            rest,
            turns,
        } = connected;
        route.welcome(&welcome.standby);
        Client {
            connection,
            send,
            receive,
            session,
            rest,
            route,
            turns,
            turned: Instant::now(),
        }
    }

    /// Comes back after the connection has ended, as the same entity where that still waits: to
    /// the standby, if the server has named one, and to the servers before it, in turn. `hello`
    /// is that of the first connection; the ticket is this client's. Gives the last error once
    /// `retry` gives up, and one that says that the client is not wanted at once.
    pub async fn come_back(
        &mut self,
        connector: &Connector,
        hello: &Hello,
        retry: &RetryOptions,
    ) -> Result<(), ClientError> {
        let hello = Hello {
            resume: Some(self.ticket()),
            ..hello.clone()
        };
        let round_trip = self.connection.rtt();
        let mut route = self.route.clone();
        route.tell(self.session.standby());
        let mut wait = route.lose(retry);
        let mut last = ClientError::Ended("the client does not try again".to_owned());
        while let Some(time) = wait {
            tokio::time::sleep(time).await;
            match connector.connect_by(&route, round_trip, &hello).await {
                Ok(connected) => {
                    *self = Client::begin(connected, route);
                    return Ok(());
                }
                Err(error @ (ClientError::Refused(_) | ClientError::Unreadable(_))) => {
                    return Err(error);
                }
                Err(error) => {
                    wait = route.fail(matches!(error, ClientError::Standby(_)), retry);
                    last = error;
                }
            }
        }
        Err(last)
    }

    pub fn view(&self) -> &View {
        self.session.view()
    }

    /// Lets a later connection go on as the same entity.
    pub fn ticket(&self) -> Ticket {
        self.session.ticket()
    }

    /// Whether the entity is the one of the hello's ticket.
    pub fn is_resumed(&self) -> bool {
        self.session.is_resumed()
    }

    /// See [`Session::standby`].
    pub fn standby(&self) -> &str {
        self.session.standby()
    }

    pub fn connection(&self) -> &Connection {
        &self.connection
    }

    /// Queues a command for the next [`Client::flush`], and gives its sequence number.
    /// `None` if clients of this world cannot send it, or not with so many words.
    pub fn command(&mut self, kind: CommandKind, words: &[i32]) -> Option<u32> {
        self.session.command(kind, words).ok()
    }

    /// Asks to see who is in a region, beside the area of interest, or no longer (`None`).
    /// `index` says which of the client's regions is replaced. A region stays where it is,
    /// or follows any entity.
    ///
    /// Gives the request's number. The request goes out with the next [`Client::flush`],
    /// and [`Client::answer`] waits for its answer.
    pub fn set_region(&mut self, index: u32, region: Option<Region>) -> u32 {
        self.session.set_region(index, region)
    }

    /// Asks to see only this far, in raw units; `None`: as far as the world allows. Gives the
    /// request's number, as [`Client::set_region`] does.
    pub fn set_sight(&mut self, radius: Option<i32>) -> u32 {
        self.session.set_sight(radius)
    }

    /// Asks to move the point that a spectator watches towards another one, in raw units. Gives
    /// the request's number, as [`Client::set_region`] does.
    pub fn watch(&mut self, point: [i32; 3]) -> u32 {
        self.session.watch(point)
    }

    /// Asks to be told of every change and notification for which a predicate holds,
    /// wherever it happens. Each comes to the [`EventHandler`] once, as a
    /// [`Message::Notice`](client_core::Message) with the ids of all subscriptions that
    /// match. Gives the request's number; `None` if the predicate is longer than a request
    /// may be.
    pub fn subscribe(&mut self, id: u32, predicate: &str) -> Option<u32> {
        self.session.subscribe(id, predicate).ok()
    }

    /// Asks to end a subscription, and gives the request's number.
    pub fn unsubscribe(&mut self, id: u32) -> u32 {
        self.session.unsubscribe(id)
    }

    /// Says something, or joins or leaves a channel, and gives the request's number.
    pub fn talk(&mut self, request: TalkRequest) -> u32 {
        self.session.talk(request)
    }

    /// Sends requests, and one datagram with the latest commands and an acknowledgement of
    /// received ticks. Does nothing if the server knows all of that. Commands run as soon as
    /// they arrive.
    pub fn flush(&mut self) {
        self.begin_turn();
        let datagram = self.session.datagram();
        self.send(datagram);
    }

    /// The same, where the commands that were not sent yet are meant for this tick, and wait
    /// for it in the server.
    pub fn flush_for(&mut self, tick: Tick) {
        self.begin_turn();
        let datagram = self.session.datagram_for(tick);
        self.send(datagram);
    }

    fn begin_turn(&mut self) {
        let now = Instant::now();
        if now >= self.turned + TURN_PERIOD {
            self.turned = now;
            self.turns.begin();
        }
        self.send_requests();
    }

    fn send(&self, datagram: Option<Vec<u8>>) {
        if let Some(datagram) = datagram {
            // Fails only on a connection that is ending, which `receive` reports.
            let _ = self.connection.send_datagram(datagram.into());
        }
    }

    /// Gives the transport what it takes now; the rest follows while receiving.
    fn send_requests(&mut self) {
        let mut context = Context::from_waker(Waker::noop());
        while !self.session.stream_bytes().is_empty() {
            let bytes = self.session.stream_bytes();
            match Pin::new(&mut self.send).poll_write(&mut context, bytes) {
                Poll::Ready(Ok(written)) => self.session.stream_sent(written),
                // The connection is ending, which `receive` reports.
                Poll::Ready(Err(_)) => self.session.stream_sent(usize::MAX),
                Poll::Pending => break,
            }
        }
    }

    /// Receives until a request is answered: with `Ok`, or with the server's reason for a
    /// refusal.
    pub async fn answer(
        &mut self,
        request: u32,
        handler: &mut impl EventHandler,
    ) -> Result<Result<(), String>, ClientError> {
        let mut pending = PendingRequest::new(request, handler);
        self.flush();
        loop {
            self.receive(&mut pending).await?;
            self.flush();
            if let Some(answer) = pending.take_answer() {
                return Ok(answer);
            }
        }
    }

    /// Waits for bytes from the server and takes them in. Dropping the future loses
    /// nothing.
    pub async fn receive(&mut self, handler: &mut impl EventHandler) -> Result<(), ClientError> {
        if !self.rest.is_empty() {
            let rest = std::mem::take(&mut self.rest);
            return Ok(self.session.handle_stream(&rest, handler)?);
        }
        tokio::select! {
            datagram = self.connection.read_datagram() => {
                let bytes = datagram.map_err(ended)?;
                self.session.handle_datagram(&bytes, handler)?;
            }
            chunk = self.receive.read_chunk(CHUNK_BYTES_MAX, true) => {
                match chunk {
                    Ok(Some(chunk)) => self.session.handle_stream(&chunk.bytes, handler)?,
                    Ok(None) => return Err(ClientError::Ended("the stream is finished".into())),
                    Err(error) => {
                        let reason = self.connection.close_reason();
                        return Err(reason.map_or(ClientError::Ended(error.to_string()), ended));
                    }
                }
            }
            written = self.send.write(self.session.stream_bytes()),
                if !self.session.stream_bytes().is_empty() =>
            {
                // An error means that the connection is ending, which the others report.
                self.session.stream_sent(written.unwrap_or(usize::MAX));
            }
        }
        Ok(())
    }

    /// Leaves for good: the entity is removed.
    pub fn leave(&self) {
        self.connection
            .close(VarInt::from_u32(Close::Bye.code()), b"bye");
    }
}

/// Through a network that loses everything, a client sends no more than this often.
const TURN_PERIOD: Duration = Duration::from_millis(50);
const CHUNK_BYTES_MAX: usize = 64 * 1024;
