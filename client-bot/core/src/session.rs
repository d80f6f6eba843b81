//! One client's end of a connection.

use std::borrow::Cow;
use std::sync::Arc;

use shared::wire::bits::BitWriter;
use shared::wire::commands::{Acknowledgement, ClientDatagram, CommandCodec};
use shared::wire::control::{Interface, Ticket, Welcome};
use shared::wire::layers::{LayerError, LayerInfo};
use shared::wire::movement::{MovementCodec, nearest_sequence};
use shared::wire::request::GivenText;
use shared::wire::stream::StreamCodec;
use shared::wire::{DATAGRAM_BYTES_MAX, DecodeError, FRAME_BYTES_MAX};
use shared::world::layer::Layers;
use shared::{AttributeType, CommandKind, Refusal, Slot, Tick};

use crate::command::{CommandError, CommandQueue};
use crate::event::{DatagramSummary, EventHandler, RefusedRun};
use crate::frame::FrameReader;
use crate::layers::{LayerCache, LayerFetch};
use crate::receipt::Receipt;
use crate::request::{PredicateTooLong, RequestQueue};
use crate::texts::{Argument, GivenCommand, HeldCommands, Wanted};
use crate::view::View;
use crate::{Answer, Message, Movement, Region, TalkRequest};

/// A client that the server has welcomed: commands and requests go out, and a [`View`] is
/// built from received bytes.
pub struct Session {
    ticket: Ticket,
    is_resumed: bool,
    /// The other servers of the world.
    servers: Vec<String>,
    /// Why commands have no effect, by the numbers that refusals have.
    reasons: Vec<Arc<str>>,
    view: View,
    receipt: Receipt,
    frames: FrameReader,
    commands: CommandQueue,
    requests: RequestQueue,
    layers: LayerFetch,
    wanted: Wanted,
    held: HeldCommands,
    /// Held commands that were queued as the last bytes were read.
    released: Vec<Released>,
    /// A welcome comes next, with which the server begins the session anew.
    is_restarting: bool,
    /// The acknowledgement of the last datagram to the server.
    acknowledged: Acknowledgement,
    command_codec: CommandCodec,
    movement_codec: MovementCodec,
    stream_codec: StreamCodec,
    /// Reused from one datagram to the next.
    scratch: Scratch,
}

/// The words of a command, and its texts with their places among them.
type WordsAndTexts<'t> = (Vec<i32>, Vec<(usize, &'t str)>);

/// A command that waited for its texts, as it was queued.
#[derive(Debug)]
pub(crate) struct Released {
    pub sequence: u32,
    pub kind: CommandKind,
    pub words: Vec<i32>,
}

#[derive(Default)]
struct Scratch {
    movement: Movement,
    datagram: ClientDatagram,
    writer: BitWriter,
}

impl Session {
    /// The session that a welcome begins, as [`Handshake`](crate::Handshake) does.
    /// An error names the mistake of a schema that was not checked.
    pub fn new(welcome: &Welcome) -> Result<Session, DecodeError> {
        let mut schema = welcome.schema.clone();
        schema.doors.clone_from(&welcome.doors);
        schema.atlas.clone_from(&welcome.planes);
        schema
            .check()
            .map_err(|what| DecodeError::Malformed(format!("the schema's {what}")))?;
        let movement_codec =
            MovementCodec::new(&schema).map_err(|wide| DecodeError::OutOfRange {
                what: "the width of an entity's movement",
                found: u64::from(wide.bits),
            })?;
        let receipt = Receipt::new(welcome.tick);
        let (entity, processed) = (welcome.entity, welcome.processed);
        let mut view = View::new(schema.clone(), entity, welcome.tick, processed);
        view.set_rankings(&welcome.rankings);
        Ok(Session {
            ticket: welcome.ticket,
            is_resumed: welcome.resumed,
            servers: welcome.servers.clone(),
            reasons: shared_texts(welcome.reasons.clone()),
            view,
            acknowledged: receipt.acknowledgement(),
            receipt,
            frames: FrameReader::new(FRAME_BYTES_MAX),
            commands: CommandQueue::new(welcome.processed),
            requests: RequestQueue::new(),
            layers: LayerFetch::new(
                schema.world.size_raw(),
                welcome.planes.size,
                &welcome.layers,
            ),
            wanted: Wanted::new(&schema),
            held: HeldCommands::default(),
            released: vec![],
            is_restarting: false,
            command_codec: CommandCodec::new(&schema, welcome.commands_epoch),
            movement_codec,
            stream_codec: StreamCodec::new(&schema),
            scratch: Scratch::default(),
        })
    }

