//! A tick for a front end in another process.
//!
//! | field | form |
//! | --- | --- |
//! | version | 1 byte |
//! | length of the next field | 4 bytes, the lowest first |
//! | what is rare: see `rare` | bincode |
//! | length of the next field | 4 bytes, the lowest first |
//! | births, deaths, courses, changes | bits, see `world_bits` |
//! | of each 512 sessions, ascending: length of the rest | 4 bytes, the lowest first |
//! | of each session: deliveries | bits, see `known` |
//! | then whether it has hearings; if so their number, and each | 1 bit, then small numbers |
//!
//! The sessions are in parts so that both ends write and read them on several threads.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, HashMap};

use device::cpu::Workers;
use gpu_kernels::listen::Notice;
use gpu_kernels::{Delivery, TickOutput};
use shared::wire::DecodeError;
use shared::wire::bits::{BitReader, BitWriter};
use shared::wire::close::Close;
use shared::wire::codec;
use shared::world::logic::LogicConfig;
use shared::world::notification::NOTIFICATION_WORDS_MAX;
use shared::{ClientRow, EntityId, WorldConfig};

use super::known::{Fresh, Known};
use super::rare::{Event, Rare, number, place_in, short, some_notices};
use super::world_bits::Shape;
use super::{MESSAGE_BYTES_MAX, VERSION, WireError, below, body};
use crate::inbox::SessionId;
use crate::mirror::Mirror;
use crate::publication::{Publication, SessionEvent};

/// Writes the feed of a front end.
pub struct FeedWriter {
    /// The front end's number.
    number: usize,
    ends: End,
    /// Sessions of the front end that have not ended.
    sessions: BTreeSet<SessionId>,
    /// Those that have ended since the last tick.
    gone: Vec<SessionId>,
    /// Sessions that are closed before the tick knows them.
    refused: Vec<Event>,
}

/// Reads it.
pub struct FeedReader {
    ends: End,
    clients_max: u32,
}

/// A tick, as the front end has it.
pub struct Feed {
    /// With the front end's own events, and those notifications and clients only. Scripts that
    /// have changed are in `logic`.
    pub publication: Publication,
    /// The world's scripts, if this tick has changed them for clients.
    pub logic: Option<LogicConfig>,
}

/// What either end of a link keeps.
struct End {
    shape: Shape,
    fresh: Fresh,
    clients: BTreeMap<SessionId, Client>,
    /// The entities of the clients, each with the number of its sessions: for a tick it has two, as
    /// one resumes the other.
    entities: HashMap<EntityId, u32>,
    writer: BitWriter,
    /// Reused for the bytes of parts.
    parts: Vec<Part>,
}

/// The deliveries of some sessions, to be written.
#[derive(Default)]
struct Part {
    writer: BitWriter,
    bytes: Vec<u8>,
}

/// Of a client: its deliveries, and the places of its hearings.
type Received = (ClientRow, Vec<Delivery>, Vec<u32>);

/// A session with an entity.
struct Client {
    row: ClientRow,
    entity: EntityId,
    known: Known,
}

impl FeedWriter {
    /// For the front end of a number, in a world without entities.
    pub fn new(number: usize, config: &WorldConfig) -> FeedWriter {
        FeedWriter {
            number,
            ends: End::new(config),
            sessions: BTreeSet::new(),
            gone: vec![],
            refused: vec![],
        }
    }

    /// A session has begun. False if there is one of this number.
    pub fn join(&mut self, session: SessionId) -> bool {
        self.sessions.insert(session)
    }

    /// A session has ended. False if there is none of this number.
    pub fn leave(&mut self, session: SessionId) -> bool {
        let is_known = self.sessions.remove(&session);
        if is_known {
            self.gone.push(session);
        }
        is_known
    }

    /// A session is closed before it begins, with a code and a sentence for people.
    pub fn refuse(&mut self, session: SessionId, close: Close, reason: String) {
        let event = SessionEvent::Closed {
            session,
            close,
            reason: Cow::Owned(reason),
        };
        self.refused.push(Event::of(&event));
    }

