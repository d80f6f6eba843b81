//! The client, and what the page may ask of it.

use std::time::Duration;

use client_core::{
    Argument, Ending, Entity, Event, Game, GameOptions, GivenCommand, LayerCache, LayerSource,
    LossCode, NamedEvent, Prediction, RetryOptions, Step, TalkRequest, View,
};
use serde::Serialize;
use shared::{CommandKind, Content, Slot};

use crate::given::Given;
use crate::text::{EntityText, EventText, LayerText, Quality, RankingText, SchemaText, has_range};

/// A client of a page.
pub struct Client {
    game: Game,
    /// Of earlier games.
    layers: LayerCache,
    /// The names of the rankings that it has asked for.
    asked_rankings: Vec<String>,
    /// The text of the game's bindings; empty: it has none.
    bindings: String,
    given: Given,
    input: Vec<u8>,
    output: Vec<u8>,
}

impl Default for Client {
    fn default() -> Client {
        Client {
            game: Game::new(GameOptions::default()),
            layers: LayerCache::default(),
            asked_rankings: vec![],
            bindings: String::new(),
            given: Given::default(),
            input: vec![],
            output: vec![],
        }
    }
}

/// Numbers of an entity that is shown: slot, kind, x, y, z, what it is, the share of its bar.
/// What it is: 1 for the own entity, plus 2 for one whose player has a name. The share is -1 without a bar.
pub const FLOATS: usize = 7;
/// Requests of chat, by number.
pub const TALKS: [&str; 4] = ["say", "whisper", "mute", "unmute"];

/// The page's connection.
impl Client {
    pub fn room(&mut self, bytes: usize) -> &mut [u8] {
        self.input.clear();
        self.input.resize(bytes, 0);
        &mut self.input
    }

    pub fn output(&self) -> &[u8] {
        &self.output
    }

    pub fn begin(&mut self, has_ticket: bool, seed: f64) {
        let ticket = match has_ticket {
            true => self.input.split_last_chunk::<16>(),
            false => None,
        };
        let token = ticket.map_or(&self.input[..], |(token, _)| token);
        let mut game = Game::new(GameOptions {
            token: String::from_utf8_lossy(token).into_owned(),
            bindings: self.bindings.clone(),
            retry: RetryOptions {
                seed: seed.to_bits(),
                ..RetryOptions::default()
            },
            // Browsers unpack it.
            layer_source: LayerSource::Caller,
            layer_cache: self.layers.clone(),
            ..GameOptions::default()
        });
        if let Some((_, ticket)) = ticket {
            game.set_ticket(*ticket);
        }
        self.game = game;
        self.given = Given::default();
    }

    pub fn bind(&mut self) {
        self.bindings = String::from_utf8_lossy(&self.input).into_owned();
    }

    pub fn next_step(&mut self, now_ms: f64) -> u32 {
        match self.game.next_step(time(now_ms)) {
            Step::Wait => 0,
            Step::Connect => 1,
            // The page has no reason: the other end is out of reach.
            Step::Close(..) => 2,
        }
    }

    pub fn address(&mut self) -> usize {
        self.output = self.game.address().unwrap_or_default().into();
        self.output.len()
    }

    pub fn opened(&mut self) {
        self.game.opened(None);
    }

    pub fn closed(&mut self, code: i32, now_ms: f64) {
        let reason = String::from_utf8_lossy(&self.input);
        let ending = match u64::try_from(code) {
            Ok(code) => Ending::closed(code, &reason),
            // A browser does not say why a connection could not be opened.
            Err(_) => Ending::new(LossCode::Unreachable, reason),
        };
        self.game.closed(ending, time(now_ms));
    }

    pub fn leave(&mut self) {
        self.game.leave();
    }

    pub fn take_stream(&mut self, now_ms: f64) -> usize {
        let taken = self.game.handle_stream(&self.input, time(now_ms));
        self.give_error(taken)
    }

    pub fn take_datagram(&mut self, now_ms: f64) -> usize {
        let taken = self.game.handle_datagram(&self.input, time(now_ms));
        self.give_error(taken)
    }

    pub fn give_stream(&mut self) -> usize {
        self.output = self.game.stream_bytes().to_vec();
        self.game.stream_sent(self.output.len());
        self.output.len()
    }

    pub fn give_datagram(&mut self, now_ms: f64) -> usize {
        self.output = self.game.datagram(time(now_ms)).unwrap_or_default();
        self.output.len()
    }

    pub fn ticket(&mut self) -> usize {
        self.output = self.game.ticket().map_or_else(Vec::new, |t| t.to_vec());
        self.output.len()
    }

    fn give_error(&mut self, result: Result<(), impl std::fmt::Display>) -> usize {
        match result {
            Ok(()) => 0,
            Err(error) => {
                self.output = error.to_string().into_bytes();
                self.output.len()
            }
        }
    }
}