    /// The world as received so far.
    pub fn view(&self) -> &View {
        &self.view
    }

    /// From now on the view holds the client's own entity and no others, which costs less. The
    /// server gets an acknowledgement of all, all the same.
    pub fn keep_only_own(&mut self) {
        self.view.keep_only_own();
    }

    /// The ticks that have arrived.
    pub(crate) fn arrived(&self) -> Acknowledgement {
        self.receipt.acknowledgement()
    }

    /// Changes with the world's commands and notifications.
    pub(crate) fn commands_epoch(&self) -> u8 {
        self.command_codec.epoch()
    }

    /// Lets a later session continue as the same entity.
    pub fn ticket(&self) -> Ticket {
        self.ticket
    }

    /// Whether this session continues as the entity of the hello's ticket.
    pub fn is_resumed(&self) -> bool {
        self.is_resumed
    }

    /// The other servers of the world, as HOST:PORT: where to try if this one is gone, in this
    /// order.
    pub fn servers(&self) -> &[String] {
        &self.servers
    }
}

fn shared_texts(texts: Vec<String>) -> Vec<Arc<str>> {
    texts.into_iter().map(Arc::from).collect()
}

/// Calls of the transport for received bytes.
impl Session {
    /// Reads a datagram.
    pub fn handle_datagram(
        &mut self,
        bytes: &[u8],
        handler: &mut (impl EventHandler + ?Sized),
    ) -> Result<(), DecodeError> {
        let movement = &mut self.scratch.movement;
        let view = &self.view;
        let course = |slot: Slot, tick| view.course_at(slot, tick);
        self.movement_codec
            .decode(bytes, view.newest(), course, movement)?;
        let tick = movement.tick;
        let processed = nearest_sequence(movement.processed_low, self.view.processed());
        self.view.note_kept(movement.kept);
        let is_kept = self.view.apply_movement(processed, movement, bytes.len());
        self.commands.confirm(self.view.processed());
        // Unacknowledged movement is sent again.
        let arrived = match is_kept {
            true => self.receipt.datagram(tick, movement, self.view.newest()),
            false => None,
        };
        let summary = DatagramSummary {
            tick,
            processed,
            margin: movement.margin,
            send_every: movement.send_every,
            is_complete: arrived.is_some(),
            is_whole: arrived == Some(true),
        };
        handler.datagram(&self.view, summary, movement);
        Ok(())
    }

