//! Messages come back as they were written; sizes of messages.

use std::collections::BTreeMap;

use crate::worlds::{
    Entities, NOW, Sent, any_client_datagram, any_header, any_hello, any_past, any_request,
    any_schema, any_sent, any_tick, any_velocity, any_welcome, frame, gathered, movement,
    movement_within, scattered, schema, schemas,
};
use proptest::prelude::*;
use script::builtin;
use shared::wire::bits::BitWriter;
use shared::wire::commands::{ClientDatagram, CommandCodec};
use shared::wire::control::{
    ADDRESS_BYTES_MAX, FORECAST_BYTES_MAX, HELLO_BYTES_MAX, Hello, Quotas, SERVERS_MAX,
    TOKEN_BYTES_MAX, WELCOME_BYTES_MAX, Welcome,
};
use shared::wire::movement::{Header, Movement, MovementCodec, PARTS_MAX, nearest_sequence};
use shared::wire::request::{
    Answer, REQUEST_BYTES_MAX, Request, RequestBody, RequestReader, TEXTS_MAX,
};
use shared::wire::stream::{Message, StreamCodec};
use shared::wire::{
    DATAGRAM_BYTES_MAX, DecodeError, PROTOCOL_VERSION, RARE_VERSION, codec, length,
};
use shared::world::columns::ATTRIBUTES_MAX;
use shared::world::command::{COMMAND_WORDS_MAX, REASON_BYTES_MAX, REASONS_MAX};
use shared::world::mix::{Random, mix};
use shared::world::notification::NOTIFICATION_WORDS_MAX;
use shared::{Attribute, Audience, CommandKind, EntityId, NotificationKind, Schema, Slot, Tick};

proptest! {
    // A found failure becomes a named case, not a line in a file.
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn entities_within_one_view_arrive_exactly_in_any_order(
        (schema, entities) in any_schema().prop_flat_map(|s| (Just(s), gathered(s, 500))),
        header in any_header(),
        order: u64,
    ) {
        arrives_exactly(schema, header, &entities, order)?;
    }

    #[test]
    fn entities_all_over_the_world_arrive_exactly_in_any_order(
        (schema, entities) in any_schema().prop_flat_map(|s| (Just(s), scattered(s, 500))),
        header in any_header(),
        order: u64,
    ) {
        arrives_exactly(schema, header, &entities, order)?;
    }

    #[test]
    fn frames_come_back_in_order_with_what_the_receiver_may_know(
        (schema, frames) in any_schema().prop_flat_map(|s| {
            let sent = prop::collection::vec(any_sent(s), 0..30);
            (Just(s), prop::collection::vec((any_tick(), sent), 0..4))
        }),
        skew in -30_000i16..30_000,
    ) {
        let codec = StreamCodec::new(schema);
        let mut stream = vec![];
        for (tick, sent) in &frames {
            frame(schema, *tick, sent, &mut stream);
        }
        let mut rest = stream.as_slice();
        for (tick, sent) in &frames {
            let (length, after) = length::split(rest, rest.len()).unwrap().expect("a length");
            let (bytes, after) = after.split_at(length);
            rest = after;
            // The newest tick that a receiver knows may be older or newer.
            let newest = Tick(tick.0.wrapping_add_signed(skew.into()));
            let read = codec.decode(bytes, newest).expect("a frame");
            prop_assert_eq!(read.tick, *tick);
            let expected: Vec<Message> = sent.iter().map(|sent| decoded(schema, sent)).collect();
            prop_assert_eq!(read.messages, expected);
        }
        prop_assert!(rest.is_empty());
    }

    #[test]
    fn commands_come_back_with_their_acknowledgement(
        (schema, sent) in any_schema().prop_flat_map(|s| (Just(s), any_client_datagram(s))),
        epoch: u8,
    ) {
        let codec = CommandCodec::new(schema, epoch);
        let mut bytes = vec![];
        codec.encode(&sent, &mut BitWriter::default(), &mut bytes);
        prop_assert!(bytes.len() <= DATAGRAM_BYTES_MAX);
        let mut read = ClientDatagram::default();
        prop_assert_eq!(codec.decode(&bytes, NOW, &mut read), Ok(()));
        prop_assert_eq!(read, sent);
    }

    #[test]
    fn commands_for_another_epoch_are_refused(expected: u8, found: u8) {
        prop_assume!(expected != found);
        let mut bytes = vec![];
        let sent = ClientDatagram::default();
        CommandCodec::new(&schemas()[0], found).encode(&sent, &mut BitWriter::default(), &mut bytes);
        prop_assert_eq!(
            CommandCodec::new(&schemas()[0], expected).decode(&bytes, NOW, &mut ClientDatagram::default()),
            Err(DecodeError::WrongEpoch { expected, found })
        );
    }

    #[test]
    fn commands_for_any_epoch_that_was_the_latest_are_outdated(first: u8, changes in 1..=100u8) {
        let mut bytes = vec![];
        let mut codec = CommandCodec::new(&schemas()[0], first);
        codec.encode(&ClientDatagram::default(), &mut BitWriter::default(), &mut bytes);
        for _ in 0..changes {
            codec = codec.next(&schemas()[0]);
        }
        let read = codec.decode(&bytes, NOW, &mut ClientDatagram::default());
        prop_assert_eq!(read, Err(DecodeError::Outdated(first)));
    }

    #[test]
    fn hellos_and_welcomes_come_back(hello in any_hello(), welcome in any_welcome()) {
        let bytes = codec::to_bytes(&hello);
        prop_assert_eq!(Hello::decode(&bytes), Ok(hello));
        let bytes = codec::to_bytes(&welcome);
        prop_assert_eq!(codec::from_bytes::<WELCOME_BYTES_MAX, Welcome>(&bytes), Ok(welcome));
    }

    #[test]
    fn requests_come_back_in_order_however_the_stream_is_cut(
        sent in prop::collection::vec(any_request(), 0..10),
        chunk in 1usize..100,
    ) {
        let mut bytes = vec![];
        for request in &sent {
            request.encode(&mut bytes);
        }
        let mut reader = RequestReader::default();
        let mut read = vec![];
        for chunk in bytes.chunks(chunk) {
            reader.push(chunk);
            while let Some(request) = reader.next_request().expect("valid requests") {
                read.push(request);
            }
        }
        prop_assert_eq!(read, sent);
    }

    #[test]
    fn low_bits_give_the_sequence_number_that_is_near_a_reference(
        reference: u32,
        away in -32_767i32..=32_767,
    ) {
        let sequence = reference.wrapping_add_signed(away);
        prop_assert_eq!(nearest_sequence(sequence as u16, reference), sequence);
    }
}

