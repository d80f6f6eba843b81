//! The texts of a world: which handle stands for which, and who may use it. Without I/O and without a
//! clock.
//!
//! A text is kept while an attribute of a living entity has it, while a client may use it in a
//! command, and for some seconds after: a client that was sent its handle still asks for it then.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::mem::take;

use durability::roster::RosterChange;
use frontend::mirror::Mirror;
use gpu_kernels::{Batch, SlotState, Snapshot, TickOutput};
use platform::rate_limit::RateLimit;
use shared::wire::control::Ticket;
use shared::wire::request::{GivenText, TEXTS_MAX};
use shared::world::columns::Columns;
use shared::world::words::TextHandle;
use shared::{AttributeType, ClientRow, EntityId, Limits, Schema, Slot, Text, Tick, WorldConfig};
use thiserror::Error;

/// The texts of a world.
pub struct Texts {
    limits: Limits,
    tick_hz: u32,
    /// The columns of texts, and their longest one in bytes.
    columns: Columns,
    longest: u32,
    /// By command number: the places of texts among its words.
    words: Vec<Option<Vec<usize>>>,
    held: HashMap<TextHandle, Held>,
    handles: HashMap<Text, TextHandle>,
    bytes: u64,
    /// When a text may be forgotten, at the earliest.
    due: BinaryHeap<Reverse<(Tick, TextHandle)>>,
    clients: HashMap<ClientRow, Granted>,
    random: Box<dyn FnMut() -> u32 + Send>,
    /// Those that the mirror does not have yet, or has still (`None`).
    news: Vec<(TextHandle, Option<Text>)>,
    /// Since the last [`Texts::take_changes`]; none if they are not recorded.
    changes: Option<Vec<RosterChange>>,
}

struct Held {
    text: Text,
    /// How many attributes of living entities have it.
    references: u32,
    /// It is kept so long without any.
    until: Tick,
}

/// The texts that a client may use.
struct Granted {
    /// Distinguishes the client from others with the same row.
    ticket: Ticket,
    /// Each until a tick.
    texts: Vec<(TextHandle, Tick)>,
    /// Asking for texts that there are not.
    misses: RateLimit<u64>,
}

/// The texts of entities that a tick has changed.
#[derive(Debug, Default)]
pub struct Touched {
    slots: Vec<Slot>,
    before: Vec<TextHandle>,
}

/// Why a text is rejected.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum TextsError {
    #[error("this world has no texts")]
    NoTexts,
    #[error("a text has {found} bytes, expected at most {limit}")]
    TooLong { found: usize, limit: u32 },
    #[error("{limit} texts were given and may still be used; wait a moment")]
    TooManyGiven { limit: u32 },
    #[error("the world is full of texts: it has {limit}")]
    Full { limit: u32 },
    #[error("the world is full of texts: they have {limit} bytes")]
    FullOfBytes { limit: u32 },
    #[error("expected at most {TEXTS_MAX} texts, found {0}")]
    TooManyAsked(usize),
    #[error("too many texts were asked for that there are not; wait a moment")]
    TooManyMisses,
}

impl Texts {
    /// A world without texts yet. `random` gives numbers that nobody can guess.
    pub fn new(config: &WorldConfig, random: impl FnMut() -> u32 + Send + 'static) -> Texts {
        let mut texts = Texts {
            limits: config.limits.clone(),
            tick_hz: config.schema.world.tick_hz,
            columns: config.schema.text_columns().collect(),
            longest: config.schema.text_bytes_max(),
            words: vec![],
            held: HashMap::new(),
            handles: HashMap::new(),
            bytes: 0,
            due: BinaryHeap::new(),
            clients: HashMap::new(),
            random: Box::new(random),
            news: vec![],
            changes: None,
        };
        texts.change_world(config);
        texts
    }

    /// The world's commands may have changed.
    pub fn change_world(&mut self, config: &WorldConfig) {
        self.words = words_of(&config.schema);
    }

    /// Records changes from here on.
    pub fn record_changes(&mut self) {
        self.changes = Some(vec![]);
    }

    /// The changes since the last call.
    pub fn take_changes(&mut self) -> Vec<RosterChange> {
        self.changes.as_mut().map(take).unwrap_or_default()
    }

