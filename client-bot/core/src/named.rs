//! Events in a flat form, with the names and units of the world: for other languages, engines and
//! pages.

use std::time::Duration;

use shared::wire::close::Update;
use shared::world::edit::Edit;
use shared::{AttributeType, AttributeValue, EntityId, Tick};

use crate::event::{Change, Event};
use crate::link::LinkState;
use crate::loss::LossCode;
use crate::view::View;
use crate::{Notice, NoticeBody, Talk};

/// The type of an event. Beside it stand the fields of `MyriadEvent` that it fills.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum EventType {
    /// There is no event.
    #[default]
    None = 0,
    /// The client is in the world as a new entity: `entity`.
    Welcomed = 1,
    /// The client is in the world again, as the same entity: `entity`.
    Resumed = 2,
    /// The client's entity had died, and the client acts as this one from now on: `entity`.
    Reborn = 3,
    /// An entity is in view: `tick`, `entity`, `kind`, and the kind's `name`.
    Entered = 4,
    /// An entity is in view no longer: `tick`, `entity`. The client's own one leaves when it
    /// dies.
    Left = 5,
    /// An attribute of an entity in view has changed, other than the position: `tick`,
    /// `entity`, the attribute's `name`, `old_value`, `new_value`.
    Changed = 6,
    /// An attribute that the client subscribed to has changed, in view or not: as `Changed`,
    /// and `kind`, the command that caused it as `text`, and its sender as `by`.
    NoticedChange = 7,
    /// A notification of the world's logic: `tick`, its `name`, `entity` (what caused it, or
    /// none), `values` by its fields.
    Notified = 8,
    /// The client may have missed notices: `tick`.
    NoticesFull = 9,
    /// A player nearby speaks: `tick`, `entity`, `name` (null without one), `text`.
    Said = 10,
    /// A player speaks to this client alone: `tick`, `name`, `text`.
    Whispered = 11,
    /// A player speaks in a channel: `tick`, `channel`, `name`, `text`.
    Spoken = 12,
    /// A player has joined a channel: `tick`, `channel`, `name`.
    JoinedChannel = 13,
    /// A player has left a channel: `tick`, `channel`, `name`.
    LeftChannel = 14,
    /// A member of a channel, as requested: `tick`, `channel`, `name`. One event a member.
    Member = 15,
    /// The server's operator speaks: `tick`, `text`.
    Announced = 16,
    /// The reply to a request: `request`, `is_granted`, `text` (why not).
    Answered = 17,
    /// The server could not keep the subscription of this number: `request`.
    SubscriptionLost = 18,
    /// The world's commands or notifications have changed.
    InterfaceChanged = 19,
    /// The connection has ended, or could not be opened: `loss`, `text`, `retry_seconds`, and with
    /// `MYRIAD_LOSS_OUTDATED` `server_version` and `update_url`.
    Lost = 20,
    /// Commands had no effect: `tick`, `request` (the first one's number), `values` (how many
    /// there are), `text` (why).
    Refused = 21,
    /// The server falls silent, or sends again: `link`.
    Link = 22,
    /// Cells of layers have changed: `tick`, `values` (how many there are).
    CellsChanged = 23,
    /// A player belongs to a group of the client's entity, or to other groups of it than before:
    /// `tick`, `entity`, and the player's `name`.
    MemberJoined = 24,
    /// A player belongs to no group of the client's entity any more: `tick`, `entity`.
    MemberLeft = 25,
    /// An attribute that a member of a group shares has changed: as `Changed`.
    MemberChanged = 26,
}

/// An event of one type, with those fields that its [type](EventType) names. A change is called
/// `old_value` and `new_value` there, a loss `loss`, `retry_seconds`, `server_version` and
/// `update_url`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct NamedEvent {
    /// Which fields count.
    pub what: EventType,
    /// The tick of the server that reports it.
    pub tick: Tick,
    /// The entity that it is about.
    pub entity: Option<EntityId>,
    /// The entity that caused a change.
    pub by: Option<EntityId>,
    /// The number and the name of the entity's kind.
    pub kind: u16,
    /// See `kind`.
    pub kind_name: Option<String>,
    /// Whether the server does what a request asks for.
    pub is_granted: bool,
    /// The number of a request, of a subscription, or of a command.
    pub request: u32,
    /// How many commands or cells there are.
    pub count: u32,
    /// The old value of an attribute, and the new one.
    pub change: Option<(AttributeValue, AttributeValue)>,
    /// What an attribute of type text says now.
    pub new_text: Option<String>,
    /// The name of an attribute, a notification or a player.
    pub name: Option<String>,
    /// The channel in which players talk.
    pub channel: Option<String>,
    /// What was said, or a reason as a sentence.
    pub text: Option<String>,
    /// The fields of a notification.
    pub fields: Vec<NamedValue>,
    /// What cells of layers are now, in order.
    pub edits: Vec<Edit>,
    /// The members of a channel: other languages get an event for each.
    pub members: Vec<String>,
    /// The end of a connection.
    pub loss: Option<Loss>,
    /// Whether the server sends.
    pub link: Option<LinkState>,
}

