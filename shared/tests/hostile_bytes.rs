//! Decoders read arbitrary bytes: they return an error, or content that is within the
//! world's bounds and not larger than the bytes allow.

mod worlds;

use proptest::prelude::*;
use proptest::sample::Index;
use shared::Schema;
use shared::wire::bits::BitWriter;
use shared::wire::codec;
use shared::wire::commands::{COMMANDS_MAX, ClientDatagram, CommandCodec};
use shared::wire::control::{Hello, WELCOME_BYTES_MAX, Welcome};
use shared::wire::movement::{Movement, MovementCodec};
use shared::wire::notice::NoticeBody;
use shared::wire::request::{RequestBody, RequestReader};
use shared::wire::stream::{Message, StreamCodec};
use shared::{Audience, EntityId, Slot, Tick};
use worlds::{
    NOW, any_client_datagram, any_header, any_hello, any_past, any_request, any_schema, any_sent,
    any_tick, any_velocity, any_welcome, frame, gathered, movement, scattered,
};

proptest! {
    // A found failure becomes a named case, not a line in a file.
    #![proptest_config(ProptestConfig {
        cases: 1_000,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn any_bytes_are_read_or_refused(schema in any_schema(), bytes in any_bytes()) {
        read_movement(schema, &bytes);
        read_frame(schema, &bytes);
        let epoch = bytes.first().copied().unwrap_or(0);
        read_commands(schema, epoch, &bytes);
        read_hello(&bytes);
        read_welcome(&bytes);
        read_requests(&bytes, usize::from(epoch));
    }

    #[test]
    fn damaged_requests_are_read_or_refused(
        sent in prop::collection::vec(any_request(), 1..5),
        cut in 0usize..200,
        damage in any_damage(),
    ) {
        let mut bytes = vec![];
        for request in sent {
            request.encode(&mut bytes);
        }
        read_requests(&damage.apply(bytes), cut);
    }

    #[test]
    fn damaged_movement_is_read_or_refused(
        (schema, entities) in any_schema()
            .prop_flat_map(|s| (Just(s), prop_oneof![gathered(s, 40), scattered(s, 40)])),
        header in any_header(),
        damage in any_damage(),
    ) {
        for datagram in movement(schema, header, &entities, any_velocity).0 {
            read_movement(schema, &damage.apply(datagram));
        }
    }

    #[test]
    fn damaged_frames_are_read_or_refused(
        (schema, sent) in any_schema()
            .prop_flat_map(|s| (Just(s), prop::collection::vec(any_sent(s), 0..10))),
        tick in any_tick(),
        damage in any_damage(),
    ) {
        let mut stream = vec![];
        frame(schema, tick, &sent, &mut stream);
        read_frame(schema, &damage.apply(stream.split_off(4)));
    }

    #[test]
    fn damaged_commands_are_read_or_refused(
        (schema, sent) in any_schema().prop_flat_map(|s| (Just(s), any_client_datagram(s))),
        epoch: u8,
        damage in any_damage(),
    ) {
        let mut bytes = vec![];
        CommandCodec::new(schema, epoch).encode(&sent, &mut BitWriter::default(), &mut bytes);
        read_commands(schema, epoch, &damage.apply(bytes));
    }

    #[test]
    fn damaged_handshakes_are_read_or_refused(
        hello in any_hello(),
        welcome in any_welcome(),
        damage in any_damage(),
    ) {
        read_hello(&damage.apply(codec::to_bytes(&hello)));
        read_welcome(&damage.apply(codec::to_bytes(&welcome)));
    }

    #[test]
    fn a_handshake_cut_short_is_refused(
        hello in any_hello(),
        welcome in any_welcome(),
        length: Index,
    ) {
        let bytes = codec::to_bytes(&hello);
        let cut = &bytes[..length.index(bytes.len())];
        prop_assert!(Hello::decode(cut).is_err());
        let bytes = codec::to_bytes(&welcome);
        let cut = &bytes[..length.index(bytes.len())];
        prop_assert!(codec::from_bytes::<WELCOME_BYTES_MAX, Welcome>(cut).is_err());
    }
}

/// Damage to a valid message: flipped bits, a cut, bytes added at the end.
#[derive(Clone, Debug)]
struct Damage {
    flips: Vec<(Index, u8)>,
    cut: Option<Index>,
    tail: Vec<u8>,
}

