//! Worlds that differ in everything that the wire depends on, and messages in them.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use std::sync::LazyLock;

use proptest::prelude::*;
use shared::wire::PROTOCOL_VERSION;
use shared::wire::bits::BitWriter;
use shared::wire::commands::{Acknowledgement, COMMAND_TICKS_MAX, ClientDatagram};
use shared::wire::control::{Hello, Interface, Quotas, SERVERS_MAX, Welcome};
use shared::wire::layers::{LayerInfo, LayerKind};
use shared::wire::members::MemberMessage;
use shared::wire::movement::{
    Header, MARGIN_MAX, MovementCodec, MovementScratch, PackedEntity, SEND_EVERY_MAX,
};
use shared::wire::notice::{Notice, NoticeBody};
use shared::wire::rankings::{Ranked, RankingInfo, Standing};
use shared::wire::request::{Answer, GivenText, Region, Request, RequestBody, TEXTS_MAX};
use shared::wire::stream::{Message, StreamCodec};
use shared::wire::talk::{Talk, TalkRequest};
use shared::world::attribute::AttributeType;
use shared::world::columns::KIND_ATTRIBUTES_MAX;
use shared::world::door::{DOOR_CELLS_MAX, Door};
use shared::world::group::GROUPS_MAX;
use shared::world::layer::cells_of;
use shared::world::mix::mix;
use shared::world::plane::{Atlas, PlaneGroup};
use shared::world::words::TextHandle;
use shared::{Audience, Course, EntityId, Fixed, Name, Refusal, Schema, Slot, Text, Tick};

use crate::decoders;

/// By slot: kind, and a row within the kind's bounds.
pub type Entities = BTreeMap<u32, (u16, Vec<i32>)>;

/// A message that a server puts into a frame, as it is given to the codec.
#[derive(Clone, Debug)]
pub enum Sent {
    Enter(EntityId, u16, bool, Vec<i32>),
    Leave(Slot),
    Reborn(EntityId),
    State(Slot, Vec<(u16, i32)>),
    /// Any other message: an answer, a notice, full or lost.
    Other(Message),
}

pub fn schema(text: &str) -> Schema {
    world_file::parse(text, "a test's world")
        .expect("a valid world file")
        .schema
}

pub fn schemas() -> &'static [Schema] {
    static SCHEMAS: LazyLock<Vec<Schema>> = LazyLock::new(|| {
        [
            "",
            include_str!("deep.toml"),
            include_str!("rich.toml"),
            include_str!("vast.toml"),
            include_str!("tiny.toml"),
            include_str!("wide.toml"),
            include_str!("stepped.toml"),
            &many_columns(),
        ]
        .map(schema)
        .into()
    });
    &SCHEMAS
}

/// A world with more than 64 columns.
fn many_columns() -> String {
    let kinds = ["player", "tree", "rock", "house"].map(|kind| {
        let own = (0..45).map(|n| {
            let audience = ["state", "private", "hidden"][n % 3];
            format!("{{ name = '{kind}{n}', type = 'i32', max = 99, audience = '{audience}' }}, ")
        });
        let own: String = own.collect();
        format!("[[kind]]\nname = '{kind}'\nattributes = [{own}]\n")
    });
    kinds.concat()
}

pub fn any_schema() -> impl Strategy<Value = &'static Schema> {
    prop::sample::select(schemas().iter().collect::<Vec<_>>())
}

/// Up to `count` entities anywhere in the world.
pub fn scattered(schema: &Schema, count: usize) -> BoxedStrategy<Entities> {
    let capacity = schema.world.capacity;
    let count = count.min(capacity as usize);
    prop::collection::btree_map(0..capacity, entity(schema), 0..=count).boxed()
}

/// Up to `count` entities no further apart than an area of interest is wide.
pub fn gathered(schema: &'static Schema, count: usize) -> BoxedStrategy<Entities> {
    let axes = &schema.attributes[..schema.dimensions()];
    let origin: Vec<_> = axes.iter().map(|axis| 0..=axis.max).collect();
    (origin, scattered(schema, count))
        .prop_map(|(origin, mut entities)| {
            let width = 2 * schema.world.aoi.raw();
            for (_, row) in entities.values_mut() {
                for (axis, &from) in origin.iter().enumerate() {
                    row[axis] = (from + row[axis] % (width + 1)).min(schema.attributes[axis].max);
                }
            }
            entities
        })
        .boxed()
}

