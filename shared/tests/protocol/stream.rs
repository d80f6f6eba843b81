//! Golden cases of frames: one for each form of each message.

use std::collections::BTreeMap;

use serde::Serialize;
use shared::wire::FRAME_BYTES_MAX;
use shared::wire::bits::{BitReader, BitWriter};
use shared::wire::control::Interface;
use shared::wire::length;
use shared::wire::members::MemberMessage;
use shared::wire::notice::{Notice, NoticeBody};
use shared::wire::rankings::{Ranked, Standing};
use shared::wire::request::{Answer, GivenText};
use shared::wire::stream::{Message, StreamCodec};
use shared::wire::talk::Talk;
use shared::world::edit::{Edit, LayerKind};
use shared::world::words::TextHandle;
use shared::{EntityId, Name, NotificationKind, Refusal, Schema, Slot, Text, Tick};

use crate::decoders;
use crate::protocol::case::Case;
use crate::protocol::document;
use crate::protocol::world::{AXE, CHEST, GIVE, PLAYER, SHOUT, bags, deep, flat, wide};

const FRIEND: EntityId = EntityId::new(300, 2);
const OTHER: EntityId = EntityId::new(17, 1);
const TICK: Tick = Tick(70_001);

#[derive(Serialize)]
struct Given {
    world: &'static str,
    newest: u64,
}

#[derive(Serialize)]
struct Value {
    tick: u64,
    messages: Vec<GoldenMessage>,
}

/// A message as JSON has it.
#[derive(Serialize)]
#[serde(rename_all = "snake_case")]
enum GoldenMessage {
    Enter {
        entity: EntityId,
        kind: u16,
        own: bool,
        values: Vec<(u16, i32)>,
        /// As many numbers as the world has axes.
        velocity: Vec<i32>,
    },
    Leave {
        slot: Slot,
    },
    State {
        slot: Slot,
        values: Vec<(u16, i32)>,
    },
    Reborn {
        entity: EntityId,
    },
    Answer {
        request: u32,
        refusal: Option<String>,
    },
    Change {
        heard: bool,
        subscriptions: Vec<u32>,
        entity: EntityId,
        kind: u16,
        column: u16,
        old: i32,
        new: i32,
        command: Option<u16>,
        by: Option<EntityId>,
    },
    Notification {
        heard: bool,
        subscriptions: Vec<u32>,
        kind: u16,
        source: Option<EntityId>,
        words: Vec<i32>,
    },
    Full,
    Lost {
        subscription: u32,
    },
    Refused {
        first_low: u16,
        count: u32,
        reason: Refusal,
        because: Option<u8>,
    },
    Interface(Interface),
    Servers {
        servers: Vec<String>,
    },
    Restart,
    Name {
        slot: Slot,
        name: Name,
    },
    Talk(Talk),
    Layer {
        hash: u64,
        offset: u32,
        bytes: Vec<u8>,
    },
    Ranking {
        ranking: u8,
        own: u32,
        first: Option<Vec<GoldenRanked>>,
    },
    Texts {
        request: u32,
        texts: Vec<GivenText>,
    },
    Edits {
        edits: Vec<Edit>,
    },
    MemberLeft {
        slot: Slot,
    },
    MemberChanged {
        slot: Slot,
        values: Vec<(u16, i32)>,
    },
    Member {
        entity: EntityId,
        groups: Vec<u16>,
        name: Option<Name>,
        values: Vec<(u16, i32)>,
    },
}

#[derive(Serialize)]
struct GoldenRanked {
    entity: EntityId,
    value: i32,
    name: Option<Name>,
}