impl Damage {
    fn apply(&self, mut bytes: Vec<u8>) -> Vec<u8> {
        for (at, bit) in &self.flips {
            if !bytes.is_empty() {
                let at = at.index(bytes.len());
                bytes[at] ^= 1 << bit;
            }
        }
        if let Some(cut) = self.cut {
            bytes.truncate(cut.index(bytes.len() + 1));
        }
        bytes.extend(&self.tail);
        bytes
    }
}

fn any_damage() -> impl Strategy<Value = Damage> {
    let flips = prop::collection::vec((any::<Index>(), 0u8..8), 0..6);
    let tail = prop_oneof![3 => Just(vec![]), 1 => prop::collection::vec(any::<u8>(), 0..20)];
    (flips, prop::option::weighted(0.3, any::<Index>()), tail)
        .prop_map(|(flips, cut, tail)| Damage { flips, cut, tail })
}

/// Random bytes, and runs of ones and zeros, which are long counts and long codes.
fn any_bytes() -> impl Strategy<Value = Vec<u8>> {
    let byte = prop_oneof![2 => any::<u8>(), 1 => Just(0), 1 => Just(0xff)];
    prop_oneof![
        prop::collection::vec(any::<u8>(), 0..2_000),
        prop::collection::vec(byte, 0..300),
        (any::<u8>(), 0usize..2_000).prop_map(|(byte, count)| vec![byte; count]),
    ]
}

fn read_movement(schema: &Schema, bytes: &[u8]) {
    let codec = MovementCodec::new(schema).expect("a world file's schema");
    let mut read = Movement::default();
    // Some of the entities are known, in any place.
    let known = |slot: Slot, base| any_past(schema, &[slot.0 as i32; 3], base);
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

fn read_frame(schema: &Schema, bytes: &[u8]) {
    let Ok(frame) = StreamCodec::new(schema).decode(bytes, Tick(0)) else {
        return;
    };
    // The shortest message is a leave in a world of one slot: only a tag.
    assert!(frame.messages.len() * 2 <= bytes.len() * 8);
    for message in frame.messages {
        let (slot, values) = match message {
            Message::Enter { entity, values, .. } => (entity.slot, values),
            Message::State { slot, values } => (slot, values),
            Message::Leave(slot) => (slot, vec![]),
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
            // Both are checked as they are read.
            Message::Name { .. } | Message::Talk(_) => continue,
            Message::Full | Message::Lost(_) | Message::Refused { .. } => continue,
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

/// The slot and the values of a notice.
fn read_body(schema: &Schema, body: &NoticeBody) -> (Slot, Vec<(u16, i32)>) {
    match body {
        NoticeBody::Change {
            entity,
            kind,
            column,
            old,
            new,
            ..
        } => {
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
fn read_requests(bytes: &[u8], cut: usize) {
    let mut reader = RequestReader::default();
    let (head, tail) = bytes.split_at(cut.min(bytes.len()));
    let mut read = 0;
    for part in [head, tail] {
        reader.push(part);
        loop {
            match reader.next_request() {
                Ok(Some(request)) => {
                    // A length and three numbers at least.
                    read += 7;
                    if let RequestBody::Subscribe { predicate, .. } = request.body {
                        read += predicate.len();
                    }
                }
                Ok(None) => break,
                Err(_) => return,
            }
        }
        assert!(read <= bytes.len());
    }
}

fn read_commands(schema: &Schema, epoch: u8, bytes: &[u8]) {
    let codec = CommandCodec::new(schema, epoch);
    let mut read = ClientDatagram::default();
    let complete = codec.decode(bytes, NOW, &mut read).is_ok();
    assert!(read.kinds.len() <= COMMANDS_MAX.min(bytes.len()));
    let words = read.kinds.iter().map(|&kind| codec.word_count(kind));
    let words = words.map(|count| count.expect("a command that clients may send"));
    let words: usize = words.sum();
    assert!(read.words.len() == words || !complete && read.words.len() < words);
}

fn read_hello(bytes: &[u8]) {
    let version = Hello::version(bytes);
    if let Ok(hello) = Hello::decode(bytes) {
        assert_eq!(version, Ok(hello.version));
        assert!(hello.token.len() < bytes.len());
    }
}

fn read_welcome(bytes: &[u8]) {
    if let Ok(welcome) = Welcome::decode(bytes) {
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