pub fn any_header() -> impl Strategy<Value = Header> {
    let ages = || prop::option::of(0u32..20);
    let kept_ages = prop::option::of(0u32..100);
    let margin = prop::option::of(-MARGIN_MAX - 1..=MARGIN_MAX);
    let busy = 1..=SEND_EVERY_MAX;
    (any_tick(), ages(), any::<u32>(), kept_ages, margin, busy).prop_map(
        |(tick, base_ticks, processed, kept_ticks, margin, send_every)| Header {
            tick,
            base: base_ticks.map(|ticks| tick.before(ticks)),
            processed,
            kept: kept_ticks.map(|ticks| tick.before(ticks)),
            margin,
            send_every,
            is_whole: true,
        },
    )
}

/// A tick that has as many before and after it as low bits tell apart.
pub fn any_tick() -> impl Strategy<Value = Tick> {
    prop_oneof![
        1u64 << 16..1u64 << 18,
        (1u64 << 32) - 10..(1u64 << 32) + 10,
        1u64 << 16..1u64 << 55
    ]
    .prop_map(Tick)
}

/// A velocity that follows from a row: on all axes of the world, or on none.
pub fn any_velocity(schema: &Schema, row: &[i32]) -> [i32; 3] {
    let axes = row[..schema.dimensions()].iter();
    let seed = axes.fold(1, |seed, &axis| mix(seed, axis as u64));
    // From 1 to 20 bits, the sign included.
    let shift = 44 + seed % 20;
    let mut velocity = [0; 3];
    for (axis, velocity) in velocity.iter_mut().enumerate().take(schema.dimensions()) {
        *velocity = (mix(seed, axis as u64) as i64 >> shift) as i32;
    }
    if seed % 3 == 0 { [0; 3] } else { velocity }
}

/// A course that begins in a row's place.
pub fn course(schema: &Schema, row: &[i32], velocity: [i32; 3]) -> Course {
    let mut course = Course {
        velocity,
        ..Course::default()
    };
    course.position[..schema.dimensions()].copy_from_slice(&row[..schema.dimensions()]);
    course
}

/// What a receiver may have known of an entity in the base: nothing, a place nearby, or any
/// other.
pub fn any_past(schema: &Schema, row: &[i32], base: Tick) -> Option<Course> {
    let axes = row[..schema.dimensions()].iter();
    let seed = axes.fold(2, |seed, &axis| mix(seed, axis as u64));
    // From 0 to 31 bits, the sign included.
    let shift = 33 + seed % 32;
    let mut past = Course {
        tick: base.before(seed as u32 % 3),
        velocity: any_velocity(schema, &[seed as i32 >> 1; 3]),
        ..Course::default()
    };
    for (axis, &value) in row[..schema.dimensions()].iter().enumerate() {
        let away = (mix(seed, axis as u64) as i64).checked_shr(shift as u32);
        let place = i64::from(value) + away.unwrap_or(0);
        past.position[axis] = place.clamp(0, schema.attributes[axis].max.into()) as i32;
    }
    (seed % 4 > 0).then_some(past)
}

/// The datagrams of entities, and the number of entities that don't fit into them.
pub fn movement(
    schema: &Schema,
    header: Header,
    entities: &Entities,
    velocity: fn(&Schema, &[i32]) -> [i32; 3],
) -> (Vec<Vec<u8>>, usize) {
    movement_within(usize::MAX, schema, header, entities, velocity)
}