    /// How many texts there are, and their bytes.
    pub fn size(&self) -> (usize, u64) {
        (self.held.len(), self.bytes)
    }

    /// The texts of an earlier server, and which of them the entities of its world have.
    pub fn restore<'a>(
        &mut self,
        texts: impl IntoIterator<Item = (&'a TextHandle, &'a Text)>,
        snapshot: &Snapshot,
    ) {
        let until = self.after(snapshot.tick, KEPT_SECONDS);
        for (&handle, text) in texts {
            self.insert(handle, text.clone(), until);
        }
        let columns = self.columns;
        let row_length = snapshot.rows.len() / snapshot.states.len().max(1);
        if columns.is_empty() || row_length == 0 {
            return;
        }
        let rows = snapshot.rows.chunks_exact(row_length);
        for (row, state) in rows.zip(&snapshot.states) {
            if *state == SlotState::Live {
                texts_in(columns, row).for_each(|handle| self.refer(handle));
            }
        }
    }

    /// The text of a handle.
    pub fn get(&self, handle: TextHandle) -> Option<&Text> {
        Some(&self.held.get(&handle)?.text)
    }

    /// Has a text for a client, whose commands may use it for some time.
    pub fn give(
        &mut self,
        (client, ticket): (ClientRow, Ticket),
        text: &Text,
        now: Tick,
    ) -> Result<GivenText, TextsError> {
        if self.columns.is_empty() {
            return Err(TextsError::NoTexts);
        }
        let (found, limit) = (text.len(), self.longest);
        let length = u8::try_from(found).ok();
        let length = length.filter(|&length| u32::from(length) <= limit);
        let Some(length) = length else {
            return Err(TextsError::TooLong { found, limit });
        };
        let until = self.after(now, GRANTED_SECONDS);
        let most = self.limits.client_texts;
        let known = self.handles.get(text).copied();
        let own = self.granted(client, ticket, now);
        own.texts.retain(|(_, until)| *until > now);
        let place = own.texts.iter().position(|(own, _)| Some(*own) == known);
        if place.is_none() && own.texts.len() >= most as usize {
            return Err(TextsError::TooManyGiven { limit: most });
        }
        let handle = match known {
            Some(handle) => handle,
            None => {
                self.check_room(found)?;
                self.new_handle(length)
            }
        };
        if known.is_none() {
            self.insert(handle, text.clone(), until);
            self.note(handle, Some(text.clone()));
        }
        self.keep(handle, until);
        let own = self.granted(client, ticket, now);
        match place {
            Some(place) => own.texts[place].1 = until,
            None => own.texts.push((handle, until)),
        }
        let text = Some(text.clone());
        Ok(GivenText { handle, text })
    }

    /// A handle for a text of an account's character, whose player is born now.
    pub fn give_back(&mut self, text: &Text, now: Tick) -> Result<TextHandle, TextsError> {
        let until = self.after(now, KEPT_SECONDS);
        if let Some(&known) = self.handles.get(text) {
            self.keep(known, until);
            return Ok(known);
        }
        let (found, limit) = (text.len(), self.longest);
        let length = u8::try_from(found).ok();
        let length = length.filter(|&length| u32::from(length) <= limit);
        let length = length.ok_or(TextsError::TooLong { found, limit })?;
        self.check_room(found)?;
        let handle = self.new_handle(length);
        self.insert(handle, text.clone(), until);
        self.note(handle, Some(text.clone()));
        Ok(handle)
    }

    /// The texts that a client asks for: who has a handle may read it.
    pub fn read(
        &mut self,
        (client, ticket): (ClientRow, Ticket),
        handles: &[TextHandle],
        now: Tick,
    ) -> Result<Vec<GivenText>, TextsError> {
        if handles.len() > TEXTS_MAX {
            return Err(TextsError::TooManyAsked(handles.len()));
        }
        let misses = handles.iter().filter(|handle| self.get(**handle).is_none());
        let misses = misses.count() as u64;
        let interval = u64::from(self.tick_hz) * MISS_SECONDS;
        let own = self.granted(client, ticket, now);
        // Nobody shall find a handle by trying.
        if misses > 0 && !(own.misses).take(interval * misses, now.0, interval * MISSES_AT_ONCE) {
            return Err(TextsError::TooManyMisses);
        }
        let texts = handles.iter().map(|&handle| GivenText {
            handle,
            text: self.get(handle).cloned(),
        });
        Ok(texts.collect())
    }

    /// Checks the texts of commands, which may be those of clients' worlds of long ago, or invented:
    /// one that the client was not given becomes `FOREIGN`, with which its command has no effect.
    /// Returns the number of these.
    pub fn check(
        &mut self,
        commands: &mut Batch,
        now: Tick,
        owner: impl Fn(EntityId) -> Option<(ClientRow, Ticket)>,
    ) -> u64 {
        let places = take(&mut self.words);
        if places.is_empty() {
            return 0;
        }
        let until = self.after(now, KEPT_SECONDS);
        let mut foreign = 0;
        commands.change_words(|command, words| {
            let places = places
                .get(usize::from(command.kind))
                .and_then(Option::as_ref);
            for &place in places.into_iter().flatten() {
                let Some(word) = words.get_mut(place).filter(|word| **word != 0) else {
                    continue;
                };
                let handle = TextHandle(*word);
                match self.may_use(owner(command.entity), handle, now) {
                    true => self.keep(handle, until),
                    false => {
                        *word = FOREIGN;
                        foreign += 1;
                    }
                }
            }
        });
        self.words = places;
        foreign
    }

    fn may_use(&self, client: Option<(ClientRow, Ticket)>, handle: TextHandle, now: Tick) -> bool {
        let Some((client, ticket)) = client else {
            return false;
        };
        let own = self.clients.get(&client).filter(|own| own.ticket == ticket);
        let mut own = own.into_iter().flat_map(|own| &own.texts);
        own.any(|&(own, until)| own == handle && until > now)
    }

    /// Before the mirror has a tick: the texts that it changes.
    pub fn before(&self, output: &TickOutput, mirror: &Mirror) -> Touched {
        let mut touched = Touched::default();
        if self.columns.is_empty() {
            return touched;
        }
        let is_text = |column: &u16| self.columns.has(usize::from(*column));
        let changes = output.changes.iter();
        let changed = changes.filter(|(_, columns, _)| columns.iter().any(is_text));
        touched.slots.extend(changed.map(|(slot, ..)| slot));
        let births = output.births.iter().filter_map(|birth| birth.entity);
        let born_or_dead = births.chain(output.deaths.iter().copied());
        touched.slots.extend(born_or_dead.map(|entity| entity.slot));
        touched.slots.sort_unstable();
        touched.slots.dedup();
        touched.before = self.texts_of(&touched.slots, mirror);
        touched
    }

    /// After the mirror has the tick. It gets the texts, too.
    pub fn after_tick(&mut self, touched: &Touched, mirror: &mut Mirror) {
        for (handle, text) in self.news.drain(..) {
            match text {
                Some(text) => mirror.texts.insert(handle, text),
                None => mirror.texts.remove(&handle),
            };
        }
        for handle in self.texts_of(&touched.slots, mirror) {
            self.refer(handle);
        }
        let until = self.after(mirror.tick(), KEPT_SECONDS);
        for handle in &touched.before {
            if let Some(held) = self.held.get_mut(handle) {
                held.references = held.references.saturating_sub(1);
                if held.references == 0 {
                    self.keep(*handle, until);
                }
            }
        }
    }

    fn texts_of(&self, slots: &[Slot], mirror: &Mirror) -> Vec<TextHandle> {
        let living = slots.iter().filter(|&&slot| mirror.living(slot).is_some());
        let texts = living.flat_map(|&slot| texts_in(self.columns, mirror.row(slot)));
        texts.collect()
    }

    /// Forgets texts that nothing needs any more. `is_there` says of a client whether it still has
    /// its row.
    pub fn forget(&mut self, now: Tick, is_there: impl Fn(ClientRow, Ticket) -> bool) {
        while let Some(&Reverse((due, handle))) = self.due.peek()
            && due <= now
        {
            self.due.pop();
            let Some(held) = self.held.get(&handle) else {
                continue;
            };
            if held.references > 0 {
                // It gets its turn again once it has none.
                continue;
            }
            if held.until > now {
                self.due.push(Reverse((held.until, handle)));
                continue;
            }
            if let Some(held) = self.held.remove(&handle) {
                self.bytes -= held.text.len() as u64;
                self.handles.remove(&held.text);
                self.news.push((handle, None));
                self.note(handle, None);
            }
        }
        if now.0.is_multiple_of(u64::from(self.tick_hz)) {
            self.clients
                .retain(|&client, own| is_there(client, own.ticket));
        }
    }

    fn granted(&mut self, client: ClientRow, ticket: Ticket, now: Tick) -> &mut Granted {
        let new = || Granted {
            ticket,
            texts: vec![],
            misses: RateLimit::new(now.0),
        };
        let own = self.clients.entry(client).or_insert_with(new);
        if own.ticket != ticket {
            *own = new();
        }
        own
    }

    fn check_room(&self, bytes: usize) -> Result<(), TextsError> {
        let limit = self.limits.texts;
        if self.held.len() >= limit as usize {
            return Err(TextsError::Full { limit });
        }
        let limit = self.limits.text_bytes;
        match self.bytes + bytes as u64 > u64::from(limit) {
            true => Err(TextsError::FullOfBytes { limit }),
            false => Ok(()),
        }
    }

    /// A handle that no text has. There are more of each length than the world can have texts.
    fn new_handle(&mut self, length: u8) -> TextHandle {
        loop {
            let handle = TextHandle::new(length, (self.random)());
            if !self.held.contains_key(&handle) {
                return handle;
            }
        }
    }

    fn insert(&mut self, handle: TextHandle, text: Text, until: Tick) {
        self.bytes += text.len() as u64;
        self.news.push((handle, Some(text.clone())));
        self.handles.insert(text.clone(), handle);
        let references = 0;
        self.held.insert(
            handle,
            Held {
                text,
                references,
                until,
            },
        );
        self.due.push(Reverse((until, handle)));
    }

    fn refer(&mut self, handle: TextHandle) {
        if let Some(held) = self.held.get_mut(&handle) {
            held.references = held.references.saturating_add(1);
        }
    }

    /// Keeps a text at least until a tick.
    fn keep(&mut self, handle: TextHandle, until: Tick) {
        if let Some(held) = self.held.get_mut(&handle)
            && held.until < until
        {
            held.until = until;
            self.due.push(Reverse((until, handle)));
        }
    }

    fn note(&mut self, handle: TextHandle, text: Option<Text>) {
        if let Some(changes) = &mut self.changes {
            changes.push(RosterChange::Text { handle, text });
        }
    }

    fn after(&self, now: Tick, seconds: u32) -> Tick {
        now.after(seconds.saturating_mul(self.tick_hz))
    }
}