pub fn cases() -> Vec<Case> {
    let all = [enters(), lasting(), answers(), notices(), talk()].concat();
    let mut cases: Vec<Case> = all
        .iter()
        .map(|message| {
            let (name, text) = named(message);
            // Another message shows where the fields end.
            let frame: &[Message] = match message {
                Message::Interface(_) => std::slice::from_ref(message),
                message => &[message.clone(), Message::Full],
            };
            case("welcome-flat", &flat(), name, text, frame)
        })
        .collect();
    let enter = enter(
        EntityId::new(69_999, 1),
        0,
        false,
        &[4096, 8192, 40_960, -256],
        [64, 0, -64],
    );
    let text = "an entity comes into view in three axes";
    let enter = [enter, Message::Full];
    cases.push(case("welcome-deep", &deep(), "enter-deep", text, &enter));
    let state = Message::State {
        slot: Slot(300),
        values: vec![(2, 1), (70, 0), (129, 77)],
    };
    let change = Message::Notice(Notice {
        body: NoticeBody::Change {
            entity: FRIEND,
            kind: 1,
            column: 129,
            old: 95,
            new: 90,
            command: None,
            by: EntityId::NONE,
        },
        heard: false,
        subscriptions: vec![77],
    });
    for (name, text, message) in [
        (
            "state-wide",
            "lasting attributes of a world with many columns",
            state,
        ),
        (
            "notice-change-wide",
            "a change in a world with many columns",
            change,
        ),
    ] {
        let frame = [message, Message::Full];
        cases.push(case("welcome-wide", &wide(), name, text, &frame));
    }
    let axe = |own, values: &[(u16, i32)]| Message::Enter {
        entity: EntityId::new(301, 2),
        kind: AXE,
        own,
        values: values.to_vec(),
        velocity: [0; 3],
    };
    let holder = FRIEND.reference().0;
    let of_another = axe(false, &[(3, 95), (9, holder)]);
    let own = axe(true, &[(3, 95), (4, 1_000), (9, holder)]);
    for (name, text, message) in [
        (
            "enter-thing",
            "a thing of another comes into view",
            of_another,
        ),
        (
            "enter-thing-own",
            "the client's own entity has a thing",
            own,
        ),
    ] {
        let frame = [message, Message::Full];
        cases.push(case("welcome-bags", &bags(), name, text, &frame));
    }
    let several = [
        Message::Leave(Slot(7)),
        Message::Leave(Slot(8)),
        Message::State {
            slot: Slot(300),
            values: vec![(3, 1)],
        },
    ];
    let text = "a frame of three messages";
    cases.push(case(
        "welcome-flat",
        &flat(),
        "frame-several",
        text,
        &several,
    ));
    cases
}

fn enters() -> Vec<Message> {
    let row = [409_600, 204_800, 270, 95, 2];
    let own = [409_600, 204_800, 270, 95, 1_000, 2];
    let chest = [0, 3_276_799, 1, FRIEND.reference().0];
    vec![
        enter(FRIEND, PLAYER, false, &row, [410, -410, 0]),
        enter(FRIEND, PLAYER, true, &own, [410, -410, 0]),
        enter(EntityId::new(999, 1), CHEST, false, &chest, [0; 3]),
        Message::Leave(Slot(300)),
        Message::Reborn(EntityId::new(300, 3)),
        Message::Name {
            slot: Slot(300),
            name: name("Édith"),
        },
    ]
}

fn lasting() -> Vec<Message> {
    vec![
        Message::State {
            slot: Slot(300),
            values: vec![(3, 90), (4, -50), (8, 1)],
        },
        Message::Interface(Interface {
            commands_epoch: 2,
            commands: flat().commands.split_off(3),
            notifications: flat().notifications.split_off(2),
            constants: vec![],
            forecast: vec![1, 2, 3],
            reasons: vec!["too far away".to_owned()],
        }),
        Message::Servers(vec![
            "two.example:4433".to_owned(),
            "three.example:4433".to_owned(),
        ]),
        Message::Servers(vec![]),
        Message::Restart,
        Message::Layer {
            hash: 0x0123_4567_89ab_cdef,
            offset: 70_000,
            bytes: vec![1, 2, 3],
        },
        Message::Ranking(Standing {
            ranking: 0,
            own: 5,
            first: Some(vec![
                Ranked {
                    entity: FRIEND,
                    value: 90,
                    name: Some(Name::new("Édith").expect("a short name")),
                },
                Ranked {
                    entity: OTHER,
                    value: -1,
                    name: None,
                },
            ]),
        }),
        Message::Ranking(Standing {
            ranking: 7,
            own: 300,
            first: None,
        }),
        Message::Texts {
            request: 300,
            texts: vec![
                GivenText {
                    handle: TextHandle::new(7, 0x12_3456),
                    text: Some(Text::new("Beware!").expect("a text")),
                },
                GivenText {
                    handle: TextHandle::new(3, 5),
                    text: None,
                },
            ],
        },
        Message::Edits(
            [
                (LayerKind::Blocked, 0, 1),
                (LayerKind::Height, 1, -300),
                (LayerKind::Tag, 67_000_000, 1),
                (LayerKind::Blocked, 0, 0),
            ]
            .map(|(layer, cell, value)| Edit { layer, cell, value })
            .to_vec(),
        ),
        Message::Members(MemberMessage::Member {
            entity: OTHER,
            groups: vec![7],
            name: Some(Name::new("Bea").expect("a name")),
            values: vec![(3, 40), (4, -1)],
        }),
        Message::Members(MemberMessage::Changed {
            slot: OTHER.slot,
            values: vec![(3, 39)],
        }),
        Message::Members(MemberMessage::Left(OTHER.slot)),
    ]
}