#[test]
fn a_request_has_a_limit() {
    let subscribe = |length| {
        let mut bytes = vec![];
        let predicate = "p".repeat(length);
        let body = RequestBody::Subscribe { id: 7, predicate };
        Request { number: 1, body }.encode(&mut bytes);
        bytes
    };
    let mut reader = RequestReader::default();
    reader.push(&subscribe(16 * 1024));
    assert!(matches!(reader.next_request(), Ok(Some(_))));
    let long = subscribe(17 * 1024);
    // The length alone is enough.
    reader.push(&long[..4]);
    let error = DecodeError::TooLong {
        found: long.len() - 4,
        limit: REQUEST_BYTES_MAX,
    };
    assert_eq!(reader.next_request(), Err(error));
}

#[test]
fn a_restart_is_half_a_byte_shorter_for_clients_before_rare_messages() {
    let codec = StreamCodec::new(&schemas()[0]);
    let written = |version: u16| {
        let mut writer = BitWriter::default();
        codec.begin(&mut writer, Tick(5));
        codec.restart(&mut writer, version);
        let mut out = vec![];
        codec.finish(&mut writer, &mut out);
        out
    };
    // The tick in two bytes, tag 12, the end; then with the number 0 between them.
    assert_eq!(written(RARE_VERSION - 1), [3, 5, 0, 12]);
    assert_eq!(written(PROTOCOL_VERSION), [4, 5, 0, 12, 0]);
}

#[test]
fn a_rare_message_that_is_unknown_is_refused() {
    let codec = StreamCodec::new(&schemas()[0]);
    let refused = codec.decode(&[5, 0, 0xfc, 0], Tick(5));
    let expected = DecodeError::OutOfRange {
        what: "the number of a rare message",
        found: 15,
    };
    assert_eq!(refused, Err(expected));
}