    /// Whether this is a session of this client.
    pub fn is_session_of(&self, session: SessionId, row: ClientRow) -> bool {
        let client = self.ends.clients.get(&session);
        client.is_some_and(|client| client.row == row)
    }

    /// Whether a session has an entity, or is that of a spectator.
    pub fn is_assigned(&self, session: SessionId) -> bool {
        self.ends.clients.contains_key(&session)
    }

    /// Whether this is the entity of a client.
    pub fn is_of_client(&self, entity: EntityId) -> bool {
        entity != EntityId::NONE && self.ends.entities.contains_key(&entity)
    }

    /// The sessions that have not ended.
    pub fn sessions(&self) -> impl Iterator<Item = SessionId> {
        self.sessions.iter().copied()
    }

    pub fn session_count(&self) -> usize {
        self.sessions.len()
    }

    /// The number of the front end.
    pub fn number(&self) -> usize {
        self.number
    }

    /// Appends a tick, after which the world is as the mirror has it, and which has the input of
    /// the front end's messages up to this number.
    pub fn write(
        &mut self,
        workers: &Workers,
        (publication, mirror): (&Publication, &Mirror),
        message: u64,
        out: &mut Vec<u8>,
    ) {
        let gone = std::mem::take(&mut self.gone);
        let events = publication.events.get(self.number);
        let events = events.into_iter().flatten();
        let events = events.filter(|event| self.sessions.contains(&event.session()));
        let mut events: Vec<Event> = events.map(Event::of).collect();
        events.append(&mut self.refused);
        self.ends.follow(&gone, &events);
        let received = self.ends.received(publication);
        let rare = Rare {
            message,
            ..self.ends.rare(publication, &received, gone, events)
        };
        out.push(VERSION);
        put_field(&codec::to_bytes(&rare), out);
        let End {
            shape,
            fresh,
            clients,
            writer,
            parts,
            ..
        } = &mut self.ends;
        let output = &publication.output;
        shape.write(output, mirror, fresh, writer);
        let mut world = vec![];
        writer.finish_into(&mut world);
        put_field(&world, out);
        let mut clients: Vec<&mut Client> = clients.values_mut().collect();
        let count = clients.len().div_ceil(PART_SESSIONS);
        parts.resize_with(parts.len().max(count), Part::default);
        let tasks = clients.chunks_mut(PART_SESSIONS).zip(&mut *parts);
        workers.run(tasks.collect(), |(clients, part)| {
            part.write(clients, output, fresh, &received);
        });
        for part in &parts[..count] {
            put_field(&part.bytes, out);
        }
    }
}

impl Part {
    fn write(
        &mut self,
        clients: &mut [&mut Client],
        output: &TickOutput,
        fresh: &Fresh,
        received: &[u32],
    ) {
        let writer = &mut self.writer;
        for client in clients {
            let deliveries = output.deliveries.of(client.row);
            client.known.write(deliveries, fresh, writer);
            let hearings = output.hearings.of(client.row);
            writer.put(u64::from(!hearings.is_empty()), 1);
            if !hearings.is_empty() {
                writer.put_small(number(hearings.len()));
                hearings
                    .iter()
                    .for_each(|&place| writer.put_small(place_in(received, place)));
            }
        }
        self.bytes.clear();
        writer.finish_into(&mut self.bytes);
    }
}

impl FeedReader {
    pub fn new(config: &WorldConfig) -> FeedReader {
        FeedReader {
            ends: End::new(config),
            clients_max: config.limits.clients,
        }
    }

