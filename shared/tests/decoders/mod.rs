//! What each decoder promises for any bytes: an error, or content that is within the world's
//! bounds, not larger than the bytes allow, and the same after it is written and read again.
//! Tests give it random and damaged messages, and the fuzz targets what they find.

#![allow(dead_code, reason = "each user takes some of it")]

use shared::wire::PROTOCOL_VERSION;
use shared::wire::bits::BitWriter;
use shared::wire::codec;
use shared::wire::commands::{COMMANDS_MAX, ClientDatagram, CommandCodec};
use shared::wire::control::{ADDRESS_BYTES_MAX, Hello, SERVERS_MAX, Welcome};
use shared::wire::length;
use shared::wire::members::MemberMessage;
use shared::wire::movement::{Movement, MovementCodec};
use shared::wire::notice::NoticeBody;
use shared::wire::request::{RequestBody, RequestReader};
use shared::wire::stream::{EDITS_MAX, Message, StreamCodec};
use shared::{Audience, Course, EntityId, Schema, Slot, Tick};

pub fn movement(schema: &Schema, bytes: &[u8]) {
    let codec = MovementCodec::new(schema).expect("a world file's schema");
    let mut read = Movement::default();
    // Every second entity is known.
    let known = |slot: Slot, base| {
        let mut course = Course {
            tick: base,
            ..Course::default()
        };
        for axis in 0..schema.dimensions() {
            course.position[axis] = schema.attributes[axis].max / 2;
            course.velocity[axis] = slot.0 as i32;
        }
        slot.0.is_multiple_of(2).then_some(course)
    };
    let complete = codec.decode(bytes, Tick(7), known, &mut read).is_ok();
    let dimensions = schema.dimensions();
    // An entity takes at least one bit for its gap and one for its velocity.
    assert!(read.slots.len() <= 1_023);
    assert!((read.slots.len() + read.unknown) * 2 <= bytes.len() * 8);
    assert_eq!(read.positions.len(), read.slots.len() * dimensions);
    assert_eq!(read.velocities.len(), read.positions.len());
    assert!(read.extras.len() <= bytes.len() * 8);
    let fastest = read.velocities.iter().map(|v| v.unsigned_abs()).max();
    assert!(fastest.unwrap_or(0) <= 1 << 19);
    assert!(read.slots.is_sorted_by(|a, b| a < b));
    assert!(read.slots.iter().all(|s| s.0 < schema.world.capacity));
    for (i, &value) in read.positions.iter().enumerate() {
        assert_within(schema, i % dimensions, value);
    }
    for &(entity, column, value) in &read.extras {
        // The last entity may be incomplete.
        assert!((entity as usize) < read.slots.len() + usize::from(!complete));
        assert_eq!(
            schema.attributes[usize::from(column)].audience,
            Audience::Movement
        );
        assert_within(schema, usize::from(column), value);
    }
}

