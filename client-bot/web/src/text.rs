//! Messages to the page, as JSON.

use std::time::Duration;

use client_core::{Entity, Event, Game, LinkState, NoticeBody, RefusedRun, Talk, View};
use serde::Serialize;
use shared::{AttributeType, Audience, EntityId, EntityRef, Fixed, Schema};

use crate::given::Given;

/// The form of a world, as the page needs it.
#[derive(Debug, Serialize)]
pub struct SchemaText<'a> {
    name: &'a str,
    size: Vec<f64>,
    aoi: f64,
    tick_hz: u32,
    kinds: Vec<KindText<'a>>,
    attributes: Vec<AttributeText<'a>>,
    /// Those that the player can give.
    commands: Vec<CommandText<'a>>,
    symbols: &'a [String],
}

#[derive(Debug, Serialize)]
struct KindText<'a> {
    name: &'a str,
}

#[derive(Debug, Serialize)]
struct AttributeText<'a> {
    name: &'a str,
}

#[derive(Debug, Serialize)]
struct CommandText<'a> {
    number: u16,
    name: &'a str,
    words: Vec<WordText<'a>>,
    /// The first word of its only point.
    point: Option<usize>,
    /// For how many ticks it rests after a use.
    cooldown: u32,
}

#[derive(Debug, Serialize)]
struct WordText<'a> {
    name: &'a str,
    r#type: AttributeType,
}

impl SchemaText<'_> {
    pub fn of(schema: &Schema) -> SchemaText<'_> {
        SchemaText {
            name: &schema.world.name,
            size: schema.world.size.iter().map(|s| s.to_f64()).collect(),
            aoi: schema.world.aoi.to_f64(),
            tick_hz: schema.world.tick_hz,
            kinds: (schema.kinds.iter())
                .map(|kind| KindText { name: &kind.name })
                .collect(),
            attributes: (schema.attributes.iter())
                .map(|attribute| AttributeText {
                    name: &attribute.name,
                })
                .collect(),
            commands: (schema.commands.iter())
                .filter(|command| command.senders.clients)
                .map(|command| CommandText {
                    number: command.kind.id(),
                    name: &command.name,
                    words: (command.words.iter())
                        .map(|word| WordText {
                            name: &word.name,
                            r#type: word.ty,
                        })
                        .collect(),
                    point: command.point(schema.dimensions()),
                    cooldown: command.cooldown,
                })
                .collect(),
            symbols: &schema.symbols,
        }
    }
}

/// An entity in view.
#[derive(Debug, Serialize)]
pub struct EntityText<'a> {
    slot: u32,
    generation: u32,
    /// As a command's word.
    reference: i32,
    kind: &'a str,
    /// As it is shown; `null` if it is not.
    place: Option<[f64; 3]>,
    /// (name, value), of what the player may know.
    values: Vec<(&'a str, ValueText<'a>)>,
    /// The same in the engine's own numbers, by column.
    row: &'a [i32],
}

#[derive(Debug, Serialize)]
#[serde(untagged)]
enum ValueText<'a> {
    Number(f64),
    Bool(bool),
    Name(&'a str),
    Entity(Option<u32>),
}

impl EntityText<'_> {
    pub fn of<'a>(view: &'a View, entity: &'a Entity, place: Option<[f64; 3]>) -> EntityText<'a> {
        let schema = view.schema();
        let kind = schema.kinds.get(usize::from(entity.kind));
        let attributes = kind.map_or(&[][..], |kind| &kind.attributes);
        let is_own = entity.id == view.entity();
        let values = attributes.iter().filter_map(|of_kind| {
            let column = usize::from(of_kind.column);
            let attribute = schema.attributes.get(column)?;
            let is_known = match attribute.audience {
                Audience::Hidden => false,
                Audience::Private => is_own,
                _ => column >= schema.dimensions(),
            };
            let raw = *entity.row.get(column)?;
            is_known.then(|| (attribute.name.as_str(), value(schema, attribute.ty, raw)))
        });
        EntityText {
            slot: entity.id.slot.0,
            generation: entity.id.generation,
            reference: entity.id.reference().0,
            kind: kind.map_or("", |kind| &kind.name),
            place,
            values: values.collect(),
            row: &entity.row,
        }
    }
}

/// Something that has happened.
#[derive(Debug, Default, Serialize)]
pub struct EventText {
    /// Its subject.
    r#type: &'static str,
    /// A sentence or a name.
    text: String,
    slot: Option<u32>,
    /// Of a loss: milliseconds until the next attempt.
    retry_ms: Option<f64>,
    /// Of a loss: its code by name, and in a few words.
    code: Option<&'static str>,
    words: Option<&'static str>,
    /// Of a server of another version: which one it speaks, and where players get the game for it.
    server_version: Option<u16>,
    update_url: Option<String>,
    /// Of a change of the link: whether the server sends as it should.
    is_good: Option<bool>,
    /// Of a refusal: the names of the commands.
    commands: Vec<String>,
}