    /// Reads the next tick. After an error no more can be read.
    pub fn read(&mut self, workers: &Workers, bytes: &[u8]) -> Result<Feed, WireError> {
        let mut body = body(bytes)?;
        let rare = take_field(&mut body)?;
        let rare: Rare = codec::from_wire::<MESSAGE_BYTES_MAX, _>(rare)?;
        self.check(&rare)?;
        self.ends.follow(&rare.gone, &rare.events);
        let mut reader = BitReader::new(take_field(&mut body)?);
        let mut output = TickOutput {
            tick: rare.tick,
            ..TickOutput::default()
        };
        let End {
            shape,
            fresh,
            clients,
            ..
        } = &mut self.ends;
        shape.read(&mut output, fresh, &mut reader)?;
        reader.finish()?;
        let mut clients: Vec<&mut Client> = clients.values_mut().collect();
        let mut tasks = vec![];
        let mut read = vec![];
        read.resize_with(clients.len().div_ceil(PART_SESSIONS), || Ok(vec![]));
        for (clients, read) in clients.chunks_mut(PART_SESSIONS).zip(&mut read) {
            tasks.push((clients, take_field(&mut body)?, read));
        }
        if !body.is_empty() {
            return Err(DecodeError::Malformed("bytes after its end".to_owned()).into());
        }
        let places = rare.notifications.len() as u64;
        workers.run(tasks, |(clients, bytes, read)| {
            *read = read_part(clients, bytes, fresh, places);
        });
        let mut lists = vec![];
        for read in read {
            lists.append(&mut read?);
        }
        // Two sessions may have the same row for a tick, as one resumes the other: the later one's
        // are what is sent.
        if !lists.is_sorted_by_key(|&(row, ..)| row) {
            lists.sort_by_key(|&(row, ..)| row);
        }
        let mut lists = lists.into_iter().peekable();
        while let Some((row, deliveries, hearings)) = lists.next() {
            if lists.peek().is_none_or(|&(next, ..)| next != row) {
                output.deliveries.push(row, deliveries);
                output.hearings.push(row, hearings);
            }
        }
        let (publication, logic) = rare.into_publication(output)?;
        Ok(Feed { publication, logic })
    }

    fn check(&self, rare: &Rare) -> Result<(), WireError> {
        let clients_max = self.clients_max.into();
        for event in &rare.events {
            match event {
                Event::Assigned { client, .. } => {
                    below("a client's row", client.0.into(), clients_max)?;
                }
                Event::Closed { code, .. } if Close::from_code((*code).into()).is_none() => {
                    return Err(WireError::Contradiction("no session ends with this code"));
                }
                _ => {}
            }
        }
        for (_, _, words) in &rare.notifications {
            let words_max = NOTIFICATION_WORDS_MAX as u64;
            below(
                "the words of a notification",
                words.len() as u64,
                words_max + 1,
            )?;
        }
        for notice in &rare.subscribed.notices {
            match *notice {
                Notice::Notification(place) => {
                    below("a notice", place.into(), rare.notifications.len() as u64)?;
                }
                Notice::Change { .. } => {}
            }
        }
        Ok(())
    }
}

/// Of these clients: what they are sent in a tick that has so many notifications.
fn read_part(
    clients: &mut [&mut Client],
    bytes: &[u8],
    fresh: &Fresh,
    notifications: u64,
) -> Result<Vec<Received>, WireError> {
    let mut reader = BitReader::new(bytes);
    let mut all = Vec::with_capacity(clients.len());
    for client in clients {
        let deliveries = client.known.read(fresh, &mut reader)?;
        let mut hearings = vec![];
        if reader.get_bool()? {
            for _ in 0..reader.get_small()? {
                let place = reader.get_small()?;
                below("a hearing", place.into(), notifications)?;
                hearings.push(place);
            }
        }
        all.push((client.row, deliveries, hearings));
    }
    reader.finish()?;
    Ok(all)
}

/// Appends a field with its length.
fn put_field(bytes: &[u8], out: &mut Vec<u8>) {
    let length = u32::try_from(bytes.len()).unwrap_or(u32::MAX);
    out.extend_from_slice(&length.to_le_bytes());
    out.extend_from_slice(bytes);
}

/// Takes such a field off.
fn take_field<'a>(rest: &mut &'a [u8]) -> Result<&'a [u8], DecodeError> {
    let (length, after) = rest.split_first_chunk().ok_or(DecodeError::Truncated)?;
    let length = u32::from_le_bytes(*length) as usize;
    let (field, after) = after
        .split_at_checked(length)
        .ok_or(DecodeError::Truncated)?;
    *rest = after;
    Ok(field)
}