fn answers() -> Vec<Message> {
    let answer = |result| {
        Message::Answer(Answer {
            request: 300,
            result,
        })
    };
    vec![
        answer(Ok(())),
        answer(Err("no such channel".to_owned())),
        Message::Full,
        Message::Lost(77),
        Message::Refused {
            first_low: 65_534,
            count: 4,
            reason: Refusal::Moved,
            because: None,
        },
        Message::Refused {
            first_low: 3,
            count: 1,
            reason: Refusal::Idle,
            because: Some(1),
        },
        Message::Refused {
            first_low: 4,
            count: 2,
            reason: Refusal::Unmet,
            because: Some(255),
        },
    ]
}

fn notices() -> Vec<Message> {
    let change = |command, by| NoticeBody::Change {
        entity: FRIEND,
        kind: PLAYER,
        column: 3,
        old: 95,
        new: 90,
        command,
        by,
    };
    let notice = |body, heard, subscriptions: &[u32]| {
        Message::Notice(Notice {
            body,
            heard,
            subscriptions: subscriptions.to_vec(),
        })
    };
    let shout = NoticeBody::Notification {
        kind: SHOUT,
        source: FRIEND,
        words: vec![1, 6144, 1],
    };
    let fall = NoticeBody::Notification {
        kind: NotificationKind::FALL,
        source: EntityId::NONE,
        words: vec![1],
    };
    vec![
        notice(change(Some(GIVE), OTHER), false, &[77, 78]),
        notice(change(None, EntityId::NONE), false, &[77]),
        notice(shout, true, &[]),
        notice(fall, false, &[u32::MAX]),
    ]
}

fn talk() -> Vec<Message> {
    let (channel, friend) = (name("news"), name("Édith"));
    let text = Text::new("good morning").expect("a text");
    let said = |name| Talk::Said {
        speaker: FRIEND,
        name,
        text: text.clone(),
    };
    let all = [
        said(Some(friend.clone())),
        said(None),
        Talk::Whispered {
            from: friend.clone(),
            text: text.clone(),
        },
        Talk::Spoken {
            channel: channel.clone(),
            from: friend.clone(),
            text: text.clone(),
        },
        Talk::Joined {
            channel: channel.clone(),
            name: friend.clone(),
        },
        Talk::Left {
            channel: channel.clone(),
            name: friend.clone(),
        },
        Talk::Members {
            names: vec![friend, name("Bob")],
            channel,
        },
        Talk::Announced { text: text.clone() },
    ];
    all.map(Message::Talk).into()
}

