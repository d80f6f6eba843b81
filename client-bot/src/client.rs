//! One connection: commands go out, a [`View`] comes of what comes in.

use std::collections::VecDeque;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

use quinn::{Connection, RecvStream, SendStream, VarInt};
use shared::wire::bits::BitWriter;
use shared::wire::commands::{Acknowledgement, COMMANDS_MAX, ClientDatagram, CommandCodec};
use shared::wire::control::{Close, Hello, Ticket};
use shared::wire::movement::Movement;
use shared::wire::session::{Answer, Body, Region, SESSION_MESSAGE_BYTES_MAX, SessionMessage};
use shared::wire::stream::Item;
use shared::wire::{DecodeError, FRAME_BYTES_MAX};
use shared::{CommandKind, Tick};

use crate::connect::{ClientError, Connected, Connector, ended};
use crate::view::{Told, View};

/// A client in the world.
pub struct Client {
    connection: Connection,
    send: SendStream,
    /// Messages that the transport has not taken yet.
    outgoing: Vec<u8>,
    next_request: u32,
    receive: RecvStream,
    /// Bytes of the stream that don't make a whole frame yet.
    partial: Vec<u8>,
    codec: CommandCodec,
    view: View,
    ticket: Ticket,
    resumed: bool,
    /// Commands that the world is not known to have taken in, oldest first.
    unprocessed: VecDeque<(CommandKind, Vec<i32>)>,
    /// The sequence number of the next command.
    next_sequence: u32,
    acknowledged: Acknowledgement,
    movement: Movement,
    datagram: ClientDatagram,
    writer: BitWriter,
}

/// Sees what a client is told, as it is told.
pub trait Witness {
    /// A movement datagram has taken effect on the view.
    fn told(&mut self, _view: &View, _told: Told, _movement: &Movement) {}
    /// An item of the stream is about to take effect.
    fn item(&mut self, _tick: Tick, _item: &Item) {}
}

/// Sees nothing.
impl Witness for () {}

impl Client {
    /// Connects and waits to be welcomed.
    pub async fn connect(connector: &Connector, hello: &Hello) -> Result<Client, ClientError> {
        let Connected {
            connection,
            send,
            receive,
            welcome,
        } = connector.connect(hello).await?;
        let view = View::new(&welcome)?;
        Ok(Client {
            connection,
            send,
            outgoing: vec![],
            next_request: 1,
            receive,
            partial: vec![],
            codec: CommandCodec::new(&welcome.schema, welcome.epoch),
            acknowledged: view.acknowledgement(),
            view,
            ticket: welcome.ticket,
            resumed: welcome.resumed,
            unprocessed: VecDeque::new(),
            next_sequence: 1,
            movement: Movement::default(),
            datagram: ClientDatagram::default(),
            writer: BitWriter::default(),
        })
    }

    pub fn view(&self) -> &View {
        &self.view
    }

    /// Lets a later connection go on as the same entity.
    pub fn ticket(&self) -> Ticket {
        self.ticket
    }

    /// Whether the entity is the one of the hello's ticket.
    pub fn is_resumed(&self) -> bool {
        self.resumed
    }

    pub fn connection(&self) -> &Connection {
        &self.connection
    }

    /// Queues a command for the next [`Client::flush`], and gives its sequence
    /// number. `None` where this world doesn't let clients send it, or with
    /// these words.
    pub fn command(&mut self, kind: CommandKind, words: &[i32]) -> Option<u32> {
        if self.codec.word_count(kind) != Some(words.len()) {
            return None;
        }
        let sequence = self.next_sequence;
        self.next_sequence = sequence.wrapping_add(1);
        self.unprocessed.push_back((kind, words.to_vec()));
        // What the server hasn't taken in after so many more is out of date.
        if self.unprocessed.len() > COMMANDS_MAX {
            self.unprocessed.pop_front();
        }
        Some(sequence)
    }

    /// Asks to see who is in a region too, or no more (`None`), and gives the
    /// request's number. The region is one of several, by `index`; a world may allow
    /// none. A region may be anywhere, follow the client's entity, or anybody else.
    ///
    /// The request goes with the next [`Client::flush`]; an [`Item::Answer`] of that
    /// number comes to the [`Witness`], and [`Client::answer`] waits for it.
    pub fn set_region(&mut self, index: u32, region: Option<Region>) -> u32 {
        self.ask(Body::SetRegion { index, region })
    }

    /// Asks to hear of all changes and notifications that a predicate holds for,
    /// wherever they happen: each comes to the [`Witness`] once, as an
    /// [`Item::Notice`] with the `id`s of the subscriptions that it matches. Gives
    /// the request's number, as [`Client::set_region`] does; `None` where the
    /// predicate is longer than any message may be.
    pub fn subscribe(&mut self, id: u32, predicate: &str) -> Option<u32> {
        // The rest takes at most five bytes a number.
        if predicate.len() + MESSAGE_OVERHEAD_BYTES > SESSION_MESSAGE_BYTES_MAX {
            return None;
        }
        Some(self.ask(Body::Subscribe {
            id,
            predicate: predicate.to_owned(),
        }))
    }

    /// Asks to hear no more of what a subscription matches, and gives the request's
    /// number.
    pub fn unsubscribe(&mut self, id: u32) -> u32 {
        self.ask(Body::Unsubscribe { id })
    }