#[test]
fn more_texts_than_a_request_may_ask_for_are_refused() {
    let codec = StreamCodec::new(&schemas()[0]);
    let decoded = |texts: usize| {
        let mut writer = BitWriter::default();
        codec.begin(&mut writer, Tick(5));
        // A rare message, its number, the request, how many; then each without a text.
        for (value, bits) in [(12, 4), (2, 4), (7, 32), (texts as u64, 6)] {
            writer.put(value, bits);
        }
        for handle in 0..texts as u64 {
            writer.put(handle, 32);
            writer.put(0, 8);
        }
        let mut bytes = vec![];
        codec.finish(&mut writer, &mut bytes);
        let (_, frame) = length::split(&bytes, bytes.len()).unwrap().unwrap();
        codec.decode(frame, Tick(5))
    };
    let most = decoded(TEXTS_MAX).expect("a frame");
    let is_whole = |message: &Message| match message {
        Message::Texts { texts, .. } => texts.len() == TEXTS_MAX,
        _ => false,
    };
    assert!(matches!(&most.messages[..], [one] if is_whole(one)));
    let expected = DecodeError::OutOfRange {
        what: "the number of texts",
        found: TEXTS_MAX as u64 + 1,
    };
    assert_eq!(decoded(TEXTS_MAX + 1), Err(expected));
}

#[test]
fn a_long_reason_is_cut_between_characters() {
    let codec = StreamCodec::new(&schemas()[0]);
    let mut writer = BitWriter::default();
    let mut bytes = vec![];
    codec.begin(&mut writer, Tick(1));
    let answer = Answer {
        request: 3,
        result: Err("x".to_owned() + &"ö".repeat(400)),
    };
    codec.answer(&mut writer, &answer);
    codec.finish(&mut writer, &mut bytes);
    let frame = codec.decode(&bytes[2..], Tick(1)).expect("a frame");
    let cut = "x".to_owned() + &"ö".repeat(255);
    let expected = Answer {
        request: 3,
        result: Err(cut),
    };
    assert_eq!(frame.messages, [Message::Answer(expected)]);
}

#[test]
fn an_empty_view_is_one_datagram() {
    for schema in schemas() {
        let (datagrams, left) = movement(schema, HEADER, &Entities::new(), resting);
        assert_eq!((datagrams.len(), left), (1, 0));
        let mut read = Movement::default();
        let codec = MovementCodec::new(schema).unwrap();
        let known = |_, _| None;
        let decoded = codec.decode(&datagrams[0], HEADER.tick, known, &mut read);
        assert_eq!(decoded, Ok(()));
        assert!(read.is_last_part && read.slots.is_empty());
    }
}

#[test]
fn entities_beyond_the_last_part_are_counted_and_are_the_last_by_slot() {
    let schema = &schemas()[0];
    let entities: Entities = (0..4096).map(|slot| (slot, (0, vec![9, 9, 0]))).collect();
    let (datagrams, left) = movement(schema, HEADER, &entities, resting);
    assert_eq!(datagrams.len(), PARTS_MAX);
    assert!(left > 0);
    let arrived: Vec<u32> = received(schema, HEADER, &entities, &datagrams, 0)
        .into_keys()
        .collect();
    assert_eq!(arrived, (0..4096 - left as u32).collect::<Vec<_>>());
}

#[test]
fn a_tick_has_an_entity_however_few_bytes_are_allowed() {
    let schema = &schemas()[0];
    let entities: Entities = (0..300)
        .map(|slot| (slot * 9, (0, vec![9, 9, 0])))
        .collect();
    for bytes_max in 0..2_500 {
        let (datagrams, left) = movement_within(bytes_max, schema, HEADER, &entities, resting);
        let bytes: usize = datagrams.iter().map(Vec::len).sum();
        let arrived = received(schema, HEADER, &entities, &datagrams, 0);
        let first: Vec<u32> = entities.keys().copied().take(300 - left).collect();
        assert_eq!(arrived.into_keys().collect::<Vec<_>>(), first);
        assert!(left < 300, "{bytes_max} bytes are allowed");
        assert!(bytes <= bytes_max || left == 299, "{bytes} of {bytes_max}");
    }
}

#[test]
fn an_entity_in_view_costs_at_most_seven_bytes() {
    const PLACEMENTS: u64 = 2_000;
    const VISIBLE: usize = 20;
    let schema = schema("[world]\nsize = [1095, 1095]\naoi = 50\ncapacity = 3000");
    let bytes: usize = (0..PLACEMENTS)
        .map(|seed| {
            let entities = around_an_observer(&schema, VISIBLE, seed);
            movement(&schema, HEADER, &entities, resting)
                .0
                .concat()
                .len()
        })
        .sum();
    let per_entity = bytes as f64 / (PLACEMENTS as usize * VISIBLE) as f64;
    println!("{per_entity:.3} bytes an entity");
    assert!(per_entity <= 7.0, "{per_entity} bytes an entity");
}