/// Names every form that there is.
fn named(message: &Message) -> (&'static str, &'static str) {
    match message {
        Message::Enter { own: true, .. } => {
            ("enter-own", "the client's own entity comes into view")
        }
        Message::Enter { kind: PLAYER, .. } => ("enter", "another player comes into view"),
        Message::Enter { .. } => ("enter-at-rest", "an entity of the second kind that rests"),
        Message::Leave(_) => ("leave", "an entity goes out of view"),
        Message::State { .. } => ("state", "lasting attributes have changed"),
        Message::Reborn(_) => ("reborn", "the client acts as another entity"),
        Message::Answer(Answer { result: Ok(()), .. }) => {
            ("answer-granted", "a request is granted")
        }
        Message::Answer(_) => ("answer-refused", "a request is refused"),
        Message::Notice(notice) => match &notice.body {
            NoticeBody::Change {
                command: Some(_), ..
            } => ("notice-change", "a change by a command"),
            NoticeBody::Change { .. } => ("notice-change-by-none", "a change by no command"),
            NoticeBody::Notification {
                source: EntityId::NONE,
                ..
            } => ("notice-without-source", "a notification without a source"),
            NoticeBody::Notification { .. } => ("notice-heard", "a notification that is heard"),
        },
        Message::Full => ("full", "notices were left out"),
        Message::Lost(_) => ("lost", "a subscription has ended"),
        Message::Refused { because: None, .. } => ("refused", "commands that had no effect"),
        Message::Refused {
            reason: Refusal::Idle,
            ..
        } => (
            "refused-idle",
            "a command that changed nothing, with the number of a reason",
        ),
        Message::Refused { .. } => (
            "refused-unmet",
            "commands that run as if alone, with the number of a reason",
        ),
        Message::Interface(_) => ("interface", "commands and notifications have changed"),
        Message::Servers(servers) if servers.is_empty() => {
            ("servers-none", "no other server has the world")
        }
        Message::Servers(_) => ("servers", "where to try if this server is gone"),
        Message::Restart => ("restart", "the session begins anew with a welcome"),
        Message::Layer { .. } => ("layer", "a part of a layer's content"),
        Message::Ranking(Standing { first: None, .. }) => (
            "ranking-place",
            "another place of the own entity in a ranking",
        ),
        Message::Ranking(_) => ("ranking", "the first of a ranking, and the own place in it"),
        Message::Texts { .. } => ("texts", "a text, and one that the world has no more"),
        Message::Edits(_) => ("edits", "what cells of layers are now"),
        Message::Members(MemberMessage::Member { .. }) => (
            "member",
            "a member of the client's group, and what it shares",
        ),
        Message::Members(MemberMessage::Changed { .. }) => {
            ("member-changed", "what a member shares has changed")
        }
        Message::Members(MemberMessage::Left(_)) => ("member-left", "a member has left the group"),
        Message::Name { .. } => ("name", "what the player of an entity is called"),
        Message::Talk(talk) => match talk {
            Talk::Said { name: Some(_), .. } => ("talk-said", "somebody near spoke"),
            Talk::Said { name: None, .. } => {
                ("talk-said-nameless", "somebody without a name spoke")
            }
            Talk::Whispered { .. } => ("talk-whispered", "to this client only"),
            Talk::Spoken { .. } => ("talk-spoken", "in a channel"),
            Talk::Joined { .. } => ("talk-joined", "a member of a channel is new"),
            Talk::Left { .. } => ("talk-left", "a member of a channel is gone"),
            Talk::Members { .. } => ("talk-members", "the members of a channel"),
            Talk::Announced { .. } => ("talk-announced", "by the server's operator"),
        },
    }
}

/// An enter with a value for each attribute that the receiver may know.
fn enter(id: EntityId, kind: u16, own: bool, row: &[i32], velocity: [i32; 3]) -> Message {
    let columns: &[u16] = match (kind, own, row.len()) {
        (PLAYER, true, _) => &[0, 1, 2, 3, 4, 8],
        (PLAYER, false, 5) => &[0, 1, 2, 3, 8],
        (CHEST, ..) => &[0, 1, 6, 7],
        _ => &[0, 1, 2, 3],
    };
    Message::Enter {
        entity: id,
        kind,
        own,
        values: columns.iter().copied().zip(row.iter().copied()).collect(),
        velocity,
    }
}

fn name(text: &str) -> Name {
    Name::new(text).expect("a name")
}

/// A frame with its length, as a server sends it.
fn case(
    world: &'static str,
    schema: &Schema,
    name: &'static str,
    text: &'static str,
    messages: &[Message],
) -> Case {
    let codec = StreamCodec::new(schema);
    let mut writer = BitWriter::default();
    codec.begin(&mut writer, TICK);
    for message in messages {
        decoders::write(&codec, schema, &mut writer, message);
    }
    let mut bytes = vec![];
    codec.finish(&mut writer, &mut bytes);
    let newest = TICK.before(1);
    let (length, frame) = (length::split(&bytes, FRAME_BYTES_MAX).expect(name)).expect("a length");
    assert_eq!(length, frame.len(), "{name}");
    let read = codec.decode(frame, newest).expect(name);
    assert_eq!(
        (read.tick, read.messages.as_slice()),
        (TICK, messages),
        "{name}"
    );
    let value = Value {
        tick: read.tick.0,
        messages: read
            .messages
            .into_iter()
            .map(|m| golden_message(m, schema))
            .collect(),
    };
    let given = Given {
        world,
        newest: newest.0,
    };
    Case::new(name, text, bytes, &value).given(&given)
}