/// A value with its name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedValue {
    /// As the schema has it.
    pub name: String,
    /// Of the type that the schema says.
    pub value: AttributeValue,
    /// What a text says.
    pub text: Option<String>,
}

/// The end of a connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Loss {
    /// Why, for programs.
    pub code: LossCode,
    /// `None`: the client does not try again.
    pub retry_in: Option<Duration>,
    /// Where the server speaks another version: which one, and where to get it.
    pub update: Option<Update>,
}

impl NamedEvent {
    /// Gives an event as `view` names it: once for each change of several.
    pub fn each(event: &Event, view: Option<&View>, mut give: impl FnMut(NamedEvent)) {
        use EventType as Type;
        let none = Tick::default();
        give(match event {
            Event::Welcomed(entity) => NamedEvent::about(Type::Welcomed, none, *entity),
            Event::Resumed(entity) => NamedEvent::about(Type::Resumed, none, *entity),
            Event::Reborn(entity) => NamedEvent::about(Type::Reborn, none, *entity),
            Event::Entered { tick, entity, kind } => {
                let event = NamedEvent::about(Type::Entered, *tick, *entity).of_kind(view, *kind);
                NamedEvent {
                    name: event.kind_name.clone(),
                    ..event
                }
            }
            Event::Left { tick, entity } => NamedEvent::about(Type::Left, *tick, *entity),
            Event::Changed {
                tick,
                entity,
                changes,
            } => return NamedEvent::changes(Type::Changed, (*tick, *entity), changes, view, give),
            Event::MemberJoined { tick, entity } => {
                let member = view.and_then(|view| view.member(entity.slot));
                let name = member.and_then(|member| member.name.as_ref());
                NamedEvent {
                    name: name.map(ToString::to_string),
                    ..NamedEvent::about(Type::MemberJoined, *tick, *entity)
                }
            }
            Event::MemberLeft { tick, entity } => {
                NamedEvent::about(Type::MemberLeft, *tick, *entity)
            }
            Event::MemberChanged {
                tick,
                entity,
                changes,
            } => {
                let about = (*tick, *entity);
                return NamedEvent::changes(Type::MemberChanged, about, changes, view, give);
            }
            Event::Notice { tick, notice } => NamedEvent::noticed(*tick, notice, view),
            Event::NoticesFull(tick) => NamedEvent::new(Type::NoticesFull, *tick),
            Event::Talk { tick, talk } => NamedEvent::talk(*tick, talk),
            Event::Refused { tick, commands } => NamedEvent {
                request: commands.first,
                count: commands.count,
                text: Some(commands.to_string()),
                ..NamedEvent::new(Type::Refused, *tick)
            },
            Event::Answered(answer) => NamedEvent {
                request: answer.request,
                is_granted: answer.result.is_ok(),
                text: answer.result.clone().err(),
                ..NamedEvent::new(Type::Answered, none)
            },
            Event::SubscriptionLost(id) => NamedEvent {
                request: *id,
                ..NamedEvent::new(Type::SubscriptionLost, none)
            },
            Event::InterfaceChanged => NamedEvent::new(Type::InterfaceChanged, none),
            Event::CellsChanged { tick, edits } => NamedEvent {
                count: u32::try_from(edits.len()).unwrap_or(u32::MAX),
                edits: edits.clone(),
                ..NamedEvent::new(Type::CellsChanged, *tick)
            },
            Event::Link { state, .. } => NamedEvent {
                link: Some(*state),
                ..NamedEvent::new(Type::Link, none)
            },
            Event::Lost {
                code,
                reason,
                update,
                retry_in,
            } => NamedEvent {
                text: Some(reason.clone()),
                loss: Some(Loss {
                    code: *code,
                    retry_in: *retry_in,
                    update: update.clone(),
                }),
                ..NamedEvent::new(Type::Lost, none)
            },
        });
    }

    /// Gives an event for each change of an attribute.
    fn changes(
        what: EventType,
        (tick, entity): (Tick, EntityId),
        changes: &[Change],
        view: Option<&View>,
        mut give: impl FnMut(NamedEvent),
    ) {
        for (place, change) in changes.iter().enumerate() {
            if is_high(view, change.column) {
                continue;
            }
            // Beside the low half of a number is its high one.
            let next = changes.get(place + 1);
            let next = next.map_or((0, 0), |next| (next.old, next.new));
            let event = NamedEvent::about(what, tick, entity);
            let (old, new) = ([change.old, next.0], [change.new, next.1]);
            give(event.changed(view, change.column, old, new));
        }
    }