/// The page's game.
impl Client {
    pub fn poll(&mut self, now_ms: f64) -> usize {
        let events = self.game.poll(time(now_ms));
        let view = self.game.view();
        let mut texts = vec![];
        for event in &events {
            // There are many of them, which a page without bindings sees anyway.
            let is_seen = matches!(event, Event::Entered { .. } | Event::Changed { .. });
            if !is_seen || !self.bindings.is_empty() {
                let add = |event| texts.extend(EventText::of(&event, view, &self.given));
                NamedEvent::each(event, view, add);
            }
        }
        match texts.is_empty() {
            true => 0,
            false => give(&mut self.output, &texts),
        }
    }

    /// Talks: `what` is a number of [`TALKS`], and the input two texts, the first of so many
    /// bytes: the recipient, and the text.
    pub fn talk(&mut self, what: u32, to_bytes: usize) -> usize {
        let (to, text) = self.input.split_at(to_bytes.min(self.input.len()));
        let [to, text] = [to, text].map(|part| String::from_utf8_lossy(part).into_owned());
        let request = match what {
            0 => TalkRequest::Say { text },
            1 => TalkRequest::Whisper { to, text },
            2 => TalkRequest::Mute { name: to },
            3 => TalkRequest::Unmute { name: to },
            _ => return self.give_error(Err(format!("expected one of {TALKS:?}, found {what}"))),
        };
        let requested = self.game.talk(request).map(|_| ());
        self.give_error(requested.ok_or("not in the world"))
    }

    pub fn input_due(&self, now_ms: f64) -> f64 {
        let due = self.game.input_due(time(now_ms));
        due.map_or(-1.0, |tick| tick.0 as f64)
    }

    pub fn command(&mut self, kind: u32) -> usize {
        let words = self.input.as_chunks::<4>().0;
        let words: Vec<i32> = words.iter().map(|word| i32::from_le_bytes(*word)).collect();
        let kind = CommandKind(u16::try_from(kind).unwrap_or(u16::MAX));
        let given = self.game.command(kind, &words).map(|sequence| {
            let schema = self.game.view().map(View::schema);
            let form = schema.and_then(|schema| schema.command(kind));
            self.given
                .note(sequence, form.map_or("", |form| &form.name));
        });
        self.give_error(given)
    }

    /// The same with texts: the input is so many words, then each text behind its length in four
    /// bytes. Words of type text are the texts, in their order.
    pub fn command_with(&mut self, kind: u32, words: usize) -> usize {
        let kind = CommandKind(u16::try_from(kind).unwrap_or(u16::MAX));
        let schema = self.game.view().map(View::schema);
        let form = schema.and_then(|schema| schema.command(kind));
        let (numbers, texts) = self
            .input
            .split_at(self.input.len().min(words.saturating_mul(4)));
        let numbers = numbers.as_chunks::<4>().0;
        let texts = texts_of(texts);
        let mut texts = texts.iter();
        let types = form.map_or(&[][..], |form| &form.words).iter();
        let arguments = numbers
            .iter()
            .zip(types)
            .map(|(number, word)| match word.ty.content() {
                Content::Text => Argument::Text(texts.next().map_or("", String::as_str)),
                Content::Value | Content::Entity => Argument::Word(i32::from_le_bytes(*number)),
            });
        let arguments: Vec<Argument<'_>> = arguments.collect();
        let name = form.map_or_else(String::new, |form| form.name.clone());
        let given = self.game.command_with(kind, &arguments).map(|given| {
            if let GivenCommand::Queued(sequence) = given {
                self.given.note(sequence, &name);
            }
        });
        self.give_error(given)
    }

    /// After how many ticks a command can be used again; 0: now, or nothing is known.
    pub fn rest(&self, kind: u32, now_ms: f64) -> f64 {
        let kind = CommandKind(u16::try_from(kind).unwrap_or(u16::MAX));
        let next = self.game.prediction().map(Prediction::input_tick);
        let ready = self.game.ready_at(kind).filter(|&ready| Some(ready) > next);
        let due = (self.game.clock()).and_then(|clock| clock.input_tick(time(now_ms)));
        match (ready, due) {
            (Some(ready), Some(due)) => (ready.0 as f64 - due).max(0.0),
            _ => 0.0,
        }
    }

    pub fn entities(&mut self, bar: i32) -> usize {
        self.output.clear();
        let Some(view) = self.game.view() else {
            return 0;
        };
        let bar = usize::try_from(bar).ok();
        for entity in view.entities().values() {
            let Some(place) = self.game.position(entity.id) else {
                continue;
            };
            let is_own = u8::from(entity.id == view.entity());
            let is_named = u8::from(view.name(entity.id).is_some());
            let flags = u32::from(is_own | is_named << 1);
            let share = bar.and_then(|column| share(view, entity.kind, &entity.row, column));
            let numbers = [
                f64::from(entity.id.slot.0),
                f64::from(entity.kind),
                place[0],
                place[1],
                place[2],
                f64::from(flags | text_mark(view, entity) << 2),
                share.unwrap_or(-1.0),
            ];
            for number in numbers {
                self.output
                    .extend_from_slice(&(number as f32).to_le_bytes());
            }
        }
        self.output.len()
    }

