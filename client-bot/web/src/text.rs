//! Messages to the page, as JSON.

use std::time::Duration;

use client_core::{
    Entity, EventType, Game, LayerInfo, LayerKind, LinkState, Member, NamedEvent, Ranking, View,
};
use serde::Serialize;
use shared::world::plane::Atlas;
use shared::world::schema::KindAttribute;
use shared::world::spawn::SpawnArea;
use shared::{
    AttributeType, AttributeValue, Audience, EntityId, EntityRef, Fixed, Kind, Plain, Schema, Slot,
    Zone,
};

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
    zones: Vec<ZoneText<'a>>,
    /// The slot of what the whole world shares.
    world: Option<u32>,
    /// Where its planes are, if it has some.
    planes: Option<PlanesText<'a>>,
}

#[derive(Debug, Serialize)]
struct PlanesText<'a> {
    /// The edges of plane 0, in units as all of it.
    size: [f64; 2],
    gap: f64,
    groups: Vec<PlaneText<'a>>,
}

/// The copies of a plane.
#[derive(Debug, Serialize)]
struct PlaneText<'a> {
    name: &'a str,
    size: [f64; 2],
    copies: u32,
    columns: u32,
    stride: [f64; 2],
    low: f64,
}

impl PlanesText<'_> {
    fn of(atlas: &Atlas) -> Option<PlanesText<'_>> {
        let units = |raw: i32| Fixed::from_raw(raw).to_f64();
        let groups = atlas.groups.iter().map(|group| PlaneText {
            name: &group.name,
            size: group.size.map(units),
            copies: group.copies,
            columns: group.columns,
            stride: group.stride.map(units),
            low: units(group.low),
        });
        (!atlas.is_empty()).then(|| PlanesText {
            size: atlas.size.map(units),
            gap: units(atlas.gap),
            groups: groups.collect(),
        })
    }
}

#[derive(Debug, Serialize)]
struct KindText<'a> {
    name: &'a str,
    /// (column, least, most) of its attributes that have bounds.
    ranges: Vec<(u16, Plain<'a>, Plain<'a>)>,
}

impl KindText<'_> {
    fn of<'a>(schema: &'a Schema, kind: &'a Kind) -> KindText<'a> {
        let bounded = kind.attributes.iter();
        let bounded = bounded.filter(|own| has_range(schema, own));
        let ranges = bounded.filter_map(|own| {
            let ty = schema.attributes.get(usize::from(own.column))?.ty;
            let value = |raw| plain(schema, AttributeValue::of_word(ty, raw));
            Some((own.column, value(own.min), value(own.max)))
        });
        KindText {
            name: &kind.name,
            ranges: ranges.collect(),
        }
    }
}

#[derive(Debug, Serialize)]
struct AttributeText<'a> {
    name: &'a str,
}

/// A layer of the world.
#[derive(Debug, Serialize)]
pub struct LayerText<'a> {
    kind: LayerKind,
    cells: [u32; 2],
    /// Of a cell, in units.
    edge: f64,
    hash: String,
    /// Of its content.
    bytes: usize,
    /// The names of the tags 1, 2, …
    tags: Vec<&'a str>,
    is_missing: bool,
}

impl LayerText<'_> {
    pub fn of<'a>(info: &LayerInfo, symbols: &'a [String], is_missing: bool) -> LayerText<'a> {
        let tags = info.tags.iter().filter_map(|&tag| {
            let name = symbols.get(usize::try_from(tag).ok()?)?;
            Some(&**name)
        });
        LayerText {
            kind: info.kind,
            cells: info.cells,
            edge: Fixed::from_raw(1 << info.edge_bits).to_f64(),
            hash: format!("{:016x}", info.hash),
            bytes: info.content_bytes(),
            tags: tags.collect(),
            is_missing,
        }
    }
}

/// A ranking of the world.
#[derive(Debug, Serialize)]
pub struct RankingText<'a> {
    name: &'a str,
    /// The place of the client's entity, from 1 on.
    own: Option<u32>,
    /// Names, or the kind and the slot, and values.
    first: Vec<(String, Plain<'a>)>,
}