    fn new(what: EventType, tick: Tick) -> NamedEvent {
        NamedEvent {
            what,
            tick,
            ..NamedEvent::default()
        }
    }

    fn about(what: EventType, tick: Tick, entity: EntityId) -> NamedEvent {
        NamedEvent {
            entity: Some(entity),
            ..NamedEvent::new(what, tick)
        }
    }

    fn of_kind(self, view: Option<&View>, kind: u16) -> NamedEvent {
        let known = view.and_then(|view| view.schema().kinds.get(usize::from(kind)));
        NamedEvent {
            kind,
            kind_name: known.map(|kind| kind.name.clone()),
            ..self
        }
    }

    fn changed(self, view: Option<&View>, column: u16, old: [i32; 2], new: [i32; 2]) -> NamedEvent {
        let attributes = view.map(|view| &view.schema().attributes);
        let attribute = attributes.and_then(|all| all.get(usize::from(column)));
        let value = |words: [i32; 2]| match attribute {
            Some(attribute) => AttributeValue::of(attribute.ty, words),
            None => AttributeValue::I32(words[0]),
        };
        let words = attribute.and_then(|attribute| text_of(view, attribute.ty, new[0]));
        NamedEvent {
            name: attribute.map(|attribute| attribute.name.clone()),
            change: Some((value(old), value(new))),
            new_text: words,
            ..self
        }
    }

    fn noticed(tick: Tick, notice: &Notice, view: Option<&View>) -> NamedEvent {
        let schema = view.map(View::schema);
        match &notice.body {
            NoticeBody::Change {
                entity,
                kind,
                column,
                old,
                new,
                command,
                by,
            } => {
                let command = command.and_then(|command| schema?.command(command));
                let event = NamedEvent {
                    by: Some(*by),
                    text: command.map(|command| command.name.clone()),
                    ..NamedEvent::about(EventType::NoticedChange, tick, *entity)
                };
                let event = event.of_kind(view, *kind);
                event.changed(view, *column, [*old, 0], [*new, 0])
            }
            NoticeBody::Notification {
                kind,
                source,
                words,
            } => {
                let form = schema.and_then(|schema| schema.notification(*kind));
                let fields = form.map_or(&[][..], |form| &form.fields).iter();
                NamedEvent {
                    name: form.map(|form| form.name.clone()),
                    fields: (fields.zip(words))
                        .map(|(field, raw)| NamedValue {
                            name: field.name.clone(),
                            value: AttributeValue::of_word(field.ty, *raw),
                            text: text_of(view, field.ty, *raw),
                        })
                        .collect(),
                    ..NamedEvent::about(EventType::Notified, tick, *source)
                }
            }
        }
    }

    fn talk(tick: Tick, talk: &Talk) -> NamedEvent {
        use EventType as Type;
        let said = |what, name: Option<String>, text: &str| NamedEvent {
            name,
            text: Some(text.to_owned()),
            ..NamedEvent::new(what, tick)
        };
        let in_channel = |channel: &str, event: NamedEvent| NamedEvent {
            channel: Some(channel.to_owned()),
            ..event
        };
        let membership = |what, channel: &str, name: &str| {
            let name = Some(name.to_owned());
            let event = NamedEvent::new(what, tick);
            in_channel(channel, NamedEvent { name, ..event })
        };
        match talk {
            Talk::Said {
                speaker,
                name,
                text,
            } => NamedEvent {
                entity: Some(*speaker),
                ..said(Type::Said, name.as_ref().map(ToString::to_string), text)
            },
            Talk::Whispered { from, text } => said(Type::Whispered, Some(from.to_string()), text),
            Talk::Spoken {
                channel,
                from,
                text,
            } => in_channel(channel, said(Type::Spoken, Some(from.to_string()), text)),
            Talk::Joined { channel, name } => membership(Type::JoinedChannel, channel, name),
            Talk::Left { channel, name } => membership(Type::LeftChannel, channel, name),
            Talk::Members { channel, names } => {
                let event = NamedEvent {
                    members: names.iter().map(ToString::to_string).collect(),
                    ..NamedEvent::new(Type::Member, tick)
                };
                in_channel(channel, event)
            }
            Talk::Announced { text } => said(Type::Announced, None, text),
        }
    }
}

/// What a word of type text says, if that is known.
fn text_of(view: Option<&View>, ty: AttributeType, word: i32) -> Option<String> {
    match AttributeValue::of_word(ty, word) {
        AttributeValue::Text(handle) => view?.text(handle).map(str::to_owned),
        _ => None,
    }
}

/// Whether a column has the high half of a number, which is no attribute by itself.
fn is_high(view: Option<&View>, column: u16) -> bool {
    let attribute = view.and_then(|view| view.schema().attributes.get(usize::from(column)));
    attribute.is_some_and(|attribute| attribute.ty == AttributeType::High)
}