impl End {
    fn new(config: &WorldConfig) -> End {
        let shape = Shape::of(config);
        End {
            fresh: Fresh::new(shape.capacity),
            shape,
            clients: BTreeMap::new(),
            entities: HashMap::new(),
            writer: BitWriter::default(),
            parts: vec![],
        }
    }

    /// Follows the sessions.
    fn follow(&mut self, gone: &[SessionId], events: &[Event]) {
        for &session in gone {
            self.remove(session);
        }
        for event in events {
            match *event {
                Event::Assigned {
                    session,
                    client: row,
                    entity,
                    ..
                } => {
                    self.remove(session);
                    let known = Known::default();
                    self.clients.insert(session, Client { row, entity, known });
                    *self.entities.entry(entity).or_default() += 1;
                }
                Event::Reborn { session, entity } => {
                    if let Some(client) = self.clients.get_mut(&session) {
                        let before = std::mem::replace(&mut client.entity, entity);
                        self.forget(before);
                        *self.entities.entry(entity).or_default() += 1;
                    }
                }
                Event::Closed { session, .. } => self.remove(session),
                Event::Answered { .. } | Event::Texts { .. } | Event::Talk { .. } => {}
            }
        }
    }

    fn remove(&mut self, session: SessionId) {
        if let Some(client) = self.clients.remove(&session) {
            self.forget(client.entity);
        }
    }

    /// A session of an entity has ended.
    fn forget(&mut self, entity: EntityId) {
        if let Some(sessions) = self.entities.get_mut(&entity) {
            *sessions -= 1;
            if *sessions == 0 {
                self.entities.remove(&entity);
            }
        }
    }

    /// The places of notifications that any client gets, ascending.
    fn received(&self, publication: &Publication) -> Vec<u32> {
        let mut received = vec![];
        if publication.output.notifications.is_empty() {
            return received;
        }
        for client in self.clients.values() {
            received.extend_from_slice(publication.output.hearings.of(client.row));
            for notice in publication.subscribed.of(client.row) {
                if let Notice::Notification(place) = notice.notice {
                    received.push(place);
                }
            }
        }
        received.sort_unstable();
        received.dedup();
        received
    }

    fn rare(
        &self,
        publication: &Publication,
        received: &[u32],
        gone: Vec<SessionId>,
        events: Vec<Event>,
    ) -> Rare {
        let output = &publication.output;
        // Most ticks have nothing for which the rows matter.
        let needs_rows = !publication.muted.is_empty() || !publication.subscribed.is_empty();
        let clients = self.clients.values().filter(|_| needs_rows);
        let rows: BTreeSet<ClientRow> = clients.map(|client| client.row).collect();
        let talk = (0..).zip(&publication.nearby_talk);
        let talk = talk.filter_map(|(index, talk)| Some((index, (**talk.as_ref()?).clone())));
        let muted = publication
            .muted
            .iter()
            .filter(|(row, _)| rows.contains(row));
        let notifications = received.iter().map(|&place| {
            let notification = &output.notifications[place as usize];
            let words = notification.words().to_vec();
            (notification.source, notification.kind, words)
        });
        let is_own = |entity| self.entities.contains_key(&entity);
        let refused = output.refused.iter().filter(|r| is_own(r.entity));
        Rare {
            tick: publication.tick,
            durable_through: publication.durable_through,
            message: 0,
            logic: publication
                .world
                .as_ref()
                .map(|world| world.config.logic.clone()),
            gone,
            events,
            nearby_talk: talk.collect(),
            muted: muted.map(|&(row, index)| (row, short(index))).collect(),
            named: publication.newborns.named.clone(),
            unready: publication.newborns.unready.clone(),
            notifications: notifications.collect(),
            subscribed: some_notices(&publication.subscribed, &rows, received),
            refused: refused
                .map(|r| (r.entity, r.sequence, r.reason, r.because))
                .collect(),
            edits: output.edits.clone(),
        }
    }
}

/// Sessions of a part: some hundred microseconds of work.
const PART_SESSIONS: usize = 512;