impl EventText {
    /// `None` for what the page sees anyway.
    pub fn of(event: &Event, view: Option<&View>, given: &Given) -> Option<EventText> {
        let plain = |r#type, text: &str, entity: Option<EntityId>| EventText {
            r#type,
            text: text.to_owned(),
            slot: entity.map(|entity| entity.slot.0),
            ..EventText::default()
        };
        Some(match event {
            Event::Welcomed(entity) => plain("welcomed", "you are in the world", Some(*entity)),
            Event::Resumed(entity) => plain("resumed", "you are back", Some(*entity)),
            Event::Reborn(entity) => plain("reborn", "you are born again", Some(*entity)),
            Event::Left { entity, .. } if view.is_some_and(|v| v.entity() == *entity) => {
                plain("died", "you have died", Some(*entity))
            }
            Event::Notice { notice, .. } => {
                plain("notice", &notice_text(&notice.body, view?), None)
            }
            Event::Talk { talk, .. } => {
                let speaker = match talk {
                    Talk::Said { speaker, .. } => Some(*speaker),
                    _ => None,
                };
                plain("talk", &spoken(talk, view?), speaker)
            }
            Event::NoticesFull(_) => plain("notice", "more happened than was sent", None),
            Event::Answered(answer) => match &answer.result {
                Ok(()) => plain("answer", "done", None),
                Err(reason) => plain("answer", reason, None),
            },
            Event::SubscriptionLost(id) => {
                plain("answer", &format!("subscription {id} is lost"), None)
            }
            Event::InterfaceChanged => plain("interface", "the world's rules have changed", None),
            Event::Link { state, .. } => {
                let is_good = *state == LinkState::Good;
                let text = match is_good {
                    true => "the server sends again",
                    false => "nothing arrives from the server",
                };
                EventText {
                    is_good: Some(is_good),
                    ..plain("link", text, None)
                }
            }
            Event::Lost {
                code,
                reason,
                update,
                retry_in,
            } => EventText {
                retry_ms: retry_in.as_ref().map(milliseconds),
                code: Some(code.name()),
                words: Some(code.words()),
                server_version: update.as_ref().map(|update| update.server_version),
                update_url: update.as_ref().and_then(|update| update.url.clone()),
                ..plain("lost", reason, None)
            },
            Event::Refused { commands, .. } => {
                let names = given.names(*commands);
                EventText {
                    commands: names.iter().map(|(name, _)| (*name).to_owned()).collect(),
                    ..plain("refused", &refused(&names, *commands), None)
                }
            }
            Event::Entered { .. } | Event::Left { .. } | Event::Changed { .. } => return None,
        })
    }
}

/// Commands without effect, as a line of a log.
fn refused(names: &[(&str, u32)], run: RefusedRun) -> String {
    let names: Vec<String> = names
        .iter()
        .map(|(name, count)| match count {
            1 => (*name).to_owned(),
            count => format!("{name} ({count} times)"),
        })
        .collect();
    format!("{} had no effect: {}", names.join(", "), run.reason)
}

/// Chat as a line of a log.
fn spoken(talk: &Talk, view: &View) -> String {
    match talk {
        Talk::Said {
            speaker,
            name,
            text,
        } => match name {
            Some(name) => format!("{name}: {text}"),
            None => format!("{}: {text}", name_of(view, speaker.slot.0)),
        },
        Talk::Whispered { from, text } => format!("{from} whispers: {text}"),
        Talk::Spoken {
            channel,
            from,
            text,
        } => format!("[{channel}] {from}: {text}"),
        Talk::Joined { channel, name } => format!("[{channel}] {name} has joined"),
        Talk::Left { channel, name } => format!("[{channel}] {name} has left"),
        Talk::Members { channel, names } => {
            let names: Vec<String> = names.iter().map(|name| name.to_string()).collect();
            format!("[{channel}] {}", names.join(", "))
        }
        Talk::Announced { text } => format!("the server says: {text}"),
    }
}

/// A notice as a line of a log.
fn notice_text(body: &NoticeBody, view: &View) -> String {
    let schema = view.schema();
    match body {
        NoticeBody::Change {
            entity,
            kind,
            column,
            old,
            new,
            command,
            by,
        } => {
            let attribute = schema.attributes.get(usize::from(*column));
            let (name, ty) = attribute.map_or(("", AttributeType::I32), |a| (&a.name, a.ty));
            let kind = schema.kinds.get(usize::from(*kind));
            let mut text = format!(
                "{} {}: {name} {} → {}",
                kind.map_or("", |kind| &kind.name),
                entity.slot.0,
                value(schema, ty, *old).text(),
                value(schema, ty, *new).text(),
            );
            if let Some(command) = command.and_then(|command| schema.command(command)) {
                text += &format!(", {}", command.name);
            }
            if *by != EntityId::NONE {
                text += &format!(", by {}", name_of(view, by.slot.0));
            }
            text
        }
        NoticeBody::Notification {
            kind,
            source,
            words,
        } => {
            let form = schema.notification(*kind);
            let mut text = form.map_or("something", |form| &form.name).to_owned();
            if *source != EntityId::NONE {
                text += &format!(" by {}", name_of(view, source.slot.0));
            }
            let fields = form.map_or(&[][..], |form| &form.fields);
            for (field, raw) in fields.iter().zip(words) {
                let value = value(schema, field.ty, *raw).text();
                text += &format!(", {} {value}", field.name);
            }
            text
        }
    }
}