pub fn frame(schema: &Schema, bytes: &[u8]) {
    let codec = StreamCodec::new(schema);
    let Ok(frame) = codec.decode(bytes, Tick(0)) else {
        return;
    };
    let mut writer = BitWriter::default();
    codec.begin(&mut writer, frame.tick);
    for message in &frame.messages {
        write(&codec, schema, &mut writer, message);
    }
    let mut again = vec![];
    codec.finish(&mut writer, &mut again);
    let (_, again) = length::split(&again, again.len()).unwrap().unwrap();
    assert_eq!(codec.decode(again, Tick(0)).as_ref(), Ok(&frame));
    // The shortest message is a leave in a world of one slot: only a tag.
    assert!(frame.messages.len() * 2 <= bytes.len() * 8);
    for message in frame.messages {
        let (slot, values) = match message {
            Message::Enter { entity, values, .. } => (entity.slot, values),
            Message::State { slot, values } => (slot, values),
            Message::Leave(slot) => (slot, vec![]),
            Message::Members(MemberMessage::Left(slot)) => (slot, vec![]),
            Message::Members(MemberMessage::Changed { slot, values }) => (slot, values),
            Message::Members(MemberMessage::Member { entity, values, .. }) => (entity.slot, values),
            Message::Reborn(entity) => (entity.slot, vec![]),
            Message::Notice(notice) => {
                assert!(notice.subscriptions.len() * 32 <= bytes.len() * 8);
                read_body(schema, &notice.body)
            }
            Message::Answer(answer) => {
                let reason = answer.result.err().unwrap_or_default();
                assert!(reason.len() <= bytes.len());
                continue;
            }
            Message::Servers(servers) => {
                assert!(servers.len() <= SERVERS_MAX);
                let mut lengths = servers.iter().map(String::len);
                assert!(lengths.all(|length| length <= ADDRESS_BYTES_MAX));
                continue;
            }
            // These are checked as they are read.
            Message::Name { .. } | Message::Talk(_) | Message::Texts { .. } => continue,
            Message::Full | Message::Lost(_) | Message::Refused { .. } | Message::Restart => {
                continue;
            }
            Message::Edits(edits) => {
                assert!(edits.len() <= EDITS_MAX);
                assert!(edits.iter().all(|edit| edit.cell < 1 << 26));
                continue;
            }
            Message::Layer { bytes: part, .. } => {
                assert!(part.len() <= bytes.len());
                continue;
            }
            Message::Ranking(standing) => {
                let first = standing.first.unwrap_or_default();
                assert!(
                    first
                        .iter()
                        .all(|r| r.entity.slot.0 < schema.world.capacity)
                );
                assert!(first.len() <= bytes.len() * 8);
                continue;
            }
            Message::Interface(interface) => {
                assert!(interface.commands.len() <= bytes.len());
                continue;
            }
        };
        assert!(slot.0 < schema.world.capacity);
        assert!(values.len() <= bytes.len() * 8);
        for (column, value) in values {
            assert_within(schema, usize::from(column), value);
        }
    }
}

/// Writes a message into a frame.
pub fn write(codec: &StreamCodec, schema: &Schema, writer: &mut BitWriter, message: &Message) {
    match message {
        Message::Enter {
            entity,
            kind,
            own,
            values,
            velocity,
        } => {
            let mut row = vec![0; schema.attributes.len()];
            for &(column, value) in values {
                row[usize::from(column)] = value;
            }
            let mut course = Course {
                velocity: *velocity,
                ..Course::default()
            };
            course.position[..schema.dimensions()].copy_from_slice(&row[..schema.dimensions()]);
            codec.enter(writer, *entity, *kind, *own, &course, &row);
        }
        Message::Leave(slot) => codec.leave(writer, *slot),
        Message::State { slot, values } => codec.state(writer, *slot, values.iter().copied()),
        Message::Reborn(entity) => codec.reborn(writer, *entity),
        Message::Answer(answer) => codec.answer(writer, answer),
        Message::Notice(notice) => codec.notice(writer, notice),
        Message::Full => codec.full(writer),
        Message::Lost(id) => codec.lost(writer, *id),
        Message::Refused {
            first_low,
            count,
            reason,
            because,
        } => codec.refused(writer, (*first_low).into(), *count, (*reason, *because)),
        Message::Interface(interface) => codec.interface(writer, interface),
        Message::Servers(servers) => {
            let servers = servers.iter().map(String::as_str);
            codec.servers(writer, servers);
        }
        Message::Restart => codec.restart(writer, PROTOCOL_VERSION),
        Message::Layer {
            hash,
            offset,
            bytes,
        } => codec.layer(writer, *hash, *offset, bytes),
        Message::Ranking(standing) => {
            let first = standing.first.as_deref();
            codec.ranking(writer, standing.ranking, standing.own, first);
        }
        Message::Texts { request, texts } => codec.texts(writer, *request, texts),
        Message::Edits(edits) => codec.edits(writer, edits),
        Message::Members(message) => put_members(codec, writer, message),
        Message::Name { slot, name } => codec.name(writer, *slot, name),
        Message::Talk(talk) => codec.talk(writer, talk),
    }
}

/// Writes a message about members.
pub fn put_members(codec: &StreamCodec, writer: &mut BitWriter, message: &MemberMessage) {
    match message {
        MemberMessage::Left(slot) => codec.member_left(writer, *slot),
        MemberMessage::Changed { slot, values } => {
            codec.member_changed(writer, *slot, values.iter().copied());
        }
        MemberMessage::Member {
            entity,
            groups,
            name,
            values,
        } => codec.member(
            writer,
            (*entity, name.as_ref()),
            groups,
            values.iter().copied(),
        ),
    }
}