#[test]
fn in_a_vast_world_a_view_costs_only_a_corner_more() {
    let near = schema("[world]\nsize = [1000, 1000]\naoi = 50");
    let vast = schema("[world]\nsize = [200000, 200000]\naoi = 50");
    for seed in 0..100 {
        let entities = around_an_observer(&near, 100, seed);
        let bytes = |schema| {
            movement(schema, HEADER, &entities, resting)
                .0
                .concat()
                .len()
        };
        // 1,000 units take 10 bits an axis, 200,000 take 18.
        assert!(bytes(&vast) <= bytes(&near) + 2 * 8 / 8, "seed {seed}");
    }
}

#[test]
fn commands_that_clients_may_not_send_are_unknown() {
    // Without hp and owner nothing can be struck or picked.
    let schema = schema("[[kind]]\nname = \"ghost\"");
    let codec = CommandCodec::new(&schema, 0);
    for kind in (0..=255).map(CommandKind) {
        let mut writer = BitWriter::default();
        writer.put(0, 8 + 32);
        writer.put(0, 32 + 32);
        writer.put(1, 8);
        writer.put(0, 32);
        writer.put(0, 1);
        writer.put(u64::from(kind.id()), 8);
        let words = schema.command(kind).map_or(0, |c| c.words.len());
        for _ in 0..words {
            writer.put_signed(0);
        }
        let mut bytes = vec![];
        writer.finish_into(&mut bytes);
        let expected = match kind {
            builtin::MOVE => Ok(()),
            _ => Err(DecodeError::UnknownCommand(kind.id())),
        };
        assert_eq!(
            codec.decode(&bytes, NOW, &mut ClientDatagram::default()),
            expected
        );
    }
}

#[test]
#[should_panic(expected = "a word")]
fn a_command_without_all_its_words_panics() {
    let datagram = ClientDatagram {
        kinds: vec![builtin::MOVE],
        words: vec![1],
        ..ClientDatagram::default()
    };
    let codec = CommandCodec::new(&schemas()[0], 0);
    codec.encode(&datagram, &mut BitWriter::default(), &mut vec![]);
}

#[test]
fn a_schema_whose_numbers_or_words_are_out_of_range_is_refused() {
    let of = |change: fn(&mut Schema)| {
        let mut schema = schemas()[2].clone();
        change(&mut schema);
        schema.check().map_err(|error| error.to_string())
    };
    let is_about =
        |checked: Result<(), String>, what: &str| checked.expect_err("an error").starts_with(what);
    assert_eq!(of(|_| {}), Ok(()));
    let commands: [fn(&mut Schema); 3] = [
        |s| s.commands.last_mut().unwrap().kind = CommandKind(256),
        |s| s.commands.swap(0, 1),
        |s| {
            let word = s.commands[0].words[0].clone();
            s.commands[0].words = vec![word; COMMAND_WORDS_MAX + 1];
        },
    ];
    for change in commands {
        assert!(is_about(of(change), "the commands"));
    }
    let notifications: [fn(&mut Schema); 3] = [
        |s| s.notifications.last_mut().unwrap().kind = NotificationKind(64),
        |s| s.notifications.swap(0, 1),
        |s| {
            let field = s.notifications[0].fields[0].clone();
            s.notifications[0].fields = vec![field; NOTIFICATION_WORDS_MAX + 1];
        },
    ];
    for change in notifications {
        assert!(is_about(of(change), "the notifications"));
    }
}

#[test]
fn a_schema_with_too_many_columns_is_refused() {
    let many = || schemas().last().unwrap().clone();
    assert_eq!(many().attributes.len(), 2 + 4 * 45);
    assert_eq!(many().check(), Ok(()));
    let refused = |schema: &Schema| schema.check().unwrap_err().to_string();
    let mut schema = many();
    let others: Vec<_> = schema.kinds[1].attributes[2..20].to_vec();
    schema.kinds[0].attributes.extend(others);
    assert_eq!(refused(&schema), "a kind has more than 64 columns");
    let mut schema = many();
    let last = schema.attributes[100].clone();
    schema.attributes.resize(ATTRIBUTES_MAX, last.clone());
    assert_eq!(schema.check(), Ok(()));
    schema.attributes.push(last);
    let expected = "the number of attributes is out of range";
    assert_eq!(refused(&schema), expected);
}