fn name_of(view: &View, slot: u32) -> String {
    if view.entity().slot.0 == slot {
        return "you".to_owned();
    }
    let entity = view.entities().get(&slot);
    let kind = entity.and_then(|e| view.schema().kinds.get(usize::from(e.kind)));
    format!("{} {slot}", kind.map_or("someone", |kind| &kind.name))
}

/// How good the connection is.
#[derive(Debug, Default, Serialize)]
pub struct Quality {
    is_playing: bool,
    is_dead: bool,
    /// Whether the server sends as it should, while the client is in the world.
    is_link_good: bool,
    own: Option<u32>,
    round_trip_ms: Option<f64>,
    jitter_ms: f64,
    /// By how much others are shown later than they are received.
    delay_ms: f64,
    /// Of 100 inputs: those that came too late, or were lost.
    late_percent: f64,
    /// How far off the prediction was last, in units.
    correction: f64,
    in_view: usize,
    /// All that was received on the connection.
    received_bytes: u64,
    datagrams: u64,
}

impl Quality {
    pub fn of(game: &Game) -> Quality {
        let (Some(view), Some(clock)) = (game.view(), game.clock()) else {
            return Quality::default();
        };
        let corrections = game.prediction().map(|p| p.corrections());
        let delay_ticks = game.scene().map_or(0.0, |scene| scene.delay_ticks());
        Quality {
            is_playing: game.is_playing(),
            is_dead: view.is_dead(),
            is_link_good: (game.link()).is_some_and(|link| link.state == LinkState::Good),
            own: view.own().map(|own| own.id.slot.0),
            round_trip_ms: clock.round_trip().as_ref().map(milliseconds),
            jitter_ms: milliseconds(&clock.jitter()),
            delay_ms: delay_ticks * milliseconds(&clock.period()),
            late_percent: 100.0 * clock.late_share(),
            correction: corrections.unwrap_or_default().last,
            in_view: view.entities().len(),
            received_bytes: view.counts().payload_bytes(),
            datagrams: view.counts().datagrams,
        }
    }
}

impl ValueText<'_> {
    fn text(&self) -> String {
        match self {
            ValueText::Number(number) => format!("{}", (number * 100.0).round() / 100.0),
            ValueText::Bool(is_so) => is_so.to_string(),
            ValueText::Name(name) => (*name).to_owned(),
            ValueText::Entity(Some(slot)) => slot.to_string(),
            ValueText::Entity(None) => "none".to_owned(),
        }
    }
}

fn value(schema: &Schema, ty: AttributeType, raw: i32) -> ValueText<'_> {
    match ty {
        AttributeType::Fixed => ValueText::Number(Fixed::from_raw(raw).to_f64()),
        AttributeType::Bool => ValueText::Bool(raw != 0),
        AttributeType::Entity => {
            let reference = Some(EntityRef(raw)).filter(|entity| *entity != EntityRef::NONE);
            ValueText::Entity(reference.map(|entity| entity.slot().0))
        }
        AttributeType::Symbol => {
            let symbol = usize::try_from(raw).ok();
            let name = symbol.and_then(|symbol| schema.symbols.get(symbol));
            ValueText::Name(name.map_or("", |name| name))
        }
        AttributeType::I32 => ValueText::Number(f64::from(raw)),
    }
}

fn milliseconds(time: &Duration) -> f64 {
    time.as_secs_f64() * 1000.0
}

#[cfg(test)]
mod tests {
    use shared::{Refusal, Tick};

    use super::*;

    #[test]
    fn commands_without_effect_are_reported_with_names_and_reason() {
        let mut given = Given::default();
        for (sequence, name) in [(1, "move"), (2, "strike"), (3, "move")] {
            given.note(sequence, name);
        }
        let report = |first, count, reason| {
            let commands = RefusedRun {
                first,
                count,
                reason,
            };
            let tick = Tick(1);
            let event = Event::Refused { tick, commands };
            let line = EventText::of(&event, None, &given).expect("a line");
            assert_eq!(line.r#type, "refused");
            (line.text, line.commands)
        };
        let (text, commands) = report(2, 1, Refusal::Resting);
        assert_eq!(text, "strike had no effect: it rests after its last use");
        assert_eq!(commands, ["strike"]);
        let (text, commands) = report(1, 3, Refusal::Dead);
        let expected = "move (2 times), strike had no effect: nobody is there to give it";
        assert_eq!(text, expected);
        assert_eq!(commands, ["move", "strike"]);
    }
}