    pub fn schema(&mut self) -> usize {
        match self.game.view() {
            Some(view) => give(&mut self.output, &SchemaText::of(view.schema())),
            None => 0,
        }
    }

    pub fn entity(&mut self, slot: u32) -> usize {
        let view = self.game.view();
        let text = view.and_then(|view| {
            let entity = view.get(Slot(slot))?;
            Some(EntityText::of(view, entity, self.game.position(entity.id)))
        });
        text.map_or(0, |text| give(&mut self.output, &text))
    }

    pub fn rankings(&mut self) -> usize {
        let names = self.game.view().into_iter().flat_map(View::rankings);
        let new = names.filter(|own| !self.asked_rankings.contains(&own.info.name));
        let new: Vec<String> = new.map(|own| own.info.name.clone()).collect();
        for name in new {
            // The game asks again after each welcome.
            if self.game.ask_ranking(&name, RANKING_LENGTH) == Some(true) {
                self.asked_rankings.push(name);
            }
        }
        let Some(view) = self.game.view() else {
            return 0;
        };
        let texts = view.rankings().iter().map(|own| RankingText::of(view, own));
        give(&mut self.output, &texts.collect::<Vec<_>>())
    }

    pub fn layers(&mut self) -> usize {
        let Some(session) = self.game.session() else {
            return 0;
        };
        let missing = self.game.missing_layers();
        let symbols = &session.view().schema().symbols;
        let infos = session.layer_infos().iter();
        let texts: Vec<LayerText> = infos
            .map(|info| LayerText::of(info, symbols, missing.contains(info)))
            .collect();
        give(&mut self.output, &texts)
    }

    pub fn put_layer(&mut self, hash: u64) -> usize {
        let content = std::mem::take(&mut self.input);
        let put = self.game.put_layer(hash, content);
        self.give_error(put)
    }

    pub fn fetch_layers(&mut self) {
        self.game.fetch_layers();
    }

    pub fn take_packed_layer(&mut self) -> usize {
        self.output.clear();
        if let Some((hash, packed)) = self.game.take_packed_layer() {
            self.output.extend(format!("{hash:016x}").into_bytes());
            self.output.extend(packed);
        }
        self.output.len()
    }

    pub fn quality(&mut self) -> usize {
        give(&mut self.output, &Quality::of(&self.game))
    }
}

/// Texts, each behind its length in four bytes.
fn texts_of(mut bytes: &[u8]) -> Vec<String> {
    let mut texts = vec![];
    while let Some((length, rest)) = bytes.split_first_chunk::<4>() {
        let length = u32::from_le_bytes(*length) as usize;
        let (text, behind) = rest.split_at(length.min(rest.len()));
        texts.push(String::from_utf8_lossy(text).into_owned());
        bytes = behind;
    }
    texts
}

fn give(output: &mut Vec<u8>, value: &impl Serialize) -> usize {
    // Numbers, text and lists can always be written.
    *output = serde_json::to_vec(value).unwrap_or_default();
    output.len()
}

/// Other texts of an entity have, most often, another mark of 20 bits; 0: it has none.
fn text_mark(view: &View, entity: &Entity) -> u32 {
    let columns = view.schema().text_columns();
    let known = columns.filter(|&column| view.text_of(entity, column).is_some());
    let handles = known.filter_map(|column| entity.row.get(column));
    let mixed = handles.fold(0u32, |mark, word| {
        mark.rotate_left(7) ^ word.cast_unsigned()
    });
    mixed & 0xf_ffff
}

/// How much of its largest value an attribute has, from 0 to 1. `None` if the kind lacks it,
/// or has no bounds for it.
fn share(view: &View, kind: u16, row: &[i32], column: usize) -> Option<f64> {
    let kind = view.schema().kinds.get(usize::from(kind))?;
    let mut attributes = kind.attributes.iter();
    let own = attributes.find(|a| usize::from(a.column) == column)?;
    if !has_range(view.schema(), own) {
        return None;
    }
    let range = f64::from(own.max) - f64::from(own.min);
    let value = f64::from(*row.get(column)?) - f64::from(own.min);
    Some((value / range).clamp(0.0, 1.0))
}

/// So many of the first of each ranking are shown.
const RANKING_LENGTH: u32 = 10;

/// A page may pass anything: what is no time is the first moment.
fn time(ms: f64) -> Duration {
    Duration::try_from_secs_f64(ms / 1000.0).unwrap_or_default()
}