#[test]
fn a_hello_has_a_limit() {
    let hello = |length| {
        codec::to_bytes(&Hello {
            version: PROTOCOL_VERSION,
            token: "t".repeat(length),
            name: "n".repeat(32),
            schema_hash: Some(u64::MAX),
            resume: Some([0xff; 16]),
            spectates: true,
        })
    };
    assert!(Hello::decode(&hello(TOKEN_BYTES_MAX)).is_ok());
    let long = hello(5000);
    assert_eq!(
        Hello::decode(&long),
        Err(DecodeError::TooLong {
            found: long.len(),
            limit: HELLO_BYTES_MAX
        })
    );
}

#[test]
fn a_hello_with_bytes_behind_it_is_refused() {
    let mut bytes = codec::to_bytes(&Hello {
        version: PROTOCOL_VERSION,
        token: String::new(),
        name: String::new(),
        schema_hash: None,
        resume: None,
        spectates: false,
    });
    bytes.extend([0, 0]);
    assert_eq!(Hello::decode(&bytes), Err(DecodeError::TrailingBytes(2)));
}

#[test]
fn the_welcome_to_a_world_of_the_most_kinds_and_attributes_fits() {
    let mut text = String::new();
    for kind in 0..256 {
        text += &format!("[[kind]]\nname = \"kind number {kind}\"\n");
        for attribute in 0..62 {
            text += &format!(
                "[[kind.attributes]]\nname = \"attribute_number_{attribute}\"\ntype = \"i32\"\n\
                 audience = \"state\"\ndefault = {}\n",
                i32::MAX - kind
            );
        }
    }
    let welcome = Welcome {
        tick: Tick::MAX,
        entity: EntityId::NONE,
        commands_epoch: 255,
        ticket: [255; 16],
        resumed: true,
        processed: Some(u32::MAX),
        player_kind: u16::MAX,
        quotas: Quotas::default(),
        schema: schema(&text),
        forecast: vec![255; FORECAST_BYTES_MAX],
        servers: vec!["z".repeat(ADDRESS_BYTES_MAX); SERVERS_MAX],
        reasons: vec!["z".repeat(REASON_BYTES_MAX); REASONS_MAX],
        layers: vec![],
        doors: vec![],
        rankings: vec![],
        planes: Default::default(),
        editable: vec![],
    };
    let bytes = codec::to_bytes(&welcome);
    assert_eq!(Welcome::decode(&bytes), Ok(welcome));
}

fn arrives_exactly(
    schema: &Schema,
    header: Header,
    entities: &Entities,
    order: u64,
) -> Result<(), TestCaseError> {
    let (datagrams, left) = movement(schema, header, entities, any_velocity);
    prop_assert_eq!(left, 0);
    for datagram in &datagrams {
        prop_assert!(datagram.len() <= DATAGRAM_BYTES_MAX);
    }
    let expected: BTreeMap<u32, Seen> = entities
        .iter()
        .map(|(&slot, (kind, row))| (slot, seen(schema, *kind, row)))
        .collect();
    prop_assert_eq!(
        received(schema, header, entities, &datagrams, order),
        expected
    );
    Ok(())
}

/// A position, a velocity, and the further movement attributes by column.
type Seen = (Vec<i32>, Vec<i32>, BTreeMap<u16, i32>);

fn seen(schema: &Schema, kind: u16, row: &[i32]) -> Seen {
    let position = row[..schema.dimensions()].to_vec();
    let extras = schema.kinds[usize::from(kind)]
        .attributes
        .iter()
        .map(|a| usize::from(a.column))
        .filter(|&c| c >= schema.dimensions())
        .filter(|&c| schema.attributes[c].audience == Audience::Movement)
        .map(|c| (c as u16, in_steps(&schema.attributes[c], row[c])))
        .collect();
    let velocity = any_velocity(schema, row)[..schema.dimensions()].to_vec();
    (position, velocity, extras)
}

/// The nearest value that is a number of whole steps above the smallest one.
fn in_steps(attribute: &Attribute, value: i32) -> i32 {
    let step = 1i64 << attribute.step;
    let (min, max) = (i64::from(attribute.min), i64::from(attribute.max));
    let below = i64::from(value) - (i64::from(value) - min) % step;
    match i64::from(value) - below >= step - step / 2 && below + step <= max && step > 1 {
        true => (below + step) as i32,
        false => below as i32,
    }
}