    /// Reads bytes of the stream, in the order in which they arrived and cut anywhere.
    pub fn handle_stream(
        &mut self,
        bytes: &[u8],
        handler: &mut (impl EventHandler + ?Sized),
    ) -> Result<(), DecodeError> {
        self.frames.push(bytes);
        self.released.clear();
        while let Some(bytes) = self.frames.next_frame()? {
            let frame = self.stream_codec.decode(bytes, self.view.newest())?;
            self.receipt.frame(frame.tick);
            self.view.begin_frame(frame.tick, bytes.len());
            for message in frame.messages {
                if let Message::Edits(edits) = &message {
                    self.layers.take_edits(edits)?;
                }
                handler.message(frame.tick, &message);
                if self.view.keeps_of(&message) {
                    let view = &self.view;
                    let of_notice = |body: &_| view.text_handles(body);
                    self.wanted.see(&message, &view.texts, of_notice);
                }
                match message {
                    Message::Answer(answer) => self.note_answer(&answer),
                    Message::Texts { request, texts } => self.take_texts(request, &texts),
                    Message::Interface(interface) => self.change_interface(interface)?,
                    Message::Servers(servers) => self.servers = servers,
                    Message::Restart => {
                        self.is_restarting = true;
                        return Ok(());
                    }
                    Message::Refused {
                        first_low,
                        count,
                        reason,
                        because,
                    } => {
                        let why = (reason, because);
                        if let Some(run) = self.refused(first_low, count, why) {
                            handler.refused(frame.tick, run);
                        }
                    }
                    Message::Layer {
                        hash,
                        offset,
                        bytes,
                    } => {
                        if let Some(layers) = self.layers.take_part(hash, offset, &bytes)? {
                            self.view.set_layers(self.layers.edited(layers));
                        }
                    }
                    message => self.view.apply_message(frame.tick, message),
                }
            }
            self.view.close_doors();
        }
        self.release_commands();
        self.wanted.ask(|handles| self.requests.texts_of(handles));
        Ok(())
    }

    fn note_answer(&mut self, answer: &Answer) {
        if answer.result.is_err() && !self.wanted.answer(answer.request) {
            self.held.answer(answer.request, None);
        }
    }

    fn take_texts(&mut self, request: u32, texts: &[GivenText]) {
        let handle = texts.first().map(|given| given.handle);
        self.held.answer(request, handle);
        let mut known = std::mem::take(&mut self.view.texts);
        let is_in_view = |handle| self.view.shows(handle);
        self.wanted.take(request, texts, &mut known, is_in_view);
        self.view.texts = known;
    }

    /// Queues the commands whose texts the server has granted.
    fn release_commands(&mut self) {
        while let Some((kind, words)) = self.held.next() {
            let words = self.filled(kind, &words, self.view.newest()).into_owned();
            // The world may have lost the command meanwhile.
            if let Ok(sequence) = self.commands.push(self.view.schema(), kind, &words) {
                self.released.push(Released {
                    sequence,
                    kind,
                    words,
                });
            }
        }
    }

    /// The held commands that were queued as the last bytes were read.
    pub(crate) fn take_released(&mut self) -> Vec<Released> {
        std::mem::take(&mut self.released)
    }
}

impl Session {
    /// What the session leaves to the next one once the server begins it anew: a welcome comes next
    /// on the stream, and this session is of no more use.
    pub(crate) fn take_restart(&mut self) -> Option<(FrameReader, RequestQueue)> {
        std::mem::take(&mut self.is_restarting).then(|| {
            let frames = std::mem::replace(&mut self.frames, FrameReader::new(FRAME_BYTES_MAX));
            let requests = std::mem::replace(&mut self.requests, RequestQueue::new());
            (frames, requests)
        })
    }

    /// Goes on with the commands of the session before, which this one has resumed.
    pub(crate) fn continue_commands(&mut self, before: &mut Session) {
        let commands = &self.view.schema().commands;
        if self.view.has_continued() && before.view.schema().commands == *commands {
            let empty = CommandQueue::new(None);
            let commands = std::mem::replace(&mut before.commands, empty);
            self.commands.continue_from(commands, self.view.processed());
            self.view.texts = std::mem::take(&mut before.view.texts);
            self.held = std::mem::take(&mut before.held);
            self.held.ask_again(|text| self.requests.text(text));
        }
    }

    /// The newest command that the server has not confirmed.
    pub(crate) fn newest_command(&self) -> Option<u32> {
        self.commands.newest()
    }

    /// Continues the requests of the session before on the same stream.
    pub(crate) fn continue_requests(&mut self, requests: RequestQueue) {
        self.requests = requests;
    }