/// The same, with so many bytes at most.
pub fn movement_within(
    bytes_max: usize,
    schema: &Schema,
    header: Header,
    entities: &Entities,
    velocity: fn(&Schema, &[i32]) -> [i32; 3],
) -> (Vec<Vec<u8>>, usize) {
    let codec = MovementCodec::new(schema).expect("a world file's schema");
    let slots: Vec<u32> = entities.keys().copied().collect();
    let entity = |slot: u32| {
        let (kind, row) = &entities[&slot];
        let course = course(schema, row, velocity(schema, row));
        let base = header.base_ticks().and(header.base);
        let past = base.and_then(|base| any_past(schema, row, base));
        let expected = past.map(|past| codec.expected(&past, header.tick, &course.velocity));
        let difference = expected.and_then(|e| codec.difference(&course.position, &e));
        PackedEntity {
            place: difference.unwrap_or_else(|| codec.full(course.position)),
            tail: codec.tail(*kind, &course.velocity, row),
        }
    };
    let mut datagrams = vec![];
    let mut scratch = MovementScratch::default();
    let send = |d| datagrams.push(d);
    let left = codec.encode(
        header,
        &slots,
        bytes_max,
        |i| entity(slots[i]),
        &mut scratch,
        send,
    );
    (datagrams, left)
}

pub fn any_sent(schema: &'static Schema) -> BoxedStrategy<Sent> {
    let slot = || (0..schema.world.capacity).prop_map(Slot);
    let enter = (slot(), any::<u32>(), entity(schema), any::<bool>());
    let enter = enter.prop_map(|(slot, generation, (kind, row), own)| {
        Sent::Enter(EntityId { slot, generation }, kind, own, row)
    });
    let columns = lasting_columns(schema);
    // A kind has no more.
    let most = columns.len().min(KIND_ATTRIBUTES_MAX - 2);
    let values = prop::sample::subsequence(columns, 0..=most);
    let values = values.prop_flat_map(|columns| values_of(schema, columns));
    let state = (slot(), values).prop_map(|(slot, values)| Sent::State(slot, values));
    let reborn = (slot(), any::<u32>())
        .prop_map(|(slot, generation)| Sent::Reborn(EntityId { slot, generation }));
    let other = any_other(schema).prop_map(Sent::Other);
    prop_oneof![enter, slot().prop_map(Sent::Leave), state, reborn, other].boxed()
}

fn any_members(schema: &'static Schema) -> BoxedStrategy<MemberMessage> {
    let slot = || (0..schema.world.capacity).prop_map(Slot);
    let values = || {
        let values = {
            let columns = lasting_columns(schema);
            let most = columns.len().min(KIND_ATTRIBUTES_MAX - 2);
            prop::sample::subsequence(columns, 0..=most)
        };
        values.prop_flat_map(|columns| values_of(schema, columns))
    };
    let changed = (slot(), values());
    let changed = changed.prop_map(|(slot, values)| MemberMessage::Changed { slot, values });
    let groups = prop::collection::vec(0..schema.attributes.len() as u16, 0..=GROUPS_MAX);
    let name = prop::option::of(any_name());
    let member = (slot(), any::<u32>(), groups, name, values());
    let member =
        member.prop_map(
            |(slot, generation, groups, name, values)| MemberMessage::Member {
                entity: EntityId { slot, generation },
                groups,
                name,
                values,
            },
        );
    prop_oneof![slot().prop_map(MemberMessage::Left), changed, member].boxed()
}

/// The columns of lasting attributes.
fn lasting_columns(schema: &Schema) -> Vec<usize> {
    let lasting = |column: &usize| {
        let audience = schema.attributes[*column].audience;
        matches!(audience, Audience::State | Audience::Private)
    };
    (0..schema.attributes.len()).filter(lasting).collect()
}

/// Any values of columns.
fn values_of(schema: &Schema, columns: Vec<usize>) -> Vec<(Just<u16>, RangeInclusive<i32>)> {
    let value = |c: usize| {
        let attribute = &schema.attributes[c];
        (Just(c as u16), attribute.min..=attribute.max)
    };
    columns.into_iter().map(value).collect()
}