impl RankingText<'_> {
    pub fn of<'a>(view: &'a View, ranking: &'a Ranking) -> RankingText<'a> {
        let (schema, info) = (view.schema(), &ranking.info);
        let attribute = schema.attributes.get(usize::from(info.column));
        let ty = attribute.map_or(AttributeType::I32, |attribute| attribute.ty);
        let kind = schema.kinds.get(usize::from(info.kind));
        let kind = kind.map_or("", |kind| &kind.name);
        let first = ranking.first.iter().map(|ranked| {
            let name = ranked.name.as_ref().map(ToString::to_string);
            let name = name.unwrap_or_else(|| format!("{kind} {}", ranked.entity.slot.0));
            (
                name,
                plain(schema, AttributeValue::of(ty, [ranked.value, 0])),
            )
        });
        RankingText {
            name: &info.name,
            own: ranking.own,
            first: first.collect(),
        }
    }
}

/// A disc or a box.
#[derive(Debug, Serialize)]
struct ZoneText<'a> {
    name: &'a str,
    /// The kind whose entities each carry one.
    carrier: Option<u16>,
    is_round: bool,
    /// The corners of the box around it, in units: the low one, then the high one.
    corners: Vec<f64>,
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
                .map(|kind| KindText::of(schema, kind))
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
            zones: schema.zones.iter().map(ZoneText::of).collect(),
            world: schema.world_entity().map(|world| world.slot.0),
            planes: PlanesText::of(&schema.atlas),
        }
    }
}

impl ZoneText<'_> {
    fn of(zone: &Zone) -> ZoneText<'_> {
        let corners = zone.corners();
        let corners = corners.iter().flat_map(|corner| &corner[..2]);
        ZoneText {
            name: &zone.name,
            carrier: zone.carrier,
            is_round: matches!(zone.area, SpawnArea::Ball { .. }),
            corners: corners.map(|&raw| Fixed::from_raw(raw).to_f64()).collect(),
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
    /// Of its player, if it has one with a name.
    name: Option<&'a str>,
    /// As it is shown; `null` if it is not.
    place: Option<[f64; 3]>,
    /// What its texts say.
    texts: Vec<&'a str>,
    /// (name, value), of what the player may know.
    values: Vec<(&'a str, Plain<'a>)>,
    /// The same in the engine's own numbers, by column.
    row: &'a [i32],
    /// The things of it that the player sees, by slot, at most [`THINGS_MAX`].
    things: Vec<EntityText<'a>>,
    /// Of the player's own entity: the other members of its groups.
    members: Vec<MemberText<'a>>,
}

/// Another member of a group of the player's.
#[derive(Debug, Serialize)]
pub struct MemberText<'a> {
    slot: u32,
    generation: u32,
    /// Of its player, if it has one.
    name: Option<&'a str>,
    /// The attributes that refer to the groups to which both belong.
    groups: Vec<&'a str>,
    /// (name, value, range), of what it shares; `null` without a range.
    values: Vec<(&'a str, Plain<'a>, Option<[Plain<'a>; 2]>)>,
}

impl MemberText<'_> {
    fn all(view: &View) -> Vec<MemberText<'_>> {
        let members = view.all_members();
        members.map(|member| MemberText::of(view, member)).collect()
    }

    fn of<'a>(view: &'a View, member: &'a Member) -> MemberText<'a> {
        let schema = view.schema();
        let name = |column: &u16| {
            schema
                .attributes
                .get(usize::from(*column))
                .map(|a| &*a.name)
        };
        let kind = view.own().map(|own| usize::from(own.kind));
        let kind = kind.and_then(|kind| schema.kinds.get(kind));
        let value = |column: &u16| {
            let name = name(column)?;
            let value = view.shared_by(member, name)?;
            let bounds = kind.into_iter().flat_map(|kind| &kind.attributes);
            let is_number = value.ty().is_number();
            let has_range = |own: &&KindAttribute| is_number && has_range(schema, own);
            let bounds = bounds.filter(|own| own.column == *column).filter(has_range);
            let bound = |raw| plain(schema, AttributeValue::of_word(value.ty(), raw));
            let range = bounds.map(|own| [bound(own.min), bound(own.max)]).next();
            let is_shown = value.ty() != AttributeType::High;
            is_shown.then(|| (name, plain_in(view, value), range))
        };
        MemberText {
            slot: member.id.slot.0,
            generation: member.id.generation,
            name: member.name.as_deref(),
            groups: member.groups.iter().filter_map(name).collect(),
            values: member.columns.iter().filter_map(value).collect(),
        }
    }
}