/// The slot and the values of a notice.
fn read_body(schema: &Schema, body: &NoticeBody) -> (Slot, Vec<(u16, i32)>) {
    match body {
        NoticeBody::Change {
            entity,
            kind,
            column,
            old,
            new,
            by,
            ..
        } => {
            let capacity = schema.world.capacity;
            assert!(*by == EntityId::NONE || by.slot.0 < capacity);
            assert!(usize::from(*kind) < schema.kinds.len());
            (entity.slot, vec![(*column, *old), (*column, *new)])
        }
        NoticeBody::Notification {
            kind,
            source,
            words,
        } => {
            let known = schema.notification(*kind);
            assert_eq!(words.len(), known.expect("one of the world").fields.len());
            let is_somebody = *source != EntityId::NONE;
            (if is_somebody { source.slot } else { Slot(0) }, vec![])
        }
    }
}

/// Requests from bytes that arrive in two parts.
pub fn requests(bytes: &[u8], cut: usize) {
    let mut reader = RequestReader::default();
    let (head, tail) = bytes.split_at(cut.min(bytes.len()));
    let mut requests = vec![];
    let mut read = 0;
    for part in [head, tail] {
        reader.push(part);
        loop {
            match reader.next_request() {
                Ok(Some(request)) => {
                    // A length and three numbers at least.
                    read += 7;
                    if let RequestBody::Subscribe { predicate, .. } = &request.body {
                        read += predicate.len();
                    }
                    requests.push(request);
                }
                Ok(None) => break,
                Err(_) => return,
            }
        }
        assert!(read <= bytes.len());
    }
    let mut again = vec![];
    for request in &requests {
        request.encode(&mut again);
    }
    let mut reader = RequestReader::default();
    reader.push(&again);
    for request in requests {
        assert_eq!(reader.next_request(), Ok(Some(request)));
    }
}

pub fn commands(schema: &Schema, epoch: u8, bytes: &[u8]) {
    let codec = CommandCodec::new(schema, epoch);
    let mut read = ClientDatagram::default();
    let complete = codec.decode(bytes, NOW, &mut read).is_ok();
    // A command that is the one before it again takes a bit.
    assert!(read.kinds.len() <= COMMANDS_MAX.min(8 * bytes.len()));
    let words = read.kinds.iter().map(|&kind| codec.word_count(kind));
    let words = words.map(|count| count.expect("a command that clients may send"));
    let words: usize = words.sum();
    assert!(read.words.len() == words || !complete && read.words.len() < words);
    if complete {
        let mut bytes = vec![];
        codec.encode(&read, &mut BitWriter::default(), &mut bytes);
        let mut again = ClientDatagram::default();
        assert_eq!(codec.decode(&bytes, NOW, &mut again), Ok(()));
        assert_eq!(again, read);
    }
}

pub fn hello(bytes: &[u8]) {
    let version = Hello::version(bytes);
    if let Ok(hello) = Hello::decode(bytes) {
        assert_eq!(version, Ok(hello.version));
        assert!(hello.token.len() < bytes.len());
        assert_eq!(codec::to_bytes(&hello), bytes, "it has one form only");
    }
}

pub fn welcome(bytes: &[u8]) {
    if let Ok(welcome) = Welcome::decode(bytes) {
        assert_eq!(codec::to_bytes(&welcome), bytes, "it has one form only");
        let schema = welcome.schema;
        // A client builds these from the schema.
        assert!(MovementCodec::new(&schema).is_ok());
        StreamCodec::new(&schema);
        CommandCodec::new(&schema, welcome.commands_epoch);
        let in_kinds: usize = schema.kinds.iter().map(|k| k.attributes.len()).sum();
        let in_commands: usize = schema.commands.iter().map(|c| c.words.len()).sum();
        let lists = [
            schema.world.size.len(),
            schema.attributes.len(),
            schema.kinds.len(),
            schema.commands.len(),
            schema.symbols.len(),
            in_kinds,
            in_commands,
        ];
        assert!(lists.iter().sum::<usize>() <= bytes.len());
    }
}

fn assert_within(schema: &Schema, column: usize, value: i32) {
    let attribute = &schema.attributes[column];
    assert!((attribute.min..=attribute.max).contains(&value));
}

/// Low bits are not cut off by the start of the world.
const NOW: Tick = Tick(1 << 33);