/// The texts in a row.
fn texts_in(columns: Columns, row: &[i32]) -> impl Iterator<Item = TextHandle> {
    let handles = columns.iter().filter_map(|column| row.get(column));
    handles
        .map(|&word| TextHandle(word))
        .filter(|handle| !handle.is_empty())
}

/// By command number: the places of texts among its words; empty if there are none.
fn words_of(schema: &Schema) -> Vec<Option<Vec<usize>>> {
    let by_number = schema.commands_by_number(|command| {
        let words = (0..).zip(&command.words);
        let texts = words.filter(|(_, word)| word.ty == AttributeType::Text);
        texts.map(|(place, _)| place).collect::<Vec<usize>>()
    });
    let by_number: Vec<_> = by_number
        .into_iter()
        .map(|places| places.filter(|places| !places.is_empty()))
        .collect();
    match by_number.iter().all(Option::is_none) {
        true => vec![],
        false => by_number,
    }
}

/// In place of a text that a client was not given: scripts do nothing with it.
const FOREIGN: i32 = -1;
/// How long a client may use a text that it has given.
const GRANTED_SECONDS: u32 = 30;
/// How long a text is kept that no attribute has any more.
const KEPT_SECONDS: u32 = 10;
/// A client may ask for so many texts at once that there are not, and then for one in so many
/// seconds: some are forgotten while their handles are on their way.
const MISSES_AT_ONCE: u64 = 64;
const MISS_SECONDS: u64 = 2;

#[cfg(test)]
mod tests;