impl EntityText<'_> {
    pub fn of<'a>(view: &'a View, entity: &'a Entity, place: Option<[f64; 3]>) -> EntityText<'a> {
        let schema = view.schema();
        let kind = schema.kinds.get(usize::from(entity.kind));
        let attributes = kind.map_or(&[][..], |kind| &kind.attributes);
        let is_own = view.is_own(entity);
        let values = attributes.iter().filter_map(|of_kind| {
            let column = usize::from(of_kind.column);
            let attribute = schema.attributes.get(column)?;
            let is_known = match attribute.audience {
                Audience::Hidden => false,
                Audience::Private => is_own,
                _ => column >= schema.dimensions(),
            };
            let is_known = is_known && attribute.ty != AttributeType::High;
            let value = AttributeValue::in_row(attribute.ty, &entity.row, column);
            is_known.then(|| (attribute.name.as_str(), plain_in(view, value)))
        });
        EntityText {
            slot: entity.id.slot.0,
            generation: entity.id.generation,
            reference: entity.id.reference().0,
            kind: kind.map_or("", |kind| &kind.name),
            name: view.name(entity.id).map(|name| &**name),
            place,
            texts: schema
                .text_columns()
                .filter_map(|column| view.text_of(entity, column))
                .filter(|text| !text.is_empty())
                .collect(),
            values: values.collect(),
            row: &entity.row,
            // Things hold only those of kinds behind theirs.
            things: view
                .held_by(entity.id)
                .filter(|thing| schema.can_hold(entity.kind, thing.kind))
                .take(THINGS_MAX)
                .map(|thing| EntityText::of(view, thing, None))
                .collect(),
            members: match entity.id == view.entity() {
                true => MemberText::all(view),
                false => vec![],
            },
        }
    }
}

/// More are not shown.
const THINGS_MAX: usize = 64;

/// Something that has happened.
#[derive(Debug, Default, Serialize)]
pub struct EventText {
    /// Its subject.
    r#type: &'static str,
    /// A sentence or a name.
    text: String,
    slot: Option<u32>,
    /// What lines of a log about the same have in common.
    topic: Option<String>,
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
    /// Of a change: the name of the attribute.
    attribute: Option<String>,
    /// Of a notification: its name.
    notification: Option<String>,
    /// Of a change: what it was, and is. Of a notification: its fields. An entity is its slot.
    values: Vec<serde_json::Value>,
    /// Cells of layers that have changed: the layer by its number, the number of the cell, its value.
    edits: Vec<[i64; 3]>,
}