    /// The commands that had no effect; `None` if there were none of these numbers.
    fn refused(
        &self,
        first_low: u16,
        count: u32,
        (reason, because): (Refusal, Option<u8>),
    ) -> Option<RefusedRun> {
        let because = because.and_then(|number| self.reasons.get(usize::from(number)));
        let next = self.commands.next_sequence();
        let first = nearest_sequence(first_low, next);
        let given = next.wrapping_sub(first);
        let count = count.min(given);
        (given.cast_signed() > 0).then_some(RefusedRun {
            first,
            count,
            reason,
            because: because.cloned(),
        })
    }

    /// Takes over other commands and notifications. Commands that wait are kept from the
    /// first on that all can still be sent.
    fn change_interface(&mut self, interface: Interface) -> Result<(), DecodeError> {
        let mut schema = self.view.schema().clone();
        schema.commands = interface.commands;
        schema.notifications = interface.notifications;
        schema.constants = interface.constants;
        schema.check()?;
        self.command_codec = CommandCodec::new(&schema, interface.commands_epoch);
        self.stream_codec = StreamCodec::new(&schema);
        self.commands.keep(&self.command_codec);
        self.reasons = shared_texts(interface.reasons);
        self.view.set_schema(schema);
        Ok(())
    }
}

/// Requests of the client.
impl Session {
    /// Queues a command for the next [`Session::datagram`], and gives its sequence
    /// number. Of more commands than fit into a datagram, and which the server has not
    /// confirmed, only the latest are sent: at least 32 of five words, and most often a hundred.
    ///
    /// The argument `seen` of a command, if it has one, becomes the newest tick that was received:
    /// clients that show another use [`Session::command_seeing`].
    pub fn command(&mut self, kind: CommandKind, words: &[i32]) -> Result<u32, CommandError> {
        self.command_seeing(kind, words, self.view.newest())
    }

    /// The same, by a client that shows this tick.
    pub fn command_seeing(
        &mut self,
        kind: CommandKind,
        words: &[i32],
        shown: Tick,
    ) -> Result<u32, CommandError> {
        let words = self.filled(kind, words, shown);
        self.commands.push(self.view.schema(), kind, &words)
    }