fn any_other(schema: &'static Schema) -> BoxedStrategy<Message> {
    let refusal = prop::option::of(r"\PC{0,100}");
    let answer = (any::<u32>(), refusal).prop_map(|(request, refusal)| {
        Message::Answer(Answer {
            request,
            result: refusal.map_or(Ok(()), Err),
        })
    });
    let notice = (
        any_body(schema),
        any::<bool>(),
        prop::collection::vec(any::<u32>(), 0..5),
    );
    let notice = notice.prop_map(|(body, heard, subscriptions)| {
        Message::Notice(Notice {
            body,
            heard,
            subscriptions,
        })
    });
    let lost = any::<u32>().prop_map(Message::Lost);
    let interface = any::<u8>().prop_map(|commands_epoch| {
        Message::Interface(Interface {
            commands_epoch,
            commands: schema.commands.clone(),
            notifications: schema.notifications.clone(),
            constants: vec![],
            forecast: vec![commands_epoch; 3],
            reasons: vec!["é".repeat(usize::from(commands_epoch))],
        })
    });
    let servers = any_servers().prop_map(Message::Servers);
    let name = (0..schema.world.capacity, any_name());
    let name = name.prop_map(|(slot, name)| Message::Name {
        slot: Slot(slot),
        name,
    });
    let talk = any_talk().prop_map(Message::Talk);
    let layer = (any::<u64>(), any::<u32>(), any::<Vec<u8>>());
    let layer = layer.prop_map(|(hash, offset, bytes)| Message::Layer {
        hash,
        offset,
        bytes,
    });
    let ranked = (0..schema.world.capacity, any::<u32>());
    let ranked = (ranked, any::<i32>(), prop::option::of(any_name()));
    let ranked = ranked.prop_map(|((slot, generation), value, name)| Ranked {
        entity: EntityId::new(slot, generation),
        value,
        name,
    });
    let first = prop::option::of(prop::collection::vec(ranked, 0..20));
    let ranking = (0..8u8, any::<u32>(), first);
    let ranking = ranking.prop_map(|(ranking, own, first)| {
        Message::Ranking(Standing {
            ranking,
            own,
            first,
        })
    });
    let text = "[ -~é]{1,100}".prop_map(|text| Text::new(text).expect("a short text"));
    let text = (any::<i32>(), prop::option::of(text));
    let text = text.prop_map(|(handle, text)| GivenText {
        handle: TextHandle(handle),
        text,
    });
    let texts = (any::<u32>(), prop::collection::vec(text, 0..=TEXTS_MAX));
    let texts = texts.prop_map(|(request, texts)| Message::Texts { request, texts });
    let reason = prop::sample::select(Refusal::ALL.to_vec());
    let reason = (reason, any::<Option<u8>>());
    let refused = (any::<u16>(), 1u32.., reason);
    let refused = refused.prop_map(|(first_low, count, (reason, because))| Message::Refused {
        first_low,
        count,
        reason,
        // The others have none.
        because: because.filter(|_| matches!(reason, Refusal::Idle | Refusal::Unmet)),
    });
    let members = any_members(schema).prop_map(Message::Members);
    prop_oneof![
        members,
        refused,
        answer,
        notice,
        Just(Message::Full),
        lost,
        interface,
        servers,
        Just(Message::Restart),
        texts,
        name,
        talk,
        layer,
        ranking
    ]
    .boxed()
}

fn any_name() -> impl Strategy<Value = Name> {
    "[a-zé李]{1,10}".prop_map(|name| Name::new(name).expect("a short name"))
}

pub fn any_talk() -> impl Strategy<Value = Talk> {
    let text = "[ -~é]{1,200}".prop_map(|text| Text::new(text).expect("a short text"));
    let parts = (any_name(), any_name(), text, any::<u64>(), 0..7);
    parts.prop_map(|(channel, name, text, entity, form)| match form {
        0 => Talk::Said {
            speaker: EntityId::from_bits(entity),
            name: Some(name).filter(|_| entity % 2 == 0),
            text,
        },
        1 => Talk::Whispered { from: name, text },
        2 => Talk::Spoken {
            channel,
            from: name,
            text,
        },
        3 => Talk::Joined { channel, name },
        4 => Talk::Left { channel, name },
        5 => Talk::Members {
            names: vec![channel.clone(), name],
            channel,
        },
        _ => Talk::Announced { text },
    })
}

fn any_entity(schema: &Schema) -> impl Strategy<Value = EntityId> + use<> {
    let parts = (0..schema.world.capacity, any::<u32>());
    parts.prop_map(|(slot, generation)| EntityId::new(slot, generation))
}