/// The entities in all datagrams, by slot. `order` decides the order of decoding.
fn received(
    schema: &Schema,
    header: Header,
    entities: &Entities,
    datagrams: &[Vec<u8>],
    order: u64,
) -> BTreeMap<u32, Seen> {
    let codec = MovementCodec::new(schema).expect("a world file's schema");
    let mut arrivals: Vec<_> = datagrams.iter().enumerate().collect();
    arrivals.sort_by_key(|&(part, _)| mix(order, part as u64));
    let mut all = BTreeMap::new();
    let mut read = Movement::default();
    for (part, datagram) in arrivals {
        // The newest tick that a receiver knows may be older or newer.
        let newest = header.tick.after(order as u32 % 60_000).before(30_000);
        let known = |slot: Slot, base| any_past(schema, &entities[&slot.0].1, base);
        let decoded = codec.decode(datagram, newest, known, &mut read);
        decoded.expect("a datagram");
        assert_eq!(read.tick, header.tick);
        // What is older than 64 ticks is not reported.
        let kept = header.kept.filter(|kept| header.tick.0 - kept.0 <= 64);
        assert_eq!(read.kept, kept);
        assert_eq!(read.unknown, 0);
        assert_eq!(read.margin, header.margin);
        assert_eq!(read.send_every, header.send_every);
        assert_eq!(
            nearest_sequence(read.processed_low, header.processed),
            header.processed
        );
        assert_eq!(usize::from(read.part), part);
        assert_eq!(read.is_last_part, part == datagrams.len() - 1);
        let positions = read.positions.chunks_exact(schema.dimensions());
        let velocities = read.velocities.chunks_exact(schema.dimensions());
        assert_eq!(positions.len(), read.slots.len());
        assert_eq!(velocities.len(), read.slots.len());
        let courses = positions.zip(velocities);
        for (i, (slot, (position, velocity))) in read.slots.iter().zip(courses).enumerate() {
            let extras = read.extras.iter().filter(|e| e.0 == i as u32);
            let extras = extras.map(|&(_, column, value)| (column, value)).collect();
            let before = all.insert(slot.0, (position.to_vec(), velocity.to_vec(), extras));
            assert_eq!(before, None, "slot {} came twice", slot.0);
        }
    }
    all
}

/// The message that a receiver decodes, by the audiences in the world file.
fn decoded(schema: &Schema, sent: &Sent) -> Message {
    match sent {
        Sent::Enter(entity, kind, own, row) => {
            let knows = |column: usize| match schema.attributes[column].audience {
                Audience::Movement | Audience::State => true,
                Audience::Private => *own,
                Audience::Hidden => false,
            };
            let columns = &schema.kinds[usize::from(*kind)].attributes;
            let columns = columns.iter().map(|a| usize::from(a.column));
            Message::Enter {
                entity: *entity,
                kind: *kind,
                own: *own,
                values: columns
                    .filter(|&c| knows(c))
                    .map(|c| (c as u16, row[c]))
                    .collect(),
                velocity: any_velocity(schema, row),
            }
        }
        Sent::Leave(slot) => Message::Leave(*slot),
        Sent::Reborn(entity) => Message::Reborn(*entity),
        Sent::Other(message) => message.clone(),
        Sent::State(slot, values) => Message::State {
            slot: *slot,
            values: values.clone(),
        },
    }
}

/// Entities in any slots, evenly spread over an area of interest that lies
/// anywhere in the world.
fn around_an_observer(schema: &Schema, count: usize, seed: u64) -> Entities {
    let mut random = Random::new(seed, Tick(0), EntityId::NONE);
    let size = schema.world.size[0].raw();
    let aoi = schema.world.aoi.raw();
    let centre = [(); 2].map(|()| random.below(size as u32) as i32);
    let mut entities = Entities::new();
    while entities.len() < count {
        let offset = [(); 2].map(|()| random.around_zero(aoi));
        let [x, y] = [0, 1].map(|axis| centre[axis] + offset[axis]);
        let distance = offset
            .map(|o| f64::from(o).powi(2))
            .iter()
            .sum::<f64>()
            .sqrt();
        let in_world = (0..size).contains(&x) && (0..size).contains(&y);
        if in_world && distance <= f64::from(aoi) {
            let slot = random.below(schema.world.capacity);
            entities.insert(slot, (0, vec![x, y, 100]));
        }
    }
    entities
}

const HEADER: Header = Header {
    tick: Tick(70_000),
    base: None,
    processed: 3,
    kept: None,
    margin: None,
    send_every: 1,
    is_whole: true,
};

/// Every entity rests.
fn resting(_: &Schema, _: &[i32]) -> [i32; 3] {
    [0; 3]
}