    /// Gives a command with texts among its arguments. Its sequence number is known once the server
    /// has granted the texts, which it is asked for now; without any, it is queued at once. Commands
    /// with texts keep their order among themselves.
    pub fn command_with(
        &mut self,
        kind: CommandKind,
        arguments: &[Argument<'_>],
    ) -> Result<GivenCommand, CommandError> {
        self.command_with_seeing(kind, arguments, self.view.newest())
    }

    /// The same, by a client that shows this tick.
    pub fn command_with_seeing(
        &mut self,
        kind: CommandKind,
        arguments: &[Argument<'_>],
        shown: Tick,
    ) -> Result<GivenCommand, CommandError> {
        let (words, texts) = self.words_and_texts(kind, arguments)?;
        if texts.is_empty() {
            let sequence = self.command_seeing(kind, &words, shown)?;
            return Ok(GivenCommand::Queued(sequence));
        }
        let requests = &mut self.requests;
        let request = (self.held).hold((kind, words), texts, |text| requests.text(text))?;
        Ok(GivenCommand::Waits(request))
    }

    /// The words of a command, with 0 in place of its texts, and these with their places.
    fn words_and_texts<'t>(
        &self,
        kind: CommandKind,
        arguments: &[Argument<'t>],
    ) -> Result<WordsAndTexts<'t>, CommandError> {
        let schema = self.view.schema();
        let command = schema.command(kind).filter(|c| c.senders.clients);
        let command = command.ok_or(CommandError::Unavailable(kind))?;
        if command.words.len() != arguments.len() {
            return Err(CommandError::WordCount {
                name: command.name.clone(),
                expected: command.words.len(),
                found: arguments.len(),
            });
        }
        let (mut words, mut texts) = (vec![], vec![]);
        for (place, (word, argument)) in command.words.iter().zip(arguments).enumerate() {
            let is_text = word.ty == AttributeType::Text;
            let value = match *argument {
                Argument::Text("") if is_text => 0,
                Argument::Text(text) if is_text => {
                    let (found, limit) = (text.len(), schema.text_bytes_max());
                    if found as u64 > u64::from(limit) {
                        return Err(CommandError::TextTooLong { found, limit });
                    }
                    texts.push((place, text));
                    0
                }
                Argument::Word(number) if !is_text || number == 0 => number,
                Argument::Word(_) | Argument::Text(_) => {
                    return Err(CommandError::WrongArgument {
                        name: command.name.clone(),
                        word: word.name.clone(),
                        expected: word.ty.expected(),
                    });
                }
            };
            words.push(value);
        }
        Ok((words, texts))
    }

    /// The words of a command with the tick that its client shows.
    pub(crate) fn filled<'w>(
        &self,
        kind: CommandKind,
        words: &'w [i32],
        shown: Tick,
    ) -> Cow<'w, [i32]> {
        let mut words = Cow::Borrowed(words);
        if let Some(place) = self.command_codec.seen_word(kind)
            && place < words.len()
        {
            words.to_mut()[place] = shown.low().cast_signed();
        }
        words
    }

    /// Requests the entities in a region, beside the area of interest, or no longer (`None`).
    /// `index` is that of the client's region which is replaced; it is below the world's
    /// `regions_per_client`.
    ///
    /// Gives the request's number. A [`Message::Answer`](crate::Message) with this number
    /// comes to the [`EventHandler`], in the tick from which on the region holds.
    pub fn set_region(&mut self, index: u32, region: Option<Region>) -> u32 {
        self.requests.set_region(index, region)
    }

    /// Subscribes to every change and notification for which a predicate holds,
    /// wherever it happens: each comes once, as a [`Message::Notice`](crate::Message) with
    /// the ids of all subscriptions that match. `id` is a number of the client's choice.
    /// Gives the request's number, as [`Session::set_region`] does.
    pub fn subscribe(&mut self, id: u32, predicate: &str) -> Result<u32, PredicateTooLong> {
        self.requests.subscribe(id, predicate)
    }

    /// Sends chat, or joins or leaves a channel. Gives the request's number, as
    /// [`Session::set_region`] does.
    pub fn talk(&mut self, request: TalkRequest) -> u32 {
        self.requests.talk(request)
    }

    /// Asks for the first so many of a ranking of the world, and for the own entity's place, from now
    /// on; 0: no longer. The [view](View::ranking) has them, and is up to date to about a second.
    /// False if the world has no ranking of this name for clients.
    pub fn ask_ranking(&mut self, name: &str, length: u32) -> bool {
        let mut names = (0..).zip(self.view.rankings());
        let Some((number, _)) = names.find(|(_, ranking)| ranking.info.name == name) else {
            return false;
        };
        self.requests.ask_ranking(number, length);
        true
    }

    /// Ends a subscription, and gives the request's number.
    pub fn unsubscribe(&mut self, id: u32) -> u32 {
        self.requests.unsubscribe(id)
    }
}

/// What the cells of the world are.
impl Session {
    /// The world's layers, once all of them are there; `None` in a world without any.
    pub fn layers(&self) -> Option<&Layers> {
        let layers = &self.view.schema().layers;
        (!layers.is_empty()).then_some(layers)
    }

    /// What the welcome says of the world's layers.
    pub fn layer_infos(&self) -> &[LayerInfo] {
        self.layers.infos()
    }

    /// The layers whose content is missing. None of a world with more than [`LAYERS_BYTES_MAX`](crate::layers::LAYERS_BYTES_MAX).
    pub fn missing_layers(&self) -> impl Iterator<Item = &LayerInfo> {
        self.layers.missing()
    }