fn any_source(schema: &Schema) -> impl Strategy<Value = EntityId> + use<> {
    prop_oneof![any_entity(schema), Just(EntityId::NONE)]
}

fn any_body(schema: &'static Schema) -> BoxedStrategy<NoticeBody> {
    if schema.notifications.is_empty() {
        return any_change(schema);
    }
    let notification = prop::sample::select(&schema.notifications[..]);
    let notification = notification.prop_flat_map(|notification| {
        let fields = notification.fields.iter();
        let words: Vec<_> = fields.map(|f| any_word(schema, f.ty)).collect();
        (Just(notification.kind), any_source(schema), words)
    });
    let notification = notification.prop_map(|(kind, source, words)| NoticeBody::Notification {
        kind,
        source,
        words,
    });
    prop_oneof![any_change(schema), notification].boxed()
}

fn any_change(schema: &'static Schema) -> BoxedStrategy<NoticeBody> {
    let values = (0..schema.attributes.len()).prop_flat_map(|column| {
        let attribute = &schema.attributes[column];
        let value = || attribute.min..=attribute.max;
        (Just(column as u16), value(), value())
    });
    let kind = 0..schema.kinds.len() as u16;
    let kinds: Vec<_> = schema.commands.iter().map(|c| c.kind).collect();
    let command = prop::option::of(prop::sample::select(kinds));
    (
        any_entity(schema),
        kind,
        values,
        command,
        any_source(schema),
    )
        .prop_map(
            |(entity, kind, (column, old, new), command, by)| NoticeBody::Change {
                entity,
                kind,
                column,
                old,
                new,
                command,
                by,
            },
        )
        .boxed()
}

/// Any request, whether or not a world grants it.
pub fn any_request() -> impl Strategy<Value = Request> {
    let corner = || any::<[i32; 3]>();
    let follows = prop::option::of(any::<u64>().prop_map(EntityId::from_bits));
    let region = (corner(), corner(), follows);
    let region = region.prop_map(|(low, high, follows)| Region { low, high, follows });
    let body = prop_oneof![
        (any::<u32>(), prop::option::of(region))
            .prop_map(|(index, region)| RequestBody::SetRegion { index, region }),
        (any::<u32>(), r"\PC{0,200}")
            .prop_map(|(id, predicate)| RequestBody::Subscribe { id, predicate }),
        any::<u32>().prop_map(|id| RequestBody::Unsubscribe { id }),
        prop::option::of(any::<i32>()).prop_map(|radius| RequestBody::SetSight { radius }),
        corner().prop_map(|point| RequestBody::Watch { point }),
        r"\PC{0,200}".prop_map(|text| RequestBody::Talk(TalkRequest::Say { text })),
        (r"\PC{0,40}", r"\PC{0,200}")
            .prop_map(|(to, text)| RequestBody::Talk(TalkRequest::Whisper { to, text })),
        r"\PC{0,40}".prop_map(|channel| RequestBody::Talk(TalkRequest::Join { channel })),
        r"\PC{0,40}".prop_map(|name| RequestBody::Talk(TalkRequest::Mute { name })),
        any::<u64>().prop_map(|hash| RequestBody::Layer { hash }),
        any::<(u32, u32)>().prop_map(|(number, length)| RequestBody::Ranking { number, length }),
        r"\PC{0,200}".prop_map(|text| RequestBody::Text { text }),
        prop::collection::vec(any::<i32>().prop_map(TextHandle), 0..40)
            .prop_map(|handles| RequestBody::TextsOf { handles }),
    ];
    (any::<u32>(), body).prop_map(|(number, body)| Request { number, body })
}