fn golden_message(message: Message, schema: &Schema) -> GoldenMessage {
    match message {
        Message::Enter {
            entity,
            kind,
            own,
            values,
            velocity,
        } => GoldenMessage::Enter {
            entity,
            kind,
            own,
            values,
            velocity: velocity[..schema.dimensions()].to_vec(),
        },
        Message::Leave(slot) => GoldenMessage::Leave { slot },
        Message::State { slot, values } => GoldenMessage::State { slot, values },
        Message::Reborn(entity) => GoldenMessage::Reborn { entity },
        Message::Answer(answer) => GoldenMessage::Answer {
            request: answer.request,
            refusal: answer.result.err(),
        },
        Message::Notice(notice) => golden_notice(notice),
        Message::Full => GoldenMessage::Full,
        Message::Lost(subscription) => GoldenMessage::Lost { subscription },
        Message::Refused {
            first_low,
            count,
            reason,
            because,
        } => GoldenMessage::Refused {
            first_low,
            count,
            reason,
            because,
        },
        Message::Interface(interface) => GoldenMessage::Interface(interface),
        Message::Servers(servers) => GoldenMessage::Servers { servers },
        Message::Restart => GoldenMessage::Restart,
        Message::Name { slot, name } => GoldenMessage::Name { slot, name },
        Message::Talk(talk) => GoldenMessage::Talk(talk),
        Message::Layer {
            hash,
            offset,
            bytes,
        } => GoldenMessage::Layer {
            hash,
            offset,
            bytes,
        },
        Message::Texts { request, texts } => GoldenMessage::Texts { request, texts },
        Message::Edits(edits) => GoldenMessage::Edits { edits },
        Message::Members(MemberMessage::Left(slot)) => GoldenMessage::MemberLeft { slot },
        Message::Members(MemberMessage::Changed { slot, values }) => {
            GoldenMessage::MemberChanged { slot, values }
        }
        Message::Members(MemberMessage::Member {
            entity,
            groups,
            name,
            values,
        }) => GoldenMessage::Member {
            entity,
            groups,
            name,
            values,
        },
        Message::Ranking(standing) => GoldenMessage::Ranking {
            ranking: standing.ranking,
            own: standing.own,
            first: standing.first.map(|first| {
                let ranked = first.into_iter().map(|ranked| GoldenRanked {
                    entity: ranked.entity,
                    value: ranked.value,
                    name: ranked.name,
                });
                ranked.collect()
            }),
        },
    }
}

fn somebody(entity: EntityId) -> Option<EntityId> {
    Some(entity).filter(|entity| *entity != EntityId::NONE)
}

fn golden_notice(notice: Notice) -> GoldenMessage {
    let (heard, subscriptions) = (notice.heard, notice.subscriptions);
    match notice.body {
        NoticeBody::Change {
            entity,
            kind,
            column,
            old,
            new,
            command,
            by,
        } => GoldenMessage::Change {
            heard,
            subscriptions,
            entity,
            kind,
            column,
            old,
            new,
            command: command.map(|command| command.id()),
            by: somebody(by),
        },
        NoticeBody::Notification {
            kind,
            source,
            words,
        } => GoldenMessage::Notification {
            heard,
            subscriptions,
            kind: kind.id(),
            source: somebody(source),
            words,
        },
    }
}

#[test]
fn tags_are_those_of_the_document() {
    let mut found = BTreeMap::new();
    for message in [enters(), lasting(), answers(), notices(), talk()].concat() {
        let mut writer = BitWriter::default();
        decoders::write(&StreamCodec::new(&flat()), &flat(), &mut writer, &message);
        let mut bytes = vec![];
        writer.finish_into(&mut bytes);
        let mut reader = BitReader::new(&bytes);
        let tag = match reader.get(4).expect("a tag") {
            12 => format!("12, then {} (4)", reader.get(4).expect("a number")),
            tag => tag.to_string(),
        };
        found.insert(tag, word(&message).to_owned());
    }
    let table = document::table("| tag |").into_iter();
    let table = table.map(|(tag, message)| {
        let text = message.trim_start_matches('[');
        let word = text.split(']').next().unwrap_or(text);
        (tag.to_owned(), word.to_owned())
    });
    assert_eq!(table.collect::<BTreeMap<_, _>>(), found);
}

/// What the document calls a message.
fn word(message: &Message) -> &'static str {
    match message {
        Message::Enter { .. } => "enter",
        Message::Leave(_) => "leave",
        Message::State { .. } => "state",
        Message::Reborn(_) => "reborn",
        Message::Answer(_) => "answer",
        Message::Notice(_) => "notice",
        Message::Full => "full",
        Message::Lost(_) => "lost",
        Message::Refused { .. } => "refused",
        Message::Interface(_) => "interface",
        Message::Servers(_) => "servers",
        Message::Restart => "restart",
        Message::Name { .. } => "name",
        Message::Talk(_) => "talk",
        Message::Layer { .. } => "layer",
        Message::Ranking(_) => "ranking",
        Message::Texts { .. } => "texts",
        Message::Edits(_) => "edits",
        Message::Members(_) => "members",
    }
}