    /// Takes the layers from what earlier sessions had, if they are the same, and keeps those that
    /// come. True if none is missing.
    pub fn keep_layers(&mut self, cache: &LayerCache) -> bool {
        if let Some(layers) = self.layers.look_up(cache) {
            self.view.set_layers(self.layers.edited(layers));
        }
        self.missing_layers().next().is_none()
    }

    /// Asks the server for the layers that are missing, once. They come part by part.
    pub fn fetch_layers(&mut self) {
        for hash in self.layers.ask() {
            self.requests.fetch_layer(hash);
        }
    }

    /// A layer that has come over the session, with its hash, for the caller to unpack (it is a zlib
    /// stream) and to [put](Session::put_layer). With the feature `inflate` there is none.
    pub fn take_packed_layer(&mut self) -> Option<(u64, Vec<u8>)> {
        self.layers.take_packed()
    }

    /// The content of a layer, unpacked. Refused unless its hash is right.
    pub fn put_layer(&mut self, hash: u64, content: Vec<u8>) -> Result<(), LayerError> {
        if let Some(layers) = self.layers.put(hash, content)? {
            self.view.set_layers(self.layers.edited(layers));
        }
        Ok(())
    }
}

/// From where and how far the client sees.
impl Session {
    /// Limits the range of sight, in raw units, at most as far as the radius of the area of
    /// interest; `None`: as far as that. Gives the request's number, as
    /// [`Session::set_region`] does.
    pub fn set_sight(&mut self, radius: Option<i32>) -> u32 {
        self.requests.set_sight(radius)
    }

    /// Moves the point that a spectator watches towards another one, in raw units, as
    /// fast as the world allows. Gives the request's number, as [`Session::set_region`] does.
    pub fn watch(&mut self, point: [i32; 3]) -> u32 {
        self.requests.watch(point)
    }
}

/// Bytes for the transport to send.
impl Session {
    /// The next bytes to send on the stream; empty where there are none.
    pub fn stream_bytes(&self) -> &[u8] {
        self.requests.bytes()
    }

    /// The transport has taken the first so many of [`Session::stream_bytes`].
    pub fn stream_sent(&mut self, count: usize) {
        self.requests.sent(count);
    }

    /// A datagram with an acknowledgement and the latest commands; `None` if the server
    /// has all of it. Commands are in every datagram until the server has confirmed
    /// them, so this is to be called once for each datagram that the client can afford,
    /// at best once per tick and after each command.
    ///
    /// Commands run as soon as they arrive. Callers with the server's clock use
    /// [`Session::datagram_for`].
    pub fn datagram(&mut self) -> Option<Vec<u8>> {
        let acknowledgement = self.receipt.acknowledgement();
        if self.commands.is_empty() && acknowledgement == self.acknowledged {
            return None;
        }
        self.acknowledged = acknowledgement;
        let Scratch {
            datagram, writer, ..
        } = &mut self.scratch;
        datagram.acknowledgement = acknowledgement;
        let mut bytes = Vec::with_capacity(64);
        loop {
            self.commands.fill(datagram);
            self.command_codec.encode(datagram, writer, &mut bytes);
            if bytes.len() <= DATAGRAM_BYTES_MAX {
                return Some(bytes);
            }
            bytes.clear();
            self.commands.forget_some();
        }
    }

    /// The same, where the commands that were in no datagram yet are meant for this tick:
    /// they wait for it in the server, and [`DatagramSummary::margin`] shows later whether
    /// they came in time.
    pub fn datagram_for(&mut self, tick: Tick) -> Option<Vec<u8>> {
        self.mean(tick);
        self.datagram()
    }

    /// The commands that are meant for no tick yet are meant for this one.
    pub(crate) fn mean(&mut self, tick: Tick) {
        self.commands.mean(tick);
    }
}