/// Appends a frame to a stream, as a server does.
pub fn frame(schema: &Schema, tick: Tick, sent: &[Sent], out: &mut Vec<u8>) {
    let codec = StreamCodec::new(schema);
    let mut writer = BitWriter::default();
    codec.begin(&mut writer, tick);
    for sent in sent {
        match sent {
            Sent::Enter(entity, kind, own, row) => {
                let course = course(schema, row, any_velocity(schema, row));
                codec.enter(&mut writer, *entity, *kind, *own, &course, row);
            }
            Sent::Leave(slot) => codec.leave(&mut writer, *slot),
            Sent::Reborn(entity) => codec.reborn(&mut writer, *entity),
            Sent::State(slot, values) => codec.state(&mut writer, *slot, values.iter().copied()),
            Sent::Other(Message::Answer(answer)) => codec.answer(&mut writer, answer),
            Sent::Other(Message::Notice(notice)) => codec.notice(&mut writer, notice),
            Sent::Other(Message::Full) => codec.full(&mut writer),
            Sent::Other(Message::Lost(id)) => codec.lost(&mut writer, *id),
            Sent::Other(Message::Name { slot, name }) => codec.name(&mut writer, *slot, name),
            Sent::Other(Message::Talk(talk)) => codec.talk(&mut writer, talk),
            Sent::Other(Message::Refused {
                first_low,
                count,
                reason,
                because,
            }) => codec.refused(
                &mut writer,
                u32::from(*first_low) + (7 << 16),
                *count,
                (*reason, *because),
            ),
            Sent::Other(Message::Servers(servers)) => {
                let servers = servers.iter().map(String::as_str);
                codec.servers(&mut writer, servers);
            }
            Sent::Other(Message::Restart) => codec.restart(&mut writer, PROTOCOL_VERSION),
            Sent::Other(Message::Interface(interface)) => {
                codec.interface(&mut writer, interface);
            }
            Sent::Other(Message::Layer {
                hash,
                offset,
                bytes,
            }) => codec.layer(&mut writer, *hash, *offset, bytes),
            Sent::Other(Message::Ranking(standing)) => {
                let first = standing.first.as_deref();
                codec.ranking(&mut writer, standing.ranking, standing.own, first);
            }
            Sent::Other(Message::Texts { request, texts }) => {
                codec.texts(&mut writer, *request, texts);
            }
            Sent::Other(Message::Edits(edits)) => codec.edits(&mut writer, edits),
            Sent::Other(Message::Members(message)) => {
                decoders::put_members(&codec, &mut writer, message)
            }
            Sent::Other(message) => panic!("{message:?} is not written in this form"),
        }
    }
    codec.finish(&mut writer, out);
}

/// The tick in which servers read datagrams.
pub const NOW: Tick = Tick(1 << 33);

/// A tick that a client may name then.
fn any_near() -> impl Strategy<Value = Tick> {
    (0..1u64 << 32).prop_map(|offset| Tick(NOW.0 - (1 << 31) + offset))
}

fn any_gap() -> impl Strategy<Value = u32> {
    prop_oneof![0u32..3, 0u32..3, 0u32..20_000]
}

/// As many commands of any kind as fit into a datagram.
const COMMANDS_SENT_MAX: usize = 30;

/// A datagram of any commands that this world's clients may send.
pub fn any_client_datagram(schema: &'static Schema) -> BoxedStrategy<ClientDatagram> {
    let commands = schema.commands.iter().filter(|c| c.senders.clients);
    let commands: Vec<_> = commands.collect();
    let command = prop::sample::select(commands).prop_flat_map(|command| {
        let words = command.words.iter();
        let words: Vec<_> = words.map(|word| any_word(schema, word.ty)).collect();
        (Just(command.kind), words)
    });
    (
        (any_near(), any::<u32>(), any_near(), any::<u32>()),
        prop::collection::vec((command, any_gap()), 0..=COMMANDS_SENT_MAX),
        prop::option::of(-30_000i64..30_000),
    )
        .prop_map(
            |((newest, mask, stream, first_sequence), commands, first)| {
                let (commands, gaps): (Vec<_>, Vec<_>) = commands.into_iter().unzip();
                let (kinds, words): (Vec<_>, Vec<_>) = commands.into_iter().unzip();
                let first = first.map(|ahead| Tick(NOW.0.wrapping_add_signed(ahead)));
                let ticks = first.map(|first| {
                    let ticks = gaps.iter().scan(first, |tick, gap| {
                        *tick = tick.after(*gap).min(NOW.after(COMMAND_TICKS_MAX - 1));
                        Some(*tick)
                    });
                    ticks.collect()
                });
                ClientDatagram {
                    acknowledgement: Acknowledgement {
                        newest,
                        mask,
                        stream,
                    },
                    // Without commands nothing is said of them.
                    first_sequence: if kinds.is_empty() { 0 } else { first_sequence },
                    ticks: ticks.unwrap_or_default(),
                    kinds,
                    words: words.concat(),
                }
            },
        )
        .boxed()
}