impl EventText {
    /// `None` for what the page sees anyway.
    pub fn of(event: &NamedEvent, view: Option<&View>, given: &Given) -> Option<EventText> {
        use EventType as Type;
        let about = |r#type, text: &str, entity: Option<EntityId>| EventText {
            r#type,
            text: text.to_owned(),
            slot: entity.map(|entity| entity.slot.0),
            ..EventText::default()
        };
        let own = |r#type, text| about(r#type, text, event.entity);
        let plain = |r#type, text: &str| about(r#type, text, None);
        let text = event.text.as_deref().unwrap_or_default();
        Some(match event.what {
            Type::Welcomed => own("welcomed", "you are in the world"),
            Type::Resumed => own("resumed", "you are back"),
            Type::Reborn => own("reborn", "you are born again"),
            Type::Left if view.map(View::entity) == event.entity => own("died", "you have died"),
            Type::NoticedChange | Type::Notified => EventText {
                topic: event.name.clone(),
                attribute: event.name.clone().filter(|_| event.change.is_some()),
                notification: event.name.clone().filter(|_| event.change.is_none()),
                values: values(event, view?),
                ..own("notice", &noticed(event, view?))
            },
            Type::Changed => EventText {
                attribute: event.name.clone(),
                values: values(event, view?),
                ..own("changed", "")
            },
            Type::Said => own("talk", &spoken(event, view?)),
            Type::Whispered
            | Type::Spoken
            | Type::JoinedChannel
            | Type::LeftChannel
            | Type::Member
            | Type::Announced => plain("talk", &spoken(event, view?)),
            Type::NoticesFull => plain("notice", "more happened than was sent"),
            Type::Answered if event.is_granted => plain("answer", "done"),
            Type::Answered => plain("answer", text),
            Type::SubscriptionLost => {
                plain("answer", &format!("subscription {} is lost", event.request))
            }
            Type::CellsChanged => EventText {
                edits: (event.edits.iter())
                    .map(|edit| [edit.layer as i64, edit.cell.into(), edit.value.into()])
                    .collect(),
                ..plain("cells", "")
            },
            Type::InterfaceChanged => plain("interface", "the world's rules have changed"),
            Type::Link => {
                let is_good = event.link == Some(LinkState::Good);
                let text = match is_good {
                    true => "the server sends again",
                    false => "nothing arrives from the server",
                };
                EventText {
                    is_good: Some(is_good),
                    ..plain("link", text)
                }
            }
            Type::Lost => {
                let loss = event.loss.as_ref()?;
                let update = loss.update.as_ref();
                EventText {
                    retry_ms: loss.retry_in.as_ref().map(milliseconds),
                    code: Some(loss.code.name()),
                    words: Some(loss.code.words()),
                    server_version: update.map(|update| update.server_version),
                    update_url: update.and_then(|update| update.url.clone()),
                    ..plain("lost", text)
                }
            }
            Type::Refused => {
                let names = given.names(event.request, event.count);
                EventText {
                    commands: names.iter().map(|(name, _)| (*name).to_owned()).collect(),
                    ..plain("refused", &refused(&names, text))
                }
            }
            Type::MemberJoined => {
                let name = event.name.as_deref().unwrap_or("a player");
                own("member", &format!("{name} belongs to your group"))
            }
            Type::None | Type::Entered | Type::Left | Type::MemberLeft | Type::MemberChanged => {
                return None;
            }
        })
    }
}

/// Commands without effect, as a line of a log.
fn refused(names: &[(&str, u32)], reason: &str) -> String {
    let names: Vec<String> = names
        .iter()
        .map(|(name, count)| match count {
            1 => (*name).to_owned(),
            count => format!("{name} ({count} times)"),
        })
        .collect();
    format!("{} had no effect: {reason}", names.join(", "))
}

/// Chat as a line of a log.
fn spoken(event: &NamedEvent, view: &View) -> String {
    let or_empty = |text: &Option<String>| text.clone().unwrap_or_default();
    let (name, channel) = (or_empty(&event.name), or_empty(&event.channel));
    let text = or_empty(&event.text);
    match event.what {
        EventType::Said => {
            let speaker = event.name.clone();
            let speaker = speaker.or_else(|| Some(name_of(view, event.entity?.slot.0)));
            format!("{}: {text}", speaker.unwrap_or_default())
        }
        EventType::Whispered => format!("{name} whispers: {text}"),
        EventType::Spoken => format!("[{channel}] {name}: {text}"),
        EventType::JoinedChannel => format!("[{channel}] {name} has joined"),
        EventType::LeftChannel => format!("[{channel}] {name} has left"),
        EventType::Member => format!("[{channel}] {}", event.members.join(", ")),
        _ => format!("the server says: {text}"),
    }
}

/// What an attribute was, and is; or the fields of a notification.
fn values(event: &NamedEvent, view: &View) -> Vec<serde_json::Value> {
    let change = event.change.iter().flat_map(|&(old, new)| [old, new]);
    let values = change.chain(event.fields.iter().map(|field| field.value));
    // Numbers and text can always be written.
    let json = |value| serde_json::to_value(plain_in(view, value)).unwrap_or_default();
    values.map(json).collect()
}

fn noticed(event: &NamedEvent, view: &View) -> String {
    match event.what {
        EventType::NoticedChange => change(event, view),
        _ => notification(event, view),
    }
}