    fn ask(&mut self, body: Body) -> u32 {
        let request = self.next_request;
        self.next_request = request.wrapping_add(1);
        SessionMessage {
            number: request,
            body,
        }
        .encode(&mut self.outgoing);
        request
    }

    /// Sends what was asked for, and one datagram with what was received and the
    /// latest commands, if there is anything that the server doesn't know.
    pub fn flush(&mut self) {
        self.send_requests();
        let acknowledgement = self.view.acknowledgement();
        if self.unprocessed.is_empty() && acknowledgement == self.acknowledged {
            return;
        }
        self.acknowledged = acknowledgement;
        self.datagram.acknowledgement = acknowledgement;
        self.datagram.first_sequence = self
            .next_sequence
            .wrapping_sub(self.unprocessed.len() as u32);
        self.datagram.kinds.clear();
        self.datagram.words.clear();
        for (kind, words) in &self.unprocessed {
            self.datagram.kinds.push(*kind);
            self.datagram.words.extend_from_slice(words);
        }
        let mut bytes = Vec::with_capacity(64);
        self.codec
            .encode(&self.datagram, &mut self.writer, &mut bytes);
        // An error is a connection that is ending: `receive` says so.
        let _ = self.connection.send_datagram(bytes.into());
    }

    /// Gives the transport what it takes now; the rest goes while receiving.
    fn send_requests(&mut self) {
        let mut context = Context::from_waker(Waker::noop());
        while !self.outgoing.is_empty() {
            match Pin::new(&mut self.send).poll_write(&mut context, &self.outgoing) {
                Poll::Ready(Ok(written)) => drop(self.outgoing.drain(..written)),
                // A connection that is ending: `receive` says so.
                Poll::Ready(Err(_)) => self.outgoing.clear(),
                Poll::Pending => break,
            }
        }
    }

    /// Takes in messages until a request is answered: with `Ok`, or with the
    /// server's reason for a refusal.
    pub async fn answer(
        &mut self,
        request: u32,
        witness: &mut impl Witness,
    ) -> Result<Result<(), String>, ClientError> {
        let mut waiting = Waiting {
            request,
            witness,
            result: None,
        };
        self.flush();
        loop {
            self.receive(&mut waiting).await?;
            self.flush();
            if let Some(result) = waiting.result.take() {
                return Ok(result);
            }
        }
    }

    /// Waits for the next message and takes it in. Dropping the future loses
    /// nothing.
    pub async fn receive(&mut self, witness: &mut impl Witness) -> Result<(), ClientError> {
        tokio::select! {
            datagram = self.connection.read_datagram() => {
                let bytes = datagram.map_err(ended)?;
                let told = self.view.take_datagram(&bytes, &mut self.movement)?;
                self.forget_processed();
                witness.told(&self.view, told, &self.movement);
            }
            chunk = self.receive.read_chunk(CHUNK_BYTES_MAX, true) => {
                match chunk {
                    Ok(Some(chunk)) => self.partial.extend_from_slice(&chunk.bytes),
                    Ok(None) => return Err(ClientError::Ended("the stream is finished".into())),
                    Err(error) => {
                        let reason = self.connection.close_reason();
                        return Err(reason.map_or(ClientError::Ended(error.to_string()), ended));
                    }
                }
                self.take_frames(witness)?;
            }
            written = self.send.write(&self.outgoing), if !self.outgoing.is_empty() => {
                match written {
                    Ok(written) => drop(self.outgoing.drain(..written)),
                    Err(_) => self.outgoing.clear(),
                }
            }
        }
        Ok(())
    }

    /// Leaves for good: the entity is removed.
    pub fn leave(&self) {
        self.connection
            .close(VarInt::from_u32(Close::Bye.code()), b"bye");
    }

    fn take_frames(&mut self, witness: &mut impl Witness) -> Result<(), ClientError> {
        let mut start = 0;
        while let Some(head) = self.partial[start..].first_chunk::<4>() {
            let length = u32::from_le_bytes(*head) as usize;
            if length > FRAME_BYTES_MAX {
                return Err(ClientError::Unreadable(DecodeError::TooLong {
                    found: length,
                    limit: FRAME_BYTES_MAX,
                }));
            }
            let Some(frame) = self.partial[start + 4..].get(..length) else {
                break;
            };
            self.view
                .take_frame(frame, |tick, item| witness.item(tick, item))?;
            start += 4 + length;
        }
        self.partial.drain(..start);
        Ok(())
    }

    fn forget_processed(&mut self) {
        let unprocessed = self
            .next_sequence
            .wrapping_sub(1)
            .wrapping_sub(self.view.processed()) as usize;
        while self.unprocessed.len() > unprocessed {
            self.unprocessed.pop_front();
        }
    }
}

/// Looks for one answer on another witness's behalf.
struct Waiting<'a, W> {
    request: u32,
    witness: &'a mut W,
    result: Option<Result<(), String>>,
}

impl<W: Witness> Witness for Waiting<'_, W> {
    fn told(&mut self, view: &View, told: Told, movement: &Movement) {
        self.witness.told(view, told, movement);
    }

    fn item(&mut self, tick: Tick, item: &Item) {
        if let Item::Answer(Answer { request, result }) = item
            && *request == self.request
        {
            self.result = Some(result.clone());
        }
        self.witness.item(tick, item);
    }
}

const CHUNK_BYTES_MAX: usize = 64 * 1024;
/// What a message holds beside a predicate, at most.
const MESSAGE_OVERHEAD_BYTES: usize = 64;