pub fn any_hello() -> impl Strategy<Value = Hello> {
    (
        any::<u16>(),
        ".{0,200}",
        any::<Option<u64>>(),
        any::<Option<[u8; 16]>>(),
    )
        .prop_map(|(version, token, schema_hash, resume)| Hello {
            name: token.chars().take(3).collect(),
            version,
            token,
            schema_hash,
            resume,
            spectates: version % 2 == 1,
        })
}

pub fn any_welcome() -> impl Strategy<Value = Welcome> {
    let numbers = (any_tick(), any::<u64>(), any::<u8>());
    let again = (any::<[u8; 16]>(), any::<bool>(), any_servers());
    (numbers, again, any_schema()).prop_map(
        |((tick, entity, commands_epoch), (ticket, resumed, servers), schema)| Welcome {
            tick,
            entity: EntityId::from_bits(entity),
            commands_epoch,
            ticket,
            resumed,
            processed: resumed.then_some(entity as u32),
            player_kind: entity as u16,
            quotas: Quotas {
                commands_per_tick: tick.low(),
                ..Quotas::default()
            },
            schema: schema.clone(),
            forecast: ticket.to_vec(),
            servers,
            reasons: vec!["why".to_owned(); usize::from(commands_epoch)],
            layers: vec![layer_of(schema, entity)],
            doors: vec![Door {
                kind: 0,
                cells: [entity as u8 % DOOR_CELLS_MAX + 1, 1],
                closed: (commands_epoch > 99).then_some(0),
            }],
            rankings: vec![RankingInfo {
                name: "first".to_owned(),
                kind: entity as u16,
                column: 1,
                is_least_first: resumed,
                length: 9,
            }],
            editable: vec![],
            planes: Atlas {
                size: [2, 3],
                gap: 5,
                around: 4,
                groups: vec![PlaneGroup {
                    name: "cave".to_owned(),
                    size: [2, 1],
                    copies: 3,
                    columns: 2,
                    stride: [7, 6 + i32::from(commands_epoch)],
                    low: 8,
                }],
            },
        },
    )
}

/// A layer that covers a world.
pub fn layer_of(schema: &Schema, hash: u64) -> LayerInfo {
    let [x, y, _] = schema.world.size_raw();
    // At most 2^30 raw units are 256 such cells.
    let edge_bits = 22;
    LayerInfo {
        is_editable: false,
        kind: LayerKind::Blocked,
        cells: [x, y].map(|size| cells_of(size, edge_bits).cast_unsigned()),
        edge_bits: 22,
        hash,
        packed_bytes: 9,
        tags: vec![],
    }
}

/// Where other servers may be.
fn any_servers() -> impl Strategy<Value = Vec<String>> {
    prop::collection::vec("[a-z0-9.:]{0,255}", 0..=SERVERS_MAX)
}

fn entity(schema: &Schema) -> BoxedStrategy<(u16, Vec<i32>)> {
    let rows: Vec<_> = (0..schema.kinds.len())
        .map(|kind| {
            let bounds = schema.bounds(kind).into_iter();
            let row: Vec<_> = bounds.map(|(min, max)| min..=max).collect();
            (Just(kind as u16), row).boxed()
        })
        .collect();
    prop::strategy::Union::new(rows).boxed()
}

fn any_word(schema: &Schema, ty: AttributeType) -> BoxedStrategy<i32> {
    match ty {
        AttributeType::Bool => (0..=1).boxed(),
        AttributeType::Symbol => (0..schema.symbols.len() as i32).boxed(),
        AttributeType::Fixed => {
            prop_oneof![any::<i32>(), -Fixed::ONE.raw()..Fixed::ONE.raw()].boxed()
        }
        AttributeType::I32
        | AttributeType::Entity
        | AttributeType::Text
        | AttributeType::I64
        | AttributeType::High => any::<i32>().boxed(),
    }
}