/// A change that was subscribed to, as a line of a log.
fn change(event: &NamedEvent, view: &View) -> String {
    let shown = |value| shown(view, value);
    let slot = event.entity.map_or(0, |entity| entity.slot.0);
    let (old, new) = match event.change {
        Some((old, new)) => (shown(old), shown(new)),
        None => Default::default(),
    };
    let mut text = format!(
        "{} {slot}: {} {old} → {new}",
        event.kind_name.as_deref().unwrap_or_default(),
        event.name.as_deref().unwrap_or_default(),
    );
    if let Some(command) = &event.text {
        text += &format!(", {command}");
    }
    text + &by(", by", event.by, view)
}

/// A notification as a line of a log.
fn notification(event: &NamedEvent, view: &View) -> String {
    let mut text = event.name.as_deref().unwrap_or("something").to_owned();
    text += &by(" by", event.entity, view);
    for field in &event.fields {
        text += &format!(", {} {}", field.name, shown(view, field.value));
    }
    text
}

fn by(words: &str, entity: Option<EntityId>, view: &View) -> String {
    let entity = entity.filter(|&entity| entity != EntityId::NONE);
    entity.map_or(String::new(), |entity| {
        format!("{words} {}", name_of(view, entity.slot.0))
    })
}

fn name_of(view: &View, slot: u32) -> String {
    if view.entity().slot.0 == slot {
        return "you".to_owned();
    }
    let entity = view.get(Slot(slot));
    if let Some(name) = entity.and_then(|entity| view.name(entity.id)) {
        return name.to_string();
    }
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

/// Whether an attribute of a kind has bounds of 32 bits.
pub fn has_range(schema: &Schema, own: &KindAttribute) -> bool {
    let attribute = schema.attributes.get(usize::from(own.column));
    let is_number = attribute
        .is_some_and(|attribute| !attribute.ty.is_half() && attribute.ty != AttributeType::Text);
    is_number && own.max > own.min && own.max != i32::MAX
}

/// A value for the page: an entity by its slot.
fn plain(schema: &Schema, value: AttributeValue) -> Plain<'_> {
    let slot = |entity: EntityRef| match entity {
        EntityRef::NONE => Plain::Nothing,
        entity => Plain::Whole(entity.slot().0.into()),
    };
    value.plain(&schema.symbols, slot)
}

/// The same with texts that were received; others are nothing.
fn plain_in(view: &View, value: AttributeValue) -> Plain<'_> {
    match value {
        AttributeValue::Text(handle) => view.text(handle).map_or(Plain::Nothing, Plain::Text),
        value => plain(view.schema(), value),
    }
}

/// A value in a line of a log.
fn shown(view: &View, value: AttributeValue) -> String {
    match plain_in(view, value) {
        Plain::Fraction(number) => format!("{}", (number * 100.0).round() / 100.0),
        plain => plain.to_string(),
    }
}

fn milliseconds(time: &Duration) -> f64 {
    time.as_secs_f64() * 1000.0
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use client_core::{Event, RefusedRun};
    use shared::{Refusal, Tick};

    use super::*;

    #[test]
    fn the_types_of_the_package_name_every_event() {
        let types = include_str!("../package/index.d.ts");
        let own = include_str!("text.rs");
        let calls = ["own(\"", "plain(\""]
            .into_iter()
            .flat_map(|call| own.split(call).skip(1));
        let names: BTreeSet<&str> = calls.filter_map(|rest| rest.split('"').next()).collect();
        assert!(names.contains("changed"), "{names:?}");
        for name in names {
            assert!(types.contains(&format!("\"{name}\"")), "{name}");
        }
    }

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
                because: None,
            };
            let tick = Tick(1);
            let event = Event::Refused { tick, commands };
            let mut line = None;
            NamedEvent::each(&event, None, |event| {
                line = EventText::of(&event, None, &given)
            });
            let line = line.expect("a line");
            assert_eq!(line.r#type, "refused");
            (line.text, line.commands)
        };
        let (text, commands) = report(2, 1, Refusal::Resting);
        assert_eq!(text, "strike had no effect: it rests after its last use");
        assert_eq!(commands, ["strike"]);
        let (text, commands) = report(1, 3, Refusal::Dead);
        let expected = "move (2 times), strike had no effect: there is no entity to give it";
        assert_eq!(text, expected);
        assert_eq!(commands, ["move", "strike"]);
    }
}
